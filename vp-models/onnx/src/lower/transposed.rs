//! Transposed convolutions as convolutions: one for the pixels of the output whose places leave one remainder by the stride. Their cubes,
//! pixel by pixel in turn, are the output.

use super::Code;
use super::floats::FloatGraph;
use vp_tensors::{AutoPad, Elements, Node, Operator, Spatial, Tensor, ValueId};

/// Largest stride: each phase of both axes is a convolution.
const MOST_STRIDE: usize = 8;

/// Condition under which units do a transposed convolution.
pub(super) const CONDITION: &str = "units do transposed convolutions of constant weights with one stride up to 8 for both axes, kernels \
                                    no smaller than stride and padding together, no dilation, and neither `output_shape` nor `auto_pad`";

/// Channels of the widest atom: parts of so many lie apart in one cube.
pub(super) const WHOLE_ATOMS: usize = 32;

/// Places of the output along an axis that leave one remainder by the stride, as windows over the input.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Phase {
    /// Tap of the kernel that the last one of a window is; each one before is a stride further.
    tap: usize,
    taps: usize,
    before: usize,
    after: usize,
}

impl Phase {
    /// Taps of the kernel in the order of a window.
    fn kernel_taps(self, stride: usize) -> impl Iterator<Item = usize> + Clone {
        (0..self.taps).rev().map(move |at| self.tap + at * stride)
    }
}

/// Places that each phase of an axis has, so that the output ends in them and windows with the input: the rest is cut off.
fn places(stride: usize, padding: usize, [input, output]: [usize; 2]) -> usize {
    output.div_ceil(stride).max(input.saturating_sub(padding / stride))
}

/// The phases of an axis, of so many places each; none if one has no tap, or its first window does not begin with the input.
fn phases(kernel: usize, stride: usize, padding: usize, [input, places]: [usize; 2]) -> Option<Vec<Phase>> {
    let phase = |remainder: usize| {
        let (tap, shift) = ((remainder + padding) % stride, (remainder + padding) / stride);
        let taps = kernel.checked_sub(tap)?.div_ceil(stride);
        let before = taps.checked_sub(1)?.checked_sub(shift)?;
        Some(Phase { tap, taps, before, after: (places + shift).checked_sub(input)? })
    };
    (0..stride).map(phase).collect()
}

/// A transposed convolution of two axes.
struct Transposed<'a> {
    node: &'a Node,
    spatial: &'a Spatial,
    /// Phases of lines and of columns.
    phases: [Vec<Phase>; 2],
    weights: Tensor,
    bias: Option<Vec<f32>>,
}

impl Transposed<'_> {
    /// Kernels `[kernel][channel][row][column]` of a phase.
    fn kernels(&self, [rows, columns]: [Phase; 2]) -> Option<Vec<f32>> {
        let elements = self.weights.as_floats()?;
        let &[channels, kernels, height, width] = &self.weights.shape[..] else { return None };
        let (groups, strides) = (self.spatial.groups, &self.spatial.strides);
        let seen = channels / groups;
        let mut made = Vec::new();
        for (group, kernel) in (0..groups).flat_map(|group| (0..kernels).map(move |kernel| (group, kernel))) {
            for channel in group * seen..(group + 1) * seen {
                for row in rows.kernel_taps(strides[0]) {
                    let line = ((channel * kernels + kernel) * height + row) * width;
                    made.extend(columns.kernel_taps(strides[1]).map(|column| elements[line + column]));
                }
            }
        }
        Some(made)
    }

    /// Windows of a phase.
    fn windows(&self, phase: [Phase; 2]) -> Spatial {
        Spatial {
            kernel: phase.map(|axis| axis.taps).to_vec(),
            strides: vec![1; 2],
            dilations: vec![1; 2],
            before: phase.map(|axis| axis.before).to_vec(),
            after: phase.map(|axis| axis.after).to_vec(),
            auto_pad: AutoPad::NotSet,
            groups: self.spatial.groups,
        }
    }
}

impl FloatGraph {
    /// Adds a node; a transposed convolution as convolutions, if it is such.
    pub(super) fn push_transposed(&mut self, node: Node, spatial: &Spatial) {
        if self.transposed(&node, spatial).is_none() {
            self.graph.nodes.push(node);
        }
    }

