//! The formats of two bytes: a row of outputs of a layer, on one thread, by every path. fp16 also where every step
//! meets what is no number, and by Winograd's method, whose rate is that of the convolution it replaces.

use std::hint::black_box;

use vp_models::nvdla::conv::compute::float::{FloatConvolution, FloatWeights, FloatWindow, Steps};
use vp_models::nvdla::conv::compute::winograd::{
    self, PLACES, STEP_CHANNELS, Tiles, TransformedWeights, TransformedWindow,
};
use vp_models::nvdla::conv::compute::{
    Axes, Convolution, Geometry, Kernel, MacArray, PackedWeights, Path, Window,
};

use crate::{Contestant, pattern};

/// Multiply-accumulates per second of NVIDIA's C-model on one core: int16 and fp16.
const C_MODEL: [f64; 2] = [0.024e9, 0.0057e9];

/// A layer: its name, its kernels, and the outputs of a row.
struct Layer {
    name: &'static str,
    kernel: Kernel,
    kernels: usize,
    output_width: usize,
}

const LAYERS: [Layer; 2] = [
    Layer {
        name: "3x3 128->64, a row of 8",
        kernel: Kernel { height: 3, width: 3, channels: 128, dilation: Axes::ONE },
        kernels: 64,
        output_width: 8,
    },
    Layer {
        name: "1x1 512->64, a row of 8",
        kernel: Kernel { height: 1, width: 1, channels: 512, dilation: Axes::ONE },
        kernels: 64,
        output_width: 8,
    },
];

/// Of Winograd's method: lines of tiles over two lines of output.
const TILED: [Layer; 1] = [Layer {
    name: "3x3 128->64, two rows of 8",
    kernel: Kernel { height: 3, width: 3, channels: 128, dilation: Axes::ONE },
    kernels: 64,
    output_width: 8,
}];

/// Of a format, what it is called, its contestants, and what the C-model does.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) contestants: Vec<Contestant<'static>>,
    pub(crate) c_model: f64,
}

type Prepare = fn(&Layer, MacArray) -> Box<dyn FnMut()>;

/// All formats.
pub(crate) fn formats() -> Vec<Format> {
    let of = |name, layers: &'static [Layer], rows: usize, call: Prepare, c_model| {
        let ways = layers.iter().flat_map(|layer| Path::all().into_iter().map(move |path| (layer, path)));
        let contestant = |(layer, path): (&'static Layer, Path)| {
            let products = layer.kernel.taps().expect("a kernel") * layer.kernels * layer.output_width * rows;
            Contestant::new(Some(layer.name), path.name(), products, call(layer, MacArray::by(path)))
        };
        Format { name, contestants: ways.map(contestant).collect(), c_model }
    };
    let [c_int16, c_fp16] = C_MODEL;
    vec![
        of("int16", &LAYERS, 1, int16, c_int16),
        of("fp16", &LAYERS, 1, |layer, array| fp16(layer, array, false), c_fp16),
        of("fp16, NaN everywhere", &LAYERS, 1, |layer, array| fp16(layer, array, true), c_fp16),
        of("int16 by Winograd's method", &TILED, 2, int16_tiles, c_int16),
        of("fp16 by Winograd's method", &TILED, 2, fp16_tiles, c_fp16),
    ]
}

impl Layer {
    fn geometry(&self) -> Geometry {
        Geometry { kernel: self.kernel, stride: Axes::ONE, output_width: self.output_width }
    }

    /// Elements of a line of input.
    fn pitch(&self) -> usize {
        (self.output_width + self.kernel.width - 1) * self.kernel.channels
    }

    fn elements(&self) -> usize {
        self.pitch() * self.kernel.height
    }

    fn weights(&self) -> usize {
        self.kernels * self.kernel.taps().expect("a kernel")
    }

    /// The steps of hardware with 64 channels.
    fn steps(&self) -> Steps {
        let Kernel { height, width, channels, .. } = self.kernel;
        let mut steps = Steps::default();
        for first in (0..channels).step_by(64) {
            for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let tap = (row * width + column) * channels;
                let at = row * self.pitch() + column * channels;
                steps.push((first..channels.min(first + 64)).map(|channel| (at + channel, tap + channel)));
            }
        }
        steps
    }
}

/// Words of any bits.
fn words(count: usize) -> Vec<u16> {
    let bytes = pattern(2 * count);
    bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]].map(i8::cast_unsigned))).collect()
}

/// Codes of numbers between 2^-6 and 2^3, as weights and activations have them, of both signs.
fn codes(count: usize) -> Vec<u16> {
    words(count).into_iter().map(|word| (word & 0x8000) | (0x2400 + (word & 0x7fff) % 0x2400)).collect()
}

