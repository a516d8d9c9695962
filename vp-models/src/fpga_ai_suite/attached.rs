//! The IP as the device of a platform, behind its register bus.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::rc::Rc;

use super::architecture::Architecture;
use super::csr::WINDOW;
use super::device::Suite;
use crate::bus::axi_lite::{AxiLite, AxiLiteTiming};
use crate::bus::register::RegisterBus;
use crate::bus::stream::InputStream;
use crate::counters::Statistics;
use crate::device::{Device, Identity, OpenWork, PendingInterrupt, Wiring};
use vp_core::Time;

/// An access a cycle, four cycles each. An assumption: the vendor's handbook (section 10.3.4, "CSR Map and Descriptor Queue")
/// says 32-bit data, byte addresses and a window of 2048 bytes, and nothing of time.
const BUS_TIMING: AxiLiteTiming = AxiLiteTiming { effect: 2, answer: 2 };

/// The IP with its register bus.
struct Attached {
    suite: Rc<Suite>,
    registers: Rc<dyn RegisterBus>,
}

impl Architecture {
    /// Returns the identity of the device.
    pub(crate) fn identity(&self) -> Identity {
        let compatible = &["intel,fpga-ai-suite", "generic-uio"];
        let compatible = compatible.iter().map(ToString::to_string).collect();
        Identity { kind: "fpga-ai-suite", compatible, register_map: None }
    }

    /// Builds the device and its register bus.
    pub(crate) fn build(&self, wiring: Wiring<'_>) -> Box<dyn Device> {
        let (sim, cycle) = (wiring.sim, wiring.cycle);
        let suite = Suite::new(self.clone(), wiring);
        let registers = AxiLite::new(sim, "csr0", cycle, WINDOW, BUS_TIMING, suite.clone());
        Box::new(Attached { suite, registers })
    }
}

impl Device for Attached {
    fn registers(&self) -> &Rc<dyn RegisterBus> {
        &self.registers
    }

    fn window(&self) -> u32 {
        WINDOW
    }

    fn numbering(&self) -> &'static str {
        "number"
    }

    fn unfinished(&self, open: &[OpenWork<'_>]) -> Vec<String> {
        let begun = open
            .iter()
            .map(|OpenWork { unit, number, label }| format!("{unit} {number} is in the middle of {label}"));
        let waiting = self.suite.queue.borrow().len();
        let mut parts: Vec<String> = begun.collect();
        if waiting > 0 {
            let why = if self.suite.is_listening() { "" } else { ", and streaming is not active" };
            parts.push(format!("{waiting} in the descriptor queue have not begun{why}"));
        }
        parts
    }

    fn pending(&self) -> Vec<PendingInterrupt> {
        self.suite.csr.borrow().set_interrupts()
    }

    fn count(&self, _: Time, statistics: &mut Statistics) {
        let [any, jobs] = self.suite.clocks();
        let counts = &self.suite.counts;
        statistics.note("fpga_ai_suite.hash", self.suite.architecture.hash().to_string());
        statistics.count("fpga_ai_suite.requests", self.suite.queue.borrow().taken(), "requests");
        statistics.count("fpga_ai_suite.jobs", counts.begun.get(), "jobs");
        statistics.count("fpga_ai_suite.complete", counts.complete.get(), "jobs");
        statistics.count("fpga_ai_suite.failed", counts.failed.get(), "jobs");
        statistics.count("fpga_ai_suite.interrupts", self.suite.csr.borrow().arisen(), "interrupts");
        statistics.count("fpga_ai_suite.active", any, "cycles");
        statistics.count("fpga_ai_suite.active_jobs", jobs, "cycles");
        statistics.count("fpga_ai_suite.input", self.suite.words(&counts.input_bytes), "words");
        statistics.count("fpga_ai_suite.filters", self.suite.words(&counts.filter_bytes), "words");
        statistics.count("fpga_ai_suite.output", self.suite.words(&counts.output_bytes), "words");
    }

    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        self.suite.checkpoint(at)
    }

    fn input_stream(&self) -> Option<&Rc<InputStream>> {
        self.suite.stream.as_ref()
    }
}
