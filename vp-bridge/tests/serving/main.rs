//! Promises of `vp serve` and of the server in process to those who come to them.

#[path = "../common/mod.rs"]
mod common;

mod access;
mod attach;
mod attach_terminal;
mod counters;
mod device_state;
mod fault_injection;
mod fpga_ai_suite;
mod freed_memory;
mod hostile_peers;
mod live;
mod memory_limit;
mod newcomers;
mod observing;
mod one_host;
mod open_files;
mod outside_memory;
mod recording;
mod register_log;
mod same_run;
mod saved;
mod sessions;
mod silence;
mod terminal;
mod tls;
mod vfio_state;
mod vfio_user;
mod warnings;
