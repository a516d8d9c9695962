//! Functions beyond where a table with straight lines outside is right, and what else is no unit's.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::Distance;
use vp_tensors::{Elements, Gemm, Graph, Operator, Reduction, Tensor, Unary};

/// Distance of the device's answer from that of floats.
fn distance(graph: &Graph, input: &Tensor, (platform, precision): (&str, Precision)) -> Distance {
    let expected = graph.run(std::slice::from_ref(input)).unwrap();
    let lowered = lowered(graph, platform, precision, input).unwrap();
    let found = ran(&lowered, platform, input);
    Distance::of(&expected[0].to_floats(), &found[0].to_floats())
}

const LARGE: (&str, Precision) = ("nv_large", Precision::Int8);
const HALF: (&str, Precision) = ("nv_full", Precision::Fp16);

/// Numbers from 0.1 to about 30 go through a function, and are pooled.
fn of_function(function: Operator, more: &[Tensor]) -> (Graph, Tensor) {
    let mut draw = GraphDraw::new(3, [1, 8, 10, 10]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let factor = draw.constant(Tensor::floats(vec![], vec![20.0]));
    let addend = draw.constant(Tensor::floats(vec![], vec![0.1]));
    let made = draw.convolution(start, 8, &spatial(1, 1, 0, 1));
    let positive = draw.relu(made);
    let spread = draw.alike(Operator::Binary(vp_tensors::Binary::Mul), &[positive, factor]);
    let moved = draw.alike(Operator::Binary(vp_tensors::Binary::Add), &[spread, addend]);
    let mut inputs = vec![moved];
    inputs.extend(more.iter().map(|tensor| draw.constant(tensor.clone())));
    let made = draw.alike(function, &inputs);
    let made = draw.max_pool(made);
    (draw.finish(&[made]), input)
}

#[test]
fn functions_are_right_for_all_numbers() {
    for (unary, least) in [
        (Unary::Sqrt, 28.0),
        (Unary::Log, 28.0),
        (Unary::Softsign, 28.0),
        (Unary::Sin, 20.0),
        (Unary::Cos, 20.0),
        (Unary::Floor, 28.0),
        (Unary::Round, 28.0),
        (Unary::ThresholdedRelu { alpha: 12.0 }, 20.0),
        (Unary::HardSigmoid { alpha: 0.01, beta: 0.5 }, 28.0),
        (Unary::Celu { alpha: 9.0 }, 28.0),
    ] {
        let (graph, input) = of_function(Operator::Unary(unary), &[]);
        let int8 = distance(&graph, &input, LARGE);
        assert!(int8.signal_to_noise > least, "{unary:?}: {int8:?}");
        let fp16 = distance(&graph, &input, HALF);
        assert!(fp16.signal_to_noise > 40.0, "{unary:?}: {fp16:?}");
    }
}

/// The upper one counts for all numbers, and one that is no number is no limit.
#[test]
fn limits_the_wrong_way_round_are_none_too_many() {
    for (low, high) in [(2.0, -2.0), (0.0, -1.0), (1.0, 1.0), (f32::NAN, 1.0), (f32::NAN, f32::NAN)] {
        let limits = [low, high].map(|limit| Tensor::floats(vec![], vec![limit]));
        let (graph, input) = of_function(Operator::Clip, &limits);
        for platform in [LARGE, HALF, ("nv_small", Precision::Int8)] {
            let lowered = lowered(&graph, platform.0, platform.1, &input).unwrap();
            let found = ran(&lowered, platform.0, &input)[0].to_floats();
            let most = if high.is_nan() { f32::INFINITY } else { high + 0.02 };
            assert!(found.iter().all(|number| *number <= most), "{low} {high} {platform:?}");
        }
    }
    let (graph, input) =
        of_function(Operator::Variadic(Reduction::Min), &[Tensor::floats(vec![], vec![f32::NAN])]);
    assert!(lowered(&graph, "nv_large", Precision::Int8, &input).is_ok());
}

/// Rows as many as columns, and an addend for each row.
#[test]
fn an_addend_for_each_row_is_none_for_each_column() {
    let mut draw = GraphDraw::new(5, [1, 1, 4, 8]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let flat = draw.node(Operator::Squeeze { axes: vec![0, 1] }, &[start], &[4, 8]);
    let first = draw.numbers(&[8, 8], 1.0);
    let made = draw.node(Operator::MatMul, &[flat, first], &[4, 8]);
    let matrix = draw.numbers(&[8, 4], 1.0);
    let rows = draw.constant(Tensor::floats(vec![4, 1], vec![1.0, 5.0, -3.0, 10.0]));
    let gemm = Gemm { alpha: 1.0, beta: 1.0, transposes_a: false, transposes_b: false };
    let made = draw.node(Operator::Gemm(gemm), &[made, matrix, rows], &[4, 4]);
    let graph = draw.finish(&[made]);
    assert!(distance(&graph, &input, HALF).signal_to_noise > 50.0);
}

#[test]
fn a_bound_of_more_axes_is_joined_as_it_is_said() {
    let mut draw = GraphDraw::new(6, [1, 1, 4, 8]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let flat = draw.node(Operator::Squeeze { axes: vec![0, 1] }, &[start], &[4, 8]);
    let matrix = draw.numbers(&[8, 8], 1.0);
    let made = draw.node(Operator::MatMul, &[flat, matrix], &[4, 8]);
    let bound = draw.constant(Tensor::floats(vec![1; 4], vec![0.3]));
    let made = draw.node(Operator::Variadic(Reduction::Max), &[made, bound], &[1, 1, 4, 8]);
    let made = draw.convolution(made, 3, &spatial(1, 1, 0, 1));
    assert!(distance(&draw.finish(&[made]), &input, HALF).signal_to_noise > 50.0);
}

/// A layer of such weights would be saturated, or zero, in silence.
#[test]
fn weights_that_are_no_numbers_of_the_format_are_no_units() {
    for (weight, half, int8) in [(1e5, true, false), (f32::INFINITY, true, true), (f32::NAN, true, true)] {
        let mut draw = GraphDraw::new(7, [1, 8, 6, 6]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let mut weights = vec![0.1; 4 * 8];
        weights[3] = weight;
        let weights = draw.constant(Tensor::floats(vec![4, 8, 1, 1], weights));
        let made = draw.node(Operator::Conv(spatial(1, 1, 0, 1)), &[start, weights], &[1, 4, 6, 6]);
        let made = draw.convolution(made, 4, &spatial(1, 1, 0, 1));
        let graph = draw.finish(&[made]);
        for ((platform, precision), is_refused) in [(HALF, half), (LARGE, int8)] {
            let told = lowered(&graph, platform, precision, &input).unwrap().on_cpu;
            assert_eq!(told.len(), usize::from(is_refused), "{weight} {platform}: {told:?}");
        }
    }
}

/// SDP has one multiplier behind what it adds.
#[test]
fn slopes_for_each_channel_behind_a_sum_are_a_layer_of_their_own() {
    let mut draw = GraphDraw::new(8, [1, 8, 6, 6]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 8, &spatial(1, 1, 0, 1));
    let sum = draw.sum(made, start);
    let slopes = draw.numbers(&[8, 1, 1], 1.0);
    let made = draw.alike(Operator::PRelu, &[sum, slopes]);
    let difference = draw.alike(Operator::Binary(vp_tensors::Binary::Sub), &[made, start]);
    let made = draw.alike(Operator::Unary(Unary::LeakyRelu { alpha: 0.3 }), &[difference]);
    let made = draw.max_pool(made);
    let graph = draw.finish(&[made]);
    for (platform, precision) in [LARGE, HALF] {
        let lowered = lowered(&graph, platform, precision, &input).unwrap();
        assert_eq!(lowered.on_cpu, [], "{platform}");
        assert!(distance(&graph, &input, (platform, precision)).signal_to_noise > 28.0, "{platform}");
    }
}

#[test]
fn layers_of_a_product_tell_their_distance_in_the_order_of_their_elements() {
    let mut draw = GraphDraw::new(9, [1, 8, 4, 6]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 8, &spatial(1, 1, 0, 1));
    let last = draw.node(Operator::Transpose { permutation: vec![0, 2, 3, 1] }, &[made], &[1, 4, 6, 8]);
    let shape = draw.constant(Tensor::of(vec![3], Elements::Int64(vec![1, 24, 8])));
    let rows = draw.node(Operator::Reshape { allows_zero: false }, &[last, shape], &[1, 24, 8]);
    let matrix = draw.numbers(&[8, 5], 1.0);
    let made = draw.node(Operator::MatMul, &[rows, matrix], &[1, 24, 5]);
    let matrix = draw.numbers(&[5, 7], 1.0);
    let made = draw.node(Operator::MatMul, &[made, matrix], &[1, 24, 7]);
    let graph = draw.finish(&[made]);
    let mut lowered = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
    lowered.show_all_layers();
    let codes = lowered.encode(std::slice::from_ref(&input)).unwrap();
    let outputs = vp_tests::reference::run_outputs(&lowered.network, &codes);
    let distances = lowered.distances(&[input], &outputs).unwrap();
    assert_eq!(distances.len(), 3);
    assert!(distances.iter().all(|of| of.distance.signal_to_noise > 25.0), "{distances:#?}");
}

/// A convolution reads the input, and another what is made of it before any unit.
#[test]
fn units_that_would_start_at_several_numbers_start_at_the_input() {
    let mut draw = GraphDraw::new(10, [1, 8, 6, 6]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let factors = draw.numbers(&[8, 1, 1], 1.0);
    let scaled = draw.alike(Operator::Binary(vp_tensors::Binary::Mul), &[start, factors]);
    let parts = [start, scaled].map(|value| draw.convolution(value, 8, &spatial(3, 1, 1, 1)));
    let joined = draw.concatenation(&parts);
    let made = draw.convolution(joined, 4, &spatial(1, 1, 0, 1));
    let graph = draw.finish(&[made]);
    assert!(distance(&graph, &input, LARGE).signal_to_noise > 28.0);
    assert!(distance(&graph, &input, HALF).signal_to_noise > 50.0);
}

/// Weights are rounded, and so what a zero point takes off with them; and factors have few bits where kernels are small.
#[test]
fn kernels_of_small_weights_keep_their_biases() {
    for at in 0..40 {
        let mut draw = GraphDraw::new(100 + at, [1, 8, 6, 6]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        // A channel that is always zero, which large weights multiply.
        let weights = draw.numbers(&[8, 8, 1, 1], 0.5);
        let mut biases = vec![0.5; 8];
        biases[0] = -100.0;
        let biases = draw.constant(Tensor::floats(vec![8], biases));
        let made = draw.node(Operator::Conv(spatial(1, 1, 0, 1)), &[start, weights, biases], &[1, 8, 6, 6]);
        let made = draw.relu(made);
        let mut weights: Vec<f32> =
            (0..8 * 9).map(|place| ((place * 37 + at as usize) % 101) as f32 / 200.0 - 0.25).collect();
        weights[..9].iter_mut().for_each(|weight| *weight *= 2000.0);
        let weights = draw.constant(Tensor::floats(vec![8, 1, 3, 3], weights));
        let biases = (0..8).map(|kernel| 0.7 + kernel as f32 + at as f32 / 40.0).collect();
        let biases = draw.constant(Tensor::floats(vec![8], biases));
        let made = draw.node(Operator::Conv(spatial(3, 1, 1, 8)), &[made, weights, biases], &[1, 8, 6, 6]);
        let made = draw.convolution(made, 4, &spatial(1, 1, 0, 1));
        let graph = draw.finish(&[made]);
        let lowered = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
        assert_eq!(lowered.on_cpu, [], "{at}");
        ran(&lowered, "nv_large", &input);
    }
}

#[test]
fn squares_are_products() {
    let power = |exponent: f32| {
        of_function(Operator::Binary(vp_tensors::Binary::Pow), &[Tensor::floats(vec![], vec![exponent])])
    };
    for kind in [LARGE, HALF] {
        let (graph, input) = power(2.0);
        assert_eq!(lowered(&graph, kind.0, kind.1, &input).unwrap().on_cpu, []);
        let found = distance(&graph, &input, kind);
        assert!(found.signal_to_noise > 20.0, "{kind:?}: {found:?}");
    }
    let (graph, input) = power(3.0);
    let on_cpu = lowered(&graph, LARGE.0, LARGE.1, &input).unwrap().on_cpu;
    assert!(on_cpu.iter().any(|(_, why)| why == "no unit has Pow but with exponent 2"), "{on_cpu:?}");
}
