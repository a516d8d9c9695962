//! Weights without their zeros: what is not zero, a mask with a bit for each element, and the bytes of each group of kernels
//! (architecture text, "Weight compression").

use super::layout::WeightShape;
use std::ops::Range;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::cdma::D_WMB_BYTES::WMB_BYTES;

/// Bytes of the size of a group.
const SIZE_BYTES: u64 = 4;

/// Numbers of each kernel's weights that are not zero: what is left of them when they are compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NonZeroCounts {
    /// Before each kernel, and behind the last one.
    counts: Vec<u64>,
    shape: WeightShape,
    /// Kernels whose size is said together.
    group: u32,
    /// Bytes of which what is read is a multiple.
    unit: u64,
    atom: u64,
}

impl NonZeroCounts {
    /// Of kernels of this shape, with so many weights of each that are not zero.
    pub(super) fn of(
        counts: impl Iterator<Item = u64>,
        shape: WeightShape,
        config: &Config,
    ) -> NonZeroCounts {
        let sums = counts.scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        NonZeroCounts {
            counts: std::iter::once(0).chain(sums).collect(),
            shape,
            group: config.kernels_at_once(shape.precision),
            unit: unit(config),
            atom: config.memory_atom.into(),
        }
    }

    /// Bytes that are read of some kernels' weights, masks and sizes.
    pub(super) fn streams(&self, kernels: Range<u32>) -> [u64; 3] {
        let count = |kernel: u32| self.counts.get(kernel as usize).copied().unwrap_or_default();
        let element = self.shape.precision.bytes() as u64;
        let weights = count(kernels.end).saturating_sub(count(kernels.start)) * element;
        let elements = kernels.len() as u64 * u64::from(self.shape.kernel_bytes()) / element;
        let groups = u64::from((kernels.len() as u32).div_ceil(self.group));
        [
            weights.max(1).next_multiple_of(self.unit),
            elements.div_ceil(8).next_multiple_of(self.unit),
            (SIZE_BYTES * groups).next_multiple_of(self.atom),
        ]
    }
}

/// Weights and masks are read in whole entries of the convolution buffer, as [`WeightShape::bytes_read`] has it, and in what the registers
/// count.
fn unit(config: &Config) -> u64 {
    u64::from(config.cbuf_entry_bytes()).max(1 << WMB_BYTES.bits(config.family()).lsb)
}

/// Contents of memory with compressed weights.
pub(super) struct Streams {
    /// Weights that are not zero.
    pub(super) weights: Vec<u8>,
    /// A bit for each weight, the lowest first.
    pub(super) masks: Vec<u8>,
    /// Bytes of each group of kernels.
    pub(super) sizes: Vec<u8>,
}

impl Streams {
    /// Of weights as the sequence controller takes them ([`WeightShape::pack`]).
    pub(super) fn of(packed: &[u8], shape: WeightShape, config: &Config) -> Streams {
        let packed = &packed[..shape.bytes() as usize];
        let mut streams = Streams { weights: Vec::new(), masks: Vec::new(), sizes: Vec::new() };
        let (element, group) = (shape.precision.bytes(), config.kernels_at_once(shape.precision));
        let is_kept = |weight: &&[u8]| weight.iter().any(|byte| *byte != 0);
        for group in packed.chunks((group * shape.kernel_bytes()) as usize) {
            let before = streams.weights.len();
            streams.weights.extend(group.chunks(element).filter(is_kept).flatten());
            let size = (streams.weights.len() - before) as u32;
            streams.sizes.extend(size.to_le_bytes());
        }
        let mask = |eight: &[u8]| {
            let weights = eight.chunks(element).rev();
            weights.fold(0, |mask, weight| mask << 1 | u8::from(is_kept(&weight)))
        };
        streams.masks = packed.chunks(8 * element).map(mask).collect();
        let (unit, atom) = (unit(config) as usize, config.memory_atom as usize);
        for (stream, unit) in
            [(&mut streams.weights, unit), (&mut streams.masks, unit), (&mut streams.sizes, atom)]
        {
            stream.resize(stream.len().max(1).next_multiple_of(unit), 0);
        }
        streams
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use vp_models::nvdla::numeric::Precision;

    fn shape(kernels: u32, channels: u32, precision: Precision) -> WeightShape {
        WeightShape { kernels, rows: 1, columns: 1, channels, rows_at_once: 1, precision }
    }

    #[test]
    fn what_is_zero_is_left_out_and_each_group_has_its_size() {
        let config = Config::named("nv_large").unwrap();
        let shape = shape(33, 3, Precision::Int8);
        let mut packed = vec![0; 99];
        (packed[1], packed[8], packed[96]) = (5, 7, 255);
        let streams = Streams::of(&packed, shape, &config);
        assert_eq!((&streams.weights[..4], streams.weights.len()), (&[5, 7, 255, 0][..], 64));
        assert_eq!((&streams.masks[..2], streams.masks[12], streams.masks.len()), (&[2, 1][..], 1, 64));
        assert_eq!((&streams.sizes[..8], streams.sizes.len()), (&[2, 0, 0, 0, 1, 0, 0, 0][..], 32));
    }

    proptest! {
        /// Sizes counted beforehand are those of the streams that are made.
        #[test]
        fn streams_have_the_bytes_that_were_counted(
            name in prop::sample::select(vec!["nv_large", "nv_full"]),
            (kernels, channels) in (1u32..100, 1u32..50),
            seed in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 97),
        ) {
            let config = Config::named(name).unwrap();
            let precision = if name == "nv_full" { Precision::Int16 } else { Precision::Int8 };
            let shape = shape(kernels, channels, precision);
            let plain: Vec<i8> = seed.iter().cycle().take(shape.bytes() as usize).map(|it| *it as i8).collect();
            let is_kept = |weight: &&[i8]| weight.iter().any(|byte| *byte != 0);
            let counts = plain
                .chunks(shape.kernel_bytes() as usize)
                .map(|kernel| kernel.chunks(precision.bytes()).filter(is_kept).count() as u64);
            let kept = NonZeroCounts::of(counts, shape, &config);
            let Streams { weights, masks, sizes } = Streams::of(&shape.pack(&plain, &config), shape, &config);
            prop_assert_eq!(kept.streams(0..kernels), [weights, masks, sizes].map(|stream| stream.len() as u64));
        }
    }
}
