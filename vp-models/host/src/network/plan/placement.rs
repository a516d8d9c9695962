//! Choice of the tensors that lie in SRAM, the memory behind SRAMIF, and places of everything in both memories.
//!
//! What the network's file demands goes there first. Then, by the policy, activations: those that save the most bytes of traffic over
//! DBBIF for each byte that they keep; tensors that do not live at the same time share addresses. Weights take what is left, if the
//! policy says so. What the CPU makes or reads, and what comes from outside or goes there, stays in DRAM unless the file
//! demands otherwise. What stays there and is read several times BDMA may copy into SRAM for as long as it is read.

mod choice;
mod copied;

use self::choice::{Allocation, Candidate, choose, pack};
use super::batch::Batch;
use super::memory::Memory;
use super::task::Task;
use super::traffic::{Read, Usage};
use super::values::Values;
use super::{Copies, PlanOptions};
use crate as host;
use crate::network::description::{Demand, Demanded, Network};
use crate::network::error::PlanError;
use crate::network::layout::MemoryAddress;
use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};
use strum::{Display, EnumString, VariantNames};
use vp_models::nvdla::config::Config;
use vp_models::platform::Description;
use vp_models::suggestion::UnknownWord;

pub(super) use self::copied::{Copied, Copy};

/// Tensors that a plan keeps in SRAM, beside those that the network's file demands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = Placement::unknown)]
pub enum Placement {
    /// None. The default: how large and how fast an SRAM is only its platform's file says, and the built-in platforms' is larger than
    /// any chip's.
    #[default]
    Dram,
    /// Outputs of layers, by the traffic that this saves.
    Activations,
    /// Activations, and in what is left weights and biases, those that are read most often first. They are there for good.
    All,
}

impl Placement {
    fn unknown(word: &str) -> UnknownWord {
        UnknownWord::of::<Placement>("placement", word)
    }

    /// Checks that a configuration has what this placement needs.
    ///
    /// # Errors
    /// When it needs SRAM and the configuration has no SRAMIF.
    pub fn check(self, config: &Config) -> Result<(), PlanError> {
        match self == Placement::Dram || config.secondary().is_some() {
            true => Ok(()),
            false => {
                let (config, asked) = (config.name.clone(), format!("placement = \"{self}\""));
                Err(PlanError::NoSram { config, asked, line: None })
            }
        }
    }
}

/// The addresses of the memories that a plan may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Memories {
    /// Behind DBBIF.
    pub primary: Range<u64>,
    /// Behind SRAMIF, where the configuration has that.
    pub secondary: Range<u64>,
}

impl Memories {
    /// All of a platform's.
    pub fn of(description: &Description) -> Memories {
        Memories { primary: description.dbb0.range(), secondary: description.sram0.range() }
    }
}

/// A constant before it is placed.
pub(super) struct Unplaced {
    /// Name of the constant.
    pub(super) what: String,
    pub(super) bytes: Vec<u8>,
    /// The layer that reads it.
    pub(super) layer: usize,
    /// Bytes that are read of it in a run of the plan.
    pub(super) traffic: u64,
}

/// Places of everything.
pub(super) struct Places {
    /// The cubes' memories; of one that nobody uses it means nothing.
    pub(super) storages: Vec<MemoryAddress>,
    pub(super) constants: Vec<MemoryAddress>,
    /// Copies that BDMA makes into SRAM.
    pub(super) copies: Vec<Copy>,
    /// Bytes that are used of the primary memory and of SRAM, from their starts.
    pub(super) used: [u64; 2],
}

/// Tensors and constants that are to be placed.
pub(super) struct Placing<'a> {
    pub(super) network: &'a Network,
    pub(super) values: &'a Values,
    pub(super) batch: &'a Batch,
    pub(super) usages: &'a [Usage],
    pub(super) reads: &'a [Read],
    /// Constants, those of the network's own last.
    pub(super) constants: &'a [Unplaced],
    pub(super) tasks: &'a [Task],
    /// Input and outputs share their memory with nobody.
    pub(super) ends_apart: bool,
}

