//! The hardware: buses, memories, NVDLA, the programs a CPU would run, and the platform that wires them.

#[macro_use]
pub mod registers;

pub mod bus;
pub mod host;
pub mod memory;
pub mod nvdla;
pub mod platform;

#[cfg(test)]
mod conformance_data;
