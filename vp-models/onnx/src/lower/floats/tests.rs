//! Tests of graphs whose quantisation is taken out.

use super::super::planar::planar;
use super::*;
use vp_tensors::{AutoPad, Spatial};

/// A graph in the making, of one input of floats.
struct Making(Graph);

impl Making {
    fn of(shape: &[usize]) -> Making {
        let mut making = Making(Graph::default());
        let input = making.value(shape, ElementType::Float);
        making.0.inputs.push(input);
        making
    }

    fn value(&mut self, shape: &[usize], element_type: ElementType) -> ValueId {
        let name = format!("v{}", self.0.values.len());
        self.0.values.push(Value { name, shape: shape.to_vec(), element_type });
        ValueId(self.0.values.len() - 1)
    }

    fn constant(&mut self, shape: &[usize], elements: Elements) -> ValueId {
        let tensor = Tensor::of(shape.to_vec(), elements);
        let id = self.value(shape, tensor.element_type());
        self.0.constants.insert(id, Arc::new(tensor));
        id
    }

    fn number(&mut self, number: f32) -> ValueId {
        self.constant(&[], Elements::Float(vec![number]))
    }

    fn weights(&mut self, shape: &[usize]) -> ValueId {
        let count: usize = shape.iter().product();
        let codes = (0..count).map(|at| (at * 37 % 255) as u8 as i8).collect();
        self.constant(shape, Elements::Int8(codes))
    }

    fn node(&mut self, operator: Operator, inputs: &[ValueId], of: (&[usize], ElementType)) -> ValueId {
        let output = self.value(of.0, of.1);
        self.push(operator, inputs, vec![output]);
        output
    }

    fn push(&mut self, operator: Operator, inputs: &[ValueId], outputs: Vec<ValueId>) {
        let name = format!("n{}", self.0.nodes.len());
        let inputs = inputs.iter().copied().map(Some).collect();
        self.0.nodes.push(Node { name, operator, inputs, outputs });
    }
}

/// Largest difference of the numbers that the graph and what is made of it give, and the largest number.
fn apart(graph: &Graph) -> (f32, f32) {
    let shape = graph.value(graph.inputs[0]).shape.clone();
    let count: usize = shape.iter().product();
    let input = [Tensor::floats(shape, (0..count).map(|at| (at * 29 % 83) as f32 / 40.0 - 1.0).collect())];
    let given = graph.run(&input).unwrap()[0].to_floats();
    let made = floats(&planar(graph)).graph.run(&input).unwrap()[0].to_floats();
    let differences = given.iter().zip(&made).map(|(given, made)| (given - made).abs());
    (differences.fold(0.0, f32::max), given.iter().fold(0.0, |most: f32, number| most.max(number.abs())))
}

/// Codes of a square matrix have a scale for each column, not for each row.
#[test]
fn a_quantised_product_scales_columns() {
    for columns in [7, 5] {
        let mut of = Making::of(&[1, 7]);
        let (scale, zero) = (of.number(0.02), of.constant(&[], Elements::Int8(vec![3])));
        let coded = of.node(
            Operator::QuantizeLinear { axis: 1 },
            &[ValueId(0), scale, zero],
            (&[1, 7], ElementType::Int8),
        );
        let weights = of.weights(&[7, columns]);
        let scales = of.constant(
            &[columns],
            Elements::Float((0..columns).map(|at| 0.002 + 0.003 * at as f32).collect()),
        );
        let zeros = of.constant(&[columns], Elements::Int8(vec![0; columns]));
        let (step, middle) = (of.number(0.06), of.constant(&[], Elements::Int8(vec![-4])));
        let made = of.node(
            Operator::QLinearMatMul,
            &[coded, scale, zero, weights, scales, zeros, step, middle],
            (&[1, columns], ElementType::Int8),
        );
        let numbers = of.node(
            Operator::DequantizeLinear { axis: 1 },
            &[made, step, middle],
            (&[1, columns], ElementType::Float),
        );
        of.0.outputs = vec![numbers];
        let (difference, largest) = apart(&of.0);
        // What is made is not rounded to codes yet.
        assert!(difference <= 0.5 * 0.02 * 127.0 * 0.03 + 0.04 && largest > 1.0, "{difference} of {largest}");
        let made = floats(&of.0);
        let codes: Vec<_> = made.constants.values().collect();
        assert!(codes.iter().any(|codes| codes.axis == 1 && codes.scales.len() == columns), "{codes:?}");
    }
}

/// A convolution of a series, quantised as `onnxruntime.quantization.quantize_dynamic` does it, has an axis of lines put in between.
#[test]
fn codes_of_run_time_may_be_moved() {
    for (shape, kernel) in [(&[1, 3, 32][..], &[5][..]), (&[1, 3, 8, 9], &[3, 2])] {
        let mut of = Making::of(shape);
        let coded = of.value(shape, ElementType::Uint8);
        let (scale, zero) = (of.value(&[], ElementType::Float), of.value(&[], ElementType::Uint8));
        of.push(Operator::DynamicQuantizeLinear, &[ValueId(0)], vec![coded, scale, zero]);
        let weights = of.weights(&[&[4, 3], kernel].concat());
        let axes = kernel.len();
        let windows = Spatial {
            kernel: kernel.to_vec(),
            strides: vec![1; axes],
            dilations: vec![1; axes],
            before: vec![0; axes],
            after: vec![0; axes],
            auto_pad: AutoPad::NotSet,
            groups: 1,
        };
        let sizes = shape[2..].iter().zip(kernel).map(|(size, kernel)| size + 1 - kernel);
        let made: Vec<usize> = [1, 4].into_iter().chain(sizes).collect();
        let sums =
            of.node(Operator::ConvInteger(windows), &[coded, weights, zero], (&made, ElementType::Int32));
        let numbers =
            of.node(Operator::Cast { to: ElementType::Float }, &[sums], (&made, ElementType::Float));
        let step = of.number(0.01);
        let both = of.node(Operator::Binary(Binary::Mul), &[scale, step], (&[], ElementType::Float));
        let scaled = of.node(Operator::Binary(Binary::Mul), &[numbers, both], (&made, ElementType::Float));
        of.0.outputs = vec![scaled];
        let (difference, largest) = apart(&of.0);
        assert!(difference < largest / 50.0 && largest > 1.0, "{difference} of {largest}");
        let graph = floats(&planar(&of.0)).graph;
        assert!(
            graph.nodes.iter().any(|node| matches!(node.operator, Operator::Conv(_))),
            "{:?}",
            graph.nodes
        );
    }
}