/// Contents of SRAM.
#[derive(Clone, Default)]
struct InSram {
    storages: Vec<Option<u64>>,
    constants: Vec<Option<u64>>,
    copies: Vec<Copy>,
    used: u64,
}

impl Placing<'_> {
    /// Places all, as the options say: what is kept in SRAM, and how much of it may be used.
    pub(super) fn places(
        &self,
        config: &Config,
        memories: &Memories,
        options: &PlanOptions,
    ) -> Result<Places, PlanError> {
        let &PlanOptions { placement, sram_limit, .. } = options;
        let demands = self.demands()?;
        let is_asked = |demand: &&Demand| demand.memory == host::Memory::Secondary;
        let asking = self.network.demands.iter().find(is_asked);
        options.check(config)?;
        let copies = options.copies(config)?;
        let in_sram = match (placement, asking) {
            (Placement::Dram, None) if copies == Copies::Never => InSram::default(),
            (_, Some(demand)) if config.secondary().is_none() => {
                let (config, asked) = (config.name.clone(), demand.told(self.network));
                return Err(PlanError::NoSram { config, asked, line: demand.line });
            }
            _ => {
                let Range { start, end } = memories.secondary;
                let end = sram_limit.map_or(end, |limit| end.min(start.saturating_add(limit)));
                let in_sram = self.in_sram(start..end, placement, &demands)?;
                self.with_what_is_left(&in_sram, start..end, (placement, copies, config), &demands)
            }
        };
        self.in_dram(memories.primary.clone(), in_sram)
    }

    /// Returns the file's demand on each of the cubes' memories.
    fn demands(&self) -> Result<Vec<Option<&Demand>>, PlanError> {
        let mut demands: Vec<Option<&Demand>> = vec![None; self.values.storages.len()];
        for demand in self.network.demands.iter().filter(|demand| demand.of == Demanded::Output) {
            let known = &mut demands[self.values.of_source(demand.layer).storage];
            // What is concatenated is in one memory.
            if let Some(other) = known.filter(|other| other.memory != demand.memory) {
                let [one, other] = [demand, other].map(|demand| demand.told(self.network));
                return Err(PlanError::Contradiction { one, other, line: demand.line });
            }
            *known = Some(demand);
        }
        Ok(demands)
    }

    /// Returns the time for which a cube's memory is needed, and its size.
    fn allocation(&self, storage: usize) -> Option<Allocation> {
        let life = self.usages[storage].life.clone()?;
        // What is there for each frame is there while others run.
        let is_apart = self.ends_apart && self.usages[storage].is_end;
        let life = if is_apart || self.batch.is_copied(storage) { 0..=self.tasks.len() } else { life };
        Some(Allocation { bytes: self.batch.bytes(self.values, storage), life })
    }

    fn is_constant(&self, storage: usize) -> bool {
        self.values.storages[storage].constant.is_some()
    }

    fn in_sram(
        &self,
        room: Range<u64>,
        placement: Placement,
        demands: &[Option<&Demand>],
    ) -> Result<InSram, PlanError> {
        let mut in_sram = InSram {
            storages: vec![None; self.usages.len()],
            constants: vec![None; self.constants.len()],
            ..InSram::default()
        };
        let size = room.end.saturating_sub(room.start);
        let too_small = |demand: &Demand, bytes: u64, left: u64| {
            let asked = demand.told(self.network);
            PlanError::SramRoom { asked, bytes, left, size, line: demand.line }
        };
        let mut memory = Memory::new(room.clone());
        for (at, constant) in self.constants.iter().enumerate() {
            let Some(demand) = self.demand_of_weights(constant.layer) else { continue };
            if demand.memory == host::Memory::Secondary {
                let bytes = constant.bytes.len() as u64;
                let address = memory.take(&constant.what, bytes);
                let address = address.map_err(|_| too_small(demand, bytes, size - memory.used()))?;
                in_sram.constants[at] = Some(address);
            }
        }
        let from = room.start + memory.used();
        let all = (0..self.usages.len()).filter(|&storage| !self.is_constant(storage));
        let wanted = |storage: &usize, memory: host::Memory| {
            demands[*storage].is_some_and(|demand| demand.memory == memory)
        };
        let mut demanded: Vec<(usize, Allocation)> = Vec::new();
        for storage in all.clone().filter(|storage| wanted(storage, host::Memory::Secondary)) {
            let Some(demand) = demands[storage] else { continue };
            let on_the_fly = || PlanError::OnTheFly { asked: demand.told(self.network), line: demand.line };
            demanded.push((storage, self.allocation(storage).ok_or_else(on_the_fly)?));
        }
        self.check_demanded(&demanded, from..room.end, demands, too_small)?;
        let may = |storage: &usize| {
            let usage = &self.usages[*storage];
            placement != Placement::Dram
                && demands[*storage].is_none()
                && !usage.is_of_cpu
                && !usage.is_end
                && usage.traffic > 0
        };
        let candidates: Vec<(usize, Candidate)> = all
            .filter(may)
            .filter_map(|storage| {
                let traffic = self.usages[storage].traffic;
                Some((storage, Candidate { allocation: self.allocation(storage)?, saved: traffic }))
            })
            .collect();
        let fixed: Vec<Allocation> = demanded.iter().map(|(_, allocation)| allocation.clone()).collect();
        let offered: Vec<Candidate> = candidates.iter().map(|(_, candidate)| candidate.clone()).collect();
        let (offsets, chosen) = choose(&fixed, &offered, from..room.end);
        let storages = demanded.iter().map(|(storage, _)| *storage);
        let storages = storages.chain(chosen.iter().map(|&at| candidates[at].0));
        let mut end = from;
        for (storage, address) in storages.zip(offsets) {
            in_sram.storages[storage] = Some(address);
            end = end.max(address + self.batch.bytes(self.values, storage));
        }
        in_sram.used = end - room.start;
        Ok(in_sram)
    }

    /// Adds weights that stay in SRAM, and copies that are there for a time. What is first takes room from the other, and which of both
    /// orders saves more depends on how often weights are read: the better one is taken.
    fn with_what_is_left(
        &self,
        in_sram: &InSram,
        room: Range<u64>,
        (placement, copies, config): (Placement, Copies, &Config),
        demands: &[Option<&Demand>],
    ) -> InSram {
        let filled = |weights_first: bool| {
            let mut filled = in_sram.clone();
            let mut saved = 0;
            for weights in [weights_first, !weights_first] {
                saved += match weights {
                    true if placement == Placement::All => self.add_weights(&mut filled, room.clone()),
                    false if copies == Copies::Auto => {
                        self.add_copies(&mut filled, room.clone(), demands, config)
                    }
                    _ => 0,
                };
            }
            (saved, filled)
        };
        let (saved, weights_first) = filled(true);
        if placement != Placement::All || copies == Copies::Never {
            return weights_first;
        }
        let (of_copies, copies_first) = filled(false);
        if of_copies > saved { copies_first } else { weights_first }
    }

    fn demand_of_weights(&self, layer: usize) -> Option<&Demand> {
        // They are in the order of the layers.
        let from = self.network.demands.partition_point(|demand| demand.layer < Some(layer));
        let of_layer = self.network.demands[from..].iter().take_while(|demand| demand.layer == Some(layer));
        of_layer.into_iter().find(|demand| demand.of == Demanded::Weights)
    }

    /// Refuses the first tensor that has no room beside those before it.
    fn check_demanded(
        &self,
        demanded: &[(usize, Allocation)],
        room: Range<u64>,
        demands: &[Option<&Demand>],
        too_small: impl Fn(&Demand, u64, u64) -> PlanError,
    ) -> Result<(), PlanError> {
        let allocations: Vec<&Allocation> = demanded.iter().map(|(_, allocation)| allocation).collect();
        let have_room = |count: usize| pack(&allocations[..count], room.clone()).is_some();
        if have_room(allocations.len()) {
            return Ok(());
        }
        // So many have room, and one more has not.
        let (mut some, mut all) = (0, allocations.len());
        while all - some > 1 {
            let between = some.midpoint(all);
            if have_room(between) { some = between } else { all = between }
        }
        let (storage, allocation) = &demanded[some];
        let meets = |other: &&&Allocation| other.meets(allocation);
        let others: u64 = allocations[..some].iter().filter(meets).map(|other| other.bytes).sum();
        let left = room.end.saturating_sub(room.start).saturating_sub(others);
        demands[*storage].map_or(Ok(()), |demand| Err(too_small(demand, allocation.bytes, left)))
    }

    /// Weights and biases behind all else: those first that are read most often. Tells how many bytes over DBBIF that saves.
    fn add_weights(&self, in_sram: &mut InSram, room: Range<u64>) -> u64 {
        let mut memory = Memory::new(room.start + in_sram.used..room.end);
        let is_copied = |at: usize| in_sram.copies.iter().any(|copy| copy.of == Copied::Constant(at));
        let free = |at: &usize| {
            in_sram.constants[*at].is_none()
                && !is_copied(*at)
                && self.demand_of_weights(self.constants[*at].layer).is_none()
        };
        let mut order: Vec<usize> = (0..self.constants.len()).filter(free).collect();
        // Reads of all of it, in sixteenths.
        let reads = |at: usize| {
            let Unplaced { bytes, traffic, .. } = &self.constants[at];
            16 * traffic / (bytes.len() as u64).max(1)
        };
        order.sort_by_key(|&at| (Reverse(reads(at)), at));
        let mut saved = 0;
        for at in order {
            let Unplaced { what, bytes, traffic, .. } = &self.constants[at];
            if let Ok(address) = memory.take(what, bytes.len() as u64) {
                in_sram.constants[at] = Some(address);
                saved += traffic;
            }
        }
        if memory.used() > 0 {
            in_sram.used += memory.used();
        }
        saved
    }

    /// All else.
    fn in_dram(&self, room: Range<u64>, in_sram: InSram) -> Result<Places, PlanError> {
        let InSram { storages, constants, copies, used } = in_sram;
        let mut memory = Memory::new(room);
        let secondary = |address: u64| MemoryAddress { memory: host::Memory::Secondary, address };
        let known =
            |addresses: &[Option<u64>], at: usize| addresses.get(at).copied().flatten().map(secondary);
        let constant = |(at, constant): (usize, &Unplaced)| match known(&constants, at) {
            Some(place) => Ok(place),
            None => memory.take(&constant.what, constant.bytes.len() as u64).map(MemoryAddress::primary),
        };
        let constants = self.constants.iter().enumerate().map(constant).collect::<Result<Vec<_>, _>>()?;
        let mut places: Vec<Option<MemoryAddress>> =
            (0..self.usages.len()).map(|at| known(&storages, at)).collect();
        // Constants of the network's own are the last ones.
        let own = (0..self.usages.len()).filter(|&at| self.is_constant(at));
        let of_own = own.clone().count();
        for (storage, place) in own.zip(&constants[constants.len() - of_own..]) {
            places[storage] = Some(*place);
        }
        // Large ones first leave fewer holes.
        let mut order: Vec<usize> = (0..places.len()).filter(|&at| places[at].is_none()).collect();
        order.sort_by_key(|&at| (Reverse(self.batch.bytes(self.values, at)), at));
        for storage in order {
            let name = &self.values.storages[storage].name;
            // Nobody's has no place.
            let Some(Allocation { bytes, life }) = self.allocation(storage) else { continue };
            places[storage] = Some(MemoryAddress::primary(memory.allocate(name, bytes, life)?));
        }
        let storages = places.into_iter().map(|place| place.unwrap_or(MemoryAddress::primary(0))).collect();
        Ok(Places { storages, constants, copies, used: [memory.used(), used] })
    }

    /// Returns the time for which a cube's memory is somebody's, if that is not for good.
    pub(super) fn life(&self, storage: usize) -> Option<RangeInclusive<usize>> {
        self.allocation(storage).map(|allocation| allocation.life)
    }
}
