//! A model, and how it is read.

use std::path::Path;

use super::error::PlanError;
use crate::network::{Network, Options, ReadTensor};
use vp_models::bounded_file::read_description;
use vp_models::fpga_ai_suite::compute;
use vp_models::fpga_ai_suite::graph::{Graph, GraphError};
use vp_models::toml_text::{TextError, TomlText};

/// A graph with its filters.
///
/// ```
/// use vp_host::fpga_ai_suite::Model;
/// let text = r#"
///     name = "sum"
///     input = { height = 1, width = 2, channels = 2 }
///     [[layer]]
///     name = "all"
///     kind = "fully-connected"
///     kernels = 1
///     weights = "all.i8"
///     converter = { scale = 1, shift = 0 }
///     [[layer]]
///     name = "positive"
///     kind = "activation"
///     function = "relu"
/// "#;
/// let model = Model::parse(text, &mut |_| Ok(vec![1, 1, 1, 255])).unwrap();
/// assert_eq!(model.infer(&[1, 2, 3, 4]), [2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Name of the model.
    pub name: String,
    /// Layers of the model.
    pub graph: Graph,
    /// Filters, biases and tables of the steps.
    pub filters: Vec<u8>,
}

impl Model {
    /// Reads a network ([`Network::parse`]) and plans it for this device.
    ///
    /// # Errors
    /// Names the line, the layer and the key, and what is wrong there.
    pub fn parse(text: &str, read: &mut ReadTensor<'_>) -> Result<Model, TextError> {
        let network = Network::parse(text, read)?;
        Model::of_network(&network).map_err(|error| told(Some(text), &error))
    }

    /// Reads a network from a file ([`Network::load`]) and plans it for this device.
    ///
    /// # Errors
    /// As [`Model::parse`], and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Model, TextError> {
        let network = Network::load(path, &Options::default())?;
        Model::of_network(&network)
            .map_err(|error| told(read_description(path).ok().as_deref(), &error).in_file(path))
    }

    /// Returns the output, computed here and now.
    ///
    /// # Panics
    /// When the input has not as many elements as the graph's.
    pub fn infer(&self, input: &[i8]) -> Vec<i8> {
        assert_eq!(input.len() as u64, self.graph.input().elements(), "the input of {}", self.name);
        compute::graph(&self.graph, input, &self.filters)
    }
}

/// Returns the error of a network, at its place in the text.
fn told(text: Option<&str>, error: &PlanError) -> TextError {
    match (text.and_then(|text| TomlText::parse(text).ok()), error) {
        (Some(text), PlanError::Layer { place, why, .. }) => {
            text.wrong(&format!("layer.{place}.{}", why.key()), why)
        }
        (Some(text), PlanError::Graph { why: why @ GraphError::Shape { .. }, .. }) => {
            text.wrong("input", why)
        }
        (Some(text), PlanError::Format { .. }) => text.wrong("precision", error),
        (_, PlanError::Memory { line, .. }) => TextError { line: *line, ..TextError::whole(error) },
        _ => TextError::whole(error),
    }
}

#[cfg(test)]
mod tests;
