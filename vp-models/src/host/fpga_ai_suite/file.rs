//! Graph files: layers in TOML, and a file for each tensor.

use std::path::Path;

use thiserror::Error;

use super::written::{Function, Keys, Kind, Written, WrittenBias, WrittenLayer};
use crate::fpga_ai_suite::compute;
use crate::fpga_ai_suite::graph::{
    Activation, Converter, Graph, GraphError, Operation, Pair, Pooling, Shape, Sums, Tensor, Window,
};
use crate::host::network::{self, Method, Network};
use crate::host::read_at_most;
use crate::nvdla::numeric::Precision;
use crate::suggestion::with_nearest;

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

/// A graph file that says no graph.
#[derive(Debug, Error)]
pub enum ModelError {
    /// It cannot be read.
    #[error("{0}")]
    File(String),
    /// It is no TOML, or not of this shape.
    #[error("{0}")]
    Text(String),
    /// The graph is none.
    #[error("graph `{name}`: {source}")]
    Graph {
        /// Its name.
        name: String,
        /// What is wrong with it.
        source: GraphError,
    },
    /// A layer does not fit.
    #[error("layer `{layer}`: {source}")]
    Layer {
        /// Its name.
        layer: String,
        /// What is wrong with it.
        source: GraphError,
    },
    /// A key that says nothing of a layer of its kind.
    #[error("layer `{layer}`: `{key}` does not belong here: {right}")]
    Key {
        /// Its name.
        layer: String,
        /// The key.
        key: &'static str,
        /// What does.
        right: Keys,
    },
    /// A number beyond what there is.
    #[error("layer `{layer}`: {key} = {value}: {right}")]
    Value {
        /// Its name.
        layer: String,
        /// The key.
        key: &'static str,
        /// What is said.
        value: i64,
        /// What would be right.
        right: &'static str,
    },
    /// A file of another length than its tensor.
    #[error("layer `{layer}`: {file} has {found} bytes, and not {expected}")]
    Length {
        /// Its name.
        layer: String,
        /// The file.
        file: String,
        /// Bytes of it.
        found: u64,
        /// Bytes that the layer takes.
        expected: u64,
    },
    /// A layer that cannot be made of what is said of it.
    #[error("layer `{layer}`: {why}")]
    Said {
        /// Its name.
        layer: String,
        /// What is wrong.
        why: String,
    },
}

/// Gives the bytes of a tensor's file, or says why it cannot.
type ReadTensor<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

impl Model {
    /// Reads a graph file; `read` is asked for each tensor by the name of its file.
    ///
    /// # Errors
    /// Names the layer and what is wrong with it.
    pub fn parse(text: &str, read: &mut ReadTensor<'_>) -> Result<Model, ModelError> {
        let Written { name, input, layer: written } =
            toml::from_str(text).map_err(|error| ModelError::Text(with_nearest(&error.to_string())))?;
        let mut filters = Filters { bytes: Vec::new(), read };
        let mut names: Vec<String> = Vec::new();
        let mut layers = Vec::new();
        // A graph is told how many filters there are: this one is for the shapes until that is known.
        let of_graph = |source| ModelError::Graph { name: name.clone(), source };
        let mut shapes = Graph::new(input, Graph::MOST_FILTERS).map_err(of_graph)?;
        for layer in &written {
            layer.check_keys()?;
            let wrong = |source| ModelError::Layer { layer: layer.name.clone(), source };
            let source = tensor(&names, layer.input.as_deref()).map_err(|why| layer.said(why))?;
            let shape = shapes.shape(source).map_err(wrong)?;
            let operation = layer.operation(&names, shape, &mut filters)?;
            shapes.add(source, operation.clone(), layer.cycles).map_err(wrong)?;
            names.push(layer.name.clone());
            layers.push((source, operation, layer.cycles));
        }
        Model::assemble(name, input, layers, &names, filters.bytes)
    }

