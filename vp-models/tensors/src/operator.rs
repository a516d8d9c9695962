//! Operators of ONNX with their attributes as they count after defaults and versions of operator sets: one form for all versions.
//!
//! What older versions have as attributes and newer ones as inputs (axes, pads, bounds, sizes) is an input where it may be no
//! constant (`Slice`, `Pad`, `Clip`, `Reshape`, `Resize`), else an attribute here.

use strum::{EnumString, IntoStaticStr};

/// Operator of a node.
#[derive(Clone, Debug, PartialEq, IntoStaticStr)]
pub enum Operator {
    /// `Conv`: input, weights, bias.
    Conv(Spatial),
    /// `ConvTranspose`: input, weights, bias. `output_padding`: more lines and columns at the end.
    ConvTranspose {
        /// Windows.
        spatial: Spatial,
        /// More lines and columns at the end.
        output_padding: Vec<usize>,
        /// Size of the output in place of padding, if it is given.
        output_shape: Option<Vec<usize>>,
    },
    /// `ConvInteger`: input, weights, zero points of both.
    ConvInteger(Spatial),
    /// `QLinearConv`: the nine inputs of ONNX.
    QLinearConv(Spatial),
    /// `Gemm`: A, B, C.
    Gemm(Gemm),
    /// `MatMul`: A, B.
    MatMul,
    /// `MatMulInteger`: A, B, zero points of both.
    MatMulInteger,
    /// `QLinearMatMul`: the eight inputs of ONNX.
    QLinearMatMul,
    /// `BatchNormalization`: input, scale, bias, mean, variance.
    BatchNormalization {
        /// Added to the variance.
        epsilon: f32,
    },
    /// `LayerNormalization`: input, scale, bias; over the axes from this one on.
    LayerNormalization {
        /// First axis.
        axis: i64,
        /// Added to the variance.
        epsilon: f32,
    },
    /// `InstanceNormalization`: input, scale, bias.
    InstanceNormalization {
        /// Added to the variance.
        epsilon: f32,
    },
    /// A function of each element.
    Unary(Unary),
    /// A function of two tensors' elements, which are broadcast.
    Binary(Binary),
    /// `PRelu`: input, slopes.
    PRelu,
    /// `Clip`: input, lower and upper bound, each optional.
    Clip,
    /// `Max`, `Min`, `Sum`, `Mean` of any number of tensors, which are broadcast.
    Variadic(Reduction),
    /// `MaxPool`; only the first output.
    MaxPool(Pooling),
    /// `AveragePool`.
    AveragePool {
        /// Windows.
        pooling: Pooling,
        /// True if padding counts in the divisor.
        counts_padding: bool,
    },
    /// `GlobalAveragePool`.
    GlobalAveragePool,
    /// `GlobalMaxPool`.
    GlobalMaxPool,
    /// `ReduceMean` and its kin.
    Reduce {
        /// Function.
        reduction: Reduction,
        /// Axes; empty: all of them.
        axes: Vec<i64>,
        /// True if reduced axes stay, with size 1.
        keeps: bool,
    },
    /// `ArgMax`.
    ArgMax {
        /// Axis.
        axis: i64,
        /// True if the axis stays, with size 1.
        keeps: bool,
        /// True if of equal elements the last one is taken.
        last: bool,
    },
    /// `LRN`.
    #[strum(serialize = "LRN")]
    LocalResponse(LocalResponse),
    /// `Concat`.
    Concat {
        /// Axis.
        axis: i64,
    },
    /// `Split`: into the outputs, of these sizes.
    Split {
        /// Axis.
        axis: i64,
        /// Sizes of the parts; none: equal ones.
        sizes: Option<Vec<usize>>,
    },
    /// `Slice`: data, starts, ends, axes, steps.
    Slice,
    /// `Pad`: data, pads, value, axes.
    Pad {
        /// Way in which the room is filled.
        mode: PadMode,
    },
    /// `Flatten`.
    Flatten {
        /// First axis of the inner dimension.
        axis: i64,
    },
    /// `Reshape`: data, shape.
    Reshape {
        /// True if 0 stands for an empty axis, and not for the input's size.
        allows_zero: bool,
    },
    /// `Squeeze`.
    Squeeze {
        /// Axes; empty: all of size 1.
        axes: Vec<i64>,
    },
    /// `Unsqueeze`.
    Unsqueeze {
        /// Axes of the output.
        axes: Vec<i64>,
    },
    /// `Transpose`.
    Transpose {
        /// The input's axis of each axis of the output; empty: reversed.
        permutation: Vec<usize>,
    },
    /// `DepthToSpace`.
    DepthToSpace {
        /// Size of blocks.
        block: usize,
        /// True for mode `CRD`, false for `DCR`.
        is_column_first: bool,
    },
    /// `SpaceToDepth`.
    SpaceToDepth {
        /// Size of blocks.
        block: usize,
    },
    /// `Cast`.
    Cast {
        /// Type of the output.
        to: crate::ElementType,
    },
    /// `Resize` and `Upsample`: input, regions, scales, sizes.
    Resize(Resize),
    /// `Softmax`, over one axis (from operator set 13 on).
    Softmax {
        /// Axis.
        axis: i64,
    },
    /// `LogSoftmax`, as `Softmax`.
    LogSoftmax {
        /// Axis.
        axis: i64,
    },
    /// `Softmax` and `LogSoftmax` of older operator sets: over all axes from this one on at once.
    FlatSoftmax {
        /// First axis.
        axis: i64,
        /// True for the logarithm.
        is_logarithm: bool,
    },
    /// `QuantizeLinear`: input, scale, zero point.
    QuantizeLinear {
        /// Axis of scales, if there are several.
        axis: i64,
    },
    /// `DequantizeLinear`: input, scale, zero point.
    DequantizeLinear {
        /// Axis of scales, if there are several.
        axis: i64,
    },
    /// `DynamicQuantizeLinear`.
    DynamicQuantizeLinear,
    /// `Identity`, and `Dropout` when a network answers.
    Identity,
    /// `Shape`.
    Shape {
        /// First axis.
        start: i64,
        /// Axis behind the last one, if it is given.
        end: Option<i64>,
    },
    /// `Gather`: data, indices.
    Gather {
        /// Axis.
        axis: i64,
    },
    /// `Expand`: input, shape.
    Expand,
    /// `Tile`: input, repeats.
    Tile,
    /// `Where`: condition, and both choices.
    Where,
    /// `ConstantOfShape`: shape.
    ConstantOfShape {
        /// The element.
        value: Box<crate::Tensor>,
    },
    /// `Range`: start, limit, delta.
    Range,
}

