//! Planar data processor: pooling.

registers! {
    unit "PDP";
    groups;

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x08 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Input width.
    D_DATA_CUBE_IN_WIDTH @ 0x0c duplicated rw { CUBE_IN_WIDTH [12:0] as minus1 = 0 }

    /// Input height.
    D_DATA_CUBE_IN_HEIGHT @ 0x10 duplicated rw { CUBE_IN_HEIGHT [12:0] as minus1 = 0 }

    /// Input channels.
    D_DATA_CUBE_IN_CHANNEL @ 0x14 duplicated rw { CUBE_IN_CHANNEL [12:0] as minus1 = 0 }

    /// Output width.
    D_DATA_CUBE_OUT_WIDTH @ 0x18 duplicated rw { CUBE_OUT_WIDTH [12:0] as minus1 = 0 }

    /// Output height.
    D_DATA_CUBE_OUT_HEIGHT @ 0x1c duplicated rw { CUBE_OUT_HEIGHT [12:0] as minus1 = 0 }

    /// Output channels.
    D_DATA_CUBE_OUT_CHANNEL @ 0x20 duplicated rw { CUBE_OUT_CHANNEL [12:0] as minus1 = 0 }

    /// Pooling mode and split count.
    D_OPERATION_MODE_CFG @ 0x24 duplicated rw {
        /// Average, max or min.
        POOLING_METHOD [1:0] = 0 {
            POOLING_METHOD_AVERAGE = 0, POOLING_METHOD_MAX = 1, POOLING_METHOD_MIN = 2,
        };
        /// 0 takes input from SDP, 1 reads memory.
        FLYING_MODE [4] = 0 { ON_FLYING = 0, OFF_FLYING = 1 };
        /// Vertical split count.
        SPLIT_NUM [15:8] as minus1 = 0;
    }

    /// NaN flush.
    D_NAN_FLUSH_TO_ZERO @ 0x28 duplicated rw {
        /// Replace NaN input by zero.
        NAN_TO_ZERO [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Input widths of split pieces.
    D_PARTIAL_WIDTH_IN @ 0x2c duplicated rw {
        /// First piece.
        PARTIAL_WIDTH_IN_FIRST [9:0] as minus1 = 0;
        /// Last piece.
        PARTIAL_WIDTH_IN_LAST [19:10] as minus1 = 0;
        /// Middle pieces.
        PARTIAL_WIDTH_IN_MID [29:20] as minus1 = 0;
    }

    /// Output widths of split pieces.
    D_PARTIAL_WIDTH_OUT @ 0x30 duplicated rw {
        /// First piece.
        PARTIAL_WIDTH_OUT_FIRST [9:0] as minus1 = 0;
        /// Last piece.
        PARTIAL_WIDTH_OUT_LAST [19:10] as minus1 = 0;
        /// Middle pieces.
        PARTIAL_WIDTH_OUT_MID [29:20] as minus1 = 0;
    }

    /// Pooling window and stride.
    D_POOLING_KERNEL_CFG @ 0x34 duplicated rw {
        /// Window width.
        KERNEL_WIDTH [3:0] as minus1 = 0 {
            KERNEL_WIDTH_1 = 0, KERNEL_WIDTH_2 = 1, KERNEL_WIDTH_3 = 2, KERNEL_WIDTH_4 = 3,
            KERNEL_WIDTH_5 = 4, KERNEL_WIDTH_6 = 5, KERNEL_WIDTH_7 = 6, KERNEL_WIDTH_8 = 7,
        };
        /// Window height.
        KERNEL_HEIGHT [11:8] as minus1 = 0 {
            KERNEL_HEIGHT_1 = 0, KERNEL_HEIGHT_2 = 1, KERNEL_HEIGHT_3 = 2, KERNEL_HEIGHT_4 = 3,
            KERNEL_HEIGHT_5 = 4, KERNEL_HEIGHT_6 = 5, KERNEL_HEIGHT_7 = 6, KERNEL_HEIGHT_8 = 7,
        };
        /// Horizontal stride.
        KERNEL_STRIDE_WIDTH [19:16] as minus1 = 0;
        /// Vertical stride.
        KERNEL_STRIDE_HEIGHT [23:20] as minus1 = 0;
    }

    /// Reciprocal of window width.
    D_RECIP_KERNEL_WIDTH @ 0x38 duplicated rw {
        /// 65536/width for integers, FP17 pattern for FP16.
        RECIP_KERNEL_WIDTH [16:0] = 0;
    }

    /// Reciprocal of window height.
    D_RECIP_KERNEL_HEIGHT @ 0x3c duplicated rw {
        /// 65536/height for integers, FP17 pattern for FP16.
        RECIP_KERNEL_HEIGHT [16:0] = 0;
    }

    /// Pooling padding.
    D_POOLING_PADDING_CFG @ 0x40 duplicated rw {
        /// Left padding.
        PAD_LEFT [2:0] = 0;
        /// Top padding.
        PAD_TOP [6:4] = 0;
        /// Right padding.
        PAD_RIGHT [10:8] = 0;
        /// Bottom padding.
        PAD_BOTTOM [14:12] = 0;
    }

    /// Value that one padded position adds to a window.
    D_POOLING_PADDING_VALUE_1_CFG @ 0x44 duplicated rw {
        /// Sum in the input's scale.
        PAD_VALUE_1X [18:0] as signed = 0;
    }

    /// Value that 2 padded positions add to a window.
    D_POOLING_PADDING_VALUE_2_CFG @ 0x48 duplicated rw {
        /// Sum in the input's scale.
        PAD_VALUE_2X [18:0] as signed = 0;
    }

    /// Value that 3 padded positions add to a window.
    D_POOLING_PADDING_VALUE_3_CFG @ 0x4c duplicated rw {
        /// Sum in the input's scale.
        PAD_VALUE_3X [18:0] as signed = 0;
    }

    /// Value that 4 padded positions add to a window.
    D_POOLING_PADDING_VALUE_4_CFG @ 0x50 duplicated rw {
        /// Sum in the input's scale.
        PAD_VALUE_4X [18:0] as signed = 0;
    }

    /// Value that 5 padded positions add to a window.
    D_POOLING_PADDING_VALUE_5_CFG @ 0x54 duplicated rw {
        /// Sum in the input's scale.
        PAD_VALUE_5X [18:0] as signed = 0;
    }

    /// Value that 6 padded positions add to a window.
    D_POOLING_PADDING_VALUE_6_CFG @ 0x58 duplicated rw {
        /// Sum in the input's scale.
        PAD_VALUE_6X [18:0] as signed = 0;
    }

    /// Value that 7 padded positions add to a window.
    D_POOLING_PADDING_VALUE_7_CFG @ 0x5c duplicated rw {
        /// Sum in the input's scale.
        PAD_VALUE_7X [18:0] as signed = 0;
    }

    /// Source address, low word.
    D_SRC_BASE_ADDR_LOW @ 0x60 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        SRC_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Source address, high word.
    D_SRC_BASE_ADDR_HIGH @ 0x64 duplicated rw { SRC_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Source line stride.
    D_SRC_LINE_STRIDE @ 0x68 duplicated rw {
        /// Distance in bytes.
        SRC_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source surface stride.
    D_SRC_SURFACE_STRIDE @ 0x6c duplicated rw {
        /// Distance in bytes.
        SRC_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination address, low word.
    D_DST_BASE_ADDR_LOW @ 0x70 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DST_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Destination address, high word.
    D_DST_BASE_ADDR_HIGH @ 0x74 duplicated rw { DST_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Destination line stride.
    D_DST_LINE_STRIDE @ 0x78 duplicated rw {
        /// Distance in bytes.
        DST_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination surface stride.
    D_DST_SURFACE_STRIDE @ 0x7c duplicated rw {
        /// Distance in bytes.
        DST_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination memory select.
    D_DST_RAM_CFG @ 0x80 duplicated rw {
        /// Destination memory: secondary or primary.
        DST_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Data precision.
    D_DATA_FORMAT @ 0x84 duplicated rw { INPUT_DATA [1:0] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 } }

    /// Infinity inputs seen.
    D_INF_INPUT_NUM @ 0x88 duplicated ro { INF_INPUT_NUM [31:0] = 0: "Elements." }

    /// NaN inputs seen.
    D_NAN_INPUT_NUM @ 0x8c duplicated ro { NAN_INPUT_NUM [31:0] = 0: "Elements." }

    /// NaN outputs produced.
    D_NAN_OUTPUT_NUM @ 0x90 duplicated ro { NAN_OUTPUT_NUM [31:0] = 0: "Elements." }

    /// Performance counter enable.
    D_PERF_ENABLE @ 0x94 duplicated rw { DMA_EN [0] = 0 { DISABLE = 0, ENABLE = 1 }: "Count DMA stalls." }

    /// Write stall cycles.
    D_PERF_WRITE_STALL @ 0x98 duplicated ro { PERF_WRITE_STALL [31:0] = 0: "Cycles." }

    /// Spare bits without function.
    D_CYA @ 0x9c duplicated rw { CYA [31:0] = 0: "No function." }
}
