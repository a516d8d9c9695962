//! Types of what an operator makes, from those of what it reads.

use crate::arguments::{Types, axis_or_end};
use crate::transposed_convolution::Attributes;
use crate::{
    ElementType, Elements, Operator, OperatorError, Tensor, ValueType, binary, convolution, filling, layout,
    matrix, normalisation, pieces, pooling, quantised, reduction, resize, transposed_convolution, unary,
};

impl Operator {
    /// Returns the types of the first `outputs` outputs.
    ///
    /// `known` has the values of inputs that are constants; those that decide about shapes must be among them.
    ///
    /// # Errors
    /// When inputs or attributes are wrong, or an output would be larger than [`LARGEST_TENSOR`](crate::LARGEST_TENSOR).
    pub fn infer(
        &self,
        inputs: &[Option<ValueType>],
        known: &[Option<&Tensor>],
        outputs: usize,
    ) -> Result<Vec<ValueType>, OperatorError> {
        let types = Types { types: inputs, known };
        for input in inputs.iter().flatten() {
            input.elements()?;
        }
        let mut made = self.made(types, outputs)?;
        if outputs > made.len() {
            return Err(OperatorError::TooMany { what: "outputs", found: outputs, most: made.len() });
        }
        made.truncate(outputs);
        let mut bytes = 0_usize;
        for made in &made {
            bytes += made.elements()? * made.element_type.bytes();
        }
        if bytes > crate::LARGEST_TENSOR {
            return Err(OperatorError::TooLarge { what: format!("{outputs} outputs") });
        }
        Ok(made)
    }

    fn made(&self, types: Types<'_>, outputs: usize) -> Result<Vec<ValueType>, OperatorError> {
        let one = match self {
            Operator::Conv(spatial) => convolution::infer(spatial, types),
            Operator::ConvTranspose { .. } => match self.transposed() {
                Some(attributes) => transposed_convolution::infer(attributes, types),
                None => Ok(types.required(0)?.clone()),
            },
            Operator::ConvInteger(spatial) => convolution::infer_integer(spatial, types),
            Operator::QLinearConv(spatial) => quantised::infer_convolution(spatial, types),
            Operator::Gemm(gemm) => matrix::infer_gemm(gemm, types),
            Operator::MatMul => matrix::infer(types),
            Operator::MatMulInteger => quantised::infer_integer_product(types),
            Operator::QLinearMatMul => quantised::infer_product(types),
            Operator::BatchNormalization { .. } => normalisation::infer_channels(types, 5),
            Operator::LayerNormalization { axis, .. } => return normalisation::infer_layer(*axis, types),
            Operator::InstanceNormalization { .. } => normalisation::infer_channels(types, 3),
            Operator::Unary(function) => unary::infer(*function, types),
            Operator::Binary(function) => binary::infer(*function, types),
            Operator::PRelu => binary::infer_prelu(types),
            Operator::Clip => binary::infer_clip(types),
            Operator::Variadic(reduction) => binary::infer_variadic(*reduction, types),
            Operator::MaxPool(pooling) => pooling::infer(pooling, types, true),
            Operator::AveragePool { pooling, .. } => pooling::infer(pooling, types, false),
            Operator::GlobalAveragePool | Operator::GlobalMaxPool => pooling::infer_global(types),
            Operator::Reduce { reduction, axes, keeps } => reduction::infer(*reduction, axes, *keeps, types),
            Operator::ArgMax { axis, keeps, .. } => reduction::infer_place(*axis, *keeps, types),
            Operator::LocalResponse(response) => normalisation::infer_response(response, types),
            Operator::Concat { axis } => pieces::infer_concat(*axis, types),
            Operator::Split { axis, sizes } => {
                return pieces::infer_split(*axis, sizes.as_deref(), outputs, types);
            }
            Operator::Slice => pieces::infer_slice(types),
            Operator::Pad { mode } => filling::infer_pad(*mode, types),
            Operator::Flatten { axis } => layout::infer_flatten(*axis, types),
            Operator::Reshape { allows_zero } => layout::infer_reshape(*allows_zero, types),
            Operator::Squeeze { axes } => layout::infer_squeeze(axes, types),
            Operator::Unsqueeze { axes } => layout::infer_unsqueeze(axes, types),
            Operator::Transpose { permutation } => layout::infer_transpose(permutation, types),
            Operator::DepthToSpace { block, .. } => layout::infer_depth_to_space(*block, types),
            Operator::SpaceToDepth { block } => layout::infer_space_to_depth(*block, types),
            Operator::Cast { to } => unary::infer_cast(*to, types),
            Operator::Resize(resize) => resize::infer(resize, types),
            Operator::Softmax { axis } | Operator::LogSoftmax { axis } => {
                normalisation::infer_softmax(*axis, false, types)
            }
            Operator::FlatSoftmax { axis, .. } => normalisation::infer_softmax(*axis, true, types),
            Operator::QuantizeLinear { axis } => quantised::infer_quantize(*axis, types),
            Operator::DequantizeLinear { axis } => quantised::infer_dequantize(*axis, types),
            Operator::DynamicQuantizeLinear => return quantised::infer_dynamic(types),
            Operator::Identity => types.required(0).cloned(),
            Operator::Shape { start, end } => {
                let rank = types.required(0)?.rank();
                Ok(ValueType::new(ElementType::Int64, [shape_part(*start, *end, rank)?.len()]))
            }
            Operator::Gather { axis } => pieces::infer_gather(*axis, types),
            Operator::Expand => filling::infer_expand(types),
            Operator::Tile => filling::infer_tile(types),
            Operator::Where => binary::infer_where(types),
            Operator::ConstantOfShape { value } => filling::infer_filled(value, types),
            Operator::Range => filling::infer_range(types),
        };
        one.map(|one| vec![one])
    }

    /// Returns the attributes of a `ConvTranspose`.
    pub(crate) fn transposed(&self) -> Option<Attributes<'_>> {
        match self {
            Operator::ConvTranspose { spatial, output_padding, output_shape } => {
                Some(Attributes { spatial, output_padding, output_shape: output_shape.as_deref() })
            }
            _ => None,
        }
    }

    /// Returns the output that follows from the types of inputs alone: that of `Shape`.
    ///
    /// # Errors
    /// When inputs or attributes are wrong.
    pub fn known_by_types(&self, inputs: &[Option<ValueType>]) -> Result<Option<Tensor>, OperatorError> {
        let Operator::Shape { start, end } = self else { return Ok(None) };
        let types = Types { types: inputs, known: &[] };
        let shape = &types.required(0)?.shape;
        let sizes: Vec<i64> =
            shape[shape_part(*start, *end, shape.len())?].iter().map(|&size| size as i64).collect();
        Ok(Some(Tensor::of([sizes.len()], Elements::Int64(sizes))))
    }
}

/// Returns the axes that `Shape` tells; places beyond the axes are the first or behind the last.
fn shape_part(start: i64, end: Option<i64>, rank: usize) -> Result<std::ops::Range<usize>, OperatorError> {
    let place = |place: i64| {
        let place = if place < 0 { place.saturating_add(rank as i64) } else { place };
        axis_or_end(place.clamp(0, rank as i64), rank)
    };
    let (start, end) = (place(start)?, end.map_or(Ok(rank), place)?);
    Ok(start..end.max(start))
}
