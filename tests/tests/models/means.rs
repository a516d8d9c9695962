//! Means over windows that reach into padding.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use proptest::prelude::*;
use rand::Rng;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::Distance;
use vp_tensors::{Operator, Pooling};
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
