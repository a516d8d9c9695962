//! Graph files: layers in TOML, and a file for each tensor.

use std::path::Path;

use super::written::{
    KINDS, Written, WrittenActivation, WrittenBias, WrittenKind, WrittenPair, WrittenPooling, WrittenSums,
};
use crate::fpga_ai_suite::compute;
use crate::fpga_ai_suite::graph::{
    Activation, Converter, Graph, Operation, Pooling, Shape, Sums, Tensor, Window,
};
use crate::host::network::{self, Method, Network};
use crate::host::{read_at_most, read_text_at_most};
use crate::nvdla::numeric::Precision;
use crate::suggestion::hint;
use crate::toml_text::{KeyError, TextError, TomlText};

/// A graph with its filters.
///
/// ```
/// use vp_models::host::fpga_ai_suite::Model;
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
    /// Its name.
    pub name: String,
    /// Its layers.
    pub graph: Graph,
    /// Their filters, biases and tables.
    pub filters: Vec<u8>,
}

/// Gives the bytes of a tensor's file, or says why it cannot.
type ReadTensor<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

impl Model {
    /// Reads a graph file; `read` is asked for each tensor by the name of its file.
    ///
    /// # Errors
    /// Names the line, the layer and the key, and what is wrong there.
    pub fn parse(text: &str, read: &mut ReadTensor<'_>) -> Result<Model, TextError> {
        let text = TomlText::parse(text)?;
        let Written { name, input, layer: written } = text.read_kinds(&KINDS)?;
        let mut filters = Filters { bytes: Vec::new(), read };
        let mut names: Vec<String> = Vec::new();
        let mut layers = Vec::new();
        // A graph is told how many filters there are: this one is for the shapes until that is known.
        let mut shapes =
            Graph::new(input, Graph::MOST_FILTERS).map_err(|source| text.wrong("input", source))?;
        for (at, layer) in written.into_iter().enumerate() {
            let wrong = |KeyError { key, what }| text.wrong(&format!("layer.{at}.{key}"), what);
            let refused = |source| text.wrong(&format!("layer.{at}"), source);
            check_name(&names, &layer.name).map_err(wrong)?;
            let source = tensor(&names, "input", layer.input.as_deref()).map_err(wrong)?;
            let shape = shapes.shape(source).map_err(refused)?;
            let operation = operation(layer.kind, &names, shape, &mut filters).map_err(wrong)?;
            shapes.add(source, operation.clone(), layer.cycles).map_err(refused)?;
            names.push(layer.name);
            layers.push((source, operation, layer.cycles));
        }
        Model::assemble(name, input, layers, &names, filters.bytes)
    }

