//! Tensors of any rank and the operators of ONNX on them, in plain arithmetic: what constants are folded with, what a
//! network's answers are compared with, and what a CPU computes of a network beside a device.
//!
//! A [`Graph`] is nodes in an order in which they can run; each has an [`Operator`] whose attributes are read and checked.

mod graph;
mod operator;
mod tensor;

pub use graph::{Graph, Node, Value, ValueId};
pub use operator::{
    AutoPad, Binary, CoordinateTransformation, Gemm, Interpolation, LocalResponse, NearestMode, Operator,
    PadMode, Pooling, Reduction, Resize, Spatial, Unary,
};
pub use tensor::{ElementType, Elements, Tensor};
