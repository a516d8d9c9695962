//! Other people's programs as parts of a platform: peers of other protocols, designs in RTL and SystemC, debuggers in C, QEMU.

#[path = "../common/mod.rs"]
mod common;

mod attach_device;
mod c_debugger;
mod check_peer;
mod clocked;
mod compare;
mod guest_example;
mod litedram;
mod part_programs;
mod qemu_command;
mod remote_port;
mod renode;
mod rtl_beside;
mod rtl_examples;
mod systemc_beside;
