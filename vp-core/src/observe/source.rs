//! Sources of observations, and what they report.

use crate::name::Name;
use serde::{Deserialize, Serialize};

/// A source of observations: a port, an engine, a channel. Announced once, by [`crate::Sim::source`].
///
/// ```
/// use vp_core::Simulation;
/// use vp_core::observe::{Source, SourceKind};
/// let sim = Simulation::new().sim();
/// let bus: Source = sim.source("bus", SourceKind::Transfers);
/// let irq: Source = sim.source("irq", SourceKind::LINE);
/// assert_eq!((bus.index(), irq.index()), (0, 1));
/// assert_eq!(&*sim.source_name(irq), "irq");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source(pub(crate) u32);

impl Source {
    /// Returns the source's number, in order of creation.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kind of what a source reports. Any source may report warnings as well.
///
/// ```
/// use vp_core::observe::SourceKind;
/// let fill = SourceKind::Level { bits: 9, unit: "bytes" };
/// assert_eq!(SourceKind::LINE, SourceKind::Level { bits: 1, unit: "" });
/// assert_ne!(fill, SourceKind::LINE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// A value that holds until the next one: [`crate::observe::What::Level`].
    Level {
        /// Width in bits, from 1 to 64.
        bits: u32,
        /// Unit of what is counted, such as `bytes`; empty for a line or a plain number.
        unit: &'static str,
    },
    /// Accesses to registers: [`crate::observe::What::Register`].
    Registers {
        /// Width of the byte address in bits.
        address_bits: u32,
    },
    /// Reads and writes on a bus: [`crate::observe::What::Transfer`].
    Transfers,
    /// Pieces of work: [`crate::observe::What::Begin`] and [`crate::observe::What::End`].
    Work,
    /// Things that are counted: [`crate::observe::What::Count`].
    Counts,
    /// Nothing but warnings.
    Warnings,
}

impl SourceKind {
    /// A line: a level of one bit.
    pub const LINE: SourceKind = SourceKind::Level { bits: 1, unit: "" };
}

/// The description of a source, given when it is announced.
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
/// use vp_core::Simulation;
/// use vp_core::observe::{Observation, Observer, Source, SourceInfo, SourceKind};
///
/// #[derive(Default)]
/// struct Declared(RefCell<Vec<SourceInfo>>);
///
/// impl Observer for Declared {
///     fn announced(&self, source: Source, info: &SourceInfo) {
///         assert_eq!(source.index(), self.0.borrow().len());
///         self.0.borrow_mut().push(info.clone());
///     }
///
///     fn observe(&self, _: &Observation<'_>) {}
/// }
///
/// let sim = Simulation::new().sim();
/// sim.source("dbb0", SourceKind::Transfers);
/// let declared = Rc::new(Declared::default());
/// sim.observe(declared.clone()); // is told of what there is…
/// sim.source("csb0", SourceKind::Registers { address_bits: 18 }); // …and of what comes
/// let names: Vec<String> = declared.0.borrow().iter().map(|info| info.name.to_string()).collect();
/// assert_eq!(names, ["dbb0", "csb0"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceInfo {
    /// Name of the source. Parts of a hierarchy are separated by dots: `dbb0.dram.channel0`.
    pub name: Name,
    /// Kind of what the source reports.
    pub kind: SourceKind,
}
