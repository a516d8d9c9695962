//! `nvdla`.
