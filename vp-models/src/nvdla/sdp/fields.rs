//! The fields of SDP's stages and of their operands in SDP_RDMA, which differ in name only.

pub use crate::nvdla::place::PlaceFields;
use crate::nvdla::place::{destination_place, source_place};
use crate::nvdla::registers::{FieldRef, sdp as reg, sdp_rdma as rdma_reg};

/// The fields that the three stages have in common, under different names.
pub struct StageFields {
    /// Name of the stage: `BS`, `BN`, `EW`.
    pub(crate) name: &'static str,
    /// Bypass of the whole stage.
    pub bypass: FieldRef,
    /// Bypass of its ALU.
    pub alu_bypass: FieldRef,
    /// Operation of its ALU.
    pub alu_algo: FieldRef,
    /// Bypass of its multiplier.
    pub mul_bypass: FieldRef,
    /// Multiplies negative values only.
    pub mul_prelu: FieldRef,
    /// Source of the ALU's operand: register or memory.
    pub alu_source: FieldRef,
    /// Source of the multiplier's operand: register or memory.
    pub mul_source: FieldRef,
    /// The ALU's operand, where it is a register's.
    pub alu_operand: FieldRef,
    /// The multiplier's operand, where it is a register's.
    pub mul_operand: FieldRef,
    /// SDP_RDMA: nothing is read for the stage.
    pub disable: FieldRef,
    /// SDP_RDMA: which of the two operands are in memory.
    pub data_use: FieldRef,
    /// SDP_RDMA: bytes of an operand.
    pub data_size: FieldRef,
    /// SDP_RDMA: one operand a kernel, or one a point.
    pub data_mode: FieldRef,
    /// SDP_RDMA: place of the operands in memory.
    pub place: PlaceFields,
}

/// Fields of BS or of BN, which shift.
pub struct ShiftFields {
    /// Fields that EW has as well.
    pub stage: StageFields,
    /// Bypass of the rectifier.
    pub relu_bypass: FieldRef,
    /// Left shift of the ALU's operand.
    pub alu_shift: FieldRef,
    /// Right shift behind the multiplier.
    pub mul_shift: FieldRef,
}

/// Registers of the place that SDP reads.
pub const SOURCE: PlaceFields = source_place!(rdma_reg, D_SRC_DMA_CFG);

/// Registers of the place that SDP writes.
pub const DESTINATION: PlaceFields = destination_place!(reg, D_DST_DMA_CFG);

/// Fields of BS.
pub const BS: ShiftFields = ShiftFields {
    stage: StageFields {
        name: "BS",
        bypass: reg::D_DP_BS_CFG::BS_BYPASS,
        alu_bypass: reg::D_DP_BS_CFG::BS_ALU_BYPASS,
        alu_algo: reg::D_DP_BS_CFG::BS_ALU_ALGO,
        mul_bypass: reg::D_DP_BS_CFG::BS_MUL_BYPASS,
        mul_prelu: reg::D_DP_BS_CFG::BS_MUL_PRELU,
        alu_source: reg::D_DP_BS_ALU_CFG::BS_ALU_SRC,
        mul_source: reg::D_DP_BS_MUL_CFG::BS_MUL_SRC,
        alu_operand: reg::D_DP_BS_ALU_SRC_VALUE::BS_ALU_OPERAND,
        mul_operand: reg::D_DP_BS_MUL_SRC_VALUE::BS_MUL_OPERAND,
        disable: rdma_reg::D_BRDMA_CFG::BRDMA_DISABLE,
        data_use: rdma_reg::D_BRDMA_CFG::BRDMA_DATA_USE,
        data_size: rdma_reg::D_BRDMA_CFG::BRDMA_DATA_SIZE,
        data_mode: rdma_reg::D_BRDMA_CFG::BRDMA_DATA_MODE,
        place: PlaceFields {
            ram: rdma_reg::D_BRDMA_CFG::BRDMA_RAM_TYPE,
            base: [
                rdma_reg::D_BS_BASE_ADDR_LOW::BS_BASE_ADDR_LOW,
                rdma_reg::D_BS_BASE_ADDR_HIGH::BS_BASE_ADDR_HIGH,
            ],
            line_stride: rdma_reg::D_BS_LINE_STRIDE::BS_LINE_STRIDE,
            surface_stride: rdma_reg::D_BS_SURFACE_STRIDE::BS_SURFACE_STRIDE,
        },
    },
    relu_bypass: reg::D_DP_BS_CFG::BS_RELU_BYPASS,
    alu_shift: reg::D_DP_BS_ALU_CFG::BS_ALU_SHIFT_VALUE,
    mul_shift: reg::D_DP_BS_MUL_CFG::BS_MUL_SHIFT_VALUE,
};

