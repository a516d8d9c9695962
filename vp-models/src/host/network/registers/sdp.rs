//! SDP and SDP_RDMA, behind a convolution or from memory.

use super::{Cubes, INT8, PRIMARY, high, low};
use crate::host::network::description::{Activation, Converter, Shape};
use crate::host::network::layout::CubePlace;
use crate::host::program::{FieldOverflow, Program};
use crate::nvdla::registers::{FieldRef, Unit, sdp, sdp_rdma};

/// One hardware layer of SDP.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Process {
    /// What it makes.
    pub(in super::super) output: Shape,
    /// Where it reads; none behind a convolution.
    pub(in super::super) source: Option<CubePlace>,
    /// The stages BS and BN.
    pub(in super::super) stages: [Stage; 2],
    pub(in super::super) converter: Converter,
    /// Where it writes; none if it passes on to PDP.
    pub(in super::super) destination: Option<CubePlace>,
    /// How many of it run at once, and how far what is written is apart.
    pub(in super::super) cubes: Cubes,
}

/// BS or BN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Stage {
    /// What is added.
    pub(in super::super) operand: Option<Operand>,
    /// By what is multiplied.
    pub(in super::super) factor: Option<i16>,
    pub(in super::super) activation: Activation,
}

/// What is added to each element, and comes from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Operand {
    /// 16 bits for each channel.
    Channels {
        at: u64,
        /// Left shift.
        shift: u32,
    },
    /// A byte for each element.
    Elements {
        at: CubePlace,
        /// Left shift.
        shift: u32,
    },
}

impl Stage {
    fn is_bypassed(&self) -> bool {
        *self == Stage::default()
    }

    /// Factor, whether only negative elements are multiplied, and right shift.
    fn multiplier(&self) -> Option<(i16, bool, u32)> {
        match (self.factor, self.activation) {
            (Some(factor), _) => Some((factor, false, 0)),
            (None, Activation::Leaky { scale, shift }) => Some((scale, true, shift)),
            _ => None,
        }
    }
}

impl Process {
    /// Whether SDP_RDMA takes part.
    pub(in super::super) fn reads(&self) -> bool {
        self.source.is_some() || self.stages.iter().any(|stage| stage.operand.is_some())
    }
}

/// The fields of a stage in SDP.
struct StageFields {
    bypass: FieldRef,
    alu_bypass: FieldRef,
    alu_algo: FieldRef,
    mul_bypass: FieldRef,
    mul_prelu: FieldRef,
    relu_bypass: FieldRef,
    alu_source: FieldRef,
    alu_shift: FieldRef,
    mul_source: FieldRef,
    mul_shift: FieldRef,
    mul_operand: FieldRef,
}

/// The same of its read DMA.
struct OperandFields {
    disable: FieldRef,
    data_use: FieldRef,
    data_size: FieldRef,
    data_mode: FieldRef,
    ram_type: FieldRef,
    base_low: FieldRef,
    base_high: FieldRef,
    line_stride: FieldRef,
    surface_stride: FieldRef,
}

const STAGES: [StageFields; 2] = {
    use sdp::{
        d_dp_bn_alu_cfg::*, d_dp_bn_cfg::*, d_dp_bn_mul_cfg::*, d_dp_bn_mul_src_value::*, d_dp_bs_alu_cfg::*,
        d_dp_bs_cfg::*, d_dp_bs_mul_cfg::*, d_dp_bs_mul_src_value::*,
    };
    [
        StageFields {
            bypass: BS_BYPASS,
            alu_bypass: BS_ALU_BYPASS,
            alu_algo: BS_ALU_ALGO,
            mul_bypass: BS_MUL_BYPASS,
            mul_prelu: BS_MUL_PRELU,
            relu_bypass: BS_RELU_BYPASS,
            alu_source: BS_ALU_SRC,
            alu_shift: BS_ALU_SHIFT_VALUE,
            mul_source: BS_MUL_SRC,
            mul_shift: BS_MUL_SHIFT_VALUE,
            mul_operand: BS_MUL_OPERAND,
        },
        StageFields {
            bypass: BN_BYPASS,
            alu_bypass: BN_ALU_BYPASS,
            alu_algo: BN_ALU_ALGO,
            mul_bypass: BN_MUL_BYPASS,
            mul_prelu: BN_MUL_PRELU,
            relu_bypass: BN_RELU_BYPASS,
            alu_source: BN_ALU_SRC,
            alu_shift: BN_ALU_SHIFT_VALUE,
            mul_source: BN_MUL_SRC,
            mul_shift: BN_MUL_SHIFT_VALUE,
            mul_operand: BN_MUL_OPERAND,
        },
    ]
};

