//! The CSR block: what software reads and writes, and what a write asks of the IP.
//!
//! A pure state machine. The device hands it every access of its 2048 bytes, does what comes back, and sets what hardware
//! sets. It never waits. What is no register reads zero and ignores writes.

use super::architecture::Architecture;
use super::queue::Descriptor;
use super::registers as reg;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::device::PendingInterrupt;
use crate::registers::{Family, FieldRef, RegisterRef, Rights};

/// Bytes of the block.
pub const WINDOW: u32 = 2048;

/// Words that a model update can write at once.
pub const UPDATE_WORDS: usize = 32;

/// Event that interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// A request was refused, or a job ended without its output.
    Error,
    /// An inference is complete.
    Complete,
}

impl Interrupt {
    fn field(self) -> FieldRef {
        match self {
            Interrupt::Error => reg::INTERRUPT_CONTROL::ERROR,
            Interrupt::Complete => reg::INTERRUPT_CONTROL::COMPLETE,
        }
    }

    fn mask(self) -> u32 {
        self.field().only_bits().mask()
    }
}

/// Memory that a model update is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The configuration memory.
    Configuration,
    /// The scratchpad.
    Scratchpad,
}

/// Request that a write makes of the IP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CsrRequest {
    /// Queues a request.
    Job(Descriptor),
    /// Resets the IP.
    Reset,
    /// Begins descriptors and listens to the input stream, or stops.
    Streaming(bool),
    /// Looks something up.
    Debug(u32),
    /// Writes a word of the model.
    Update {
        /// Memory to write.
        target: Target,
        /// Address of the word.
        address: u32,
        /// The word, its lowest bits first.
        word: Box<[u32; UPDATE_WORDS]>,
    },
}

/// A register that there is.
struct RegisterSlot {
    register: RegisterRef,
    rights: Rights,
    word: u32,
}

/// The block.
pub struct Csr {
    /// One for each word of the window.
    places: Vec<Option<RegisterSlot>>,
    /// Interrupts that have arisen: bits that came while they were not masked, or were unmasked while they were set.
    arisen: u64,
}

impl Csr {
    /// The block of an architecture, after power-on.
    pub fn new(architecture: &Architecture) -> Csr {
        let mut places: Vec<Option<RegisterSlot>> = (0..WINDOW / 4).map(|_| None).collect();
        for register in reg::REGISTERS {
            let rights = Rights::of(register, Family::Small);
            places[register.index()] =
                Some(RegisterSlot { register, rights, word: register.reset(Family::Small) });
        }
        let mut csr = Csr { places, arisen: 0 };
        let mut version = [0; 32];
        version.iter_mut().zip(architecture.version.bytes()).for_each(|(to, from)| *to = from);
        let rom = [&architecture.hash().0[..], &version].concat();
        for (place, bytes) in csr.places.iter_mut().zip(rom.chunks_exact(4)) {
            if let (Some(place), Some(bytes)) = (place, bytes.first_chunk()) {
                place.word = u32::from_le_bytes(*bytes);
            }
        }
        csr.set(reg::LICENCE, architecture.licensed.into());
        csr
    }

    /// A read of the word at a byte address.
    pub fn read(&self, address: u32) -> u32 {
        self.place(address).map_or(0, |place| place.rights.read(place.word))
    }

    /// A write of the word at a byte address. Says what it asks for.
    pub fn write(&mut self, address: u32, value: u32) -> Option<CsrRequest> {
        let pending = self.pending();
        let place = self.places.get_mut(address as usize / 4)?.as_mut()?;
        place.word = place.rights.write(place.word, value);
        let register = place.register;
        self.arose(pending);
        self.asked(register, value)
    }

    /// Sets a register from the hardware's side, whatever software's rights.
    pub fn set(&mut self, register: RegisterRef, word: u32) {
        if let Some(place) = self.place_mut(register) {
            place.word = word & register.mask(Family::Small, |_| true);
        }
    }

    /// Sets two registers to the halves of a count.
    pub fn set_pair(&mut self, low: RegisterRef, high: RegisterRef, count: u64) {
        self.set(low, count as u32);
        self.set(high, (count >> 32) as u32);
    }

    /// The word of a register.
    pub fn word(&self, register: RegisterRef) -> u32 {
        self.place(register.offset.into()).map_or(0, |place| place.word)
    }

