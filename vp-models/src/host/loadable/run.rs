//! Runs a loadable on a platform: allots its memory, does its tasks, takes its outputs.

use super::cpu;
use super::driver::{Kernel, Span};
use super::error::RunError;
use super::network::operations;
use super::places::Places;
use super::{AddressEntry, Loadable, Processor, Tensor};
use crate::host::Host;
use crate::host::bus::Bus;
use crate::host::driver::Driver;
use crate::nvdla::config::{CapabilityDescriptor, capability_descriptors};
use crate::nvdla::registers::{RegisterMap, Unit};
use vp_core::Time;

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

/// Bytes of a memory atom, as the capability ROM says, if there is one.
fn memory_atom(bus: &mut Bus<'_>, map: RegisterMap) -> Result<u32, RunError> {
    let Some(rom) = map.base(Unit::Cfgrom) else { return Ok(ATOM) };
    let mut descriptors = capability_descriptors(|offset| bus.read_at(rom + offset));
    let cdma =
        descriptors.find(|found| !matches!(found, Ok(other) if other.unit != CapabilityDescriptor::CDMA));
    drop(descriptors);
    match cdma {
        Some(cdma) => Ok(bus.read_at(rom + cdma?.offset + CapabilityDescriptor::CDMA_ATOMIC_M)?),
        None => {
            Err(bus.refused("the capability ROM describes no CDMA, so the memory atom is not known").into())
        }
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
    let mut driver = Driver::new(host, "its memory");
    let atom = memory_atom(&mut driver.bus, map)?;
    let places = Places::allot(loadable, map, atom)?;
    let mut given = inputs.iter();
    for memory in loadable.memories() {
        let entry = AddressEntry { memory: memory.id, offset: 0 };
        driver.bus.load(places.memory(entry), places.address(entry).0, &memory.image)?;
    }
    for (memory, input) in loadable.inputs().into_iter().zip(&mut given) {
        if input.len() != memory.image.len() {
            let tensor = loadable.tensor_of(memory).map_or_else(String::new, |tensor| tensor.name.clone());
            let expected = format!("{} bytes", memory.image.len());
            return Err(RunError::Input { tensor, found: input.len(), expected });
        }
        let entry = AddressEntry { memory: memory.id, offset: 0 };
        driver.bus.load(places.memory(entry), places.address(entry).0, input)?;
    }
    if let Some(extra) = given.next() {
        let expected = format!("none: the loadable has {} inputs", loadable.inputs().len());
        return Err(RunError::Input { tensor: "after the last".to_owned(), found: extra.len(), expected });
    }
    let start = driver.bus.now()?;
    let mut spans = Vec::new();
    for task in loadable.tasks() {
        match task.processor {
            Processor::Cpu => cpu::run(&mut driver.bus, &places, loadable, task)?,
            Processor::Accelerator => {
                let operations = operations(loadable, task)?;
                spans.extend(Kernel::new(&mut driver, &places, &operations).run()?);
            }
        }
    }
    let time = driver.bus.now()? - start;
    let mut outputs = Vec::new();
    driver.bus.place = "its outputs".to_owned();
    for memory in loadable.outputs() {
        let entry = AddressEntry { memory: memory.id, offset: 0 };
        let (base, mut bytes) = (places.address(entry).0, vec![0; memory.image.len()]);
        driver.bus.fetch(places.memory(entry), base, &mut bytes)?;
        outputs.push(Output { tensor: loadable.tensor_of(memory).cloned(), base, bytes });
    }
    let busy = busy(&spans);
    let Bus { writes, reads, interrupts, .. } = driver.bus;
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
