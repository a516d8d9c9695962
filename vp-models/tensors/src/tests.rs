//! Operators beside slow and obvious ones, and what is refused.

use crate::{
    AutoPad, Binary, ElementType, Elements, Gemm, Graph, GraphError, Node, Operator, OperatorError, Pooling,
    Spatial, Tensor, Unary, Value, ValueId, ValueType,
};
use proptest::prelude::*;

/// Floats that are small whole numbers, whose sums are exact in any order.
fn numbers(shape: &[usize], seed: u32) -> Tensor {
    let number = |at: usize| ((at as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 28) as f32 - 8.0;
    Tensor::floats(shape, (0..shape.iter().product()).map(number).collect())
}

fn square(kernel: usize, stride: usize, pad: usize) -> Spatial {
    Spatial {
        kernel: vec![kernel; 2],
        strides: vec![stride; 2],
        dilations: vec![1; 2],
        before: vec![pad; 2],
        after: vec![pad; 2],
        auto_pad: AutoPad::NotSet,
        groups: 1,
    }
}

fn run(operator: &Operator, inputs: &[&Tensor]) -> Tensor {
    let inputs: Vec<_> = inputs.iter().map(|&input| Some(input)).collect();
    operator.run(&inputs, 1).unwrap().swap_remove(0)
}

fn error(operator: &Operator, types: &[ValueType]) -> OperatorError {
    let types: Vec<_> = types.iter().cloned().map(Some).collect();
    operator.infer(&types, &vec![None; types.len()], 1).unwrap_err()
}

fn floats(shape: &[usize]) -> ValueType {
    ValueType::new(ElementType::Float, shape)
}

/// The sum of a convolution at one place, as ONNX says it.
fn sum_at(spatial: &Spatial, input: &Tensor, weights: &Tensor, place: [usize; 4]) -> f32 {
    let (xs, ws) = (input.as_floats().unwrap(), weights.as_floats().unwrap());
    let [image, kernel, y, x] = place;
    let (channels, group) = (weights.shape[1], weights.shape[0] / spatial.groups);
    let mut sum = 0.0;
    for channel in 0..channels {
        for i in 0..spatial.kernel[0] {
            for j in 0..spatial.kernel[1] {
                let row = (y * spatial.strides[0] + i * spatial.dilations[0]).checked_sub(spatial.before[0]);
                let column =
                    (x * spatial.strides[1] + j * spatial.dilations[1]).checked_sub(spatial.before[1]);
                if let (Some(row), Some(column)) = (row, column)
                    && row < input.shape[2]
                    && column < input.shape[3]
                {
                    let from = kernel / group * channels + channel;
                    let plane = (image * input.shape[1] + from) * input.shape[2] + row;
                    let weight =
                        ((kernel * channels + channel) * spatial.kernel[0] + i) * spatial.kernel[1] + j;
                    sum += xs[plane * input.shape[3] + column] * ws[weight];
                }
            }
        }
    }
    sum
}

proptest! {
    #[test]
    fn a_convolution_is_the_sum_that_onnx_says(
        (groups, channels, kernels) in (1_usize..4, 1_usize..4, 1_usize..7),
        (height, width) in (5_usize..12, 5_usize..12),
        kernel in (1_usize..4, 1_usize..4),
        strides in (1_usize..4, 1_usize..4),
        dilations in (1_usize..3, 1_usize..3),
        pads in (0_usize..3, 0_usize..3, 0_usize..3, 0_usize..3),
        seed: u32,
    ) {
        let spatial = Spatial {
            kernel: vec![kernel.0, kernel.1],
            strides: vec![strides.0, strides.1],
            dilations: vec![dilations.0, dilations.1],
            before: vec![pads.0, pads.1],
            after: vec![pads.2, pads.3],
            auto_pad: AutoPad::NotSet,
            groups,
        };
        let input = numbers(&[2, groups * channels, height, width], seed);
        let weights = numbers(&[groups * kernels, channels, kernel.0, kernel.1], seed ^ 1);
        let output = run(&Operator::Conv(spatial.clone()), &[&input, &weights]);
        let found = output.as_floats().unwrap();
        for (at, &found) in found.iter().enumerate() {
            let x = at % output.shape[3];
            let y = at / output.shape[3] % output.shape[2];
            let plane = at / output.shape[3] / output.shape[2];
            let place = [plane / output.shape[1], plane % output.shape[1], y, x];
            prop_assert_eq!(found, sum_at(&spatial, &input, &weights, place));
        }
    }

    #[test]
    fn broadcasting_is_by_the_last_axes(a in 1_usize..4, b in 1_usize..5, c in 1_usize..5, seed: u32) {
        let (left, right) = (numbers(&[a, 1, c], seed), numbers(&[b, 1], seed ^ 1));
        let sum = run(&Operator::Binary(Binary::Add), &[&left, &right]);
        prop_assert_eq!(&sum.shape, &vec![a, b, c]);
        for (at, &sum) in sum.as_floats().unwrap().iter().enumerate() {
            let (i, j, k) = (at / c / b, at / c % b, at % c);
            prop_assert_eq!(sum, left.as_floats().unwrap()[i * c + k] + right.as_floats().unwrap()[j]);
        }
    }
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_cores() {
    let fraction = |tensor: Tensor| {
        let elements = tensor.to_floats().iter().map(|x| x / 7.0).collect();
        Tensor::floats(tensor.shape, elements)
    };
    let (input, weights) = (fraction(numbers(&[1, 40, 30, 30], 1)), fraction(numbers(&[70, 40, 3, 3], 2)));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&Operator::Conv(square(3, 1, 1)), &[&input, &weights]))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn quantisation_rounds_to_even_and_saturates() {
    let input = Tensor::floats([6], vec![0.5, 1.5, -0.5, 300.0, -300.0, 2.4]);
    let (scale, zero) = (Tensor::floats([], vec![1.0]), Tensor::of([], Elements::Int8(vec![1])));
    let output = run(&Operator::QuantizeLinear { axis: 1 }, &[&input, &scale, &zero]);
    assert_eq!(output.elements, Elements::Int8(vec![1, 3, 1, 127, -128, 3]));
}

#[test]
fn a_window_that_is_not_whole_counts_only_when_rounded_up() {
    let input = numbers(&[1, 1, 6, 6], 3);
    let sizes = [(false, 2), (true, 3)].map(|(rounds_up, _)| {
        let pooling = Pooling { spatial: square(3, 2, 0), rounds_up };
        run(&Operator::MaxPool(pooling), &[&input]).shape[2]
    });
    assert_eq!(sizes, [2, 3]);
}

#[test]
fn the_error_function_is_exact_to_a_float() {
    // Values of the error function to more digits than a float has.
    for (x, expected) in
        [(0.1, 0.112_462_916), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.5, 0.999_593), (4.5, 1.0)]
    {
        assert_eq!(Unary::Erf.of(x), expected);
        assert_eq!(Unary::Erf.of(-x), -expected);
    }
}

