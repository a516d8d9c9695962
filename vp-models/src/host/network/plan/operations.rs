//! Which layers a hardware layer does together, and in which order they run.

use super::batch::Batch;
use super::values::Values;
use crate::host::network::cut::{self, Cut, TooLarge, Work};
use crate::host::network::description::{
    Activation, Convolution, Network, NetworkLayer, Operation, Pooling, Shape,
};
use crate::host::network::error::PlanError;
use crate::host::network::layout::{Channels, Form, WeightShape, entries_of_pixels, entries_per_line};
use crate::host::network::registers::{Pixels, is_whole};
use crate::nvdla::config::Config;
use std::ops::Range;

/// One layer, or a convolution with the pooling behind it.
pub(super) struct Task {
    /// The layer's place.
    pub(super) layer: usize,
    /// The pooling that takes on the fly what the convolution makes.
    pub(super) pooling: Option<usize>,
    /// A convolution's parts.
    pub(super) parts: Vec<Part>,
    /// Frames that run at once.
    pub(super) cubes: u32,
}

/// A convolution of some channels with some kernels: all of them, unless it is grouped.
pub(super) struct Part {
    /// Places of the input's channels.
    pub(super) channels: Range<u32>,
    /// Kernels.
    pub(super) kernels: Range<u32>,
    pub(super) pixels: Option<Pixels>,
    pub(super) entries: u32,
    /// Of all of these kernels.
    pub(super) weights: WeightShape,
    pub(super) cuts: Vec<Cut>,
}

/// What runs, in order.
pub(super) fn tasks(
    network: &Network,
    values: &Values,
    batch: &Batch,
    config: &Config,
) -> Result<Vec<Task>, PlanError> {
    for layer in &network.layers {
        if let Some((unit, parameter)) = lacking(&layer.operation, config) {
            let (layer, config) = (layer.name.clone(), config.name.clone());
            return Err(PlanError::NoUnit { layer, unit, config, parameter });
        }
    }
    let mut tasks: Vec<Task> = Vec::new();
    let mut done = vec![false; network.layers.len()];
    for (place, layer) in network.layers.iter().enumerate() {
        if done[place] || matches!(layer.operation, Operation::Concatenation | Operation::Constant(_)) {
            continue;
        }
        let mut task = Task { layer: place, pooling: None, parts: Vec::new(), cubes: 1 };
        if let Operation::Convolution(convolution) = &layer.operation {
            task.cubes = batch.cubes(place);
            // As many as the convolution buffer holds.
            task.parts = loop {
                match parts(network, values, (layer, task.cubes), convolution, config) {
                    Err(PlanError::ConvolutionBuffer { .. }) if task.cubes > 1 => {
                        task.cubes = task.cubes.div_ceil(2);
                    }
                    parts => break parts?,
                }
            };
            task.pooling = pooling_behind(network, place, &task);
        }
        if let Some(pooling) = task.pooling {
            done[pooling] = true;
        }
        tasks.push(task);
    }
    Ok(in_order(tasks, network))
}

/// The unit, or stage of SDP, that an operation needs and the configuration was built without; and the parameter that says so.
fn lacking(operation: &Operation, config: &Config) -> Option<(&'static str, &'static str)> {
    let (bs, bn) = match operation {
        Operation::Convolution(Convolution { bias, added, activation, .. }) => {
            let acts = *activation != Activation::None;
            (bias.is_some() || acts && added.is_none(), added.is_some())
        }
        Operation::Sum(sum) => (sum.scale != 1, true),
        _ => (false, false),
    };
    let (pdp, cdp) =
        (matches!(operation, Operation::Pooling(_)), matches!(operation, Operation::Normalisation(_)));
    [
        (bs && !config.sdp_bs, "SDP's stage BS", "sdp_bs"),
        (bn && !config.sdp_bn, "SDP's stage BN", "sdp_bn"),
        (pdp && !config.pdp, "PDP", "pdp"),
        (cdp && !config.cdp, "CDP", "cdp"),
    ]
    .into_iter()
    .find_map(|(is_lacking, unit, parameter)| is_lacking.then_some((unit, parameter)))
}

