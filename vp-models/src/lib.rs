//! The hardware: buses, memories, devices, the programs a CPU would run, and the platform that wires them.

#[macro_use]
pub mod registers;

pub mod bus;
pub mod checkpoint;
pub mod counters;
pub mod device;
pub mod faults;
pub mod fifos;
pub mod fpga_ai_suite;
pub mod host;
pub mod hub;
pub mod local;
pub mod memory;
pub mod nvdla;
pub mod occupancy;
pub mod outside_device;
pub mod platform;
pub mod printable;
pub mod suggestion;
pub mod toml_text;
pub mod units;

#[cfg(test)]
mod conformance_data;
