//! A device that is outside the platform: the ports are here, and whoever attaches to them as a partner is the device.
//!
//! Two `vp` processes can be one platform: `vp serve` with such a device, and `vp attach-device`, which
//! builds a platform with the real one and drives these ports as a partner; in one process `LocalHost::link`
//! does so. A platform cut at any of its ports has the cycles and bursts of the whole one
//! (`tests/tests/hub/cut.rs`). With a delay between them (`Clock::quantum`) each side runs further on its
//! own, and cycles are those of a memory that much slower.

mod description;

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;

use vp_core::Time;

use crate::bus::axi::Interconnect;
use crate::bus::register::{OutsideRegisters, RegisterAccess, RegisterBus, RegisterRequest};
use crate::counters::Statistics;
use crate::device::{Device, OpenWork, Wiring};
use crate::nvdla::registers::RegisterMap;
use crate::nvdla::timing::Timing;

pub use description::{OutsideDescription, OutsideError, OutsideInterface};

/// The platform's side of the device.
struct OutsideDevice {
    registers: Rc<dyn RegisterBus>,
    outside: Rc<OutsideRegisters>,
    window: u32,
    line: Rc<Line>,
    /// Memory interfaces of the device.
    memories: Vec<Rc<Interconnect>>,
    /// Of an NVDLA: cycles from the last write response of a layer to its event.
    done_to_interrupt: Option<u32>,
}

/// Times at which the interrupt line last changed each way.
#[derive(Default)]
struct Line {
    rose: Cell<Option<Time>>,
    fell: Cell<Option<Time>>,
}

impl Line {
    /// Returns true if it was high all that time: known of the last time it was high.
    fn was_high(&self, times: RangeInclusive<Time>) -> bool {
        self.rose.get().is_some_and(|rose| {
            rose <= *times.start() && self.fell.get().is_none_or(|fell| fell < rose || fell > *times.end())
        })
    }
}

impl OutsideDescription {
    /// Builds the ports.
    pub(crate) fn build(&self, wiring: &Wiring<'_>) -> Box<dyn Device> {
        let map = self.nvdla.as_ref().map(|nvdla| nvdla.config.register_map);
        let is_start = move |request: &RegisterRequest| map.is_some_and(|map| is_enable(map, request));
        let outside =
            OutsideRegisters::new(wiring.sim, "csb0", wiring.cycle, self.window, Box::new(is_start));
        let line = Rc::new(Line::default());
        let seen = line.clone();
        wiring.interrupt.connect(move |level, time| {
            let change = if level { &seen.rose } else { &seen.fell };
            change.set(Some(time));
        });
        let (registers, window) = (outside.clone(), self.window);
        let memories = [&wiring.primary].into_iter().chain(&wiring.secondary).cloned().collect();
        let nvdla = self.nvdla.as_ref();
        let done_to_interrupt = nvdla.map(|nvdla| Timing::of(&nvdla.config, nvdla.rtl).done_to_interrupt);
        Box::new(OutsideDevice { registers, outside, window, line, memories, done_to_interrupt })
    }
}

impl Device for OutsideDevice {
    fn registers(&self) -> &Rc<dyn RegisterBus> {
        &self.registers
    }

    fn outside_registers(&self) -> Option<&Rc<OutsideRegisters>> {
        Some(&self.outside)
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn numbering(&self) -> &'static str {
        "layer"
    }

    fn unfinished(&self, _: &[OpenWork<'_>]) -> Vec<String> {
        self.outside.gone().into_iter().map(|why| format!("csb0: {why}")).collect()
    }

    fn checkpoint(&self, _: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        Err(CheckpointError::Unsupported(
            "the device is outside, and is not saved with the platform".to_owned(),
        ))
    }

    fn count(&self, cycle: Time, statistics: &mut Statistics) {
        let Some(enabled) = self.outside.started() else { return };
        statistics.count("nvdla.enabled", enabled.as_ps(), "ps");
        let (mut done, mut until) = (self.line.rose.get(), "the last rise of the interrupt line");
        // A layer that ends while the line is high cannot be seen there; its last write can. An event comes behind the
        // response, so a line that was high before shows another one.
        if let Some(cycles) = self.done_to_interrupt
            && let Some(written) = self.memories.iter().filter_map(|port| port.responded_to_master()).max()
        {
            let event = written + cycle * u64::from(cycles);
            if self.line.was_high(written..=event) {
                done = Some(event);
                until = "the event behind the last write, at which the interrupt line was already high";
            }
        }
        statistics.note("nvdla.cycles.until", until);
        if let Some(done) = done.filter(|done| *done >= enabled) {
            statistics.count("nvdla.done", done.as_ps(), "ps");
            statistics.count("nvdla.cycles", (done - enabled).cycles(cycle), "cycles");
        }
    }
}

/// Returns true if an access sets a layer of an NVDLA going: D_OP_ENABLE of a unit, or a launch of BDMA.
fn is_enable(map: RegisterMap, request: &RegisterRequest) -> bool {
    let RegisterAccess::Write { value, .. } = request.access else { return false };
    map.at(request.address).is_some_and(|located| located.register.starts_work_with(value))
}
