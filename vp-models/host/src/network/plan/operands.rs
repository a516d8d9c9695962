//! Weights, biases and factors of a plan, as hardware layers take them, among what is to be placed in memory.

use super::batch::Batch;
use super::parts::ConvolutionPart;
use super::placement::Unplaced;
use super::stages::Channelwise;
use super::task::Task;
use super::values::{Value, Values};
use crate::network::compressed::Streams;
use crate::network::cut::Cut;
use crate::network::description::{Convolution, Network, NetworkLayer, Operation};
use crate::network::layout::{
    ALIGNMENT, Channels, Form, MemoryAddress, Run, Tensor, WeightShape, pack_operands,
};
use crate::network::registers::PlacedWeights;
use std::ops::Range;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::conv::cdma::layer::Compressed;

/// Constants of a task.
#[derive(Default)]
pub(super) struct Operands {
    /// A convolution's weights and biases: of each part and each of its runs of kernels.
    pub(super) parts: Vec<Vec<OfKernels>>,
    /// Operands of BS and of BN for each channel of elements from memory, by their places among the constants.
    pub(super) constants: [Option<usize>; 2],
}

/// The weights and biases of some kernels.
pub(super) struct OfKernels {
    pub(super) kernels: Range<u32>,
    pub(super) weights: PackedWeights,
    /// Operands of BS and of BN for each channel, by their places among the constants.
    pub(super) constants: [Option<usize>; 2],
}

/// Weights of some kernels among the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedWeights {
    /// The constant.
    constant: usize,
    /// Bytes to read of the weights.
    bytes: u32,
    /// Places of what is behind them in the same constant, if they are compressed.
    beside: Option<BesideWeights>,
}

/// Places of what lies behind compressed weights: one register says in which memory all three are (CDMA.D_WEIGHT_RAM_TYPE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BesideWeights {
    /// Start of the masks, in bytes from the weights, and their number of bytes.
    masks: u64,
    mask_bytes: u32,
    /// Start of the sizes, in bytes from the weights.
    sizes: u64,
}

impl OfKernels {
    /// The constants that a hardware layer reads.
    pub(super) fn constants(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.weights.constant).chain(self.constants.into_iter().flatten())
    }
}

impl PackedWeights {
    /// Returns the weights where their constant lies there.
    pub(super) fn placed(self, constant: impl Fn(usize) -> MemoryAddress) -> PlacedWeights {
        let place = constant(self.constant);
        let compressed = self.beside.map(|BesideWeights { masks, mask_bytes, sizes }| {
            let [mask_base, sizes_base] = [masks, sizes].map(|offset| place.address + offset);
            Compressed { mask_base, mask_bytes, sizes_base, turns: Compressed::TURNS }
        });
        PlacedWeights { place, bytes: self.bytes, compressed }
    }
}

impl Operands {
    /// Packs the operands of all tasks.
    pub(super) fn of(
        network: &Network,
        values: &Values,
        tasks: &[Task],
        batch: &Batch,
        config: &Config,
        constants: &mut Vec<Unplaced>,
    ) -> Vec<Operands> {
        let mut put = |layer: usize, of: &str, bytes: Vec<u8>, reads: u64| {
            let what = format!("{} {of}", network.layers[layer].name);
            let traffic = reads * bytes.len() as u64;
            constants.push(Unplaced { what, bytes, layer, traffic });
            constants.len() - 1
        };
        let mut of_task = |task: &Task| {
            let layer = &network.layers[task.layer];
            let precision = network.precision;
            let lanes = config.lanes(precision);
            if let Some(channelwise) = Channelwise::of_elements(&layer.operation, precision) {
                let tensor = &values.of_layer(task.layer).tensor;
                let constants = channelwise.constants().map(|of_stage| {
                    let values = of_stage.values(0..layer.output.channels as usize, 0);
                    let operands = pack_operands(&placed(values, tensor), lanes);
                    of_stage.name().map(|name| put(task.layer, name, operands, batch.frames.into()))
                });
                return Operands { constants, ..Operands::default() };
            }
            let Operation::Convolution(convolution) = &layer.operation else {
                return Operands::default();
            };
            let times = u64::from(batch.runs(task.layer, task.cubes));
            let source = values.of_source(layer.sources[0]);
            let mut of_part = |part: &ConvolutionPart| {
                let kernels = |cut: &Cut| (cut.kernels.clone(), cut.buffer.compressed);
                let mut runs: Vec<(Range<u32>, bool)> = part.cuts.iter().map(kernels).collect();
                runs.dedup();
                let of_run = |(run, compressed): (Range<u32>, bool)| {
                    let kernels = part.kernels.start + run.start..part.kernels.start + run.end;
                    let weights = spread(convolution, layer, source, part, kernels.clone());
                    let shape = WeightShape { kernels: run.len() as u32, ..part.weights };
                    let weights = match part.winograd {
                        Some(scaling) => scaling.transform(&weights, shape),
                        None => weights,
                    };
                    let cuts = part.cuts.iter().filter(|cut| cut.kernels == run);
                    let reads = |cut: &&Cut| !cut.buffer.weights_are_there;
                    let read = times * cuts.clone().filter(reads).count() as u64;
                    let packed = shape.pack(&weights, config);
                    let (bytes, length, beside) = match compressed {
                        true => joined(&Streams::of(&packed, shape, config)),
                        false => {
                            let length = packed.len() as u32;
                            (packed, length, None)
                        }
                    };
                    let constant = put(task.layer, "weights", bytes, read);
                    let weights = PackedWeights { constant, bytes: length, beside };
                    let missing = part.winograd.map_or(0, |scaling| scaling.missing);
                    let channelwise = Channelwise::of_convolution(convolution, missing, precision);
                    let constants = channelwise.constants().map(|of_stage| {
                        let kernels = kernels.start as usize..kernels.end as usize;
                        let operands = pack_operands(&of_stage.values(kernels, missing), lanes);
                        let read = times * cuts.clone().count() as u64;
                        of_stage.name().map(|name| put(task.layer, name, operands, read))
                    });
                    OfKernels { kernels: run, weights, constants }
                };
                runs.into_iter().map(of_run).collect::<Vec<_>>()
            };
            Operands { parts: task.parts.iter().map(&mut of_part).collect(), ..Operands::default() }
        };
        tasks.iter().map(&mut of_task).collect()
    }
}

