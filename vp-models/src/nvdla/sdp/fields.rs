//! The fields of SDP's stages and of their operands in SDP_RDMA, which differ in name only.

use crate::nvdla::place::Place;
use crate::nvdla::registers::{FieldRef, sdp as reg, sdp_rdma as rdma_reg};

/// The fields that the three stages have in common, under different names.
pub(crate) struct StageFields {
    pub(crate) name: &'static str,
    pub(crate) bypass: FieldRef,
    pub(crate) alu_bypass: FieldRef,
    pub(crate) alu_algo: FieldRef,
    pub(crate) mul_bypass: FieldRef,
    pub(crate) mul_prelu: FieldRef,
    pub(crate) alu_source: FieldRef,
    pub(crate) mul_source: FieldRef,
    pub(crate) alu_operand: FieldRef,
    pub(crate) mul_operand: FieldRef,
    // Of SDP_RDMA:
    pub(crate) disable: FieldRef,
    pub(crate) data_use: FieldRef,
    pub(crate) data_size: FieldRef,
    pub(crate) data_mode: FieldRef,
    pub(crate) place: Place,
}

/// Those of BS and of BN, which shift.
pub(crate) struct ShiftFields {
    pub(crate) stage: StageFields,
    pub(crate) relu_bypass: FieldRef,
    pub(crate) alu_shift: FieldRef,
    pub(crate) mul_shift: FieldRef,
}

/// Where SDP reads.
pub(super) const SOURCE: Place = Place {
    ram: rdma_reg::d_src_dma_cfg::SRC_RAM_TYPE,
    base: [
        rdma_reg::d_src_base_addr_low::SRC_BASE_ADDR_LOW,
        rdma_reg::d_src_base_addr_high::SRC_BASE_ADDR_HIGH,
    ],
    line_stride: rdma_reg::d_src_line_stride::SRC_LINE_STRIDE,
    surface_stride: rdma_reg::d_src_surface_stride::SRC_SURFACE_STRIDE,
};

/// Where it writes.
pub(super) const DESTINATION: Place = Place {
    ram: reg::d_dst_dma_cfg::DST_RAM_TYPE,
    base: [reg::d_dst_base_addr_low::DST_BASE_ADDR_LOW, reg::d_dst_base_addr_high::DST_BASE_ADDR_HIGH],
    line_stride: reg::d_dst_line_stride::DST_LINE_STRIDE,
    surface_stride: reg::d_dst_surface_stride::DST_SURFACE_STRIDE,
};

pub(crate) const BS: ShiftFields = ShiftFields {
    stage: StageFields {
        name: "BS",
        bypass: reg::d_dp_bs_cfg::BS_BYPASS,
        alu_bypass: reg::d_dp_bs_cfg::BS_ALU_BYPASS,
        alu_algo: reg::d_dp_bs_cfg::BS_ALU_ALGO,
        mul_bypass: reg::d_dp_bs_cfg::BS_MUL_BYPASS,
        mul_prelu: reg::d_dp_bs_cfg::BS_MUL_PRELU,
        alu_source: reg::d_dp_bs_alu_cfg::BS_ALU_SRC,
        mul_source: reg::d_dp_bs_mul_cfg::BS_MUL_SRC,
        alu_operand: reg::d_dp_bs_alu_src_value::BS_ALU_OPERAND,
        mul_operand: reg::d_dp_bs_mul_src_value::BS_MUL_OPERAND,
        disable: rdma_reg::d_brdma_cfg::BRDMA_DISABLE,
        data_use: rdma_reg::d_brdma_cfg::BRDMA_DATA_USE,
        data_size: rdma_reg::d_brdma_cfg::BRDMA_DATA_SIZE,
        data_mode: rdma_reg::d_brdma_cfg::BRDMA_DATA_MODE,
        place: Place {
            ram: rdma_reg::d_brdma_cfg::BRDMA_RAM_TYPE,
            base: [
                rdma_reg::d_bs_base_addr_low::BS_BASE_ADDR_LOW,
                rdma_reg::d_bs_base_addr_high::BS_BASE_ADDR_HIGH,
            ],
            line_stride: rdma_reg::d_bs_line_stride::BS_LINE_STRIDE,
            surface_stride: rdma_reg::d_bs_surface_stride::BS_SURFACE_STRIDE,
        },
    },
    relu_bypass: reg::d_dp_bs_cfg::BS_RELU_BYPASS,
    alu_shift: reg::d_dp_bs_alu_cfg::BS_ALU_SHIFT_VALUE,
    mul_shift: reg::d_dp_bs_mul_cfg::BS_MUL_SHIFT_VALUE,
};

