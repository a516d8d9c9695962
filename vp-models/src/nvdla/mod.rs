//! `nvdla`.

pub mod registers;
