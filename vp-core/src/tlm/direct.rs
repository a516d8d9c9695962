//! Direct memory access: reading and writing a target's memory without a transaction (`tlm_dmi`).
//!
//! A target that is plain memory hands out a [`DirectRegion`]; the initiator uses it until the target
//! withdraws it by [`super::Initiator::invalidate_direct`]. The storage is shared, never borrowed, so a
//! region that is kept too long reads stale bytes at worst.

use super::Command;
use crate::Time;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// Storage that several parties read and write, byte by byte or in slices.
///
/// Ready-made for `[Cell<u8>]`, and so for a `Box` or `Rc` of it; whoever has memory of another kind (a guest's RAM, say) implements it.
pub trait DirectMemory {
    /// Its size in bytes.
    fn size(&self) -> u64;

    /// Copies from `offset` on to `data`.
    ///
    /// # Errors
    /// [`DirectError::Outside`] if that goes over the end; nothing is copied then.
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), DirectError>;

    /// Copies `data` to `offset` and on.
    ///
    /// # Errors
    /// [`DirectError::Outside`] if that goes over the end; nothing is copied then.
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), DirectError>;
}

/// Why a direct access was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DirectError {
    /// It reaches outside.
    #[error("{bytes} bytes at {address:#x} reach outside of {start:#x}..={end:#x}")]
    Outside {
        /// Where the access begins.
        address: u64,
        /// How long it is.
        bytes: usize,
        /// The first address that may be used.
        start: u64,
        /// The last address that may be used.
        end: u64,
    },
    /// The region was granted for the other direction only.
    #[error("direct access was granted for {granted:?} only")]
    Forbidden {
        /// What was granted.
        granted: DirectAccess,
    },
}

/// The length that hardware asks for most: worth a copy without a call.
const BURST: usize = 64;

#[cold]
fn outside(offset: u64, bytes: usize, size: usize) -> DirectError {
    DirectError::Outside { address: offset, bytes, start: 0, end: (size as u64).saturating_sub(1) }
}

fn part(cells: &[Cell<u8>], offset: u64, bytes: usize) -> Option<&[Cell<u8>]> {
    let start = usize::try_from(offset).ok()?;
    cells.get(start..start.checked_add(bytes)?)
}

// Apart, so that the compiler sees that they are plain copies.
#[inline(never)]
fn copy_out(cells: &[Cell<u8>], data: &mut [u8]) {
    data.iter_mut().zip(cells).for_each(|(byte, cell)| *byte = cell.get());
}

#[inline(never)]
fn copy_in(cells: &[Cell<u8>], data: &[u8]) {
    cells.iter().zip(data).for_each(|(cell, &byte)| cell.set(byte));
}

impl DirectMemory for [Cell<u8>] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    #[inline]
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), DirectError> {
        let cells = part(self, offset, data.len()).ok_or_else(|| outside(offset, data.len(), self.len()))?;
        match (<&mut [u8; BURST]>::try_from(&mut *data), cells.first_chunk::<BURST>()) {
            (Ok(burst), Some(cells)) => (0..BURST).for_each(|at| burst[at] = cells[at].get()),
            _ => copy_out(cells, data),
        }
        Ok(())
    }

    #[inline]
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), DirectError> {
        let cells = part(self, offset, data.len()).ok_or_else(|| outside(offset, data.len(), self.len()))?;
        match (<&[u8; BURST]>::try_from(data), cells.first_chunk::<BURST>()) {
            (Ok(burst), Some(cells)) => (0..BURST).for_each(|at| cells[at].set(burst[at])),
            _ => copy_in(cells, data),
        }
        Ok(())
    }
}

macro_rules! by_its_content {
    ($pointer:ident) => {
        impl<M: DirectMemory + ?Sized> DirectMemory for $pointer<M> {
            fn size(&self) -> u64 {
                (**self).size()
            }

            #[inline]
            fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), DirectError> {
                (**self).read(offset, data)
            }

            #[inline]
            fn write(&self, offset: u64, data: &[u8]) -> Result<(), DirectError> {
                (**self).write(offset, data)
            }
        }
    };
}

by_its_content!(Box);
by_its_content!(Rc);

/// The directions for which direct access is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DirectAccess {
    /// Reads only: writes must be sent as transactions.
    Read,
    /// Writes only.
    Write,
    /// Both.
    ReadWrite,
}

