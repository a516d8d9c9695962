//! Layers that no unit does: those at the end are the application's, which has the outputs anyway, and joins what no tensor descriptor has;
//! between layers the runtime would have to do them, and it has no task but for soft-max.

use super::error::{CompileError, CpuLayer, CpuWork};
use super::options::SoftMaxBy;
use crate::network::{Cpu, Form, Network, NetworkLayer, Operation, Plan, PlanStep, Work};

/// A network without the layers at its end that the CPU does and the runtime does not, or whose output has gaps, and the names of those.
///
/// # Errors
/// When nothing is left.
pub(super) fn without_end(
    network: &Network,
    plan: &Plan,
    soft_max: SoftMaxBy,
) -> Result<(Network, Vec<String>), CompileError> {
    let mut on_cpu = on_cpu(network, plan, soft_max);
    for (&at, tensor) in network.outputs.iter().zip(&plan.outputs) {
        let layer = &network.layers[at];
        let has_gaps = matches!(&tensor.form, Form::Features { channels, .. } if !channels.is_plain());
        if has_gaps && layer.operation == Operation::Concatenation {
            on_cpu[at]
                .get_or_insert_with(|| CpuLayer { name: layer.name.clone(), work: CpuWork::Concatenation });
        }
    }
    // What only joins or cuts goes with what it joins or cuts.
    let mut made: Vec<bool> = on_cpu.iter().map(Option::is_some).collect();
    for (at, layer) in network.layers.iter().enumerate() {
        let of_made = layer.sources.iter().flatten().any(|&source| made[source]);
        made[at] |= is_silent(layer) && of_made;
    }
    let mut ends = made;
    for at in (0..network.layers.len()).rev() {
        let reads = |layer: &NetworkLayer| layer.sources.contains(&Some(at));
        let readers = network.layers.iter().enumerate().filter(|(_, layer)| reads(layer));
        ends[at] &= readers.map(|(reader, _)| reader).all(|reader| ends[reader]);
    }
    let left: Vec<CpuLayer> =
        (0..ends.len()).filter(|&at| ends[at]).filter_map(|at| on_cpu[at].clone()).collect();
    if left.is_empty() {
        return Ok((network.clone(), Vec::new()));
    }
    let mut outputs: Vec<usize> = network.outputs.iter().copied().filter(|&at| !ends[at]).collect();
    let behind = network.layers.iter().enumerate().filter(|&(at, _)| ends[at]);
    for source in behind.flat_map(|(_, layer)| layer.sources.iter().flatten().copied()) {
        if !ends[source] && !outputs.contains(&source) {
            outputs.push(source);
        }
    }
    if outputs.is_empty() {
        return Err(CompileError::Cpu { layers: left });
    }
    Ok((kept(network, &ends, &outputs), left.iter().map(ToString::to_string).collect()))
}

/// The layers that are not at the end, with these outputs.
fn kept(network: &Network, ends: &[bool], outputs: &[usize]) -> Network {
    let mut places = Vec::new();
    let mut next = 0;
    for &is_end in ends {
        places.push(next);
        next += usize::from(!is_end);
    }
    let mut kept = network.clone();
    let mut at = 0..ends.len();
    kept.layers.retain(|_| at.next().is_none_or(|at| !ends[at]));
    for source in kept.layers.iter_mut().flat_map(|layer| &mut layer.sources).flatten() {
        *source = places[*source];
    }
    kept.outputs = outputs.iter().map(|&output| places[output]).collect();
    kept.demands.retain(|demand| demand.layer.is_none_or(|layer| !ends[layer]));
    for layer in kept.demands.iter_mut().filter_map(|demand| demand.layer.as_mut()) {
        *layer = places[*layer];
    }
    let mut at = 0..ends.len();
    kept.lines.layers.retain(|_| at.next().is_none_or(|at| !ends[at]));
    kept
}

/// Refuses a network between whose layers the CPU has work that is not the runtime's.
///
/// # Errors
/// [`CompileError::Cpu`] with all such layers.
pub(super) fn refuse_cpu(network: &Network, plan: &Plan, soft_max: SoftMaxBy) -> Result<(), CompileError> {
    let layers: Vec<CpuLayer> = on_cpu(network, plan, soft_max).into_iter().flatten().collect();
    if layers.is_empty() { Ok(()) } else { Err(CompileError::Cpu { layers }) }
}

/// Of each layer its name and what the CPU does, where the CPU does it and the runtime does not.
fn on_cpu(network: &Network, plan: &Plan, soft_max: SoftMaxBy) -> Vec<Option<CpuLayer>> {
    let mut on_cpu = vec![None; network.layers.len()];
    for PlanStep { layer, work, .. } in &plan.steps {
        if let Work::Cpu { task, .. } = work {
            let NetworkLayer { name, input, output, operation, .. } = &network.layers[*layer];
            let is_pixel = matches!(operation, Operation::Slice(_))
                && [output.width, output.height] == [1, 1]
                && [input.width, input.height] != [1, 1];
            let work = match task {
                Cpu::SoftMax(_) if soft_max == SoftMaxBy::Runtime => continue,
                Cpu::SoftMax(_) => CpuWork::SoftMax,
                Cpu::Table(_) => CpuWork::Table,
                Cpu::Slice(_) if is_pixel => CpuWork::Pixel,
                Cpu::Slice(_) => CpuWork::PartOfAtom,
                Cpu::Program(_) => CpuWork::Graph,
            };
            on_cpu[*layer] = Some(CpuLayer { name: name.clone(), work });
        }
    }
    on_cpu
}

fn is_silent(layer: &NetworkLayer) -> bool {
    matches!(layer.operation, Operation::Concatenation | Operation::Slice(_))
}