/// Weights, masks and sizes one behind the other, as far as they are to be aligned; what of it the weights are, and where the others begin.
fn joined(streams: &Streams) -> (Vec<u8>, u32, Option<BesideWeights>) {
    let Streams { weights, masks, sizes } = streams;
    let mut bytes = weights.clone();
    let mut add = |stream: &[u8]| {
        let offset = bytes.len().next_multiple_of(ALIGNMENT as usize);
        bytes.resize(offset, 0);
        bytes.extend_from_slice(stream);
        offset as u64
    };
    let [masks_at, sizes_at] = [masks, sizes].map(|stream| add(stream));
    let beside = BesideWeights { masks: masks_at, mask_bytes: masks.len() as u32, sizes: sizes_at };
    (bytes, weights.len() as u32, Some(beside))
}

/// The operands of a cube's channels where these lie, with zeros for places that nobody fills.
fn placed(values: Vec<Vec<i16>>, tensor: &Tensor) -> Vec<Vec<i16>> {
    let Form::Features { channels, .. } = &tensor.form else { return values };
    let nothing = vec![0; values.first().map_or(0, Vec::len)];
    let mut placed = vec![nothing; channels.places() as usize];
    for (place, values) in channels.each().zip(values) {
        placed[place as usize] = values;
    }
    placed
}

/// Weights of some kernels over the channels that a part reads, with zeros for those that a kernel does not see and for
/// places that nobody fills.
fn spread(
    convolution: &Convolution,
    layer: &NetworkLayer,
    source: &Value,
    part: &ConvolutionPart,
    kernels: Range<u32>,
) -> Vec<i8> {
    let Convolution { groups, window, weights, .. } = convolution;
    let (sees, makes) = (layer.input.channels / groups, convolution.kernels / groups);
    // Where in a pixel, as the part reads it, each channel of the input lies.
    let (places, pixel) = match (&source.tensor.form, part.pixels) {
        (Form::Features { channels, .. }, _) => (channels.clone(), part.channels.len() as u32),
        (Form::Pixels { .. }, pixels) => {
            (Channels::plain(layer.input.channels), pixels.map_or(1, |pixels| pixels.components))
        }
    };
    let taps = window.size[0] as usize * window.size[1] as usize;
    let bytes_of = |channels: u32| channels as usize * source.tensor.precision.bytes();
    let mut spread = vec![0; kernels.len() * taps * bytes_of(pixel)];
    let kernel_bytes = taps * bytes_of(sees);
    for (kernel, to) in kernels.zip(spread.chunks_mut(taps * bytes_of(pixel))) {
        let from = &weights[kernel as usize * kernel_bytes..][..kernel_bytes];
        let first = kernel / makes * sees;
        let mut seen = 0;
        for Run { channels, at } in places.runs_of(first..first + sees) {
            let (bytes, place) = (bytes_of(channels), bytes_of(at - part.channels.start));
            for (from, to) in from.chunks(bytes_of(sees)).zip(to.chunks_mut(bytes_of(pixel))) {
                to[place..place + bytes].copy_from_slice(&from[seen..seen + bytes]);
            }
            seen += bytes;
        }
    }
    spread
}
