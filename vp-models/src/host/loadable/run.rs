//! Runs a loadable on a platform: allots its memory, does its tasks, takes its outputs.

use super::cpu;
use super::driver::{Driver, Span};
use super::error::{LoadableError, RunError};
use super::network::{Cube, Place, operations};
use super::{AddressEntry, Doer, Domain, Loadable, MAX_MEMORY_BYTES, Tensor};
use crate::host::program::{Program, address};
use crate::host::{Host, HostError, Memory};
use crate::nvdla::registers::{RegisterMap, RegisterRef, Unit, cfgrom};
use std::collections::BTreeMap;
use vp_core::Time;

/// Where memory is allotted: where the vendor's driver has its pool, and where SRAMs begin.
const DRAM: u64 = 0xc000_0000;
const SRAM: u64 = 0x5000_0000;
/// What addresses are at least a multiple of.
const PAGE: u64 = 4096;
/// Bytes of an atom where a configuration cannot be asked: nv_full's.
const ATOM: u32 = 32;

/// What came of a loadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The outputs, in the order in which they are bound.
    pub outputs: Vec<Output>,
    /// When each operation of the accelerator ran, task by task.
    pub spans: Vec<Span>,
    /// Register writes and reads made.
    pub register_writes: u64,
    /// Register reads made.
    pub register_reads: u64,
    /// Interrupts served.
    pub interrupts: u64,
    /// Simulated time that no operation was running for: registers were written and read.
    pub bus: Time,
    /// Simulated time of all of it.
    pub time: Time,
}

/// What a run left in an output's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// How it lies there, if the loadable says.
    pub tensor: Option<Tensor>,
    /// Its first byte in memory.
    pub base: u64,
    /// All of its memory.
    pub bytes: Vec<u8>,
}

/// Where everything of a loadable is.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) map: RegisterMap,
    /// Bytes of an atom of this hardware.
    pub(super) atom: u32,
    bases: BTreeMap<u16, (u64, Domain)>,
}

impl Places {
    fn allot(loadable: &Loadable, map: RegisterMap, atom: u32) -> Result<Places, LoadableError> {
        let (mut dram, mut sram) = (DRAM, SRAM);
        let mut bases = BTreeMap::new();
        for memory in loadable.memories() {
            let next = if memory.domain == Domain::Dram { &mut dram } else { &mut sram };
            let base = next.next_multiple_of(memory.alignment.clamp(PAGE, MAX_MEMORY_BYTES));
            bases.insert(memory.id, (base, memory.domain));
            *next = base.saturating_add(memory.image.len() as u64);
        }
        let bytes = (dram - DRAM).max(sram - SRAM);
        if bytes > MAX_MEMORY_BYTES {
            return Err(LoadableError::TooLarge { bytes, limit: MAX_MEMORY_BYTES });
        }
        Ok(Places { map, atom, bases })
    }

    /// A cube's address and its `RAM_TYPE`; what passes from unit to unit has none.
    pub(super) fn of(&self, cube: &Cube) -> (u64, u32) {
        match cube.place {
            Place::Memory(entry) => self.address(entry),
            Place::OnTheFly => (0, 0),
            Place::None => (0, 1),
        }
    }

    /// The same of an address.
    pub(super) fn address(&self, entry: AddressEntry) -> (u64, u32) {
        match self.bases.get(&entry.memory) {
            Some(&(base, domain)) => (base.wrapping_add(entry.offset), (domain == Domain::Dram).into()),
            None => (0, 1),
        }
    }

    pub(super) fn memory(&self, entry: AddressEntry) -> Memory {
        match self.bases.get(&entry.memory) {
            Some((_, Domain::Sram)) => Memory::Secondary,
            _ => Memory::Primary,
        }
    }
}

/// The host, with the place of what is being done in every error, and what was done counted.
pub(super) struct Bus<'h> {
    host: &'h mut dyn Host,
    map: RegisterMap,
    pub(super) place: String,
    writes: u64,
    reads: u64,
    interrupts: u64,
}

