//! Quantised models: in exact integers, within one step of what their numbers are.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use proptest::prelude::*;
use rand::Rng;
use vp_models::nvdla::numeric::Precision;
use vp_tensors::{Binary, Elements, Graph, Operator, Pooling, Tensor, Unary, ValueId};
use vp_tests::effort::cases;

/// Codes with or without a sign.
#[derive(Clone, Copy, Debug)]
enum Form {
    Symmetric,
    Unsigned,
}

impl Form {
    /// A value quantised for numbers from `low` to `high`.
    fn quantise(self, draw: &mut GraphDraw, from: ValueId, (low, high): (f32, f32)) -> (ValueId, f32) {
        match self {
            Form::Symmetric => {
                let scale = high.max(-low) / 127.0;
                (draw.quantised(from, scale, Elements::Int8(vec![0])), scale)
            }
            Form::Unsigned => {
                let scale = (high - low) / 255.0;
                let zero = (-low / scale).round() as u8;
                (draw.quantised(from, scale, Elements::Uint8(vec![zero])), scale)
            }
        }
    }
}

/// Weights in int8 with a scale for all or for each kernel, taken back to numbers.
fn weights(draw: &mut GraphDraw, shape: &[usize], is_by_kernel: bool) -> ValueId {
    let count: usize = shape.iter().product();
    let codes = (0..count).map(|_| draw.random.random_range(-127..=127)).collect();
    let scales = if is_by_kernel { shape[0] } else { 1 };
    let bound = 2.0 / (count / shape[0]) as f32;
    let scales: Vec<f32> = (0..scales).map(|_| draw.random.random_range(0.2..1.0) * bound / 127.0).collect();
    let zeros = Elements::Int8(vec![0; scales.len()]);
    let of_scales = if is_by_kernel { vec![scales.len()] } else { vec![] };
    let codes = draw.constant(Tensor::of(shape.to_vec(), Elements::Int8(codes)));
    let zeros = draw.constant(Tensor::of(of_scales.clone(), zeros));
    let scales = draw.constant(Tensor::floats(of_scales, scales));
    draw.node(Operator::DequantizeLinear { axis: 0 }, &[codes, scales, zeros], shape)
}

