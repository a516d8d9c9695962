//! The register writes of an operation, as the vendor's driver makes them.
//!
//! Values are quantities; the table of registers knows how they are encoded. What the driver leaves alone is left
//! alone: such registers keep what an earlier operation wrote to the same group.

mod convolution;
mod lut;
mod sdp;

use super::layout;
use super::network::{Copy, Cube, Operation, TensorPlace, What, cube};
use super::places::Places;
use crate::host::program::Program;
use crate::nvdla::registers::{FieldRef, Unit, bdma, cdp, cdp_rdma, pdp, pdp_rdma, rbk};

pub(super) use lut::load as load_lut;

/// An operation's registers, and the units that are enabled for it, in order.
#[derive(Debug)]
pub(super) struct Registers {
    pub(super) program: Program,
    pub(super) enables: Vec<Unit>,
}

/// The writes of an operation, all but its table and its enables. BDMA's are of another kind: [`transfer`].
pub(super) fn of(operation: &Operation, places: &Places) -> Registers {
    let mut program = Program::new(places.map);
    let enables = match &operation.what {
        What::Bdma(_) => Vec::new(),
        What::Convolution { descriptor, cubes, offset_u, uv_line_stride } => {
            convolution::write(&mut program, places, descriptor, cubes, *offset_u, *uv_line_stride)
        }
        What::Sdp { descriptor, cubes, .. } => sdp::write(&mut program, places, descriptor, cubes),
        What::Pdp { descriptor, cubes } => pooling(&mut program, places, descriptor, cubes),
        What::Cdp { descriptor, cubes, .. } => normalisation(&mut program, places, descriptor, cubes),
        What::Rubik { descriptor, cubes } => reshaping(&mut program, places, descriptor, cubes),
    };
    Registers { program, enables }
}

/// Whether the operation has the unit's own read DMA read for it.
pub(super) fn uses_rdma(operation: &Operation) -> bool {
    match &operation.what {
        What::Sdp { descriptor, cubes, .. } => sdp::needs_rdma(descriptor, cubes),
        What::Pdp { cubes, .. } => cubes[cube::SOURCE].place != TensorPlace::OnTheFly,
        What::Cdp { .. } => true,
        What::Bdma(_) | What::Convolution { .. } | What::Rubik { .. } => false,
    }
}

/// Fields of a 64-bit address: its low and its high word.
type AddressFields = (FieldRef, FieldRef);

fn address(fields: AddressFields, at: u64) -> [(FieldRef, u32); 2] {
    [(fields.0, at as u32), (fields.1, (at >> 32) as u32)]
}

fn extent(cube: &Cube, fields: [FieldRef; 3]) -> [(FieldRef, u32); 3] {
    [(fields[0], cube.width), (fields[1], cube.height), (fields[2], cube.channels)]
}

/// A field that counts from zero, but in which nothing is nothing.
fn minus_one(value: zerocopy::little_endian::U16) -> u32 {
    u32::from(value.get()).max(1)
}

/// Bytes of an element of a precision, by its code.
fn element_bytes(precision: u8) -> u32 {
    if precision == 0 { 1 } else { 2 }
}

