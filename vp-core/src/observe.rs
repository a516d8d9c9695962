//! The one interface for observing a simulation.
//!
//! Models report. Observers count, draw and write files; a model never does that itself.

use crate::time::Time;

mod buffered;
mod hash;
mod kinds;
mod source;
mod transfers;
mod warning;

pub use crate::kernel::Subscription;
pub use buffered::BufferedSource;
pub use hash::EventHash;
pub use kinds::Kinds;
pub use source::{LevelUnit, Source, SourceInfo, SourceKind};
pub use transfers::{InOrder, ScheduledRead, Transfers};
pub use warning::{Warning, WarningMarks};

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
/// use vp_core::observe::{SourceKind, Stage, Transfer, What};
/// let sim = Simulation::new().sim();
/// let bus = sim.source("bus", SourceKind::Transfers);
/// let (stage, requested) = (Stage::Request, sim.now());
/// let transfer = Transfer { stage, write: false, id: 3, address: 0x8000, bytes: 64, requested };
/// sim.report(bus, What::Transfer(transfer));
/// sim.report(bus, What::Transfer(Transfer { stage: Stage::Response, ..transfer }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Stage of the transfer.
    pub stage: Stage,
    /// True if the transfer writes.
    pub write: bool,
    /// The bus client or identifier to which it belongs.
    pub id: u32,
    /// Byte address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Time at which the transfer's request was on the bus. Each stage has this time, so that observers need not remember it.
    pub requested: Time,
}

/// Content of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What<'a> {
    /// A line or a fill level has a new value.
    Level(u64),
    /// A register was read or written: byte address and value.
    Register {
        /// True if the register was written.
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
        /// Kind of work.
        label: &'a str,
        /// Number of the work, unique among the open ones of the source.
        id: u64,
    },
    /// Work that began is over.
    End {
        /// Kind of work.
        label: &'a str,
        /// Number of the work.
        id: u64,
    },
    /// A countable event, such as a row that was found open.
    Count {
        /// Kind of event.
        label: &'a str,
        /// The object or place of the event; the source says how to read it.
        value: u64,
    },
    /// Something a person should know.
    Warning(Warning<'a>),
}

impl What<'_> {
    /// Returns the kind of the observation.
    ///
    /// ```
    /// use vp_core::observe::{Kinds, What};
    /// assert_eq!(What::Level(3).kind(), Kinds::LEVELS);
    /// assert_eq!(What::End { label: "layer", id: 0 }.kind(), Kinds::WORK);
    /// ```
    #[inline]
    pub fn kind(&self) -> Kinds {
        match self {
            What::Level(_) => Kinds::LEVELS,
            What::Register { .. } => Kinds::REGISTERS,
            What::Transfer(_) => Kinds::TRANSFERS,
            What::Begin { .. } | What::End { .. } => Kinds::WORK,
            What::Count { .. } => Kinds::COUNTS,
            What::Warning(_) => Kinds::WARNINGS,
        }
    }
}

/// An observation, with its time and place. Its time may be earlier than the simulation's, where a source
/// reports several at once ([`BufferedSource`]). It may also be later, up to the time until which no other
/// process has anything to do ([`crate::Sim::quiet_until`]). The times of one source never decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation<'a> {
    /// Simulated time.
    pub time: Time,
    /// The delta cycle in which it was reported, counted from the start.
    pub delta: u64,
    /// The source that reports.
    pub source: Source,
    /// Content of the observation.
    pub what: What<'a>,
}

/// A receiver of observations. An observer never changes a run.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
/// use vp_core::Simulation;
/// use vp_core::observe::{Kinds, Observation, Observer, SourceKind, Warning, What};
///
/// #[derive(Default)]
/// struct Warnings(Cell<u32>);
///
/// impl Observer for Warnings {
///     fn wants(&self) -> Kinds {
///         Kinds::WARNINGS
///     }
///
///     fn observe(&self, _: &Observation<'_>) {
///         self.0.set(self.0.get() + 1);
///     }
/// }
///
/// let sim = Simulation::new().sim();
/// let warnings = Rc::new(Warnings::default());
/// let subscription = sim.observe(warnings.clone());
/// let source = sim.source("sdp", SourceKind::Work);
/// sim.report(source, What::Warning(Warning::Once("a surface is not aligned")));
/// sim.report(source, What::Begin { label: "layer", id: 0 }); // nobody wants to know
/// subscription.cancel();
/// sim.report(source, What::Warning(Warning::Once("nor is another one")));
/// assert_eq!(warnings.0.get(), 1);
/// ```
pub trait Observer {
    /// The kinds of observations that it wants; called once, when it joins. The default is all.
    fn wants(&self) -> Kinds {
        Kinds::ALL
    }

    /// Called for each source, whatever it reports, in the order in which they were announced: first for those
    /// that exist when the observer joins, then for each new one before it reports anything.
    fn announced(&self, source: Source, info: &SourceInfo) {
        let _ = (source, info);
    }

    /// Called for each observation of a kind that it wants. Those of one source come in the order of their times; those of
    /// different sources need not.
    fn observe(&self, observation: &Observation<'_>);

    /// Called for transfers of one source that are reported together ([`crate::Sim::report_transfers`]), if the observer wants
    /// [`Kinds::TRANSFERS`]. By default [`Observer::observe`] gets them one by one, in the order of their times. An observer for
    /// which that order does not matter overrides this: it then has them at a fraction of the cost.
    fn observe_transfers(&self, delta: u64, source: Source, transfers: &Transfers<'_>) {
        transfers.each(&mut |time, transfer| {
            self.observe(&Observation { time, delta, source, what: What::Transfer(transfer) });
        });
    }

    /// Called with the watermark, if the observer wants [`Kinds::WATERMARKS`]: no later observation has an
    /// earlier time than `watermark`, though it may have exactly that time. The watermark never decreases.
    ///
    /// Called before the scheduler moves time on, if the watermark has moved. Also called whenever observers
    /// are flushed ([`crate::Sim::flush_observers`]), as at the end of a run, when everything up to `watermark`
    /// has been reported.
    fn complete_until(&self, watermark: Time) {
        let _ = watermark;
    }
}
