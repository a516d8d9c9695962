//! Places of a model, its inputs and its outputs in memory, for one architecture.

use std::ops::Range;

use thiserror::Error;

use super::model::Model;
use vp_models::fpga_ai_suite::Architecture;
use vp_models::fpga_ai_suite::configuration::Configuration;
use vp_models::units::grouped;

/// Places in memory, all of them at multiples of the memory word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The configuration; filters lie behind it.
    pub config_base: u32,
    /// Words of the configuration.
    pub words: Vec<u64>,
    /// Start of the filters, behind the configuration; in a DDR-free IP's scratchpad, from its start.
    pub filters_at: u32,
    /// The intermediate buffer.
    pub intermediate_base: u32,
    /// Inputs, each with room for its output behind it.
    pub io_bases: Vec<u32>,
    /// Start of an output, behind its input.
    pub output_at: u32,
}

/// A model that has no room.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Memory is too small, or not within 32 bits.
    #[error(
        "{model} needs {} bytes of memory below 4 GiB from 0x{start:x} on, and there are {}",
        grouped(bytes),
        grouped(room)
    )]
    Memory {
        /// The model.
        model: String,
        /// Bytes that the model needs.
        bytes: u64,
        /// Start of memory.
        start: u64,
        /// Bytes of memory that there are.
        room: u64,
    },
    /// Memories on the chip are too small.
    #[error("{model} needs {} bytes of the {memory}, which has {}", grouped(bytes), grouped(room))]
    OnChip {
        /// The model.
        model: String,
        /// The memory.
        memory: &'static str,
        /// Bytes of it that the model needs.
        bytes: u64,
        /// Bytes of the memory.
        room: u64,
    },
}

impl Layout {
    /// Lays out a model with so many inputs at a time, in memory that begins and ends there.
    ///
    /// # Errors
    /// When there is not enough room.
    pub fn new(
        architecture: &Architecture,
        model: &Model,
        inputs: u32,
        memory: Range<u64>,
    ) -> Result<Layout, LayoutError> {
        let whole = |bytes: u64| architecture.whole_words(bytes);
        let (graph, filter_bytes) = (&model.graph, model.filters.len() as u64);
        let output_at = if architecture.streaming { 0 } else { whole(graph.input().elements()) };
        let encoded = |filters_at: u64| {
            let (filters_at, output_at) = (filters_at as u32, output_at as u32);
            Configuration { graph: graph.clone(), filters_at, output_at }.encode()
        };
        let config_bytes = whole(8 * encoded(0).len() as u64);
        let filters_at = if architecture.ddr_free { 0 } else { config_bytes };
        let words = encoded(filters_at);
        if architecture.ddr_free {
            let memories = [
                (
                    "configuration memory",
                    8 * words.len() as u64,
                    8 * u64::from(architecture.configuration_words),
                ),
                (
                    "scratchpad",
                    filter_bytes,
                    u64::from(architecture.scratchpad_words) * u64::from(architecture.memory_word),
                ),
            ];
            if let Some(&(memory, bytes, room)) = memories.iter().find(|(_, bytes, room)| bytes > room) {
                return Err(LayoutError::OnChip { model: model.name.clone(), memory, bytes, room });
            }
        }
        let model_bytes = if architecture.ddr_free { 0 } else { config_bytes + whole(filter_bytes) };
        let spilled = graph.layers().iter().map(|layer| layer.output.elements());
        let spilled = spilled.filter(|&bytes| bytes > architecture.feature_buffer.into()).map(whole);
        let intermediate_bytes: u64 = if architecture.ddr_free { 0 } else { spilled.sum() };
        let io_bytes = output_at + whole(graph.output_shape().elements());
        let start = whole(memory.start);
        let bytes = model_bytes + intermediate_bytes + io_bytes * u64::from(inputs);
        let room = memory.end.min(1 << 32).saturating_sub(start);
        if bytes > room {
            return Err(LayoutError::Memory { model: model.name.clone(), bytes, start, room });
        }
        let intermediate_base = start + model_bytes;
        let first = intermediate_base + intermediate_bytes;
        Ok(Layout {
            config_base: if architecture.ddr_free { 0 } else { start as u32 },
            words,
            filters_at: filters_at as u32,
            intermediate_base: intermediate_base as u32,
            io_bases: (0..u64::from(inputs)).map(|at| (first + at * io_bytes) as u32).collect(),
            output_at: output_at as u32,
        })
    }

    /// The configuration as it lies in memory.
    pub fn config_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::digits;

    #[test]
    fn parts_follow_each_other_at_memory_words() {
        let architecture = Architecture { feature_buffer: 600, ..Architecture::default() };
        let model = Model::of_network(&digits::network()).unwrap();
        let layout = Layout::new(&architecture, &model, 2, 0x8000_0010..0x8100_0000).unwrap();
        assert_eq!(layout.config_base, 0x8000_0020);
        let config = layout.config_bytes().len() as u32;
        assert_eq!(layout.filters_at, config.next_multiple_of(32));
        let filters = (model.filters.len() as u32).next_multiple_of(32);
        assert_eq!(layout.intermediate_base, layout.config_base + layout.filters_at + filters);
        // Two layers make 8x8x16 features.
        assert_eq!(layout.io_bases, [0, 96].map(|at| layout.intermediate_base + 2048 + at));
        assert_eq!(layout.output_at, 64);
        let refused = Layout::new(&architecture, &model, 2, 0x8000_0000..0x8000_1000).unwrap_err();
        assert!(refused.to_string().contains("and there are 4 096"), "{refused}");
        let tiny = Architecture { ddr_free: true, streaming: true, scratchpad_words: 1, ..architecture };
        let refused = Layout::new(&tiny, &model, 1, 0x8000_0000..0x8000_1000).unwrap_err();
        assert!(refused.to_string().contains("of the scratchpad, which has 32"), "{refused}");
    }
}
