//! A graph of static shapes, made of a model: each node's operator by its version, shapes inferred, constants folded.

mod builder;
mod call;
mod elementwise;
mod inputs;
mod microsoft;
mod operator;
mod pieces;
mod quantised;
mod reductions;
mod resize;
mod shapes;
mod table;
mod windows;

pub use builder::Note;
pub use table::{Supported, supported};

use crate::model::{self, Model};
use crate::order;
use crate::problem::{Fault, Problems};
use builder::Builder;
use call::Call;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use vp_tensors::{Graph, LARGEST_TENSOR, Tensor};

/// Versions of ONNX's operator set that are read.
pub const VERSIONS: std::ops::RangeInclusive<i64> = 7..=28;

/// Facts that are not in a model's file, and limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Shapes of inputs by name.
    pub shapes: BTreeMap<String, Vec<usize>>,
    /// Values of inputs by name, which make them constants.
    pub values: BTreeMap<String, Arc<Tensor>>,
    /// Most bytes of constants that are made of others.
    pub memory: usize,
    /// Most arithmetic operations with which they are made.
    pub operations: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            shapes: BTreeMap::new(),
            values: BTreeMap::new(),
            memory: LARGEST_TENSOR,
            operations: 1 << 32,
        }
    }
}

/// A graph, and what a user should know about it.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The graph, in which nothing is unknown.
    pub graph: Graph,
    /// Assumptions about the model.
    pub notes: Vec<Note>,
}

impl Model {
    /// Returns the graph of this model: shapes inferred, constants folded, nodes that no output needs left out.
    ///
    /// `DequantizeLinear` of a constant stays, because it tells how the model is quantised.
    ///
    /// # Errors
    /// Everything that keeps the model from being run, at once.
    pub fn graph(&self, options: &Options) -> Result<Imported, Problems> {
        let mut problems = Problems::default();
        let mut builder = Builder::new(options.memory, options.operations);
        self.check_version(&mut builder)?;
        builder.graph.name = self.graph.name.clone().unwrap_or_default();
        inputs::add(self, options, &mut builder, &mut problems);
        let inputs: HashSet<&str> = self.pure_inputs().map(model::name).collect();
        let given = |name: &str| inputs.contains(name) || self.initializers.contains_key(name);
        let order = order::order(&self.graph, &given, &mut problems);
        self.add_initializers(&order, &mut builder, &mut problems);
        builder.outputs = self.graph.output.iter().map(|value| model::name(value).to_owned()).collect();
        builder.read = order.iter().flat_map(|&at| self.graph.node[at].input.iter().cloned()).collect();
        builder.read.extend(builder.outputs.iter().cloned());
        for at in order {
            let node = &self.graph.node[at];
            let mut call = Call::new(self, node, order::node_name(&self.graph, at), &mut builder);
            let fault = match operator::run(&mut call) {
                Ok(()) => continue,
                Err(fault) => fault,
            };
            builder.broken.extend(node.output.iter().cloned());
            // A node behind one that is broken is not at fault itself.
            if let Some(fault) = fault {
                problems.push(fault.at(order::operator(&self.graph, at), order::node_name(&self.graph, at)));
            }
        }
        for value in &self.graph.output {
            let name = model::name(value);
            match builder.ids.get(name) {
                Some(&id) => builder.graph.outputs.push(id),
                None if builder.broken.contains(name) || !problems.list.is_empty() => (),
                None => problems.push(Fault::new("no node makes this output").at("output", name)),
            }
        }
        if self.graph.output.is_empty() {
            problems.push(Fault::new("it has no outputs").at("graph", builder.graph.name.clone()));
        }
        if !problems.list.is_empty() {
            return Err(problems);
        }
        let notes = std::mem::take(&mut builder.notes);
        Ok(Imported { graph: builder.finish(), notes })
    }

    /// Checks that operators of the model's version are known. What is newer is likely to be the same.
    fn check_version(&self, builder: &mut Builder) -> Result<(), Problems> {
        let (version, name) = (self.version(), self.graph.name.clone().unwrap_or_default());
        if version < *VERSIONS.start() {
            let fault = Fault::with(
                format!("operator set {version} is not read; {} and newer ones are", VERSIONS.start()),
                "convert it with onnx.version_converter",
            );
            return Err(Problems { list: vec![fault.at("model", name)], more: 0 });
        }
        if version > *VERSIONS.end() {
            let what = format!(
                "its operator set {version} is taken as {}, the newest that is known",
                VERSIONS.end()
            );
            builder.notes.push(Note { subject: "model", name, what });
        }
        Ok(())
    }

    /// Adds those initializers that a node or output reads.
    fn add_initializers(&self, order: &[usize], builder: &mut Builder, problems: &mut Problems) {
        let nodes = order.iter().flat_map(|&at| &self.graph.node[at].input).map(String::as_str);
        for name in nodes.chain(self.graph.output.iter().map(model::name)) {
            if builder.ids.contains_key(name) || builder.broken.contains(name) {
                continue;
            }
            match self.initializers.get(name) {
                None => (),
                Some(Ok(constant)) => {
                    let id = builder.constant(name.to_owned(), constant.tensor.clone());
                    builder.data_types.insert(id, constant.data_type);
                    builder.ids.insert(name.to_owned(), id);
                }
                Some(Err(fault)) => {
                    builder.broken.insert(name.to_owned());
                    problems.push(fault.clone().at("initializer", name));
                }
            }
        }
    }
}
