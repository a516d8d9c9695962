//! What a network is: layers with their weights, written down in TOML with the tensors in files beside it.

use super::error::NetworkError;
use serde::Deserialize;
use std::fmt;
use std::path::Path;

/// A network of int8 layers, quantised for the hardware's arithmetic and checked: shapes fit each other and
/// tensors have as many elements as their layers need.
///
/// ```
/// use vp_models::host::network::Network;
/// let text = r#"
///     name = "edges"
///     [input]
///     width = 8
///     height = 8
///     channels = 1
///     [[layer]]
///     kind = "convolution"
///     name = "edge"
///     kernels = 2
///     kernel = [1, 2]                  # width, height
///     weights = "edge.weights.i8"      # [kernel][row][column][channel]
///     converter = { scale = 1, shift = 1 }
/// "#;
/// let network = Network::parse(text, &mut |_| Ok(vec![1, 1, 1, 255])).unwrap();
/// assert_eq!(network.output().to_string(), "8x7x2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// What it is given.
    pub input: Shape,
    /// Its layers, each after those it reads from. The last one's output is the network's.
    pub layers: Vec<Layer>,
}

/// Size of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels.
    pub channels: u32,
}

impl Shape {
    /// The most pixels in a line, lines and channels: what the size registers of all units can say.
    pub const MOST: u32 = 1 << 13;

    /// Refuses sizes that no register can say.
    fn check(self, name: &str) -> Result<Shape, NetworkError> {
        let right = |size: u32| (1..=Shape::MOST).contains(&size);
        match [self.width, self.height, self.channels].into_iter().all(right) {
            true => Ok(self),
            false => Err(NetworkError::Size { name: name.to_owned(), shape: self }),
        }
    }

    /// Elements.
    pub fn elements(&self) -> usize {
        self.width as usize * self.height as usize * self.channels as usize
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.width, self.height, self.channels)
    }
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// The layer whose output it reads, by its place in the list; none for the network's input.
    pub source: Option<usize>,
    /// What it reads.
    pub input: Shape,
    /// What it makes.
    pub output: Shape,
    /// How.
    pub operation: Operation,
}

impl Layer {
    /// Products that it needs.
    pub fn macs(&self) -> u64 {
        match &self.operation {
            Operation::Convolution(Convolution { window: Window { size, .. }, .. }) => {
                let [columns, rows] = size.map(u64::from);
                self.output.elements() as u64 * columns * rows * u64::from(self.input.channels)
            }
            Operation::Pooling(_) => 0,
        }
    }
}

/// What a layer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Convolution; fully connected layers are convolutions whose kernel is as large as their input.
    Convolution(Convolution),
    /// Pooling.
    Pooling(Pooling),
}

/// Where a window lies over its input. Pairs are horizontal and vertical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Columns and rows.
    pub size: [u32; 2],
    /// Steps, in pixels.
    pub stride: [u32; 2],
    /// Padding before the first pixel and above the first line.
    pub before: [u32; 2],
    /// Padding behind.
    pub after: [u32; 2],
}

impl Window {
    /// Columns and lines that come out, if a window fits at all.
    fn outputs(&self, input: Shape) -> Option<[u32; 2]> {
        let along = |axis: usize, size: u32| {
            let padded = self.before[axis].checked_add(size)?.checked_add(self.after[axis])?;
            Some(padded.checked_sub(self.size[axis])?.checked_div(self.stride[axis])? + 1)
        };
        (self.size[0] > 0 && self.size[1] > 0)
            .then(|| Some([along(0, input.width)?, along(1, input.height)?]))?
    }
}

/// A convolution, and what SDP does to its sums: bias, ReLU, and conversion to int8, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Kernels, which are the output's channels.
    pub kernels: u32,
    /// The kernels' extent.
    pub window: Window,
    /// `[kernel][row][column][channel]`.
    pub weights: Vec<i8>,
    /// Added to the sums.
    pub bias: Option<Bias>,
    /// Whether negative sums become zero.
    pub relu: bool,
    /// From sums to int8.
    pub converter: Converter,
}

/// A value for each kernel, added to its sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bias {
    /// The values.
    pub values: Vec<i16>,
    /// By how many bits they are shifted left first.
    pub shift: u32,
}

/// `(x - offset) * scale`, shifted right with rounding to nearest and ties away from zero, then saturated to int8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Converter {
    /// Taken off first.
    #[serde(default)]
    pub offset: i32,
    /// Factor.
    pub scale: i16,
    /// Right shift.
    pub shift: u32,
}

/// Pooling. Padding takes no part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooling {
    /// What becomes of a window.
    pub method: Method,
    /// The windows.
    pub window: Window,
}

/// What becomes of the elements in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Their sum divided by the window's size, where padding counts as zeros.
    Average,
}

