//! Addresses, and the streams that lead there.

pub mod address;
