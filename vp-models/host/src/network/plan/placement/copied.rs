//! Choice of the tensors that BDMA copies into what is free of SRAM.
//!
//! A copy reads its tensor once from DRAM. It is made where readers would read more of it there, and by more than a hardware layer counts
//! as elsewhere in the planner: a copy has registers and an interrupt too.

use super::choice::Allocation;
use super::{InSram, Placing, Unplaced};
use crate as host;
use crate::network::cut::LAYER_CYCLES;
use crate::network::description::Demand;
use crate::network::layout::MemoryAddress;
use crate::network::plan::memory::Memory;
use crate::network::plan::traffic::Read;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use vp_models::nvdla::bdma::layer::ATOM;
use vp_models::nvdla::config::Config;

/// Tensor or constant that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::network::plan) enum Copied {
    /// Weights or biases, by their place among the constants.
    Constant(usize),
    /// Cube that a source gives.
    Cube(Option<usize>),
}

/// A tensor that BDMA copies into SRAM, from where it is read.
#[derive(Clone, Debug)]
pub(in crate::network::plan) struct Copy {
    pub(in crate::network::plan) of: Copied,
    /// The task before whose steps the copy is begun: one before the first reader's, if all is there by then, so that it is made while
    /// that one runs.
    pub(in crate::network::plan) begin: usize,
    /// The tasks that read it: at least one, in order.
    pub(in crate::network::plan) readers: Vec<usize>,
    /// Place of the copy.
    pub(in crate::network::plan) place: MemoryAddress,
    /// Bytes that are copied, in BDMA's unit.
    pub(in crate::network::plan) bytes: u64,
}

/// A copy that would be of use.
#[derive(Clone, Debug)]
struct Useful {
    of: Copied,
    begin: usize,
    readers: Vec<usize>,
    bytes: u64,
    /// Bytes over DBBIF that it saves in a run of the plan.
    saved: u64,
}

impl Useful {
    fn at(&self, address: u64) -> Copy {
        let Useful { of, begin, ref readers, bytes, .. } = *self;
        let place = MemoryAddress { memory: host::Memory::Secondary, address };
        Copy { of, begin, readers: readers.clone(), place, bytes }
    }

    fn allocation(&self) -> Allocation {
        let last = self.readers.last().copied().unwrap_or(self.begin);
        Allocation { bytes: self.bytes, life: self.begin..=last }
    }
}