impl Bus<'_> {
    fn ask<T>(&mut self, what: impl FnOnce(&mut dyn Host) -> Result<T, HostError>) -> Result<T, RunError> {
        what(self.host).map_err(|source| RunError::Host { place: self.place.clone(), source })
    }

    fn address(&mut self, unit: Unit, register: RegisterRef) -> Result<u32, RunError> {
        let map = self.map;
        self.ask(|_| address(map, unit, register))
    }

    fn named(&mut self, unit: Unit, name: &str) -> Result<u32, RunError> {
        let refuse = || HostError::Refused(format!("{unit} has no {name}"));
        let register = self.ask(|_| unit.register(name).ok_or_else(refuse))?;
        self.address(unit, register)
    }

    pub(super) fn write(&mut self, unit: Unit, register: RegisterRef, value: u32) -> Result<(), RunError> {
        let address = self.address(unit, register)?;
        self.writes += 1;
        self.ask(|host| host.write(address, value))
    }

    pub(super) fn write_named(&mut self, unit: Unit, name: &str, value: u32) -> Result<(), RunError> {
        let address = self.named(unit, name)?;
        self.writes += 1;
        self.ask(|host| host.write(address, value))
    }

    pub(super) fn write_acknowledged(
        &mut self,
        unit: Unit,
        register: RegisterRef,
        value: u32,
    ) -> Result<(), RunError> {
        let address = self.address(unit, register)?;
        self.writes += 1;
        self.ask(|host| host.write_acknowledged(address, value))
    }

    pub(super) fn read(&mut self, unit: Unit, register: RegisterRef) -> Result<u32, RunError> {
        let address = self.address(unit, register)?;
        self.reads += 1;
        self.ask(|host| host.read(address))
    }

    pub(super) fn read_named(&mut self, unit: Unit, name: &str) -> Result<u32, RunError> {
        let address = self.named(unit, name)?;
        self.reads += 1;
        self.ask(|host| host.read(address))
    }

    pub(super) fn run(&mut self, program: &Program) -> Result<(), RunError> {
        self.writes += program.writes.len() as u64;
        self.ask(|host| program.run(host))
    }

    pub(super) fn now(&mut self) -> Result<Time, RunError> {
        self.ask(|host| host.now())
    }

    pub(super) fn wait_interrupt(&mut self) -> Result<Time, RunError> {
        self.interrupts += 1;
        self.ask(|host| host.wait_interrupt())
    }

    pub(super) fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), RunError> {
        self.ask(|host| host.load(memory, address, bytes))
    }

    pub(super) fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), RunError> {
        self.ask(|host| host.fetch(memory, address, bytes))
    }
}

/// Runs a loadable: its memory is filled, with `inputs` in the order in which they are bound and as they lie in memory,
/// and its tasks are done. An input that is not given is as the loadable has it, mostly zero.
///
/// The device is expected fresh from reset, or idle.
///
/// # Errors
/// The first thing that went wrong; nothing is done after it.
pub fn run(loadable: &Loadable, inputs: &[Vec<u8>], host: &mut dyn Host) -> Result<Execution, RunError> {
    let map = host.map();
    let mut bus = Bus { host, map, place: "its memory".to_owned(), writes: 0, reads: 0, interrupts: 0 };
    let atom = match map.address(Unit::Cfgrom, cfgrom::CFGROM_CDMA_BASE_ATOMIC_M) {
        Some(_) => bus.read(Unit::Cfgrom, cfgrom::CFGROM_CDMA_BASE_ATOMIC_M)?,
        None => ATOM,
    };
    let places = Places::allot(loadable, map, atom)?;
    let mut given = inputs.iter();
    for memory in loadable.memories() {
        let entry = AddressEntry { memory: memory.id, offset: 0 };
        bus.load(places.memory(entry), places.address(entry).0, &memory.image)?;
    }
    for (memory, input) in loadable.inputs().into_iter().zip(&mut given) {
        if input.len() != memory.image.len() {
            let tensor = loadable.tensor_of(memory).map_or_else(String::new, |tensor| tensor.name.clone());
            let expected = format!("{} bytes", memory.image.len());
            return Err(RunError::Input { tensor, found: input.len(), expected });
        }
        let entry = AddressEntry { memory: memory.id, offset: 0 };
        bus.load(places.memory(entry), places.address(entry).0, input)?;
    }
    if let Some(extra) = given.next() {
        let expected = format!("none: the loadable has {} inputs", loadable.inputs().len());
        return Err(RunError::Input { tensor: "after the last".to_owned(), found: extra.len(), expected });
    }
    let start = bus.now()?;
    let mut spans = Vec::new();
    for task in loadable.tasks() {
        match task.doer {
            Doer::Cpu => cpu::run(&mut bus, &places, loadable, task)?,
            Doer::Accelerator => {
                let operations = operations(loadable, task)?;
                spans.extend(Driver::new(&mut bus, &places, &operations).run()?);
            }
        }
    }
    let time = bus.now()? - start;
    let mut outputs = Vec::new();
    bus.place = "its outputs".to_owned();
    for memory in loadable.outputs() {
        let entry = AddressEntry { memory: memory.id, offset: 0 };
        let (base, mut bytes) = (places.address(entry).0, vec![0; memory.image.len()]);
        bus.fetch(places.memory(entry), base, &mut bytes)?;
        outputs.push(Output { tensor: loadable.tensor_of(memory).cloned(), base, bytes });
    }
    let busy = busy(&spans);
    let Bus { writes, reads, interrupts, .. } = bus;
    Ok(Execution {
        outputs,
        spans,
        register_writes: writes,
        register_reads: reads,
        interrupts,
        bus: time - busy.min(time),
        time,
    })
}

/// How long at least one operation was running.
fn busy(spans: &[Span]) -> Time {
    let mut spans: Vec<_> = spans.iter().map(|span| (span.enabled, span.completed)).collect();
    spans.sort_unstable();
    let (mut total, mut until) = (Time::ZERO, Time::ZERO);
    for (enabled, completed) in spans {
        let from = enabled.max(until);
        if completed > from {
            total += completed - from;
            until = completed;
        }
    }
    total
}
