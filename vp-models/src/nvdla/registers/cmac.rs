//! The MAC arrays: CMAC_A (first half of the kernels) and CMAC_B (second half) share this table.

registers! {
    unit "CMAC";
    groups;

    /// Starts the layer described by this group.
    D_OP_ENABLE @ 0x08 duplicated rw starts_work {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Mode and precision.
    D_MISC_CFG @ 0x0c duplicated rw {
        /// Direct or winograd.
        CONV_MODE [0] = 0 { DIRECT = 0, WINOGRAD = 1 };
        /// Processing precision.
        PROC_PRECISION [13:12] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }
}
