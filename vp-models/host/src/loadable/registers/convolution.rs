//! The registers of the convolution pipeline: CACC, CMAC, CSC, CDMA.

use super::super::layout;
use super::super::network::{Cube, TensorPlace, cube};
use super::super::places::Places;
use super::{address, extent};
use crate::program::Program;
use vp_models::nvdla::registers::{Unit, cacc, cdma, cmac, csc};

/// Codes of the descriptor.
const WINOGRAD: u8 = 1;
pub(in super::super) const FEATURE: u8 = 36;
const COMPRESSED: u8 = 1;

pub(super) fn write(
    program: &mut Program,
    places: &Places,
    convolution: &layout::Convolution,
    cubes: &[Cube; 5],
    offset_u: i64,
    uv_line_stride: u32,
) -> Vec<Unit> {
    accumulator(program, places, convolution, &cubes[cube::CONV_DESTINATION]);
    for unit in [Unit::CmacA, Unit::CmacB] {
        use cmac::D_MISC_CFG::*;
        let precision = convolution.proc_precision.into();
        program.fields(unit, &[(CONV_MODE, convolution.mode.into()), (PROC_PRECISION, precision)]);
    }
    sequence(program, convolution, cubes);
    fetch(program, places, convolution, cubes, offset_u, uv_line_stride);
    vec![Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma]
}

fn accumulator(
    program: &mut Program,
    places: &Places,
    convolution: &layout::Convolution,
    destination: &Cube,
) {
    use cacc::{
        D_BATCH_NUMBER::*, D_CLIP_CFG::*, D_DATAOUT_ADDR::*, D_DATAOUT_MAP::*, D_DATAOUT_SIZE_0::*,
        D_DATAOUT_SIZE_1::*, D_LINE_STRIDE::*, D_MISC_CFG::*, D_SURF_STRIDE::*,
    };
    let at = if destination.place == TensorPlace::OnTheFly { 0 } else { places.of(destination).0 };
    let packed = u32::from(destination.width == 1 && destination.height == 1);
    program.fields(
        Unit::Cacc,
        &[
            (CONV_MODE, convolution.mode.into()),
            (PROC_PRECISION, convolution.proc_precision.into()),
            (DATAOUT_WIDTH, destination.width),
            (DATAOUT_HEIGHT, destination.height),
            (DATAOUT_CHANNEL, destination.channels),
            (DATAOUT_ADDR, at as u32),
            (BATCHES, batches(convolution)),
            (LINE_STRIDE, destination.line_stride),
            (SURF_STRIDE, destination.surface_stride),
            (LINE_PACKED, packed),
            (SURF_PACKED, packed),
            (CLIP_TRUNCATE, convolution.output.truncate.into()),
        ],
    );
}

fn batches(convolution: &layout::Convolution) -> u32 {
    u32::from(convolution.batch.max(1))
}

/// Strides and paddings, which Winograd's kernels have folded into them.
fn unless_winograd(convolution: &layout::Convolution, value: u8, otherwise: u32) -> u32 {
    if convolution.mode == WINOGRAD { otherwise } else { value.into() }
}

