//! The convolution pipeline: CACC, CMAC, CSC, CDMA.

use super::Cubes;
use crate::host::network::cut::BufferUse;
use crate::host::network::description::{Shape, Window};
use crate::host::network::layout::{CubePlace, WeightShape};
use crate::nvdla::config::Config;
use crate::nvdla::conv::cacc::layer::CaccLayer;
use crate::nvdla::conv::cdma::feature::Feature;
use crate::nvdla::conv::cdma::image::Image;
use crate::nvdla::conv::cdma::layer::{CdmaLayer, Input, Weights};
use crate::nvdla::conv::cdma::pixel::Format;
use crate::nvdla::conv::compute::{Axes, Kernel};
use crate::nvdla::conv::csc::layer::{CscLayer, CscParameters};
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::conv::{Banks, ConvolutionLayer, Reuse};
use crate::nvdla::cube::Ram;
use crate::nvdla::encode::Encoded;
use crate::nvdla::numeric::Precision;
use crate::nvdla::order::Order;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Unit, cdma};

/// One hardware layer of a convolution, up to its sums.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Convolve {
    /// What it reads: of an image, with the components of its pixels as channels.
    pub(in super::super) input: Shape,
    /// What it makes.
    pub(in super::super) output: Shape,
    /// Its windows, with the padding that they meet.
    pub(in super::super) window: Window,
    pub(in super::super) source: CubePlace,
    /// If the input is an image.
    pub(in super::super) pixels: Option<Pixels>,
    /// Entries of the buffer that a line takes.
    pub(in super::super) entries: u32,
    pub(in super::super) weights: u64,
    pub(in super::super) weight_shape: WeightShape,
    pub(in super::super) buffer: BufferUse,
    /// How many of it run at once, and how far their inputs are apart.
    pub(in super::super) cubes: Cubes,
}

/// An image's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Pixels {
    pub(in super::super) format: Format,
    /// Components, which are bytes.
    pub(in super::super) components: u32,
}

impl Pixels {
    /// Of an image of so many channels: the first component is the byte of the lowest address.
    pub(in super::super) fn of(channels: u32) -> Pixels {
        use cdma::d_datain_format::PIXEL_FORMAT;
        let code = if channels == 1 { PIXEL_FORMAT::T_R8 } else { PIXEL_FORMAT::T_A8B8G8R8 };
        let format = Format::named(code).unwrap_or_else(|| unreachable!("a format with a name"));
        Pixels { format, components: format.channels() }
    }
}

impl Convolve {
    /// Everything but the enables.
    pub(in super::super) fn encode(&self, config: &Config) -> Result<Encoded, Refused> {
        let hardware = Hardware::from(config);
        let mut encoded = self.layer(config, &hardware).encode(config.register_map, &hardware)?;
        // What CDMA does not look at stands there as in CSC: so does the vendor's driver.
        let Convolve { window, .. } = self;
        for (field, value) in [
            (cdma::d_conv_stride::CONV_X_STRIDE, window.stride[0]),
            (cdma::d_conv_stride::CONV_Y_STRIDE, window.stride[1]),
            (cdma::d_zero_padding::PAD_LEFT, window.before[0]),
            (cdma::d_zero_padding::PAD_TOP, window.before[1]),
            (cdma::d_zero_padding::PAD_RIGHT, window.after[0]),
            (cdma::d_zero_padding::PAD_BOTTOM, window.after[1]),
            (cdma::d_fetch_grain::GRAINS, self.grain(config)),
        ] {
            encoded.set(Unit::Cdma, field, value);
        }
        encoded.group(Unit::Cdma, config.register_map)?;
        Ok(encoded)
    }

    /// Lines that are read in one go: they lie back to back and all have room in the buffer, if the register can say so.
    fn grain(&self, config: &Config) -> u32 {
        self.input.height.min(1 << cdma::d_fetch_grain::GRAINS.bits(config.family()).width())
    }

    fn layer(&self, config: &Config, hardware: &Hardware) -> ConvolutionLayer {
        let &Convolve { output, buffer, .. } = self;
        let reuse = Reuse {
            data: false,
            weight: buffer.weights_are_there,
            keep_data: false,
            keep_weight: buffer.weights_stay,
        };
        let precision = Precision::Int8;
        let cdma = CdmaLayer {
            atom: hardware.atom,
            precision,
            input: self.read(config, hardware),
            entries: self.entries * self.cubes.count,
            weights: Weights {
                ram: Ram::Primary,
                base: self.weights,
                bytes: self.weight_shape.bytes_read(config) as u32,
                kernel_bytes: self.weight_shape.kernel_bytes(),
                kernels: self.weight_shape.kernels,
                compressed: None,
            },
            banks: Banks { data: buffer.data_banks, weight: buffer.weight_banks },
            reuse,
        };
        let cacc = CaccLayer {
            precision,
            winograd: false,
            size: [output.width, output.height, output.channels],
            cubes: self.cubes.count,
            truncate: 0,
        };
        ConvolutionLayer { cdma, csc: self.sequence(reuse, hardware), cacc }
    }

    fn read(&self, config: &Config, hardware: &Hardware) -> Input {
        let &Convolve { input, window, source, pixels, .. } = self;
        match pixels {
            None => Input::Feature(Feature {
                surface: source.surface(hardware.atom),
                width: input.width,
                height: input.height,
                channels: input.channels,
                lanes: hardware.lanes(Precision::Int8),
                surfaces_at_once: hardware.surfaces_at_once,
                grain: self.grain(config),
                cubes: self.cubes.count,
                cube_stride: self.cubes.stride,
                format: Precision::Int8,
                nan_to_zero: false,
                converter: None,
            }),
            Some(Pixels { format, .. }) => Input::Image(Image {
                ram: Ram::Primary,
                bases: [source.base, 0],
                strides: [source.line_stride, 0],
                atom: hardware.atom,
                width: input.width,
                height: input.height,
                format,
                signed: true,
                x_offset: 0,
                left: window.before[0],
                right: window.after[0],
                padding: 0,
                nan_to_zero: false,
                converters: None,
            }),
        }
    }

    fn sequence(&self, reuse: Reuse, hardware: &Hardware) -> CscLayer {
        let &Convolve { input, output, window, weight_shape, pixels, cubes, .. } = self;
        let [x, y] = window.stride.map(|step| step as usize);
        let is_image = pixels.is_some();
        let [left, above] = window.before.map(|padding| padding as usize);
        let parameters = CscParameters {
            precision: Precision::Int8,
            is_image,
            kernel: Kernel {
                height: window.size[1] as usize,
                width: window.size[0] as usize,
                channels: input.channels as usize,
                dilation: Axes::ONE,
            },
            rows_at_once: weight_shape.rows_at_once,
            stride: Axes { x, y },
            output: [output.width, output.height],
            input: [input.width, input.height],
            // Lines of an image are padded in the buffer already.
            before: Axes { x: if is_image { 0 } else { left }, y: above },
            padding: 0,
            kernels: weight_shape.kernels,
            reuse,
            released: input.height,
            compressed: false,
            passing: if cubes.count > 1 { Order::Cubes(cubes.count) } else { Order::Lines },
            truncate: 0,
        };
        CscLayer::of(&parameters, hardware)
    }
}
