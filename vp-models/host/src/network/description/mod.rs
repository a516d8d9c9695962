//! Description of a network: layers with their weights, quantised for the hardware's arithmetic.
//!
//! `written` reads it from TOML, `sheet` from a table of layers; `synthetic` makes weights up where only shapes are
//! known; `choices` is what is chosen where hardware can do the same in several ways.

mod choices;
mod cpu;
mod demand;
mod look_up;
mod sheet;
mod synthetic;
mod written;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::fmt;
use vp_models::nvdla::numeric::Precision;

pub use choices::{Choices, Compression, NoShare, Share, Winograd};
pub use cpu::{CpuProgram, CubeAxes, Encoding};
pub use demand::{Demand, Demanded};
pub use look_up::{LookUp, Slope};
pub use synthetic::example_input;
pub use written::{Options, ReadTensor};

/// A network, quantised for the hardware's arithmetic (or in fp16) and checked: shapes fit each other and
/// tensors have as many elements as their layers need.
///
/// ```
/// use vp_host::network::Network;
/// let text = r#"
///     name = "edges"
///     [input]
///     width = 8
///     height = 8
///     channels = 1
///     [[layer]]
///     kind = "convolution"
///     name = "edge"
///     kernels = 2
///     kernel = [1, 2]                  # width, height
///     weights = "edge.weights.i8"      # [kernel][row][column][channel]
///     converter = { scale = 1, shift = 1 }
/// "#;
/// let network = Network::parse(text, &mut |_| Ok(vec![1, 1, 1, 255])).unwrap();
/// assert_eq!(network.output().to_string(), "8x7x2");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Name of the network.
    pub name: String,
    /// Shape of the input.
    pub input: Shape,
    /// True if the input may lie in memory as an image: pixels with their components side by side.
    pub is_image: bool,
    /// The format of features and weights. Tensors are held as the bytes of their elements, as files have them: of int16 and fp16 two,
    /// little endian.
    pub precision: Precision,
    /// Choices where hardware can do the same in several ways.
    pub choices: Choices,
    /// Layers, each after those it reads from.
    pub layers: Vec<NetworkLayer>,
    /// The layers whose outputs are the network's, by their places in the list: at least one. Of a file the last layer.
    pub outputs: Vec<usize>,
    /// Demands of its file on where tensors lie.
    pub demands: Vec<Demand>,
    /// Lines of its file that say what may be refused.
    pub lines: Lines,
}

/// Lines of a network's file, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Position of the key `precision`.
    pub precision: Option<usize>,
    /// The first one of each layer; empty where there is no file.
    pub layers: Vec<usize>,
}

impl Network {
    /// Returns the shape of the last output.
    pub fn output(&self) -> Shape {
        self.shape(self.outputs.last().copied())
    }

    /// The network of the first layers, so many at most, with the last one's output.
    #[must_use]
    pub fn truncated(mut self, layers: usize) -> Network {
        self.layers.truncate(layers);
        self.outputs = self.layers.len().checked_sub(1).into_iter().collect();
        self
    }

    /// An input of any elements, drawn from a seed.
    pub fn example_input(&self, seed: u64) -> Vec<i8> {
        synthetic::example_input_of(self.input, self.precision, seed)
    }

    /// Bytes of an input, of all its elements.
    pub fn input_bytes(&self) -> usize {
        self.input.elements() * self.precision.bytes()
    }

    /// The size of what a source gives.
    pub fn shape(&self, source: Option<usize>) -> Shape {
        source.map_or(self.input, |layer| self.layers[layer].output)
    }

    /// The first line of a layer in its file, if there is one.
    pub(crate) fn line_of(&self, layer: &str) -> Option<usize> {
        let place = self.layers.iter().position(|known| known.name == layer)?;
        self.lines.layers.get(place).copied()
    }

    /// Products that it needs.
    pub fn macs(&self) -> u64 {
        self.layers.iter().map(NetworkLayer::macs).sum()
    }
}

/// Size of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels.
    pub channels: u32,
}

impl Shape {
    /// The most pixels in a line, lines and channels: what the size registers of all units can say.
    pub const MOST: u32 = 1 << 13;

    /// Refuses sizes that no register can say.
    fn check(self) -> Result<Shape, String> {
        let right = |size: u32| (1..=Shape::MOST).contains(&size);
        match [self.width, self.height, self.channels].into_iter().all(right) {
            true => Ok(self),
            false => Err(format!("a cube of {self}: sizes are 1 to {}", Shape::MOST)),
        }
    }

    /// Elements.
    pub fn elements(&self) -> usize {
        self.width as usize * self.height as usize * self.channels as usize
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.width, self.height, self.channels)
    }
}

