//! Pixels from channels in PyTorch's order (`pixel_shuffle`, DepthToSpace in mode CRD): a channel's block lies in channels side by side.
//!
//! Units take the other order (DCR), in which all channels of a pixel lie side by side, in whole atoms. A convolution before the move makes
//! its kernels in that order for nothing.

use super::floats::FloatGraph;
use super::transposed::WHOLE_ATOMS;
use super::uses::Uses;
use std::collections::HashMap;
use vp_tensors::{Node, Operator, Tensor, Value, ValueId};

/// The move that a reshape of a transposed reshape is, as exporters write it where the operator is not known, and what it reads.
/// A number between that the model quantises is kept.
pub(super) fn written_out(floats: &FloatGraph, uses: &Uses, last: &Node) -> Option<(Operator, ValueId)> {
    let graph = &floats.graph;
    let maker = |value: ValueId| {
        let at = uses.maker(value).filter(|_| !floats.codes.contains_key(&value))?;
        Some(&graph.nodes[at])
    };
    let first_input = |node: &Node| node.inputs.first().copied().flatten();
    let moved = maker(first_input(last)?)?;
    let parted = maker(first_input(moved)?)?;
    let (Operator::Transpose { permutation }, Operator::Reshape { .. }) = (&moved.operator, &parted.operator)
    else {
        return None;
    };
    let input = first_input(parted)?;
    let shape = |value: ValueId| &graph.value(value).shape[..];
    let (&[1, channels, height, width], parts) = (shape(input), shape(parted.outputs[0])) else {
        return None;
    };
    let (is_column_first, block, kept) = match (&permutation[..], parts) {
        ([0, 1, 4, 2, 5, 3], &[1, kept, rows, columns, h, w])
            if rows == columns && [h, w] == [height, width] =>
        {
            (true, rows, kept)
        }
        ([0, 3, 4, 1, 5, 2], &[1, rows, columns, kept, h, w])
            if rows == columns && [h, w] == [height, width] =>
        {
            (false, rows, kept)
        }
        _ => return None,
    };
    let is_whole = channels == kept * block * block;
    let made = [1, kept, height * block, width * block];
    (is_whole && shape(last.outputs[0]) == made)
        .then_some((Operator::DepthToSpace { block, is_column_first }, input))
}

impl FloatGraph {
    /// Has convolutions make their kernels in the order in which units move them, and the kernels of each pixel apart where they are no
    /// whole atoms.
    pub(super) fn order_kernels_of_shuffles(&mut self) {
        let uses = Uses::of(&self.graph);
        let nodes = self.graph.nodes.clone();
        let mut chains: HashMap<usize, (Vec<usize>, Vec<Vec<Tensor>>)> = HashMap::new();
        let mut is_moved = vec![false; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            if let &Operator::DepthToSpace { block, is_column_first } = &node.operator
                && let Some(chain) = self.chain_before(at, &uses)
                && let Some(kernels) = self.kernels(&nodes[chain[0]], block, is_column_first)
            {
                chain.iter().for_each(|at| is_moved[*at] = true);
                chains.insert(at, (chain, kernels));
            }
        }
        self.graph.nodes.clear();
        for (at, mut node) in nodes.iter().cloned().enumerate() {
            if let Some((chain, kernels)) = chains.remove(&at) {
                let chain: Vec<&Node> = chain.iter().map(|at| &nodes[*at]).collect();
                self.push_parts(&chain, kernels);
                if let Operator::DepthToSpace { is_column_first, .. } = &mut node.operator {
                    *is_column_first = false;
                }
            }
            if !is_moved[at] {
                self.graph.nodes.push(node);
            }
        }
    }

