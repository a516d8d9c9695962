//! The order in which tasks run: that of the layers, but none right behind one whose output it needs if another could
//! run in between, as units then wait less for each other.

use super::adapted::SliceWay;
use super::task::Task;
use crate::network::description::{Network, Operation};
use std::collections::BTreeSet;

/// Of each layer those that read it.
pub(super) fn readers(network: &Network) -> Vec<Vec<usize>> {
    readers_of(network.layers.iter().map(|layer| layer.sources.iter().flatten().copied()))
}

fn readers_of(sources: impl ExactSizeIterator<Item = impl Iterator<Item = usize>>) -> Vec<Vec<usize>> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); sources.len()];
    for (reader, sources) in sources.enumerate() {
        for of in sources {
            if readers[of].last() != Some(&reader) {
                readers[of].push(reader);
            }
        }
    }
    readers
}

/// Puts tasks in their order.
pub(super) fn in_order(
    tasks: Vec<Task>,
    (network, ways): (&Network, &[Option<SliceWay>]),
    readers: &[Vec<usize>],
) -> Vec<Task> {
    let kinds = network.layers.iter().zip(ways).map(|(layer, way)| match layer.operation {
        Operation::Concatenation => LayerOrigin::Whole,
        Operation::Slice(_) if *way == Some(SliceWay::View) => LayerOrigin::Whole,
        Operation::Constant(_) => LayerOrigin::There,
        _ => LayerOrigin::Made,
    });
    let made: Vec<[Option<usize>; 2]> = tasks.iter().map(|task| [Some(task.layer), task.pooling]).collect();
    let order = Order::new(kinds.collect(), readers, &made).run();
    let mut tasks: Vec<Option<Task>> = tasks.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| tasks[at].take()).collect()
}

/// Way in which a layer comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerOrigin {
    /// A task makes it.
    Made,
    /// All of its sources are there: it is what is concatenated, or a part of one of them.
    Whole,
    /// From the start on.
    There,
}

/// Tasks that are being put in order.
struct Order<'a> {
    kinds: Vec<LayerOrigin>,
    readers: &'a [Vec<usize>],
    /// The layers that each task makes: the first reads what the task needs.
    made: &'a [[Option<usize>; 2]],
    /// The task whose sources are a layer's.
    task_of: Vec<Option<usize>>,
    /// The number of a layer's sources that are not there.
    open: Vec<usize>,
    /// Tasks that could run next.
    ready: BTreeSet<usize>,
    left: BTreeSet<usize>,
    /// The number of tasks that had run when a task last was found to need what the one before it makes.
    waits: Vec<usize>,
}