impl Placing<'_> {
    /// Adds copies where SRAM is free for as long as they are needed, and tells how many bytes over DBBIF they save. They are tried in
    /// three orders, as activations are, and the one that saves most is taken.
    pub(super) fn add_copies(
        &self,
        in_sram: &mut InSram,
        room: Range<u64>,
        demands: &[Option<&Demand>],
        config: &Config,
    ) -> u64 {
        let per = |saved: u64, of: u64| u128::from(saved) * 1_000_000 / u128::from(of.max(1));
        let orders: [&dyn Fn(&Useful) -> u128; 3] = [
            &|it| per(it.saved, it.bytes),
            &|it| per(it.saved, it.bytes * it.allocation().length()),
            &|it| it.saved.into(),
        ];
        let [shared, alone] = self.useful_cubes(in_sram, demands, config);
        let first = [self.useful_constants(in_sram, config), shared].concat();
        let mut best: Option<(u64, Memory, Vec<Copy>)> = None;
        for worth in orders {
            let mut memory = self.free(in_sram, room.clone());
            let mut copies = Vec::new();
            let mut saved = 0;
            for round in [&first, &alone] {
                let mut order: Vec<&Useful> = round.iter().collect();
                order.sort_by_key(|it| Reverse(worth(it)));
                let known: HashSet<Copied> = copies.iter().map(|copy: &Copy| copy.of).collect();
                for useful in order.into_iter().filter(|it| !known.contains(&it.of)) {
                    let Allocation { bytes, life } = useful.allocation();
                    let Ok(address) = memory.allocate("", bytes, life) else { continue };
                    saved += useful.saved;
                    copies.push(useful.at(address));
                }
            }
            if best.as_ref().is_none_or(|(most, ..)| saved > *most) {
                best = Some((saved, memory, copies));
            }
        }
        let Some((saved, memory, copies)) = best else { return 0 };
        in_sram.used = in_sram.used.max(memory.used());
        in_sram.copies = copies;
        saved
    }

    /// SRAM with what lies there already.
    fn free(&self, in_sram: &InSram, room: Range<u64>) -> Memory {
        let mut memory = Memory::new(room);
        for (constant, address) in self.constants.iter().zip(&in_sram.constants) {
            if let Some(address) = *address {
                memory.occupy(address..address + constant.bytes.len() as u64, 0..=self.tasks.len());
            }
        }
        for (storage, address) in in_sram.storages.iter().enumerate() {
            if let (Some(address), Some(allocation)) = (*address, self.allocation(storage)) {
                memory.occupy(address..address + allocation.bytes, allocation.life);
            }
        }
        memory
    }

    /// Weights and biases of which hardware layers read more than one copy would.
    fn useful_constants(&self, in_sram: &InSram, config: &Config) -> Vec<Useful> {
        // Those of the network's own are cubes.
        let of_operands =
            self.constants.len() - (0..self.usages.len()).filter(|&at| self.is_constant(at)).count();
        let task_of: HashMap<usize, usize> =
            self.tasks.iter().enumerate().map(|(at, task)| (task.layer, at)).collect();
        let useful = |(at, constant): (usize, &Unplaced)| {
            let task = *task_of.get(&constant.layer)?;
            if in_sram.constants[at].is_some() || self.demand_of_weights(constant.layer).is_some() {
                return None;
            }
            let of = Copied::Constant(at);
            self.useful((of, vec![task], None), constant.bytes.len() as u64, constant.traffic, config)
        };
        self.constants[..of_operands].iter().enumerate().filter_map(useful).collect()
    }

    /// Cubes of which tasks read more than one copy would: one copy for all of them, and of those that one task reads often one for it.
    fn useful_cubes(
        &self,
        in_sram: &InSram,
        demands: &[Option<&Demand>],
        config: &Config,
    ) -> [Vec<Useful>; 2] {
        let is_free = |source: Option<usize>| {
            let storage = self.values.of_source(source).storage;
            // Of a part of a cube lines and surfaces do not follow each other.
            self.values.of_source(source).part_of.is_none()
                && in_sram.storages[storage].is_none()
                && demands[storage].is_none()
                && !self.is_constant(storage)
        };
        // Of what runs once for several frames each frame's cube is one of several.
        let is_read = |read: &&Read| {
            read.bytes > 0 && !self.batch.is_last(self.tasks[read.task].layer) && is_free(read.source)
        };
        let mut reads: Vec<&Read> = self.reads.iter().filter(is_read).collect();
        reads.sort_by_key(|read| (read.source, read.task));
        let mut writers: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, task) in self.tasks.iter().enumerate() {
            let storage = self.values.of_layer(task.pooling.unwrap_or(task.layer)).storage;
            writers.entry(storage).or_default().push(at);
        }
        let (mut shared, mut alone) = (Vec::new(), Vec::new());
        for of_source in reads.chunk_by(|one, other| one.source == other.source) {
            shared.extend(self.useful_cube(of_source, &writers, config));
            let of_tasks = of_source.chunk_by(|one, other| one.task == other.task);
            alone.extend(of_tasks.filter_map(|of_task| self.useful_cube(of_task, &writers, config)));
        }
        [shared, alone]
    }

    /// A copy for all that these reads of one source, in the order of their tasks, want of it.
    /// `writers` are the tasks that write each of the cubes' memories, in order.
    fn useful_cube(
        &self,
        reads: &[&Read],
        writers: &HashMap<usize, Vec<usize>>,
        config: &Config,
    ) -> Option<Useful> {
        let (first, source) = (reads.first()?.task, reads.first()?.source);
        let mut readers: Vec<usize> = reads.iter().map(|read| read.task).collect();
        readers.dedup();
        let value = self.values.of_source(source);
        let writers = writers.get(&value.storage).map_or(&[][..], Vec::as_slice);
        let made = writers[..writers.partition_point(|&task| task < first)].last().copied();
        let read: u64 = reads.iter().map(|read| read.bytes).sum();
        let traffic = read * u64::from(self.batch.frames);
        self.useful((Copied::Cube(source), readers, made), value.tensor.bytes(), traffic, config)
    }

    /// A copy of so many bytes of which readers read so many in a run of the plan, if it is of use; `made` is the task that writes the
    /// tensor last before it is read.
    fn useful(
        &self,
        (of, readers, made): (Copied, Vec<usize>, Option<usize>),
        bytes: u64,
        traffic: u64,
        config: &Config,
    ) -> Option<Useful> {
        let first = *readers.first()?;
        let is_last = |task: usize| self.batch.is_last(self.tasks[task].layer);
        let before = first.checked_sub(1);
        let before =
            before.filter(|&task| made.is_none_or(|made| made < task) && is_last(task) == is_last(first));
        // What runs once for all frames comes behind all else, and is copied once.
        let copies = if is_last(first) { 1 } else { u64::from(self.batch.frames) };
        let bytes = bytes.next_multiple_of(ATOM.into());
        let job = LAYER_CYCLES * u64::from(config.primary_width / 8);
        let saved = traffic.checked_sub(copies * bytes)?;
        (saved > copies * job).then(|| Useful { of, begin: before.unwrap_or(first), readers, bytes, saved })
    }
}
