//! A node that is being made part of a graph.

use super::builder::Builder;
use crate::constant::DataType;
use crate::messages::NodeProto;
use crate::model::Model;
use crate::problem::Fault;
use std::sync::Arc;
use vp_tensors::{Operator, Tensor, ValueId, ValueType};

/// A node with its attributes and inputs.
pub(crate) struct Call<'a, 'b> {
    model: &'a Model,
    node: &'a NodeProto,
    name: String,
    /// Version of the operator set that the node is of.
    pub(crate) version: i64,
    pub(crate) builder: &'b mut Builder,
    /// Inputs by place.
    pub(crate) inputs: Vec<Option<ValueId>>,
}

impl<'a, 'b> Call<'a, 'b> {
    pub(crate) fn new(
        model: &'a Model,
        node: &'a NodeProto,
        name: String,
        builder: &'b mut Builder,
    ) -> Call<'a, 'b> {
        Call { model, node, name, version: model.version(), builder, inputs: Vec::new() }
    }

    /// Reads the inputs; none if one could not be made.
    pub(crate) fn read_inputs(&mut self) -> Option<()> {
        for input in &self.node.input {
            if input.is_empty() {
                self.inputs.push(None);
                continue;
            }
            // What is neither there nor broken is told by the order.
            let id = self.builder.ids.get(input).copied()?;
            self.inputs.push(Some(id));
        }
        // Inputs that are left out at the end.
        while self.inputs.last().is_some_and(Option::is_none) {
            self.inputs.pop();
        }
        Some(())
    }

    /// Model that the node is of.
    pub(crate) fn model(&self) -> &'a Model {
        self.model
    }

    /// Node as the file has it.
    pub(crate) fn node(&self) -> &'a NodeProto {
        self.node
    }

    /// Returns an input, if it is there.
    pub(crate) fn optional(&self, input: usize) -> Option<ValueId> {
        self.inputs.get(input).copied().flatten()
    }

    /// Returns an input.
    pub(crate) fn required(&self, input: usize) -> Result<ValueId, Fault> {
        self.optional(input).ok_or_else(|| Fault::new(format!("input {input} is left out; it is needed")))
    }

    /// Returns the type of an input.
    pub(crate) fn value_type(&self, input: usize) -> Result<ValueType, Fault> {
        Ok(self.builder.value_type(self.required(input)?))
    }

    /// Returns the type of an input in the file, as far as it is known.
    pub(crate) fn data_type(&self, input: usize) -> Option<DataType> {
        self.builder.data_types.get(&self.optional(input)?).copied()
    }

    /// Returns an input that must be a constant, if it is there.
    pub(crate) fn constant(&self, input: usize, role: &str) -> Result<Option<&Tensor>, Fault> {
        let Some(id) = self.optional(input) else { return Ok(None) };
        let constant = self.builder.graph.constant(id);
        constant.map(Some).ok_or_else(|| {
            Fault::with(
                format!("input {input} ({role}) is known only when the model runs"),
                "export the model with it as a constant, or cut it before this node",
            )
        })
    }

    /// Returns integers of an input that must be a constant, if it is there.
    pub(crate) fn integers(&self, input: usize, role: &str) -> Result<Option<Vec<i64>>, Fault> {
        let Some(tensor) = self.constant(input, role)? else { return Ok(None) };
        let integers = tensor.to_integers();
        integers
            .map(Some)
            .ok_or_else(|| Fault::new(format!("input {input} ({role}) has floats; integers would be right")))
    }

    /// Adds a constant.
    pub(crate) fn add_constant(&mut self, role: &str, tensor: Tensor) -> ValueId {
        self.builder.constant(format!("{}.{role}", self.name), Arc::new(tensor))
    }

    /// Adds a node of an operator that the model's node is made of, and returns its output.
    pub(crate) fn step(
        &mut self,
        role: &str,
        operator: Operator,
        inputs: Vec<Option<ValueId>>,
    ) -> Result<ValueId, Fault> {
        let name = format!("{}.{role}", self.name);
        let made = self.builder.node(&name, operator, inputs, vec![name.clone()])?;
        made.first().copied().ok_or_else(|| Fault::new("it makes nothing"))
    }

    /// Adds the node, with all the model's inputs.
    pub(crate) fn finish(&mut self, operator: Operator) -> Result<bool, Fault> {
        let inputs = self.inputs.clone();
        self.finish_with(operator, inputs)
    }

    /// Adds the node, with these inputs. Returns true.
    pub(crate) fn finish_with(
        &mut self,
        operator: Operator,
        inputs: Vec<Option<ValueId>>,
    ) -> Result<bool, Fault> {
        let outputs = self.outputs(&operator);
        if operator == Operator::Identity
            && let ([output], Some(&Some(id))) = (outputs.as_slice(), inputs.first())
            && !self.builder.outputs.contains(output)
        {
            self.builder.ids.insert(output.clone(), id);
            return Ok(true);
        }
        let made = self.builder.node(&self.name, operator, inputs, outputs.clone())?;
        for (name, id) in outputs.into_iter().zip(made) {
            if !name.is_empty() {
                self.builder.ids.insert(name, id);
            }
        }
        Ok(true)
    }

    /// Gives the first output a constant, under the output's name.
    pub(crate) fn finish_constant(&mut self, id: ValueId) -> Result<bool, Fault> {
        let name = self.node.output.first().cloned().unwrap_or_default();
        if let Some(value) = self.builder.graph.values.get_mut(id.0) {
            value.name.clone_from(&name);
        }
        self.builder.ids.insert(name, id);
        Ok(true)
    }

    /// Gives the first output this value.
    pub(crate) fn finish_as(&mut self, id: ValueId) -> Result<bool, Fault> {
        self.finish_with(Operator::Identity, vec![Some(id)])
    }

    /// Returns the names of the outputs, without those at the end that nothing reads, as far as the operator may leave them out.
    fn outputs(&self, operator: &Operator) -> Vec<String> {
        let mut outputs = self.node.output.clone();
        if !matches!(operator, Operator::Split { .. }) {
            while outputs.len() > 1 && outputs.last().is_some_and(|name| !self.builder.read.contains(name)) {
                outputs.pop();
            }
        }
        outputs
    }

    /// Returns the number of outputs of the node.
    pub(crate) fn output_count(&self) -> usize {
        self.node.output.len()
    }

    /// Checks that nothing reads outputs behind the first.
    pub(crate) fn only_first_output(&self) -> Result<(), Fault> {
        match self.node.output.iter().skip(1).find(|name| self.builder.read.contains(*name)) {
            None => Ok(()),
            Some(name) => Err(Fault::new(format!("output `{name}` is read; only the first is made"))),
        }
    }
}
