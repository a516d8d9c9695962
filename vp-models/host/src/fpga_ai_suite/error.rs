//! Reasons for which the IP cannot run a network.

use thiserror::Error;

use vp_models::fpga_ai_suite::graph::{Graph, GraphError};
use vp_models::nvdla::numeric::Precision;

/// Reason for which an FPGA AI Suite IP cannot run a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The network computes in another format.
    #[error("{network} is computed in {precision}: this device has int8")]
    Format {
        /// The network.
        network: String,
        /// Format of the network.
        precision: Precision,
    },
    /// Something is to be in a memory that there is none of.
    #[error("{demand}: this device has one memory, dram")]
    Memory {
        /// Demand in the network's file.
        demand: String,
        /// Line in which it says so.
        line: Option<usize>,
    },
    /// A layer is none of the device's.
    #[error("layer {} `{layer}`: {why}", place + 1)]
    Layer {
        /// Place of the layer in the network.
        place: usize,
        /// Name of the layer.
        layer: String,
        /// Reason for which the layer is none of the device's.
        why: LayerError,
    },
    /// Outputs other than the last layer's.
    #[error("the outputs of {network} are {}: this device has one, the last layer's", .layers.join(", "))]
    Outputs {
        /// The network.
        network: String,
        /// Layers whose outputs are the network's.
        layers: Vec<String>,
    },
    /// The graph as a whole is too large.
    #[error("graph `{network}`: {why}")]
    Graph {
        /// The network.
        network: String,
        /// Reason for which it is too large.
        why: GraphError,
    },
}

/// Reason for which a layer is none of the device's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayerError {
    /// The layer does not fit what it reads, or the device's limits.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Nothing on the device does the same.
    #[error("this device has no {what}; {instead}")]
    Unknown {
        /// Feature that the device lacks.
        what: &'static str,
        /// Way that would be right.
        instead: &'static str,
    },
    /// A bias is shifted out of 32 bits.
    #[error("bias.shift = {0}: from 0 to 31")]
    BiasShift(u32),
    /// A bias has more than 32 bits.
    #[error("a bias of {value} << {shift} does not fit 32 bits")]
    Bias {
        /// As it is written.
        value: i32,
        /// Number of bits by which it is shifted left.
        shift: u32,
    },
    /// All filters together are too many.
    #[error("with its filters there are more than {}", Graph::MOST_FILTERS)]
    Filters,
}

impl LayerError {
    /// The key of the layer that it is about; empty: the layer as a whole.
    pub(super) fn key(&self) -> &'static str {
        match self {
            LayerError::BiasShift(_) => "bias.shift",
            LayerError::Bias { .. } => "bias",
            LayerError::Graph(GraphError::Shift { .. }) => "converter",
            _ => "",
        }
    }
}
