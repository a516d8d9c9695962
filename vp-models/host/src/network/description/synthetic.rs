//! Weights where only shapes are known: drawn from a seed, with converters that keep what layers make within int8 or int16.
//!
//! Of each cube the root mean square is followed, as it comes of independent weights: it grows with the root of the fan-in,
//! and the converter brings it back. So values neither all saturate nor all vanish, whatever the network's depth.

use super::{
    Activation, Bias, Converter, Convolution, Function, Method, Normalisation, Operation, Pooling, Shape,
    Share, Window,
};
use rand::{Rng as _, RngCore as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_models::nvdla::float::Fp32;
use vp_models::nvdla::numeric::Precision;

/// Weights and inputs of int8 are drawn from this on, to the same number above.
const LEAST: i8 = -127;
/// Bound of int16 from which weights and inputs are drawn, as [`LEAST`] is of int8.
const LEAST_INT16: i16 = -32767;
/// 32 bits should hold sums of int16, and far more than these.
const SUMS: f64 = 16_777_216.0;

/// Values that are made up in one network: VGG-16 has 138 million weights, and a slip of the pen has any number.
const MOST: u64 = 1 << 28;

/// Makes weights up, layer by layer.
pub(super) struct Maker {
    seed: Option<u64>,
    precision: Precision,
    /// Number of values that may still be made.
    left: u64,
    /// The share of weights that are zero, as far as is asked for.
    zeros: f64,
    /// The root mean square of each layer's output.
    sizes: Vec<f64>,
}

/// Parameters that are given of a convolution whose weights are made up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GivenParameters {
    pub(super) truncate: Option<u32>,
    /// Left shift of what is added.
    pub(super) shift: Option<u32>,
    pub(super) converter: Option<Converter>,
}

fn uniform_rms(most: f64) -> f64 {
    (most * (most + 1.0) / 3.0).sqrt()
}

/// Returns the size that layers' outputs should have, as the root of their mean square: saturation is 2.6 times as far away. In fp16 it
/// could be anything, and is as in int8.
fn aim(precision: Precision) -> f64 {
    if precision == Precision::Int16 { 256.0 * 48.0 } else { 48.0 }
}

/// Returns the size that inputs have, as [`aim`] does of layers' outputs: any element.
fn of_input(precision: Precision) -> f64 {
    if precision == Precision::Int16 { 256.0 * 74.0 } else { 74.0 }
}

/// The nearest number of binary16: its code.
pub(super) fn half(value: f64) -> i16 {
    (Fp32::from_bits((value as f32).to_bits()).to_fp16().bits() as u16).cast_signed()
}

fn pair(value: i16) -> [i8; 2] {
    value.to_le_bytes().map(u8::cast_signed)
}

/// Brings values of one size to another.
fn converter(from: f64, to: f64) -> Converter {
    let factor = to / from.max(1e-9);
    let mut shift = 0u32;
    while factor * f64::from(2u32).powi(shift as i32) < 16384.0 && shift < 62 {
        shift += 1;
    }
    let scale = (factor * f64::from(2u32).powi(shift as i32)).round().clamp(1.0, f64::from(i16::MAX));
    Converter { offset: 0, scale: scale as i16, shift }
}

impl Maker {
    pub(super) fn new(seed: Option<u64>, precision: Precision) -> Maker {
        Maker { seed, precision, left: MOST, zeros: 0.0, sizes: Vec::new() }
    }

    /// Returns the maker with about this share of all weights zero.
    pub(super) fn with_zeros(self, zeros: Option<Share>) -> Maker {
        Maker { zeros: zeros.map_or(0.0, Share::get), ..self }
    }

    /// Returns true if the maker has made anything.
    pub(super) fn has_made(&self) -> bool {
        self.left < MOST
    }

    /// Takes these values, the product of some sizes, off those that may be made.
    ///
    /// # Errors
    /// Says how many may be made when there are not so many left.
    pub(super) fn take(&mut self, sizes: &[u32]) -> Result<usize, String> {
        let count = sizes.iter().try_fold(1u64, |count, &by| count.checked_mul(by.into()));
        let left = count.and_then(|count| self.left.checked_sub(count));
        self.left =
            left.ok_or_else(|| format!("more than {MOST} weights and constants are to be made up"))?;
        Ok(count.unwrap_or_default() as usize)
    }

    /// The network's seed.
    pub(super) fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn size(&self, source: Option<usize>) -> f64 {
        source.and_then(|layer| self.sizes.get(layer)).copied().unwrap_or(of_input(self.precision))
    }

