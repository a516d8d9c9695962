//! Parts of an ONNX model that are not in its loadable: nodes before, between and behind hardware layers, and outputs.

use std::collections::{HashMap, HashSet};
use vp_host::network::{CubeAxes, Network, NetworkLayer};
use vp_onnx::lower::{CodedTensor, LayerOrigin, Lowered, MOVED, MOVES, TailSource};
use vp_tensors::{Graph, ValueId};

/// Part of an ONNX model that is the application's.
pub(super) struct OutsideLoadable {
    /// Notes about what was taken for granted.
    pub(super) notes: Vec<String>,
    /// Reasons for which the CPU does something between hardware layers.
    pub(super) reasons: Vec<String>,
    /// Nodes of layers, by the layers' names.
    pub(super) nodes_of: HashMap<String, String>,
    /// Nodes before the loadable and behind it.
    pub(super) nodes: [Vec<String>; 2],
    /// Outputs of the model that neither a layer nor a node makes.
    pub(super) unmade: Vec<UnmadeOutput>,
    /// The model's tensor that is the network's input.
    pub(super) input: ModelEnd,
    /// The model's tensors that the network's layers make, by the layers' names.
    pub(super) layers: HashMap<String, ModelEnd>,
}

impl OutsideLoadable {
    /// Returns what of a model is not in the network made of it; `names` are the model's outputs'.
    pub(super) fn of(lowered: &Lowered, names: &[String], notes: Vec<String>) -> OutsideLoadable {
        // Others only give a cube's tensor the model's shape.
        let own: HashSet<&str> = lowered.floats.nodes.iter().map(|node| node.name.as_str()).collect();
        let nodes = |graph: &Graph| {
            let names = graph.nodes.iter().map(|node| node.name.as_str());
            names.filter(|name| own.contains(name)).map(str::to_owned).collect()
        };
        let input_name = &lowered.floats.value(lowered.start).name;
        let value = |origin: &LayerOrigin| origin.value.map(|value| lowered.floats.value(value).name.clone());
        let both = lowered.network.layers.iter().zip(&lowered.layers);
        let layers = both.map(|(layer, origin)| {
            let name = value(origin).unwrap_or_else(|| layer.name.clone());
            (layer.name.clone(), ModelEnd { name, tensor: origin.output.clone() })
        });
        // What the model gives has its own name there.
        let outputs = lowered.network.outputs.iter().enumerate().filter_map(|(output, &layer)| {
            let (name, tensor) = lowered.output(output)?;
            let end = ModelEnd { name: name.to_owned(), tensor: tensor.clone() };
            Some((lowered.network.layers[layer].name.clone(), end))
        });
        OutsideLoadable {
            unmade: unmade(lowered, names, &own),
            notes,
            reasons: reasons(lowered),
            nodes_of: nodes_of(lowered),
            nodes: [nodes(&lowered.head), nodes(&lowered.tail)],
            input: ModelEnd { name: input_name.clone(), tensor: lowered.input.clone() },
            layers: layers.chain(outputs).collect(),
        }
    }

    /// The model's tensor at the input (0) or an output of a network with layers of the model's.
    pub(super) fn end(&self, network: &Network, end: usize) -> Option<&ModelEnd> {
        match end.checked_sub(1) {
            None => Some(&self.input),
            Some(output) => self.layers.get(&network.layers[*network.outputs.get(output)?].name),
        }
    }
}

/// An output of an ONNX model that nothing makes.
pub(super) struct UnmadeOutput {
    pub(super) name: String,
    /// Tensor that it is: the input, a constant, or another output.
    pub(super) is: String,
}

/// A tensor of an ONNX model at which the loadable begins or ends.
pub(super) struct ModelEnd {
    pub(super) name: String,
    pub(super) tensor: CodedTensor,
}

impl ModelEnd {
    /// The cube's axes that the tensor has, in its order.
    pub(super) fn axes(&self) -> Vec<&'static str> {
        let CubeAxes { channels, height, width } = self.tensor.encoding.axes;
        let mut axes: Vec<_> = [(channels, "channels"), (height, "height"), (width, "width")]
            .into_iter()
            .filter_map(|(place, axis)| Some((place?, axis)))
            .collect();
        axes.sort_unstable();
        axes.into_iter().map(|(_, axis)| axis).collect()
    }
}

/// Reasons for which the CPU does something between hardware layers: of each such layer the first node that no unit does, and why.
fn reasons(lowered: &Lowered) -> Vec<String> {
    let of_layer = |(layer, origin): (&NetworkLayer, &LayerOrigin)| {
        // What only moves elements beside a node of the CPU is the CPU's because of that node.
        let weight = |why: &str| [MOVES, MOVED].iter().position(|moves| *moves == why).map_or(0, |at| at + 1);
        let all = lowered.on_cpu.iter().filter(|(node, _)| origin.nodes.contains(node));
        match all.min_by_key(|(_, why)| weight(why)) {
            Some((node, why)) => format!("`{node}`: {why}"),
            None => format!("`{}`: {}", layer.name, origin.on_cpu.as_deref().unwrap_or("no unit does it")),
        }
    };
    let mut reasons: Vec<String> = lowered.cpu_layers().map(of_layer).collect();
    reasons.dedup();
    reasons
}

