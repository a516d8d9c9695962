//! `vp serve` as a program of its own.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use vp_transport::Address;

/// A server that listens; killed with the test.
pub struct ServeProgram {
    pub child: Child,
    pub address: Address,
}

impl ServeProgram {
    /// At a free port, with these options.
    pub fn start<O: AsRef<OsStr>>(options: &[O]) -> ServeProgram {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
        command.args(["serve", "--listen", "tcp:127.0.0.1:0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").unwrap().parse().unwrap();
        ServeProgram { child, address }
    }
}

impl Drop for ServeProgram {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
