//! Bursts, and how a range of bytes is cut into them.

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

/// Cuts `bytes` from `address` on into bursts of at most `burst_beats` beats of `beat_bytes`, none of which
/// crosses a multiple of that size. Addresses wrap at 64 bits, as the DMAs' adders do.
///
/// Both sizes are powers of two, and their product at most 4 KiB, so no burst crosses a 4 KiB boundary
/// (AXI specification, "Address structure").
#[inline]
pub fn bursts(
    id: u32,
    address: u64,
    bytes: u32,
    beat_bytes: u32,
    burst_beats: u32,
) -> impl Iterator<Item = Burst> {
    let beat_bits = beat_bytes.max(1).trailing_zeros();
    let (beat, size) = (1 << beat_bits, (1 << beat_bits) << burst_beats.max(1).trailing_zeros());
    let (mut at, mut left) = (address, u64::from(bytes));
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let bytes = left.min(size - (at & (size - 1)));
        let beats = ((at & (beat - 1)) + bytes + (beat - 1)) >> beat_bits;
        let burst = Burst { id, address: at, bytes: bytes as u32, beats: beats as u32 };
        at = at.wrapping_add(bytes);
        left -= bytes;
        Some(burst)
    })
}

/// Bytes that follow each other in memory and are still to be asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) address: u64,
    pub(super) bytes: u32,
}

/// Rule by which an interface cuts bytes into bursts: see [`bursts`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    beat_bits: u32,
    /// Bytes of the longest burst.
    size: u32,
    /// The bits of an address.
    addresses: u64,
}

impl Cut {
    pub(super) fn new(beat_bytes: u32, burst_beats: u32, addresses: u64) -> Cut {
        let beat_bits = beat_bytes.max(1).trailing_zeros();
        Cut { beat_bits, size: (1 << beat_bits) << burst_beats.max(1).trailing_zeros(), addresses }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bursts_cover_each_byte_once_and_respect_the_limits(
            address in 0u64..100_000, bytes in 1u32..5_000, beat in 2u32..7, beats in 0u32..5,
        ) {
            let (beat, beats) = (1 << beat, 1 << beats);
            let mut at = address;
            for burst in bursts(3, address, bytes, beat, beats) {
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
            let cut = Cut::new(1 << beat, 1 << beats, u64::MAX);
            let mut rest = Run { address, bytes };
            let expected: Vec<Burst> = bursts(3, address, bytes, 1 << beat, 1 << beats).collect();
            prop_assert_eq!(cut.count(rest), expected.len());
            let mut first = cut.split(&mut rest, head);
            let mut found = Vec::new();
            while first.bytes > 0 {
                found.push(cut.burst(3, &mut first));
            }
            prop_assert_eq!(found.len(), head.min(expected.len()));
            while rest.bytes > 0 {
                found.push(cut.burst(3, &mut rest));
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn addresses_wrap_at_the_end_of_the_address_space() {
        let cut: Vec<(u64, u32)> =
            bursts(0, u64::MAX - 11, 20, 8, 4).map(|burst| (burst.address, burst.bytes)).collect();
        assert_eq!(cut, [(u64::MAX - 11, 12), (0, 8)]);
    }
}
