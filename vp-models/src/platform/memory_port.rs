//! A memory interface as a port of the platform: its RAM inside, or a memory outside in its place.

use crate::bus::axi::{Answer, AxiConfig, AxiStatistics, AxiTarget, Burst, Interconnect, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::Statistics;
use crate::faults::BurstFaults;
use crate::memory::{Built, MemoryModel, ModelError, OutOfRange, Ram, WriteError};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::Sim;

/// Passes bursts on to the memory inside, or to the one attached.
struct Switch {
    ram: Rc<Ram>,
    outside: RefCell<Option<Rc<dyn AxiTarget>>>,
    /// Faults of the memory.
    faults: RefCell<Option<Rc<BurstFaults>>>,
    /// True if there are faults.
    has_faults: Cell<bool>,
}

impl Switch {
    fn read_behind(&self, burst: &Burst) -> Answer<Vec<u8>> {
        match &*self.outside.borrow() {
            Some(outside) => outside.read(burst),
            None => AxiTarget::read(&*self.ram, burst),
        }
    }

    /// Inverts bits of a byte of the RAM inside, and gives what it was and is.
    fn flip(&self, address: u64, mask: u8) -> Result<[u8; 2], String> {
        if self.outside.borrow().is_some() {
            return Err(
                "the memory is outside the platform, where only what is read can be changed, on its way"
                    .to_owned(),
            );
        }
        let mut before = [0];
        self.ram.read(address, &mut before).map_err(|error| error.to_string())?;
        let after = [before[0] ^ mask];
        self.ram.write(address, &after).map_err(|error| error.to_string())?;
        Ok([before[0], after[0]])
    }

    /// Reads where faults strike.
    fn read_faulty(&self, faults: &BurstFaults, burst: &Burst) -> Answer<Vec<u8>> {
        if let Some(refused) = faults.error(false, burst) {
            return Answer::Now(Err(refused));
        }
        // A cell outside is out of reach: what is read of it is wrong on the way.
        let mut on_the_way: Vec<(usize, u8)> = Vec::new();
        for (address, mask) in faults.flips(burst) {
            if self.flip(address, mask).is_err() {
                on_the_way.push((address.saturating_sub(burst.address) as usize, mask));
            }
        }
        let change = move |data: &mut Vec<u8>| {
            for (at, mask) in &on_the_way {
                if let Some(byte) = data.get_mut(*at) {
                    *byte ^= mask;
                }
            }
        };
        match self.read_behind(burst) {
            Answer::Now(Ok(mut data)) => {
                change(&mut data);
                Answer::Now(Ok(data))
            }
            Answer::Now(refused) => Answer::Now(refused),
            Answer::Later(completion) => {
                completion.change(change);
                Answer::Later(completion)
            }
        }
    }
}

impl AxiTarget for Switch {
    fn read(&self, burst: &Burst) -> Answer<Vec<u8>> {
        match &*self.faults.borrow() {
            Some(faults) => self.read_faulty(faults, burst),
            None => self.read_behind(burst),
        }
    }

    fn read_onto(&self, burst: &Burst, onto: &mut Vec<u8>) -> Option<Result<(), Unmapped>> {
        if self.has_faults.get() {
            return None;
        }
        match &*self.outside.borrow() {
            Some(outside) => outside.read_onto(burst, onto),
            None => self.ram.read_onto(burst, onto),
        }
    }

    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()> {
        if self.has_faults.get()
            && let Some(refused) = self.faults.borrow().as_ref().and_then(|faults| faults.error(true, burst))
        {
            return Answer::Now(Err(refused));
        }
        match &*self.outside.borrow() {
            Some(outside) => outside.write(burst, data),
            None => AxiTarget::write(&*self.ram, burst, data),
        }
    }
}

/// One memory interface with what lies behind it.
pub struct MemoryPort {
    name: &'static str,
    interconnect: Rc<Interconnect>,
    switch: Rc<Switch>,
    statistics: Rc<AxiStatistics>,
    /// Model that says when data comes, if that is not only a latency.
    built: Option<Built>,
    /// Statistics of the masters beside NVDLA.
    masters: Vec<(String, Rc<AxiStatistics>)>,
}

impl MemoryPort {
    pub(super) fn new(
        sim: &Sim,
        name: &'static str,
        config: AxiConfig,
        ram: Ram,
        model: &MemoryModel,
    ) -> Result<MemoryPort, ModelError> {
        let built = model.build(sim, name, ram.range(), &config)?;
        let ram = Rc::new(ram);
        let (outside, faults, has_faults) = Default::default();
        let switch = Rc::new(Switch { ram, outside, faults, has_faults });
        let timed = built.as_ref().map(|built| built.place.clone());
        let interconnect = Interconnect::timed_by(sim, name, config, switch.clone(), timed);
        let statistics = Rc::new(AxiStatistics::new(interconnect.source()));
        let masters = built.iter().flat_map(|built| &built.masters);
        let masters = masters
            .map(|(name, traffic)| (name.clone(), Rc::new(AxiStatistics::new(traffic.source()))))
            .collect();
        Ok(MemoryPort { name, interconnect, switch, statistics, built, masters })
    }

    /// Counts from now on.
    pub(super) fn observe(&self, sim: &Sim) {
        sim.observe(self.statistics.clone());
        for (_, statistics) in &self.masters {
            sim.observe(statistics.clone());
        }
    }

    /// Takes the place of a port of the same description: what counted for that one begins anew, and counts for this one.
    pub(super) fn succeed(self, before: MemoryPort) -> MemoryPort {
        let MemoryPort { statistics, masters, .. } = before;
        let counts = [&statistics].into_iter().chain(masters.iter().map(|(_, counts)| counts));
        counts.for_each(|counts| counts.restart());
        MemoryPort { statistics, masters, ..self }
    }

    /// The port's name: `dbb0` or `sram0`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The interface.
    pub fn interconnect(&self) -> &Rc<Interconnect> {
        &self.interconnect
    }

    /// Returns the statistics of the interface.
    pub fn statistics(&self) -> &AxiStatistics {
        &self.statistics
    }

    /// Adds the counters of the memory's own parts, if it has a model.
    pub(super) fn add_counters(&self, statistics: &mut Statistics) {
        self.built.iter().for_each(|built| built.add_counters(statistics));
    }

    /// Returns the statistics of the masters beside NVDLA, by name.
    pub fn masters(&self) -> impl Iterator<Item = (&str, &AxiStatistics)> {
        self.masters.iter().map(|(name, statistics)| (name.as_str(), &**statistics))
    }

    /// Has faults strike here from now on.
    pub(super) fn set_faults(&self, faults: Rc<BurstFaults>) {
        self.interconnect.set_faults(&faults);
        *self.switch.faults.borrow_mut() = Some(faults);
        self.switch.has_faults.set(true);
    }

    /// Returns a function that inverts bits of a byte of the RAM inside, and gives what it was and is; or why it cannot.
    pub(super) fn flips(&self) -> impl Fn(u64, u8) -> Result<[u8; 2], String> + use<> {
        let switch = self.switch.clone();
        move |address, mask| switch.flip(address, mask)
    }

    /// Puts a memory outside in the place of the RAM inside, or the RAM back (`None`). What is in flight
    /// is still answered by the one it was sent to.
    pub fn attach(&self, outside: Option<Rc<dyn AxiTarget>>) {
        *self.switch.outside.borrow_mut() = outside;
    }

    /// Returns true if a memory outside is attached.
    pub fn is_outside(&self) -> bool {
        self.switch.outside.borrow().is_some()
    }

    /// Reads the RAM inside, past the bus (`transport_dbg`).
    pub fn peek(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        self.switch.ram.read(address, into)
    }

    /// Reads the RAM inside as [`peek`](Self::peek) does, into a new vector.
    pub fn peeked(&self, address: u64, bytes: usize) -> Result<Vec<u8>, OutOfRange> {
        self.switch.ram.copy(address, bytes)
    }

    /// Writes the RAM inside, past the bus (`transport_dbg`).
    pub fn poke(&self, address: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.switch.ram.write(address, bytes)
    }

    /// The RAM inside, for a memory outside that owns only a part of the addresses.
    pub fn ram(&self) -> Rc<Ram> {
        self.switch.ram.clone()
    }

    /// The addresses of the RAM inside.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.switch.ram.range()
    }
}

impl MemoryPort {
    /// Saves the interface and what is behind it, or takes it up.
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let MemoryPort { name, interconnect, switch, statistics, built, masters } = self;
        // A memory outside is its owner's to save.
        let Switch { ram, outside: _, faults: _, has_faults: _ } = &**switch;
        at.part(name)?;
        interconnect.checkpoint(at)?;
        if let Some(built) = built {
            built.checkpoint(at)?;
        }
        at.part("statistics")?;
        statistics.checkpoint(at)?;
        masters.iter().try_for_each(|(_, statistics)| statistics.checkpoint(at))?;
        at.part("contents")?;
        ram.checkpoint(at)
    }
}
