//! ONNX models: whatever the bytes are, they are read, or refused, within bounded time and memory; and what is made of
//! them has the types that were inferred.
//!
//! A case: a byte; if it is even the rest is a file, else the rest chooses nodes, attributes and constants of a model.

pub(super) mod written;

use vp_onnx::{Model, Options};
use vp_tensors::{ElementType, Elements, Graph, Tensor, ValueType};
use written::{Attribute, Bytes, Constant, Node};

use super::{Choices, Form};

/// Form of the target's cases.
pub const FORM: Form = Form::Bytes;

/// Most operations with which constants are made, and with which a graph is run.
const OPERATIONS: u64 = 1 << 20;
/// Most elements of a graph that is run.
const ELEMENTS: usize = 1 << 18;
/// Most bytes of constants that are made of others.
const MEMORY: usize = 1 << 22;

/// Runs a case; tells how many nodes were run.
///
/// # Panics
/// When what reads it does, or an output has another type than was inferred.
pub fn run(case: &[u8]) -> u64 {
    let mut choices = Choices::new(case);
    let file = match choices.byte() % 2 {
        0 => choices.rest().to_vec(),
        _ => drawn(&mut choices),
    };
    // A file beside the model has whatever bytes are wanted.
    let mut beside = |place: &str, offset: u64, length: u64| match length {
        0..=65_536 => Ok(vec![place.len() as u8 ^ offset as u8; length as usize]),
        _ => Err("too long".to_owned()),
    };
    let Ok(model) = Model::read(&file, &mut beside) else { return 0 };
    let options = Options { memory: MEMORY, operations: OPERATIONS, ..Options::default() };
    match model.graph(&options) {
        Ok(imported) => evaluated(&imported.graph),
        Err(problems) => {
            assert!(
                !problems.list.is_empty() && problems.to_string().lines().count() <= problems.list.len() + 1
            );
            0
        }
    }
}

/// Runs a graph, if it is a small one; tells how many nodes it has.
fn evaluated(graph: &Graph) -> u64 {
    let operations = graph.nodes.iter().map(|node| graph.operations(node)).fold(0, u64::saturating_add);
    let elements: usize = graph.values.iter().map(|value| value.shape.iter().product::<usize>()).sum();
    if operations > OPERATIONS || elements > ELEMENTS {
        return 0;
    }
    let inputs: Vec<Tensor> = graph.inputs.iter().map(|&id| input(graph.value(id))).collect();
    let mut nodes = 0;
    // A value may still be wrong, as a divisor or an index.
    let _ = graph.run_each(&inputs, &mut |id, tensor| {
        let value = graph.value(id);
        let inferred = ValueType::new(value.element_type, value.shape.clone());
        assert_eq!(ValueType::of(tensor), inferred, "`{}`", value.name);
        nodes += 1;
    });
    nodes
}

fn input(value: &vp_tensors::Value) -> Tensor {
    let numbers = (0..value.shape.iter().product()).map(|at: usize| (at % 11) as i8 - 5);
    let elements = match value.element_type {
        ElementType::Float => Elements::Float(numbers.map(|number| f32::from(number) / 2.0).collect()),
        ElementType::Int64 => Elements::Int64(numbers.map(Into::into).collect()),
        ElementType::Int32 => Elements::Int32(numbers.map(Into::into).collect()),
        ElementType::Int8 => Elements::Int8(numbers.collect()),
        ElementType::Uint8 => Elements::Uint8(numbers.map(|number| number as u8).collect()),
        ElementType::Bool => Elements::Bool(numbers.map(|number| number > 0).collect()),
    };
    Tensor::of(value.shape.clone(), elements)
}

/// Name, inputs and attributes of an operator, of which the first is there always. An input is a letter: f for floats, i for
/// integers of shapes, b for bytes, c for conditions; behind a dash they may be left out.
type Kind = (&'static str, &'static str, &'static [&'static str]);

const WINDOWS: &[&str] = &["kernel_shape", "strides", "dilations", "pads", "auto_pad", "group"];
const POOLING: &[&str] = &["kernel_shape", "strides", "dilations", "pads", "auto_pad", "ceil_mode"];

