//! `nvdla`.

pub mod config;
pub mod glb;
pub mod registers;
