//! The parts of a convolution: all of it, or of a grouped one some groups at once, each cut into hardware layers.

use super::values::Values;
use crate::network::compressed::NonZeroCounts;
use crate::network::cut::{self, Cut, TooLarge, Work};
use crate::network::description::{Compression, Convolution, Network, NetworkLayer, Shape};
use crate::network::error::PlanError;
use crate::network::layout::{Channels, Form, WeightShape, entries_of_pixels, entries_per_line};
use crate::network::registers::Pixels;
use crate::network::winograd::{self, Scaling};
use std::ops::Range;
use vp_models::nvdla::config::{Config, MemoryInterface};
use vp_models::nvdla::numeric::Precision;

/// Cycles that a hardware layer takes beside its products: registers, and the way through memory and pipeline.
pub(super) const LAYER_CYCLES: u64 = 1000;

/// Bursts that MCIF has in flight at most: after a reset (`MCIF.CFG_OUTSTANDING_CNT`) as many as there can be.
const READS_IN_FLIGHT: u64 = 256;

/// A convolution of some channels with some kernels: all of them, unless it is grouped.
pub(super) struct ConvolutionPart {
    /// Places of the input's channels.
    pub(super) channels: Range<u32>,
    /// Kernels.
    pub(super) kernels: Range<u32>,
    pub(super) pixels: Option<Pixels>,
    pub(super) entries: u32,
    /// Of all of these kernels.
    pub(super) weights: WeightShape,
    pub(super) cuts: Vec<Cut>,
    /// By Winograd's method: how the sums then are.
    pub(super) winograd: Option<Scaling>,
}

impl ConvolutionPart {
    /// Columns that it makes of a layer's output: with Winograd's method those of whole tiles, as lines of its cuts are.
    pub(super) fn columns(&self, layer: &NetworkLayer) -> u32 {
        if self.winograd.is_some() { winograd::room(layer.output)[0] } else { layer.output.width }
    }

    /// Cycles for which the products of some kernels and lines keep the array busy.
    pub(super) fn mac_cycles(&self, positions: u64, kernels: u32, config: &Config) -> u64 {
        let groups = u64::from(kernels.div_ceil(config.kernels_at_once(self.weights.precision)));
        // A tile of four outputs takes the array as one position does.
        let positions =
            if self.winograd.is_some() { positions / u64::from(winograd::OUTPUTS) } else { positions };
        positions * groups * self.weights.steps(config)
    }

    /// Products that the array makes for some kernels and positions by Winograd's method, if it does: a tile of 4 x 4 transformed features
    /// gives four outputs (architecture text, "Winograd convolution mode"). Channels are those in CSC's registers: whole memory atoms.
    pub(super) fn winograd_products(&self, positions: u64, kernels: u32) -> Option<u64> {
        let tiles = positions / u64::from(winograd::OUTPUTS);
        let each = winograd::PLACES as u64 * u64::from(self.weights.channels) * u64::from(kernels);
        self.winograd.map(|_| tiles * each)
    }

    /// An estimate of the cycles that it takes: of each hardware layer those of its products, or of its bytes if these are more, and what
    /// a hardware layer costs besides.
    pub(super) fn cycles(&self, layer: &NetworkLayer, config: &Config) -> u64 {
        let of_cut = |cut: &Cut| {
            let positions = u64::from(self.columns(layer)) * cut.outputs.len() as u64;
            let made = positions * cut.kernels.len() as u64 * self.weights.precision.bytes() as u64;
            let moved = read_cycles(cut.read, config).max(made.div_ceil(config.primary().width_bytes.into()));
            self.mac_cycles(positions, cut.kernels.len() as u32, config).max(moved) + LAYER_CYCLES
        };
        self.cuts.iter().map(of_cut).sum()
    }
}

