//! Windows over one axis as windows over lines of one: NVDLA's cubes have lines and columns, and convolutions of sound, text and series
//! have columns alone.
//!
//! Of what such a convolution or pooling reads and makes, `[frame][channel][column]`, each value gets a cube of one line, and so does what
//! functions of each element make of it. Whoever else reads the value reads it without that axis, which moves nothing.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use vp_tensors::{Graph, Node, Operator, Pooling, Reduction, Spatial, Tensor, Value, ValueId};

/// Axis of lines in `[frame][channel][line][column]`.
const LINES: usize = 2;

/// Returns the graph with windows over two axes in place of one.
pub(super) fn planar(source: &Graph) -> Cow<'_, Graph> {
    let is_line = |node: &Node| windows(&node.operator).is_some_and(|spatial| spatial.strides.len() == 1);
    if !source.nodes.iter().any(is_line) {
        return Cow::Borrowed(source);
    }
    let makers = source.nodes.iter().flat_map(|node| node.outputs.iter().map(move |output| (*output, node)));
    let mut made = Planar {
        made: Graph { nodes: Vec::new(), ..source.clone() },
        makers: makers.collect(),
        planes: HashMap::new(),
        there: source.inputs.iter().chain(source.constants.keys()).copied().collect(),
    };
    for node in &source.nodes {
        if made.lift(node).is_none() {
            node.inputs.iter().flatten().for_each(|input| made.line(*input));
            made.there.extend(&node.outputs);
            made.made.nodes.push(node.clone());
        }
    }
    source.outputs.iter().for_each(|output| made.line(*output));
    Cow::Owned(made.made)
}

/// Returns true of operators that spread smaller tensors over larger ones.
fn joins(operator: &Operator) -> bool {
    matches!(operator, Operator::Binary(_) | Operator::Variadic(_))
}

/// Windows of an operator.
fn windows(operator: &Operator) -> Option<&Spatial> {
    match operator {
        Operator::Conv(spatial)
        | Operator::ConvTranspose { spatial, .. }
        | Operator::ConvInteger(spatial)
        | Operator::QLinearConv(spatial)
        | Operator::MaxPool(Pooling { spatial, .. })
        | Operator::AveragePool { pooling: Pooling { spatial, .. }, .. } => Some(spatial),
        _ => None,
    }
}

/// A graph in the making.
struct Planar<'a> {
    made: Graph,
    /// Nodes of the source that make values.
    makers: HashMap<ValueId, &'a Node>,
    /// Cubes of values of the source.
    planes: HashMap<ValueId, ValueId>,
    /// Values of the source that are made as they are.
    there: HashSet<ValueId>,
}

