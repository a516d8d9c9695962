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

/// Something seen, with when and where. Its time may lie before the simulation's: transfers are told several at once.
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

    /// Called for some transfers of one source that follow each other, each with its time. For observers that can do
    /// better than to look at them one by one, or do not look at them at all.
    fn observe_transfers(&self, delta: u64, source: Source, transfers: &[(Time, Transfer)]) {
        for &(time, transfer) in transfers {
            self.observe(&Observation { time, delta, source, what: What::Transfer(transfer) });
        }
    }
}

/// Hashes all it is told into 64 bits: two runs with the same hash went the same way.
///
/// Each observation is hashed by itself, with its time, and the hashes are added up. So delta cycle numbers are left
/// out, and so is the order of what happens at one time: both may differ where nothing else does.
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
}

/// The hash of one observation (multiply and fold, word by word).
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    #[inline]
    fn mix(self, word: u64) -> Word {
        let hash = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Word(hash ^ (hash >> 32))
    }

    fn mix_text(self, text: &str) -> Word {
        text.bytes().fold(self.mix(text.len() as u64), |hash, byte| hash.mix(u64::from(byte)))
    }
}

impl Word {
    /// What hashes of all observations of one source at one time begin with.
    #[inline]
    fn start(time: Time, source: Source) -> Word {
        Word(0xcbf2_9ce4_8422_2325).mix(time.as_ps()).mix(u64::from(source.0))
    }

    #[inline]
    fn mix_transfer(self, transfer: &Transfer) -> Word {
        let Transfer { stage, write, id, address, bytes } = *transfer;
        self.mix(2 | u64::from(write) << 8 | (stage as u64) << 16 | u64::from(id) << 32)
            .mix(address)
            .mix(u64::from(bytes))
    }
}

impl Observer for EventHash {
    fn observe(&self, observation: &Observation<'_>) {
        let start = Word::start(observation.time, observation.source);
        let Word(hash) = match observation.what {
            What::Level(level) => start.mix(0).mix(level),
            What::Register { write, address, value } => {
                start.mix(1 | u64::from(write) << 8 | u64::from(address) << 32).mix(u64::from(value))
            }
            What::Transfer(transfer) => start.mix_transfer(&transfer),
            What::Begin { label, id } => start.mix(3).mix_text(label).mix(id),
            What::End { label, id } => start.mix(4).mix_text(label).mix(id),
            What::Warning(text) => start.mix(5).mix_text(text),
            What::Count { label, value } => start.mix(6).mix_text(label).mix(value),
        };
        self.hash.set(self.hash.get().wrapping_add(hash));
        self.count.set(self.count.get() + 1);
    }

    fn observe_transfers(&self, _: u64, source: Source, transfers: &[(Time, Transfer)]) {
        let hash = |(time, transfer): &(Time, Transfer)| Word::start(*time, source).mix_transfer(transfer).0;
        let sum = transfers.iter().fold(self.hash.get(), |sum, seen| sum.wrapping_add(hash(seen)));
        self.hash.set(sum);
        self.count.set(self.count.get() + transfers.len() as u64);
    }
}
