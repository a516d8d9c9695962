//! Convolution, from the manual's description of its layouts.

use super::{Cube, CubePlace, Format, Image, Lut, PdpLayer, SdpLayer, saturate, shift_rounding};
use crate::reference::Converter;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::Family;

/// A convolution whose results go through SDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvLayer {
    /// Of weights, activations and output.
    pub format: Format,
    /// Place of the input.
    pub input: ConvInput,
    /// Input pixels in a line, and lines.
    pub size: [u32; 2],
    /// Input channels.
    pub channels: u32,
    /// Kernel columns and rows.
    pub kernel: [u32; 2],
    /// Steps, in pixels.
    pub stride: [u32; 2],
    /// Pixels from one tap to the next.
    pub dilation: [u32; 2],
    /// Padding before the first pixel and above the first line.
    pub before: [u32; 2],
    /// Padding behind.
    pub after: [u32; 2],
    /// Value as which padding reads.
    pub padding: i32,
    /// Other differences from a plain convolution.
    pub mode: Mode,
    /// Of a layer of fp16: the input is that in memory already, and not converted.
    pub floats_in_memory: bool,
    /// Applied to every element, with an offset for each channel modulo four.
    pub converter: Option<[Converter; 4]>,
    /// Kernels.
    pub kernels: u32,
    /// Address of the weights.
    pub weights: u64,
    /// Order of the weights in memory.
    pub order: WeightOrder,
    /// Lines of kernels that an image's post-extension merges: 1, 2 or 4.
    pub rows_at_once: u32,
    /// Right shift of the sums.
    pub truncate: u32,
    /// Layer of SDP that the results go through. Its source is not looked at.
    pub sdp: SdpLayer,
}

/// Modes of a convolution besides the plain one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Places in which the hardware finds weights that are compressed. The reference reads them as they were.
    pub compressed: Option<Compressed>,
    /// Several cubes at once.
    pub batches: Option<Batches>,
    /// By Winograd's method: kernels come transformed.
    pub winograd: Option<Winograd>,
}

/// Cubes that are convolved with the same kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Number of cubes.
    pub count: u32,
    /// Bytes from one to the next.
    pub input: u32,
    /// Bytes from an output to the next.
    pub output: u32,
}

/// Settings of Winograd's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Winograd {
    /// Right shift of transformed tiles.
    pub truncate: u32,
    /// Steps of the kernels in memory, of which CDMA makes channels.
    pub step: [u32; 2],
}

/// Compressed weights: address and bytes of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// Elements that are not zero.
    pub weights: (u64, u32),
    /// Bits that say which elements are not zero.
    pub mask: (u64, u32),
    /// Address of the sizes of each group's elements that are not zero.
    pub sizes: u64,
}

/// Source of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConvInput {
    /// A feature data cube.
    Feature(CubePlace),
    /// An image.
    Pixels(Pixels),
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// The code of its format.
    pub code: u32,
    /// Bytes of a component.
    pub element: u32,
    /// Components of a pixel in each plane.
    pub components: [u32; 2],
    /// Plane of each channel, and which component it is there.
    pub channels: Vec<(usize, u32)>,
    /// Three channels of ten bits and one of two share a word: the lowest bit of each.
    pub packed: Option<[u32; 4]>,
    /// Components are codes of fp16.
    pub floats: bool,
    /// Address of each plane, and bytes from line to line.
    pub planes: [(u64, u32); 2],
    /// Pixels to skip at the start of a line.
    pub offset: u32,
    /// Components are signed.
    pub signed: bool,
}

/// Order of weights in memory: kernels in groups, channels in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightOrder {
    /// Kernels of a group.
    pub group: u32,
    /// Channels of a block.
    pub block: u32,
    /// Unit of the weights' length in memory, in bytes: an entry of the convolution buffer, if the next layer is to find
    /// its own weights there.
    pub unit: u32,
}

impl WeightOrder {
    /// The least unit of a hardware configuration. `D_WEIGHT_BYTES` of the full family counts 128 bytes.
    pub fn unit(config: &Config) -> u32 {
        config.cbuf_entry_bytes().max(if config.family() == Family::Full { 128 } else { 1 })
    }
}

