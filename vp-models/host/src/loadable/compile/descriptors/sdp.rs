//! SDP and SDP_RDMA, behind a convolution or from memory.

use super::{CubeDescriptor, Described, OperationDescriptor, byte, converter, lanes, place};
use crate::loadable::compile::groups::Groups;
use crate::loadable::layout::{self, Stage};
use crate::loadable::registers::sdp::code;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::{FieldRef, Group, Unit, sdp, sdp_rdma};
use vp_models::nvdla::sdp::fields::{BN, BS, DESTINATION, EW, PlaceFields, SOURCE, ShiftFields, StageFields};
use zerocopy::FromZeros;

pub(super) fn of(groups: &Groups, atom: u32, table: Option<i16>) -> Described {
    use sdp::{
        D_CVT_OFFSET::*, D_CVT_SCALE::*, D_CVT_SHIFT::*, D_DATA_FORMAT::*, D_DST_BATCH_STRIDE::*,
        D_FEATURE_MODE_CFG::*,
    };
    let [sdp, rdma] = [Unit::Sdp, Unit::SdpRdma].map(|unit| groups.of(unit));
    let stages = [stage(sdp, rdma, &BS), stage(sdp, rdma, &BN), element_wise(sdp, rdma)];
    let from_memory = !sdp.flag(FLYING_MODE);
    let processing = sdp.get(PROC_PRECISION);
    let source_precision = match from_memory {
        true => rdma.get(sdp_rdma::D_FEATURE_MODE_CFG::IN_PRECISION),
        false => processing,
    };
    let operation = OperationDescriptor::Sdp(layout::Sdp {
        src_precision: source_precision as u8,
        dst_precision: byte(sdp, OUT_PRECISION),
        lut: table.unwrap_or(-1).into(),
        output: converter(sdp, [CVT_OFFSET, CVT_SCALE, CVT_SHIFT]),
        conv_mode: byte(sdp, WINOGRAD),
        batch: byte(sdp, BATCH_NUMBER),
        batch_stride: sdp.actual(DST_BATCH_STRIDE).into(),
        stages,
        ..layout::Sdp::new_zeroed()
    });
    Described { operation, cubes: cubes((sdp, rdma), &stages, (atom, processing, source_precision)) }
}

/// Source, X1, X2, Y, destination.
fn cubes(
    (sdp, rdma): (&Group, &Group),
    stages: &[Stage; 3],
    (atom, processing, source_precision): (u32, u32, u32),
) -> Vec<CubeDescriptor> {
    use sdp::{
        D_DATA_CUBE_CHANNEL::CHANNEL, D_DATA_CUBE_HEIGHT::HEIGHT, D_DATA_CUBE_WIDTH::WIDTH, D_DATA_FORMAT::*,
        D_FEATURE_MODE_CFG::*,
    };
    let size = [WIDTH, HEIGHT, CHANNEL].map(|field| sdp.actual(field));
    let cube = |group: &Group, fields: &PlaceFields, lanes| {
        let strides = [fields.line_stride, fields.surface_stride].map(|field| group.actual(field));
        CubeDescriptor::features(place(group, fields.ram, fields.base), size, strides, lanes)
    };
    let source = match sdp.flag(FLYING_MODE) {
        true => CubeDescriptor::on_the_fly(size),
        false => cube(rdma, &SOURCE, lanes(atom, source_precision)),
    };
    let operands = [&BS.stage, &BN.stage, &EW].into_iter().zip(stages).map(|(fields, stage)| {
        if !stage.reads_memory() {
            return CubeDescriptor::NONE;
        }
        if stage.is_for_each_element() {
            // As many lanes as are processed; each with one operand or two.
            let mut operands = cube(rdma, &fields.place, lanes(atom, processing));
            if stage.operation == code::BOTH {
                operands.bytes *= 2;
            }
            return operands;
        }
        let row = size[2] * stage.operand_bytes();
        let cube = CubeDescriptor::row(place(rdma, fields.place.ram, fields.place.base), row);
        let [line_stride, surface_stride] =
            [fields.place.line_stride, fields.place.surface_stride].map(|field| rdma.actual(field));
        CubeDescriptor { size: [1, 1, size[2]], line_stride, surface_stride, ..cube }
    });
    let destination = match sdp.flag(OUTPUT_DST) {
        true => CubeDescriptor::on_the_fly(size),
        false => cube(sdp, &DESTINATION, lanes(atom, sdp.get(OUT_PRECISION))),
    };
    [source].into_iter().chain(operands).chain([destination]).collect()
}

