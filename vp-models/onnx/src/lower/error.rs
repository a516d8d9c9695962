//! Reasons for which no network can be made of a graph.

use thiserror::Error;
use vp_host::network::{PlanError, Shape};
use vp_models::nvdla::numeric::Precision;
use vp_tensors::{Elements, GraphError, Tensor, shape_text};

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
    #[error("{}", of_inputs(.0))]
    Inputs(Vec<String>),
    /// Nothing is a unit's.
    #[error("no node of the model is a unit's of {config}: {why}")]
    NothingToRun {
        /// Name of the configuration.
        config: String,
        /// Node that a unit could have begun with, and the reason for which none does.
        why: String,
    },
    /// A tensor that a unit needs and that is no cube.
    #[error("node `{node}` ({operator}): a tensor of {} is no cube: {}", shape_text(shape), no_cube(shape, batch.as_deref()))]
    NoCube {
        /// Name of the node.
        node: String,
        /// Operator of the node.
        operator: String,
        /// Shape of the tensor.
        shape: Vec<usize>,
        /// Option that takes the batch as 1, if the tensor has the input's batch of more frames.
        batch: Option<String>,
    },
    /// Numbers of a sample that no code stands for.
    #[error("sample {number}: {error}")]
    SampleNumbers {
        /// Number of the sample, from 1.
        number: usize,
        /// Input, and how many they are.
        error: NoNumbers,
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

/// Reason of a model that has not one input.
fn of_inputs(names: &[String]) -> String {
    if names.is_empty() {
        return "the model has no input that something reads, and a network has one: all that it gives is constant"
            .to_owned();
    }
    let listed: Vec<String> = names.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
    format!(
        "the model has {} inputs ({}), and a network has one: make the others constants of the model",
        names.len(),
        listed.join(", ")
    )
}

/// Reason for which a tensor is no cube.
pub(super) fn no_cube(shape: &[usize], batch: Option<&str>) -> String {
    let most = Shape::MOST as usize;
    if let Some(long) = shape.iter().find(|size| **size > most) {
        return format!("an axis of {long} is longer than {most}");
    }
    if shape.contains(&0) {
        return "it has no elements".to_owned();
    }
    match batch {
        Some(option) => format!(
            "its batch is {}, and a frame is computed at a time: {option} takes the batch as 1",
            shape[0]
        ),
        None => {
            let long = shape.iter().filter(|size| **size > 1).count();
            format!("{long} of its axes are longer than 1, and a cube has three: line, column and channel")
        }
    }
}

/// Elements of an input that are no numbers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{count} of {all} elements of input `{}` are NaN or infinite, for which int8 has no codes; fp16 takes them",
    input.escape_debug()
)]
pub struct NoNumbers {
    /// Name of the input.
    pub input: String,
    /// Number of them.
    pub count: usize,
    /// Number of all elements.
    pub all: usize,
}

impl NoNumbers {
    /// Refuses an input with such elements.
    ///
    /// # Errors
    /// When there are any.
    pub fn check(input: &str, tensor: &Tensor) -> Result<(), NoNumbers> {
        let Elements::Float(elements) = &tensor.elements else { return Ok(()) };
        match elements.iter().filter(|element| !element.is_finite()).count() {
            0 => Ok(()),
            count => Err(NoNumbers { input: input.to_owned(), count, all: elements.len() }),
        }
    }
}

/// Error of an input that is made codes.
#[derive(Debug, Error)]
pub enum EncodeError {
    /// An operator before the network failed.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Elements that have no codes.
    #[error(transparent)]
    Numbers(#[from] NoNumbers),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_that_is_no_cube_has_one_reason() {
        let told = |shape: &[usize], batch: Option<&str>| {
            let (node, operator) = ("h".to_owned(), "Conv".to_owned());
            let batch = batch.map(str::to_owned);
            LowerError::NoCube { node, operator, shape: shape.to_vec(), batch }.to_string()
        };
        assert_eq!(
            told(&[4, 16, 20, 20], Some("--shape x=1x3x20x20")),
            "node `h` (Conv): a tensor of 4x16x20x20 is no cube: its batch is 4, and a frame is computed at a time: \
             --shape x=1x3x20x20 takes the batch as 1"
        );
        assert!(told(&[1, 9000], None).ends_with("an axis of 9000 is longer than 8192"));
        assert!(told(&[1, 0, 3], None).ends_with("it has no elements"));
        assert!(told(&[2, 3, 4, 5], None).contains("4 of its axes are longer than 1"));
    }
}
