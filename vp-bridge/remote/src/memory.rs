//! The RAM on this side of a session: private, or in a file that the server maps.

use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use thiserror::Error;
use vp_models::memory::{MemoryBudget, OutOfRange, Ram, WriteError};
use vp_shm::{Region, sealed};

/// Bytes that the caller keeps, and that are the memory behind a port: the device's bursts come to them while a call waits.
pub trait OwnBytes: Send {
    /// Fills `into` with the bytes from an address on.
    ///
    /// # Errors
    /// Why they cannot be read: the device sees an error on its bus.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), String>;

    /// Stores bytes from an address on.
    ///
    /// # Errors
    /// Why they cannot be stored.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), String>;
}

/// RAM at the addresses of a memory port.
pub(super) enum OwnMemory {
    Private(Ram),
    Callers(Box<dyn OwnBytes>),
    Shared { range: Range<u64>, region: Region, file: OwnedFd },
}

impl OwnMemory {
    /// RAM that only this side reaches.
    pub(super) fn private(range: Range<u64>, budget: &Arc<MemoryBudget>) -> Self {
        Self::Private(Ram::within(range, budget.clone()))
    }

    /// RAM in a file; none if there cannot be as much.
    pub(super) fn shared(range: Range<u64>) -> Option<Self> {
        let size = range.end.checked_sub(range.start)?;
        let file = sealed("vp-memory", size).ok()?;
        let region = Region::map(&file, 0, size).ok()?;
        Some(Self::Shared { range, region, file })
    }

    /// The file that it is in, from the file's beginning on.
    pub(super) fn file(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Private(_) | Self::Callers(_) => None,
            Self::Shared { file, .. } => Some(file.as_fd()),
        }
    }

    pub(super) fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unserved> {
        match self {
            Self::Private(ram) => Ok(ram.read(address, into)?),
            Self::Callers(bytes) => bytes.read(address, into).map_err(Unserved::Caller),
            Self::Shared { range, region, .. } => {
                let length = into.len();
                let offset = address.checked_sub(range.start);
                let is_read = offset.is_some_and(|offset| region.read(offset, into));
                is_read.then_some(()).ok_or_else(|| outside(range, address, length).into())
            }
        }
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Unserved> {
        match self {
            Self::Private(ram) => Ok(ram.write(address, bytes)?),
            Self::Callers(own) => own.write(address, bytes).map_err(Unserved::Caller),
            Self::Shared { range, region, .. } => {
                let offset = address.checked_sub(range.start);
                let is_written = offset.is_some_and(|offset| region.write(offset, bytes));
                is_written.then_some(()).ok_or_else(|| outside(range, address, bytes.len()).into())
            }
        }
    }
}

/// Reason for which bytes were not read or stored.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Unserved {
    /// The bytes are not in the memory.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The host has no room for the bytes.
    #[error("{0}")]
    OutOfMemory(WriteError),
    /// The caller says so.
    #[error("{0}")]
    Caller(String),
}

impl From<WriteError> for Unserved {
    fn from(error: WriteError) -> Unserved {
        match error {
            WriteError::OutOfRange(error) => Unserved::OutOfRange(error),
            WriteError::OutOfMemory { .. } => Unserved::OutOfMemory(error),
        }
    }
}

fn outside(range: &Range<u64>, address: u64, bytes: usize) -> OutOfRange {
    OutOfRange { address, bytes: bytes as u64, start: range.start, last: range.end.saturating_sub(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_refuses_what_private_memory_does() {
        let range = 0x8000..0x9000;
        for memory in [
            OwnMemory::private(range.clone(), &Arc::new(MemoryBudget::unlimited())),
            OwnMemory::shared(range).unwrap(),
        ] {
            memory.write(0x8ffc, &[1, 2, 3, 4]).unwrap();
            let mut back = [0; 4];
            memory.read(0x8ffc, &mut back).unwrap();
            assert_eq!(back, [1, 2, 3, 4]);
            let expected = OutOfRange { address: 0x8ffd, bytes: 4, start: 0x8000, last: 0x8fff };
            assert_eq!(memory.write(0x8ffd, &[0; 4]), Err(expected.clone().into()));
            assert_eq!(memory.read(0x8ffd, &mut back), Err(expected.into()));
            assert!(memory.read(0x7fff, &mut back).is_err() && memory.write(u64::MAX, &[1]).is_err());
        }
    }
}
