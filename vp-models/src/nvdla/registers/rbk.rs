//! Rubik: reshapes data (contract, split, merge).

registers! {
    unit "RBK";
    groups;

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x08 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Reshape mode and precision.
    D_MISC_CFG @ 0x0c duplicated rw {
        /// Reshape operation.
        RUBIK_MODE [1:0] = 0 { CONTRACT = 0, SPLIT = 1, MERGE = 2 };
        /// Input data precision.
        IN_PRECISION [9:8] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// Input memory select.
    D_DAIN_RAM_TYPE @ 0x10 duplicated rw {
        /// Input memory: secondary or primary.
        DATAIN_RAM_TYPE [0] = 0 { CVIF = 0, MCIF = 1 };
    }

    /// Input width and height.
    D_DATAIN_SIZE_0 @ 0x14 duplicated rw {
        /// Input width.
        DATAIN_WIDTH [12:0] as minus1 = 0;
        /// Input height.
        DATAIN_HEIGHT [28:16] as minus1 = 0;
    }

    /// Input channels.
    D_DATAIN_SIZE_1 @ 0x18 duplicated rw { DATAIN_CHANNEL [12:0] as minus1 = 0 }

    /// Input address, high word.
    D_DAIN_ADDR_HIGH @ 0x1c duplicated rw { DAIN_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Input address, low word.
    D_DAIN_ADDR_LOW @ 0x20 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DAIN_ADDR_LOW [31:5] as bytes = 0;
    }

    /// Input line stride.
    D_DAIN_LINE_STRIDE @ 0x24 duplicated rw { DAIN_LINE_STRIDE [31:5] as bytes = 0: "Distance in bytes." }

    /// Input surface stride.
    D_DAIN_SURF_STRIDE @ 0x28 duplicated rw { DAIN_SURF_STRIDE [31:5] as bytes = 0: "Distance in bytes." }

    /// Input plane stride.
    D_DAIN_PLANAR_STRIDE @ 0x2c duplicated rw { DAIN_PLANAR_STRIDE [31:5] as bytes = 0: "Distance in bytes." }

    /// Output memory select.
    D_DAOUT_RAM_TYPE @ 0x30 duplicated rw {
        /// Output memory: secondary or primary.
        DATAOUT_RAM_TYPE [0] = 0 { CVIF = 0, MCIF = 1 };
    }

    /// Output channels.
    D_DATAOUT_SIZE_1 @ 0x34 duplicated rw { DATAOUT_CHANNEL [12:0] as minus1 = 0 }

    /// Output address, high word.
    D_DAOUT_ADDR_HIGH @ 0x38 duplicated rw { DAOUT_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Output address, low word.
    D_DAOUT_ADDR_LOW @ 0x3c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DAOUT_ADDR_LOW [31:5] as bytes = 0;
    }

    /// Output line stride.
    D_DAOUT_LINE_STRIDE @ 0x40 duplicated rw { DAOUT_LINE_STRIDE [31:5] as bytes = 0: "Distance in bytes." }

    /// Contract mode input step per X.
    D_CONTRACT_STRIDE_0 @ 0x44 duplicated rw { CONTRACT_STRIDE_0 [31:5] as bytes = 0: "Distance in bytes." }

    /// Contract mode output step per input line.
    D_CONTRACT_STRIDE_1 @ 0x48 duplicated rw { CONTRACT_STRIDE_1 [31:5] as bytes = 0: "Distance in bytes." }

    /// Output surface stride.
    D_DAOUT_SURF_STRIDE @ 0x4c duplicated rw { DAOUT_SURF_STRIDE [31:5] as bytes = 0: "Distance in bytes." }

    /// Output plane stride.
    D_DAOUT_PLANAR_STRIDE @ 0x50 duplicated rw {
        /// Distance in bytes.
        DAOUT_PLANAR_STRIDE [31:5] as bytes = 0;
    }

    /// Deconvolution stride.
    D_DECONV_STRIDE @ 0x54 duplicated rw {
        /// Horizontal stride.
        DECONV_X_STRIDE [4:0] as minus1 = 0;
        /// Vertical stride.
        DECONV_Y_STRIDE [20:16] as minus1 = 0;
    }

    /// Performance counter enable.
    D_PERF_ENABLE @ 0x58 duplicated rw { PERF_EN [0] = 0: "Count stalls." }

    /// Read stall cycles.
    D_PERF_READ_STALL @ 0x5c duplicated ro { RD_STALL_CNT [31:0] = 0: "Cycles." }

    /// Write stall cycles.
    D_PERF_WRITE_STALL @ 0x60 duplicated ro { WR_STALL_CNT [31:0] = 0: "Cycles." }
}
