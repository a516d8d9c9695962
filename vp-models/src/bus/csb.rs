//! CSB, the configuration space bus of NVDLA: 32-bit registers at 16-bit word addresses.
//!
//! Requests are taken one after the other, travel through a pipeline to the device's decoder and take effect
//! there. Answers travel back in request order, since nothing overtakes. A posted write has no answer. The CPU
//! ([`RegisterBus`]) and the device ([`RegisterTarget`]) do not depend on each other.
//!
//! Architecture text, "Configuration Space Bus"; cycles as seen on the RTL (see [`CsbTiming`]).

use super::register::{
    AccessListener, AnswerListener, Pipeline, RegisterBus, RegisterRequest, RegisterResponse, RegisterTarget,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Sim, Time};

/// Delays of the bus, in clock cycles.
///
/// The FIFO between bus and device drains in groups: after the first request of a run, a group of requests is
/// taken no faster than one in `group_period`, and the last request of a group waits for the next group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsbTiming {
    /// Requests in a group.
    pub group: u32,
    /// Cycles from the acceptance of a request to that of the request one group later, at least.
    pub group_period: u32,
    /// Cycles by which the last request of a group takes effect later than the others.
    pub group_delay: u32,
    /// Cycles from the acceptance of a request to its effect in the register file.
    pub effect: u32,
    /// Cycles from the effect to the one in which the CPU can act on the answer, which is on the bus in the previous
    /// cycle.
    pub answer: u32,
}

/// Bytes that a CSB reaches: 16-bit word addresses.
const WINDOW: u32 = 4 << 16;

/// The bus between one CPU side and one device.
pub struct Csb {
    pipeline: Rc<Pipeline>,
    ready: ReadyListener,
}

/// The function that is called when requests are accepted.
type ReadyListener = Rc<RefCell<Option<Box<dyn Fn(Time, bool)>>>>;

impl Csb {
    /// A bus with the given clock period in front of `target`.
    pub fn new(
        sim: &Sim,
        name: &'static str,
        period: Time,
        timing: CsbTiming,
        target: Rc<dyn RegisterTarget>,
    ) -> Rc<Csb> {
        let pipeline = Pipeline::new(sim, name, period, WINDOW, timing.answer, target);
        let ready = ReadyListener::default();
        let accept = accept(sim.clone(), (pipeline.clone(), ready.clone()), period, timing);
        sim.server(format!("{name}.accept"), accept);
        pipeline.start();
        Rc::new(Csb { pipeline, ready })
    }
}

impl RegisterBus for Csb {
    fn name(&self) -> &'static str {
        self.pipeline.name()
    }

    fn send(&self, request: RegisterRequest) {
        self.pipeline.send(request);
    }

    fn on_response(&self, responder: Box<dyn Fn(RegisterResponse)>) {
        self.pipeline.on_response(responder);
    }

    fn on_answer(&self, told: Option<AnswerListener>) {
        self.pipeline.on_answer(told);
    }

    fn on_ready(&self, told: Box<dyn Fn(Time, bool)>) {
        *self.ready.borrow_mut() = Some(told);
    }

    fn target(&self) -> Option<&dyn RegisterTarget> {
        Some(self.pipeline.target())
    }

    fn poke(&self, address: u32, value: u32) {
        self.pipeline.poke(address, value);
    }

    fn on_access(&self, told: AccessListener) {
        self.pipeline.on_access(told);
    }

    fn backlog(&self) -> usize {
        self.pipeline.backlog()
    }

    fn is_quiet(&self) -> bool {
        self.pipeline.is_quiet()
    }
}

