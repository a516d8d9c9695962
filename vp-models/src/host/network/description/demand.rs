//! What a network's file says of where its tensors lie.

use super::Network;
use crate::host::Memory;
use crate::toml_text::TomlText;
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
    /// As a text says it.
    pub(super) fn written(
        text: &TomlText<'_>,
        layer: Option<usize>,
        of: Demanded,
        memory: &Spanned<WrittenMemory>,
    ) -> Demand {
        let line = Some(text.line(memory.span().start));
        Demand { layer, of, memory: (*memory.get_ref()).into(), line }
    }

    /// As the file says it.
    pub(in crate::host) fn told(&self, network: &Network) -> String {
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
