//! Channel data processor: local response normalisation.

registers! {
    unit "CDP";
    groups;
    lookup_tables;

    /// LE table range start, low 32 bits.
    S_LUT_LE_START_LOW @ 0x18 single rw { LUT_LE_START_LOW [31:0] = 0: "Table start." }

    /// LE table range start, top 6 bits.
    S_LUT_LE_START_HIGH @ 0x1c single rw { LUT_LE_START_HIGH [5:0] as signed = 0: "Table start." }

    /// LE table range end, low 32 bits.
    S_LUT_LE_END_LOW @ 0x20 single rw { LUT_LE_END_LOW [31:0] = 0: "Table end." }

    /// LE table range end, top 6 bits.
    S_LUT_LE_END_HIGH @ 0x24 single rw { LUT_LE_END_HIGH [5:0] as signed = 0: "Table end." }

    /// LO table range start, low 32 bits.
    S_LUT_LO_START_LOW @ 0x28 single rw { LUT_LO_START_LOW [31:0] = 0: "Table start." }

    /// LO table range start, top 6 bits.
    S_LUT_LO_START_HIGH @ 0x2c single rw { LUT_LO_START_HIGH [5:0] as signed = 0: "Table start." }

    /// LO table range end, low 32 bits.
    S_LUT_LO_END_LOW @ 0x30 single rw { LUT_LO_END_LOW [31:0] = 0: "Table end." }

    /// LO table range end, top 6 bits.
    S_LUT_LO_END_HIGH @ 0x34 single rw { LUT_LO_END_HIGH [5:0] as signed = 0: "Table end." }

    /// LE table out-of-range slope multiplier.
    S_LUT_LE_SLOPE_SCALE @ 0x38 single rw {
        /// LE below-range multiplier.
        LUT_LE_SLOPE_UFLOW_SCALE [15:0] as signed = 0;
        /// LE above-range multiplier.
        LUT_LE_SLOPE_OFLOW_SCALE [31:16] as signed = 0;
    }

    /// LE table out-of-range slope shift.
    S_LUT_LE_SLOPE_SHIFT @ 0x3c single rw {
        /// LE below-range shift, positive is right.
        LUT_LE_SLOPE_UFLOW_SHIFT [4:0] as signed = 0;
        /// LE above-range shift, positive is right.
        LUT_LE_SLOPE_OFLOW_SHIFT [9:5] as signed = 0;
    }

    /// LO table out-of-range slope multiplier.
    S_LUT_LO_SLOPE_SCALE @ 0x40 single rw {
        /// LO below-range multiplier.
        LUT_LO_SLOPE_UFLOW_SCALE [15:0] as signed = 0;
        /// LO above-range multiplier.
        LUT_LO_SLOPE_OFLOW_SCALE [31:16] as signed = 0;
    }

    /// LO table out-of-range slope shift.
    S_LUT_LO_SLOPE_SHIFT @ 0x44 single rw {
        /// LO below-range shift, positive is right.
        LUT_LO_SLOPE_UFLOW_SHIFT [4:0] as signed = 0;
        /// LO above-range shift, positive is right.
        LUT_LO_SLOPE_OFLOW_SHIFT [9:5] as signed = 0;
    }

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x48 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Stage bypass.
    D_FUNC_BYPASS @ 0x4c duplicated rw {
        /// Skip the square-sum stage.
        SQSUM_BYPASS [0] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Skip the final multiply.
        MUL_BYPASS [1] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Destination address, low word.
    D_DST_BASE_ADDR_LOW @ 0x50 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DST_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Destination address, high word.
    D_DST_BASE_ADDR_HIGH @ 0x54 duplicated rw { DST_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Destination line stride.
    D_DST_LINE_STRIDE @ 0x58 duplicated rw {
        /// Distance in bytes.
        DST_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination surface stride.
    D_DST_SURFACE_STRIDE @ 0x5c duplicated rw {
        /// Distance in bytes.
        DST_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination memory select.
    D_DST_DMA_CFG @ 0x60 duplicated rw {
        /// Destination memory: secondary or primary.
        DST_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Output compression flag (fixed).
    D_DST_COMPRESSION_EN @ 0x64 duplicated ro {
        /// Reads 0.
        DST_COMPRESSION_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Data precision.
    D_DATA_FORMAT @ 0x68 duplicated rw { INPUT_DATA_TYPE [1:0] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 } }

    /// NaN flush.
    D_NAN_FLUSH_TO_ZERO @ 0x6c duplicated rw {
        /// Replace NaN input by zero.
        NAN_TO_ZERO [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Normalization window.
    D_LRN_CFG @ 0x70 duplicated rw {
        /// Channels per window code.
        NORMALZ_LEN [1:0] = 0 { LEN3 = 0, LEN5 = 1, LEN7 = 2, LEN9 = 3 };
    }

    /// Input converter offset.
    D_DATIN_OFFSET @ 0x74 duplicated rw {
        /// Value subtracted before scaling.
        DATIN_OFFSET [15:0] as signed = 0;
    }

    /// Input converter scale.
    D_DATIN_SCALE @ 0x78 duplicated rw { DATIN_SCALE [15:0] as signed = 1: "Input multiplier." }

    /// Input converter right shift.
    D_DATIN_SHIFTER @ 0x7c duplicated rw { DATIN_SHIFTER [4:0] = 0: "Input right shift." }

    /// Output converter offset.
    D_DATOUT_OFFSET @ 0x80 duplicated rw {
        /// Value subtracted before scaling.
        DATOUT_OFFSET [31:0] as signed = 0;
    }

    /// Output converter scale.
    D_DATOUT_SCALE @ 0x84 duplicated rw { DATOUT_SCALE [15:0] as signed = 1: "Output multiplier." }

    /// Output converter right shift.
    D_DATOUT_SHIFTER @ 0x88 duplicated rw { DATOUT_SHIFTER [5:0] = 0: "Output right shift." }

    /// NaN inputs seen.
    D_NAN_INPUT_NUM @ 0x8c duplicated ro { NAN_INPUT_NUM [31:0] = 0: "Elements." }

    /// Infinity inputs seen.
    D_INF_INPUT_NUM @ 0x90 duplicated ro { INF_INPUT_NUM [31:0] = 0: "Elements." }

    /// NaN outputs produced.
    D_NAN_OUTPUT_NUM @ 0x94 duplicated ro { NAN_OUTPUT_NUM [31:0] = 0: "Elements." }

    /// Saturated outputs.
    D_OUT_SATURATION @ 0x98 duplicated ro { OUT_SATURATION [31:0] = 0: "Elements." }

    /// Performance counter enable.
    D_PERF_ENABLE @ 0x9c duplicated rw {
        /// Count DMA stalls.
        DMA_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Count table hits.
        LUT_EN [1] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Write stall cycles.
    D_PERF_WRITE_STALL @ 0xa0 duplicated ro { PERF_WRITE_STALL [31:0] = 0: "Cycles." }

    /// Lookups below both tables.
    D_PERF_LUT_UFLOW @ 0xa4 duplicated ro { PERF_LUT_UFLOW [31:0] = 0: "Elements." }

    /// Lookups above both tables.
    D_PERF_LUT_OFLOW @ 0xa8 duplicated ro { PERF_LUT_OFLOW [31:0] = 0: "Elements." }

    /// Lookups with ambiguous hit or miss.
    D_PERF_LUT_HYBRID @ 0xac duplicated ro { PERF_LUT_HYBRID [31:0] = 0: "Elements." }

    /// Lookups hitting only LE.
    D_PERF_LUT_LE_HIT @ 0xb0 duplicated ro { PERF_LUT_LE_HIT [31:0] = 0: "Elements." }

    /// Lookups hitting only LO.
    D_PERF_LUT_LO_HIT @ 0xb4 duplicated ro { PERF_LUT_LO_HIT [31:0] = 0: "Elements." }

    /// Spare bits without function.
    D_CYA @ 0xb8 duplicated rw { CYA [31:0] = 0: "No function." }
}
