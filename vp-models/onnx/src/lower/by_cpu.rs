//! Work of the CPU: the graphs of nodes that lead to a value, from cubes on.

use super::Code;
use super::draft::{Draft, DraftKind, OnCpu};
use super::drafter::{Drafter, NoNetwork, PlacedValue};
use super::edges::Edges;
use super::moves::MOVES;
use super::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vp_tensors::{ElementType, Graph, Value, ValueId};

impl Drafter<'_> {
    /// Returns true if what the CPU does for a value begins at a cube.
    pub(super) fn reads_cubes(&self, value: ValueId) -> bool {
        let (_, sources) = self.region(value);
        sources.iter().any(|source| self.places.contains_key(source))
    }

    /// The CPU's nodes that lead to a value, and the values of cubes, or of the outside, that they read.
    pub(super) fn region(&self, value: ValueId) -> (BTreeSet<usize>, Vec<ValueId>) {
        let (mut nodes, mut sources) = (BTreeSet::new(), BTreeSet::new());
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if self.places.contains_key(&value) {
                sources.insert(value);
            } else if self.floats.graph.constant(value).is_none() {
                match self.uses.maker(value) {
                    Some(at) if nodes.insert(at) => {
                        open.extend(self.floats.graph.nodes[at].inputs.iter().flatten());
                    }
                    Some(_) => {}
                    None => drop(sources.insert(value)),
                }
            }
        }
        (nodes, sources.into_iter().collect())
    }

    /// Drafts what the CPU does for a value that a unit needs.
    pub(super) fn by_cpu(&mut self, value: ValueId) -> Result<PlacedValue, NoNetwork> {
        let (nodes, sources) = self.region(value);
        if sources.iter().any(|source| !self.places.contains_key(source)) {
            return Err(NoNetwork::SeveralStarts);
        }
        self.repeated += nodes.iter().filter(|at| self.is_computed[**at]).count();
        if self.repeated > self.floats.graph.nodes.len() {
            let shared = self.shared(&nodes);
            if !shared.is_empty() {
                for value in shared {
                    self.by_cpu(value)?;
                }
                return self.by_cpu(value);
            }
        }
        nodes.iter().for_each(|at| self.is_computed[*at] = true);
        let output = View::natural(self.shape(value)).ok_or_else(|| self.no_cube(value))?;
        let placed: Vec<PlacedValue> = sources.iter().map(|source| self.places[source].clone()).collect();
        let mut graph = self.part(&nodes, &sources, &[value]);
        // It ends with a tensor whose axes are the cube's.
        let (_, sizes) = output.apart();
        graph.reshape_output(0, &sizes);
        let reason = nodes.iter().rev().find_map(|at| self.on_cpu.get(at)).cloned().unwrap_or_default();
        let first =
            nodes.iter().next().map_or_else(String::new, |at| self.floats.graph.nodes[*at].name.clone());
        let name = nodes.iter().next_back().map_or(first, |at| self.floats.graph.nodes[*at].name.clone());
        let on_cpu = OnCpu {
            graph,
            inputs: placed.iter().map(|placed| placed.view.clone()).collect(),
            output: output.clone(),
            reason,
        };
        let input = placed.first().map_or(output.cube, |placed| placed.view.cube);
        let draft = Draft {
            name,
            nodes: nodes.into_iter().collect(),
            kind: DraftKind::Cpu(Box::new(on_cpu)),
            sources: placed.iter().map(|placed| placed.source).collect(),
            input,
            output: output.cube,
            value: Some(value),
            view: None,
            activation: super::draft::DraftActivation::None,
        };
        Ok(self.add(draft, value, output))
    }

    /// Values that nodes read of others which have been computed before: rather than computing all again, these become cubes.
    fn shared(&self, nodes: &BTreeSet<usize>) -> BTreeSet<ValueId> {
        let new = nodes.iter().filter(|at| !self.is_computed[**at]);
        let read = new.flat_map(|at| self.floats.graph.nodes[*at].inputs.iter().flatten().copied());
        let is_shared = |value: &ValueId| {
            let is_computed = self.uses.maker(*value).is_some_and(|at| self.is_computed[at]);
            let Value { shape, element_type, .. } = self.value(*value);
            let is_cube = *element_type == ElementType::Float && View::natural(shape).is_some();
            is_computed && is_cube && !self.places.contains_key(value)
        };
        read.filter(is_shared).collect()
    }

    /// A draft of the CPU's that moves a tensor into another view.
    pub(crate) fn moving(&self, value: ValueId, placed: &PlacedValue, view: &View) -> Draft {
        let (_, sizes) = placed.view.apart();
        let (_, wanted) = view.apart();
        let own = self.value(value);
        let mut graph = Graph {
            name: own.name.clone(),
            values: vec![own.clone()],
            inputs: vec![ValueId(0)],
            outputs: vec![ValueId(0)],
            ..Graph::default()
        };
        graph.reshape_input(0, &sizes);
        graph.reshape_output(0, &wanted);
        let on_cpu = OnCpu {
            graph,
            inputs: vec![placed.view.clone()],
            output: view.clone(),
            reason: MOVES.to_owned(),
        };
        Draft {
            name: format!("{} moved", own.name),
            nodes: Vec::new(),
            kind: DraftKind::Cpu(Box::new(on_cpu)),
            sources: vec![placed.source],
            input: placed.view.cube,
            output: view.cube,
            value: Some(value),
            view: None,
            activation: super::draft::DraftActivation::None,
        }
    }

    /// The graph of some nodes, with the values alone that it has to do with.
    pub(super) fn part(&self, nodes: &BTreeSet<usize>, sources: &[ValueId], outputs: &[ValueId]) -> Graph {
        let of = &self.floats.graph;
        let mut part = Graph { name: of.name.clone(), ..Graph::default() };
        let mut known: BTreeMap<ValueId, ValueId> = BTreeMap::new();
        let mut new = |part: &mut Graph, old: ValueId| {
            *known.entry(old).or_insert_with(|| {
                part.values.push(of.value(old).clone());
                let id = ValueId(part.values.len() - 1);
                if let Some(tensor) = of.constants.get(&old) {
                    part.constants.insert(id, Arc::clone(tensor));
                }
                id
            })
        };
        part.inputs = sources.iter().map(|source| new(&mut part, *source)).collect();
        for at in nodes {
            let mut node = of.nodes[*at].clone();
            node.inputs.iter_mut().flatten().for_each(|id| *id = new(&mut part, *id));
            node.outputs.iter_mut().for_each(|id| *id = new(&mut part, *id));
            part.nodes.push(node);
        }
        part.outputs = outputs.iter().map(|output| new(&mut part, *output)).collect();
        // What the model quantises is quantised here, too; a cube's numbers are codes already.
        let coded = known.iter().filter(|(old, _)| !self.places.contains_key(old));
        let coded: Vec<(ValueId, Code)> =
            coded.filter_map(|(old, id)| Some((*id, self.floats.codes.get(old).copied()?))).collect();
        part.quantise(&coded);
        for (at, source) in sources.iter().enumerate() {
            if let Some(placed) = self.places.get(source) {
                let (_, sizes) = placed.view.apart();
                part.reshape_input(at, &sizes);
            }
        }
        part
    }
}
