//! Arithmetic operations of an operator, for models of a CPU's time.

use crate::{Operator, Unary, ValueType};

impl Operator {
    /// Number of arithmetic operations: a multiplication with an addition counts as two, a function such as `Exp` as
    /// [`FUNCTION_OPERATIONS`], an element that is only moved as none.
    pub fn operations(&self, inputs: &[Option<ValueType>], outputs: &[ValueType]) -> u64 {
        let count = |value: &ValueType| {
            value.shape.iter().fold(1_u64, |product, &size| product.saturating_mul(size as u64))
        };
        let input = |at: usize| inputs.get(at).and_then(Option::as_ref);
        let read = input(0).map_or(0, count);
        let made = outputs.iter().map(count).fold(0, u64::saturating_add);
        // Elements of weights by the number of kernels: products a result.
        let terms = |weights: usize, kernels: usize| match input(weights) {
            Some(weights) => {
                count(weights) / (weights.shape.get(kernels).copied().unwrap_or(1).max(1) as u64)
            }
            None => 0,
        };
        let last = |at: usize| input(at).and_then(|value| value.shape.last()).copied().unwrap_or(1) as u64;
        let window = |kernel: &[usize]| {
            kernel.iter().fold(1_u64, |product, &size| product.saturating_mul(size as u64))
        };
        match self {
            Operator::Conv(_) | Operator::ConvInteger(_) => {
                made.saturating_mul(2).saturating_mul(terms(1, 0))
            }
            Operator::QLinearConv(_) => made.saturating_mul(terms(3, 0).saturating_mul(2).saturating_add(3)),
            Operator::ConvTranspose { .. } => read.saturating_mul(2).saturating_mul(terms(1, 0)),
            Operator::Gemm(gemm) => {
                let terms =
                    input(0).and_then(|value| value.shape.get(usize::from(!gemm.transposes_a))).copied();
                made.saturating_mul(2).saturating_mul(terms.unwrap_or(1) as u64)
            }
            Operator::MatMul | Operator::MatMulInteger => made.saturating_mul(2).saturating_mul(last(0)),
            Operator::QLinearMatMul => made.saturating_mul(last(0).saturating_mul(2).saturating_add(3)),
            Operator::MaxPool(pooling) => made.saturating_mul(window(&pooling.spatial.kernel)),
            Operator::AveragePool { pooling, .. } => {
                made.saturating_mul(window(&pooling.spatial.kernel).saturating_add(1))
            }
            Operator::GlobalAveragePool
            | Operator::GlobalMaxPool
            | Operator::Reduce { .. }
            | Operator::ArgMax { .. } => read,
            Operator::BatchNormalization { .. } | Operator::PRelu | Operator::Clip => read.saturating_mul(2),
            Operator::LayerNormalization { .. } | Operator::InstanceNormalization { .. } => {
                read.saturating_mul(7)
            }
            Operator::LocalResponse(response) => read
                .saturating_mul((response.size as u64).saturating_mul(2).saturating_add(FUNCTION_OPERATIONS)),
            Operator::Unary(function) => read.saturating_mul(function.operations()),
            Operator::Binary(_) | Operator::Where => made,
            Operator::Variadic(_) => made.saturating_mul((inputs.len() as u64).saturating_sub(1)),
            Operator::Resize(resize) => match resize.interpolation {
                crate::Interpolation::Nearest => 0,
                crate::Interpolation::Linear => made.saturating_mul(8),
                crate::Interpolation::Cubic { .. } => made.saturating_mul(32),
            },
            Operator::Softmax { .. } | Operator::LogSoftmax { .. } | Operator::FlatSoftmax { .. } => {
                read.saturating_mul(FUNCTION_OPERATIONS + 4)
            }
            Operator::QuantizeLinear { .. } | Operator::DynamicQuantizeLinear => read.saturating_mul(3),
            Operator::DequantizeLinear { .. } => read.saturating_mul(2),
            Operator::Cast { .. } => read,
            Operator::Concat { .. }
            | Operator::Split { .. }
            | Operator::Slice
            | Operator::Pad { .. }
            | Operator::Flatten { .. }
            | Operator::Reshape { .. }
            | Operator::Squeeze { .. }
            | Operator::Unsqueeze { .. }
            | Operator::Transpose { .. }
            | Operator::DepthToSpace { .. }
            | Operator::SpaceToDepth { .. }
            | Operator::Identity
            | Operator::Shape { .. }
            | Operator::Gather { .. }
            | Operator::Expand
            | Operator::Tile
            | Operator::ConstantOfShape { .. }
            | Operator::Range => 0,
        }
    }
}

/// Arithmetic operations that a function such as `Exp` or `Tanh` counts as.
pub const FUNCTION_OPERATIONS: u64 = 16;

impl Unary {
    fn operations(self) -> u64 {
        match self {
            Unary::Relu
            | Unary::Abs
            | Unary::Neg
            | Unary::Sign
            | Unary::Floor
            | Unary::Ceil
            | Unary::Round
            | Unary::Not => 1,
            Unary::LeakyRelu { .. } | Unary::ThresholdedRelu { .. } | Unary::Reciprocal => 2,
            Unary::HardSigmoid { .. } | Unary::HardSwish | Unary::Softsign => 4,
            _ => FUNCTION_OPERATIONS,
        }
    }
}
