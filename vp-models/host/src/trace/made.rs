//! Traces made of what a driver does at a host: the memory that it loads, the registers that it writes, the interrupts that it takes, and what it
//! fetches in the end.
//!
//! A [`Recorder`] stands between the driver and its host. What it has seen becomes a script for a bench that has no driver: after an
//! interrupt nothing is written before it has come, and nothing else is asked of the order in which the hardware works.
//!
//! Register reads become none, but for the flush of the convolution buffer; the interrupt status is polled for the bits that were taken.

mod cfg;
mod txn;

use thiserror::Error;
use vp_core::Time;
use vp_models::nvdla::registers::{RegisterMap, Unit, bdma, cdma, glb};

use super::{Trace, TraceError};
use crate::{Host, HostError, Memory};

/// Transfers that BDMA's queue takes.
const BDMA_QUEUE: usize = 20;
/// Most bytes of a surface file, which has five characters for each.
const MOST_FILE: usize = 32 << 20;
/// Bytes of a line of a `.txn` script's surface files. The vendor's converters take whole lines alone.
const LINE: u64 = 32;

/// Reason for which no trace can be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MadeError {
    /// Commands that are no trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Memory that changes while a script of this language runs.
    #[error(
        "the CPU works between layers, on bytes at {address:#x}: a .cfg script cannot say when, and .txn can"
    )]
    Between {
        /// First byte that it writes.
        address: u64,
    },
    /// More copies than fit into a queue whose room a script of this language cannot ask for.
    #[error(
        "more than {} copies are in BDMA's queue at once: a .cfg script cannot wait for its room, and .txn can",
        BDMA_QUEUE
    )]
    Queue,
    /// Nothing is written to a register.
    #[error("no register is written: there is nothing for a bench to do")]
    Nothing,
    /// Register that the map does not have.
    #[error("there is no register at {address:#x} in the {map} map")]
    NoRegister {
        /// Byte address.
        address: u32,
        /// The map.
        map: RegisterMap,
    },
}

/// A host that remembers what is done at it.
pub struct Recorder<'h> {
    host: &'h mut dyn Host,
    steps: Vec<Step>,
    /// Interrupts were waited for, and the status has not been read since.
    is_awaited: bool,
    /// Transfers in BDMA's queue that are not launched, and those of each group that are.
    queued: usize,
    launched: [usize; 2],
}

/// Bytes at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bytes {
    memory: Memory,
    address: u64,
    bytes: Vec<u8>,
    /// Memory before them, from the beginning of their first line on, and behind them to the end of the last.
    around: [Vec<u8>; 2],
}

impl Bytes {
    /// Returns the address of the first line, and all lines.
    fn lines(&self) -> (u64, Vec<u8>) {
        let [before, behind] = &self.around;
        (self.address - before.len() as u64, [before, &self.bytes, behind].map(Vec::as_slice).concat())
    }

    fn end(&self) -> u64 {
        self.address + self.bytes.len() as u64
    }

    fn overlaps(&self, other: &Bytes) -> bool {
        self.memory == other.memory && self.address < other.end() && other.address < self.end()
    }

    fn is_zero(&self) -> bool {
        self.bytes.iter().all(|byte| *byte == 0)
    }
}

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Load(Bytes),
    Fetch(Bytes),
    Write {
        address: u32,
        value: u32,
    },
    /// The convolution buffer is flushed.
    Flushed {
        address: u32,
    },
    /// BDMA's queue may be full.
    Room {
        address: u32,
    },
    /// Bits of the interrupt status that have come, and are cleared.
    Taken {
        bits: u32,
    },
}

