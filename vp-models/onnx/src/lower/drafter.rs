//! From nodes to drafts of layers, in the order of the graph.
//!
//! What a unit does becomes a draft; what none does is the CPU's, which is made a draft only when a unit needs it. Nodes of
//! the CPU before the first unit are the head, those behind the last one the tail: both stay in the model's numbers.

use super::draft::{Draft, DraftKind, Source};
use super::floats::FloatGraph;
use super::uses::Uses;
use super::view::View;
use super::{Code, Hardware};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use vp_host::network::Shape;
use vp_tensors::{Graph, Node, Operator, Value, ValueId};

/// A value of the graph in a cube.
#[derive(Clone, Debug)]
pub(crate) struct PlacedValue {
    pub(crate) source: Source,
    pub(crate) view: View,
}

/// Reason for which a node is not a unit's.
pub(crate) type Reason = String;

/// Cause for giving up: there is no network at all.
#[derive(Debug)]
pub(crate) enum NoNetwork {
    /// Units would start at several values: they have to start at the model's input.
    SeveralStarts,
    /// A node's tensor is needed in a cube and cannot lie in one.
    NoCube { node: String, operator: &'static str, shape: Vec<usize> },
}

/// Drafts made so far.
pub(crate) struct Drafter<'a> {
    pub(crate) floats: &'a FloatGraph,
    pub(crate) uses: Uses,
    pub(crate) hardware: &'a Hardware,
    pub(crate) drafts: Vec<Draft>,
    /// Turn of each draft: they run in this order.
    turns: Vec<usize>,
    last_turn: usize,
    pub(crate) places: HashMap<ValueId, PlacedValue>,
    /// Value at which the units start.
    pub(crate) start: Option<ValueId>,
    /// True if that is the model's input, whatever comes behind it.
    is_start_fixed: bool,
    /// Reasons for which nodes are the CPU's.
    pub(crate) on_cpu: BTreeMap<usize, Reason>,
    /// Nodes that a draft of the CPU's computes, and how often it was one that another computes as well.
    pub(super) is_computed: Vec<bool>,
    pub(super) repeated: usize,
    /// Nodes before all units that multiply or pool, and nodes behind all of these.
    pub(crate) is_early: Vec<bool>,
    pub(crate) is_late: Vec<bool>,
}

/// Parts of a graph: what units do, and what lies before and behind.
pub(crate) struct Drafts {
    pub(crate) drafts: Vec<Draft>,
    /// Order in which they run.
    pub(crate) order: Vec<usize>,
    pub(crate) start: ValueId,
    /// View of the start.
    pub(crate) input: View,
    /// From the model's input to the start.
    pub(crate) head: Graph,
    /// From outputs of drafts to the model's outputs.
    pub(crate) tail: Graph,
    /// Places of the tail's inputs.
    pub(crate) tail_inputs: Vec<PlacedValue>,
    pub(crate) on_cpu: BTreeMap<usize, Reason>,
}

/// Drafts the layers of a graph.
pub(crate) fn draft(
    floats: &FloatGraph,
    hardware: &Hardware,
    refused: &BTreeMap<usize, Reason>,
) -> Result<Drafts, NoNetwork> {
    let starting = |is_fixed| Drafter::new(floats, hardware, refused, is_fixed)?.finish();
    match starting(false) {
        Err(NoNetwork::SeveralStarts) => starting(true),
        drafts => drafts,
    }
}

/// Returns true if a unit does an operator that is worth starting units for.
pub(super) fn is_heavy(node: &Node, floats: &FloatGraph) -> bool {
    let is_constant = |at: usize| {
        node.inputs.get(at).copied().flatten().is_some_and(|id| floats.graph.constant(id).is_some())
    };
    match node.operator {
        Operator::Conv(_) | Operator::ConvTranspose { .. } | Operator::Gemm(_) | Operator::MatMul => {
            is_constant(1)
        }
        Operator::MaxPool(_)
        | Operator::AveragePool { .. }
        | Operator::GlobalAveragePool
        | Operator::GlobalMaxPool
        | Operator::LocalResponse(_) => true,
        _ => false,
    }
}

