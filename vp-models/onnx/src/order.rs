//! Order in which nodes can run: those that an output needs, each behind what it reads.

use crate::messages::GraphProto;
use crate::problem::{Fault, Problems};
use std::collections::{HashMap, HashSet};

/// Returns the places of the nodes that outputs need, in an order in which they can run. Cycles and values that nothing
/// makes are added to the problems.
pub(crate) fn order<'a>(
    graph: &'a GraphProto,
    given: &dyn Fn(&str) -> bool,
    problems: &mut Problems,
) -> Vec<usize> {
    let mut makers: HashMap<&'a str, usize> = HashMap::new();
    for (at, node) in graph.node.iter().enumerate() {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            if given(output) || makers.insert(output, at).is_some() {
                let fault = Fault::new(format!("`{output}` is made twice, or is an input as well"));
                problems.push(fault.at(operator(graph, at), node_name(graph, at)));
            }
        }
    }
    let mut order = Vec::new();
    // Nodes that are looked at, and those that are in the order.
    let (mut begun, mut done) = (HashSet::new(), HashSet::new());
    let mut missing = HashSet::new();
    for output in graph.output.iter().map(crate::model::name) {
        let Some(&first) = makers.get(output) else {
            if !given(output) {
                problems.push(Fault::new("no node makes this output").at("output", output));
            }
            continue;
        };
        // Nodes with the number of their inputs that are looked at.
        let mut stack = vec![(first, 0)];
        while let Some((at, input)) = stack.pop() {
            if done.contains(&at) {
                continue;
            }
            if input == 0 {
                begun.insert(at);
            }
            let Some(name) = graph.node[at].input.get(input) else {
                done.insert(at);
                order.push(at);
                continue;
            };
            stack.push((at, input + 1));
            match makers.get(name.as_str()) {
                Some(next) if done.contains(next) => (),
                Some(next) if begun.contains(next) => {
                    let fault =
                        Fault::new(format!("it reads `{name}`, which is made of its own outputs: a cycle"));
                    problems.push(fault.at(operator(graph, at), node_name(graph, at)));
                }
                Some(&next) => stack.push((next, 0)),
                None if name.is_empty() || given(name) => (),
                None if !missing.insert(name.as_str()) => (),
                None => {
                    let fault = Fault::new(format!(
                        "it reads `{name}`, which is no input, initializer or output of a node"
                    ));
                    problems.push(fault.at(operator(graph, at), node_name(graph, at)));
                }
            }
        }
    }
    // As the file has them, as far as that is an order: people know it.
    let mut in_file = order.clone();
    in_file.sort_unstable();
    if is_order(graph, &in_file, &makers) { in_file } else { order }
}

/// Returns true if each node stands behind those whose outputs it reads.
fn is_order(graph: &GraphProto, order: &[usize], makers: &HashMap<&str, usize>) -> bool {
    let maker = |input: &String| makers.get(input.as_str()).copied();
    order.iter().all(|&at| graph.node[at].input.iter().filter_map(maker).all(|maker| maker < at))
}

/// Name of a node's operator.
pub(crate) fn operator(graph: &GraphProto, at: usize) -> &str {
    graph.node[at].op_type.as_deref().unwrap_or_default()
}

/// Name of a node, or of its first output where it has none.
pub(crate) fn node_name(graph: &GraphProto, at: usize) -> String {
    let node = &graph.node[at];
    let name = node.name.as_ref().filter(|name| !name.is_empty());
    let output = node.output.iter().find(|output| !output.is_empty());
    name.or(output).cloned().unwrap_or_else(|| format!("node {at}"))
}