fn sequence(program: &mut Program, convolution: &layout::Convolution, cubes: &[Cube; 5]) {
    use csc::{
        D_ATOMICS::*, D_BANK::*, D_BATCH_NUMBER::*, D_CONV_STRIDE_EXT::*, D_DATAIN_FORMAT::*,
        D_DATAIN_SIZE_EXT_0::*, D_DATAIN_SIZE_EXT_1::*, D_DATAOUT_SIZE_0::*, D_DATAOUT_SIZE_1::*,
        D_DILATION_EXT::*, D_ENTRY_PER_SLICE::*, D_MISC_CFG::*, D_POST_Y_EXTENSION::*, D_PRA_CFG::*,
        D_RELEASE::*, D_WEIGHT_BYTES::*, D_WEIGHT_FORMAT::*, D_WEIGHT_SIZE_EXT_0::*, D_WEIGHT_SIZE_EXT_1::*,
        D_WMB_BYTES::*, D_ZERO_PADDING::*, D_ZERO_PADDING_VALUE::*,
    };
    let c = convolution;
    let destination = &cubes[cube::CONV_DESTINATION];
    program.fields(
        Unit::Csc,
        &[
            (CONV_MODE, c.mode.into()),
            (IN_PRECISION, c.proc_precision.into()),
            (PROC_PRECISION, c.proc_precision.into()),
            (DATA_REUSE, c.data_reuse.into()),
            (WEIGHT_REUSE, c.weight_reuse.into()),
            (SKIP_DATA_RLS, c.skip_data_release.into()),
            (SKIP_WEIGHT_RLS, c.skip_weight_release.into()),
            (DATAIN_FORMAT, (c.data_format != FEATURE).into()),
            (DATAIN_WIDTH_EXT, c.input_width.get().into()),
            (DATAIN_HEIGHT_EXT, c.input_height.get().into()),
            (DATAIN_CHANNEL_EXT, c.input_channels.get().into()),
            (BATCHES, batches(c)),
            (Y_EXTENSION, c.post_extension.into()),
            (ENTRIES, c.entries_per_slice.get().into()),
            (WEIGHT_FORMAT, c.weight_format.into()),
            (WEIGHT_WIDTH_EXT, c.kernel_width.get().into()),
            (WEIGHT_HEIGHT_EXT, c.kernel_height.get().into()),
            (WEIGHT_CHANNEL_EXT, c.kernel_channels.get().into()),
            (WEIGHT_KERNEL, destination.channels),
            (WEIGHT_BYTES, cubes[cube::WEIGHTS].size),
            (WMB_BYTES, cubes[cube::WMB].size),
            (DATAOUT_WIDTH, c.output_width.get().into()),
            (DATAOUT_HEIGHT, c.output_height.get().into()),
            (DATAOUT_CHANNEL, destination.channels),
            (ATOMICS, destination.width.wrapping_mul(destination.height)),
            (RLS_SLICES, c.release.get().into()),
            (CONV_X_STRIDE_EXT, unless_winograd(c, c.stride_x, 1)),
            (CONV_Y_STRIDE_EXT, unless_winograd(c, c.stride_y, 1)),
            (X_DILATION_EXT, c.dilation_x.into()),
            (Y_DILATION_EXT, c.dilation_y.into()),
            (PAD_LEFT, unless_winograd(c, c.pad_left, 0)),
            (PAD_TOP, unless_winograd(c, c.pad_top, 0)),
            (PAD_VALUE, i32::from(c.pad_value.get()) as u32),
            (DATA_BANK, c.data_banks.into()),
            (WEIGHT_BANK, c.weight_banks.into()),
            (PRA_TRUNCATE, c.pra_truncate.into()),
        ],
    );
}

fn fetch(
    program: &mut Program,
    places: &Places,
    convolution: &layout::Convolution,
    cubes: &[Cube; 5],
    offset_u: i64,
    uv_line_stride: u32,
) {
    use cdma::{
        D_BATCH_NUMBER::*, D_BATCH_STRIDE::*, D_DAIN_ADDR_HIGH_0::*, D_DAIN_ADDR_HIGH_1::*,
        D_DAIN_ADDR_LOW_0::*, D_DAIN_ADDR_LOW_1::*, D_DAIN_MAP::*, D_DAIN_RAM_TYPE::*, D_DATAIN_FORMAT::*,
        D_DATAIN_SIZE_0::*, D_DATAIN_SIZE_1::*, D_DATAIN_SIZE_EXT_0::*, D_ENTRY_PER_SLICE::*,
        D_FETCH_GRAIN::*, D_LINE_STRIDE::*, D_LINE_UV_STRIDE::*, D_MISC_CFG::*, D_SURF_STRIDE::*,
    };
    let c = convolution;
    let unit = Unit::Cdma;
    let source = &cubes[cube::CONV_SOURCE];
    let (from, ram) = places.of(source);
    let is_pixels = c.data_format != FEATURE;
    let line = source.width.wrapping_mul(places.atom);
    program.fields(
        unit,
        &[
            (CONV_MODE, c.mode.into()),
            (IN_PRECISION, c.in_precision.into()),
            (PROC_PRECISION, c.proc_precision.into()),
            (DATA_REUSE, c.data_reuse.into()),
            (WEIGHT_REUSE, c.weight_reuse.into()),
            (SKIP_DATA_RLS, c.skip_data_release.into()),
            (SKIP_WEIGHT_RLS, c.skip_weight_release.into()),
            (DATAIN_FORMAT, is_pixels.into()),
            (PIXEL_FORMAT, if is_pixels { c.data_format.into() } else { 0 }),
            (PIXEL_MAPPING, c.pixel_mapping.into()),
            (PIXEL_SIGN_OVERRIDE, c.pixel_override.into()),
        ],
    );
    program.fields(unit, &extent(source, [DATAIN_WIDTH, DATAIN_HEIGHT, DATAIN_CHANNEL]));
    program.fields(
        unit,
        &[
            (DATAIN_WIDTH_EXT, c.input_width.get().into()),
            (DATAIN_HEIGHT_EXT, c.input_height.get().into()),
            (DATAIN_RAM_TYPE, ram),
        ],
    );
    program.fields(unit, &address((DATAIN_ADDR_LOW_0, DATAIN_ADDR_HIGH_0), from));
    let second = from.wrapping_add_signed(offset_u);
    program.fields(unit, &address((DATAIN_ADDR_LOW_1, DATAIN_ADDR_HIGH_1), second));
    program.fields(
        unit,
        &[
            (LINE_STRIDE, source.line_stride),
            (SURF_STRIDE, source.surface_stride),
            (UV_LINE_STRIDE, uv_line_stride),
            (LINE_PACKED, (source.line_stride == line).into()),
            (SURF_PACKED, (source.surface_stride == line.wrapping_mul(source.height)).into()),
            (BATCHES, batches(c)),
            (BATCH_STRIDE, c.batch_stride.get()),
            (ENTRIES, c.entries_per_slice.get().into()),
            (GRAINS, c.fetch_grain.get().into()),
        ],
    );
    fetch_weights(program, places, c, cubes);
    convert(program, c);
}