/// Operators with more than an input; others have one, and no attributes.
const KINDS: [Kind; 44] = [
    ("Conv", "ff-f", WINDOWS),
    ("ConvInteger", "bb-bb", WINDOWS),
    ("QLinearConv", "bfbbfbfb-i", WINDOWS),
    (
        "ConvTranspose",
        "ff-f",
        &["kernel_shape", "strides", "pads", "auto_pad", "group", "output_padding", "output_shape"],
    ),
    ("MaxPool", "f", POOLING),
    ("AveragePool", "f", POOLING),
    ("Gemm", "ff-f", &["transA", "transB", "alpha", "beta"]),
    ("MatMul", "ff", &[]),
    ("MatMulInteger", "bb-bb", &[]),
    ("QLinearMatMul", "bfbbfbfb", &[]),
    ("BatchNormalization", "fffff", &["epsilon"]),
    ("InstanceNormalization", "fff", &["epsilon"]),
    ("LayerNormalization", "ff-f", &["axis", "epsilon"]),
    ("LRN", "f", &["size", "alpha", "beta", "bias"]),
    ("Add", "ff", &[]),
    ("Div", "ii", &[]),
    ("Mul", "ff", &[]),
    ("Pow", "ff", &[]),
    ("Less", "ff", &[]),
    ("Equal", "ii", &[]),
    ("Where", "cff", &[]),
    ("PRelu", "ff", &[]),
    ("Clip", "f-ff", &[]),
    ("Max", "ff-f", &[]),
    ("Mean", "f-ff", &[]),
    ("Concat", "ff-f", &["axis"]),
    ("Split", "f-i", &["axis", "split"]),
    ("Slice", "fii-ii", &[]),
    ("Pad", "fi-fi", &["mode"]),
    ("Gather", "fi", &["axis"]),
    ("Reshape", "fi", &["allowzero"]),
    ("Squeeze", "f-i", &["axes"]),
    ("Unsqueeze", "fi", &["axes"]),
    ("Transpose", "f", &["perm"]),
    ("Expand", "fi", &[]),
    ("Tile", "fi", &[]),
    ("Range", "iii", &[]),
    ("ReduceMean", "f-i", &["axes", "keepdims"]),
    ("ReduceSum", "f-i", &["axes", "keepdims"]),
    ("Resize", "ffff-i", &["mode", "coordinate_transformation_mode", "nearest_mode"]),
    ("QuantizeLinear", "ff-b", &["axis"]),
    ("DequantizeLinear", "bf-b", &["axis"]),
    ("QLinearAdd", "bfbbfbfb", &[]),
    ("QGemm", "bfbbfbifb", &["transB", "alpha"]),
];
/// Types of constants, as a letter and the number in `TensorProto.DataType`.
const TYPES: [(char, i64); 10] =
    [('f', 1), ('f', 1), ('i', 7), ('i', 7), ('b', 2), ('b', 3), ('i', 6), ('c', 9), ('f', 10), ('f', 11)];
/// Attributes of those with one input.
const OTHERS: &[&str] = &["axis", "keepdims", "blocksize", "to", "start", "end", "alpha", "beta"];
const LISTS: [&str; 9] = [
    "kernel_shape",
    "strides",
    "dilations",
    "pads",
    "axes",
    "perm",
    "output_padding",
    "output_shape",
    "split",
];
const FLOATS: [&str; 4] = ["alpha", "beta", "epsilon", "bias"];
const TEXTS: [(&str, &[&str]); 4] = [
    ("auto_pad", &["SAME_UPPER", "SAME_LOWER", "VALID"]),
    ("mode", &["linear", "cubic", "nearest", "reflect", "edge", "wrap", "constant"]),
    (
        "coordinate_transformation_mode",
        &["align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"],
    ),
    ("nearest_mode", &["floor", "ceil", "round_prefer_ceil"]),
];

