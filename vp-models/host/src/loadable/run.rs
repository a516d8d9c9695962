//! Runs a loadable on a platform: allots its memory, does its tasks, takes its outputs.

use super::cpu;
use super::driver::{Kernel, Span};
use super::error::{LoadableError, RunError};
use super::fit;
use super::network::operations;
use super::places::{DRAM, Places};
use super::{AddressEntry, Loadable, Processor, Tensor};
use crate::bus::Bus;
use crate::driver::Driver;
use crate::trace::recording::Element;
use crate::{Host, Memory};
use half::f16;
use vp_core::Time;
use vp_models::nvdla::config::{CapabilityDescriptor, capability_descriptors};
use vp_models::nvdla::registers::{RegisterMap, Unit};
use vp_models::platform::Description;

/// Bytes of an atom where a configuration cannot be asked: nv_full's.
const ATOM: u32 = 32;

/// Result of running a loadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The outputs of the last frame, in the order in which they are bound.
    pub outputs: Vec<Output>,
    /// Simulated time of each frame.
    pub frames: Vec<Time>,
    /// The first frame whose outputs are others than those of the first one, which had the same inputs.
    pub differs: Option<FrameDifference>,
    /// Times at which each operation of the accelerator ran, task by task, frame by frame.
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

/// A frame that left something else than the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameDifference {
    /// Number of the frame, from 1.
    pub frame: usize,
    /// Number of the output, in the order in which they are bound.
    pub output: usize,
    /// Bytes that differ in it.
    pub differing: u64,
    /// Address of the first.
    pub address: u64,
    /// Byte that the first frame left there.
    pub expected: u8,
    /// Byte that this one left.
    pub actual: u8,
}

/// Contents of an output's memory after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Layout of the output there, if the loadable says.
    pub tensor: Option<Tensor>,
    /// The memory that it is in.
    pub memory: Memory,
    /// Address of its first byte in memory.
    pub base: u64,
    /// All of its memory.
    pub bytes: Vec<u8>,
}

impl Output {
    /// The elements' format, and the largest of them, at most `most`, each with its index in the order channel, line, column. What is no
    /// number comes last. None if the loadable does not say what the output is.
    #[must_use]
    pub fn largest(&self, most: usize) -> Option<(Element, Vec<(usize, f64)>)> {
        let tensor = self.tensor.as_ref()?;
        let element = match (tensor.element_bytes?, tensor.is_half) {
            (1, _) => Element::Int8,
            (_, true) => Element::Fp16,
            (_, false) => Element::Int16,
        };
        let value = |bytes: &[u8]| match (element, bytes) {
            (Element::Fp16, &[low, high]) => f16::from_le_bytes([low, high]).to_f64(),
            (_, &[low, high]) => i16::from_le_bytes([low, high]).into(),
            _ => bytes[0].cast_signed().into(),
        };
        let order = |a: &(usize, f64), b: &(usize, f64)| {
            a.1.is_nan().cmp(&b.1.is_nan()).then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0))
        };
        // An output may be as large as memory: only the largest so far are kept.
        let mut largest: Vec<(usize, f64)> = Vec::with_capacity(most + 1);
        let (mut index, mut is_whole) = (0, true);
        tensor.each_place(|place| {
            let Some(bytes) = self.bytes.get(place..place + element.bytes()) else {
                is_whole = false;
                return;
            };
            let this = (index, value(bytes));
            index += 1;
            let at = largest.partition_point(|known| order(known, &this).is_lt());
            if at < most {
                largest.insert(at, this);
                largest.truncate(most);
            }
        })?;
        is_whole.then_some((element, largest))
    }
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

/// Refuses a platform that the loadable does not fit. Of one that does not describe itself, only its memory atom is known.
fn check_fit(loadable: &Loadable, bus: &mut Bus<'_>, atom: u32) -> Result<(), RunError> {
    let statistics = bus.statistics()?;
    let description = statistics.text("platform.description").and_then(|text| Description::parse(text).ok());
    let nvdla = description.as_ref().and_then(|found| Some((found.name.clone(), found.nvdla()?)));
    let (platform, misfits) = match nvdla {
        Some((name, nvdla)) => (name, fit::misfits(loadable, &nvdla.config)?),
        None => ("the platform".to_owned(), fit::other_atom(loadable, atom)?.into_iter().collect()),
    };
    if misfits.is_empty() {
        return Ok(());
    }
    Err(RunError::Unfit { platform, misfits, fitting: fit::fitting(loadable)? })
}

/// Runs a loadable: its memory is filled, with `inputs` in the order in which they are bound and as they lie in memory,
/// and its tasks are done. An input that is not given is as the loadable has it, mostly zero.
///
/// The device is expected fresh from reset, or idle.
///
/// # Errors
/// The first thing that went wrong; nothing is done after it.
pub fn run(loadable: &Loadable, inputs: &[Vec<u8>], host: &mut dyn Host) -> Result<Execution, RunError> {
    run_frames(loadable, inputs, 1, host)
}

/// Runs a loadable so many times, one after the other as the vendor's runtime does: without a reset, and memory but for the inputs is as
/// the frame before has left it.
///
/// # Errors
/// As of [`run`].
pub fn run_frames(
    loadable: &Loadable,
    inputs: &[Vec<u8>],
    frames: u32,
    host: &mut dyn Host,
) -> Result<Execution, RunError> {
    run_from(DRAM, loadable, inputs, frames, host)
}