/// Stage BS or BN.
fn stage(sdp: &Group, rdma: &Group, shifts: &ShiftFields) -> Stage {
    let mut stage = common(sdp, rdma, &shifts.stage);
    if stage.enable == 0 {
        return stage;
    }
    stage.activation = match (sdp.flag(shifts.relu_bypass), sdp.flag(shifts.stage.mul_prelu)) {
        (false, _) => code::RELU,
        (true, true) => code::PRELU,
        (true, false) => 0,
    };
    (stage.shift, stage.truncate) = (byte(sdp, shifts.alu_shift), byte(sdp, shifts.mul_shift));
    stage
}

/// Stage EW.
fn element_wise(sdp: &Group, rdma: &Group) -> Stage {
    use sdp::{
        D_DP_EW_ALU_CFG::*, D_DP_EW_ALU_CVT_OFFSET_VALUE::*, D_DP_EW_ALU_CVT_SCALE_VALUE::*,
        D_DP_EW_ALU_CVT_TRUNCATE_VALUE::*, D_DP_EW_CFG::*, D_DP_EW_MUL_CFG::*,
        D_DP_EW_MUL_CVT_OFFSET_VALUE::*, D_DP_EW_MUL_CVT_SCALE_VALUE::*, D_DP_EW_MUL_CVT_TRUNCATE_VALUE::*,
        D_DP_EW_TRUNCATE_VALUE::*,
    };
    let mut stage = common(sdp, rdma, &EW);
    if stage.enable == 0 {
        return stage;
    }
    stage.activation = match (sdp.flag(EW_LUT_BYPASS), sdp.flag(EW.mul_prelu)) {
        (false, _) => code::LUT,
        (true, true) => code::PRELU,
        (true, false) => 0,
    };
    stage.truncate = byte(sdp, EW_TRUNCATE);
    let converted = |bypass: FieldRef, fields| layout::Converter {
        enable: u8::from(!sdp.flag(bypass)),
        ..converter(sdp, fields)
    };
    stage.alu_converter =
        converted(EW_ALU_CVT_BYPASS, [EW_ALU_CVT_OFFSET, EW_ALU_CVT_SCALE, EW_ALU_CVT_TRUNCATE]);
    stage.mul_converter =
        converted(EW_MUL_CVT_BYPASS, [EW_MUL_CVT_OFFSET, EW_MUL_CVT_SCALE, EW_MUL_CVT_TRUNCATE]);
    stage
}

/// Fields that all stages have.
fn common(sdp: &Group, rdma: &Group, fields: &StageFields) -> Stage {
    if sdp.flag(fields.bypass) {
        return Stage::new_zeroed();
    }
    let (adds, multiplies) = (!sdp.flag(fields.alu_bypass), !sdp.flag(fields.mul_bypass));
    let reads = adds && sdp.flag(fields.alu_source) || multiplies && sdp.flag(fields.mul_source);
    let precision = match (sdp.get(sdp::D_DATA_FORMAT::PROC_PRECISION), rdma.flag(fields.data_size)) {
        (precision, true) if precision == Precision::Fp16.code() => Precision::Fp16,
        (_, true) => Precision::Int16,
        (_, false) => Precision::Int8,
    };
    Stage {
        enable: 1,
        alu: byte(sdp, fields.alu_algo),
        operation: match (adds, multiplies) {
            (true, true) => code::BOTH,
            (true, false) => code::ADD,
            (false, true) => code::MULTIPLY,
            (false, false) => 0,
        },
        mode: match (reads, rdma.flag(fields.data_mode)) {
            (false, _) => code::PER_LAYER,
            (true, false) => code::PER_KERNEL,
            (true, true) => code::PER_ELEMENT,
        },
        precision: if reads { precision.code() as u8 } else { 0 },
        alu_operand: sdp.sign_extended(fields.alu_operand).into(),
        mul_operand: sdp.sign_extended(fields.mul_operand).into(),
        ..Stage::new_zeroed()
    }
}
