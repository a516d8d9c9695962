//! Loadables made of networks: what the planner has decided, in the vendor's form.
//!
//! ```text
//! network, configuration ─► Plan                 cuts, banks, places, fusion               (network::plan)
//!   memories of the plan ─► memories, addresses  input and outputs apart                   (memory)
//!   a step's registers   ─► descriptors          the inverse of what the driver does       (groups, descriptors)
//!   who waits for whom   ─► dependency graph     as the driver's chains have it            (dependencies)
//!   lists of a task      ─► blobs                                                          (task, lists)
//!   a soft-max           ─► task of the runtime's emulator, if asked                       (emulator)
//!   the loadable, read   ─► the same layers?     by the driver's own register writes       (check)
//! Contents ─► bytes                                                                        (container)
//! ```
//!
//! Facts about what the vendor's runtime and driver take are those of nvdla/sw: `Runtime.cpp`, `Loadable.cpp` and the firmware's `scheduler.c`,
//! `conv.c`, `sdp.c`, `pdp.c`. `rules` names those that a plan can break.
//!
//! # Where to add a rule
//!
//! A rule of the vendor's runtime or driver stands in `rules`, and as a row in `docs/loadables.md`. What the driver writes to registers is in
//! `loadable::registers`, whose inverse `descriptors` is; `check` holds both together.

mod check;
mod dependencies;
mod descriptors;
mod emulator;
mod error;
mod groups;
mod lists;
mod memory;
mod options;
mod outside;
mod rules;
mod task;
mod tensors;

pub use error::{CompileError, CpuLayer, CpuWork};
pub use options::{CompileOptions, SoftMaxBy};

use self::check::Driven;
use self::emulator::SoftMaxTask;
use self::memory::LoadableMemory;
use self::task::TaskStep;
use super::contents::{BlobTable, Contents, MemoryTable, SubmitTable};
use super::network::operations;
use super::places::Places;
use super::{Loadable, MAX_MEMORY_BYTES, Processor, Version, layout};
use crate::network::{Cpu, Memories, Network, Plan, PlanOptions, PlanStep, Work};
use std::ops::Range;
use vp_models::nvdla::config::Config;

/// Most memories of a loadable. The runtime keeps a file descriptor for each, of which a process has 1024.
const MOST_MEMORIES: usize = 900;

/// A loadable, and what it was made of.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Tables of the file.
    pub contents: Contents,
    /// The plan that it says.
    pub plan: Plan,
    /// The network without what the application does.
    pub network: Network,
    /// Layers behind the loadable's, which the application does: their names, each with what the CPU does.
    pub left: Vec<String>,
}

impl Compiled {
    /// Names of the layers that the runtime does on the CPU.
    pub fn on_cpu(&self) -> impl Iterator<Item = &str> {
        self.plan.steps.iter().filter(|step| is_on_cpu(step)).map(|step| step.name.as_str())
    }

    /// Gives the input (0) or an output another name than its layer's, which the application knows it by.
    pub fn name_end(&mut self, end: usize, name: &str) {
        if let Some(tensor) = self.contents.tensors.get_mut(end) {
            tensor.name = tensors::named(name);
        }
    }

    /// Puts an input into the loadable, as its memory has it ([`Tensor::pack`](crate::network::Tensor::pack)). The application then binds none.
    pub fn fix_input(&mut self, memory: Vec<u8>) {
        const NAME: &str = "input";
        let size = memory.len() as u64;
        self.contents.blobs.push(BlobTable {
            name: NAME.to_owned(),
            size,
            data: memory,
            ..BlobTable::default()
        });
        // Input comes first.
        if let Some(input) = self.contents.memories.first_mut() {
            input.flags = MemoryTable::ALLOC | MemoryTable::SET;
            (input.contents, input.offsets) = (vec![NAME.to_owned()], vec![0]);
        }
    }
}

