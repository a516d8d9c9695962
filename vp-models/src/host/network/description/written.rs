//! Networks as people write them: TOML, with tensors in files beside it or made up.

use super::synthetic::{self, Maker};
use super::{
    Activation, Bias, Converter, Convolution, Layer, Method, Network, Operation, Pooling, Shape, SoftMax,
    Sum, Window, sheet,
};
use crate::host::network::error::NetworkError;
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
    inputs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNormalisation {
    name: String,
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
    input: Option<String>,
    factor: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSoftMax {
    name: String,
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
        let Written { name, input, seed, layer: written } = toml::from_str(text)?;
        let WrittenInput { width, height, channels, image } = input;
        let [width, height] = options.input_size.unwrap_or([width, height]);
        let input = Shape { width, height, channels }.check("input")?;
        if image && channels > 4 {
            return Err(NetworkError::Image { channels });
        }
        let network = Network { name, input, is_image: image, layers: Vec::new() };
        let mut reader = Reader { network, maker: Maker::new(seed), read };
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
        let file = |path: &Path| {
            std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let text = file(path).map_err(|why| NetworkError::File { why })?;
        let text = String::from_utf8(text)
            .map_err(|_| NetworkError::File { why: format!("{} is no text", path.display()) })?;
        if path.extension().is_some_and(|extension| extension == "csv") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            return Network::of_sheet(&name, &text);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        Network::parse_with(&text, options, &mut |name| file(&folder.join(name)))
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

struct Reader<'a, 'b> {
    network: Network,
    maker: Maker,
    read: &'a mut ReadTensor<'b>,
}

impl Reader<'_, '_> {
    fn layer(&mut self, written: WrittenLayer) -> Result<(), NetworkError> {
        let name = written.name().to_owned();
        let layers = &self.network.layers;
        if layers.iter().any(|layer| layer.name == name) {
            return Err(NetworkError::Twice { layer: name });
        }
        let source = |input: Option<&str>| match input {
            None => Ok(layers.len().checked_sub(1)),
            Some("input") => Ok(None),
            Some(input) => match layers.iter().position(|layer| layer.name == input) {
                None => Err(NetworkError::NoSuchInput { layer: name.clone(), input: input.to_owned() }),
                place => Ok(place),
            },
        };
        let sources = written.inputs().into_iter().map(source).collect::<Result<Vec<_>, _>>()?;
        let Some(&first) = sources.first() else {
            return Err(NetworkError::Value { layer: name, why: "it reads nothing".to_owned() });
        };
        let input = self.network.shape(first);
        let shapes: Vec<Shape> = sources.iter().map(|&source| self.network.shape(source)).collect();
        let (operation, output) = self.operation(written, &name, &sources, &shapes)?;
        let output = output.check(&name)?;
        self.maker.made(&operation, &sources, &shapes);
        self.network.layers.push(Layer { name, sources, input, output, operation });
        Ok(())
    }

    fn operation(
        &mut self,
        written: WrittenLayer,
        name: &str,
        sources: &[Option<usize>],
        shapes: &[Shape],
    ) -> Result<(Operation, Shape), NetworkError> {
        let input = shapes[0];
        let value = |why: &str| NetworkError::Value { layer: name.to_owned(), why: why.to_owned() };
        Ok(match written {
            WrittenLayer::Convolution(written) => {
                let kernel = written.kernel.ok_or_else(|| value("`kernel` is missing"))?;
                let window =
                    window(kernel, written.stride.unwrap_or([1; 2]), written.padding, written.padding_after);
                self.convolution(written, window, sources, shapes)?
            }
            WrittenLayer::FullyConnected(written) => {
                if written.kernel.is_some() || written.stride.is_some() || written.padding.is_some() {
                    return Err(value("a fully connected layer's kernel is its input"));
                }
                let window = window([input.width, input.height], [1; 2], None, None);
                self.convolution(written, window, sources, shapes)?
            }
            WrittenLayer::Pooling(written) => {
                let whole = [input.width, input.height];
                let kernel = match (written.kernel, written.global) {
                    (Some(kernel), false) => kernel,
                    (None, true) => whole,
                    _ => return Err(value("either `kernel` or `global = true` says what is pooled")),
                };
                let WrittenPooling { method, stride, padding, padding_after, rounding, .. } = written;
                // As frameworks have it, windows do not overlap if nothing else is said.
                let mut window = window(kernel, stride.unwrap_or(kernel), padding, padding_after);
                if rounding == Rounding::Ceil {
                    window = window.rounded_up(input);
                }
                let output = under(window, name, input, input.channels)?;
                (Operation::Pooling(Pooling { method, window }), output)
            }
            WrittenLayer::Sum(written) => {
                if shapes[1] != input {
                    return Err(NetworkError::Sizes { layer: name.to_owned(), one: input, other: shapes[1] });
                }
                let activation = activation(written.relu, written.leaky);
                let (shift, scale) = (written.shift.unwrap_or(0), written.scale.unwrap_or(1));
                let converter = match written.converter {
                    Some(converter) => converter,
                    None => self.maker.sum_converter(sources, scale, shift),
                };
                (Operation::Sum(Sum { scale, shift, activation, converter }), input)
            }
            WrittenLayer::Concatenation(_) => {
                let alike = |shape: &Shape| (shape.width, shape.height) == (input.width, input.height);
                if let Some(&other) = shapes.iter().find(|shape| !alike(shape)) {
                    return Err(NetworkError::Sizes { layer: name.to_owned(), one: input, other });
                }
                let channels = shapes.iter().map(|shape| shape.channels).sum();
                (Operation::Concatenation, Shape { channels, ..input })
            }
            WrittenLayer::Normalisation(written) => {
                let WrittenNormalisation { channels, alpha, beta, k, scale, converter, .. } = written;
                if !matches!(channels, 3 | 5 | 7 | 9) {
                    return Err(value("normalisation is over 3, 5, 7 or 9 channels"));
                }
                let made = synthetic::normalisation(channels, [alpha, beta, k, scale], converter);
                (Operation::Normalisation(made.ok_or_else(|| value("its factors are no numbers"))?), input)
            }
            WrittenLayer::Upsampling(WrittenUpsampling { factor, .. }) => {
                if !(1..=16).contains(&factor) {
                    return Err(value("upsampling is by 1 to 16"));
                }
                let Shape { width, height, channels } = input;
                let output = Shape { width: width * factor, height: height * factor, channels };
                (Operation::Upsampling(factor), output)
            }
            WrittenLayer::SoftMax(WrittenSoftMax { scale, .. }) => {
                if !(0.0..=4096.0).contains(&scale) {
                    return Err(value("the scale of a soft-max is 0 to 4096"));
                }
                (Operation::SoftMax(SoftMax { scale: (scale * 65536.0).round() as u32 }), input)
            }
        })
    }

    fn convolution(
        &mut self,
        written: WrittenConvolution,
        window: Window,
        sources: &[Option<usize>],
        shapes: &[Shape],
    ) -> Result<(Operation, Shape), NetworkError> {
        let WrittenConvolution { name, relu, leaky, converter, add, .. } = written;
        let input = shapes[0];
        let value = |why: &str| NetworkError::Value { layer: name.clone(), why: why.to_owned() };
        let kernels = match (written.kernels, written.depthwise) {
            (Some(kernels), _) => kernels,
            (None, true) => input.channels,
            (None, false) => return Err(value("`kernels` is missing")),
        };
        let groups = if written.depthwise { input.channels } else { written.groups.unwrap_or(1) };
        if groups == 0 || !input.channels.is_multiple_of(groups) || !kernels.is_multiple_of(groups) {
            return Err(value("channels and kernels are no multiples of the groups"));
        }
        let output = under(window, &name, input, kernels)?.check(&name)?;
        let taps = [window.size[0], window.size[1], input.channels / groups, kernels].map(u64::from);
        let count = taps.iter().try_fold(1u64, |count, &by| count.checked_mul(by));
        let Some(count) = count.filter(|&count| count < 1 << 32) else {
            return Err(NetworkError::NoWindow { layer: name, window: window.size, input });
        };
        if let Some(&other) = shapes.get(1).filter(|other| **other != output) {
            return Err(NetworkError::Sizes { layer: name, one: output, other });
        }
        let activation = activation(relu, leaky);
        let mut convolution = Convolution {
            kernels,
            groups,
            window,
            weights: Vec::new(),
            bias: None,
            added: add.as_ref().map(|added| added.shift.unwrap_or(0)),
            activation,
            converter: converter.unwrap_or(Converter { offset: 0, scale: 1, shift: 0 }),
        };
        let seed = match &written.weights {
            Some(Tensor::File(file)) => {
                let bytes = self.tensor(&name, file, count, 1)?;
                convolution.weights = bytes.into_iter().map(|byte| byte as i8).collect();
                if converter.is_none() {
                    return Err(value("`converter` is missing: the weights are in a file"));
                }
                None
            }
            Some(Tensor::Seeded { seed }) => Some(*seed),
            None => Some(self.maker.seed().ok_or_else(|| {
                value("`weights` are missing: name a file, or give the network a `seed` to make them up")
            })?),
        };
        if let Some(seed) = seed {
            let shift = add.as_ref().and_then(|added| added.shift);
            self.maker.convolution(&mut convolution, seed, count as usize, sources, shift, converter);
        }
        if let Some(WrittenBias { values, shift }) = written.bias {
            let bytes = self.tensor(&name, &values, kernels.into(), 2)?;
            let values = bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
            convolution.bias = Some(Bias { values, shift });
        }
        Ok((Operation::Convolution(convolution), output))
    }

    fn tensor(
        &mut self,
        layer: &str,
        file: &str,
        elements: u64,
        element: u64,
    ) -> Result<Vec<u8>, NetworkError> {
        let wrong = |why| NetworkError::Tensor { layer: layer.to_owned(), file: file.to_owned(), why };
        let bytes = (self.read)(file).map_err(wrong)?;
        if bytes.len() as u64 != elements * element {
            return Err(wrong(format!("it has {} bytes instead of {}", bytes.len(), elements * element)));
        }
        Ok(bytes)
    }
}

fn activation(relu: bool, leaky: Option<Leaky>) -> Activation {
    match leaky {
        Some(Leaky { scale, shift }) => Activation::Leaky { scale, shift },
        None if relu => Activation::Relu,
        None => Activation::None,
    }
}

fn window(
    size: [u32; 2],
    stride: [u32; 2],
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
) -> Window {
    let before = padding.unwrap_or_default();
    Window { size, stride, before, after: padding_after.unwrap_or(before) }
}

/// The size of what windows over an input make.
fn under(window: Window, name: &str, input: Shape, channels: u32) -> Result<Shape, NetworkError> {
    let Some([width, height]) = window.outputs(input) else {
        return Err(NetworkError::NoWindow { layer: name.to_owned(), window: window.size, input });
    };
    Ok(Shape { width, height, channels })
}
