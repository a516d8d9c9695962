//! A layer's registers: what a driver writes for a convolution with SDP behind it, and for a pooling.
//!
//! Values are quantities; the table of registers knows how they are encoded.

use super::cut::BufferUse;
use super::description::{Convolution, Method, Pooling, Shape, Window};
use super::layout::{Place, entries_per_line, weight_bytes};
use crate::host::program::{FieldOverflow, Program};
use crate::nvdla::config::Config;
use crate::nvdla::registers::{FieldRef, Unit, cacc, cdma, cmac, csc, pdp, pdp_rdma, sdp, sdp_rdma};

/// One hardware layer: all lines of a layer's output, or some of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// What it reads.
    pub(super) input: Shape,
    /// What it makes.
    pub(super) output: Shape,
    /// Its windows, with the padding that they meet.
    pub(super) window: Window,
    pub(super) source: Place,
    pub(super) destination: Place,
}

/// What a convolution needs besides its cubes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub(super) weights: u64,
    pub(super) bias: Option<u64>,
    pub(super) buffer: BufferUse,
}

/// Everything but the enables of a convolution; units in the order in which they are enabled.
pub(super) fn convolution(
    program: &mut Program,
    part: &Part,
    convolution: &Convolution,
    constants: &Constants,
    config: &Config,
) -> Result<(), FieldOverflow> {
    sdp_registers(program, part, convolution, constants.bias)?;
    cacc_registers(program, part)?;
    for unit in [Unit::CmacA, Unit::CmacB] {
        use cmac::d_misc_cfg::*;
        program.checked_fields(unit, &[(CONV_MODE, 0), (PROC_PRECISION, INT8)])?;
    }
    csc_registers(program, part, convolution, constants.buffer, config)?;
    cdma_registers(program, part, convolution, constants, config)
}

/// `IN_PRECISION`, `PROC_PRECISION`, `OUT_PRECISION` of all units.
const INT8: u32 = 0;
/// `RAM_TYPE` of all units: the primary memory.
const PRIMARY: u32 = 1;

fn low(address: u64) -> u32 {
    address as u32
}

fn high(address: u64) -> u32 {
    (address >> 32) as u32
}

