//! A session that stays: what it was told is written must be there, whoever is killed beside it.

use std::time::Duration;

use vp_host::{Host as _, Memory};
use vp_models::nvdla::registers::{RegisterMap, Unit, sdp};
use vp_remote::{RemoteHost, RemoteOptions};

use crate::Around;
use crate::server::{Lab, ServerPlace};
use crate::tally::Party;

/// Address at which a witness writes, and number of bytes there.
const BASE: u64 = 0x8000_0000;
const BYTES: usize = 4096;

/// A session on a platform of its own, and what was acknowledged there: in its memory, and in a register that keeps what is written.
pub(crate) struct Witness {
    host: RemoteHost,
    address: String,
    register: u32,
    written: u8,
}

impl Witness {
    /// Over a Unix socket registers are accessed through a ring, if `share` is set.
    pub(crate) fn new(place: &ServerPlace, share: bool, lab: &Lab) -> Result<Witness, String> {
        let address = place.address.clone();
        let host = place.connect(lab, RemoteOptions { share, ..RemoteOptions::default() })?;
        let register =
            RegisterMap::Small.address(Unit::Sdp, sdp::D_DATA_CUBE_WIDTH).ok_or("no such register")?;
        let mut witness = Witness { host, address, register, written: 0 };
        witness.write().map_err(|why| witness.of(&why))?;
        Ok(witness)
    }

    fn of(&self, why: &str) -> String {
        format!("{}: {why}", self.address)
    }

    /// Reads what it has written, and writes something else.
    pub(crate) fn work(&mut self, around: &Around<'_>) -> Result<(), String> {
        let looked = self.look().and_then(|()| self.write());
        looked.map_err(|why| self.of(&why))?;
        around.tally.compared(Party::Witness);
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    }

    fn look(&mut self) -> Result<(), String> {
        let mut bytes = [0; BYTES];
        let fetched = self.host.fetch(Memory::Primary, BASE, &mut bytes);
        fetched.map_err(|error| error.to_string())?;
        if let Some(at) = bytes.iter().position(|byte| *byte != self.written) {
            return Err(format!("byte {at} is {}, and {} was acknowledged", bytes[at], self.written));
        }
        let read = self.host.read(self.register).map_err(|error| error.to_string())?;
        match read == u32::from(self.written) {
            true => Ok(()),
            false => Err(format!("a register is {read:#x}, and {:#x} was acknowledged", self.written)),
        }
    }

    fn write(&mut self) -> Result<(), String> {
        let next = self.written.wrapping_add(1);
        let loaded = self.host.load(Memory::Primary, BASE, &[next; BYTES]);
        let written = loaded.and_then(|()| self.host.write_acknowledged(self.register, next.into()));
        written.map_err(|error| error.to_string())?;
        self.written = next;
        Ok(())
    }
}
