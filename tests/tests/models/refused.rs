//! Graphs of which no network can be made are told so.

use super::{GraphDraw, lowered};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::lower::LowerError;
use vp_tensors::{Operator, Unary};

#[test]
fn a_model_with_two_inputs_is_refused() {
    let mut draw = GraphDraw::new(1, [1, 4, 4, 4]);
    let input = draw.input();
    let other = draw.value("other", &[1, 4, 4, 4]);
    draw.graph.inputs.push(other);
    let start = draw.graph.inputs[0];
    let sum = draw.sum(start, other);
    let error = lowered(&draw.finish(&[sum]), "nv_small", Precision::Int8, &input).unwrap_err();
    assert!(matches!(error, LowerError::Inputs(2)), "{error}");
}

#[test]
fn a_format_that_a_configuration_lacks_is_refused() {
    let mut draw = GraphDraw::new(1, [1, 4, 4, 4]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 4, &spatial(1, 1, 0, 1));
    let graph = draw.finish(&[made]);
    let error = lowered(&graph, "nv_small", Precision::Fp16, &input).unwrap_err().to_string();
    assert_eq!(error, "fp16: nv_small computes int8; nv_full has fp16");
}

#[test]
fn a_model_without_a_node_for_a_unit_is_refused() {
    let mut draw = GraphDraw::new(1, [1, 4, 4, 4]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.node(Operator::Softmax { axis: 1 }, &[start], &[1, 4, 4, 4]);
    let error = lowered(&draw.finish(&[made]), "nv_small", Precision::Int8, &input).unwrap_err();
    assert!(matches!(error, LowerError::NothingToRun { .. }), "{error}");
}

#[test]
fn what_no_unit_does_is_told_by_node_with_the_reason() {
    let mut draw = GraphDraw::new(1, [1, 4, 6, 6]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 4, &spatial(1, 1, 0, 1));
    let sigmoid = draw.alike(Operator::Unary(Unary::Sigmoid), &[made]);
    let made = draw.convolution(sigmoid, 4, &spatial(1, 1, 0, 1));
    let graph = draw.finish(&[made]);
    let small = lowered(&graph, "nv_small", Precision::Int8, &input).unwrap();
    let told = [("Sigmoid1".to_owned(), "nv_small has no lookup table behind SDP".to_owned())];
    assert_eq!(small.on_cpu, told);
    assert_eq!(lowered(&graph, "nv_large", Precision::Int8, &input).unwrap().on_cpu, []);
}

/// Hostile or empty: no register can say the size, so that it is no unit's.
#[test]
fn cubes_without_elements_or_too_large_are_no_units() {
    for channels in [0, 9000] {
        let mut draw = GraphDraw::new(1, [1, 4, 4, 4]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let weights = draw.numbers(&[channels, 4, 1, 1], 1.0);
        let made = draw.node(Operator::Conv(spatial(1, 1, 0, 1)), &[start, weights], &[1, channels, 4, 4]);
        let told = lowered(&draw.finish(&[made]), "nv_small", Precision::Int8, &input);
        assert!(told.is_err(), "{channels}");
    }
}
