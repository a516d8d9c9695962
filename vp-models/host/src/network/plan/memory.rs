//! Memory for a plan: what stays from the start on, and what lives only between those who make it and those who read it.

use crate::network::error::PlanError;
use crate::network::layout::ALIGNMENT;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// Memory that is given out.
pub(super) struct Memory {
    start: u64,
    /// Below it is what stays.
    next: u64,
    end: u64,
    /// The end of what was ever given out.
    most: u64,
    living: Living,
}

/// Addresses by the moment at which they begin to live, each with the moment at which it ends.
type ByBeginning = BTreeMap<usize, Vec<(usize, Range<u64>)>>;

/// Memory that lives for a time.
#[derive(Default)]
struct Living {
    /// By the logarithm of how long they live, and then by when they begin: those that live at some time are found without a look at all.
    by_length: BTreeMap<u32, ByBeginning>,
}

impl Living {
    fn push(&mut self, range: Range<u64>, life: RangeInclusive<usize>) {
        let (start, end) = life.into_inner();
        let length = end.saturating_sub(start) + 1;
        self.by_length.entry(length.ilog2()).or_default().entry(start).or_default().push((end, range));
    }

    /// The addresses of those that live at some time of a life.
    fn during(&self, life: &RangeInclusive<usize>) -> Vec<Range<u64>> {
        let of_length = |(length, living): (&u32, &ByBeginning)| {
            let longest = 2_usize.saturating_pow(length + 1);
            let from = life.start().saturating_sub(longest);
            let begun = living.range(from..=*life.end()).flat_map(|(_, living)| living);
            let there = begun.filter(|(end, _)| end >= life.start());
            there.map(|(_, range)| range.clone()).collect::<Vec<_>>()
        };
        self.by_length.iter().flat_map(of_length).collect()
    }
}

impl Memory {
    pub(super) fn new(range: Range<u64>) -> Memory {
        let Range { start, end } = range;
        Memory { start, next: start, end, most: start, living: Living::default() }
    }

    /// Memory for good; all of it is taken before any for a time.
    pub(super) fn take(&mut self, what: &str, bytes: u64) -> Result<u64, PlanError> {
        let base = self.room(what, bytes, self.next)?;
        self.next = base + bytes;
        Ok(base)
    }

    /// Memory from one moment to another: the lowest that is free all the while.
    pub(super) fn allocate(
        &mut self,
        what: &str,
        bytes: u64,
        life: RangeInclusive<usize>,
    ) -> Result<u64, PlanError> {
        let mut taken = self.living.during(&life);
        taken.sort_unstable_by_key(|range| range.start);
        let mut from = self.next;
        for range in taken {
            let base = from.next_multiple_of(ALIGNMENT);
            if base.saturating_add(bytes) <= range.start {
                break;
            }
            from = from.max(range.end);
        }
        let base = self.room(what, bytes, from)?;
        self.living.push(base..base + bytes, life);
        Ok(base)
    }

    /// Somebody has this memory from one moment to another already.
    pub(super) fn occupy(&mut self, range: Range<u64>, life: RangeInclusive<usize>) {
        self.most = self.most.max(range.end);
        self.living.push(range, life);
    }

    fn room(&mut self, what: &str, bytes: u64, from: u64) -> Result<u64, PlanError> {
        let base = from.checked_next_multiple_of(ALIGNMENT);
        let end = base.and_then(|base| base.checked_add(bytes)).filter(|&end| end <= self.end);
        let (Some(base), Some(end)) = (base, end) else {
            let left = self.end.saturating_sub(from);
            return Err(PlanError::Memory { what: what.to_owned(), bytes, left });
        };
        self.most = self.most.max(end);
        Ok(base)
    }

    /// Bytes from the start to the end of what was ever given out.
    pub(super) fn used(&self) -> u64 {
        self.most - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn those_that_live_at_some_time_are_found(
            all in prop::collection::vec((0_usize..50, 0_usize..50), 0..40),
            from in 0_usize..60,
            length in 0_usize..60,
        ) {
            let mut living = Living::default();
            for (at, (start, length)) in all.iter().enumerate() {
                living.push(at as u64..at as u64 + 1, *start..=start + length);
            }
            let life = from..=from + length;
            let mut found: Vec<u64> = living.during(&life).into_iter().map(|range| range.start).collect();
            found.sort_unstable();
            let meets = |(start, length): &(usize, usize)| start <= life.end() && *life.start() <= start + length;
            let slow: Vec<u64> = (0..).zip(&all).filter(|(_, it)| meets(it)).map(|(at, _)| at).collect();
            prop_assert_eq!(found, slow);
        }
    }

    #[test]
    fn what_lives_at_different_times_shares_its_place() {
        let mut memory = Memory::new(0..4096);
        assert_eq!(memory.take("weights", 100), Ok(0));
        assert_eq!(memory.allocate("a", 300, 0..=1), Ok(256));
        assert_eq!(memory.allocate("b", 300, 1..=2), Ok(768));
        assert_eq!(memory.allocate("c", 300, 2..=3), Ok(256));
        assert_eq!(memory.allocate("d", 2816, 2..=4), Ok(1280));
        // Below what somebody has already, or behind it.
        memory.occupy(3000..3100, 7..=8);
        assert_eq!(memory.allocate("f", 2000, 6..=7), Ok(256));
        assert_eq!(memory.allocate("g", 700, 7..=8), Ok(3328));
        let full = memory.allocate("e", 3000, 2..=4);
        assert!(matches!(full, Err(PlanError::Memory { what, .. }) if what == "e"));
    }
}
