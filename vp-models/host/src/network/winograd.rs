//! Winograd's method for kernels of 3 x 3 that move pixel by pixel: 16 products for four outputs instead of 36 (architecture text,
//! "Winograd convolution mode").
//!
//! Kernels are transformed here, to 4 x 4: `G g G^T` with `G = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1]`. Of integers they are scaled by
//! the power of two with which the largest still fits, and rounded; CSC drops two bits of the transformed features, so that none
//! saturates. So results are not those of the direct method, but near them. [`Scaling`] brings sums back to their size.
//!
//! Hardware makes whole pairs of tiles: outputs of other sizes are made larger, of an input with as much more padding behind it, into memory
//! that has [`room`] for them. What is beside the output there is nobody's.

use super::description::{Convolution, NetworkLayer, Shape, Winograd};
use super::layout::WeightShape;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::float::{Fp16, Fp32};
use vp_models::nvdla::numeric::{Precision, round_shift};

/// Places of a transformed kernel.
pub(super) const PLACES: usize = 16;
/// Outputs of a tile.
pub(super) const OUTPUTS: u32 = 4;
/// Output columns and lines come in multiples of this.
pub(super) const MULTIPLE: u32 = 4;
/// Columns and lines of the padded input besides those of the output.
pub(super) const MORE: u32 = 4;

/// Columns and lines that are made for an output of this size.
pub(super) fn room(output: Shape) -> [u32; 2] {
    [output.width, output.height].map(|size| size.next_multiple_of(MULTIPLE))
}

/// Scale of sums of transformed integers, compared to those of the direct method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scaling {
    /// Transformed kernels are multiplied by two to this power.
    weights: i32,
    /// Bits of the transformed features that CSC drops.
    pub(super) features: u32,
    /// Bits of the sums that CACC drops.
    pub(super) sums: u32,
    /// Bits by which sums then are too small.
    pub(super) missing: u32,
}

/// Reason for which a convolution is computed directly where Winograd's method was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWinograd {
    /// The configuration lacks what the method needs; a parameter says so.
    #[error("{config} is built without it ({parameter} = false)")]
    NotBuilt {
        /// The configuration.
        config: String,
        /// Parameter of the configuration that says so.
        parameter: &'static str,
    },
    /// Another kernel than the one that tiles are made for.
    #[error("the kernel is {0}x{1}, and it takes 3x3")]
    Kernel(u32, u32),
    /// Another stride than a pixel.
    #[error("the stride is {0}x{1}, and it takes 1x1")]
    Stride(u32, u32),
    /// Columns and rows of a kernel that are not side by side.
    #[error("the dilation is {0}x{1}, and it takes 1x1")]
    Dilation(u32, u32),
    /// Factors whose products are shifted right by less than what the sums lack: they cannot be brought to their size.
    #[error("the products with its scales are shifted by {shift}, and its sums are {missing} bits too small")]
    Scales {
        /// Right shift of the products.
        shift: u32,
        /// Bits by which the sums are too small.
        missing: u32,
    },
    /// An output of one pixel.
    #[error("the output is one pixel")]
    Pixel,
    /// An input of pixels, which CDMA does not bring in tiles.
    #[error("the input is an image")]
    Image,
    /// Several frames that share a fetch of weights.
    #[error("it takes several frames at once")]
    Batch,
    /// A pooling on the fly, which takes lines one by one. `auto` keeps it.
    #[error("`auto` keeps the pooling behind it, which takes no tiles")]
    Pooling,
    /// Transformed kernels and lines for which the convolution buffer has no room.
    #[error("the convolution buffer does not hold its tiles")]
    Buffer,
    /// More cycles than the direct method takes. `auto` chooses the fewer.
    #[error("`auto` finds the direct method faster")]
    Slower,
}

/// The reason why the method does not compute a convolution, if it does not.
pub(super) fn obstacle(
    layer: &NetworkLayer,
    convolution: &Convolution,
    config: &Config,
) -> Option<NoWinograd> {
    let [[columns, rows], [across, down]] = [convolution.window.size, convolution.window.stride];
    // SDP's first stage brings sums back to their size, and the second one does what the first did.
    let needed = [("winograd", config.winograd), ("sdp_bs", config.sdp_bs), ("sdp_bn", config.sdp_bn)];
    let lacking = needed.into_iter().find(|(_, is_built)| !is_built);
    if let Some((parameter, _)) = lacking {
        return Some(NoWinograd::NotBuilt { config: config.name.clone(), parameter });
    }
    if [columns, rows] != [3, 3] {
        return Some(NoWinograd::Kernel(columns, rows));
    }
    if [across, down] != [1, 1] {
        return Some(NoWinograd::Stride(across, down));
    }
    if convolution.window.is_dilated() {
        let [columns, rows] = convolution.window.dilation;
        return Some(NoWinograd::Dilation(columns, rows));
    }
    // SDP takes surfaces of one pixel for packed, whatever their strides: what is made beside it would be the next channels.
    let is_pixel = layer.output.width * layer.output.height == 1;
    is_pixel.then_some(NoWinograd::Pixel)
}

