//! Pixels from channels in PyTorch's order (`pixel_shuffle`, DepthToSpace in mode CRD): a channel's block lies in channels side by side.
//!
//! Units take the other order (DCR), in which all channels of a pixel lie side by side. A convolution before the move makes its kernels in
//! that order for nothing.

use super::floats::FloatGraph;
use super::uses::Uses;
use vp_tensors::{Node, Operator, Tensor, ValueId};

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
    let (&[1, channels, height, width], parts) = (shape(input), shape(parted.outputs[0])) else { return None };
    let (is_column_first, block, kept) = match (&permutation[..], parts) {
        ([0, 1, 4, 2, 5, 3], &[1, kept, rows, columns, h, w]) if rows == columns && [h, w] == [height, width] => {
            (true, rows, kept)
        }
        ([0, 3, 4, 1, 5, 2], &[1, rows, columns, kept, h, w]) if rows == columns && [h, w] == [height, width] => {
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
    /// Has convolutions make their kernels in the order in which units move them.
    pub(super) fn order_kernels_of_shuffles(&mut self) {
        let uses = Uses::of(&self.graph);
        for at in 0..self.graph.nodes.len() {
            let Operator::DepthToSpace { block, is_column_first: true } = self.graph.nodes[at].operator else {
                continue;
            };
            if let Some(convolution) = self.convolution_before(at, &uses)
                && self.order_kernels(convolution, block).is_some()
            {
                self.graph.nodes[at].operator = Operator::DepthToSpace { block, is_column_first: false };
            }
        }
    }

    /// The convolution whose output a node alone reads, through functions of each element.
    fn convolution_before(&self, at: usize, uses: &Uses) -> Option<usize> {
        let mut reader = at;
        loop {
            let read = self.graph.nodes[reader].inputs.first().copied().flatten()?;
            let maker = uses.maker(read).filter(|_| uses.only_reader(read) == Some(reader))?;
            match &self.graph.nodes[maker].operator {
                Operator::Unary(_) | Operator::Clip | Operator::Identity => reader = maker,
                Operator::Conv(spatial) if spatial.groups == 1 => return Some(maker),
                _ => return None,
            }
        }
    }

    /// Gives a convolution kernels in the order of pixels of a block, and then of channels.
    fn order_kernels(&mut self, at: usize, block: usize) -> Option<()> {
        let Node { name, inputs, .. } = self.graph.nodes[at].clone();
        let mut ordered = Vec::with_capacity(2);
        for &input in inputs.get(1..)? {
            let Some(input) = input else { continue };
            // Codes of its own lie beside the numbers.
            if self.constants.contains_key(&input) {
                return None;
            }
            ordered.push(in_order_of_pixels(self.numbers(input)?, block)?);
        }
        let constants = ordered.into_iter().enumerate().map(|(number, tensor)| {
            let name = format!("{name} kernels by pixels {number}");
            Some(self.constant(name, tensor))
        });
        let constants: Vec<Option<ValueId>> = constants.collect();
        let inputs = std::iter::once(inputs[0]).chain(constants).collect();
        self.graph.nodes[at].inputs = inputs;
        Some(())
    }
}

/// A tensor whose first axis, of channels and in each the pixels of a block, becomes one of pixels and for each the channels.
fn in_order_of_pixels(tensor: &Tensor, block: usize) -> Option<Tensor> {
    let (elements, pixels) = (tensor.as_floats()?, block * block);
    let kernels = *tensor.shape.first()?;
    let size = elements.len().checked_div(kernels)?;
    let channels = kernels / pixels;
    let places = (0..pixels).flat_map(|pixel| (0..channels).map(move |channel| channel * pixels + pixel));
    let ordered = places.flat_map(|place| &elements[place * size..(place + 1) * size]).copied().collect();
    Some(Tensor::floats(tensor.shape.clone(), ordered))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_a_pixel_come_one_behind_the_other() {
        let tensor = Tensor::floats([8, 2], (0..16_u8).map(f32::from).collect());
        let ordered = in_order_of_pixels(&tensor, 2).unwrap().to_floats();
        assert_eq!(ordered[..8], [0.0, 1.0, 8.0, 9.0, 2.0, 3.0, 10.0, 11.0]);
    }
}
