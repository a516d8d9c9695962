//! The convolution pipeline: CACC, CMAC, CSC, CDMA.

use super::Cubes;
use crate::network::cut::BufferUse;
use crate::network::description::{Shape, Window};
use crate::network::layout::{CubePlace, MemoryAddress, WeightShape, ram};
use crate::network::winograd;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::conv::cacc::layer::CaccLayer;
use vp_models::nvdla::conv::cdma::feature::Feature;
use vp_models::nvdla::conv::cdma::image::Image;
use vp_models::nvdla::conv::cdma::layer::{CdmaLayer, Compressed, Input, Weights};
use vp_models::nvdla::conv::cdma::pixel::Format;
use vp_models::nvdla::conv::cdma::winograd::Winograd;
use vp_models::nvdla::conv::compute::{Axes, Kernel};
use vp_models::nvdla::conv::csc::layer::{CscLayer, CscParameters};
use vp_models::nvdla::conv::hardware::Hardware;
use vp_models::nvdla::conv::{Banks, ConvolutionLayer, Reuse};
use vp_models::nvdla::encode::Encoded;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::order::Order;
use vp_models::nvdla::refused::Refused;
use vp_models::nvdla::registers::{Unit, cdma};

/// One hardware layer of a convolution, up to its sums.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Convolve {
    /// Shape of the input: of an image, with the components of its pixels as channels.
    pub(in super::super) input: Shape,
    /// Shape of the output.
    pub(in super::super) output: Shape,
    /// Windows, with the padding that they meet.
    pub(in super::super) window: Window,
    /// The code that padding holds.
    pub(in super::super) padding: i16,
    pub(in super::super) source: CubePlace,
    /// If the input is an image.
    pub(in super::super) pixels: Option<Pixels>,
    /// Entries of the buffer that a line takes.
    pub(in super::super) entries: u32,
    pub(in super::super) weights: PlacedWeights,
    pub(in super::super) weight_shape: WeightShape,
    /// Right shift of the sums.
    pub(in super::super) truncate: u32,
    /// By Winograd's method: bits of transformed features that are dropped.
    pub(in super::super) winograd: Option<u32>,
    pub(in super::super) buffer: BufferUse,
    /// Number of cubes that run at once, and the bytes from one's input to the next one's.
    pub(in super::super) cubes: Cubes,
}

/// Place of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct PlacedWeights {
    pub(in super::super) place: MemoryAddress,
    /// Bytes to read.
    pub(in super::super) bytes: u32,
    /// Places of what lies beside them if they are compressed.
    pub(in super::super) compressed: Option<Compressed>,
}

/// An image's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Pixels {
    pub(in super::super) format: Format,
    /// Components.
    pub(in super::super) components: u32,
}

impl Pixels {
    /// Of an image of so many channels: the first component is that of the lowest address.
    pub(in super::super) fn of(channels: u32, precision: Precision) -> Pixels {
        use cdma::D_DATAIN_FORMAT::PIXEL_FORMAT;
        let code = match (precision, channels) {
            (Precision::Int8, 1) => PIXEL_FORMAT::T_R8,
            (Precision::Int8, _) => PIXEL_FORMAT::T_A8B8G8R8,
            (Precision::Int16, 1) => PIXEL_FORMAT::T_R16,
            (Precision::Int16, _) => PIXEL_FORMAT::T_A16B16G16R16,
            (Precision::Fp16, 1) => PIXEL_FORMAT::T_R16_F,
            (Precision::Fp16, _) => PIXEL_FORMAT::T_A16B16G16R16_F,
        };
        let format = Format::named(code).unwrap_or_else(|| unreachable!("a format with a name"));
        Pixels { format, components: format.channels() }
    }
}

impl Convolve {
    /// Everything but the enables.
    pub(in super::super) fn encode(&self, config: &Config) -> Result<Encoded, Refused> {
        let hardware = Hardware::from(config);
        let mut encoded = self.layer(config, &hardware).encode(config.register_map, &hardware)?;
        if self.winograd.is_some() {
            return Ok(encoded);
        }
        // What CDMA does not look at stands there as in CSC: so does the vendor's driver.
        let Convolve { window, .. } = self;
        for (field, value) in [
            (cdma::D_CONV_STRIDE::CONV_X_STRIDE, window.stride[0]),
            (cdma::D_CONV_STRIDE::CONV_Y_STRIDE, window.stride[1]),
            (cdma::D_ZERO_PADDING::PAD_LEFT, window.before[0]),
            (cdma::D_ZERO_PADDING::PAD_TOP, window.before[1]),
            (cdma::D_ZERO_PADDING::PAD_RIGHT, window.after[0]),
            (cdma::D_ZERO_PADDING::PAD_BOTTOM, window.after[1]),
            (cdma::D_FETCH_GRAIN::GRAINS, self.grain(config)),
        ] {
            encoded.set(Unit::Cdma, field, value);
        }
        encoded.group(Unit::Cdma, config.register_map)?;
        Ok(encoded)
    }

