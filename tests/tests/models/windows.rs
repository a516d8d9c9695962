//! Poolings whose windows are larger than PDP's.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::Distance;
use vp_tensors::{Operator, Pooling};

const PLATFORMS: [(&str, Precision); 3] =
    [("nv_small", Precision::Int8), ("nv_large", Precision::Int8), ("nv_full", Precision::Fp16)];

/// A pooling of a kernel, a stride and padding behind a convolution: the nodes that the CPU has, and the distance from the model.
fn pooled(
    (platform, precision): (&str, Precision),
    is_mean: bool,
    [kernel, stride, padding, side]: [usize; 4],
) -> (usize, Distance) {
    let mut draw = GraphDraw::new(31, [1, 3, side, side + 3]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let convolved = draw.convolution(start, 10, &spatial(3, 1, 1, 1));
    let pooling = Pooling { spatial: spatial(kernel, stride, padding, 1), rounds_up: false };
    let [height, width] = [side, side + 3].map(|side| (side + 2 * padding - kernel) / stride + 1);
    let operator = match is_mean {
        true => Operator::AveragePool { pooling, counts_padding: true },
        false => Operator::MaxPool(pooling),
    };
    let made = draw.node(operator, &[convolved], &[1, 10, height, width]);
    let graph = draw.finish(&[made]);
    let lowered = lowered(&graph, platform, precision, &input).unwrap();
    let expected = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
    let found = ran(&lowered, platform, &input)[0].to_floats();
    (lowered.on_cpu.len(), Distance::of(&expected, &found))
}

/// YOLO's pyramids of 9 and 13 columns, and windows side by side.
#[test]
fn the_largest_of_large_windows_is_pdps() {
    for platform in PLATFORMS {
        for windows in [
            [9, 1, 4, 14],
            [13, 1, 6, 14],
            [10, 10, 0, 20],
            [16, 16, 0, 32],
            [11, 3, 5, 19],
            [20, 1, 0, 20],
            [17, 2, 8, 21],
        ] {
            let (on_cpu, distance) = pooled(platform, false, windows);
            assert_eq!(on_cpu, 0, "{platform:?} {windows:?}");
            assert!(distance.signal_to_noise > 30.0, "{platform:?} {windows:?}: {distance:?}");
        }
    }
}

/// Means are PDP's where windows of windows have no element in common; in int8 others are a convolution's.
#[test]
fn means_of_large_windows_are_units() {
    for platform in PLATFORMS {
        for (windows, is_of_pdp) in [
            ([10, 10, 0, 20], true),
            ([12, 4, 0, 20], true),
            ([16, 16, 0, 32], true),
            ([9, 1, 0, 14], false),
            ([11, 2, 5, 14], false),
        ] {
            let (on_cpu, distance) = pooled(platform, true, windows);
            let is_units = is_of_pdp || platform.1 == Precision::Int8;
            assert_eq!(on_cpu, usize::from(!is_units), "{platform:?} {windows:?}");
            assert!(distance.signal_to_noise > 20.0, "{platform:?} {windows:?}: {distance:?}");
        }
    }
}
