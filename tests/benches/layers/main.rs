//! Time that whole convolution layers take in the timed model, beside their arithmetic alone.
//!
//! `cargo bench -p vp-tests --bench layers [-- NAME...]` prints a table: a layer is written into the registers of a
//! device in this process, split where its input does not fit the buffer, as a driver would; lines and weights come
//! over AXI, results leave through SDP (bias, ReLU, scaling). Beside it stands the same layer's arithmetic alone:
//! the sums, by the fastest path, weights packed before; and the same layer without time (`functional`), from the same
//! registers and in the same RAM, from input and weights as they lie there to results. All three take turns, and of each the
//! best round counts.
//!
//! The simulated cycles of a second are compared with those of the vendor's RTL, compiled by Verilator, on a core of the
//! same kind: how often as fast the model is.
//!
//! `-- --once NAME PLATFORM` runs one of them once and prints nothing: for profilers.

mod functional;

use std::hint::black_box;
use std::time::{Duration, Instant};

use self::functional::Functional;
use vp_models::nvdla::conv::compute::{Axes, Convolution, Geometry, Kernel, MacArray, PackedWeights, Window};
use vp_models::platform::Description;
use vp_tests::device::Device;
use vp_tests::program::BufferUse;
use vp_tests::reference::{
    Alu, Carries, ConvInput, ConvLayer, Converter, CubePlace, Format, Image, Mode, Operand, Operands, Pixels,
    SdpLayer, Stage, StageAlu, WeightOrder,
};

const ROUNDS: usize = 15;
/// Each side of a round is repeated until it has taken so long.
const ROUND: Duration = Duration::from_millis(20);

/// Platforms, and the simulated cycles of a second that the verilated RTL of each was measured at.
const PLATFORMS: [(&str, f64); 3] = [("nv_small", 70e3), ("nv_large", 13e3), ("nv_full", 0.6e3)];

/// Addresses of things in memory.
const INPUT: u64 = 0x8000_0000;
const WEIGHTS: u64 = 0x8100_0000;
const BIAS: u64 = 0x8300_0000;
const OUTPUT: u64 = 0x8400_0000;

/// A layer, of int8.
struct Shape {
    name: &'static str,
    image: bool,
    /// Input columns and lines, and channels.
    size: [u32; 2],
    channels: u32,
    /// Columns and rows of a kernel.
    kernel: u32,
    kernels: u32,
    stride: u32,
    padding: u32,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "3x3 128->128 on 56x56",
        image: false,
        size: [56, 56],
        channels: 128,
        kernel: 3,
        kernels: 128,
        stride: 1,
        padding: 1,
    },
    Shape {
        name: "1x1 512->512 on 14x14",
        image: false,
        size: [14, 14],
        channels: 512,
        kernel: 1,
        kernels: 512,
        stride: 1,
        padding: 0,
    },
    Shape {
        name: "7x7 3(4)->64 /2 on 224x224",
        image: true,
        size: [224, 224],
        channels: 4,
        kernel: 7,
        kernels: 64,
        stride: 2,
        padding: 3,
    },
    Shape {
        name: "fully connected 4096->4096",
        image: false,
        size: [1, 1],
        channels: 4096,
        kernel: 1,
        kernels: 4096,
        stride: 1,
        padding: 0,
    },
];

impl Shape {
    fn output(&self) -> [u32; 2] {
        self.size.map(|size| (size + 2 * self.padding - self.kernel) / self.stride + 1)
    }

    fn macs(&self) -> u64 {
        let [width, height] = self.output();
        let taps = self.kernel * self.kernel * self.channels;
        u64::from(width * height) * u64::from(taps) * u64::from(self.kernels)
    }