const OPERANDS: [OperandFields; 2] = {
    use sdp_rdma::{
        d_bn_base_addr_high::*, d_bn_base_addr_low::*, d_bn_line_stride::*, d_bn_surface_stride::*,
        d_brdma_cfg::*, d_bs_base_addr_high::*, d_bs_base_addr_low::*, d_bs_line_stride::*,
        d_bs_surface_stride::*, d_nrdma_cfg::*,
    };
    [
        OperandFields {
            disable: BRDMA_DISABLE,
            data_use: BRDMA_DATA_USE,
            data_size: BRDMA_DATA_SIZE,
            data_mode: BRDMA_DATA_MODE,
            ram_type: BRDMA_RAM_TYPE,
            base_low: BS_BASE_ADDR_LOW,
            base_high: BS_BASE_ADDR_HIGH,
            line_stride: BS_LINE_STRIDE,
            surface_stride: BS_SURFACE_STRIDE,
        },
        OperandFields {
            disable: NRDMA_DISABLE,
            data_use: NRDMA_DATA_USE,
            data_size: NRDMA_DATA_SIZE,
            data_mode: NRDMA_DATA_MODE,
            ram_type: NRDMA_RAM_TYPE,
            base_low: BN_BASE_ADDR_LOW,
            base_high: BN_BASE_ADDR_HIGH,
            line_stride: BN_LINE_STRIDE,
            surface_stride: BN_SURFACE_STRIDE,
        },
    ]
};

/// The field of each stage that says that the ALU's operand, and not the multiplier's, is what is read.
const USE_ALU: u32 = sdp_rdma::d_brdma_cfg::BRDMA_DATA_USE::ALU;

/// Everything but the enables.
pub(in super::super) fn process(program: &mut Program, layer: &Process) -> Result<(), FieldOverflow> {
    if layer.reads() {
        rdma_registers(program, layer)?;
    }
    use sdp::{
        d_cvt_offset::*, d_cvt_scale::*, d_cvt_shift::*, d_data_cube_channel::*, d_data_cube_height::*,
        d_data_cube_width::*, d_data_format::*, d_dp_bs_cfg::BS_ALU_ALGO, d_dp_ew_cfg::*,
        d_dst_base_addr_high::*, d_dst_base_addr_low::*, d_dst_batch_stride::*, d_dst_dma_cfg::*,
        d_dst_line_stride::*, d_dst_surface_stride::*, d_feature_mode_cfg::*,
    };
    let &Process { output, source, converter, destination, .. } = layer;
    let nowhere = CubePlace { base: 0, line_stride: 0, surface_stride: 0 };
    let place = destination.unwrap_or(nowhere);
    let mut fields = vec![
        (WIDTH, output.width),
        (HEIGHT, output.height),
        (CHANNEL, output.channels),
        (DST_BASE_ADDR_LOW, low(place.base)),
        (DST_BASE_ADDR_HIGH, high(place.base)),
        (DST_LINE_STRIDE, place.line_stride),
        (DST_SURFACE_STRIDE, place.surface_stride),
        (DST_RAM_TYPE, PRIMARY),
    ];
    for (fields_of, stage) in STAGES.iter().zip(&layer.stages) {
        let (factor, prelu, shift) = stage.multiplier().unwrap_or_default();
        let alu_shift = match stage.operand {
            Some(Operand::Channels { shift, .. } | Operand::Elements { shift, .. }) => shift,
            None => 0,
        };
        fields.extend([
            (fields_of.bypass, stage.is_bypassed().into()),
            (fields_of.alu_bypass, stage.operand.is_none().into()),
            (fields_of.alu_algo, BS_ALU_ALGO::SUM),
            (fields_of.mul_bypass, stage.multiplier().is_none().into()),
            (fields_of.mul_prelu, prelu.into()),
            (fields_of.relu_bypass, (stage.activation != Activation::Relu).into()),
            (fields_of.alu_source, 1),
            (fields_of.alu_shift, alu_shift),
            (fields_of.mul_source, 0),
            // Shifts also where there is nothing to multiply.
            (fields_of.mul_shift, shift),
            (fields_of.mul_operand, i32::from(factor) as u32),
        ]);
    }
    if layer.cubes != Cubes::ONE {
        fields.push((DST_BATCH_STRIDE, layer.cubes.stride));
    }
    fields.extend([
        (EW_BYPASS, 1),
        (FLYING_MODE, if source.is_none() { FLYING_MODE::ON } else { FLYING_MODE::OFF }),
        (OUTPUT_DST, if destination.is_none() { OUTPUT_DST::PDP } else { OUTPUT_DST::MEM }),
        (WINOGRAD, WINOGRAD::OFF),
        (BATCH_NUMBER, layer.cubes.count),
        (PROC_PRECISION, INT8),
        (OUT_PRECISION, INT8),
        (CVT_OFFSET, converter.offset as u32),
        (CVT_SCALE, i32::from(converter.scale) as u32),
        (CVT_SHIFT, converter.shift),
    ]);
    program.checked_fields(Unit::Sdp, &fields)
}

