//! One number that identifies a whole run.

use super::{Observation, Observer, Source, Stage, Transfer, Transfers, Warning, What};
use crate::time::Time;
use std::cell::Cell;

/// Hashes all observations into 64 bits: two runs with the same hash had the same events.
///
/// Each observation is hashed by itself, with its time, and the hashes are added up. So delta cycle numbers and
/// the order of events at one time are left out: they may differ where nothing else does.
///
/// ```
/// use std::rc::Rc;
/// use vp_core::observe::{EventHash, LevelUnit, SourceKind, What};
/// use vp_core::Simulation;
/// let run = |level| {
///     let simulation = Simulation::new();
///     let sim = simulation.sim();
///     let hash = Rc::new(EventHash::default());
///     sim.observe(hash.clone());
///     let source = sim.source("irq", SourceKind::LINE);
///     sim.report(source, What::Level(level));
///     hash.value()
/// };
/// assert_eq!(run(1), run(1));
/// assert_ne!(run(1), run(0));
/// ```
#[derive(Debug, Default)]
pub struct EventHash {
    hash: Cell<u64>,
    count: Cell<u64>,
}

impl EventHash {
    /// The hash of all observations so far.
    pub fn value(&self) -> u64 {
        self.hash.get()
    }

    /// Begins anew, as if nothing had been observed.
    ///
    /// ```
    /// use vp_core::observe::EventHash;
    /// let hash = EventHash::default();
    /// hash.restart();
    /// assert_eq!((hash.value(), hash.count()), (0, 0));
    /// ```
    pub fn restart(&self) {
        self.hash.set(0);
        self.count.set(0);
    }

    /// Continues from another hash, with its value and count.
    ///
    /// ```
    /// use vp_core::observe::EventHash;
    /// let hash = EventHash::default();
    /// hash.resume(0x1234, 7);
    /// assert_eq!((hash.value(), hash.count()), (0x1234, 7));
    /// ```
    pub fn resume(&self, value: u64, count: u64) {
        self.hash.set(value);
        self.count.set(count);
    }

    /// The number of observations so far.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use vp_core::Simulation;
    /// use vp_core::observe::{EventHash, LevelUnit, SourceKind, What};
    /// let sim = Simulation::new().sim();
    /// let hash = Rc::new(EventHash::default());
    /// sim.observe(hash.clone());
    /// sim.report(sim.source("fill", SourceKind::Level { bits: 2, unit: LevelUnit::Entries }), What::Level(3));
    /// assert_eq!(hash.count(), 1);
    /// ```
    pub fn count(&self) -> u64 {
        self.count.get()
    }
}

/// The hash of one observation (multiply and fold, two words at once).
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    const SEED: Word = Word(0xcbf2_9ce4_8422_2325);

    #[inline]
    fn mix(self, first: u64, second: u64) -> Word {
        let product =
            u128::from(self.0 ^ first ^ 0x9e37_79b9_7f4a_7c15) * u128::from(second ^ 0xd6e8_feb8_6659_fd93);
        // What neither half of the product keeps when one factor is zero comes from the sum.
        Word((product >> 64) as u64 ^ product as u64 ^ self.0.wrapping_add(first).rotate_left(29))
    }

    fn mix_text(self, text: &str) -> Word {
        text.bytes().fold(self.mix(text.len() as u64, 0), |hash, byte| hash.mix(u64::from(byte), 0))
    }
}

impl Word {
    /// Returns the word with which hashes of all observations of one source at one time begin.
    #[inline]
    fn start(time: Time, source: Source) -> Word {
        Word::SEED.mix(time.as_ps(), u64::from(source.0))
    }

    /// The hash of a transfer. Its parts share two words, where they seldom meet.
    #[inline]
    fn transfer(time: Time, source: Source, transfer: &Transfer) -> Word {
        let Transfer { stage, write, id, address, bytes, requested: _ } = *transfer;
        let kind = u64::from(source.0) << 4 | (stage as u64) << 2 | u64::from(write) << 1 | 1;
        let (id, bytes) = (u64::from(id).rotate_right(12), u64::from(bytes).rotate_right(28));
        Word::SEED.mix(time.as_ps() ^ kind.rotate_right(16), address ^ id ^ bytes)
    }
}

impl Observer for EventHash {
    fn observe(&self, observation: &Observation<'_>) {
        let start = Word::start(observation.time, observation.source);
        let Word(hash) = match observation.what {
            What::Level(level) => start.mix(0, level),
            What::Register { write, address, value } => {
                start.mix(1 | u64::from(write) << 8 | u64::from(address) << 32, u64::from(value))
            }
            What::Transfer(transfer) => Word::transfer(observation.time, observation.source, &transfer),
            What::Begin { label, id } => start.mix(3, id).mix_text(label),
            What::End { label, id } => start.mix(4, id).mix_text(label),
            // Marks are not hashed: hashes are the same as before there were any.
            What::Warning(
                Warning::Once(text) | Warning::Marked { text, .. } | Warning::Repeated { text, .. },
            ) => start.mix(5, 0).mix_text(text),
            What::Warning(Warning::Access { client, write, address, bytes, text }) => {
                let how = 5 | u64::from(write) << 8 | u64::from(bytes) << 32;
                start.mix(how, address).mix_text(client).mix_text(text)
            }
            What::Count { label, value } => start.mix(6, value).mix_text(label),
        };
        self.hash.set(self.hash.get().wrapping_add(hash));
        self.count.set(self.count.get() + 1);
    }

    fn observe_transfers(&self, _: u64, source: Source, transfers: &Transfers<'_>) {
        let (mut sum, mut count) = (self.hash.get(), self.count.get());
        let mut add = |(time, transfer): (Time, Transfer)| {
            sum = sum.wrapping_add(Word::transfer(time, source, &transfer).0);
            count += 1;
        };
        transfers.single().iter().copied().for_each(&mut add);
        transfers.requested().for_each(|read| add(read.at(Stage::Request)));
        transfers.begun().iter().for_each(|read| add(read.at(Stage::Data)));
        transfers.ended().iter().for_each(|read| add(read.at(Stage::Response)));
        self.hash.set(sum);
        self.count.set(count);
    }
}
