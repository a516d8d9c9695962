use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;

/// A convolution whose window ends with the last element it needs.
#[derive(Clone, Debug)]
struct Case<T: Element> {
    geometry: Geometry,
    pitch: usize,
    elements: Vec<T>,
    kernels: usize,
    weights: Vec<T>,
    positions: Range<usize>,
    asked: Range<usize>,
}

impl<T: Element> Case<T> {
    fn packed(&self) -> PackedWeights<T> {
        PackedWeights::pack(self.geometry.kernel, self.kernels, &self.weights).unwrap()
    }

    fn on<'a>(&'a self, weights: &'a PackedWeights<T>) -> Convolution<'a, T> {
        let window = Window { elements: &self.elements, pitch: self.pitch };
        Convolution::new(self.geometry, window, weights).unwrap()
    }

    fn count(&self) -> usize {
        self.positions.len() * self.asked.len()
    }

    /// The sums by the definition of a convolution, from the weights as they were before packing.
    fn expected(&self) -> Vec<i64> {
        let Geometry { kernel, stride, output_width } = self.geometry;
        let sum = |position: usize, k: usize| {
            let mut sum: i64 = 0;
            for r in 0..kernel.height {
                for s in 0..kernel.width {
                    let y = position / output_width * stride.y + r * kernel.dilation.y;
                    let x = position % output_width * stride.x + s * kernel.dilation.x;
                    for c in 0..kernel.channels {
                        let weight = ((k * kernel.height + r) * kernel.width + s) * kernel.channels + c;
                        let (activation, weight) =
                            (self.elements[y * self.pitch + x * kernel.channels + c], self.weights[weight]);
                        sum += activation.into() * weight.into();
                    }
                }
            }
            sum
        };
        self.positions
            .clone()
            .flat_map(|p| self.asked.clone().map(move |k| (p, k)))
            .map(|(p, k)| sum(p, k))
            .collect()
    }
}

/// Random values, and often the ends of their range.
fn values<T: Element>(
    any: impl Strategy<Value = T> + 'static,
    ends: [T; 2],
    length: usize,
) -> impl Strategy<Value = Vec<T>> {
    let one = prop_oneof![any, proptest::sample::select(ends.to_vec())].boxed();
    let all = proptest::sample::select(ends.to_vec()).prop_map(move |end| vec![end; length]);
    prop_oneof![4 => proptest::collection::vec(one, length), 1 => all]
}

fn axes() -> impl Strategy<Value = Axes> {
    (1..=3usize, 1..=3usize).prop_map(|(x, y)| Axes { x, y })
}

fn part(length: usize) -> impl Strategy<Value = Range<usize>> {
    (0..=length, 0..=length).prop_map(|(a, b)| a.min(b)..a.max(b))
}

