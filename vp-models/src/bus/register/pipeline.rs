//! The common part of the buses inside a platform: a queue, a pipeline to the device's decoder, and one back.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use vp_core::observe::{Source, SourceKind, What};
use vp_core::{Event, Sim, Time};

use super::{
    AccessListener, AnswerListener, RegisterAccess, RegisterRequest, RegisterResponse, RegisterTarget,
};
use crate::bus::DelayLine;

type Responder = Box<dyn Fn(RegisterResponse)>;

/// A bus without its rule of acceptance: when which request leaves the queue is a process of each kind of bus.
pub(in crate::bus) struct Pipeline {
    name: &'static str,
    sim: Sim,
    source: Source,
    period: Time,
    /// Cycles from a request's effect to the one in which the CPU can act on the answer.
    answer: u32,
    queue: RefCell<VecDeque<RegisterRequest>>,
    queued: Event,
    in_flight: DelayLine<(RegisterRequest, Time)>,
    answers: DelayLine<RegisterResponse>,
    responder: RefCell<Option<Responder>>,
    answer_listener: RefCell<Option<AnswerListener>>,
    access_listener: RefCell<Option<AccessListener>>,
    unanswered: Cell<usize>,
    target: Rc<dyn RegisterTarget>,
}

impl Pipeline {
    /// A pipeline in front of `target`, `window` bytes of registers, whose answers take so many cycles.
    pub(in crate::bus) fn new(
        sim: &Sim,
        name: &'static str,
        period: Time,
        window: u32,
        answer: u32,
        target: Rc<dyn RegisterTarget>,
    ) -> Rc<Pipeline> {
        let address_bits = window.next_power_of_two().ilog2();
        Rc::new(Pipeline {
            name,
            sim: sim.clone(),
            source: sim.source(name, SourceKind::Registers { address_bits }),
            period,
            answer,
            queue: RefCell::default(),
            queued: sim.work_event(format!("{name}.request")),
            in_flight: DelayLine::new(sim, format!("{name}.request_pipe"), Time::ZERO),
            answers: DelayLine::new(sim, format!("{name}.answer_pipe"), Time::ZERO),
            responder: RefCell::default(),
            answer_listener: RefCell::default(),
            access_listener: RefCell::default(),
            unanswered: Cell::new(0),
            target,
        })
    }

    /// Starts the processes behind the acceptance: the decoder in front of the target, and the way back.
    pub(in crate::bus) fn start(self: &Rc<Self>) {
        let name = self.name;
        self.sim.server(format!("{name}.decode"), self.clone().decode());
        self.sim.server(format!("{name}.answer"), self.clone().give_answers());
    }

    pub(in crate::bus) fn name(&self) -> &'static str {
        self.name
    }

    pub(in crate::bus) fn send(&self, request: RegisterRequest) {
        if request.access.is_answered() {
            self.unanswered.set(self.unanswered.get() + 1);
        }
        let mut queue = self.queue.borrow_mut();
        queue.push_back(request);
        if queue.len() == 1 {
            self.queued.notify_delta();
        }
    }

    pub(in crate::bus) fn on_response(&self, responder: Responder) {
        *self.responder.borrow_mut() = Some(responder);
    }

    pub(in crate::bus) fn on_answer(&self, told: Option<AnswerListener>) {
        *self.answer_listener.borrow_mut() = told;
    }

    pub(in crate::bus) fn target(&self) -> &dyn RegisterTarget {
        &*self.target
    }

    /// Writes a register at once, beside what is under way.
    pub(in crate::bus) fn poke(&self, address: u32, value: u32) {
        self.target.write(address, value, self.sim.now());
        self.sim.report(self.source, What::Register { write: true, address, value });
    }

    pub(in crate::bus) fn on_access(&self, told: AccessListener) {
        *self.access_listener.borrow_mut() = Some(told);
    }

    pub(in crate::bus) fn backlog(&self) -> usize {
        self.queue.borrow().len()
    }

    pub(in crate::bus) fn is_quiet(&self) -> bool {
        self.backlog() == 0 && self.in_flight.is_empty() && self.unanswered.get() == 0
    }

    /// Waits if no request waits; one may not wait after that either.
    pub(in crate::bus) async fn wait_for_requests(&self) {
        if self.queue.borrow().is_empty() {
            self.queued.wait().await;
        }
    }

    /// The next request, which is accepted now.
    pub(in crate::bus) fn take(&self) -> Option<RegisterRequest> {
        self.queue.borrow_mut().pop_front()
    }

    /// Lets a request that is accepted now take effect so many cycles later.
    pub(in crate::bus) fn forward(&self, request: RegisterRequest, cycles: u32) {
        let accepted = self.sim.now();
        self.in_flight.push_at(accepted + self.period * u64::from(cycles), (request, accepted));
    }

    async fn decode(self: Rc<Self>) {
        let target = &self.target;
        loop {
            let (RegisterRequest { address, access, tag }, accepted) = self.in_flight.next().await;
            let (write, value) = match access {
                RegisterAccess::Read => (false, target.read(address)),
                RegisterAccess::Write { value, .. } => {
                    target.write(address, value, accepted);
                    (true, value)
                }
            };
            self.sim.report(self.source, What::Register { write, address, value });
            if let Some(told) = &*self.access_listener.borrow() {
                told(address);
            }
            if access.is_answered() {
                let cycles = u64::from(self.answer + target.distance(address));
                let due = self.sim.now() + self.period * cycles;
                let value = if write { 0 } else { value };
                let response = RegisterResponse { tag, result: Ok(value) };
                let due = self.answers.push_at(due, response.clone());
                if let Some(told) = &*self.answer_listener.borrow() {
                    told(Time::ps(due.as_ps() - self.period.as_ps()), response);
                }
            }
        }
    }

    async fn give_answers(self: Rc<Self>) {
        loop {
            let response = self.answers.next().await;
            self.unanswered.set(self.unanswered.get() - 1);
            if let Some(responder) = &*self.responder.borrow() {
                responder(response);
            }
        }
    }
}