pub(crate) const BN: ShiftFields = ShiftFields {
    stage: StageFields {
        name: "BN",
        bypass: reg::d_dp_bn_cfg::BN_BYPASS,
        alu_bypass: reg::d_dp_bn_cfg::BN_ALU_BYPASS,
        alu_algo: reg::d_dp_bn_cfg::BN_ALU_ALGO,
        mul_bypass: reg::d_dp_bn_cfg::BN_MUL_BYPASS,
        mul_prelu: reg::d_dp_bn_cfg::BN_MUL_PRELU,
        alu_source: reg::d_dp_bn_alu_cfg::BN_ALU_SRC,
        mul_source: reg::d_dp_bn_mul_cfg::BN_MUL_SRC,
        alu_operand: reg::d_dp_bn_alu_src_value::BN_ALU_OPERAND,
        mul_operand: reg::d_dp_bn_mul_src_value::BN_MUL_OPERAND,
        disable: rdma_reg::d_nrdma_cfg::NRDMA_DISABLE,
        data_use: rdma_reg::d_nrdma_cfg::NRDMA_DATA_USE,
        data_size: rdma_reg::d_nrdma_cfg::NRDMA_DATA_SIZE,
        data_mode: rdma_reg::d_nrdma_cfg::NRDMA_DATA_MODE,
        place: Place {
            ram: rdma_reg::d_nrdma_cfg::NRDMA_RAM_TYPE,
            base: [
                rdma_reg::d_bn_base_addr_low::BN_BASE_ADDR_LOW,
                rdma_reg::d_bn_base_addr_high::BN_BASE_ADDR_HIGH,
            ],
            line_stride: rdma_reg::d_bn_line_stride::BN_LINE_STRIDE,
            surface_stride: rdma_reg::d_bn_surface_stride::BN_SURFACE_STRIDE,
        },
    },
    relu_bypass: reg::d_dp_bn_cfg::BN_RELU_BYPASS,
    alu_shift: reg::d_dp_bn_alu_cfg::BN_ALU_SHIFT_VALUE,
    mul_shift: reg::d_dp_bn_mul_cfg::BN_MUL_SHIFT_VALUE,
};

pub(crate) const EW: StageFields = StageFields {
    name: "EW",
    bypass: reg::d_dp_ew_cfg::EW_BYPASS,
    alu_bypass: reg::d_dp_ew_cfg::EW_ALU_BYPASS,
    alu_algo: reg::d_dp_ew_cfg::EW_ALU_ALGO,
    mul_bypass: reg::d_dp_ew_cfg::EW_MUL_BYPASS,
    mul_prelu: reg::d_dp_ew_cfg::EW_MUL_PRELU,
    alu_source: reg::d_dp_ew_alu_cfg::EW_ALU_SRC,
    mul_source: reg::d_dp_ew_mul_cfg::EW_MUL_SRC,
    alu_operand: reg::d_dp_ew_alu_src_value::EW_ALU_OPERAND,
    mul_operand: reg::d_dp_ew_mul_src_value::EW_MUL_OPERAND,
    disable: rdma_reg::d_erdma_cfg::ERDMA_DISABLE,
    data_use: rdma_reg::d_erdma_cfg::ERDMA_DATA_USE,
    data_size: rdma_reg::d_erdma_cfg::ERDMA_DATA_SIZE,
    data_mode: rdma_reg::d_erdma_cfg::ERDMA_DATA_MODE,
    place: Place {
        ram: rdma_reg::d_erdma_cfg::ERDMA_RAM_TYPE,
        base: [
            rdma_reg::d_ew_base_addr_low::EW_BASE_ADDR_LOW,
            rdma_reg::d_ew_base_addr_high::EW_BASE_ADDR_HIGH,
        ],
        line_stride: rdma_reg::d_ew_line_stride::EW_LINE_STRIDE,
        surface_stride: rdma_reg::d_ew_surface_stride::EW_SURFACE_STRIDE,
    },
};