/// Makes a loadable of a network, for a configuration and for the drivers that the options name.
///
/// Layers of the CPU at the network's end are left to the application, which [`Compiled::left`] names; a soft-max may be the runtime's.
///
/// # Errors
/// When the network has no plan, or the vendor's runtime or driver could not do what the plan says.
pub fn compile(
    network: &Network,
    config: &Config,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let &CompileOptions { plan: of_plan, generation, soft_max } = options;
    let of_plan = PlanOptions { frames: 1, ends_apart: true, ..of_plan };
    // The runtime gives memory as it likes; the plan's addresses are offsets in it.
    let memories = Memories { primary: 0..MAX_MEMORY_BYTES, secondary: 0..MAX_MEMORY_BYTES };
    let plan = |network: &Network| Plan::with(network, config, &memories, &of_plan);
    let (network, left) = outside::without_end(network, &plan(network)?, soft_max)?;
    let plan = plan(&network)?;
    outside::refuse_cpu(&network, &plan, soft_max)?;
    rules::check(&plan, config)?;
    let mut contents = Contents { version: Version(0, 7, 0), ..Contents::default() };
    let outputs = network.outputs.iter().map(|&output| network.layers[output].name.as_str());
    let mut memory = LoadableMemory::of(&plan, outputs, generation, &mut contents)?;
    tensors::describe(&network, &plan, &mut contents)?;
    for part in parts(&plan) {
        let both = (&mut contents, &mut memory);
        match &plan.steps[part.start].work {
            Work::Cpu { task: Cpu::SoftMax(scale), from, to } => {
                let (layer, scale) = (plan.steps[part.start].name.as_str(), *scale);
                emulator::add(both, generation, SoftMaxTask { layer, scale, from: &from[0], to })?;
            }
            _ => {
                let (steps, tables) = steps((&plan, part), config);
                task::add(both, generation, (&steps, &tables))?;
            }
        }
    }
    if contents.memories.len() > MOST_MEMORIES {
        return Err(CompileError::Memories { found: contents.memories.len(), most: MOST_MEMORIES });
    }
    let all = contents.tasks.iter().map(|task| task.id).collect();
    contents.submits.push(SubmitTable { id: 0, tasks: all });
    check(&contents, &memory, (&plan, config))?;
    Ok(Compiled { contents, plan, network, left })
}

fn is_on_cpu(step: &PlanStep) -> bool {
    matches!(step.work, Work::Cpu { .. })
}

/// Steps of each task, one after the other: those between two of the CPU's together, each of the CPU's alone.
fn parts(plan: &Plan) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    plan.steps.chunk_by(|one, next| !is_on_cpu(one) && !is_on_cpu(next)).map(move |part| {
        at += part.len();
        at - part.len()..at
    })
}

/// Descriptors of a task's steps, and the tables that they look up in.
fn steps((plan, part): (&Plan, Range<usize>), config: &Config) -> (Vec<TaskStep>, Vec<layout::Lut>) {
    let (map, atom) = (config.register_map, config.memory_atom);
    // Tables of the plan, in the order of the task's.
    let mut used: Vec<usize> = Vec::new();
    let mut steps = Vec::new();
    for step in &plan.steps[part.clone()] {
        // The CPU's are tasks of their own, and copies go into SRAM, which was refused.
        let Work::Hardware { units, program, table, .. } = &step.work else { continue };
        let groups = groups::Groups::after(map, program);
        let table = table.map(|table| {
            let known = used.iter().position(|&known| known == table);
            known.unwrap_or_else(|| {
                used.push(table);
                used.len() - 1
            }) as i16
        });
        let operations = descriptors::of(&groups, units, atom, table);
        // What is in a task before is done.
        let of_task = step.after.iter().filter(|&&before| before >= part.start);
        steps.push(TaskStep { operations, after: of_task.map(|before| before - part.start).collect() });
    }
    let tables = used.into_iter().map(|table| descriptors::look_up(map, &plan.tables[table]));
    (steps, tables.collect())
}

/// Checks that what is written is read as the plan's layers.
fn check(
    contents: &Contents,
    memory: &LoadableMemory,
    (plan, config): (&Plan, &Config),
) -> Result<(), CompileError> {
    let loadable = Loadable::of(contents)?;
    let places = Places::at(config.register_map, config.memory_atom, memory.bases());
    let mut driven = Driven::new(config);
    for (task, part) in loadable.tasks().iter().zip(parts(plan)) {
        if task.processor == Processor::Cpu {
            continue;
        }
        let operations = operations(&loadable, task)?;
        let mut all = operations.iter();
        for step in &plan.steps[part] {
            let Work::Hardware { units, program, table, .. } = &step.work else { continue };
            let count = descriptors::count(units);
            let own: Vec<_> = all.by_ref().take(count).collect();
            let table = table.map(|table| &plan.tables[table]);
            driven.check(&step.name, &own, &places, (program, table))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
