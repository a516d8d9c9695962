//! Graphs: nodes whose operators are known, in an order in which they can run.

use crate::{ElementType, Operator, Tensor};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Place of a value among those of its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub usize);

/// A tensor that a graph has: an input, a constant, or what a node makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Name in the model's file.
    pub name: String,
    /// Sizes of the axes.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub element_type: ElementType,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name in the model's file, or that of its first output where it has none.
    pub name: String,
    /// Operator with its attributes.
    pub operator: Operator,
    /// Values that the node reads, as ONNX orders them; none where an optional input is left out.
    pub inputs: Vec<Option<ValueId>>,
    /// Values that the node makes.
    pub outputs: Vec<ValueId>,
}

/// A graph of static shapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Name of the graph.
    pub name: String,
    /// All tensors.
    pub values: Vec<Value>,
    /// Values that are known before.
    pub constants: BTreeMap<ValueId, Arc<Tensor>>,
    /// Values that come from outside, in order.
    pub inputs: Vec<ValueId>,
    /// Values that the graph gives, in order.
    pub outputs: Vec<ValueId>,
    /// Nodes, each behind those whose outputs it reads.
    pub nodes: Vec<Node>,
}

impl Graph {
    /// Returns the tensor at a place.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0]
    }

    /// Returns the constant at a place, if it is one.
    pub fn constant(&self, id: ValueId) -> Option<&Tensor> {
        self.constants.get(&id).map(Arc::as_ref)
    }
}
