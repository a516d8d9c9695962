//! The arbiters in front of the two memories: MCIF (primary) and CVIF (secondary, the manual's SRAMIF) share
//! this table.

registers! {
    unit "MCIF";

    /// Read arbitration weights, clients 0-3.
    CFG_RD_WEIGHT_0 @ 0x00 single rw {
        /// Read weight of BDMA.
        RD_WEIGHT_BDMA [7:0] = 1;
        /// Read weight of SDP main.
        RD_WEIGHT_SDP [15:8] = 1;
        /// Read weight of PDP.
        RD_WEIGHT_PDP [23:16] = 1;
        /// Read weight of CDP.
        RD_WEIGHT_CDP [31:24] = 1;
    }

    /// Read arbitration weights, clients 4-7.
    CFG_RD_WEIGHT_1 @ 0x04 single rw {
        /// Read weight of SDP bias.
        RD_WEIGHT_SDP_B [7:0] = 1;
        /// Read weight of SDP batch-norm.
        RD_WEIGHT_SDP_N [15:8] = 1;
        /// Read weight of SDP element-wise.
        RD_WEIGHT_SDP_E [23:16] = 1;
        /// Read weight of CDMA input.
        RD_WEIGHT_CDMA_DAT [31:24] = 1;
    }

    /// Read arbitration weights, clients 8-11.
    CFG_RD_WEIGHT_2 @ 0x08 single rw {
        /// Read weight of CDMA weight.
        RD_WEIGHT_CDMA_WT [7:0] = 1;
        /// Read weight of rubik.
        RD_WEIGHT_RBK [15:8] = 1;
        /// Unused client slot.
        RD_WEIGHT_RSV_1 [23:16] = 1;
        /// Unused client slot.
        RD_WEIGHT_RSV_0 [31:24] = 1;
    }

    /// Write arbitration weights, clients 0-3.
    CFG_WR_WEIGHT_0 @ 0x0c single rw {
        /// Write weight of BDMA.
        WR_WEIGHT_BDMA [7:0] = 1;
        /// Write weight of SDP main.
        WR_WEIGHT_SDP [15:8] = 1;
        /// Write weight of PDP.
        WR_WEIGHT_PDP [23:16] = 1;
        /// Write weight of CDP.
        WR_WEIGHT_CDP [31:24] = 1;
    }

    /// Write arbitration weights, clients 4-7.
    CFG_WR_WEIGHT_1 @ 0x10 single rw {
        /// Write weight of rubik.
        WR_WEIGHT_RBK [7:0] = 1;
        /// Unused client slot.
        WR_WEIGHT_RSV_2 [15:8] = 1;
        /// Unused client slot.
        WR_WEIGHT_RSV_1 [23:16] = 1;
        /// Unused client slot.
        WR_WEIGHT_RSV_0 [31:24] = 1;
    }

    /// Limit of outstanding bus transactions.
    CFG_OUTSTANDING_CNT @ 0x14 single rw {
        /// Maximum outstanding reads.
        RD_OS_CNT [7:0] = 0xff;
        /// Maximum outstanding writes.
        WR_OS_CNT [15:8] = 0xff;
    }

    /// Interface idle flag.
    STATUS @ 0x18 single ro { IDLE [8] = 1 { NO = 0, YES = 1 }: "1 when nothing is outstanding." }
}