/// A layer.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkLayer {
    /// Name of the layer.
    pub name: String,
    /// The layers whose outputs it reads, by their places in the list; none for the network's input.
    pub sources: Vec<Option<usize>>,
    /// The size of the first of them.
    pub input: Shape,
    /// Shape of the output.
    pub output: Shape,
    /// Operation of the layer.
    pub operation: Operation,
    /// The cycles that it takes, where the device's timing is not to say: of an FPGA AI Suite IP alone.
    pub cycles: Option<u32>,
}

impl NetworkLayer {
    /// Returns true if the layer is fully connected: a convolution whose kernel is as large as its input.
    pub fn is_fully_connected(&self) -> bool {
        let Operation::Convolution(Convolution { window, groups: 1, .. }) = &self.operation else {
            return false;
        };
        window.size == [self.input.width, self.input.height] && [window.before, window.after] == [[0; 2]; 2]
    }

    /// Products that it needs.
    pub fn macs(&self) -> u64 {
        match &self.operation {
            Operation::Convolution(convolution) => {
                let [columns, rows] = convolution.window.size.map(u64::from);
                let channels = u64::from(self.input.channels / convolution.groups);
                self.output.elements() as u64 * columns * rows * channels
            }
            _ => 0,
        }
    }
}

/// Operation of a layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Convolution; fully connected layers are convolutions whose kernel is as large as their input.
    Convolution(Convolution),
    /// Pooling.
    Pooling(Pooling),
    /// The sum of two cubes, element by element.
    Sum(Sum),
    /// Product, maximum or minimum of two cubes, element by element.
    Elementwise(Elementwise),
    /// A function of each element, as a layer of its own.
    Activation(Function),
    /// Bias, factor, activation and table, with constants for each channel.
    Scaling(Scaling),
    /// The product of a cube with one of a single pixel: a factor for each channel, which a layer has made.
    ChannelProduct(ChannelProduct),
    /// The channels of its sources one behind the other.
    Concatenation,
    /// Normalisation by neighbouring channels.
    Normalisation(Normalisation),
    /// Each pixel becomes so many columns and rows.
    Upsampling(u32),
    /// Columns or lines of its sources, of one shape, in turn.
    Interleaving(Interleaving),
    /// Soft-max over the channels of each pixel: the CPU's.
    SoftMax(SoftMax),
    /// A graph of tensors: the CPU's.
    Cpu(CpuProgram),
    /// A part of a cube: a box of the output's size.
    Slice(Slice),
    /// Elements that are known before, and lie in memory with the weights.
    Constant(Vec<i8>),
}

/// Direction in which cubes are interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interleaving {
    /// A column of each source, then the next column of each.
    Columns,
    /// A line of each source, then the next line of each.
    Lines,
}

impl Interleaving {
    /// Shape of so many cubes of a shape, interleaved.
    pub(super) fn of(self, shape: Shape, cubes: u32) -> Shape {
        match self {
            Interleaving::Columns => Shape { width: shape.width * cubes, ..shape },
            Interleaving::Lines => Shape { height: shape.height * cubes, ..shape },
        }
    }
}

/// Window over an input. Pairs are horizontal and vertical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Columns and rows that count.
    pub size: [u32; 2],
    /// Steps, in pixels.
    pub stride: [u32; 2],
    /// Pixels from one of those columns and rows to the next: 1 where they are side by side, as poolings have them.
    pub dilation: [u32; 2],
    /// Padding before the first pixel and above the first line.
    pub before: [u32; 2],
    /// Padding behind.
    pub after: [u32; 2],
}

impl Window {
    /// A window of one pixel, pixel by pixel.
    pub const PIXEL: Window =
        Window { size: [1; 2], stride: [1; 2], dilation: [1; 2], before: [0; 2], after: [0; 2] };

    /// Columns and lines that it spans, those between the ones that count included.
    pub fn extent(&self) -> [u32; 2] {
        [0, 1].map(|axis| {
            self.size[axis].saturating_sub(1).saturating_mul(self.dilation[axis]).saturating_add(1)
        })
    }

    /// Returns true if there are pixels between those that count.
    pub fn is_dilated(&self) -> bool {
        [0, 1].into_iter().any(|axis| self.size[axis] > 1 && self.dilation[axis] > 1)
    }

    /// Columns and lines that come out, if a window fits at all.
    pub(super) fn outputs(&self, input: Shape) -> Option<[u32; 2]> {
        let extent = self.extent();
        let along = |axis: usize, size: u32| {
            let padded = self.before[axis].checked_add(size)?.checked_add(self.after[axis])?;
            Some(padded.checked_sub(extent[axis])?.checked_div(self.stride[axis])? + 1)
        };
        (self.size[0] > 0 && self.size[1] > 0)
            .then(|| Some([along(0, input.width)?, along(1, input.height)?]))?
    }