fn pooling(program: &mut Program, places: &Places, pooling: &layout::Pdp, cubes: &[Cube; 2]) -> Vec<Unit> {
    let [source, destination] = cubes;
    let from_memory = source.place != TensorPlace::OnTheFly;
    if from_memory {
        pooling_rdma(program, places, pooling, source);
    }
    use pdp::{
        d_data_cube_in_channel::*, d_data_cube_in_height::*, d_data_cube_in_width::*,
        d_data_cube_out_channel::*, d_data_cube_out_height::*, d_data_cube_out_width::*, d_data_format::*,
        d_dst_base_addr_high::*, d_dst_base_addr_low::*, d_dst_line_stride::*, d_dst_ram_cfg::*,
        d_dst_surface_stride::*, d_operation_mode_cfg::*, d_partial_width_in::*, d_partial_width_out::*,
        d_pooling_kernel_cfg::*, d_pooling_padding_cfg::*, d_pooling_padding_value_1_cfg::*,
        d_pooling_padding_value_2_cfg::*, d_pooling_padding_value_3_cfg::*, d_pooling_padding_value_4_cfg::*,
        d_pooling_padding_value_5_cfg::*, d_pooling_padding_value_6_cfg::*, d_pooling_padding_value_7_cfg::*,
        d_recip_kernel_height::*, d_recip_kernel_width::*, d_src_line_stride::*, d_src_surface_stride::*,
    };
    let unit = Unit::Pdp;
    let (to, ram) = places.of(destination);
    let [first, mid, last] = pooling.partial_in.map(minus_one);
    let [out_first, out_mid, out_last] = pooling.partial_out.map(minus_one);
    let (width, height) = (u32::from(pooling.pool_width) + 1, u32::from(pooling.pool_height) + 1);
    let padding =
        [PAD_VALUE_1X, PAD_VALUE_2X, PAD_VALUE_3X, PAD_VALUE_4X, PAD_VALUE_5X, PAD_VALUE_6X, PAD_VALUE_7X];
    program.fields(unit, &extent(source, [CUBE_IN_WIDTH, CUBE_IN_HEIGHT, CUBE_IN_CHANNEL]));
    program.fields(unit, &extent(destination, [CUBE_OUT_WIDTH, CUBE_OUT_HEIGHT, CUBE_OUT_CHANNEL]));
    program.fields(
        unit,
        &[
            (POOLING_METHOD, pooling.mode.into()),
            (FLYING_MODE, from_memory.into()),
            (SPLIT_NUM, pooling.splits.into()),
            (PARTIAL_WIDTH_IN_FIRST, first),
            (PARTIAL_WIDTH_IN_MID, mid),
            (PARTIAL_WIDTH_IN_LAST, last),
            (PARTIAL_WIDTH_OUT_FIRST, out_first),
            (PARTIAL_WIDTH_OUT_MID, out_mid),
            (PARTIAL_WIDTH_OUT_LAST, out_last),
            (KERNEL_WIDTH, width),
            (KERNEL_HEIGHT, height),
            (KERNEL_STRIDE_WIDTH, pooling.stride_x.into()),
            (KERNEL_STRIDE_HEIGHT, pooling.stride_y.into()),
            (RECIP_KERNEL_WIDTH, reciprocal(width, pooling.precision)),
            (RECIP_KERNEL_HEIGHT, reciprocal(height, pooling.precision)),
            (PAD_LEFT, pooling.pad_left.into()),
            (PAD_TOP, pooling.pad_top.into()),
            (PAD_RIGHT, pooling.pad_right.into()),
            (PAD_BOTTOM, pooling.pad_bottom.into()),
        ],
    );
    for (field, value) in padding.into_iter().zip(pooling.padding_values) {
        program.fields(unit, &[(field, value.get() as u32)]);
    }
    if from_memory {
        program.fields(
            unit,
            &[(SRC_LINE_STRIDE, source.line_stride), (SRC_SURFACE_STRIDE, source.surface_stride)],
        );
    }
    program.fields(unit, &address((DST_BASE_ADDR_LOW, DST_BASE_ADDR_HIGH), to));
    program.fields(
        unit,
        &[
            (DST_LINE_STRIDE, destination.line_stride),
            (DST_SURFACE_STRIDE, destination.surface_stride),
            (DST_RAM_TYPE, ram),
            (INPUT_DATA, pooling.precision.into()),
        ],
    );
    from_memory.then_some(Unit::PdpRdma).into_iter().chain([unit]).collect()
}

fn pooling_rdma(program: &mut Program, places: &Places, pooling: &layout::Pdp, source: &Cube) {
    use pdp_rdma::{
        d_data_cube_in_channel::*, d_data_cube_in_height::*, d_data_cube_in_width::*, d_data_format::*,
        d_operation_mode_cfg::*, d_partial_width_in::*, d_pooling_kernel_cfg::*, d_pooling_padding_cfg::*,
        d_src_base_addr_high::*, d_src_base_addr_low::*, d_src_line_stride::*, d_src_ram_cfg::*,
        d_src_surface_stride::*,
    };
    let unit = Unit::PdpRdma;
    let (from, ram) = places.of(source);
    let [first, mid, last] = pooling.partial_in.map(minus_one);
    program.fields(unit, &extent(source, [CUBE_IN_WIDTH, CUBE_IN_HEIGHT, CUBE_IN_CHANNEL]));
    program.fields(unit, &address((SRC_BASE_ADDR_LOW, SRC_BASE_ADDR_HIGH), from));
    program.fields(
        unit,
        &[
            (SRC_LINE_STRIDE, source.line_stride),
            (SRC_SURFACE_STRIDE, source.surface_stride),
            (INPUT_DATA, pooling.precision.into()),
            (SRC_RAM_TYPE, ram),
            (SPLIT_NUM, pooling.splits.into()),
            (KERNEL_WIDTH, u32::from(pooling.pool_width) + 1),
            (KERNEL_STRIDE_WIDTH, pooling.stride_x.into()),
            (PAD_WIDTH, pooling.pad_left.into()),
            (PARTIAL_WIDTH_IN_FIRST, first),
            (PARTIAL_WIDTH_IN_MID, mid),
            (PARTIAL_WIDTH_IN_LAST, last),
        ],
    );
}

