//! Several nodes that are one operation: exporters write some functions out, as `x * Sigmoid(x)`.
//!
//! A number between them that the model quantises is kept: then they stay as they are.

use super::floats::FloatGraph;
use super::shuffle::written_out;
use super::uses::Uses;
use std::sync::Arc;
use vp_tensors::{
    AutoPad, Binary, ElementType, Node, Operator, PadMode, Pooling, Reduction, Spatial, Tensor, Unary, Value,
    ValueId,
};

/// Makes one node of several.
pub(crate) fn joined(floats: FloatGraph) -> FloatGraph {
    let mut floats = expanded(floats);
    // Nodes change what they read and do, but not what they make.
    let uses = Uses::of(&floats.graph);
    for at in 0..floats.graph.nodes.len() {
        let found = Patterns { uses: &uses, floats: &floats };
        if let Some((operator, inputs)) = found.node(at) {
            let node = &mut floats.graph.nodes[at];
            (node.operator, node.inputs) = (operator, inputs);
        }
    }
    let mut floats = floats.without_dead();
    floats.order_kernels_of_shuffles();
    floats.convolve_shuffles();
    let mut floats = floats.without_dead();
    floats.code_before_moves();
    floats
}

/// Look at the nodes before one.
struct Patterns<'a> {
    floats: &'a FloatGraph,
    uses: &'a Uses,
}

type Made = (Operator, Vec<Option<ValueId>>);

