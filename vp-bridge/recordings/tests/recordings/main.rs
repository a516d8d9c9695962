//! Recordings on disk.

mod reluctant;
mod replay;
mod store;