impl Planar<'_> {
    /// Adds a node over cubes, if it is one whose operator allows that, and reads a value that has one or has windows.
    fn lift(&mut self, node: &Node) -> Option<()> {
        let (operator, places) = lifted(node)?;
        let shape = |id: ValueId| self.made.value(id).shape.as_slice();
        let inputs: Vec<ValueId> =
            places.iter().filter_map(|at| node.inputs.get(*at).copied().flatten()).collect();
        let is_heavy = windows(&node.operator).is_some();
        let has_plane = inputs.iter().any(|input| self.planes.contains_key(input));
        let is_constant = |id: ValueId| self.made.constants.contains_key(&id);
        // A number for all, or one for each column, is joined with a cube as with a line.
        let is_spread = |id: ValueId| joins(&node.operator) && shape(id).len() < 2;
        let are_lines = inputs
            .iter()
            .all(|&input| shape(input).len() == LINES + 1 || is_constant(input) || is_spread(input));
        let keeps = !matches!(node.operator, Operator::Reduce { keeps: false, .. });
        let makes_lines = !keeps || node.outputs.iter().all(|output| shape(*output).len() == LINES + 1);
        if !(is_heavy || has_plane) || !are_lines || !makes_lines {
            return None;
        }
        let mut read = node.inputs.clone();
        for at in places {
            if let Some(Some(input)) = read.get_mut(at) {
                *input = self.plane(*input);
            }
        }
        let outputs = match keeps {
            true => node.outputs.iter().map(|output| self.plane_made(*output)).collect(),
            false => {
                self.there.extend(&node.outputs);
                node.outputs.clone()
            }
        };
        self.made.nodes.push(Node { name: node.name.clone(), operator, inputs: read, outputs });
        Some(())
    }

    /// Cube of a value that a node makes. The cube has its name.
    fn plane_made(&mut self, line: ValueId) -> ValueId {
        let Value { name, shape, element_type } = self.made.value(line).clone();
        self.made.values[line.0].name = format!("{name} (line)");
        let plane = self.value(Value { name, shape: with_line(&shape), element_type });
        self.planes.insert(line, plane);
        plane
    }

    /// Cube of a value: of constants another one, of what is dequantised the same of its codes.
    fn plane(&mut self, line: ValueId) -> ValueId {
        if let Some(plane) = self.planes.get(&line) {
            return *plane;
        }
        let Value { name, shape, element_type } = self.made.value(line).clone();
        if shape.len() < 2 {
            return line;
        }
        let cube = Value { name: format!("{name} (plane)"), shape: with_line(&shape), element_type };
        let constant = self.made.constants.get(&line).cloned();
        let codes = self.makers.get(&line).copied().filter(|maker| {
            let of = maker.inputs.first().copied().flatten();
            let is_by_column = matches!(maker.operator, Operator::DequantizeLinear { axis } if axis < 0 || axis >= LINES as i64);
            let is_dequantised = matches!(maker.operator, Operator::DequantizeLinear { .. }) && !is_by_column;
            is_dequantised && of.is_some_and(|of| self.made.constants.contains_key(&of))
        });
        let plane = self.value(cube);
        self.planes.insert(line, plane);
        match (constant, codes) {
            (Some(constant), _) => {
                let tensor =
                    Tensor { shape: with_line(&constant.shape), elements: constant.elements.clone() };
                self.made.constants.insert(plane, Arc::new(tensor));
            }
            (None, Some(maker)) => {
                let mut inputs = maker.inputs.clone();
                inputs[0] = inputs[0].map(|codes| self.plane(codes));
                let name = format!("{} (plane)", maker.name);
                self.made.nodes.push(Node {
                    name,
                    operator: maker.operator.clone(),
                    inputs,
                    outputs: vec![plane],
                });
            }
            (None, None) => {
                self.line(line);
                let operator = Operator::Unsqueeze { axes: vec![LINES as i64] };
                self.step(format!("{name} (plane)"), operator, line, plane);
            }
        }
        plane
    }

    /// Has a value of the source made as it is.
    fn line(&mut self, line: ValueId) {
        if self.there.insert(line)
            && let Some(plane) = self.planes.get(&line).copied()
        {
            let name = self.made.value(line).name.clone();
            self.step(name, Operator::Squeeze { axes: vec![LINES as i64] }, plane, line);
        }
    }

    fn value(&mut self, value: Value) -> ValueId {
        self.made.values.push(value);
        ValueId(self.made.values.len() - 1)
    }

    fn step(&mut self, name: String, operator: Operator, from: ValueId, to: ValueId) {
        self.made.nodes.push(Node { name, operator, inputs: vec![Some(from)], outputs: vec![to] });
    }
}

/// Shape with one line in front of the columns.
fn with_line(shape: &[usize]) -> Vec<usize> {
    let mut made = shape.to_vec();
    made.insert(shape.len() - 1, 1);
    made
}

/// An axis of a line among those of a cube.
fn axis_of(axis: i64) -> i64 {
    let axis = if axis < 0 { axis + LINES as i64 + 1 } else { axis };
    if axis >= LINES as i64 { axis + 1 } else { axis }
}

