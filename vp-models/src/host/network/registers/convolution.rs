//! The convolution pipeline: CACC, CMAC, CSC, CDMA.

use super::{Cubes, INT8, high, low};
use crate::host::network::cut::BufferUse;
use crate::host::network::description::{Shape, Window};
use crate::host::network::layout::{CubePlace, Place, WeightShape, ram};
use crate::host::program::Program;
use crate::nvdla::config::Config;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Unit, cacc, cdma, cmac, csc};

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
    pub(in super::super) weights: Place,
    pub(in super::super) weight_shape: WeightShape,
    pub(in super::super) buffer: BufferUse,
    /// How many of it run at once, and how far their inputs are apart.
    pub(in super::super) cubes: Cubes,
}

/// An image's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Pixels {
    /// Code of their format.
    pub(in super::super) format: u32,
    /// Components, which are bytes.
    pub(in super::super) components: u32,
}

impl Pixels {
    /// Of an image of so many channels: the first component is the byte of the lowest address.
    pub(in super::super) fn of(channels: u32) -> Pixels {
        use cdma::d_datain_format::PIXEL_FORMAT;
        match channels {
            1 => Pixels { format: PIXEL_FORMAT::T_R8, components: 1 },
            _ => Pixels { format: PIXEL_FORMAT::T_A8B8G8R8, components: 4 },
        }
    }
}

/// Everything but the enables.
pub(in super::super) fn convolution(
    program: &mut Program,
    layer: &Convolve,
    config: &Config,
) -> Result<(), Refused> {
    cacc_registers(program, layer)?;
    for unit in [Unit::CmacA, Unit::CmacB] {
        use cmac::d_misc_cfg::*;
        program.checked_fields(unit, &[(CONV_MODE, 0), (PROC_PRECISION, INT8)])?;
    }
    csc_registers(program, layer, config)?;
    cdma_registers(program, layer, config)
}

fn cdma_registers(program: &mut Program, layer: &Convolve, config: &Config) -> Result<(), Refused> {
    use cdma::{
        d_bank::*, d_batch_number::*, d_batch_stride::*, d_conv_stride::*, d_cvt_cfg::*,
        d_dain_addr_high_0::*, d_dain_addr_low_0::*, d_dain_map::*, d_dain_ram_type::*, d_datain_format::*,
        d_datain_size_0::*, d_datain_size_1::*, d_entry_per_slice::*, d_fetch_grain::*, d_line_stride::*,
        d_mean_format::*, d_misc_cfg::*, d_pixel_offset::*, d_surf_stride::*, d_weight_addr_high::*,
        d_weight_addr_low::*, d_weight_bytes::*, d_weight_format::*, d_weight_ram_type::*,
        d_weight_size_0::*, d_weight_size_1::*, d_zero_padding::*, d_zero_padding_value::*,
    };
    let &Convolve { input, window, source, weights, weight_shape, buffer, .. } = layer;
    let fields = [
        (CONV_MODE, 0),
        (IN_PRECISION, INT8),
        (PROC_PRECISION, INT8),
        (DATA_REUSE, 0),
        (WEIGHT_REUSE, buffer.weights_are_there.into()),
        (SKIP_DATA_RLS, 0),
        (SKIP_WEIGHT_RLS, buffer.weights_stay.into()),
        (DATAIN_FORMAT, layer.pixels.is_some().into()),
        (DATAIN_WIDTH, input.width),
        (DATAIN_HEIGHT, input.height),
        (DATAIN_CHANNEL, input.channels),
        (DATAIN_RAM_TYPE, ram(source.place.memory).field()),
        (DATAIN_ADDR_LOW_0, low(source.place.address)),
        (DATAIN_ADDR_HIGH_0, high(source.place.address)),
        (LINE_STRIDE, source.line_stride),
        (SURF_STRIDE, source.surface_stride),
        (LINE_PACKED, layer.pixels.is_none().into()),
        (SURF_PACKED, 0),
        (BATCHES, layer.cubes.count),
        (ENTRIES, layer.entries),
        // Lines lie back to back and all have room in the buffer: they are read in one go, if the register can say so.
        (GRAINS, input.height.min(1 << GRAINS.bits(config.family()).width())),
        (WEIGHT_FORMAT, 0),
        (BYTE_PER_KERNEL, weight_shape.kernel_bytes()),
        (WEIGHT_KERNEL, weight_shape.kernels),
        (WEIGHT_RAM_TYPE, ram(weights.memory).field()),
        (WEIGHT_ADDR_LOW, low(weights.address)),
        (WEIGHT_ADDR_HIGH, high(weights.address)),
        (WEIGHT_BYTES, weight_shape.bytes_read(config) as u32),
        (CVT_EN, 0),
        (CONV_X_STRIDE, window.stride[0]),
        (CONV_Y_STRIDE, window.stride[1]),
        (PAD_LEFT, window.before[0]),
        (PAD_TOP, window.before[1]),
        (PAD_RIGHT, window.after[0]),
        (PAD_BOTTOM, window.after[1]),
        (PAD_VALUE, 0),
        (DATA_BANK, buffer.data_banks),
        (WEIGHT_BANK, buffer.weight_banks),
    ];
    program.checked_fields(Unit::Cdma, &fields)?;
    if layer.cubes != Cubes::ONE {
        program.checked_fields(Unit::Cdma, &[(BATCH_STRIDE, layer.cubes.stride)])?;
    }
    let Some(Pixels { format, .. }) = layer.pixels else { return Ok(()) };
    let pixels = [
        (DATAIN_FORMAT, 1),
        (PIXEL_FORMAT, format),
        (PIXEL_MAPPING, 0),
        (PIXEL_SIGN_OVERRIDE, 1),
        (PIXEL_X_OFFSET, 0),
        (MEAN_FORMAT, 0),
    ];
    program.checked_fields(Unit::Cdma, &pixels)
}