    /// The hardware layers that make it up: strips of lines, each of which has room in the buffer.
    fn layers(&self, description: &Description) -> Vec<(ConvLayer, BufferUse)> {
        let config = &description.nvdla().unwrap().config;
        let format = Format { atom: config.memory_atom, element: 1 };
        let [width, height] = self.output();
        let mut layers = Vec::new();
        let mut first = 0;
        while first < height {
            let strip = |lines: u32| {
                // Lines of the padded input that these lines of output reach.
                let top = (first * self.stride).saturating_sub(self.padding);
                let above = self.padding.saturating_sub(first * self.stride);
                let reach = (first + lines - 1) * self.stride + self.kernel - self.padding;
                let bottom = reach.min(self.size[1]);
                let below = reach - bottom;
                let layer = self.strip(format, [config.mac_atomic_k, config.mac_atomic_c], [first, top]);
                let sdp = SdpLayer { height: lines, ..layer.sdp };
                ConvLayer {
                    size: [self.size[0], bottom - top],
                    before: [self.padding, above],
                    after: [layer.after[0], below],
                    sdp,
                    ..layer
                }
            };
            let fitting = (1..=height - first)
                .rev()
                .map(strip)
                .find_map(|layer| BufferUse::most(config, &layer).map(|buffer| (layer, buffer)));
            let (layer, buffer) = fitting.expect("a line fits the buffer");
            first += layer.sdp.height;
            assert_eq!(layer.sdp.width, width);
            layers.push((layer, buffer));
        }
        layers
    }

    /// The layer as if it were all, from that line of output and of input on.
    fn strip(&self, format: Format, [group, block]: [u32; 2], [line_out, line_in]: [u32; 2]) -> ConvLayer {
        let [width, height] = self.output();
        let cube = |base, [width, height]: [u32; 2], first: u32| {
            let line = width * format.atom;
            CubePlace { base: base + u64::from(first * line), line, surface: line * height }
        };
        let input = if self.image {
            let line = self.size[0] * self.channels;
            ConvInput::Pixels(Pixels {
                code: vp_models::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT::T_A8B8G8R8,
                element: 1,
                components: [self.channels, 0],
                channels: (0..self.channels).map(|channel| (0, channel)).collect(),
                packed: None,
                floats: false,
                planes: [(INPUT + u64::from(line_in * line), line), (0, 0)],
                offset: 0,
                signed: true,
            })
        } else {
            ConvInput::Feature(cube(INPUT, self.size, line_in))
        };
        let bias = Stage {
            alu: Some(StageAlu { operation: Alu::Sum, operand: Operand::Memory, shift: 2 }),
            multiplier: None,
            shift: 0,
            relu: true,
            operands: Some(Operands {
                carries: Carries::Alu,
                bytes: 2,
                per_element: false,
                place: CubePlace { base: BIAS, line: 0, surface: 0 },
            }),
        };
        // What the kernels leave over of the right padding is not read.
        let reach = (width - 1) * self.stride + self.kernel;
        ConvLayer {
            format,
            input,
            size: self.size,
            channels: self.channels,
            kernel: [self.kernel; 2],
            stride: [self.stride; 2],
            dilation: [1; 2],
            before: [self.padding; 2],
            after: [(reach - self.padding).saturating_sub(self.size[0]); 2],
            padding: 0,
            mode: Mode::default(),
            floats_in_memory: false,
            converter: None,
            kernels: self.kernels,
            weights: WEIGHTS,
            order: WeightOrder { group, block, unit: 128 },
            rows_at_once: 1,
            truncate: 4,
            sdp: SdpLayer {
                format,
                width,
                height,
                channels: self.kernels,
                source: CubePlace { base: 0, line: 0, surface: 0 },
                bs: Some(bias),
                bn: None,
                ew: None,
                converter: Converter { offset: 0, scale: 77, shift: 12 },
                destination: Some(cube(OUTPUT, self.output(), line_out)),
            },
        }
    }

    fn image(&self) -> Image {
        let [width, height] = self.size;
        let channels = self.channels.next_multiple_of(if self.image { 1 } else { 32 });
        let weights = self.kernel * self.kernel * self.channels * self.kernels;
        let [columns, lines] = self.output();
        Image::new(vec![
            (INPUT, pattern(width * height * channels)),
            (WEIGHTS, pattern(weights.next_multiple_of(128))),
            (BIAS, pattern(2 * self.kernels)),
            (OUTPUT, vec![0; (columns * lines * self.kernels) as usize]),
        ])
    }
}

