//! A graph: int8 layers, each after those that it reads. Checked as it is made, so that whoever runs one meets no surprise.
//!
//! Features lie as `[row][column][channel]`, kernels as `[kernel][row][column][channel]`. Filters, biases and tables are one
//! run of bytes beside the graph, of which layers name parts.

mod error;
#[cfg(test)]
mod tests;

use std::fmt;

pub use error::GraphError;

/// Size of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
    /// Channels.
    pub channels: u32,
}

impl Shape {
    /// The most rows, columns and channels.
    pub const MOST: u32 = 1 << 13;
    /// The most elements.
    pub const MOST_ELEMENTS: u64 = 1 << 24;

    /// Elements, which are bytes.
    pub fn elements(self) -> u64 {
        u64::from(self.height) * u64::from(self.width) * u64::from(self.channels)
    }

    fn is_right(self) -> bool {
        let sizes = [self.height, self.width, self.channels];
        sizes.iter().all(|size| (1..=Shape::MOST).contains(size)) && self.elements() <= Shape::MOST_ELEMENTS
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.height, self.width, self.channels)
    }
}

/// Tensor that a layer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensor {
    /// The graph's input.
    Input,
    /// The output of a layer, by its place in the graph.
    Layer(usize),
}

/// Size and places of a window over its input. Pairs are vertical and horizontal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Rows and columns.
    pub size: [u32; 2],
    /// Steps.
    pub stride: [u32; 2],
    /// Padding above the first row and before the first column.
    pub before: [u32; 2],
    /// Padding behind.
    pub after: [u32; 2],
}

impl Window {
    fn output(&self, input: Shape, channels: u32) -> Option<Shape> {
        let all = self.size.iter().chain(&self.stride).chain(&self.before).chain(&self.after);
        if all.copied().any(|size| size > Shape::MOST) {
            return None;
        }
        // A window that lies in the padding as a whole would have nothing to pool.
        let is_over_input =
            (0..2).all(|axis| self.before[axis] < self.size[axis] && self.after[axis] < self.size[axis]);
        let along = |axis: usize, size: u32| {
            let padded = self.before[axis] + size + self.after[axis];
            Some(padded.checked_sub(self.size[axis])?.checked_div(self.stride[axis])? + 1)
        };
        is_over_input.then_some(())?;
        Some(Shape { height: along(0, input.height)?, width: along(1, input.width)?, channels })
    }
}

/// Converter from sums to int8: `(x - offset) * scale`, shifted right to the nearest with ties away from zero, then saturated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converter {
    /// Taken off first.
    pub offset: i32,
    /// Factor.
    pub scale: i16,
    /// Right shift, at most 62.
    pub shift: u32,
}

/// Sums of products, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Kernels, which are the output's channels.
    pub kernels: u32,
    /// Offset of the weights, in the filters.
    pub weights: u32,
    /// Offset of the biases, int32 each, if there are any.
    pub bias: Option<u32>,
    /// True if negative sums become zero.
    pub relu: bool,
    /// Converter from sums to int8.
    pub converter: Converter,
}

/// Operation on the elements in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The largest; padding takes no part.
    Max,
    /// The smallest; padding takes no part.
    Min,
    /// The operands' sum over the window's size, where padding counts as zeros, to the nearest with ties away from zero.
    Average,
}

/// Operation on two elements in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Sum of both operands, converted.
    Add,
    /// Product of both operands, converted.
    Multiply,
    /// The larger one, converted.
    Maximum,
}

/// Operation on an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Negative ones become zero.
    Relu,
    /// Negative ones are multiplied by a factor, and shifted right as converters do.
    Leaky {
        /// Factor.
        scale: i16,
        /// Right shift.
        shift: u32,
    },
    /// Limitation to two bounds.
    Clamp {
        /// The lower one.
        low: i8,
        /// The upper one.
        high: i8,
    },
    /// 256 int8 in the filters, the first for -128.
    Table {
        /// Offset of the table, in the filters.
        at: u32,
    },
}

/// Operation of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Convolution.
    Convolution {
        /// The kernels' window.
        window: Window,
        /// Sums of the layer.
        sums: Sums,
    },
    /// Every output is a sum over the whole input.
    FullyConnected {
        /// Sums of the layer.
        sums: Sums,
    },
    /// Pooling, channel by channel.
    Pooling {
        /// The windows.
        window: Window,
        /// Operation on the elements in a window.
        method: Pooling,
    },
    /// Two tensors of one shape.
    Elementwise {
        /// The second one.
        other: Tensor,
        /// Operation on two elements.
        method: Pair,
        /// Afterwards.
        converter: Converter,
    },
    /// An element at a time.
    Activation(Activation),
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLayer {
    /// Tensor that the layer reads.
    pub source: Tensor,
    /// Operation of the layer.
    pub operation: Operation,
    /// Cycles that it takes, where the architecture is not to say.
    pub cycles: Option<u32>,
    /// Shape of the layer's output.
    pub output: Shape,
}

/// A graph that was checked. The last layer's output is the graph's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    input: Shape,
    filter_bytes: u32,
    layers: Vec<GraphLayer>,
    products: u64,
    features: u64,
}

impl Graph {
    /// The most layers.
    pub const MOST_LAYERS: usize = 4096;
    /// The most products of all layers together.
    pub const MOST_PRODUCTS: u64 = 1 << 36;
    /// The most bytes of filters.
    pub const MOST_FILTERS: u32 = 1 << 28;
    /// The most elements of all layers' outputs together.
    pub const MOST_FEATURES: u64 = 1 << 28;