impl<'a> Drafter<'a> {
    fn new(
        floats: &'a FloatGraph,
        hardware: &'a Hardware,
        refused: &BTreeMap<usize, Reason>,
        is_start_fixed: bool,
    ) -> Result<Drafter<'a>, NoNetwork> {
        let uses = Uses::of(&floats.graph);
        let count = floats.graph.nodes.len();
        let is_unit = |at: usize| is_heavy(&floats.graph.nodes[at], floats) && !refused.contains_key(&at);
        let has_units = (0..count).any(is_unit);
        let (mut is_early, mut is_late) = (vec![has_units; count], vec![has_units; count]);
        for at in 0..count {
            let makers =
                floats.graph.nodes[at].inputs.iter().flatten().filter_map(|input| uses.maker(*input));
            is_early[at] &= !is_unit(at) && makers.clone().all(|maker| is_early[maker]);
        }
        // The last steps of a transposed convolution, whose blocks are cubes already.
        let are_pixels = |at: usize| {
            matches!(floats.graph.nodes[at].operator, Operator::DepthToSpace { is_column_first: false, .. })
        };
        let cuts_pixels = |at: usize| {
            let Node { operator, inputs, .. } = &floats.graph.nodes[at];
            let maker = inputs.first().copied().flatten().and_then(|input| uses.maker(input));
            *operator == Operator::Slice && maker.is_some_and(are_pixels)
        };
        let is_of_blocks = |at: usize| (are_pixels(at) || cuts_pixels(at)) && !refused.contains_key(&at);
        for at in (0..count).rev() {
            let mut readers = floats.graph.nodes[at].outputs.iter().flat_map(|output| uses.readers(*output));
            let is_last = !is_unit(at) && !is_of_blocks(at);
            is_late[at] = is_late[at] && is_last && readers.all(|reader| is_late[*reader]);
        }
        let mut drafter = Drafter {
            floats,
            uses,
            hardware,
            drafts: Vec::new(),
            turns: Vec::new(),
            last_turn: 0,
            places: HashMap::new(),
            start: None,
            is_start_fixed,
            on_cpu: refused.clone(),
            is_computed: vec![false; count],
            repeated: 0,
            is_early,
            is_late,
        };
        if is_start_fixed {
            let input = floats.graph.inputs.first().copied();
            input.map_or(Ok(()), |input| drafter.start_at(input))?;
        }
        for at in 0..count {
            if drafter.on_cpu.contains_key(&at) {
                continue;
            }
            let node = &floats.graph.nodes[at];
            if let Err(why) = drafter.node(at, node)? {
                drafter.on_cpu.insert(at, why);
            }
        }
        Ok(drafter)
    }

    pub(crate) fn value(&self, id: ValueId) -> &'a Value {
        self.floats.graph.value(id)
    }

    pub(crate) fn shape(&self, id: ValueId) -> &'a [usize] {
        &self.value(id).shape
    }

    /// The code that the model gives a value.
    pub(crate) fn code(&self, id: ValueId) -> Option<Code> {
        self.floats.codes.get(&id).copied()
    }

    /// Units start at that value.
    fn start_at(&mut self, value: ValueId) -> Result<(), NoNetwork> {
        let view = View::natural(self.shape(value)).ok_or_else(|| self.no_cube(value))?;
        self.start = Some(value);
        self.places.insert(value, PlacedValue { source: None, view });
        Ok(())
    }

    pub(super) fn no_cube(&self, value: ValueId) -> NoNetwork {
        let Value { name, shape, .. } = self.value(value);
        let node = self.uses.maker(value).map(|at| &self.floats.graph.nodes[at]);
        NoNetwork::NoCube {
            node: node.map_or_else(|| name.clone(), |node| node.name.clone()),
            operator: node.map_or("the input", |node| node.operator.name()),
            shape: shape.clone(),
        }
    }

    /// Returns where a value is in a cube, after it has been brought there if it was the CPU's.
    pub(crate) fn place(&mut self, value: ValueId) -> Result<PlacedValue, NoNetwork> {
        if let Some(placed) = self.places.get(&value) {
            return Ok(placed.clone());
        }
        let is_before = self.uses.maker(value).is_none_or(|at| self.is_early[at] || !self.reads_cubes(value));
        if is_before && self.floats.graph.constant(value).is_none() && !self.is_start_fixed {
            return match self.start {
                Some(_) => Err(NoNetwork::SeveralStarts),
                None => {
                    self.start_at(value)?;
                    self.place(value)
                }
            };
        }
        self.by_cpu(value)
    }

    /// Adds a draft that gives a value in that view.
    pub(crate) fn add(&mut self, draft: Draft, value: ValueId, view: View) -> PlacedValue {
        let at = self.push(Draft { view: Some(view.clone()), ..draft });
        let placed = PlacedValue { source: Some(at), view };
        self.places.insert(value, placed.clone());
        placed
    }

    /// Adds a draft that is a step of a node.
    pub(crate) fn push(&mut self, draft: Draft) -> usize {
        self.drafts.push(draft);
        self.last_turn += 1;
        self.turns.push(self.last_turn);
        self.drafts.len() - 1
    }

    /// The draft that makes a value which only the node at that place reads, if the node can become a part of it. A value in codes
    /// is rounded and limited before the node.
    pub(crate) fn absorbing(&self, value: ValueId, node: usize) -> Option<usize> {
        self.code(value).is_none().then(|| self.only_maker(value, node))?
    }

    /// The draft as of [`Drafter::absorbing`] for a node that limits numbers, which between the same codes it may do before they are codes.
    pub(crate) fn absorbing_limit(&self, value: ValueId, node: usize, output: ValueId) -> Option<usize> {
        let is_same = self.code(value).is_none() || self.code(value) == self.code(output);
        is_same.then(|| self.only_maker(value, node))?
    }

    fn only_maker(&self, value: ValueId, node: usize) -> Option<usize> {
        let at = self.places.get(&value)?.source?;
        let is_only = self.uses.only_reader(value) == Some(node);
        (is_only && self.drafts[at].value == Some(value) && self.drafts[at].takes_activation()).then_some(at)
    }

    /// Notes that a node has become a part of the draft that made its input.
    pub(crate) fn absorb(&mut self, at: usize, node: usize, input: ValueId, output: ValueId) {
        let draft = &mut self.drafts[at];
        draft.nodes.push(node);
        draft.value = Some(output);
        if let Some(placed) = self.places.remove(&input) {
            self.places.insert(output, placed);
        }
    }

    /// Puts a draft behind all that there are.
    pub(crate) fn move_last(&mut self, at: usize) {
        self.last_turn += 1;
        self.turns[at] = self.last_turn;
    }

    /// Ends with the head and the tail.
    fn finish(mut self) -> Result<Drafts, NoNetwork> {
        let outputs = self.floats.graph.outputs.clone();
        let Some(start) = self.start else {
            // Nothing is a unit's: a network of nothing but the CPU's nodes.
            return Err(NoNetwork::SeveralStarts);
        };
        let (mut nodes, mut read) = (BTreeSet::new(), BTreeSet::new());
        for &output in &outputs {
            let (more, of_output) = self.region(output);
            nodes.extend(more);
            read.extend(of_output);
        }
        if read.iter().any(|source| !self.places.contains_key(source)) && !self.is_start_fixed {
            return Err(NoNetwork::SeveralStarts);
        }
        // The model's outputs first, in its order.
        let mut sources: Vec<ValueId> =
            outputs.iter().filter(|output| read.remove(output)).copied().collect();
        sources.extend(read);
        let tail = self.part(&nodes, &sources, &outputs);
        let tail_inputs = sources.iter().filter_map(|source| self.places.get(source).cloned()).collect();
        let input = self.places[&start].view.clone();
        // What leads to the start does not begin at a cube.
        self.places.clear();
        let (nodes, sources) = self.region(start);
        let head = self.part(&nodes, &sources, &[start]);
        let mut order: Vec<usize> = (0..self.drafts.len()).collect();
        order.sort_by_key(|at| self.turns[*at]);
        Ok(Drafts { head, tail, tail_inputs, start, input, drafts: self.drafts, order, on_cpu: self.on_cpu })
    }

    /// A draft of one value in the same view as another.
    pub(crate) fn draft(
        &self,
        node: usize,
        kind: DraftKind,
        sources: Vec<Source>,
        sizes: [Shape; 2],
        value: ValueId,
    ) -> Draft {
        Draft {
            name: self.floats.graph.nodes[node].name.clone(),
            nodes: vec![node],
            kind,
            sources,
            input: sizes[0],
            output: sizes[1],
            value: Some(value),
            view: None,
            activation: super::draft::DraftActivation::None,
        }
    }
}