/// Takes requests from the queue, in runs: a run ends when the FIFO has had time to drain.
async fn accept(sim: Sim, (pipeline, ready): (Rc<Pipeline>, ReadyListener), period: Time, timing: CsbTiming) {
    let group_period = period * u64::from(timing.group_period);
    // The acceptance times of the present run's last group, oldest first, and the run's length.
    let mut group = VecDeque::with_capacity(timing.group as usize);
    let mut run = 0;
    loop {
        pipeline.wait_for_requests().await;
        if group.back().is_some_and(|&last| sim.now() > last + group_period) {
            group.clear();
            run = 0;
        }
        if group.len() == timing.group as usize
            && let Some(oldest) = group.pop_front()
            // The first request of a run goes straight through and does not count.
            && run > timing.group
        {
            sim.wait_until(oldest + group_period).await;
        }
        let Some(request) = pipeline.take() else { continue };
        let is_last_of_group = run > 0 && run % timing.group == 0;
        pipeline.forward(request, timing.effect + if is_last_of_group { timing.group_delay } else { 0 });
        group.push_back(sim.now());
        run += 1;
        if let Some(ready) = &*ready.borrow()
            && group.len() == timing.group as usize
            && run > timing.group
        {
            let (next, room) = (sim.now() + period, group[0] + group_period);
            if room > next {
                ready(next, false);
                ready(room, true);
            }
        }
        sim.wait(period).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::register::RegisterAccess;
    use std::cell::RefCell;
    use std::collections::HashMap;
    use vp_core::Simulation;

    #[derive(Default)]
    struct Store(RefCell<HashMap<u32, u32>>);

    impl RegisterTarget for Store {
        fn read(&self, address: u32) -> u32 {
            self.0.borrow().get(&address).copied().unwrap_or(0)
        }
        fn peek(&self, address: u32, _: Option<usize>) -> u32 {
            self.read(address)
        }
        fn write(&self, address: u32, value: u32, _: Time) {
            self.0.borrow_mut().insert(address, value);
        }
    }

    const TIMING: CsbTiming = CsbTiming { group: 4, group_period: 9, group_delay: 5, effect: 14, answer: 4 };

    fn answers_of(requests: &[RegisterRequest]) -> Vec<(u64, u32, Time)> {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let bus = Csb::new(&sim, "csb0", Time::ns(1), TIMING, Rc::new(Store::default()));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = seen.clone();
        bus.on_response(Box::new(move |RegisterResponse { tag, result }| {
            log.borrow_mut().push((tag, result.unwrap(), sim.now()));
        }));
        requests.iter().for_each(|&request| bus.send(request));
        simulation.run();
        assert!(bus.is_quiet());
        seen.take()
    }

    fn write(tag: u64, address: u32, value: u32, posted: bool) -> RegisterRequest {
        RegisterRequest { address, access: RegisterAccess::Write { value, posted }, tag }
    }

    fn read(tag: u64, address: u32) -> RegisterRequest {
        RegisterRequest { address, access: RegisterAccess::Read, tag }
    }

    #[test]
    fn a_read_takes_eighteen_cycles() {
        assert_eq!(answers_of(&[read(7, 4)]), [(7, 0, Time::ns(18))]);
    }

    #[test]
    fn a_run_of_requests_is_taken_in_groups_of_four_every_nine_cycles() {
        let requests: Vec<RegisterRequest> = (0..14).map(|tag| write(tag, 0, 0, false)).collect();
        let seen: Vec<u64> = answers_of(&requests)
            .iter()
            .map(|&(.., time)| (time - Time::ns(18)).cycles(Time::ns(1)))
            .collect();
        // Accepted at 0 1 2 3 4, 10 11 12 13, 19 20 21 22, 28; requests 4, 8 and 12 take effect five later,
        // which here no later request overtakes.
        assert_eq!(seen, [0, 1, 2, 3, 9, 10, 11, 12, 18, 19, 20, 21, 27, 28]);
    }

    #[test]
    fn a_posted_write_gets_no_response() {
        assert_eq!(answers_of(&[write(1, 20, 9, true)]), []);
    }

    #[test]
    fn responses_come_in_request_order_and_a_read_sees_the_write_before_it() {
        let seen = answers_of(&[
            write(1, 20, 9, true),
            read(2, 20),
            write(3, 20, 10, false),
            read(4, 20),
            read(5, 24),
        ]);
        let values: Vec<(u64, u32)> = seen.iter().map(|&(tag, value, _)| (tag, value)).collect();
        assert_eq!(values, [(2, 9), (3, 0), (4, 10), (5, 0)]);
    }
}