/// Returns the file of a model that is chosen: a few constants, and nodes that read these and each other.
fn drawn(choices: &mut Choices<'_>) -> Vec<u8> {
    let operators: Vec<_> = vp_onnx::supported().collect();
    let version = i64::from(choices.byte() % 24) + 7;
    let input = shape(choices);
    // Names of values by the letter of their type.
    let mut names: [(char, Vec<String>); 4] =
        [('f', vec!["x".into()]), ('i', vec![]), ('b', vec![]), ('c', vec![])];
    let mut constants = Vec::new();
    for (at, (letter, data_type)) in TYPES.into_iter().enumerate() {
        let name = format!("c{at}");
        constants.push(constant(name.clone(), data_type, choices));
        names.iter_mut().filter(|names| names.0 == letter).for_each(|names| names.1.push(name.clone()));
    }
    let mut nodes: Vec<Node> = Vec::new();
    for at in 0..choices.byte() % 4 + 1 {
        let any = operators[usize::from(choices.byte()) % operators.len()];
        let (name, inputs, attributes) = match choices.byte() {
            byte if byte < 200 => KINDS[usize::from(byte) % KINDS.len()],
            _ => (any.name, "f", OTHERS),
        };
        let domain =
            operators.iter().find(|operator| operator.name == name).map_or("", |operator| operator.domain);
        let (required, optional) = inputs.split_once('-').unwrap_or((inputs, ""));
        let optional = &optional[..usize::from(choices.byte()) % (optional.len() + 1)];
        let mut inputs: Vec<String> = required
            .chars()
            .chain(optional.chars())
            .map(|letter| match choices.byte() {
                255 => String::new(),
                254 => format!("c{}", choices.byte() % 10),
                byte => {
                    let (_, names) = names.iter().find(|names| names.0 == letter).unwrap_or(&names[0]);
                    names[usize::from(byte) % names.len()].clone()
                }
            })
            .collect();
        // What the node before makes is read mostly.
        if let (Some(first), Some(before), true) =
            (inputs.first_mut(), nodes.last(), !choices.byte().is_multiple_of(4))
        {
            first.clone_from(&before.outputs[0]);
        }
        let is_there = |at: usize, choices: &mut Choices<'_>| at == 0 || choices.byte().is_multiple_of(3);
        let mut given = Vec::new();
        for (at, &attribute_name) in attributes.iter().enumerate() {
            if attributes != OTHERS && is_there(at, choices) || choices.byte() == 255 {
                given.push((attribute_name, attribute(attribute_name, choices)));
            }
        }
        let output = format!("n{at}");
        names[0].1.push(output.clone());
        nodes.push(Node { operator: name, domain, inputs, outputs: vec![output], attributes: given });
    }
    let output = nodes.last().map_or_else(String::new, |node| node.outputs[0].clone());
    let file = written::Model { version, input: ("x".to_owned(), input), output, nodes, constants };
    file.bytes()
}

fn attribute(name: &str, choices: &mut Choices<'_>) -> Attribute {
    if LISTS.contains(&name) {
        let count = choices.byte() % 5;
        return Attribute::Integers((0..count).map(|_| number(choices)).collect());
    }
    if FLOATS.contains(&name) {
        return Attribute::Float(number(choices) as f32 / 4.0);
    }
    match TEXTS.iter().find(|text| text.0 == name) {
        Some((_, texts)) => Attribute::Text(texts[usize::from(choices.byte()) % texts.len()]),
        None => Attribute::Integer(number(choices)),
    }
}

/// A small number mostly.
fn number(choices: &mut Choices<'_>) -> i64 {
    match choices.byte() {
        255 => choices.u64() as i64,
        254 => choices.u32().into(),
        byte => [1, 0, 1, 2, 1, 2, 3, 1, 4, 2, -1, 5, 3, -2, 7, 1][usize::from(byte) % 16],
    }
}

fn shape(choices: &mut Choices<'_>) -> Vec<i64> {
    let rank = [4, 4, 1, 4, 2, 3, 0, 1, 5, 4][usize::from(choices.byte()) % 10];
    let size = |choices: &mut Choices<'_>| match choices.byte() {
        255 => number(choices),
        byte => [1, 1, 2, 3, 2, 4, 0, 1][usize::from(byte) % 8],
    };
    (0..rank).map(|_| size(choices)).collect()
}

/// A constant, with as many elements as its shape has mostly.
fn constant(name: String, data_type: i64, choices: &mut Choices<'_>) -> Constant {
    let dims = if data_type == 7 { vec![i64::from(choices.byte() % 6)] } else { shape(choices) };
    let count = dims.iter().try_fold(1_i64, |product, &size| product.checked_mul(size));
    let count = count.filter(|count| (0..4096).contains(count)).unwrap_or(3);
    let mut raw = Bytes::default();
    for _ in 0..count {
        let number = number(choices);
        match data_type {
            1 => raw.extend(&(number as f32 / 2.0).to_le_bytes()),
            6 => raw.extend(&(number as i32).to_le_bytes()),
            7 => raw.extend(&number.to_le_bytes()),
            10 => raw.extend(&(number as u16).to_le_bytes()),
            11 => raw.extend(&(number as f64).to_le_bytes()),
            _ => raw.extend(&[number as u8]),
        }
    }
    Constant { name, data_type, dims, raw }
}
