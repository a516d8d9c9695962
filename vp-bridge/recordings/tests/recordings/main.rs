//! Recordings on disk.

mod replay;
mod store;
