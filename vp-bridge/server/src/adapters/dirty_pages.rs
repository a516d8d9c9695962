//! Pages of a peer's memory that a device has written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Pages of one entry of the log.
const TOGETHER: u64 = 512;

/// Log of written pages. The adapter begins, reports and ends it, and the platform's thread adds to it.
#[derive(Debug, Default)]
pub(crate) struct DirtyPages {
    is_on: AtomicBool,
    /// One bit a page, for so many pages from the key on.
    written: Mutex<BTreeMap<u64, [u64; TOGETHER as usize / 64]>>,
}

impl DirtyPages {
    /// Returns true if pages are logged.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Begins or ends the log; either way nothing is in it.
    pub(crate) fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
        self.written().clear();
    }

    /// The device has written these bytes.
    pub(crate) fn note(&self, address: u64, bytes: u64) {
        if !self.is_on() || bytes == 0 {
            return;
        }
        let mut written = self.written();
        for page in address / PAGE..=address.saturating_add(bytes - 1) / PAGE {
            let at = (page % TOGETHER) as usize;
            written.entry(page / TOGETHER).or_default()[at / 64] |= 1 << (at % 64);
        }
    }

    /// Takes the pages of a range out of the log, as a bitmap of words of 64 bits: one bit for each so many bytes of the range.
    pub(crate) fn take(&self, range: &Range<u64>, granule: u64) -> Vec<u64> {
        let bits = (range.end - range.start).div_ceil(granule);
        let mut bitmap = vec![0; bits.div_ceil(64) as usize];
        let mut written = self.written();
        let pages = range.start / PAGE..range.end.div_ceil(PAGE);
        let touched = written.range_mut(pages.start / TOGETHER..pages.end.div_ceil(TOGETHER));
        for (key, words) in touched {
            for at in 0..TOGETHER {
                let (page, bit) = (key * TOGETHER + at, 1 << (at % 64));
                let word = &mut words[at as usize / 64];
                if *word & bit == 0 || !pages.contains(&page) {
                    continue;
                }
                *word &= !bit;
                let first = (page * PAGE).max(range.start) - range.start;
                let last = (page * PAGE + (PAGE - 1)).min(range.end - 1) - range.start;
                (first / granule..=last / granule)
                    .for_each(|bit| bitmap[bit as usize / 64] |= 1 << (bit % 64));
            }
        }
        written.retain(|_, words| words.iter().any(|word| *word != 0));
        bitmap
    }

    fn written(&self) -> MutexGuard<'_, BTreeMap<u64, [u64; TOGETHER as usize / 64]>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_reported_once_in_whatever_granules_are_wanted() {
        let pages = DirtyPages::default();
        pages.note(0x8000_0000, 8);
        pages.set(true);
        let range = 0x8000_0000..0x8004_0000;
        assert_eq!(pages.take(&range, PAGE), [0], "what was written before is not in it");
        let write = || {
            pages.note(0x8000_0ffc, 8);
            pages.note(0x8003_f000, 4096);
            pages.note(0x9000_0000, 1);
        };
        write();
        assert_eq!(pages.take(&range, PAGE), [3 | 1 << 63]);
        assert_eq!(pages.take(&range, PAGE), [0]);
        write();
        assert_eq!(pages.take(&range, 4 * PAGE), [1 | 1 << 15]);
        write();
        assert_eq!(pages.take(&range, PAGE / 2), [0b1111, 3 << 62]);
        assert_eq!(pages.take(&(0x9000_0000..0x9000_1000), 1 << 30), [1]);
        assert!(pages.written().is_empty());
        write();
        pages.set(false);
        write();
        assert!(pages.written().is_empty() && !pages.is_on());
    }
}
