//! A memory interface as a port of the platform: its RAM inside, or a memory outside in its place.

use crate::bus::axi::{Answer, AxiConfig, AxiStatistics, AxiTarget, Burst, Interconnect, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::memory::{Built, MemoryModel, ModelError, OutOfRange, Ram, WriteError};
use std::cell::RefCell;
use std::rc::Rc;
use vp_core::Sim;

/// Passes bursts on to the memory inside, or to the one attached.
struct Switch {
    ram: Rc<Ram>,
    outside: RefCell<Option<Rc<dyn AxiTarget>>>,
}

impl AxiTarget for Switch {
    fn read(&self, burst: &Burst) -> Answer<Vec<u8>> {
        match &*self.outside.borrow() {
            Some(outside) => outside.read(burst),
            None => AxiTarget::read(&*self.ram, burst),
        }
    }

    fn read_onto(&self, burst: &Burst, onto: &mut Vec<u8>) -> Option<Result<(), Unmapped>> {
        match &*self.outside.borrow() {
            Some(outside) => outside.read_onto(burst, onto),
            None => self.ram.read_onto(burst, onto),
        }
    }

    fn held(&self, address: u64) -> u64 {
        match &*self.outside.borrow() {
            Some(outside) => outside.held(address),
            None => self.ram.held(address),
        }
    }

    fn read_held(&self, address: u64, bytes: u32, onto: &mut Vec<u8>) {
        match &*self.outside.borrow() {
            Some(outside) => outside.read_held(address, bytes, onto),
            None => self.ram.read_held(address, bytes, onto),
        }
    }

    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()> {
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
    /// What says when data comes, if that is not only a latency.
    built: Option<Built>,
    /// What the masters beside NVDLA did.
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
        let built = model.build(sim, name, ram.range().start, &config)?;
        let switch = Rc::new(Switch { ram: Rc::new(ram), outside: RefCell::default() });
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

    /// What the interface did.
    pub fn statistics(&self) -> &AxiStatistics {
        &self.statistics
    }

    /// What the masters beside NVDLA did, by name.
    pub fn masters(&self) -> impl Iterator<Item = (&str, &AxiStatistics)> {
        self.masters.iter().map(|(name, statistics)| (name.as_str(), &**statistics))
    }

    /// Whether its answers come when a model says, and not after a latency.
    pub fn has_model(&self) -> bool {
        self.built.is_some()
    }

    /// Puts a memory outside in the place of the RAM inside, or the RAM back (`None`). What is in flight
    /// is still answered by the one it was sent to.
    pub fn attach(&self, outside: Option<Rc<dyn AxiTarget>>) {
        *self.switch.outside.borrow_mut() = outside;
    }

    /// Whether a memory outside is attached.
    pub fn is_outside(&self) -> bool {
        self.switch.outside.borrow().is_some()
    }

    /// Reads the RAM inside, past the bus (`transport_dbg`).
    pub fn peek(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        self.switch.ram.read(address, into)
    }

    /// The same, newly made.
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
        let Switch { ram, outside } = &**switch;
        at.part(name)?;
        if outside.borrow().is_some() {
            let text = format!("the memory of {name} is outside, and is not saved with the platform");
            return Err(CheckpointError::Unsupported(text));
        }
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
