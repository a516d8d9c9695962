//! Bridge DMA between the two memories: a command queue with two launch groups, no ping-pong registers.

registers! {
    unit "BDMA";

    /// Source address, low word.
    CFG_SRC_ADDR_LOW cfg_src_addr_low @ 0x00 single rw {
        /// Address bits 31:0, aligned to 32 bytes.
        V32 [31:5] as bytes = 0;
    }

    /// Source address, high word.
    CFG_SRC_ADDR_HIGH cfg_src_addr_high @ 0x04 single rw {
        /// Address bits 63:32.
        V8 [31:0] = 0;
    }

    /// Destination address, low word.
    CFG_DST_ADDR_LOW cfg_dst_addr_low @ 0x08 single rw {
        /// Address bits 31:0, aligned to 32 bytes.
        V32 [31:5] as bytes = 0;
    }

    /// Destination address, high word.
    CFG_DST_ADDR_HIGH cfg_dst_addr_high @ 0x0c single rw {
        /// Address bits 63:32.
        V8 [31:0] = 0;
    }

    /// Line size.
    CFG_LINE cfg_line @ 0x10 single rw {
        /// Line length in 32-byte units.
        SIZE [12:0] as minus1 = 0;
    }

    /// Source and destination memory select.
    CFG_CMD cfg_cmd @ 0x14 single rw {
        /// Source memory: secondary or primary.
        SRC_RAM_TYPE [0] = 0 { CVSRAM = 0, MC = 1 };
        /// Destination memory: secondary or primary.
        DST_RAM_TYPE [1] = 0 { CVSRAM = 0, MC = 1 };
    }

    /// Lines per surface.
    CFG_LINE_REPEAT cfg_line_repeat @ 0x18 single rw {
        /// Lines per surface.
        NUMBER [23:0] as minus1 = 0;
    }

    /// Source line stride.
    CFG_SRC_LINE cfg_src_line @ 0x1c single rw {
        /// Stride in bytes.
        STRIDE [31:5] as bytes = 0;
    }

    /// Destination line stride.
    CFG_DST_LINE cfg_dst_line @ 0x20 single rw {
        /// Stride in bytes.
        STRIDE [31:5] as bytes = 0;
    }

    /// Surfaces per command.
    CFG_SURF_REPEAT cfg_surf_repeat @ 0x24 single rw {
        /// Surfaces per command.
        NUMBER [23:0] as minus1 = 0;
    }

    /// Source surface stride.
    CFG_SRC_SURF cfg_src_surf @ 0x28 single rw {
        /// Stride in bytes.
        STRIDE [31:5] as bytes = 0;
    }

    /// Destination surface stride.
    CFG_DST_SURF cfg_dst_surf @ 0x2c single rw {
        /// Stride in bytes.
        STRIDE [31:5] as bytes = 0;
    }

    /// Pushes the configured copy command into the command queue.
    CFG_OP cfg_op @ 0x30 single rw {
        /// Writing 1 enqueues one command (the manual calls it unused). Reads back as written.
        EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Launches the queued commands as group 0.
    CFG_LAUNCH0 cfg_launch0 @ 0x34 single rw {
        /// Writing 1 launches as group 0.
        GRP0_LAUNCH [0] = 0 { NO = 0, YES = 1 };
    }

    /// Launches the queued commands as group 1.
    CFG_LAUNCH1 cfg_launch1 @ 0x38 single rw {
        /// Writing 1 launches as group 1.
        GRP1_LAUNCH [0] = 0 { NO = 0, YES = 1 };
    }

    /// Stall counter enable.
    CFG_STATUS cfg_status @ 0x3c single rw {
        /// Enables stall counters.
        STALL_COUNT_EN [0] = 0 { NO = 0, YES = 1 };
    }

    /// Queue occupancy and busy flags.
    STATUS status @ 0x40 single ro {
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
    STATUS_GRP0_READ_STALL status_grp0_read_stall @ 0x44 single ro {
        /// Stall cycle count.
        COUNT [31:0] = 0;
    }

    /// Write stall cycles of last group 0 run.
    STATUS_GRP0_WRITE_STALL status_grp0_write_stall @ 0x48 single ro {
        /// Stall cycle count.
        COUNT [31:0] = 0;
    }

    /// Read stall cycles of last group 1 run.
    STATUS_GRP1_READ_STALL status_grp1_read_stall @ 0x4c single ro {
        /// Stall cycle count.
        COUNT [31:0] = 0;
    }

    /// Write stall cycles of last group 1 run.
    STATUS_GRP1_WRITE_STALL status_grp1_write_stall @ 0x50 single ro {
        /// Stall cycle count.
        COUNT [31:0] = 0;
    }
}
