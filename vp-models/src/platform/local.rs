//! A CPU in the same process as the platform.

use super::assembly::{NOTHING_RUNS, Platform};
use super::memory_port::MemoryPort;
use crate::bus::csb::{CsbAccess, CsbRequest, CsbResponse};
use crate::host::{Activity, Host, HostError, Memory, Statistics, Warning};
use crate::nvdla::registers::RegisterMap;
use std::cell::Cell;
use std::rc::Rc;
use vp_core::{Stop, Time};

/// Drives a platform from the same thread. Simulated time moves only while a call waits, so the same
/// program gives the same run.
pub struct LocalHost {
    platform: Platform,
    answer: Rc<Cell<Option<CsbResponse>>>,
    awaiting: Rc<Cell<bool>>,
    next_tag: u64,
    limit: Time,
}

impl LocalHost {
    /// Takes the CPU's place at a platform.
    pub fn new(platform: Platform) -> LocalHost {
        let answer: Rc<Cell<Option<CsbResponse>>> = Rc::default();
        let awaiting: Rc<Cell<bool>> = Rc::default();
        let (sim, place) = (platform.sim(), answer.clone());
        platform.csb().on_response(move |response| {
            place.set(Some(response));
            sim.stop();
        });
        let (sim, armed) = (platform.sim(), awaiting.clone());
        platform.irq().connect(move |level, _| {
            if level && armed.get() {
                sim.stop();
            }
        });
        LocalHost { platform, answer, awaiting, next_tag: 0, limit: Time::MAX }
    }

    /// Keeps from now on what the platform does and what bounds it ([`Host::activity`]).
    pub fn watch(&self) {
        self.platform.watch();
    }

    /// The platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Lets time pass until something stops the run; refuses when nothing can.
    fn run(&mut self) -> Result<(), HostError> {
        let limit = self.limit;
        loop {
            let simulation = self.platform.simulation_mut();
            match simulation.run_until(limit) {
                Stop::Requested => return Ok(()),
                Stop::Held => simulation.bell().wait(),
                Stop::Limit => {
                    return Err(HostError::Limit { time: simulation.now(), limit: limit.to_string() });
                }
                Stop::Livelock => {
                    let report = simulation.livelock().map(|livelock| livelock.to_string());
                    return Err(HostError::Livelock { report: report.unwrap_or_default() });
                }
                Stop::Idle => {
                    let report = self.platform.unfinished().unwrap_or_else(|| NOTHING_RUNS.to_owned());
                    return Err(HostError::Idle { time: self.platform.simulation().now(), report });
                }
            }
        }
    }

    fn request(&mut self, address: u32, access: CsbAccess) -> Result<u32, HostError> {
        let tag = self.send(address, access)?;
        self.answer.set(None);
        loop {
            if let Some(response) = self.answer.take()
                && response.tag == tag
            {
                return Ok(response.value);
            }
            self.run()?;
        }
    }

    fn send(&mut self, address: u32, access: CsbAccess) -> Result<u64, HostError> {
        let word = csb_word(address, self.platform.device().window())?;
        self.next_tag += 1;
        self.platform.csb().send(CsbRequest { word, access, tag: self.next_tag });
        Ok(self.next_tag)
    }

    fn memory(&self, memory: Memory, address: u64, bytes: usize) -> Result<&MemoryPort, HostError> {
        self.platform.memory(memory.port()).ok_or_else(|| HostError::MemoryRange {
            memory,
            address,
            size: bytes as u64,
            holds: "the platform has none".to_owned(),
        })
    }
}

/// The word a byte address in the register window names.
fn csb_word(address: u32, window: u32) -> Result<u16, HostError> {
    let word = u16::try_from(address / 4).ok();
    word.filter(|_| address.is_multiple_of(4) && address < window).ok_or_else(|| {
        HostError::Refused(format!(
            "register address 0x{address:x}: registers are words (multiples of 4) below 0x{window:x}"
        ))
    })
}

impl Host for LocalHost {
    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.send(address, CsbAccess::Write { value, posted: true }).map(|_| ())
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.request(address, CsbAccess::Write { value, posted: false }).map(|_| ())
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        self.request(address, CsbAccess::Read)
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        self.awaiting.set(true);
        let waited = loop {
            if self.platform.irq().level() {
                break Ok(self.platform.simulation().now());
            }
            if let Err(error) = self.run() {
                break Err(error);
            }
        };
        self.awaiting.set(false);
        waited
    }

    fn now(&mut self) -> Result<Time, HostError> {
        Ok(self.platform.simulation().now())
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        let port = self.memory(memory, address, bytes.len())?;
        port.poke(address, bytes).map_err(|error| out_of_range(memory, &error))
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        let port = self.memory(memory, address, bytes.len())?;
        port.peek(address, bytes).map_err(|error| out_of_range(memory, &error))
    }

    fn stream(&mut self, bytes: &[u8]) -> Result<(), HostError> {
        let stream = self.platform.input_stream();
        let stream =
            stream.ok_or_else(|| HostError::Refused("the platform has no input stream".to_owned()))?;
        stream.send(bytes).map_err(|error| HostError::Refused(error.to_string()))
    }

    fn map(&self) -> RegisterMap {
        self.platform.map()
    }

    fn statistics(&mut self) -> Result<Statistics, HostError> {
        Ok(self.platform.statistics())
    }

    fn activity(&mut self) -> Option<Activity> {
        self.platform.take_activity()
    }

    fn warnings(&mut self) -> Vec<Warning> {
        self.platform.sum_up_warnings();
        let warned = self.platform.take_warnings().into_iter();
        warned
            .map(|warned| Warning { time: warned.time, text: format!("{}: {}", warned.source, warned.text) })
            .collect()
    }

    fn set_limit(&mut self, limit: Time) {
        self.limit = limit;
    }
}

fn out_of_range(memory: Memory, error: &crate::memory::OutOfRange) -> HostError {
    let holds = format!("it spans 0x{:x} to 0x{:x}", error.start, error.last);
    HostError::MemoryRange { memory, address: error.address, size: error.bytes, holds }
}
