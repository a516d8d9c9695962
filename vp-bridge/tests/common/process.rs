//! Programs that tests run: none of them may hang.

#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Far more than any of them takes, builds included.
const LIMIT: Duration = Duration::from_secs(1200);

/// Waiting for a program's end.
pub trait Ended {
    /// Runs the program to its end, and returns what it has said. It reads nothing. One that has not ended after [`LIMIT`] is killed.
    ///
    /// # Panics
    /// When it does not start.
    fn ended(&mut self) -> Output;
}

impl Ended for Command {
    fn ended(&mut self) -> Output {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let (id, (ended, end)) = (child.id().to_string(), channel::<()>());
        let watch = std::thread::spawn(move || {
            if end.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                drop(Command::new("kill").args(["-KILL", &id]).status());
            }
        });
        let output = child.wait_with_output().expect("its output");
        drop(ended);
        watch.join().expect("a watch");
        output
    }
}