impl Winograd {
    /// Returns true if what takes so many cycles is preferred to what takes `direct`.
    pub(super) fn prefers(self, cycles: u64, direct: u64) -> bool {
        match self {
            Winograd::Never => false,
            Winograd::Auto => cycles < direct,
            Winograd::Always => true,
        }
    }
}

impl Scaling {
    /// Of a convolution of that format.
    pub(super) fn of(convolution: &Convolution, precision: Precision) -> Scaling {
        let bits = match precision {
            Precision::Int8 => 7,
            Precision::Int16 => 15,
            Precision::Fp16 => return Scaling::default(),
        };
        let all = kernels(convolution, precision).flat_map(transformed);
        let most = all.map(i64::unsigned_abs).max().unwrap_or(0);
        // They come four times as large.
        let weights =
            (0..).find(|drop| round_shift(most as i64, *drop) < 1 << bits).map_or(2, |drop| 2 - drop as i32);
        // A transformed feature is the sum of four.
        let features = 2;
        let sums = convolution.truncate as i32 + weights - features as i32;
        Scaling { weights, features, sums: sums.max(0) as u32, missing: (-sums).max(0) as u32 }
    }

    /// Weights `[kernel][row][column][channel]` as `[kernel][place][channel]`.
    pub(super) fn transform(&self, weights: &[i8], shape: WeightShape) -> Vec<i8> {
        let (channels, element) = (shape.channels as usize, shape.precision.bytes());
        let mut all = vec![0; shape.kernels as usize * PLACES * channels * element];
        let of_kernels =
            weights.chunks(9 * channels * element).zip(all.chunks_mut(PLACES * channels * element));
        for (kernel, to) in of_kernels {
            for channel in 0..channels {
                let tap = |tap: usize| &kernel[(tap * channels + channel) * element..][..element];
                for (place, code) in
                    self.codes([0, 1, 2, 3, 4, 5, 6, 7, 8].map(tap), shape.precision).into_iter().enumerate()
                {
                    let bytes = code.to_le_bytes().map(u8::cast_signed);
                    to[(place * channels + channel) * element..][..element]
                        .copy_from_slice(&bytes[..element]);
                }
            }
        }
        all
    }

    fn codes(&self, taps: [&[i8]; 9], precision: Precision) -> [i16; PLACES] {
        if precision == Precision::Fp16 {
            let number = |tap: &[i8]| {
                let code = Fp16::from_bytes([tap[0] as u8, tap[1] as u8]);
                f64::from(f32::from_bits(code.widened::<8, 23>().bits()))
            };
            return transformed(taps.map(number)).map(|four_times| {
                let value = (four_times / 4.0) as f32;
                (Fp32::from_bits(value.to_bits()).to_fp16().bits() as u16).cast_signed()
            });
        }
        let drop = (2 - self.weights) as u32;
        transformed(taps.map(integer)).map(|four_times| round_shift(four_times, drop) as i16)
    }
}

fn integer(bytes: &[i8]) -> i64 {
    match bytes {
        [low, high] => i16::from_le_bytes([*low as u8, *high as u8]).into(),
        [byte, ..] => (*byte).into(),
        [] => 0,
    }
}

/// The taps of each kernel and channel.
fn kernels(convolution: &Convolution, precision: Precision) -> impl Iterator<Item = [i64; 9]> + '_ {
    let element = precision.bytes();
    let of_kernel = convolution.weights.len() / convolution.kernels.max(1) as usize;
    let channels = of_kernel / 9 / element;
    convolution.weights.chunks_exact(of_kernel.max(1)).flat_map(move |kernel| {
        (0..channels).map(move |channel| {
            [0, 1, 2, 3, 4, 5, 6, 7, 8]
                .map(|tap| integer(&kernel[(tap * channels + channel) * element..][..element]))
        })
    })
}

/// A kernel of 3 x 3, transformed and four times as large, so that of integers nothing is a fraction.
fn transformed<V>(g: [V; 9]) -> [V; PLACES]
where
    V: Copy + std::ops::Add<Output = V> + std::ops::Sub<Output = V>,
{
    let lines = |[a, b, c]: [V; 3]| [a + a, a + b + c, a - b + c, c + c];
    let columns = [0, 1, 2].map(|row| lines([g[3 * row], g[3 * row + 1], g[3 * row + 2]]));
    let by_column = [0, 1, 2, 3].map(|column| lines(columns.map(|row| row[column])));
    std::array::from_fn(|place| by_column[place % 4][place / 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_ones_is_what_the_description_says() {
        // G 1 G^T: (1, 3/2, 1/2, 1) times itself.
        let line = [2, 3, 1, 2];
        let expected: Vec<i64> = line.iter().flat_map(|a| line.map(|b| a * b)).collect();
        assert_eq!(transformed([1i64; 9]).to_vec(), expected);
    }
}
