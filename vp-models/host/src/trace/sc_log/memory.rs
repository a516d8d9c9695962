//! Memory as the device saw it: what it held before, what the CPU changed between accesses, what the device left.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::Memory;
use crate::trace::Surface;

/// Most memory of a log, in bytes.
const MAX_TOUCHED_BYTES: usize = 256 << 20;
/// Most stretches of bytes that are loaded or compared, and bytes that the CPU has changed: each takes some 100 bytes of the host's memory.
const MAX_STRETCHES: usize = 4 << 20;
const PAGE_BYTES: usize = 256;

/// A bit for each byte of a page.
#[derive(Clone, Copy, Default)]
struct Marks([u64; PAGE_BYTES / 64]);

impl Marks {
    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn set(&mut self, at: usize, value: bool) {
        let bit = 1 << (at % 64);
        match value {
            true => self.0[at / 64] |= bit,
            false => self.0[at / 64] &= !bit,
        }
    }
}

/// Some bytes that follow each other.
struct Page {
    /// Bytes of the page before the log.
    before: [u8; PAGE_BYTES],
    was_read: Marks,
    /// Bytes of the page now.
    now: [u8; PAGE_BYTES],
    is_known: Marks,
    /// Written by the device, and not by the CPU since.
    is_left: Marks,
    /// Accessed since the last interrupt before `epoch`.
    is_recent: Marks,
    epoch: u32,
}

impl Default for Page {
    fn default() -> Page {
        let [was_read, is_known, is_left, is_recent] = [Marks::default(); 4];
        let [before, now] = [[0; PAGE_BYTES]; 2];
        Page { before, was_read, now, is_known, is_left, is_recent, epoch: 0 }
    }
}

/// Changes by the CPU before each of a log's register accesses, by that access's place.
type Changes = BTreeMap<usize, BTreeMap<Memory, Surface>>;

/// Both memories, from the log's first line on.
#[derive(Default)]
pub(super) struct Memories {
    pages: BTreeMap<(Memory, u64), Box<Page>>,
    changes: Changes,
    changed_bytes: usize,
    /// Number of interrupts that the CPU has taken.
    epoch: u32,
    /// The place of the first register access behind the last of them.
    epoch_begins: usize,
}

/// Memory of a log, as its accesses tell it.
pub(super) struct LoggedMemory {
    /// Contents of the memories before the log.
    pub(super) before: Vec<(Memory, Surface)>,
    /// Contents that the device left.
    pub(super) left: Vec<(Memory, Surface)>,
    /// Changes by the CPU between its register accesses.
    pub(super) changes: Changes,
}

impl Memories {
    /// The CPU has taken an interrupt with the register access before this place.
    pub(super) fn interrupted(&mut self, place: usize) {
        self.epoch += 1;
        self.epoch_begins = place;
    }

    /// The device wrote these bytes.
    pub(super) fn written(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[Option<u8>],
    ) -> Result<(), String> {
        self.each(memory, address, bytes, |page, at, byte, _| {
            page.now[at] = byte;
            page.is_known.set(at, true);
            page.is_left.set(at, true);
        })
    }

    /// The device read these bytes; the last write to a register is at this place.
    ///
    /// Where they are others than they were, the CPU has changed them: when it had taken the last interrupt, or, of bytes that the device
    /// has accessed since then, before that write.
    pub(super) fn read(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[Option<u8>],
        last_write: usize,
    ) -> Result<(), String> {
        let epoch_begins = self.epoch_begins;
        let mut changed = Vec::new();
        self.each(memory, address, bytes, |page, at, byte, address| {
            if !page.is_known.has(at) {
                page.before[at] = byte;
                page.was_read.set(at, true);
            } else if page.now[at] != byte {
                let place = if page.is_recent.has(at) { last_write } else { epoch_begins };
                changed.push((place, address, byte));
                page.is_left.set(at, false);
            }
            page.now[at] = byte;
            page.is_known.set(at, true);
        })?;
        self.changed_bytes += changed.len();
        if self.changed_bytes > MAX_STRETCHES {
            return Err(too_scattered());
        }
        for (place, address, byte) in changed {
            self.changes.entry(place).or_default().entry(memory).or_default().push(address, &[byte]);
        }
        Ok(())
    }

    /// Shows each enabled byte, with its page, its place there and its address.
    fn each(
        &mut self,
        memory: Memory,
        // With the number of bytes, this is inside 64 bits.
        address: u64,
        bytes: &[Option<u8>],
        mut show: impl FnMut(&mut Page, usize, u8, u64),
    ) -> Result<(), String> {
        let mut offset = 0;
        while offset < bytes.len() {
            let first = address + offset as u64;
            let (number, at) = (first / PAGE_BYTES as u64, (first % PAGE_BYTES as u64) as usize);
            let here = (bytes.len() - offset).min(PAGE_BYTES - at);
            let page = self.page((memory, number))?;
            for (index, byte) in bytes[offset..offset + here].iter().enumerate() {
                if let Some(byte) = *byte {
                    show(page, at + index, byte, first + index as u64);
                    page.is_recent.set(at + index, true);
                }
            }
            offset += here;
        }
        Ok(())
    }

    /// A page, as of the present epoch.
    fn page(&mut self, place: (Memory, u64)) -> Result<&mut Page, String> {
        let is_full = self.pages.len() >= MAX_TOUCHED_BYTES / PAGE_BYTES;
        let page = match self.pages.entry(place) {
            Entry::Vacant(_) if is_full => return Err(too_much()),
            entry => entry.or_default(),
        };
        if page.epoch != self.epoch {
            (page.epoch, page.is_recent) = (self.epoch, Marks::default());
        }
        Ok(page)
    }

    pub(super) fn finish(self) -> Result<LoggedMemory, String> {
        let (mut before, mut left) = (BTreeMap::new(), BTreeMap::new());
        for ((memory, number), page) in self.pages {
            for at in 0..PAGE_BYTES {
                let address = number * PAGE_BYTES as u64 + at as u64;
                let add = |surfaces: &mut BTreeMap<Memory, Surface>, byte| {
                    surfaces.entry(memory).or_default().push(address, &[byte]);
                };
                if page.was_read.has(at) {
                    add(&mut before, page.before[at]);
                }
                if page.is_left.has(at) {
                    add(&mut left, page.now[at]);
                }
            }
            let stretches =
                [&before, &left].map(|of| of.get(&memory).map_or(0, |surface| surface.runs().len()));
            if stretches.iter().sum::<usize>() > MAX_STRETCHES {
                return Err(too_scattered());
            }
        }
        let [before, left] = [before, left].map(|surfaces| surfaces.into_iter().collect());
        Ok(LoggedMemory { before, left, changes: self.changes })
    }
}

fn too_scattered() -> String {
    format!("the device accesses more than {MAX_STRETCHES} stretches of memory that do not touch each other")
}

fn too_much() -> String {
    format!("the device accesses more than {MAX_TOUCHED_BYTES:#x} bytes of memory")
}
