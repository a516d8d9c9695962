//! Forms of older and newer operator sets, which become the same.

use super::{graph, integers, ints, made, model, node};
use crate::messages::AttributeProto;
use vp_tensors::{Operator, Tensor, ValueId};

fn input() -> Tensor {
    Tensor::floats([1, 2, 2, 3], (0..12).map(|x| x as f32 - 5.5).collect())
}

#[test]
fn bounds_of_clip_are_attributes_before_11_and_inputs_from_then_on() {
    let bound = |name: &str, f: f32| AttributeProto {
        name: Some(name.into()),
        f: Some(f),
        kind: Some(1),
        ..AttributeProto::default()
    };
    let old = node("Clip", &["x"], "y", vec![bound("min", -1.0), bound("max", 2.0)]);
    let mut tensors = vec![integers("low", &[0]), integers("high", &[0])];
    for (tensor, bound) in tensors.iter_mut().zip([-1.0, 2.0]) {
        (tensor.dims, tensor.data_type) = (vec![], Some(1));
        (tensor.int64_data, tensor.float_data) = (vec![], vec![bound]);
    }
    let new = node("Clip", &["x", "low", "high"], "y", vec![]);
    let old = made(&model(10, graph(&[1, 2, 2, 3], vec![old], vec![]))).unwrap();
    let new = made(&model(13, graph(&[1, 2, 2, 3], vec![new], tensors))).unwrap();
    let outputs = old.graph.run(&[input()]).unwrap();
    assert_eq!(outputs, new.graph.run(&[input()]).unwrap());
    assert_eq!(outputs[0].to_floats()[..5], [-1.0; 5]);
}

#[test]
fn axes_of_reduce_mean_are_an_attribute_before_18_and_an_input_from_then_on() {
    let old = node("ReduceMean", &["x"], "y", vec![ints("axes", &[2, 3])]);
    let new = node("ReduceMean", &["x", "axes"], "y", vec![]);
    let old = made(&model(17, graph(&[1, 2, 2, 3], vec![old], vec![]))).unwrap();
    let new = made(&model(18, graph(&[1, 2, 2, 3], vec![new], vec![integers("axes", &[2, 3])]))).unwrap();
    assert_eq!(old.graph.nodes[0].operator, new.graph.nodes[0].operator);
    assert_eq!(new.graph.value(new.graph.outputs[0]).shape, [1, 2, 1, 1]);
}

#[test]
fn softmax_is_over_all_axes_from_the_second_on_before_13() {
    let graph = |version| {
        made(&model(version, graph(&[1, 2, 2, 3], vec![node("Softmax", &["x"], "y", vec![])], vec![])))
    };
    let old = graph(12).unwrap().graph.nodes.swap_remove(0).operator;
    let new = graph(13).unwrap().graph.nodes.swap_remove(0).operator;
    assert_eq!(old, Operator::FlatSoftmax { axis: 1, is_logarithm: false });
    assert_eq!(new, Operator::Softmax { axis: -1 });
}

#[test]
fn a_chain_of_shapes_becomes_a_constant_and_the_dead_go() {
    let nodes = vec![
        node("Shape", &["x"], "shape", vec![]),
        node("Gather", &["shape", "zero"], "batch", vec![]),
        node(
            "Concat",
            &["batch", "rest"],
            "sizes",
            vec![AttributeProto {
                name: Some("axis".into()),
                i: Some(0),
                kind: Some(2),
                ..AttributeProto::default()
            }],
        ),
        node("LSTM", &["x"], "nobody reads this", vec![]),
        node("Reshape", &["x", "sizes"], "flat", vec![]),
        node("Relu", &["flat"], "y", vec![]),
    ];
    let constants = vec![integers("zero", &[0]), integers("rest", &[-1])];
    let graph = made(&model(13, graph(&[1, 2, 2, 3], nodes, constants))).unwrap().graph;
    let operators: Vec<_> = graph.nodes.iter().map(|node| node.operator.name()).collect();
    assert_eq!(operators, ["Reshape", "Relu"]);
    assert_eq!(graph.value(graph.outputs[0]).shape, [1, 12]);
    assert_eq!(graph.constants.len(), 1, "only the shape is left");
    // A node without a name has that of its output.
    assert_eq!(graph.nodes[1].name, "y");
}

#[test]
fn initializers_that_are_inputs_as_well_are_constants() {
    let mut graph =
        graph(&[1, 4], vec![node("Reshape", &["x", "sizes"], "y", vec![])], vec![integers("sizes", &[2, 2])]);
    graph.input.push(super::value("sizes", &[2]));
    let graph = made(&model(8, graph)).unwrap().graph;
    assert_eq!(graph.inputs, [ValueId(0)]);
    assert_eq!(graph.value(graph.outputs[0]).shape, [2, 2]);
}

#[test]
fn nodes_may_stand_in_any_order() {
    let nodes = vec![node("Relu", &["a"], "y", vec![]), node("Neg", &["x"], "a", vec![])];
    let graph = made(&model(13, graph(&[1, 4], nodes, vec![]))).unwrap().graph;
    assert_eq!(graph.nodes[0].operator.name(), "Neg");
}

#[test]
fn a_newer_operator_set_is_noted() {
    let newer = made(&model(99, graph(&[1, 4], vec![node("Relu", &["x"], "y", vec![])], vec![]))).unwrap();
    assert_eq!(
        newer.notes[0].to_string(),
        "model `g`: its operator set 99 is taken as 28, the newest that is known"
    );
}
