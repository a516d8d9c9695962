//! Single data point processor: bias, batch normalisation, element-wise operations, activation.

registers! {
    unit "SDP";

    /// State of both register groups.
    S_STATUS s_status @ 0x00 single ro {
        /// State of group 0.
        STATUS_0 [1:0] = 0 { IDLE = 0, RUNNING = 1, PENDING = 2 };
        /// State of group 1.
        STATUS_1 [17:16] = 0 { IDLE = 0, RUNNING = 1, PENDING = 2 };
    }

    /// Group select for software and datapath.
    S_POINTER s_pointer @ 0x04 single rw {
        /// Group that register accesses reach.
        PRODUCER [0] = 0 { GROUP_0 = 0, GROUP_1 = 1 };
        /// Group the datapath runs from.
        CONSUMER [16]: ro = 0 { GROUP_0 = 0, GROUP_1 = 1 };
    }

    /// Lookup table access setup.
    S_LUT_ACCESS_CFG s_lut_access_cfg @ 0x08 single rw {
        /// Table index; advances after each data access.
        LUT_ADDR [9:0] = 0;
        /// LE (65 entries) or LO (257 entries).
        LUT_TABLE_ID [16] = 0 { LE = 0, LO = 1 };
        /// Read or write.
        LUT_ACCESS_TYPE [17] = 0 { READ = 0, WRITE = 1 };
    }

    /// Lookup table data port.
    S_LUT_ACCESS_DATA s_lut_access_data @ 0x0c single rw {
        /// Table entry.
        LUT_DATA [15:0] as signed = 0;
    }

    /// Lookup table selection rules.
    S_LUT_CFG s_lut_cfg @ 0x10 single rw {
        /// LE table indexing law.
        LUT_LE_FUNCTION [0] = 0 { EXPONENT = 0, LINEAR = 1 };
        /// Table used when both underflow.
        LUT_UFLOW_PRIORITY [4] = 0 { LE = 0, LO = 1 };
        /// Table used when both overflow.
        LUT_OFLOW_PRIORITY [5] = 0 { LE = 0, LO = 1 };
        /// Table used when both hit or results mix.
        LUT_HYBRID_PRIORITY [6] = 0 { LE = 0, LO = 1 };
    }

    /// Lookup table indexing.
    S_LUT_INFO s_lut_info @ 0x14 single rw {
        /// Exponent offset of LE.
        LUT_LE_INDEX_OFFSET [7:0] as signed = 0;
        /// Index shift of LE.
        LUT_LE_INDEX_SELECT [15:8] as signed = 0;
        /// Index shift of LO.
        LUT_LO_INDEX_SELECT [23:16] as signed = 0;
    }

    /// LE table range start.
    S_LUT_LE_START s_lut_le_start @ 0x18 single rw {
        /// Table start.
        LUT_LE_START [31:0] as signed = 0;
    }

    /// LE table range end.
    S_LUT_LE_END s_lut_le_end @ 0x1c single rw {
        /// Table end.
        LUT_LE_END [31:0] as signed = 0;
    }

    /// LO table range start.
    S_LUT_LO_START s_lut_lo_start @ 0x20 single rw {
        /// Table start.
        LUT_LO_START [31:0] as signed = 0;
    }

    /// LO table range end.
    S_LUT_LO_END s_lut_lo_end @ 0x24 single rw {
        /// Table end.
        LUT_LO_END [31:0] as signed = 0;
    }

    /// LE table out-of-range slope multiplier.
    S_LUT_LE_SLOPE_SCALE s_lut_le_slope_scale @ 0x28 single rw {
        /// LE below-range multiplier.
        LUT_LE_SLOPE_UFLOW_SCALE [15:0] as signed = 0;
        /// LE above-range multiplier.
        LUT_LE_SLOPE_OFLOW_SCALE [31:16] as signed = 0;
    }

    /// LE table out-of-range slope shift.
    S_LUT_LE_SLOPE_SHIFT s_lut_le_slope_shift @ 0x2c single rw {
        /// LE below-range shift, positive is right.
        LUT_LE_SLOPE_UFLOW_SHIFT [4:0] as signed = 0;
        /// LE above-range shift, positive is right.
        LUT_LE_SLOPE_OFLOW_SHIFT [9:5] as signed = 0;
    }

    /// LO table out-of-range slope multiplier.
    S_LUT_LO_SLOPE_SCALE s_lut_lo_slope_scale @ 0x30 single rw {
        /// LO below-range multiplier.
        LUT_LO_SLOPE_UFLOW_SCALE [15:0] as signed = 0;
        /// LO above-range multiplier.
        LUT_LO_SLOPE_OFLOW_SCALE [31:16] as signed = 0;
    }

    /// LO table out-of-range slope shift.
    S_LUT_LO_SLOPE_SHIFT s_lut_lo_slope_shift @ 0x34 single rw {
        /// LO below-range shift, positive is right.
        LUT_LO_SLOPE_UFLOW_SHIFT [4:0] as signed = 0;
        /// LO above-range shift, positive is right.
        LUT_LO_SLOPE_OFLOW_SHIFT [9:5] as signed = 0;
    }

    /// Starts the layer described by this group.
    D_OP_ENABLE d_op_enable @ 0x38 duplicated rw {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Cube width.
    D_DATA_CUBE_WIDTH d_data_cube_width @ 0x3c duplicated rw {
        /// Width.
        WIDTH [12:0] as minus1 = 0;
    }

    /// Cube height.
    D_DATA_CUBE_HEIGHT d_data_cube_height @ 0x40 duplicated rw {
        /// Height.
        HEIGHT [12:0] as minus1 = 0;
    }

    /// Cube channels.
    D_DATA_CUBE_CHANNEL d_data_cube_channel @ 0x44 duplicated rw {
        /// Channels.
        CHANNEL [12:0] as minus1 = 0;
    }

    /// Destination address, low word.
    D_DST_BASE_ADDR_LOW d_dst_base_addr_low @ 0x48 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DST_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Destination address, high word.
    D_DST_BASE_ADDR_HIGH d_dst_base_addr_high @ 0x4c duplicated rw {
        /// Address bits 63:32.
        DST_BASE_ADDR_HIGH [31:0] = 0;
    }

    /// Destination line stride.
    D_DST_LINE_STRIDE d_dst_line_stride @ 0x50 duplicated rw {
        /// Distance in bytes.
        DST_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination surface stride.
    D_DST_SURFACE_STRIDE d_dst_surface_stride @ 0x54 duplicated rw {
        /// Distance in bytes.
        DST_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// X1 (BS, bias) stage control.
    D_DP_BS_CFG d_dp_bs_cfg @ 0x58 duplicated rw {
        /// Skip the whole stage.
        BS_BYPASS [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Skip the ALU.
        BS_ALU_BYPASS [1] = 1, full = 0 { NO = 0, YES = 1 };
        /// ALU operation.
        BS_ALU_ALGO [3:2] = 0 { MAX = 0, MIN = 1, SUM = 2 };
        /// Skip the multiplier.
        BS_MUL_BYPASS [4] = 1, full = 0 { NO = 0, YES = 1 };
        /// Multiply only negative values.
        BS_MUL_PRELU [5] = 1, full = 0 { NO = 0, YES = 1 };
        /// Skip ReLU.
        BS_RELU_BYPASS [6] = 1, full = 0 { NO = 0, YES = 1 };
    }

    /// X1 ALU operand source.
    D_DP_BS_ALU_CFG d_dp_bs_alu_cfg @ 0x5c duplicated rw {
        /// Constant or memory operand.
        BS_ALU_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Left shift of the ALU operand.
        BS_ALU_SHIFT_VALUE [13:8] = 0;
    }

    /// X1 ALU constant operand.
    D_DP_BS_ALU_SRC_VALUE d_dp_bs_alu_src_value @ 0x60 duplicated rw {
        /// Constant operand.
        BS_ALU_OPERAND [15:0] as signed = 0;
    }

    /// X1 multiplier operand source.
    D_DP_BS_MUL_CFG d_dp_bs_mul_cfg @ 0x64 duplicated rw {
        /// Constant or memory operand.
        BS_MUL_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Right shift after the multiplier.
        BS_MUL_SHIFT_VALUE [15:8] = 0;
    }

    /// X1 multiplier constant operand.
    D_DP_BS_MUL_SRC_VALUE d_dp_bs_mul_src_value @ 0x68 duplicated rw {
        /// Constant operand.
        BS_MUL_OPERAND [15:0] as signed = 0;
    }

    /// X2 (BN, batch normalisation) stage control.
    D_DP_BN_CFG d_dp_bn_cfg @ 0x6c duplicated rw {
        /// Skip the whole stage.
        BN_BYPASS [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Skip the ALU.
        BN_ALU_BYPASS [1] = 1, full = 0 { NO = 0, YES = 1 };
        /// ALU operation.
        BN_ALU_ALGO [3:2] = 0 { MAX = 0, MIN = 1, SUM = 2 };
        /// Skip the multiplier.
        BN_MUL_BYPASS [4] = 1, full = 0 { NO = 0, YES = 1 };
        /// Multiply only negative values.
        BN_MUL_PRELU [5] = 0 { NO = 0, YES = 1 };
        /// Skip ReLU.
        BN_RELU_BYPASS [6] = 1, full = 0 { NO = 0, YES = 1 };
    }

    /// X2 ALU operand source.
    D_DP_BN_ALU_CFG d_dp_bn_alu_cfg @ 0x70 duplicated rw {
        /// Constant or memory operand.
        BN_ALU_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Left shift of the ALU operand.
        BN_ALU_SHIFT_VALUE [13:8] = 0;
    }

    /// X2 ALU constant operand.
    D_DP_BN_ALU_SRC_VALUE d_dp_bn_alu_src_value @ 0x74 duplicated rw {
        /// Constant operand.
        BN_ALU_OPERAND [15:0] as signed = 0;
    }

    /// X2 multiplier operand source.
    D_DP_BN_MUL_CFG d_dp_bn_mul_cfg @ 0x78 duplicated rw {
        /// Constant or memory operand.
        BN_MUL_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Right shift after the multiplier.
        BN_MUL_SHIFT_VALUE [15:8] = 0;
    }

    /// X2 multiplier constant operand.
    D_DP_BN_MUL_SRC_VALUE d_dp_bn_mul_src_value @ 0x7c duplicated rw {
        /// Constant operand.
        BN_MUL_OPERAND [15:0] as signed = 0;
    }

    /// Y (EW, element-wise) stage control.
    D_DP_EW_CFG d_dp_ew_cfg @ 0x80 duplicated rw {
        /// Skip the whole stage.
        EW_BYPASS [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Skip the ALU.
        EW_ALU_BYPASS [1] = 1, full = 0 { NO = 0, YES = 1 };
        /// ALU operation.
        EW_ALU_ALGO [3:2] = 0 { MAX = 0, MIN = 1, SUM = 2, EQL = 3 };
        /// Skip the multiplier.
        EW_MUL_BYPASS [4] = 1, full = 0 { NO = 0, YES = 1 };
        /// Multiply only negative values.
        EW_MUL_PRELU [5] = 0 { NO = 0, YES = 1 };
        /// Skip the lookup table.
        EW_LUT_BYPASS [6] = 1, full = 0 { NO = 0, YES = 1 };
    }

    /// Y ALU operand source.
    D_DP_EW_ALU_CFG d_dp_ew_alu_cfg @ 0x84 duplicated rw {
        /// Constant or memory operand.
        EW_ALU_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Skip ALU operand converter.
        EW_ALU_CVT_BYPASS [1] = 1, full = 0 { NO = 0, YES = 1 };
    }

    /// Y ALU constant operand.
    D_DP_EW_ALU_SRC_VALUE d_dp_ew_alu_src_value @ 0x88 duplicated rw {
        /// Constant operand.
        EW_ALU_OPERAND [31:0] as signed = 0;
    }

    /// Y ALU operand converter offset.
    D_DP_EW_ALU_CVT_OFFSET_VALUE d_dp_ew_alu_cvt_offset_value @ 0x8c duplicated rw {
        /// Value subtracted before scaling.
        EW_ALU_CVT_OFFSET [31:0] as signed = 0;
    }

    /// Y ALU operand converter scale.
    D_DP_EW_ALU_CVT_SCALE_VALUE d_dp_ew_alu_cvt_scale_value @ 0x90 duplicated rw {
        /// Multiplier.
        EW_ALU_CVT_SCALE [15:0] as signed = 0;
    }

    /// Y ALU operand converter right shift.
    D_DP_EW_ALU_CVT_TRUNCATE_VALUE d_dp_ew_alu_cvt_truncate_value @ 0x94 duplicated rw {
        /// Right shift.
        EW_ALU_CVT_TRUNCATE [5:0] = 0;
    }

    /// Y multiplier operand source.
    D_DP_EW_MUL_CFG d_dp_ew_mul_cfg @ 0x98 duplicated rw {
        /// Constant or memory operand.
        EW_MUL_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Skip multiplier operand converter.
        EW_MUL_CVT_BYPASS [1] = 1, full = 0 { NO = 0, YES = 1 };
    }

    /// Y multiplier constant operand.
    D_DP_EW_MUL_SRC_VALUE d_dp_ew_mul_src_value @ 0x9c duplicated rw {
        /// Constant operand.
        EW_MUL_OPERAND [31:0] as signed = 0;
    }

    /// Y multiplier operand converter offset.
    D_DP_EW_MUL_CVT_OFFSET_VALUE d_dp_ew_mul_cvt_offset_value @ 0xa0 duplicated rw {
        /// Value subtracted before scaling.
        EW_MUL_CVT_OFFSET [31:0] as signed = 0;
    }

    /// Y multiplier operand converter scale.
    D_DP_EW_MUL_CVT_SCALE_VALUE d_dp_ew_mul_cvt_scale_value @ 0xa4 duplicated rw {
        /// Multiplier.
        EW_MUL_CVT_SCALE [15:0] as signed = 0;
    }

    /// Y multiplier operand converter right shift.
    D_DP_EW_MUL_CVT_TRUNCATE_VALUE d_dp_ew_mul_cvt_truncate_value @ 0xa8 duplicated rw {
        /// Right shift.
        EW_MUL_CVT_TRUNCATE [5:0] = 0;
    }

    /// Y result right shift.
    D_DP_EW_TRUNCATE_VALUE d_dp_ew_truncate_value @ 0xac duplicated rw {
        /// Right shift.
        EW_TRUNCATE [9:0] = 0;
    }

    /// Mode, destination, batch.
    D_FEATURE_MODE_CFG d_feature_mode_cfg @ 0xb0 duplicated rw {
        /// 1 takes input from the upstream unit instead of memory.
        FLYING_MODE [0] = 0 { OFF = 0, ON = 1 };
        /// Write memory or feed PDP.
        OUTPUT_DST [1] = 0 { MEM = 0, PDP = 1 };
        /// Winograd output ordering.
        WINOGRAD [2] = 0 { OFF = 0, ON = 1 };
        /// Replace NaN input by zero.
        NAN_TO_ZERO [3] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Batch count.
        BATCH_NUMBER [12:8] as minus1 = 0;
    }

    /// Destination memory select.
    D_DST_DMA_CFG d_dst_dma_cfg @ 0xb4 duplicated rw {
        /// Destination memory: secondary or primary.
        DST_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Distance between batch outputs.
    D_DST_BATCH_STRIDE d_dst_batch_stride @ 0xb8 duplicated rw {
        /// Distance in bytes.
        DST_BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Processing and output precision.
    D_DATA_FORMAT d_data_format @ 0xbc duplicated rw {
        /// Processing precision.
        PROC_PRECISION [1:0] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 };
        /// Output data precision.
        OUT_PRECISION [3:2] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// Output converter offset.
    D_CVT_OFFSET d_cvt_offset @ 0xc0 duplicated rw {
        /// Value subtracted before scaling.
        CVT_OFFSET [31:0] as signed = 0;
    }

    /// Output converter scale.
    D_CVT_SCALE d_cvt_scale @ 0xc4 duplicated rw {
        /// Output multiplier.
        CVT_SCALE [15:0] as signed = 0;
    }

    /// Output converter right shift.
    D_CVT_SHIFT d_cvt_shift @ 0xc8 duplicated rw {
        /// Output right shift.
        CVT_SHIFT [5:0] = 0;
    }

    /// Equality test result.
    D_STATUS d_status @ 0xcc duplicated ro {
        /// 1 when the EQL operation found a difference.
        STATUS_UNEQUAL [0] = 0;
    }

    /// Always 0: SDP_RDMA counts NaN inputs.
    D_STATUS_NAN_INPUT_NUM d_status_nan_input_num @ 0xd0 duplicated ro {
        /// Tied to 0 (`NV_NVDLA_sdp`).
        STATUS_NAN_INPUT_NUM [31:0] = 0;
    }

    /// Always 0: SDP_RDMA counts infinite inputs.
    D_STATUS_INF_INPUT_NUM d_status_inf_input_num @ 0xd4 duplicated ro {
        /// Tied to 0 (`NV_NVDLA_sdp`).
        STATUS_INF_INPUT_NUM [31:0] = 0;
    }

    /// NaN outputs produced.
    D_STATUS_NAN_OUTPUT_NUM d_status_nan_output_num @ 0xd8 duplicated ro {
        /// Elements.
        STATUS_NAN_OUTPUT_NUM [31:0] = 0;
    }

    /// Performance counter enable.
    D_PERF_ENABLE d_perf_enable @ 0xdc duplicated rw {
        /// Count DMA stalls.
        PERF_DMA_EN [0] = 0 { NO = 0, YES = 1 };
        /// Count table hits.
        PERF_LUT_EN [1] = 0 { NO = 0, YES = 1 };
        /// Count saturation.
        PERF_SAT_EN [2] = 0 { NO = 0, YES = 1 };
        /// Count NaN and infinity.
        PERF_NAN_INF_COUNT_EN [3] = 0 { NO = 0, YES = 1 };
    }

    /// Write DMA stall cycles.
    D_PERF_WDMA_WRITE_STALL d_perf_wdma_write_stall @ 0xe0 duplicated ro {
        /// Cycles.
        WDMA_STALL [31:0] = 0;
    }

    /// Lookups below both tables.
    D_PERF_LUT_UFLOW d_perf_lut_uflow @ 0xe4 duplicated ro {
        /// Elements.
        LUT_UFLOW [31:0] = 0;
    }

    /// Lookups above both tables.
    D_PERF_LUT_OFLOW d_perf_lut_oflow @ 0xe8 duplicated ro {
        /// Elements.
        LUT_OFLOW [31:0] = 0;
    }

    /// Saturated outputs.
    D_PERF_OUT_SATURATION d_perf_out_saturation @ 0xec duplicated ro {
        /// Elements.
        OUT_SATURATION [31:0] = 0;
    }

    /// Lookups with ambiguous hit or miss.
    D_PERF_LUT_HYBRID d_perf_lut_hybrid @ 0xf0 duplicated ro {
        /// Elements.
        LUT_HYBRID [31:0] = 0;
    }

    /// Lookups hitting only LE.
    D_PERF_LUT_LE_HIT d_perf_lut_le_hit @ 0xf4 duplicated ro {
        /// Elements.
        LUT_LE_HIT [31:0] = 0;
    }

    /// Lookups hitting only LO.
    D_PERF_LUT_LO_HIT d_perf_lut_lo_hit @ 0xf8 duplicated ro {
        /// Elements.
        LUT_LO_HIT [31:0] = 0;
    }
}