/// The pooling that can take what a convolution makes as it comes: nobody else wants that, it comes line after line of
/// the whole cube, windows read all of it, and the line buffer holds it.
fn pooling_behind(network: &Network, place: usize, task: &Task) -> Option<usize> {
    let mut readers =
        (0..network.layers.len()).filter(|&reader| network.layers[reader].sources.contains(&Some(place)));
    let (reader, None) = (readers.next()?, readers.next()) else { return None };
    let NetworkLayer { operation: Operation::Pooling(Pooling { window, .. }), input, output, .. } =
        &network.layers[reader]
    else {
        return None;
    };
    let [part] = task.parts.as_slice() else { return None };
    let lines = part.cuts.iter().all(|cut| cut.outputs.len() as u32 == input.height);
    let (_, read) = window.ending(*input);
    (lines && read == *input && is_whole(window, *input, *output)).then_some(reader)
}

/// The order in which tasks run: that of the layers, but none right behind one whose output it needs if another could
/// run in between, as units then wait less for each other.
fn in_order(mut tasks: Vec<Task>, network: &Network) -> Vec<Task> {
    let needs = |task: &Task| {
        let mut needed = Vec::new();
        let mut open: Vec<usize> = network.layers[task.layer].sources.iter().flatten().copied().collect();
        while let Some(layer) = open.pop() {
            match network.layers[layer].operation {
                Operation::Concatenation => open.extend(network.layers[layer].sources.iter().flatten()),
                _ => needed.push(layer),
            }
        }
        needed
    };
    let makes = |task: &Task| [Some(task.layer), task.pooling];
    let (mut ordered, mut made): (Vec<Task>, Vec<usize>) = (Vec::new(), Vec::new());
    let constants = network
        .layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| matches!(layer.operation, Operation::Constant(_)));
    made.extend(constants.map(|(place, _)| place));
    while !tasks.is_empty() {
        let ready = |task: &Task| needs(task).iter().all(|layer| made.contains(layer));
        let last: Vec<usize> =
            ordered.last().map_or(Vec::new(), |task| makes(task).into_iter().flatten().collect());
        let waits = |task: &Task| needs(task).iter().any(|layer| last.contains(layer));
        let first = tasks.iter().position(ready).unwrap_or(0);
        let next = tasks.iter().position(|task| ready(task) && !waits(task)).unwrap_or(first);
        let task = tasks.remove(next);
        made.extend(makes(&task).into_iter().flatten());
        ordered.push(task);
    }
    ordered
}

/// The parts of a convolution.
fn parts(
    network: &Network,
    values: &Values,
    (layer, cubes): (&NetworkLayer, u32),
    convolution: &Convolution,
    config: &Config,
) -> Result<Vec<Part>, PlanError> {
    let source = values.of_source(layer.sources[0]);
    let part = |channels: Range<u32>, kernels: Range<u32>, pixels: Option<Pixels>| {
        part((layer, cubes), convolution, channels, kernels, pixels, config).map_err(
            |TooLarge { data, weights }| {
                let banks = config.cbuf_banks;
                PlanError::ConvolutionBuffer { layer: layer.name.clone(), data, weights, banks }
            },
        )
    };
    let channels = match &source.tensor.form {
        Form::Pixels { .. } => {
            let pixels = Pixels::of(network.input.channels);
            return Ok(vec![part(0..pixels.components, 0..convolution.kernels, Some(pixels))?]);
        }
        Form::Features { channels, .. } => channels,
    };
    let together = groups_together(layer, convolution, channels, config);
    let makes = convolution.kernels / convolution.groups;
    (0..convolution.groups)
        .step_by(together as usize)
        .map(|first| {
            let groups = first..(first + together).min(convolution.groups);
            let kernels = groups.start * makes..groups.end * makes;
            part(seen(&groups, layer, convolution, channels, config), kernels, None)
        })
        .collect()
}

