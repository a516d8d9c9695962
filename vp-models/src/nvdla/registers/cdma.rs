//! Convolution DMA: fetches input and weights into the convolution buffer.

registers! {
    unit "CDMA";
    groups;

    /// Weight/WMB read arbitration.
    S_ARBITER @ 0x08 single rw {
        /// Weight stream share.
        ARB_WEIGHT [3:0] = 0xf;
        /// Weight mask stream share.
        ARB_WMB [19:16] = 3;
    }

    /// Buffer clear after reset.
    S_CBUF_FLUSH_STATUS @ 0x0c single ro {
        /// 1 once the buffer has been cleared after reset.
        FLUSH_DONE [0] = 0;
    }

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x10 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Mode, precision and buffer reuse.
    D_MISC_CFG @ 0x14 duplicated rw {
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
    D_DATAIN_FORMAT @ 0x18 duplicated rw {
        /// Feature map or pixel image.
        DATAIN_FORMAT [0] = 0 { FEATURE = 0, PIXEL = 1 };
        /// Pixel layout code.
        PIXEL_FORMAT [13:8] = 0xc {
            T_R8 = 0, T_R10 = 1, T_R12 = 2, T_R16 = 3, T_R16_I = 4, T_R16_F = 5, T_A16B16G16R16 = 6,
            T_X16B16G16R16 = 7, T_A16B16G16R16_F = 8, T_A16Y16U16V16 = 9, T_V16U16Y16A16 = 10,
            T_A16Y16U16V16_F = 11, T_A8B8G8R8 = 12, T_A8R8G8B8 = 13, T_B8G8R8A8 = 14, T_R8G8B8A8 = 15,
            T_X8B8G8R8 = 16, T_X8R8G8B8 = 17, T_B8G8R8X8 = 18, T_R8G8B8X8 = 19, T_A2B10G10R10 = 20,
            T_A2R10G10B10 = 21, T_B10G10R10A2 = 22, T_R10G10B10A2 = 23, T_A2Y10U10V10 = 24,
            T_V10U10Y10A2 = 25, T_A8Y8U8V8 = 26, T_V8U8Y8A8 = 27, T_Y8___U8V8_N444 = 28,
            T_Y8___V8U8_N444 = 29, T_Y10___U10V10_N444 = 30, T_Y10___V10U10_N444 = 31,
            T_Y12___U12V12_N444 = 32, T_Y12___V12U12_N444 = 33, T_Y16___U16V16_N444 = 34,
            T_Y16___V16U16_N444 = 35,
        };
        /// Pixel surface mapping.
        PIXEL_MAPPING [16] = 0 { PITCH_LINEAR = 0, RESERVED_LINEAR = 1 };
        /// Treat integer pixels as signed.
        PIXEL_SIGN_OVERRIDE [20] = 0 { UNSIGNED_INT = 0, SIGNED_INT = 1 };
    }

    /// Input width and height.
    D_DATAIN_SIZE_0 @ 0x1c duplicated rw {
        /// Input width.
        DATAIN_WIDTH [12:0] as minus1 = 0;
        /// Input height.
        DATAIN_HEIGHT [28:16] as minus1 = 0;
    }

    /// Input channels.
    D_DATAIN_SIZE_1 @ 0x20 duplicated rw { DATAIN_CHANNEL [12:0] as minus1 = 0 }

    /// Input width and height as seen after pixel extension.
    D_DATAIN_SIZE_EXT_0 @ 0x24 duplicated rw {
        /// Extended input width.
        DATAIN_WIDTH_EXT [12:0] as minus1 = 0;
        /// Extended input height.
        DATAIN_HEIGHT_EXT [28:16] as minus1 = 0;
    }

    /// First pixel position inside its atom.
    D_PIXEL_OFFSET @ 0x28 duplicated rw {
        /// Horizontal offset in pixels.
        PIXEL_X_OFFSET [4:0] = 0;
        /// Nothing reads it (`NV_NVDLA_CDMA_IMG_sg`): lines begin at the address.
        PIXEL_Y_OFFSET [18:16] = 0;
    }

    /// Input memory select.
    D_DAIN_RAM_TYPE @ 0x2c duplicated rw {
        /// Input memory: secondary or primary.
        DATAIN_RAM_TYPE [0] = 0 { CVIF = 0, MCIF = 1 };
    }

    /// Input address (plane 0), high word.
    D_DAIN_ADDR_HIGH_0 @ 0x30 duplicated rw { DATAIN_ADDR_HIGH_0 [31:0] = 0: "Address bits 63:32." }

    /// Input address (plane 0), low word.
    D_DAIN_ADDR_LOW_0 @ 0x34 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DATAIN_ADDR_LOW_0 [31:0] as bytes = 0, full [31:5];
    }

    /// Input address (UV plane), high word.
    D_DAIN_ADDR_HIGH_1 @ 0x38 duplicated rw { DATAIN_ADDR_HIGH_1 [31:0] = 0: "Address bits 63:32." }

    /// Input address (UV plane), low word.
    D_DAIN_ADDR_LOW_1 @ 0x3c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DATAIN_ADDR_LOW_1 [31:0] as bytes = 0, full [31:5];
    }

    /// Input line stride.
    D_LINE_STRIDE @ 0x40 duplicated rw { LINE_STRIDE [31:0] as bytes = 0, full [31:5]: "Distance in bytes." }

    /// UV plane line stride.
    D_LINE_UV_STRIDE @ 0x44 duplicated rw {
        /// Distance in bytes.
        UV_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Input surface stride.
    D_SURF_STRIDE @ 0x48 duplicated rw { SURF_STRIDE [31:0] as bytes = 0, full [31:5]: "Distance in bytes." }

    /// Input packing hints.
    D_DAIN_MAP @ 0x4c duplicated rw {
        /// Lines contiguous in memory.
        LINE_PACKED [0] = 0 { FALSE = 0, TRUE = 1 };
        /// Surfaces contiguous in memory.
        SURF_PACKED [16] = 0 { FALSE = 0, TRUE = 1 };
    }

    /// Reserved horizontal fetch tuning.
    D_RESERVED_X_CFG @ 0x50 duplicated rw {
        /// Reserved tuning, Y/RGB line.
        RSV_PER_LINE [9:0] = 0;
        /// Reserved tuning, UV line.
        RSV_PER_UV_LINE [25:16] = 0;
    }

    /// Reserved vertical fetch tuning.
    D_RESERVED_Y_CFG @ 0x54 duplicated rw {
        /// Reserved tuning, lines.
        RSV_HEIGHT [2:0] = 0;
        /// Reserved tuning, start line.
        RSV_Y_INDEX [20:16] = 0;
    }

    /// Batch count.
    D_BATCH_NUMBER @ 0x58 duplicated rw { BATCHES [4:0] as minus1 = 0 }

    /// Distance between batch inputs.
    D_BATCH_STRIDE @ 0x5c duplicated rw {
        /// Distance in bytes.
        BATCH_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// CBUF entries used by one input line.
    D_ENTRY_PER_SLICE @ 0x60 duplicated rw {
        /// CBUF entries per input line.
        ENTRIES [13:0] as minus1 = 0, full [11:0];
    }

    /// Input lines fetched per step.
    D_FETCH_GRAIN @ 0x64 duplicated rw { GRAINS [11:0] as minus1 = 0: "Lines per fetch step." }

    /// Weight compression select.
    D_WEIGHT_FORMAT @ 0x68 duplicated rw {
        /// Compressed or plain weights.
        WEIGHT_FORMAT [0] = 0 { UNCOMPRESSED = 0, COMPRESSED = 1 };
    }

    /// Size of one kernel.
    D_WEIGHT_SIZE_0 @ 0x6c duplicated rw { BYTE_PER_KERNEL [17:0] as minus1 = 0: "Bytes of one kernel." }

    /// Kernel count.
    D_WEIGHT_SIZE_1 @ 0x70 duplicated rw { WEIGHT_KERNEL [12:0] as minus1 = 0 }

    /// Weight memory select.
    D_WEIGHT_RAM_TYPE @ 0x74 duplicated rw {
        /// Weight memory: secondary or primary.
        WEIGHT_RAM_TYPE [0] = 0 { CVIF = 0, MCIF = 1 };
    }

    /// Weight address, high word.
    D_WEIGHT_ADDR_HIGH @ 0x78 duplicated rw { WEIGHT_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Weight address, low word.
    D_WEIGHT_ADDR_LOW @ 0x7c duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        WEIGHT_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Total weight size.
    D_WEIGHT_BYTES @ 0x80 duplicated rw { WEIGHT_BYTES [31:0] as bytes = 0, full [31:7]: "Weight bytes." }

    /// Weight group size table address, high word.
    D_WGS_ADDR_HIGH @ 0x84 duplicated rw { WGS_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Weight group size table address, low word.
    D_WGS_ADDR_LOW @ 0x88 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        WGS_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Weight mask bits address, high word.
    D_WMB_ADDR_HIGH @ 0x8c duplicated rw { WMB_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Weight mask bits address, low word.
    D_WMB_ADDR_LOW @ 0x90 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        WMB_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Total weight mask size.
    D_WMB_BYTES @ 0x94 duplicated rw { WMB_BYTES [27:0] as bytes = 0, full [27:7]: "Weight mask bytes." }

    /// Mean subtraction enable.
    D_MEAN_FORMAT @ 0x98 duplicated rw {
        /// Subtract per-component mean.
        MEAN_FORMAT [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Mean of first two components.
    D_MEAN_GLOBAL_0 @ 0x9c duplicated rw {
        /// Mean of R or Y.
        MEAN_RY [15:0] = 0;
        /// Mean of G or U.
        MEAN_GU [31:16] = 0;
    }

    /// Mean of last two components.
    D_MEAN_GLOBAL_1 @ 0xa0 duplicated rw {
        /// Mean of B or V.
        MEAN_BV [15:0] = 0;
        /// Mean of A or X.
        MEAN_AX [31:16] = 0;
    }

    /// Input converter control.
    D_CVT_CFG @ 0xa4 duplicated rw {
        /// Enable input converter.
        CVT_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Right shift amount.
        CVT_TRUNCATE [9:4] = 0;
    }

    /// Input converter offset.
    D_CVT_OFFSET @ 0xa8 duplicated rw { CVT_OFFSET [15:0] as signed = 0: "Value subtracted before scaling." }

    /// Input converter scale.
    D_CVT_SCALE @ 0xac duplicated rw { CVT_SCALE [15:0] as signed = 0: "Multiplier." }

    /// Convolution stride.
    D_CONV_STRIDE @ 0xb0 duplicated rw {
        /// Horizontal stride.
        CONV_X_STRIDE [2:0] as minus1 = 0;
        /// Vertical stride.
        CONV_Y_STRIDE [18:16] as minus1 = 0;
    }

    /// Padding size.
    D_ZERO_PADDING @ 0xb4 duplicated rw {
        /// Left padding.
        PAD_LEFT [4:0] = 0;
        /// Right padding.
        PAD_RIGHT [13:8] = 0;
        /// Top padding.
        PAD_TOP [20:16] = 0;
        /// Bottom padding.
        PAD_BOTTOM [29:24] = 0;
    }

    /// Padding value.
    D_ZERO_PADDING_VALUE @ 0xb8 duplicated rw {
        /// Padding value; low byte only for INT8.
        PAD_VALUE [15:0] as signed = 0;
    }

    /// CBUF bank split.
    D_BANK @ 0xbc duplicated rw {
        /// CBUF banks for input.
        DATA_BANK [4:0] as minus1 = 0, full [3:0];
        /// CBUF banks for weights.
        WEIGHT_BANK [20:16] as minus1 = 0, full [19:16];
    }

    /// NaN flush.
    D_NAN_FLUSH_TO_ZERO @ 0xc0 duplicated rw {
        /// Replace NaN input by zero.
        NAN_TO_ZERO [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// NaN count in input.
    D_NAN_INPUT_DATA_NUM @ 0xc4 duplicated ro { NAN_DATA_NUM [31:0] = 0: "NaN count of last layer." }

    /// NaN count in weights.
    D_NAN_INPUT_WEIGHT_NUM @ 0xc8 duplicated ro { NAN_WEIGHT_NUM [31:0] = 0: "NaN count of last layer." }

    /// Infinity count in input.
    D_INF_INPUT_DATA_NUM @ 0xcc duplicated ro { INF_DATA_NUM [31:0] = 0: "Infinity count of last layer." }

    /// Infinity count in weights.
    D_INF_INPUT_WEIGHT_NUM @ 0xd0 duplicated ro { INF_WEIGHT_NUM [31:0] = 0: "Infinity count of last layer." }

    /// Performance counter enable.
    D_PERF_ENABLE @ 0xd4 duplicated rw { DMA_EN [0] = 0: "Count DMA stalls." }

    /// Input read stall cycles.
    D_PERF_DAT_READ_STALL @ 0xd8 duplicated ro { DAT_RD_STALL [31:0] = 0: "Cycles." }

    /// Weight read stall cycles.
    D_PERF_WT_READ_STALL @ 0xdc duplicated ro { WT_RD_STALL [31:0] = 0: "Cycles." }

    /// Accumulated input read latency.
    D_PERF_DAT_READ_LATENCY @ 0xe0 duplicated ro {
        /// Cycles, summed over requests.
        DAT_RD_LATENCY [31:0] = 0;
    }

    /// Accumulated weight read latency.
    D_PERF_WT_READ_LATENCY @ 0xe4 duplicated ro { WT_RD_LATENCY [31:0] = 0: "Cycles, summed over requests." }

    /// Spare bits without function.
    D_CYA @ 0xe8 duplicated rw { CYA [31:0] = 0: "No function." }
}
