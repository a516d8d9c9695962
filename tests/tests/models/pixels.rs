//! Nodes that make more pixels of one: repeated, or of blocks of channels.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::Distance;
use vp_tensors::{
    CoordinateTransformation, Elements, Interpolation, NearestMode, Operator, Resize, Spatial, Tensor,
    ValueId,
};

/// Runs a graph whose middle is what makes more pixels; no CPU may be in it.
fn check(middle: impl Fn(&mut GraphDraw, ValueId) -> ValueId) {
    let mut draw = GraphDraw::new(21, [1, 3, 5, 4]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 12, &spatial(3, 1, 1, 1));
    let made = middle(&mut draw, made);
    let made = draw.convolution(made, 6, &spatial(3, 1, 1, 1));
    let graph = draw.finish(&[made]);
    for (platform, precision, least) in [
        ("nv_small", Precision::Int8, 20.0),
        ("nv_large", Precision::Int8, 20.0),
        ("nv_full", Precision::Fp16, 50.0),
    ] {
        let expected = graph.run(std::slice::from_ref(&input)).unwrap();
        let lowered = lowered(&graph, platform, precision, &input).unwrap();
        assert_eq!(lowered.on_cpu, [], "{platform}");
        assert_eq!(lowered.cpu_layers().count(), 0, "{platform}");
        let found = ran(&lowered, platform, &input);
        let distance = Distance::of(&expected[0].to_floats(), &found[0].to_floats());
        assert!(distance.signal_to_noise > least, "{platform}: {distance:?}");
    }
}

fn resized(draw: &mut GraphDraw, from: ValueId, resize: Resize, factor: usize) -> ValueId {
    let scales = Tensor::floats(vec![4], vec![1.0, 1.0, factor as f32, factor as f32]);
    let [scales, none] = [scales, Tensor::floats(vec![0], vec![])].map(|tensor| draw.constant(tensor));
    let [batch, channels, height, width] = draw.shape(from)[..] else { panic!("a cube") };
    let shape = [batch, channels, height * factor, width * factor];
    draw.node(Operator::Resize(resize), &[from, none, scales], &shape)
}

const NEAREST: Resize = Resize {
    interpolation: Interpolation::Nearest,
    coordinates: CoordinateTransformation::Asymmetric,
    nearest: NearestMode::Floor,
};

#[test]
fn pixels_that_are_repeated_are_sdps() {
    let half = Resize {
        coordinates: CoordinateTransformation::HalfPixel,
        nearest: NearestMode::RoundPreferFloor,
        ..NEAREST
    };
    for (resize, factor) in [(NEAREST, 2), (NEAREST, 3), (half, 2), (half, 4)] {
        check(|draw, from| resized(draw, from, resize, factor));
    }
}