impl ConvLayer {
    /// Output pixels in a line, and lines.
    pub fn output_size(&self) -> [u32; 2] {
        [0, 1].map(|axis| {
            if self.mode.winograd.is_some() {
                return self.seen_size()[axis] - 4;
            }
            let reach = (self.kernel[axis] - 1) * self.dilation[axis] + 1;
            (self.before[axis] + self.size[axis] + self.after[axis] - reach) / self.stride[axis] + 1
        })
    }

    /// Columns and lines that CSC sees.
    pub fn seen_size(&self) -> [u32; 2] {
        [0, 1].map(|axis| match self.mode.winograd {
            None => self.size[axis],
            Some(winograd) => (self.before[axis] + self.size[axis] + self.after[axis]) / winograd.step[axis],
        })
    }

    /// Channels that CSC sees.
    pub fn seen_channels(&self) -> u32 {
        self.channels * self.mode.winograd.map_or(1, |winograd| winograd.step[0] * winograd.step[1])
    }

    /// Cubes.
    pub fn cubes(&self) -> u32 {
        self.mode.batches.map_or(1, |batches| batches.count)
    }

    /// Bytes of one kernel.
    pub fn kernel_bytes(&self) -> u32 {
        self.kernel[0] * self.kernel[1] * self.seen_channels() * self.format.element
    }

    /// Bytes of all weights, as they are brought.
    pub fn weight_bytes(&self) -> u32 {
        (self.kernels * self.kernel_bytes()).next_multiple_of(self.order.unit)
    }

    /// Returns true if the input is an image.
    pub fn is_image(&self) -> bool {
        matches!(self.input, ConvInput::Pixels(_))
    }

    pub(super) fn weight(&self, image: &Image, kernel: u32, [s, r]: [u32; 2], channel: u32) -> i32 {
        if self.mode.winograd.is_some() {
            // Groups, blocks of four channels, kernels, lines, columns, channels.
            let (group, channels) = (self.order.group, self.seen_channels());
            let kernels = group.min(self.kernels - kernel / group * group);
            let before = kernel / group * group * 16 * channels
                + channel / 4 * 64 * kernels
                + kernel % group * 64
                + (r * 4 + s) * 4
                + channel % 4;
            let address = self.weights + u64::from(before) * u64::from(self.format.element);
            return image.element(address, self.format.element);
        }
        // An image's kernel row is one run of channels.
        let (columns, channels, s, channel) = if self.is_image() {
            (1, self.kernel[0] * self.channels, 0, s * self.channels + channel)
        } else {
            (self.kernel[0], self.channels, s, channel)
        };
        let rows = self.kernel[1];
        let WeightOrder { group, block, .. } = self.order;
        let block = block / self.rows_at_once;
        let kernels = group.min(self.kernels - kernel / group * group);
        let run = block.min(channels - channel / block * block);
        let extension = self.rows_at_once;
        let rows_together = extension.min(rows - r / extension * extension);
        // Elements before this one: groups, blocks, row groups, columns, kernels, rows of the group, channels.
        let before = kernel / group * group * columns * rows * channels
            + channel / block * block * columns * rows * kernels
            + r / extension * extension * columns * kernels * run
            + s * kernels * rows_together * run
            + kernel % group * rows_together * run
            + r % extension * run
            + channel % block;
        let address = self.weights + u64::from(before) * u64::from(self.format.element);
        image.element(address, self.format.element)
    }

    pub(super) fn activation(&self, image: &Image, channel: u32, y: i64, x: i64) -> i32 {
        let inside = |at: i64, axis: usize| at >= 0 && at < i64::from(self.size[axis]);
        let is_padding = !inside(x, 0) || !inside(y, 1);
        let padding = saturate_bits(self.padding, self.format.element);
        // With Winograd's method padding goes through the converter, as data do.
        if is_padding && self.mode.winograd.is_none() {
            return padding;
        }
        let (x, y) = (x as u32, y as u32);
        let raw = match &self.input {
            _ if is_padding => padding,
            ConvInput::Feature(place) => {
                image.element(place.address(self.format, channel, y, x), self.format.element)
            }
            ConvInput::Pixels(pixels) => pixels.component(image, channel, y, x),
        };
        match &self.converter {
            None => saturate_bits(raw, self.format.element),
            Some(converters) => {
                let converted = saturate(converters[channel as usize % 4].apply(raw), 17);
                saturate(converted, 8 * self.format.element) as i32
            }
        }
    }

