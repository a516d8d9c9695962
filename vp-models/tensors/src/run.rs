//! Evaluation of an operator.

use crate::arguments::{Tensors, Types};
use crate::{
    Elements, Operator, OperatorError, Tensor, ValueType, binary, convolution, filling, layout, matrix,
    normalisation, pieces, pooling, quantised, reduction, resize, transposed_convolution, unary,
};

impl Operator {
    /// Returns the first `outputs` outputs for these inputs; none where an optional input is left out.
    ///
    /// The result does not depend on the number of cores.
    ///
    /// # Errors
    /// When inputs or attributes are wrong, or an output would be larger than [`LARGEST_TENSOR`](crate::LARGEST_TENSOR).
    pub fn run(&self, inputs: &[Option<&Tensor>], outputs: usize) -> Result<Vec<Tensor>, OperatorError> {
        let types: Vec<_> = inputs.iter().map(|input| input.map(ValueType::of)).collect();
        let made = self.infer(&types, inputs, outputs)?;
        let Some(first) = made.first() else { return Ok(Vec::new()) };
        let types = Types { types: &types, known: inputs };
        let tensors = Tensors(inputs);
        let elements = match self {
            Operator::LayerNormalization { axis, epsilon } => {
                return normalisation::run_layer(*axis, *epsilon, tensors, &made);
            }
            Operator::Split { axis, .. } => return pieces::run_split(*axis, tensors, &made),
            Operator::DynamicQuantizeLinear => {
                let mut tensors = quantised::run_dynamic(tensors)?;
                tensors.truncate(outputs);
                return Ok(tensors);
            }
            _ => self.elements(types, tensors, first)?,
        };
        Ok(vec![Tensor::of(first.shape.clone(), elements)])
    }

    /// Returns the elements of an operator's only output.
    fn elements(
        &self,
        types: Types<'_>,
        tensors: Tensors<'_>,
        made: &ValueType,
    ) -> Result<Elements, OperatorError> {
        match self {
            Operator::Conv(spatial) => convolution::run(spatial, tensors, made),
            Operator::ConvTranspose { .. } => match self.transposed() {
                Some(attributes) => transposed_convolution::run(attributes, tensors, made),
                None => Ok(tensors.required(0)?.elements.clone()),
            },
            Operator::ConvInteger(spatial) => convolution::run_integer(spatial, tensors),
            Operator::QLinearConv(spatial) => quantised::run_convolution(spatial, tensors, made),
            Operator::Gemm(gemm) => matrix::run_gemm(gemm, tensors, made),
            Operator::MatMul => matrix::run(tensors, made),
            Operator::MatMulInteger => quantised::run_integer_product(tensors, made),
            Operator::QLinearMatMul => quantised::run_product(tensors, made),
            Operator::BatchNormalization { epsilon } => normalisation::run_batch(*epsilon, tensors),
            Operator::InstanceNormalization { epsilon } => normalisation::run_instance(*epsilon, tensors),
            Operator::Unary(function) => unary::run(*function, tensors),
            Operator::Binary(function) => binary::run(*function, tensors, made),
            Operator::PRelu => binary::run_prelu(tensors),
            Operator::Clip => binary::run_clip(tensors),
            Operator::Variadic(reduction) => binary::run_variadic(*reduction, tensors, made),
            Operator::MaxPool(pooling) => pooling::run_max(pooling, tensors, made),
            Operator::AveragePool { pooling, counts_padding } => {
                pooling::run_average(pooling, *counts_padding, tensors, made)
            }
            Operator::GlobalAveragePool => pooling::run_global(tensors, true),
            Operator::GlobalMaxPool => pooling::run_global(tensors, false),
            Operator::Reduce { reduction, axes, .. } => reduction::run(*reduction, axes, tensors),
            Operator::ArgMax { axis, last, .. } => reduction::run_place(*axis, *last, tensors),
            Operator::LocalResponse(response) => normalisation::run_response(response, tensors),
            Operator::Concat { axis } => pieces::run_concat(*axis, tensors, made),
            Operator::Slice => pieces::run_slice(types, tensors, made),
            Operator::Pad { mode } => filling::run_pad(*mode, types, tensors, made),
            Operator::Transpose { permutation } => layout::run_transpose(permutation, tensors, made),
            Operator::DepthToSpace { block, is_column_first } => {
                layout::run_depth_to_space(*block, *is_column_first, tensors, made)
            }
            Operator::SpaceToDepth { block } => layout::run_space_to_depth(*block, tensors),
            Operator::Cast { to } => Ok(unary::cast(*to, &tensors.required(0)?.elements)),
            Operator::Resize(resize) => resize::run(resize, types, tensors),
            Operator::Softmax { axis } => normalisation::run_softmax(*axis, false, false, tensors),
            Operator::LogSoftmax { axis } => normalisation::run_softmax(*axis, false, true, tensors),
            Operator::FlatSoftmax { axis, is_logarithm } => {
                normalisation::run_softmax(*axis, true, *is_logarithm, tensors)
            }
            Operator::QuantizeLinear { axis } => quantised::run_quantize(*axis, tensors, made),
            Operator::DequantizeLinear { axis } => quantised::run_dequantize(*axis, tensors),
            Operator::Shape { .. } => match self.known_by_types(types.types)? {
                Some(shape) => Ok(shape.elements),
                None => Ok(tensors.required(0)?.elements.clone()),
            },
            Operator::Gather { axis } => pieces::run_gather(*axis, tensors),
            Operator::Expand => filling::run_expand(tensors, made),
            Operator::Tile => filling::run_tile(tensors, made),
            Operator::Where => binary::run_where(tensors, made),
            Operator::ConstantOfShape { value } => filling::run_filled(value, made),
            Operator::Range => filling::run_range(tensors, made),
            // The elements stay as they are.
            Operator::Identity
            | Operator::Flatten { .. }
            | Operator::Reshape { .. }
            | Operator::Squeeze { .. }
            | Operator::Unsqueeze { .. }
            // Their outputs are made by the caller.
            | Operator::LayerNormalization { .. }
            | Operator::Split { .. }
            | Operator::DynamicQuantizeLinear => Ok(tensors.required(0)?.elements.clone()),
        }
    }
}