fn csc_registers(program: &mut Program, layer: &Convolve, config: &Config) -> Result<(), Refused> {
    use csc::{
        d_atomics::*, d_bank::*, d_batch_number::*, d_conv_stride_ext::*, d_datain_format::*,
        d_datain_size_ext_0::*, d_datain_size_ext_1::*, d_dataout_size_0::*, d_dataout_size_1::*,
        d_dilation_ext::*, d_entry_per_slice::*, d_misc_cfg::*, d_post_y_extension::*, d_release::*,
        d_weight_bytes::*, d_weight_format::*, d_weight_size_ext_0::*, d_weight_size_ext_1::*,
        d_zero_padding::*, d_zero_padding_value::*,
    };
    let &Convolve { input, output, window, weight_shape, buffer, .. } = layer;
    let fields = [
        (CONV_MODE, 0),
        (IN_PRECISION, INT8),
        (PROC_PRECISION, INT8),
        (DATA_REUSE, 0),
        (WEIGHT_REUSE, buffer.weights_are_there.into()),
        (SKIP_DATA_RLS, 0),
        (SKIP_WEIGHT_RLS, buffer.weights_stay.into()),
        (DATAIN_FORMAT, layer.pixels.is_some().into()),
        (DATAIN_WIDTH_EXT, input.width),
        (DATAIN_HEIGHT_EXT, input.height),
        (DATAIN_CHANNEL_EXT, input.channels),
        (BATCHES, layer.cubes.count),
        (Y_EXTENSION, weight_shape.rows_at_once.ilog2()),
        (ENTRIES, layer.entries),
        (WEIGHT_FORMAT, 0),
        (WEIGHT_WIDTH_EXT, weight_shape.columns),
        (WEIGHT_HEIGHT_EXT, weight_shape.rows),
        (WEIGHT_CHANNEL_EXT, weight_shape.channels),
        (WEIGHT_KERNEL, weight_shape.kernels),
        (WEIGHT_BYTES, weight_shape.bytes_read(config) as u32),
        (DATAOUT_WIDTH, output.width),
        (DATAOUT_HEIGHT, output.height),
        (DATAOUT_CHANNEL, output.channels),
        (ATOMICS, output.width * output.height),
        (RLS_SLICES, input.height),
        (CONV_X_STRIDE_EXT, window.stride[0]),
        (CONV_Y_STRIDE_EXT, window.stride[1]),
        (X_DILATION_EXT, 1),
        (Y_DILATION_EXT, 1),
        (PAD_LEFT, window.before[0]),
        (PAD_TOP, window.before[1]),
        (PAD_VALUE, 0),
        (DATA_BANK, buffer.data_banks),
        (WEIGHT_BANK, buffer.weight_banks),
    ];
    program.checked_fields(Unit::Csc, &fields)
}

fn cacc_registers(program: &mut Program, layer: &Convolve) -> Result<(), Refused> {
    use cacc::{d_batch_number::*, d_clip_cfg::*, d_dataout_size_0::*, d_dataout_size_1::*, d_misc_cfg::*};
    let fields = [
        (CONV_MODE, 0),
        (PROC_PRECISION, INT8),
        (DATAOUT_WIDTH, layer.output.width),
        (DATAOUT_HEIGHT, layer.output.height),
        (DATAOUT_CHANNEL, layer.output.channels),
        (BATCHES, layer.cubes.count),
        (CLIP_TRUNCATE, 0),
    ];
    program.checked_fields(Unit::Cacc, &fields)
}