/// One over a kernel's extent: in 1/65536, or in fp17, a half with one bit more of exponent.
fn reciprocal(extent: u32, precision: u8) -> u32 {
    /// Of 1 to 8, rounded towards zero.
    const FP17: [u32; 8] = [0x7c00, 0x7800, 0x7555, 0x7400, 0x7266, 0x7155, 0x7092, 0x7000];
    const FP16: u8 = 2;
    let float = usize::try_from(extent.saturating_sub(1)).ok().and_then(|at| FP17.get(at));
    match float {
        Some(float) if precision == FP16 => *float,
        _ => 0x1_0000 / extent.max(1),
    }
}

fn normalisation(program: &mut Program, places: &Places, lrn: &layout::Cdp, cubes: &[Cube; 2]) -> Vec<Unit> {
    let [source, destination] = cubes;
    {
        use cdp_rdma::{
            d_data_cube_channel::*, d_data_cube_height::*, d_data_cube_width::*, d_data_format::*,
            d_src_base_addr_high::*, d_src_base_addr_low::*, d_src_dma_cfg::*, d_src_line_stride::*,
            d_src_surface_stride::*,
        };
        let (from, ram) = places.of(source);
        program.fields(Unit::CdpRdma, &extent(source, [WIDTH, HEIGHT, CHANNEL]));
        program.fields(Unit::CdpRdma, &address((SRC_BASE_ADDR_LOW, SRC_BASE_ADDR_HIGH), from));
        program.fields(
            Unit::CdpRdma,
            &[
                (SRC_LINE_STRIDE, source.line_stride),
                (SRC_SURFACE_STRIDE, source.surface_stride),
                (SRC_RAM_TYPE, ram),
                (INPUT_DATA, lrn.in_precision.into()),
            ],
        );
    }
    use cdp::{
        d_data_format::*, d_datin_offset::*, d_datin_scale::*, d_datin_shifter::*, d_datout_offset::*,
        d_datout_scale::*, d_datout_shifter::*, d_dst_base_addr_high::*, d_dst_base_addr_low::*,
        d_dst_dma_cfg::*, d_dst_line_stride::*, d_dst_surface_stride::*, d_func_bypass::*, d_lrn_cfg::*,
    };
    let (to, ram) = places.of(destination);
    program.fields(Unit::Cdp, &address((DST_BASE_ADDR_LOW, DST_BASE_ADDR_HIGH), to));
    program.fields(
        Unit::Cdp,
        &[
            (DST_LINE_STRIDE, destination.line_stride),
            (DST_SURFACE_STRIDE, destination.surface_stride),
            (DST_RAM_TYPE, ram),
            (INPUT_DATA_TYPE, lrn.in_precision.into()),
            // 3, 5, 7 or 9 channels are 0 to 3.
            (NORMALZ_LEN, (u32::from(lrn.local_size).saturating_sub(1) / 2).saturating_sub(1)),
            (DATIN_OFFSET, lrn.input.offset.get() as u32),
            (DATIN_SCALE, i32::from(lrn.input.scale.get()) as u32),
            (DATIN_SHIFTER, lrn.input.truncate.into()),
            (DATOUT_OFFSET, lrn.output.offset.get() as u32),
            (DATOUT_SCALE, i32::from(lrn.output.scale.get()) as u32),
            (DATOUT_SHIFTER, lrn.output.truncate.into()),
            (SQSUM_BYPASS, lrn.bypass_square_sum.into()),
            (MUL_BYPASS, lrn.bypass_output_multiply.into()),
        ],
    );
    vec![Unit::CdpRdma, Unit::Cdp]
}

