//! RAM: bytes in a range of addresses, zero until written.

use super::budget::{MemoryBudget, OutOfMemory};
use super::pages::{PAGE, Pages};
use crate::bus::axi::{Answer, AxiTarget, Burst, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

/// An access that is completely or partly outside a memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at 0x{address:x} are not inside the memory from 0x{start:x} to 0x{last:x}")]
pub struct OutOfRange {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// The memory's first address.
    pub start: u64,
    /// The memory's last address.
    pub last: u64,
}

/// A write that a RAM refused completely.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The access lies outside.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The limit of the host's memory for the RAM is reached.
    #[error("{bytes} bytes at 0x{address:x} are not stored: {limit}")]
    OutOfMemory {
        /// Address of the first byte.
        address: u64,
        /// Number of bytes.
        bytes: u64,
        /// Limit that is reached.
        #[source]
        limit: OutOfMemory,
    },
}

/// A RAM of any size; only bytes that were written cost memory of the host.
#[derive(Debug)]
pub struct Ram {
    range: Range<u64>,
    pages: RefCell<Pages>,
    budget: Arc<MemoryBudget>,
    taken: Cell<u64>,
}

impl Ram {
    /// A RAM at the addresses of `range`, which takes as much memory of the host as is written to.
    pub fn new(range: Range<u64>) -> Ram {
        Ram::within(range, Arc::new(MemoryBudget::unlimited()))
    }

    /// A RAM at the addresses of `range`, which takes at most a budget's memory of the host.
    pub fn within(range: Range<u64>, budget: Arc<MemoryBudget>) -> Ram {
        Ram { range, pages: RefCell::default(), budget, taken: Cell::new(0) }
    }

    /// The addresses it answers to.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Fills `into` with the bytes from `address` on.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        self.check(address, into.len())?;
        self.pages.borrow().read(address, into);
        Ok(())
    }

    /// The bytes from `address` on.
    pub fn copy(&self, address: u64, bytes: usize) -> Result<Vec<u8>, OutOfRange> {
        self.check(address, bytes)?;
        let mut copied = Vec::with_capacity(bytes);
        self.pages.borrow().append(address, bytes, &mut copied);
        Ok(copied)
    }

    /// Stores `bytes` from `address` on, all or none of them.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.check(address, bytes.len())?;
        let mut pages = self.pages.borrow_mut();
        if let Some(stored) = pages.slice_mut(address, bytes.len()) {
            stored.copy_from_slice(bytes);
            return Ok(());
        }
        let need = pages.need(address, bytes.len());
        if need > 0 {
            let full = |limit| WriteError::OutOfMemory { address, bytes: bytes.len() as u64, limit };
            self.budget.take(need).map_err(full)?;
            self.taken.set(self.taken.get() + need);
        }
        pages.write(address, bytes);
        Ok(())
    }

    fn check(&self, address: u64, length: usize) -> Result<(), OutOfRange> {
        let bytes = length as u64;
        let inside = address >= self.range.start
            && address.checked_add(bytes).is_some_and(|end| end <= self.range.end);
        let Range { start, end } = self.range;
        if inside { Ok(()) } else { Err(OutOfRange { address, bytes, start, last: end.saturating_sub(1) }) }
    }
}

impl Drop for Ram {
    fn drop(&mut self) {
        self.budget.give_back(self.taken.get());
    }
}

impl From<OutOfRange> for Unmapped {
    fn from(error: OutOfRange) -> Unmapped {
        let OutOfRange { address, bytes, start, last } = error;
        let why = format!("the memory reaches from 0x{start:x} to 0x{last:x}");
        Unmapped { address, bytes: u32::try_from(bytes).unwrap_or(u32::MAX), why }
    }
}

impl From<WriteError> for Unmapped {
    fn from(error: WriteError) -> Unmapped {
        match error {
            WriteError::OutOfRange(error) => error.into(),
            WriteError::OutOfMemory { address, bytes, limit } => {
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                Unmapped { address, bytes, why: limit.to_string() }
            }
        }
    }
}

impl AxiTarget for Ram {
    fn read(&self, burst: &Burst) -> Answer<Vec<u8>> {
        let mut data = vec![0; burst.bytes as usize];
        Answer::Now(Ram::read(self, burst.address, &mut data).map(|()| data).map_err(Unmapped::from))
    }

