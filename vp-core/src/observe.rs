//! The one interface through which everything that happens is seen.
//!
//! Models report; observers count, draw and write files. A model never does any of that itself.

use crate::time::Time;
use std::cell::Cell;
use std::ops::Range;

mod warning;

pub use warning::Warning;

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

/// A read of which all times are known when it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// When its request was on the bus.
    pub requested: Time,
    /// When its first data is.
    pub first: Time,
    /// When it is over.
    pub last: Time,
    /// The request was told by itself.
    pub told: bool,
    /// The client or identifier on the bus it belongs to.
    pub id: u32,
    /// Length in bytes.
    pub bytes: u32,
    /// Byte address.
    pub address: u64,
}

impl Read {
    /// The transfer at a stage.
    pub fn at(&self, stage: Stage) -> Transfer {
        Transfer { stage, write: false, id: self.id, address: self.address, bytes: self.bytes }
    }
}

/// Transfers of one source that follow each other, several at once. For who does not need their order they are there by
/// stages: reads in the order of the bus, each with all its times.
///
/// ```
/// use vp_core::Time;
/// use vp_core::observe::{Read, Stage, Transfers};
/// let read = |requested, first, last| Read {
///     requested: Time::ns(requested),
///     first: Time::ns(first),
///     last: Time::ns(last),
///     told: false,
///     id: 0,
///     bytes: 64,
///     address: 0x8000,
/// };
/// // Two are asked for; the data of one has come, the other has only begun.
/// let reads = [read(0, 5, 8), read(6, 9, 12)];
/// let transfers = Transfers::new(&[], &reads, [0..2, 0..2, 0..1]);
/// let seen: Vec<(u64, Stage)> =
///     transfers.iter().map(|(time, transfer)| (time.as_ps() / 1000, transfer.stage)).collect();
/// let [request, data, response] = [Stage::Request, Stage::Data, Stage::Response];
/// assert_eq!(seen, [(0, request), (5, data), (6, request), (8, response), (9, data)]);
/// // By stages: nothing was told by itself, and one read is over.
/// assert!(transfers.single().is_empty() && !transfers.is_empty());
/// assert_eq!(transfers.over()[0].last - transfers.over()[0].requested, Time::ns(8));
/// ```
#[derive(Debug, Clone)]
pub struct Transfers<'a> {
    single: &'a [(Time, Transfer)],
    reads: &'a [Read],
    asked: Range<usize>,
    begun: Range<usize>,
    over: Range<usize>,
}

