//! Changes at the edges of a graph.

use super::Code;
use std::collections::BTreeMap;
use std::sync::Arc;
use vp_tensors::{ElementType, Elements, Graph, Node, Operator, Tensor, Value, ValueId};

/// Changes at the edges of a graph.
pub(crate) trait Edges {
    /// Makes an input one of another shape, which is brought into its own first.
    fn reshape_input(&mut self, at: usize, shape: &[usize]);
    /// Makes an output one of another shape.
    fn reshape_output(&mut self, at: usize, shape: &[usize]);
    /// Rounds values to codes and takes them back, where the graph makes or is given them.
    fn quantise(&mut self, values: &[(ValueId, Code)]);
}

fn sizes(graph: &mut Graph, shape: &[usize]) -> ValueId {
    let sizes: Vec<i64> = shape.iter().map(|size| *size as i64).collect();
    let tensor = Tensor::of([sizes.len()], Elements::Int64(sizes));
    graph.values.push(Value {
        name: "shape".to_owned(),
        shape: tensor.shape.clone(),
        element_type: ElementType::Int64,
    });
    let id = ValueId(graph.values.len() - 1);
    graph.constants.insert(id, Arc::new(tensor));
    id
}

fn reshape(name: &str, from: ValueId, shape: ValueId, to: ValueId) -> Node {
    Node {
        name: format!("{name} in its shape"),
        operator: Operator::Reshape { allows_zero: false },
        inputs: vec![Some(from), Some(shape)],
        outputs: vec![to],
    }
}

impl Edges for Graph {
    fn reshape_input(&mut self, at: usize, shape: &[usize]) {
        let input = self.inputs[at];
        let own = self.values[input.0].clone();
        if own.shape == shape {
            return;
        }
        let wanted = sizes(self, &own.shape);
        let name = own.name.clone();
        self.values.push(Value { shape: shape.to_vec(), ..own });
        let outer = ValueId(self.values.len() - 1);
        self.nodes.insert(0, reshape(&name, outer, wanted, input));
        self.inputs[at] = outer;
    }

    fn reshape_output(&mut self, at: usize, shape: &[usize]) {
        let output = self.outputs[at];
        let own = self.values[output.0].clone();
        if own.shape == shape {
            return;
        }
        let wanted = sizes(self, shape);
        let name = own.name.clone();
        self.values.push(Value { shape: shape.to_vec(), ..own });
        let outer = ValueId(self.values.len() - 1);
        self.nodes.push(reshape(&name, output, wanted, outer));
        self.outputs[at] = outer;
    }

    fn quantise(&mut self, values: &[(ValueId, Code)]) {
        let mut pairs: BTreeMap<ValueId, [Node; 2]> = BTreeMap::new();
        for &(value, code) in values {
            if self.values[value.0].element_type == ElementType::Float {
                pairs.insert(value, rounded(self, value, code));
            }
        }
        let mut nodes = Vec::with_capacity(self.nodes.len() + 2 * pairs.len());
        for input in &mut self.inputs {
            if let Some(pair) = pairs.remove(input) {
                *input = pair[0].inputs[0].unwrap_or(*input);
                nodes.extend(pair);
            }
        }
        for mut node in std::mem::take(&mut self.nodes) {
            let mut behind = Vec::new();
            for output in &mut node.outputs {
                if let Some(pair) = pairs.remove(output) {
                    *output = pair[0].inputs[0].unwrap_or(*output);
                    behind.extend(pair);
                }
            }
            nodes.push(node);
            nodes.extend(behind);
        }
        self.nodes = nodes;
    }
}

/// Nodes that make a value of what it is before it has its code.
fn rounded(graph: &mut Graph, value: ValueId, Code { scale, zero }: Code) -> [Node; 2] {
    let own = graph.values[value.0].clone();
    let mut add = |name: &str, element_type: ElementType, shape: &[usize]| {
        let (name, shape) = (format!("{} {name}", own.name), shape.to_vec());
        graph.values.push(Value { name, shape, element_type });
        ValueId(graph.values.len() - 1)
    };
    let exact = add("before its code", ElementType::Float, &own.shape);
    let coded = add("code", ElementType::Int8, &own.shape);
    let parameters = [add("scale", ElementType::Float, &[]), add("zero", ElementType::Int8, &[])];
    let tensors = [
        Tensor::floats(Vec::new(), vec![scale]),
        Tensor::of(Vec::new(), Elements::Int8(vec![zero.clamp(-128, 127) as i8])),
    ];
    graph.constants.extend(parameters.into_iter().zip(tensors.map(Arc::new)));
    let node = |operator: Operator, from: ValueId, to: ValueId| Node {
        name: format!("{} {}", own.name, operator.name()),
        operator,
        inputs: vec![Some(from), Some(parameters[0]), Some(parameters[1])],
        outputs: vec![to],
    };
    [
        node(Operator::QuantizeLinear { axis: 0 }, exact, coded),
        node(Operator::DequantizeLinear { axis: 0 }, coded, value),
    ]
}