fn cdma_registers(
    program: &mut Program,
    part: &Part,
    convolution: &Convolution,
    constants: &Constants,
    config: &Config,
) -> Result<(), FieldOverflow> {
    use cdma::{
        d_bank::*, d_batch_number::*, d_conv_stride::*, d_cvt_cfg::*, d_dain_addr_high_0::*,
        d_dain_addr_low_0::*, d_dain_map::*, d_dain_ram_type::*, d_datain_format::*, d_datain_size_0::*,
        d_datain_size_1::*, d_entry_per_slice::*, d_fetch_grain::*, d_line_stride::*, d_misc_cfg::*,
        d_surf_stride::*, d_weight_addr_high::*, d_weight_addr_low::*, d_weight_bytes::*, d_weight_format::*,
        d_weight_ram_type::*, d_weight_size_0::*, d_weight_size_1::*, d_zero_padding::*,
        d_zero_padding_value::*,
    };
    let &Part { input, window, source, .. } = part;
    let &Constants { weights, buffer, .. } = constants;
    let kernel_bytes = convolution.weights.len() as u32 / convolution.kernels;
    let fields = [
        (CONV_MODE, 0),
        (IN_PRECISION, INT8),
        (PROC_PRECISION, INT8),
        (DATA_REUSE, 0),
        (WEIGHT_REUSE, buffer.weights_are_there.into()),
        (SKIP_DATA_RLS, 0),
        (SKIP_WEIGHT_RLS, buffer.weights_stay.into()),
        (DATAIN_FORMAT, 0),
        (DATAIN_WIDTH, input.width),
        (DATAIN_HEIGHT, input.height),
        (DATAIN_CHANNEL, input.channels),
        (DATAIN_RAM_TYPE, PRIMARY),
        (DATAIN_ADDR_LOW_0, low(source.base)),
        (DATAIN_ADDR_HIGH_0, high(source.base)),
        (LINE_STRIDE, source.line_stride),
        (SURF_STRIDE, source.surface_stride),
        (LINE_PACKED, 1),
        (SURF_PACKED, 0),
        (BATCHES, 1),
        (ENTRIES, entries_per_line(input, config)),
        // Lines lie back to back and all have room in the buffer: they are read in one go, if the register can say so.
        (GRAINS, input.height.min(1 << GRAINS.bits(config.family()).width())),
        (WEIGHT_FORMAT, 0),
        (BYTE_PER_KERNEL, kernel_bytes),
        (WEIGHT_KERNEL, convolution.kernels),
        (WEIGHT_RAM_TYPE, PRIMARY),
        (WEIGHT_ADDR_LOW, low(weights)),
        (WEIGHT_ADDR_HIGH, high(weights)),
        (WEIGHT_BYTES, weight_bytes(convolution.weights.len()) as u32),
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
    program.checked_fields(Unit::Cdma, &fields)
}

fn csc_registers(
    program: &mut Program,
    part: &Part,
    convolution: &Convolution,
    buffer: BufferUse,
    config: &Config,
) -> Result<(), FieldOverflow> {
    use csc::{
        d_atomics::*, d_bank::*, d_batch_number::*, d_conv_stride_ext::*, d_datain_format::*,
        d_datain_size_ext_0::*, d_datain_size_ext_1::*, d_dataout_size_0::*, d_dataout_size_1::*,
        d_dilation_ext::*, d_entry_per_slice::*, d_misc_cfg::*, d_post_y_extension::*, d_release::*,
        d_weight_bytes::*, d_weight_format::*, d_weight_size_ext_0::*, d_weight_size_ext_1::*,
        d_zero_padding::*, d_zero_padding_value::*,
    };
    let &Part { input, output, window, .. } = part;
    let fields = [
        (CONV_MODE, 0),
        (IN_PRECISION, INT8),
        (PROC_PRECISION, INT8),
        (DATA_REUSE, 0),
        (WEIGHT_REUSE, buffer.weights_are_there.into()),
        (SKIP_DATA_RLS, 0),
        (SKIP_WEIGHT_RLS, buffer.weights_stay.into()),
        (DATAIN_FORMAT, 0),
        (DATAIN_WIDTH_EXT, input.width),
        (DATAIN_HEIGHT_EXT, input.height),
        (DATAIN_CHANNEL_EXT, input.channels),
        (BATCHES, 1),
        (Y_EXTENSION, 0),
        (ENTRIES, entries_per_line(input, config)),
        (WEIGHT_FORMAT, 0),
        (WEIGHT_WIDTH_EXT, window.size[0]),
        (WEIGHT_HEIGHT_EXT, window.size[1]),
        (WEIGHT_CHANNEL_EXT, input.channels),
        (WEIGHT_KERNEL, convolution.kernels),
        (WEIGHT_BYTES, weight_bytes(convolution.weights.len()) as u32),
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

fn cacc_registers(program: &mut Program, part: &Part) -> Result<(), FieldOverflow> {
    use cacc::{d_batch_number::*, d_clip_cfg::*, d_dataout_size_0::*, d_dataout_size_1::*, d_misc_cfg::*};
    let fields = [
        (CONV_MODE, 0),
        (PROC_PRECISION, INT8),
        (DATAOUT_WIDTH, part.output.width),
        (DATAOUT_HEIGHT, part.output.height),
        (DATAOUT_CHANNEL, part.output.channels),
        (BATCHES, 1),
        (CLIP_TRUNCATE, 0),
    ];
    program.checked_fields(Unit::Cacc, &fields)
}

/// SDP on the fly behind a convolution: the bias and ReLU in BS, the other stages bypassed, the output converter.
fn sdp_registers(
    program: &mut Program,
    part: &Part,
    convolution: &Convolution,
    bias_operands: Option<u64>,
) -> Result<(), FieldOverflow> {
    use sdp::{
        d_cvt_offset::*, d_cvt_scale::*, d_cvt_shift::*, d_data_cube_channel::*, d_data_cube_height::*,
        d_data_cube_width::*, d_data_format::*, d_dp_bn_cfg::*, d_dp_bs_alu_cfg::*, d_dp_bs_cfg::*,
        d_dp_bs_mul_cfg::*, d_dp_ew_cfg::*, d_dst_base_addr_high::*, d_dst_base_addr_low::*,
        d_dst_dma_cfg::*, d_dst_line_stride::*, d_dst_surface_stride::*, d_feature_mode_cfg::*,
    };
    if let Some(operands) = bias_operands {
        sdp_rdma_registers(program, part, operands)?;
    }
    let (&Part { output, destination, .. }, converter) = (part, convolution.converter);
    let bias = convolution.bias.as_ref();
    let fields = [
        (WIDTH, output.width),
        (HEIGHT, output.height),
        (CHANNEL, output.channels),
        (DST_BASE_ADDR_LOW, low(destination.base)),
        (DST_BASE_ADDR_HIGH, high(destination.base)),
        (DST_LINE_STRIDE, destination.line_stride),
        (DST_SURFACE_STRIDE, destination.surface_stride),
        (DST_RAM_TYPE, PRIMARY),
        (BS_BYPASS, (bias.is_none() && !convolution.relu).into()),
        (BS_ALU_BYPASS, bias.is_none().into()),
        (BS_ALU_ALGO, BS_ALU_ALGO::SUM),
        (BS_MUL_BYPASS, 1),
        (BS_MUL_PRELU, 0),
        (BS_RELU_BYPASS, (!convolution.relu).into()),
        (BS_ALU_SRC, 1),
        (BS_ALU_SHIFT_VALUE, bias.map_or(0, |bias| bias.shift)),
        // Shifts also where there is nothing to multiply.
        (BS_MUL_SHIFT_VALUE, 0),
        (BN_BYPASS, 1),
        (EW_BYPASS, 1),
        (FLYING_MODE, FLYING_MODE::ON),
        (OUTPUT_DST, OUTPUT_DST::MEM),
        (WINOGRAD, WINOGRAD::OFF),
        (BATCH_NUMBER, 1),
        (PROC_PRECISION, INT8),
        (OUT_PRECISION, INT8),
        (CVT_OFFSET, converter.offset as u32),
        (CVT_SCALE, i32::from(converter.scale) as u32),
        (CVT_SHIFT, converter.shift),
    ];
    program.checked_fields(Unit::Sdp, &fields)
}

/// One operand a channel for BS.
fn sdp_rdma_registers(program: &mut Program, part: &Part, operands: u64) -> Result<(), FieldOverflow> {
    use sdp_rdma::{
        d_brdma_cfg::*, d_bs_base_addr_high::*, d_bs_base_addr_low::*, d_data_cube_channel::*,
        d_data_cube_height::*, d_data_cube_width::*, d_erdma_cfg::*, d_feature_mode_cfg::*, d_nrdma_cfg::*,
    };
    let fields = [
        (WIDTH, part.output.width),
        (HEIGHT, part.output.height),
        (CHANNEL, part.output.channels),
        (BRDMA_DISABLE, 0),
        (BRDMA_DATA_USE, BRDMA_DATA_USE::ALU),
        (BRDMA_DATA_SIZE, 1),
        (BRDMA_DATA_MODE, 0),
        (BRDMA_RAM_TYPE, PRIMARY),
        (BS_BASE_ADDR_LOW, low(operands)),
        (BS_BASE_ADDR_HIGH, high(operands)),
        (NRDMA_DISABLE, 1),
        (ERDMA_DISABLE, 1),
        (FLYING_MODE, FLYING_MODE::ON),
        (WINOGRAD, WINOGRAD::OFF),
        (IN_PRECISION, INT8),
        (PROC_PRECISION, INT8),
        (OUT_PRECISION, INT8),
        (BATCH_NUMBER, 1),
    ];
    program.checked_fields(Unit::SdpRdma, &fields)
}

/// Everything but the enables of a pooling from memory to memory.
pub(super) fn pooling(program: &mut Program, part: &Part, pooling: &Pooling) -> Result<(), FieldOverflow> {
    pdp_rdma_registers(program, part)?;
    pdp_registers(program, part, pooling.method)
}

fn pdp_rdma_registers(program: &mut Program, part: &Part) -> Result<(), FieldOverflow> {
    use pdp_rdma::{
        d_data_cube_in_channel::*, d_data_cube_in_height::*, d_data_cube_in_width::*, d_data_format::*,
        d_flying_mode::*, d_operation_mode_cfg::*, d_pooling_kernel_cfg::*, d_pooling_padding_cfg::*,
        d_src_base_addr_high::*, d_src_base_addr_low::*, d_src_line_stride::*, d_src_ram_cfg::*,
        d_src_surface_stride::*,
    };
    let &Part { input, window, source, .. } = part;
    let fields = [
        (CUBE_IN_WIDTH, input.width),
        (CUBE_IN_HEIGHT, input.height),
        (CUBE_IN_CHANNEL, input.channels),
        (FLYING_MODE, FLYING_MODE::OFF_FLYING),
        (SRC_BASE_ADDR_LOW, low(source.base)),
        (SRC_BASE_ADDR_HIGH, high(source.base)),
        (SRC_LINE_STRIDE, source.line_stride),
        (SRC_SURFACE_STRIDE, source.surface_stride),
        (SRC_RAM_TYPE, PRIMARY),
        (INPUT_DATA, INT8),
        (SPLIT_NUM, 1),
        (KERNEL_WIDTH, window.size[0]),
        (KERNEL_STRIDE_WIDTH, window.stride[0]),
        (PAD_WIDTH, window.before[0]),
    ];
    program.checked_fields(Unit::PdpRdma, &fields)
}

fn pdp_registers(program: &mut Program, part: &Part, method: Method) -> Result<(), FieldOverflow> {
    use pdp::{
        d_data_cube_in_channel::*, d_data_cube_in_height::*, d_data_cube_in_width::*,
        d_data_cube_out_channel::*, d_data_cube_out_height::*, d_data_cube_out_width::*, d_data_format::*,
        d_dst_base_addr_high::*, d_dst_base_addr_low::*, d_dst_line_stride::*, d_dst_ram_cfg::*,
        d_dst_surface_stride::*, d_operation_mode_cfg::*, d_pooling_kernel_cfg::*, d_pooling_padding_cfg::*,
        d_recip_kernel_height::*, d_recip_kernel_width::*,
    };
    let &Part { input, output, window, destination, .. } = part;
    let method = match method {
        Method::Average => POOLING_METHOD::POOLING_METHOD_AVERAGE,
        Method::Max => POOLING_METHOD::POOLING_METHOD_MAX,
        Method::Min => POOLING_METHOD::POOLING_METHOD_MIN,
    };
    let fields = [
        (CUBE_IN_WIDTH, input.width),
        (CUBE_IN_HEIGHT, input.height),
        (CUBE_IN_CHANNEL, input.channels),
        (CUBE_OUT_WIDTH, output.width),
        (CUBE_OUT_HEIGHT, output.height),
        (CUBE_OUT_CHANNEL, output.channels),
        (POOLING_METHOD, method),
        (FLYING_MODE, FLYING_MODE::OFF_FLYING),
        (SPLIT_NUM, 1),
        (KERNEL_WIDTH, window.size[0]),
        (KERNEL_HEIGHT, window.size[1]),
        (KERNEL_STRIDE_WIDTH, window.stride[0]),
        (KERNEL_STRIDE_HEIGHT, window.stride[1]),
        (RECIP_KERNEL_WIDTH, reciprocal(window.size[0])),
        (RECIP_KERNEL_HEIGHT, reciprocal(window.size[1])),
        (PAD_LEFT, window.before[0]),
        (PAD_TOP, window.before[1]),
        (PAD_RIGHT, window.after[0]),
        (PAD_BOTTOM, window.after[1]),
        (DST_BASE_ADDR_LOW, low(destination.base)),
        (DST_BASE_ADDR_HIGH, high(destination.base)),
        (DST_LINE_STRIDE, destination.line_stride),
        (DST_SURFACE_STRIDE, destination.surface_stride),
        (DST_RAM_TYPE, PRIMARY),
        (INPUT_DATA, INT8),
    ];
    // An average counts padding as zeros, however many columns of a window are missing.
    let padding = Unit::Pdp.registers().iter().flat_map(|register| register.fields).filter_map(|&field| {
        let of_padding: fn(FieldRef) -> bool = |field| field.name.starts_with("PAD_VALUE_");
        of_padding(field).then_some((field, 0))
    });
    program.checked_fields(Unit::Pdp, &fields.into_iter().chain(padding).collect::<Vec<_>>())
}

/// The factor that divides by a window's columns or rows: in 1/65536ths (hardware manual, `RECIP_KERNEL_WIDTH`).
fn reciprocal(size: u32) -> u32 {
    65_536 / size.max(1)
}
