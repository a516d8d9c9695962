//! Finding a range by address: shared by routers and maps of direct access.

/// Ranges that do not overlap, known by where they begin. Finds the one that begins last at or before an
/// address; where it ends is the caller's to check.
///
/// The span from the first to the last is cut into equal buckets, a power of two long. A bucket knows
/// which range its first address is in: where ranges are cut at multiples of a power of two, as hardware
/// does it, that is the answer, with nothing for the processor to guess. Only in a bucket in the midst of
/// which ranges begin are these searched.
#[derive(Default)]
pub(super) struct Decoder {
    starts: Box<[u64]>,
    /// Of the first bucket, counted in buckets.
    base: u64,
    shift: u32,
    buckets: Box<[Bucket]>,
}

#[derive(Clone, Copy)]
struct Bucket {
    /// The range that begins last at or before the bucket's first address. None does in the first bucket,
    /// if its first range begins later: that is one more then.
    range: u32,
    /// How many begin after it in this bucket.
    more: u32,
}

/// Buckets for each range, and how many there are at least and at most, in all.
const BUCKETS_EACH: usize = 8;
const BUCKETS: (usize, usize) = (64, 4096);

impl Decoder {
    /// `starts` must ascend; `end` is the last address of the last range.
    pub(super) fn new(starts: Box<[u64]>, end: u64) -> Decoder {
        let Some(&begin) = starts.first() else { return Decoder::default() };
        let most = (starts.len() * BUCKETS_EACH).clamp(BUCKETS.0, BUCKETS.1) as u64;
        // The shortest buckets of which there are not too many.
        let shift = (0..u64::BITS).find(|shift| (end >> shift) - (begin >> shift) < most).unwrap_or(0);
        let (base, top) = (begin >> shift, end >> shift);
        let count = |address: u64| starts.partition_point(|&start| start <= address) as u32;
        let bucket = |number: u64| {
            let first = number << shift;
            let begun = count(first);
            Bucket { range: begun.wrapping_sub(1), more: count(first | ((1 << shift) - 1)) - begun }
        };
        let buckets = (base..=top).map(bucket).collect();
        Decoder { starts, base, shift, buckets }
    }

    /// The number of the range that begins last at or before `address`, if the ranges reach as far.
    #[inline]
    pub(super) fn find(&self, address: u64) -> Option<usize> {
        self.look_up(address).or_else(|| self.search(address))
    }

    /// The same, if the bucket tells.
    #[inline]
    pub(super) fn look_up(&self, address: u64) -> Option<usize> {
        let bucket = self.bucket(address)?;
        (bucket.more == 0).then_some(bucket.range as usize)
    }

    #[inline]
    fn bucket(&self, address: u64) -> Option<Bucket> {
        let number = (address >> self.shift).wrapping_sub(self.base);
        self.buckets.get(usize::try_from(number).ok()?).copied()
    }

    #[inline(never)]
    fn search(&self, address: u64) -> Option<usize> {
        let Bucket { range, more } = self.bucket(address)?;
        let begun = range.wrapping_add(1) as usize;
        let here = &self.starts[begun..begun + more as usize];
        (begun + here.partition_point(|&start| start <= address)).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_ranges_nothing_is_found() {
        assert_eq!(Decoder::default().find(0), None);
    }

    #[test]
    fn a_range_may_be_all_of_the_address_space() {
        let all = Decoder::new([0].into(), u64::MAX);
        assert_eq!([0, 1, u64::MAX].map(|address| all.find(address)), [Some(0); 3]);
    }

    proptest! {
        /// The obvious reference: count those that begin before.
        #[test]
        fn finding_equals_counting(
            starts in prop_oneof![
                prop::collection::btree_set(any::<u64>(), 1..300),
                prop::collection::btree_set((0u64..64).prop_map(|n| n << 16), 1..20),
                prop::collection::btree_set(prop_oneof![0u64..100, Just(1 << 40), Just(u64::MAX)], 1..20),
            ],
            more in any::<u64>(),
            near in prop::collection::vec((any::<prop::sample::Index>(), -2i64..3), 20),
        ) {
            let starts: Vec<u64> = starts.into_iter().collect();
            let last = starts[starts.len() - 1];
            let end = last.saturating_add(more >> 20);
            let decoder = Decoder::new(starts.clone().into(), end);
            for (index, offset) in near {
                let address = index.get(&starts).wrapping_add_signed(offset);
                let expected = starts.iter().filter(|&&start| start <= address).count().checked_sub(1);
                let found = decoder.find(address);
                // Past the end, finding nothing is as good: the caller would refuse the last range.
                prop_assert!(found == expected || (found.is_none() && address > end), "{:#x}", address);
            }
        }
    }
}