    /// The convolution whose output a node alone reads, and functions of each element between, in their order.
    fn chain_before(&self, at: usize, uses: &Uses) -> Option<Vec<usize>> {
        let mut chain = vec![at];
        loop {
            let &reader = chain.last()?;
            let read = self.graph.nodes[reader].inputs.first().copied().flatten()?;
            let maker = uses.maker(read).filter(|_| uses.only_reader(read) == Some(reader))?;
            chain.push(maker);
            match &self.graph.nodes[maker].operator {
                Operator::Unary(_) | Operator::Clip | Operator::Identity => {}
                Operator::Conv(spatial) if spatial.groups == 1 => break,
                _ => return None,
            }
        }
        chain.reverse();
        chain.pop();
        Some(chain)
    }

    /// Weights and biases of a convolution: of all kernels, or of those for each pixel. None if they are there already, or are no constants.
    fn kernels(&self, convolution: &Node, block: usize, is_column_first: bool) -> Option<Vec<Vec<Tensor>>> {
        let pixels = block * block;
        let channels = self.graph.value(convolution.outputs[0]).shape.get(1)? / pixels;
        let is_whole = channels.is_multiple_of(WHOLE_ATOMS);
        if channels == 0 || is_whole && !is_column_first {
            return None;
        }
        let mut parts = vec![Vec::with_capacity(2); if is_whole { 1 } else { pixels }];
        for &constant in convolution.inputs.get(1..)?.iter().flatten() {
            // A model's own integers lie beside the numbers.
            if self.constants.contains_key(&constant) {
                return None;
            }
            let tensor = self.numbers(constant)?;
            let place = |at: usize| match is_column_first {
                true => at % channels * pixels + at / channels,
                false => at,
            };
            let count = pixels * channels / parts.len();
            for (number, part) in parts.iter_mut().enumerate() {
                part.push(rows(tensor, (number * count..(number + 1) * count).map(place))?);
            }
        }
        Some(parts)
    }

    /// Convolutions of these weights and biases and the functions behind them, joined to what the last of those made.
    fn push_parts(&mut self, chain: &[&Node], kernels: Vec<Vec<Tensor>>) {
        let (count, mut made) = (kernels.len(), Vec::with_capacity(kernels.len()));
        for (number, constants) in kernels.into_iter().enumerate() {
            let channels = constants.first().map_or(0, |weights| weights.shape[0]);
            let mut constants = constants.into_iter();
            let mut last = None;
            for node in chain {
                let output = node.outputs[0];
                let Value { name, mut shape, .. } = self.graph.value(output).clone();
                shape[1] = channels;
                let part =
                    if count == 1 { output } else { self.value(format!("{name} pixel {number}"), shape) };
                if let Some(code) = self.codes.get(&output).copied() {
                    self.codes.insert(part, code);
                }
                let mut node = Node { outputs: vec![part], ..(*node).clone() };
                match last {
                    None => {
                        let name = format!("{} kernels {number}", node.name);
                        let new = constants.by_ref().map(|tensor| Some(self.constant(name.clone(), tensor)));
                        let new: Vec<Option<ValueId>> = new.collect();
                        node.inputs = node.inputs[..1].iter().copied().chain(new).collect();
                    }
                    Some(_) => node.inputs[0] = last,
                }
                self.graph.nodes.push(node);
                last = Some(part);
            }
            made.push(last);
        }
        let Some(end) = chain.last().filter(|_| count > 1) else { return };
        self.graph.nodes.push(Node {
            name: format!("{} pixels", end.name),
            operator: Operator::Concat { axis: 1 },
            inputs: made,
            outputs: end.outputs.clone(),
        });
    }
}

/// Some of a tensor along its first axis.
fn rows(tensor: &Tensor, places: impl ExactSizeIterator<Item = usize>) -> Option<Tensor> {
    let elements = tensor.as_floats()?;
    let size = elements.len().checked_div(*tensor.shape.first()?)?;
    let shape: Vec<usize> = std::iter::once(places.len()).chain(tensor.shape[1..].iter().copied()).collect();
    let rows: Option<Vec<&[f32]>> =
        places.map(|place| elements.get(place * size..(place + 1) * size)).collect();
    Some(Tensor::floats(shape, rows?.concat()))
}