    /// Reads a graph file, and its tensors from files in the same folder.
    ///
    /// # Errors
    /// As [`Model::parse`], and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Model, TextError> {
        let text = read_text_at_most(path, Graph::MOST_FILTERS.into())
            .map_err(|error| TextError::unreadable(path, error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut read = |name: &str| {
            let path = folder.join(name);
            read_at_most(&path, Graph::MOST_FILTERS.into())
                .map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        Model::parse(&text, &mut read).map_err(|error| error.in_file(path))
    }

    /// A network of the other device's as a graph. The arithmetic is the same but for averages: NVDLA multiplies by
    /// reciprocals.
    ///
    /// # Errors
    /// When this device has no such layer.
    pub fn of_network(network: &Network) -> Result<Model, TextError> {
        let (mut filters, mut layers, mut names) = (Vec::new(), Vec::new(), Vec::new());
        if network.precision != Precision::Int8 {
            return Err(TextError::whole(format!(
                "{} is computed in {}: this device has int8",
                network.name, network.precision
            )));
        }
        for (at, layer) in network.layers.iter().enumerate() {
            let refused = |what: &str| {
                let why = format!("{what} of an NVDLA's network has no layer here that does the same");
                of_layer(at, &layer.name, why)
            };
            let [source] = layer.sources[..] else { return Err(refused("a layer with several inputs")) };
            let source = source.map_or(Tensor::Input, Tensor::Layer);
            let operation = match &layer.operation {
                network::Operation::Convolution(convolution) => {
                    let relu = match convolution.activation {
                        network::Activation::None => false,
                        network::Activation::Relu => true,
                        network::Activation::Leaky { .. } => return Err(refused("a leaky activation")),
                    };
                    if convolution.truncate > 0 {
                        return Err(refused("a convolution whose sums are shifted"));
                    }
                    if convolution.groups > 1 {
                        return Err(refused("a convolution in groups"));
                    }
                    let mut put = |bytes: Vec<u8>| {
                        let at = filters.len() as u32;
                        filters.extend(bytes);
                        at
                    };
                    let bias = convolution.bias.as_ref();
                    let bias =
                        bias.map(|bias| bias.values.iter().map(|value| i32::from(*value) << bias.shift));
                    let network::Converter { offset, scale, shift } = convolution.converter;
                    let sums = Sums {
                        kernels: convolution.kernels,
                        bias: bias.map(|values| put(values.flat_map(i32::to_le_bytes).collect())),
                        weights: put(convolution.weights.iter().map(|weight| *weight as u8).collect()),
                        relu,
                        converter: Converter { offset, scale, shift },
                    };
                    Operation::Convolution { window: turned(convolution.window), sums }
                }
                network::Operation::Pooling(pooling) => {
                    let method = match pooling.method {
                        Method::Max => Pooling::Max,
                        Method::Min => Pooling::Min,
                        Method::Average => Pooling::Average,
                    };
                    Operation::Pooling { window: turned(pooling.window), method }
                }
                _ => return Err(refused("what is no convolution and no pooling")),
            };
            layers.push((source, operation, None));
            names.push(layer.name.clone());
        }
        let network::Shape { width, height, channels } = network.input;
        Model::assemble(network.name.clone(), Shape { height, width, channels }, layers, &names, filters)
    }

    fn assemble(
        name: String,
        input: Shape,
        layers: Vec<(Tensor, Operation, Option<u32>)>,
        names: &[String],
        filters: Vec<u8>,
    ) -> Result<Model, TextError> {
        let of_graph = |source| TextError::whole(format!("graph `{name}`: {source}"));
        let mut graph = Graph::new(input, filters.len() as u32).map_err(of_graph)?;
        for (at, ((source, operation, cycles), layer)) in layers.into_iter().zip(names).enumerate() {
            graph.add(source, operation, cycles).map_err(|source| of_layer(at, layer, source.to_string()))?;
        }
        let graph = graph.whole().map_err(of_graph)?;
        Ok(Model { name, graph, filters })
    }

    /// What comes out, computed here and now.
    ///
    /// # Panics
    /// When the input has not as many elements as the graph's.
    pub fn infer(&self, input: &[i8]) -> Vec<i8> {
        assert_eq!(input.len() as u64, self.graph.input().elements(), "the input of {}", self.name);
        compute::graph(&self.graph, input, &self.filters)
    }
}

/// Filters in the making, and where they come from.
struct Filters<'a, 'b> {
    bytes: Vec<u8>,
    read: &'a mut ReadTensor<'b>,
}

impl Filters<'_, '_> {
    fn read(&mut self, key: &'static str, file: &str) -> Result<Vec<u8>, KeyError> {
        (self.read)(file).map_err(|why| KeyError::new(key, format!("{file}: {why}")))
    }

    /// Puts a file's bytes, which are so many, behind the others, and says where they begin.
    fn file(&mut self, key: &'static str, file: &str, expected: u64) -> Result<u32, KeyError> {
        let bytes = self.read(key, file)?;
        if bytes.len() as u64 != expected {
            let what = format!("{file} has {} bytes, and not {expected}", bytes.len());
            return Err(KeyError::new(key, what));
        }
        self.put(key, &bytes)
    }

    fn put(&mut self, key: &'static str, bytes: &[u8]) -> Result<u32, KeyError> {
        let at = self.bytes.len() as u32;
        if bytes.len() > (Graph::MOST_FILTERS - at) as usize {
            let what = format!("with its filters there are more than {}", Graph::MOST_FILTERS);
            return Err(KeyError::new(key, what));
        }
        self.bytes.extend(bytes);
        Ok(at)
    }

    /// Biases are int16 or int32, which their file's length tells.
    fn bias(&mut self, bias: &WrittenBias, kernels: u32) -> Result<u32, KeyError> {
        let WrittenBias { values: name, shift } = bias;
        let wrong = |what| KeyError::new("bias", what);
        if *shift > 31 {
            return Err(KeyError::new("bias.shift", format!("bias.shift = {shift}: from 0 to 31")));
        }
        let bytes = self.read("bias", name)?;
        let values: Vec<i64> = match bytes.len() as u64 {
            length if length == 2 * u64::from(kernels) => {
                bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]).into()).collect()
            }
            length if length == 4 * u64::from(kernels) => {
                let words = bytes.chunks_exact(4);
                words.map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]).into()).collect()
            }
            length => {
                let outputs = format!("{kernels} outputs");
                return Err(wrong(format!(
                    "{name} has {length} bytes, and not 2 or 4 for each of {outputs}"
                )));
            }
        };
        let fitting: Result<Vec<i32>, _> = values.iter().map(|value| i32::try_from(value << shift)).collect();
        let fitting = fitting.map_err(|_| wrong(format!("{name}: a bias does not fit 32 bits")))?;
        self.put("bias", &fitting.into_iter().flat_map(i32::to_le_bytes).collect::<Vec<u8>>())
    }
}

