//! Convolution accumulator.

registers! {
    unit "CACC";

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

    /// Mode and precision.
    D_MISC_CFG d_misc_cfg @ 0x0c duplicated rw {
        /// Direct or winograd.
        CONV_MODE [0] = 0 { DIRECT = 0, WINOGRAD = 1 };
        /// Processing precision.
        PROC_PRECISION [13:12] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// Output width and height.
    D_DATAOUT_SIZE_0 d_dataout_size_0 @ 0x10 duplicated rw {
        /// Output width.
        DATAOUT_WIDTH [12:0] as minus1 = 0;
        /// Output height.
        DATAOUT_HEIGHT [28:16] as minus1 = 0;
    }

    /// Output channels.
    D_DATAOUT_SIZE_1 d_dataout_size_1 @ 0x14 duplicated rw {
        /// Output channels.
        DATAOUT_CHANNEL [12:0] as minus1 = 0;
    }

    /// Output address.
    D_DATAOUT_ADDR d_dataout_addr @ 0x18 duplicated rw {
        /// Byte address.
        DATAOUT_ADDR [31:0] as bytes = 0, full [31:5];
    }

    /// Batch count.
    D_BATCH_NUMBER d_batch_number @ 0x1c duplicated rw {
        /// Batch count.
        BATCHES [4:0] as minus1 = 0;
    }

    /// Output line stride.
    D_LINE_STRIDE d_line_stride @ 0x20 duplicated rw {
        /// Distance in bytes.
        LINE_STRIDE [23:0] as bytes = 0, full [23:5];
    }

    /// Output surface stride.
    D_SURF_STRIDE d_surf_stride @ 0x24 duplicated rw {
        /// Distance in bytes.
        SURF_STRIDE [23:0] as bytes = 0, full [23:5];
    }

    /// Output packing hints.
    D_DATAOUT_MAP d_dataout_map @ 0x28 duplicated rw {
        /// Lines contiguous in memory.
        LINE_PACKED [0] = 0 { FALSE = 0, TRUE = 1 };
        /// Surfaces contiguous in memory.
        SURF_PACKED [16] = 0 { FALSE = 0, TRUE = 1 };
    }

    /// Accumulator output right shift.
    D_CLIP_CFG d_clip_cfg @ 0x2c duplicated rw {
        /// Right shift amount.
        CLIP_TRUNCATE [4:0] = 0;
    }

    /// Saturated output count.
    D_OUT_SATURATION d_out_saturation @ 0x30 duplicated ro {
        /// Saturated results.
        SAT_COUNT [31:0] = 0;
    }

    /// Spare bits without function.
    D_CYA d_cya @ 0x34 duplicated rw {
        /// No function.
        CYA [31:0] = 0;
    }
}
