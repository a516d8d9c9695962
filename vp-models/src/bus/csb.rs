//! CSB, the configuration space bus: 32-bit registers at 16-bit word addresses.
//!
//! Requests are taken one after the other, travel through a pipeline to the device's decoder, take effect
//! there, and answers travel back: in request order, since nothing on the way overtakes. A posted write has
//! no answer. Whoever is the CPU ([`Csb::send`]) and whatever is the device ([`CsbTarget`]) know nothing of
//! each other.
//!
//! Architecture text, "Configuration Space Bus"; cycles as seen on the RTL (see [`CsbTiming`]).

use super::DelayLine;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::observe::{Source, What};
use vp_core::{Event, Sim, Time};

/// The registers behind a CSB. Addresses are 32-bit words; holes read zero and ignore writes.
pub trait CsbTarget {
    /// The value of a register.
    fn read(&self, word: u16) -> u32;

    /// Cycles that an answer from there takes longer than others: the registers on the way.
    fn distance(&self, _word: u16) -> u32 {
        0
    }

    /// Stores a value; `accepted` is when the request was taken onto the bus.
    fn write(&self, word: u16, value: u32, accepted: Time);
}

/// What a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsbAccess {
    /// The value of a register.
    Read,
    /// To store a value, with an answer only if it is not posted.
    Write {
        /// The value.
        value: u32,
        /// Whether it goes without an answer.
        posted: bool,
    },
}

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsbRequest {
    /// The register's address in words: the byte address divided by four.
    pub word: u16,
    /// Read or write.
    pub access: CsbAccess,
    /// Chosen by the sender; comes back in the response.
    pub tag: u64,
}

/// The answer to a read or to a write that was not posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsbResponse {
    /// The tag of the request.
    pub tag: u64,
    /// The value read, or zero for a write.
    pub value: u32,
}

/// How long the bus takes, in clock cycles.
///
/// The FIFO between bus and device drains in groups: after the first request of a run, a group of requests
/// is taken no faster than one in `group_period`, and the last of a group waits for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsbTiming {
    /// Requests in a group.
    pub group: u32,
    /// From the acceptance of a request to that of the one a group later, at least.
    pub group_period: u32,
    /// How much later than the others the last request of a group takes effect.
    pub group_delay: u32,
    /// From the acceptance of a request to its effect in the register file.
    pub effect: u32,
    /// From the effect to the cycle in which the CPU can act on the answer, which was on the bus in the one before.
    pub answer: u32,
}

type Responder = Box<dyn Fn(CsbResponse)>;

/// The bus between one CPU side and one device.
pub struct Csb {
    sim: Sim,
    source: Source,
    period: Time,
    timing: CsbTiming,
    queue: RefCell<VecDeque<CsbRequest>>,
    queued: Event,
    in_flight: DelayLine<(CsbRequest, Time)>,
    answers: DelayLine<CsbResponse>,
    responder: RefCell<Option<Responder>>,
    unanswered: Cell<usize>,
}

impl Csb {
    /// A bus with the given clock period in front of `target`.
    pub fn new(sim: &Sim, name: &str, period: Time, timing: CsbTiming, target: Rc<dyn CsbTarget>) -> Rc<Csb> {
        let bus = Rc::new(Csb {
            sim: sim.clone(),
            source: sim.source(name),
            period,
            timing,
            queue: RefCell::default(),
            queued: sim.work_event(format!("{name}.request")),
            in_flight: DelayLine::new(sim, format!("{name}.request_pipe"), Time::ZERO),
            answers: DelayLine::new(sim, format!("{name}.answer_pipe"), Time::ZERO),
            responder: RefCell::default(),
            unanswered: Cell::new(0),
        });
        sim.server(format!("{name}.accept"), bus.clone().accept());
        sim.server(format!("{name}.decode"), bus.clone().decode(target));
        sim.server(format!("{name}.answer"), bus.clone().answer());
        bus
    }

    /// Queues a request; the bus takes it when its turn comes.
    pub fn send(&self, request: CsbRequest) {
        if !matches!(request.access, CsbAccess::Write { posted: true, .. }) {
            self.unanswered.set(self.unanswered.get() + 1);
        }
        let mut queue = self.queue.borrow_mut();
        queue.push_back(request);
        if queue.len() == 1 {
            self.queued.notify_delta();
        }
    }

    /// Says who gets the answers.
    pub fn on_response(&self, responder: impl Fn(CsbResponse) + 'static) {
        *self.responder.borrow_mut() = Some(Box::new(responder));
    }

    /// How many requests wait to be taken.
    pub fn backlog(&self) -> usize {
        self.queue.borrow().len()
    }

    /// Whether every request has been taken, has taken effect and, if it wants an answer, got it.
    pub fn is_quiet(&self) -> bool {
        self.backlog() == 0 && self.in_flight.is_empty() && self.unanswered.get() == 0
    }