impl Patterns<'_> {
    fn node(&self, at: usize) -> Option<Made> {
        let node = &self.floats.graph.nodes[at];
        match &node.operator {
            Operator::Binary(Binary::Mul) => self.gate(node),
            Operator::Binary(Binary::Div) => self.divided_gate(node),
            Operator::Conv(spatial) => {
                let (spatial, input) = self.padded(node.inputs[0]?, spatial, |value, _| value == 0.0)?;
                let inputs = std::iter::once(Some(input)).chain(node.inputs[1..].iter().copied()).collect();
                Some((Operator::Conv(spatial), inputs))
            }
            Operator::MaxPool(pooling) if !pooling.rounds_up => {
                // The largest number of a window is no other for a number that is none of the least.
                let is_least =
                    |value: f32, of| value == f32::NEG_INFINITY || value == 0.0 && self.is_never_negative(of);
                let (spatial, input) = self.padded(node.inputs[0]?, &pooling.spatial, is_least)?;
                Some((Operator::MaxPool(Pooling { spatial, ..pooling.clone() }), vec![Some(input)]))
            }
            Operator::AveragePool { pooling, counts_padding } if !pooling.rounds_up => {
                let own = [&pooling.spatial.before, &pooling.spatial.after];
                let counts_all = *counts_padding || own.into_iter().flatten().all(|padding| *padding == 0);
                let (spatial, input) =
                    self.padded(node.inputs[0]?, &pooling.spatial, |value, _| counts_all && value == 0.0)?;
                let pooling = Pooling { spatial, ..pooling.clone() };
                Some((Operator::AveragePool { pooling, counts_padding: true }, vec![Some(input)]))
            }
            Operator::Reshape { .. } => self.pixel_shuffle(node),
            _ => None,
        }
    }

    /// The number that a constant of one element is.
    fn scalar(&self, value: ValueId) -> Option<f32> {
        match self.floats.numbers(value)?.as_floats()? {
            [number] => Some(*number),
            _ => None,
        }
    }

    fn maker(&self, value: ValueId) -> Option<&Node> {
        // A number that the model quantises is one of its own.
        let at = self.uses.maker(value).filter(|_| !self.floats.codes.contains_key(&value))?;
        Some(&self.floats.graph.nodes[at])
    }

    /// The operands of a node of two, either way round.
    fn both_ways(node: &Node) -> Option<[(ValueId, ValueId); 2]> {
        let &[Some(a), Some(b)] = &node.inputs[..] else { return None };
        Some([(a, b), (b, a)])
    }

    /// `x * Sigmoid(x)`, `x * HardSigmoid(x)`, and with a factor `x * Clip(x + 3, 0, 6) * (1/6)`.
    fn gate(&self, node: &Node) -> Option<Made> {
        for (x, gate) in Self::both_ways(node)? {
            if let Some(sixth) = self.scalar(gate)
                && (sixth - 1.0 / 6.0).abs() < 1e-4
                && let Some(product) = self.maker(x)
                && let Some(x) = self.hard_gate(product)
            {
                return Some((Operator::Unary(Unary::HardSwish), vec![Some(x)]));
            }
            let Some(maker) = self.maker(gate) else { continue };
            if maker.inputs.first() != Some(&Some(x)) {
                continue;
            }
            let function = match maker.operator {
                Operator::Unary(Unary::Sigmoid) => Unary::Swish { alpha: 1.0 },
                Operator::Unary(Unary::HardSigmoid { alpha, beta })
                    if (alpha - 1.0 / 6.0).abs() < 1e-4 && (beta - 0.5).abs() < 1e-6 =>
                {
                    Unary::HardSwish
                }
                _ => continue,
            };
            return Some((Operator::Unary(function), vec![Some(x)]));
        }
        None
    }

    /// Returns true if no element of a value is less than zero.
    fn is_never_negative(&self, value: ValueId) -> bool {
        self.maker(value).is_some_and(|maker| match &maker.operator {
            Operator::Unary(Unary::Relu | Unary::Sigmoid | Unary::HardSigmoid { .. }) => true,
            Operator::Clip => {
                maker.inputs.get(1).copied().flatten().and_then(|low| self.scalar(low)) >= Some(0.0)
            }
            _ => false,
        })
    }

    /// `x * Clip(x + 3, 0, 6) / 6`.
    fn divided_gate(&self, node: &Node) -> Option<Made> {
        let &[Some(product), Some(six)] = &node.inputs[..] else { return None };
        if self.scalar(six)? != 6.0 {
            return None;
        }
        let x = self.hard_gate(self.maker(product)?)?;
        Some((Operator::Unary(Unary::HardSwish), vec![Some(x)]))
    }

    /// The x of `x * Clip(x + 3, 0, 6)`.
    fn hard_gate(&self, product: &Node) -> Option<ValueId> {
        if product.operator != Operator::Binary(Binary::Mul) {
            return None;
        }
        Self::both_ways(product)?.into_iter().find_map(|(x, gate)| {
            let clip = self.maker(gate).filter(|node| node.operator == Operator::Clip)?;
            let bound = |at: usize| self.scalar(clip.inputs.get(at).copied().flatten()?);
            let sum = self.maker(clip.inputs[0]?)?;
            let is_it = (bound(1)?, bound(2)?) == (0.0, 6.0) && sum.operator == Operator::Binary(Binary::Add);
            let adds = Self::both_ways(sum)?
                .into_iter()
                .any(|(of, three)| of == x && self.scalar(three) == Some(3.0));
            (is_it && adds).then_some(x)
        })
    }

    /// Channels that become pixels, by reshapes and a transposition.
    fn pixel_shuffle(&self, node: &Node) -> Option<Made> {
        let (operator, input) = written_out(self.floats, self.uses, node)?;
        Some((operator, vec![Some(input)]))
    }

    /// Windows over a value that is padded before, and that value, if they can pad it themselves.
    fn padded(
        &self,
        value: ValueId,
        spatial: &Spatial,
        is_theirs: impl Fn(f32, ValueId) -> bool,
    ) -> Option<(Spatial, ValueId)> {
        let pad = self.maker(value)?;
        if !matches!(pad.operator, Operator::Pad { mode: PadMode::Constant }) {
            return None;
        }
        let input = |at: usize| pad.inputs.get(at).copied().flatten();
        let of = input(0)?;
        let number = input(2).map_or(Some(0.0), |value| self.scalar(value))?;
        let pads = self.floats.graph.constant(input(1)?)?.to_integers()?;
        let rank = self.floats.graph.value(of).shape.len();
        let is_whole = input(3).is_none() && pads.len() == 2 * rank && rank == 2 + spatial.kernel.len();
        if !is_whole || !is_theirs(number, of) {
            return None;
        }
        let (before, after) = pads.split_at(rank);
        let is_spatial = [before, after].iter().all(|pads| pads[..2] == [0, 0]);
        if !is_spatial || pads.iter().any(|pad| *pad < 0) || spatial.auto_pad != AutoPad::NotSet {
            return None;
        }
        let with = |own: &[usize], more: &[i64]| -> Vec<usize> {
            own.iter().zip(&more[2..]).map(|(own, more)| own + *more as usize).collect()
        };
        let spatial = Spatial {
            before: with(&spatial.before, before),
            after: with(&spatial.after, after),
            ..spatial.clone()
        };
        Some((spatial, of))
    }
}