fn int16(layer: &Layer, array: MacArray) -> Box<dyn FnMut()> {
    let as_integers = |words: Vec<u16>| -> Vec<i16> { words.into_iter().map(u16::cast_signed).collect() };
    let elements = as_integers(words(layer.elements()));
    let weights = as_integers(words(layer.weights()));
    let weights = PackedWeights::pack(layer.kernel, layer.kernels, &weights).expect("weights of that kernel");
    let (geometry, pitch) = (layer.geometry(), layer.pitch());
    let (positions, kernels) = (layer.output_width, layer.kernels);
    let mut sums = vec![0; positions * kernels];
    Box::new(move || {
        let window = Window { elements: &elements, pitch };
        let convolution = Convolution::new(geometry, window, &weights).expect("weights of that kernel");
        array.accumulate_wide(&convolution, 0..positions, 0..kernels, &mut sums).expect("all is there");
        black_box(&mut sums);
    })
}

/// With a weight in each step that is not a number, if `nan`: of one kernel in sixteen, so that all others are computed.
fn fp16(layer: &Layer, array: MacArray, nan: bool) -> Box<dyn FnMut()> {
    let window = FloatWindow::new(&codes(layer.elements()), layer.pitch());
    let mut weights = codes(layer.weights());
    if nan {
        let kernel = layer.kernel.taps().expect("a kernel");
        weights
            .chunks_mut(kernel)
            .step_by(16)
            .for_each(|kernel| kernel.iter_mut().step_by(64).for_each(|it| *it = 0x7e00));
    }
    let weights = FloatWeights::pack(layer.steps(), layer.kernels, &weights).expect("weights of that kernel");
    let geometry = layer.geometry();
    let (positions, kernels) = (layer.output_width, layer.kernels);
    let mut sums = vec![0; positions * kernels];
    Box::new(move || {
        let convolution = FloatConvolution::new(geometry, &window, &weights).expect("weights of that kernel");
        array.accumulate_float(&convolution, 0..positions, 0..kernels, &mut sums).expect("all is there");
        black_box(&mut sums);
    })
}

impl Layer {
    /// Two lines of output, in tiles.
    fn tiles(&self) -> Tiles {
        Tiles::of_output([self.output_width, 2], self.kernel.channels, self.pitch())
    }

    fn transformed_weights(&self) -> usize {
        self.kernels * PLACES * self.kernel.channels
    }
}

fn int16_tiles(layer: &Layer, array: MacArray) -> Box<dyn FnMut()> {
    let small =
        |words: Vec<u16>| -> Vec<i16> { words.into_iter().map(|word| word.cast_signed() >> 4).collect() };
    let tiles = layer.tiles();
    let window = TransformedWindow::new(tiles, &small(words(4 * layer.pitch())), 0);
    let weights = small(words(layer.transformed_weights()));
    let weights = TransformedWeights::pack(layer.kernel.channels, layer.kernels, &weights).expect("weights");
    let count = tiles.count[0] * tiles.count[1];
    Box::new(move || {
        black_box(array.accumulate_tiles(&window, &weights, 0..count).expect("all is there"));
    })
}

fn fp16_tiles(layer: &Layer, array: MacArray) -> Box<dyn FnMut()> {
    let (tiles, channels, kernels) = (layer.tiles(), layer.kernel.channels, layer.kernels);
    let transformed = winograd::transformed_codes(&tiles, &codes(4 * layer.pitch()));
    let window = FloatWindow::new(&transformed, transformed.len());
    let mut steps = Steps::default();
    for first in (0..channels).step_by(STEP_CHANNELS) {
        let places =
            (0..PLACES).flat_map(|place| (0..STEP_CHANNELS).map(move |c| place * channels + first + c));
        steps.push(places.map(|at| (at, at)));
    }
    let weights = FloatWeights::pack(steps, kernels, &codes(layer.transformed_weights())).expect("weights");
    let kernel = Kernel { height: 1, width: 1, channels: PLACES * channels, dilation: Axes::ONE };
    let count = tiles.count[0] * tiles.count[1];
    let geometry = Geometry { kernel, stride: Axes::ONE, output_width: count };
    let mut sums = vec![[0; winograd::OUTPUTS]; count * kernels];
    Box::new(move || {
        let convolution = FloatConvolution::new(geometry, &window, &weights).expect("weights of that kernel");
        array.accumulate_float_tiles(&convolution, 0..count, 0..kernels, &mut sums).expect("all is there");
        black_box(&mut sums);
    })
}