/// Runs a loadable so many times, as [`run_frames`], with its memory behind the primary interface from an address on: a page's, below
/// 2^48.
///
/// # Errors
/// As of [`run`].
pub fn run_from(
    dram: u64,
    loadable: &Loadable,
    inputs: &[Vec<u8>],
    frames: u32,
    host: &mut dyn Host,
) -> Result<Execution, RunError> {
    let map = host.map();
    let mut driver = Driver::new(host, "its memory");
    let atom = memory_atom(&mut driver.bus, map)?;
    check_fit(loadable, &mut driver.bus, atom)?;
    check_inputs(loadable, inputs)?;
    check_operations(loadable)?;
    let places = Places::allot_from(dram, loadable, map, atom)?;
    for memory in loadable.memories() {
        let entry = AddressEntry { memory: memory.id, offset: 0, size: None };
        driver.bus.load(places.memory(entry), places.address(entry).0, &memory.image)?;
    }
    let start = driver.bus.now()?;
    let (mut spans, mut times, mut differs) = (Vec::new(), Vec::new(), None);
    let mut first: Option<Vec<Output>> = None;
    let mut outputs = Vec::new();
    for frame in 1..=frames.max(1) as usize {
        fill_inputs(&mut driver.bus, loadable, inputs, (&places, frame))?;
        let begin = driver.bus.now()?;
        do_tasks(loadable, (&mut driver, &places), &mut spans)?;
        times.push(driver.bus.now()? - begin);
        outputs = take_outputs(&mut driver.bus, loadable, &places)?;
        match &first {
            // Of one frame alone nothing is compared.
            None if frames > 1 => first = Some(outputs.clone()),
            None => {}
            Some(first) => differs = differs.or_else(|| difference(frame, first, &outputs)),
        }
    }
    let (time, busy) = (driver.bus.now()? - start, busy(&spans));
    let Bus { writes, reads, interrupts, .. } = driver.bus;
    Ok(Execution {
        outputs,
        frames: times,
        differs,
        spans,
        register_writes: writes,
        register_reads: reads,
        interrupts,
        bus: time - busy.min(time),
        time,
    })
}

/// Refuses a loadable that runs nothing.
fn check_operations(loadable: &Loadable) -> Result<(), RunError> {
    for task in loadable.tasks() {
        if task.processor == Processor::Cpu || !operations(loadable, task)?.is_empty() {
            return Ok(());
        }
    }
    Err(LoadableError::NothingToRun.into())
}

fn check_inputs(loadable: &Loadable, inputs: &[Vec<u8>]) -> Result<(), RunError> {
    let taken = loadable.inputs();
    for (memory, input) in taken.iter().zip(inputs) {
        if input.len() != memory.image.len() {
            let tensor = loadable.tensor_of(memory).map_or_else(String::new, |tensor| tensor.name.clone());
            let expected = format!("{} bytes", memory.image.len());
            return Err(RunError::Input { tensor, found: input.len(), expected });
        }
    }
    if let Some(extra) = inputs.get(taken.len()) {
        let expected = format!("none: the loadable has {} inputs", taken.len());
        return Err(RunError::Input { tensor: "after the last".to_owned(), found: extra.len(), expected });
    }
    Ok(())
}

/// Puts the inputs of a frame into memory. What is not given is there in the first frame.
fn fill_inputs(
    bus: &mut Bus<'_>,
    loadable: &Loadable,
    inputs: &[Vec<u8>],
    (places, frame): (&Places, usize),
) -> Result<(), RunError> {
    for (number, memory) in loadable.inputs().into_iter().enumerate() {
        let Some(bytes) = inputs.get(number).or((frame > 1).then_some(&memory.image)) else { continue };
        let entry = AddressEntry { memory: memory.id, offset: 0, size: None };
        bus.load(places.memory(entry), places.address(entry).0, bytes)?;
    }
    Ok(())
}

fn do_tasks(
    loadable: &Loadable,
    (driver, places): (&mut Driver<'_>, &Places),
    spans: &mut Vec<Span>,
) -> Result<(), RunError> {
    for task in loadable.tasks() {
        match task.processor {
            Processor::Cpu => cpu::run(&mut driver.bus, places, loadable, task)?,
            Processor::Accelerator => {
                let operations = operations(loadable, task)?;
                spans.extend(Kernel::new(driver, places, &operations).run()?);
            }
        }
    }
    Ok(())
}

fn take_outputs(bus: &mut Bus<'_>, loadable: &Loadable, places: &Places) -> Result<Vec<Output>, RunError> {
    bus.at("its outputs");
    let mut outputs = Vec::new();
    for memory in loadable.outputs() {
        let entry = AddressEntry { memory: memory.id, offset: 0, size: None };
        let (base, mut bytes) = (places.address(entry).0, vec![0; memory.image.len()]);
        bus.fetch(places.memory(entry), base, &mut bytes)?;
        outputs.push(Output {
            tensor: loadable.tensor_of(memory).cloned(),
            memory: places.memory(entry),
            base,
            bytes,
        });
    }
    Ok(outputs)
}

/// The first output of a frame that is another than the first frame's.
fn difference(frame: usize, first: &[Output], outputs: &[Output]) -> Option<FrameDifference> {
    first.iter().zip(outputs).enumerate().find_map(|(output, (first, now))| {
        let both = first.bytes.iter().zip(&now.bytes).enumerate();
        let mut differing = both.filter(|(_, (expected, actual))| expected != actual);
        let (at, (&expected, &actual)) = differing.next()?;
        let address = now.base + at as u64;
        Some(FrameDifference {
            frame,
            output,
            differing: 1 + differing.count() as u64,
            address,
            expected,
            actual,
        })
    })
}

/// Returns the time for which at least one operation was running.
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
