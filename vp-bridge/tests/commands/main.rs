//! Commands of `vp` as a user types them, alone.

#[path = "../common/mod.rs"]
mod common;

mod compile;
mod demo;
mod faults;
mod fit_to_show;
mod loadable;
mod loadables;
mod memory;
mod models;
mod networks;
mod package;
mod pages;
mod plan;
mod regs;
mod results;
mod run_command;
mod scripts;
mod shell;
mod standard_streams;
