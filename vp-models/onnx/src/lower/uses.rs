//! Makers and readers of the values of a graph.

use vp_tensors::{Graph, ValueId};

/// Makers and readers of values.
#[derive(Clone, Debug)]
pub(crate) struct Uses {
    maker: Vec<Option<usize>>,
    readers: Vec<Vec<usize>>,
    is_output: Vec<bool>,
}

impl Uses {
    pub(crate) fn of(graph: &Graph) -> Uses {
        let count = graph.values.len();
        let mut uses = Uses {
            maker: vec![None; count],
            readers: vec![Vec::new(); count],
            is_output: vec![false; count],
        };
        for (at, node) in graph.nodes.iter().enumerate() {
            node.outputs.iter().for_each(|output| uses.maker[output.0] = Some(at));
            node.inputs.iter().flatten().for_each(|input| uses.readers[input.0].push(at));
        }
        graph.outputs.iter().for_each(|output| uses.is_output[output.0] = true);
        uses
    }

    /// Place of the node that makes a value.
    pub(crate) fn maker(&self, value: ValueId) -> Option<usize> {
        self.maker[value.0]
    }

    /// Places of the nodes that read a value; one that reads it twice is there twice.
    pub(crate) fn readers(&self, value: ValueId) -> &[usize] {
        &self.readers[value.0]
    }

    /// Returns true if a value is an output of the graph.
    pub(crate) fn is_output(&self, value: ValueId) -> bool {
        self.is_output[value.0]
    }

    /// The only reader of a value that is no output of the graph.
    pub(crate) fn only_reader(&self, value: ValueId) -> Option<usize> {
        match self.readers[value.0][..] {
            [reader] if !self.is_output[value.0] => Some(reader),
            _ => None,
        }
    }
}