fn reshaping(program: &mut Program, places: &Places, rubik: &layout::Rubik, cubes: &[Cube; 2]) -> Vec<Unit> {
    use rbk::{
        d_contract_stride_0::*, d_contract_stride_1::*, d_dain_addr_high::*, d_dain_addr_low::*,
        d_dain_line_stride::*, d_dain_planar_stride::*, d_dain_ram_type::*, d_dain_surf_stride::*,
        d_daout_addr_high::*, d_daout_addr_low::*, d_daout_line_stride::*, d_daout_planar_stride::*,
        d_daout_ram_type::*, d_daout_surf_stride::*, d_datain_size_0::*, d_datain_size_1::*,
        d_dataout_size_1::*, d_deconv_stride::*, d_misc_cfg::*,
    };
    const CONTRACT: u32 = RUBIK_MODE::CONTRACT;
    const SPLIT: u32 = RUBIK_MODE::SPLIT;
    const MERGE: u32 = RUBIK_MODE::MERGE;
    /// Bytes of an atom: RUBIK exists where atoms have 32.
    const ATOM: u32 = 32;
    let [source, destination] = cubes;
    let mode = u32::from(rubik.mode);
    let ((from, from_ram), (to, to_ram)) = (places.of(source), places.of(destination));
    let unit = Unit::Rbk;
    program.fields(
        unit,
        &[
            (RUBIK_MODE, mode),
            (IN_PRECISION, rubik.precision.into()),
            (DATAIN_RAM_TYPE, from_ram),
            (DATAIN_WIDTH, source.width),
            (DATAIN_HEIGHT, source.height),
            (DATAIN_CHANNEL, source.channels),
        ],
    );
    program.fields(unit, &address((DAIN_ADDR_LOW, DAIN_ADDR_HIGH), from));
    let planes = if mode == MERGE { DAIN_PLANAR_STRIDE } else { DAIN_SURF_STRIDE };
    program.fields(
        unit,
        &[
            (planes, source.surface_stride),
            (DAIN_LINE_STRIDE, source.line_stride),
            (DATAOUT_RAM_TYPE, to_ram),
            (DATAOUT_CHANNEL, destination.channels),
        ],
    );
    program.fields(unit, &address((DAOUT_ADDR_LOW, DAOUT_ADDR_HIGH), to));
    program.fields(unit, &[(DAOUT_LINE_STRIDE, destination.line_stride)]);
    if mode == SPLIT {
        program.fields(unit, &[(DAOUT_PLANAR_STRIDE, destination.surface_stride)]);
    } else {
        program.fields(unit, &[(DAOUT_SURF_STRIDE, destination.surface_stride)]);
    }
    if mode == CONTRACT {
        let surfaces = (destination.channels * element_bytes(rubik.precision)).div_ceil(ATOM);
        let (x, y) = (u32::from(rubik.stride_x), u32::from(rubik.stride_y));
        program.fields(
            unit,
            &[
                (CONTRACT_STRIDE_0, surfaces.wrapping_mul(source.surface_stride)),
                (CONTRACT_STRIDE_1, y.wrapping_mul(destination.line_stride)),
                (DECONV_X_STRIDE, x),
                (DECONV_Y_STRIDE, y),
            ],
        );
    }
    vec![unit]
}

/// The writes that put one transfer into BDMA's queue.
pub(super) fn transfer(copy: &Copy, places: &Places) -> Program {
    use bdma::{
        cfg_cmd, cfg_dst_addr_high, cfg_dst_addr_low, cfg_dst_line, cfg_dst_surf, cfg_line, cfg_line_repeat,
        cfg_op, cfg_src_addr_high, cfg_src_addr_low, cfg_src_line, cfg_src_surf, cfg_surf_repeat,
    };
    let mut program = Program::new(places.map);
    let ((from, from_ram), (to, to_ram)) = (places.address(copy.source), places.address(copy.destination));
    let shape = &copy.shape;
    let unit = Unit::Bdma;
    program.fields(unit, &address((cfg_src_addr_low::V32, cfg_src_addr_high::V8), from));
    program.fields(unit, &address((cfg_dst_addr_low::V32, cfg_dst_addr_high::V8), to));
    program.fields(
        unit,
        &[
            // In units of 32 bytes.
            (cfg_line::SIZE, shape.line_size.get() / 32),
            (cfg_cmd::SRC_RAM_TYPE, from_ram),
            (cfg_cmd::DST_RAM_TYPE, to_ram),
            (cfg_line_repeat::NUMBER, shape.line_repeat.get()),
            (cfg_src_line::STRIDE, shape.source_line.get()),
            (cfg_dst_line::STRIDE, shape.destination_line.get()),
            (cfg_surf_repeat::NUMBER, shape.surface_repeat.get()),
            (cfg_src_surf::STRIDE, shape.source_surface.get()),
            (cfg_dst_surf::STRIDE, shape.destination_surface.get()),
            (cfg_op::EN, 1),
        ],
    );
    program
}
