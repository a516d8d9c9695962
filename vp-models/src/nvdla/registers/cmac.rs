//! The MAC arrays: CMAC_A (first half of the kernels) and CMAC_B (second half) share this table.

registers! {
    unit "CMAC";

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

    /// Starts the layer described by this group.
    D_OP_ENABLE d_op_enable @ 0x08 duplicated rw {
        /// 1 to start; cleared by hardware when the layer ends.
        OP_EN [0] = 0 { DISABLE = 0, ENABLE = 1 };
    }

    /// Mode and precision.
    D_MISC_CFG d_misc_cfg @ 0x0c duplicated rw {
        /// Direct or winograd.
        CONV_MODE [0] = 0 { DIRECT = 0, WINOGRAD = 1 };
        /// Processing precision.
        PROC_PRECISION [13:12] = 1 { INT8 = 0, INT16 = 1, FP16 = 2 };
    }
}
