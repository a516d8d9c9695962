//! Read DMA of the single data point processor: main input and the operands of X1 (BS), X2 (BN) and Y (EW).

registers! {
    unit "SDP_RDMA";

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

    /// Starts the layer described by this group.
    D_OP_ENABLE d_op_enable @ 0x08 duplicated rw {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Cube width.
    D_DATA_CUBE_WIDTH d_data_cube_width @ 0x0c duplicated rw {
        /// Width.
        WIDTH [12:0] as minus1 = 0;
    }

    /// Cube height.
    D_DATA_CUBE_HEIGHT d_data_cube_height @ 0x10 duplicated rw {
        /// Height.
        HEIGHT [12:0] as minus1 = 0;
    }

    /// Cube channels.
    D_DATA_CUBE_CHANNEL d_data_cube_channel @ 0x14 duplicated rw {
        /// Channels.
        CHANNEL [12:0] as minus1 = 0;
    }

    /// Source address, low word.
    D_SRC_BASE_ADDR_LOW d_src_base_addr_low @ 0x18 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        SRC_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Source address, high word.
    D_SRC_BASE_ADDR_HIGH d_src_base_addr_high @ 0x1c duplicated rw {
        /// Address bits 63:32.
        SRC_BASE_ADDR_HIGH [31:0] = 0;
    }

    /// Source line stride.
    D_SRC_LINE_STRIDE d_src_line_stride @ 0x20 duplicated rw {
        /// Distance in bytes.
        SRC_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source surface stride.
    D_SRC_SURFACE_STRIDE d_src_surface_stride @ 0x24 duplicated rw {
        /// Distance in bytes.
        SRC_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Bias stream control.
    D_BRDMA_CFG d_brdma_cfg @ 0x28 duplicated rw {
        /// 1 turns this stream off.
        BRDMA_DISABLE [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Which operand(s) the stream carries.
        BRDMA_DATA_USE [2:1] = 0 { MUL = 0, ALU = 1, BOTH = 2 };
        /// Operand width.
        BRDMA_DATA_SIZE [3] = 0 { ONE_BYTE = 0, TWO_BYTE = 1 };
        /// Per channel or per element.
        BRDMA_DATA_MODE [4] = 0 { PER_KERNEL = 0, PER_ELEMENT = 1 };
        /// Stream memory: secondary or primary.
        BRDMA_RAM_TYPE [5] = 0 { CV = 0, MC = 1 };
    }

    /// Bias operand address, low word.
    D_BS_BASE_ADDR_LOW d_bs_base_addr_low @ 0x2c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        BS_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Bias operand address, high word.
    D_BS_BASE_ADDR_HIGH d_bs_base_addr_high @ 0x30 duplicated rw {
        /// Address bits 63:32.
        BS_BASE_ADDR_HIGH [31:0] = 0;
    }

    /// Bias operand line stride.
    D_BS_LINE_STRIDE d_bs_line_stride @ 0x34 duplicated rw {
        /// Distance in bytes.
        BS_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Bias operand surface stride.
    D_BS_SURFACE_STRIDE d_bs_surface_stride @ 0x38 duplicated rw {
        /// Distance in bytes.
        BS_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Bias operand batch stride.
    D_BS_BATCH_STRIDE d_bs_batch_stride @ 0x3c duplicated rw {
        /// Distance in bytes.
        BS_BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Batch-norm stream control.
    D_NRDMA_CFG d_nrdma_cfg @ 0x40 duplicated rw {
        /// 1 turns this stream off.
        NRDMA_DISABLE [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Which operand(s) the stream carries.
        NRDMA_DATA_USE [2:1] = 0 { MUL = 0, ALU = 1, BOTH = 2 };
        /// Operand width.
        NRDMA_DATA_SIZE [3] = 0 { ONE_BYTE = 0, TWO_BYTE = 1 };
        /// Per channel or per element.
        NRDMA_DATA_MODE [4] = 0 { PER_KERNEL = 0, PER_ELEMENT = 1 };
        /// Stream memory: secondary or primary.
        NRDMA_RAM_TYPE [5] = 0 { CV = 0, MC = 1 };
    }

    /// Batch-norm operand address, low word.
    D_BN_BASE_ADDR_LOW d_bn_base_addr_low @ 0x44 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        BN_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Batch-norm operand address, high word.
    D_BN_BASE_ADDR_HIGH d_bn_base_addr_high @ 0x48 duplicated rw {
        /// Address bits 63:32.
        BN_BASE_ADDR_HIGH [31:0] = 0;
    }

    /// Batch-norm operand line stride.
    D_BN_LINE_STRIDE d_bn_line_stride @ 0x4c duplicated rw {
        /// Distance in bytes.
        BN_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Batch-norm operand surface stride.
    D_BN_SURFACE_STRIDE d_bn_surface_stride @ 0x50 duplicated rw {
        /// Distance in bytes.
        BN_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Batch-norm operand batch stride.
    D_BN_BATCH_STRIDE d_bn_batch_stride @ 0x54 duplicated rw {
        /// Distance in bytes.
        BN_BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Element-wise stream control.
    D_ERDMA_CFG d_erdma_cfg @ 0x58 duplicated rw {
        /// 1 turns this stream off.
        ERDMA_DISABLE [0] = 1, full = 0 { NO = 0, YES = 1 };
        /// Which operand(s) the stream carries.
        ERDMA_DATA_USE [2:1] = 0 { MUL = 0, ALU = 1, BOTH = 2 };
        /// Operand width.
        ERDMA_DATA_SIZE [3] = 0 { ONE_BYTE = 0, TWO_BYTE = 1 };
        /// Per channel or per element.
        ERDMA_DATA_MODE [4] = 0 { PER_KERNEL = 0, PER_ELEMENT = 1 };
        /// Stream memory: secondary or primary.
        ERDMA_RAM_TYPE [5] = 0 { CV = 0, MC = 1 };
    }

    /// Element-wise operand address, low word.
    D_EW_BASE_ADDR_LOW d_ew_base_addr_low @ 0x5c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        EW_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Element-wise operand address, high word.
    D_EW_BASE_ADDR_HIGH d_ew_base_addr_high @ 0x60 duplicated rw {
        /// Address bits 63:32.
        EW_BASE_ADDR_HIGH [31:0] = 0;
    }

    /// Element-wise operand line stride.
    D_EW_LINE_STRIDE d_ew_line_stride @ 0x64 duplicated rw {
        /// Distance in bytes.
        EW_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Element-wise operand surface stride.
    D_EW_SURFACE_STRIDE d_ew_surface_stride @ 0x68 duplicated rw {
        /// Distance in bytes.
        EW_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Element-wise operand batch stride.
    D_EW_BATCH_STRIDE d_ew_batch_stride @ 0x6c duplicated rw {
        /// Distance in bytes.
        EW_BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Mode, precision, batch.
    D_FEATURE_MODE_CFG d_feature_mode_cfg @ 0x70 duplicated rw {
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
    D_SRC_DMA_CFG d_src_dma_cfg @ 0x74 duplicated rw {
        /// Source memory: secondary or primary.
        SRC_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// NaN inputs seen.
    D_STATUS_NAN_INPUT_NUM d_status_nan_input_num @ 0x78 duplicated ro {
        /// Elements.
        STATUS_NAN_INPUT_NUM [31:0] = 0;
    }

    /// Infinity inputs seen.
    D_STATUS_INF_INPUT_NUM d_status_inf_input_num @ 0x7c duplicated ro {
        /// Elements.
        STATUS_INF_INPUT_NUM [31:0] = 0;
    }

    /// Performance counter enable.
    D_PERF_ENABLE d_perf_enable @ 0x80 duplicated rw {
        /// Count DMA stalls.
        PERF_DMA_EN [0] = 0 { NO = 0, YES = 1 };
        /// Count NaN and infinity.
        PERF_NAN_INF_COUNT_EN [1] = 0 { NO = 0, YES = 1 };
    }

    /// Main read DMA stall cycles.
    D_PERF_MRDMA_READ_STALL d_perf_mrdma_read_stall @ 0x84 duplicated ro {
        /// Cycles.
        MRDMA_STALL [31:0] = 0;
    }

    /// Bias read DMA stall cycles.
    D_PERF_BRDMA_READ_STALL d_perf_brdma_read_stall @ 0x88 duplicated ro {
        /// Cycles.
        BRDMA_STALL [31:0] = 0;
    }

    /// Batch-norm read DMA stall cycles.
    D_PERF_NRDMA_READ_STALL d_perf_nrdma_read_stall @ 0x8c duplicated ro {
        /// Cycles.
        NRDMA_STALL [31:0] = 0;
    }

    /// Element-wise read DMA stall cycles.
    D_PERF_ERDMA_READ_STALL d_perf_erdma_read_stall @ 0x90 duplicated ro {
        /// Cycles.
        ERDMA_STALL [31:0] = 0;
    }
}
