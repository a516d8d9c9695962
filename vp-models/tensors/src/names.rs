//! Names of operators.

use crate::{Binary, Operator, Reduction, Unary};

impl Operator {
    /// ONNX's name of the operator.
    pub fn name(&self) -> &'static str {
        match self {
            Operator::Conv(_) => "Conv",
            Operator::ConvTranspose { .. } => "ConvTranspose",
            Operator::ConvInteger(_) => "ConvInteger",
            Operator::QLinearConv(_) => "QLinearConv",
            Operator::Gemm(_) => "Gemm",
            Operator::MatMul => "MatMul",
            Operator::MatMulInteger => "MatMulInteger",
            Operator::QLinearMatMul => "QLinearMatMul",
            Operator::BatchNormalization { .. } => "BatchNormalization",
            Operator::LayerNormalization { .. } => "LayerNormalization",
            Operator::InstanceNormalization { .. } => "InstanceNormalization",
            Operator::Unary(function) => function.name(),
            Operator::Binary(function) => function.name(),
            Operator::PRelu => "PRelu",
            Operator::Clip => "Clip",
            Operator::Variadic(Reduction::Max) => "Max",
            Operator::Variadic(Reduction::Min) => "Min",
            Operator::Variadic(Reduction::Mean) => "Mean",
            Operator::Variadic(_) => "Sum",
            Operator::MaxPool(_) => "MaxPool",
            Operator::AveragePool { .. } => "AveragePool",
            Operator::GlobalAveragePool => "GlobalAveragePool",
            Operator::GlobalMaxPool => "GlobalMaxPool",
            Operator::Reduce { reduction, .. } => reduction.name(),
            Operator::ArgMax { .. } => "ArgMax",
            Operator::LocalResponse(_) => "LRN",
            Operator::Concat { .. } => "Concat",
            Operator::Split { .. } => "Split",
            Operator::Slice => "Slice",
            Operator::Pad { .. } => "Pad",
            Operator::Flatten { .. } => "Flatten",
            Operator::Reshape { .. } => "Reshape",
            Operator::Squeeze { .. } => "Squeeze",
            Operator::Unsqueeze { .. } => "Unsqueeze",
            Operator::Transpose { .. } => "Transpose",
            Operator::DepthToSpace { .. } => "DepthToSpace",
            Operator::SpaceToDepth { .. } => "SpaceToDepth",
            Operator::Cast { .. } => "Cast",
            Operator::Resize(_) => "Resize",
            Operator::Softmax { .. } | Operator::FlatSoftmax { is_logarithm: false, .. } => "Softmax",
            Operator::LogSoftmax { .. } | Operator::FlatSoftmax { is_logarithm: true, .. } => "LogSoftmax",
            Operator::QuantizeLinear { .. } => "QuantizeLinear",
            Operator::DequantizeLinear { .. } => "DequantizeLinear",
            Operator::DynamicQuantizeLinear => "DynamicQuantizeLinear",
            Operator::Identity => "Identity",
            Operator::Shape { .. } => "Shape",
            Operator::Gather { .. } => "Gather",
            Operator::Expand => "Expand",
            Operator::Tile => "Tile",
            Operator::Where => "Where",
            Operator::ConstantOfShape { .. } => "ConstantOfShape",
            Operator::Range => "Range",
        }
    }
}

impl Unary {
    /// ONNX's name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Unary::Relu => "Relu",
            Unary::LeakyRelu { .. } => "LeakyRelu",
            Unary::ThresholdedRelu { .. } => "ThresholdedRelu",
            Unary::Elu { .. } => "Elu",
            Unary::Selu { .. } => "Selu",
            Unary::Celu { .. } => "Celu",
            Unary::Sigmoid => "Sigmoid",
            Unary::HardSigmoid { .. } => "HardSigmoid",
            Unary::HardSwish => "HardSwish",
            Unary::Swish { .. } => "Swish",
            Unary::Tanh => "Tanh",
            Unary::Gelu { .. } => "Gelu",
            Unary::Mish => "Mish",
            Unary::Softplus => "Softplus",
            Unary::Softsign => "Softsign",
            Unary::Exp => "Exp",
            Unary::Log => "Log",
            Unary::Sqrt => "Sqrt",
            Unary::Reciprocal => "Reciprocal",
            Unary::Abs => "Abs",
            Unary::Neg => "Neg",
            Unary::Floor => "Floor",
            Unary::Ceil => "Ceil",
            Unary::Round => "Round",
            Unary::Erf => "Erf",
            Unary::Sin => "Sin",
            Unary::Cos => "Cos",
            Unary::Not => "Not",
        }
    }
}

impl Binary {
    /// ONNX's name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Binary::Add => "Add",
            Binary::Sub => "Sub",
            Binary::Mul => "Mul",
            Binary::Div => "Div",
            Binary::Pow => "Pow",
            Binary::Equal => "Equal",
            Binary::Greater => "Greater",
            Binary::GreaterOrEqual => "GreaterOrEqual",
            Binary::Less => "Less",
            Binary::LessOrEqual => "LessOrEqual",
            Binary::And => "And",
            Binary::Or => "Or",
        }
    }
}

impl Reduction {
    /// ONNX's name of the reduction over axes.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Max => "ReduceMax",
            Reduction::Min => "ReduceMin",
            Reduction::Sum => "ReduceSum",
            Reduction::Mean => "ReduceMean",
            Reduction::Product => "ReduceProd",
            Reduction::L2 => "ReduceL2",
            Reduction::SumOfSquares => "ReduceSumSquare",
        }
    }
}