/// Bytes that look random.
fn pattern(length: u32) -> Vec<u8> {
    let step = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    };
    std::iter::repeat_n((), length as usize).scan(1, |state, ()| step(state)).collect()
}

/// The arithmetic alone.
struct Alone {
    geometry: Geometry,
    window: Vec<i8>,
    pitch: usize,
    weights: PackedWeights<i8>,
    positions: usize,
    sums: Vec<i32>,
}

impl Alone {
    fn new(shape: &Shape) -> Alone {
        let (taps, channels) = (shape.kernel as usize, shape.channels as usize);
        let kernel = Kernel { height: taps, width: taps, channels, dilation: Axes::ONE };
        let [width, height] = shape.size.map(|size| (size + 2 * shape.padding) as usize);
        let signed =
            |length: usize| -> Vec<i8> { pattern(length as u32).into_iter().map(u8::cast_signed).collect() };
        let kernels = shape.kernels as usize;
        let weights = signed(taps * taps * channels * kernels);
        let [columns, lines] = shape.output().map(|size| size as usize);
        let stride = shape.stride as usize;
        Alone {
            geometry: Geometry { kernel, stride: Axes { x: stride, y: stride }, output_width: columns },
            window: signed(width * height * channels),
            pitch: width * channels,
            weights: PackedWeights::pack(kernel, kernels, &weights).expect("weights of that kernel"),
            positions: columns * lines,
            sums: vec![0; columns * lines * kernels],
        }
    }

    fn run(&mut self) {
        let window = Window { elements: &self.window, pitch: self.pitch };
        let convolution = Convolution::new(self.geometry, window, &self.weights).expect("one kernel");
        let (positions, kernels) = (0..self.positions, 0..self.weights.kernels());
        MacArray::default()
            .accumulate(&convolution, positions, kernels, &mut self.sums)
            .expect("all is there");
        black_box(&mut self.sums);
    }
}

/// A device with a layer's operands in its memory.
struct Timed {
    device: Device,
    layers: Vec<(ConvLayer, BufferUse)>,
    /// The group that the next layer goes to.
    next: usize,
}

impl Timed {
    fn new(shape: &Shape, platform: &str) -> Timed {
        let description = Description::named(platform).expect("a platform of that name");
        let mut device = Device::new(&description);
        device.load(&shape.image());
        Timed { device, layers: shape.layers(&description), next: 0 }
    }

    /// Returns these layers as they are computed without time, in the same memory.
    fn functional(&self) -> Vec<Functional> {
        let platform = self.device.host.platform();
        let config = &platform.description().nvdla().unwrap().config;
        let ram = platform.memory("dbb0").expect("primary memory").ram();
        let of = |(layer, buffer): &(ConvLayer, BufferUse)| {
            let mut program = self.device.program();
            program.convolution(layer, buffer, 0);
            Functional::new(config, platform.map(), &program, ram.clone())
        };
        self.layers.iter().map(of).collect()
    }

    /// All bytes of the results.
    fn results(&self, shape: &Shape) -> Vec<u8> {
        let [width, height] = shape.output();
        let mut bytes = vec![0; (width * height * shape.kernels) as usize];
        let memory = self.device.host.platform().memory("dbb0").expect("primary memory");
        memory.peek(OUTPUT, &mut bytes).expect("in memory");
        bytes
    }

    /// Runs all layers, in turns of the groups, as a driver does.
    fn run(&mut self) {
        /// Done bits of SDP, CDMA data, CDMA weights and CACC of group 0; those of group 1 are one further left.
        const DONE: u32 = 0x15_0001;
        let mut missing = [0, 0];
        for (layer, buffer) in &self.layers {
            let group = self.next;
            while missing[group] != 0 {
                take(&mut self.device, &mut missing);
            }
            self.device.run_new(|program| {
                program.convolution(layer, buffer, group as u32);
                program.enable_convolution(layer, group as u32, true);
            });
            missing[group] = DONE << group;
            self.next = 1 - group;
        }
        while missing != [0, 0] {
            take(&mut self.device, &mut missing);
        }
    }
}

