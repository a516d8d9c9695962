//! The IP's planner: from a network to what the device runs, a graph and the filters beside it.

use super::error::{LayerError, PlanError};
use super::model::Model;
use crate::Memory;
use crate::network::{
    self, Activation, Convolution, Elementwise, Function, Method, Network, NetworkLayer, PairMethod, Pooling,
    Sum,
};
use vp_models::fpga_ai_suite::graph::{self, Converter, Graph, Operation, Pair, Shape, Sums, Tensor, Window};
use vp_models::nvdla::numeric::Precision;

impl Model {
    /// A network as a graph. The arithmetic is NVDLA's but for averages: NVDLA multiplies by reciprocals.
    ///
    /// # Errors
    /// When this device has no such layer.
    pub fn of_network(network: &Network) -> Result<Model, PlanError> {
        let (name, precision) = (network.name.clone(), network.precision);
        if precision != Precision::Int8 {
            return Err(PlanError::Format { network: name, precision });
        }
        if let Some(demand) = network.demands.iter().find(|demand| demand.memory != Memory::Primary) {
            return Err(PlanError::Memory { demand: demand.told(network), line: demand.line });
        }
        if network.outputs.iter().any(|&output| output + 1 != network.layers.len()) {
            let layer = |&output: &usize| network.layers.get(output).map(|layer| layer.name.clone());
            let layers = network.outputs.iter().filter_map(layer).collect();
            return Err(PlanError::Outputs { network: name, layers });
        }
        let layers = network.layers.iter().enumerate();
        let refused = |(place, layer): (usize, &NetworkLayer), why| {
            let layer = layer.name.clone();
            PlanError::Layer { place, layer, why }
        };
        let of_graph = |why| PlanError::Graph { network: name.clone(), why };
        let mut filters = Filters::default();
        let operations: Vec<Operation> = layers
            .clone()
            .map(|layer| operation(layer.1, &mut filters).map_err(|why| refused(layer, why)))
            .collect::<Result<_, _>>()?;
        let Filters(filters) = filters;
        let network::Shape { width, height, channels } = network.input;
        let input = Shape { height, width, channels };
        let mut graph = Graph::new(input, filters.len() as u32).map_err(of_graph)?;
        for (layer, operation) in layers.zip(operations) {
            let source = layer.1.sources.first().copied().flatten();
            graph.add(tensor(source), operation, layer.1.cycles).map_err(|why| refused(layer, why.into()))?;
        }
        let graph = graph.whole().map_err(of_graph)?;
        Ok(Model { name, graph, filters })
    }
}

/// Filters, biases and tables, one behind the other.
#[derive(Default)]
struct Filters(Vec<u8>);

impl Filters {
    /// Puts some behind the others, and says where they begin.
    fn put(&mut self, bytes: impl IntoIterator<Item = u8>) -> Result<u32, LayerError> {
        let at = self.0.len() as u32;
        self.0.extend(bytes);
        match self.0.len() <= Graph::MOST_FILTERS as usize {
            true => Ok(at),
            false => Err(LayerError::Filters),
        }
    }

    /// Biases as the device has them, of 32 bits each.
    fn bias(&mut self, network::Bias { values, shift }: &network::Bias) -> Result<u32, LayerError> {
        let &shift = shift;
        if shift > 31 {
            return Err(LayerError::BiasShift(shift));
        }
        let shifted = |&value: &i32| {
            i32::try_from(i64::from(value) << shift).map_err(|_| LayerError::Bias { value, shift })
        };
        let shifted = values.iter().map(shifted).collect::<Result<Vec<i32>, _>>()?;
        self.put(shifted.into_iter().flat_map(i32::to_le_bytes))
    }

    /// The sums of a convolution.
    fn sums(&mut self, convolution: &Convolution) -> Result<Sums, LayerError> {
        let relu = match convolution.activation {
            Activation::None => false,
            Activation::Relu => true,
            Activation::Leaky { .. } => {
                let instead = "make it a layer of its own, of the kind \"activation\"";
                return Err(unknown("leaky activation in a convolution", instead));
            }
            Activation::PRelu(_) => {
                let instead = "give all kernels one factor, in a layer of the kind \"activation\"";
                return Err(unknown("PReLU in a convolution", instead));
            }
        };
        Ok(Sums {
            kernels: convolution.kernels,
            bias: convolution.bias.as_ref().map(|bias| self.bias(bias)).transpose()?,
            weights: self.put(convolution.weights.iter().map(|weight| weight.cast_unsigned()))?,
            relu,
            converter: converted(convolution.converter),
        })
    }
}

fn unknown(what: &'static str, instead: &'static str) -> LayerError {
    LayerError::Unknown { what, instead }
}

fn tensor(source: Option<usize>) -> Tensor {
    source.map_or(Tensor::Input, Tensor::Layer)
}

fn converted(network::Converter { offset, scale, shift }: network::Converter) -> Converter {
    Converter { offset, scale, shift }
}