    /// Reads a graph file, and its tensors from files in the same folder.
    ///
    /// # Errors
    /// As [`Model::parse`], and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        let file = |path: &Path| {
            read_at_most(path, Graph::MOST_FILTERS.into())
                .map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let text = file(path).map_err(ModelError::File)?;
        let text = String::from_utf8(text)
            .map_err(|_| ModelError::File(format!("{} is no text", path.display())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Model::parse(&text, &mut |name| file(&folder.join(name)))
    }

    /// A network of the other device's as a graph. The arithmetic is the same but for averages: NVDLA multiplies by
    /// reciprocals.
    ///
    /// # Errors
    /// When this device has no such layer.
    pub fn of_network(network: &Network) -> Result<Model, ModelError> {
        let (mut filters, mut layers, mut names) = (Vec::new(), Vec::new(), Vec::new());
        if network.precision != Precision::Int8 {
            return Err(ModelError::File(format!(
                "{} is computed in {}: this device has int8",
                network.name, network.precision
            )));
        }
        for layer in &network.layers {
            let refused = |what: &str| ModelError::Said {
                layer: layer.name.clone(),
                why: format!("{what} of an NVDLA's network has no layer here that does the same"),
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
    ) -> Result<Model, ModelError> {
        let of_graph = |source| ModelError::Graph { name: name.clone(), source };
        let mut graph = Graph::new(input, filters.len() as u32).map_err(of_graph)?;
        for ((source, operation, cycles), layer) in layers.into_iter().zip(names) {
            graph
                .add(source, operation, cycles)
                .map_err(|source| ModelError::Layer { layer: layer.clone(), source })?;
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
    fn read(&mut self, layer: &WrittenLayer, file: &str) -> Result<Vec<u8>, ModelError> {
        (self.read)(file).map_err(|why| layer.said(format!("{file}: {why}")))
    }

    /// Puts a file's bytes, which are so many, behind the others, and says where they begin.
    fn file(&mut self, layer: &WrittenLayer, file: &str, expected: u64) -> Result<u32, ModelError> {
        let bytes = self.read(layer, file)?;
        let found = bytes.len() as u64;
        if found != expected {
            let (layer, file) = (layer.name.clone(), file.to_owned());
            return Err(ModelError::Length { layer, file, found, expected });
        }
        self.put(layer, &bytes)
    }

    fn put(&mut self, layer: &WrittenLayer, bytes: &[u8]) -> Result<u32, ModelError> {
        let at = self.bytes.len() as u32;
        if bytes.len() > (Graph::MOST_FILTERS - at) as usize {
            return Err(layer.said(format!("with its filters there are more than {}", Graph::MOST_FILTERS)));
        }
        self.bytes.extend(bytes);
        Ok(at)
    }

    /// Biases are int16 or int32, which their file's length tells.
    fn bias(&mut self, layer: &WrittenLayer, bias: &WrittenBias, kernels: u32) -> Result<u32, ModelError> {
        let WrittenBias { values: name, shift } = bias;
        if *shift > 31 {
            let (layer, value) = (layer.name.clone(), i64::from(*shift));
            return Err(ModelError::Value { layer, key: "bias.shift", value, right: "from 0 to 31" });
        }
        let bytes = self.read(layer, name)?;
        let values: Vec<i64> = match bytes.len() as u64 {
            length if length == 2 * u64::from(kernels) => {
                bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]).into()).collect()
            }
            length if length == 4 * u64::from(kernels) => {
                let words = bytes.chunks_exact(4);
                words.map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]).into()).collect()
            }
            length => {
                return Err(layer.said(format!(
                    "{name} has {length} bytes, and not 2 or 4 for each of {kernels} outputs"
                )));
            }
        };
        let fitting: Result<Vec<i32>, _> = values.iter().map(|value| i32::try_from(value << shift)).collect();
        let fitting = fitting.map_err(|_| layer.said(format!("{name}: a bias does not fit 32 bits")))?;
        self.put(layer, &fitting.into_iter().flat_map(i32::to_le_bytes).collect::<Vec<u8>>())
    }
}

/// The tensor that a layer names; the one before if it names none.
fn tensor(names: &[String], name: Option<&str>) -> Result<Tensor, String> {
    match name {
        None => Ok(names.len().checked_sub(1).map_or(Tensor::Input, Tensor::Layer)),
        Some("input") => Ok(Tensor::Input),
        Some(name) => {
            let place = names.iter().position(|known| known == name);
            place.map(Tensor::Layer).ok_or_else(|| format!("no layer `{name}` comes before"))
        }
    }
}

impl WrittenLayer {
    fn said(&self, why: String) -> ModelError {
        ModelError::Said { layer: self.name.clone(), why }
    }

    /// What has to be there.
    fn needs<T>(&self, key: &str, said: Option<T>) -> Result<T, ModelError> {
        said.ok_or_else(|| self.said(format!("it needs `{key}`")))
    }

    /// One of some words.
    fn method<T: Copy>(&self, methods: [(&str, T); 3]) -> Result<T, ModelError> {
        let said = self.needs("method", self.method.as_deref())?;
        let found = methods.iter().find(|(name, _)| *name == said);
        found.map(|(_, method)| *method).ok_or_else(|| {
            let [one, two, three] = methods.map(|(name, _)| name);
            self.said(format!("method \"{said}\": {one}, {two} or {three}"))
        })
    }