#[test]
fn refuses_a_tensor_of_100_gigabytes_before_it_is_made() {
    let shape = Tensor::of([2], Elements::Int64(vec![100_000, 1_000_000]));
    let value = Box::new(Tensor::floats([1], vec![0.0]));
    let error = Operator::ConstantOfShape { value }.run(&[Some(&shape)], 1).unwrap_err();
    assert_eq!(error, OperatorError::TooLarge { what: "float 100000x1000000".into() });
}

#[test]
fn refuses_what_does_not_fit_and_says_what_would() {
    let wide = error(&Operator::Conv(square(9, 1, 0)), &[floats(&[1, 1, 5, 5]), floats(&[1, 1, 9, 9])]);
    let what = "kernel_shape is [9, 9]; at most 5, which is the input with its padding would be right";
    assert_eq!(wide.to_string(), what);
    let columns = error(&Operator::MatMul, &[floats(&[2, 3]), floats(&[4, 5])]);
    assert_eq!(
        columns.to_string(),
        "input 1 has shape 4x5; 3 rows, as many as 2x3 has columns would be right"
    );
    let gemm = Gemm { alpha: 1.0, beta: 1.0, transposes_a: false, transposes_b: true };
    let terms = error(&Operator::Gemm(gemm), &[floats(&[2, 3]), floats(&[4, 5])]);
    assert!(matches!(terms, OperatorError::Shape { input: 1, .. }));
    let reshape = error(
        &Operator::Reshape { allows_zero: false },
        &[floats(&[2]), ValueType::new(ElementType::Int64, [1])],
    );
    assert_eq!(reshape, OperatorError::NotConstant { input: 1, role: "shape" });
}