/// Cycles that a hardware layer takes beside its products: registers, and the way through memory and pipeline.
const LAYER_CYCLES: u64 = 1000;

/// The places of the channels that some groups see, in whole atoms.
fn seen(
    groups: &Range<u32>,
    layer: &NetworkLayer,
    convolution: &Convolution,
    channels: &Channels,
    config: &Config,
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
    let atom = config.memory_atom;
    first / atom * atom..(last + 1).next_multiple_of(atom).min(channels.places())
}

/// How many groups of a grouped convolution a hardware layer multiplies, with zeros for what groups do not see of each other.
/// Hardware knows no groups. A hardware layer reads and writes whole atoms: where groups are narrower than that, as in
/// depthwise convolutions, the array multiplies by zeros. Fewer groups together are fewer zeros and more hardware layers.
fn groups_together(
    layer: &NetworkLayer,
    convolution: &Convolution,
    channels: &Channels,
    config: &Config,
) -> u32 {
    let groups = convolution.groups;
    let makes = convolution.kernels / groups;
    let whole = |together: u32| together == groups || (together * makes).is_multiple_of(config.memory_atom);
    let [columns, rows] = convolution.window.size.map(u64::from);
    let positions = u64::from(layer.output.width) * u64::from(layer.output.height);
    let cost = |together: &u32| -> u64 {
        let of_layer = |first: u32| {
            let groups = first..(first + together).min(groups);
            let channels = seen(&groups, layer, convolution, channels, config);
            let blocks = u64::from((channels.len() as u32).div_ceil(config.mac_atomic_c));
            let kernels = u64::from((groups.len() as u32 * makes).div_ceil(config.mac_atomic_k));
            positions * columns * rows * blocks * kernels + LAYER_CYCLES
        };
        (0..groups).step_by(*together as usize).map(of_layer).sum()
    };
    (1..=groups).filter(|&together| whole(together)).min_by_key(cost).unwrap_or(groups)
}

/// A part, of so many cubes at once.
fn part(
    (layer, cubes): (&NetworkLayer, u32),
    convolution: &Convolution,
    channels: Range<u32>,
    kernels: Range<u32>,
    pixels: Option<Pixels>,
    config: &Config,
) -> Result<Part, TooLarge> {
    let window = convolution.window;
    let count = channels.len() as u32;
    let (entries, line_bytes, weights) = match pixels {
        Some(Pixels { components, .. }) => {
            let padded = window.before[0] + layer.input.width + window.after[0];
            let shape = |rows_at_once| WeightShape {
                kernels: kernels.len() as u32,
                rows: window.size[1],
                columns: 1,
                channels: window.size[0] * components,
                rows_at_once,
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
            let line = u64::from(layer.input.width * components);
            (entries_of_pixels(padded * components, config), line, shape)
        }
        None => {
            let shape = Shape { channels: count, ..layer.input };
            let weights = WeightShape {
                kernels: kernels.len() as u32,
                rows: window.size[1],
                columns: window.size[0],
                channels: count,
                rows_at_once: 1,
            };
            let atoms = count.div_ceil(config.memory_atom) * layer.input.width;
            let line = u64::from(atoms * config.memory_atom);
            (entries_per_line(shape, config), line, weights)
        }
    };
    let work = Work {
        height: layer.input.height,
        entries: entries * cubes,
        line_bytes: line_bytes * u64::from(cubes),
        window,
        outputs: layer.output.height,
        weights,
        least_lines: if layer.output.width == 1 { 2 } else { 1 },
    };
    let cuts = cut::cuts(&work, config)?;
    Ok(Part { channels, kernels, pixels, entries, weights, cuts })
}
