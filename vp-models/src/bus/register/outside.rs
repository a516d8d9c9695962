//! Registers that are outside the platform, behind a partner with a clock.
//!
//! An access is on the bus until it is taken, as for [`Driven`]. An access that needs an answer delays all
//! others behind it until its answer is there: NVDLA's response pulses have no tag and cannot wait (RTL,
//! `NV_NVDLA_csb_master.v`).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use vp_core::observe::{Source, SourceKind, Warning, What};
use vp_core::{Event, Sim, Time};

use super::{AnswerListener, RegisterAccess, RegisterBus, RegisterError, RegisterRequest, RegisterResponse};
use crate::bus::DelayLine;
use crate::bus::axi::Driven;

type Responder = Box<dyn Fn(RegisterResponse)>;

/// Takes the accesses that are driven, and the edge at which the target sees each.
pub(crate) type RegisterSink = Box<dyn Fn(Time, RegisterRequest)>;

/// Function that returns true for an access that makes a device begin its work.
pub(crate) type IsStart = Box<dyn Fn(&RegisterRequest) -> bool>;

/// Cycles after which an access that has no answer fails: a CPU that waited for ever could not be debugged.
const MOST_CYCLES: u64 = 65_536;

/// A register bus whose target is a partner.
pub struct OutsideRegisters {
    name: &'static str,
    sim: Sim,
    source: Source,
    state: RefCell<RegisterPinsState>,
    responder: RefCell<Option<Responder>>,
    answer_listener: RefCell<Option<AnswerListener>>,
    /// Answers that were on the bus and that the CPU gets an edge later.
    answers: DelayLine<RegisterResponse>,
    /// Event for accesses that will not be answered.
    lost: Event,
    /// The open access has waited too long for its answer.
    overdue: Event,
    /// Number of answers that are due.
    unanswered: Cell<usize>,
    is_start: IsStart,
}

struct RegisterPinsState {
    period: Time,
    target: Option<(RegisterSink, Driven)>,
    /// Behind an access that is to be answered.
    queue: VecDeque<RegisterRequest>,
    open: Option<RegisterRequest>,
    /// Accesses without an answer, and why.
    lost: VecDeque<(RegisterRequest, String)>,
    /// Of the first access that makes the device begin: how many were driven before it, and when it was taken.
    start: Option<(u64, Option<Time>)>,
    driven: u64,
    /// Reason for which there is no target any more, if there was one.
    gone: Option<String>,
    /// True if it was said that nobody is there.
    is_told: bool,
}

impl OutsideRegisters {
    /// A bus in front of `window` bytes of registers, which no target is attached to.
    pub(crate) fn new(
        sim: &Sim,
        name: &'static str,
        period: Time,
        window: u32,
        is_start: IsStart,
    ) -> Rc<OutsideRegisters> {
        let address_bits = window.next_power_of_two().ilog2();
        let (queue, lost) = (VecDeque::new(), VecDeque::new());
        let state = RegisterPinsState {
            period,
            target: None,
            queue,
            open: None,
            lost,
            start: None,
            driven: 0,
            gone: None,
            is_told: false,
        };
        let registers = Rc::new(OutsideRegisters {
            name,
            sim: sim.clone(),
            source: sim.source(name, SourceKind::Registers { address_bits }),
            state: RefCell::new(state),
            responder: RefCell::default(),
            answer_listener: RefCell::default(),
            answers: DelayLine::new(sim, format!("{name}.answer_pipe"), period),
            lost: sim.work_event(format!("{name}.lost")),
            overdue: sim.work_event(format!("{name}.overdue")),
            unanswered: Cell::new(0),
            is_start,
        });
        sim.server(format!("{name}.refuse"), registers.clone().refuse());
        sim.server(format!("{name}.answer"), registers.clone().give_answers());
        sim.server(format!("{name}.give_up"), registers.clone().give_up());
        registers
    }

    /// A target takes the accesses from now on.
    pub fn attach(&self, sink: RegisterSink) {
        let state = &mut *self.state.borrow_mut();
        state.target = Some((sink, Driven::new(state.period)));
        (state.driven, state.is_told, state.gone) = (0, false, None);
        state.start = state.start.filter(|(_, taken)| taken.is_some());
    }

    /// Returns the reason for which there is no target any more, if there was one.
    pub(crate) fn gone(&self) -> Option<String> {
        self.state.borrow().gone.clone()
    }

    /// Returns the time at which the first access was taken that makes the device begin its work.
    pub(crate) fn started(&self) -> Option<Time> {
        let state = &mut *self.state.borrow_mut();
        state.settle(self.sim.now());
        state.start?.1
    }

    /// The target goes: what it owes fails.
    pub fn detach(&self, why: &str) {
        let state = &mut *self.state.borrow_mut();
        state.target = None;
        state.gone = Some(why.to_owned());
        self.overdue.cancel();
        let owed = state.open.take().into_iter().chain(state.queue.drain(..));
        state.lost.extend(owed.map(|request| (request, why.to_owned())));
        if !state.lost.is_empty() {
            self.lost.notify_delta();
        }
    }

    /// The target takes accesses, or not, from now on.
    pub fn set_ready(&self, ready: bool) {
        if let Some((_, driven)) = &mut self.state.borrow_mut().target {
            driven.set_ready(self.sim.now(), ready);
        }
    }

