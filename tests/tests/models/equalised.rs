//! Channels of very different ranges, of which int8 keeps the small ones.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_onnx::Distance;
use vp_tensors::{Binary, Operator, Pooling, Tensor, Unary, ValueId};

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
            let [low, high] = [0.0, 0.75].map(|bound| draw.constant(Tensor::floats(vec![], vec![bound])));
            draw.alike(Operator::Clip, &[from, low, high])
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
            assert!(distance.signal_to_noise > 30.0, "{number} on {platform}: {distance:?}");
            // A bound is where the codes end, and no layer more.
            let made = &lowered.network.layers;
            assert!(!made.iter().any(|layer| layer.name.ends_with("limit")), "{number} on {platform}");
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