/// Function of an element.
#[derive(Clone, Copy, Debug, PartialEq, IntoStaticStr, EnumString)]
pub enum Unary {
    /// `Relu`.
    Relu,
    /// `LeakyRelu`.
    LeakyRelu {
        /// Slope of negative numbers.
        alpha: f32,
    },
    /// `ThresholdedRelu`.
    ThresholdedRelu {
        /// Threshold.
        alpha: f32,
    },
    /// `Elu`.
    Elu {
        /// Factor of negative numbers.
        alpha: f32,
    },
    /// `Selu`.
    Selu {
        /// Factor of negative numbers.
        alpha: f32,
        /// Factor of all.
        gamma: f32,
    },
    /// `Celu`.
    Celu {
        /// Scale of negative numbers.
        alpha: f32,
    },
    /// `Sigmoid`.
    Sigmoid,
    /// `HardSigmoid`.
    HardSigmoid {
        /// Slope.
        alpha: f32,
        /// Value at 0.
        beta: f32,
    },
    /// `HardSwish`.
    HardSwish,
    /// `x * Sigmoid(alpha * x)`: `Swish`, with 1 also known as Silu.
    Swish {
        /// Factor within.
        alpha: f32,
    },
    /// `Tanh`.
    Tanh,
    /// `Gelu`.
    Gelu {
        /// True for the approximation by tanh.
        is_approximate: bool,
    },
    /// `Mish`.
    Mish,
    /// `Softplus`.
    Softplus,
    /// `Softsign`.
    Softsign,
    /// `Exp`.
    Exp,
    /// `Log`.
    Log,
    /// `Sqrt`.
    Sqrt,
    /// `Reciprocal`.
    Reciprocal,
    /// `Abs`.
    Abs,
    /// `Neg`.
    Neg,
    /// `Sign`.
    Sign,
    /// `Floor`.
    Floor,
    /// `Ceil`.
    Ceil,
    /// `Round`, to even.
    Round,
    /// `Erf`.
    Erf,
    /// `Sin`.
    Sin,
    /// `Cos`.
    Cos,
    /// `Not`.
    Not,
}

