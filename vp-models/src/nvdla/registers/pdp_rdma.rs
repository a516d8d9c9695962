//! Read DMA of the planar data processor.

registers! {
    unit "PDP_RDMA";

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

    /// Input width.
    D_DATA_CUBE_IN_WIDTH d_data_cube_in_width @ 0x0c duplicated rw {
        /// Input width.
        CUBE_IN_WIDTH [12:0] as minus1 = 0;
    }

    /// Input height.
    D_DATA_CUBE_IN_HEIGHT d_data_cube_in_height @ 0x10 duplicated rw {
        /// Input height.
        CUBE_IN_HEIGHT [12:0] as minus1 = 0;
    }

    /// Input channels.
    D_DATA_CUBE_IN_CHANNEL d_data_cube_in_channel @ 0x14 duplicated rw {
        /// Input channels.
        CUBE_IN_CHANNEL [12:0] as minus1 = 0;
    }

    /// Input source select.
    D_FLYING_MODE d_flying_mode @ 0x18 duplicated rw {
        /// 0 input comes from SDP, 1 read memory.
        FLYING_MODE [0] = 0 { ON_FLYING = 0, OFF_FLYING = 1 };
    }

    /// Source address, low word.
    D_SRC_BASE_ADDR_LOW d_src_base_addr_low @ 0x1c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        SRC_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Source address, high word.
    D_SRC_BASE_ADDR_HIGH d_src_base_addr_high @ 0x20 duplicated rw {
        /// Address bits 63:32.
        SRC_BASE_ADDR_HIGH [31:0] = 0;
    }

    /// Source line stride.
    D_SRC_LINE_STRIDE d_src_line_stride @ 0x24 duplicated rw {
        /// Distance in bytes.
        SRC_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source surface stride.
    D_SRC_SURFACE_STRIDE d_src_surface_stride @ 0x28 duplicated rw {
        /// Distance in bytes.
        SRC_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source memory select.
    D_SRC_RAM_CFG d_src_ram_cfg @ 0x2c duplicated rw {
        /// Source memory: secondary or primary.
        SRC_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Data precision.
    D_DATA_FORMAT d_data_format @ 0x30 duplicated rw {
        /// Data precision.
        INPUT_DATA [1:0] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// Pooling mode and split count.
    D_OPERATION_MODE_CFG d_operation_mode_cfg @ 0x34 duplicated rw {
        /// Vertical split count.
        SPLIT_NUM [7:0] as minus1 = 0;
    }

    /// Pooling window and stride.
    D_POOLING_KERNEL_CFG d_pooling_kernel_cfg @ 0x38 duplicated rw {
        /// Window width.
        KERNEL_WIDTH [3:0] as minus1 = 0 {
            KERNEL_WIDTH_1 = 0, KERNEL_WIDTH_2 = 1, KERNEL_WIDTH_3 = 2, KERNEL_WIDTH_4 = 3,
            KERNEL_WIDTH_5 = 4, KERNEL_WIDTH_6 = 5, KERNEL_WIDTH_7 = 6, KERNEL_WIDTH_8 = 7,
        };
        /// Horizontal stride.
        KERNEL_STRIDE_WIDTH [7:4] as minus1 = 0;
    }

    /// Pooling padding.
    D_POOLING_PADDING_CFG d_pooling_padding_cfg @ 0x3c duplicated rw {
        /// Left padding.
        PAD_WIDTH [3:0] = 0;
    }

    /// Input widths of split pieces.
    D_PARTIAL_WIDTH_IN d_partial_width_in @ 0x40 duplicated rw {
        /// First piece.
        PARTIAL_WIDTH_IN_FIRST [9:0] as minus1 = 0;
        /// Last piece.
        PARTIAL_WIDTH_IN_LAST [19:10] as minus1 = 0;
        /// Middle pieces.
        PARTIAL_WIDTH_IN_MID [29:20] as minus1 = 0;
    }

    /// Performance counter enable.
    D_PERF_ENABLE d_perf_enable @ 0x44 duplicated rw {
        /// Count DMA stalls.
        DMA_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Read stall cycles.
    D_PERF_READ_STALL d_perf_read_stall @ 0x48 duplicated ro {
        /// Cycles.
        PERF_READ_STALL [31:0] = 0;
    }

    /// Spare bits without function.
    D_CYA d_cya @ 0x4c duplicated rw {
        /// No function.
        CYA [31:0] = 0;
    }
}
