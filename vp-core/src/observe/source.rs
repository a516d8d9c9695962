//! Sources of observations, and what they report.

use crate::name::Name;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, ParseError};

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
/// use vp_core::observe::{LevelUnit, SourceKind};
/// let fill = SourceKind::Level { bits: 9, unit: LevelUnit::Bytes };
/// assert_eq!(SourceKind::LINE, SourceKind::Level { bits: 1, unit: LevelUnit::None });
/// assert_ne!(fill, SourceKind::LINE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SourceKind {
    /// A value that holds until the next one: [`crate::observe::What::Level`].
    Level {
        /// Width in bits, from 1 to 64.
        bits: u32,
        /// Unit of what is counted.
        unit: LevelUnit,
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
    pub const LINE: SourceKind = SourceKind::Level { bits: 1, unit: LevelUnit::None };
}

/// Unit of a [`SourceKind::Level`]. Saved simulations hold its name.
///
/// ```
/// use vp_core::observe::LevelUnit;
/// assert_eq!((LevelUnit::Bytes.name(), LevelUnit::None.name()), ("bytes", ""));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, IntoStaticStr, Serialize, Deserialize)]
#[strum(serialize_all = "lowercase")]
#[serde(into = "&'static str", try_from = "String")]
pub enum LevelUnit {
    /// A line, or a plain number.
    #[strum(serialize = "")]
    None,
    /// Bytes.
    Bytes,
    /// Entries of a queue or buffer.
    Entries,
    /// Atoms of a device's memory layout.
    Atoms,
}

impl LevelUnit {
    /// Returns the unit's name; empty for [`LevelUnit::None`].
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl TryFrom<String> for LevelUnit {
    type Error = ParseError;

    fn try_from(name: String) -> Result<Self, ParseError> {
        name.parse()
    }
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
