//! What a network's file says of where its tensors lie.

use super::Network;
use crate::host::Memory;
use serde::Deserialize;
use toml::Spanned;

/// What a network's file says of where a tensor lies: `memory` and `weights_memory` of a layer, `memory` of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The layer; none for the network's input.
    pub layer: Option<usize>,
    /// Which of its tensors.
    pub of: Demanded,
    /// Where it is to be.
    pub memory: Memory,
    /// The line of the file that says so, if there is one.
    pub line: Option<usize>,
}

/// Which of a layer's tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demanded {
    /// What it makes; also the network's input.
    Output,
    /// Its weights and biases.
    Weights,
}

impl Demand {
    /// As the file says it.
    pub(in crate::host::network) fn told(&self, network: &Network) -> String {
        let key = match self.of {
            Demanded::Output => "memory",
            Demanded::Weights => "weights_memory",
        };
        let word = match self.memory {
            Memory::Primary => "dram",
            Memory::Secondary => "sram",
        };
        match self.layer {
            Some(layer) => format!("layer `{}`: {key} = \"{word}\"", network.layers[layer].name),
            None => format!("input: {key} = \"{word}\""),
        }
    }
}

/// A memory as people write it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WrittenMemory {
    /// Behind SRAMIF.
    Sram,
    /// Behind DBBIF.
    Dram,
}

impl From<WrittenMemory> for Memory {
    fn from(written: WrittenMemory) -> Memory {
        match written {
            WrittenMemory::Sram => Memory::Secondary,
            WrittenMemory::Dram => Memory::Primary,
        }
    }
}

/// The keys of a network's text that say where tensors lie, and nothing else of it: layers of several kinds do not keep their lines.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Keys {
    input: InputKeys,
    layer: Vec<LayerKeys>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputKeys {
    memory: Option<Spanned<WrittenMemory>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LayerKeys {
    memory: Option<Spanned<WrittenMemory>>,
    weights_memory: Option<Spanned<WrittenMemory>>,
}

/// The demands of a text, in its order.
///
/// # Errors
/// When one of them names no memory.
pub(super) fn demands(text: &str) -> Result<Vec<Demand>, toml::de::Error> {
    let Keys { input, layer: layers } = toml::from_str(text)?;
    let demand = |layer, of, written: Option<Spanned<WrittenMemory>>| {
        let written = written?;
        let line = Some(text[..written.span().start].matches('\n').count() + 1);
        Some(Demand { layer, of, memory: written.into_inner().into(), line })
    };
    let mut demands: Vec<Demand> = demand(None, Demanded::Output, input.memory).into_iter().collect();
    for (layer, LayerKeys { memory, weights_memory }) in layers.into_iter().enumerate() {
        demands.extend(demand(Some(layer), Demanded::Output, memory));
        demands.extend(demand(Some(layer), Demanded::Weights, weights_memory));
    }
    Ok(demands)
}