/// Cycles in which DBBIF reads so many bytes: at its width, or, if these are more, at as many bursts at once as may be in flight. How long one
/// takes only the memory behind a platform knows; here it is the latency for which the configuration is built.
pub(super) fn read_cycles(bytes: u64, config: &Config) -> u64 {
    let MemoryInterface { width_bytes, max_burst, latency } = config.primary();
    let width = u64::from(width_bytes);
    let in_flight = READS_IN_FLIGHT * width * u64::from(max_burst.max(1));
    bytes.div_ceil(width).max((bytes * u64::from(latency)).div_ceil(in_flight))
}

/// The parts of a convolution.
pub(super) fn parts(
    network: &Network,
    values: &Values,
    (layer, cubes): (&NetworkLayer, u32),
    convolution: &Convolution,
    config: &Config,
) -> Result<Vec<ConvolutionPart>, PlanError> {
    let source = values.of_source(layer.sources[0]);
    let part = |channels: Range<u32>, kernels: Range<u32>, pixels: Option<Pixels>| {
        part(network, (layer, cubes), convolution, channels, kernels, pixels, config).map_err(
            |TooLarge { data, weights }| {
                let banks = config.cbuf_banks;
                PlanError::ConvolutionBuffer { layer: layer.name.clone(), data, weights, banks }
            },
        )
    };
    let channels = match &source.tensor.form {
        Form::Pixels { .. } => {
            let pixels = Pixels::of(network.input.channels, network.precision);
            return Ok(vec![part(0..pixels.components, 0..convolution.kernels, Some(pixels))?]);
        }
        Form::Features { channels, .. } => channels,
    };
    let hardware = Atoms::of(network.precision, config);
    let together = groups_together(layer, convolution, channels, hardware);
    let makes = convolution.kernels / convolution.groups;
    (0..convolution.groups)
        .step_by(together as usize)
        .map(|first| {
            let groups = first..(first + together).min(convolution.groups);
            let kernels = groups.start * makes..groups.end * makes;
            part(seen(&groups, layer, convolution, channels, hardware.lanes), kernels, None)
        })
        .collect()
}

/// Amounts that hardware takes at once.
#[derive(Clone, Copy)]
struct Atoms {
    /// Channels of an atom.
    lanes: u32,
    /// Channels and kernels of the array.
    block: u32,
    kernels: u32,
}

impl Atoms {
    fn of(precision: Precision, config: &Config) -> Atoms {
        let kernels = config.kernels_at_once(precision);
        Atoms { lanes: config.lanes(precision), block: config.mac_atomic_c, kernels }
    }
}

/// The places of the channels that some groups see, in whole atoms.
fn seen(
    groups: &Range<u32>,
    layer: &NetworkLayer,
    convolution: &Convolution,
    channels: &Channels,
    lanes: u32,
) -> Range<u32> {
    let sees = layer.input.channels / convolution.groups;
    let place = |channel: u32| {
        let mut left = channel;
        let run = channels.runs().iter().find(|run| {
            let here = left < run.channels;
            left -= if here { 0 } else { run.channels };
            here
        });
        run.map_or(0, |run| run.at + left)
    };
    let (first, last) = (place(groups.start * sees), place(groups.end * sees - 1));
    first / lanes * lanes..(last + 1).next_multiple_of(lanes).min(channels.places())
}

/// Returns the number of groups of a grouped convolution that a hardware layer multiplies, with zeros for what groups do not see of each
/// other. Hardware knows no groups. A hardware layer reads and writes whole atoms: where groups are narrower than that, as in depthwise
/// convolutions, the array multiplies by zeros. Fewer groups together are fewer zeros and more hardware layers.
fn groups_together(
    layer: &NetworkLayer,
    convolution: &Convolution,
    channels: &Channels,
    hardware: Atoms,
) -> u32 {
    let groups = convolution.groups;
    let makes = convolution.kernels / groups;
    let whole = |together: u32| together == groups || (together * makes).is_multiple_of(hardware.lanes);
    let [columns, rows] = convolution.window.size.map(u64::from);
    let positions = u64::from(layer.output.width) * u64::from(layer.output.height);
    let cost = |together: &u32| -> u64 {
        let of_layer = |first: u32| {
            let groups = first..(first + together).min(groups);
            let channels = seen(&groups, layer, convolution, channels, hardware.lanes);
            let blocks = u64::from((channels.len() as u32).div_ceil(hardware.block));
            let kernels = u64::from((groups.len() as u32 * makes).div_ceil(hardware.kernels));
            positions * columns * rows * blocks * kernels + LAYER_CYCLES
        };
        (0..groups).step_by(*together as usize).map(of_layer).sum()
    };
    (1..=groups).filter(|&together| whole(together)).min_by_key(cost).unwrap_or(groups)
}