    fn transposed(&mut self, node: &Node, spatial: &Spatial) -> Option<()> {
        let (&[Some(input), Some(weights), ..], output) = (&node.inputs[..], node.outputs[0]) else {
            return None;
        };
        let [from, to] = [input, output].map(|id| self.graph.value(id).shape.clone());
        let (&[batch, _, _, _], &[_, kernels, height, width]) = (&from[..], &to[..]) else { return None };
        let &Spatial { ref kernel, ref strides, ref dilations, ref before, auto_pad, .. } = spatial;
        let paddings = match auto_pad {
            AutoPad::NotSet => before.clone(),
            AutoPad::Valid => vec![0; 2],
            AutoPad::SameUpper | AutoPad::SameLower => return None,
        };
        if strides[0] != strides[1]
            || !(1..=MOST_STRIDE).contains(&strides[0])
            || dilations.iter().any(|dilation| *dilation != 1)
        {
            return None;
        }
        let places = [0, 1].map(|axis| places(strides[axis], paddings[axis], [from[2 + axis], to[2 + axis]]));
        let phases_of =
            |axis: usize| phases(kernel[axis], strides[axis], paddings[axis], [from[2 + axis], places[axis]]);
        let bias = match node.inputs.get(2).copied().flatten() {
            None => None,
            Some(bias) => Some(self.numbers(bias)?.as_floats()?.to_vec()),
        };
        let of = Transposed {
            node,
            spatial,
            phases: [phases_of(0)?, phases_of(1)?],
            weights: self.numbers(weights)?.clone(),
            bias,
        };
        let block = strides[0];
        let shape = [batch, kernels, places[0], places[1]];
        let whole = places.map(|places| places * block);
        let code = self.codes.get(&output).copied();
        let blocks = self.blocks(&of, input, shape, code)?;
        let moves = match block {
            1 => Operator::Identity,
            _ => Operator::DepthToSpace { block, is_column_first: false },
        };
        let is_cut = whole != [height, width];
        let pixels = match is_cut {
            true => self.coded(format!("{} pixels", node.name), [batch, kernels, whole[0], whole[1]], code),
            false => output,
        };
        self.graph.nodes.push(Node {
            name: format!("{} pixels", node.name),
            operator: moves,
            inputs: vec![Some(blocks)],
            outputs: vec![pixels],
        });
        if is_cut {
            let of = |sizes: [usize; 2]| {
                Tensor::of([2], Elements::Int64(sizes.iter().map(|size| *size as i64).collect()))
            };
            let cut = [("starts", [0, 0]), ("ends", [height, width]), ("axes", [2, 3])];
            let cut = cut.map(|(role, sizes)| self.constant(format!("{} {role}", node.name), of(sizes)));
            let inputs = [pixels].into_iter().chain(cut).map(Some).collect();
            let name = format!("{} cut", node.name);
            self.graph.nodes.push(Node { name, operator: Operator::Slice, inputs, outputs: vec![output] });
        }
        Some(())
    }

    /// The phases' cubes, each of a shape, one behind the other.
    fn blocks(
        &mut self,
        of: &Transposed<'_>,
        input: ValueId,
        shape: [usize; 4],
        code: Option<Code>,
    ) -> Option<ValueId> {
        let [lines, columns] = &of.phases;
        let all: Vec<[Phase; 2]> =
            lines.iter().flat_map(|line| columns.iter().map(|column| [*line, *column])).collect();
        let is_pixel = all.iter().flatten().all(|axis| (axis.taps, axis.before, axis.after) == (1, 0, 0));
        let is_one = is_pixel && of.spatial.groups == 1 && shape[1].is_multiple_of(WHOLE_ATOMS);
        let together = if is_one { all.len() } else { 1 };
        let mut parts = Vec::with_capacity(all.len() / together);
        for phases in all.chunks(together) {
            let made: Vec<Vec<f32>> = phases.iter().map(|phase| of.kernels(*phase)).collect::<Option<_>>()?;
            parts.push(self.part(of, input, (made.concat(), of.windows(phases[0])), (shape, together), code));
        }
        if let [whole] = parts[..] {
            return Some(whole);
        }
        let channels = shape[1] * parts.len();
        let whole =
            self.coded(format!("{} blocks", of.node.name), [shape[0], channels, shape[2], shape[3]], code);
        self.graph.nodes.push(Node {
            name: format!("{} blocks", of.node.name),
            operator: Operator::Concat { axis: 1 },
            inputs: parts.into_iter().map(Some).collect(),
            outputs: vec![whole],
        });
        Some(whole)
    }