fn of_layer(at: usize, name: &str, what: String) -> TextError {
    TextError { within: format!("layer {} `{name}`", at + 1), ..TextError::whole(what) }
}

fn check_name(names: &[String], name: &String) -> Result<(), KeyError> {
    match name.as_str() {
        "input" => Err(KeyError::new("name", "that is the name of the graph's input")),
        _ if names.contains(name) => Err(KeyError::new("name", "there is another one of that name")),
        _ => Ok(()),
    }
}

/// The tensor that a layer names; the one before if it names none.
fn tensor(names: &[String], key: &'static str, name: Option<&str>) -> Result<Tensor, KeyError> {
    match name {
        None => Ok(names.len().checked_sub(1).map_or(Tensor::Input, Tensor::Layer)),
        Some("input") => Ok(Tensor::Input),
        Some(name) => {
            let place = names.iter().position(|known| known == name);
            place.map(Tensor::Layer).ok_or_else(|| {
                let nearest = hint(name, names.iter().map(String::as_str));
                KeyError::new(key, format!("no layer `{name}` comes before{nearest}"))
            })
        }
    }
}

/// What a layer with this input does.
fn operation(
    kind: WrittenKind,
    names: &[String],
    input: Shape,
    filters: &mut Filters<'_, '_>,
) -> Result<Operation, KeyError> {
    Ok(match kind {
        WrittenKind::Convolution(written) => {
            let window = window(
                written.kernel,
                written.stride.unwrap_or([1, 1]),
                written.padding,
                written.padding_after,
            )?;
            let taps = window.size.iter().fold(1, |taps: u64, size| taps.saturating_mul((*size).into()));
            let sums = sums(&written.sums(), taps.saturating_mul(input.channels.into()), filters)?;
            Operation::Convolution { window, sums }
        }
        WrittenKind::FullyConnected(written) => {
            Operation::FullyConnected { sums: sums(&written, input.elements(), filters)? }
        }
        WrittenKind::Pooling { method: WrittenPooling(method), kernel, stride, padding, padding_after } => {
            // As frameworks have it, windows do not overlap if nothing else is said.
            let window = window(kernel, stride.unwrap_or(kernel), padding, padding_after)?;
            Operation::Pooling { window, method }
        }
        WrittenKind::Elementwise { method: WrittenPair(method), other, converter } => {
            let other = tensor(names, "other", Some(&other))?;
            Operation::Elementwise { other, method, converter }
        }
        WrittenKind::Activation(written) => Operation::Activation(match written {
            WrittenActivation::Relu {} => Activation::Relu,
            WrittenActivation::Leaky { converter: Converter { offset: 0, scale, shift } } => {
                Activation::Leaky { scale, shift }
            }
            WrittenActivation::Leaky { converter: Converter { offset, .. } } => {
                let what = format!("converter.offset = {offset}: a leaky activation takes nothing off");
                return Err(KeyError::new("converter.offset", what));
            }
            WrittenActivation::Clamp { low, high } => Activation::Clamp { low, high },
            WrittenActivation::Table { table } => {
                Activation::Table { at: filters.file("table", &table, 256)? }
            }
        }),
    })
}

/// Sums of so many products each.
fn sums(written: &WrittenSums, taps: u64, filters: &mut Filters<'_, '_>) -> Result<Sums, KeyError> {
    let WrittenSums { kernels, ref weights, ref bias, relu, converter } = *written;
    if kernels == 0 {
        return Err(KeyError::new("kernels", "kernels = 0: at least 1"));
    }
    let bias = bias.as_ref().map(|bias| filters.bias(bias, kernels)).transpose()?;
    let weights = filters.file("weights", weights, taps.saturating_mul(kernels.into()))?;
    Ok(Sums { kernels, weights, bias, relu, converter })
}

fn window(
    size: [u32; 2],
    stride: [u32; 2],
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
) -> Result<Window, KeyError> {
    let before = padding.unwrap_or_default();
    for (key, [columns, rows]) in [("kernel", size), ("stride", stride)] {
        if columns == 0 || rows == 0 {
            return Err(KeyError::new(key, format!("{key} = [{columns}, {rows}]: at least 1")));
        }
    }
    Ok(turned(network::Window { size, stride, before, after: padding_after.unwrap_or(before) }))
}

/// Files say columns first, as NVDLA's networks do.
fn turned(window: network::Window) -> Window {
    let turn = |[columns, rows]: [u32; 2]| [rows, columns];
    let network::Window { size, stride, before, after } = window;
    Window { size: turn(size), stride: turn(stride), before: turn(before), after: turn(after) }
}

#[cfg(test)]
mod tests;
