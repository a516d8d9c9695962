//! A graph: int8 layers, each after those that it reads. Checked as it is made, so that whoever runs one meets no surprise.
//!
//! Features lie as `[row][column][channel]`, kernels as `[kernel][row][column][channel]`. Filters, biases and tables are one
//! run of bytes beside the graph, of which layers name parts.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Size of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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

/// What a layer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensor {
    /// The graph's input.
    Input,
    /// The output of a layer, by its place in the graph.
    Layer(usize),
}

/// Where a window lies over its input. Pairs are vertical and horizontal.
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

/// From sums to int8: `(x - offset) * scale`, shifted right to the nearest with ties away from zero, then saturated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Converter {
    /// Taken off first.
    #[serde(default)]
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
    /// Where the weights begin, in the filters.
    pub weights: u32,
    /// Where the biases begin, int32 each, if there are any.
    pub bias: Option<u32>,
    /// Whether negative sums become zero.
    pub relu: bool,
    /// From sums to int8.
    pub converter: Converter,
}

/// What becomes of the elements in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The largest; padding takes no part.
    Max,
    /// The smallest; padding takes no part.
    Min,
    /// Their sum over the window's size, where padding counts as zeros, to the nearest with ties away from zero.
    Average,
}

/// What becomes of two elements in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pair {
    /// Their sum, converted.
    Add,
    /// Their product, converted.
    Multiply,
    /// The larger one, converted.
    Maximum,
}

/// What becomes of an element.
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
    /// Between two bounds.
    Clamp {
        /// The lower one.
        low: i8,
        /// The upper one.
        high: i8,
    },
    /// 256 int8 in the filters, the first for -128.
    Table {
        /// Where they begin.
        at: u32,
    },
}

/// What a layer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Convolution.
    Convolution {
        /// The kernels' window.
        window: Window,
        /// Its sums.
        sums: Sums,
    },
    /// Every output is a sum over the whole input.
    FullyConnected {
        /// Its sums.
        sums: Sums,
    },
    /// Pooling, channel by channel.
    Pooling {
        /// The windows.
        window: Window,
        /// What becomes of them.
        method: Pooling,
    },
    /// Two tensors of one shape.
    Elementwise {
        /// The second one.
        other: Tensor,
        /// What becomes of two elements.
        method: Pair,
        /// Afterwards.
        converter: Converter,
    },
    /// An element at a time.
    Activation(Activation),
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// What it reads.
    pub source: Tensor,
    /// What it does.
    pub operation: Operation,
    /// Cycles that it takes, where the architecture is not to say.
    pub cycles: Option<u32>,
    /// What it makes.
    pub output: Shape,
}

/// A graph that was checked. The last layer's output is the graph's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    input: Shape,
    filter_bytes: u32,
    layers: Vec<Layer>,
    products: u64,
    features: u64,
}

/// What is wrong with a graph or a layer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GraphError {
    /// A size that no tensor has.
    #[error(
        "{shape} elements: sizes are 1 to {}, and all elements at most {}",
        Shape::MOST,
        Shape::MOST_ELEMENTS
    )]
    Shape {
        /// The size.
        shape: Shape,
    },
    /// A layer reads what does not come before it.
    #[error("it reads layer {layer}, which does not come before it")]
    Order {
        /// The layer that it reads.
        layer: usize,
    },
    /// A window that fits nowhere, or one that lies in padding as a whole.
    #[error("a window of {} rows and {} columns does not lie over {input} everywhere", size[0], size[1])]
    Window {
        /// The window.
        size: [u32; 2],
        /// What it should lie over.
        input: Shape,
    },
    /// Two tensors of different shapes.
    #[error("{first} and {second} are not the same shape")]
    Pair {
        /// The first.
        first: Shape,
        /// The second.
        second: Shape,
    },
    /// A part of the filters that is not there.
    #[error("filters {} to {} of {filters} bytes", part.start, part.end)]
    Filters {
        /// The part.
        part: Range<u64>,
        /// How many there are.
        filters: u32,
    },
    /// A shift beyond the sums.
    #[error("a right shift of {shift}: at most 62")]
    Shift {
        /// The shift.
        shift: u32,
    },
    /// Bounds the wrong way round.
    #[error("nothing lies between {low} and {high}")]
    Bounds {
        /// The lower bound.
        low: i8,
        /// The upper bound.
        high: i8,
    },
    /// More to compute than any inference has.
    #[error("{products} products in all: at most {}", Graph::MOST_PRODUCTS)]
    Products {
        /// How many.
        products: u64,
    },
    /// More features than any inference has.
    #[error("{features} elements of all layers: at most {}", Graph::MOST_FEATURES)]
    Features {
        /// How many.
        features: u64,
    },
    /// No layer, or too many.
    #[error("{layers} layers: 1 to {}", Graph::MOST_LAYERS)]
    Layers {
        /// How many.
        layers: usize,
    },
}

impl Graph {
    /// The most layers.
    pub const MOST_LAYERS: usize = 4096;
    /// The most products of all layers together.
    pub const MOST_PRODUCTS: u64 = 1 << 40;
    /// The most elements of all layers' outputs together.
    pub const MOST_FEATURES: u64 = 1 << 28;

