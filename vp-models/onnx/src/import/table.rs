//! Operators that are read, and what is said about others.

use super::VERSIONS;
use crate::model::Model;
use crate::problem::Fault;
use std::collections::HashSet;
use std::sync::LazyLock;

/// An operator that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supported {
    /// Domain; empty for ONNX's own.
    pub domain: &'static str,
    /// Name.
    pub name: &'static str,
    /// First version of the operator set that has it, from the oldest that is read on.
    pub since: i64,
    /// Limits of what is read, or empty.
    pub limits: &'static str,
}

const WINDOWS: &str = "one to three spatial axes";
const BYTES: &str = "int8 and uint8";

/// Returns all operators that are read, by name.
pub fn supported() -> impl Iterator<Item = Supported> {
    let onnx = ONNX.iter().map(|&(name, since, limits)| Supported { domain: "", name, since, limits });
    let microsoft = MICROSOFT.iter();
    onnx.chain(microsoft.map(|&(name, limits)| Supported { domain: "com.microsoft", name, since: 1, limits }))
}

const ONNX: [(&str, i64, &str); 106] = [
    ("Abs", 7, ""),
    ("Add", 7, ""),
    ("And", 7, ""),
    ("ArgMax", 7, ""),
    ("ArgMin", 7, ""),
    ("AveragePool", 7, WINDOWS),
    ("BatchNormalization", 7, "with given mean and variance"),
    ("Cast", 7, "types that are read"),
    ("CastLike", 15, "types that are read"),
    ("Ceil", 7, ""),
    ("Celu", 12, ""),
    ("Clip", 7, "bounds of one element"),
    ("Concat", 7, ""),
    ("Constant", 7, "no text, no sparse tensor"),
    ("ConstantOfShape", 9, ""),
    ("Conv", 7, WINDOWS),
    ("ConvInteger", 10, WINDOWS),
    ("ConvTranspose", 7, WINDOWS),
    ("Cos", 7, ""),
    ("DepthToSpace", 7, ""),
    ("DequantizeLinear", 10, "int8, uint8 and int32; no blocks"),
    ("Div", 7, ""),
    ("Dropout", 7, "as Identity"),
    ("DynamicQuantizeLinear", 11, ""),
    ("Elu", 7, ""),
    ("Equal", 7, ""),
    ("Erf", 9, ""),
    ("Exp", 7, ""),
    ("Expand", 8, "a constant shape"),
    ("Flatten", 7, ""),
    ("Floor", 7, ""),
    ("Gather", 7, ""),
    ("Gelu", 20, ""),
    ("Gemm", 7, "float"),
    ("GlobalAveragePool", 7, ""),
    ("GlobalMaxPool", 7, ""),
    ("Greater", 7, ""),
    ("GreaterOrEqual", 12, ""),
    ("HardSigmoid", 7, ""),
    ("HardSwish", 14, ""),
    ("Identity", 7, ""),
    ("InstanceNormalization", 7, ""),
    ("LRN", 7, ""),
    ("LayerNormalization", 17, ""),
    ("LeakyRelu", 7, ""),
    ("Less", 7, ""),
    ("LessOrEqual", 12, ""),
    ("Log", 7, ""),
    ("LogSoftmax", 7, ""),
    ("MatMul", 7, "float"),
    ("MatMulInteger", 10, "one zero point, or one a column on the right"),
    ("Max", 7, ""),
    ("MaxPool", 7, "float, int8 and uint8; only the first output"),
    ("Mean", 7, ""),
    ("Min", 7, ""),
    ("Mish", 18, ""),
    ("Mod", 10, ""),
    ("Mul", 7, ""),
    ("Neg", 7, ""),
    ("Not", 7, ""),
    ("Or", 7, ""),
    ("PRelu", 7, "float"),
    ("Pad", 7, "constant pads"),
    ("Pow", 7, ""),
    ("QLinearConv", 10, WINDOWS),
    ("QLinearMatMul", 10, "one scale, or one a column on the right"),
    ("QuantizeLinear", 10, BYTES),
    ("Range", 11, "constants"),
    ("Reciprocal", 7, ""),
    ("ReduceL1", 7, "constant axes"),
    ("ReduceL2", 7, "constant axes"),
    ("ReduceLogSum", 7, "constant axes"),
    ("ReduceMax", 7, "constant axes"),
    ("ReduceMean", 7, "constant axes"),
    ("ReduceMin", 7, "constant axes"),
    ("ReduceProd", 7, "constant axes"),
    ("ReduceSum", 7, "constant axes"),
    ("ReduceSumSquare", 7, "constant axes"),
    ("Relu", 7, ""),
    ("Reshape", 7, "a constant shape"),
    ("Resize", 10, "constant scales or sizes; no crops, no antialias"),
    ("Round", 11, ""),
    ("Selu", 7, ""),
    ("Shape", 7, ""),
    ("Sigmoid", 7, ""),
    ("Sign", 9, ""),
    ("Sin", 7, ""),
    ("Size", 7, ""),
    ("Slice", 7, "constant bounds"),
    ("Softmax", 7, ""),
    ("Softplus", 7, ""),
    ("Softsign", 7, ""),
    ("SpaceToDepth", 7, ""),
    ("Split", 7, "constant sizes"),
    ("Sqrt", 7, ""),
    ("Squeeze", 7, "constant axes"),
    ("Sub", 7, ""),
    ("Sum", 7, ""),
    ("Swish", 24, ""),
    ("Tanh", 7, ""),
    ("ThresholdedRelu", 10, ""),
    ("Tile", 7, "constant repeats"),
    ("Transpose", 7, ""),
    ("Unsqueeze", 7, "constant axes"),
    ("Upsample", 7, "constant scales"),
    ("Where", 9, ""),
];