fn take(device: &mut Device, missing: &mut [u32; 2]) {
    let status = device.interrupt();
    assert_eq!(status & !(missing[0] | missing[1]), 0, "status {status:#x}, missing {missing:x?}");
    missing.iter_mut().for_each(|missing| *missing &= !status);
}

/// The time of a call, over as many as a round takes.
fn time(round: Duration, mut call: impl FnMut()) -> f64 {
    let (start, mut calls) = (Instant::now(), 0);
    while calls == 0 || start.elapsed() < round {
        call();
        calls += 1;
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}

#[expect(clippy::print_stdout, reason = "the output of a command line program")]
fn main() {
    let (options, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let has = |wanted: &str| options.iter().any(|option| option == wanted);
    let matches = |name: &str, of: &dyn Fn(&str) -> bool| {
        let parts: Vec<&String> = wanted.iter().filter(|part| of(part)).collect();
        parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()))
    };
    let is_platform = |part: &str| part.starts_with("nv_");
    let cases =
        SHAPES.iter().filter(|shape| matches(shape.name, &|part| !is_platform(part))).flat_map(|shape| {
            PLATFORMS
                .iter()
                .filter(|(name, _)| matches(name, &is_platform))
                .map(move |platform| (shape, *platform))
        });
    if has("--once") {
        cases.for_each(|(shape, (platform, _))| Timed::new(shape, platform).run());
        return;
    }
    // `cargo bench` says so; `cargo test --benches` only wants to see it run.
    let (rounds, round) = if has("--bench") { (ROUNDS, ROUND) } else { (1, Duration::ZERO) };
    println!(
        "{:28} {:9} {:>6} {:>10} {:>12} {:>12} {:>12} {:>8} {:>8} {:>9} {:>13} {:>8}",
        "int8",
        "",
        "layers",
        "cycles",
        "alone",
        "functional",
        "timed",
        "x alone",
        "x func.",
        "events",
        "cycles",
        "x RTL"
    );
    for (shape, (platform, rtl)) in cases {
        let (mut alone, mut timed) = (Alone::new(shape), Timed::new(shape, platform));
        let count = |timed: &mut Timed| {
            timed.run();
            let now = timed.device.host.platform().sim().now().as_ps() / 1000;
            (timed.device.count("kernel.activations"), now)
        };
        let ((before, begin), (after, end)) = (count(&mut timed), count(&mut timed));
        let (functional, results) = (timed.functional(), timed.results(shape));
        timed.device.load(&Image::new(vec![(OUTPUT, vec![0; results.len()])]));
        functional.iter().for_each(Functional::run);
        assert!(results == timed.results(shape), "without time the results are others");
        let [mut arithmetic, mut untimed, mut whole] = [f64::INFINITY; 3];
        for _ in 0..rounds {
            arithmetic = arithmetic.min(time(round, || alone.run()));
            untimed = untimed.min(time(round, || functional.iter().for_each(Functional::run)));
            whole = whole.min(time(round, || timed.run()));
        }
        let rate = |seconds: f64| shape.macs() as f64 / seconds / 1e9;
        let events = after - before;
        println!(
            "{:28} {:9} {:>6} {:>10} {:>7.2} GM/s {:>7.2} GM/s {:>7.2} GM/s {:>8.2} {:>8.2} {:>9} {:>10.2} M/s {:>8.0}",
            shape.name,
            platform,
            timed.layers.len(),
            end - begin,
            rate(arithmetic),
            rate(untimed),
            rate(whole),
            whole / arithmetic,
            whole / untimed,
            events,
            (end - begin) as f64 / whole / 1e6,
            (end - begin) as f64 / whole / rtl,
        );
        assert_eq!(timed.device.warnings(), Vec::<String>::new());
    }
}
