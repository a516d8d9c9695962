//! Small models, made here: what becomes of them, and what is said of those that cannot be run.

mod documents;
mod hostile;
mod opened;
mod problems;
mod versions;

use crate::messages::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use crate::{Imported, Model, Options, Problems, ReadError};
use prost::Message;

/// An input or output of floats; a size of -1 is one without a name.
fn value(name: &str, sizes: &[i64]) -> ValueInfoProto {
    let dim = |&size: &i64| DimensionProto { dim_value: Some(size), dim_param: None };
    let shape = TensorShapeProto { dim: sizes.iter().map(dim).collect() };
    let tensor_type = TensorTypeProto { elem_type: Some(1), shape: Some(shape) };
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
}

fn node(operator: &str, inputs: &[&str], output: &str, attributes: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        input: inputs.iter().map(ToString::to_string).collect(),
        output: vec![output.into()],
        op_type: Some(operator.into()),
        attribute: attributes,
        ..NodeProto::default()
    }
}

fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { name: Some(name.into()), ints: ints.into(), kind: Some(7), ..AttributeProto::default() }
}

fn integers(name: &str, integers: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: vec![integers.len() as i64],
        data_type: Some(7),
        int64_data: integers.into(),
        ..TensorProto::default()
    }
}

fn model(version: i64, graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(version) }],
        ..ModelProto::default()
    }
}

/// A graph from `x` to `y`.
fn graph(sizes: &[i64], nodes: Vec<NodeProto>, initializers: Vec<TensorProto>) -> GraphProto {
    GraphProto {
        node: nodes,
        name: Some("g".into()),
        initializer: initializers,
        input: vec![value("x", sizes)],
        output: vec![value("y", &[])],
        ..GraphProto::default()
    }
}

fn read(model: &ModelProto) -> Result<Model, ReadError> {
    Model::read(&model.encode_to_vec(), &mut |_, _, _| Err("no files".into()))
}

fn made(model: &ModelProto) -> Result<Imported, Problems> {
    read(model).unwrap().graph(&Options::default())
}

/// Returns the problems of a graph, a line each.
fn problems(version: i64, graph: GraphProto) -> Vec<String> {
    let problems = made(&model(version, graph)).unwrap_err();
    problems.list.iter().map(ToString::to_string).collect()
}
