//! Reasons for which no network can be made of a graph.

use thiserror::Error;
use vp_host::network::PlanError;
use vp_models::nvdla::numeric::Precision;
use vp_tensors::GraphError;

/// Reason for which no network can be made of a graph.
#[derive(Debug, Error)]
pub enum LowerError {
    /// A format that the configuration or the importer does not have.
    #[error("{precision}: {why}")]
    Precision {
        /// Format that was asked for.
        precision: Precision,
        /// Reason.
        why: String,
    },
    /// More than one input, or none.
    #[error("the model has {0} inputs, and a network has one: {remedy}", remedy = match .0 {
        0 => "all that it gives is constant",
        _ => "make the others constants",
    })]
    Inputs(usize),
    /// Nothing is a unit's.
    #[error("no node of the model is a unit's of {config}: {why}")]
    NothingToRun {
        /// Name of the configuration.
        config: String,
        /// Node that a unit could have begun with, and the reason for which none does.
        why: String,
    },
    /// A tensor that a unit needs and that is no cube.
    #[error(
        "node `{node}` ({operator}): a tensor of {shape:?} is no cube: it has more than three axes of more than one element, or one \
         longer than 8192, or none; a frame is computed at a time, so that a batch is 1"
    )]
    NoCube {
        /// Name of the node.
        node: String,
        /// Operator of the node.
        operator: String,
        /// Shape of the tensor.
        shape: Vec<usize>,
    },
    /// A layer that cannot be computed in codes and is not a node that the CPU could do.
    #[error("layer `{layer}`: {why}")]
    Layer {
        /// Name of the layer.
        layer: String,
        /// Reason.
        why: String,
    },
    /// Numbers could not be computed for a sample.
    #[error("sample {number}: {error}")]
    Sample {
        /// Number of the sample, from 1.
        number: usize,
        /// Reason.
        error: Box<GraphError>,
    },
    /// Values that need codes and of which neither samples nor a table tell the range.
    #[error(
        "no range is known of {}: give the calibration table a row for each, or samples in its place",
        .0.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    )]
    NoRange(Vec<String>),
    /// Factors of a calibration table for a value that has other channels, or takes none.
    #[error(
        "the calibration table's `channel_factors` of `{0}` are another model's: calibrate this one anew"
    )]
    Factors(String),
    /// A sample that could not be had.
    #[error("{0}")]
    NoSample(String),
    /// The network has no plan on the configuration.
    #[error("{0}")]
    Plan(PlanError),
}
