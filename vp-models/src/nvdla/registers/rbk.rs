//! Rubik: reshapes data (contract, split, merge).

registers! {
    unit "RBK";

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

    /// Reshape mode and precision.
    D_MISC_CFG d_misc_cfg @ 0x0c duplicated rw {
        /// Reshape operation.
        RUBIK_MODE [1:0] = 0 { CONTRACT = 0, SPLIT = 1, MERGE = 2 };
        /// Input data precision.
        IN_PRECISION [9:8] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// Input memory select.
    D_DAIN_RAM_TYPE d_dain_ram_type @ 0x10 duplicated rw {
        /// Input memory: secondary or primary.
        DATAIN_RAM_TYPE [0] = 0 { CVIF = 0, MCIF = 1 };
    }

    /// Input width and height.
    D_DATAIN_SIZE_0 d_datain_size_0 @ 0x14 duplicated rw {
        /// Input width.
        DATAIN_WIDTH [12:0] as minus1 = 0;
        /// Input height.
        DATAIN_HEIGHT [28:16] as minus1 = 0;
    }

    /// Input channels.
    D_DATAIN_SIZE_1 d_datain_size_1 @ 0x18 duplicated rw {
        /// Input channels.
        DATAIN_CHANNEL [12:0] as minus1 = 0;
    }

    /// Input address, high word.
    D_DAIN_ADDR_HIGH d_dain_addr_high @ 0x1c duplicated rw {
        /// Address bits 63:32.
        DAIN_ADDR_HIGH [31:0] = 0;
    }

    /// Input address, low word.
    D_DAIN_ADDR_LOW d_dain_addr_low @ 0x20 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DAIN_ADDR_LOW [31:5] as bytes = 0;
    }

    /// Input line stride.
    D_DAIN_LINE_STRIDE d_dain_line_stride @ 0x24 duplicated rw {
        /// Distance in bytes.
        DAIN_LINE_STRIDE [31:5] as bytes = 0;
    }

    /// Input surface stride.
    D_DAIN_SURF_STRIDE d_dain_surf_stride @ 0x28 duplicated rw {
        /// Distance in bytes.
        DAIN_SURF_STRIDE [31:5] as bytes = 0;
    }

    /// Input plane stride.
    D_DAIN_PLANAR_STRIDE d_dain_planar_stride @ 0x2c duplicated rw {
        /// Distance in bytes.
        DAIN_PLANAR_STRIDE [31:5] as bytes = 0;
    }

    /// Output memory select.
    D_DAOUT_RAM_TYPE d_daout_ram_type @ 0x30 duplicated rw {
        /// Output memory: secondary or primary.
        DATAOUT_RAM_TYPE [0] = 0 { CVIF = 0, MCIF = 1 };
    }

    /// Output channels.
    D_DATAOUT_SIZE_1 d_dataout_size_1 @ 0x34 duplicated rw {
        /// Output channels.
        DATAOUT_CHANNEL [12:0] as minus1 = 0;
    }

    /// Output address, high word.
    D_DAOUT_ADDR_HIGH d_daout_addr_high @ 0x38 duplicated rw {
        /// Address bits 63:32.
        DAOUT_ADDR_HIGH [31:0] = 0;
    }

    /// Output address, low word.
    D_DAOUT_ADDR_LOW d_daout_addr_low @ 0x3c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DAOUT_ADDR_LOW [31:5] as bytes = 0;
    }

    /// Output line stride.
    D_DAOUT_LINE_STRIDE d_daout_line_stride @ 0x40 duplicated rw {
        /// Distance in bytes.
        DAOUT_LINE_STRIDE [31:5] as bytes = 0;
    }

    /// Contract mode input step per X.
    D_CONTRACT_STRIDE_0 d_contract_stride_0 @ 0x44 duplicated rw {
        /// Distance in bytes.
        CONTRACT_STRIDE_0 [31:5] as bytes = 0;
    }

    /// Contract mode output step per input line.
    D_CONTRACT_STRIDE_1 d_contract_stride_1 @ 0x48 duplicated rw {
        /// Distance in bytes.
        CONTRACT_STRIDE_1 [31:5] as bytes = 0;
    }

    /// Output surface stride.
    D_DAOUT_SURF_STRIDE d_daout_surf_stride @ 0x4c duplicated rw {
        /// Distance in bytes.
        DAOUT_SURF_STRIDE [31:5] as bytes = 0;
    }

    /// Output plane stride.
    D_DAOUT_PLANAR_STRIDE d_daout_planar_stride @ 0x50 duplicated rw {
        /// Distance in bytes.
        DAOUT_PLANAR_STRIDE [31:5] as bytes = 0;
    }

    /// Deconvolution stride.
    D_DECONV_STRIDE d_deconv_stride @ 0x54 duplicated rw {
        /// Horizontal stride.
        DECONV_X_STRIDE [4:0] as minus1 = 0;
        /// Vertical stride.
        DECONV_Y_STRIDE [20:16] as minus1 = 0;
    }

    /// Performance counter enable.
    D_PERF_ENABLE d_perf_enable @ 0x58 duplicated rw {
        /// Count stalls.
        PERF_EN [0] = 0;
    }

    /// Read stall cycles.
    D_PERF_READ_STALL d_perf_read_stall @ 0x5c duplicated ro {
        /// Cycles.
        RD_STALL_CNT [31:0] = 0;
    }

    /// Write stall cycles.
    D_PERF_WRITE_STALL d_perf_write_stall @ 0x60 duplicated ro {
        /// Cycles.
        WR_STALL_CNT [31:0] = 0;
    }
}
