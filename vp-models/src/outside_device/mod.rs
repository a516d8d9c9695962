//! A device that is outside the platform: the ports are here, and whoever attaches to them as a partner is the device.

mod description;

use std::rc::Rc;

use vp_core::Time;

use crate::bus::register::{OutsideRegisters, RegisterBus};
use crate::counters::Statistics;
use crate::device::{Device, OpenWork, Wiring};

pub use description::{OutsideDescription, OutsideError, OutsideInterface};

/// The platform's side of the device.
struct OutsideDevice {
    registers: Rc<dyn RegisterBus>,
    outside: Rc<OutsideRegisters>,
    window: u32,
}

impl OutsideDescription {
    /// Builds the ports.
    pub(crate) fn build(&self, wiring: &Wiring<'_>) -> Box<dyn Device> {
        let outside = OutsideRegisters::new(wiring.sim, "csb0", wiring.cycle);
        let (registers, window) = (outside.clone(), self.window);
        Box::new(OutsideDevice { registers, outside, window })
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
        Vec::new()
    }

    fn count(&self, _: Time, _: &mut Statistics) {}
}