fn case<T: Element, S: Strategy<Value = T> + Copy + 'static>(
    any: S,
    ends: [T; 2],
) -> impl Strategy<Value = Case<T>> {
    let channels = prop_oneof![1..=9usize, 10..=70usize];
    let kernel = (1..=4usize, 1..=5usize, channels, axes())
        .prop_map(|(height, width, channels, dilation)| Kernel { height, width, channels, dilation });
    let geometry = (kernel, axes(), 1..=15usize).prop_map(|(kernel, stride, output_width)| Geometry {
        kernel,
        stride,
        output_width,
    });
    let kernels = prop_oneof![1..=20usize, 1..=100usize];
    (geometry, 1..=3usize, 0..=5usize, kernels)
        .prop_flat_map(|(geometry, rows, gap, kernels)| {
            let positions = part(geometry.output_width * rows);
            (Just((geometry, gap, kernels)), positions, part(kernels))
        })
        .prop_flat_map(move |((geometry, gap, kernels), positions, asked)| {
            let Geometry { kernel, stride, output_width } = geometry;
            let reach = (output_width - 1) * stride.x + (kernel.width - 1) * kernel.dilation.x + 1;
            let pitch = reach * kernel.channels + gap;
            // Counted out, as a check of the closed form.
            let needed = (0..positions.end)
                .map(|p| {
                    let y = p / output_width * stride.y + (kernel.height - 1) * kernel.dilation.y;
                    let x = p % output_width * stride.x + (kernel.width - 1) * kernel.dilation.x;
                    y * pitch + (x + 1) * kernel.channels
                })
                .max()
                .unwrap_or(0);
            let taps = kernel.taps().unwrap();
            let data = (values(any, ends, needed), values(any, ends, kernels * taps));
            data.prop_map(move |(elements, weights)| Case {
                geometry,
                pitch,
                elements,
                kernels,
                weights,
                positions: positions.clone(),
                asked: asked.clone(),
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_path_gives_the_sums_of_a_convolution(case in case(any::<i8>(), [i8::MIN, i8::MAX])) {
        let weights = case.packed();
        let convolution = case.on(&weights);
        let expected = case.expected();
        let mut obvious = vec![-1; case.count()];
        if !obvious.is_empty() {
            reference::sums(&convolution, case.positions.clone(), case.asked.clone(), &mut obvious);
        }
        prop_assert_eq!(&obvious, &expected);
        for path in Path::all() {
            let mac = MacArray::by(path);
            let mut sums = vec![-1; case.count()];
            mac.accumulate(&convolution, case.positions.clone(), case.asked.clone(), &mut sums).unwrap();
            prop_assert!(sums.iter().map(|&sum| i64::from(sum)).eq(expected.iter().copied()), "{}", path.name());
            let mut wide = vec![-1; case.count()];
            mac.accumulate_wide(&convolution, case.positions.clone(), case.asked.clone(), &mut wide).unwrap();
            prop_assert_eq!(&wide, &expected, "{}", path.name());
        }
    }

    #[test]
    fn every_path_gives_the_sums_of_int16(case in case(any::<i16>(), [i16::MIN, i16::MAX])) {
        let weights = case.packed();
        let convolution = case.on(&weights);
        let expected = case.expected();
        for path in Path::all() {
            let mut sums = vec![-1; case.count()];
            let mac = MacArray::by(path);
            mac.accumulate_wide(&convolution, case.positions.clone(), case.asked.clone(), &mut sums).unwrap();
            prop_assert_eq!(&sums, &expected, "{}", path.name());
        }
    }

    #[test]
    fn packed_weights_are_the_weights(case in case(any::<i8>(), [i8::MIN, i8::MAX])) {
        let weights = case.packed();
        let Kernel { height, width, channels, .. } = case.geometry.kernel;
        let mut given = case.weights.iter();
        for k in 0..case.kernels {
            for r in 0..height {
                for s in 0..width {
                    for c in 0..channels {
                        prop_assert_eq!(weights.at(k, r, s, c), *given.next().unwrap());
                    }
                }
            }
        }
    }

    #[test]
    fn a_window_one_element_short_is_refused(case in case(any::<i8>(), [i8::MIN, i8::MAX])) {
        prop_assume!(case.count() > 0);
        let weights = case.packed();
        let held = case.elements.len() - 1;
        let window = Window { elements: &case.elements[..held], pitch: case.pitch };
        let convolution = Convolution::new(case.geometry, window, &weights).unwrap();
        let mut sums = vec![0; case.count()];
        let refused = MacArray::default().accumulate(&convolution, case.positions, case.asked, &mut sums);
        prop_assert_eq!(refused, Err(Error::Window { needed: held + 1, held }));
    }
}

/// One kernel of so many taps, at one position; all activations and all weights alike.
fn deep<T: Element>(taps: usize, activation: T, weight: T) -> Case<T> {
    let kernel = Kernel { height: 1, width: 1, channels: taps, dilation: Axes::ONE };
    Case {
        geometry: Geometry { kernel, stride: Axes::ONE, output_width: 1 },
        pitch: taps,
        elements: vec![activation; taps],
        kernels: 1,
        weights: vec![weight; taps],
        positions: 0..1,
        asked: 0..1,
    }
}

fn wide_sum<T: Wide>(path: Path, case: &Case<T>) -> i64 {
    let mut sums = [0];
    MacArray::by(path).accumulate_wide(&case.on(&case.packed()), 0..1, 0..1, &mut sums).unwrap();
    sums[0]
}

#[test]
fn the_deepest_int8_sums_of_32_bits_are_exact() {
    for (weight, sum) in [(i8::MIN, 131_071 << 14), (i8::MAX, -131_071 * 128 * 127)] {
        let case = deep(131_071, i8::MIN, weight);
        for path in Path::all() {
            let mut sums = [0];
            MacArray::by(path).accumulate(&case.on(&case.packed()), 0..1, 0..1, &mut sums).unwrap();
            assert_eq!(sums, [sum], "{}", path.name());
        }
    }
}

#[test]
fn deeper_int8_sums_are_refused_in_32_bits_and_exact_in_64() {
    let case = deep(131_072, i8::MIN, i8::MIN);
    for path in Path::all() {
        let refused = MacArray::by(path).accumulate(&case.on(&case.packed()), 0..1, 0..1, &mut [0]);
        assert_eq!(refused, Err(Error::Deep { taps: 131_072 }));
        assert_eq!(wide_sum(path, &case), 1 << 31);
    }
}

#[test]
fn the_deepest_int16_sums_that_cannot_saturate_are_exact() {
    for (weight, sum) in [(i16::MIN, 131_071 << 30), (i16::MAX, -131_071 * 32_768 * 32_767)] {
        let case = deep(131_071, i16::MIN, weight);
        for path in Path::all() {
            assert_eq!(wide_sum(path, &case), sum, "{}", path.name());
        }
    }
}

#[test]
fn int16_sums_saturate_at_48_bits_step_by_step() {
    let mut case = deep(131_072 + 64, i16::MIN, i16::MIN);
    assert_eq!(wide_sum(Path::best(), &case), (1 << 47) - 1);
    // A last step that goes down does so from the limit, not from what exceeded it.
    case.weights[131_072..].fill(1);
    assert_eq!(wide_sum(Path::best(), &case), (1 << 47) - 1 - 64 * 32_768);
}

#[test]
fn int16_sums_of_many_short_runs_are_exact() {
    // Dilation makes each tap of the only channel a run of its own, with a group to itself.
    let kernel = Kernel { height: 250, width: 250, channels: 1, dilation: Axes { x: 2, y: 1 } };
    let case = Case {
        geometry: Geometry { kernel, stride: Axes::ONE, output_width: 1 },
        pitch: 499,
        elements: vec![i16::MIN; 250 * 499],
        kernels: 1,
        weights: vec![i16::MIN; 62_500],
        positions: 0..1,
        asked: 0..1,
    };
    for path in Path::all() {
        assert_eq!(wide_sum(path, &case), 62_500 << 30, "{}", path.name());
    }
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    // Enough work for several threads: by positions in the first case, by kernels in the second.
    for (output_width, kernels, channels) in [(225, 100, 2048), (3, 300, 60_000)] {
        let kernel = Kernel { height: 1, width: 1, channels, dilation: Axes::ONE };
        let pattern = |count: usize| (0..count).map(|i| ((i * 7919) >> 3) as i8).collect::<Vec<_>>();
        let case = Case {
            geometry: Geometry { kernel, stride: Axes::ONE, output_width },
            pitch: output_width * channels,
            elements: pattern(output_width * channels),
            kernels,
            weights: pattern(kernels * channels),
            positions: 0..output_width,
            asked: 5..kernels,
        };
        let weights = case.packed();
        let by = |mac: MacArray| {
            let mut sums = vec![0; case.count()];
            mac.accumulate(&case.on(&weights), case.positions.clone(), case.asked.clone(), &mut sums)
                .unwrap();
            sums
        };
        let alone = by(MacArray::default());
        for count in [2, 3, 5] {
            assert!(by(MacArray::default().on_up_to(threads(count))) == alone, "{count} threads");
        }
    }
}

#[test]
fn work_is_cut_into_as_many_pieces_as_threads_and_nothing_is_left_out() {
    for (positions, kernels) in [(10..510, 3..40), (7..10, 50..700), (0..1, 0..64)] {
        for limit in 1..6 {
            let pieces = Mutex::new(0);
            let compute = |positions: Range<usize>, kernels: Range<usize>, sums: &mut [i64]| {
                *pieces.lock().unwrap() += 1;
                let pairs = positions.flat_map(|p| kernels.clone().map(move |k| (p * 1000 + k) as i64));
                assert_eq!(sums.iter_mut().zip(pairs).map(|(sum, pair)| *sum = pair).count(), sums.len());
            };
            let mut sums = vec![-1; positions.len() * kernels.len()];
            threads::divide(threads(limit), 1 << 40, positions.clone(), kernels.clone(), &mut sums, &compute);
            let whole = positions.clone().flat_map(|p| kernels.clone().map(move |k| (p * 1000 + k) as i64));
            assert!(sums.into_iter().eq(whole));
            let together = kernels.end.div_ceil(64) - kernels.start / 64;
            let possible = if positions.len() > 100 { limit } else { limit.min(together) };
            assert!((1..=possible).contains(&pieces.into_inner().unwrap()));
        }
    }
}

#[test]
fn small_work_stays_on_the_calling_thread() {
    let caller = std::thread::current().id();
    let compute =
        |_: Range<usize>, _: Range<usize>, _: &mut [i32]| assert_eq!(std::thread::current().id(), caller);
    threads::divide(threads(8), 64, 0..100, 0..64, &mut vec![0; 6400], &compute);
}

#[test]
fn lengths_that_do_not_belong_together_are_refused() {
    let case = deep(8, 1i8, 1);
    let weights = case.packed();
    let mac = MacArray::default();
    let convolution = case.on(&weights);
    assert_eq!(
        mac.accumulate(&convolution, 0..1, 0..1, &mut [0; 2]),
        Err(Error::Sums { needed: 1, given: 2 })
    );
    let beyond = Error::Kernels { start: 0, end: 2, packed: 1 };
    assert_eq!(mac.accumulate(&convolution, 0..1, 0..2, &mut [0; 2]), Err(beyond));
    let endless = mac.accumulate(&convolution, usize::MAX - 1..usize::MAX, 0..1, &mut [0]);
    assert_eq!(endless, Err(Error::Window { needed: usize::MAX, held: 8 }));

    let kernel = case.geometry.kernel;
    let short = PackedWeights::pack(kernel, 2, &[0i8; 15]).map(|_| ());
    assert_eq!(short, Err(Error::Weights { needed: 16, given: 15 }));
    let none = PackedWeights::<i8>::pack(Kernel { height: 0, ..kernel }, 1, &[]).map(|_| ());
    assert_eq!(none, Err(Error::Empty));

    let window = Window { elements: &case.elements, pitch: 8 };
    let other = Geometry { kernel: Kernel { dilation: Axes { x: 2, y: 1 }, ..kernel }, ..case.geometry };
    assert_eq!(Convolution::new(other, window, &weights).map(|_| ()), Err(Error::Kernel));
    let flat = Geometry { output_width: 0, ..case.geometry };
    assert_eq!(Convolution::new(flat, window, &weights).map(|_| ()), Err(Error::Empty));
}
