//! Convolution: from memory through the MAC array to SDP.

pub mod compute;
