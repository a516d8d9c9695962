//! Graph files: layers in TOML, and a file for each tensor.

use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::fpga_ai_suite::compute;
use crate::fpga_ai_suite::graph::{
    Activation, Converter, Graph, GraphError, Operation, Pair, Pooling, Shape, Sums, Tensor, Window,
};
use crate::host::network::{self, Method, Network};

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
    /// A layer that cannot be made of what is said of it.
    #[error("layer `{layer}`: {why}")]
    Said {
        /// Its name.
        layer: String,
        /// What is wrong.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    input: Shape,
    #[serde(default)]
    layer: Vec<WrittenLayer>,
}

/// A layer: what all have, and what each kind has beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLayer {
    name: String,
    kind: Kind,
    input: Option<String>,
    other: Option<String>,
    cycles: Option<u32>,
    kernels: Option<u32>,
    /// Columns and rows, as of all pairs.
    kernel: Option<[u32; 2]>,
    stride: Option<[u32; 2]>,
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
    weights: Option<String>,
    bias: Option<WrittenBias>,
    #[serde(default)]
    relu: bool,
    converter: Option<Converter>,
    method: Option<String>,
    function: Option<Function>,
    low: Option<i8>,
    high: Option<i8>,
    table: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Convolution,
    FullyConnected,
    Pooling,
    Elementwise,
    Activation,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Function {
    Relu,
    Leaky,
    Clamp,
    Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBias {
    values: String,
    #[serde(default)]
    shift: u32,
}

/// Gives the bytes of a tensor's file, or says why it cannot.
type ReadTensor<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

impl Model {
    /// Reads a graph file; `read` is asked for each tensor by the name of its file.
    ///
    /// # Errors
    /// Names the layer and what is wrong with it.
    pub fn parse(text: &str, read: &mut ReadTensor<'_>) -> Result<Model, ModelError> {
        let Written { name, input, layer: written } = toml::from_str(text)
            .map_err(|error| ModelError::Text(error.to_string().trim_end().to_owned()))?;
        let mut filters = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut layers = Vec::new();
        // Filters first: a graph is told how many there are.
        for layer in &written {
            let said = |why: String| ModelError::Said { layer: layer.name.clone(), why };
            let source = tensor(&names, layer.input.as_deref()).map_err(said)?;
            let operation =
                operation(layer, &names, &mut Filters { bytes: &mut filters, read }).map_err(said)?;
            names.push(layer.name.clone());
            layers.push((source, operation, layer.cycles));
        }
        Model::assemble(name, input, layers, &names, filters)
    }

    /// Reads a graph file, and its tensors from files in the same folder.
    ///
    /// # Errors
    /// As [`Model::parse`], and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        let file = |path: &Path| {
            std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
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
    bytes: &'a mut Vec<u8>,
    read: &'a mut ReadTensor<'b>,
}

impl Filters<'_, '_> {
    /// Puts a file's bytes behind the others, and says where they begin.
    fn file(&mut self, name: &str) -> Result<u32, String> {
        let bytes = (self.read)(name).map_err(|why| format!("{name}: {why}"))?;
        Ok(self.put(&bytes))
    }

    fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.bytes.len() as u32;
        self.bytes.extend(bytes);
        at
    }

    /// Biases are int16 or int32, which their file's length tells.
    fn bias(&mut self, bias: &WrittenBias, kernels: u32) -> Result<u32, String> {
        let name = &bias.values;
        let bytes = (self.read)(name).map_err(|why| format!("{name}: {why}"))?;
        let values: Vec<i64> = match bytes.len() as u64 {
            length if length == 2 * u64::from(kernels) => {
                bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]).into()).collect()
            }
            length if length == 4 * u64::from(kernels) => {
                let words = bytes.chunks_exact(4);
                words.map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]).into()).collect()
            }
            length => {
                return Err(format!(
                    "{name} has {length} bytes, and not 2 or 4 for each of {kernels} outputs"
                ));
            }
        };
        let shifted = values.iter().map(|value| value << bias.shift.min(31));
        let fitting: Result<Vec<i32>, _> = shifted.map(i32::try_from).collect();
        let fitting = fitting.map_err(|_| format!("{name}: a bias does not fit 32 bits"))?;
        Ok(self.put(&fitting.into_iter().flat_map(i32::to_le_bytes).collect::<Vec<u8>>()))
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

