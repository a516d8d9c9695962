//! SDP's registers, and its read DMA's.

use super::super::layout::{self, Stage};
use super::super::network::{Cube, TensorPlace, cube};
use super::super::places::Places;
use super::{address, extent};
use crate::program::Program;
use vp_models::nvdla::registers::{Unit, sdp, sdp_rdma};
use vp_models::nvdla::sdp::fields::{BN, BS, EW, ShiftFields, StageFields};

/// Codes of the descriptor.
pub(in super::super) mod code {
    pub(in super::super::super) const MULTIPLY: u8 = 1;
    pub(in super::super::super) const ADD: u8 = 2;
    pub(in super::super::super) const BOTH: u8 = 3;
    pub(in super::super::super) const PER_LAYER: u8 = 0;
    pub(in super::super::super) const PER_KERNEL: u8 = 1;
    pub(in super::super::super) const PER_ELEMENT: u8 = 2;
    pub(in super::super::super) const RELU: u8 = 1;
    pub(in super::super::super) const LUT: u8 = 2;
    pub(in super::super::super) const PRELU: u8 = 3;
    pub(in super::super::super) const WINOGRAD: u8 = 1;
    pub(in super::super::super) const INT8: u8 = 0;
    pub(in super::super::super) const INT16: u8 = 1;
}

impl Stage {
    fn is_on(&self) -> bool {
        self.enable != 0
    }

    /// Returns true if results differ from what comes in.
    pub(in super::super) fn changes_anything(&self) -> bool {
        self.is_on() && (self.adds() || self.multiplies() || self.activation != 0)
    }

    /// Returns true if results are looked up in a table.
    pub(in super::super) fn looks_up(&self) -> bool {
        self.is_on() && self.activation == code::LUT
    }

    fn adds(&self) -> bool {
        matches!(self.operation, code::ADD | code::BOTH)
    }

    fn multiplies(&self) -> bool {
        matches!(self.operation, code::MULTIPLY | code::BOTH)
    }

    /// Returns true if its operands come from memory.
    pub(in super::super) fn reads_memory(&self) -> bool {
        self.is_on() && (self.adds() || self.multiplies()) && self.mode != code::PER_LAYER
    }

    /// Returns true if operands from memory are one set for each element, and not for each channel.
    pub(in super::super) fn is_for_each_element(&self) -> bool {
        self.mode != code::PER_KERNEL
    }

    /// Bytes of a set of operands from memory.
    pub(in super::super) fn operand_bytes(&self) -> u32 {
        let each = if self.precision == code::INT8 { 1 } else { 2 };
        if self.operation == code::BOTH { 2 * each } else { each }
    }
}

impl layout::Sdp {
    /// Code of the precision that it computes in: its source's, unless it narrows.
    pub(in super::super) fn processing(&self) -> u8 {
        let narrows = self.src_precision == code::INT16 && self.dst_precision == code::INT8;
        if narrows { code::INT8 } else { self.src_precision }
    }
}

/// Returns true if the read DMA has anything to do.
pub(super) fn needs_rdma(sdp: &layout::Sdp, cubes: &[Cube; 5]) -> bool {
    let by_layer = |stage: &Stage| !stage.is_on() || stage.mode == code::PER_LAYER;
    cubes[cube::SDP_SOURCE].place != TensorPlace::OnTheFly || !sdp.stages.iter().all(by_layer)
}

