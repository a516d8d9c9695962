//! Dependency graphs before a model of the driver, which knows chains, groups and events, and units that take as long as they like.

use super::dependencies::{self, StepOperations};
use crate::loadable::layout::Dependency;
use crate::loadable::network::OperationKind;
use proptest::prelude::*;

/// Progress of an operation in the driver and its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Progress {
    programmed: bool,
    enabled: bool,
    /// The unit takes what was enabled in the order of its chain.
    begun: bool,
    completed: bool,
}

/// Runs a task; tells for each operation which others were completed when it began. `next` chooses among what may happen.
fn run(graph: &[Dependency], mut next: impl FnMut(usize) -> usize) -> Vec<Vec<bool>> {
    const COMPLETED: u8 = 1;
    const PROGRAMMED: u8 = 2;
    const ENABLED: u8 = 3;
    let mut counts: Vec<u8> = graph.iter().map(|node| node.count).collect();
    let mut progress = vec![Progress::default(); graph.len()];
    let mut seen = vec![Vec::new(); graph.len()];
    let link = |at: usize| {
        let next = graph[at].consumers[usize::from(graph[at].kind)].index.get();
        usize::try_from(next).ok()
    };
    let chains: Vec<Vec<usize>> = (0..OperationKind::ALL.len())
        .map(|kind| {
            let head = graph.iter().position(|node| usize::from(node.kind) == kind);
            std::iter::successors(head, |&at| link(at)).collect()
        })
        .collect();
    assert_eq!(chains.iter().map(Vec::len).sum::<usize>(), graph.len(), "each operation is on its chain");
    let tell = |counts: &mut Vec<u8>, at: usize, event: u8| {
        for consumer in graph[at].consumers.iter().chain([&graph[at].fused_parent]) {
            if let (Ok(other), true) = (usize::try_from(consumer.index.get()), consumer.event == event) {
                counts[other] = counts[other].checked_sub(1).expect("no event more than it counts");
            }
        }
    };
    // What flows on the fly ends behind what feeds it.
    let feeder = |at: usize| usize::try_from(graph[at].fused_parent.index.get()).ok();
    loop {
        let mut possible: Vec<(usize, u8)> = Vec::new();
        for chain in &chains {
            let open = chain.iter().filter(|&&at| !progress[at].completed).take(2);
            for (place, &at) in open.enumerate() {
                let now = progress[at];
                if !now.programmed {
                    possible.push((at, PROGRAMMED));
                } else if !now.enabled && counts[at] == 0 {
                    possible.push((at, ENABLED));
                } else if now.enabled && !now.begun {
                    // A unit's second group begins to read while the first one's layer is still written.
                    let first_has_begun = place == 0
                        || chain
                            .iter()
                            .any(|&other| other != at && progress[other].begun && !progress[other].completed);
                    if first_has_begun {
                        possible.push((at, 0));
                    }
                } else if now.begun && place == 0 && feeder(at).is_none_or(|feeder| progress[feeder].begun) {
                    possible.push((at, COMPLETED));
                }
            }
        }
        let Some(&(at, event)) = possible.get(next(possible.len())) else { break };
        match event {
            PROGRAMMED => progress[at].programmed = true,
            ENABLED => {
                let chain = &chains[usize::from(graph[at].kind)];
                let before = chain.iter().take_while(|&&other| other != at);
                assert!(before.into_iter().all(|&other| progress[other].enabled), "enabled out of order");
                progress[at].enabled = true;
            }
            COMPLETED => progress[at].completed = true,
            _ => {
                progress[at].begun = true;
                seen[at] = progress.iter().map(|other| other.completed).collect();
            }
        }
        if event != 0 {
            tell(&mut counts, at, event);
        }
    }
    assert!(progress.iter().all(|now| now.completed), "nothing waits for ever: {progress:?}");
    seen
}

/// Kinds of the operations of a step.
fn kinds() -> impl Strategy<Value = Vec<OperationKind>> {
    use OperationKind::{Bdma, Cdp, Convolution, Pdp, Sdp};
    prop::sample::select(vec![
        vec![Convolution, Sdp],
        vec![Convolution, Sdp, Pdp],
        vec![Sdp],
        vec![Pdp],
        vec![Cdp],
        vec![Bdma],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_step_begins_when_those_before_it_are_done(
        kinds in prop::collection::vec((kinds(), any::<bool>()), 1..12),
        edges in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..24),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let mut steps: Vec<StepOperations> = kinds
            .iter()
            .map(|(kinds, reads)| StepOperations { kinds: kinds.clone(), reads_operands: *reads, after: Vec::new() })
            .collect();
        for (one, other) in edges {
            let (one, other) = (one.index(steps.len()), other.index(steps.len()));
            let (before, after) = (one.min(other), one.max(other));
            if before != after && !steps[after].after.contains(&before) {
                steps[after].after.push(before);
            }
        }
        let graph = dependencies::of(&steps);
        let mut at = 0;
        let seen = run(&graph, |possible| {
            at += 1;
            if possible == 0 { 0 } else { (choices[at % choices.len()].index(1 << 16) + at) % possible }
        });
        let mut ends: Vec<[usize; 2]> = Vec::new();
        for step in &steps {
            let first = ends.last().map_or(0, |[_, last]| last + 1);
            ends.push([first, first + step.kinds.len() - 1]);
        }
        for (step, [first, _]) in steps.iter().zip(&ends) {
            for &before in &step.after {
                let [_, last] = ends[before];
                prop_assert!(seen[*first][last], "step {first} began before {last} was done");
                if step.reads_operands && step.kinds.len() > 1 {
                    prop_assert!(seen[first + 1][last], "the operands of step {first} were read too early");
                }
            }
        }
    }
}