    /// Makes weights and bias of a convolution, and what of its shifts and its converter is not given.
    pub(super) fn convolution(
        &self,
        convolution: &mut Convolution,
        seed: u64,
        weights: usize,
        sources: &[Option<usize>],
        given: GivenParameters,
    ) {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        // Layers of one seed are not alike.
        draw.set_stream(self.sizes.len() as u64);
        let fan_in = weights as f64 / f64::from(convolution.kernels);
        let counting = (fan_in * (1.0 - self.zeros)).sqrt();
        let input = self.size(sources.first().copied().flatten());
        if self.precision == Precision::Fp16 {
            self.float_convolution(convolution, &mut draw, weights, counting * input);
            return;
        }
        let most = LEAST.unsigned_abs() as i8;
        let size = match self.precision {
            Precision::Int16 => uniform_rms(LEAST_INT16.unsigned_abs().into()),
            _ => uniform_rms(f64::from(most)),
        };
        convolution.weights = match self.precision {
            Precision::Int16 => self
                .drawn(&mut draw, weights, |draw| pair(draw.random_range(LEAST_INT16..=-LEAST_INT16)))
                .as_flattened()
                .to_vec(),
            _ if self.zeros == 0.0 => int8s(&mut draw, weights),
            _ => self.drawn(&mut draw, weights, |draw| draw.random_range(LEAST..=most)),
        };
        // Where no weight counts, the bias alone does.
        let mut sums = (counting * size * input).max(1.0);
        convolution.truncate = given.truncate.unwrap_or(match self.precision {
            Precision::Int16 => (sums / SUMS).max(1.0).log2().ceil() as u32,
            _ => 0,
        });
        sums = (sums / f64::from(2u32).powi(convolution.truncate as i32)).max(1.0);
        let (mut bias_shift, mut reach) = (0, (sums / 4.0).max(1.0));
        while reach > 8192.0 {
            (bias_shift, reach) = (bias_shift + 1, reach / 2.0);
        }
        let reach = reach as i16;
        let values = (0..convolution.kernels).map(|_| draw.random_range(-reach..=reach).into()).collect();
        convolution.bias = Some(Bias { values, shift: bias_shift });
        let mut all = sums * sums;
        if let Some(added) = &mut convolution.added {
            let other = self.size(sources.get(1).copied().flatten());
            *added = given.shift.unwrap_or_else(|| (sums / other.max(1.0)).max(1.0).log2().floor() as u32);
            all += (other * f64::from(2u32).powi(*added as i32)).powi(2);
        }
        convolution.converter = given.converter.unwrap_or_else(|| converter(all.sqrt(), aim(self.precision)));
    }

    /// In fp16 nothing is converted: the weights are as large as makes sums what they should be.
    fn float_convolution(
        &self,
        convolution: &mut Convolution,
        draw: &mut ChaCha8Rng,
        weights: usize,
        sums_of_ones: f64,
    ) {
        let aim = aim(Precision::Fp16);
        // Drawn evenly up to that their root mean square is the third root of it.
        let most = (aim / sums_of_ones.max(1.0) * 3f64.sqrt()).min(1024.0);
        let weight = |draw: &mut ChaCha8Rng| pair(half(draw.random_range(-most..=most)));
        convolution.weights = self.drawn(draw, weights, weight).as_flattened().to_vec();
        let value = |_| half(draw.random_range(-aim / 4.0..=aim / 4.0)).into();
        convolution.bias = Some(Bias { values: (0..convolution.kernels).map(value).collect(), shift: 0 });
    }

    /// Draws so many weights, with zeros among them as far as is asked for.
    fn drawn<W: Default>(
        &self,
        draw: &mut ChaCha8Rng,
        weights: usize,
        weight: impl Fn(&mut ChaCha8Rng) -> W,
    ) -> Vec<W> {
        let each = |_| {
            // Without zeros nothing is drawn for them: weights are as they ever were.
            let is_zero = self.zeros > 0.0 && draw.random_bool(self.zeros);
            if is_zero { W::default() } else { weight(draw) }
        };
        (0..weights).map(each).collect()
    }

    /// A converter for the sum of two cubes.
    pub(super) fn sum_converter(&self, sources: &[Option<usize>], scale: i16, shift: u32) -> Converter {
        if self.precision == Precision::Fp16 {
            return Converter::NONE;
        }
        let sizes = [0, 1].map(|at| self.size(sources.get(at).copied().flatten()));
        let first = sizes[0] * f64::from(scale);
        let second = sizes[1] * f64::from(2u32).powi(shift as i32);
        converter(first.hypot(second), aim(self.precision))
    }