    fn read_onto(&self, burst: &Burst, onto: &mut Vec<u8>) -> Option<Result<(), Unmapped>> {
        let bytes = burst.bytes as usize;
        if let Err(refused) = self.check(burst.address, bytes) {
            return Some(Err(refused.into()));
        }
        self.pages.borrow().append(burst.address, bytes, onto);
        Some(Ok(()))
    }

    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()> {
        Answer::Now(Ram::write(self, burst.address, data).map_err(Unmapped::from))
    }
}

impl Ram {
    /// Saves what was written, or writes it.
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Ram { range: _, pages, budget: _, taken: _ } = self;
        if at.is_restoring() {
            return self.take_up(at);
        }
        let numbers = pages.borrow().numbers();
        at.value(&mut (numbers.len() as u64))?;
        for mut number in numbers {
            let runs = pages.borrow().written(number);
            at.value(&mut number)?;
            at.value(&mut (runs.len() as u32))?;
            for (mut start, mut bytes) in runs {
                at.value(&mut start)?;
                at.bytes(&mut bytes, PAGE as usize)?;
            }
        }
        Ok(())
    }

    fn take_up(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let mut pages = 0u64;
        at.value(&mut pages)?;
        for _ in 0..pages {
            let (mut number, mut runs) = (0u64, 0u32);
            at.value(&mut number)?;
            at.value(&mut runs)?;
            for _ in 0..runs {
                let (mut start, mut bytes) = (0u32, Vec::new());
                at.value(&mut start)?;
                at.bytes(&mut bytes, PAGE as usize)?;
                let address = number.checked_mul(PAGE).and_then(|page| page.checked_add(start.into()));
                match self.write(address.unwrap_or(u64::MAX), &bytes) {
                    Ok(()) => {}
                    Err(WriteError::OutOfMemory { limit, .. }) => return Err(limit.into()),
                    Err(WriteError::OutOfRange(outside)) => at.check(false, &outside.to_string())?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_written_reads_zero() {
        let ram = Ram::new(0x8000_0000..0x9000_0000);
        let mut bytes = [7; 5];
        ram.read(0x8123_4567, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 5]);
    }

    #[test]
    fn a_write_across_pages_is_read_back() {
        let ram = Ram::new(0..1 << 40);
        let bytes: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
        ram.write(0x2_fff9, &bytes).unwrap();
        let mut back = vec![0; bytes.len()];
        ram.read(0x2_fff9, &mut back).unwrap();
        assert_eq!(back, bytes);
    }

    #[test]
    fn an_access_that_leaves_the_memory_is_refused_whole() {
        let ram = Ram::new(0x1000..0x2000);
        let error = ram.write(0x1ffc, &[1; 8]).unwrap_err();
        assert_eq!(error.to_string(), "8 bytes at 0x1ffc are not inside the memory from 0x1000 to 0x1fff");
        assert!(ram.write(u64::MAX - 3, &[1; 8]).is_err());
        let mut last = [9; 4];
        ram.read(0x1ffc, &mut last).unwrap();
        assert_eq!(last, [0; 4]);
    }

    #[test]
    fn a_write_beyond_the_budget_is_refused_whole_and_what_is_stored_can_be_written_again() {
        let budget = Arc::new(MemoryBudget::new(100_000));
        let ram = Ram::within(0..1 << 40, budget.clone());
        ram.write(0, &[1; 0x1_0000]).unwrap();
        // The first page of them is there, the second is not to be had.
        let error = ram.write(0xfff0, &[2; 0x1_0000]).unwrap_err();
        let text = "65536 bytes at 0xfff0 are not stored: the limit of 100000 bytes for this platform's memory is reached";
        assert_eq!(error.to_string(), text);
        assert_eq!(ram.copy(0xffff, 2).unwrap(), [1, 0]);
        ram.write(0, &[3; 0x1_0000]).unwrap();
        ram.write(0x8_0000, &[4]).unwrap();
        assert_eq!(ram.copy(0x8_0000, 1).unwrap(), [4]);
        drop(ram);
        Ram::within(0..1 << 40, budget).write(0x10_0000, &[1; 0x1_0000]).unwrap();
    }
}
