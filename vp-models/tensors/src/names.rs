//! Names of operators.

use crate::{Binary, Operator, Reduction, Unary};

impl Operator {
    /// ONNX's name of the operator.
    pub fn name(&self) -> &'static str {
        match self {
            Operator::Unary(function) => function.name(),
            Operator::Binary(function) => function.name(),
            Operator::Variadic(Reduction::Max) => "Max",
            Operator::Variadic(Reduction::Min) => "Min",
            Operator::Variadic(Reduction::Mean) => "Mean",
            Operator::Variadic(_) => "Sum",
            Operator::Reduce { reduction, .. } => reduction.name(),
            Operator::FlatSoftmax { is_logarithm: false, .. } => "Softmax",
            Operator::FlatSoftmax { is_logarithm: true, .. } => "LogSoftmax",
            other => other.into(),
        }
    }
}

impl Unary {
    /// ONNX's name of the function.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Binary {
    /// ONNX's name of the function.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Reduction {
    /// ONNX's name of the reduction over axes.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
