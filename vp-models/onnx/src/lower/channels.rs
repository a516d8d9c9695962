//! Channels in another order (ShuffleNet's shuffle), which exporters write as reshapes around a transposition: no unit moves channels, and a
//! convolution of one pixel with one 1 a kernel gives them exactly.

use super::floats::{ConstantCodes, FloatGraph};
use super::uses::Uses;
use vp_tensors::{AutoPad, Node, Operator, Spatial, Tensor, ValueId};

/// Channels of a value as a matrix of `groups` rows that is transposed.
struct ChannelShuffle {
    of: ValueId,
    channels: usize,
    groups: usize,
}

impl FloatGraph {
    /// Has convolutions shuffle channels.
    pub(super) fn convolve_shuffles(&mut self) {
        let uses = Uses::of(&self.graph);
        let found: Vec<(usize, ChannelShuffle)> = (0..self.graph.nodes.len())
            .filter_map(|at| Some((at, self.shuffle(&uses, &self.graph.nodes[at])?)))
            .collect();
        for (at, ChannelShuffle { of, channels, groups }) in found {
            let rows = channels / groups;
            let mut values = vec![0; channels * channels];
            for made in 0..channels {
                let (row, group) = (made / groups, made % groups);
                values[made * channels + group * rows + row] = 1;
            }
            let numbers = values.iter().map(|value| *value as f32).collect();
            let name = format!("{} weights", self.graph.nodes[at].name);
            let weights = self.constant(name, Tensor::floats(vec![channels, channels, 1, 1], numbers));
            self.constants.insert(weights, ConstantCodes { values, scales: vec![1.0], axis: 0 });
            let node = &mut self.graph.nodes[at];
            node.operator = Operator::Conv(Spatial {
                kernel: vec![1; 2],
                strides: vec![1; 2],
                dilations: vec![1; 2],
                before: vec![0; 2],
                after: vec![0; 2],
                auto_pad: AutoPad::NotSet,
                groups: 1,
            });
            node.inputs = vec![Some(of), Some(weights)];
        }
    }

    /// The shuffle that a reshape ends.
    fn shuffle(&self, uses: &Uses, last: &Node) -> Option<ChannelShuffle> {
        let Operator::Reshape { .. } = last.operator else { return None };
        let graph = &self.graph;
        let code = self.codes.get(&last.outputs[0]);
        // What the model quantises between may have no code but that of the result.
        let maker = |node: &Node| {
            let value = node.inputs.first().copied().flatten()?;
            let own = self.codes.get(&value);
            let at = uses.maker(value).filter(|_| own.is_none() || own == code)?;
            Some(&graph.nodes[at])
        };
        let moved = maker(last)?;
        let parted = maker(moved)?;
        let (Operator::Transpose { permutation }, Operator::Reshape { .. }) =
            (&moved.operator, &parted.operator)
        else {
            return None;
        };
        let of = parted.inputs.first().copied().flatten()?;
        let shape = |value: ValueId| &graph.value(value).shape[..];
        let (&[1, channels, height, width], &[1, groups, rows, h, w]) = (shape(of), shape(parted.outputs[0]))
        else {
            return None;
        };
        let is_shuffle = permutation[..] == [0, 2, 1, 3, 4]
            && groups * rows == channels
            && [h, w] == [height, width]
            && shape(last.outputs[0]) == shape(of);
        is_shuffle.then_some(ChannelShuffle { of, channels, groups })
    }
}