    /// A convolution for so many phases together.
    fn part(
        &mut self,
        of: &Transposed<'_>,
        input: ValueId,
        (kernels, windows): (Vec<f32>, Spatial),
        ([batch, channels, height, width], together): ([usize; 4], usize),
        code: Option<Code>,
    ) -> ValueId {
        let (name, count) = (&of.node.name, together * channels);
        let seen = of.weights.shape[0] / of.spatial.groups;
        let weights = Tensor::floats([count, seen, windows.kernel[0], windows.kernel[1]], kernels);
        let weights = self.constant(format!("{name} weights"), weights);
        let bias = of.bias.as_ref().map(|bias| {
            let values = Tensor::floats([count], bias.repeat(together));
            self.constant(format!("{name} bias"), values)
        });
        let made = self.coded(format!("{name} blocks"), [batch, count, height, width], code);
        self.graph.nodes.push(Node {
            name: name.clone(),
            operator: Operator::Conv(windows),
            inputs: vec![Some(input), Some(weights), bias],
            outputs: vec![made],
        });
        made
    }

    /// A value in the code of the output.
    fn coded(&mut self, name: String, shape: [usize; 4], code: Option<Code>) -> ValueId {
        let value = self.value(name, shape.to_vec());
        if let Some(code) = code {
            self.codes.insert(value, code);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_take_each_tap_once() {
        let told = |kernel, stride, padding, [input, output]: [usize; 2]| {
            let places = places(stride, padding, [input, output]);
            phases(kernel, stride, padding, [input, places]).map(|phases| {
                phases
                    .into_iter()
                    .map(|phase| (phase.kernel_taps(stride).collect::<Vec<_>>(), phase.before, phase.after))
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(told(2, 2, 0, [5, 10]), Some(vec![(vec![0], 0, 0), (vec![1], 0, 0)]));
        assert_eq!(told(4, 2, 1, [5, 10]), Some(vec![(vec![3, 1], 1, 0), (vec![2, 0], 0, 1)]));
        assert_eq!(told(3, 2, 1, [5, 10]), Some(vec![(vec![1], 0, 0), (vec![2, 0], 0, 1)]));
        assert_eq!(told(3, 1, 1, [5, 5]), Some(vec![(vec![2, 1, 0], 1, 1)]));
        // Of nine places the last one is cut off, and of eleven a window lies behind the input.
        assert_eq!(told(3, 2, 1, [5, 9]), told(3, 2, 1, [5, 10]));
        assert_eq!(told(3, 2, 0, [5, 11]), Some(vec![(vec![2, 0], 1, 1), (vec![1], 0, 1)]));
        // Without a tap nothing is read.
        assert_eq!(told(1, 2, 0, [5, 10]), None);
    }

    #[test]
    fn convolutions_give_what_the_transposed_one_does() {
        for (kernel, stride, padding, more) in [
            (3, 2, 1, 0),
            (3, 2, 1, 1),
            (3, 2, 0, 0),
            (4, 3, 1, 0),
            (5, 2, 2, 0),
            (5, 4, 0, 2),
            (7, 2, 3, 0),
            (5, 3, 2, 1),
            (3, 1, 1, 0),
        ] {
            let spatial = Spatial {
                kernel: vec![kernel; 2],
                strides: vec![stride; 2],
                dilations: vec![1; 2],
                before: vec![padding; 2],
                after: vec![padding; 2],
                auto_pad: AutoPad::NotSet,
                groups: 1,
            };
            let numbers = |count: usize, step: usize| {
                (0..count).map(|at| (at * step % 13) as f32 - 6.0).collect::<Vec<f32>>()
            };
            let mut source = FloatGraph::default();
            let input = source.value("x".to_owned(), vec![1, 2, 5, 6]);
            let weights = Tensor::floats([2, 3, kernel, kernel], numbers(6 * kernel * kernel, 5));
            let weights = source.constant("w".to_owned(), weights);
            let bias = source.constant("b".to_owned(), Tensor::floats([3], numbers(3, 2)));
            let size = |input: usize| stride * (input - 1) + kernel + more - 2 * padding;
            let output = source.value("y".to_owned(), vec![1, 3, size(5), size(6)]);
            let operator = Operator::ConvTranspose {
                spatial: spatial.clone(),
                output_padding: vec![more; 2],
                output_shape: None,
            };
            let inputs = vec![Some(input), Some(weights), Some(bias)];
            let node = Node { name: "t".to_owned(), operator, inputs, outputs: vec![output] };
            source.graph.inputs = vec![input];
            source.graph.outputs = vec![output];
            let mut made = source.clone();
            source.graph.nodes.push(node.clone());
            made.push_transposed(node, &spatial);
            assert!(made.graph.nodes.len() > 1, "{kernel} {stride} {padding} {more}");
            let x = [Tensor::floats([1, 2, 5, 6], numbers(60, 7))];
            let (expected, found) = (source.graph.run(&x).unwrap(), made.graph.run(&x).unwrap());
            assert_eq!(found, expected, "{kernel} {stride} {padding} {more}");
        }
    }
}
