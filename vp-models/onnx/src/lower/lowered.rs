//! A network made of a graph, with what is computed in floats before and behind it.

use super::coded::encoding;
use super::view::View;
use super::{CalibrationTable, Code, EncodeError, NoNumbers};
use vp_host::network::{Encoding, Network, NetworkLayer, Operation, Shape};
use vp_models::nvdla::numeric::Precision;
use vp_tensors::{Graph, GraphError, Tensor, ValueId};

/// Source of a tensor that the tail reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailSource {
    /// The network's output of that place among all.
    Output(usize),
    /// The network's input: what the head gives.
    Input,
}

/// Tensor that the tail reads.
#[derive(Clone, Debug, PartialEq)]
pub struct TailInput {
    /// Place from which it comes.
    pub source: TailSource,
    /// The cube there as a tensor: elements in the order in which the tail takes them.
    pub tensor: CodedTensor,
}

/// A cube as a tensor of numbers whose axes are the cube's.
#[derive(Clone, Debug, PartialEq)]
pub struct CodedTensor {
    /// Sizes of the tensor's axes: those of the cube that are larger than 1, in the tensor's order.
    pub shape: Vec<usize>,
    /// Meaning of the cube's codes.
    pub encoding: Encoding,
}

impl CodedTensor {
    pub(super) fn of(view: &View, code: Code) -> CodedTensor {
        let (_, shape) = view.apart();
        CodedTensor { shape, encoding: encoding(view, code) }
    }

    /// The numbers of codes `[line][column][channel]`, in the tensor's order.
    pub fn decode(&self, codes: &[i8], cube: Shape, precision: Precision) -> Vec<f32> {
        self.encoding.decoded(codes, precision, &self.shape, cube)
    }

    /// The codes `[line][column][channel]` of numbers in the tensor's order.
    pub fn encode(&self, numbers: &[f32], cube: Shape, precision: Precision) -> Vec<i8> {
        self.encoding.encoded(numbers, precision, &self.shape, cube)
    }
}

/// Origin of a network's layer in the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerOrigin {
    /// Nodes that the layer does, in their order.
    pub nodes: Vec<String>,
    /// Value of the graph that it makes; none for a step of a node.
    pub value: Option<ValueId>,
    /// The output as a tensor.
    pub output: CodedTensor,
    /// Reason for which the CPU does it, if it does.
    pub on_cpu: Option<String>,
}

/// A network made of a graph, and what is computed in floats before and behind it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// From the model's input to the network's.
    pub head: Graph,
    /// The network.
    pub network: Network,
    /// The network's input as a tensor: elements in the order in which the head gives them.
    pub input: CodedTensor,
    /// From the network's outputs to the model's.
    pub tail: Graph,
    /// Tensors that the tail reads.
    pub tail_inputs: Vec<TailInput>,
    /// Origins of the network's layers.
    pub layers: Vec<LayerOrigin>,
    /// The graph of the model's own numbers, in which [`LayerOrigin::value`] is.
    pub floats: Graph,
    /// Value of that graph at which the network starts.
    pub start: ValueId,
    /// Nodes that are no unit's, with the reasons.
    pub on_cpu: Vec<(String, String)>,
    /// True if the model has codes of its own.
    pub is_quantised: bool,
    /// Ranges by which it is quantised; none in fp16.
    pub calibration: CalibrationTable,
}

impl Lowered {
    /// The network's input of what the head gives.
    ///
    /// # Errors
    /// When an operator of the head fails, or in int8 an element is no number.
    pub fn encode(&self, inputs: &[Tensor]) -> Result<Vec<i8>, EncodeError> {
        if self.network.precision != Precision::Fp16 {
            for (input, tensor) in self.head.inputs.iter().zip(inputs) {
                NoNumbers::check(&self.head.value(*input).name, tensor)?;
            }
        }
        let made = self.head.run(inputs)?;
        Ok(self.input.encode(&made[0].to_floats(), self.network.input, self.network.precision))
    }

    /// The model's outputs of the network's, `[line][column][channel]`, and of what the network read.
    ///
    /// # Errors
    /// When an operator of the tail fails.
    pub fn decode(&self, input: &[i8], outputs: &[Vec<i8>]) -> Result<Vec<Tensor>, GraphError> {
        let precision = self.network.precision;
        let read = self.tail_inputs.iter().zip(&self.tail.inputs).map(|(read, value)| {
            let (codes, cube) = match read.source {
                TailSource::Output(output) => {
                    (&outputs[output][..], self.network.shape(Some(self.network.outputs[output])))
                }
                TailSource::Input => (input, self.network.input),
            };
            Tensor::floats(self.tail.value(*value).shape.clone(), read.tensor.decode(codes, cube, precision))
        });
        self.tail.run(&read.collect::<Vec<_>>())
    }

    /// Name that the model has for an output of the network, and the output's tensor.
    ///
    /// Outputs that are the model's stand in its order, before those that the tail makes its outputs of.
    pub fn output(&self, output: usize) -> Option<(&str, &CodedTensor)> {
        let of = TailSource::Output(output);
        let at = self.tail_inputs.iter().position(|read| read.source == of)?;
        Some((&self.tail.value(self.tail.inputs[at]).name, &self.tail_inputs[at].tensor))
    }

    /// Layers that the CPU does.
    pub fn cpu_layers(&self) -> impl Iterator<Item = (&NetworkLayer, &LayerOrigin)> {
        let both = self.network.layers.iter().zip(&self.layers);
        both.filter(|(layer, _)| matches!(layer.operation, Operation::Cpu(_)))
    }
}