    /// The layer for each of its cubes alone.
    pub(super) fn each_cube(&self) -> Vec<ConvLayer> {
        let Some(Batches { count, input, output }) = self.mode.batches else { return vec![self.clone()] };
        let moved = |place: CubePlace, cube: u32, stride: u32| CubePlace {
            base: place.base + u64::from(cube) * u64::from(stride),
            ..place
        };
        let of = |cube: u32| {
            let ConvInput::Feature(place) = self.input else { panic!("images come one at a time") };
            let destination = self.sdp.destination.map(|place| moved(place, cube, output));
            ConvLayer {
                input: ConvInput::Feature(moved(place, cube, input)),
                sdp: SdpLayer { destination, ..self.sdp.clone() },
                ..self.clone()
            }
        };
        (0..count).map(of).collect()
    }

    /// Place where SDP puts its results: a single pixel is packed, but not those of several cubes.
    pub(super) fn destination(&self) -> CubePlace {
        let place = self.sdp.destination.expect("a layer that writes memory");
        let single = self.sdp.width == 1 && self.sdp.height == 1 && self.mode.batches.is_none();
        place.packed_if(single, self.format.atom)
    }

    /// Results of the convolution behind SDP.
    fn results(&self, image: &Image) -> Cube {
        let sums = match self.mode.winograd {
            Some(winograd) => self.winograd_sums(winograd, image),
            None => self.sums(image),
        };
        self.sdp.results_of(&Lut::default(), image, |channel, y, x| sums.at(channel, y, x))
    }

    /// Sums that SDP gets: all lanes, and nothing in those beyond the kernels.
    fn sums(&self, image: &Image) -> Cube {
        let [width, height] = self.output_size();
        Cube::of(width, height, self.format.whole(self.kernels), |kernel, y, x| {
            let mut sum: i128 = 0;
            for channel in 0..if kernel < self.kernels { self.channels } else { 0 } {
                for r in 0..self.kernel[1] {
                    for s in 0..self.kernel[0] {
                        let at = |out: u32, tap: u32, axis: usize| {
                            i64::from(out * self.stride[axis] + tap * self.dilation[axis])
                                - i64::from(self.before[axis])
                        };
                        let activation = self.activation(image, channel, at(y, r, 1), at(x, s, 0));
                        sum +=
                            i128::from(activation) * i128::from(self.weight(image, kernel, [s, r], channel));
                    }
                }
            }
            saturate(shift_rounding(sum, self.truncate as i32), 32) as i32
        })
    }
}

/// The low bits, as a signed number.
fn saturate_bits(value: i32, bytes: u32) -> i32 {
    if bytes == 1 { i32::from(value as i8) } else { i32::from(value as i16) }
}

impl Pixels {
    pub(super) fn component(&self, image: &Image, channel: u32, y: u32, x: u32) -> i32 {
        let (plane, component) = self.channels[channel as usize];
        let (base, line) = self.planes[plane];
        let at =
            |index: u32| base + u64::from(y) * u64::from(line) + u64::from(index) * u64::from(self.element);
        let value = match self.packed {
            None => image.element(at((x + self.offset) * self.components[plane] + component), self.element),
            Some(lowest) => {
                let half = |half: u32| image.element(at((x + self.offset) * 2 + half), 2) as u16;
                let word = u32::from(half(1)) << 16 | u32::from(half(0));
                // As many bits as it has become the upper ones of 16.
                let bits = if channel == 3 { 2 } else { 10 };
                let component = word >> lowest[channel as usize] & ((1 << bits) - 1);
                i32::from((component << (16 - bits)) as i16)
            }
        };
        match (self.signed, self.element) {
            (true, _) => value,
            (false, 1) => i32::from(value as u8),
            (false, _) => i32::from(value as u16),
        }
    }
}

/// Runs a convolution and the layer of SDP behind it.
pub fn run_convolution(layer: &ConvLayer, image: &mut Image) {
    for layer in layer.each_cube() {
        let results = layer.results(image);
        results.store(image, layer.format, layer.destination());
    }
}

/// Runs a convolution and the layers of SDP and PDP behind it.
pub fn run_convolution_to_pdp(layer: &ConvLayer, pdp: &PdpLayer, image: &mut Image) {
    let between = layer.results(image);
    pdp.results(&between).store(image, pdp.format, pdp.destination);
}
