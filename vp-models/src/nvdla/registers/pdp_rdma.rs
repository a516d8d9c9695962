//! Read DMA of the planar data processor.

registers! {
    unit "PDP_RDMA";
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

    /// Input source select.
    D_FLYING_MODE @ 0x18 duplicated rw {
        /// 0 input comes from SDP, 1 read memory.
        FLYING_MODE [0] = 0 { ON_FLYING = 0, OFF_FLYING = 1 };
    }

    /// Source address, low word.
    D_SRC_BASE_ADDR_LOW @ 0x1c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        SRC_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Source address, high word.
    D_SRC_BASE_ADDR_HIGH @ 0x20 duplicated rw { SRC_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Source line stride.
    D_SRC_LINE_STRIDE @ 0x24 duplicated rw {
        /// Distance in bytes.
        SRC_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source surface stride.
    D_SRC_SURFACE_STRIDE @ 0x28 duplicated rw {
        /// Distance in bytes.
        SRC_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source memory select.
    D_SRC_RAM_CFG @ 0x2c duplicated rw {
        /// Source memory: secondary or primary.
        SRC_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Data precision.
    D_DATA_FORMAT @ 0x30 duplicated rw { INPUT_DATA [1:0] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 } }

    /// Pooling mode and split count.
    D_OPERATION_MODE_CFG @ 0x34 duplicated rw { SPLIT_NUM [7:0] as minus1 = 0: "Vertical split count." }

    /// Pooling window and stride.
    D_POOLING_KERNEL_CFG @ 0x38 duplicated rw {
        /// Window width.
        KERNEL_WIDTH [3:0] as minus1 = 0 {
            KERNEL_WIDTH_1 = 0, KERNEL_WIDTH_2 = 1, KERNEL_WIDTH_3 = 2, KERNEL_WIDTH_4 = 3,
            KERNEL_WIDTH_5 = 4, KERNEL_WIDTH_6 = 5, KERNEL_WIDTH_7 = 6, KERNEL_WIDTH_8 = 7,
        };
        /// Horizontal stride.
        KERNEL_STRIDE_WIDTH [7:4] as minus1 = 0;
    }

    /// Pooling padding.
    D_POOLING_PADDING_CFG @ 0x3c duplicated rw { PAD_WIDTH [3:0] = 0: "Left padding." }

    /// Input widths of split pieces.
    D_PARTIAL_WIDTH_IN @ 0x40 duplicated rw {
        /// First piece.
        PARTIAL_WIDTH_IN_FIRST [9:0] as minus1 = 0;
        /// Last piece.
        PARTIAL_WIDTH_IN_LAST [19:10] as minus1 = 0;
        /// Middle pieces.
        PARTIAL_WIDTH_IN_MID [29:20] as minus1 = 0;
    }

    /// Performance counter enable.
    D_PERF_ENABLE @ 0x44 duplicated rw { DMA_EN [0] = 0 { DISABLE = 0, ENABLE = 1 }: "Count DMA stalls." }

    /// Read stall cycles.
    D_PERF_READ_STALL @ 0x48 duplicated ro { PERF_READ_STALL [31:0] = 0: "Cycles." }

    /// Spare bits without function.
    D_CYA @ 0x4c duplicated rw { CYA [31:0] = 0: "No function." }
}
