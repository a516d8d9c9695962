//! Platforms in process.

mod awaits;
mod faults;
mod fpga_ai_suite;
mod local_host;
mod memory_limit;
mod reset;
