//! Traffic of tasks with each memory in a run of the plan: what is saved where it is in SRAM.

use super::batch::Batch;
use super::parts::ConvolutionPart;
use super::task::Task;
use super::values::Values;
use crate::network::description::{Network, NetworkLayer, Operation};
use crate::network::layout::{Form, Tensor};
use std::ops::RangeInclusive;

/// Use of one memory of a cube.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// From the task that first writes it to the one that last reads it; nobody's if there is none: what a pooling takes on the fly
    /// is in no memory.
    pub(super) life: Option<RangeInclusive<usize>>,
    /// Bytes that hardware reads and writes in a run of the plan, all frames together.
    pub(super) traffic: u64,
    /// The CPU makes it, or reads it.
    pub(super) is_of_cpu: bool,
    /// True if it comes from outside, or goes there.
    pub(super) is_end: bool,
}

/// A task reads what a source gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) source: Option<usize>,
    /// The task's place.
    pub(super) task: usize,
    /// Bytes that hardware reads of it for one frame; none where the CPU does.
    pub(super) bytes: u64,
}

/// Returns the reads of cubes by tasks.
pub(super) fn reads(network: &Network, values: &Values, tasks: &[Task]) -> Vec<Read> {
    let of_task = |(at, task): (usize, &Task)| {
        let layer = &network.layers[task.layer];
        let sources = layer.sources.iter().enumerate();
        let read = sources.map(|(place, &source)| {
            let tensor = &values.of_source(source).tensor;
            let bytes = if task.cpu.is_some() { 0 } else { read(layer, place, tensor, task) };
            Read { source, task: at, bytes }
        });
        read.collect::<Vec<_>>()
    };
    tasks.iter().enumerate().flat_map(of_task).collect()
}

/// The usage of each of the cubes' memories.
pub(super) fn usages(
    network: &Network,
    values: &Values,
    tasks: &[Task],
    reads: &[Read],
    batch: &Batch,
) -> Vec<Usage> {
    let mut usages = vec![Usage::default(); values.storages.len()];
    let mut used = |storage: usize, at: usize, traffic: u64| {
        let usage = &mut usages[storage];
        let life = usage.life.get_or_insert(at..=at);
        *life = *life.start().min(&at)..=*life.end().max(&at);
        usage.traffic += traffic * u64::from(batch.frames);
    };
    // The input is there before all, the outputs are there behind all.
    let input = values.of_source(None).storage;
    let outputs = network.outputs.iter().map(|&layer| values.of_layer(layer).storage);
    used(input, 0, 0);
    outputs.clone().for_each(|output| used(output, tasks.len(), 0));
    let mut of_cpu = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        let layer = &network.layers[task.layer];
        let made = values.of_layer(task.pooling.unwrap_or(task.layer));
        let is_cpu = task.cpu.is_some();
        used(made.storage, at, if is_cpu { 0 } else { moved(&made.tensor, task) });
        for source in layer.sources.iter().filter(|_| is_cpu) {
            of_cpu.push([values.of_source(*source).storage, made.storage]);
        }
    }
    for read in reads {
        used(values.of_source(read.source).storage, read.task, read.bytes);
    }
    of_cpu.into_iter().flatten().for_each(|storage| usages[storage].is_of_cpu = true);
    outputs.chain([input]).for_each(|storage| usages[storage].is_end = true);
    usages
}

/// Bytes that SDP or another unit moves of a whole cube: by Winograd's method those of whole tiles.
fn moved(tensor: &Tensor, task: &Task) -> u64 {
    if task.makes_tiles() { tensor.bytes() } else { tensor.bytes_moved() }
}

/// Bytes that a task reads of a layer's source, for one frame.
fn read(layer: &NetworkLayer, place: usize, source: &Tensor, task: &Task) -> u64 {
    let is_convolved = matches!(layer.operation, Operation::Convolution(_)) && place == 0;
    if !is_convolved {
        return moved(source, task);
    }
    let lines = |part: &ConvolutionPart| part.cuts.iter().map(|cut| cut.inputs.len() as u64).sum::<u64>();
    task.parts.iter().map(|part| lines(part) * line_bytes(part, source)).sum()
}

/// Bytes that a part of a convolution reads of a line of its source.
pub(super) fn line_bytes(part: &ConvolutionPart, source: &Tensor) -> u64 {
    match &source.form {
        Form::Features { atom, .. } => {
            u64::from((part.channels.len() as u32).next_multiple_of(*atom)) * u64::from(source.shape.width)
        }
        Form::Pixels { bytes, .. } => u64::from(source.shape.width * bytes),
    }
}
