//! Behaviour of registers in which the published RTL trees differ.

use super::config::Config;
use super::rtl_tree::RtlTree;

/// Behaviour of one tree's registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterVariant {
    /// Cycles by which an answer of CMAC or CACC comes later than others: `NV_NVDLA_RT_csb2cmac.v` and `_csb2cacc.v` have three registers
    /// there and three back, where a build has them (`NVDLA_RETIMING_ENABLE`). Writes go the same way, and nothing waits for theirs.
    pub far_answer: u32,
    /// True if the bits of units that the build left out stay in `GLB.S_INTR_MASK` (`NV_NVDLA_GLB_CSB_reg.v`).
    pub keeps_absent_masks: bool,
    /// True if `CDMA.D_PERF_WT_READ_LATENCY` counts. Elsewhere it is tied to 0 (`NV_NVDLA_CDMA_wt.v`, `dp2reg_wt_rd_latency`).
    pub counts_weight_latency: bool,
}

impl RegisterVariant {
    /// Returns what `tree` builds for a configuration.
    pub fn of(config: &Config, tree: RtlTree) -> RegisterVariant {
        let is_nvdlav1 = tree == RtlTree::Nvdlav1;
        // Of the projects with a file of their own only branch nv_small's nv_large has RETIMING_ENABLE (spec/defs); nvdlav1 has no choice.
        let is_retimed = is_nvdlav1 || (tree == RtlTree::NvSmall && config.name == "nv_large");
        RegisterVariant {
            far_answer: if is_retimed { 6 } else { 0 },
            keeps_absent_masks: tree != RtlTree::NvSmall,
            counts_weight_latency: is_nvdlav1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, tree: RtlTree) -> RegisterVariant {
        RegisterVariant::of(&Config::named(name).unwrap(), tree)
    }

    /// Cycles of a read of `CACC.S_STATUS` and of `CMAC_A.S_STATUS` on the RTL of nv_small, less those of `SDP.S_STATUS`.
    #[test]
    fn only_retimed_builds_answer_later_for_cmac_and_cacc() {
        assert_eq!(of("nv_small", RtlTree::NvSmall).far_answer, 0);
        assert_eq!(of("nv_large", RtlTree::Master).far_answer, 0);
        assert_eq!(of("nv_large", RtlTree::NvSmall).far_answer, 6);
        assert_eq!(of("nv_full", RtlTree::Nvdlav1).far_answer, 6);
    }

    #[test]
    fn only_nv_full_counts_the_latency_of_weights() {
        assert!(of("nv_full", RtlTree::Nvdlav1).counts_weight_latency);
        assert!(!of("nv_small", RtlTree::NvSmall).counts_weight_latency);
        assert!(!of("nv_large", RtlTree::Master).counts_weight_latency);
    }
}