/// How a network is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    input: Shape,
    #[serde(default)]
    layer: Vec<WrittenLayer>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum WrittenLayer {
    Convolution(WrittenConvolution),
    Pooling(WrittenPooling),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConvolution {
    name: String,
    input: Option<String>,
    kernels: u32,
    kernel: [u32; 2],
    stride: Option<[u32; 2]>,
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
    weights: String,
    bias: Option<WrittenBias>,
    #[serde(default)]
    relu: bool,
    converter: Converter,
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
struct WrittenPooling {
    name: String,
    input: Option<String>,
    method: Method,
    kernel: [u32; 2],
    stride: Option<[u32; 2]>,
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
}

/// Gives the bytes of a tensor's file, or says why it cannot.
pub type ReadTensor<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

impl Network {
    /// Reads a network; `read` is asked for each tensor by the name of its file.
    ///
    /// # Errors
    /// Names the layer and what is wrong with it.
    pub fn parse(text: &str, read: &mut ReadTensor<'_>) -> Result<Network, NetworkError> {
        let Written { name, input, layer: written } = toml::from_str(text)?;
        input.check("input")?;
        let mut network = Network { name, input, layers: Vec::new() };
        for layer in written {
            let layer = network.layer(layer, read)?;
            network.layers.push(layer);
        }
        if network.layers.is_empty() {
            return Err(NetworkError::Empty { name: network.name });
        }
        Ok(network)
    }

    /// Reads a network from a file, and its tensors from files in the same folder.
    ///
    /// # Errors
    /// As [`Network::parse`], and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Network, NetworkError> {
        let file = |path: &Path| {
            std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let text = file(path).map_err(|why| NetworkError::File { why })?;
        let text = String::from_utf8(text)
            .map_err(|_| NetworkError::File { why: format!("{} is no text", path.display()) })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Network::parse(&text, &mut |name| file(&folder.join(name)))
    }

    /// What comes out.
    pub fn output(&self) -> Shape {
        self.layers.last().map_or(self.input, |layer| layer.output)
    }

    fn layer(&self, written: WrittenLayer, read: &mut ReadTensor<'_>) -> Result<Layer, NetworkError> {
        let (name, from) = match &written {
            WrittenLayer::Convolution(layer) => (layer.name.clone(), layer.input.clone()),
            WrittenLayer::Pooling(layer) => (layer.name.clone(), layer.input.clone()),
        };
        if self.layers.iter().any(|layer| layer.name == name) {
            return Err(NetworkError::Twice { layer: name });
        }
        let source = match from {
            None => self.layers.len().checked_sub(1),
            Some(from) if from == "input" => None,
            Some(from) => match self.layers.iter().position(|layer| layer.name == from) {
                None => return Err(NetworkError::NoSuchInput { layer: name, input: from }),
                place => place,
            },
        };
        let input = source.map_or(self.input, |source| self.layers[source].output);
        let (operation, window, channels) = match written {
            WrittenLayer::Convolution(written) => {
                let convolution = convolution(written, input, read)?;
                let (window, kernels) = (convolution.window, convolution.kernels);
                (Operation::Convolution(convolution), window, kernels)
            }
            WrittenLayer::Pooling(written) => {
                let WrittenPooling { method, kernel, stride, padding, padding_after, .. } = written;
                // As frameworks have it, windows do not overlap if nothing else is said.
                let window = window(kernel, stride.unwrap_or(kernel), padding, padding_after);
                (Operation::Pooling(Pooling { method, window }), window, input.channels)
            }
        };
        let Some([width, height]) = window.outputs(input) else {
            return Err(NetworkError::NoWindow { layer: name, window: window.size, input });
        };
        let output = Shape { width, height, channels }.check(&name)?;
        Ok(Layer { name, source, input, output, operation })
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

fn convolution(
    written: WrittenConvolution,
    input: Shape,
    read: &mut ReadTensor<'_>,
) -> Result<Convolution, NetworkError> {
    let WrittenConvolution { name, kernels, kernel, stride, padding, padding_after, relu, converter, .. } =
        written;
    let mut tensor = |file: String, elements: u64, element: u64| {
        let bytes = read(&file).map_err(|why| NetworkError::Tensor {
            layer: name.clone(),
            file: file.clone(),
            why,
        })?;
        if bytes.len() as u64 != elements * element {
            let why = format!("it has {} bytes instead of {}", bytes.len(), elements * element);
            return Err(NetworkError::Tensor { layer: name.clone(), file, why });
        }
        Ok(bytes)
    };
    let taps = [kernel[0], kernel[1], input.channels, kernels].map(u64::from);
    let count =
        taps.iter().try_fold(1u64, |count, &by| count.checked_mul(by)).filter(|&count| count < 1 << 40);
    let Some(count) = count else {
        return Err(NetworkError::NoWindow { layer: name, window: kernel, input });
    };
    let weights = tensor(written.weights, count, 1)?.into_iter().map(|byte| byte as i8).collect();
    let bias = match written.bias {
        None => None,
        Some(WrittenBias { values, shift }) => {
            let bytes = tensor(values, kernels.into(), 2)?;
            let values = bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
            Some(Bias { values, shift })
        }
    };
    let window = window(kernel, stride.unwrap_or([1, 1]), padding, padding_after);
    Ok(Convolution { kernels, window, weights, bias, relu, converter })
}