#[test]
fn a_graph_gives_its_outputs_and_frees_what_is_read_no_more() {
    let value = |name: &str| Value { name: name.into(), shape: vec![2], element_type: ElementType::Float };
    let node = |name: &str, input: usize, output: usize| Node {
        name: name.into(),
        operator: Operator::Unary(Unary::Neg),
        inputs: vec![Some(ValueId(input))],
        outputs: vec![ValueId(output)],
    };
    let mut graph = Graph {
        values: ["x", "a", "y"].map(value).into(),
        inputs: vec![ValueId(0)],
        outputs: vec![ValueId(2)],
        nodes: vec![node("first", 0, 1), node("second", 1, 2)],
        ..Graph::default()
    };
    let input = Tensor::floats([2], vec![1.0, -2.0]);
    let mut made = Vec::new();
    let outputs = graph.run_each(std::slice::from_ref(&input), &mut |id, _| made.push(id.0)).unwrap();
    assert_eq!((outputs, made), (vec![input.clone()], vec![1, 2]));
    assert!(matches!(graph.run(&[]), Err(GraphError::Inputs { found: 0, expected: 1, .. })));
    graph.nodes.swap(0, 1);
    assert!(matches!(graph.run(&[input]), Err(GraphError::Order { .. })));
}

#[test]
fn rests_have_the_sign_of_the_divisor_or_of_the_dividend() {
    let rest = |is_truncated: bool, numbers: Elements, divisors: Elements| {
        let tensor = |elements: Elements| Tensor::of([elements.len()], elements);
        let operator = Operator::Binary(Binary::Mod { is_truncated });
        run(&operator, &[&tensor(numbers), &tensor(divisors)]).elements
    };
    let integers = || (Elements::Int64(vec![-4, 7, 5, 4, -7, 8]), Elements::Int64(vec![2, -3, 8, -2, 3, 5]));
    let (numbers, divisors) = integers();
    assert_eq!(rest(false, numbers, divisors), Elements::Int64(vec![0, -2, 5, 0, 2, 3]));
    let (numbers, divisors) = integers();
    assert_eq!(rest(true, numbers, divisors), Elements::Int64(vec![0, 1, 5, 0, -1, 3]));
    let floats = || (Elements::Float(vec![-4.5, 7.0]), Elements::Float(vec![2.0, -3.0]));
    let (numbers, divisors) = floats();
    assert_eq!(rest(true, numbers, divisors), Elements::Float(vec![-0.5, 1.0]));
    let (numbers, divisors) = floats();
    assert_eq!(rest(false, numbers, divisors), Elements::Float(vec![1.5, -2.0]));
    let bytes = rest(false, Elements::Uint8(vec![250, 3]), Elements::Uint8(vec![7, 5]));
    assert_eq!(bytes, Elements::Uint8(vec![5, 3]));
    let [one, zero] = [1, 0].map(|integer| Tensor::of([1], Elements::Int32(vec![integer])));
    let error = Operator::Binary(Binary::Mod { is_truncated: false }).run(&[Some(&one), Some(&zero)], 1);
    assert!(error.unwrap_err().to_string().contains("an integer other than 0"));
}

#[test]
fn signs_are_those_of_integers_and_floats() {
    let sign =
        |elements: Elements| run(&Operator::Unary(Unary::Sign), &[&Tensor::of([3], elements)]).elements;
    assert_eq!(sign(Elements::Float(vec![-0.5, 0.0, 9.0])), Elements::Float(vec![-1.0, 0.0, 1.0]));
    assert_eq!(sign(Elements::Int64(vec![-5, 0, 9])), Elements::Int64(vec![-1, 0, 1]));
    assert_eq!(sign(Elements::Uint8(vec![0, 1, 9])), Elements::Uint8(vec![0, 1, 1]));
}
