//! Graphs drawn at random, and by hand.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;
use vp_tensors::{
    AutoPad, Binary, ElementType, Elements, Graph, Node, Operator, Pooling, Spatial, Tensor, Unary, Value,
    ValueId,
};

/// Draws graphs, node by node.
pub(crate) struct GraphDraw {
    pub(crate) random: ChaCha8Rng,
    pub(crate) graph: Graph,
}

/// Windows of a kernel, a stride and padding on all sides.
pub(crate) fn spatial(kernel: usize, stride: usize, padding: usize, groups: usize) -> Spatial {
    Spatial {
        kernel: vec![kernel; 2],
        strides: vec![stride; 2],
        dilations: vec![1; 2],
        before: vec![padding; 2],
        after: vec![padding; 2],
        auto_pad: AutoPad::NotSet,
        groups,
    }
}

impl GraphDraw {
    /// A graph with an input of this shape.
    pub(crate) fn new(seed: u64, shape: impl AsRef<[usize]>) -> GraphDraw {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let mut draw = GraphDraw { random, graph: Graph { name: "drawn".to_owned(), ..Graph::default() } };
        let input = draw.value("x", shape.as_ref());
        draw.graph.inputs.push(input);
        draw
    }

    pub(crate) fn value(&mut self, name: &str, shape: &[usize]) -> ValueId {
        let name = format!("{name}{}", self.graph.values.len());
        let value = Value { name, shape: shape.to_vec(), element_type: ElementType::Float };
        self.graph.values.push(value);
        ValueId(self.graph.values.len() - 1)
    }

    pub(crate) fn shape(&self, value: ValueId) -> Vec<usize> {
        self.graph.value(value).shape.clone()
    }

    pub(crate) fn constant(&mut self, tensor: Tensor) -> ValueId {
        let id = self.value("constant", &tensor.shape);
        self.graph.values[id.0].element_type = tensor.element_type();
        self.graph.constants.insert(id, Arc::new(tensor));
        id
    }

    /// A constant of numbers between plus and minus a bound.
    pub(crate) fn numbers(&mut self, shape: &[usize], bound: f32) -> ValueId {
        let count = shape.iter().product();
        let numbers = (0..count).map(|_| self.random.random_range(-bound..=bound)).collect();
        self.constant(Tensor::floats(shape.to_vec(), numbers))
    }

    pub(crate) fn node(&mut self, operator: Operator, inputs: &[ValueId], shape: &[usize]) -> ValueId {
        let output = self.value("y", shape);
        let name = format!("{}{}", operator.name(), self.graph.nodes.len());
        let inputs = inputs.iter().copied().map(Some).collect();
        self.graph.nodes.push(Node { name, operator, inputs, outputs: vec![output] });
        output
    }

    pub(crate) fn convolution(&mut self, from: ValueId, kernels: usize, spatial: &Spatial) -> ValueId {
        let [_, channels, height, width] = self.shape(from)[..] else { panic!("a cube") };
        let (kernel, stride, padding) = (spatial.kernel[0], spatial.strides[0], spatial.before[0]);
        let seen = channels / spatial.groups;
        let weights =
            self.numbers(&[kernels, seen, kernel, kernel], (3.0 / (seen * kernel * kernel) as f32).sqrt());
        let bias = self.numbers(&[kernels], 0.3);
        let size = |size: usize| (size + 2 * padding - kernel) / stride + 1;
        let shape = [1, kernels, size(height), size(width)];
        self.node(Operator::Conv(spatial.clone()), &[from, weights, bias], &shape)
    }

    /// A node whose output is as large as its input.
    pub(crate) fn alike(&mut self, operator: Operator, inputs: &[ValueId]) -> ValueId {
        let shape = self.shape(inputs[0]);
        self.node(operator, inputs, &shape)
    }

    pub(crate) fn relu(&mut self, from: ValueId) -> ValueId {
        self.alike(Operator::Unary(Unary::Relu), &[from])
    }

    pub(crate) fn sum(&mut self, one: ValueId, other: ValueId) -> ValueId {
        self.alike(Operator::Binary(Binary::Add), &[one, other])
    }

    pub(crate) fn max_pool(&mut self, from: ValueId) -> ValueId {
        let [_, channels, height, width] = self.shape(from)[..] else { panic!("a cube") };
        let pooling = Pooling { spatial: spatial(2, 2, 0, 1), rounds_up: false };
        self.node(Operator::MaxPool(pooling), &[from], &[1, channels, height / 2, width / 2])
    }

    pub(crate) fn concatenation(&mut self, parts: &[ValueId]) -> ValueId {
        let mut shape = self.shape(parts[0]);
        shape[1] = parts.iter().map(|part| self.shape(*part)[1]).sum();
        self.node(Operator::Concat { axis: 1 }, parts, &shape)
    }

    /// Ends with these outputs.
    pub(crate) fn finish(mut self, outputs: &[ValueId]) -> Graph {
        self.graph.outputs = outputs.to_vec();
        self.graph
    }

    /// An input of numbers between -1 and 1.
    pub(crate) fn input(&mut self) -> Tensor {
        let shape = self.shape(self.graph.inputs[0]);
        let count = shape.iter().product();
        Tensor::floats(shape, (0..count).map(|_| self.random.random_range(-1.0..=1.0)).collect())
    }

    /// Quantises a value and takes it back: of int8, or of uint8 where the zero point is above 127 or that is asked for.
    pub(crate) fn quantised(&mut self, from: ValueId, scale: f32, zero: Elements) -> ValueId {
        let element_type = zero.element_type();
        let scale = self.constant(Tensor::floats(vec![], vec![scale]));
        let zero = self.constant(Tensor::of(vec![], zero));
        let codes = self.alike(Operator::QuantizeLinear { axis: 1 }, &[from, scale, zero]);
        self.graph.values[codes.0].element_type = element_type;
        self.alike(Operator::DequantizeLinear { axis: 1 }, &[codes, scale, zero])
    }
}
