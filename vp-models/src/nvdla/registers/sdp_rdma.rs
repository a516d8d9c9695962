//! Read DMA of the single data point processor: main input and the operands of X1 (BS), X2 (BN) and Y (EW).

registers! {
    unit "SDP_RDMA";
    groups;

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x08 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Cube width.
    D_DATA_CUBE_WIDTH @ 0x0c duplicated rw { WIDTH [12:0] as minus1 = 0: "Width." }

    /// Cube height.
    D_DATA_CUBE_HEIGHT @ 0x10 duplicated rw { HEIGHT [12:0] as minus1 = 0: "Height." }

    /// Cube channels.
    D_DATA_CUBE_CHANNEL @ 0x14 duplicated rw { CHANNEL [12:0] as minus1 = 0: "Channels." }

    /// Source address, low word.
    D_SRC_BASE_ADDR_LOW @ 0x18 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        SRC_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Source address, high word.
    D_SRC_BASE_ADDR_HIGH @ 0x1c duplicated rw { SRC_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Source line stride.
    D_SRC_LINE_STRIDE @ 0x20 duplicated rw {
        /// Distance in bytes.
        SRC_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source surface stride.
    D_SRC_SURFACE_STRIDE @ 0x24 duplicated rw {
        /// Distance in bytes.
        SRC_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Bias stream control.
    D_BRDMA_CFG @ 0x28 duplicated rw {
        /// 1 turns this stream off.
        BRDMA_DISABLE [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Operand(s) that the stream carries.
        BRDMA_DATA_USE [2:1] = 0 { MUL = 0, ALU = 1, BOTH = 2 };
        /// Operand width.
        BRDMA_DATA_SIZE [3] = 0 { ONE_BYTE = 0, TWO_BYTE = 1 };
        /// Per channel or per element.
        BRDMA_DATA_MODE [4] = 0 { PER_KERNEL = 0, PER_ELEMENT = 1 };
        /// Stream memory: secondary or primary.
        BRDMA_RAM_TYPE [5] = 0 { CV = 0, MC = 1 };
    }

    /// Bias operand address, low word.
    D_BS_BASE_ADDR_LOW @ 0x2c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        BS_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Bias operand address, high word.
    D_BS_BASE_ADDR_HIGH @ 0x30 duplicated rw { BS_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Bias operand line stride.
    D_BS_LINE_STRIDE @ 0x34 duplicated rw {
        /// Distance in bytes.
        BS_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Bias operand surface stride.
    D_BS_SURFACE_STRIDE @ 0x38 duplicated rw {
        /// Distance in bytes.
        BS_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Bias operand batch stride.
    D_BS_BATCH_STRIDE @ 0x3c duplicated rw {
        /// Distance in bytes.
        BS_BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Batch-norm stream control.
    D_NRDMA_CFG @ 0x40 duplicated rw {
        /// 1 turns this stream off.
        NRDMA_DISABLE [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Operand(s) that the stream carries.
        NRDMA_DATA_USE [2:1] = 0 { MUL = 0, ALU = 1, BOTH = 2 };
        /// Operand width.
        NRDMA_DATA_SIZE [3] = 0 { ONE_BYTE = 0, TWO_BYTE = 1 };
        /// Per channel or per element.
        NRDMA_DATA_MODE [4] = 0 { PER_KERNEL = 0, PER_ELEMENT = 1 };
        /// Stream memory: secondary or primary.
        NRDMA_RAM_TYPE [5] = 0 { CV = 0, MC = 1 };
    }

    /// Batch-norm operand address, low word.
    D_BN_BASE_ADDR_LOW @ 0x44 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        BN_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Batch-norm operand address, high word.
    D_BN_BASE_ADDR_HIGH @ 0x48 duplicated rw { BN_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Batch-norm operand line stride.
    D_BN_LINE_STRIDE @ 0x4c duplicated rw {
        /// Distance in bytes.
        BN_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Batch-norm operand surface stride.
    D_BN_SURFACE_STRIDE @ 0x50 duplicated rw {
        /// Distance in bytes.
        BN_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Batch-norm operand batch stride.
    D_BN_BATCH_STRIDE @ 0x54 duplicated rw {
        /// Distance in bytes.
        BN_BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Element-wise stream control.
    D_ERDMA_CFG @ 0x58 duplicated rw {
        /// 1 turns this stream off.
        ERDMA_DISABLE [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Operand(s) that the stream carries.
        ERDMA_DATA_USE [2:1] = 0 { MUL = 0, ALU = 1, BOTH = 2 };
        /// Operand width.
        ERDMA_DATA_SIZE [3] = 0 { ONE_BYTE = 0, TWO_BYTE = 1 };
        /// Per channel or per element.
        ERDMA_DATA_MODE [4] = 0 { PER_KERNEL = 0, PER_ELEMENT = 1 };
        /// Stream memory: secondary or primary.
        ERDMA_RAM_TYPE [5] = 0 { CV = 0, MC = 1 };
    }

    /// Element-wise operand address, low word.
    D_EW_BASE_ADDR_LOW @ 0x5c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        EW_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Element-wise operand address, high word.
    D_EW_BASE_ADDR_HIGH @ 0x60 duplicated rw { EW_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Element-wise operand line stride.
    D_EW_LINE_STRIDE @ 0x64 duplicated rw {
        /// Distance in bytes.
        EW_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Element-wise operand surface stride.
    D_EW_SURFACE_STRIDE @ 0x68 duplicated rw {
        /// Distance in bytes.
        EW_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Element-wise operand batch stride.
    D_EW_BATCH_STRIDE @ 0x6c duplicated rw {
        /// Distance in bytes.
        EW_BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Mode, precision, batch.
    D_FEATURE_MODE_CFG @ 0x70 duplicated rw {
        /// 1 takes input from the upstream unit instead of memory.
        FLYING_MODE [0] = 0 { OFF = 0, ON = 1 };
        /// Winograd output ordering.
        WINOGRAD [1] = 0 { OFF = 0, ON = 1 };
        /// Input data precision.
        IN_PRECISION [3:2] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
        /// Processing precision.
        PROC_PRECISION [5:4] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
        /// Output data precision.
        OUT_PRECISION [7:6] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 };
        /// Batch count.
        BATCH_NUMBER [12:8] as minus1 = 0;
    }

    /// Source memory select.
    D_SRC_DMA_CFG @ 0x74 duplicated rw {
        /// Source memory: secondary or primary.
        SRC_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// NaN inputs seen.
    D_STATUS_NAN_INPUT_NUM @ 0x78 duplicated ro { STATUS_NAN_INPUT_NUM [31:0] = 0: "Elements." }

    /// Infinity inputs seen.
    D_STATUS_INF_INPUT_NUM @ 0x7c duplicated ro { STATUS_INF_INPUT_NUM [31:0] = 0: "Elements." }

    /// Performance counter enable.
    D_PERF_ENABLE @ 0x80 duplicated rw {
        /// Count DMA stalls.
        PERF_DMA_EN [0] = 0 { NO = 0, YES = 1 };
        /// Count NaN and infinity.
        PERF_NAN_INF_COUNT_EN [1] = 0 { NO = 0, YES = 1 };
    }

    /// Main read DMA stall cycles.
    D_PERF_MRDMA_READ_STALL @ 0x84 duplicated ro { MRDMA_STALL [31:0] = 0: "Cycles." }

    /// Bias read DMA stall cycles.
    D_PERF_BRDMA_READ_STALL @ 0x88 duplicated ro { BRDMA_STALL [31:0] = 0: "Cycles." }

    /// Batch-norm read DMA stall cycles.
    D_PERF_NRDMA_READ_STALL @ 0x8c duplicated ro { NRDMA_STALL [31:0] = 0: "Cycles." }

    /// Element-wise read DMA stall cycles.
    D_PERF_ERDMA_READ_STALL @ 0x90 duplicated ro { ERDMA_STALL [31:0] = 0: "Cycles." }
}
