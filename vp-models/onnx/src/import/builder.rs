//! Graph in the making.

use crate::constant::DataType;
use crate::problem::{Fault, shortened};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use vp_tensors::{Graph, Node, Operator, Tensor, Value, ValueId, ValueType};

/// Something that was taken for granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `input` or `model`.
    pub subject: &'static str,
    /// Name of the input or model.
    pub name: String,
    /// Assumption.
    pub what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`: {}", self.subject, shortened(&self.name), shortened(&self.what))
    }
}

/// A graph in the making.
pub(crate) struct Builder {
    pub(crate) graph: Graph,
    /// Values by their name in the file.
    pub(crate) ids: HashMap<String, ValueId>,
    /// Names of values that could not be made.
    pub(crate) broken: HashSet<String>,
    /// Names of values that a node or output reads.
    pub(crate) read: HashSet<String>,
    /// Names of outputs.
    pub(crate) outputs: HashSet<String>,
    /// Types of constants and inputs in the file.
    pub(crate) data_types: HashMap<ValueId, DataType>,
    pub(crate) notes: Vec<Note>,
    /// Bytes and operations that folding may still take.
    memory: usize,
    operations: u64,
}

impl Builder {
    pub(crate) fn new(memory: usize, operations: u64) -> Builder {
        Builder {
            graph: Graph::default(),
            ids: HashMap::new(),
            broken: HashSet::new(),
            read: HashSet::new(),
            outputs: HashSet::new(),
            data_types: HashMap::new(),
            notes: Vec::new(),
            memory,
            operations,
        }
    }

    /// Adds a value.
    pub(crate) fn value(&mut self, name: String, value_type: ValueType) -> ValueId {
        let ValueType { element_type, shape } = value_type;
        self.graph.values.push(Value { name, shape, element_type });
        ValueId(self.graph.values.len() - 1)
    }

    /// Adds a constant.
    pub(crate) fn constant(&mut self, name: String, tensor: Arc<Tensor>) -> ValueId {
        let id = self.value(name, ValueType::of(&tensor));
        self.graph.constants.insert(id, tensor);
        id
    }

    /// Returns the type of a value.
    pub(crate) fn value_type(&self, id: ValueId) -> ValueType {
        let value = self.graph.value(id);
        ValueType::new(value.element_type, value.shape.clone())
    }

    /// Adds a node, or the constants that it makes, and returns what it makes.
    pub(crate) fn node(
        &mut self,
        name: &str,
        operator: Operator,
        inputs: Vec<Option<ValueId>>,
        outputs: Vec<String>,
    ) -> Result<Vec<ValueId>, Fault> {
        let types: Vec<_> = inputs.iter().map(|id| id.map(|id| self.value_type(id))).collect();
        let known: Vec<_> = inputs.iter().map(|id| id.and_then(|id| self.graph.constant(id))).collect();
        let made = operator.infer(&types, &known, outputs.len())?;
        let mut tensors = operator.known_by_types(&types)?.map(|tensor| vec![tensor]);
        let is_known = inputs.iter().zip(&known).all(|(id, known)| id.is_some() == known.is_some());
        if tensors.is_none() && is_known && folds(&operator) {
            let bytes: usize = made
                .iter()
                .map(|made| made.shape.iter().product::<usize>() * made.element_type.bytes())
                .sum();
            let operations = operator.operations(&types, &made);
            if bytes <= self.memory && operations <= self.operations {
                let folded = operator.run(&known, outputs.len())?;
                self.memory -= bytes;
                self.operations -= operations;
                tensors = Some(folded);
            }
        }
        if let Some(tensors) = tensors {
            let made = outputs.into_iter().zip(tensors);
            return Ok(made.map(|(name, tensor)| self.constant(name, Arc::new(tensor))).collect());
        }
        let outputs: Vec<_> =
            outputs.into_iter().zip(made).map(|(name, made)| self.value(name, made)).collect();
        self.graph.nodes.push(Node { name: name.to_owned(), operator, inputs, outputs: outputs.clone() });
        Ok(outputs)
    }

    /// Returns the graph without nodes and values that no output needs.
    pub(crate) fn finish(self) -> Graph {
        let mut graph = self.graph;
        let mut needed: BTreeSet<ValueId> = graph.outputs.iter().copied().collect();
        let mut nodes = Vec::new();
        for node in graph.nodes.into_iter().rev() {
            if node.outputs.iter().any(|id| needed.contains(id)) {
                needed.extend(node.inputs.iter().flatten().chain(&node.outputs));
                nodes.push(node);
            }
        }
        nodes.reverse();
        needed.extend(&graph.inputs);
        let places: HashMap<ValueId, ValueId> =
            needed.iter().enumerate().map(|(place, &id)| (id, ValueId(place))).collect();
        let moved = |id: &mut ValueId| *id = places[id];
        for node in &mut nodes {
            node.inputs.iter_mut().flatten().chain(&mut node.outputs).for_each(moved);
        }
        graph.inputs.iter_mut().chain(&mut graph.outputs).for_each(moved);
        let constants = std::mem::take(&mut graph.constants).into_iter();
        graph.constants = constants.filter_map(|(id, tensor)| Some((*places.get(&id)?, tensor))).collect();
        let values = graph.values.into_iter().enumerate();
        graph.values =
            values.filter(|(at, _)| needed.contains(&ValueId(*at))).map(|(_, value)| value).collect();
        Graph { nodes, ..graph }
    }
}

/// Returns true for operators whose constants may be put in place of them: not for those that tell how a model is quantised.
fn folds(operator: &Operator) -> bool {
    !matches!(operator, Operator::DequantizeLinear { .. })
}
