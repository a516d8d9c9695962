//! What can be wrong with a loadable, and with running one.

use super::fit::{Misfit, list};
use super::network::Kind;
use crate::host::DriverError;
use crate::units::grouped;
use thiserror::Error;

/// Why bytes are no loadable, or one that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadableError {
    /// The container is damaged or is something else.
    #[error("not an NVDLA loadable: {0}")]
    Container(String),
    /// A part names another one that is not there.
    #[error("{part} {id} names {missing}, which the loadable does not have")]
    Dangling {
        /// Who names.
        part: &'static str,
        /// Its number.
        id: u16,
        /// What is named.
        missing: String,
    },
    /// Two parts have one number.
    #[error("there are two {part} {id}")]
    Twice {
        /// What they are.
        part: &'static str,
        /// Their number.
        id: u16,
    },
    /// Bytes lie outside of where they belong.
    #[error("{what}: {bytes} bytes at offset {offset} are not in its {size}")]
    Outside {
        /// What is asked for.
        what: String,
        /// From where on.
        offset: u64,
        /// How many.
        bytes: u64,
        /// How many there are.
        size: u64,
    },
    /// More memory than a run is given.
    #[error("it asks for {} bytes of memory; at most {} are given", grouped(bytes), grouped(limit))]
    TooLarge {
        /// What it asks for.
        bytes: u64,
        /// The most.
        limit: u64,
    },
    /// More operations than are looked at.
    #[error("it has more than {} operations", grouped(limit))]
    TooManyOperations {
        /// The most.
        limit: usize,
    },
    /// A descriptor that means nothing.
    #[error("{place}: {field} is {value}, {expected}")]
    Descriptor {
        /// Which descriptor.
        place: String,
        /// Its field.
        field: &'static str,
        /// What it holds.
        value: i64,
        /// What it may hold.
        expected: &'static str,
    },
    /// No operation in any task: its outputs would be what memory held before.
    #[error("it has no operation: nothing is run")]
    NothingToRun,
    /// Something that a loadable can say and nothing here can do.
    #[error("{place}: {what} is not modelled")]
    NotModelled {
        /// Where it is asked for.
        place: String,
        /// What is asked for.
        what: String,
    },
}

/// Why a loadable did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// It cannot be run at all.
    #[error(transparent)]
    Loadable(#[from] LoadableError),
    /// The platform's hardware is not what it was made for.
    #[error("it does not fit {platform}: {}{}; {}", .misfits[0], more(.misfits), names(.fitting))]
    Unfit {
        /// The platform.
        platform: String,
        /// Reasons, at least one.
        misfits: Vec<Misfit>,
        /// The built-in platforms that it fits.
        fitting: Vec<&'static str>,
    },
    /// The platform could not do what was asked, or raised an interrupt that no running operation raises.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A unit that ought to be idle is not.
    #[error("operation {operation}: {register} of group {group} is {status:#x} where it should be idle")]
    Busy {
        /// Which operation was to be programmed.
        operation: usize,
        /// The register looked at.
        register: String,
        /// The group.
        group: usize,
        /// What it reads.
        status: u32,
    },
    /// A register that never became what is waited for.
    #[error("operation {operation}: {register} is still {value:#x} after {reads} reads")]
    Poll {
        /// Which operation waits.
        operation: usize,
        /// For which register.
        register: String,
        /// What it reads.
        value: u32,
        /// How often it was read.
        reads: u32,
    },
    /// The dependencies of what is left are never met.
    #[error(
        "nothing runs, and {left} operations wait for others: first operation {first} ({kind}) for {count}"
    )]
    Stuck {
        /// How many operations are left.
        left: usize,
        /// The first of them.
        first: usize,
        /// Its kind.
        kind: Kind,
        /// How many events it still waits for.
        count: usize,
    },
    /// An input that does not fit.
    #[error("input of {} bytes: the tensor {tensor} takes {}", grouped(found), grouped(expected))]
    Input {
        /// Its name.
        tensor: String,
        /// How many bytes there are.
        found: usize,
        /// What is wanted.
        expected: String,
    },
}

fn more(misfits: &[Misfit]) -> String {
    match misfits.len() - 1 {
        0 => String::new(),
        more => format!(" ({} more)", grouped(more)),
    }
}

fn names(platforms: &[&str]) -> String {
    match platforms {
        [] => "nor does it fit a built-in platform".to_owned(),
        platforms => format!("it fits {}", list(platforms)),
    }
}
