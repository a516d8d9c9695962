//! A device that is outside the platform: the ports are here, and whoever attaches to them as a partner is the device.

mod description;

use std::cell::Cell;
use std::rc::Rc;

use vp_core::Time;

use crate::bus::register::{OutsideRegisters, RegisterAccess, RegisterBus, RegisterRequest};
use crate::counters::Statistics;
use crate::device::{Device, OpenWork, Wiring};
use crate::nvdla::registers::RegisterMap;

pub use description::{OutsideDescription, OutsideError, OutsideInterface};

/// The platform's side of the device.
struct OutsideDevice {
    registers: Rc<dyn RegisterBus>,
    outside: Rc<OutsideRegisters>,
    window: u32,
    /// When the line last rose.
    done: Rc<Cell<Option<Time>>>,
}

impl OutsideDescription {
    /// Builds the ports.
    pub(crate) fn build(&self, wiring: &Wiring<'_>) -> Box<dyn Device> {
        let map = self.nvdla.as_ref().map(|nvdla| nvdla.config.register_map);
        let is_start = move |request: &RegisterRequest| map.is_some_and(|map| is_enable(map, request));
        let outside =
            OutsideRegisters::new(wiring.sim, "csb0", wiring.cycle, self.window, Box::new(is_start));
        let done = Rc::new(Cell::new(None));
        let seen = done.clone();
        wiring.interrupt.connect(move |level, time| {
            if level {
                seen.set(Some(time));
            }
        });
        let (registers, window) = (outside.clone(), self.window);
        Box::new(OutsideDevice { registers, outside, window, done })
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

    fn count(&self, cycle: Time, statistics: &mut Statistics) {
        // As seen at the ports: layers that end while the line is high are not seen.
        statistics.note("nvdla.cycles.until", "the last rise of the interrupt line");
        let Some(enabled) = self.outside.started() else { return };
        statistics.count("nvdla.enabled", enabled.as_ps(), "ps");
        if let Some(done) = self.done.get().filter(|done| *done >= enabled) {
            statistics.count("nvdla.done", done.as_ps(), "ps");
            statistics.count("nvdla.cycles", (done - enabled).cycles(cycle), "cycles");
        }
    }
}

/// Whether an access sets a layer of an NVDLA going: D_OP_ENABLE of a unit, or a launch of BDMA.
fn is_enable(map: RegisterMap, request: &RegisterRequest) -> bool {
    let RegisterAccess::Write { value, .. } = request.access else { return false };
    let Some((unit, offset)) = map.unit_at(request.address).filter(|_| value & 1 == 1) else { return false };
    let starts = |name: &str| matches!(name, "D_OP_ENABLE" | "CFG_LAUNCH0" | "CFG_LAUNCH1");
    unit.register_at(offset).is_some_and(|register| starts(register.name))
}