fn fetch_weights(program: &mut Program, places: &Places, c: &layout::Convolution, cubes: &[Cube; 5]) {
    use cdma::{
        D_WEIGHT_ADDR_HIGH::*, D_WEIGHT_ADDR_LOW::*, D_WEIGHT_BYTES::*, D_WEIGHT_FORMAT::*,
        D_WEIGHT_RAM_TYPE::*, D_WEIGHT_SIZE_0::*, D_WEIGHT_SIZE_1::*, D_WGS_ADDR_HIGH::*, D_WGS_ADDR_LOW::*,
        D_WMB_ADDR_HIGH::*, D_WMB_ADDR_LOW::*, D_WMB_BYTES::*,
    };
    let unit = Unit::Cdma;
    let weights = &cubes[cube::WEIGHTS];
    let (at, ram) = places.of(weights);
    program.fields(
        unit,
        &[
            (WEIGHT_FORMAT, c.weight_format.into()),
            (BYTE_PER_KERNEL, c.bytes_per_kernel.get()),
            (WEIGHT_KERNEL, cubes[cube::CONV_DESTINATION].channels),
            (WEIGHT_RAM_TYPE, ram),
        ],
    );
    program.fields(unit, &address((WEIGHT_ADDR_LOW, WEIGHT_ADDR_HIGH), at));
    program.fields(unit, &[(WEIGHT_BYTES, weights.size)]);
    if c.weight_format == COMPRESSED {
        program.fields(unit, &address((WGS_ADDR_LOW, WGS_ADDR_HIGH), places.of(&cubes[cube::WGS]).0));
        program.fields(unit, &address((WMB_ADDR_LOW, WMB_ADDR_HIGH), places.of(&cubes[cube::WMB]).0));
        program.fields(unit, &[(WMB_BYTES, cubes[cube::WMB].size)]);
    }
}

/// Writes the conversion of the input on its way to the buffer, and the window.
fn convert(program: &mut Program, c: &layout::Convolution) {
    use cdma::{
        D_BANK::*, D_CONV_STRIDE::*, D_CVT_CFG::*, D_CVT_OFFSET::*, D_CVT_SCALE::*, D_MEAN_FORMAT::*,
        D_MEAN_GLOBAL_0::*, D_MEAN_GLOBAL_1::*, D_ZERO_PADDING::*, D_ZERO_PADDING_VALUE::*,
    };
    let unit = Unit::Cdma;
    let word = |value: zerocopy::little_endian::I16| u32::from(value.get().cast_unsigned());
    program.fields(unit, &[(MEAN_FORMAT, c.mean_format.into())]);
    if c.mean_format != 0 {
        let means = [
            (MEAN_RY, word(c.mean_ry)),
            (MEAN_GU, word(c.mean_gu)),
            (MEAN_BV, word(c.mean_bv)),
            (MEAN_AX, word(c.mean_ax)),
        ];
        program.fields(unit, &means);
    }
    let converts = c.input.enable != 0;
    program.fields(unit, &[(CVT_EN, converts.into()), (CVT_TRUNCATE, c.input.truncate.into())]);
    if converts {
        program.fields(
            unit,
            &[(CVT_OFFSET, c.input.offset.get() as u32), (CVT_SCALE, i32::from(c.input.scale.get()) as u32)],
        );
    }
    program.fields(
        unit,
        &[
            (CONV_X_STRIDE, c.stride_x.into()),
            (CONV_Y_STRIDE, c.stride_y.into()),
            (PAD_LEFT, c.pad_left.into()),
            (PAD_RIGHT, c.pad_right.into()),
            (PAD_TOP, c.pad_top.into()),
            (PAD_BOTTOM, c.pad_bottom.into()),
            (PAD_VALUE, i32::from(c.pad_value.get()) as u32),
            (DATA_BANK, c.data_banks.into()),
            (WEIGHT_BANK, c.weight_banks.into()),
        ],
    );
}
