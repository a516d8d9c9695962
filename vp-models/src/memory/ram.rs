//! RAM: bytes in a range of addresses, zero until written.

use crate::bus::axi::{Answer, AxiTarget, Burst, Unmapped};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use vp_core::Time;
use vp_core::tlm::{DirectError, DirectMemory, Flow, Payload, Target};

/// Memory is taken from the host a page at a time, when it is first written.
const PAGE: u64 = 64 * 1024;

/// An access that lies outside a memory, in whole or in part.
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

/// A RAM of any size; only what was written costs memory of the host.
#[derive(Debug)]
pub struct Ram {
    range: Range<u64>,
    pages: RefCell<Pages>,
}

/// The pages that were written.
#[derive(Debug, Default)]
struct Pages {
    /// Their places by their numbers.
    places: FxHashMap<u64, usize>,
    pages: Vec<Box<[u8]>>,
    /// Number and place of the last one used, which is mostly the next as well.
    last: Cell<Option<(u64, usize)>>,
}

impl Pages {
    #[inline]
    fn place(&self, page: u64) -> Option<usize> {
        if let Some((last, place)) = self.last.get()
            && last == page
        {
            return Some(place);
        }
        let place = *self.places.get(&page)?;
        self.last.set(Some((page, place)));
        Some(place)
    }

    #[inline]
    fn get(&self, page: u64) -> Option<&[u8]> {
        self.place(page).map(|place| &*self.pages[place])
    }

    /// Puts bytes behind others.
    fn append(&self, address: u64, bytes: usize, onto: &mut Vec<u8>) {
        for (page, offset, part) in parts(address, bytes) {
            match self.get(page) {
                Some(bytes) => onto.extend_from_slice(&bytes[offset..offset + part.len()]),
                None => onto.resize(onto.len() + part.len(), 0),
            }
        }
    }

    #[inline]
    fn make(&mut self, page: u64) -> &mut [u8] {
        let place = self.place(page).unwrap_or_else(|| {
            self.pages.push(vec![0; PAGE as usize].into_boxed_slice());
            self.places.insert(page, self.pages.len() - 1);
            self.pages.len() - 1
        });
        &mut self.pages[place]
    }
}

impl Ram {
    /// A RAM at the addresses of `range`.
    pub fn new(range: Range<u64>) -> Ram {
        Ram { range, pages: RefCell::default() }
    }

    /// The addresses it answers to.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Fills `into` with the bytes from `address` on.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        self.check(address, into.len())?;
        let pages = self.pages.borrow();
        for (page, offset, part) in parts(address, into.len()) {
            match pages.get(page) {
                Some(bytes) => into[part.clone()].copy_from_slice(&bytes[offset..offset + part.len()]),
                None => into[part].fill(0),
            }
        }
        Ok(())
    }

    /// The bytes from `address` on.
    pub fn copy(&self, address: u64, bytes: usize) -> Result<Vec<u8>, OutOfRange> {
        self.check(address, bytes)?;
        let mut copied = Vec::with_capacity(bytes);
        self.pages.borrow().append(address, bytes, &mut copied);
        Ok(copied)
    }

    /// Stores `bytes` from `address` on.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.check(address, bytes.len())?;
        let mut pages = self.pages.borrow_mut();
        for (page, offset, part) in parts(address, bytes.len()) {
            let page = pages.make(page);
            page[offset..offset + part.len()].copy_from_slice(&bytes[part]);
        }
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

/// The pages that a run of bytes touches: page number, offset inside it, and which of the bytes.
fn parts(address: u64, length: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == length {
            return None;
        }
        let here = address + at as u64;
        let offset = (here % PAGE) as usize;
        let part = at..length.min(at + PAGE as usize - offset);
        at = part.end;
        Some((here / PAGE, offset, part))
    })
}

impl From<OutOfRange> for Unmapped {
    fn from(error: OutOfRange) -> Unmapped {
        let OutOfRange { address, bytes, start, last } = error;
        let why = format!("the memory reaches from 0x{start:x} to 0x{last:x}");
        Unmapped { address, bytes: u32::try_from(bytes).unwrap_or(u32::MAX), why }
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
        let pages = self.pages.borrow();
        // A burst crosses no page.
        let (page, offset) = (burst.address / PAGE, (burst.address % PAGE) as usize);
        if let Some(bytes) = pages.get(page).and_then(|page| page.get(offset..offset + bytes)) {
            onto.extend_from_slice(bytes);
        } else {
            pages.append(burst.address, bytes, onto);
        }
        Some(Ok(()))
    }

    fn held(&self, address: u64) -> u64 {
        if self.range.contains(&address) { self.range.end - address } else { 0 }
    }

    fn read_held(&self, address: u64, bytes: u32, onto: &mut Vec<u8>) {
        self.pages.borrow().append(address, bytes as usize, onto);
    }

    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()> {
        Answer::Now(Ram::write(self, burst.address, data).map_err(Unmapped::from))
    }
}

/// As transaction-level models see it, a RAM begins at zero: a [`vp_core::tlm::Router`] puts it where it
/// belongs.
impl DirectMemory for Ram {
    fn size(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), DirectError> {
        Ram::read(self, self.range.start.saturating_add(offset), data).map_err(DirectError::from)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), DirectError> {
        Ram::write(self, self.range.start.saturating_add(offset), data).map_err(DirectError::from)
    }
}

impl From<OutOfRange> for DirectError {
    fn from(error: OutOfRange) -> DirectError {
        let OutOfRange { address, bytes, start, last } = error;
        DirectError::Outside { address, bytes: bytes as usize, start, end: last }
    }
}

/// Answers at once: latency belongs to the bus in front.
impl Target for Ram {
    fn b_transport<'a>(&'a self, payload: &'a mut Payload, _: &'a mut Time) -> Flow<'a> {
        payload.access(self);
        Flow::Done
    }

    fn transport_dbg(&self, payload: &mut Payload) -> usize {
        if payload.access(self).is_ok() { payload.data.len() } else { 0 }
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
        ram.write(3 * PAGE - 7, &bytes).unwrap();
        let mut back = vec![0; bytes.len()];
        ram.read(3 * PAGE - 7, &mut back).unwrap();
        assert_eq!(back, bytes);
    }

    #[test]
    fn a_transaction_reads_what_the_bus_wrote() {
        let ram = Ram::new(0x8000..0x9000);
        ram.write(0x8010, &[1, 2, 3]).unwrap();
        let (mut payload, mut delay) = (Payload::read(0x10, 3), Time::ZERO);
        assert!(matches!(ram.b_transport(&mut payload, &mut delay), Flow::Done));
        assert_eq!((payload.response.is_ok(), payload.data), (true, vec![1, 2, 3]));
        assert_eq!(ram.transport_dbg(&mut Payload::read(0xfff, 2)), 0);
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
}
