//! A child that does not outlive this process, however that ends.

#![expect(unsafe_code, reason = "what a child does between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid};

/// Has the system kill the child when the thread that starts it is gone: to be started from the main thread.
pub(in crate::cli) fn end_with_parent(command: &mut Command) {
    let parent = getpid();
    let ask = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        // A parent that was gone before sends no signal any more.
        if getppid() == parent { Ok(()) } else { Err(io::Error::from(Errno::ESRCH)) }
    };
    // SAFETY: three system calls, and none of them allocates.
    unsafe { command.pre_exec(ask) };
}