impl Order<'_> {
    fn new<'a>(
        kinds: Vec<LayerOrigin>,
        readers: &'a [Vec<usize>],
        made: &'a [[Option<usize>; 2]],
    ) -> Order<'a> {
        let mut open = vec![0; kinds.len()];
        readers.iter().flatten().for_each(|&reader| open[reader] += 1);
        let mut task_of = vec![None; kinds.len()];
        for (task, layers) in made.iter().enumerate() {
            if let Some(layer) = layers[0] {
                task_of[layer] = Some(task);
            }
        }
        let left = (0..made.len()).collect();
        let waits = vec![usize::MAX; made.len()];
        Order { kinds, readers, made, task_of, open, ready: BTreeSet::new(), left, waits }
    }

    fn run(mut self) -> Vec<usize> {
        // What reads the network's input only, and what is there.
        let first: Vec<usize> = (0..self.kinds.len()).filter(|&layer| self.open[layer] == 0).collect();
        first.into_iter().for_each(|layer| self.has_sources(layer));
        let mut order = Vec::new();
        while let Some(&first) = self.ready.first().or(self.left.first()) {
            let waits = |task: &&usize| self.waits[**task] == order.len();
            let next = self.ready.iter().find(|task| !waits(task)).copied().unwrap_or(first);
            self.ready.remove(&next);
            self.left.remove(&next);
            order.push(next);
            for layer in self.made[next].into_iter().flatten() {
                self.note_waiting(layer, order.len());
                self.is_there(layer);
            }
        }
        order
    }

    /// Notes that tasks which need a layer, or what it is a part of, wait for the task that has just made it.
    fn note_waiting(&mut self, layer: usize, tasks: usize) {
        let mut wholes = vec![layer];
        while let Some(of) = wholes.pop() {
            for &reader in &self.readers[of] {
                match (self.kinds[reader], self.task_of[reader]) {
                    (LayerOrigin::Whole, _) => wholes.push(reader),
                    (_, Some(task)) => self.waits[task] = tasks,
                    _ => {}
                }
            }
        }
    }

    fn is_there(&mut self, layer: usize) {
        let mut there = vec![layer];
        while let Some(of) = there.pop() {
            for &reader in &self.readers[of] {
                self.open[reader] = self.open[reader].saturating_sub(1);
                match (self.open[reader], self.kinds[reader]) {
                    (0, LayerOrigin::Whole) => there.push(reader),
                    (0, _) => self.has_sources(reader),
                    _ => {}
                }
            }
        }
    }

    /// All sources of a layer are there.
    fn has_sources(&mut self, layer: usize) {
        match (self.kinds[layer], self.task_of[layer]) {
            (LayerOrigin::Whole | LayerOrigin::There, _) => self.is_there(layer),
            (_, Some(task)) => drop(self.ready.insert(task)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the rule says it: of the tasks that could run the first that needs nothing of the one before it, or else the first.
    fn slow(kinds: &[LayerOrigin], sources: &[Vec<usize>], made: &[[Option<usize>; 2]]) -> Vec<usize> {
        let needs = |task: usize| {
            let (mut needed, mut open) = (Vec::new(), sources[made[task][0].unwrap()].clone());
            while let Some(layer) = open.pop() {
                match kinds[layer] {
                    LayerOrigin::Whole => open.extend(&sources[layer]),
                    _ => needed.push(layer),
                }
            }
            needed
        };
        let mut there: Vec<usize> =
            (0..kinds.len()).filter(|&layer| kinds[layer] == LayerOrigin::There).collect();
        let mut left: Vec<usize> = (0..made.len()).collect();
        let mut order: Vec<usize> = Vec::new();
        while !left.is_empty() {
            let last: Vec<usize> =
                order.last().map_or(Vec::new(), |&task| made[task].into_iter().flatten().collect());
            let ready = |&task: &usize| needs(task).iter().all(|layer| there.contains(layer));
            let waits = |&task: &usize| needs(task).iter().any(|layer| last.contains(layer));
            let first = left.iter().position(ready).unwrap_or(0);
            let next = left.iter().position(|task| ready(task) && !waits(task)).unwrap_or(first);
            let task = left.remove(next);
            there.extend(made[task].into_iter().flatten());
            order.push(task);
        }
        order
    }

    /// Layers with sources before them; a pooling may be its only reader's task's.
    fn graph() -> impl Strategy<Value = Vec<(u8, Vec<usize>, bool)>> {
        let layer = (0_u8..8, prop::collection::vec(any::<prop::sample::Index>(), 1..4), any::<bool>());
        prop::collection::vec(layer, 1..30).prop_map(|layers| {
            let of = |(at, (kind, sources, joins)): (usize, (u8, Vec<prop::sample::Index>, bool))| {
                // One place more than there are layers before it: the network's input.
                let sources: Vec<usize> = sources.iter().map(|source| source.index(at + 1)).collect();
                (kind, sources.into_iter().filter(|&source| source < at).collect(), joins)
            };
            layers.into_iter().enumerate().map(of).collect()
        })
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_the_rule(graph in graph()) {
            let kind = |(kind, sources, _): &(u8, Vec<usize>, bool)| match kind {
                0 if sources.is_empty() => LayerOrigin::There,
                1 | 2 => LayerOrigin::Whole,
                _ => LayerOrigin::Made,
            };
            let kinds: Vec<LayerOrigin> = graph.iter().map(kind).collect();
            let sources: Vec<Vec<usize>> = graph.iter().map(|(_, sources, _)| sources.clone()).collect();
            let readers = readers_of(sources.iter().map(|sources| sources.iter().copied()));
            let mut made: Vec<[Option<usize>; 2]> = Vec::new();
            let mut taken = vec![false; kinds.len()];
            for (layer, (_, _, joins)) in graph.iter().enumerate() {
                if kinds[layer] != LayerOrigin::Made || taken[layer] {
                    continue;
                }
                let only = match readers[layer][..] {
                    [reader] if *joins && kinds[reader] == LayerOrigin::Made && sources[reader] == [layer] => Some(reader),
                    _ => None,
                };
                only.into_iter().for_each(|reader| taken[reader] = true);
                made.push([Some(layer), only]);
            }
            prop_assert_eq!(Order::new(kinds.clone(), &readers, &made).run(), slow(&kinds, &sources, &made));
        }
    }
}
