//! Layers before their numbers are codes: what runs on which unit, in the numbers of the model.

use super::function::Function;
use super::view::View;
use vp_host::network::{Interleaving, PairMethod, Pooling, Shape, Window};
use vp_tensors::{Graph, LocalResponse, ValueId};

/// Place of a draft among all; none for the network's input.
pub(crate) type Source = Option<usize>;

/// A layer in the model's numbers.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Name of the layer: that of its first node.
    pub(crate) name: String,
    /// Nodes that it does, by their places in the graph.
    pub(crate) nodes: Vec<usize>,
    pub(crate) kind: DraftKind,
    pub(crate) sources: Vec<Source>,
    pub(crate) input: Shape,
    pub(crate) output: Shape,
    /// Value of the graph that it gives; none if it is an intermediate step of one node.
    pub(crate) value: Option<ValueId>,
    /// The value in its cube.
    pub(crate) view: Option<View>,
    /// Function of what it computes, before that is written.
    pub(crate) activation: DraftActivation,
}

/// Operation of a draft.
#[derive(Clone, Debug)]
pub(crate) enum DraftKind {
    Convolution(Kernels),
    /// Factor and addend of each channel.
    Scaling {
        scales: Vec<f64>,
        addends: Vec<f64>,
    },
    Pooling(Pooling),
    /// The sum of both sources, or the second less the first.
    Sum {
        takes_first_off: bool,
    },
    Pair(PairMethod),
    /// A cube times a number for each channel, which are a cube of one pixel.
    ChannelProduct,
    Function(Function),
    Concatenation,
    Normalisation(LocalResponse),
    Upsampling(u32),
    Interleaving(Interleaving),
    Slice([u32; 3]),
    Cpu(Box<OnCpu>),
}

/// Function of what a layer computes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum DraftActivation {
    #[default]
    None,
    Relu,
    /// Negative numbers become zero, larger ones than this bound become it.
    Limited(f32),
    /// Factor of negative numbers, one or one for each channel.
    Leaky(Vec<f32>),
    /// A function by SDP's table, of the numbers that this value has.
    Table(Function, ValueId),
}

/// Kernels of a convolution, or of a fully connected layer.
#[derive(Clone, Debug)]
pub(crate) struct Kernels {
    pub(crate) kernels: u32,
    pub(crate) groups: u32,
    pub(crate) window: Window,
    pub(crate) weights: Weights,
    pub(crate) bias: Vec<f64>,
    /// True if the second source is added.
    pub(crate) adds: bool,
}

/// Weights, `[kernel][row][column][channel]`.
#[derive(Clone, Debug)]
pub(crate) enum Weights {
    /// Numbers.
    Floats(Vec<f32>),
    /// Integers of a quantised model, with a scale for all or for each kernel.
    Codes { values: Vec<i8>, scales: Vec<f32> },
}

/// Work of the CPU.
#[derive(Clone, Debug)]
pub(crate) struct OnCpu {
    pub(crate) graph: Graph,
    /// Views of the sources' cubes as inputs of the graph.
    pub(crate) inputs: Vec<View>,
    pub(crate) output: View,
    /// Reason for which no unit does it.
    pub(crate) reason: String,
}

impl Draft {
    /// Returns true if an activation can still be given to it.
    pub(crate) fn takes_activation(&self) -> bool {
        self.activation == DraftActivation::None
            && matches!(
                self.kind,
                DraftKind::Convolution(_) | DraftKind::Scaling { .. } | DraftKind::Sum { .. }
            )
    }
}
