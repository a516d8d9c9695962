//! Layers as register writes, in the order in which a driver makes them.
//!
//! Driver contract, section 6: select the group in all parts of the engine, write the layer's registers, select
//! the group once more, enable the RDMA if it takes part, then the engine.

mod cdp;
mod conv;
mod float;

pub use conv::BufferUse;

use std::ops::{Deref, DerefMut};

pub use vp_models::host::program::Write;
use vp_models::nvdla::registers::{FieldRef, RegisterMap, Unit, pdp, pdp_rdma, sdp, sdp_rdma};

use crate::reference::{
    Alu, Carries, Converter, CubePlace, Elementwise, ElementwiseOperand, Lut, LutTable, Operand, Operands,
    PdpLayer, PoolingMethod, SdpLayer, Stage,
};

/// The library's register writes, with layers of the references on top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(vp_models::host::program::Program);

impl Deref for Program {
    type Target = vp_models::host::program::Program;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Program {
    /// No writes yet.
    pub fn new(map: RegisterMap) -> Program {
        Program(vp_models::host::program::Program::new(map))
    }

    /// Has PDP_RDMA use another group than PDP: its turns do not count the layers that SDP feeds.
    pub fn select_pdp_rdma(&mut self, group: u32) {
        let pointers = self.writes.iter_mut().filter(|write| write.register == pdp_rdma::S_POINTER);
        pointers.for_each(|write| write.value = group);
    }

    /// A layer of SDP in that group, up to the enables.
    pub fn sdp(&mut self, layer: &SdpLayer, group: u32) {
        self.select_sdp(group);
        self.sdp_rdma(layer);
        self.sdp_registers(layer);
    }

    /// Starts the layer of SDP in that group.
    pub fn enable_sdp(&mut self, group: u32) {
        self.select_sdp(group);
        self.word(Unit::SdpRdma, sdp_rdma::D_OP_ENABLE, 1);
        self.word(Unit::Sdp, sdp::D_OP_ENABLE, 1);
    }

    fn select_sdp(&mut self, group: u32) {
        self.word(Unit::Sdp, sdp::S_POINTER, group);
        self.word(Unit::SdpRdma, sdp_rdma::S_POINTER, group);
    }

    /// A layer of PDP in that group, up to the enables.
    pub fn pdp(&mut self, layer: &PdpLayer, group: u32) {
        self.select_pdp(group);
        if let Some(source) = layer.source {
            self.pdp_rdma(layer, source);
        }
        self.pdp_registers(layer);
    }

    /// Starts the layer of PDP in that group, which reads memory or is fed by SDP.
    pub fn enable_pdp(&mut self, layer: &PdpLayer, group: u32) {
        self.select_pdp(group);
        if layer.source.is_some() {
            self.word(Unit::PdpRdma, pdp_rdma::D_OP_ENABLE, 1);
        }
        self.word(Unit::Pdp, pdp::D_OP_ENABLE, 1);
    }

    fn select_pdp(&mut self, group: u32) {
        self.word(Unit::Pdp, pdp::S_POINTER, group);
        self.word(Unit::PdpRdma, pdp_rdma::S_POINTER, group);
    }

    fn sdp_rdma(&mut self, layer: &SdpLayer) {
        use sdp_rdma::{
            d_bn_base_addr_high::*, d_bn_base_addr_low::*, d_bn_line_stride::*, d_bn_surface_stride::*,
            d_brdma_cfg::*, d_bs_base_addr_high::*, d_bs_base_addr_low::*, d_bs_line_stride::*,
            d_bs_surface_stride::*, d_data_cube_channel::*, d_data_cube_height::*, d_data_cube_width::*,
            d_erdma_cfg::*, d_ew_base_addr_high::*, d_ew_base_addr_low::*, d_ew_line_stride::*,
            d_ew_surface_stride::*, d_feature_mode_cfg::*, d_nrdma_cfg::*, d_src_base_addr_high::*,
            d_src_base_addr_low::*, d_src_dma_cfg::*, d_src_line_stride::*, d_src_surface_stride::*,
        };
        let precision = layer.format.element - 1;
        let source = layer.source;
        self.fields(
            Unit::SdpRdma,
            &[
                (WIDTH, layer.width),
                (HEIGHT, layer.height),
                (CHANNEL, layer.channels),
                (SRC_BASE_ADDR_LOW, low(source)),
                (SRC_BASE_ADDR_HIGH, high(source)),
                (SRC_LINE_STRIDE, source.line),
                (SRC_SURFACE_STRIDE, source.surface),
                (SRC_RAM_TYPE, ram(source)),
                (FLYING_MODE, FLYING_MODE::OFF),
                (WINOGRAD, WINOGRAD::OFF),
                (IN_PRECISION, precision),
                (PROC_PRECISION, precision),
                (OUT_PRECISION, precision),
                (BATCH_NUMBER, 1),
            ],
        );
        let streams = [
            (
                layer.bs.and_then(|stage| stage.operands),
                [BRDMA_DISABLE, BRDMA_DATA_USE, BRDMA_DATA_SIZE, BRDMA_DATA_MODE, BRDMA_RAM_TYPE],
                [BS_BASE_ADDR_LOW, BS_BASE_ADDR_HIGH, BS_LINE_STRIDE, BS_SURFACE_STRIDE],
            ),
            (
                layer.bn.and_then(|stage| stage.operands),
                [NRDMA_DISABLE, NRDMA_DATA_USE, NRDMA_DATA_SIZE, NRDMA_DATA_MODE, NRDMA_RAM_TYPE],
                [BN_BASE_ADDR_LOW, BN_BASE_ADDR_HIGH, BN_LINE_STRIDE, BN_SURFACE_STRIDE],
            ),
            (
                layer.ew.and_then(|stage| stage.operands),
                [ERDMA_DISABLE, ERDMA_DATA_USE, ERDMA_DATA_SIZE, ERDMA_DATA_MODE, ERDMA_RAM_TYPE],
                [EW_BASE_ADDR_LOW, EW_BASE_ADDR_HIGH, EW_LINE_STRIDE, EW_SURFACE_STRIDE],
            ),
        ];
        for (operands, settings, place) in streams {
            self.operands(operands, settings, place);
        }
    }

    /// One operand stream of SDP_RDMA, switched off if there is none.
    fn operands(&mut self, operands: Option<Operands>, settings: [FieldRef; 5], places: [FieldRef; 4]) {
        let Some(operands) = operands else { return self.fields(Unit::SdpRdma, &[(settings[0], 1)]) };
        use sdp_rdma::d_brdma_cfg::BRDMA_DATA_USE as DATA_USE;
        let carries = match operands.carries {
            Carries::Multiplier => DATA_USE::MUL,
            Carries::Alu => DATA_USE::ALU,
            Carries::Both => DATA_USE::BOTH,
        };
        let place = operands.place;
        let words = [0, carries, operands.bytes - 1, operands.per_element.into(), ram(place)];
        let places_of = [low(place), high(place), place.line, place.surface];
        let fields = settings.into_iter().zip(words).chain(places.into_iter().zip(places_of));
        self.fields(Unit::SdpRdma, &fields.collect::<Vec<_>>());
    }

    fn sdp_registers(&mut self, layer: &SdpLayer) {
        use sdp::{
            d_cvt_offset::*, d_cvt_scale::*, d_cvt_shift::*, d_data_cube_channel::*, d_data_cube_height::*,
            d_data_cube_width::*, d_data_format::*, d_dst_base_addr_high::*, d_dst_base_addr_low::*,
            d_dst_dma_cfg::*, d_dst_line_stride::*, d_dst_surface_stride::*, d_feature_mode_cfg::*,
        };
        self.fields(Unit::Sdp, &[(WIDTH, layer.width), (HEIGHT, layer.height), (CHANNEL, layer.channels)]);
        if let Some(place) = layer.destination {
            self.fields(
                Unit::Sdp,
                &[
                    (DST_BASE_ADDR_LOW, low(place)),
                    (DST_BASE_ADDR_HIGH, high(place)),
                    (DST_LINE_STRIDE, place.line),
                    (DST_SURFACE_STRIDE, place.surface),
                    (DST_RAM_TYPE, ram(place)),
                ],
            );
        }
        self.stage(layer.bs, &BS);
        self.stage(layer.bn, &BN);
        self.elementwise(layer.ew);
        let precision = layer.format.element - 1;
        let Converter { offset, scale, shift } = layer.converter;
        self.fields(
            Unit::Sdp,
            &[
                (FLYING_MODE, FLYING_MODE::OFF),
                (OUTPUT_DST, if layer.destination.is_some() { OUTPUT_DST::MEM } else { OUTPUT_DST::PDP }),
                (BATCH_NUMBER, 1),
                (PROC_PRECISION, precision),
                (OUT_PRECISION, precision),
                (CVT_OFFSET, offset as u32),
                (CVT_SCALE, scale as u16 as u32),
                (CVT_SHIFT, shift),
            ],
        );
    }

    fn stage(&mut self, stage: Option<Stage>, fields: &StageFields) {
        let Some(stage) = stage else { return self.fields(Unit::Sdp, &[(fields.bypass, 1)]) };
        let operand = |operand: Operand| match operand {
            Operand::Register(value) => (0, value as u16 as u32),
            Operand::Memory => (1, 0),
        };
        let (alu_source, alu_value) = stage.alu.map_or((0, 0), |alu| operand(alu.operand));
        let (mul_source, mul_value) = stage.multiplier.map_or((0, 0), |mul| operand(mul.operand));
        self.fields(
            Unit::Sdp,
            &[
                (fields.bypass, 0),
                (fields.alu_bypass, stage.alu.is_none().into()),
                (fields.alu_algo, stage.alu.map_or(0, |alu| algorithm(alu.operation))),
                (fields.mul_bypass, stage.multiplier.is_none().into()),
                (fields.mul_prelu, stage.multiplier.is_some_and(|mul| mul.prelu).into()),
                (fields.relu_bypass, (!stage.relu).into()),
                (fields.alu_source, alu_source),
                (fields.alu_shift, stage.alu.map_or(0, |alu| alu.shift)),
                (fields.alu_operand, alu_value),
                (fields.mul_source, mul_source),
                (fields.mul_shift, stage.shift),
                (fields.mul_operand, mul_value),
            ],
        );
    }

    fn elementwise(&mut self, stage: Option<Elementwise>) {
        use sdp::{
            d_dp_ew_alu_cfg::*, d_dp_ew_alu_cvt_offset_value::*, d_dp_ew_alu_cvt_scale_value::*,
            d_dp_ew_alu_cvt_truncate_value::*, d_dp_ew_alu_src_value::*, d_dp_ew_cfg::*, d_dp_ew_mul_cfg::*,
            d_dp_ew_mul_cvt_offset_value::*, d_dp_ew_mul_cvt_scale_value::*,
            d_dp_ew_mul_cvt_truncate_value::*, d_dp_ew_mul_src_value::*, d_dp_ew_truncate_value::*,
        };
        let Some(stage) = stage else { return self.fields(Unit::Sdp, &[(EW_BYPASS, 1)]) };
        // Source, converter bypass, register operand, converter.
        let operand = |operand: Option<ElementwiseOperand>| match operand {
            None => (0, 1, 0, Converter::NONE),
            Some(ElementwiseOperand::Register(value)) => (0, 1, value as u32, Converter::NONE),
            Some(ElementwiseOperand::Memory(None)) => (1, 1, 0, Converter::NONE),
            Some(ElementwiseOperand::Memory(Some(converter))) => (1, 0, 0, converter),
        };
        let (alu, mul) = (stage.alu, stage.multiplier);
        let (alu_source, alu_plain, alu_value, alu_converter) = operand(alu.map(|alu| alu.operand));
        let (mul_source, mul_plain, mul_value, mul_converter) = operand(mul.map(|mul| mul.operand));
        self.fields(
            Unit::Sdp,
            &[
                (EW_BYPASS, 0),
                (EW_ALU_BYPASS, alu.is_none().into()),
                (EW_ALU_ALGO, alu.map_or(0, |alu| algorithm(alu.operation))),
                (EW_MUL_BYPASS, mul.is_none().into()),
                (EW_MUL_PRELU, mul.is_some_and(|mul| mul.prelu).into()),
                (EW_LUT_BYPASS, (!stage.lut).into()),
                (EW_ALU_SRC, alu_source),
                (EW_ALU_CVT_BYPASS, alu_plain),
                (EW_ALU_OPERAND, alu_value),
                (EW_ALU_CVT_OFFSET, alu_converter.offset as u32),
                (EW_ALU_CVT_SCALE, alu_converter.scale as u16 as u32),
                (EW_ALU_CVT_TRUNCATE, alu_converter.shift),
                (EW_MUL_SRC, mul_source),
                (EW_MUL_CVT_BYPASS, mul_plain),
                (EW_MUL_OPERAND, mul_value),
                (EW_MUL_CVT_OFFSET, mul_converter.offset as u32),
                (EW_MUL_CVT_SCALE, mul_converter.scale as u16 as u32),
                (EW_MUL_CVT_TRUNCATE, mul_converter.shift),
                (EW_TRUNCATE, mul.map_or(0, |mul| mul.shift)),
            ],
        );
    }

    /// Loads SDP's lookup tables and says how they are used; driver contract, section 6.
    pub fn sdp_lut(&mut self, lut: &Lut) {
        use sdp::{
            s_lut_access_cfg::*, s_lut_access_data::*, s_lut_cfg::*, s_lut_info::*, s_lut_le_end::*,
            s_lut_le_slope_scale::*, s_lut_le_slope_shift::*, s_lut_le_start::*, s_lut_lo_end::*,
            s_lut_lo_slope_scale::*, s_lut_lo_slope_shift::*, s_lut_lo_start::*,
        };
        for (table, entries) in [(LUT_TABLE_ID::LE, &lut.le.entries), (LUT_TABLE_ID::LO, &lut.lo.entries)] {
            let access = [(LUT_ADDR, 0), (LUT_TABLE_ID, table), (LUT_ACCESS_TYPE, LUT_ACCESS_TYPE::WRITE)];
            self.fields(Unit::Sdp, &access);
            for entry in entries {
                self.fields(Unit::Sdp, &[(LUT_DATA, *entry as u16 as u32)]);
            }
        }
        let [below, above, doubt] = lut.lo_first.map(u32::from);
        let function =
            if lut.exponent.is_some() { LUT_LE_FUNCTION::EXPONENT } else { LUT_LE_FUNCTION::LINEAR };
        let shift = |shift: i32| shift as u32;
        let scale = |scale: i16| scale as u16 as u32;
        let LutTable { start: le_start, end: le_end, .. } = lut.le;
        let LutTable { start: lo_start, end: lo_end, .. } = lut.lo;
        self.fields(
            Unit::Sdp,
            &[
                (LUT_LE_FUNCTION, function),
                (LUT_UFLOW_PRIORITY, below),
                (LUT_OFLOW_PRIORITY, above),
                (LUT_HYBRID_PRIORITY, doubt),
                (LUT_LE_INDEX_OFFSET, lut.exponent.unwrap_or(0) as u32),
                (LUT_LE_INDEX_SELECT, lut.le.select as u32),
                (LUT_LO_INDEX_SELECT, lut.lo.select as u32),
                (LUT_LE_START, le_start as u32),
                (LUT_LE_END, le_end as u32),
                (LUT_LO_START, lo_start as u32),
                (LUT_LO_END, lo_end as u32),
                (LUT_LE_SLOPE_UFLOW_SCALE, scale(lut.le.below.0)),
                (LUT_LE_SLOPE_OFLOW_SCALE, scale(lut.le.above.0)),
                (LUT_LE_SLOPE_UFLOW_SHIFT, shift(lut.le.below.1)),
                (LUT_LE_SLOPE_OFLOW_SHIFT, shift(lut.le.above.1)),
                (LUT_LO_SLOPE_UFLOW_SCALE, scale(lut.lo.below.0)),
                (LUT_LO_SLOPE_OFLOW_SCALE, scale(lut.lo.above.0)),
                (LUT_LO_SLOPE_UFLOW_SHIFT, shift(lut.lo.below.1)),
                (LUT_LO_SLOPE_OFLOW_SHIFT, shift(lut.lo.above.1)),
            ],
        );
    }

    fn pdp_rdma(&mut self, layer: &PdpLayer, source: CubePlace) {
        use pdp_rdma::{
            d_data_cube_in_channel::*, d_data_cube_in_height::*, d_data_cube_in_width::*, d_data_format::*,
            d_flying_mode::*, d_operation_mode_cfg::*, d_partial_width_in::*, d_pooling_kernel_cfg::*,
            d_pooling_padding_cfg::*, d_src_base_addr_high::*, d_src_base_addr_low::*, d_src_line_stride::*,
            d_src_ram_cfg::*, d_src_surface_stride::*,
        };
        let [first, middle, last] = partial_widths_in(layer);
        self.fields(
            Unit::PdpRdma,
            &[
                (CUBE_IN_WIDTH, layer.width),
                (CUBE_IN_HEIGHT, layer.height),
                (CUBE_IN_CHANNEL, layer.channels),
                (FLYING_MODE, FLYING_MODE::OFF_FLYING),
                (SRC_BASE_ADDR_LOW, low(source)),
                (SRC_BASE_ADDR_HIGH, high(source)),
                (SRC_LINE_STRIDE, source.line),
                (SRC_SURFACE_STRIDE, source.surface),
                (SRC_RAM_TYPE, ram(source)),
                (INPUT_DATA, layer.format.element - 1),
                (SPLIT_NUM, layer.strips.len().max(1) as u32),
                (KERNEL_WIDTH, layer.kernel[0]),
                (KERNEL_STRIDE_WIDTH, layer.stride[0]),
                (PAD_WIDTH, layer.before[0]),
                (PARTIAL_WIDTH_IN_FIRST, first),
                (PARTIAL_WIDTH_IN_MID, middle),
                (PARTIAL_WIDTH_IN_LAST, last),
            ],
        );
    }

    fn pdp_registers(&mut self, layer: &PdpLayer) {
        use pdp::{
            d_data_cube_in_channel::*, d_data_cube_in_height::*, d_data_cube_in_width::*,
            d_data_cube_out_channel::*, d_data_cube_out_height::*, d_data_cube_out_width::*,
            d_data_format::*, d_dst_base_addr_high::*, d_dst_base_addr_low::*, d_dst_line_stride::*,
            d_dst_ram_cfg::*, d_dst_surface_stride::*, d_operation_mode_cfg::*, d_partial_width_in::*,
            d_partial_width_out::*, d_pooling_kernel_cfg::*, d_pooling_padding_cfg::*,
            d_pooling_padding_value_1_cfg::*, d_pooling_padding_value_2_cfg::*,
            d_pooling_padding_value_3_cfg::*, d_pooling_padding_value_4_cfg::*,
            d_pooling_padding_value_5_cfg::*, d_pooling_padding_value_6_cfg::*,
            d_pooling_padding_value_7_cfg::*, d_recip_kernel_height::*, d_recip_kernel_width::*,
        };
        let [in_first, in_middle, in_last] = partial_widths_in(layer);
        let [out_first, out_middle, out_last] = partial_widths_out(layer);
        let (method, padding) = match layer.method {
            PoolingMethod::Average { padding } => (POOLING_METHOD::POOLING_METHOD_AVERAGE, padding),
            PoolingMethod::Max => (POOLING_METHOD::POOLING_METHOD_MAX, 0),
            PoolingMethod::Min => (POOLING_METHOD::POOLING_METHOD_MIN, 0),
        };
        let flying = match layer.source {
            Some(_) => FLYING_MODE::OFF_FLYING,
            None => FLYING_MODE::ON_FLYING,
        };
        let place = layer.destination;
        self.fields(
            Unit::Pdp,
            &[
                (CUBE_IN_WIDTH, layer.width),
                (CUBE_IN_HEIGHT, layer.height),
                (CUBE_IN_CHANNEL, layer.channels),
                (CUBE_OUT_WIDTH, layer.out_width()),
                (CUBE_OUT_HEIGHT, layer.out_height()),
                (CUBE_OUT_CHANNEL, layer.channels),
                (POOLING_METHOD, method),
                (FLYING_MODE, flying),
                (SPLIT_NUM, layer.strips.len().max(1) as u32),
                (PARTIAL_WIDTH_IN_FIRST, in_first),
                (PARTIAL_WIDTH_IN_MID, in_middle),
                (PARTIAL_WIDTH_IN_LAST, in_last),
                (PARTIAL_WIDTH_OUT_FIRST, out_first),
                (PARTIAL_WIDTH_OUT_MID, out_middle),
                (PARTIAL_WIDTH_OUT_LAST, out_last),
                (KERNEL_WIDTH, layer.kernel[0]),
                (KERNEL_HEIGHT, layer.kernel[1]),
                (KERNEL_STRIDE_WIDTH, layer.stride[0]),
                (KERNEL_STRIDE_HEIGHT, layer.stride[1]),
                (RECIP_KERNEL_WIDTH, PdpLayer::reciprocal(layer.kernel[0])),
                (RECIP_KERNEL_HEIGHT, PdpLayer::reciprocal(layer.kernel[1])),
                (PAD_LEFT, layer.before[0]),
                (PAD_TOP, layer.before[1]),
                (PAD_RIGHT, layer.after[0]),
                (PAD_BOTTOM, layer.after[1]),
                (PAD_VALUE_1X, padding as u32),
                (PAD_VALUE_2X, (2 * padding) as u32),
                (PAD_VALUE_3X, (3 * padding) as u32),
                (PAD_VALUE_4X, (4 * padding) as u32),
                (PAD_VALUE_5X, (5 * padding) as u32),
                (PAD_VALUE_6X, (6 * padding) as u32),
                (PAD_VALUE_7X, (7 * padding) as u32),
                (DST_BASE_ADDR_LOW, low(place)),
                (DST_BASE_ADDR_HIGH, high(place)),
                (DST_LINE_STRIDE, place.line),
                (DST_SURFACE_STRIDE, place.surface),
                (DST_RAM_TYPE, ram(place)),
                (INPUT_DATA, layer.format.element - 1),
            ],
        );
    }
}

/// The first, the middle and the last strip's output columns; 1, which a register of zeros says, if not cut.
fn partial_widths_out(layer: &PdpLayer) -> [u32; 3] {
    match layer.strips[..] {
        [] => [1; 3],
        [first, ref between @ .., last] => [first, between.first().copied().unwrap_or(1), last],
        [only] => [only, 1, 1],
    }
}

/// The same of the input: columns that no strip before has read. A strip ends where its last window does.
fn partial_widths_in(layer: &PdpLayer) -> [u32; 3] {
    let [first, middle, _] = partial_widths_out(layer);
    let strips = layer.strips.len() as u32;
    if strips < 2 {
        return [1; 3];
    }
    let stride = layer.stride[0];
    let first = (first - 1) * stride + layer.kernel[0] - layer.before[0];
    let between = if strips > 2 { middle * stride } else { 1 };
    [first, between, layer.width - first - if strips > 2 { (strips - 2) * between } else { 0 }]
}

fn low(place: CubePlace) -> u32 {
    place.base as u32
}

fn high(place: CubePlace) -> u32 {
    (place.base >> 32) as u32
}

/// The RAM type of a DMA: 1 primary, 0 secondary.
fn ram(place: CubePlace) -> u32 {
    u32::from(place.base >= 0x8000_0000)
}

fn algorithm(alu: Alu) -> u32 {
    use sdp::d_dp_bs_cfg::BS_ALU_ALGO;
    match alu {
        Alu::Max => BS_ALU_ALGO::MAX,
        Alu::Min => BS_ALU_ALGO::MIN,
        Alu::Sum => BS_ALU_ALGO::SUM,
    }
}

/// The fields of BS and of BN, which differ in name only.
struct StageFields {
    bypass: FieldRef,
    alu_bypass: FieldRef,
    alu_algo: FieldRef,
    mul_bypass: FieldRef,
    mul_prelu: FieldRef,
    relu_bypass: FieldRef,
    alu_source: FieldRef,
    alu_shift: FieldRef,
    alu_operand: FieldRef,
    mul_source: FieldRef,
    mul_shift: FieldRef,
    mul_operand: FieldRef,
}

const BS: StageFields = StageFields {
    bypass: sdp::d_dp_bs_cfg::BS_BYPASS,
    alu_bypass: sdp::d_dp_bs_cfg::BS_ALU_BYPASS,
    alu_algo: sdp::d_dp_bs_cfg::BS_ALU_ALGO,
    mul_bypass: sdp::d_dp_bs_cfg::BS_MUL_BYPASS,
    mul_prelu: sdp::d_dp_bs_cfg::BS_MUL_PRELU,
    relu_bypass: sdp::d_dp_bs_cfg::BS_RELU_BYPASS,
    alu_source: sdp::d_dp_bs_alu_cfg::BS_ALU_SRC,
    alu_shift: sdp::d_dp_bs_alu_cfg::BS_ALU_SHIFT_VALUE,
    alu_operand: sdp::d_dp_bs_alu_src_value::BS_ALU_OPERAND,
    mul_source: sdp::d_dp_bs_mul_cfg::BS_MUL_SRC,
    mul_shift: sdp::d_dp_bs_mul_cfg::BS_MUL_SHIFT_VALUE,
    mul_operand: sdp::d_dp_bs_mul_src_value::BS_MUL_OPERAND,
};

const BN: StageFields = StageFields {
    bypass: sdp::d_dp_bn_cfg::BN_BYPASS,
    alu_bypass: sdp::d_dp_bn_cfg::BN_ALU_BYPASS,
    alu_algo: sdp::d_dp_bn_cfg::BN_ALU_ALGO,
    mul_bypass: sdp::d_dp_bn_cfg::BN_MUL_BYPASS,
    mul_prelu: sdp::d_dp_bn_cfg::BN_MUL_PRELU,
    relu_bypass: sdp::d_dp_bn_cfg::BN_RELU_BYPASS,
    alu_source: sdp::d_dp_bn_alu_cfg::BN_ALU_SRC,
    alu_shift: sdp::d_dp_bn_alu_cfg::BN_ALU_SHIFT_VALUE,
    alu_operand: sdp::d_dp_bn_alu_src_value::BN_ALU_OPERAND,
    mul_source: sdp::d_dp_bn_mul_cfg::BN_MUL_SRC,
    mul_shift: sdp::d_dp_bn_mul_cfg::BN_MUL_SHIFT_VALUE,
    mul_operand: sdp::d_dp_bn_mul_src_value::BN_MUL_OPERAND,
};