    /// Follows the size of what a layer makes.
    pub(super) fn made(&mut self, operation: &Operation, sources: &[Option<usize>], shapes: &[Shape]) {
        let aim = aim(self.precision);
        let input = self.size(sources.first().copied().flatten());
        let second = || self.size(sources.get(1).copied().flatten());
        let activated = |size: f64, activation: &Activation| match activation {
            Activation::None => size,
            _ => size * std::f64::consts::FRAC_1_SQRT_2,
        };
        let is_float = self.precision == Precision::Fp16;
        let size = match operation {
            // Nothing brings it back.
            Operation::Convolution(convolution) if is_float && convolution.added.is_some() => {
                aim.hypot(second())
            }
            Operation::Sum(sum) if is_float => {
                activated((input * f64::from(sum.scale)).hypot(second()), &sum.activation)
            }
            // What is added is mostly positive already.
            Operation::Convolution(Convolution { added: Some(_), .. }) => aim,
            Operation::Convolution(convolution) => activated(aim, &convolution.activation),
            Operation::Sum(sum) => activated(aim, &sum.activation),
            Operation::Pooling(Pooling { method: Method::Average | Method::Mean, .. }) => 0.8 * input,
            Operation::Pooling(_) => {
                if is_float {
                    1.3 * input
                } else {
                    (1.3 * input).min(1.5 * aim)
                }
            }
            Operation::Concatenation => {
                let (sum, channels) =
                    sources.iter().zip(shapes).fold((0.0, 0.0), |(sum, all), (source, shape)| {
                        let channels = f64::from(shape.channels);
                        (sum + channels * self.size(*source).powi(2), all + channels)
                    });
                (sum / f64::max(channels, 1.0)).sqrt()
            }
            Operation::Normalisation(_) => 0.6 * input,
            Operation::Elementwise(_) | Operation::ChannelProduct(_) | Operation::Scaling(_) => aim,
            Operation::Activation(Function::Relu | Function::Leaky { .. }) => {
                input * std::f64::consts::FRAC_1_SQRT_2
            }
            Operation::Activation(_)
            | Operation::Upsampling(_)
            | Operation::Interleaving(_)
            | Operation::SoftMax(_)
            | Operation::Slice(_)
            | Operation::Cpu(_) => input,
            Operation::Constant(_) => of_input(self.precision),
        };
        self.sizes.push(size);
    }
}

/// Draws numbers of int8, each as `random_range(LEAST..=-LEAST)` does: a word each, or, in 254 of 2^32 cases, two. Where no case of two
/// is among many words, they are scaled together: in half the time, of which ResNet-50 takes 25 million.
fn int8s(draw: &mut ChaCha8Rng, count: usize) -> Vec<i8> {
    const RANGE: u32 = 2 * LEAST.unsigned_abs() as u32 + 1;
    let scaled = |word: u32| u64::from(word) * u64::from(RANGE);
    let mut values = vec![0; count];
    for piece in values.chunks_mut(256) {
        let before = draw.clone();
        let mut words = [0; 256];
        let words = &mut words[..piece.len()];
        words.iter_mut().for_each(|word| *word = draw.next_u32());
        if words.iter().fold(0, |most, &word| most.max(scaled(word) as u32)) <= RANGE.wrapping_neg() {
            for (value, &word) in piece.iter_mut().zip(&*words) {
                *value = ((scaled(word) >> 32) as i8).wrapping_add(LEAST);
            }
        } else {
            *draw = before;
            piece.fill_with(|| draw.random_range(LEAST..=-LEAST));
        }
    }
    values
}

/// An input of any bytes, drawn from a seed.
pub fn example_input(shape: Shape, seed: u64) -> Vec<i8> {
    int8s(&mut ChaCha8Rng::seed_from_u64(seed), shape.elements())
}

/// An input of any elements: in fp16 numbers up to 128.
pub(super) fn example_input_of(shape: Shape, precision: Precision, seed: u64) -> Vec<i8> {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    let mut element = || match precision {
        Precision::Fp16 => half(draw.random_range(-128.0..=128.0)),
        _ => draw.random_range(LEAST_INT16..=-LEAST_INT16),
    };
    match precision {
        Precision::Int8 => example_input(shape, seed),
        _ => (0..shape.elements()).flat_map(|_| pair(element())).collect(),
    }
}

