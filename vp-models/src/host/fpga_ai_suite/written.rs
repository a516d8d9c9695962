//! What a graph file says, as it stands there.

use serde::Deserialize;

use crate::fpga_ai_suite::graph::{Converter, Pair, Pooling, Shape};
use crate::toml_text::Kinds;

/// A graph file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) input: Shape,
    #[serde(default)]
    pub(super) layer: Vec<WrittenLayer>,
}

/// What tells layers apart.
pub(super) const KINDS: Kinds = Kinds {
    list: "layer",
    tag: "kind",
    common: &["name", "input", "cycles"],
    inner: Some(("activation", "function")),
};

/// A layer: what all have, and what its kind has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenLayer {
    pub(super) name: String,
    pub(super) input: Option<String>,
    pub(super) cycles: Option<u32>,
    pub(super) kind: WrittenKind,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum WrittenKind {
    Convolution(WrittenConvolution),
    FullyConnected(WrittenSums),
    Pooling {
        method: WrittenPooling,
        kernel: [u32; 2],
        stride: Option<[u32; 2]>,
        padding: Option<[u32; 2]>,
        padding_after: Option<[u32; 2]>,
    },
    Elementwise {
        method: WrittenPair,
        other: String,
        converter: Converter,
    },
    Activation(WrittenActivation),
}

/// Pairs are columns and rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenConvolution {
    pub(super) kernel: [u32; 2],
    pub(super) stride: Option<[u32; 2]>,
    pub(super) padding: Option<[u32; 2]>,
    pub(super) padding_after: Option<[u32; 2]>,
    kernels: u32,
    weights: String,
    bias: Option<WrittenBias>,
    #[serde(default)]
    relu: bool,
    converter: Converter,
}

impl WrittenConvolution {
    pub(super) fn sums(self) -> WrittenSums {
        let WrittenConvolution { kernels, weights, bias, relu, converter, .. } = self;
        WrittenSums { kernels, weights, bias, relu, converter }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenSums {
    pub(super) kernels: u32,
    pub(super) weights: String,
    pub(super) bias: Option<WrittenBias>,
    #[serde(default)]
    pub(super) relu: bool,
    pub(super) converter: Converter,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", remote = "Pooling")]
enum PoolingNames {
    Max,
    Min,
    Average,
}

#[derive(Deserialize)]
pub(super) struct WrittenPooling(#[serde(with = "PoolingNames")] pub(super) Pooling);

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", remote = "Pair")]
enum PairNames {
    Add,
    Multiply,
    Maximum,
}

#[derive(Deserialize)]
pub(super) struct WrittenPair(#[serde(with = "PairNames")] pub(super) Pair);

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum WrittenActivation {
    Relu {},
    Leaky { converter: Converter },
    Clamp { low: i8, high: i8 },
    Table { table: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { values = \"FILE\", shift = 4 }")]
pub(super) struct WrittenBias {
    pub(super) values: String,
    #[serde(default)]
    pub(super) shift: u32,
}
