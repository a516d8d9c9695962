//! What a graph file says, as it stands there: layers of several kinds, and which keys belong to which.

use std::fmt;

use serde::Deserialize;

use super::file::ModelError;
use crate::fpga_ai_suite::graph::{Converter, Shape};

/// A graph file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) input: Shape,
    #[serde(default)]
    pub(super) layer: Vec<WrittenLayer>,
}

/// A layer: what all have, and what each kind has beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenLayer {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) input: Option<String>,
    pub(super) other: Option<String>,
    pub(super) cycles: Option<u32>,
    pub(super) kernels: Option<u32>,
    /// Columns and rows, as of all pairs.
    pub(super) kernel: Option<[u32; 2]>,
    pub(super) stride: Option<[u32; 2]>,
    pub(super) padding: Option<[u32; 2]>,
    pub(super) padding_after: Option<[u32; 2]>,
    pub(super) weights: Option<String>,
    pub(super) bias: Option<WrittenBias>,
    pub(super) relu: Option<bool>,
    pub(super) converter: Option<Converter>,
    pub(super) method: Option<String>,
    pub(super) function: Option<Function>,
    pub(super) low: Option<i8>,
    pub(super) high: Option<i8>,
    pub(super) table: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Convolution,
    FullyConnected,
    Pooling,
    Elementwise,
    Activation,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Function {
    Relu,
    Leaky,
    Clamp,
    Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { values = \"FILE\", shift = 4 }")]
pub(super) struct WrittenBias {
    pub(super) values: String,
    #[serde(default)]
    pub(super) shift: u32,
}

/// The keys of some kind of layer, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    of: &'static str,
    keys: &'static [&'static str],
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has name, kind, input, cycles", self.of)?;
        self.keys.iter().try_for_each(|key| write!(f, ", {key}"))
    }
}

impl WrittenLayer {
    /// Refuses keys that say nothing of a layer of this kind.
    pub(super) fn check_keys(&self) -> Result<(), ModelError> {
        let right = self.keys();
        match self.optional().into_iter().find(|(key, is_said)| *is_said && !right.keys.contains(key)) {
            Some((key, _)) => Err(ModelError::Key { layer: self.name.clone(), key, right }),
            None => Ok(()),
        }
    }

    /// Keys that not all kinds have, and whether each is there.
    fn optional(&self) -> [(&'static str, bool); 15] {
        [
            ("other", self.other.is_some()),
            ("kernels", self.kernels.is_some()),
            ("kernel", self.kernel.is_some()),
            ("stride", self.stride.is_some()),
            ("padding", self.padding.is_some()),
            ("padding_after", self.padding_after.is_some()),
            ("weights", self.weights.is_some()),
            ("bias", self.bias.is_some()),
            ("relu", self.relu.is_some()),
            ("converter", self.converter.is_some()),
            ("method", self.method.is_some()),
            ("function", self.function.is_some()),
            ("low", self.low.is_some()),
            ("high", self.high.is_some()),
            ("table", self.table.is_some()),
        ]
    }

    fn keys(&self) -> Keys {
        let (of, keys): (_, &[_]) = match (self.kind, self.function) {
            (Kind::Convolution, _) => (
                "a convolution",
                &[
                    "kernels",
                    "kernel",
                    "stride",
                    "padding",
                    "padding_after",
                    "weights",
                    "bias",
                    "relu",
                    "converter",
                ],
            ),
            (Kind::FullyConnected, _) => {
                ("a fully connected layer", &["kernels", "weights", "bias", "relu", "converter"])
            }
            (Kind::Pooling, _) => ("pooling", &["method", "kernel", "stride", "padding", "padding_after"]),
            (Kind::Elementwise, _) => ("an element-wise layer", &["other", "method", "converter"]),
            (Kind::Activation, None) => ("an activation", &["function", "converter", "low", "high", "table"]),
            (Kind::Activation, Some(Function::Relu)) => ("a relu activation", &["function"]),
            (Kind::Activation, Some(Function::Leaky)) => ("a leaky activation", &["function", "converter"]),
            (Kind::Activation, Some(Function::Clamp)) => ("a clamp activation", &["function", "low", "high"]),
            (Kind::Activation, Some(Function::Table)) => ("a table activation", &["function", "table"]),
        };
        Keys { of, keys }
    }
}
