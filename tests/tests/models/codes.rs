//! Quantised models in which codes differ between neighbours, limit numbers, or are read by some alone: within a step of what the
//! model's nodes give.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_tensors::{
    Binary, ElementType, Elements, Graph, LocalResponse, Operator, Pooling, Tensor, Unary, ValueId,
};

fn unsigned(draw: &mut GraphDraw, from: ValueId, scale: f32, zero: u8) -> ValueId {
    draw.quantised(from, scale, Elements::Uint8(vec![zero]))
}

/// A graph with a convolution of its input, by which units begin.
fn begun(seed: u64, shape: [usize; 4]) -> (GraphDraw, Tensor, ValueId) {
    let mut draw = GraphDraw::new(seed, shape);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let kernels = shape[1];
    let made = draw.convolution(start, kernels, &spatial(3, 1, 1, 1));
    (draw, input, made)
}

/// The largest difference of the device's numbers from the model's.
fn apart(graph: &Graph, input: &Tensor) -> f32 {
    let expected = graph.run(std::slice::from_ref(input)).unwrap();
    let lowered = lowered(graph, "nv_large", Precision::Int8, input).unwrap();
    let found = ran(&lowered, "nv_large", input);
    let both = expected.iter().zip(&found);
    both.flat_map(|(e, f)| e.to_floats().into_iter().zip(f.to_floats()))
        .map(|(e, f)| (e - f).abs())
        .fold(0.0, f32::max)
}

/// Pooled to end with a unit.
fn pooled(draw: &mut GraphDraw, from: ValueId) -> ValueId {
    let pooling = Pooling { spatial: spatial(1, 1, 0, 1), rounds_up: false };
    draw.alike(Operator::MaxPool(pooling), &[from])
}

#[test]
fn parts_of_different_codes_are_joined_in_codes_for_both() {
    let (mut draw, input, made) = begun(1, [1, 8, 8, 8]);
    let small = draw.constant(Tensor::floats(vec![], vec![0.02]));
    let scaled = draw.alike(Operator::Binary(Binary::Mul), &[made, small]);
    let [small, large] =
        [(scaled, 0.0005), (made, 0.03)].map(|(value, scale)| unsigned(&mut draw, value, scale, 128));
    let joined = draw.concatenation(&[small, large]);
    let made = pooled(&mut draw, joined);
    assert!(apart(&draw.finish(&[made]), &input) < 0.06);
}

#[test]
fn parts_of_one_cube_have_codes_of_their_own() {
    let (mut draw, input, made) = begun(2, [1, 8, 8, 8]);
    let parts = [draw.value("a", &[1, 4, 8, 8]), draw.value("b", &[1, 4, 8, 8])];
    draw.graph.nodes.push(vp_tensors::Node {
        name: "split".to_owned(),
        operator: Operator::Split { axis: 1, sizes: None },
        inputs: vec![Some(made)],
        outputs: parts.to_vec(),
    });
    // The first one's codes limit it, the second one's do not.
    let limited = unsigned(&mut draw, parts[0], 0.001, 128);
    let whole = unsigned(&mut draw, parts[1], 0.03, 128);
    let ends = [limited, whole].map(|value| pooled(&mut draw, value));
    assert!(apart(&draw.finish(&ends), &input) < 0.06);
}

/// A number below the least code is not what is added to.
#[test]
fn codes_limit_what_is_read_though_those_behind_are_the_same() {
    for (seed, operator) in [Binary::Add, Binary::Mul].into_iter().enumerate() {
        let (mut draw, input, made) = begun(seed as u64, [1, 8, 8, 8]);
        let positive = unsigned(&mut draw, made, 0.01, 0);
        let constant = draw.constant(Tensor::floats(vec![], vec![-0.5]));
        let behind = draw.alike(Operator::Binary(operator), &[positive, constant]);
        let behind = unsigned(&mut draw, behind, 0.01, 0);
        let made = pooled(&mut draw, behind);
        assert!(apart(&draw.finish(&[made]), &input) < 0.011, "{operator:?}");
    }
    let (mut draw, input, made) = begun(4, [1, 8, 8, 8]);
    let positive = unsigned(&mut draw, made, 0.01, 0);
    let start = draw.graph.inputs[0];
    let other = unsigned(&mut draw, start, 0.01, 128);
    let sum = draw.sum(positive, other);
    let sum = unsigned(&mut draw, sum, 0.01, 0);
    let made = pooled(&mut draw, sum);
    assert!(apart(&draw.finish(&[made]), &input) < 0.021);
}