/// Names of the nodes that layers do, by the layers' names.
fn nodes_of(lowered: &Lowered) -> HashMap<String, String> {
    let both = lowered.network.layers.iter().zip(&lowered.layers);
    let named = both.filter(|(_, origin)| !origin.nodes.is_empty());
    named.map(|(layer, origin)| (layer.name.clone(), origin.nodes.join("`, `"))).collect()
}

/// The model's outputs that no layer makes and no node behind the network, with what each is.
fn unmade(lowered: &Lowered, names: &[String], own: &HashSet<&str>) -> Vec<UnmadeOutput> {
    let mut made: HashMap<usize, &str> = HashMap::new();
    let mut unmade = Vec::new();
    for (name, output) in names.iter().zip(&lowered.tail.outputs) {
        let is = match source(lowered, *output, own) {
            None => continue,
            Some(OutputSource::Constant) => "a constant".to_owned(),
            Some(OutputSource::Read(TailSource::Input)) => match lowered.head.inputs.first() {
                Some(input) if lowered.head.nodes.is_empty() => {
                    format!("the input `{}`", lowered.head.value(*input).name)
                }
                _ => "the network's input".to_owned(),
            },
            Some(OutputSource::Read(TailSource::Output(layer))) => match made.get(&layer) {
                Some(other) => format!("output `{other}`"),
                None => {
                    made.insert(layer, name);
                    continue;
                }
            },
        };
        unmade.push(UnmadeOutput { name: name.clone(), is });
    }
    unmade
}

/// Source of an output that no node of the model makes behind the network.
enum OutputSource {
    Constant,
    Read(TailSource),
}

fn source(lowered: &Lowered, output: ValueId, own: &HashSet<&str>) -> Option<OutputSource> {
    let Lowered { tail, tail_inputs, .. } = lowered;
    let mut at = output;
    // Nodes that are not the model's give a cube's tensor its shape.
    for _ in 0..=tail.nodes.len() {
        if tail.constants.contains_key(&at) {
            return Some(OutputSource::Constant);
        }
        if let Some(read) = tail.inputs.iter().position(|input| *input == at) {
            return Some(OutputSource::Read(tail_inputs[read].source));
        }
        let maker = tail.nodes.iter().find(|node| node.outputs.contains(&at))?;
        if own.contains(maker.name.as_str()) {
            return None;
        }
        at = (*maker.inputs.first()?)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use vp_models::nvdla::config::Config;
    use vp_onnx::lower::{Calibration, LowerOptions, lower};
    use vp_tensors::{AutoPad, ElementType, Node, Operator, Spatial, Tensor, Value};

    #[test]
    fn outputs_that_nothing_makes_are_named() {
        let value = |name: &str, shape: &[usize]| Value {
            name: name.to_owned(),
            shape: shape.to_vec(),
            element_type: ElementType::Float,
        };
        let pixels = Spatial {
            kernel: vec![1; 2],
            strides: vec![1; 2],
            dilations: vec![1; 2],
            before: vec![0; 2],
            after: vec![0; 2],
            auto_pad: AutoPad::NotSet,
            groups: 1,
        };
        let [x, weights, h, constant] = [0, 1, 2, 3].map(ValueId);
        let graph = Graph {
            name: "g".to_owned(),
            values: vec![
                value("x", &[1, 1, 4, 4]),
                value("weights", &[2, 1, 1, 1]),
                value("h", &[1, 2, 4, 4]),
                value("c", &[1]),
            ],
            constants: [
                (weights, Arc::new(Tensor::floats([2, 1, 1, 1], vec![1.0, 0.5]))),
                (constant, Arc::new(Tensor::floats([1], vec![7.0]))),
            ]
            .into_iter()
            .collect(),
            inputs: vec![x],
            outputs: vec![h, x, constant, h],
            nodes: vec![Node {
                name: "conv".to_owned(),
                operator: Operator::Conv(pixels),
                inputs: vec![Some(x), Some(weights)],
                outputs: vec![h],
            }],
        };
        let sample = Tensor::floats([1, 1, 4, 4], (0..16u8).map(f32::from).collect());
        let mut samples = std::iter::once(Ok(vec![sample]));
        let samples = Calibration::Samples(&mut samples);
        let lowered =
            lower(&graph, &Config::named("nv_small").unwrap(), &LowerOptions::default(), samples).unwrap();
        let own: HashSet<&str> = lowered.floats.nodes.iter().map(|node| node.name.as_str()).collect();
        let names = ["h", "z", "c", "again"].map(str::to_owned);
        let told: Vec<(String, String)> =
            unmade(&lowered, &names, &own).into_iter().map(|output| (output.name, output.is)).collect();
        let expected = [("z", "the input `x`"), ("c", "a constant"), ("again", "output `h`")];
        assert_eq!(told, expected.map(|(name, is)| (name.to_owned(), is.to_owned())));
    }
}
