//! Reasons for which a loadable does not fit a hardware configuration.

use thiserror::Error;
use vp_models::nvdla::refused::Refused;

/// Reason for which a loadable does not fit a hardware configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misfit {
    /// A cube of other memory atoms.
    #[error(
        "{place}: {} with lines of {} and surfaces of {} bytes consists of memory atoms of {} bytes, and this configuration has {has}",
        cube_of(.size), .strides[0], .strides[1], alternatives(.atoms)
    )]
    Atom {
        /// Operation and cube.
        place: String,
        /// Width, height, channels.
        size: [u32; 3],
        /// Strides of lines and surfaces.
        strides: [u32; 2],
        /// Bytes of the atoms that it may have.
        atoms: Vec<u32>,
        /// Bytes of the hardware's.
        has: u32,
    },
    /// Weights in other blocks of channels.
    #[error(
        "{place}: {entries} entries a line are made for weights in blocks of {} channels, and this configuration has {has}",
        alternatives(.blocks)
    )]
    Weights {
        /// Operation.
        place: String,
        /// Entries of the convolution buffer that a line of its input takes.
        entries: u32,
        /// Channels of the blocks that go with these.
        blocks: Vec<u32>,
        /// Channels of the hardware's.
        has: u32,
    },
    /// A unit that is not there.
    #[error("{place}: this configuration has no {what}")]
    Missing {
        /// Operation that needs the unit.
        place: String,
        /// Name of the unit.
        what: &'static str,
    },
    /// A layer that its unit refuses.
    #[error("{place}: layer refused: {refused}")]
    Layer {
        /// Operation.
        place: String,
        /// Register, and the unit's reason.
        refused: Refused,
    },
}

fn cube_of([width, height, channels]: &[u32; 3]) -> String {
    format!("a cube of {width} x {height} x {channels}")
}

/// Numbers as a phrase: `a or b`.
pub(super) fn alternatives(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" or ")
}

/// Names as a phrase: `a, b and c`.
pub(super) fn list<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [before @ .., last] => {
            let before: Vec<&str> = before.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", before.join(", "), last.as_ref())
        }
    }
}
