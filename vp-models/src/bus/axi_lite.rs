//! AXI4-Lite in front of a block of registers: one access a cycle, each to one 32-bit word.
//!
//! Unlike those of AXI4-Lite, reads and writes are one sequence here, as for a CPU that waits for each. Their
//! times are the device's ([`AxiLiteTiming`]).

use std::rc::Rc;

use vp_core::{Sim, Time};

use super::register::{
    AccessListener, AnswerListener, Pipeline, RegisterBus, RegisterRequest, RegisterResponse, RegisterTarget,
};

/// Delays of the bus, in clock cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxiLiteTiming {
    /// Cycles from the acceptance of a request to its effect in the registers.
    pub effect: u32,
    /// Cycles from the effect to the one in which the CPU can act on the answer.
    pub answer: u32,
}

/// The bus between one CPU side and one device.
pub struct AxiLite(Rc<Pipeline>);

impl AxiLite {
    /// A bus with the given clock period in front of `target`, whose registers take `window` bytes.
    pub fn new(
        sim: &Sim,
        name: &'static str,
        period: Time,
        window: u32,
        timing: AxiLiteTiming,
        target: Rc<dyn RegisterTarget>,
    ) -> Rc<AxiLite> {
        let pipeline = Pipeline::new(sim, name, period, window, timing.answer, target);
        sim.server(format!("{name}.accept"), accept(sim.clone(), pipeline.clone(), period, timing.effect));
        pipeline.start();
        Rc::new(AxiLite(pipeline))
    }
}

impl RegisterBus for AxiLite {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn send(&self, request: RegisterRequest) {
        self.0.send(request);
    }

    fn on_response(&self, responder: Box<dyn Fn(RegisterResponse)>) {
        self.0.on_response(responder);
    }

    fn on_answer(&self, told: Option<AnswerListener>) {
        self.0.on_answer(told);
    }

    fn target(&self) -> Option<&dyn RegisterTarget> {
        Some(self.0.target())
    }

    fn poke(&self, address: u32, value: u32) {
        self.0.poke(address, value);
    }

    fn on_access(&self, told: AccessListener) {
        self.0.on_access(told);
    }

    fn backlog(&self) -> usize {
        self.0.backlog()
    }

    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}

/// Takes a request a cycle from the queue.
async fn accept(sim: Sim, pipeline: Rc<Pipeline>, period: Time, effect: u32) {
    loop {
        pipeline.wait_for_requests().await;
        let Some(request) = pipeline.take() else { continue };
        pipeline.forward(request, effect);
        sim.wait(period).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::register::RegisterAccess;
    use std::cell::RefCell;
    use vp_core::Simulation;

    /// Reads its address.
    struct Echo;

    impl RegisterTarget for Echo {
        fn read(&self, address: u32) -> u32 {
            address
        }
        fn peek(&self, address: u32, _: Option<usize>) -> u32 {
            address
        }
        fn write(&self, _: u32, _: u32, _: Time) {}
    }

    #[test]
    fn requests_are_taken_one_a_cycle_and_answered_in_order() {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let timing = AxiLiteTiming { effect: 2, answer: 2 };
        let bus = AxiLite::new(&sim, "csr0", Time::ns(1), 0x800, timing, Rc::new(Echo));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = seen.clone();
        bus.on_response(Box::new(move |RegisterResponse { tag, result }| {
            log.borrow_mut().push((tag, result.unwrap(), sim.now()));
        }));
        let posted = RegisterAccess::Write { value: 1, posted: true };
        let accesses = [RegisterAccess::Read, posted, RegisterAccess::Read];
        for (access, tag) in accesses.into_iter().zip(0..) {
            bus.send(RegisterRequest { address: tag as u32 * 4, access, tag });
        }
        assert_eq!((bus.backlog(), bus.is_quiet()), (3, false));
        simulation.run();
        assert_eq!(*seen.borrow(), [(0, 0, Time::ns(4)), (2, 8, Time::ns(6))]);
        assert!(bus.is_quiet());
    }
}