    /// Takes requests from the queue, in runs: a run ends when the FIFO has had time to drain.
    async fn accept(self: Rc<Self>) {
        let group_period = self.period * u64::from(self.timing.group_period);
        // The acceptance times of the present run's last group, oldest first, and the run's length.
        let mut group = VecDeque::with_capacity(self.timing.group as usize);
        let mut run = 0;
        loop {
            if self.queue.borrow().is_empty() {
                self.queued.wait().await;
            }
            if group.back().is_some_and(|&last| self.sim.now() > last + group_period) {
                group.clear();
                run = 0;
            }
            if group.len() == self.timing.group as usize
                && let Some(oldest) = group.pop_front()
                // The first request of a run goes straight through and does not count.
                && run > self.timing.group
            {
                self.sim.wait_until(oldest + group_period).await;
            }
            let Some(request) = self.queue.borrow_mut().pop_front() else { continue };
            let accepted = self.sim.now();
            let is_last_of_group = run > 0 && run % self.timing.group == 0;
            let effect = self.timing.effect + if is_last_of_group { self.timing.group_delay } else { 0 };
            self.in_flight.push_at(accepted + self.period * u64::from(effect), (request, accepted));
            group.push_back(accepted);
            run += 1;
            self.sim.wait(self.period).await;
        }
    }

    async fn decode(self: Rc<Self>, target: Rc<dyn CsbTarget>) {
        loop {
            let (request, accepted) = self.in_flight.next().await;
            let (write, value) = match request.access {
                CsbAccess::Read => (false, target.read(request.word)),
                CsbAccess::Write { value, .. } => {
                    target.write(request.word, value, accepted);
                    (true, value)
                }
            };
            let address = u32::from(request.word) * 4;
            self.sim.report(self.source, What::Register { write, address, value });
            if !matches!(request.access, CsbAccess::Write { posted: true, .. }) {
                let cycles = u64::from(self.timing.answer + target.distance(request.word));
                let due = self.sim.now() + self.period * cycles;
                let value = if write { 0 } else { value };
                self.answers.push_at(due, CsbResponse { tag: request.tag, value });
            }
        }
    }

    async fn answer(self: Rc<Self>) {
        loop {
            let response = self.answers.next().await;
            self.unanswered.set(self.unanswered.get() - 1);
            if let Some(responder) = &*self.responder.borrow() {
                responder(response);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use vp_core::Simulation;

    #[derive(Default)]
    struct Store(RefCell<HashMap<u16, u32>>);

    impl CsbTarget for Store {
        fn read(&self, word: u16) -> u32 {
            self.0.borrow().get(&word).copied().unwrap_or(0)
        }
        fn write(&self, word: u16, value: u32, _: Time) {
            self.0.borrow_mut().insert(word, value);
        }
    }

    const TIMING: CsbTiming = CsbTiming { group: 4, group_period: 9, group_delay: 5, effect: 14, answer: 4 };

    fn answers_of(requests: &[CsbRequest]) -> Vec<(u64, u32, Time)> {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let bus = Csb::new(&sim, "csb0", Time::ns(1), TIMING, Rc::new(Store::default()));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = seen.clone();
        bus.on_response(move |response| log.borrow_mut().push((response.tag, response.value, sim.now())));
        requests.iter().for_each(|&request| bus.send(request));
        simulation.run();
        assert!(bus.is_quiet());
        seen.take()
    }

    fn write(tag: u64, word: u16, value: u32, posted: bool) -> CsbRequest {
        CsbRequest { word, access: CsbAccess::Write { value, posted }, tag }
    }

    fn read(tag: u64, word: u16) -> CsbRequest {
        CsbRequest { word, access: CsbAccess::Read, tag }
    }

    #[test]
    fn a_read_takes_eighteen_cycles() {
        assert_eq!(answers_of(&[read(7, 1)]), [(7, 0, Time::ns(18))]);
    }

    #[test]
    fn a_run_of_requests_is_taken_in_groups_of_four_every_nine_cycles() {
        let requests: Vec<CsbRequest> = (0..14).map(|tag| write(tag, 0, 0, false)).collect();
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
        assert_eq!(answers_of(&[write(1, 5, 9, true)]), []);
    }

    #[test]
    fn responses_come_in_request_order_and_a_read_sees_the_write_before_it() {
        let seen =
            answers_of(&[write(1, 5, 9, true), read(2, 5), write(3, 5, 10, false), read(4, 5), read(5, 6)]);
        let values: Vec<(u64, u32)> = seen.iter().map(|&(tag, value, _)| (tag, value)).collect();
        assert_eq!(values, [(2, 9), (3, 0), (4, 10), (5, 0)]);
    }
}
