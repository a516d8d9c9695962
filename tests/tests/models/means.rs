//! Means over windows that reach into padding.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use proptest::prelude::*;
use rand::Rng;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::Distance;
use vp_tensors::{Elements, Operator, PadMode, Pooling, Reduction, Spatial, Tensor};
use vp_tests::effort::cases;

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(24), ..ProptestConfig::default() })]

    /// PDP makes them region by region: nothing is left to the CPU, and the outputs at the edges are as near as the others.
    #[test]
    fn padding_is_left_out(seed in any::<u64>(), platform in 0..3_usize) {
        let (platform, precision) =
            [("nv_small", Precision::Int8), ("nv_large", Precision::Int8), ("nv_full", Precision::Fp16)][platform];
        let mut draw = GraphDraw::new(seed, [1, 20, 13, 11]);
        let input = draw.input();
        let kernel = draw.random.random_range(2..6);
        let (stride, padding) = (draw.random.random_range(1..4), draw.random.random_range(1..kernel));
        let rounds_up = draw.random.random_bool(0.5);
        let size = |size: usize| {
            let over = size + 2 * padding - kernel;
            let whole = if rounds_up { over.div_ceil(stride) } else { over / stride };
            // A last window that begins behind the input is none.
            whole + usize::from(!rounds_up || whole * stride < size + padding)
        };
        let start = draw.graph.inputs[0];
        let convolved = draw.convolution(start, 20, &spatial(1, 1, 0, 1));
        let pooling = Pooling { spatial: spatial(kernel, stride, padding, 1), rounds_up };
        let shape = [1, 20, size(13), size(11)];
        let pooled = draw.node(Operator::AveragePool { pooling, counts_padding: false }, &[convolved], &shape);
        let graph = draw.finish(&[pooled]);
        let lowered = lowered(&graph, platform, precision, &input).unwrap();
        prop_assert_eq!(&lowered.on_cpu, &[]);
        let expected = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
        let found = ran(&lowered, platform, &input)[0].to_floats();
        let distance = Distance::of(&expected, &found);
        let least = if precision == Precision::Fp16 { 55.0 } else { 30.0 };
        prop_assert!(distance.signal_to_noise > least, "{distance:?}");
        let wrong = expected.iter().zip(&found).filter(|(one, other)| (*one - *other).abs() > 0.03);
        prop_assert_eq!(wrong.count(), 0);
    }
}

/// PyTorch's `x.mean([2, 3])`, and `x.mean(2)` of a series: the axes go, and a fully connected layer reads the channels.
#[test]
fn a_mean_of_planes_without_their_axes_is_a_units() {
    for (platform, precision, shape) in [
        ("nv_large", Precision::Int8, &[1, 12, 9, 7][..]),
        ("nv_full", Precision::Fp16, &[1, 12, 9, 7]),
        ("nv_full", Precision::Fp16, &[1, 12, 20]),
    ] {
        let mut draw = GraphDraw::new(4, shape);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let rank = shape.len() - 2;
        let window = Spatial {
            kernel: vec![1; rank],
            strides: vec![1; rank],
            dilations: vec![1; rank],
            ..spatial(1, 1, 0, 1)
        };
        let window = Spatial { before: vec![0; rank], after: vec![0; rank], ..window };
        let kernel = draw.numbers(&[&[16, 12][..], &vec![1; rank]].concat(), 0.5);
        let mut made = shape.to_vec();
        made[1] = 16;
        let convolved = draw.node(Operator::Conv(window), &[start, kernel], &made);
        let convolved = draw.relu(convolved);
        let axes = (2..shape.len() as i64).map(|axis| axis - shape.len() as i64).collect();
        let mean = Operator::Reduce { reduction: Reduction::Mean, axes, keeps: false };
        let mean = draw.node(mean, &[convolved], &[1, 16]);
        let weights = draw.numbers(&[16, 5], 0.5);
        let answer = draw.node(Operator::MatMul, &[mean, weights], &[1, 5]);
        let graph = draw.finish(&[answer]);
        let lowered = lowered(&graph, platform, precision, &input).unwrap();
        assert_eq!(lowered.cpu_layers().count(), 0, "{platform} {shape:?}: {:?}", lowered.on_cpu);
        let expected = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
        let found = ran(&lowered, platform, &input)[0].to_floats();
        let distance = Distance::of(&expected, &found);
        let least = if precision == Precision::Fp16 { 50.0 } else { 15.0 };
        assert!(distance.signal_to_noise > least, "{platform} {shape:?}: {distance:?}");
    }
}

/// Keras writes the padding of its first pooling out. Zeros are no largest numbers behind a Relu, and minus infinity never is.
#[test]
fn a_largest_number_pads_by_itself_where_the_padding_changes_none() {
    for (is_limited, value, is_units) in [
        (true, 0.0, true),
        (true, f32::NEG_INFINITY, true),
        (false, f32::NEG_INFINITY, true),
        (false, 0.0, false),
    ] {
        let mut draw = GraphDraw::new(6, [1, 12, 9, 7]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let mut made = draw.convolution(start, 16, &spatial(1, 1, 0, 1));
        if is_limited {
            made = draw.relu(made);
        }
        let pads = draw.constant(Tensor::of(vec![8], Elements::Int64(vec![0, 0, 1, 1, 0, 0, 1, 1])));
        let value = draw.constant(Tensor::floats(vec![], vec![value]));
        let padded =
            draw.node(Operator::Pad { mode: PadMode::Constant }, &[made, pads, value], &[1, 16, 11, 9]);
        let pooling = Pooling { spatial: spatial(3, 2, 0, 1), rounds_up: false };
        let pooled = draw.node(Operator::MaxPool(pooling), &[padded], &[1, 16, 5, 4]);
        let read = draw.convolution(pooled, 8, &spatial(1, 1, 0, 1));
        let graph = draw.finish(&[read]);
        let lowered = lowered(&graph, "nv_full", Precision::Fp16, &input).unwrap();
        assert_eq!(lowered.on_cpu.is_empty(), is_units, "{is_limited} {:?}", lowered.on_cpu);
        let expected = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
        let found = ran(&lowered, "nv_full", &input)[0].to_floats();
        let distance = Distance::of(&expected, &found);
        assert!(distance.signal_to_noise > 50.0, "{distance:?}");
    }
}

/// A mean that counts the zeros of a Pad before it counts its own padding.
#[test]
fn a_mean_pads_by_itself_where_zeros_count() {
    let mut draw = GraphDraw::new(7, [1, 12, 9, 7]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 16, &spatial(1, 1, 0, 1));
    let pads = draw.constant(Tensor::of(vec![8], Elements::Int64(vec![0, 0, 1, 1, 0, 0, 1, 1])));
    let padded = draw.node(Operator::Pad { mode: PadMode::Constant }, &[made, pads], &[1, 16, 11, 9]);
    let pooling = Pooling { spatial: spatial(3, 2, 0, 1), rounds_up: false };
    let mean = Operator::AveragePool { pooling, counts_padding: false };
    let pooled = draw.node(mean, &[padded], &[1, 16, 5, 4]);
    let read = draw.convolution(pooled, 8, &spatial(1, 1, 0, 1));
    let graph = draw.finish(&[read]);
    let lowered = lowered(&graph, "nv_full", Precision::Fp16, &input).unwrap();
    assert_eq!(lowered.on_cpu, []);
    let expected = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
    let found = ran(&lowered, "nv_full", &input)[0].to_floats();
    let distance = Distance::of(&expected, &found);
    assert!(distance.signal_to_noise > 50.0, "{distance:?}");
}