const MICROSOFT: [(&str, &str); 12] = [
    ("FusedConv", "with Relu, LeakyRelu, Clip, Sigmoid, Tanh or HardSigmoid; no sum"),
    ("FusedGemm", "with the same"),
    ("Gelu", ""),
    ("QGemm", BYTES),
    ("QLinearAdd", BYTES),
    ("QLinearAveragePool", BYTES),
    ("QLinearConcat", BYTES),
    ("QLinearGlobalAveragePool", BYTES),
    ("QLinearLeakyRelu", BYTES),
    ("QLinearMul", BYTES),
    ("QLinearSigmoid", BYTES),
    ("QLinearSoftmax", BYTES),
];

/// Returns why an operator is not read, if it is not.
pub(crate) fn refused(model: &Model, domain: &str, operator: &str) -> Option<Fault> {
    let is_local = |(of, name): &(String, String)| of == domain && name == operator;
    if model.functions.iter().any(is_local) {
        let fault = Fault::with(
            format!("it calls the model's own function `{operator}`, which is not read"),
            "inline functions with onnx.inliner.inline_local_functions",
        );
        return Some(fault);
    }
    static NAMES: LazyLock<HashSet<(&str, &str)>> =
        LazyLock::new(|| supported().map(|supported| (supported.domain, supported.name)).collect());
    (!NAMES.contains(&(domain, operator))).then(|| unknown(domain, operator))
}

/// Returns what is said about an operator that is not read.
pub(crate) fn unknown(domain: &str, operator: &str) -> Fault {
    let advice = match (domain, operator) {
        ("", "If" | "Loop" | "Scan" | "SequenceMap") => {
            "export the model without control flow, for instance by tracing it with fixed shapes".to_owned()
        }
        ("", "LSTM" | "GRU" | "RNN") => {
            "cut the model before it; recurrent layers are not computed".to_owned()
        }
        ("", "NonMaxSuppression" | "TopK" | "NonZero" | "Unique" | "RoiAlign") => {
            "cut the model before it, and do this with its outputs".to_owned()
        }
        ("", _) => format!(
            "export it as operators of ONNX's operator sets {} to {} that are read (docs/onnx.md lists them), or cut the model before it",
            VERSIONS.start(),
            VERSIONS.end()
        ),
        (domain, _) => format!("export it of ONNX's own operators in place of those of {domain}"),
    };
    Fault::with("this operator is not read", advice)
}
