//! Loadables made of networks: what the planner has decided, in the vendor's form.
//!
//! ```text
//! network, configuration ─► Plan                 cuts, banks, places, fusion               (network::plan)
//!   memories of the plan ─► memories, addresses  input and outputs apart                   (memory)
//!   a step's registers   ─► descriptors          the inverse of what the driver does       (groups, descriptors)
//!   who waits for whom   ─► dependency graph     as the driver's chains have it            (dependencies)
//!   lists of a task      ─► blobs                                                          (task)
//!   the loadable, read   ─► the same layers?     by the driver's own register writes       (check)
//! Contents ─► bytes                                                                        (container)
//! ```
//!
//! Facts about what the vendor's runtime and driver take are those of nvdla/sw: `Runtime.cpp`, `Loadable.cpp` and the firmware's `scheduler.c`,
//! `conv.c`, `sdp.c`, `pdp.c`. [`rules`] names those that a plan can break.

mod check;
mod dependencies;
mod descriptors;
mod error;
mod groups;
mod memory;
mod outside;
mod rules;
mod task;
mod tensors;

pub use error::CompileError;

use self::check::Driven;
use self::memory::LoadableMemory;
use self::task::{StepWork, TaskStep};
use super::contents::{BlobTable, Contents, MemoryTable, SubmitTable};
use super::network::operations;
use super::places::Places;
use super::{Generation, Loadable, MAX_MEMORY_BYTES, Version};
use crate::network::{Memories, Network, Plan, PlanOptions, PlanStep, Work};
use vp_models::nvdla::config::Config;

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

/// Makes a loadable of a network, for a configuration and for drivers of a generation.
///
/// Layers of the CPU at the network's end are left to the application, which [`Compiled::left`] names.
///
/// # Errors
/// When the network has no plan, or the vendor's runtime or driver could not do what the plan says.
pub fn compile(
    network: &Network,
    config: &Config,
    options: &PlanOptions,
    generation: Generation,
) -> Result<Compiled, CompileError> {
    let options = PlanOptions { frames: 1, ends_apart: true, ..*options };
    // The runtime gives memory as it likes; the plan's addresses are offsets in it.
    let memories = Memories { primary: 0..MAX_MEMORY_BYTES, secondary: 0..MAX_MEMORY_BYTES };
    let plan = |network: &Network| Plan::with(network, config, &memories, &options);
    let (network, left) = outside::without_end(network, &plan(network)?)?;
    let plan = plan(&network)?;
    outside::refuse_cpu(&network, &plan)?;
    rules::check(&plan, config)?;
    let mut contents = Contents { version: Version(0, 7, 0), ..Contents::default() };
    let outputs = network.outputs.iter().map(|&output| network.layers[output].name.as_str());
    let mut memory = LoadableMemory::of(&plan, outputs, generation, &mut contents)?;
    tensors::describe(&network, &plan, &mut contents)?;
    let steps = steps(&plan, config)?;
    let map = config.register_map;
    let tables: Vec<_> = plan.tables.iter().map(|table| descriptors::look_up(map, table)).collect();
    task::add(&mut contents, &mut memory, generation, (&steps, &tables))?;
    let all = contents.tasks.iter().map(|task| task.id).collect();
    contents.submits.push(SubmitTable { id: 0, tasks: all });
    check(&contents, &memory, (&plan, config))?;
    Ok(Compiled { contents, plan, network, left })
}

/// Descriptors of a plan's steps.
fn steps(plan: &Plan, config: &Config) -> Result<Vec<TaskStep>, CompileError> {
    let (map, atom) = (config.register_map, config.memory_atom);
    let step = |step: &PlanStep| {
        let refused = |refused| CompileError::Refused { layer: step.name.clone(), refused };
        let work = match &step.work {
            Work::Hardware { units, program, table, .. } => {
                let groups = groups::Groups::after(map, program);
                let table = table.map(|table| table as i16);
                StepWork::Layer(descriptors::of(&groups, units, atom, table))
            }
            Work::Copy { program, .. } => {
                StepWork::Copies(descriptors::copies(map, program).map_err(refused)?)
            }
            Work::Cpu { .. } => unreachable!("a network with such a layer was refused"),
        };
        Ok(TaskStep { work, after: step.after.clone() })
    };
    plan.steps.iter().map(step).collect()
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
    for task in loadable.tasks() {
        let operations = operations(&loadable, task)?;
        let mut all = operations.iter();
        for step in &plan.steps {
            let Work::Hardware { units, program, table, .. } = &step.work else {
                all.next();
                continue;
            };
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
