//! A program that is a part of a platform.

use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use vp_transport::Address;

use crate::cli::Failure;
#[cfg(target_os = "linux")]
use crate::cli::child;
use crate::cli::out;

/// The variable in which a program finds the platform's address.
pub(in crate::cli) const CONNECT: &str = "VP_CONNECT";

/// Time that a program may take to end by itself when its platform has ended, and again when it was asked to.
const LAST_WORDS: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// A program that was started; it is ended when this is dropped.
pub(in crate::cli) struct Program {
    part: String,
    command: String,
    child: Child,
}

impl Program {
    /// Starts a command line, read as a shell reads words, with the platform's address in its environment.
    pub(in crate::cli) fn start(part: &str, command: &str, address: &Address) -> Result<Program, Failure> {
        let unreadable = || {
            Failure::new(format!("{part}: `{command}` is no command"))
                .hint("write a program and its arguments as in a shell, with all quotes closed")
        };
        let mut words = shlex::split(command).ok_or_else(unreadable)?.into_iter();
        let mut started = Command::new(words.next().ok_or_else(unreadable)?);
        // Standard output is the platform's; Verilator, for one, has a line there for each $finish.
        let output = std::io::stderr().as_fd().try_clone_to_owned()?;
        started.args(words).env(CONNECT, address.to_string()).stdin(Stdio::null()).stdout(output);
        #[cfg(target_os = "linux")]
        child::end_with_parent(&mut started);
        let child = started.spawn().map_err(|error| {
            Failure::new(format!("{part}: cannot start `{command}`: {error}"))
                .hint("name a program of PATH, or a file, such as ./obj_dir/Vtop")
        })?;
        Ok(Program { part: part.to_owned(), command: command.to_owned(), child })
    }

    /// Fails if it has ended.
    pub(in crate::cli) fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(Failure::new(format!(
                "{}: `{}` has ended before it was attached ({status})",
                self.part, self.command
            ))
            .hint(format!("it finds the platform's address in the variable {CONNECT}"))),
        }
    }

    /// Returns the program's status, if it ends within so long.
    fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        let since = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if since.elapsed() < within => std::thread::sleep(LOOK),
                _ => return None,
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let status = self.ended(LAST_WORDS).or_else(|| {
            if let Ok(process) = i32::try_from(self.child.id()) {
                // An error says that it has ended.
                _ = kill(Pid::from_raw(process), Signal::SIGTERM);
            }
            self.ended(LAST_WORDS)
        });
        match status {
            Some(status) if status.success() => {}
            Some(status) => {
                out::eprintln!("{}: `{}` has ended with {status}", self.part, self.command);
            }
            None => {
                // It may have ended by itself.
                let _ = self.child.kill();
                let _ = self.child.wait();
                out::eprintln!("{}: `{}` did not end, and was killed", self.part, self.command);
            }
        }
    }
}