    /// Returns these windows with no padding behind the last one, and what of the input they read, if they end with the last line of
    /// that: padding or lines behind the last window stop the hardware (docs/programming.md).
    pub(super) fn ending(self, input: Shape) -> (Window, Shape) {
        let extent = self.extent();
        let along = |axis: usize, size: u32| {
            let padded = self.before[axis] + size + self.after[axis];
            let behind = padded.saturating_sub(extent[axis]) % self.stride[axis].max(1);
            let padding = self.after[axis].min(behind);
            (self.after[axis] - padding, size - (behind - padding).min(size))
        };
        let [(right, width), (bottom, height)] = [along(0, input.width), along(1, input.height)];
        (Window { after: [right, bottom], ..self }, Shape { width, height, ..input })
    }

    /// The window with as much more padding behind as makes another output of what would be left over; no window then
    /// begins in padding.
    fn rounded_up(self, input: Shape) -> Window {
        let extent = self.extent();
        let along = |axis: usize, size: u32| {
            let (before, window, stride) = (self.before[axis], extent[axis], self.stride[axis].max(1));
            let padded = before + size + self.after[axis];
            let left = padded.saturating_sub(window) % stride;
            let begins = padded.saturating_sub(window) - left + stride;
            let more = left > 0 && begins < before + size;
            self.after[axis] + if more { stride - left } else { 0 }
        };
        Window { after: [along(0, input.width), along(1, input.height)], ..self }
    }
}

/// A convolution, and what SDP does to its sums: bias, scales, another cube added, activation, a table, and of integers conversion
/// to the format of features, in this order. In fp16 nothing is shifted or converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Kernels, which are the output's channels.
    pub kernels: u32,
    /// Groups of channels that do not see each other. As many as channels: a depthwise convolution.
    pub groups: u32,
    /// The kernels' extent.
    pub window: Window,
    /// The code that padding holds: the zero point of what the input means, in fp16 the code of a number.
    pub padding: i16,
    /// `[kernel][row][column][channel]`, of the channels that a kernel sees: the bytes of each.
    pub weights: Vec<i8>,
    /// Number of bits by which sums are shifted right, with rounding, before all else; then 32 bits hold them.
    pub truncate: u32,
    /// Added to the sums.
    pub bias: Option<Bias>,
    /// Factors of the sums with their bias.
    pub scales: Option<Scales>,
    /// The second source is added, its elements shifted left by that.
    pub added: Option<u32>,
    /// Function of negative sums.
    pub activation: Activation,
    /// Function of the results before they are converted.
    pub look_up: Option<LookUp>,
    /// Converter from sums to features.
    pub converter: Converter,
}

/// A value for each kernel, added to its sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bias {
    /// The values; in fp16 the codes of numbers. NVDLA has 16 bits for each.
    pub values: Vec<i32>,
    /// Number of bits by which they are shifted left first.
    pub shift: u32,
}

/// A factor for each kernel or channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scales {
    /// The factors; in fp16 the codes of numbers.
    pub values: Vec<i16>,
    /// Number of bits by which products are shifted right, with rounding; in fp16 none.
    pub shift: u32,
}

/// Function of negative values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Negative values stay.
    #[default]
    None,
    /// Negative values become zero.
    Relu,
    /// Negative values are multiplied, and shifted right with rounding.
    Leaky {
        /// Factor.
        scale: i16,
        /// Right shift.
        shift: u32,
    },
    /// Negative values are multiplied by their channel's factor, and shifted right with rounding.
    PRelu(Scales),
}

/// `(x - offset) * scale`, shifted right with rounding to nearest and ties away from zero, then saturated to int8 or int16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Converter {
    /// Taken off first.
    #[serde(default)]
    pub offset: i32,
    /// Factor.
    pub scale: i16,
    /// Right shift, up to 63.
    #[serde(deserialize_with = "shift")]
    pub shift: u32,
}

/// Reads a shift: registers have six bits for one.
fn shift<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let shift = u32::deserialize(deserializer)?;
    match shift {
        0..=63 => Ok(shift),
        _ => Err(D::Error::custom(format!("found {shift}, expected 0 to 63"))),
    }
}

/// Reads a shift as [`shift`] does, where it may be left out.
fn optional_shift<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    shift(deserializer).map(Some)
}

impl Converter {
    /// Changes nothing.
    pub const NONE: Converter = Converter { offset: 0, scale: 1, shift: 0 };
}

/// Pooling. Padding takes no part in the largest and the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooling {
    /// Function of the elements in a window.
    pub method: Method,
    /// The windows.
    pub window: Window,
}

