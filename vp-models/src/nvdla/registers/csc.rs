//! Convolution sequence controller: reads the buffer and feeds the MAC arrays.

registers! {
    unit "CSC";
    groups;

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x08 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Mode, precision and buffer reuse.
    D_MISC_CFG @ 0x0c duplicated rw {
        /// Direct or winograd.
        CONV_MODE [0] = 0 { DIRECT = 0, WINOGRAD = 1 };
        /// Input data precision.
        IN_PRECISION [9:8] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
        /// Processing precision.
        PROC_PRECISION [13:12] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
        /// Keep input already in CBUF.
        DATA_REUSE [16] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Keep weights already in CBUF.
        WEIGHT_REUSE [20] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Do not release input from CBUF at layer end.
        SKIP_DATA_RLS [24] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Do not release weights from CBUF at layer end.
        SKIP_WEIGHT_RLS [28] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Input format.
    D_DATAIN_FORMAT @ 0x10 duplicated rw {
        /// Feature map or pixel image.
        DATAIN_FORMAT [0] = 0 { FEATURE = 0, PIXEL = 1 };
    }

    /// Input width and height as seen after pixel extension.
    D_DATAIN_SIZE_EXT_0 @ 0x14 duplicated rw {
        /// Extended input width.
        DATAIN_WIDTH_EXT [12:0] as minus1 = 0;
        /// Extended input height.
        DATAIN_HEIGHT_EXT [28:16] as minus1 = 0;
    }

    /// Input channels as seen after pixel extension.
    D_DATAIN_SIZE_EXT_1 @ 0x18 duplicated rw {
        /// Extended input channels.
        DATAIN_CHANNEL_EXT [12:0] as minus1 = 0;
    }

    /// Batch count.
    D_BATCH_NUMBER @ 0x1c duplicated rw { BATCHES [4:0] as minus1 = 0 }

    /// Channel post-extension for image input.
    D_POST_Y_EXTENSION @ 0x20 duplicated rw {
        /// Log2 of lines merged per step, 0 to 2.
        Y_EXTENSION [1:0] = 0;
    }

    /// CBUF entries used by one input line.
    D_ENTRY_PER_SLICE @ 0x24 duplicated rw {
        /// CBUF entries per input line.
        ENTRIES [13:0] as minus1 = 0, full [11:0];
    }

    /// Weight compression select.
    D_WEIGHT_FORMAT @ 0x28 duplicated rw {
        /// Compressed or plain weights.
        WEIGHT_FORMAT [0] = 0 { UNCOMPRESSED = 0, COMPRESSED = 1 };
    }

    /// Kernel width and height as seen by the sequencer.
    D_WEIGHT_SIZE_EXT_0 @ 0x2c duplicated rw {
        /// Kernel width.
        WEIGHT_WIDTH_EXT [4:0] as minus1 = 0;
        /// Kernel height.
        WEIGHT_HEIGHT_EXT [20:16] as minus1 = 0;
    }

    /// Kernel channels and kernel count as seen by the sequencer.
    D_WEIGHT_SIZE_EXT_1 @ 0x30 duplicated rw {
        /// Kernel channels.
        WEIGHT_CHANNEL_EXT [12:0] as minus1 = 0;
        /// Kernel count.
        WEIGHT_KERNEL [28:16] as minus1 = 0;
    }

    /// Total weight size.
    D_WEIGHT_BYTES @ 0x34 duplicated rw { WEIGHT_BYTES [31:0] as bytes = 0, full [31:7]: "Weight bytes." }

    /// Total weight mask size.
    D_WMB_BYTES @ 0x38 duplicated rw { WMB_BYTES [27:0] as bytes = 0, full [27:7]: "Weight mask bytes." }

    /// Output width and height.
    D_DATAOUT_SIZE_0 @ 0x3c duplicated rw {
        /// Output width.
        DATAOUT_WIDTH [12:0] as minus1 = 0;
        /// Output height.
        DATAOUT_HEIGHT [28:16] as minus1 = 0;
    }

    /// Output channels.
    D_DATAOUT_SIZE_1 @ 0x40 duplicated rw { DATAOUT_CHANNEL [12:0] as minus1 = 0 }

    /// Output positions per channel plane.
    D_ATOMICS @ 0x44 duplicated rw { ATOMICS [20:0] as minus1 = 1: "Output width times height." }

    /// Input lines released at layer end.
    D_RELEASE @ 0x48 duplicated rw { RLS_SLICES [11:0] as minus1 = 1: "Input lines to release." }

    /// Convolution stride as seen by the sequencer.
    D_CONV_STRIDE_EXT @ 0x4c duplicated rw {
        /// Horizontal stride.
        CONV_X_STRIDE_EXT [2:0] as minus1 = 0;
        /// Vertical stride.
        CONV_Y_STRIDE_EXT [18:16] as minus1 = 0;
    }

    /// Dilation as seen by the sequencer.
    D_DILATION_EXT @ 0x50 duplicated rw {
        /// Horizontal dilation.
        X_DILATION_EXT [4:0] as minus1 = 0;
        /// Vertical dilation.
        Y_DILATION_EXT [20:16] as minus1 = 0;
    }

    /// Padding size.
    D_ZERO_PADDING @ 0x54 duplicated rw {
        /// Left padding.
        PAD_LEFT [4:0] = 0;
        /// Top padding.
        PAD_TOP [20:16] = 0;
    }

    /// Padding value.
    D_ZERO_PADDING_VALUE @ 0x58 duplicated rw {
        /// Padding value; low byte only for INT8.
        PAD_VALUE [15:0] as signed = 0;
    }

    /// CBUF bank split.
    D_BANK @ 0x5c duplicated rw {
        /// CBUF banks for input.
        DATA_BANK [4:0] as minus1 = 0, full [3:0];
        /// CBUF banks for weights.
        WEIGHT_BANK [20:16] as minus1 = 0, full [19:16];
    }

    /// Winograd pre-addition truncation.
    D_PRA_CFG @ 0x60 duplicated rw { PRA_TRUNCATE [1:0] = 0: "Right shift, 0 to 2." }

    /// Spare bits without function.
    D_CYA @ 0x64 duplicated rw { CYA [31:0] = 0: "No function." }
}
