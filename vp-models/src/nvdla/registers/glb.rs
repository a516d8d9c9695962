//! Global control: version and interrupt collection.

registers! {
    unit "GLB";

    /// Hardware version.
    S_NVDLA_HW_VERSION @ 0x00 single ro {
        /// Major version as ASCII code.
        MAJOR [7:0] = 0x31;
        /// Minor version as two ASCII codes.
        MINOR [23:8] = 0x3030;
    }

    /// Per-source interrupt mask.
    S_INTR_MASK @ 0x04 single rw {
        /// 1 blocks SDP group 0 from the line.
        SDP_DONE_MASK0 [0] = 0;
        /// 1 blocks SDP group 1 from the line.
        SDP_DONE_MASK1 [1] = 0;
        /// 1 blocks CDP group 0 from the line.
        CDP_DONE_MASK0 [2] = 0;
        /// 1 blocks CDP group 1 from the line.
        CDP_DONE_MASK1 [3] = 0;
        /// 1 blocks PDP group 0 from the line.
        PDP_DONE_MASK0 [4] = 0;
        /// 1 blocks PDP group 1 from the line.
        PDP_DONE_MASK1 [5] = 0;
        /// 1 blocks BDMA group 0 from the line.
        BDMA_DONE_MASK0 [6] = 0;
        /// 1 blocks BDMA group 1 from the line.
        BDMA_DONE_MASK1 [7] = 0;
        /// 1 blocks rubik group 0 from the line.
        RUBIK_DONE_MASK0 [8] = 0;
        /// 1 blocks rubik group 1 from the line.
        RUBIK_DONE_MASK1 [9] = 0;
        /// 1 blocks CDMA input fetch group 0 from the line.
        CDMA_DAT_DONE_MASK0 [16] = 0;
        /// 1 blocks CDMA input fetch group 1 from the line.
        CDMA_DAT_DONE_MASK1 [17] = 0;
        /// 1 blocks CDMA weight fetch group 0 from the line.
        CDMA_WT_DONE_MASK0 [18] = 0;
        /// 1 blocks CDMA weight fetch group 1 from the line.
        CDMA_WT_DONE_MASK1 [19] = 0;
        /// 1 blocks CACC group 0 from the line.
        CACC_DONE_MASK0 [20] = 0;
        /// 1 blocks CACC group 1 from the line.
        CACC_DONE_MASK1 [21] = 0;
    }

    /// Software interrupt injection.
    S_INTR_SET @ 0x08 single wo {
        /// 1 raises SDP group 0 pending.
        SDP_DONE_SET0 [0] = 0;
        /// 1 raises SDP group 1 pending.
        SDP_DONE_SET1 [1] = 0;
        /// 1 raises CDP group 0 pending.
        CDP_DONE_SET0 [2] = 0;
        /// 1 raises CDP group 1 pending.
        CDP_DONE_SET1 [3] = 0;
        /// 1 raises PDP group 0 pending.
        PDP_DONE_SET0 [4] = 0;
        /// 1 raises PDP group 1 pending.
        PDP_DONE_SET1 [5] = 0;
        /// 1 raises BDMA group 0 pending.
        BDMA_DONE_SET0 [6] = 0;
        /// 1 raises BDMA group 1 pending.
        BDMA_DONE_SET1 [7] = 0;
        /// 1 raises rubik group 0 pending.
        RUBIK_DONE_SET0 [8] = 0;
        /// 1 raises rubik group 1 pending.
        RUBIK_DONE_SET1 [9] = 0;
        /// 1 raises CDMA input fetch group 0 pending.
        CDMA_DAT_DONE_SET0 [16] = 0;
        /// 1 raises CDMA input fetch group 1 pending.
        CDMA_DAT_DONE_SET1 [17] = 0;
        /// 1 raises CDMA weight fetch group 0 pending.
        CDMA_WT_DONE_SET0 [18] = 0;
        /// 1 raises CDMA weight fetch group 1 pending.
        CDMA_WT_DONE_SET1 [19] = 0;
        /// 1 raises CACC group 0 pending.
        CACC_DONE_SET0 [20] = 0;
        /// 1 raises CACC group 1 pending.
        CACC_DONE_SET1 [21] = 0;
    }

    /// Per-source interrupt pending bits.
    S_INTR_STATUS @ 0x0c single w1c {
        /// SDP group 0 done pending.
        SDP_DONE_STATUS0 [0] = 0;
        /// SDP group 1 done pending.
        SDP_DONE_STATUS1 [1] = 0;
        /// CDP group 0 done pending.
        CDP_DONE_STATUS0 [2] = 0;
        /// CDP group 1 done pending.
        CDP_DONE_STATUS1 [3] = 0;
        /// PDP group 0 done pending.
        PDP_DONE_STATUS0 [4] = 0;
        /// PDP group 1 done pending.
        PDP_DONE_STATUS1 [5] = 0;
        /// BDMA group 0 done pending.
        BDMA_DONE_STATUS0 [6] = 0;
        /// BDMA group 1 done pending.
        BDMA_DONE_STATUS1 [7] = 0;
        /// Rubik group 0 done pending.
        RUBIK_DONE_STATUS0 [8] = 0;
        /// Rubik group 1 done pending.
        RUBIK_DONE_STATUS1 [9] = 0;
        /// CDMA input fetch group 0 done pending.
        CDMA_DAT_DONE_STATUS0 [16] = 0;
        /// CDMA input fetch group 1 done pending.
        CDMA_DAT_DONE_STATUS1 [17] = 0;
        /// CDMA weight fetch group 0 done pending.
        CDMA_WT_DONE_STATUS0 [18] = 0;
        /// CDMA weight fetch group 1 done pending.
        CDMA_WT_DONE_STATUS1 [19] = 0;
        /// CACC group 0 done pending.
        CACC_DONE_STATUS0 [20] = 0;
        /// CACC group 1 done pending.
        CACC_DONE_STATUS1 [21] = 0;
    }
}