/// Fields of BN.
pub const BN: ShiftFields = ShiftFields {
    stage: StageFields {
        name: "BN",
        bypass: reg::D_DP_BN_CFG::BN_BYPASS,
        alu_bypass: reg::D_DP_BN_CFG::BN_ALU_BYPASS,
        alu_algo: reg::D_DP_BN_CFG::BN_ALU_ALGO,
        mul_bypass: reg::D_DP_BN_CFG::BN_MUL_BYPASS,
        mul_prelu: reg::D_DP_BN_CFG::BN_MUL_PRELU,
        alu_source: reg::D_DP_BN_ALU_CFG::BN_ALU_SRC,
        mul_source: reg::D_DP_BN_MUL_CFG::BN_MUL_SRC,
        alu_operand: reg::D_DP_BN_ALU_SRC_VALUE::BN_ALU_OPERAND,
        mul_operand: reg::D_DP_BN_MUL_SRC_VALUE::BN_MUL_OPERAND,
        disable: rdma_reg::D_NRDMA_CFG::NRDMA_DISABLE,
        data_use: rdma_reg::D_NRDMA_CFG::NRDMA_DATA_USE,
        data_size: rdma_reg::D_NRDMA_CFG::NRDMA_DATA_SIZE,
        data_mode: rdma_reg::D_NRDMA_CFG::NRDMA_DATA_MODE,
        place: PlaceFields {
            ram: rdma_reg::D_NRDMA_CFG::NRDMA_RAM_TYPE,
            base: [
                rdma_reg::D_BN_BASE_ADDR_LOW::BN_BASE_ADDR_LOW,
                rdma_reg::D_BN_BASE_ADDR_HIGH::BN_BASE_ADDR_HIGH,
            ],
            line_stride: rdma_reg::D_BN_LINE_STRIDE::BN_LINE_STRIDE,
            surface_stride: rdma_reg::D_BN_SURFACE_STRIDE::BN_SURFACE_STRIDE,
        },
    },
    relu_bypass: reg::D_DP_BN_CFG::BN_RELU_BYPASS,
    alu_shift: reg::D_DP_BN_ALU_CFG::BN_ALU_SHIFT_VALUE,
    mul_shift: reg::D_DP_BN_MUL_CFG::BN_MUL_SHIFT_VALUE,
};

/// Fields of EW.
pub const EW: StageFields = StageFields {
    name: "EW",
    bypass: reg::D_DP_EW_CFG::EW_BYPASS,
    alu_bypass: reg::D_DP_EW_CFG::EW_ALU_BYPASS,
    alu_algo: reg::D_DP_EW_CFG::EW_ALU_ALGO,
    mul_bypass: reg::D_DP_EW_CFG::EW_MUL_BYPASS,
    mul_prelu: reg::D_DP_EW_CFG::EW_MUL_PRELU,
    alu_source: reg::D_DP_EW_ALU_CFG::EW_ALU_SRC,
    mul_source: reg::D_DP_EW_MUL_CFG::EW_MUL_SRC,
    alu_operand: reg::D_DP_EW_ALU_SRC_VALUE::EW_ALU_OPERAND,
    mul_operand: reg::D_DP_EW_MUL_SRC_VALUE::EW_MUL_OPERAND,
    disable: rdma_reg::D_ERDMA_CFG::ERDMA_DISABLE,
    data_use: rdma_reg::D_ERDMA_CFG::ERDMA_DATA_USE,
    data_size: rdma_reg::D_ERDMA_CFG::ERDMA_DATA_SIZE,
    data_mode: rdma_reg::D_ERDMA_CFG::ERDMA_DATA_MODE,
    place: PlaceFields {
        ram: rdma_reg::D_ERDMA_CFG::ERDMA_RAM_TYPE,
        base: [
            rdma_reg::D_EW_BASE_ADDR_LOW::EW_BASE_ADDR_LOW,
            rdma_reg::D_EW_BASE_ADDR_HIGH::EW_BASE_ADDR_HIGH,
        ],
        line_stride: rdma_reg::D_EW_LINE_STRIDE::EW_LINE_STRIDE,
        surface_stride: rdma_reg::D_EW_SURFACE_STRIDE::EW_SURFACE_STRIDE,
    },
};