fn operation(
    layer: &WrittenLayer,
    names: &[String],
    filters: &mut Filters<'_, '_>,
) -> Result<Operation, String> {
    if names.contains(&layer.name) {
        return Err("there is another one of that name".to_owned());
    }
    let needs = |what: &str| format!("it needs `{what}`");
    let converter = || layer.converter.ok_or_else(|| needs("converter"));
    let method = || layer.method.as_deref().ok_or_else(|| needs("method"));
    match layer.kind {
        Kind::Convolution => {
            let kernels = layer.kernels.ok_or_else(|| needs("kernels"))?;
            Ok(Operation::Convolution {
                window: window(layer, [1, 1])?,
                sums: sums(layer, kernels, filters)?,
            })
        }
        Kind::FullyConnected => {
            let kernels = layer.kernels.ok_or_else(|| needs("kernels"))?;
            Ok(Operation::FullyConnected { sums: sums(layer, kernels, filters)? })
        }
        Kind::Pooling => {
            let method = match method()? {
                "max" => Pooling::Max,
                "min" => Pooling::Min,
                "average" => Pooling::Average,
                other => return Err(format!("method \"{other}\": max, min or average")),
            };
            // As frameworks have it, windows do not overlap if nothing else is said.
            let kernel = layer.kernel.ok_or_else(|| needs("kernel"))?;
            Ok(Operation::Pooling { window: window(layer, kernel)?, method })
        }
        Kind::Elementwise => {
            let method = match method()? {
                "add" => Pair::Add,
                "multiply" => Pair::Multiply,
                "maximum" => Pair::Maximum,
                other => return Err(format!("method \"{other}\": add, multiply or maximum")),
            };
            let other = layer.other.as_deref().ok_or_else(|| needs("other"))?;
            Ok(Operation::Elementwise { other: tensor(names, Some(other))?, method, converter: converter()? })
        }
        Kind::Activation => {
            let function = layer.function.ok_or_else(|| needs("function"))?;
            Ok(Operation::Activation(match function {
                Function::Relu => Activation::Relu,
                Function::Leaky => {
                    let Converter { scale, shift, .. } = converter()?;
                    Activation::Leaky { scale, shift }
                }
                Function::Clamp => Activation::Clamp {
                    low: layer.low.ok_or_else(|| needs("low"))?,
                    high: layer.high.ok_or_else(|| needs("high"))?,
                },
                Function::Table => {
                    let table = layer.table.as_deref().ok_or_else(|| needs("table"))?;
                    Activation::Table { at: filters.file(table)? }
                }
            }))
        }
    }
}

fn sums(layer: &WrittenLayer, kernels: u32, filters: &mut Filters<'_, '_>) -> Result<Sums, String> {
    let converter = layer.converter.ok_or_else(|| "it needs `converter`".to_owned())?;
    let weights = layer.weights.as_deref().ok_or_else(|| "it needs `weights`".to_owned())?;
    let bias = layer.bias.as_ref().map(|bias| filters.bias(bias, kernels)).transpose()?;
    Ok(Sums { kernels, weights: filters.file(weights)?, bias, relu: layer.relu, converter })
}

fn window(layer: &WrittenLayer, stride: [u32; 2]) -> Result<Window, String> {
    let kernel = layer.kernel.ok_or_else(|| "it needs `kernel`".to_owned())?;
    let before = layer.padding.unwrap_or_default();
    Ok(turned(network::Window {
        size: kernel,
        stride: layer.stride.unwrap_or(stride),
        before,
        after: layer.padding_after.unwrap_or(before),
    }))
}