/// Makes several nodes of those that have a unit only in parts: sums of more than two tensors, transposed convolutions, and means of planes.
fn expanded(mut floats: FloatGraph) -> FloatGraph {
    for node in std::mem::take(&mut floats.graph.nodes) {
        match &node.operator {
            Operator::Variadic(Reduction::Sum) => floats.sum(node),
            Operator::ConvTranspose { spatial, output_shape: None, .. } => {
                let spatial = spatial.clone();
                floats.push_transposed(node, &spatial);
            }
            Operator::Reduce { reduction: Reduction::Mean, axes, keeps } => {
                let (axes, keeps) = (axes.clone(), *keeps);
                floats.mean(node, &axes, keeps);
            }
            _ => floats.graph.nodes.push(node),
        }
    }
    floats
}

impl FloatGraph {
    /// Gives a number that the model quantises after it has only been moved its code where it is made: that changes nothing.
    fn code_before_moves(&mut self) {
        let uses = Uses::of(&self.graph);
        for (at, node) in self.graph.nodes.iter().enumerate().rev() {
            let (Some(Some(input)), [output]) = (node.inputs.first(), &node.outputs[..]) else { continue };
            let moves = matches!(
                node.operator,
                Operator::Reshape { .. }
                    | Operator::Flatten { .. }
                    | Operator::Squeeze { .. }
                    | Operator::Unsqueeze { .. }
                    | Operator::Transpose { .. }
                    | Operator::Identity
            );
            if moves
                && uses.only_reader(*input) == Some(at)
                && uses.maker(*input).is_some()
                && let Some(code) = self.codes.get(output).copied()
            {
                self.codes.entry(*input).or_insert(code);
            }
        }
    }

    pub(super) fn value(&mut self, name: String, shape: Vec<usize>) -> ValueId {
        self.graph.values.push(Value { name, shape, element_type: ElementType::Float });
        ValueId(self.graph.values.len() - 1)
    }

    pub(super) fn constant(&mut self, name: String, tensor: Tensor) -> ValueId {
        let id = self.value(name, tensor.shape.clone());
        self.graph.values[id.0].element_type = tensor.element_type();
        self.graph.constants.insert(id, Arc::new(tensor));
        id
    }

    /// A mean, which of whole planes is a pooling: without their axes, it is seen otherwise behind that.
    fn mean(&mut self, mut node: Node, axes: &[i64], keeps: bool) {
        let Some(input) = node.inputs[0] else { return self.graph.nodes.push(node) };
        let shape = self.graph.value(input).shape.clone();
        let rank = shape.len() as i64;
        let mut axes: Vec<i64> =
            axes.iter().map(|axis| if *axis < 0 { axis + rank } else { *axis }).collect();
        axes.sort_unstable();
        if rank != 4 || axes != [2, 3] {
            return self.graph.nodes.push(node);
        }
        node.operator = Operator::GlobalAveragePool;
        node.inputs.truncate(1);
        if keeps {
            return self.graph.nodes.push(node);
        }
        let pooled = self.value(format!("{} of planes", node.name), vec![shape[0], shape[1], 1, 1]);
        let seen = Node {
            name: node.name.clone(),
            operator: Operator::Flatten { axis: 1 },
            inputs: vec![Some(pooled)],
            outputs: std::mem::replace(&mut node.outputs, vec![pooled]),
        };
        self.graph.nodes.extend([node, seen]);
    }

    /// A sum of tensors as sums of two.
    fn sum(&mut self, node: Node) {
        let inputs: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
        let shape = self.graph.value(node.outputs[0]).shape.clone();
        let alike = inputs.iter().all(|input| self.graph.value(*input).shape == shape);
        let [first, rest @ ..] = &inputs[..] else { return self.graph.nodes.push(node) };
        if rest.is_empty() || !alike {
            return self.graph.nodes.push(node);
        }
        let mut sum = *first;
        for (at, input) in rest.iter().enumerate() {
            let made = match at + 1 == rest.len() {
                true => node.outputs[0],
                false => self.value(format!("{} of {}", node.name, at + 2), shape.clone()),
            };
            self.graph.nodes.push(Node {
                name: node.name.clone(),
                operator: Operator::Binary(Binary::Add),
                inputs: vec![Some(sum), Some(*input)],
                outputs: vec![made],
            });
            sum = made;
        }
    }
}
