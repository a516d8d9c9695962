//! The capability ROM at the foot of the small and large maps. The resets are the words the RTL's ROM holds
//! in every build; what a model serves instead is
//! [`Config::capability_words`](crate::nvdla::config::Config::capability_words).

registers! {
    unit "CFGROM";

    /// Hardware version.
    CFGROM_HW_VERSION @ 0x00 single ro { HW_VERSION [31:0] = 0x10001 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_GLB_DESC @ 0x04 single ro { GLB_DESC [31:0] = 1 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CIF_DESC @ 0x08 single ro { CIF_DESC [31:0] = 0x180002 }

    /// Capabilities a driver must understand.
    CFGROM_CIF_CAP_INCOMPAT @ 0x0c single ro { CIF_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CIF_CAP_COMPAT @ 0x10 single ro { CIF_CAP_COMPAT [31:0] = 0 }

    /// Data width in bytes.
    CFGROM_CIF_BASE_WIDTH @ 0x14 single ro { CIF_BASE_WIDTH [7:0] = 8 }

    /// Read latency in cycles.
    CFGROM_CIF_BASE_LATENCY @ 0x18 single ro { CIF_BASE_LATENCY [31:0] = 0x32 }

    /// Longest burst.
    CFGROM_CIF_BASE_BURST_LENGTH_MAX @ 0x1c single ro { BASE_BURST_LENGTH_MAX [31:5] = 4 }

    /// Address bits.
    CFGROM_CIF_BASE_MEM_ADDR_WIDTH @ 0x20 single ro { CIF_BASE_MEM_ADDR_WIDTH [31:5] = 0x20 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CDMA_DESC @ 0x24 single ro { CDMA_DESC [31:0] = 0x340003 }

    /// Capabilities a driver must understand.
    CFGROM_CDMA_CAP_INCOMPAT @ 0x28 single ro { CDMA_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CDMA_CAP_COMPAT @ 0x2c single ro { CDMA_CAP_COMPAT [31:0] = 0x10 }

    /// Input data type mask.
    CFGROM_CDMA_BASE_FEATURE_TYPES @ 0x30 single ro { CDMA_BASE_FEATURE_TYPES [11:0] = 0x10 }

    /// Weight data type mask.
    CFGROM_CDMA_BASE_WEIGHT_TYPES @ 0x34 single ro { CDMA_BASE_WEIGHT_TYPES [11:0] = 0x10 }

    /// Channels per MAC step.
    CFGROM_CDMA_BASE_ATOMIC_C @ 0x38 single ro { CDMA_BASE_ATOMIC_C [31:0] = 8 }

    /// Kernels per MAC step.
    CFGROM_CDMA_BASE_ATOMIC_K @ 0x3c single ro { CDMA_BASE_ATOMIC_K [31:0] = 8 }

    /// Elements per memory atom.
    CFGROM_CDMA_BASE_ATOMIC_M @ 0x40 single ro { CDMA_BASE_ATOMIC_M [31:0] = 8 }

    /// CBUF bank count.
    CFGROM_CDMA_BASE_CBUF_BANK_NUM @ 0x44 single ro { CDMA_BASE_CBUF_BANK_NUM [31:0] = 0x20 }

    /// CBUF bank width in bytes.
    CFGROM_CDMA_BASE_CBUF_BANK_WIDTH @ 0x48 single ro { CDMA_BASE_CBUF_BANK_WIDTH [31:0] = 8 }

    /// CBUF bank entries.
    CFGROM_CDMA_BASE_CBUF_BANK_DEPTH @ 0x4c single ro { CDMA_BASE_CBUF_BANK_DEPTH [31:0] = 0x200 }

    /// Largest batch.
    CFGROM_CDMA_MULTI_BATCH_MAX @ 0x50 single ro { CDMA_MULTI_BATCH_MAX [31:0] = 0 }

    /// Packed pixel format mask.
    CFGROM_CDMA_IMAGE_IN_FORMATS_PACKED @ 0x54 single ro { CDMA_IMAGE_IN_FORMATS_PACKED [31:0] = 0xcfff001 }

    /// Semi-planar pixel format mask.
    CFGROM_CDMA_IMAGE_IN_FORMATS_SEMI @ 0x58 single ro { CDMA_IMAGE_IN_FORMATS_SEMI [31:0] = 3 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CBUF_DESC @ 0x5c single ro { CBUF_DESC [31:0] = 0x180004 }

    /// Capabilities a driver must understand.
    CFGROM_CBUF_CAP_INCOMPAT @ 0x60 single ro { CBUF_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CBUF_CAP_COMPAT @ 0x64 single ro { CBUF_CAP_COMPAT [31:0] = 0 }

    /// CBUF bank count.
    CFGROM_CBUF_BASE_CBUF_BANK_NUM @ 0x68 single ro { CBUF_BASE_CBUF_BANK_NUM [31:0] = 0x20 }

    /// CBUF bank width in bytes.
    CFGROM_CBUF_BASE_CBUF_BANK_WIDTH @ 0x6c single ro { CBUF_BASE_CBUF_BANK_WIDTH [31:0] = 8 }

    /// CBUF bank entries.
    CFGROM_CBUF_BASE_CBUF_BANK_DEPTH @ 0x70 single ro { CBUF_BASE_CBUF_BANK_DEPTH [31:0] = 0x200 }

    /// Slot of the related CDMA.
    CFGROM_CBUF_BASE_CDMA_ID @ 0x74 single ro { CBUF_BASE_CDMA_ID [31:0] = 3 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CSC_DESC @ 0x78 single ro { CSC_DESC [31:0] = 0x300005 }

    /// Capabilities a driver must understand.
    CFGROM_CSC_CAP_INCOMPAT @ 0x7c single ro { CSC_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CSC_CAP_COMPAT @ 0x80 single ro { CSC_CAP_COMPAT [31:0] = 0x10 }

    /// Input data type mask.
    CFGROM_CSC_BASE_FEATURE_TYPES @ 0x84 single ro { CSC_BASE_FEATURE_TYPES [11:0] = 0x10 }

    /// Weight data type mask.
    CFGROM_CSC_BASE_WEIGHT_TYPES @ 0x88 single ro { CSC_BASE_WEIGHT_TYPES [11:0] = 0x10 }

    /// Channels per MAC step.
    CFGROM_CSC_BASE_ATOMIC_C @ 0x8c single ro { CSC_BASE_ATOMIC_C [31:0] = 8 }

    /// Kernels per MAC step.
    CFGROM_CSC_BASE_ATOMIC_K @ 0x90 single ro { CSC_BASE_ATOMIC_K [31:0] = 8 }

    /// Elements per memory atom.
    CFGROM_CSC_BASE_ATOMIC_M @ 0x94 single ro { CSC_BASE_ATOMIC_M [31:0] = 8 }

    /// CBUF bank count.
    CFGROM_CSC_BASE_CBUF_BANK_NUM @ 0x98 single ro { CSC_BASE_CBUF_BANK_NUM [31:0] = 0x20 }

    /// CBUF bank width in bytes.
    CFGROM_CSC_BASE_CBUF_BANK_WIDTH @ 0x9c single ro { CSC_BASE_CBUF_BANK_WIDTH [31:0] = 8 }

    /// CBUF bank entries.
    CFGROM_CSC_BASE_CBUF_BANK_DEPTH @ 0xa0 single ro { CSC_BASE_CBUF_BANK_DEPTH [31:0] = 0x200 }

    /// Slot of the related CDMA.
    CFGROM_CSC_BASE_CDMA_ID @ 0xa4 single ro { CSC_BASE_CDMA_ID [31:0] = 3 }

    /// Largest batch.
    CFGROM_CSC_MULTI_BATCH_MAX @ 0xa8 single ro { CSC_MULTI_BATCH_MAX [31:0] = 0 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CMAC_A_DESC @ 0xac single ro { CMAC_A_DESC [31:0] = 0x1c0006 }

    /// Capabilities a driver must understand.
    CFGROM_CMAC_A_CAP_INCOMPAT @ 0xb0 single ro { CMAC_A_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CMAC_A_CAP_COMPAT @ 0xb4 single ro { CMAC_A_CAP_COMPAT [31:0] = 0x10 }

    /// Input data type mask.
    CFGROM_CMAC_A_BASE_FEATURE_TYPES @ 0xb8 single ro { CMAC_A_BASE_FEATURE_TYPES [11:0] = 0x10 }

    /// Weight data type mask.
    CFGROM_CMAC_A_BASE_WEIGHT_TYPES @ 0xbc single ro { CMAC_A_BASE_WEIGHT_TYPES [11:0] = 0x10 }

    /// Channels per MAC step.
    CFGROM_CMAC_A_BASE_ATOMIC_C @ 0xc0 single ro { CMAC_A_BASE_ATOMIC_C [31:0] = 8 }

    /// Kernels per MAC step.
    CFGROM_CMAC_A_BASE_ATOMIC_K @ 0xc4 single ro { CMAC_A_BASE_ATOMIC_K [31:0] = 8 }

    /// Slot of the related CDMA.
    CFGROM_CMAC_A_BASE_CDMA_ID @ 0xc8 single ro { CMAC_A_BASE_CDMA_ID [31:0] = 3 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CMAC_B_DESC @ 0xcc single ro { CMAC_B_DESC [31:0] = 0x1c0006 }

    /// Capabilities a driver must understand.
    CFGROM_CMAC_B_CAP_INCOMPAT @ 0xd0 single ro { CMAC_B_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CMAC_B_CAP_COMPAT @ 0xd4 single ro { CMAC_B_CAP_COMPAT [31:0] = 0x10 }

    /// Input data type mask.
    CFGROM_CMAC_B_BASE_FEATURE_TYPES @ 0xd8 single ro { CMAC_B_BASE_FEATURE_TYPES [11:0] = 0x10 }

    /// Weight data type mask.
    CFGROM_CMAC_B_BASE_WEIGHT_TYPES @ 0xdc single ro { CMAC_B_BASE_WEIGHT_TYPES [11:0] = 0x10 }

    /// Channels per MAC step.
    CFGROM_CMAC_B_BASE_ATOMIC_C @ 0xe0 single ro { CMAC_B_BASE_ATOMIC_C [31:0] = 8 }

    /// Kernels per MAC step.
    CFGROM_CMAC_B_BASE_ATOMIC_K @ 0xe4 single ro { CMAC_B_BASE_ATOMIC_K [31:0] = 8 }

    /// Slot of the related CDMA.
    CFGROM_CMAC_B_BASE_CDMA_ID @ 0xe8 single ro { CMAC_B_BASE_CDMA_ID [31:0] = 3 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CACC_DESC @ 0xec single ro { CACC_DESC [31:0] = 0x200007 }

    /// Capabilities a driver must understand.
    CFGROM_CACC_CAP_INCOMPAT @ 0xf0 single ro { CACC_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CACC_CAP_COMPAT @ 0xf4 single ro { CACC_CAP_COMPAT [31:0] = 0 }

    /// Input data type mask.
    CFGROM_CACC_BASE_FEATURE_TYPES @ 0xf8 single ro { CACC_BASE_FEATURE_TYPES [11:0] = 0x10 }

    /// Weight data type mask.
    CFGROM_CACC_BASE_WEIGHT_TYPES @ 0xfc single ro { CACC_BASE_WEIGHT_TYPES [11:0] = 0x10 }

    /// Channels per MAC step.
    CFGROM_CACC_BASE_ATOMIC_C @ 0x100 single ro { CACC_BASE_ATOMIC_C [31:0] = 8 }

    /// Kernels per MAC step.
    CFGROM_CACC_BASE_ATOMIC_K @ 0x104 single ro { CACC_BASE_ATOMIC_K [31:0] = 8 }

    /// Slot of the related CDMA.
    CFGROM_CACC_BASE_CDMA_ID @ 0x108 single ro { CACC_BASE_CDMA_ID [31:0] = 3 }

    /// Largest batch.
    CFGROM_CACC_MULTI_BATCH_MAX @ 0x10c single ro { CACC_MULTI_BATCH_MAX [31:0] = 0 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_SDP_RDMA_DESC @ 0x110 single ro { SDP_RDMA_DESC [31:0] = 0xe0008 }

    /// Capabilities a driver must understand.
    CFGROM_SDP_RDMA_CAP_INCOMPAT @ 0x114 single ro { SDP_RDMA_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_SDP_RDMA_CAP_COMPAT @ 0x118 single ro { SDP_RDMA_CAP_COMPAT [31:0] = 0 }

    /// Elements per memory atom.
    CFGROM_SDP_RDMA_BASE_ATOMIC_M @ 0x11c single ro { SDP_RDMA_BASE_ATOMIC_M [31:0] = 8 }

    /// Slot of the related SDP.
    CFGROM_SDP_RDMA_BASE_SDP_ID @ 0x120 single ro { SDP_RDMA_BASE_SDP_ID [31:0] = 9 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_SDP_DESC @ 0x124 single ro { SDP_DESC [31:0] = 0x200009 }

    /// Capabilities a driver must understand.
    CFGROM_SDP_CAP_INCOMPAT @ 0x128 single ro { SDP_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_SDP_CAP_COMPAT @ 0x12c single ro { SDP_CAP_COMPAT [31:0] = 0x18 }

    /// Input data type mask.
    CFGROM_SDP_BASE_FEATURE_TYPES @ 0x130 single ro { SDP_BASE_FEATURE_TYPES [11:0] = 0x10 }

    /// Weight data type mask.
    CFGROM_SDP_BASE_WEIGHT_TYPES @ 0x134 single ro { SDP_BASE_WEIGHT_TYPES [11:0] = 0x10 }

    /// Slot of the related CDMA.
    CFGROM_SDP_BASE_CDMA_ID @ 0x138 single ro { SDP_BASE_CDMA_ID [31:0] = 3 }

    /// Largest batch.
    CFGROM_SDP_MULTI_BATCH_MAX @ 0x13c single ro { SDP_MULTI_BATCH_MAX [31:0] = 0 }

    /// Bias stage elements per cycle.
    CFGROM_SDP_BS_THROUGHPUT @ 0x140 single ro { SDP_BS_THROUGHPUT [31:0] = 1 }

    /// Batch-norm stage elements per cycle.
    CFGROM_SDP_BN_THROUGHPUT @ 0x144 single ro { SDP_BN_THROUGHPUT [31:0] = 1 }

    /// Element-wise stage elements per cycle.
    CFGROM_SDP_EW_THROUGHPUT @ 0x148 single ro { SDP_EW_THROUGHPUT [31:0] = 0 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_PDP_RDMA_DESC @ 0x14c single ro { PDP_RDMA_DESC [31:0] = 0xe000a }

    /// Capabilities a driver must understand.
    CFGROM_PDP_RDMA_CAP_INCOMPAT @ 0x150 single ro { PDP_RDMA_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_PDP_RDMA_CAP_COMPAT @ 0x154 single ro { PDP_RDMA_CAP_COMPAT [31:0] = 0 }

    /// Elements per memory atom.
    CFGROM_PDP_RDMA_BASE_ATOMIC_M @ 0x158 single ro { PDP_RDMA_BASE_ATOMIC_M [31:0] = 8 }

    /// Slot of the related PDP.
    CFGROM_PDP_RDMA_BASE_PDP_ID @ 0x15c single ro { PDP_RDMA_BASE_PDP_ID [31:0] = 0xb }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_PDP_DESC @ 0x160 single ro { PDP_DESC [31:0] = 0x10000b }

    /// Capabilities a driver must understand.
    CFGROM_PDP_CAP_INCOMPAT @ 0x164 single ro { PDP_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_PDP_CAP_COMPAT @ 0x168 single ro { PDP_CAP_COMPAT [31:0] = 0 }

    /// Input data type mask.
    CFGROM_PDP_BASE_FEATURE_TYPES @ 0x16c single ro { PDP_BASE_FEATURE_TYPES [11:0] = 0x10 }

    /// Elements per cycle.
    CFGROM_PDP_BASE_THROUGHPUT @ 0x170 single ro { PDP_BASE_THROUGHPUT [31:0] = 1 }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CDP_RDMA_DESC @ 0x174 single ro { CDP_RDMA_DESC [31:0] = 0xe000c }

    /// Capabilities a driver must understand.
    CFGROM_CDP_RDMA_CAP_INCOMPAT @ 0x178 single ro { CDP_RDMA_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CDP_RDMA_CAP_COMPAT @ 0x17c single ro { CDP_RDMA_CAP_COMPAT [31:0] = 0 }

    /// Elements per memory atom.
    CFGROM_CDP_RDMA_BASE_ATOMIC_M @ 0x180 single ro { CDP_RDMA_BASE_ATOMIC_M [31:0] = 8 }

    /// Slot of the related CDP.
    CFGROM_CDP_RDMA_BASE_CDP_ID @ 0x184 single ro { CDP_RDMA_BASE_CDP_ID [31:0] = 0xd }

    /// Unit id (15:0) and payload bytes (31:16).
    CFGROM_CDP_DESC @ 0x188 single ro { CDP_DESC [31:0] = 0x10000d }

    /// Capabilities a driver must understand.
    CFGROM_CDP_CAP_INCOMPAT @ 0x18c single ro { CDP_CAP_INCOMPAT [31:0] = 0 }

    /// Optional capability flags.
    CFGROM_CDP_CAP_COMPAT @ 0x190 single ro { CDP_CAP_COMPAT [31:0] = 0 }

    /// Input data type mask.
    CFGROM_CDP_BASE_FEATURE_TYPES @ 0x194 single ro { CDP_BASE_FEATURE_TYPES [11:0] = 0x10 }

    /// Elements per cycle.
    CFGROM_CDP_BASE_THROUGHPUT @ 0x198 single ro { CDP_BASE_THROUGHPUT [31:0] = 1 }

    /// Terminator.
    CFGROM_END_OF_LIST @ 0x19c single ro { END_OF_LIST [31:0] = 0 }
}