    /// A field's value.
    pub fn field(&self, field: FieldRef) -> u32 {
        field.only_bits().extract(self.place(field.offset.into()).map_or(0, |place| place.word))
    }

    /// Something happened.
    pub fn raise(&mut self, interrupt: Interrupt) {
        let pending = self.pending();
        let word = self.word(reg::INTERRUPT_CONTROL) | interrupt.mask();
        self.set(reg::INTERRUPT_CONTROL, word);
        self.arose(pending);
    }

    /// The level of the interrupt line.
    pub fn level(&self) -> bool {
        self.pending() != 0
    }

    /// The interrupts that are set, masked ones included.
    pub(crate) fn set_interrupts(&self) -> Vec<PendingInterrupt> {
        let [set, mask] = [reg::INTERRUPT_CONTROL, reg::INTERRUPT_MASK].map(|register| self.word(register));
        let all = [Interrupt::Error, Interrupt::Complete].into_iter();
        let pending =
            |it: Interrupt| PendingInterrupt { name: it.field().name, is_masked: mask & it.mask() == 0 };
        all.filter(|it| set & it.mask() != 0).map(pending).collect()
    }

    /// Returns the number of interrupts that have arisen since power-on.
    pub fn arisen(&self) -> u64 {
        self.arisen
    }

    /// The IP is reset: all registers but the discovery ROM and the licence are as after power-on.
    pub fn reset(&mut self) {
        let keeps = |register: RegisterRef| {
            register.offset < reg::INTERRUPT_CONTROL.offset || register == reg::LICENCE
        };
        for place in self.places.iter_mut().flatten().filter(|place| !keeps(place.register)) {
            place.word = place.register.reset(Family::Small);
        }
    }

    fn place(&self, address: u32) -> Option<&RegisterSlot> {
        self.places.get(address as usize / 4)?.as_ref().filter(|_| address.is_multiple_of(4))
    }

    fn place_mut(&mut self, register: RegisterRef) -> Option<&mut RegisterSlot> {
        self.places.get_mut(register.index())?.as_mut()
    }

    /// Interrupts that are set and not masked.
    fn pending(&self) -> u32 {
        self.word(reg::INTERRUPT_CONTROL) & self.word(reg::INTERRUPT_MASK)
    }

    fn arose(&mut self, before: u32) {
        self.arisen += u64::from((self.pending() & !before).count_ones());
    }

    fn asked(&mut self, register: RegisterRef, value: u32) -> Option<CsrRequest> {
        if register == reg::IO_BASE {
            // All base addresses are held: of this one the descriptor has what was just written.
            let config_words = u64::from(self.word(reg::CONFIG_WORDS)) + 2;
            return Some(CsrRequest::Job(Descriptor {
                config_base: self.word(reg::CONFIG_BASE),
                config_words,
                io_base: value,
                intermediate_base: self.word(reg::INTERMEDIATE_BASE),
            }));
        }
        if register == reg::IP_RESET {
            self.set(register, 0);
            return (value != 0).then_some(CsrRequest::Reset);
        }
        if register == reg::STREAMING {
            return Some(CsrRequest::Streaming(self.field(reg::STREAMING::ACTIVE) != 0));
        }
        if register == reg::DEBUG_ADDRESS {
            self.set(reg::DEBUG_VALID, 0);
            return Some(CsrRequest::Debug(value));
        }
        if register == reg::UPDATE_CONTROL {
            let target = match self.field(reg::UPDATE_CONTROL::KIND) {
                reg::UPDATE_CONTROL::KIND::CONFIGURATION => Target::Configuration,
                _ => Target::Scratchpad,
            };
            let address = self.field(reg::UPDATE_CONTROL::ADDRESS);
            let first = reg::UPDATE_0.index();
            let word = |at: usize| self.places[first + at].as_ref().map_or(0, |place| place.word);
            let word = Box::new(std::array::from_fn(word));
            return Some(CsrRequest::Update { target, address, word });
        }
        None
    }
}

impl Csr {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Csr { places, arisen } = self;
        let mut words: Vec<u32> = places.iter().flatten().map(|place| place.word).collect();
        at.fixed(&mut words)?;
        places.iter_mut().flatten().zip(words).for_each(|(place, word)| place.word = word);
        at.value(arisen)
    }
}

#[cfg(test)]
mod tests;
