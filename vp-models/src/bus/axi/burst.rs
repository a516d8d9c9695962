//! Bursts, and how a run of bytes is cut into them.

/// One AXI burst of incrementing addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// The transaction identifier (AxID): which client of the interface it serves.
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
    }

    #[test]
    fn addresses_wrap_at_the_end_of_the_address_space() {
        let cut: Vec<(u64, u32)> =
            bursts(0, u64::MAX - 11, 20, 8, 4).map(|burst| (burst.address, burst.bytes)).collect();
        assert_eq!(cut, [(u64::MAX - 11, 12), (0, 8)]);
    }
}