/// Returns the operator over cubes that stands for one over lines, and the places of the inputs that become cubes.
fn lifted(node: &Node) -> Option<(Operator, Vec<usize>)> {
    let of_line = |spatial: &Spatial| (spatial.strides.len() == 1).then(|| over_lines(spatial));
    let pooled = |pooling: &Pooling| {
        Some(Pooling { spatial: of_line(&pooling.spatial)?, rounds_up: pooling.rounds_up })
    };
    let with_one = |sizes: &[usize], one: usize| [&[one], sizes].concat();
    let all = || (0..node.inputs.len()).collect::<Vec<_>>();
    let same = |places: Vec<usize>| Some((node.operator.clone(), places));
    match &node.operator {
        Operator::Conv(spatial) => Some((Operator::Conv(of_line(spatial)?), vec![0, 1])),
        Operator::ConvInteger(spatial) => Some((Operator::ConvInteger(of_line(spatial)?), vec![0, 1])),
        Operator::QLinearConv(spatial) => Some((Operator::QLinearConv(of_line(spatial)?), vec![0, 3])),
        Operator::ConvTranspose { spatial, output_padding, output_shape } => {
            let operator = Operator::ConvTranspose {
                spatial: of_line(spatial)?,
                output_padding: if output_padding.is_empty() {
                    Vec::new()
                } else {
                    with_one(output_padding, 0)
                },
                output_shape: output_shape.as_ref().map(|sizes| with_one(sizes, 1)),
            };
            Some((operator, vec![0, 1]))
        }
        Operator::MaxPool(pooling) => Some((Operator::MaxPool(pooled(pooling)?), vec![0])),
        Operator::AveragePool { pooling, counts_padding } => {
            let pooling = pooled(pooling)?;
            Some((Operator::AveragePool { pooling, counts_padding: *counts_padding }, vec![0]))
        }
        Operator::GlobalAveragePool
        | Operator::GlobalMaxPool
        | Operator::Unary(_)
        | Operator::Identity
        | Operator::Cast { .. }
        | Operator::Clip
        | Operator::LocalResponse(_)
        | Operator::BatchNormalization { .. }
        | Operator::InstanceNormalization { .. } => same(vec![0]),
        Operator::PRelu => same(vec![0, 1]),
        Operator::Binary(_) | Operator::Variadic(_) => same(all()),
        Operator::QuantizeLinear { axis } => {
            Some((Operator::QuantizeLinear { axis: axis_of(*axis) }, vec![0]))
        }
        Operator::DequantizeLinear { axis } => {
            Some((Operator::DequantizeLinear { axis: axis_of(*axis) }, vec![0]))
        }
        Operator::Concat { axis } => Some((Operator::Concat { axis: axis_of(*axis) }, all())),
        Operator::Split { axis, sizes } => {
            Some((Operator::Split { axis: axis_of(*axis), sizes: sizes.clone() }, vec![0]))
        }
        Operator::Reduce { reduction: Reduction::Mean, axes, keeps }
            if axes[..] == [2] || axes[..] == [-1] =>
        {
            let operator = Operator::Reduce { reduction: Reduction::Mean, axes: vec![2, 3], keeps: *keeps };
            Some((operator, vec![0]))
        }
        _ => None,
    }
}