/// Returns the operation of a layer on this device.
fn operation(layer: &NetworkLayer, filters: &mut Filters) -> Result<Operation, LayerError> {
    let pair = |method, converter| {
        let other = tensor(layer.sources.get(1).copied().flatten());
        Operation::Elementwise { other, method, converter: converted(converter) }
    };
    Ok(match &layer.operation {
        network::Operation::Convolution(Convolution { groups: 2.., .. }) => {
            return Err(unknown(
                "groups",
                "give each kernel all channels, with zeros for those it does not see",
            ));
        }
        network::Operation::Convolution(Convolution { added: Some(_), .. }) => {
            return Err(unknown(
                "convolution that adds a layer",
                "add it by a layer of the kind \"elementwise\"",
            ));
        }
        network::Operation::Convolution(Convolution { truncate: 1.., .. }) => {
            return Err(unknown("`truncate`", "leave the shift to the converter"));
        }
        network::Operation::Convolution(Convolution { window, .. }) if window.is_dilated() => {
            return Err(unknown("dilation", "give the kernels zeros for the pixels between"));
        }
        network::Operation::Convolution(Convolution { padding: 1.. | ..=-1, .. }) => {
            return Err(unknown("padding with another value than 0", "pad the input on the host"));
        }
        network::Operation::Convolution(Convolution { scales: Some(_), .. }) => {
            return Err(unknown("`scales`", "quantise all kernels with one scale, that of the converter"));
        }
        network::Operation::Convolution(Convolution { look_up: Some(_), .. }) => {
            return Err(unknown("`look_up`", LOOK_UP_ALONE));
        }
        network::Operation::Convolution(convolution) => {
            let sums = filters.sums(convolution)?;
            match layer.is_fully_connected() {
                true => Operation::FullyConnected { sums },
                false => Operation::Convolution { window: turned(convolution.window), sums },
            }
        }
        network::Operation::Pooling(pooling) if pooling.leaves_padding_out() => {
            return Err(unknown("means that leave padding out", "count padding: method = \"average\""));
        }
        network::Operation::Pooling(Pooling { method, window }) => {
            let method = match method {
                Method::Max => graph::Pooling::Max,
                Method::Min => graph::Pooling::Min,
                Method::Average | Method::Mean => graph::Pooling::Average,
            };
            Operation::Pooling { window: turned(*window), method }
        }
        &network::Operation::Sum(Sum { scale: 1, shift: 0, activation: Activation::None, converter }) => {
            pair(Pair::Add, converter)
        }
        network::Operation::Sum(_) => {
            let instead = "add as they are, and convert and activate behind";
            return Err(unknown("sum with `scale`, `shift` or an activation", instead));
        }
        network::Operation::Elementwise(Elementwise { method, converter }) => {
            let method = match method {
                PairMethod::Multiply => Pair::Multiply,
                PairMethod::Maximum => Pair::Maximum,
                PairMethod::Minimum => {
                    let instead = "negate both, take the larger, and negate that: by converters";
                    return Err(unknown("smaller of two elements", instead));
                }
            };
            pair(method, *converter)
        }
        network::Operation::Activation(function) => Operation::Activation(match *function {
            Function::Relu => graph::Activation::Relu,
            Function::Leaky { scale, shift } => graph::Activation::Leaky { scale, shift },
            Function::Clamp { low, high } => graph::Activation::Clamp { low, high },
            Function::Table(ref answers) => graph::Activation::Table {
                at: filters.put(answers.iter().map(|answer| answer.cast_unsigned()))?,
            },
        }),
        network::Operation::Scaling(_) => return Err(unknown("scaling", LOOK_UP_ALONE)),
        network::Operation::ChannelProduct(_) => return Err(unknown("product by channels", FOR_THE_HOST)),
        network::Operation::Concatenation => return Err(unknown("concatenation", FOR_THE_HOST)),
        network::Operation::Normalisation(_) => return Err(unknown("normalisation", FOR_THE_HOST)),
        network::Operation::Upsampling(_) => return Err(unknown("upsampling", FOR_THE_HOST)),
        network::Operation::Interleaving(_) => return Err(unknown("interleaving", FOR_THE_HOST)),
        network::Operation::Cpu(_) => return Err(unknown("graph of tensors", FOR_THE_HOST)),
        network::Operation::Slice(_) => return Err(unknown("slice", FOR_THE_HOST)),
        network::Operation::SoftMax(_) => return Err(unknown("soft-max", FOR_THE_HOST)),
        network::Operation::Constant(_) => return Err(unknown("constant", "give it as an input")),
    })
}

/// Advice for functions of an element.
const LOOK_UP_ALONE: &str = "make it a layer of the kind \"activation\", with a table for all channels";

/// Advice for layers that no other layer of the device can do.
const FOR_THE_HOST: &str = "cut the network there, and compute it on the host";

/// Networks say columns first.
fn turned(window: network::Window) -> Window {
    let turn = |[columns, rows]: [u32; 2]| [rows, columns];
    let network::Window { size, stride, before, after, .. } = window;
    Window { size: turn(size), stride: turn(stride), before: turn(before), after: turn(after) }
}
