//! Models of floats: in fp16 and by ranges in int8.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use proptest::prelude::*;
use rand::Rng;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::Distance;
use vp_tensors::{Binary, Graph, Operator, Pooling, Tensor, Unary, ValueId};
use vp_tests::effort::cases;

/// A network of blocks with branches, as exporters write them.
pub(crate) fn network(seed: u64) -> (Graph, Tensor) {
    let mut draw = GraphDraw::new(seed, [1, 3, 18, 14]);
    let input = draw.input();
    let mut last = draw.graph.inputs[0];
    let kernels = draw.random.random_range(4..20);
    last = draw.convolution(last, kernels, &spatial(3, 1, 1, 1));
    for _ in 0..draw.random.random_range(2..6) {
        last = block(&mut draw, last);
    }
    let [_, channels, ..] = draw.shape(last)[..] else { panic!("a cube") };
    let pooled = draw.node(Operator::GlobalAveragePool, &[last], &[1, channels, 1, 1]);
    let flat = draw.node(Operator::Flatten { axis: 1 }, &[pooled], &[1, channels]);
    let matrix = draw.numbers(&[channels, 10], 0.5);
    let product = draw.node(Operator::MatMul, &[flat, matrix], &[1, 10]);
    (draw.finish(&[product]), input)
}

/// The next nodes behind a value.
fn block(draw: &mut GraphDraw, last: ValueId) -> ValueId {
    let [_, channels, height, width] = draw.shape(last)[..] else { panic!("a cube") };
    let function = match draw.random.random_range(0..7) {
        0 => Unary::Relu,
        1 => Unary::LeakyRelu { alpha: 0.1 },
        2 => Unary::Sigmoid,
        3 => Unary::HardSwish,
        4 => Unary::Tanh,
        5 => Unary::Swish { alpha: 1.0 },
        _ => Unary::HardSigmoid { alpha: 0.2, beta: 0.5 },
    };
    match draw.random.random_range(0..8) {
        0 => {
            let branch = draw.convolution(last, channels, &spatial(3, 1, 1, 1));
            let sum = draw.sum(branch, last);
            draw.relu(sum)
        }
        1 if height > 3 && width > 3 => {
            let made = draw.relu(last);
            draw.max_pool(made)
        }
        2 => {
            let parts = [
                draw.convolution(last, 5, &spatial(1, 1, 0, 1)),
                draw.convolution(last, 9, &spatial(3, 1, 1, 1)),
            ];
            draw.concatenation(&parts)
        }
        3 => {
            let depthwise = draw.convolution(last, channels, &spatial(3, 1, 1, channels));
            draw.alike(Operator::Unary(function), &[depthwise])
        }
        4 => {
            let pooled = draw.node(Operator::GlobalAveragePool, &[last], &[1, channels, 1, 1]);
            let gate = draw.convolution(pooled, channels, &spatial(1, 1, 0, 1));
            let gate = draw.alike(Operator::Unary(Unary::Sigmoid), &[gate]);
            draw.alike(Operator::Binary(Binary::Mul), &[last, gate])
        }
        5 => {
            let factor = draw.numbers(&[1, channels, 1, 1], 1.0);
            let addend = draw.numbers(&[1, channels, 1, 1], 1.0);
            let convolved = draw.convolution(last, channels, &spatial(1, 1, 0, 1));
            let scaled = draw.alike(Operator::Binary(Binary::Mul), &[convolved, factor]);
            draw.alike(Operator::Binary(Binary::Add), &[scaled, addend])
        }
        6 => {
            let pooling = Pooling { spatial: spatial(3, 1, 1, 1), rounds_up: false };
            let counts_padding = draw.random.random_bool(0.5);
            let pooled = draw.alike(Operator::AveragePool { pooling, counts_padding }, &[last]);
            let made = draw.convolution(pooled, channels, &spatial(1, 1, 0, 1));
            draw.alike(Operator::Unary(function), &[made])
        }
        _ => {
            let transposed = draw.node(
                Operator::Transpose { permutation: vec![0, 1, 3, 2] },
                &[last],
                &[1, channels, width, height],
            );
            draw.convolution(transposed, channels, &spatial(3, 1, 1, 1))
        }
    }
}

