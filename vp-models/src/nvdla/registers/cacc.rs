//! Convolution accumulator.

registers! {
    unit "CACC";
    groups;

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x08 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Mode and precision.
    D_MISC_CFG @ 0x0c duplicated rw {
        /// Direct or winograd.
        CONV_MODE [0] = 0 { DIRECT = 0, WINOGRAD = 1 };
        /// Processing precision.
        PROC_PRECISION [13:12] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// Output width and height.
    D_DATAOUT_SIZE_0 @ 0x10 duplicated rw {
        /// Output width.
        DATAOUT_WIDTH [12:0] as minus1 = 0;
        /// Output height.
        DATAOUT_HEIGHT [28:16] as minus1 = 0;
    }

    /// Output channels.
    D_DATAOUT_SIZE_1 @ 0x14 duplicated rw { DATAOUT_CHANNEL [12:0] as minus1 = 0 }

    /// Output address.
    D_DATAOUT_ADDR @ 0x18 duplicated rw { DATAOUT_ADDR [31:0] as bytes = 0, full [31:5]: "Byte address." }

    /// Batch count.
    D_BATCH_NUMBER @ 0x1c duplicated rw { BATCHES [4:0] as minus1 = 0 }

    /// Output line stride.
    D_LINE_STRIDE @ 0x20 duplicated rw { LINE_STRIDE [23:0] as bytes = 0, full [23:5]: "Distance in bytes." }

    /// Output surface stride.
    D_SURF_STRIDE @ 0x24 duplicated rw { SURF_STRIDE [23:0] as bytes = 0, full [23:5]: "Distance in bytes." }

    /// Output packing hints.
    D_DATAOUT_MAP @ 0x28 duplicated rw {
        /// Lines contiguous in memory.
        LINE_PACKED [0] = 0 { FALSE = 0, TRUE = 1 };
        /// Surfaces contiguous in memory.
        SURF_PACKED [16] = 0 { FALSE = 0, TRUE = 1 };
    }

    /// Accumulator output right shift.
    D_CLIP_CFG @ 0x2c duplicated rw { CLIP_TRUNCATE [4:0] = 0: "Right shift amount." }

    /// Saturated output count.
    D_OUT_SATURATION @ 0x30 duplicated ro { SAT_COUNT [31:0] = 0: "Saturated results." }

    /// Spare bits without function.
    D_CYA @ 0x34 duplicated rw { CYA [31:0] = 0: "No function." }
}