pub(super) fn write(
    program: &mut Program,
    places: &Places,
    sdp: &layout::Sdp,
    cubes: &[Cube; 5],
) -> Vec<Unit> {
    let needs_rdma = needs_rdma(sdp, cubes);
    read_dma(program, places, sdp, cubes, needs_rdma);
    use sdp::{
        D_CVT_OFFSET::*, D_CVT_SCALE::*, D_CVT_SHIFT::*, D_DATA_CUBE_CHANNEL::*, D_DATA_CUBE_HEIGHT::*,
        D_DATA_CUBE_WIDTH::*, D_DATA_FORMAT::*, D_DST_BASE_ADDR_HIGH::*, D_DST_BASE_ADDR_LOW::*,
        D_DST_BATCH_STRIDE::*, D_DST_DMA_CFG::*, D_DST_LINE_STRIDE::*, D_DST_SURFACE_STRIDE::*,
        D_FEATURE_MODE_CFG::*,
    };
    let (source, destination) = (&cubes[cube::SDP_SOURCE], &cubes[cube::SDP_DESTINATION]);
    let unit = Unit::Sdp;
    let to_memory = destination.place != TensorPlace::OnTheFly;
    let (to, ram) = places.of(destination);
    program.fields(unit, &extent(source, [WIDTH, HEIGHT, CHANNEL]));
    if to_memory {
        program.fields(unit, &address((DST_BASE_ADDR_LOW, DST_BASE_ADDR_HIGH), to));
        let strides =
            [(DST_LINE_STRIDE, destination.line_stride), (DST_SURFACE_STRIDE, destination.surface_stride)];
        program.fields(unit, &strides);
    }
    stage(program, &sdp.stages[0], &BS);
    stage(program, &sdp.stages[1], &BN);
    element_wise(program, &sdp.stages[2]);
    let batches = u32::from(sdp.batch.max(1));
    program.fields(
        unit,
        &[
            (FLYING_MODE, (source.place == TensorPlace::OnTheFly).into()),
            (OUTPUT_DST, (!to_memory).into()),
            (WINOGRAD, (sdp.conv_mode == code::WINOGRAD).into()),
            (BATCH_NUMBER, batches),
            (DST_RAM_TYPE, ram),
        ],
    );
    if batches > 1 {
        program.fields(unit, &[(DST_BATCH_STRIDE, sdp.batch_stride.get())]);
    }
    program.fields(
        unit,
        &[
            (PROC_PRECISION, sdp.processing().into()),
            (OUT_PRECISION, sdp.dst_precision.into()),
            (CVT_OFFSET, sdp.output.offset.get() as u32),
            (CVT_SCALE, i32::from(sdp.output.scale.get()) as u32),
            (CVT_SHIFT, sdp.output.truncate.into()),
        ],
    );
    needs_rdma.then_some(Unit::SdpRdma).into_iter().chain([unit]).collect()
}

fn read_dma(program: &mut Program, places: &Places, sdp: &layout::Sdp, cubes: &[Cube; 5], needed: bool) {
    use sdp_rdma::{
        D_BRDMA_CFG::BRDMA_DATA_USE, D_DATA_CUBE_CHANNEL::*, D_DATA_CUBE_HEIGHT::*, D_DATA_CUBE_WIDTH::*,
        D_FEATURE_MODE_CFG::*, D_SRC_BASE_ADDR_HIGH::*, D_SRC_BASE_ADDR_LOW::*, D_SRC_DMA_CFG::*,
        D_SRC_LINE_STRIDE::*, D_SRC_SURFACE_STRIDE::*,
    };
    const OPERANDS: [StageFields; 3] = [BS.stage, BN.stage, EW];
    let unit = Unit::SdpRdma;
    let source = &cubes[cube::SDP_SOURCE];
    let flying = source.place == TensorPlace::OnTheFly;
    for operands in &OPERANDS {
        program.fields(unit, &[(operands.disable, 0)]);
    }
    program.fields(
        unit,
        &[
            (FLYING_MODE, flying.into()),
            (WINOGRAD, (sdp.conv_mode == code::WINOGRAD).into()),
            (IN_PRECISION, sdp.src_precision.into()),
            (PROC_PRECISION, sdp.processing().into()),
            (OUT_PRECISION, sdp.dst_precision.into()),
            (BATCH_NUMBER, u32::from(sdp.batch.max(1))),
        ],
    );
    if !needed {
        return;
    }
    program.fields(unit, &extent(source, [WIDTH, HEIGHT, CHANNEL]));
    if !flying {
        let (from, ram) = places.of(source);
        program.fields(unit, &address((SRC_BASE_ADDR_LOW, SRC_BASE_ADDR_HIGH), from));
        program.fields(
            unit,
            &[
                (SRC_LINE_STRIDE, source.line_stride),
                (SRC_SURFACE_STRIDE, source.surface_stride),
                (SRC_RAM_TYPE, ram),
            ],
        );
    }
    for ((operands, stage), cube) in OPERANDS.iter().zip(&sdp.stages).zip(&cubes[cube::X1..]) {
        let (from, ram) = places.of(cube);
        let data_use = match stage.operation {
            code::BOTH => BRDMA_DATA_USE::BOTH,
            code::ADD => BRDMA_DATA_USE::ALU,
            _ => BRDMA_DATA_USE::MUL,
        };
        program.fields(
            unit,
            &[
                (operands.disable, (!stage.reads_memory()).into()),
                (operands.data_use, data_use),
                (operands.data_size, (stage.precision != code::INT8).into()),
                (operands.data_mode, (stage.mode != code::PER_KERNEL).into()),
                (operands.place.ram, ram),
            ],
        );
        if stage.reads_memory() {
            let [low, high] = operands.place.base;
            program.fields(unit, &address((low, high), from));
            let strides = [
                (operands.place.line_stride, cube.line_stride),
                (operands.place.surface_stride, cube.surface_stride),
            ];
            program.fields(unit, &strides);
        }
    }
}

