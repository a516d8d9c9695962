//! Demands of a network's file on where its tensors lie.

use super::Network;
use crate::Memory;
use serde::Deserialize;
use toml::Spanned;
use vp_models::toml_text::TomlText;

/// Demand of a network's file on where a tensor lies: `memory` and `weights_memory` of a layer, `memory` of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The layer; none for the network's input.
    pub layer: Option<usize>,
    /// Tensor of the layer, or of the network's input.
    pub of: Demanded,
    /// Memory in which it is to be.
    pub memory: Memory,
    /// The line of the file that says so, if there is one.
    pub line: Option<usize>,
}

/// Tensors of a layer for which a memory can be demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demanded {
    /// Output of the layer; also the network's input.
    Output,
    /// Weights and biases of the layer.
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
    pub(crate) fn told(&self, network: &Network) -> String {
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
