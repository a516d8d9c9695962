//! Speed at which convolution is computed, beside what the core can do.
//!
//! `cargo bench -p vp-models --bench convolution [-- NAME...]` prints a table: multiply-accumulates per second of
//! typical layers, and their ratio to a ceiling. The ceiling is a plain int8 dot product over data in the first-level
//! cache, as the compiler vectorises it, the best of what it makes of it for the instruction sets this CPU has; a
//! fully connected layer is bound by memory, so beside it stands the rate at which its weights can be read at all.
//!
//! Behind it the same for int16 and fp16, whose measure is NVIDIA's C-model. A NAME may also be that of a format.
//!
//! A small harness of its own, since what counts is a ratio on a machine that does other things as well: ceilings and
//! layers take turns, and of each the best round counts.

mod ceiling;
mod wide;

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use vp_models::nvdla::conv::compute::{
    Axes, Convolution, Geometry, Kernel, MacArray, PackedWeights, Path, Window,
};

/// Each measures at least this long, this many times: short rounds, of which some are not disturbed.
const ROUND: Duration = Duration::from_millis(3);
const ROUNDS: usize = 150;

/// A layer to compute, padding included in its input.
struct Layer {
    name: &'static str,
    kernel: (usize, usize, usize),
    kernels: usize,
    stride: usize,
    /// Input with its padding, width and height.
    input: (usize, usize),
    output: (usize, usize),
}

const LAYERS: [Layer; 4] = [
    Layer {
        name: "3x3 128->128 on 56x56",
        kernel: (3, 3, 128),
        kernels: 128,
        stride: 1,
        input: (58, 58),
        output: (56, 56),
    },
    Layer {
        name: "1x1 512->512 on 14x14",
        kernel: (1, 1, 512),
        kernels: 512,
        stride: 1,
        input: (14, 14),
        output: (14, 14),
    },
    Layer {
        name: "7x7 3->64 /2 on 224x224",
        kernel: (7, 7, 3),
        kernels: 64,
        stride: 2,
        input: (230, 230),
        output: (112, 112),
    },
    Layer {
        name: "fully connected 4096->4096",
        kernel: (1, 1, 4096),
        kernels: 4096,
        stride: 1,
        input: (1, 1),
        output: (1, 1),
    },
];

/// A layer with its data.
struct Operands {
    geometry: Geometry,
    elements: Vec<i8>,
    pitch: usize,
    weights: PackedWeights<i8>,
    positions: usize,
}

impl Layer {
    fn operands(&self) -> Operands {
        let (width, height, channels) = self.kernel;
        let kernel = Kernel { height, width, channels, dilation: Axes::ONE };
        let taps = kernel.taps().expect("a kernel");
        let weights = pattern(taps * self.kernels);
        Operands {
            geometry: Geometry {
                kernel,
                stride: Axes { x: self.stride, y: self.stride },
                output_width: self.output.0,
            },
            elements: pattern(self.input.0 * self.input.1 * channels),
            pitch: self.input.0 * channels,
            weights: PackedWeights::pack(kernel, self.kernels, &weights).expect("weights of that kernel"),
            positions: self.output.0 * self.output.1,
        }
    }
}

/// Bytes that look random.
fn pattern(length: usize) -> Vec<i8> {
    let step = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as i8)
    };
    std::iter::repeat_n((), length).scan(1, |state, ()| step(state)).collect()
}

/// Something that is measured, and the best rate seen.
struct Contestant<'a> {
    layer: Option<&'a str>,
    by: String,
    /// Multiply-accumulates of a call.
    work: usize,
    call: Box<dyn FnMut() + 'a>,
    best: f64,
}

impl<'a> Contestant<'a> {
    fn new(layer: Option<&'a str>, by: impl Into<String>, work: usize, call: impl FnMut() + 'a) -> Self {
        Contestant { layer, by: by.into(), work, call: Box::new(call), best: 0.0 }
    }

