//! Messages about models that cannot be run.

use super::{graph, ints, made, model, node, problems, read, value};
use crate::Options;
use crate::messages::NodeProto;

#[test]
fn all_problems_are_told_at_once() {
    let nodes = vec![
        node("LSTM", &["x"], "a", vec![]),
        node("Loop", &["a"], "b", vec![]),
        node("Relu", &["b"], "c", vec![]),
        node("MaxPool", &["x"], "d", vec![]),
        node("Add", &["c", "d"], "y", vec![]),
    ];
    assert_eq!(
        problems(13, graph(&[1, 3, 8, 8], nodes, vec![])),
        [
            "LSTM `a`: this operator is not read; cut the model before it; recurrent layers are not computed",
            "Loop `b`: this operator is not read; export the model without control flow, for instance by tracing it with fixed shapes",
            "MaxPool `d`: attribute `kernel_shape` is left out",
        ]
    );
}

#[test]
fn a_shape_that_is_not_fixed_is_asked_for() {
    let mut open = graph(&[-1, 3, -1, 32], vec![node("Relu", &["x"], "y", vec![])], vec![]);
    assert_eq!(
        problems(13, open.clone()),
        ["input `x`: its shape ?x3x?x32 is not fixed; give one, such as --shape x=1x3x224x32"]
    );
    let model = model(13, open.clone());
    let with = |shape: &[usize]| {
        let shapes = [("x".to_owned(), shape.to_vec())].into();
        read(&model).unwrap().graph(&Options { shapes, ..Options::default() })
    };
    assert_eq!(with(&[1, 3, 16, 32]).unwrap().graph.values[0].shape, [1, 3, 16, 32]);
    let wrong = with(&[1, 3, 16, 16]).unwrap_err().to_string();
    assert_eq!(wrong, "input `x`: shape 1x3x16x16 is given, but the model has ?x3x?x32");
    open.input[0] = value("x", &[-1, 3, 8, 32]);
    let batch = made(&super::model(13, open)).unwrap();
    assert_eq!(batch.notes[0].to_string(), "input `x`: its batch is taken as 1 of ?x3x8x32");
}

#[test]
fn cycles_and_values_that_nothing_makes_are_named() {
    let nodes = vec![
        node("Add", &["b", "x"], "a", vec![]),
        node("Add", &["a", "nowhere"], "b", vec![]),
        node("Relu", &["a"], "y", vec![]),
    ];
    assert_eq!(
        problems(13, graph(&[1, 4], nodes, vec![])),
        [
            "Add `b`: it reads `a`, which is made of its own outputs: a cycle",
            "Add `b`: it reads `nowhere`, which is no input, initializer or output of a node",
        ]
    );
}

#[test]
fn a_value_that_is_made_twice_is_named() {
    let nodes = vec![node("Relu", &["x"], "y", vec![]), node("Neg", &["x"], "y", vec![])];
    let problems = problems(13, graph(&[1, 4], nodes, vec![]));
    assert_eq!(problems, ["Neg `y`: `y` is made twice, or is an input as well"]);
}

#[test]
fn attributes_that_an_operator_does_not_have_are_refused() {
    let relu = node("Relu", &["x"], "y", vec![ints("axes", &[1])]);
    let expected = ["Relu `y`: attribute `axes` is none of this operator at this version"];
    assert_eq!(problems(13, graph(&[1, 4], vec![relu], vec![])), expected);
}

#[test]
fn functions_and_other_domains_are_refused_by_name() {
    let of = |domain: &str| NodeProto { domain: Some(domain.into()), ..node("Thing", &["x"], "y", vec![]) };
    let other = problems(13, graph(&[1, 4], vec![of("org.example")], vec![]));
    let expected = [
        "Thing `y`: this operator is not read; export it of ONNX's own operators in place of those of org.example",
    ];
    assert_eq!(other, expected);
    let mut local = model(13, graph(&[1, 4], vec![of("mine")], vec![]));
    local
        .functions
        .push(crate::messages::FunctionProto { name: Some("Thing".into()), domain: Some("mine".into()) });
    let told = made(&local).unwrap_err().to_string();
    assert!(told.contains("`Thing`, which is not read; inline functions"), "{told}");
}

#[test]
fn an_old_operator_set_is_refused() {
    let old = problems(6, graph(&[1, 4], vec![node("Relu", &["x"], "y", vec![])], vec![]));
    assert_eq!(
        old,
        [
            "model `g`: operator set 6 is not read; 7 and newer ones are; convert it with onnx.version_converter"
        ]
    );
}
