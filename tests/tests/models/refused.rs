//! Graphs of which no network can be made are told so.

use super::{GraphDraw, lowered};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::lower::LowerError;
use vp_tensors::{ElementType, Elements, Operator, Spatial, Tensor, Unary};

#[test]
fn a_model_with_two_inputs_is_refused() {
    let mut draw = GraphDraw::new(1, [1, 4, 4, 4]);
    let input = draw.input();
    let other = draw.value("other", &[1, 4, 4, 4]);
    draw.graph.inputs.push(other);
    let start = draw.graph.inputs[0];
    let sum = draw.sum(start, other);
    let error = lowered(&draw.finish(&[sum]), "nv_small", Precision::Int8, &input).unwrap_err();
    assert!(matches!(&error, LowerError::Inputs(names) if names.len() == 2), "{error}");
    assert!(LowerError::Inputs(Vec::new()).to_string().ends_with("all that it gives is constant"));
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
fn why_nothing_is_a_units_is_told() {
    let mut draw = GraphDraw::new(1, [1, 4, 12, 12]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 4, &spatial(1, 9, 0, 1));
    let error = lowered(&draw.finish(&[made]), "nv_small", Precision::Int8, &input).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("`Conv0` (Conv)") && told.contains("stride"), "{told}");
}

/// A plan ends at the first layer that it refuses; a model may have a thousand.
#[test]
fn layers_that_the_planner_refuses_are_found_at_once() {
    let mut draw = GraphDraw::new(1, [1, 4, 20, 20]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let mut parts = Vec::new();
    for _ in 0..150 {
        let made = draw.convolution(start, 4, &spatial(1, 1, 0, 1));
        let made = draw.convolution(made, 4, &spatial(1, 9, 0, 1));
        parts.push(draw.convolution(made, 4, &spatial(1, 1, 0, 1)));
    }
    let joined = draw.concatenation(&parts);
    let graph = draw.finish(&[joined]);
    let begin = std::time::Instant::now();
    let lowered = lowered(&graph, "nv_small", Precision::Int8, &input).unwrap();
    assert_eq!(lowered.on_cpu.iter().filter(|(_, why)| why.contains("stride")).count(), 150);
    assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
}

/// Two layers of one node, a thousand nodes of one name, and what many read of a long way on the CPU.
#[test]
fn names_and_work_of_the_cpu_do_not_grow_with_the_square() {
    let mut draw = GraphDraw::new(1, [1, 4, 4, 4]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let mut last = draw.convolution(start, 4, &spatial(1, 1, 0, 1));
    let mut parts = Vec::new();
    for _ in 0..200 {
        last = draw.alike(Operator::Softmax { axis: 1 }, &[last]);
        let branch = draw.alike(Operator::Softmax { axis: 1 }, &[last]);
        parts.push(draw.convolution(branch, 4, &spatial(1, 1, 0, 1)));
    }
    let joined = draw.concatenation(&parts);
    draw.graph.nodes.iter_mut().for_each(|node| "o\nne".clone_into(&mut node.name));
    let graph = draw.finish(&[joined]);
    let lowered = lowered(&graph, "nv_small", Precision::Int8, &input).unwrap();
    let nodes = |lowered: &vp_onnx::lower::Lowered| -> usize {
        lowered.cpu_layers().map(|(_, origin)| origin.nodes.len()).sum()
    };
    assert!(nodes(&lowered) < 4 * graph.nodes.len(), "{}", nodes(&lowered));
    let names: std::collections::BTreeSet<&str> =
        lowered.network.layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names.len(), lowered.network.layers.len());
    assert!(names.iter().all(|name| name.starts_with("o ne")), "{names:?}");
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
        let why = if channels == 0 { "it has no elements" } else { "an axis of 9000 is longer than 8192" };
        let told = told.unwrap_err().to_string();
        assert!(told.ends_with(why), "{told}");
    }
}

/// A node that no unit does for what its tensors, its kernel or its bias are, between two that units do.
#[test]
fn why_a_node_is_not_a_units_is_told() {
    let stride_above_kernel = Operator::ConvTranspose {
        spatial: Spatial { strides: vec![2; 2], ..spatial(1, 1, 0, 1) },
        output_padding: vec![1; 2],
        output_shape: None,
    };
    for (operator, why) in [
        (Operator::ArgMax { axis: 1, keeps: true, last: false }, "has elements of type int64"),
        (stride_above_kernel, "kernels no smaller than stride and padding together"),
    ] {
        let mut draw = GraphDraw::new(1, [1, 4, 6, 6]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let made = draw.convolution(start, 4, &spatial(1, 1, 0, 1));
        let made = match operator {
            Operator::ArgMax { .. } => {
                let place = draw.node(operator, &[made], &[1, 1, 6, 6]);
                draw.graph.values[place.0].element_type = ElementType::Int64;
                place
            }
            operator => {
                let weights = draw.numbers(&[4, 4, 1, 1], 1.0);
                draw.node(operator, &[made, weights], &[1, 4, 12, 12])
            }
        };
        let told = lowered(&draw.finish(&[made]), "nv_large", Precision::Int8, &input).unwrap().on_cpu;
        assert!(told.iter().any(|(_, told)| told.contains(why)), "{told:?}");
    }
}

/// Biases of 16 bits and one shift, of weights that have one scale.
#[test]
fn a_bias_that_is_too_large_is_told() {
    let mut draw = GraphDraw::new(1, [1, 4, 6, 6]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let coded = draw.quantised(start, 0.02, Elements::Int8(vec![0]));
    let codes = draw.constant(Tensor::of([4, 4, 1, 1], Elements::Int8((0..16).collect())));
    let scale = draw.constant(Tensor::floats([], vec![0.01]));
    let weights = draw.node(Operator::DequantizeLinear { axis: 0 }, &[codes, scale], &[4, 4, 1, 1]);
    let bias = draw.constant(Tensor::floats([4], vec![2e4, -2e4, 0.3, 100.123]));
    let made = draw.node(Operator::Conv(spatial(1, 1, 0, 1)), &[coded, weights, bias], &[1, 4, 6, 6]);
    let coded = draw.quantised(made, 0.05, Elements::Int8(vec![0]));
    let made = draw.max_pool(coded);
    let told = lowered(&draw.finish(&[made]), "nv_large", Precision::Int8, &input).unwrap().on_cpu;
    assert!(told.iter().any(|(_, why)| why.starts_with("SDP's biases have 16 bits")), "{told:?}");
}

#[test]
fn elements_that_are_no_numbers_are_refused_in_int8() {
    let mut draw = GraphDraw::new(1, [1, 4, 4, 4]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 4, &spatial(1, 1, 0, 1));
    let graph = draw.finish(&[made]);
    let mut bad = input.clone();
    if let vp_tensors::Elements::Float(elements) = &mut bad.elements {
        (elements[3], elements[5]) = (f32::NAN, f32::INFINITY);
    }
    let expected = "2 of 64 elements of input `x0` are NaN or infinite";
    let error = lowered(&graph, "nv_large", Precision::Int8, &bad).unwrap_err().to_string();
    assert!(error.starts_with("sample 1: ") && error.contains(expected), "{error}");
    let right = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
    let error = right.encode(std::slice::from_ref(&bad)).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
    let half = lowered(&graph, "nv_full", Precision::Fp16, &bad).unwrap();
    assert!(half.encode(&[bad]).is_ok());
}
