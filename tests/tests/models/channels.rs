//! Channels in another order.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::Distance;
use vp_tensors::{Elements, Operator, Tensor};

/// ShuffleNet's shuffle, as exporters write it, between convolutions: exactly the same numbers in another order.
#[test]
fn a_shuffle_of_channels_is_a_units() {
    for (platform, precision) in
        [("nv_small", Precision::Int8), ("nv_large", Precision::Int8), ("nv_full", Precision::Fp16)]
    {
        for groups in [2, 5] {
            let mut draw = GraphDraw::new(groups as u64, [1, 12, 6, 5]);
            let input = draw.input();
            let start = draw.graph.inputs[0];
            let made = draw.convolution(start, 20, &spatial(1, 1, 0, 1));
            let made = draw.relu(made);
            let of_parts = vec![1, groups as i64, 20 / groups as i64, 6, 5];
            let parts = draw.constant(Tensor::of(vec![5], Elements::Int64(of_parts)));
            let whole = draw.constant(Tensor::of(vec![4], Elements::Int64(vec![1, 20, 6, 5])));
            let reshape = Operator::Reshape { allows_zero: false };
            let parted = draw.node(reshape.clone(), &[made, parts], &[1, groups, 20 / groups, 6, 5]);
            let transpose = Operator::Transpose { permutation: vec![0, 2, 1, 3, 4] };
            let moved = draw.node(transpose, &[parted], &[1, 20 / groups, groups, 6, 5]);
            let shuffled = draw.node(reshape, &[moved, whole], &[1, 20, 6, 5]);
            let pooled = draw.max_pool(shuffled);
            let graph = draw.finish(&[made, pooled]);
            let lowered = lowered(&graph, platform, precision, &input).unwrap();
            assert_eq!(lowered.on_cpu, [], "{platform} {groups}");
            let expected = graph.run(std::slice::from_ref(&input)).unwrap();
            let found = ran(&lowered, platform, &input);
            let distance = Distance::of(&expected[1].to_floats(), &found[1].to_floats());
            let least = if precision == Precision::Fp16 { 60.0 } else { 30.0 };
            assert!(distance.signal_to_noise > least, "{platform} {groups}: {distance:?}");
            // Each channel has the largest of one before the shuffle, code by code.
            let [before, behind] = [0, 1].map(|output| found[output].to_floats().to_vec());
            for channel in 0..20 {
                let of = channel % groups * (20 / groups) + channel / groups;
                let window = [0, 1, 5, 6].map(|pixel| before[of * 30 + pixel]);
                assert_eq!(
                    behind[channel * 6],
                    window.into_iter().fold(f32::MIN, f32::max),
                    "{platform} {channel}"
                );
            }
        }
    }
}
