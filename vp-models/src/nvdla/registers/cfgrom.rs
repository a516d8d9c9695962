//! The capability ROM at the foot of the small and large maps. The resets are the words the RTL's ROM holds
//! in every build; what a model serves instead is
//! [`Config::capability_words`](crate::nvdla::config::Config::capability_words).

registers! {
    unit "CFGROM";

    /// Hardware version.
    CFGROM_HW_VERSION cfgrom_hw_version @ 0x00 single ro {
        /// Hardware version.
        HW_VERSION [31:0] = 0x10001;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_GLB_DESC cfgrom_glb_desc @ 0x04 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        GLB_DESC [31:0] = 1;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CIF_DESC cfgrom_cif_desc @ 0x08 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CIF_DESC [31:0] = 0x180002;
    }

    /// Capabilities a driver must understand.
    CFGROM_CIF_CAP_INCOMPAT cfgrom_cif_cap_incompat @ 0x0c single ro {
        /// Capabilities a driver must understand.
        CIF_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CIF_CAP_COMPAT cfgrom_cif_cap_compat @ 0x10 single ro {
        /// Optional capability flags.
        CIF_CAP_COMPAT [31:0] = 0;
    }

    /// Data width in bytes.
    CFGROM_CIF_BASE_WIDTH cfgrom_cif_base_width @ 0x14 single ro {
        /// Data width in bytes.
        CIF_BASE_WIDTH [7:0] = 8;
    }

    /// Read latency in cycles.
    CFGROM_CIF_BASE_LATENCY cfgrom_cif_base_latency @ 0x18 single ro {
        /// Read latency in cycles.
        CIF_BASE_LATENCY [31:0] = 0x32;
    }

    /// Longest burst.
    CFGROM_CIF_BASE_BURST_LENGTH_MAX cfgrom_cif_base_burst_length_max @ 0x1c single ro {
        /// Longest burst.
        BASE_BURST_LENGTH_MAX [31:5] = 4;
    }

    /// Address bits.
    CFGROM_CIF_BASE_MEM_ADDR_WIDTH cfgrom_cif_base_mem_addr_width @ 0x20 single ro {
        /// Address bits.
        CIF_BASE_MEM_ADDR_WIDTH [31:5] = 0x20;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CDMA_DESC cfgrom_cdma_desc @ 0x24 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CDMA_DESC [31:0] = 0x340003;
    }

    /// Capabilities a driver must understand.
    CFGROM_CDMA_CAP_INCOMPAT cfgrom_cdma_cap_incompat @ 0x28 single ro {
        /// Capabilities a driver must understand.
        CDMA_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CDMA_CAP_COMPAT cfgrom_cdma_cap_compat @ 0x2c single ro {
        /// Optional capability flags.
        CDMA_CAP_COMPAT [31:0] = 0x10;
    }

    /// Input data type mask.
    CFGROM_CDMA_BASE_FEATURE_TYPES cfgrom_cdma_base_feature_types @ 0x30 single ro {
        /// Input data type mask.
        CDMA_BASE_FEATURE_TYPES [11:0] = 0x10;
    }

    /// Weight data type mask.
    CFGROM_CDMA_BASE_WEIGHT_TYPES cfgrom_cdma_base_weight_types @ 0x34 single ro {
        /// Weight data type mask.
        CDMA_BASE_WEIGHT_TYPES [11:0] = 0x10;
    }

    /// Channels per MAC step.
    CFGROM_CDMA_BASE_ATOMIC_C cfgrom_cdma_base_atomic_c @ 0x38 single ro {
        /// Channels per MAC step.
        CDMA_BASE_ATOMIC_C [31:0] = 8;
    }

    /// Kernels per MAC step.
    CFGROM_CDMA_BASE_ATOMIC_K cfgrom_cdma_base_atomic_k @ 0x3c single ro {
        /// Kernels per MAC step.
        CDMA_BASE_ATOMIC_K [31:0] = 8;
    }

    /// Elements per memory atom.
    CFGROM_CDMA_BASE_ATOMIC_M cfgrom_cdma_base_atomic_m @ 0x40 single ro {
        /// Elements per memory atom.
        CDMA_BASE_ATOMIC_M [31:0] = 8;
    }

    /// CBUF bank count.
    CFGROM_CDMA_BASE_CBUF_BANK_NUM cfgrom_cdma_base_cbuf_bank_num @ 0x44 single ro {
        /// CBUF bank count.
        CDMA_BASE_CBUF_BANK_NUM [31:0] = 0x20;
    }

    /// CBUF bank width in bytes.
    CFGROM_CDMA_BASE_CBUF_BANK_WIDTH cfgrom_cdma_base_cbuf_bank_width @ 0x48 single ro {
        /// CBUF bank width in bytes.
        CDMA_BASE_CBUF_BANK_WIDTH [31:0] = 8;
    }

    /// CBUF bank entries.
    CFGROM_CDMA_BASE_CBUF_BANK_DEPTH cfgrom_cdma_base_cbuf_bank_depth @ 0x4c single ro {
        /// CBUF bank entries.
        CDMA_BASE_CBUF_BANK_DEPTH [31:0] = 0x200;
    }

    /// Largest batch.
    CFGROM_CDMA_MULTI_BATCH_MAX cfgrom_cdma_multi_batch_max @ 0x50 single ro {
        /// Largest batch.
        CDMA_MULTI_BATCH_MAX [31:0] = 0;
    }

    /// Packed pixel format mask.
    CFGROM_CDMA_IMAGE_IN_FORMATS_PACKED cfgrom_cdma_image_in_formats_packed @ 0x54 single ro {
        /// Packed pixel format mask.
        CDMA_IMAGE_IN_FORMATS_PACKED [31:0] = 0xcfff001;
    }

    /// Semi-planar pixel format mask.
    CFGROM_CDMA_IMAGE_IN_FORMATS_SEMI cfgrom_cdma_image_in_formats_semi @ 0x58 single ro {
        /// Semi-planar pixel format mask.
        CDMA_IMAGE_IN_FORMATS_SEMI [31:0] = 3;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CBUF_DESC cfgrom_cbuf_desc @ 0x5c single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CBUF_DESC [31:0] = 0x180004;
    }

    /// Capabilities a driver must understand.
    CFGROM_CBUF_CAP_INCOMPAT cfgrom_cbuf_cap_incompat @ 0x60 single ro {
        /// Capabilities a driver must understand.
        CBUF_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CBUF_CAP_COMPAT cfgrom_cbuf_cap_compat @ 0x64 single ro {
        /// Optional capability flags.
        CBUF_CAP_COMPAT [31:0] = 0;
    }

    /// CBUF bank count.
    CFGROM_CBUF_BASE_CBUF_BANK_NUM cfgrom_cbuf_base_cbuf_bank_num @ 0x68 single ro {
        /// CBUF bank count.
        CBUF_BASE_CBUF_BANK_NUM [31:0] = 0x20;
    }

    /// CBUF bank width in bytes.
    CFGROM_CBUF_BASE_CBUF_BANK_WIDTH cfgrom_cbuf_base_cbuf_bank_width @ 0x6c single ro {
        /// CBUF bank width in bytes.
        CBUF_BASE_CBUF_BANK_WIDTH [31:0] = 8;
    }

    /// CBUF bank entries.
    CFGROM_CBUF_BASE_CBUF_BANK_DEPTH cfgrom_cbuf_base_cbuf_bank_depth @ 0x70 single ro {
        /// CBUF bank entries.
        CBUF_BASE_CBUF_BANK_DEPTH [31:0] = 0x200;
    }

    /// Slot of the related CDMA.
    CFGROM_CBUF_BASE_CDMA_ID cfgrom_cbuf_base_cdma_id @ 0x74 single ro {
        /// Slot of the related CDMA.
        CBUF_BASE_CDMA_ID [31:0] = 3;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CSC_DESC cfgrom_csc_desc @ 0x78 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CSC_DESC [31:0] = 0x300005;
    }

    /// Capabilities a driver must understand.
    CFGROM_CSC_CAP_INCOMPAT cfgrom_csc_cap_incompat @ 0x7c single ro {
        /// Capabilities a driver must understand.
        CSC_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CSC_CAP_COMPAT cfgrom_csc_cap_compat @ 0x80 single ro {
        /// Optional capability flags.
        CSC_CAP_COMPAT [31:0] = 0x10;
    }

    /// Input data type mask.
    CFGROM_CSC_BASE_FEATURE_TYPES cfgrom_csc_base_feature_types @ 0x84 single ro {
        /// Input data type mask.
        CSC_BASE_FEATURE_TYPES [11:0] = 0x10;
    }

    /// Weight data type mask.
    CFGROM_CSC_BASE_WEIGHT_TYPES cfgrom_csc_base_weight_types @ 0x88 single ro {
        /// Weight data type mask.
        CSC_BASE_WEIGHT_TYPES [11:0] = 0x10;
    }

    /// Channels per MAC step.
    CFGROM_CSC_BASE_ATOMIC_C cfgrom_csc_base_atomic_c @ 0x8c single ro {
        /// Channels per MAC step.
        CSC_BASE_ATOMIC_C [31:0] = 8;
    }

    /// Kernels per MAC step.
    CFGROM_CSC_BASE_ATOMIC_K cfgrom_csc_base_atomic_k @ 0x90 single ro {
        /// Kernels per MAC step.
        CSC_BASE_ATOMIC_K [31:0] = 8;
    }

    /// Elements per memory atom.
    CFGROM_CSC_BASE_ATOMIC_M cfgrom_csc_base_atomic_m @ 0x94 single ro {
        /// Elements per memory atom.
        CSC_BASE_ATOMIC_M [31:0] = 8;
    }

    /// CBUF bank count.
    CFGROM_CSC_BASE_CBUF_BANK_NUM cfgrom_csc_base_cbuf_bank_num @ 0x98 single ro {
        /// CBUF bank count.
        CSC_BASE_CBUF_BANK_NUM [31:0] = 0x20;
    }

    /// CBUF bank width in bytes.
    CFGROM_CSC_BASE_CBUF_BANK_WIDTH cfgrom_csc_base_cbuf_bank_width @ 0x9c single ro {
        /// CBUF bank width in bytes.
        CSC_BASE_CBUF_BANK_WIDTH [31:0] = 8;
    }

    /// CBUF bank entries.
    CFGROM_CSC_BASE_CBUF_BANK_DEPTH cfgrom_csc_base_cbuf_bank_depth @ 0xa0 single ro {
        /// CBUF bank entries.
        CSC_BASE_CBUF_BANK_DEPTH [31:0] = 0x200;
    }

    /// Slot of the related CDMA.
    CFGROM_CSC_BASE_CDMA_ID cfgrom_csc_base_cdma_id @ 0xa4 single ro {
        /// Slot of the related CDMA.
        CSC_BASE_CDMA_ID [31:0] = 3;
    }

    /// Largest batch.
    CFGROM_CSC_MULTI_BATCH_MAX cfgrom_csc_multi_batch_max @ 0xa8 single ro {
        /// Largest batch.
        CSC_MULTI_BATCH_MAX [31:0] = 0;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CMAC_A_DESC cfgrom_cmac_a_desc @ 0xac single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CMAC_A_DESC [31:0] = 0x1c0006;
    }

    /// Capabilities a driver must understand.
    CFGROM_CMAC_A_CAP_INCOMPAT cfgrom_cmac_a_cap_incompat @ 0xb0 single ro {
        /// Capabilities a driver must understand.
        CMAC_A_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CMAC_A_CAP_COMPAT cfgrom_cmac_a_cap_compat @ 0xb4 single ro {
        /// Optional capability flags.
        CMAC_A_CAP_COMPAT [31:0] = 0x10;
    }

    /// Input data type mask.
    CFGROM_CMAC_A_BASE_FEATURE_TYPES cfgrom_cmac_a_base_feature_types @ 0xb8 single ro {
        /// Input data type mask.
        CMAC_A_BASE_FEATURE_TYPES [11:0] = 0x10;
    }

    /// Weight data type mask.
    CFGROM_CMAC_A_BASE_WEIGHT_TYPES cfgrom_cmac_a_base_weight_types @ 0xbc single ro {
        /// Weight data type mask.
        CMAC_A_BASE_WEIGHT_TYPES [11:0] = 0x10;
    }

    /// Channels per MAC step.
    CFGROM_CMAC_A_BASE_ATOMIC_C cfgrom_cmac_a_base_atomic_c @ 0xc0 single ro {
        /// Channels per MAC step.
        CMAC_A_BASE_ATOMIC_C [31:0] = 8;
    }

    /// Kernels per MAC step.
    CFGROM_CMAC_A_BASE_ATOMIC_K cfgrom_cmac_a_base_atomic_k @ 0xc4 single ro {
        /// Kernels per MAC step.
        CMAC_A_BASE_ATOMIC_K [31:0] = 8;
    }

    /// Slot of the related CDMA.
    CFGROM_CMAC_A_BASE_CDMA_ID cfgrom_cmac_a_base_cdma_id @ 0xc8 single ro {
        /// Slot of the related CDMA.
        CMAC_A_BASE_CDMA_ID [31:0] = 3;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CMAC_B_DESC cfgrom_cmac_b_desc @ 0xcc single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CMAC_B_DESC [31:0] = 0x1c0006;
    }

    /// Capabilities a driver must understand.
    CFGROM_CMAC_B_CAP_INCOMPAT cfgrom_cmac_b_cap_incompat @ 0xd0 single ro {
        /// Capabilities a driver must understand.
        CMAC_B_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CMAC_B_CAP_COMPAT cfgrom_cmac_b_cap_compat @ 0xd4 single ro {
        /// Optional capability flags.
        CMAC_B_CAP_COMPAT [31:0] = 0x10;
    }

    /// Input data type mask.
    CFGROM_CMAC_B_BASE_FEATURE_TYPES cfgrom_cmac_b_base_feature_types @ 0xd8 single ro {
        /// Input data type mask.
        CMAC_B_BASE_FEATURE_TYPES [11:0] = 0x10;
    }

    /// Weight data type mask.
    CFGROM_CMAC_B_BASE_WEIGHT_TYPES cfgrom_cmac_b_base_weight_types @ 0xdc single ro {
        /// Weight data type mask.
        CMAC_B_BASE_WEIGHT_TYPES [11:0] = 0x10;
    }

    /// Channels per MAC step.
    CFGROM_CMAC_B_BASE_ATOMIC_C cfgrom_cmac_b_base_atomic_c @ 0xe0 single ro {
        /// Channels per MAC step.
        CMAC_B_BASE_ATOMIC_C [31:0] = 8;
    }

    /// Kernels per MAC step.
    CFGROM_CMAC_B_BASE_ATOMIC_K cfgrom_cmac_b_base_atomic_k @ 0xe4 single ro {
        /// Kernels per MAC step.
        CMAC_B_BASE_ATOMIC_K [31:0] = 8;
    }

    /// Slot of the related CDMA.
    CFGROM_CMAC_B_BASE_CDMA_ID cfgrom_cmac_b_base_cdma_id @ 0xe8 single ro {
        /// Slot of the related CDMA.
        CMAC_B_BASE_CDMA_ID [31:0] = 3;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CACC_DESC cfgrom_cacc_desc @ 0xec single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CACC_DESC [31:0] = 0x200007;
    }

    /// Capabilities a driver must understand.
    CFGROM_CACC_CAP_INCOMPAT cfgrom_cacc_cap_incompat @ 0xf0 single ro {
        /// Capabilities a driver must understand.
        CACC_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CACC_CAP_COMPAT cfgrom_cacc_cap_compat @ 0xf4 single ro {
        /// Optional capability flags.
        CACC_CAP_COMPAT [31:0] = 0;
    }

    /// Input data type mask.
    CFGROM_CACC_BASE_FEATURE_TYPES cfgrom_cacc_base_feature_types @ 0xf8 single ro {
        /// Input data type mask.
        CACC_BASE_FEATURE_TYPES [11:0] = 0x10;
    }

    /// Weight data type mask.
    CFGROM_CACC_BASE_WEIGHT_TYPES cfgrom_cacc_base_weight_types @ 0xfc single ro {
        /// Weight data type mask.
        CACC_BASE_WEIGHT_TYPES [11:0] = 0x10;
    }

    /// Channels per MAC step.
    CFGROM_CACC_BASE_ATOMIC_C cfgrom_cacc_base_atomic_c @ 0x100 single ro {
        /// Channels per MAC step.
        CACC_BASE_ATOMIC_C [31:0] = 8;
    }

    /// Kernels per MAC step.
    CFGROM_CACC_BASE_ATOMIC_K cfgrom_cacc_base_atomic_k @ 0x104 single ro {
        /// Kernels per MAC step.
        CACC_BASE_ATOMIC_K [31:0] = 8;
    }

    /// Slot of the related CDMA.
    CFGROM_CACC_BASE_CDMA_ID cfgrom_cacc_base_cdma_id @ 0x108 single ro {
        /// Slot of the related CDMA.
        CACC_BASE_CDMA_ID [31:0] = 3;
    }

    /// Largest batch.
    CFGROM_CACC_MULTI_BATCH_MAX cfgrom_cacc_multi_batch_max @ 0x10c single ro {
        /// Largest batch.
        CACC_MULTI_BATCH_MAX [31:0] = 0;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_SDP_RDMA_DESC cfgrom_sdp_rdma_desc @ 0x110 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        SDP_RDMA_DESC [31:0] = 0xe0008;
    }

    /// Capabilities a driver must understand.
    CFGROM_SDP_RDMA_CAP_INCOMPAT cfgrom_sdp_rdma_cap_incompat @ 0x114 single ro {
        /// Capabilities a driver must understand.
        SDP_RDMA_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_SDP_RDMA_CAP_COMPAT cfgrom_sdp_rdma_cap_compat @ 0x118 single ro {
        /// Optional capability flags.
        SDP_RDMA_CAP_COMPAT [31:0] = 0;
    }

    /// Elements per memory atom.
    CFGROM_SDP_RDMA_BASE_ATOMIC_M cfgrom_sdp_rdma_base_atomic_m @ 0x11c single ro {
        /// Elements per memory atom.
        SDP_RDMA_BASE_ATOMIC_M [31:0] = 8;
    }

    /// Slot of the related SDP.
    CFGROM_SDP_RDMA_BASE_SDP_ID cfgrom_sdp_rdma_base_sdp_id @ 0x120 single ro {
        /// Slot of the related SDP.
        SDP_RDMA_BASE_SDP_ID [31:0] = 9;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_SDP_DESC cfgrom_sdp_desc @ 0x124 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        SDP_DESC [31:0] = 0x200009;
    }

    /// Capabilities a driver must understand.
    CFGROM_SDP_CAP_INCOMPAT cfgrom_sdp_cap_incompat @ 0x128 single ro {
        /// Capabilities a driver must understand.
        SDP_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_SDP_CAP_COMPAT cfgrom_sdp_cap_compat @ 0x12c single ro {
        /// Optional capability flags.
        SDP_CAP_COMPAT [31:0] = 0x18;
    }

    /// Input data type mask.
    CFGROM_SDP_BASE_FEATURE_TYPES cfgrom_sdp_base_feature_types @ 0x130 single ro {
        /// Input data type mask.
        SDP_BASE_FEATURE_TYPES [11:0] = 0x10;
    }

    /// Weight data type mask.
    CFGROM_SDP_BASE_WEIGHT_TYPES cfgrom_sdp_base_weight_types @ 0x134 single ro {
        /// Weight data type mask.
        SDP_BASE_WEIGHT_TYPES [11:0] = 0x10;
    }

    /// Slot of the related CDMA.
    CFGROM_SDP_BASE_CDMA_ID cfgrom_sdp_base_cdma_id @ 0x138 single ro {
        /// Slot of the related CDMA.
        SDP_BASE_CDMA_ID [31:0] = 3;
    }

    /// Largest batch.
    CFGROM_SDP_MULTI_BATCH_MAX cfgrom_sdp_multi_batch_max @ 0x13c single ro {
        /// Largest batch.
        SDP_MULTI_BATCH_MAX [31:0] = 0;
    }

    /// Bias stage elements per cycle.
    CFGROM_SDP_BS_THROUGHPUT cfgrom_sdp_bs_throughput @ 0x140 single ro {
        /// Bias stage elements per cycle.
        SDP_BS_THROUGHPUT [31:0] = 1;
    }

    /// Batch-norm stage elements per cycle.
    CFGROM_SDP_BN_THROUGHPUT cfgrom_sdp_bn_throughput @ 0x144 single ro {
        /// Batch-norm stage elements per cycle.
        SDP_BN_THROUGHPUT [31:0] = 1;
    }

    /// Element-wise stage elements per cycle.
    CFGROM_SDP_EW_THROUGHPUT cfgrom_sdp_ew_throughput @ 0x148 single ro {
        /// Element-wise stage elements per cycle.
        SDP_EW_THROUGHPUT [31:0] = 0;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_PDP_RDMA_DESC cfgrom_pdp_rdma_desc @ 0x14c single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        PDP_RDMA_DESC [31:0] = 0xe000a;
    }

    /// Capabilities a driver must understand.
    CFGROM_PDP_RDMA_CAP_INCOMPAT cfgrom_pdp_rdma_cap_incompat @ 0x150 single ro {
        /// Capabilities a driver must understand.
        PDP_RDMA_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_PDP_RDMA_CAP_COMPAT cfgrom_pdp_rdma_cap_compat @ 0x154 single ro {
        /// Optional capability flags.
        PDP_RDMA_CAP_COMPAT [31:0] = 0;
    }

    /// Elements per memory atom.
    CFGROM_PDP_RDMA_BASE_ATOMIC_M cfgrom_pdp_rdma_base_atomic_m @ 0x158 single ro {
        /// Elements per memory atom.
        PDP_RDMA_BASE_ATOMIC_M [31:0] = 8;
    }

    /// Slot of the related PDP.
    CFGROM_PDP_RDMA_BASE_PDP_ID cfgrom_pdp_rdma_base_pdp_id @ 0x15c single ro {
        /// Slot of the related PDP.
        PDP_RDMA_BASE_PDP_ID [31:0] = 0xb;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_PDP_DESC cfgrom_pdp_desc @ 0x160 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        PDP_DESC [31:0] = 0x10000b;
    }

    /// Capabilities a driver must understand.
    CFGROM_PDP_CAP_INCOMPAT cfgrom_pdp_cap_incompat @ 0x164 single ro {
        /// Capabilities a driver must understand.
        PDP_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_PDP_CAP_COMPAT cfgrom_pdp_cap_compat @ 0x168 single ro {
        /// Optional capability flags.
        PDP_CAP_COMPAT [31:0] = 0;
    }

    /// Input data type mask.
    CFGROM_PDP_BASE_FEATURE_TYPES cfgrom_pdp_base_feature_types @ 0x16c single ro {
        /// Input data type mask.
        PDP_BASE_FEATURE_TYPES [11:0] = 0x10;
    }

    /// Elements per cycle.
    CFGROM_PDP_BASE_THROUGHPUT cfgrom_pdp_base_throughput @ 0x170 single ro {
        /// Elements per cycle.
        PDP_BASE_THROUGHPUT [31:0] = 1;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CDP_RDMA_DESC cfgrom_cdp_rdma_desc @ 0x174 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CDP_RDMA_DESC [31:0] = 0xe000c;
    }

    /// Capabilities a driver must understand.
    CFGROM_CDP_RDMA_CAP_INCOMPAT cfgrom_cdp_rdma_cap_incompat @ 0x178 single ro {
        /// Capabilities a driver must understand.
        CDP_RDMA_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CDP_RDMA_CAP_COMPAT cfgrom_cdp_rdma_cap_compat @ 0x17c single ro {
        /// Optional capability flags.
        CDP_RDMA_CAP_COMPAT [31:0] = 0;
    }

    /// Elements per memory atom.
    CFGROM_CDP_RDMA_BASE_ATOMIC_M cfgrom_cdp_rdma_base_atomic_m @ 0x180 single ro {
        /// Elements per memory atom.
        CDP_RDMA_BASE_ATOMIC_M [31:0] = 8;
    }

    /// Slot of the related CDP.
    CFGROM_CDP_RDMA_BASE_CDP_ID cfgrom_cdp_rdma_base_cdp_id @ 0x184 single ro {
        /// Slot of the related CDP.
        CDP_RDMA_BASE_CDP_ID [31:0] = 0xd;
    }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CDP_DESC cfgrom_cdp_desc @ 0x188 single ro {
        /// Unit id (15:0) and payload bytes (31:16).
        CDP_DESC [31:0] = 0x10000d;
    }

    /// Capabilities a driver must understand.
    CFGROM_CDP_CAP_INCOMPAT cfgrom_cdp_cap_incompat @ 0x18c single ro {
        /// Capabilities a driver must understand.
        CDP_CAP_INCOMPAT [31:0] = 0;
    }

    /// Optional capability flags.
    CFGROM_CDP_CAP_COMPAT cfgrom_cdp_cap_compat @ 0x190 single ro {
        /// Optional capability flags.
        CDP_CAP_COMPAT [31:0] = 0;
    }

    /// Input data type mask.
    CFGROM_CDP_BASE_FEATURE_TYPES cfgrom_cdp_base_feature_types @ 0x194 single ro {
        /// Input data type mask.
        CDP_BASE_FEATURE_TYPES [11:0] = 0x10;
    }

    /// Elements per cycle.
    CFGROM_CDP_BASE_THROUGHPUT cfgrom_cdp_base_throughput @ 0x198 single ro {
        /// Elements per cycle.
        CDP_BASE_THROUGHPUT [31:0] = 1;
    }

    /// Terminator.
    CFGROM_END_OF_LIST cfgrom_end_of_list @ 0x19c single ro {
        /// Terminator.
        END_OF_LIST [31:0] = 0;
    }
}
