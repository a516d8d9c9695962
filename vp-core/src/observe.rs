//! The one interface through which everything that happens is seen.
//!
//! Models report; observers count, draw and write files. A model never does any of that itself.

use crate::time::Time;
use std::cell::Cell;

/// Something that reports: a port, an engine, a channel. Named once, by [`crate::Sim::source`].
///
/// ```
/// use vp_core::Simulation;
/// use vp_core::observe::Source;
/// let sim = Simulation::new().sim();
/// let (bus, irq): (Source, Source) = (sim.source("bus"), sim.source("irq"));
/// assert_eq!((bus.index(), irq.index()), (0, 1));
/// assert_eq!(&*sim.source_name(irq), "irq");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source(pub(crate) u32);

impl Source {
    /// Its number, in order of creation.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The stages of a transfer on a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The request is on the bus.
    Request,
    /// The first data is back, or the write's data is complete.
    Data,
    /// The transfer is over and acknowledged.
    Response,
}

/// A read or write seen on a bus.
///
/// ```
/// use vp_core::Simulation;
/// use vp_core::observe::{Stage, Transfer, What};
/// let sim = Simulation::new().sim();
/// let bus = sim.source("bus");
/// let transfer = Transfer { stage: Stage::Request, write: false, id: 3, address: 0x8000, bytes: 64 };
/// sim.report(bus, What::Transfer(transfer));
/// sim.report(bus, What::Transfer(Transfer { stage: Stage::Response, ..transfer }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// How far it is.
    pub stage: Stage,
    /// Whether it writes.
    pub write: bool,
    /// The client or identifier on the bus it belongs to.
    pub id: u32,
    /// Byte address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What<'a> {
    /// A line or a fill level has a new value.
    Level(u64),
    /// A register was read or written: byte address and value.
    Register {
        /// Whether it was written.
        write: bool,
        /// Byte address in the device's window.
        address: u32,
        /// The value read or written.
        value: u32,
    },
    /// A transfer on a bus.
    Transfer(Transfer),
    /// Work begins: `label` says what kind, `id` which one.
    Begin {
        /// What kind of work.
        label: &'a str,
        /// Which one, unique among the open ones of the source.
        id: u64,
    },
    /// Work that began is over.
    End {
        /// What kind of work.
        label: &'a str,
        /// Which one.
        id: u64,
    },
    /// Something of a kind that is counted, such as a row that was found open.
    Count {
        /// Which kind.
        label: &'a str,
        /// Of what, or where: the source says how it is to be read.
        value: u64,
    },
    /// Something a person should know.
    Warning(&'a str),
}

/// Something seen, with when and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation<'a> {
    /// When.
    pub time: Time,
    /// In which delta cycle, counted from the start.
    pub delta: u64,
    /// Who reports.
    pub source: Source,
    /// What was seen.
    pub what: What<'a>,
}

/// Someone who is told. Observers look on: what they do never changes a run.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
/// use vp_core::Simulation;
/// use vp_core::observe::{Observation, Observer, What};
///
/// #[derive(Default)]
/// struct Warnings(Cell<u32>);
///
/// impl Observer for Warnings {
///     fn observe(&self, observation: &Observation<'_>) {
///         if let What::Warning(_) = observation.what {
///             self.0.set(self.0.get() + 1);
///         }
///     }
/// }
///
/// let sim = Simulation::new().sim();
/// let warnings = Rc::new(Warnings::default());
/// sim.observe(warnings.clone());
/// sim.report(sim.source("sdp"), What::Warning("a surface is not aligned"));
/// assert_eq!(warnings.0.get(), 1);
/// ```
pub trait Observer {
    /// Called for each observation, in order.
    fn observe(&self, observation: &Observation<'_>);
}

/// Hashes all it is told into 64 bits (multiply and fold, word by word): two runs with the same hash went the same way.
///
/// Delta cycle numbers are left out: they may differ where the order of events does not.
///
/// ```
/// use std::rc::Rc;
/// use vp_core::observe::{EventHash, What};
/// use vp_core::Simulation;
/// let run = |level| {
///     let simulation = Simulation::new();
///     let sim = simulation.sim();
///     let hash = Rc::new(EventHash::default());
///     sim.observe(hash.clone());
///     let source = sim.source("irq");
///     sim.report(source, What::Level(level));
///     hash.value()
/// };
/// assert_eq!(run(1), run(1));
/// assert_ne!(run(1), run(0));
/// ```
#[derive(Debug)]
pub struct EventHash {
    hash: Cell<u64>,
    count: Cell<u64>,
}

impl Default for EventHash {
    fn default() -> EventHash {
        EventHash { hash: Cell::new(0xcbf2_9ce4_8422_2325), count: Cell::new(0) }
    }
}

impl EventHash {
    /// The hash of all observations so far.
    pub fn value(&self) -> u64 {
        self.hash.get()
    }

    /// The number of observations so far.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use vp_core::Simulation;
    /// use vp_core::observe::{EventHash, What};
    /// let sim = Simulation::new().sim();
    /// let hash = Rc::new(EventHash::default());
    /// sim.observe(hash.clone());
    /// sim.report(sim.source("fill"), What::Level(3));
    /// assert_eq!(hash.count(), 1);
    /// ```
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    fn mix(&self, word: u64) {
        let hash = (self.hash.get() ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.hash.set(hash ^ (hash >> 32));
    }

    fn mix_text(&self, text: &str) {
        self.mix(text.len() as u64);
        text.bytes().for_each(|byte| self.mix(u64::from(byte)));
    }
}

impl Observer for EventHash {
    fn observe(&self, observation: &Observation<'_>) {
        self.count.set(self.count.get() + 1);
        self.mix(observation.time.as_ps());
        self.mix(u64::from(observation.source.0));
        match observation.what {
            What::Level(level) => {
                self.mix(0);
                self.mix(level);
            }
            What::Register { write, address, value } => {
                self.mix(1 | u64::from(write) << 8 | u64::from(address) << 32);
                self.mix(u64::from(value));
            }
            What::Transfer(transfer) => {
                self.mix(
                    2 | u64::from(transfer.write) << 8
                        | (transfer.stage as u64) << 16
                        | u64::from(transfer.id) << 32,
                );
                self.mix(transfer.address);
                self.mix(u64::from(transfer.bytes));
            }
            What::Begin { label, id } => {
                self.mix(3);
                self.mix_text(label);
                self.mix(id);
            }
            What::End { label, id } => {
                self.mix(4);
                self.mix_text(label);
                self.mix(id);
            }
            What::Warning(text) => {
                self.mix(5);
                self.mix_text(text);
            }
            What::Count { label, value } => {
                self.mix(6);
                self.mix_text(label);
                self.mix(value);
            }
        }
    }
}