    /// One round: as many calls as it takes, after one that warms up.
    fn round(&mut self) {
        (self.call)();
        let (start, mut calls) = (Instant::now(), 0);
        while start.elapsed() < ROUND {
            (self.call)();
            calls += 1;
        }
        let rate = (self.work * calls) as f64 / start.elapsed().as_secs_f64();
        self.best = self.best.max(rate);
    }
}

#[expect(clippy::print_stdout, reason = "the output of a command line program")]
fn main() {
    let (options, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    // `cargo bench` says so; `cargo test --benches` only wants to see it run.
    let rounds = if options.iter().any(|option| option == "--bench") { ROUNDS } else { 1 };
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
    let of_int8 = LAYERS.iter().filter(|layer| is_wanted("int8") || is_wanted(layer.name));
    let layers: Vec<(&Layer, Operands)> = of_int8.map(|layer| (layer, layer.operands())).collect();
    let mut formats = wide::formats();
    for format in &mut formats {
        let all = is_wanted(format.name);
        format.contestants.retain(|one| all || one.layer.is_some_and(is_wanted));
    }
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);

    let (a, b) = (pattern(ceiling::LENGTH), pattern(ceiling::LENGTH));
    let mut contestants = Vec::new();
    for (name, dot) in ceiling::dot_products() {
        let (a, b) = (&a, &b);
        let call = move || {
            black_box(dot(black_box(a), black_box(b)));
        };
        contestants.push(Contestant::new(None, name, ceiling::LENGTH, call));
    }
    for (layer, operands) in &layers {
        let kernels = operands.weights.kernels();
        let work = operands.positions * kernels * operands.geometry.kernel.taps().expect("a kernel");
        let best = MacArray::default();
        let on_all = best.on_up_to(NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN));
        let mut ways: Vec<(String, MacArray, usize)> = Path::all()
            .into_iter()
            .map(|path| (path.name().to_owned(), MacArray::by(path), kernels))
            .collect();
        // As an engine does it, which has the weights of one group at a time.
        ways.push((format!("{}, 32 at a time", best.path().name()), best, 32));
        if threads > 1 {
            ways.push((format!("{}, {threads} threads", best.path().name()), on_all, kernels));
        }
        for (by, mac, together) in ways {
            let mut sums = vec![0; operands.positions * together];
            let call = move || {
                let window = Window { elements: &operands.elements, pitch: operands.pitch };
                let convolution = Convolution::new(operands.geometry, window, &operands.weights)
                    .expect("weights of that kernel");
                for first in (0..kernels).step_by(together) {
                    let group = first..first + together;
                    mac.accumulate(&convolution, 0..operands.positions, group, &mut sums)
                        .expect("all is there");
                    black_box(&mut sums);
                }
            };
            contestants.push(Contestant::new(Some(layer.name), by, work, call));
        }
        if operands.positions == 1 {
            let weights = vec![1u64; work / 8];
            let call = move || {
                black_box(ceiling::read(black_box(&weights)));
            };
            contestants.push(Contestant::new(Some(layer.name), "(reading a byte a weight)", work, call));
        }
    }

    for _ in 0..rounds {
        contestants.iter_mut().for_each(Contestant::round);
        formats.iter_mut().flat_map(|format| &mut format.contestants).for_each(Contestant::round);
    }

    let ceiling =
        contestants.iter().filter(|one| one.layer.is_none()).map(|one| one.best).fold(0.0, f64::max);
    println!("{:28} {:26} {:>8}  {:>10}", "int8", "", "G MAC/s", "of ceiling");
    for one in &contestants {
        let (layer, rate) = (one.layer.unwrap_or("plain dot product, in L1"), one.best);
        println!("{layer:28} {:26} {:8.2}  {:10.2}", one.by, rate / 1e9, rate / ceiling);
    }
    for format in formats.iter().filter(|it| !it.contestants.is_empty()) {
        println!("{:28} {:26} {:>8}  {:>10}", format.name, "", "G MAC/s", "of C-model");
        for one in &format.contestants {
            let (layer, rate) = (one.layer.unwrap_or_default(), one.best);
            println!("{layer:28} {:26} {:8.2}  {:10.0}", one.by, rate / 1e9, rate / format.c_model);
        }
    }
}
