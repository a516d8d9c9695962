//! Weights and biases of a plan, as hardware layers take them, and where they lie in memory.

use super::memory::Memory;
use super::operations::Task;
use super::parts::Part;
use super::values::{Value, Values};
use crate::host::network::compressed::Streams;
use crate::host::network::cut::Cut;
use crate::host::network::description::{Convolution, Network, NetworkLayer, Operation};
use crate::host::network::error::PlanError;
use crate::host::network::layout::{Form, WeightShape, pack_operands};
use crate::host::network::registers::PlacedWeights;
use crate::nvdla::config::Config;
use crate::nvdla::conv::cdma::layer::Compressed;
use crate::nvdla::numeric::round_shift;
use std::ops::Range;

/// Where a task's weights and biases lie: of each part and each of its runs of kernels.
pub(super) struct Operands(pub(super) Vec<Vec<OfKernels>>);

/// Where the weights and biases of some kernels lie.
pub(super) struct OfKernels {
    pub(super) kernels: Range<u32>,
    pub(super) weights: PlacedWeights,
    pub(super) bias: Option<u64>,
}

impl Operands {
    /// Packs and places the operands of all tasks.
    pub(super) fn of(
        network: &Network,
        values: &Values,
        tasks: &[Task],
        config: &Config,
        memory: &mut Memory,
        constants: &mut Vec<(u64, Vec<u8>)>,
    ) -> Result<Vec<Operands>, PlanError> {
        let mut put = |what: String, bytes: Vec<u8>| {
            let base = memory.take(&what, bytes.len() as u64)?;
            constants.push((base, bytes));
            Ok(base)
        };
        let mut of_task = |task: &Task| {
            let layer = &network.layers[task.layer];
            let Operation::Convolution(convolution) = &layer.operation else {
                return Ok(Operands(Vec::new()));
            };
            let source = values.of_source(layer.sources[0]);
            let mut of_part = |part: &Part| {
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
                    let packed = shape.pack(&weights, config);
                    let weights = placed_weights(&layer.name, (packed, shape), compressed, config, &mut put)?;
                    let bias = convolution.bias.as_ref().map(|bias| {
                        let values = &bias.values[kernels.start as usize..kernels.end as usize];
                        // Sums that are too small take a bias as much smaller.
                        let drop =
                            part.winograd.map_or(0, |scaling| scaling.missing.saturating_sub(bias.shift));
                        let values: Vec<i16> =
                            values.iter().map(|value| round_shift((*value).into(), drop) as i16).collect();
                        put(
                            format!("{} bias", layer.name),
                            pack_operands(&values, config.lanes(network.precision)),
                        )
                    });
                    Ok(OfKernels { kernels: run, weights, bias: bias.transpose()? })
                };
                runs.into_iter().map(of_run).collect::<Result<Vec<_>, PlanError>>()
            };
            task.parts.iter().map(&mut of_part).collect::<Result<Vec<_>, PlanError>>().map(Operands)
        };
        tasks.iter().map(&mut of_task).collect()
    }
}

/// Puts packed weights into memory.
fn placed_weights(
    layer: &str,
    (packed, shape): (Vec<u8>, WeightShape),
    compressed: bool,
    config: &Config,
    mut put: impl FnMut(String, Vec<u8>) -> Result<u64, PlanError>,
) -> Result<PlacedWeights, PlanError> {
    let what = |part: &str| format!("{layer} {part}");
    if !compressed {
        let bytes = packed.len() as u32;
        return Ok(PlacedWeights { base: put(what("weights"), packed)?, bytes, compressed: None });
    }
    let Streams { weights, masks, sizes } = Streams::of(&packed, shape, config);
    let (bytes, mask_bytes) = (weights.len() as u32, masks.len() as u32);
    let base = put(what("weights"), weights)?;
    let mask_base = put(what("weights' masks"), masks)?;
    let sizes_base = put(what("weights' sizes"), sizes)?;
    let beside = Compressed { mask_base, mask_bytes, sizes_base, turns: Compressed::TURNS };
    Ok(PlacedWeights { base, bytes, compressed: Some(beside) })
}

/// Weights of some kernels over the channels that a part reads, with zeros for those that a kernel does not see and for
/// places that nobody fills.
fn spread(
    convolution: &Convolution,
    layer: &NetworkLayer,
    source: &Value,
    part: &Part,
    kernels: Range<u32>,
) -> Vec<i8> {
    let Convolution { groups, window, weights, .. } = convolution;
    let (sees, makes) = (layer.input.channels / groups, convolution.kernels / groups);
    // Where in a pixel, as the part reads it, each channel of the input lies.
    let (places, pixel): (Vec<u32>, u32) = match (&source.tensor.form, part.pixels) {
        (Form::Features { channels, .. }, _) => (channels.each().collect(), part.channels.len() as u32),
        (Form::Pixels { .. }, pixels) => {
            ((0..layer.input.channels).collect(), pixels.map_or(1, |pixels| pixels.components))
        }
    };
    let taps = window.size[0] as usize * window.size[1] as usize;
    let element = source.tensor.precision.bytes();
    let mut spread = vec![0; kernels.len() * taps * pixel as usize * element];
    for (to, kernel) in kernels.enumerate() {
        let first = kernel / makes * sees;
        for tap in 0..taps {
            let from = (kernel as usize * taps + tap) * sees as usize;
            let to = (to * taps + tap) * pixel as usize;
            for seen in 0..sees {
                let place = places[(first + seen) as usize] - part.channels.start;
                let [to, from] = [to + place as usize, from + seen as usize].map(|at| at * element);
                spread[to..to + element].copy_from_slice(&weights[from..from + element]);
            }
        }
    }
    spread
}