    /// Lines that are read in one go: all have room in the buffer, if the register can say so. Features come line by line where memory has
    /// room between their lines.
    fn grain(&self, config: &Config) -> u32 {
        let back_to_back = self.source.line_stride == self.input.width * config.memory_atom;
        if self.pixels.is_none() && !back_to_back {
            return 1;
        }
        self.input.height.min(1 << cdma::D_FETCH_GRAIN::GRAINS.bits(config.family()).width())
    }

    fn layer(&self, config: &Config, hardware: &Hardware) -> ConvolutionLayer {
        let &Convolve { output, buffer, .. } = self;
        let reuse = Reuse {
            data: false,
            weight: buffer.weights_are_there,
            keep_data: false,
            keep_weight: buffer.weights_stay,
        };
        let precision = self.weight_shape.precision;
        let cdma = CdmaLayer {
            atom: hardware.atom,
            precision,
            converted: precision,
            input: self.read(config, hardware),
            entries: self.entries * self.cubes.count,
            weights: Weights {
                ram: ram(self.weights.place.memory),
                base: self.weights.place.address,
                bytes: self.weights.bytes,
                kernel_bytes: self.weight_shape.kernel_bytes(),
                kernels: self.weight_shape.kernels,
                compressed: self.weights.compressed,
            },
            banks: Banks { data: buffer.data_banks, weight: buffer.weight_banks },
            reuse,
        };
        let cacc = CaccLayer {
            precision,
            winograd: self.winograd.is_some(),
            size: [output.width, output.height, output.channels],
            cubes: self.cubes.count,
            // Cubes run at once where each makes one pixel: there are no pairs.
            place: [0; 3],
            truncate: self.truncate,
        };
        ConvolutionLayer { cdma, csc: self.sequence(reuse, hardware), cacc }
    }

    fn read(&self, config: &Config, hardware: &Hardware) -> Input {
        let &Convolve { input, window, source, pixels, padding, .. } = self;
        let precision = self.weight_shape.precision;
        let feature = Feature {
            surface: source.surface(hardware.atom),
            width: input.width,
            height: input.height,
            channels: input.channels,
            lanes: hardware.lanes(precision),
            surfaces_at_once: hardware.surfaces_at_once,
            grain: if self.winograd.is_some() { 1 } else { self.grain(config) },
            cubes: self.cubes.count,
            cube_stride: self.cubes.stride,
            format: precision,
            nan_to_zero: false,
            converter: None,
        };
        let [left, top] = window.before;
        match pixels {
            None if self.winograd.is_some() => {
                let [width, height] = self.seen();
                let (right, bottom) = (width - left - input.width, height - top - input.height);
                Input::Winograd(Winograd { feature, left, right, top, bottom, padding, step: [1, 1] })
            }
            None => Input::Feature(feature),
            Some(Pixels { format, .. }) => Input::Image(Image {
                ram: ram(source.place.memory),
                bases: [source.place.address, 0],
                strides: [source.line_stride, 0],
                atom: hardware.atom,
                width: input.width,
                height: input.height,
                format,
                signed: true,
                x_offset: 0,
                left: window.before[0],
                right: window.after[0],
                padding,
                nan_to_zero: false,
                converters: None,
            }),
        }
    }

    /// Columns and lines that CSC sees: with Winograd's method padded to those of whole tiles.
    fn seen(&self) -> [u32; 2] {
        let Convolve { input, output, .. } = self;
        match self.winograd {
            Some(_) => [output.width + winograd::MORE, output.height + winograd::MORE],
            None => [input.width, input.height],
        }
    }

    fn sequence(&self, reuse: Reuse, hardware: &Hardware) -> CscLayer {
        let &Convolve { input, output, window, weight_shape, pixels, cubes, .. } = self;
        let [x, y] = window.stride.map(|step| step as usize);
        let is_image = pixels.is_some();
        // Of one column or row it means nothing.
        let dilation = |axis: usize| if window.size[axis] > 1 { window.dilation[axis] as usize } else { 1 };
        let tiles = self.winograd.is_some();
        // Padding is in the buffer already: of images that of a line, with Winograd's method all.
        let [left, above] = window.before.map(|padding| padding as usize);
        let seen = self.seen();
        let parameters = CscParameters {
            precision: weight_shape.precision,
            is_image,
            kernel: Kernel {
                height: window.size[1] as usize,
                width: window.size[0] as usize,
                channels: input.channels as usize,
                dilation: Axes { x: dilation(0), y: dilation(1) },
            },
            rows_at_once: if is_image { weight_shape.rows_at_once } else { 1 },
            stride: Axes { x, y },
            output: [output.width, output.height],
            input: seen,
            before: Axes { x: if is_image || tiles { 0 } else { left }, y: if tiles { 0 } else { above } },
            padding: if tiles { 0 } else { self.padding },
            kernels: weight_shape.kernels,
            reuse,
            released: seen[1],
            compressed: self.weights.compressed.is_some(),
            passing: match cubes.count {
                _ if tiles => Order::Tiles,
                1 => Order::Lines,
                count => Order::Cubes(count),
            },
            truncate: self.winograd.unwrap_or(0),
        };
        CscLayer::of(&parameters, hardware)
    }
}
