//! Channels of very different ranges, of which int8 keeps the small ones.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_models::platform::Description;
use vp_onnx::Distance;
use vp_onnx::lower::{Calibration, LowerOptions, lower};
use vp_tensors::{Binary, Graph, Operator, Pooling, Tensor, Unary, ValueId};

/// A graph whose channels differ by a thousand, and count the same in the end.
fn spread(draw: &mut GraphDraw, middle: impl Fn(&mut GraphDraw, ValueId) -> ValueId) -> ValueId {
    const CHANNELS: usize = 16;
    let factors =
        |sign: f32| (0..CHANNELS).map(|channel| 2.0_f32.powf(sign * channel as f32 * 0.65)).collect();
    let [down, up] =
        [factors(-1.0), factors(1.0)].map(|factors| Tensor::floats([1, CHANNELS, 1, 1], factors));
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, CHANNELS, &spatial(3, 1, 1, 1));
    let down = draw.constant(down);
    let made = draw.alike(Operator::Binary(Binary::Mul), &[made, down]);
    let offsets = draw.numbers(&[1, CHANNELS, 1, 1], 0.001);
    let made = draw.alike(Operator::Binary(Binary::Add), &[made, offsets]);
    let made = middle(draw, made);
    // Weights that make up for it, in the order of exporters: in a depthwise convolution.
    let weights: Vec<f32> = up.to_floats().iter().flat_map(|factor| [*factor; 9]).collect();
    let weights = draw.constant(Tensor::floats([CHANNELS, 1, 3, 3], weights));
    let made = draw.alike(Operator::Conv(spatial(3, 1, 1, CHANNELS)), &[made, weights]);
    draw.convolution(made, 8, &spatial(1, 1, 0, 1))
}

#[test]
fn channels_of_small_numbers_keep_their_bits() {
    let middles: [fn(&mut GraphDraw, ValueId) -> ValueId; 4] = [
        GraphDraw::relu,
        |draw, from| {
            let pooling = Pooling { spatial: spatial(3, 1, 1, 1), rounds_up: false };
            let pooled = draw.alike(Operator::AveragePool { pooling, counts_padding: true }, &[from]);
            let half = draw.constant(Tensor::floats(vec![], vec![0.5]));
            let shape = draw.shape(pooled);
            draw.node(Operator::Binary(Binary::Mul), &[half, pooled], &shape)
        },
        |draw, from| {
            let leaky = draw.alike(Operator::Unary(Unary::LeakyRelu { alpha: 0.1 }), &[from]);
            draw.max_pool(leaky)
        },
        |draw, from| {
            let pooling = Pooling { spatial: spatial(3, 1, 1, 1), rounds_up: false };
            draw.alike(Operator::AveragePool { pooling, counts_padding: false }, &[from])
        },
    ];
    for (number, middle) in middles.into_iter().enumerate() {
        let mut draw = GraphDraw::new(31, [1, 3, 12, 10]);
        let input = draw.input();
        let made = spread(&mut draw, middle);
        let graph = draw.finish(&[made]);
        let expected = graph.run(std::slice::from_ref(&input)).unwrap();
        for platform in ["nv_small", "nv_large"] {
            let lowered = lowered(&graph, platform, Precision::Int8, &input).unwrap();
            // Powers of two change no number of the model.
            assert_eq!(lowered.floats.run(std::slice::from_ref(&input)).unwrap(), expected);
            let found = ran(&lowered, platform, &input);
            let distance = Distance::of(&expected[0].to_floats(), &found[0].to_floats());
            assert!(distance.signal_to_noise > 25.0, "{number} on {platform}: {distance:?}");
        }
    }
}

/// A value that others read as well has the numbers of the model.
#[test]
fn what_others_read_stays_as_it_is() {
    let mut draw = GraphDraw::new(32, [1, 3, 12, 10]);
    let input = draw.input();
    let made = spread(&mut draw, GraphDraw::relu);
    let between = draw.graph.nodes.iter().find(|node| node.operator == Operator::Unary(Unary::Relu));
    let between = between.unwrap().outputs[0];
    let graph = draw.finish(&[made, between]);
    let lowered = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
    let expected = graph.run(std::slice::from_ref(&input)).unwrap();
    assert_eq!(lowered.floats.run(std::slice::from_ref(&input)).unwrap(), expected);
    let found = ran(&lowered, "nv_large", &input)[1].to_floats();
    let distance = Distance::of(&expected[1].to_floats(), &found);
    assert!(distance.largest < 0.02 * distance.range, "{distance:?}");
}

fn signal_to_noise(graph: &Graph, input: &Tensor) -> f64 {
    let expected = graph.run(std::slice::from_ref(input)).unwrap();
    let lowered = lowered(graph, "nv_large", Precision::Int8, input).unwrap();
    assert_eq!(lowered.floats.run(std::slice::from_ref(input)).unwrap(), expected);
    let found = ran(&lowered, "nv_large", input);
    Distance::of(&expected[0].to_floats(), &found[0].to_floats()).signal_to_noise
}