    /// A graph without layers, for an input of this shape and so many bytes of filters.
    ///
    /// # Errors
    /// When there is no tensor of that shape.
    pub fn new(input: Shape, filter_bytes: u32) -> Result<Graph, GraphError> {
        if filter_bytes > Graph::MOST_FILTERS {
            return Err(GraphError::FilterBytes { bytes: filter_bytes });
        }
        match input.is_right() {
            true => Ok(Graph { input, filter_bytes, layers: Vec::new(), products: 0, features: 0 }),
            false => Err(GraphError::Shape { shape: input }),
        }
    }

    /// Adds a layer, and says what it makes.
    ///
    /// # Errors
    /// When it does not fit what it reads, or the filters.
    pub fn add(
        &mut self,
        source: Tensor,
        operation: Operation,
        cycles: Option<u32>,
    ) -> Result<Shape, GraphError> {
        let input = self.shape(source)?;
        let output = self.output(input, &operation)?;
        if !output.is_right() {
            return Err(GraphError::Shape { shape: output });
        }
        if self.layers.len() == Graph::MOST_LAYERS {
            return Err(GraphError::Layers { layers: self.layers.len() + 1 });
        }
        let products =
            self.products.saturating_add(output.elements().saturating_mul(work(input, &operation)));
        if products > Graph::MOST_PRODUCTS {
            return Err(GraphError::Products { products });
        }
        let features = self.features + output.elements();
        if features > Graph::MOST_FEATURES {
            return Err(GraphError::Features { features });
        }
        (self.products, self.features) = (products, features);
        self.layers.push(GraphLayer { source, operation, cycles, output });
        Ok(output)
    }

    /// Refuses a graph that does nothing.
    ///
    /// # Errors
    /// When there is no layer.
    pub fn whole(self) -> Result<Graph, GraphError> {
        match self.layers.is_empty() {
            true => Err(GraphError::Layers { layers: 0 }),
            false => Ok(self),
        }
    }

    /// Returns the shape of the input.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// Returns the shape of the output.
    pub fn output_shape(&self) -> Shape {
        self.layers.last().map_or(self.input, |layer| layer.output)
    }

    /// The layers, in their order.
    pub fn layers(&self) -> &[GraphLayer] {
        &self.layers
    }

    /// Bytes of filters, biases and tables.
    pub fn filter_bytes(&self) -> u32 {
        self.filter_bytes
    }

    /// A tensor's shape.
    ///
    /// # Errors
    /// When the layer is not there yet.
    pub fn shape(&self, tensor: Tensor) -> Result<Shape, GraphError> {
        match tensor {
            Tensor::Input => Ok(self.input),
            Tensor::Layer(layer) => {
                self.layers.get(layer).map(|layer| layer.output).ok_or(GraphError::Order { layer })
            }
        }
    }

    fn output(&self, input: Shape, operation: &Operation) -> Result<Shape, GraphError> {
        match operation {
            Operation::Convolution { window, sums } => {
                let shape = window
                    .output(input, sums.kernels)
                    .ok_or(GraphError::Window { size: window.size, input })?;
                let taps = u64::from(window.size[0]) * u64::from(window.size[1]) * u64::from(input.channels);
                self.check_sums(sums, taps)?;
                Ok(shape)
            }
            Operation::FullyConnected { sums } => {
                self.check_sums(sums, input.elements())?;
                Ok(Shape { height: 1, width: 1, channels: sums.kernels })
            }
            Operation::Pooling { window, .. } => {
                window.output(input, input.channels).ok_or(GraphError::Window { size: window.size, input })
            }
            Operation::Elementwise { other, converter, .. } => {
                let second = self.shape(*other)?;
                check_shift(converter.shift)?;
                match second == input {
                    true => Ok(input),
                    false => Err(GraphError::Pair { first: input, second }),
                }
            }
            Operation::Activation(activation) => {
                match *activation {
                    Activation::Relu => {}
                    Activation::Leaky { shift, .. } => check_shift(shift)?,
                    Activation::Clamp { low, high } if low > high => {
                        return Err(GraphError::Bounds { low, high });
                    }
                    Activation::Clamp { .. } => {}
                    Activation::Table { at } => self.check_part(at, 256)?,
                }
                Ok(input)
            }
        }
    }

    fn check_sums(&self, sums: &Sums, taps: u64) -> Result<(), GraphError> {
        check_shift(sums.converter.shift)?;
        self.check_part(sums.weights, taps.saturating_mul(sums.kernels.into()))?;
        sums.bias.map_or(Ok(()), |bias| self.check_part(bias, 4 * u64::from(sums.kernels)))
    }

    fn check_part(&self, at: u32, bytes: u64) -> Result<(), GraphError> {
        let part = u64::from(at)..u64::from(at).saturating_add(bytes);
        match part.end <= self.filter_bytes.into() {
            true => Ok(()),
            false => Err(GraphError::Filters { part, filters: self.filter_bytes }),
        }
    }
}

fn check_shift(shift: u32) -> Result<(), GraphError> {
    if shift > 62 { Err(GraphError::Shift { shift }) } else { Ok(()) }
}

/// Products of one element of a layer's output, or elements that it looks at for one. Windows are no larger than tensors.
pub(super) fn work(input: Shape, operation: &Operation) -> u64 {
    let window = |window: &Window| u64::from(window.size[0]) * u64::from(window.size[1]);
    match operation {
        Operation::Convolution { window: size, .. } => window(size) * u64::from(input.channels),
        Operation::FullyConnected { .. } => input.elements(),
        Operation::Pooling { window: size, .. } => window(size),
        Operation::Elementwise { .. } | Operation::Activation(_) => 1,
    }
}
