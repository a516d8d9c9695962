//! A platform in this process, spoken to in registers and layers.

use vp_core::Time;
use vp_host::LocalHost;
use vp_host::{Host, HostError, Memory};
use vp_models::nvdla::registers::{RegisterRef, Unit, glb};
use vp_models::platform::Description;

use crate::conformance::local;
use crate::program::Program;
use crate::reference::Image;

/// A platform and the host at it. What cannot fail in a test that is right panics.
pub struct Device {
    /// The host.
    pub host: LocalHost,
}

/// The memory of an address: secondary below the primary memory's base.
fn memory(address: u64) -> Memory {
    if address < 0x8000_0000 { Memory::Secondary } else { Memory::Primary }
}

impl Device {
    /// A device fresh from reset.
    ///
    /// # Panics
    /// When the description cannot be built.
    pub fn new(description: &Description) -> Device {
        Device { host: local(description) }
    }

    /// A device of a built-in platform.
    ///
    /// # Panics
    /// When there is none of that name.
    pub fn named(name: &str) -> Device {
        Device::new(&Description::named(name).unwrap_or_else(|error| panic!("{error}")))
    }

    fn address(&self, unit: Unit, register: RegisterRef) -> u32 {
        self.host.map().address(unit, register).expect("a unit of the map")
    }

    /// Reads a register.
    pub fn read(&mut self, unit: Unit, register: RegisterRef) -> u32 {
        let address = self.address(unit, register);
        self.host.read(address).expect("read")
    }

    /// Writes a register and waits until it is written.
    pub fn write(&mut self, unit: Unit, register: RegisterRef, value: u32) {
        let address = self.address(unit, register);
        self.host.write_acknowledged(address, value).expect("written");
    }

    /// Starts whatever the registers hold and waits: for the interrupts, for everything to stand still, or for the
    /// limit.
    ///
    /// # Panics
    /// When the host itself does something wrong: whatever the registers hold must not come to that.
    pub fn survives(&mut self, program: &Program, limit: Time) {
        self.host.set_limit(limit);
        self.run(program);
        loop {
            match self.try_interrupt() {
                Ok(_) => {}
                Err(HostError::Idle { .. } | HostError::Limit { .. }) => break,
                Err(other) => panic!("{other}"),
            }
        }
        self.host.statistics().expect("statistics");
    }

    /// Starts units with these words, again and again, in their registers: in all of them, or in some.
    ///
    /// # Panics
    /// As [`survives`](Self::survives).
    pub fn survives_words(&mut self, units: &[Unit], words: &[u32], sparse: bool, limit: Time) {
        let mut words = words.iter().copied().cycle();
        let mut program = self.program();
        for &unit in units {
            for register in unit.registers() {
                let word = words.next().unwrap_or_default();
                let shared = register.name.starts_with("S_POINTER") || register.name == "D_OP_ENABLE";
                if !shared && (!sparse || word % 4 == 0) {
                    program.word(unit, register, if sparse { word >> (word % 29) } else { word });
                }
            }
        }
        for &unit in units {
            program.word(unit, unit.op_enable().expect("a unit that is enabled"), 1);
        }
        self.survives(&program, limit);
    }

    /// A program without writes for this device.
    pub fn program(&self) -> Program {
        Program::new(self.host.map())
    }

    /// Makes a program's writes.
    pub fn run(&mut self, program: &Program) {
        program.run(&mut self.host).expect("written");
    }

    /// Writes a program and runs it.
    pub fn run_new(&mut self, write: impl FnOnce(&mut Program)) {
        let mut program = self.program();
        write(&mut program);
        self.run(&program);
    }

    /// Waits for the interrupt, reads the status, clears it and gives it.
    pub fn interrupt(&mut self) -> u32 {
        self.try_interrupt().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Waits for the interrupt as [`Device::interrupt`] does, where it may not come.
    pub fn try_interrupt(&mut self) -> Result<u32, HostError> {
        self.host.wait_interrupt()?;
        let address = self.address(Unit::Glb, glb::S_INTR_STATUS);
        let status = self.host.read(address)?;
        self.host.write_acknowledged(address, status)?;
        Ok(status)
    }

    /// Waits until these bits of the status have come, each once.
    ///
    /// # Panics
    /// When another comes, or one a second time.
    pub fn interrupts(&mut self, mut bits: u32) {
        while bits != 0 {
            let status = self.interrupt();
            assert_eq!(status & !bits, 0, "status {status:#x} where {bits:#x} may come");
            bits &= !status;
        }
    }

    /// Lets time pass.
    pub fn idle(&mut self, cycles: u64) {
        let until = self.host.now().expect("time") + Time::ns(cycles);
        self.host.set_limit(until);
        let waited = self.host.wait_interrupt();
        self.host.set_limit(Time::MAX);
        assert!(waited.is_err(), "an interrupt while nothing was expected");
    }

    /// Puts an image into memory.
    pub fn load(&mut self, image: &Image) {
        for (base, bytes) in image.regions() {
            self.host.load(memory(*base), *base, bytes).expect("in memory");
        }
    }

    /// Returns what memory holds.
    pub fn fetch(&mut self, base: u64, count: usize) -> Vec<u8> {
        let mut found = vec![0; count];
        self.host.fetch(memory(base), base, &mut found).expect("in memory");
        found
    }

    /// First place at which memory differs from an image: the address, what is there, what should be.
    pub fn difference(&mut self, image: &Image) -> Option<(u64, u8, u8)> {
        for (base, expected) in image.regions() {
            let found = self.fetch(*base, expected.len());
            let both = found.iter().zip(expected).zip(*base..);
            let differs = both.map(|((found, expected), at)| (at, *found, *expected));
            if let Some(first) = differs.into_iter().find(|(_, found, expected)| found != expected) {
                return Some(first);
            }
        }
        None
    }

    /// A counter of the platform; 0 if there is none.
    pub fn count(&mut self, name: &str) -> u64 {
        self.host.statistics().expect("statistics").get(name).unwrap_or_default()
    }

    /// The warnings since the last call, as texts.
    pub fn warnings(&mut self) -> Vec<String> {
        let text = |text: String| text.split_once(": ").map_or(text.clone(), |(_, said)| said.to_owned());
        self.host.warnings().into_iter().map(|warning| text(warning.text)).collect()
    }
}
