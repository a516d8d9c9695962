//! Frames that a plan takes together: which layers run once for all of them, and which cubes have a copy for each.
//!
//! Fully connected layers read each weight for one product. Several cubes in one hardware layer (hardware manual, "Multi-Batch
//! Mode") share what is read. What is before those layers runs frame after frame, in memory of its own.

use super::values::Values;
use crate::network::description::{Convolution, Network, Operation};
use crate::network::error::PlanError;
use crate::network::layout::{ALIGNMENT, Form};
use std::ops::Range;
use vp_models::nvdla::config::Config;

/// Frames that run together.
pub(super) struct Batch {
    pub(super) frames: u32,
    /// Layers behind all that run frame after frame.
    last: Vec<bool>,
    /// Of these, what runs once for all frames.
    together: Vec<bool>,
    /// Memories with a copy for each frame.
    copied: Vec<bool>,
}

impl Batch {
    pub(super) fn of(
        network: &Network,
        values: &Values,
        frames: u32,
        config: &Config,
    ) -> Result<Batch, PlanError> {
        let most = config.cubes_at_once();
        if !(1..=most).contains(&frames) {
            return Err(PlanError::Batch { config: config.name.clone(), frames, most });
        }
        let count = network.layers.len();
        let (mut last, mut together) = (vec![false; count], vec![false; count]);
        if frames > 1 {
            for (place, layer) in network.layers.iter().enumerate().rev() {
                match &layer.operation {
                    Operation::Convolution(convolution) => {
                        let source = layer.sources[0];
                        if !is_connected(convolution, [layer.output.width, layer.output.height])
                            || is_constant(network, source)
                            || matches!(values.of_source(source).tensor.form, Form::Pixels { .. })
                        {
                            break;
                        }
                        together[place] = true;
                    }
                    // The CPU's, frame after frame.
                    Operation::SoftMax(_) | Operation::Cpu(_) => {}
                    _ => break,
                }
                last[place] = true;
            }
        }
        let mut copied = vec![false; values.storages.len()];
        if frames > 1 {
            let ends = network.outputs.iter().map(|&layer| Some(layer)).chain([None]);
            let of_last = (0..count).filter(|&place| last[place]).flat_map(|place| {
                std::iter::once(Some(place)).chain(network.layers[place].sources.iter().copied())
            });
            for source in ends.chain(of_last) {
                copied[values.of_source(source).storage] = true;
            }
        }
        Ok(Batch { frames, last, together, copied })
    }

    /// Returns true if a layer comes behind all that run frame after frame.
    pub(super) fn is_last(&self, layer: usize) -> bool {
        self.last[layer]
    }

    /// Cubes that a layer's hardware layers take at once, if the convolution buffer holds them.
    pub(super) fn cubes(&self, layer: usize) -> u32 {
        if self.together[layer] { self.frames } else { 1 }
    }

    /// Returns the number of runs of a layer of so many cubes at once for all frames.
    pub(super) fn runs(&self, layer: usize, cubes: u32) -> u32 {
        if self.is_last(layer) { self.frames.div_ceil(cubes) } else { self.frames }
    }

    /// Returns true if a memory has a copy for each frame.
    pub(super) fn is_copied(&self, storage: usize) -> bool {
        self.copied[storage]
    }

    /// Bytes from a frame's copy of a memory to the next one's.
    pub(super) fn stride(&self, values: &Values, storage: usize) -> u64 {
        if self.copied[storage] { values.storages[storage].bytes.next_multiple_of(ALIGNMENT) } else { 0 }
    }

    /// Bytes of a memory, with all copies.
    pub(super) fn bytes(&self, values: &Values, storage: usize) -> u64 {
        u64::from(self.frames - 1) * self.stride(values, storage) + values.storages[storage].bytes
    }

    /// The copies that a layer of so many cubes touches, begun at this frame.
    pub(super) fn copies(&self, storage: usize, frame: u32, cubes: u32) -> Range<u32> {
        if self.copied[storage] { frame..frame + cubes } else { 0..1 }
    }
}

/// Returns true if a convolution makes one pixel of all it sees, and can do so for several cubes: nothing else is read for each of them.
fn is_connected(convolution: &Convolution, output: [u32; 2]) -> bool {
    output == [1, 1] && convolution.groups == 1 && convolution.added.is_none()
}

fn is_constant(network: &Network, source: Option<usize>) -> bool {
    source.is_some_and(|of| matches!(network.layers[of].operation, Operation::Constant(_)))
}