fn rdma_registers(program: &mut Program, layer: &Process) -> Result<(), FieldOverflow> {
    use sdp_rdma::{
        d_data_cube_channel::*, d_data_cube_height::*, d_data_cube_width::*, d_erdma_cfg::*,
        d_feature_mode_cfg::*, d_src_base_addr_high::*, d_src_base_addr_low::*, d_src_dma_cfg::*,
        d_src_line_stride::*, d_src_surface_stride::*,
    };
    let &Process { output, source, .. } = layer;
    let mut fields = vec![(WIDTH, output.width), (HEIGHT, output.height), (CHANNEL, output.channels)];
    if let Some(place) = source {
        fields.extend([
            (SRC_BASE_ADDR_LOW, low(place.base)),
            (SRC_BASE_ADDR_HIGH, high(place.base)),
            (SRC_LINE_STRIDE, place.line_stride),
            (SRC_SURFACE_STRIDE, place.surface_stride),
            (SRC_RAM_TYPE, PRIMARY),
        ]);
    }
    for (of, stage) in OPERANDS.iter().zip(&layer.stages) {
        let Some(operand) = stage.operand else {
            fields.push((of.disable, 1));
            continue;
        };
        let (base, two_bytes, per_element) = match operand {
            Operand::Channels { at, .. } => (at, 1, 0),
            Operand::Elements { at, .. } => (at.base, 0, 1),
        };
        fields.extend([
            (of.disable, 0),
            (of.data_use, USE_ALU),
            (of.data_size, two_bytes),
            (of.data_mode, per_element),
            (of.ram_type, PRIMARY),
            (of.base_low, low(base)),
            (of.base_high, high(base)),
        ]);
        if let Operand::Elements { at, .. } = operand {
            fields.extend([(of.line_stride, at.line_stride), (of.surface_stride, at.surface_stride)]);
        }
    }
    fields.extend([
        (ERDMA_DISABLE, 1),
        (FLYING_MODE, if source.is_none() { FLYING_MODE::ON } else { FLYING_MODE::OFF }),
        (WINOGRAD, WINOGRAD::OFF),
        (IN_PRECISION, INT8),
        (PROC_PRECISION, INT8),
        (OUT_PRECISION, INT8),
        (BATCH_NUMBER, layer.cubes.count),
    ]);
    program.checked_fields(Unit::SdpRdma, &fields)
}