    /// A graph without layers, for an input of this shape and so many bytes of filters.
    ///
    /// # Errors
    /// When there is no tensor of that shape.
    pub fn new(input: Shape, filter_bytes: u32) -> Result<Graph, GraphError> {
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
        let products = self.products.saturating_add(products(input, output, &operation));
        if products > Graph::MOST_PRODUCTS {
            return Err(GraphError::Products { products });
        }
        let features = self.features + output.elements();
        if features > Graph::MOST_FEATURES {
            return Err(GraphError::Features { features });
        }
        (self.products, self.features) = (products, features);
        self.layers.push(Layer { source, operation, cycles, output });
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

    /// What goes in.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// What comes out.
    pub fn output_shape(&self) -> Shape {
        self.layers.last().map_or(self.input, |layer| layer.output)
    }

    /// The layers, in their order.
    pub fn layers(&self) -> &[Layer] {
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

/// Products that a layer computes, or elements that it looks at.
fn products(input: Shape, output: Shape, operation: &Operation) -> u64 {
    let window = |window: &Window| u64::from(window.size[0]) * u64::from(window.size[1]);
    match operation {
        Operation::Convolution { window: size, .. } => {
            output.elements().saturating_mul(window(size)).saturating_mul(input.channels.into())
        }
        Operation::FullyConnected { .. } => output.elements().saturating_mul(input.elements()),
        Operation::Pooling { window: size, .. } => output.elements().saturating_mul(window(size)),
        Operation::Elementwise { .. } | Operation::Activation(_) => output.elements(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { height: 4, width: 6, channels: 2 };

    fn window(size: [u32; 2], before: [u32; 2]) -> Window {
        Window { size, stride: [1, 2], before, after: [0, 0] }
    }

    fn sums(weights: u32, bias: Option<u32>) -> Sums {
        let converter = Converter { offset: 0, scale: 1, shift: 0 };
        Sums { kernels: 3, weights, bias, relu: false, converter }
    }

    #[test]
    fn shapes_follow_from_layers() {
        let mut graph = Graph::new(SHAPE, 1000).unwrap();
        let convolution = Operation::Convolution { window: window([3, 3], [1, 0]), sums: sums(0, Some(54)) };
        let convolved = graph.add(Tensor::Input, convolution, None).unwrap();
        assert_eq!(convolved, Shape { height: 3, width: 2, channels: 3 });
        let pooling = Operation::Pooling { window: window([2, 2], [0, 0]), method: Pooling::Max };
        assert_eq!(graph.add(Tensor::Layer(0), pooling, None).unwrap().to_string(), "2x1x3");
        let connected = Operation::FullyConnected { sums: sums(0, None) };
        assert_eq!(graph.add(Tensor::Layer(1), connected, None).unwrap().to_string(), "1x1x3");
        assert_eq!(graph.whole().unwrap().output_shape().elements(), 3);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refusal = |operation| {
            let mut graph = Graph::new(SHAPE, 60).unwrap();
            let relu = Operation::Activation(Activation::Relu);
            graph
                .add(
                    Tensor::Input,
                    Operation::Pooling { window: window([2, 2], [0, 0]), method: Pooling::Max },
                    None,
                )
                .unwrap();
            assert_eq!(graph.add(Tensor::Layer(1), relu, None), Err(GraphError::Order { layer: 1 }));
            graph.add(Tensor::Input, operation, None).unwrap_err().to_string()
        };
        let convolution = |window, sums| Operation::Convolution { window, sums };
        assert_eq!(
            refusal(convolution(window([3, 3], [0, 0]), sums(7, None))),
            "filters 7 to 61 of 60 bytes"
        );
        assert_eq!(
            refusal(convolution(window([3, 3], [0, 0]), sums(0, Some(54)))),
            "filters 54 to 66 of 60 bytes"
        );
        let wide = refusal(convolution(window([5, 1], [0, 0]), sums(0, None)));
        assert_eq!(wide, "a window of 5 rows and 1 columns does not lie over 4x6x2 everywhere");
        assert!(refusal(convolution(window([1, 1], [1, 0]), sums(0, None))).contains("does not lie over"));
        let none = Window { stride: [0, 1], ..window([1, 1], [0, 0]) };
        assert!(
            refusal(Operation::Pooling { window: none, method: Pooling::Max }).contains("does not lie over")
        );
        let converter = Converter { offset: 0, scale: 1, shift: 63 };
        let pair = |other, converter| Operation::Elementwise { other, method: Pair::Add, converter };
        assert_eq!(refusal(pair(Tensor::Input, converter)), "a right shift of 63: at most 62");
        let converter = Converter { shift: 0, ..converter };
        assert_eq!(refusal(pair(Tensor::Layer(0), converter)), "4x6x2 and 3x3x2 are not the same shape");
        let clamp = Activation::Clamp { low: 2, high: 1 };
        assert_eq!(refusal(Operation::Activation(clamp)), "nothing lies between 2 and 1");
        assert!(refusal(Operation::Activation(Activation::Table { at: 0 })).contains("filters 0 to 256"));
        assert!(Graph::new(SHAPE, 0).unwrap().whole().is_err());
        assert!(Graph::new(Shape { height: 8192, width: 8192, channels: 1 }, 0).is_err());
    }
}
