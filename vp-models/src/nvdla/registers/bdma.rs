//! Bridge DMA between the two memories: a command queue with two launch groups, no ping-pong registers.

registers! {
    unit "BDMA";

    /// Source address, low word.
    CFG_SRC_ADDR_LOW @ 0x00 single rw { V32 [31:5] as bytes = 0: "Address bits 31:0, aligned to 32 bytes." }

    /// Source address, high word.
    CFG_SRC_ADDR_HIGH @ 0x04 single rw { V8 [31:0] = 0: "Address bits 63:32." }

    /// Destination address, low word.
    CFG_DST_ADDR_LOW @ 0x08 single rw { V32 [31:5] as bytes = 0: "Address bits 31:0, aligned to 32 bytes." }

    /// Destination address, high word.
    CFG_DST_ADDR_HIGH @ 0x0c single rw { V8 [31:0] = 0: "Address bits 63:32." }

    /// Line size.
    CFG_LINE @ 0x10 single rw { SIZE [12:0] as minus1 = 0: "Line length in 32-byte units." }

    /// Source and destination memory select.
    CFG_CMD @ 0x14 single rw {
        /// Source memory: secondary or primary.
        SRC_RAM_TYPE [0] = 0 { CVSRAM = 0, MC = 1 };
        /// Destination memory: secondary or primary.
        DST_RAM_TYPE [1] = 0 { CVSRAM = 0, MC = 1 };
    }

    /// Lines per surface.
    CFG_LINE_REPEAT @ 0x18 single rw { NUMBER [23:0] as minus1 = 0 }

    /// Source line stride.
    CFG_SRC_LINE @ 0x1c single rw { STRIDE [31:5] as bytes = 0: "Stride in bytes." }

    /// Destination line stride.
    CFG_DST_LINE @ 0x20 single rw { STRIDE [31:5] as bytes = 0: "Stride in bytes." }

    /// Surfaces per command.
    CFG_SURF_REPEAT @ 0x24 single rw { NUMBER [23:0] as minus1 = 0 }

    /// Source surface stride.
    CFG_SRC_SURF @ 0x28 single rw { STRIDE [31:5] as bytes = 0: "Stride in bytes." }

    /// Destination surface stride.
    CFG_DST_SURF @ 0x2c single rw { STRIDE [31:5] as bytes = 0: "Stride in bytes." }

    /// Pushes the configured copy command into the command queue.
    CFG_OP @ 0x30 single rw {
        /// Writing 1 enqueues one command (the manual calls it unused). Reads back as written.
        EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Launches the queued commands as group 0.
    CFG_LAUNCH0 @ 0x34 single rw starts_work { GRP0_LAUNCH [0] = 0 { NO = 0, YES = 1 }: "Writing 1 launches as group 0." }

    /// Launches the queued commands as group 1.
    CFG_LAUNCH1 @ 0x38 single rw starts_work { GRP1_LAUNCH [0] = 0 { NO = 0, YES = 1 }: "Writing 1 launches as group 1." }

    /// Stall counter enable.
    CFG_STATUS @ 0x3c single rw { STALL_COUNT_EN [0] = 0 { NO = 0, YES = 1 }: "Enables stall counters." }

    /// Queue occupancy and busy flags.
    STATUS @ 0x40 single ro {
        /// Free command queue slots (20 when empty).
        FREE_SLOT [7:0] = 20;
        /// 1 when queue, loader and storer are idle.
        IDLE [8] = 1 { NO = 0, YES = 1 };
        /// Group 0 launched and unfinished.
        GRP0_BUSY [9] = 0 { NO = 0, YES = 1 };
        /// Group 1 launched and unfinished.
        GRP1_BUSY [10] = 0 { NO = 0, YES = 1 };
    }

    /// Read stall cycles of last group 0 run.
    STATUS_GRP0_READ_STALL @ 0x44 single ro { COUNT [31:0] = 0: "Stall cycle count." }

    /// Write stall cycles of last group 0 run.
    STATUS_GRP0_WRITE_STALL @ 0x48 single ro { COUNT [31:0] = 0: "Stall cycle count." }

    /// Read stall cycles of last group 1 run.
    STATUS_GRP1_READ_STALL @ 0x4c single ro { COUNT [31:0] = 0: "Stall cycle count." }

    /// Write stall cycles of last group 1 run.
    STATUS_GRP1_WRITE_STALL @ 0x50 single ro { COUNT [31:0] = 0: "Stall cycle count." }
}
