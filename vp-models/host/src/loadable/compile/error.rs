//! Reasons for which a network does not become a loadable.

use crate::loadable::LoadableError;
use crate::network::PlanError;
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
        "the CPU does {}, for which the runtime has no task, or none was asked for; a configuration with a unit for it may do it, a \
         network's layer of soft-max may be the runtime's, or the network may end before",
        .layers.join(", ")
    )]
    Cpu {
        /// Names of the layers, each with what the CPU does.
        layers: Vec<String>,
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