/// Files say columns first, as NVDLA's networks do.
fn turned(window: network::Window) -> Window {
    let turn = |[columns, rows]: [u32; 2]| [rows, columns];
    let network::Window { size, stride, before, after } = window;
    Window { size: turn(size), stride: turn(stride), before: turn(before), after: turn(after) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::network::digits;

    #[test]
    fn a_networks_file_is_a_graph_too() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../networks/digits");
        let model = Model::load(&folder.join("network.toml")).unwrap();
        let converted = Model::of_network(&digits::network()).unwrap();
        assert_eq!(model.graph.output_shape(), converted.graph.output_shape());
        for sample in digits::samples().iter().take(20) {
            assert_eq!(model.infer(&sample.pixels), converted.infer(&sample.pixels));
        }
    }

    #[test]
    fn every_kind_of_layer_can_be_said() {
        let text = r#"
            name = "all"
            input = { height = 2, width = 2, channels = 1 }
            [[layer]]
            name = "a"
            kind = "activation"
            function = "leaky"
            converter = { scale = 1, shift = 1 }
            [[layer]]
            name = "b"
            kind = "elementwise"
            method = "add"
            other = "input"
            cycles = 12
            converter = { scale = 1, shift = 0 }
            [[layer]]
            name = "c"
            kind = "activation"
            function = "clamp"
            low = -4
            high = 7
            [[layer]]
            name = "d"
            kind = "activation"
            function = "table"
            table = "table"
            [[layer]]
            name = "e"
            kind = "pooling"
            method = "average"
            kernel = [2, 1]
            [[layer]]
            name = "f"
            kind = "fully-connected"
            kernels = 1
            weights = "ones"
            bias = { values = "bias", shift = 1 }
            converter = { scale = 1, shift = 0 }
        "#;
        let mut read = |name: &str| match name {
            "table" => Ok((0..=255u8).map(|at| at.wrapping_add(128).wrapping_neg()).collect()),
            "ones" => Ok(vec![1, 1]),
            "bias" => Ok(vec![5, 0]),
            _ => Err("no such file".to_owned()),
        };
        let model = Model::parse(text, &mut read).unwrap();
        assert_eq!(model.graph.layers()[1].cycles, Some(12));
        // -8 2 -1 100: leaky -4 2 -1 100, sum -12 4 -2 127, clamped -4 4 -2 7, negated 4 -4 2 -7, means 0 -3.
        assert_eq!(model.infer(&[-8, 2, -1, 100]), [7]);
    }

    #[test]
    fn refusals_name_the_layer() {
        let with = |rest: &str| {
            let text = format!("name = \"x\"\ninput = {{ height = 2, width = 2, channels = 1 }}\n{rest}");
            Model::parse(&text, &mut |_| Ok(vec![0; 3])).unwrap_err().to_string()
        };
        let layer = |rest: &str| with(&format!("[[layer]]\nname = \"l\"\n{rest}"));
        assert_eq!(with(""), "graph `x`: 0 layers: 1 to 4096");
        assert_eq!(layer("kind = \"pooling\""), "layer `l`: it needs `method`");
        let connected =
            "kind = \"fully-connected\"\nkernels = 1\nweights = \"w\"\nconverter = { scale = 1, shift = 0 }";
        assert_eq!(layer(connected), "layer `l`: filters 0 to 4 of 3 bytes");
        let biased = layer(&format!("{connected}\nbias = {{ values = \"b\" }}"));
        assert_eq!(biased, "layer `l`: b has 3 bytes, and not 2 or 4 for each of 1 outputs");
        assert_eq!(
            layer("kind = \"activation\"\nfunction = \"relu\"\ninput = \"m\""),
            "layer `l`: no layer `m` comes before"
        );
        assert!(layer("kind = \"activation\"\nfunction = \"sine\"").contains("sine"));
        let twice =
            "kind = \"activation\"\nfunction = \"relu\"\n[[layer]]\nname = \"l\"\nkind = \"activation\"";
        assert_eq!(layer(twice), "layer `l`: there is another one of that name");
    }
}
