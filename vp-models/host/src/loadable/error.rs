//! Errors of a loadable, and of running one.

use super::misfit::{Misfit, alternatives, list};
use super::network::OperationKind;
use super::shape::CubeFault;
use crate::DriverError;
use std::fmt;
use thiserror::Error;
use vp_models::units::grouped;

/// Reason for which bytes are no loadable, or one that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadableError {
    /// The container is damaged or is something else.
    #[error("not an NVDLA loadable: {0}")]
    Container(String),
    /// A part names another one that is not there.
    #[error("{part} {id} names {missing}, which the loadable does not have")]
    Dangling {
        /// Kind of the part that names the other.
        part: &'static str,
        /// Number of that part.
        id: u16,
        /// Part that is named.
        missing: String,
    },
    /// Two parts have one number.
    #[error("there are two {part} {id}")]
    Twice {
        /// Kind of the parts.
        part: &'static str,
        /// Number of both parts.
        id: u16,
    },
    /// Bytes lie outside of where they belong.
    #[error("{what}: {bytes} bytes at offset {offset} are not in its {size}")]
    Outside {
        /// Name of what is asked for.
        what: String,
        /// Offset from which on.
        offset: u64,
        /// Number of bytes asked for.
        bytes: u64,
        /// Number of bytes there are.
        size: u64,
    },
    /// More memory than a run is given.
    #[error("it asks for {} bytes of memory; at most {} are given", grouped(bytes), grouped(limit))]
    TooLarge {
        /// Bytes that it asks for.
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
    /// More tasks than are looked at.
    #[error("it submits more than {} tasks", grouped(limit))]
    TooManyTasks {
        /// The most.
        limit: usize,
    },
    /// A descriptor that means nothing.
    #[error("{place}: {field} is {value}, {expected}")]
    Descriptor {
        /// Place of the descriptor.
        place: String,
        /// Field of the descriptor.
        field: &'static str,
        /// Value of the field.
        value: i64,
        /// Values that the field may hold.
        expected: &'static str,
    },
    /// A cube that no unit can have where it is.
    #[error("{place}: {fault}")]
    Cube {
        /// Operation and cube.
        place: String,
        /// Reason.
        fault: CubeFault,
    },
    /// Two cubes that no hardware can have both.
    #[error(
        "its cubes contradict each other: {} consists of memory atoms of {} bytes, and {} of {}; all cubes of a loadable have the same",
        .cubes[0], alternatives(&.cubes[0].atoms), .cubes[1], alternatives(&.cubes[1].atoms)
    )]
    Contradiction {
        /// The cubes, and the atoms that each can have.
        cubes: Box<[CubeAtoms; 2]>,
    },
    /// Cube of a tensor that the user gives or takes, with other strides than the tensor.
    #[error(
        "{place}: lines of {} and surfaces of {} bytes, and the tensor {tensor} has {} and {}",
        grouped(strides[0]), grouped(strides[1]), grouped(expected[0]), grouped(expected[1])
    )]
    TensorStrides {
        /// Operation and cube.
        place: String,
        /// Bytes from a line, and from a surface, of the cube to the next.
        strides: [u64; 2],
        /// Name and number of memory of the tensor.
        tensor: String,
        /// Bytes from a line, and from a surface, of the tensor to the next.
        expected: [u64; 2],
    },
    /// An output that would be, at least in parts, what memory held before.
    #[error("the output {tensor}: {}", unwritten(*.written, *.bytes))]
    Unwritten {
        /// Name and number of memory of the output.
        tensor: String,
        /// Bytes that operations write at most.
        written: u64,
        /// Bytes of its elements.
        bytes: u64,
    },
    /// Something that is read and never comes about.
    #[error(
        "{place}: nothing is in memory {memory} there: it is no input, the loadable does not fill it, and no other operation writes it"
    )]
    Unfilled {
        /// Operation and cube.
        place: String,
        /// Number of the memory.
        memory: u16,
    },
    /// No operation in any task: its outputs would be what memory held before.
    #[error("it has no operation: nothing is run")]
    NothingToRun,
    /// Something that a loadable can say and nothing here can do.
    #[error("{place}: {what} is not modelled")]
    NotModelled {
        /// Place at which it is asked for.
        place: String,
        /// Feature that is asked for.
        what: String,
    },
}

/// A cube of features, and the memory atoms of which it can consist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CubeAtoms {
    /// Operation and cube.
    pub place: String,
    /// Width, height, channels.
    pub size: [u32; 3],
    /// Bytes from a line, and from a surface, to the next.
    pub strides: [u32; 2],
    /// Bytes of the atoms.
    pub atoms: Vec<u32>,
}

impl fmt::Display for CubeAtoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CubeAtoms { place, size: [width, height, channels], strides: [line, surface], .. } = self;
        write!(
            f,
            "{place}, {width} x {height} x {channels} with lines of {line} and surfaces of {surface} bytes,"
        )
    }
}

fn unwritten(written: u64, bytes: u64) -> String {
    match written {
        0 => "no operation writes it".to_owned(),
        _ => format!("its elements have {} bytes, and operations write {}", grouped(bytes), grouped(written)),
    }
}

/// Reason for which a loadable did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The loadable cannot be run at all.
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
        /// Operation that was to be programmed.
        operation: usize,
        /// The register looked at.
        register: String,
        /// The group.
        group: usize,
        /// Value of the register.
        status: u32,
    },
    /// A register that never became what is waited for.
    #[error("operation {operation}: {register} is still {value:#x} after {reads} reads")]
    Poll {
        /// Operation that waits.
        operation: usize,
        /// Register for which it waits.
        register: String,
        /// Value of the register.
        value: u32,
        /// Number of reads of it.
        reads: u32,
    },
    /// The dependencies of what is left are never met.
    #[error(
        "nothing runs, and {left} operations wait for others: first operation {first} ({kind}) for {count}"
    )]
    Stuck {
        /// Number of operations left.
        left: usize,
        /// The first of them.
        first: usize,
        /// Kind of that operation.
        kind: OperationKind,
        /// Number of events it still waits for.
        count: usize,
    },
    /// An input that does not fit.
    #[error("input of {} bytes: the tensor {tensor} takes {}", grouped(found), grouped(expected))]
    Input {
        /// Name of the tensor.
        tensor: String,
        /// Number of bytes there are.
        found: usize,
        /// Number of bytes wanted, in words.
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
