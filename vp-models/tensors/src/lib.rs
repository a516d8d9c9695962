//! Tensors of any rank and the operators of ONNX on them, in plain arithmetic: what constants are folded with, what a
//! network's answers are compared with, and what a CPU computes of a network beside a device.
//!
//! A [`Graph`] is nodes in an order in which they can run; each has an [`Operator`] whose attributes are read and checked.
//! [`Operator::infer`] tells the types of what an operator makes, [`Operator::run`] makes it: floats in 32 bits, integers
//! exactly. Nothing larger than [`LARGEST_TENSOR`] is made; wrong inputs and attributes are an [`OperatorError`].

mod arguments;
mod binary;
mod convolution;
mod error;
mod evaluation;
mod filling;
mod graph;
mod infer;
mod layout;
mod matrix;
mod multiply;
mod names;
mod normalisation;
mod operations;
mod operator;
mod pieces;
mod pooling;
mod quantised;
mod reduction;
mod resize;
mod run;
mod strides;
mod tensor;
#[cfg(test)]
mod tests;
mod transposed_convolution;
mod unary;
mod value_type;
mod windows;
mod zero_point;

pub use error::OperatorError;
pub use evaluation::GraphError;
pub use graph::{Graph, Node, Value, ValueId};
pub use operations::FUNCTION_OPERATIONS;
pub use operator::{
    AutoPad, Binary, CoordinateTransformation, Gemm, Interpolation, LocalResponse, NearestMode, Operator,
    PadMode, Pooling, Reduction, Resize, Spatial, Unary,
};
pub use tensor::{ElementType, Elements, Tensor};
pub use value_type::{LARGEST_TENSOR, ValueType, shape_text};
