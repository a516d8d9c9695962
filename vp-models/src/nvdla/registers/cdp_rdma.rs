//! Read DMA of the channel data processor.

registers! {
    unit "CDP_RDMA";

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

    /// Source memory select.
    D_SRC_DMA_CFG d_src_dma_cfg @ 0x28 duplicated rw {
        /// Source memory: secondary or primary.
        SRC_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Input compression flag (fixed).
    D_SRC_COMPRESSION_EN d_src_compression_en @ 0x2c duplicated ro {
        /// Reads 0.
        SRC_COMPRESSION_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Operation mode (fixed).
    D_OPERATION_MODE d_operation_mode @ 0x30 duplicated ro {
        /// Reads the reset value.
        OPERATION_MODE [1:0] = 0 { READPHILE = 0, WRITEPHILE = 1, ORDINARY = 2 };
    }

    /// Data precision.
    D_DATA_FORMAT d_data_format @ 0x34 duplicated rw {
        /// Data precision.
        INPUT_DATA [1:0] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// Performance counter enable.
    D_PERF_ENABLE d_perf_enable @ 0x38 duplicated rw {
        /// Count DMA stalls.
        DMA_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Read stall cycles.
    D_PERF_READ_STALL d_perf_read_stall @ 0x3c duplicated ro {
        /// Cycles.
        PERF_READ_STALL [31:0] = 0;
    }

    /// Spare bits without function.
    D_CYA d_cya @ 0x40 duplicated rw {
        /// No function.
        CYA [31:0] = 0;
    }
}
