//! QEMU's monitor for people.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::machine::Machine;

/// QEMU's monitor, which shows what is being typed, and answers.
pub(crate) struct Monitor(BufReader<UnixStream>);

impl Monitor {
    pub(crate) fn open(path: &Path, machine: &Machine) -> Monitor {
        let until = Instant::now() + Duration::from_secs(60);
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > until => panic!("{error}: {}", machine.told()),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut monitor = Monitor(BufReader::new(stream));
        monitor.prompt();
        monitor
    }

    /// Returns the answer to a command.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        writeln!(self.0.get_mut(), "{command}").unwrap();
        let said = self.prompt();
        // Before it the monitor shows what is being typed.
        let answer = said.split_once('\n').map_or("", |(_, answer)| answer);
        answer.replace('\r', "").trim().to_owned()
    }

    fn prompt(&mut self) -> String {
        let mut said = Vec::new();
        while !said.ends_with(b"(qemu) ") {
            assert!(self.0.read_until(b' ', &mut said).unwrap() > 0, "QEMU has gone");
        }
        said.truncate(said.len() - b"(qemu) ".len());
        String::from_utf8_lossy(&said).into_owned()
    }
}
