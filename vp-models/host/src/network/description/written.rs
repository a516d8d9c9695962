//! Networks as people write them: TOML, with tensors in files beside it or made up.

mod reader;
#[cfg(test)]
mod tests;

use self::reader::Reader;
use super::demand::{Demand, Demanded, WrittenMemory};
use super::synthetic::Maker;
use super::{
    Choices, Compression, Converter, Interleaving, Lines, Method, Network, Shape, Share, Winograd,
    optional_shift, sheet, shift,
};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;
use toml::Spanned;
use vp_models::bounded_file::{read_description, read_tensor};
use vp_models::nvdla::config::DataType;
use vp_models::nvdla::numeric::Precision;
use vp_models::toml_text::{KeyError, Kinds, TextError, TomlText};

/// Gives the bytes of a tensor's file, or says why it cannot.
pub type ReadTensor<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// Settings that are read otherwise than they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Columns and lines of the input, in place of those that are written. Only where weights are made up can fully
    /// connected layers follow.
    pub input_size: Option<[u32; 2]>,
    /// The format of features and weights, in place of the one that is written. Tensors in files must have it.
    pub precision: Option<Precision>,
    /// The share of made-up weights that is zero, in place of the one that is written.
    pub zeros: Option<Share>,
    /// Choice of Winograd's method for convolutions, in place of what is written.
    pub winograd: Option<Winograd>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenInput {
    width: u32,
    height: u32,
    channels: u32,
    #[serde(default)]
    image: bool,
    memory: Option<Spanned<WrittenMemory>>,
}

/// Key that tells layers apart.
const KINDS: Kinds = Kinds {
    list: "layer",
    tag: "kind",
    common: &["name", "input", "memory", "cycles"],
    inner: Some(("activation", "function")),
};