/// Windows over columns as windows over columns of one line.
fn over_lines(spatial: &Spatial) -> Spatial {
    let with_one = |sizes: &[usize], one: usize| [&[one], sizes].concat();
    Spatial {
        kernel: if spatial.kernel.is_empty() { Vec::new() } else { with_one(&spatial.kernel, 1) },
        strides: with_one(&spatial.strides, 1),
        dilations: with_one(&spatial.dilations, 1),
        before: with_one(&spatial.before, 0),
        after: with_one(&spatial.after, 0),
        auto_pad: spatial.auto_pad,
        groups: spatial.groups,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_tensors::{AutoPad, Binary, ElementType, Unary};

    /// A graph of one input of 2 channels and 9 columns.
    fn graph() -> Graph {
        let mut graph = Graph::default();
        let input = value(&mut graph, &[1, 2, 9]);
        graph.inputs.push(input);
        graph
    }

    fn value(graph: &mut Graph, shape: &[usize]) -> ValueId {
        let name = format!("v{}", graph.values.len());
        graph.values.push(Value { name, shape: shape.to_vec(), element_type: ElementType::Float });
        ValueId(graph.values.len() - 1)
    }

    fn constant(graph: &mut Graph, shape: &[usize]) -> ValueId {
        let id = value(graph, shape);
        let count: usize = shape.iter().product();
        let numbers = (0..count).map(|at| ((at * 7 + id.0 * 5) % 11) as f32 / 4.0 - 1.0);
        graph.constants.insert(id, Arc::new(Tensor::floats(shape, numbers.collect())));
        id
    }

    fn add(graph: &mut Graph, operator: Operator, inputs: &[ValueId], shape: &[usize]) -> ValueId {
        let output = value(graph, shape);
        let name = format!("n{}", graph.nodes.len());
        let inputs = inputs.iter().copied().map(Some).collect();
        graph.nodes.push(Node { name, operator, inputs, outputs: vec![output] });
        output
    }

    fn spatial(kernel: usize, stride: usize, padding: usize, groups: usize) -> Spatial {
        Spatial {
            kernel: vec![kernel],
            strides: vec![stride],
            dilations: vec![1],
            before: vec![padding],
            after: vec![padding],
            auto_pad: AutoPad::NotSet,
            groups,
        }
    }

    /// Answers of a graph, and of the one that stands for it.
    fn both(graph: &Graph) -> [Vec<Tensor>; 2] {
        let numbers = (0..18).map(|at| (at * 5 % 13) as f32 / 3.0 - 2.0).collect();
        let input = [Tensor::floats([1, 2, 9], numbers)];
        [graph.run(&input).unwrap(), planar(graph).run(&input).unwrap()]
    }

    #[test]
    fn lines_give_the_answers_of_columns() {
        let mut g = graph();
        let (weights, own) = (constant(&mut g, &[4, 2, 3]), constant(&mut g, &[4, 1, 3]));
        let conv = add(&mut g, Operator::Conv(spatial(3, 1, 1, 1)), &[ValueId(0), weights], &[1, 4, 9]);
        let relu = add(&mut g, Operator::Unary(Unary::Relu), &[conv], &[1, 4, 9]);
        let pooling = Pooling { spatial: spatial(2, 2, 0, 1), rounds_up: false };
        let pool = add(&mut g, Operator::MaxPool(pooling), &[relu], &[1, 4, 4]);
        let addend = constant(&mut g, &[4, 1]);
        let sum = add(&mut g, Operator::Binary(Binary::Add), &[pool, addend], &[1, 4, 4]);
        let depthwise = add(&mut g, Operator::Conv(spatial(3, 1, 1, 4)), &[sum, own], &[1, 4, 4]);
        let joined = add(&mut g, Operator::Concat { axis: -2 }, &[sum, depthwise], &[1, 8, 4]);
        // Soft-max stays as it is, behind a cube and in front of one.
        let shares = add(&mut g, Operator::Softmax { axis: 2 }, &[joined], &[1, 8, 4]);
        let again = constant(&mut g, &[3, 8, 1]);
        let last = add(&mut g, Operator::Conv(spatial(1, 1, 0, 1)), &[shares, again], &[1, 3, 4]);
        let mean = Operator::Reduce { reduction: Reduction::Mean, axes: vec![-1], keeps: false };
        let mean = add(&mut g, mean, &[last], &[1, 3]);
        g.outputs = vec![mean, pool, conv];
        let [expected, found] = both(&g);
        assert_eq!(found, expected);
        let made = planar(&g);
        let cubes =
            made.nodes.iter().filter(|node| windows(&node.operator).is_some_and(|of| of.strides.len() == 2));
        assert_eq!(cubes.count(), 4);
        // In front of the first and the last convolution, and behind joined for the soft-max, for the two outputs of lines.
        let count =
            |is_it: fn(&Operator) -> bool| made.nodes.iter().filter(|node| is_it(&node.operator)).count();
        assert_eq!(count(|operator| matches!(operator, Operator::Unsqueeze { .. })), 2);
        assert_eq!(count(|operator| matches!(operator, Operator::Squeeze { .. })), 3);
    }

    #[test]
    fn transposed_convolutions_have_lines_too() {
        let mut g = graph();
        let weights = constant(&mut g, &[2, 3, 4]);
        let operator = Operator::ConvTranspose {
            spatial: spatial(4, 2, 1, 1),
            output_padding: vec![0],
            output_shape: None,
        };
        let output = add(&mut g, operator, &[ValueId(0), weights], &[1, 3, 18]);
        g.outputs = vec![output];
        let [expected, found] = both(&g);
        assert_eq!(found, expected);
    }

    #[test]
    fn graphs_without_windows_of_columns_stay() {
        let mut g = graph();
        let output = add(&mut g, Operator::Unary(Unary::Relu), &[ValueId(0)], &[1, 2, 9]);
        g.outputs = vec![output];
        assert!(matches!(planar(&g), Cow::Borrowed(_)));
    }
}
