//! Weights as a compiler compresses them: the description's three streams.

/// Parts of compressed weights in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    /// The elements that are marked, one after the other.
    pub weights: Vec<u8>,
    /// A bit for each element, the lowest first.
    pub mask: Vec<u8>,
    /// The bytes of each group of kernels in `weights`, four bytes each.
    pub sizes: Vec<u8>,
}

/// Compresses kernels whose elements and groups have so many bytes; of the elements that are zero, those are marked all
/// the same that `marks` says.
pub fn compress(kernels: &[u8], element: usize, group: usize, mut marks: impl FnMut() -> bool) -> Streams {
    let (mut streams, mut count) = (Streams::default(), 0);
    for group in kernels.chunks(group) {
        let before = streams.weights.len();
        for weight in group.chunks_exact(element) {
            if count % 8 == 0 {
                streams.mask.push(0);
            }
            if weight.iter().any(|&byte| byte != 0) || marks() {
                streams.weights.extend_from_slice(weight);
                streams.mask[count / 8] |= 1 << (count % 8);
            }
            count += 1;
        }
        let size = (streams.weights.len() - before) as u32;
        streams.sizes.extend(size.to_le_bytes());
    }
    // Hardware reads whole lines.
    for (stream, unit) in [(&mut streams.weights, 128), (&mut streams.mask, 128), (&mut streams.sizes, 32)] {
        stream.resize(stream.len().max(1).next_multiple_of(unit), 0);
    }
    streams
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_zero_is_left_out_and_groups_follow_each_other() {
        let streams = compress(&[0, 5, 0, 0, 7, 8, 0, 9, 1], 1, 6, || false);
        assert_eq!((&streams.weights[..6], streams.weights.len()), (&[5, 7, 8, 9, 1, 0][..], 128));
        assert_eq!((&streams.mask[..3], streams.mask.len()), (&[0b1011_0010, 1, 0][..], 128));
        assert_eq!(streams.sizes[..12], [3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    }
}