/// A layer: what all have, and what its kind has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLayer {
    name: String,
    input: Option<String>,
    memory: Option<Spanned<WrittenMemory>>,
    cycles: Option<u32>,
    kind: WrittenKind,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenKind {
    Convolution(WrittenConvolution),
    FullyConnected(WrittenConvolution),
    Pooling(WrittenPooling),
    Sum(WrittenSum),
    Elementwise(WrittenElementwise),
    Activation(WrittenFunction),
    Scaling(WrittenScaling),
    ChannelProduct(WrittenProduct),
    Concatenation(WrittenConcatenation),
    Normalisation(WrittenNormalisation),
    Upsampling(WrittenUpsampling),
    Interleaving(WrittenInterleaving),
    SoftMax(WrittenSoftMax),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConvolution {
    weights_memory: Option<Spanned<WrittenMemory>>,
    kernels: Option<u32>,
    kernel: Option<[u32; 2]>,
    stride: Option<[u32; 2]>,
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
    dilation: Option<[u32; 2]>,
    padding_value: Option<f64>,
    #[serde(default)]
    depthwise: bool,
    groups: Option<u32>,
    weights: Option<Tensor>,
    bias: Option<WrittenBias>,
    scales: Option<WrittenScales>,
    add: Option<Added>,
    #[serde(default)]
    relu: bool,
    leaky: Option<Leaky>,
    prelu: Option<WrittenScales>,
    look_up: Option<WrittenLookUp>,
    truncate: Option<u32>,
    converter: Option<Converter>,
}

/// A file, or where made-up elements start.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of a file in quotes, or { seed = 3 }")]
enum Tensor {
    File(String),
    Seeded { seed: u64 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { values = \"FILE\", shift = 4 }")]
struct WrittenBias {
    values: String,
    #[serde(default, deserialize_with = "shift")]
    shift: u32,
}

/// A factor for each kernel or channel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { values = \"FILE\", shift = 8 }")]
struct WrittenScales {
    values: String,
    #[serde(default, deserialize_with = "optional_shift")]
    shift: Option<u32>,
}

/// A table between 257 entries.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { values = \"FILE\", start = -128, step = 0 }")]
struct WrittenLookUp {
    values: String,
    start: f64,
    step: i32,
    below: Option<WrittenSlope>,
    above: Option<WrittenSlope>,
}

/// A straight line outside a table.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { scale = 3, shift = 2 }")]
struct WrittenSlope {
    scale: f64,
    shift: Option<i32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScaling {
    bias: Option<WrittenBias>,
    scales: Option<WrittenScales>,
    #[serde(default)]
    relu: bool,
    leaky: Option<Leaky>,
    prelu: Option<WrittenScales>,
    look_up: Option<WrittenLookUp>,
    converter: Option<Converter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProduct {
    factors: String,
    #[serde(default)]
    relu: bool,
    leaky: Option<Leaky>,
    prelu: Option<WrittenScales>,
    converter: Option<Converter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Added {
    layer: String,
    #[serde(default, deserialize_with = "optional_shift")]
    shift: Option<u32>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaky {
    scale: i16,
    #[serde(deserialize_with = "shift")]
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
    inputs: [String; 2],
    scale: Option<i16>,
    #[serde(default, deserialize_with = "optional_shift")]
    shift: Option<u32>,
    #[serde(default)]
    relu: bool,
    leaky: Option<Leaky>,
    converter: Option<Converter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenElementwise {
    method: WrittenPair,
    other: String,
    converter: Option<Converter>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenPair {
    Add,
    Multiply,
    Maximum,
    Minimum,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum WrittenFunction {
    Relu {},
    Leaky { converter: Converter },
    Clamp { low: i8, high: i8 },
    Table { table: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConcatenation {
    inputs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNormalisation {
    channels: u32,
    alpha: f64,
    beta: f64,
    k: f64,
    /// Value of a step of the input.
    scale: f64,
    converter: Option<Converter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenUpsampling {
    factor: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenInterleaving {
    inputs: Vec<String>,
    along: Interleaving,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSoftMax {
    scale: f64,
}

impl WrittenKind {
    fn weights_memory(&self) -> Option<&Spanned<WrittenMemory>> {
        match self {
            WrittenKind::Convolution(layer) | WrittenKind::FullyConnected(layer) => {
                layer.weights_memory.as_ref()
            }
            _ => None,
        }
    }
}

/// A key that names what is read, and the name if it is there.
type NamedInput<'a> = (&'static str, Option<&'a str>);

impl WrittenLayer {
    /// Returns what the layer reads, by name; of one that says nothing the layer before.
    fn inputs<'a>(&'a self) -> Result<Vec<NamedInput<'a>>, KeyError> {
        let first = ("input", self.input.as_deref());
        let listed =
            |inputs: &'a [String]| inputs.iter().map(|input| ("inputs", Some(input.as_str()))).collect();
        Ok(match &self.kind {
            WrittenKind::Convolution(layer) | WrittenKind::FullyConnected(layer) => {
                let added = layer.add.iter().map(|added| ("add", Some(added.layer.as_str())));
                std::iter::once(first).chain(added).collect()
            }
            WrittenKind::Elementwise(layer) => vec![first, ("other", Some(layer.other.as_str()))],
            WrittenKind::ChannelProduct(layer) => vec![first, ("factors", Some(layer.factors.as_str()))],
            WrittenKind::Sum(_) | WrittenKind::Concatenation(_) | WrittenKind::Interleaving(_)
                if self.input.is_some() =>
            {
                return Err(KeyError::new("input", "`inputs` says what it reads"));
            }
            WrittenKind::Sum(WrittenSum { inputs, .. }) => listed(inputs),
            WrittenKind::Concatenation(WrittenConcatenation { inputs }) => listed(inputs),
            WrittenKind::Interleaving(WrittenInterleaving { inputs, .. }) => listed(inputs),
            _ => vec![first],
        })
    }
}

impl Network {
    /// Reads a network; `read` is asked for each tensor by the name of its file.
    ///
    /// # Errors
    /// Names the line, the layer and the key, and what is wrong there.
    pub fn parse(text: &str, read: &mut ReadTensor<'_>) -> Result<Network, TextError> {
        Network::parse_with(text, &Options::default(), read)
    }

    /// Reads a network as [`Network::parse`] does, with something read otherwise than it is written.
    ///
    /// # Errors
    /// As [`Network::parse`].
    pub fn parse_with(
        text: &str,
        options: &Options,
        read: &mut ReadTensor<'_>,
    ) -> Result<Network, TextError> {
        let text = TomlText::parse(text)?;
        let Written { name, input, seed, precision, zeros, compression, winograd, layer: written } =
            text.read_kinds(&KINDS)?;
        let precision = options.precision.or(precision.map(Precision::from)).unwrap_or_default();
        let (zeros, winograd) = (options.zeros.or(zeros), options.winograd.unwrap_or(winograd));
        let WrittenInput { width, height, channels, image, memory } = input;
        let [width, height] = options.input_size.unwrap_or([width, height]);
        let input = Shape { width, height, channels }.check().map_err(|why| text.wrong("input", why))?;
        if image && channels > 4 {
            let what = format!("channels = {channels}: an image has 1 to 4");
            return Err(text.wrong("input.channels", what));
        }
        let compression = compression.unwrap_or(Compression::of(zeros));
        let choices = Choices { compression, winograd };
        let demands = memory.iter().map(|memory| Demand::written(&text, None, Demanded::Output, memory));
        let demands = demands.collect();
        let line = |key: &str| text.wrong(key, "").line;
        let lines = Lines {
            // An option is no line of the file.
            precision: line("precision").filter(|_| options.precision.is_none()),
            layers: (0..written.len()).filter_map(|at| line(&format!("layer.{at}"))).collect(),
        };
        let network = Network {
            name,
            input,
            is_image: image,
            precision,
            choices,
            layers: Vec::new(),
            outputs: Vec::new(),
            demands,
            lines,
        };
        let maker = Maker::new(seed, precision).with_zeros(zeros);
        let mut reader = Reader { network, maker, read, places: HashMap::new() };
        for (at, layer) in written.into_iter().enumerate() {
            let weights = layer.kind.weights_memory().map(|memory| (Demanded::Weights, memory));
            let own = layer.memory.as_ref().map(|memory| (Demanded::Output, memory));
            let demands = own.into_iter().chain(weights);
            let demands = demands.map(|(of, memory)| Demand::written(&text, Some(at), of, memory));
            reader.network.demands.extend(demands);
            let Err(KeyError { key, what }) = reader.layer(layer) else { continue };
            return Err(text.wrong(&format!("layer.{at}.{key}"), what));
        }
        let Reader { network, maker, .. } = reader;
        if let (Some(share), false) = (options.zeros, maker.has_made()) {
            let why = format!("zeros = {share}: none of its weights are made up, and only those become zero");
            return Err(TextError::whole(why));
        }
        network.finished().map_err(|why| text.wrong("name", why))
    }

    /// Reads a network from a file, and its tensors from files in the same folder: TOML, or a sheet of layers (`.csv`).
    ///
    /// # Errors
    /// As [`Network::parse`], and when the file cannot be read.
    pub fn load(path: &Path, options: &Options) -> Result<Network, TextError> {
        let text = read_description(path);
        let text = text.map_err(|error| TextError::unreadable(path, error))?;
        Network::of_file(path, &text, options)
    }

    /// Reads a network as [`Network::load`] does, of a file whose text is known.
    ///
    /// # Errors
    /// As [`Network::load`].
    pub fn of_file(path: &Path, text: &str, options: &Options) -> Result<Network, TextError> {
        if path.extension().is_some_and(|extension| extension == "csv") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            return sheet::network(&name, text, options).map_err(|error| error.in_file(path));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut read = |name: &str| {
            let path = folder.join(name);
            read_tensor(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        Network::parse_with(text, options, &mut read).map_err(|error| error.in_file(path))
    }

    /// Makes a network of a sheet of layers: comma-separated values with the columns of the published performance
    /// figures (`layer`, `kind`, `in_channels`, …). A layer reads the latest output of the size that it says, or, where
    /// there is none, a cube of its own.
    ///
    /// # Errors
    /// Names the row and what is wrong with it.
    pub fn of_sheet(name: &str, text: &str) -> Result<Network, TextError> {
        sheet::network(name, text, &Options::default())
    }

    /// The network with its last layer's output.
    pub(super) fn finished(self) -> Result<Network, String> {
        match self.layers.len().checked_sub(1) {
            None => Err(format!("the network `{}` has no layers", self.name)),
            Some(last) => Ok(Network { outputs: vec![last], ..self }),
        }
    }
}