#[test]
fn pixels_that_are_not_just_repeated_are_the_cpus() {
    let rounded = Resize { nearest: NearestMode::RoundPreferFloor, ..NEAREST };
    let linear = Resize { interpolation: Interpolation::Linear, ..NEAREST };
    for resize in [rounded, linear] {
        let mut draw = GraphDraw::new(22, [1, 3, 4, 4]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let made = draw.convolution(start, 8, &spatial(1, 1, 0, 1));
        let made = resized(&mut draw, made, resize, 3);
        let made = draw.convolution(made, 6, &spatial(1, 1, 0, 1));
        let lowered = lowered(&draw.finish(&[made]), "nv_full", Precision::Fp16, &input).unwrap();
        assert_eq!(lowered.cpu_layers().count(), 1, "{resize:?}");
    }
}

/// Blocks of whole atoms are made at once, others one by one.
#[test]
fn transposed_convolutions_are_the_units() {
    for (kernels, [size, stride, padding, more], groups) in [
        (5, [2, 2, 0, 0], 1),
        (32, [2, 2, 0, 0], 1),
        (7, [3, 3, 0, 0], 1),
        (6, [4, 2, 1, 0], 1),
        (9, [3, 2, 1, 1], 1),
        (4, [5, 2, 2, 1], 1),
        (32, [4, 2, 1, 0], 2),
        (12, [4, 2, 1, 0], 12),
        (8, [3, 1, 1, 0], 1),
        // Of these the last lines and columns are cut off.
        (9, [3, 2, 1, 0], 1),
        (32, [3, 2, 0, 0], 1),
        (6, [5, 3, 1, 1], 1),
    ] {
        check(|draw, from| {
            let [batch, channels, height, width] = draw.shape(from)[..] else { panic!("a cube") };
            let weights = draw.numbers(&[channels, kernels / groups, size, size], 0.4);
            let bias = draw.numbers(&[kernels], 0.3);
            let spatial = Spatial { strides: vec![stride; 2], ..spatial(size, 1, padding, groups) };
            let operator =
                Operator::ConvTranspose { spatial, output_padding: vec![more; 2], output_shape: None };
            let [height, width] = [height, width].map(|side| stride * (side - 1) + size + more - 2 * padding);
            draw.node(operator, &[from, weights, bias], &[batch, kernels, height, width])
        });
    }
}

#[test]
fn a_transposed_convolution_at_the_end_is_the_units() {
    for (kernel, padding, size) in [(2, 0, 8), (3, 1, 7)] {
        let mut draw = GraphDraw::new(23, [1, 3, 4, 4]);
        let input = draw.input();
        let weights = draw.numbers(&[3, 1, kernel, kernel], 0.4);
        let spatial = Spatial { strides: vec![2; 2], ..spatial(kernel, 1, padding, 1) };
        let operator = Operator::ConvTranspose { spatial, output_padding: vec![0; 2], output_shape: None };
        let start = draw.graph.inputs[0];
        let made = draw.node(operator, &[start, weights], &[1, 1, size, size]);
        let lowered = lowered(&draw.finish(&[made]), "nv_full", Precision::Fp16, &input).unwrap();
        assert_eq!((lowered.cpu_layers().count(), lowered.on_cpu.len()), (0, 0));
        ran(&lowered, "nv_full", &input);
    }
}

/// In both orders of channels, of whole atoms or not; a function between moves with them.
#[test]
fn blocks_of_channels_become_pixels() {
    for (is_column_first, channels) in [(false, 32), (true, 32), (false, 3), (true, 3)] {
        check(|draw, from| {
            let made = draw.convolution(from, 4 * channels, &spatial(1, 1, 0, 1));
            let made = draw.relu(made);
            let [batch, _, height, width] = draw.shape(made)[..] else { panic!("a cube") };
            let operator = Operator::DepthToSpace { block: 2, is_column_first };
            draw.node(operator, &[made], &[batch, channels, 2 * height, 2 * width])
        });
    }
}

#[test]
fn blocks_that_are_moved_by_reshapes_become_pixels() {
    let orders = [([1, 5, 3, 3], vec![0, 1, 4, 2, 5, 3]), ([1, 3, 3, 5], vec![0, 3, 4, 1, 5, 2])];
    for ([_, one, two, three], permutation) in orders {
        check(|draw, from| {
            let made = draw.convolution(from, 5 * 9, &spatial(1, 1, 0, 1));
            let [batch, _, height, width] = draw.shape(made)[..] else { panic!("a cube") };
            let reshaped = |draw: &mut GraphDraw, from: ValueId, shape: &[usize]| {
                let sizes = shape.iter().map(|size| *size as i64).collect();
                let sizes = draw.constant(Tensor::of(vec![shape.len()], Elements::Int64(sizes)));
                draw.node(Operator::Reshape { allows_zero: false }, &[from, sizes], shape)
            };
            let parted = [batch, one, two, three, height, width];
            let made = reshaped(draw, made, &parted);
            let shape: Vec<usize> = permutation.iter().map(|axis| parted[*axis]).collect();
            let operator = Operator::Transpose { permutation: permutation.clone() };
            let made = draw.node(operator, &[made], &shape);
            reshaped(draw, made, &[batch, 5, 3 * height, 3 * width])
        });
    }
}
