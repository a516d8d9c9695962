//! Every path gives the plain one's sums; those are near the sums of real numbers.

use super::*;
use crate::nvdla::conv::compute::{Axes, Kernel};
use proptest::prelude::*;
use std::num::NonZeroUsize;

/// A convolution whose window ends with the last element it needs.
#[derive(Clone, Debug)]
struct Case {
    geometry: Geometry,
    pitch: usize,
    codes: Vec<u16>,
    kernels: usize,
    weights: Vec<u16>,
    positions: Range<usize>,
    asked: Range<usize>,
}

impl Case {
    /// Up to 64 channels a step, channels slowest.
    fn steps(&self) -> Steps {
        let Kernel { height, width, channels, dilation } = self.geometry.kernel;
        let mut steps = Steps::default();
        for first in (0..channels).step_by(64) {
            for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let at = row * dilation.y * self.pitch + column * dilation.x * channels;
                let weight = (row * width + column) * channels;
                steps.push((first..channels.min(first + 64)).map(|channel| (at + channel, weight + channel)));
            }
        }
        steps
    }

    fn sums(&self, array: MacArray) -> Vec<u32> {
        let window = FloatWindow::new(&self.codes, self.pitch);
        let weights = FloatWeights::pack(self.steps(), self.kernels, &self.weights).unwrap();
        let convolution = FloatConvolution::new(self.geometry, &window, &weights).unwrap();
        let mut sums = vec![1; self.positions.len() * self.asked.len()];
        array.accumulate_float(&convolution, self.positions.clone(), self.asked.clone(), &mut sums).unwrap();
        sums
    }
}

/// Codes of all kinds: any, of like magnitude, denormals and zeros, and now and then what is no finite number.
fn code(finite: bool) -> impl Strategy<Value = u16> {
    let special = prop::sample::select(vec![0, 0x8000, 1, 0x83ff, 0x7bff, 0xfbff, 0x0400, 0x3c00]);
    let infinite = prop::sample::select(vec![0x7c00, 0xfc00]);
    let nan = (0x7c01u16..0x8000, any::<bool>()).prop_map(|(code, sign)| code | u16::from(sign) << 15);
    let weights = if finite { [0, 0] } else { [20, 1] };
    let finite = any::<u16>().prop_map(|code| if code >> 10 & 31 == 31 { code & !(1 << 14) } else { code });
    prop_oneof![
        200 => finite,
        200 => (0u16..0x1000, any::<bool>()).prop_map(|(code, sign)| (0x3400 + code) | (u16::from(sign) << 15)),
        40 => special,
        weights[0] => infinite,
        weights[1] => nan,
    ]
}

fn mostly_nan() -> impl Strategy<Value = u16> + Clone {
    prop_oneof![3 => 0x7c01u16..0x8000, 1 => 0xfc01u16..=0xffff, 2 => any::<u16>()]
}

fn case(code: impl Strategy<Value = u16> + Clone + 'static) -> impl Strategy<Value = Case> {
    let channels = prop_oneof![1..=9usize, 10..=70usize, 120..=140usize];
    let axes = || (1..=2usize, 1..=2usize).prop_map(|(x, y)| Axes { x, y });
    let kernel = (1..=2usize, 1..=3usize, channels, axes())
        .prop_map(|(height, width, channels, dilation)| Kernel { height, width, channels, dilation });
    let geometry = (kernel, axes(), 1..=3usize).prop_map(|(kernel, stride, output_width)| Geometry {
        kernel,
        stride,
        output_width,
    });
    (geometry, 1..=4usize, 1..=20usize).prop_flat_map(move |(geometry, positions, kernels)| {
        let Geometry { kernel, stride, output_width } = geometry;
        let pitch =
            ((output_width - 1) * stride.x + (kernel.width - 1) * kernel.dilation.x + 1) * kernel.channels;
        let rows = (positions - 1) / output_width * stride.y + (kernel.height - 1) * kernel.dilation.y + 1;
        let taps = kernel.taps().unwrap();
        let codes = |count| prop::collection::vec(code.clone(), count);
        let part = (0..=kernels, 0..=kernels).prop_map(|(a, b)| a.min(b)..a.max(b));
        (codes(rows * pitch), codes(kernels * taps), part).prop_map(move |(codes, weights, asked)| Case {
            geometry,
            pitch,
            codes,
            kernels,
            weights,
            positions: 0..positions,
            asked,
        })
    })
}

