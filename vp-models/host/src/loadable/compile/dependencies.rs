//! A task's dependency graph, as the driver takes it: the operations that wait for others.
//!
//! An operation tells one other of each kind of an event of its own, and waits until as many events have come as it counts. A plan's step may be
//! waited for by several of one kind; the driver needs the first of them alone, because each unit begins its operations in their order.
//!
//! ```text
//! step: convolution → SDP → PDP          (what runs as one: `fused_parent`)
//!   programming        convolution ─programmed→ SDP ─programmed→ PDP
//!   enabling           convolution ←─enabled─── SDP ←─enabled─── PDP     consumers first
//!   others wait for the last; a step waits at its first, and at SDP if that reads a cube itself
//! same kind: each names the next one, by which the driver finds it (`dla_dequeue_operation`), and which waits until it is enabled
//! ```
//!
//! A kind's operations are so enabled in their order. A unit runs them in that order anyway; but the driver of before April 2019 takes the
//! group that it has enabled last for the one that ends last (`dla_handle_events`), and mixes the groups up where both have ended.

use crate::loadable::layout;
use crate::loadable::network::OperationKind;
use zerocopy::FromZeros;

/// An event of an operation, by its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Completed = 1,
    Programmed = 2,
    Enabled = 3,
}

/// Operations of a step.
#[derive(Clone, Debug)]
pub(super) struct StepOperations {
    /// Kinds of the operations, in the order of the data.
    pub(super) kinds: Vec<OperationKind>,
    /// True if SDP reads a cube from memory, behind a convolution or alone.
    pub(super) reads_operands: bool,
    /// Steps of this task that must be done before, by their places in it.
    pub(super) after: Vec<usize>,
}

/// Waiting of an operation.
#[derive(Clone, Debug)]
struct Node {
    kind: OperationKind,
    consumers: [Option<(usize, Event)>; OperationKind::ALL.len()],
    fused_parent: Option<usize>,
    count: usize,
}

/// Returns the dependencies of a task's operations, step by step.
pub(super) fn of(steps: &[StepOperations]) -> Vec<layout::Dependency> {
    let mut nodes: Vec<Node> = Vec::new();
    // The first operation and the last of each step.
    let mut ends: Vec<[usize; 2]> = Vec::new();
    for step in steps {
        let first = nodes.len();
        nodes.extend(step.kinds.iter().map(|&kind| Node {
            kind,
            consumers: [None; 6],
            fused_parent: None,
            count: 0,
        }));
        let last = nodes.len() - 1;
        for before in first..last {
            tell(&mut nodes, before, before + 1, Event::Programmed);
            nodes[before + 1].fused_parent = Some(before);
            nodes[before].count += 1;
        }
        ends.push([first, last]);
    }
    for (step, &[first, _]) in steps.iter().zip(&ends) {
        // A unit's operations end in their order: of each unit's the last one is waited for.
        let mut awaited = [None; OperationKind::ALL.len()];
        for &before in &step.after {
            let [_, before] = ends[before];
            let known = &mut awaited[nodes[before].kind as usize];
            *known = (*known).max(Some(before));
        }
        for before in awaited.into_iter().flatten() {
            await_completion(&mut nodes, before, first);
            if step.reads_operands && step.kinds.len() > 1 {
                await_completion(&mut nodes, before, first + 1);
            }
        }
    }
    for kind in OperationKind::ALL {
        let of_kind: Vec<usize> = (0..nodes.len()).filter(|&at| nodes[at].kind == kind).collect();
        for pair in of_kind.windows(2) {
            if nodes[pair[0]].consumers[kind as usize].is_none_or(|(other, _)| other != pair[1]) {
                tell(&mut nodes, pair[0], pair[1], Event::Enabled);
            }
        }
    }
    nodes.iter().enumerate().map(|(at, node)| node.descriptor(at)).collect()
}

/// An operation waits until another is done: it is told, unless one of its kind before it is, or holds a group that it needs.
fn await_completion(nodes: &mut [Node], before: usize, at: usize) {
    let kind = nodes[at].kind;
    if nodes[before].kind == kind {
        // The one behind the next finds a group when this one is done.
        let next = (before + 1..nodes.len()).find(|&other| nodes[other].kind == kind);
        if next != Some(at) {
            return;
        }
    }
    match nodes[before].consumers[kind as usize] {
        Some((other, _)) if other <= at => {}
        Some((other, _)) => {
            nodes[other].count -= 1;
            tell(nodes, before, at, Event::Completed);
        }
        None => tell(nodes, before, at, Event::Completed),
    }
}

fn tell(nodes: &mut [Node], from: usize, to: usize, event: Event) {
    let kind = nodes[to].kind;
    nodes[from].consumers[kind as usize] = Some((to, event));
    nodes[to].count += 1;
}

impl Node {
    fn descriptor(&self, at: usize) -> layout::Dependency {
        let consumer = |told: Option<(usize, Event)>| layout::Consumer {
            index: told.map_or(-1, |(index, _)| index as i16).into(),
            event: told.map_or(0, |(_, event)| event as u8),
            _reserved: 0,
        };
        layout::Dependency {
            _index: (at as i16).into(),
            kind: self.kind as u8,
            count: self.count as u8,
            consumers: self.consumers.map(consumer),
            fused_parent: consumer(self.fused_parent.map(|parent| (parent, Event::Enabled))),
            ..layout::Dependency::new_zeroed()
        }
    }
}