/// Distance of the device's answer from that of floats.
fn distance(seed: u64, platform: &str, precision: Precision) -> Distance {
    let (graph, input) = network(seed);
    let expected = graph.run(std::slice::from_ref(&input)).unwrap();
    let lowered = lowered(&graph, platform, precision, &input).unwrap();
    let found = ran(&lowered, platform, &input);
    Distance::of(&expected[0].to_floats(), &found[0].to_floats())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(10), ..ProptestConfig::default() })]

    /// fp16 has 11 bits, and a network of ten layers loses three of them at most.
    #[test]
    fn drawn_networks_are_near_in_fp16(seed in any::<u64>()) {
        let distance = distance(seed, "nv_full", Precision::Fp16);
        prop_assert!(distance.signal_to_noise > 45.0, "{distance:?}");
    }

    /// int8 has 8 bits for each value's range.
    #[test]
    fn drawn_networks_are_near_in_int8(seed in any::<u64>(), is_large in any::<bool>()) {
        let platform = if is_large { "nv_large" } else { "nv_small" };
        let distance = distance(seed, platform, Precision::Int8);
        prop_assert!(distance.signal_to_noise > 18.0, "{platform}: {distance:?}");
    }
}

#[test]
fn every_layer_tells_its_distance() {
    let (graph, input) = network(7);
    let mut lowered = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
    let own = lowered.network.outputs.len();
    lowered.show_all_layers();
    assert!(lowered.network.outputs.len() > own);
    let codes = lowered.encode(std::slice::from_ref(&input)).unwrap();
    let outputs = vp_tests::reference::run_outputs(&lowered.network, &codes);
    let distances = lowered.distances(&[input], &outputs).unwrap();
    assert_eq!(distances.len(), lowered.layers.iter().filter(|layer| layer.value.is_some()).count());
    assert!(distances.iter().all(|of| of.distance.signal_to_noise > 15.0), "{distances:#?}");
}

/// Numbers far beyond where a function bends: its table ends before them, and its answers go on.
#[test]
fn a_function_of_large_numbers_keeps_their_range() {
    for seed in 0..4 {
        let mut draw = GraphDraw::new(seed, [1, 8, 12, 12]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let spread = draw.convolution(start, 8, &spatial(3, 1, 1, 1));
        let factor = draw.numbers(&[1, 8, 1, 1], 40.0);
        let large = draw.alike(Operator::Binary(Binary::Mul), &[spread, factor]);
        let gated = draw.alike(Operator::Unary(Unary::HardSwish), &[large]);
        let last = draw.convolution(gated, 8, &spatial(1, 1, 0, 1));
        let graph = draw.finish(&[last]);
        let expected = graph.run(std::slice::from_ref(&input)).unwrap();
        let lowered = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
        assert_eq!(lowered.network.layers.len(), 2, "the function is the first convolution's");
        let found = ran(&lowered, "nv_large", &input);
        let distance = Distance::of(&expected[0].to_floats(), &found[0].to_floats());
        assert!(distance.signal_to_noise > 28.0, "{seed}: {distance:?}");
    }
}

/// Layers of DenseNet read what all before have made: joined with larger numbers a part would lose bits for all of them.
#[test]
fn a_part_that_others_read_keeps_codes_of_its_own() {
    let mut draw = GraphDraw::new(3, [1, 8, 12, 12]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let small = draw.convolution(start, 8, &spatial(3, 1, 1, 1));
    let large = draw.convolution(start, 8, &spatial(3, 1, 1, 1));
    let factor = draw.constant(Tensor::floats(vec![], vec![30.0]));
    let large = draw.alike(Operator::Binary(Binary::Mul), &[large, factor]);
    let joined = draw.concatenation(&[small, large]);
    let ends = [small, joined].map(|value| draw.convolution(value, 4, &spatial(1, 1, 0, 1)));
    let graph = draw.finish(&ends);
    let expected = graph.run(std::slice::from_ref(&input)).unwrap();
    let lowered = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
    let found = ran(&lowered, "nv_large", &input);
    for (expected, found) in expected.iter().zip(&found) {
        let distance = Distance::of(&expected.to_floats(), &found.to_floats());
        assert!(distance.signal_to_noise > 30.0, "{distance:?}");
    }
}
