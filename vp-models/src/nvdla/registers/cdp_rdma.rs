//! Read DMA of the channel data processor.

registers! {
    unit "CDP_RDMA";
    groups;

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x08 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Cube width.
    D_DATA_CUBE_WIDTH @ 0x0c duplicated rw { WIDTH [12:0] as minus1 = 0: "Width." }

    /// Cube height.
    D_DATA_CUBE_HEIGHT @ 0x10 duplicated rw { HEIGHT [12:0] as minus1 = 0: "Height." }

    /// Cube channels.
    D_DATA_CUBE_CHANNEL @ 0x14 duplicated rw { CHANNEL [12:0] as minus1 = 0: "Channels." }

    /// Source address, low word.
    D_SRC_BASE_ADDR_LOW @ 0x18 duplicated rw {
        /// Address bits 31:0, aligned to the memory atom.
        SRC_BASE_ADDR_LOW [31:0] as bytes = 0, full [31:5];
    }

    /// Source address, high word.
    D_SRC_BASE_ADDR_HIGH @ 0x1c duplicated rw { SRC_BASE_ADDR_HIGH [31:0] = 0: "Address bits 63:32." }

    /// Source line stride.
    D_SRC_LINE_STRIDE @ 0x20 duplicated rw {
        /// Distance in bytes.
        SRC_LINE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source surface stride.
    D_SRC_SURFACE_STRIDE @ 0x24 duplicated rw {
        /// Distance in bytes.
        SRC_SURFACE_STRIDE [31:0] as bytes = 0, full [31:5];
    }

    /// Source memory select.
    D_SRC_DMA_CFG @ 0x28 duplicated rw {
        /// Source memory: secondary or primary.
        SRC_RAM_TYPE [0] = 0 { CV = 0, MC = 1 };
    }

    /// Input compression flag (fixed).
    D_SRC_COMPRESSION_EN @ 0x2c duplicated ro {
        /// Reads 0.
        SRC_COMPRESSION_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Operation mode (fixed).
    D_OPERATION_MODE @ 0x30 duplicated ro {
        /// Reads the reset value.
        OPERATION_MODE [1:0] = 0 { READPHILE = 0, WRITEPHILE = 1, ORDINARY = 2 };
    }

    /// Data precision.
    D_DATA_FORMAT @ 0x34 duplicated rw { INPUT_DATA [1:0] = 0 { INT8 = 0, INT16 = 1, FP16 = 2 } }

    /// Performance counter enable.
    D_PERF_ENABLE @ 0x38 duplicated rw { DMA_EN [0] = 0 { DISABLE = 0, ENABLE = 1 }: "Count DMA stalls." }

    /// Read stall cycles.
    D_PERF_READ_STALL @ 0x3c duplicated ro { PERF_READ_STALL [31:0] = 0: "Cycles." }

    /// Spare bits without function.
    D_CYA @ 0x40 duplicated rw { CYA [31:0] = 0: "No function." }
}
