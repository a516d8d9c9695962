//! Evaluation of a graph.

use crate::{Graph, OperatorError, Tensor, ValueId, ValueType};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Reason why a graph cannot be run.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GraphError {
    /// More or fewer inputs than the graph has.
    #[error("{found} inputs were given to graph `{graph}`, which has {expected}")]
    Inputs {
        /// Name of the graph.
        graph: String,
        /// Number of those given.
        found: usize,
        /// Number that would be right.
        expected: usize,
    },
    /// An input has another type or shape than the graph says.
    #[error("input `{input}` was given as {found}; {expected} would be right")]
    Input {
        /// Name of the input.
        input: String,
        /// Type of what was given.
        found: String,
        /// Type that would be right.
        expected: String,
    },
    /// A node cannot be run.
    #[error("node `{node}` ({operator}): {error}")]
    Node {
        /// Name of the node.
        node: String,
        /// Name of the operator.
        operator: &'static str,
        /// Cause.
        error: OperatorError,
    },
    /// A value is read that no node before makes.
    #[error("node `{node}` reads `{value}`, which no node before it makes")]
    Order {
        /// Name of the node.
        node: String,
        /// Name of the value.
        value: String,
    },
}

impl Graph {
    /// Returns the outputs for these inputs.
    ///
    /// # Errors
    /// When the inputs are wrong, or a node cannot be run.
    pub fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
        self.run_each(inputs, &mut |_, _| ())
    }

    /// Returns the outputs for these inputs, and shows `each` what a node makes. A tensor is freed after its last use.
    ///
    /// # Errors
    /// When the inputs are wrong, or a node cannot be run.
    pub fn run_each(
        &self,
        inputs: &[Tensor],
        each: &mut dyn FnMut(ValueId, &Tensor),
    ) -> Result<Vec<Tensor>, GraphError> {
        let mut values = self.given(inputs)?;
        let mut last_use: BTreeMap<ValueId, usize> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            last_use.extend(node.inputs.iter().flatten().chain(&node.outputs).map(|&id| (id, at)));
        }
        // Outputs stay to the end.
        last_use.extend(self.outputs.iter().map(|&id| (id, usize::MAX)));
        for (at, node) in self.nodes.iter().enumerate() {
            let read = |id: &Option<ValueId>| match id {
                None => Ok(None),
                Some(id) => self.known(&values, *id).map(Some).ok_or_else(|| GraphError::Order {
                    node: node.name.clone(),
                    value: self.value_name(*id),
                }),
            };
            let read = node.inputs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            let made = node.operator.run(&read, node.outputs.len()).map_err(|error| GraphError::Node {
                node: node.name.clone(),
                operator: node.operator.name(),
                error,
            })?;
            for (&id, tensor) in node.outputs.iter().zip(made) {
                each(id, &tensor);
                values.insert(id, Arc::new(tensor));
            }
            for id in node.inputs.iter().flatten().chain(&node.outputs) {
                if last_use.get(id) == Some(&at) {
                    values.remove(id);
                }
            }
        }
        let output = |&id: &ValueId| {
            self.known(&values, id)
                .cloned()
                .ok_or_else(|| GraphError::Order { node: "outputs".into(), value: self.value_name(id) })
        };
        self.outputs.iter().map(output).collect()
    }

    fn known<'a>(&'a self, values: &'a BTreeMap<ValueId, Arc<Tensor>>, id: ValueId) -> Option<&'a Tensor> {
        values.get(&id).map(Arc::as_ref).or_else(|| self.constant(id))
    }

    fn value_name(&self, id: ValueId) -> String {
        self.values.get(id.0).map_or_else(|| format!("value {}", id.0), |value| value.name.clone())
    }

    /// Returns the inputs by their place, having checked their types.
    fn given(&self, inputs: &[Tensor]) -> Result<BTreeMap<ValueId, Arc<Tensor>>, GraphError> {
        if inputs.len() != self.inputs.len() {
            let (found, expected) = (inputs.len(), self.inputs.len());
            return Err(GraphError::Inputs { graph: self.name.clone(), found, expected });
        }
        let mut values = BTreeMap::new();
        for (&id, tensor) in self.inputs.iter().zip(inputs) {
            let value = self.value(id);
            let (found, expected) =
                (ValueType::of(tensor), ValueType::new(value.element_type, value.shape.clone()));
            if found != expected {
                let (found, expected) = (found.to_string(), expected.to_string());
                return Err(GraphError::Input { input: value.name.clone(), found, expected });
            }
            values.insert(id, Arc::new(tensor.clone()));
        }
        Ok(values)
    }

    /// Returns the number of arithmetic operations of a node.
    pub fn operations(&self, node: &crate::Node) -> u64 {
        let value_type =
            |&id: &ValueId| ValueType::new(self.value(id).element_type, self.value(id).shape.clone());
        let inputs: Vec<_> = node.inputs.iter().map(|id| id.as_ref().map(value_type)).collect();
        let outputs: Vec<_> = node.outputs.iter().map(value_type).collect();
        node.operator.operations(&inputs, &outputs)
    }
}