/// Returns the value that a finite code stands for.
fn value(code: u16) -> f64 {
    let number: crate::nvdla::float::Fp32 = Fp16::from_bits(code.into()).widened();
    f32::from_bits(number.bits()).into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_path_gives_the_plain_sums(case in case(code(false).boxed())) {
        let plain = case.sums(MacArray::by(Path::PLAIN));
        for path in Path::all() {
            prop_assert_eq!(&case.sums(MacArray::by(path)), &plain, "{}", path.name());
        }
    }

    /// Sums where most operands are no numbers: what these leave of each kernel's sum is still the plain one's.
    #[test]
    fn every_path_gives_the_plain_sums_of_many_nans(case in case(mostly_nan().boxed())) {
        let plain = case.sums(MacArray::by(Path::PLAIN));
        for path in Path::all() {
            prop_assert_eq!(&case.sums(MacArray::by(path)), &plain, "{}", path.name());
        }
    }

    #[test]
    fn every_path_gives_the_plain_sums_of_tiles(
        (blocks, tiles, kernels) in (1..4usize, 1..4usize, 1..20usize),
        codes in prop::collection::vec(code(false), 700),
        nan in prop::option::weighted(0.2, mostly_nan()),
    ) {
        let channels = blocks * STEP_CHANNELS;
        let taps = PLACES * channels;
        let mut steps = Steps::default();
        for first in (0..channels).step_by(STEP_CHANNELS) {
            let places = (0..PLACES).flat_map(|place| (0..STEP_CHANNELS).map(move |c| place * channels + c));
            steps.push(places.map(|at| (at + first, at + first)));
        }
        let mut codes = codes.into_iter().chain(nan).cycle();
        let mut some = |count: usize| codes.by_ref().take(count).collect::<Vec<_>>();
        let window = FloatWindow::new(&some(tiles * taps), tiles * taps);
        let weights = FloatWeights::pack(steps, kernels, &some(kernels * taps)).unwrap();
        let kernel = Kernel { height: 1, width: 1, channels: taps, dilation: Axes::ONE };
        let geometry = Geometry { kernel, stride: Axes::ONE, output_width: tiles };
        let convolution = FloatConvolution::new(geometry, &window, &weights).unwrap();
        let sums = |path| {
            let mut sums = vec![[1; OUTPUTS]; tiles * kernels];
            let array = MacArray::by(path);
            array.accumulate_float_tiles(&convolution, 0..tiles, 0..kernels, &mut sums).unwrap();
            sums
        };
        let plain = sums(Path::PLAIN);
        for path in Path::all() {
            prop_assert_eq!(&sums(path), &plain, "{}", path.name());
        }
    }

    #[test]
    fn sums_are_near_those_of_real_numbers(case in case(code(true).boxed())) {
        let steps = case.steps();
        let taps = steps.taps.len();
        let mut sums = case.sums(MacArray::default()).into_iter();
        for position in case.positions.clone() {
            for k in case.asked.clone() {
                let start = case.geometry.start(position, case.pitch);
                let pairs: Vec<(u16, u16)> = steps.taps.iter()
                    .map(|&(at, weight)| (case.codes[start + at], case.weights[k * taps + weight]))
                    .collect();
                let products: Vec<f64> = pairs.iter().map(|&(data, weight)| value(data) * value(weight)).collect();
                // Every product is aligned to the largest upper bits of exponents, and then off by less than two units:
                // however small mantissas are, as those of denormals. The accumulator keeps 40 bits.
                let upper = |code: u16| i32::from(code >> 12 & 7);
                let active = pairs.iter().filter(|(data, weight)| data << 1 != 0 && weight << 1 != 0);
                let scale = active.map(|&(data, weight)| upper(data) + upper(weight)).max().unwrap_or(0);
                let largest = products.iter().fold(0f64, |most, product| product.abs().max(most));
                let near = taps as f64 * (2f64.powi(4 * scale - 49) + taps as f64 * largest * 2f64.powi(-38));
                let (sum, exact) = (f64::from(f32::from_bits(sums.next().unwrap())), products.iter().sum::<f64>());
                prop_assert!((sum - exact).abs() <= near + exact.abs() * 2f64.powi(-23), "{} {}", sum, exact);
            }
        }
    }
}

#[test]
fn threads_do_not_show_in_the_sums() {
    let kernel = Kernel { height: 1, width: 1, channels: 128, dilation: Axes::ONE };
    let mut state = 1u32;
    let mut codes = |count: usize| -> Vec<u16> {
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) as u16) & 0xbfff
        };
        (0..count).map(next).collect()
    };
    let case = Case {
        geometry: Geometry { kernel, stride: Axes::ONE, output_width: 64 },
        pitch: 64 * 128,
        codes: codes(64 * 128),
        kernels: 130,
        weights: codes(130 * 128),
        positions: 0..64,
        asked: 0..130,
    };
    let alone = case.sums(MacArray::default());
    let three = NonZeroUsize::new(3).unwrap();
    assert_eq!(case.sums(MacArray::default().on_up_to(three)), alone);
    let few = Case { positions: 0..20, ..case };
    assert_eq!(few.sums(MacArray::default().on_up_to(three)), alone[..20 * 130]);
}

#[test]
fn weights_of_another_size_are_refused() {
    let mut steps = Steps::default();
    steps.push([(0, 0), (1, 1)].into_iter());
    let short = FloatWeights::pack(steps.clone(), 2, &[0; 3]);
    assert_eq!(short.err(), Some(Error::Weights { needed: 4, given: 3 }));
    let packed = FloatWeights::pack(steps, 2, &[0; 4]).unwrap();
    let kernel = Kernel { height: 1, width: 1, channels: 3, dilation: Axes::ONE };
    let geometry = Geometry { kernel, stride: Axes::ONE, output_width: 1 };
    let window = FloatWindow::new(&[0; 3], 3);
    assert_eq!(FloatConvolution::new(geometry, &window, &packed).err(), Some(Error::Kernel));
}