impl<'h> Recorder<'h> {
    /// Remembers what is done at this host from now on.
    pub fn new(host: &'h mut dyn Host) -> Recorder<'h> {
        Recorder { host, steps: Vec::new(), is_awaited: false, queued: 0, launched: [0; 2] }
    }

    fn is(&self, address: u32, unit: Unit, register: vp_models::nvdla::registers::RegisterRef) -> bool {
        self.host.map().address(unit, register) == Some(address)
    }

    fn written(&mut self, address: u32, value: u32) {
        if self.is(address, Unit::Glb, glb::S_INTR_STATUS)
            && matches!(self.steps.last(), Some(Step::Taken { bits }) if *bits == value)
        {
            return;
        }
        if self.is(address, Unit::Bdma, bdma::CFG_OP) {
            self.queued += 1;
        }
        for (group, launch) in [bdma::CFG_LAUNCH0, bdma::CFG_LAUNCH1].into_iter().enumerate() {
            if self.is(address, Unit::Bdma, launch) {
                self.launched[group] += std::mem::take(&mut self.queued);
            }
        }
        self.steps.push(Step::Write { address, value });
    }

    fn read_value(&mut self, address: u32, value: u32) {
        if self.is(address, Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS) && value & 1 == 1 {
            self.steps.push(Step::Flushed { address });
        }
        let in_flight = self.queued + self.launched.iter().sum::<usize>();
        if self.is(address, Unit::Bdma, bdma::STATUS) && value & 0xff != 0 && in_flight >= BDMA_QUEUE {
            self.steps.push(Step::Room { address });
        }
        if self.is(address, Unit::Glb, glb::S_INTR_STATUS) && std::mem::take(&mut self.is_awaited) {
            self.steps.push(Step::Taken { bits: value });
            for group in (0..2).filter(|group| value >> (6 + group) & 1 == 1) {
                self.launched[group] = 0;
            }
        }
    }

    /// Bytes that are in memory, with what is around them there.
    fn seen(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<Bytes, HostError> {
        let end = address.wrapping_add(bytes.len() as u64);
        let mut before = vec![0; (address % LINE) as usize];
        let mut behind = vec![0; (end.wrapping_neg() % LINE) as usize];
        for (first, bytes) in [(address - address % LINE, &mut before), (end, &mut behind)] {
            // Memory may end there.
            if !bytes.is_empty() {
                self.host.fetch(memory, first, bytes)?;
            }
        }
        Ok(Bytes { memory, address, bytes: bytes.to_vec(), around: [before, behind] })
    }

    /// The steps of a bench, and the map whose registers they name. What is loaded twice before anything runs is loaded once.
    fn made(self) -> Result<(Vec<Step>, RegisterMap), MadeError> {
        let map = self.host.map();
        let mut steps = self.steps;
        let first = steps.iter().position(|step| matches!(step, Step::Write { .. }));
        let first = first.ok_or(MadeError::Nothing)?;
        let is_replaced = |at: usize| match &steps[at] {
            Step::Load(before) => steps[at + 1..first].iter().any(|step| {
                matches!(step, Step::Load(later) if later.memory == before.memory
                    && later.address <= before.address && before.end() <= later.end())
            }),
            _ => false,
        };
        let replaced: Vec<bool> = (0..first).map(is_replaced).collect();
        let mut replaced = replaced.into_iter();
        steps.retain(|_| !replaced.next().unwrap_or_default());
        Ok((steps, map))
    }
}

impl Host for Recorder<'_> {
    crate::forward_host!(host: now, map, device, stream, statistics, activity, warnings, set_limit);

    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.host.write(address, value)?;
        self.written(address, value);
        Ok(())
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.host.write_acknowledged(address, value)?;
        self.written(address, value);
        Ok(())
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        let value = self.host.read(address)?;
        self.read_value(address, value);
        Ok(value)
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        let time = self.host.wait_interrupt()?;
        self.is_awaited = true;
        Ok(time)
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        self.host.load(memory, address, bytes)?;
        if !bytes.is_empty() {
            let seen = self.seen(memory, address, bytes)?;
            self.steps.push(Step::Load(seen));
        }
        Ok(())
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        self.host.fetch(memory, address, bytes)?;
        if !bytes.is_empty() {
            let seen = self.seen(memory, address, bytes)?;
            self.steps.push(Step::Fetch(seen));
        }
        Ok(())
    }

    fn running(&mut self, program: &str) {
        self.host.running(program);
    }

    fn doing(&mut self, what: &str) {
        self.host.doing(what);
    }
}

/// Language of a trace that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// A stream of registers for each unit, and checks by CRC.
    Cfg,
    /// One strict sequence, with the bytes that must come out.
    Txn,
}

impl Recorder<'_> {
    /// Makes a trace of what was done.
    ///
    /// # Errors
    /// [`MadeError`] when the language cannot say it.
    pub fn trace(self, name: &str, script: Script) -> Result<Trace, MadeError> {
        let (steps, map) = self.made()?;
        match script {
            Script::Cfg => cfg::made(name, steps, map),
            Script::Txn => txn::made(name, steps, map),
        }
    }
}

#[cfg(test)]
mod tests;
