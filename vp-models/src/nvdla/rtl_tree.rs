//! The published trees of NVDLA's RTL.

use super::config::Config;
use serde::{Deserialize, Serialize};

/// Published RTL tree to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RtlTree {
    /// The branch `nv_small`: read FIFOs of fixed, generous depth.
    NvSmall,
    /// The branch `nvdlav1`, nv_full alone: read FIFOs as deep as those of `nv_small`, in beats of a bus that is twice as
    /// wide as an atom, and longer pipelines.
    Nvdlav1,
    /// The branch `master`: read FIFOs sized for the configuration's memory latency and its throughput.
    Master,
}

impl RtlTree {
    /// The tree in which a configuration was published: `nv_small` and `nv_full` have branches of their own; the others
    /// are built from `master`.
    pub fn published(config: &Config) -> RtlTree {
        match config.name.as_str() {
            "nv_small" => RtlTree::NvSmall,
            "nv_full" => RtlTree::Nvdlav1,
            _ => RtlTree::Master,
        }
    }
}
