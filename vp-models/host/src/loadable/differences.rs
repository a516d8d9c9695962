//! Differences of two loadables, part by part: the first, and their number.
//!
//! Descriptors are compared field by field, by what they mean: an address by the memory and offset that it names. So the blobs that hold them
//! are not compared again, and a loadable in the two forms of cubes differs in versions and addresses only.

mod parts;
#[cfg(test)]
mod tests;

use serde::Serialize;
use strum::VariantArray;

use super::contents::Contents;
use super::describe::describe;

/// A part in which two loadables may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, VariantArray)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Versions, and what could not be read.
    Versions,
    /// Tasks and submissions.
    Tasks,
    /// Pieces of memory.
    Memory,
    /// Addresses.
    Addresses,
    /// Tensors and relocations.
    Tensors,
    /// Fields of operations.
    Operations,
    /// Cubes and copies of operations.
    Surfaces,
    /// Order of operations, and events.
    Dependencies,
    /// Tables of SDP and CDP.
    Tables,
    /// Weights, and other bytes of blobs.
    Blobs,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 10] = *Self::VARIANTS.first_chunk().unwrap();
}

/// Differences in a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartDifferences {
    /// The part.
    pub part: Part,
    /// Number of values, of blobs bytes, that differ.
    pub count: u64,
    /// The first of them.
    pub first: Difference,
}

/// Values that differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Place, such as `task 0, operation 3 (SDP), stages.0.alu`.
    pub place: String,
    /// Value in the first loadable; none if there is nothing.
    pub one: Option<String>,
    /// Value in the other.
    pub other: Option<String>,
}

/// Returns the parts in which two loadables differ; none if they are the same.
#[must_use]
pub fn differences(one: &Contents, other: &Contents) -> Vec<PartDifferences> {
    let mut found = Found::default();
    let described = [describe(one), describe(other)];
    parts::compare([&described[0], &described[1]], &mut found);
    parts::compare_blobs([one, other], [&described[0], &described[1]], &mut found);
    let mut parts = found.0;
    parts.sort_by_key(|differences| differences.part);
    parts
}

/// Differences found so far, by part.
#[derive(Default)]
struct Found(Vec<PartDifferences>);

impl Found {
    /// Takes a difference of so many values; the place is made of the first of a part only.
    fn take(&mut self, part: Part, count: u64, first: impl FnOnce() -> Difference) {
        match self.0.iter_mut().find(|known| known.part == part) {
            Some(known) => known.count += count,
            None => self.0.push(PartDifferences { part, count, first: first() }),
        }
    }
}