impl DirectAccess {
    /// Whether a command may be done directly.
    pub fn allows(self, command: Command) -> bool {
        match command {
            Command::Read => self != DirectAccess::Write,
            Command::Write => self != DirectAccess::Read,
            Command::Ignore => false,
        }
    }
}

/// A grant: the addresses `start..=end` may be read or written directly, as the initiator counts them.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
/// use vp_core::Time;
/// use vp_core::tlm::{DirectAccess, DirectMemory, DirectRegion};
/// let memory: Box<[Cell<u8>]> = vec![Cell::new(0); 256].into();
/// let region = DirectRegion::new(Rc::new(memory), DirectAccess::ReadWrite)
///     .with_latency(Time::ps(10), Time::ps(20))
///     .moved(0x8000_0000);
/// region.write(0x8000_0010, &[1, 2, 3])?;
/// let mut data = [0; 4];
/// region.read(0x8000_0010, &mut data)?;
/// assert_eq!(data, [1, 2, 3, 0]);
/// assert!(region.read(0x8000_00fe, &mut data).is_err());
/// # Ok::<(), vp_core::tlm::DirectError>(())
/// ```
#[derive(Clone)]
pub struct DirectRegion {
    /// The first address.
    pub start: u64,
    /// The last address.
    pub end: u64,
    /// What may be done.
    pub access: DirectAccess,
    /// Time per byte read, on average: what the initiator adds to its own time.
    pub read_latency: Time,
    /// Time per byte written, on average.
    pub write_latency: Time,
    /// Where `start` lies in the memory.
    pub offset: u64,
    /// The storage.
    pub memory: Rc<dyn DirectMemory>,
}

impl DirectRegion {
    /// A grant for all of a memory, whose first byte has address 0, without latency.
    ///
    /// # Panics
    /// If the memory has no bytes: there is nothing to grant.
    pub fn new(memory: Rc<dyn DirectMemory>, access: DirectAccess) -> DirectRegion {
        let size = memory.size();
        assert!(size > 0, "direct access to a memory without bytes");
        let (read_latency, write_latency) = (Time::ZERO, Time::ZERO);
        DirectRegion { start: 0, end: size - 1, access, read_latency, write_latency, offset: 0, memory }
    }

    /// The same with latencies, each per byte.
    pub fn with_latency(self, read: Time, write: Time) -> DirectRegion {
        DirectRegion { read_latency: read, write_latency: write, ..self }
    }

    /// The same bytes at other addresses: the first one at `start`, and as many as there are addresses.
    pub fn moved(mut self, start: u64) -> DirectRegion {
        self.end = start.saturating_add(self.end - self.start);
        self.start = start;
        self
    }

    /// What of it lies in `start..=end`, or nothing.
    pub fn within(mut self, start: u64, end: u64) -> Option<DirectRegion> {
        let (first, last) = (self.start.max(start), self.end.min(end));
        self.offset += first.checked_sub(self.start).filter(|_| first <= last)?;
        (self.start, self.end) = (first, last);
        Some(self)
    }

    /// Whether `bytes` from `address` on lie inside.
    pub fn contains(&self, address: u64, bytes: usize) -> bool {
        // Also right at the end of the address space, where the sum would not fit.
        address >= self.start
            && address <= self.end
            && (bytes as u64).checked_sub(1).is_none_or(|more| more <= self.end - address)
    }

    /// Copies from `address` on to `data`.
    ///
    /// # Errors
    /// If that is not inside, or reading is not granted; nothing is copied then.
    #[inline]
    pub fn read(&self, address: u64, data: &mut [u8]) -> Result<(), DirectError> {
        self.check(Command::Read, address, data.len())?;
        self.memory.read(self.offset + (address - self.start), data)
    }

    /// Copies `data` to `address` and on.
    ///
    /// # Errors
    /// If that is not inside, or writing is not granted; nothing is copied then.
    #[inline]
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), DirectError> {
        self.check(Command::Write, address, data.len())?;
        self.memory.write(self.offset + (address - self.start), data)
    }

    #[inline]
    fn check(&self, command: Command, address: u64, bytes: usize) -> Result<(), DirectError> {
        if !self.contains(address, bytes) {
            return Err(DirectError::Outside { address, bytes, start: self.start, end: self.end });
        }
        if !self.access.allows(command) {
            return Err(DirectError::Forbidden { granted: self.access });
        }
        Ok(())
    }
}

impl fmt::Debug for DirectRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirectRegion({:#x}..={:#x}, {:?})", self.start, self.end, self.access)
    }
}
