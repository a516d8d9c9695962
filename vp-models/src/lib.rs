//! The hardware: registers, buses, memories, devices, faults, and the platform that wires them. What is outside reaches it through
//! `vp-hub`; what a CPU would run on it is `vp-host`.

#[macro_use]
pub mod registers;

pub mod activity;
pub mod backlog;
pub mod bounded_file;
pub mod bus;
pub mod checkpoint;
pub mod counters;
pub mod device;
pub mod faults;
pub mod fifos;
pub mod fpga_ai_suite;
mod latencies;
pub mod memory;
pub mod nvdla;
pub mod occupancy;
pub mod outside_device;
pub mod platform;
mod port;
pub use vp_types::printable;
pub mod suggestion;
pub mod toml_text;
pub mod units;

#[cfg(test)]
mod conformance_data;