/// Function of the elements in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Sum of the window divided by its size, where padding counts as zeros.
    Average,
    /// Sum of what a window has of the input divided by its number of elements there (ONNX: `count_include_pad = 0`).
    Mean,
}

impl Pooling {
    /// Returns true if windows that reach into padding are divided by less than their size.
    pub(crate) fn leaves_padding_out(&self) -> bool {
        let Window { before, after, .. } = self.window;
        self.method == Method::Mean && [before, after] != [[0; 2]; 2]
    }
}

/// The first cube times a factor, and the second one shifted left; then activation and conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The first one's factor.
    pub scale: i16,
    /// The second one's shift.
    pub shift: u32,
    /// Function of negative sums.
    pub activation: Activation,
    /// Converter from sums to int8.
    pub converter: Converter,
}

/// The products of two cubes' elements, or the larger or smaller ones, converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elementwise {
    /// Function of two elements.
    pub method: PairMethod,
    /// Converter from int8 to the format of features.
    pub converter: Converter,
}

/// One cube with constants for each channel: bias, factor, activation, table and converter, in this order. In fp16 nothing is shifted
/// or converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Added to the elements.
    pub bias: Option<Bias>,
    /// Factors of the elements with their bias.
    pub scales: Option<Scales>,
    /// Function of negative values.
    pub activation: Activation,
    /// Function of the results before they are converted.
    pub look_up: Option<LookUp>,
    /// Converter to the format of features.
    pub converter: Converter,
}

/// The elements of the first cube, each times its channel's element of the second one, which has one pixel; then activation and conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelProduct {
    /// Function of negative products.
    pub activation: Activation,
    /// Converter from products to the format of features.
    pub converter: Converter,
}

/// Function of two elements in the same place. Their sum is a [`Sum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairMethod {
    /// Product of both inputs.
    Multiply,
    /// The larger one.
    Maximum,
    /// The smaller one.
    Minimum,
}

/// A function of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// Negative ones become zero.
    Relu,
    /// Negative ones are multiplied, and shifted right with rounding.
    Leaky {
        /// Factor.
        scale: i16,
        /// Right shift.
        shift: u32,
    },
    /// Limitation to two bounds.
    Clamp {
        /// The lower one.
        low: i8,
        /// The upper one.
        high: i8,
    },
    /// 256 answers, the first one's for -128.
    Table(Vec<i8>),
}

/// Each element times the answer of a table to the sum of squares over the channels around it: local response
/// normalisation, as CDP has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalisation {
    /// Channels: 3, 5, 7 or 9.
    pub channels: u32,
    /// Answers at sums of squares from 0 on, close to each other, in fp16 codes of numbers: 65 of them.
    pub near: Vec<i16>,
    /// Distance of those sums, as the exponent of a power of two.
    pub near_step: u32,
    /// Answers over the whole range: 257 of them.
    pub far: Vec<i16>,
    /// Distance of their sums, as the exponent of a power of two.
    pub far_step: u32,
    /// Converter from the products to int8.
    pub converter: Converter,
}

impl Normalisation {
    /// A normalisation `x * (k + alpha / channels * sum)^-beta` of numbers in steps of `scale`; none if its factors are no numbers. Without
    /// a converter integers come out in the steps in which they come in.
    pub fn new(
        channels: u32,
        [alpha, beta, k, scale]: [f64; 4],
        precision: Precision,
        converter: Option<Converter>,
    ) -> Option<Normalisation> {
        synthetic::normalisation(channels, [alpha, beta, k, scale], precision, converter)
    }
}

/// A box of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The column, line and channel of the source that are its first.
    pub from: [u32; 3],
}

/// `127 * exp(scale * x) / sum`, rounded to nearest; the scale in 1/65536ths. In int16 it is `32767 * …`, and a step of the input means
/// a 256th; in fp16 1 stands for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftMax {
    /// Value of a step of the input, in 1/65536ths.
    pub scale: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_adds_the_last_window_unless_it_begins_in_padding() {
        let window = |before, after| Window { size: [3, 3], stride: [2, 2], before, after, ..Window::PIXEL };
        let square = |size| Shape { width: size, height: size, channels: 1 };
        let outputs = |window: Window, size| window.rounded_up(square(size)).outputs(square(size)).unwrap();
        // 112 columns, windows of 3 every 2: 55 fit, and one hangs over.
        assert_eq!(outputs(window([0; 2], [0; 2]), 112), [56, 56]);
        assert_eq!(outputs(window([0; 2], [0; 2]), 13), [6, 6]);
        // Of 4 columns between padding: the window after the second would begin behind them.
        let padded = Window { size: [2, 2], stride: [3, 3], dilation: [1; 2], before: [1; 2], after: [1; 2] };
        assert_eq!(outputs(padded, 4), [2, 2]);
    }
}
