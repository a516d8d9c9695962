//! Networks as people write them: TOML, with tensors in files beside it or made up.

mod reader;

use self::reader::Reader;
use super::demand::{WrittenMemory, demands};
use super::synthetic::Maker;
use super::{Choices, Compression, Converter, Method, Network, Shape, Winograd, sheet};
use crate::host::network::error::NetworkError;
use crate::host::{read_description, read_tensor};
use crate::nvdla::config::DataType;
use crate::nvdla::numeric::Precision;
use serde::Deserialize;
use std::path::Path;

/// Gives the bytes of a tensor's file, or says why it cannot.
pub type ReadTensor<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// What is read otherwise than it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Columns and lines of the input, in place of those that are written. Only where weights are made up can fully
    /// connected layers follow.
    pub input_size: Option<[u32; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    input: WrittenInput,
    seed: Option<u64>,
    precision: Option<DataType>,
    zeros: Option<Share>,
    compression: Option<Compression>,
    #[serde(default)]
    winograd: Winograd,
    #[serde(default)]
    layer: Vec<WrittenLayer>,
}

/// A share of a whole.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
struct Share(f64);

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(share: f64) -> Result<Share, String> {
        match (0.0..=1.0).contains(&share) {
            true => Ok(Share(share)),
            false => Err(format!("{share} is no share: it is from 0 (none) to 1 (all)")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenInput {
    width: u32,
    height: u32,
    channels: u32,
    #[serde(default)]
    image: bool,
    /// [`demands`] reads it, here and in layers.
    #[serde(rename = "memory")]
    _memory: Option<WrittenMemory>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum WrittenLayer {
    Convolution(WrittenConvolution),
    FullyConnected(WrittenConvolution),
    Pooling(WrittenPooling),
    Sum(WrittenSum),
    Concatenation(WrittenConcatenation),
    Normalisation(WrittenNormalisation),
    Upsampling(WrittenUpsampling),
    SoftMax(WrittenSoftMax),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConvolution {
    name: String,
    #[serde(rename = "memory")]
    _memory: Option<WrittenMemory>,
    #[serde(rename = "weights_memory")]
    _weights_memory: Option<WrittenMemory>,
    input: Option<String>,
    kernels: Option<u32>,
    kernel: Option<[u32; 2]>,
    stride: Option<[u32; 2]>,
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
    #[serde(default)]
    depthwise: bool,
    groups: Option<u32>,
    weights: Option<Tensor>,
    bias: Option<WrittenBias>,
    add: Option<Added>,
    #[serde(default)]
    relu: bool,
    leaky: Option<Leaky>,
    truncate: Option<u32>,
    converter: Option<Converter>,
}

/// A file, or where made-up elements start.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tensor {
    File(String),
    Seeded { seed: u64 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBias {
    values: String,
    #[serde(default)]
    shift: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Added {
    layer: String,
    shift: Option<u32>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaky {
    scale: i16,
    shift: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Rounding {
    #[default]
    Floor,
    Ceil,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPooling {
    name: String,
    #[serde(rename = "memory")]
    _memory: Option<WrittenMemory>,
    input: Option<String>,
    method: Method,
    kernel: Option<[u32; 2]>,
    #[serde(default)]
    global: bool,
    stride: Option<[u32; 2]>,
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
    #[serde(default)]
    rounding: Rounding,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSum {
    name: String,
    #[serde(rename = "memory")]
    _memory: Option<WrittenMemory>,
    inputs: [String; 2],
    scale: Option<i16>,
    shift: Option<u32>,
    #[serde(default)]
    relu: bool,
    leaky: Option<Leaky>,
    converter: Option<Converter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConcatenation {
    name: String,
    #[serde(rename = "memory")]
    _memory: Option<WrittenMemory>,
    inputs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNormalisation {
    name: String,
    #[serde(rename = "memory")]
    _memory: Option<WrittenMemory>,
    input: Option<String>,
    channels: u32,
    alpha: f64,
    beta: f64,
    k: f64,
    /// What a step of the input means.
    scale: f64,
    converter: Option<Converter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenUpsampling {
    name: String,
    #[serde(rename = "memory")]
    _memory: Option<WrittenMemory>,
    input: Option<String>,
    factor: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSoftMax {
    name: String,
    #[serde(rename = "memory")]
    _memory: Option<WrittenMemory>,
    input: Option<String>,
    scale: f64,
}

impl WrittenLayer {
    fn name(&self) -> &str {
        match self {
            WrittenLayer::Convolution(layer) | WrittenLayer::FullyConnected(layer) => &layer.name,
            WrittenLayer::Pooling(layer) => &layer.name,
            WrittenLayer::Sum(layer) => &layer.name,
            WrittenLayer::Concatenation(layer) => &layer.name,
            WrittenLayer::Normalisation(layer) => &layer.name,
            WrittenLayer::Upsampling(layer) => &layer.name,
            WrittenLayer::SoftMax(layer) => &layer.name,
        }
    }

    /// What it reads, by name; of one that says nothing the layer before.
    fn inputs(&self) -> Vec<Option<&str>> {
        let inputs = match self {
            WrittenLayer::Convolution(layer) | WrittenLayer::FullyConnected(layer) => {
                let added = layer.add.iter().map(|added| Some(added.layer.as_str()));
                return std::iter::once(layer.input.as_deref()).chain(added).collect();
            }
            WrittenLayer::Sum(layer) => {
                return layer.inputs.iter().map(|input| Some(input.as_str())).collect();
            }
            WrittenLayer::Concatenation(layer) => {
                return layer.inputs.iter().map(|input| Some(input.as_str())).collect();
            }
            WrittenLayer::Pooling(layer) => &layer.input,
            WrittenLayer::Normalisation(layer) => &layer.input,
            WrittenLayer::Upsampling(layer) => &layer.input,
            WrittenLayer::SoftMax(layer) => &layer.input,
        };
        vec![inputs.as_deref()]
    }
}

impl Network {
    /// Reads a network; `read` is asked for each tensor by the name of its file.
    ///
    /// # Errors
    /// Names the layer and what is wrong with it.
    pub fn parse(text: &str, read: &mut ReadTensor<'_>) -> Result<Network, NetworkError> {
        Network::parse_with(text, &Options::default(), read)
    }

    /// The same, with something read otherwise than it is written.
    ///
    /// # Errors
    /// As [`Network::parse`].
    pub fn parse_with(
        text: &str,
        options: &Options,
        read: &mut ReadTensor<'_>,
    ) -> Result<Network, NetworkError> {
        let demands = demands(text)?;
        let Written { name, input, seed, precision, zeros, compression, winograd, layer: written } =
            toml::from_str(text)?;
        let precision = precision.map_or(Precision::Int8, Precision::from);
        let WrittenInput { width, height, channels, image, .. } = input;
        let [width, height] = options.input_size.unwrap_or([width, height]);
        let input = Shape { width, height, channels }.check("input")?;
        if image && channels > 4 {
            return Err(NetworkError::Image { channels });
        }
        // Who says how many weights are zero asks what that saves.
        let compression = compression.unwrap_or(match zeros {
            Some(_) => Compression::Auto,
            None => Compression::Never,
        });
        let choices = Choices { compression, winograd };
        let network =
            Network { name, input, is_image: image, precision, choices, layers: Vec::new(), demands };
        let maker = Maker::new(seed, precision).with_zeros(zeros.map_or(0.0, |Share(share)| share));
        let mut reader = Reader { network, maker, read };
        for layer in written {
            reader.layer(layer)?;
        }
        reader.network.finished()
    }

    /// Reads a network from a file, and its tensors from files in the same folder: TOML, or a sheet of layers (`.csv`).
    ///
    /// # Errors
    /// As [`Network::parse`], and when the file cannot be read.
    pub fn load(path: &Path, options: &Options) -> Result<Network, NetworkError> {
        let cannot = |path: &Path, error| format!("cannot read {}: {error}", path.display());
        let text = read_description(path);
        let text = text.map_err(|error| NetworkError::File { why: cannot(path, error) })?;
        if path.extension().is_some_and(|extension| extension == "csv") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            return Network::of_sheet(&name, &text);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        Network::parse_with(&text, options, &mut |name| {
            let path = folder.join(name);
            read_tensor(&path).map_err(|error| cannot(&path, error))
        })
    }

    /// Makes a network of a sheet of layers: comma-separated values with the columns of the published performance
    /// figures (`layer`, `kind`, `in_channels`, …). A layer reads the latest output of the size that it says, or, where
    /// there is none, a cube of its own.
    ///
    /// # Errors
    /// Names the row and what is wrong with it.
    pub fn of_sheet(name: &str, text: &str) -> Result<Network, NetworkError> {
        sheet::network(name, text)
    }

    pub(super) fn finished(self) -> Result<Network, NetworkError> {
        match self.layers.is_empty() {
            true => Err(NetworkError::Empty { name: self.name }),
            false => Ok(self),
        }
    }
}