impl<'a> Transfers<'a> {
    /// What was told one by one, in order of time; and of some reads, those that were asked for meanwhile, those of which
    /// the first data came, and those that ended.
    pub fn new(
        single: &'a [(Time, Transfer)],
        reads: &'a [Read],
        [asked, begun, over]: [Range<usize>; 3],
    ) -> Transfers<'a> {
        Transfers { single, reads, asked, begun, over }
    }

    /// What was told one by one.
    pub fn single(&self) -> &'a [(Time, Transfer)] {
        self.single
    }

    /// Reads that were asked for, and not told one by one.
    pub fn asked(&self) -> impl Iterator<Item = &'a Read> + use<'a> {
        self.reads[self.asked.clone()].iter().filter(|read| !read.told)
    }

    /// Reads whose first data came.
    pub fn begun(&self) -> &'a [Read] {
        &self.reads[self.begun.clone()]
    }

    /// Reads that ended.
    pub fn over(&self) -> &'a [Read] {
        &self.reads[self.over.clone()]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.single.len() + self.asked().count() + self.begun.len() + self.over.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// All of them in order of time. Of one time, those that end come before those that begin.
    pub fn iter(&self) -> impl Iterator<Item = (Time, Transfer)> + use<'a> {
        let Transfers { single, reads, mut asked, mut begun, mut over } = self.clone();
        let mut single = single.iter().copied().peekable();
        let time = |at: Option<&Read>, of: fn(&Read) -> Time| at.map_or(Time::MAX, of);
        std::iter::from_fn(move || {
            while asked.start < asked.end && reads[asked.start].told {
                asked.start += 1;
            }
            let requested = time(reads[..asked.end].get(asked.start), |read| read.requested);
            // A read begins after it was asked for, and ends after it began.
            let first = time(reads[..begun.end.min(asked.start)].get(begun.start), |read| read.first);
            let last = time(reads[..over.end.min(begun.start)].get(over.start), |read| read.last);
            let told = single.peek().map_or(Time::MAX, |&(time, _)| time);
            let next = last.min(first).min(requested).min(told);
            let (read, stage) = if next == Time::MAX {
                return None;
            } else if next == told && next == first && reads[begun.start].told {
                // Its request may be this one.
                return single.next();
            } else if next == last {
                over.start += 1;
                (over.start - 1, Stage::Response)
            } else if next == first {
                begun.start += 1;
                (begun.start - 1, Stage::Data)
            } else if next == requested {
                asked.start += 1;
                (asked.start - 1, Stage::Request)
            } else {
                return single.next();
            };
            Some((next, reads[read].at(stage)))
        })
    }
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
    Warning(Warning<'a>),
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
/// use vp_core::observe::{Observation, Observer, Warning, What};
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
/// sim.report(sim.source("sdp"), What::Warning(Warning::Once("a surface is not aligned")));
/// assert_eq!(warnings.0.get(), 1);
/// ```
pub trait Observer {
    /// Called for each observation, in order.
    fn observe(&self, observation: &Observation<'_>);

    /// Called for some transfers of one source that follow each other. For observers that can do better than to look at
    /// them one by one, or do not look at them at all.
    fn observe_transfers(&self, delta: u64, source: Source, transfers: &Transfers<'_>) {
        for (time, transfer) in transfers.iter() {
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
    /// What hashes of all observations of one source at one time begin with.
    #[inline]
    fn start(time: Time, source: Source) -> Word {
        Word::SEED.mix(time.as_ps(), u64::from(source.0))
    }

    /// The hash of a transfer. Its parts share two words, where they seldom meet.
    #[inline]
    fn transfer(time: Time, source: Source, transfer: &Transfer) -> Word {
        let Transfer { stage, write, id, address, bytes } = *transfer;
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
            What::Warning(Warning::Once(text) | Warning::Repeated { text, .. }) => {
                start.mix(5, 0).mix_text(text)
            }
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
        let (mut sum, mut count) = (self.hash.get(), transfers.single().len() as u64);
        let mut add = |time: Time, transfer: &Transfer| {
            sum = sum.wrapping_add(Word::transfer(time, source, transfer).0);
        };
        transfers.single().iter().for_each(|(time, transfer)| add(*time, transfer));
        for read in transfers.asked() {
            add(read.requested, &read.at(Stage::Request));
            count += 1;
        }
        transfers.begun().iter().for_each(|read| add(read.first, &read.at(Stage::Data)));
        transfers.over().iter().for_each(|read| add(read.last, &read.at(Stage::Response)));
        self.hash.set(sum);
        self.count.set(self.count.get() + count + (transfers.begun().len() + transfers.over().len()) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_told_one_by_one_that_takes_no_time_is_asked_for_before_it_ends() {
        let at = Time::ns(3);
        let read = Read { requested: at, first: at, last: at, told: true, id: 1, bytes: 8, address: 0 };
        let (reads, single) = ([read], [(at, read.at(Stage::Request))]);
        let transfers = Transfers::new(&single, &reads, [0..1, 0..1, 0..1]);
        let stages: Vec<Stage> = transfers.iter().map(|(_, transfer)| transfer.stage).collect();
        assert_eq!(stages, [Stage::Request, Stage::Data, Stage::Response]);
        assert_eq!(transfers.count(), 3);
    }
}
