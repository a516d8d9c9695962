//! Channel data processor: local response normalisation.

registers! {
    unit "CDP";

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

    /// Lookup table access setup.
    S_LUT_ACCESS_CFG s_lut_access_cfg @ 0x08 single rw {
        /// Table index; advances after each data access.
        LUT_ADDR [9:0] = 0;
        /// LE (65 entries) or LO (257 entries).
        LUT_TABLE_ID [16] = 0 { LE = 0, LO = 1 };
        /// Read or write.
        LUT_ACCESS_TYPE [17] = 0 { READ = 0, WRITE = 1 };
    }

    /// Lookup table data port.
    S_LUT_ACCESS_DATA s_lut_access_data @ 0x0c single rw {
        /// Table entry.
        LUT_DATA [15:0] as signed = 0;
    }

    /// Lookup table selection rules.
    S_LUT_CFG s_lut_cfg @ 0x10 single rw {
        /// LE table indexing law.
        LUT_LE_FUNCTION [0] = 0 { EXPONENT = 0, LINEAR = 1 };
        /// Table used when both underflow.
        LUT_UFLOW_PRIORITY [4] = 0 { LE = 0, LO = 1 };
        /// Table used when both overflow.
        LUT_OFLOW_PRIORITY [5] = 0 { LE = 0, LO = 1 };
        /// Table used when both hit or results mix.
        LUT_HYBRID_PRIORITY [6] = 0 { LE = 0, LO = 1 };
    }

    /// Lookup table indexing.
    S_LUT_INFO s_lut_info @ 0x14 single rw {
        /// Exponent offset of LE.
        LUT_LE_INDEX_OFFSET [7:0] as signed = 0;
        /// Index shift of LE.
        LUT_LE_INDEX_SELECT [15:8] as signed = 0;
        /// Index shift of LO.
        LUT_LO_INDEX_SELECT [23:16] as signed = 0;
    }

    /// LE table range start, low 32 bits.
    S_LUT_LE_START_LOW s_lut_le_start_low @ 0x18 single rw {
        /// Table start.
        LUT_LE_START_LOW [31:0] = 0;
    }

    /// LE table range start, top 6 bits.
    S_LUT_LE_START_HIGH s_lut_le_start_high @ 0x1c single rw {
        /// Table start.
        LUT_LE_START_HIGH [5:0] as signed = 0;
    }

    /// LE table range end, low 32 bits.
    S_LUT_LE_END_LOW s_lut_le_end_low @ 0x20 single rw {
        /// Table end.
        LUT_LE_END_LOW [31:0] = 0;
    }

    /// LE table range end, top 6 bits.
    S_LUT_LE_END_HIGH s_lut_le_end_high @ 0x24 single rw {
        /// Table end.
        LUT_LE_END_HIGH [5:0] as signed = 0;
    }

    /// LO table range start, low 32 bits.
    S_LUT_LO_START_LOW s_lut_lo_start_low @ 0x28 single rw {
        /// Table start.
        LUT_LO_START_LOW [31:0] = 0;
    }

    /// LO table range start, top 6 bits.
    S_LUT_LO_START_HIGH s_lut_lo_start_high @ 0x2c single rw {
        /// Table start.
        LUT_LO_START_HIGH [5:0] as signed = 0;
    }

    /// LO table range end, low 32 bits.
    S_LUT_LO_END_LOW s_lut_lo_end_low @ 0x30 single rw {
        /// Table end.
        LUT_LO_END_LOW [31:0] = 0;
    }

    /// LO table range end, top 6 bits.
    S_LUT_LO_END_HIGH s_lut_lo_end_high @ 0x34 single rw {
        /// Table end.
        LUT_LO_END_HIGH [5:0] as signed = 0;
    }

    /// LE table out-of-range slope multiplier.
    S_LUT_LE_SLOPE_SCALE s_lut_le_slope_scale @ 0x38 single rw {
        /// LE below-range multiplier.
        LUT_LE_SLOPE_UFLOW_SCALE [15:0] as signed = 0;
        /// LE above-range multiplier.
        LUT_LE_SLOPE_OFLOW_SCALE [31:16] as signed = 0;
    }

    /// LE table out-of-range slope shift.
    S_LUT_LE_SLOPE_SHIFT s_lut_le_slope_shift @ 0x3c single rw {
        /// LE below-range shift, positive is right.
        LUT_LE_SLOPE_UFLOW_SHIFT [4:0] as signed = 0;
        /// LE above-range shift, positive is right.
        LUT_LE_SLOPE_OFLOW_SHIFT [9:5] as signed = 0;
    }

    /// LO table out-of-range slope multiplier.
    S_LUT_LO_SLOPE_SCALE s_lut_lo_slope_scale @ 0x40 single rw {
        /// LO below-range multiplier.
        LUT_LO_SLOPE_UFLOW_SCALE [15:0] as signed = 0;
        /// LO above-range multiplier.
        LUT_LO_SLOPE_OFLOW_SCALE [31:16] as signed = 0;
    }

    /// LO table out-of-range slope shift.
    S_LUT_LO_SLOPE_SHIFT s_lut_lo_slope_shift @ 0x44 single rw {
        /// LO below-range shift, positive is right.
        LUT_LO_SLOPE_UFLOW_SHIFT [4:0] as signed = 0;
        /// LO above-range shift, positive is right.
        LUT_LO_SLOPE_OFLOW_SHIFT [9:5] as signed = 0;
    }

    /// Starts the layer described by this group.
    D_OP_ENABLE d_op_enable @ 0x48 duplicated rw {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Stage bypass.
    D_FUNC_BYPASS d_func_bypass @ 0x4c duplicated rw {
        /// Skip the square-sum stage.
        SQSUM_BYPASS [0] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Skip the final multiply.
        MUL_BYPASS [1] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Destination address, low word.
    D_DST_BASE_ADDR_LOW d_dst_base_addr_low @ 0x50 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        DST_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Destination address, high word.
    D_DST_BASE_ADDR_HIGH d_dst_base_addr_high @ 0x54 duplicated rw {
        /// Address bits 63:32.
        DST_BASE_ADDR_HIGH [31:0] = 0;
    }

    /// Destination line stride.
    D_DST_LINE_STRIDE d_dst_line_stride @ 0x58 duplicated rw {
        /// Distance in bytes.
        DST_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination surface stride.
    D_DST_SURFACE_STRIDE d_dst_surface_stride @ 0x5c duplicated rw {
        /// Distance in bytes.
        DST_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Destination memory select.
    D_DST_DMA_CFG d_dst_dma_cfg @ 0x60 duplicated rw {
        /// Destination memory: secondary or primary.
        DST_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Output compression flag (fixed).
    D_DST_COMPRESSION_EN d_dst_compression_en @ 0x64 duplicated ro {
        /// Reads 0.
        DST_COMPRESSION_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Data precision.
    D_DATA_FORMAT d_data_format @ 0x68 duplicated rw {
        /// Data precision.
        INPUT_DATA_TYPE [1:0] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }

    /// NaN flush.
    D_NAN_FLUSH_TO_ZERO d_nan_flush_to_zero @ 0x6c duplicated rw {
        /// Replace NaN input by zero.
        NAN_TO_ZERO [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Normalization window.
    D_LRN_CFG d_lrn_cfg @ 0x70 duplicated rw {
        /// Channels per window code.
        NORMALZ_LEN [1:0] = 0 { LEN3 = 0, LEN5 = 1, LEN7 = 2, LEN9 = 3 };
    }

    /// Input converter offset.
    D_DATIN_OFFSET d_datin_offset @ 0x74 duplicated rw {
        /// Value subtracted before scaling.
        DATIN_OFFSET [15:0] as signed = 0;
    }

    /// Input converter scale.
    D_DATIN_SCALE d_datin_scale @ 0x78 duplicated rw {
        /// Input multiplier.
        DATIN_SCALE [15:0] as signed = 1;
    }

    /// Input converter right shift.
    D_DATIN_SHIFTER d_datin_shifter @ 0x7c duplicated rw {
        /// Input right shift.
        DATIN_SHIFTER [4:0] = 0;
    }

    /// Output converter offset.
    D_DATOUT_OFFSET d_datout_offset @ 0x80 duplicated rw {
        /// Value subtracted before scaling.
        DATOUT_OFFSET [31:0] as signed = 0;
    }

    /// Output converter scale.
    D_DATOUT_SCALE d_datout_scale @ 0x84 duplicated rw {
        /// Output multiplier.
        DATOUT_SCALE [15:0] as signed = 1;
    }

    /// Output converter right shift.
    D_DATOUT_SHIFTER d_datout_shifter @ 0x88 duplicated rw {
        /// Output right shift.
        DATOUT_SHIFTER [5:0] = 0;
    }

    /// NaN inputs seen.
    D_NAN_INPUT_NUM d_nan_input_num @ 0x8c duplicated ro {
        /// Elements.
        NAN_INPUT_NUM [31:0] = 0;
    }

    /// Infinity inputs seen.
    D_INF_INPUT_NUM d_inf_input_num @ 0x90 duplicated ro {
        /// Elements.
        INF_INPUT_NUM [31:0] = 0;
    }

    /// NaN outputs produced.
    D_NAN_OUTPUT_NUM d_nan_output_num @ 0x94 duplicated ro {
        /// Elements.
        NAN_OUTPUT_NUM [31:0] = 0;
    }

    /// Saturated outputs.
    D_OUT_SATURATION d_out_saturation @ 0x98 duplicated ro {
        /// Elements.
        OUT_SATURATION [31:0] = 0;
    }

    /// Performance counter enable.
    D_PERF_ENABLE d_perf_enable @ 0x9c duplicated rw {
        /// Count DMA stalls.
        DMA_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
        /// Count table hits.
        LUT_EN [1] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Write stall cycles.
    D_PERF_WRITE_STALL d_perf_write_stall @ 0xa0 duplicated ro {
        /// Cycles.
        PERF_WRITE_STALL [31:0] = 0;
    }

    /// Lookups below both tables.
    D_PERF_LUT_UFLOW d_perf_lut_uflow @ 0xa4 duplicated ro {
        /// Elements.
        PERF_LUT_UFLOW [31:0] = 0;
    }

    /// Lookups above both tables.
    D_PERF_LUT_OFLOW d_perf_lut_oflow @ 0xa8 duplicated ro {
        /// Elements.
        PERF_LUT_OFLOW [31:0] = 0;
    }

    /// Lookups with ambiguous hit or miss.
    D_PERF_LUT_HYBRID d_perf_lut_hybrid @ 0xac duplicated ro {
        /// Elements.
        PERF_LUT_HYBRID [31:0] = 0;
    }

    /// Lookups hitting only LE.
    D_PERF_LUT_LE_HIT d_perf_lut_le_hit @ 0xb0 duplicated ro {
        /// Elements.
        PERF_LUT_LE_HIT [31:0] = 0;
    }

    /// Lookups hitting only LO.
    D_PERF_LUT_LO_HIT d_perf_lut_lo_hit @ 0xb4 duplicated ro {
        /// Elements.
        PERF_LUT_LO_HIT [31:0] = 0;
    }

    /// Spare bits without function.
    D_CYA d_cya @ 0xb8 duplicated rw {
        /// No function.
        CYA [31:0] = 0;
    }
}