/// Returns 1 if an operand comes from memory, and 0 if it comes from a register.
fn from_memory(stage: &Stage) -> u32 {
    (stage.mode != code::PER_LAYER).into()
}

fn stage(program: &mut Program, stage: &Stage, shifts: &ShiftFields) {
    let (unit, fields) = (Unit::Sdp, &shifts.stage);
    program.fields(
        unit,
        &[
            (fields.bypass, (!stage.is_on()).into()),
            (fields.alu_bypass, (!stage.adds()).into()),
            (fields.alu_algo, stage.alu.into()),
            (fields.mul_bypass, (!stage.multiplies()).into()),
            (fields.mul_prelu, (stage.activation == code::PRELU).into()),
            (shifts.relu_bypass, (stage.activation != code::RELU).into()),
        ],
    );
    if !stage.is_on() {
        return;
    }
    if stage.adds() {
        let shift = u32::from(stage.shift);
        program.fields(unit, &[(fields.alu_source, from_memory(stage)), (shifts.alu_shift, shift)]);
    }
    if stage.mode == code::PER_LAYER {
        program.fields(unit, &[(fields.alu_operand, stage.alu_operand.get() as u32)]);
        program.fields(unit, &[(fields.mul_operand, stage.mul_operand.get() as u32)]);
    }
    let shift = u32::from(stage.truncate);
    program.fields(unit, &[(fields.mul_source, from_memory(stage)), (shifts.mul_shift, shift)]);
}

fn element_wise(program: &mut Program, stage: &Stage) {
    use sdp::{
        D_DP_EW_ALU_CFG::*, D_DP_EW_ALU_CVT_OFFSET_VALUE::*, D_DP_EW_ALU_CVT_SCALE_VALUE::*,
        D_DP_EW_ALU_CVT_TRUNCATE_VALUE::*, D_DP_EW_ALU_SRC_VALUE::*, D_DP_EW_CFG::*, D_DP_EW_MUL_CFG::*,
        D_DP_EW_MUL_CVT_OFFSET_VALUE::*, D_DP_EW_MUL_CVT_SCALE_VALUE::*, D_DP_EW_MUL_CVT_TRUNCATE_VALUE::*,
        D_DP_EW_MUL_SRC_VALUE::*, D_DP_EW_TRUNCATE_VALUE::*,
    };
    let unit = Unit::Sdp;
    program.fields(
        unit,
        &[
            (EW_BYPASS, (!stage.is_on()).into()),
            (EW_ALU_BYPASS, (!stage.adds()).into()),
            (EW_ALU_ALGO, stage.alu.into()),
            (EW_MUL_BYPASS, (!stage.multiplies()).into()),
            (EW_MUL_PRELU, (stage.activation == code::PRELU).into()),
            (EW_LUT_BYPASS, (stage.activation != code::LUT).into()),
        ],
    );
    if !stage.is_on() {
        return;
    }
    let per_layer = stage.mode == code::PER_LAYER;
    if stage.adds() {
        let converter = &stage.alu_converter;
        let bypass = (converter.enable == 0).into();
        program.fields(unit, &[(EW_ALU_SRC, from_memory(stage)), (EW_ALU_CVT_BYPASS, bypass)]);
        if per_layer {
            program.fields(unit, &[(EW_ALU_OPERAND, stage.alu_operand.get() as u32)]);
        } else {
            program.fields(
                unit,
                &[
                    (EW_ALU_CVT_OFFSET, converter.offset.get() as u32),
                    (EW_ALU_CVT_SCALE, i32::from(converter.scale.get()) as u32),
                    (EW_ALU_CVT_TRUNCATE, converter.truncate.into()),
                ],
            );
        }
    }
    if stage.multiplies() {
        let converter = &stage.mul_converter;
        let bypass = (converter.enable == 0).into();
        program.fields(unit, &[(EW_MUL_SRC, from_memory(stage)), (EW_MUL_CVT_BYPASS, bypass)]);
        if per_layer {
            program.fields(unit, &[(EW_MUL_OPERAND, stage.mul_operand.get() as u32)]);
        } else {
            program.fields(
                unit,
                &[
                    (EW_MUL_CVT_OFFSET, converter.offset.get() as u32),
                    (EW_MUL_CVT_SCALE, i32::from(converter.scale.get()) as u32),
                    (EW_MUL_CVT_TRUNCATE, converter.truncate.into()),
                ],
            );
        }
    }
    program.fields(unit, &[(EW_TRUNCATE, stage.truncate.into())]);
}
