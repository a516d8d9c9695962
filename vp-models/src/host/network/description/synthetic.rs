//! Weights where only shapes are known: drawn from a seed, with converters that keep what layers make within int8.
//!
//! Of each cube the root mean square is followed, as it comes of independent weights: it grows with the root of the fan-in,
//! and the converter brings it back. So values neither all saturate nor all vanish, whatever the network's depth.

use super::{
    Activation, Bias, Converter, Convolution, Method, Normalisation, Operation, Pooling, Shape, Window,
};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// What sums should be, as the root of their mean square: saturation is 2.6 times as far away.
const AIM: f64 = 48.0;
/// The same of inputs: any byte.
const INPUT: f64 = 74.0;
/// Weights and inputs are drawn from this on, to the same number above.
const LEAST: i8 = -127;

/// Values that are made up in one network: VGG-16 has 138 million weights, and a slip of the pen has any number.
const MOST: u64 = 1 << 28;

/// Makes weights up, layer by layer.
pub(super) struct Maker {
    seed: Option<u64>,
    /// How many more values may be made.
    left: u64,
    /// The root mean square of each layer's output.
    sizes: Vec<f64>,
}

fn uniform_rms(most: f64) -> f64 {
    (most * (most + 1.0) / 3.0).sqrt()
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
    pub(super) fn new(seed: Option<u64>) -> Maker {
        Maker { seed, left: MOST, sizes: Vec::new() }
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
        source.and_then(|layer| self.sizes.get(layer)).copied().unwrap_or(INPUT)
    }

    /// Makes weights, bias and, unless it is given, the converter of a convolution; and the shift of what is added,
    /// unless that is.
    pub(super) fn convolution(
        &self,
        convolution: &mut Convolution,
        seed: u64,
        weights: usize,
        sources: &[Option<usize>],
        shift: Option<u32>,
        given: Option<Converter>,
    ) {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        // Layers of one seed are not alike.
        draw.set_stream(self.sizes.len() as u64);
        let most = LEAST.unsigned_abs() as i8;
        convolution.weights = (0..weights).map(|_| draw.random_range(LEAST..=most)).collect();
        let fan_in = weights as f64 / f64::from(convolution.kernels);
        let input = self.size(sources.first().copied().flatten());
        let sums = fan_in.sqrt() * uniform_rms(f64::from(most)) * input;
        let (mut bias_shift, mut reach) = (0, (sums / 4.0).max(1.0));
        while reach > 8192.0 {
            (bias_shift, reach) = (bias_shift + 1, reach / 2.0);
        }
        let reach = reach as i16;
        let values = (0..convolution.kernels).map(|_| draw.random_range(-reach..=reach)).collect();
        convolution.bias = Some(Bias { values, shift: bias_shift });
        let mut all = sums * sums;
        if let Some(added) = &mut convolution.added {
            let other = self.size(sources.get(1).copied().flatten());
            *added = shift.unwrap_or_else(|| (sums / other.max(1.0)).max(1.0).log2().floor() as u32);
            all += (other * f64::from(2u32).powi(*added as i32)).powi(2);
        }
        convolution.converter = given.unwrap_or_else(|| converter(all.sqrt(), AIM));
    }

    /// A converter for the sum of two cubes.
    pub(super) fn sum_converter(&self, sources: &[Option<usize>], scale: i16, shift: u32) -> Converter {
        let sizes = [0, 1].map(|at| self.size(sources.get(at).copied().flatten()));
        let first = sizes[0] * f64::from(scale);
        let second = sizes[1] * f64::from(2u32).powi(shift as i32);
        converter(first.hypot(second), AIM)
    }

    /// Follows the size of what a layer makes.
    pub(super) fn made(&mut self, operation: &Operation, sources: &[Option<usize>], shapes: &[Shape]) {
        let input = self.size(sources.first().copied().flatten());
        let activated = |activation: &Activation| match activation {
            Activation::None => AIM,
            _ => AIM * std::f64::consts::FRAC_1_SQRT_2,
        };
        let size = match operation {
            // What is added is mostly positive already.
            Operation::Convolution(Convolution { added: Some(_), .. }) => AIM,
            Operation::Convolution(convolution) => activated(&convolution.activation),
            Operation::Sum(sum) => activated(&sum.activation),
            Operation::Pooling(Pooling { method: Method::Average, .. }) => 0.8 * input,
            Operation::Pooling(_) => (1.3 * input).min(1.5 * AIM),
            Operation::Concatenation => {
                let (sum, channels) =
                    sources.iter().zip(shapes).fold((0.0, 0.0), |(sum, all), (source, shape)| {
                        let channels = f64::from(shape.channels);
                        (sum + channels * self.size(*source).powi(2), all + channels)
                    });
                (sum / f64::max(channels, 1.0)).sqrt()
            }
            Operation::Normalisation(_) => 0.6 * input,
            Operation::Upsampling(_) | Operation::SoftMax(_) => input,
            Operation::Constant(_) => INPUT,
        };
        self.sizes.push(size);
    }
}

/// An input of any bytes, drawn from a seed.
pub fn example_input(shape: Shape, seed: u64) -> Vec<i8> {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    (0..shape.elements()).map(|_| draw.random_range(LEAST..=LEAST.unsigned_abs() as i8)).collect()
}

/// The tables of a local response normalisation: `(k + alpha / n * sum)^-beta`, 32767 for one.
pub(super) fn normalisation(
    channels: u32,
    [alpha, beta, k, scale]: [f64; 4],
    given: Option<Converter>,
) -> Option<Normalisation> {
    // Squares of up to nine bytes: 256 steps of 1024 hold them all, and near zero 64 steps of 16 show the bend.
    let (near_step, far_step) = (4, 10);
    let value = |sum: f64| {
        let factor = (k + alpha / f64::from(channels) * sum * scale * scale).powf(-beta);
        factor.is_finite().then(|| (factor * 32767.0).round().clamp(-32768.0, 32767.0) as i16)
    };
    let table = |entries: u32, step: u32| -> Option<Vec<i16>> {
        (0..entries).map(|entry| value(f64::from(entry << step))).collect()
    };
    let converter = given.unwrap_or(Converter { offset: 0, scale: 1, shift: 15 });
    let (near, far) = (table(65, near_step)?, table(257, far_step)?);
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
        weights: Vec::new(),
        bias: None,
        added: None,
        activation: Activation::Relu,
        converter: Converter { offset: 0, scale: 1, shift: 0 },
    };
    let weights = maker.take(&[window.size[0], window.size[1], input.channels, kernels])?;
    let seed = maker.seed().unwrap_or(1);
    maker.convolution(&mut convolution, seed, weights, sources, None, None);
    Ok(convolution)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let many = "layer `a`: more than 268435456 weights and constants are to be made up";
        assert_eq!(error.to_string(), many);
    }

    #[test]
    fn tables_hold_the_curve() {
        let made = normalisation(5, [1e-4, 0.75, 1.0, 1.0], None).unwrap();
        assert_eq!((made.near[0], made.near.len(), made.far.len()), (32767, 65, 257));
        let at = |sum: f64| ((1.0 + 1e-4 / 5.0 * sum).powf(-0.75) * 32767.0).round() as i16;
        assert_eq!((made.near[64], made.far[256]), (at(1024.0), at(262_144.0)));
        assert!(normalisation(5, [-1.0, 0.5, 1.0, 1.0], None).is_none());
    }
}
