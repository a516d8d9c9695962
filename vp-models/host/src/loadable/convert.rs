//! A loadable in the other form of data cube: what a compiler for one interface of the driver made, for a driver of the other.
//!
//! Between interface 0.11 and 0.12, cubes and the CPU's buffers got an offset behind their address, and the CPU's operations two scale
//! factors behind their type. An entry of a list of surfaces, or of buffers, has the same size in both forms. An offset becomes an address of
//! its own where cubes have none.

mod lists;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use thiserror::Error;

use super::contents::{BlobTable, Contents, RelocationTable};
use super::{Generation, Loadable, LoadableError, Processor, Version};
use lists::Conversion;

/// Most addresses that the driver takes for a task (`NVDLA_MAX_BUFFERS_PER_TASK`).
pub const MAX_ADDRESSES: usize = 6144;

/// Processor of a blob that the CPU reads, whose versions are its own. Raw data has none.
const CPU: u32 = 2;

/// Reason for which a loadable cannot be had in the other form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A loadable whose parts do not fit together.
    #[error(transparent)]
    Loadable(#[from] LoadableError),
    /// A list that no single blob holds.
    #[error("task {task}: {list} is no whole blob, nor inside one: it cannot be rewritten")]
    Spread {
        /// Number of the task.
        task: u16,
        /// Name of the list.
        list: &'static str,
    },
    /// A list in which two tasks, by their own addresses, mean different things.
    #[error("task {task}: {list} is also that of another task, and would be another one there")]
    Shared {
        /// Number of the task.
        task: u16,
        /// Name of the list.
        list: &'static str,
    },
    /// More addresses than the driver takes.
    #[error(
        "task {task} needs {count} addresses, for cubes without offsets, and the driver takes {}",
        MAX_ADDRESSES
    )]
    Addresses {
        /// Number of the task.
        task: u16,
        /// Number of addresses that it needs.
        count: usize,
    },
    /// More addresses than a loadable can number.
    #[error("it needs more than {} addresses, for cubes without offsets", u16::MAX)]
    AddressNumbers,
    /// Something that the older interface has not.
    #[error("{place}: {what}, which interface 0.11 has not")]
    Unsayable {
        /// Place at which it is asked for.
        place: String,
        /// Feature that is asked for.
        what: String,
    },
    /// A relocation of something else than a stride.
    #[error("relocation {number}: byte {offset} of memory {memory} is not in the other form")]
    Relocation {
        /// Number of the relocation in its list.
        number: usize,
        /// Memory that it changes.
        memory: u16,
        /// Offset in that memory.
        offset: u64,
    },
    /// Cubes that can be read in either form.
    #[error("its cubes can be read in the form of interface {form}, too: sizes of {form} and {} do not tell them apart", .form.other())]
    Ambiguous {
        /// Form as which they would be read.
        form: Generation,
    },
}

/// Returns a loadable with descriptors of this form, and its blobs with the version of that interface.
///
/// # Errors
/// [`ConvertError`] when its parts do not fit together, or the other form cannot say what they say.
pub fn convert(contents: &Contents, to: Generation) -> Result<Contents, ConvertError> {
    let loadable = Loadable::of(contents)?;
    let mut converted = contents.clone();
    if loadable.generation() != to {
        let mut conversion = Conversion::new(&loadable, &mut converted, to);
        let mut done = BTreeSet::new();
        for task in loadable.tasks() {
            if !done.insert(task.id) {
                continue;
            }
            match task.processor {
                Processor::Accelerator => conversion.accelerator(task)?,
                Processor::Cpu => conversion.cpu(task)?,
            }
        }
        conversion.write()?;
    }
    let is_versioned = |blob: &&mut BlobTable| blob.interface != CPU && blob.version != Version::default();
    for blob in converted.blobs.iter_mut().filter(is_versioned) {
        blob.version = to.interface();
    }
    // What was read as one form must not be read as the other from now on.
    match Loadable::of(&converted)?.generation() {
        form if form == to => Ok(converted),
        form => Err(ConvertError::Ambiguous { form }),
    }
}

impl Generation {
    /// Version of the driver's interface that a loadable of this form is stamped with.
    #[must_use]
    pub const fn interface(self) -> Version {
        match self {
            Generation::Short => Version(0, 11, 0),
            Generation::Long => Version(0, 12, 0),
        }
    }

    /// The other form.
    #[must_use]
    pub const fn other(self) -> Generation {
        match self {
            Generation::Short => Generation::Long,
            Generation::Long => Generation::Short,
        }
    }
}
