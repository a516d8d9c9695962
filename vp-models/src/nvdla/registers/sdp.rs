//! Single data point processor: bias, batch normalisation, element-wise operations, activation.

registers! {
    unit "SDP";
    groups;
    lookup_tables;

    /// LE table range start.
    S_LUT_LE_START @ 0x18 single rw { LUT_LE_START [31:0] as signed = 0: "Table start." }

    /// LE table range end.
    S_LUT_LE_END @ 0x1c single rw { LUT_LE_END [31:0] as signed = 0: "Table end." }

    /// LO table range start.
    S_LUT_LO_START @ 0x20 single rw { LUT_LO_START [31:0] as signed = 0: "Table start." }

    /// LO table range end.
    S_LUT_LO_END @ 0x24 single rw { LUT_LO_END [31:0] as signed = 0: "Table end." }

    /// LE table out-of-range slope multiplier.
    S_LUT_LE_SLOPE_SCALE @ 0x28 single rw {
        /// LE below-range multiplier.
        LUT_LE_SLOPE_UFLOW_SCALE [15:0] as signed = 0;
        /// LE above-range multiplier.
        LUT_LE_SLOPE_OFLOW_SCALE [31:16] as signed = 0;
    }

    /// LE table out-of-range slope shift.
    S_LUT_LE_SLOPE_SHIFT @ 0x2c single rw {
        /// LE below-range shift, positive is right.
        LUT_LE_SLOPE_UFLOW_SHIFT [4:0] as signed = 0;
        /// LE above-range shift, positive is right.
        LUT_LE_SLOPE_OFLOW_SHIFT [9:5] as signed = 0;
    }

    /// LO table out-of-range slope multiplier.
    S_LUT_LO_SLOPE_SCALE @ 0x30 single rw {
        /// LO below-range multiplier.
        LUT_LO_SLOPE_UFLOW_SCALE [15:0] as signed = 0;
        /// LO above-range multiplier.
        LUT_LO_SLOPE_OFLOW_SCALE [31:16] as signed = 0;
    }

    /// LO table out-of-range slope shift.
    S_LUT_LO_SLOPE_SHIFT @ 0x34 single rw {
        /// LO below-range shift, positive is right.
        LUT_LO_SLOPE_UFLOW_SHIFT [4:0] as signed = 0;
        /// LO above-range shift, positive is right.
        LUT_LO_SLOPE_OFLOW_SHIFT [9:5] as signed = 0;
    }

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x38 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Cube width.
    D_DATA_CUBE_WIDTH @ 0x3c duplicated rw { WIDTH [12:0] as minus1 = 0: "Width." }

    /// Cube height.
    D_DATA_CUBE_HEIGHT @ 0x40 duplicated rw { HEIGHT [12:0] as minus1 = 0: "Height." }

    /// Cube channels.
    D_DATA_CUBE_CHANNEL @ 0x44 duplicated rw { CHANNEL [12:0] as minus1 = 0: "Channels." }

    /// Destination address, low word.
    D_DST_BASE_ADDR_LOW @ 0x48 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DST_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Destination address, high word.
    D_DST_BASE_ADDR_HIGH @ 0x4c duplicated rw { DST_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Destination line stride.
    D_DST_LINE_STRIDE @ 0x50 duplicated rw {
        /// Distance in bytes.
        DST_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination surface stride.
    D_DST_SURFACE_STRIDE @ 0x54 duplicated rw {
        /// Distance in bytes.
        DST_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// X1 (BS, bias) stage control.
    D_DP_BS_CFG @ 0x58 duplicated rw {
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
    D_DP_BS_ALU_CFG @ 0x5c duplicated rw {
        /// Constant or memory operand.
        BS_ALU_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Left shift of the ALU operand.
        BS_ALU_SHIFT_VALUE [13:8] = 0;
    }

    /// X1 ALU constant operand.
    D_DP_BS_ALU_SRC_VALUE @ 0x60 duplicated rw { BS_ALU_OPERAND [15:0] as signed = 0: "Constant operand." }

    /// X1 multiplier operand source.
    D_DP_BS_MUL_CFG @ 0x64 duplicated rw {
        /// Constant or memory operand.
        BS_MUL_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Right shift after the multiplier.
        BS_MUL_SHIFT_VALUE [15:8] = 0;
    }

    /// X1 multiplier constant operand.
    D_DP_BS_MUL_SRC_VALUE @ 0x68 duplicated rw { BS_MUL_OPERAND [15:0] as signed = 0: "Constant operand." }

    /// X2 (BN, batch normalisation) stage control.
    D_DP_BN_CFG @ 0x6c duplicated rw {
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
    D_DP_BN_ALU_CFG @ 0x70 duplicated rw {
        /// Constant or memory operand.
        BN_ALU_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Left shift of the ALU operand.
        BN_ALU_SHIFT_VALUE [13:8] = 0;
    }

    /// X2 ALU constant operand.
    D_DP_BN_ALU_SRC_VALUE @ 0x74 duplicated rw { BN_ALU_OPERAND [15:0] as signed = 0: "Constant operand." }

    /// X2 multiplier operand source.
    D_DP_BN_MUL_CFG @ 0x78 duplicated rw {
        /// Constant or memory operand.
        BN_MUL_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Right shift after the multiplier.
        BN_MUL_SHIFT_VALUE [15:8] = 0;
    }

    /// X2 multiplier constant operand.
    D_DP_BN_MUL_SRC_VALUE @ 0x7c duplicated rw { BN_MUL_OPERAND [15:0] as signed = 0: "Constant operand." }

    /// Y (EW, element-wise) stage control.
    D_DP_EW_CFG @ 0x80 duplicated rw {
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
    D_DP_EW_ALU_CFG @ 0x84 duplicated rw {
        /// Constant or memory operand.
        EW_ALU_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Skip ALU operand converter.
        EW_ALU_CVT_BYPASS [1] = 1, full = 0 { NO = 0, YES = 1 };
    }

    /// Y ALU constant operand.
    D_DP_EW_ALU_SRC_VALUE @ 0x88 duplicated rw { EW_ALU_OPERAND [31:0] as signed = 0: "Constant operand." }

    /// Y ALU operand converter offset.
    D_DP_EW_ALU_CVT_OFFSET_VALUE @ 0x8c duplicated rw {
        /// Value subtracted before scaling.
        EW_ALU_CVT_OFFSET [31:0] as signed = 0;
    }

    /// Y ALU operand converter scale.
    D_DP_EW_ALU_CVT_SCALE_VALUE @ 0x90 duplicated rw { EW_ALU_CVT_SCALE [15:0] as signed = 0: "Multiplier." }

    /// Y ALU operand converter right shift.
    D_DP_EW_ALU_CVT_TRUNCATE_VALUE @ 0x94 duplicated rw { EW_ALU_CVT_TRUNCATE [5:0] = 0: "Right shift." }

    /// Y multiplier operand source.
    D_DP_EW_MUL_CFG @ 0x98 duplicated rw {
        /// Constant or memory operand.
        EW_MUL_SRC [0] = 0 { REG = 0, MEM = 1 };
        /// Skip multiplier operand converter.
        EW_MUL_CVT_BYPASS [1] = 1, full = 0 { NO = 0, YES = 1 };
    }

    /// Y multiplier constant operand.
    D_DP_EW_MUL_SRC_VALUE @ 0x9c duplicated rw { EW_MUL_OPERAND [31:0] as signed = 0: "Constant operand." }

    /// Y multiplier operand converter offset.
    D_DP_EW_MUL_CVT_OFFSET_VALUE @ 0xa0 duplicated rw {
        /// Value subtracted before scaling.
        EW_MUL_CVT_OFFSET [31:0] as signed = 0;
    }

    /// Y multiplier operand converter scale.
    D_DP_EW_MUL_CVT_SCALE_VALUE @ 0xa4 duplicated rw { EW_MUL_CVT_SCALE [15:0] as signed = 0: "Multiplier." }

    /// Y multiplier operand converter right shift.
    D_DP_EW_MUL_CVT_TRUNCATE_VALUE @ 0xa8 duplicated rw { EW_MUL_CVT_TRUNCATE [5:0] = 0: "Right shift." }

    /// Y result right shift.
    D_DP_EW_TRUNCATE_VALUE @ 0xac duplicated rw { EW_TRUNCATE [9:0] = 0: "Right shift." }

    /// Mode, destination, batch.
    D_FEATURE_MODE_CFG @ 0xb0 duplicated rw {
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
    D_DST_DMA_CFG @ 0xb4 duplicated rw {
        /// Destination memory: secondary or primary.
        DST_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Distance between batch outputs.
    D_DST_BATCH_STRIDE @ 0xb8 duplicated rw {
        /// Distance in bytes.
        DST_BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Processing and output precision.
    D_DATA_FORMAT @ 0xbc duplicated rw {
        /// Processing precision.
        PROC_PRECISION [1:0] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 };
        /// Output data precision.
        OUT_PRECISION [3:2] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// Output converter offset.
    D_CVT_OFFSET @ 0xc0 duplicated rw { CVT_OFFSET [31:0] as signed = 0: "Value subtracted before scaling." }

    /// Output converter scale.
    D_CVT_SCALE @ 0xc4 duplicated rw { CVT_SCALE [15:0] as signed = 0: "Output multiplier." }

    /// Output converter right shift.
    D_CVT_SHIFT @ 0xc8 duplicated rw { CVT_SHIFT [5:0] = 0: "Output right shift." }

    /// Equality test result.
    D_STATUS @ 0xcc duplicated ro { STATUS_UNEQUAL [0] = 0: "1 when the EQL operation found a difference." }

    /// Always 0: SDP_RDMA counts NaN inputs.
    D_STATUS_NAN_INPUT_NUM @ 0xd0 duplicated ro {
        /// Tied to 0 (`NV_NVDLA_sdp`).
        STATUS_NAN_INPUT_NUM [31:0] = 0;
    }

    /// Always 0: SDP_RDMA counts infinite inputs.
    D_STATUS_INF_INPUT_NUM @ 0xd4 duplicated ro {
        /// Tied to 0 (`NV_NVDLA_sdp`).
        STATUS_INF_INPUT_NUM [31:0] = 0;
    }

    /// NaN outputs produced.
    D_STATUS_NAN_OUTPUT_NUM @ 0xd8 duplicated ro { STATUS_NAN_OUTPUT_NUM [31:0] = 0: "Elements." }

    /// Performance counter enable.
    D_PERF_ENABLE @ 0xdc duplicated rw {
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
    D_PERF_WDMA_WRITE_STALL @ 0xe0 duplicated ro { WDMA_STALL [31:0] = 0: "Cycles." }

    /// Lookups below both tables.
    D_PERF_LUT_UFLOW @ 0xe4 duplicated ro { LUT_UFLOW [31:0] = 0: "Elements." }

    /// Lookups above both tables.
    D_PERF_LUT_OFLOW @ 0xe8 duplicated ro { LUT_OFLOW [31:0] = 0: "Elements." }

    /// Saturated outputs.
    D_PERF_OUT_SATURATION @ 0xec duplicated ro { OUT_SATURATION [31:0] = 0: "Elements." }

    /// Lookups with ambiguous hit or miss.
    D_PERF_LUT_HYBRID @ 0xf0 duplicated ro { LUT_HYBRID [31:0] = 0: "Elements." }

    /// Lookups hitting only LE.
    D_PERF_LUT_LE_HIT @ 0xf4 duplicated ro { LUT_LE_HIT [31:0] = 0: "Elements." }

    /// Lookups hitting only LO.
    D_PERF_LUT_LO_HIT @ 0xf8 duplicated ro { LUT_LO_HIT [31:0] = 0: "Elements." }
}