    fn operation(
        &self,
        names: &[String],
        input: Shape,
        filters: &mut Filters<'_, '_>,
    ) -> Result<Operation, ModelError> {
        if self.name == "input" {
            return Err(self.said("that is the name of the graph's input".to_owned()));
        }
        if names.contains(&self.name) {
            return Err(self.said("there is another one of that name".to_owned()));
        }
        match self.kind {
            Kind::Convolution => {
                let window = self.window([1, 1])?;
                let taps = window.size.iter().fold(1, |taps: u64, size| taps.saturating_mul((*size).into()));
                let sums = self.sums(taps.saturating_mul(input.channels.into()), filters)?;
                Ok(Operation::Convolution { window, sums })
            }
            Kind::FullyConnected => {
                Ok(Operation::FullyConnected { sums: self.sums(input.elements(), filters)? })
            }
            Kind::Pooling => {
                let method = self.method([
                    ("max", Pooling::Max),
                    ("min", Pooling::Min),
                    ("average", Pooling::Average),
                ])?;
                // As frameworks have it, windows do not overlap if nothing else is said.
                let kernel = self.needs("kernel", self.kernel)?;
                Ok(Operation::Pooling { window: self.window(kernel)?, method })
            }
            Kind::Elementwise => {
                let method = self.method([
                    ("add", Pair::Add),
                    ("multiply", Pair::Multiply),
                    ("maximum", Pair::Maximum),
                ])?;
                let other = self.needs("other", self.other.as_deref())?;
                let other = tensor(names, Some(other)).map_err(|why| self.said(why))?;
                let converter = self.needs("converter", self.converter)?;
                Ok(Operation::Elementwise { other, method, converter })
            }
            Kind::Activation => Ok(Operation::Activation(self.activation(filters)?)),
        }
    }

    fn activation(&self, filters: &mut Filters<'_, '_>) -> Result<Activation, ModelError> {
        Ok(match self.needs("function", self.function)? {
            Function::Relu => Activation::Relu,
            Function::Leaky => {
                let Converter { offset, scale, shift } = self.needs("converter", self.converter)?;
                if offset != 0 {
                    let (layer, key, value) = (self.name.clone(), "converter.offset", offset.into());
                    let right = "a leaky activation takes nothing off";
                    return Err(ModelError::Value { layer, key, value, right });
                }
                Activation::Leaky { scale, shift }
            }
            Function::Clamp => {
                Activation::Clamp { low: self.needs("low", self.low)?, high: self.needs("high", self.high)? }
            }
            Function::Table => {
                let table = self.needs("table", self.table.as_deref())?;
                Activation::Table { at: filters.file(self, table, 256)? }
            }
        })
    }

    /// Sums of so many products each.
    fn sums(&self, taps: u64, filters: &mut Filters<'_, '_>) -> Result<Sums, ModelError> {
        let kernels = self.needs("kernels", self.kernels)?;
        if kernels == 0 {
            let (layer, value) = (self.name.clone(), 0);
            return Err(ModelError::Value { layer, key: "kernels", value, right: "at least 1" });
        }
        let converter = self.needs("converter", self.converter)?;
        let weights = self.needs("weights", self.weights.as_deref())?;
        let bias = self.bias.as_ref().map(|bias| filters.bias(self, bias, kernels)).transpose()?;
        let weights = filters.file(self, weights, taps.saturating_mul(kernels.into()))?;
        Ok(Sums { kernels, weights, bias, relu: self.relu.unwrap_or(false), converter })
    }

    fn window(&self, stride: [u32; 2]) -> Result<Window, ModelError> {
        let size = self.needs("kernel", self.kernel)?;
        let before = self.padding.unwrap_or_default();
        for (key, pair) in [("kernel", Some(size)), ("stride", self.stride)] {
            if pair.is_some_and(|pair| pair.contains(&0)) {
                let (layer, value) = (self.name.clone(), 0);
                return Err(ModelError::Value { layer, key, value, right: "at least 1" });
            }
        }
        Ok(turned(network::Window {
            size,
            stride: self.stride.unwrap_or(stride),
            before,
            after: self.padding_after.unwrap_or(before),
        }))
    }
}

/// Files say columns first, as NVDLA's networks do.
fn turned(window: network::Window) -> Window {
    let turn = |[columns, rows]: [u32; 2]| [rows, columns];
    let network::Window { size, stride, before, after } = window;
    Window { size: turn(size), stride: turn(stride), before: turn(before), after: turn(after) }
}

#[cfg(test)]
mod tests;
