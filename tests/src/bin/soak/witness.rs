//! A session that stays: what it was told is written must be there, whoever is killed beside it.

use std::time::{Duration, Instant};

use vp_models::host::{Host as _, Memory};
use vp_remote::{RemoteHost, RemoteOptions};

use crate::Around;

/// Where it writes, and over how many bytes.
const BASE: u64 = 0x8000_0000;
const BYTES: usize = 4096;

/// A session on a platform of its own, and what was acknowledged there.
pub(crate) struct Witness {
    host: RemoteHost,
    address: String,
    written: u8,
}

impl Witness {
    pub(crate) fn new(address: &str) -> Result<Witness, String> {
        let parsed = address.parse().map_err(|error| format!("{address}: {error}"))?;
        let host = RemoteHost::connect(&parsed, RemoteOptions::default())
            .map_err(|error| format!("{address}: {error}"))?;
        let mut witness = Witness { host, address: address.to_owned(), written: 0 };
        witness.write()?;
        Ok(witness)
    }

    /// Reads what it has written, and writes something else, until the round ends.
    pub(crate) fn work(&mut self, around: &Around<'_>) {
        while Instant::now() < around.until {
            if let Err(why) = self.look().and_then(|()| self.write()) {
                around.wrong(why);
                return;
            }
            around.count(|tally| tally.checked += 1);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn look(&mut self) -> Result<(), String> {
        let mut bytes = [0; BYTES];
        let read = self.host.fetch(Memory::Primary, BASE, &mut bytes);
        read.map_err(|error| format!("{}: a session that stays: {error}", self.address))?;
        match bytes.iter().position(|byte| *byte != self.written) {
            None => Ok(()),
            Some(at) => Err(format!(
                "{}: byte {at} is {}, and {} was acknowledged",
                self.address, bytes[at], self.written
            )),
        }
    }

    fn write(&mut self) -> Result<(), String> {
        let next = self.written.wrapping_add(1);
        let written = self.host.load(Memory::Primary, BASE, &[next; BYTES]);
        written.map_err(|error| format!("{}: a session that stays: {error}", self.address))?;
        self.written = next;
        Ok(())
    }
}