    /// The target's answer to the oldest access that is to be answered is on the bus. The CPU can act on it an edge later.
    ///
    /// # Errors
    /// There is none, or it has not been taken yet.
    pub fn answer(&self, value: u32) -> Result<(), &'static str> {
        let request = {
            let state = &mut *self.state.borrow_mut();
            let Some((_, driven)) = &mut state.target else { return Ok(()) };
            if state.open.is_some() && driven.free() > self.sim.now() + state.period {
                return Err("an answer to an access that it has not taken");
            }
            state.open.take().ok_or("an answer to no access")?
        };
        self.overdue.cancel();
        let value = if let RegisterAccess::Read = request.access { value } else { 0 };
        self.report(&request, value);
        let response = RegisterResponse { tag: request.tag, result: Ok(value) };
        self.tell_answer(&response);
        self.answers.push(response);
        Ok(())
    }

    async fn give_answers(self: Rc<Self>) {
        loop {
            let response = self.answers.next().await;
            self.respond(response);
            self.go_on();
        }
    }

    fn tell_answer(&self, response: &RegisterResponse) {
        if let Some(told) = &*self.answer_listener.borrow() {
            told(self.sim.now(), response.clone());
        }
    }

    fn respond(&self, response: RegisterResponse) {
        self.unanswered.set(self.unanswered.get() - 1);
        if let Some(responder) = &*self.responder.borrow() {
            responder(response);
        }
    }

    fn report(&self, request: &RegisterRequest, read: u32) {
        let (write, value) = match request.access {
            RegisterAccess::Read => (false, read),
            RegisterAccess::Write { value, .. } => (true, value),
        };
        self.sim.report(self.source, What::Register { write, address: request.address, value });
    }

    /// Drives what need not wait for an answer.
    fn go_on(&self) {
        let state = &mut *self.state.borrow_mut();
        state.settle(self.sim.now());
        let RegisterPinsState { period, target, queue, open, lost, start, driven: count, .. } = state;
        while open.is_none()
            && self.answers.is_empty()
            && let Some(request) = queue.pop_front()
        {
            let Some((sink, driven)) = target else {
                let why = format!(
                    "no device is attached to {}: attach one, such as by `vp attach-device ADDRESS`",
                    self.name
                );
                lost.push_back((request, why));
                self.lost.notify_delta();
                continue;
            };
            if start.is_none() && (self.is_start)(&request) {
                *start = Some((*count, None));
            }
            *count += 1;
            driven.drive(self.sim.now());
            sink(self.sim.now(), request);
            match request.access.is_answered() {
                true => {
                    *open = Some(request);
                    self.overdue.notify_after(*period * MOST_CYCLES);
                }
                false => self.report(&request, 0),
            }
        }
    }

    /// Ends an access that the target does not answer.
    async fn give_up(self: Rc<Self>) {
        loop {
            self.overdue.wait().await;
            let name = self.name;
            let state = &mut *self.state.borrow_mut();
            let Some(request) = state.open.take() else { continue };
            let why = format!(
                "{name}: no answer within {MOST_CYCLES} cycles from register 0x{:x} of the device outside",
                request.address
            );
            state.lost.push_back((request, why));
            self.lost.notify_delta();
        }
    }

    /// Answers what nobody else does.
    async fn refuse(self: Rc<Self>) {
        loop {
            let lost = self.state.borrow_mut().lost.pop_front();
            match lost {
                None => self.lost.wait().await,
                Some((request, reason)) if request.access.is_answered() => {
                    let response =
                        RegisterResponse { tag: request.tag, result: Err(RegisterError { reason }) };
                    self.tell_answer(&response);
                    self.respond(response);
                    self.go_on();
                }
                Some((_, reason)) => {
                    if !std::mem::replace(&mut self.state.borrow_mut().is_told, true) {
                        self.sim.report(self.source, What::Warning(Warning::Once(&reason)));
                    }
                }
            }
        }
    }
}

impl RegisterPinsState {
    /// Takes what is taken before `now`.
    fn settle(&mut self, now: Time) {
        let Some((_, driven)) = &mut self.target else { return };
        let before = driven.taken();
        for (index, edge) in (before..).zip(driven.settle(now)) {
            if let Some((start, taken @ None)) = &mut self.start
                && *start == index
            {
                *taken = Some(edge);
            }
        }
    }
}

impl RegisterBus for OutsideRegisters {
    fn name(&self) -> &'static str {
        self.name
    }

    fn send(&self, request: RegisterRequest) {
        if request.access.is_answered() {
            self.unanswered.set(self.unanswered.get() + 1);
        }
        self.state.borrow_mut().queue.push_back(request);
        self.go_on();
    }

    fn on_response(&self, responder: Responder) {
        *self.responder.borrow_mut() = Some(responder);
    }

    fn on_answer(&self, told: Option<AnswerListener>) {
        *self.answer_listener.borrow_mut() = told;
    }

    fn backlog(&self) -> usize {
        let state = &mut *self.state.borrow_mut();
        state.settle(self.sim.now());
        let waiting = state.target.as_ref().map_or(0, |(_, driven)| driven.waiting());
        state.queue.len() + waiting
    }

    fn is_quiet(&self) -> bool {
        self.backlog() == 0 && self.unanswered.get() == 0
    }
}