#[test]
fn codes_are_for_whom_they_are_made() {
    let (mut draw, input, made) = begun(5, [1, 8, 8, 8]);
    let positive = unsigned(&mut draw, made, 0.01, 0);
    let one = draw.convolution(positive, 8, &spatial(1, 1, 0, 1));
    let sum = draw.sum(one, made);
    assert!(apart(&draw.finish(&[sum]), &input) < 0.1);

    let (mut draw, input, made) = begun(6, [1, 8, 8, 8]);
    let fine = unsigned(&mut draw, made, 0.001, 0);
    let coarse = unsigned(&mut draw, made, 0.02, 128);
    let ends = [fine, coarse].map(|value| pooled(&mut draw, value));
    // A step of the cube from which both are made, whose range is five times the finer one's 0.255.
    assert!(apart(&draw.finish(&ends), &input) < 0.04);
}

#[test]
fn zero_points_are_not_squared_and_not_padded_with() {
    let (mut draw, input, made) = begun(7, [1, 8, 8, 8]);
    let coded = unsigned(&mut draw, made, 0.02, 90);
    let response = LocalResponse { size: 5, alpha: 0.5, beta: 0.75, bias: 1.0 };
    let normalised = draw.alike(Operator::LocalResponse(response), &[coded]);
    let coded = unsigned(&mut draw, normalised, 0.01, 120);
    let made = pooled(&mut draw, coded);
    assert!(apart(&draw.finish(&[made]), &input) < 0.035);

    for zero in [0, 90, 128] {
        let (mut draw, input, made) = begun(8, [1, 8, 8, 8]);
        let coded = unsigned(&mut draw, made, 0.02, zero);
        let pooling = Pooling { spatial: spatial(3, 1, 1, 1), rounds_up: false };
        let operator = Operator::AveragePool { pooling, counts_padding: true };
        let averaged = draw.alike(operator, &[coded]);
        let coded = unsigned(&mut draw, averaged, 0.02, zero);
        assert!(apart(&draw.finish(&[coded]), &input) < 0.021, "{zero}");
    }
}

/// A converter adds the zero point in steps of what it multiplies: with a factor above one these are larger than those of the output.
#[test]
fn a_zero_point_is_added_in_fine_steps() {
    for finer in [3.3, 11.0, 40.0] {
        let (mut draw, input, made) = begun(9, [1, 8, 8, 8]);
        let coded = unsigned(&mut draw, made, 0.02, 120);
        let positive = draw.relu(coded);
        let coded = unsigned(&mut draw, positive, 0.02 / finer, 0);
        let made = pooled(&mut draw, coded);
        // Where the convolution rounds the other way, that is one of its steps.
        assert!(apart(&draw.finish(&[made]), &input) < 0.02 * (1.0 + 1.01 / finer), "{finer}");
    }
}

/// A convolution of integers of 8 bits, whose sums get their scale behind.
fn of_integers(draw: &mut GraphDraw, inputs: &[ValueId]) -> ValueId {
    let codes = (0..8 * 8 * 9).map(|at| (at * 37 % 255 - 127) as i8).collect();
    let weights = draw.constant(Tensor::of(vec![8, 8, 3, 3], Elements::Int8(codes)));
    let [data, zero] = inputs[..] else { panic!("data and its zero point") };
    let sums = draw.alike(Operator::ConvInteger(spatial(3, 1, 1, 1)), &[data, weights, zero]);
    draw.graph.values[sums.0].element_type = ElementType::Int32;
    let scale = draw.constant(Tensor::floats(vec![], vec![0.0001]));
    draw.alike(Operator::DequantizeLinear { axis: 1 }, &[sums, scale])
}

