//! Bursts, and how a range of bytes is cut into them.

use super::AxiConfig;

/// One AXI burst of incrementing addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Burst {
    /// The transaction identifier (AxID): the interface's client that it serves.
    pub id: u32,
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes that are wanted.
    pub bytes: u32,
    /// Number of data beats on the bus.
    pub beats: u32,
}

impl Burst {
    /// Returns the bytes of one of its beats: the first of them on the bus, the first in the burst, and how many they are.
    pub(super) fn lanes(&self, beat: u32, beat_bytes: u32) -> (usize, usize, usize) {
        let width = u64::from(beat_bytes);
        let ahead = self.address % width;
        let (start, end) = (u64::from(beat) * width, (u64::from(beat) + 1) * width);
        let (from, to) = (start.max(ahead), end.min(ahead + u64::from(self.bytes)));
        ((from - start) as usize, (from - ahead) as usize, to.saturating_sub(from) as usize)
    }
}

/// Bytes that follow each other in memory and are still to be asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) address: u64,
    pub(super) bytes: u32,
}

/// Rule by which an interface cuts bytes into bursts: none is longer than a size, or crosses a multiple of it. Addresses wrap at 64 bits, as
/// the DMAs' adders do.
///
/// The size is a power of two of at most 4 KiB, so no burst crosses a 4 KiB boundary (AXI specification, "Address structure").
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    beat_bits: u32,
    /// Bytes of the longest burst.
    size: u32,
    /// The bits of an address.
    addresses: u64,
}

impl Cut {
    /// The rule of an interface for bursts of at most so many beats.
    pub(super) fn new(config: &AxiConfig, beats: u32) -> Cut {
        let beat_bits = config.beat_bytes.max(1).trailing_zeros();
        let size = (1 << beat_bits) << beats.max(1).trailing_zeros();
        Cut { beat_bits, size, addresses: config.on_the_bus(u64::MAX) }
    }

    /// Returns this rule with addresses of 64 bits, which the bus may not have.
    pub(super) fn past_the_bus(self) -> Cut {
        Cut { addresses: u64::MAX, ..self }
    }

    /// Returns the number of bursts that a run takes.
    #[inline]
    pub(super) fn count(self, run: Run) -> usize {
        let first = run.address & u64::from(self.size - 1);
        let bits = self.size.trailing_zeros();
        ((first + u64::from(run.bytes) + u64::from(self.size - 1)) >> bits) as usize
    }

    /// Takes the first so many bursts of a run off it; no more than it takes.
    #[inline]
    pub(super) fn split(self, run: &mut Run, bursts: usize) -> Run {
        let first = run.address & u64::from(self.size - 1);
        let bytes = (bursts as u64 * u64::from(self.size)).saturating_sub(first);
        let bytes = bytes.min(run.bytes.into()) as u32;
        let head = Run { address: run.address & self.addresses, bytes };
        *run = Run { address: run.address.wrapping_add(bytes.into()), bytes: run.bytes - bytes };
        head
    }

    /// Takes the first burst of a run off it.
    #[inline]
    pub(super) fn burst(self, id: u32, run: &mut Run) -> Burst {
        let Run { address, bytes } = self.split(run, 1);
        let beat = (1 << self.beat_bits) - 1;
        let beats = ((address as u32 & beat) + bytes + beat) >> self.beat_bits;
        Burst { id, address, bytes, beats }
    }

    /// Cuts a run into bursts.
    pub(super) fn bursts(self, id: u32, mut run: Run) -> impl Iterator<Item = Burst> {
        std::iter::from_fn(move || (run.bytes > 0).then(|| self.burst(id, &mut run)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::axi::interconnect::tests::config;
    use proptest::prelude::*;

    fn cut(beat_bytes: u32, beats: u32) -> Cut {
        Cut::new(&AxiConfig { beat_bytes, ..config(1) }, beats)
    }

    proptest! {
        #[test]
        fn bursts_cover_each_byte_once_and_respect_the_limits(
            address in 0u64..100_000, bytes in 1u32..5_000, beat in 2u32..7, beats in 0u32..5,
        ) {
            let (beat, beats) = (1 << beat, 1 << beats);
            let mut at = address;
            for burst in cut(beat, beats).bursts(3, Run { address, bytes }) {
                prop_assert_eq!(burst.address, at);
                prop_assert!((1..=beats).contains(&burst.beats));
                let last = burst.address + u64::from(burst.bytes) - 1;
                prop_assert_eq!(burst.address / u64::from(beat * beats), last / u64::from(beat * beats));
                prop_assert_eq!(u64::from(burst.beats), last / u64::from(beat) - at / u64::from(beat) + 1);
                at = last + 1;
            }
            prop_assert_eq!(at, address + u64::from(bytes));
        }

        #[test]
        fn a_run_is_cut_as_its_bursts_are(
            address in 0u64..100_000, bytes in 1u32..5_000, beat in 2u32..7, beats in 0u32..5, head in 0usize..9,
        ) {
            let cut = cut(1 << beat, 1 << beats);
            let mut rest = Run { address, bytes };
            let expected: Vec<Burst> = cut.bursts(3, rest).collect();
            prop_assert_eq!(cut.count(rest), expected.len());
            let first = cut.split(&mut rest, head);
            prop_assert_eq!(cut.bursts(3, first).count(), head.min(expected.len()));
            let found: Vec<Burst> = cut.bursts(3, first).chain(cut.bursts(3, rest)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_burst_has_its_bytes_on_their_lanes() {
        let burst = Burst { id: 0, address: 0x120, bytes: 96, beats: 2 };
        assert_eq!(burst.lanes(0, 64), (32, 0, 32));
        assert_eq!(burst.lanes(1, 64), (0, 32, 64));
        let burst = Burst { id: 0, address: 0x100, bytes: 32, beats: 1 };
        assert_eq!(burst.lanes(0, 64), (0, 0, 32));
    }

    #[test]
    fn addresses_wrap_at_the_end_of_the_address_space() {
        let run = Run { address: u64::MAX - 11, bytes: 20 };
        let cut: Vec<(u64, u32)> =
            cut(8, 4).bursts(0, run).map(|burst| (burst.address, burst.bytes)).collect();
        assert_eq!(cut, [(u64::MAX - 11, 12), (0, 8)]);
    }
}