/// One layer between codes, and the step of its output.
fn layer(seed: u64, kind: u32, form: Form, is_by_kernel: bool) -> (Graph, Tensor, f32) {
    let mut draw = GraphDraw::new(seed, [1, 12, 9, 7]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let (from, _) = form.quantise(&mut draw, start, (-1.0, 1.0));
    let convolved = |draw: &mut GraphDraw, from: ValueId, groups: usize| {
        let kernel = weights(draw, &[12, 12 / groups, 3, 3], is_by_kernel);
        let bias = draw.numbers(&[12], 0.2);
        draw.alike(Operator::Conv(spatial(3, 1, 1, groups)), &[from, kernel, bias])
    };
    let (made, range) = match kind {
        0 => (convolved(&mut draw, from, 1), (-1.0, 1.2)),
        1 => {
            let made = convolved(&mut draw, from, 1);
            (draw.relu(made), (0.0, 1.0))
        }
        2 => {
            let made = convolved(&mut draw, from, 12);
            (draw.alike(Operator::Unary(Unary::LeakyRelu { alpha: 0.25 }), &[made]), (-0.3, 1.5))
        }
        3 => {
            let made = convolved(&mut draw, from, 1);
            let sum = draw.sum(made, from);
            (draw.relu(sum), (0.0, 1.5))
        }
        4 => {
            let factor = draw.numbers(&[1, 12, 1, 1], 1.5);
            (draw.alike(Operator::Binary(Binary::Mul), &[from, factor]), (-1.5, 1.5))
        }
        5 => (draw.alike(Operator::Unary(Unary::Sigmoid), &[from]), (0.0, 1.0)),
        6 => (draw.alike(Operator::Unary(Unary::HardSwish), &[from]), (-0.4, 0.8)),
        // Means have finer codes than what they are of.
        7 => (draw.node(Operator::GlobalAveragePool, &[from], &[1, 12, 1, 1]), (-0.3, 0.3)),
        _ => {
            let pooling = Pooling { spatial: spatial(3, 2, 0, 1), rounds_up: false };
            let operator = Operator::AveragePool { pooling, counts_padding: false };
            (draw.node(operator, &[from], &[1, 12, 4, 3]), (-0.7, 0.7))
        }
    };
    let (made, step) = form.quantise(&mut draw, made, range);
    // Units begin at a convolution.
    let made = if (4..7).contains(&kind) { draw.max_pool(made) } else { made };
    (draw.finish(&[made]), input, step)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn a_quantised_layer_is_within_one_step(
        seed in any::<u64>(),
        kind in 0_u32..9,
        is_unsigned in any::<bool>(),
        is_by_kernel in any::<bool>(),
        is_large in any::<bool>(),
    ) {
        let form = if is_unsigned { Form::Unsigned } else { Form::Symmetric };
        let platform = if is_large { "nv_large" } else { "nv_small" };
        let (graph, input, step) = layer(seed, kind, form, is_by_kernel);
        let expected = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
        let lowered = lowered(&graph, platform, Precision::Int8, &input).unwrap();
        prop_assert!(lowered.is_quantised);
        let found = ran(&lowered, platform, &input)[0].to_floats();
        let worst = expected.iter().zip(&found).map(|(e, f)| (e - f).abs() / step).fold(0.0, f32::max);
        prop_assert!(worst < 1.01, "{kind} {form:?} on {platform}: {worst} steps");
        // Most of them are exact: what differs lies between two codes.
        let differing = expected.iter().zip(&found).filter(|(e, f)| (*e - *f).abs() > 0.5 * step).count();
        prop_assert!(differing * 10 <= expected.len(), "{kind} {form:?} on {platform}: {differing} of {}", expected.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(20), ..ProptestConfig::default() })]

    /// The gate has codes of its own, and zero points at that, with which SDP multiplies nothing: both nodes are one table over the codes of
    /// what is gated.
    #[test]
    fn a_gate_in_codes_is_a_table_with_what_it_gates(seed in any::<u64>(), is_hard in any::<bool>(), is_unsigned in any::<bool>()) {
        let form = if is_unsigned { Form::Unsigned } else { Form::Symmetric };
        let mut draw = GraphDraw::new(seed, [1, 12, 9, 7]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let (from, _) = form.quantise(&mut draw, start, (-1.0, 1.0));
        let kernel = weights(&mut draw, &[12, 12, 3, 3], true);
        let bias = draw.numbers(&[12], 2.0);
        let made = draw.alike(Operator::Conv(spatial(3, 1, 1, 1)), &[from, kernel, bias]);
        let (made, _) = form.quantise(&mut draw, made, (-4.0, 4.0));
        let function = match is_hard {
            true => Unary::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 },
            false => Unary::Sigmoid,
        };
        let gate = draw.alike(Operator::Unary(function), &[made]);
        let (gate, _) = form.quantise(&mut draw, gate, (0.0, 1.0));
        let gated = draw.alike(Operator::Binary(Binary::Mul), &[gate, made]);
        let (gated, step) = form.quantise(&mut draw, gated, (-0.4, 4.0));
        let pooled = draw.max_pool(gated);
        let graph = draw.finish(&[pooled]);
        let expected = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
        let lowered = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap();
        prop_assert_eq!(&lowered.on_cpu, &[]);
        let found = ran(&lowered, "nv_large", &input)[0].to_floats();
        // The convolution's answers are within a step; what follows of them is exact.
        let worst = expected.iter().zip(&found).map(|(e, f)| (e - f).abs() / step).fold(0.0, f32::max);
        prop_assert!(worst < 2.6, "{worst} steps");
        let differing = expected.iter().zip(&found).filter(|(e, f)| (*e - *f).abs() > 0.5 * step).count();
        prop_assert!(differing * 10 <= expected.len(), "{differing} of {}", expected.len());
    }
}