/// Batch normalisations bring them back, as in dense blocks.
#[test]
fn joined_cubes_of_other_ranges_keep_their_bits() {
    let mut draw = GraphDraw::new(33, [1, 3, 10, 10]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let ranges = [1.0_f32, 1.0 / 40.0, 12.0];
    let parts = ranges.map(|range| {
        let part = draw.convolution(start, 8, &spatial(3, 1, 1, 1));
        let factors = draw.constant(Tensor::floats([1, 8, 1, 1], vec![range; 8]));
        draw.alike(Operator::Binary(Binary::Mul), &[part, factors])
    });
    let first = draw.concatenation(&parts[..2]);
    let joined = draw.concatenation(&[first, parts[2]]);
    let scale: Vec<f32> = ranges.iter().flat_map(|range| [1.0 / range; 8]).collect();
    let [ones, zeros] = [1.0, 0.0].map(|number| draw.constant(Tensor::floats([24], vec![number; 24])));
    let scale = draw.constant(Tensor::floats([24], scale));
    let operator = Operator::BatchNormalization { epsilon: 1e-5 };
    let normal = draw.alike(operator, &[joined, scale, zeros, zeros, ones]);
    let made = draw.relu(normal);
    let made = draw.convolution(made, 8, &spatial(1, 1, 0, 1));
    let half = draw.convolution(first, 8, &spatial(1, 1, 0, 1));
    let graph = draw.finish(&[made, half]);
    let distance = signal_to_noise(&graph, &input);
    assert!(distance > 25.0, "{distance}");
}

#[test]
fn a_constant_that_has_the_channels_alone_is_not_divided() {
    let mut draw = GraphDraw::new(34, [1, 3, 8, 8]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 1, &spatial(3, 1, 1, 1));
    let offsets = draw.constant(Tensor::floats([1, 4, 1, 1], vec![0.0, 1.0, 20.0, -400.0]));
    let made = draw.node(Operator::Binary(Binary::Add), &[made, offsets], &[1, 4, 8, 8]);
    let made = draw.relu(made);
    let made = draw.convolution(made, 8, &spatial(1, 1, 0, 1));
    let graph = draw.finish(&[made]);
    let expected = graph.run(std::slice::from_ref(&input)).unwrap();
    let lowered = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
    assert_eq!(lowered.floats.run(std::slice::from_ref(&input)).unwrap(), expected);
}

/// Zero is not the code 0 in a cube that has other numbers as well.
#[test]
fn kernels_of_zeros_alone_give_zero() {
    let mut draw = GraphDraw::new(35, [1, 3, 8, 8]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let weights = draw.constant(Tensor::floats([8, 3, 1, 1], vec![0.0; 24]));
    let dead = draw.node(Operator::Conv(spatial(1, 1, 0, 1)), &[start, weights], &[1, 8, 8, 8]);
    let live = draw.convolution(start, 8, &spatial(1, 1, 0, 1));
    let live = draw.relu(live);
    let joined = draw.concatenation(&[dead, live]);
    let made = draw.convolution(joined, 8, &spatial(3, 1, 1, 1));
    let distance = signal_to_noise(&draw.finish(&[made]), &input);
    assert!(distance > 28.0, "{distance}");
}

/// Factors of all its values would not fit into memory.
#[test]
fn a_graph_of_too_many_channels_stays_as_it_is() {
    for (length, has_factors) in [(10, true), (1100, false)] {
        let mut draw = GraphDraw::new(36, [1, 1, 1, 1]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let powers = |sign: i32| (0..8192).map(|channel| 2.0_f32.powi(sign * (channel % 8))).collect();
        let [down, up] = [powers(-1), powers(1)].map(|powers| Tensor::floats([8192, 1, 1, 1], powers));
        let [down, up] = [down, up].map(|weights| draw.constant(weights));
        let mut made = draw.node(Operator::Conv(spatial(1, 1, 0, 1)), &[start, down], &[1, 8192, 1, 1]);
        for _ in 0..length {
            made = draw.alike(Operator::Identity, &[made]);
        }
        let made = draw.alike(Operator::Conv(spatial(1, 1, 0, 8192)), &[made, up]);
        let graph = draw.finish(&[made]);
        let description = Description::named("nv_large").unwrap();
        let mut samples = std::iter::once(Ok(vec![input]));
        let options = LowerOptions { precision: Some(Precision::Int8), ..LowerOptions::default() };
        let config = &description.nvdla().unwrap().config;
        let lowered = lower(&graph, config, &options, Calibration::Samples(&mut samples)).unwrap();
        assert_eq!(lowered.calibration.to_json().contains("channel_factors"), has_factors, "{length}");
    }
}