/// The tables of a local response normalisation: `(k + alpha / n * sum)^-beta`, of integers 32767 for one. A step of int16 means a
/// 256th of what one of int8 does.
pub(super) fn normalisation(
    channels: u32,
    [alpha, beta, k, scale]: [f64; 4],
    precision: Precision,
    given: Option<Converter>,
) -> Option<Normalisation> {
    // Squares of up to nine bytes: 256 steps of 1024 hold them all, and near zero 64 steps of 16 show the bend. Those of int16 are 65536
    // times as large.
    let more = if precision == Precision::Int16 { 16 } else { 0 };
    let (near_step, far_step) = (4, 10);
    let value = |sum: f64| {
        let factor = (k + alpha / f64::from(channels) * sum * scale * scale).powf(-beta);
        let whole = || (factor * 32767.0).round().clamp(-32768.0, 32767.0) as i16;
        let entry = || if precision == Precision::Fp16 { half(factor) } else { whole() };
        factor.is_finite().then(entry)
    };
    let table = |entries: u32, step: u32| -> Option<Vec<i16>> {
        (0..entries).map(|entry| value(f64::from(entry << step))).collect()
    };
    let converter = given.unwrap_or(match precision {
        Precision::Fp16 => Converter::NONE,
        _ => Converter { offset: 0, scale: 1, shift: 15 },
    });
    let (near, far) = (table(65, near_step)?, table(257, far_step)?);
    let (near_step, far_step) = (near_step + more, far_step + more);
    Some(Normalisation { channels, near, near_step, far, far_step, converter })
}

/// A convolution of made-up weights that stands for itself.
///
/// # Errors
/// As [`Maker::take`].
pub(super) fn alone(
    maker: &mut Maker,
    input: Shape,
    kernels: u32,
    window: Window,
    sources: &[Option<usize>],
) -> Result<Convolution, String> {
    let mut convolution = Convolution {
        kernels,
        groups: 1,
        window,
        padding: 0,
        weights: Vec::new(),
        truncate: 0,
        bias: None,
        scales: None,
        look_up: None,
        added: None,
        activation: Activation::Relu,
        converter: Converter::NONE,
    };
    let weights = maker.take(&[window.size[0], window.size[1], input.channels, kernels])?;
    let seed = maker.seed().unwrap_or(1);
    maker.convolution(&mut convolution, seed, weights, sources, GivenParameters::default());
    Ok(convolution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_drawn_together_are_those_drawn_one_by_one() {
        // Of this seed the first word of a case of two is this one.
        let case_of_two = 63_950_321;
        for (start, count) in [(0, 1000), (case_of_two - 700, 3 * 256 + 9), (case_of_two, 1)] {
            let [mut together, mut single] = [1, 1].map(|seed| {
                let mut draw = ChaCha8Rng::seed_from_u64(seed);
                draw.set_word_pos(start);
                draw
            });
            let expected: Vec<i8> = (0..count).map(|_| single.random_range(LEAST..=-LEAST)).collect();
            assert_eq!(int8s(&mut together, count), expected);
            assert_eq!(together.get_word_pos(), single.get_word_pos());
        }
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        draw.set_word_pos(case_of_two);
        int8s(&mut draw, 1);
        assert_eq!(draw.get_word_pos(), case_of_two + 2);
    }

    #[test]
    fn converters_divide_as_they_should() {
        for (from, to) in [(5e6, 48.0), (48.0, 48.0), (3.0, 100.0)] {
            let Converter { scale, shift, .. } = converter(from, to);
            let factor = f64::from(scale) / f64::from(2u32).powi(shift as i32);
            assert!((factor * from / to - 1.0).abs() < 1e-3, "{from} to {to}: {scale} >> {shift}");
        }
    }

    #[test]
    fn no_more_weights_are_made_up_than_memory_takes() {
        let text = "name = \"n\"\nseed = 1\ninput = { width = 1, height = 1, channels = 8192 }\n[[layer]]\n\
                    name = \"a\"\nkind = \"convolution\"\nkernels = 8192\nkernel = [7, 7]\npadding = [3, 3]\n";
        let error = super::super::Network::parse(text, &mut |_| Err(String::new())).unwrap_err();
        let many = "line 4: layer 1 `a`: more than 268435456 weights and constants are to be made up";
        assert_eq!(error.to_string(), many);
    }

    #[test]
    fn tables_hold_the_curve() {
        let made = normalisation(5, [1e-4, 0.75, 1.0, 1.0], Precision::Int8, None).unwrap();
        assert_eq!((made.near[0], made.near.len(), made.far.len()), (32767, 65, 257));
        let at = |sum: f64| ((1.0 + 1e-4 / 5.0 * sum).powf(-0.75) * 32767.0).round() as i16;
        assert_eq!((made.near[64], made.far[256]), (at(1024.0), at(262_144.0)));
        assert!(normalisation(5, [-1.0, 0.5, 1.0, 1.0], Precision::Int8, None).is_none());
    }
}
