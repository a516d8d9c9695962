//! Reasons for which a network does not become a loadable.

use crate::loadable::LoadableError;
use crate::network::PlanError;
use std::fmt;
use thiserror::Error;
use vp_models::nvdla::refused::Refused;

/// Reason for which a network does not become a loadable that the vendor's runtime and driver run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The network has no plan for the configuration.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Layers that the CPU does, and the runtime's CPU tasks do not.
    #[error(
        "the CPU does {}, for which the runtime has no task{}; {}",
        .layers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        if CpuWork::SoftMax.is_in(layers) { ", or none was asked for" } else { "" },
        instead(layers)
    )]
    Cpu {
        /// The layers.
        layers: Vec<CpuLayer>,
    },
    /// A soft-max that the runtime's would not be.
    #[error("the soft-max `{layer}` is not the runtime's: it is one {why}; leave it to the application")]
    SoftMax {
        /// Name of the layer.
        layer: String,
        /// Reason.
        why: &'static str,
    },
    /// A rule of the driver that a layer breaks.
    #[error("layer `{layer}`: {rule}")]
    Rule {
        /// Name of the layer.
        layer: String,
        /// The rule, as a sentence.
        rule: String,
    },
    /// An output whose layout a tensor descriptor cannot say.
    #[error(
        "the output `{layer}` {why}; end the network with a layer of its own memory, such as a convolution"
    )]
    Output {
        /// Layer that makes the output.
        layer: String,
        /// Reason.
        why: &'static str,
    },
    /// Registers that the driver would write otherwise than the layer needs.
    #[error(
        "layer `{layer}`: the driver cannot program it: {}; `vp run` of the network, and `vp loadable trace`, take no driver",
        .differences.join(", ")
    )]
    Registers {
        /// Name of the layer.
        layer: String,
        /// Registers, each with both values.
        differences: Vec<String>,
    },
    /// Registers that mean no layer, which the plan never has.
    #[error("layer `{layer}`: {refused}")]
    Refused {
        /// Name of the layer.
        layer: String,
        /// Reason.
        refused: Refused,
    },
    /// An address that is in no memory of the plan.
    #[error("address {address:#x} is in none of the loadable's memories")]
    Outside {
        /// The address.
        address: u64,
    },
    /// More addresses than a task has.
    #[error(
        "it takes {found} addresses in a task, and the runtime takes 6144: interface 0.12 takes one for each memory"
    )]
    Addresses {
        /// Number of addresses.
        found: usize,
    },
    /// More memories than the runtime opens.
    #[error(
        "it takes {found} memories, and the runtime opens {most}: fewer layers of the runtime's CPU take fewer tasks"
    )]
    Memories {
        /// Number of memories.
        found: usize,
        /// The most.
        most: usize,
    },
    /// More operations than a task has.
    #[error("it takes {found} operations in a task, and the driver counts to 32767: compile it in two parts")]
    Operations {
        /// Number of operations.
        found: usize,
    },
    /// The loadable as written is none.
    #[error(transparent)]
    Loadable(#[from] LoadableError),
}

/// A layer that the CPU does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLayer {
    /// Name of the layer.
    pub name: String,
    /// Kind of its work.
    pub work: CpuWork,
}

impl fmt::Display for CpuLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.name, self.work)
    }
}

/// Kind of the CPU's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuWork {
    /// Soft-max.
    SoftMax,
    /// A table of a configuration without SDP's.
    Table,
    /// Channels that begin or end within an atom.
    PartOfAtom,
    /// One pixel of a cube.
    Pixel,
    /// A graph of tensors.
    Graph,
    /// A concatenation whose channels have gaps.
    Concatenation,
}

impl CpuWork {
    /// Returns true if a layer has this work.
    fn is_in(self, layers: &[CpuLayer]) -> bool {
        layers.iter().any(|layer| layer.work == self)
    }

    /// Advice that fits the work.
    pub fn instead(self) -> &'static str {
        match self {
            CpuWork::SoftMax => "a network's layer of soft-max may be the runtime's",
            CpuWork::Table => "a configuration with SDP's lookup table does it",
            CpuWork::PartOfAtom => {
                "parts and joints of whole atoms (32 bytes of channels, 8 on nv_small) take no CPU"
            }
            CpuWork::Pixel => "a part of several pixels takes no CPU",
            CpuWork::Graph => "a configuration with a unit for it may do it",
            CpuWork::Concatenation => "parts of whole atoms leave no gaps",
        }
    }
}

impl fmt::Display for CpuWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CpuWork::SoftMax => "soft-max",
            CpuWork::Table => "a table",
            CpuWork::PartOfAtom => "channels that begin or end within an atom",
            CpuWork::Pixel => "one pixel of a cube",
            CpuWork::Graph => "a graph of tensors",
            CpuWork::Concatenation => "a concatenation",
        })
    }
}

/// Advice for all of these layers.
fn instead(layers: &[CpuLayer]) -> String {
    let mut advice: Vec<&str> = layers.iter().map(|layer| layer.work.instead()).collect();
    advice.sort_unstable();
    advice.dedup();
    format!("{}, or the network may end before", advice.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_work() {
        let told =
            |work| CompileError::Cpu { layers: vec![CpuLayer { name: "t".to_owned(), work }] }.to_string();
        let part = told(CpuWork::PartOfAtom);
        assert!(
            part.starts_with("the CPU does `t` (channels that begin or end within an atom), for which the runtime has no task; "),
            "{part}"
        );
        assert!(!part.contains("soft-max") && part.contains("whole atoms"), "{part}");
        let soft_max = told(CpuWork::SoftMax);
        assert!(
            soft_max.contains("or none was asked for") && soft_max.contains("the runtime's"),
            "{soft_max}"
        );
    }
}