#[test]
fn sums_of_integers_get_their_scale_behind() {
    let mut draw = GraphDraw::new(10, [1, 8, 8, 8]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let scale = draw.constant(Tensor::floats(vec![], vec![0.01]));
    let zero = draw.constant(Tensor::of(vec![], Elements::Uint8(vec![120])));
    let codes = draw.alike(Operator::QuantizeLinear { axis: 1 }, &[start, scale, zero]);
    draw.graph.values[codes.0].element_type = ElementType::Uint8;
    let made = of_integers(&mut draw, &[codes, zero]);
    let graph = draw.finish(&[made]);
    let range = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
    let range = range.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
    assert!(apart(&graph, &input) < range / 100.0);

    // Dynamically quantised, its codes are the network's own.
    let mut draw = GraphDraw::new(11, [1, 8, 8, 8]);
    let input = draw.input();
    let values = [("codes", &[1, 8, 8, 8][..]), ("scale", &[]), ("zero", &[])];
    let [codes, scale, zero] = values.map(|(name, shape)| draw.value(name, shape));
    for codes in [codes, zero] {
        draw.graph.values[codes.0].element_type = ElementType::Uint8;
    }
    draw.graph.nodes.push(vp_tensors::Node {
        name: "codes".to_owned(),
        operator: Operator::DynamicQuantizeLinear,
        inputs: vec![Some(draw.graph.inputs[0])],
        outputs: vec![codes, scale, zero],
    });
    let made = of_integers(&mut draw, &[codes, zero]);
    let scaled = draw.alike(Operator::Binary(Binary::Mul), &[made, scale]);
    let graph = draw.finish(&[scaled]);
    let expected = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
    let range = expected.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
    assert!(apart(&graph, &input) < range / 40.0);
}

/// One kernel of tiny weights has a bias for which the others' would need a shift that costs steps.
#[test]
fn biases_that_differ_too_much_are_no_units() {
    for (bias, is_unit) in [(1e5, true), (1e9, false)] {
        let mut draw = GraphDraw::new(12, [1, 8, 8, 8]);
        let input = draw.input();
        let start = draw.graph.inputs[0];
        let coded = unsigned(&mut draw, start, 0.01, 128);
        let scales = [0.002, 0.002, 0.002, 1e-6];
        let codes = (0..4 * 8).map(|at| if at < 24 { (at * 37 % 255 - 127) as i8 } else { 1 }).collect();
        let codes = draw.constant(Tensor::of(vec![4, 8, 1, 1], Elements::Int8(codes)));
        let of_weights = draw.constant(Tensor::floats(vec![4], scales.to_vec()));
        let weights = draw.node(Operator::DequantizeLinear { axis: 0 }, &[codes, of_weights], &[4, 8, 1, 1]);
        let biases = draw.constant(Tensor::floats(vec![4], vec![0.1, -0.2, 0.0, bias * 1e-6 * 0.01]));
        let operator = Operator::Conv(spatial(1, 1, 0, 1));
        let made = draw.node(operator, &[coded, weights, biases], &[1, 4, 8, 8]);
        let step = (bias * 1e-8 / 100.0).max(0.02);
        let coded = unsigned(&mut draw, made, step, 128);
        let made = pooled(&mut draw, coded);
        let graph = draw.finish(&[made]);
        let told = lowered(&graph, "nv_large", Precision::Int8, &input).unwrap().on_cpu;
        assert_eq!(told.is_empty(), is_unit, "{told:?}");
        assert!(apart(&graph, &input) < 1.01 * step, "{bias}");
    }
}

/// Converters of models leave out a Relu behind which codes begin at zero.
#[test]
fn a_quantised_model_is_not_run_in_fp16() {
    let (mut draw, input, made) = begun(13, [1, 8, 8, 8]);
    let positive = unsigned(&mut draw, made, 0.01, 0);
    let made = pooled(&mut draw, positive);
    let error = lowered(&draw.finish(&[made]), "nv_full", Precision::Fp16, &input).unwrap_err();
    assert!(error.to_string().contains("the model is quantised"), "{error}");
}

/// Exporters give each number codes where it is read; in the same codes that is one cube.
#[test]
fn a_number_read_twice_in_one_code_is_one_cube() {
    let (mut draw, input, made) = begun(14, [1, 8, 8, 8]);
    let parts = [0, 1].map(|_| unsigned(&mut draw, made, 0.02, 100));
    let ends = parts.map(|part| {
        let made = draw.convolution(part, 8, &spatial(1, 1, 0, 1));
        unsigned(&mut draw, made, 0.03, 100)
    });
    let lowered = lowered(&draw.finish(&ends), "nv_large", Precision::Int8, &input).unwrap();
    assert_eq!(lowered.network.layers.len(), 3);
}

/// Ranges by samples are those of what codes have limited.
#[test]
fn what_codes_limit_counts_for_the_ranges_behind() {
    let (mut draw, input, made) = begun(15, [1, 8, 8, 8]);
    let positive = unsigned(&mut draw, made, 0.01, 0);
    let one = draw.constant(Tensor::floats(vec![], vec![1.0]));
    // Without the limit it would be at most 1, with it at least.
    let negative = draw.alike(Operator::Unary(Unary::Neg), &[made]);
    let negative = unsigned(&mut draw, negative, 0.01, 0);
    let sum = draw.sum(positive, negative);
    let moved = draw.alike(Operator::Binary(Binary::Add), &[sum, one]);
    let end = draw.convolution(moved, 4, &spatial(1, 1, 0, 1));
    let graph = draw.finish(&[end]);
    let range = graph.run(std::slice::from_ref(&input)).unwrap()[0].to_floats();
    let range = range.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
    assert!(apart(&graph, &input) < 0.05 * range);
}