/// Returns the counts of a part's weights without their zeros, if they may be compressed: weights that the part has besides are all zero.
fn kept(
    convolution: &Convolution,
    kernels: &Range<u32>,
    shape: WeightShape,
    network: &Network,
    config: &Config,
) -> Option<NonZeroCounts> {
    if network.choices.compression == Compression::Never || !config.weight_compression {
        return None;
    }
    let taps = convolution.weights.len() / convolution.kernels.max(1) as usize;
    let own = &convolution.weights[kernels.start as usize * taps..kernels.end as usize * taps];
    let is_kept = |weight: &&[i8]| weight.iter().any(|byte| *byte != 0);
    let count = |kernel: &[i8]| kernel.chunks(network.precision.bytes()).filter(is_kept).count() as u64;
    Some(NonZeroCounts::of(own.chunks(taps.max(1)).map(count), shape, config))
}

/// A part, of so many cubes at once.
fn part(
    network: &Network,
    (layer, cubes): (&NetworkLayer, u32),
    convolution: &Convolution,
    channels: Range<u32>,
    kernels: Range<u32>,
    pixels: Option<Pixels>,
    config: &Config,
) -> Result<ConvolutionPart, TooLarge> {
    let window = convolution.window;
    let (count, precision) = (channels.len() as u32, network.precision);
    let element = precision.bytes() as u32;
    let (entries, line_bytes, weights) = match pixels {
        Some(Pixels { components, .. }) => {
            let padded = window.before[0] + layer.input.width + window.after[0];
            let shape = |rows_at_once| WeightShape {
                kernels: kernels.len() as u32,
                rows: window.size[1],
                columns: 1,
                channels: window.size[0] * components,
                rows_at_once,
                precision,
            };
            // As many rows at once as leaves the fewest steps, of those that share the lanes: neither a merged row nor
            // a step to the right may need more of them (hardware manual, "Limits of channel post-extension").
            let fits = |shape: &WeightShape| {
                let own = config.mac_atomic_c / shape.rows_at_once;
                shape.channels <= own && window.stride[0] * components <= own
            };
            let fewer = |one: WeightShape, other: WeightShape| {
                if other.steps(config) < one.steps(config) { other } else { one }
            };
            let shape = [shape(2), shape(4)].into_iter().filter(fits).fold(shape(1), fewer);
            let line = u64::from(layer.input.width * components * element);
            (entries_of_pixels(padded * components * element, config), line, shape)
        }
        None => {
            let shape = Shape { channels: count, ..layer.input };
            let weights = WeightShape {
                kernels: kernels.len() as u32,
                rows: window.size[1],
                columns: window.size[0],
                channels: count,
                rows_at_once: 1,
                precision,
            };
            let atoms = count.div_ceil(config.lanes(precision)) * layer.input.width;
            let line = u64::from(atoms * config.memory_atom);
            (entries_per_line(shape, precision, config), line, weights)
        }
    };
    let work = Work {
        height: layer.input.height,
        entries: entries * cubes,
        line_bytes: line_bytes * u64::from(cubes),
        window,
        outputs: layer.output.height,
        weights,
        kept: kept(convolution, &kernels, weights, network, config),
        tiles: false,
        least_lines: if layer.output.width == 1 { 2 } else { 1 },
    };
    let cuts = cut::cuts(&work, config)?;
    Ok(ConvolutionPart { channels, kernels, pixels, entries, weights, cuts, winograd: None })
}