/// Function of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Binary {
    /// `Add`.
    Add,
    /// `Sub`.
    Sub,
    /// `Mul`.
    Mul,
    /// `Div`.
    Div,
    /// `Pow`.
    Pow,
    /// `Mod`.
    Mod {
        /// True if the rest has the sign of the dividend (`fmod`), false if that of the divisor.
        is_truncated: bool,
    },
    /// `Equal`.
    Equal,
    /// `Greater`.
    Greater,
    /// `GreaterOrEqual`.
    GreaterOrEqual,
    /// `Less`.
    Less,
    /// `LessOrEqual`.
    LessOrEqual,
    /// `And`.
    And,
    /// `Or`.
    Or,
}

/// Function of many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(prefix = "Reduce")]
pub enum Reduction {
    /// Largest.
    Max,
    /// Smallest.
    Min,
    /// Sum.
    Sum,
    /// Mean.
    Mean,
    /// Product.
    #[strum(serialize = "Prod")]
    Product,
    /// Root of the sum of squares.
    L2,
    /// Sum of squares.
    #[strum(serialize = "SumSquare")]
    SumOfSquares,
}

/// Padding by a rule, `auto_pad`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoPad {
    /// `NOTSET`: by `pads`.
    #[default]
    NotSet,
    /// `SAME_UPPER`.
    SameUpper,
    /// `SAME_LOWER`.
    SameLower,
    /// `VALID`.
    Valid,
}

/// Windows over spatial axes; each list has as many entries as there are of these, the slowest axis first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spatial {
    /// Sizes.
    pub kernel: Vec<usize>,
    /// Steps.
    pub strides: Vec<usize>,
    /// Distances of taps.
    pub dilations: Vec<usize>,
    /// Padding before the first element.
    pub before: Vec<usize>,
    /// Padding behind the last element.
    pub after: Vec<usize>,
    /// Rule for padding, which is in place of these.
    pub auto_pad: AutoPad,
    /// Groups of channels.
    pub groups: usize,
}

/// Windows of a pooling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pooling {
    /// The windows; one group.
    pub spatial: Spatial,
    /// True if a window that is not whole counts at the end.
    pub rounds_up: bool,
}

/// Attributes of `Gemm`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm {
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of C.
    pub beta: f32,
    /// True if A is transposed.
    pub transposes_a: bool,
    /// True if B is transposed.
    pub transposes_b: bool,
}

/// Attributes of `LRN`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalResponse {
    /// Channels.
    pub size: usize,
    /// Factor of the sum of squares, which is divided by the size.
    pub alpha: f32,
    /// Exponent.
    pub beta: f32,
    /// Added to the sum.
    pub bias: f32,
}

/// Way in which `Pad` fills the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PadMode {
    /// `constant`.
    Constant,
    /// `reflect`.
    Reflect,
    /// `edge`.
    Edge,
    /// `wrap`.
    Wrap,
}

/// Attributes of `Resize`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// Interpolation.
    pub interpolation: Interpolation,
    /// Place in the input of an element of the output.
    pub coordinates: CoordinateTransformation,
    /// Rounding of coordinates for the nearest element.
    pub nearest: NearestMode,
}

/// `mode` of `Resize`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interpolation {
    /// `nearest`.
    Nearest,
    /// `linear`.
    Linear,
    /// `cubic`.
    Cubic {
        /// `cubic_coeff_a`.
        coefficient: f32,
    },
}

/// `coordinate_transformation_mode` of `Resize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoordinateTransformation {
    /// `half_pixel`.
    HalfPixel,
    /// `half_pixel_symmetric`.
    HalfPixelSymmetric,
    /// `pytorch_half_pixel`.
    PytorchHalfPixel,
    /// `align_corners`.
    AlignCorners,
    /// `asymmetric`.
    Asymmetric,
}

/// `nearest_mode` of `Resize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearestMode {
    /// `round_prefer_floor`.
    RoundPreferFloor,
    /// `round_prefer_ceil`.
    RoundPreferCeil,
    /// `floor`.
    Floor,
    /// `ceil`.
    Ceil,
}
