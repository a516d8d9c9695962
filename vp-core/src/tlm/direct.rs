//! Direct memory access: reading and writing a target's memory without a transaction (`tlm_dmi`).
//!
//! A target that is plain memory hands out a [`DirectRegion`]; the initiator uses it until the target
//! withdraws it by [`super::Initiator::invalidate_direct`]. The storage is shared, never borrowed, so a
//! region that is kept too long reads stale bytes at worst.

use super::{Command, DirectMemory, Storage};
use crate::Time;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// Why a direct access was refused.
///
/// ```
/// use vp_core::tlm::{DirectMemory, Storage};
/// let error = Storage::new(16).write(14, &[1, 2, 3]).expect_err("too long");
/// assert_eq!(error.to_string(), "3 bytes at 0xe reach outside of 0x0..=0xf");
/// ```
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
    /// The memory no longer accepts bytes that it was not told to store before.
    #[error("{bytes} bytes at {address:#x} are more than the memory may store")]
    Full {
        /// Where the access begins.
        address: u64,
        /// How long it is.
        bytes: usize,
    },
    /// The region was granted for the other direction only.
    #[error("direct access was granted for {granted:?} only")]
    Forbidden {
        /// What was granted.
        granted: DirectAccess,
    },
}

/// The directions for which direct access is granted.
///
/// ```
/// use vp_core::tlm::{Command, DirectAccess};
/// assert!(DirectAccess::Read.allows(Command::Read) && !DirectAccess::Read.allows(Command::Write));
/// ```
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
    #[inline]
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
/// use vp_core::Time;
/// use vp_core::tlm::{DirectAccess, DirectRegion, Storage};
/// let region = DirectRegion::new(Storage::new(256), DirectAccess::ReadWrite)
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
    /// The last address. May be reduced, and increased again up to the granted one.
    pub end: u64,
    /// What may be done.
    pub access: DirectAccess,
    /// Average time per byte read; the initiator adds it to its own time.
    pub read_latency: Time,
    /// Time per byte written, on average.
    pub write_latency: Time,
    /// Where `start` lies in the memory.
    offset: u64,
    memory: Memory,
}

#[derive(Clone)]
enum Memory {
    /// Read and written without a call. The offset counts from the first of the cells.
    Cells(Rc<[Cell<u8>]>),
    Other(Rc<dyn DirectMemory>),
}

impl DirectRegion {
    /// A grant for all of a storage, whose first byte has address 0, without latency.
    ///
    /// # Panics
    /// If the storage has no bytes: there is nothing to grant.
    pub fn new(storage: impl Into<Storage>, access: DirectAccess) -> DirectRegion {
        let storage = storage.into();
        let size = storage.size();
        let (cells, first) = storage.into_cells();
        DirectRegion { offset: first as u64, ..DirectRegion::whole(size, Memory::Cells(cells), access) }
    }

    /// The same for memory of another kind.
    ///
    /// # Panics
    /// If the memory has no bytes: there is nothing to grant.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use vp_core::tlm::{DirectAccess, DirectError, DirectMemory, DirectRegion};
    /// /// As large as can be, and all zero.
    /// struct Zeros;
    /// impl DirectMemory for Zeros {
    ///     fn size(&self) -> u64 { u64::MAX }
    ///     fn read(&self, _: u64, data: &mut [u8]) -> Result<(), DirectError> { Ok(data.fill(0)) }
    ///     fn write(&self, _: u64, _: &[u8]) -> Result<(), DirectError> { Ok(()) }
    /// }
    /// let region = DirectRegion::over(Rc::new(Zeros), DirectAccess::Read);
    /// let mut data = [7; 3];
    /// region.read(1 << 40, &mut data)?;
    /// assert_eq!(data, [0; 3]);
    /// # Ok::<(), DirectError>(())
    /// ```
    pub fn over(memory: Rc<dyn DirectMemory>, access: DirectAccess) -> DirectRegion {
        DirectRegion::whole(memory.size(), Memory::Other(memory), access)
    }

    fn whole(size: u64, memory: Memory, access: DirectAccess) -> DirectRegion {
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
    ///
    /// ```
    /// use vp_core::tlm::{DirectAccess, DirectRegion, Storage};
    /// let region = DirectRegion::new(Storage::new(256), DirectAccess::Read).moved(0x1000);
    /// let part = region.clone().within(0x1080, u64::MAX).expect("they have addresses in common");
    /// assert_eq!((part.start, part.end), (0x1080, 0x10ff));
    /// assert!(part.contains(0x10f0, 16) && !part.contains(0x10f0, 17));
    /// assert!(region.within(0, 0xfff).is_none());
    /// ```
    pub fn within(mut self, start: u64, end: u64) -> Option<DirectRegion> {
        let (first, last) = (self.start.max(start), self.end.min(end));
        self.offset += first.checked_sub(self.start).filter(|_| first <= last)?;
        (self.start, self.end) = (first, last);
        Some(self)
    }

    /// Whether `bytes` from `address` on lie inside.
    #[inline]
    pub fn contains(&self, address: u64, bytes: usize) -> bool {
        // Also right at the end of the address space, where the sum would not fit.
        address >= self.start && address <= self.end && (bytes as u64).saturating_sub(1) <= self.end - address
    }

    /// Copies from `address` on to `data`.
    ///
    /// # Errors
    /// If that is not inside, or reading is not granted; nothing is copied then.
    #[inline]
    pub fn read(&self, address: u64, data: &mut [u8]) -> Result<(), DirectError> {
        self.check(Command::Read, address, data.len())?;
        self.read_inside(address, data)
    }

    /// The same for what is known to be granted.
    #[inline]
    pub(super) fn read_inside(&self, address: u64, data: &mut [u8]) -> Result<(), DirectError> {
        let offset = self.offset + (address - self.start);
        match &self.memory {
            Memory::Cells(cells) => cells.read(offset, data),
            Memory::Other(memory) => memory.read(offset, data),
        }
    }

    /// Copies `data` to `address` and on.
    ///
    /// # Errors
    /// If that is not inside, or writing is not granted; nothing is copied then.
    #[inline]
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), DirectError> {
        self.check(Command::Write, address, data.len())?;
        self.write_inside(address, data)
    }

    /// The same for what is known to be granted.
    #[inline]
    pub(super) fn write_inside(&self, address: u64, data: &[u8]) -> Result<(), DirectError> {
        let offset = self.offset + (address - self.start);
        match &self.memory {
            Memory::Cells(cells) => cells.write(offset, data),
            Memory::Other(memory) => memory.write(offset, data),
        }
    }

    #[inline]
    fn check(&self, command: Command, address: u64, bytes: usize) -> Result<(), DirectError> {
        if !self.contains(address, bytes) {
            return Err(self.outside(address, bytes));
        }
        if !self.access.allows(command) {
            return Err(DirectError::Forbidden { granted: self.access });
        }
        Ok(())
    }

    #[cold]
    fn outside(&self, address: u64, bytes: usize) -> DirectError {
        DirectError::Outside { address, bytes, start: self.start, end: self.end }
    }
}

impl fmt::Debug for DirectRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirectRegion({:#x}..={:#x}, {:?})", self.start, self.end, self.access)
    }
}
