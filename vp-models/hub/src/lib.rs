//! The hub: the layer between a platform and everything outside it.
//!
//! Adapters (a session of a server, a CPU in the same process, a recording) convert their messages to
//! [`Input`]s and pass on the [`Output`]s. All rules of time, and of who may do what at which port, are here
//! and nowhere else.
//!
//! ```text
//! handle(Input) → run(until) → poll() → Output
//! ```
//!
//! [`Hub::handle`] takes an input at the present simulated time, [`Hub::run`] lets time move as far as the
//! rules allow, and [`Hub::poll`] returns the outputs of both, in order. The hub has no sockets, threads, wall
//! clock or wire format: the same inputs at the same times give the same outputs and the same event hash. So a
//! list of [`Recorded`] inputs is all that is needed to repeat a run.
//!
//! Therefore only an input may change a platform: a replay would not repeat what an adapter did beside its
//! hub. A [`Recorder`] stores inputs and positions before [`Hub::poll`] gives an output that follows from them,
//! so they survive the end of the program. `tests/tests/hub/promises.rs` tries this with random parties.
//!
//! ```
//! use vp_core::Time;
//! use vp_hub::{Access, Completion, Hub, Input, MemoryGuarantees, Operation, Output};
//! use vp_hub::{PartyCommand, PartyId, PortId, Role, Tag, TimeMode};
//! use vp_models::platform::{Description, Platform};
//!
//! let platform = Platform::build(&Description::named("nv_small")?)?;
//! let mut hub = Hub::new(platform, TimeMode::Lockstep);
//! let (cpu, csb) = (PartyId(1), PortId(0));
//! hub.handle(Input::Enter { party: cpu, name: "the CPU".into(), memory: MemoryGuarantees::default() });
//! let attach = PartyCommand::Attach { port: csb, role: Role::Initiator, range: None };
//! hub.handle(Input::Command { party: cpu, tag: Tag(1), command: attach });
//! let read = Access { port: csb, at: None, operation: Operation::RegisterRead { address: 0x1000 } };
//! hub.handle(Input::Command { party: cpu, tag: Tag(2), command: PartyCommand::Access(read) });
//! hub.run(Time::MAX);
//! let outputs: Vec<Output> = std::iter::from_fn(|| hub.poll()).collect();
//! assert!(matches!(outputs[1], Output::Completed { tag: Tag(2), result: Ok(Completion::Value(_)), .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod access_origins;
mod bus_accesses;
mod current_job;
mod debug;
mod debugger;
mod faults;
mod holdings;
mod ids;
mod input;
mod job;
mod jobs;
mod linked;
mod memory;
mod output;
mod outputs;
mod outside;
mod partner;
mod party;
mod port_outcomes;
mod ports;
mod record;
mod replay;
mod results;
mod saving;
mod time;
mod time_mode;

use std::cell::RefCell;
use std::rc::Rc;
use vp_core::{Simulation, Time};
use vp_models::platform::{Platform, Port, RestoreError};

pub use access::{Access, Operation};
pub use access_origins::{AccessOrigin, AccessOrigins, LoadListener};
pub use debug::MOST_REGISTERS;
pub use debugger::{BreakOn, Breakpoint, DebugCommand, MOST_BREAKPOINTS, SetBreakpoint};
pub use ids::{RequestId, Tag};
pub use input::{Input, MemoryGuarantees, PartyCommand};
pub use linked::{LinkedHub, LinkedPort};
pub use output::{Completion, Failure, FailureKind, MemoryAccess, Output, Severity};
pub use outside::{DirectMemory, DirectRange};
pub use partner::{Clock, PinEvent, PortEvent, PortSide, Promise};
pub use ports::roles;
pub use record::{Position, Recorded, Recorder};
pub use replay::{Replay, ReplayError, replay};
pub use time::{Pace, RunState};
pub use time_mode::TimeMode;
pub use vp_models::units::HORIZON;
pub use vp_types::{
    AccessKind, Accesses, Activity, DebugEvent, Hit, PartyId, PortId, Reaction, Role, StepBy, StopReport,
    StopWhy, Until, Why,
};

use access_origins::AccessLog;
use bus_accesses::BusAccesses;
use current_job::CurrentJob;
use debugger::Debugging;
use holdings::Holdings;
use jobs::JobTurns;
use outputs::Outputs;
use outside::{OrderedOwner, Requests};
use partner::Partners;
use party::{Parties, Party};
use port_outcomes::{PortOutcome, PortOutcomes};
use record::Recording;
use time::TimeControl;
use vp_models::bus::register::RegisterResponse;
use vp_models::counters::Statistics;

/// A platform with its parties.
pub struct Hub {
    platform: Platform,
    ports: Vec<Port>,
    time: TimeControl,
    outcomes: PortOutcomes,
    requests: Rc<RefCell<Requests>>,
    holdings: Holdings,
    parties: Parties,
    /// The parties that have a clock.
    partners: Partners,
    bus: BusAccesses,
    /// Lockstep: the job for which time moves.
    current: Option<CurrentJob>,
    turns: JobTurns,
    /// The state of debuggers, while there are any.
    debugging: Option<Box<Debugging>>,
    outputs: Outputs,
    recording: Recording,
    log: AccessLog,
}

impl Hub {
    /// A hub around a platform at the beginning of its time.
    #[must_use]
    pub fn new(platform: Platform, mode: TimeMode) -> Hub {
        let ports = platform.ports();
        let mut hub = Hub {
            platform,
            ports,
            time: TimeControl::new(mode),
            outcomes: PortOutcomes::default(),
            requests: Rc::default(),
            holdings: Holdings::default(),
            parties: Parties::default(),
            partners: Partners::default(),
            bus: BusAccesses::default(),
            current: None,
            turns: JobTurns::new(),
            debugging: None,
            outputs: Outputs::default(),
            recording: Recording::default(),
            log: AccessLog::default(),
        };
        hub.listen();
        hub.set_delta_limit(Simulation::DELTA_LIMIT);
        hub
    }

    /// Listens to the ports of a platform that was just built, or reset.
    fn listen(&self) {
        let sim = self.platform.sim();
        let happened = self.outcomes.sink(self.platform.sim());
        self.platform.registers().on_response(Box::new(move |RegisterResponse { tag: bus_tag, result }| {
            happened(PortOutcome::Answer { bus_tag, result, time: sim.now() });
        }));
        let happened = self.outcomes.sink(self.platform.sim());
        self.platform.irq().connect(move |level, time| happened(PortOutcome::Level { level, time }));
        let happened = self.outcomes.sink(self.platform.sim());
        self.platform.faults().on_partner(Box::new(move |number| happened(PortOutcome::Fault { number })));
    }

    /// A partner is the CPU: answers are driven for it when they are known.
    fn listen_to_answers(&self) {
        let happened = self.outcomes.sink(self.platform.sim());
        let told = move |at, RegisterResponse { tag: bus_tag, result }| {
            happened(PortOutcome::AnswerDriven { bus_tag, result, at });
        };
        self.platform.registers().on_answer(Some(Box::new(told)));
    }

    /// The platform.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The platform's ports; a [`PortId`] is a position among them.
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The platform's counters, and the parties that let its time move.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let mut statistics = self.platform.statistics();
        statistics.note("time.mode", self.mode().name());
        statistics
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.platform.simulation().now()
    }

    /// The time of the next event, if there is one.
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        let job = self.next_job_time().filter(|_| self.mode() == TimeMode::Free);
        self.platform.simulation().next_time().into_iter().chain(job).chain(self.partners.next_event()).min()
    }

    /// Returns the number of parties.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.parties.len()
    }

    /// Returns true if all parties are partners, or there are none.
    #[must_use]
    pub fn are_all_partners(&self) -> bool {
        // Who has a clock is a party.
        self.partners.len() == self.parties.len()
    }

    /// Returns true if a party is here.
    #[must_use]
    pub fn has_party(&self, party: PartyId) -> bool {
        self.parties.contains(party)
    }

    /// No more parties join: partners need not expect accesses of one without a clock.
    pub fn close(&mut self) {
        self.partners.close();
    }

    /// Gives the next output, if there is one.
    pub fn poll(&mut self) -> Option<Output> {
        if !self.outputs.is_empty() {
            self.commit_recording();
        }
        self.outputs.poll()
    }

    /// Takes an input. It takes effect at the present simulated time.
    pub fn handle(&mut self, input: Input) {
        self.record(&input);
        if self.is_lost(&input) {
            return;
        }
        match input {
            Input::Enter { party, name, memory } => {
                // A new party has not seen the repeated warnings yet.
                self.platform.sum_up_warnings();
                self.collect();
                self.parties.insert(party, Party::new(name, memory));
                self.review_trust();
            }
            Input::SumUp => self.platform.sum_up_warnings(),
            Input::Warn { text } => self.warn(Severity::Warning, text),
            Input::Mode(mode) => {
                if self.are_all_partners() {
                    self.time.set_mode(mode);
                }
            }
            Input::Leave { party, why } => self.leave(party, &why),
            Input::Command { party, tag, command } => {
                if self.parties.contains(party) {
                    self.command(party, tag, command);
                }
            }
            Input::Posted { party, access } => {
                if self.parties.contains(party) {
                    self.take_access(party, None, access);
                }
            }
            Input::Debug { party, tag, access } => self.debug(party, tag, access),
            Input::Debugger { party, tag, command } => self.debugger_command(party, tag, command),
            Input::Answer { party, request, result } => {
                if let Some(news) = Requests::answer(&self.requests, party, request, result) {
                    self.deliver(news);
                }
            }
            // What a partner drives or promises waits for its edge: nothing else follows from it yet.
            Input::Driven { party, port, at, event } => {
                if self.take_driven(party, (port, at), event) {
                    return;
                }
            }
            Input::Promised { party, promise } => {
                if self.take_promise(party, promise) {
                    return;
                }
            }
            Input::Settle { limit } => self.run_until_idle(limit),
        }
        self.settle();
        self.collect();
        self.halt_if_out_of_memory();
    }

    fn command(&mut self, party: PartyId, tag: Tag, command: PartyCommand) {
        let done = match command {
            PartyCommand::Clock(clock) => self.set_clock(party, clock),
            PartyCommand::Attach { port, role, range } => self.attach(party, port, role, range),
            PartyCommand::Detach { port } => self.detach(party, port),
            PartyCommand::Reset => self.may_control_time(party).and_then(|()| self.reset(None)),
            PartyCommand::Restore { saved } => self.restore(party, &saved),
            PartyCommand::Access(access) => return self.take_access(party, Some(tag), access),
            PartyCommand::Inject { faults } => return self.take_faults(party, tag, faults),
            PartyCommand::Advance(_) | PartyCommand::Step { .. } => {
                return self.take_time_command(party, tag, &command);
            }
        };
        self.complete(party, tag, done.map(|()| Completion::Done));
    }

    fn leave(&mut self, party: PartyId, why: &str) {
        self.debugger_leaves(party);
        if !self.parties.contains(party) {
            self.requests.borrow_mut().forget_party(party);
            return;
        }
        self.platform.sum_up_warnings();
        self.end_current_of(party);
        let held: Vec<PortId> = (self.holdings.iter())
            .filter(|holding| holding.party == party)
            .map(|holding| holding.port)
            .collect();
        self.requests.borrow_mut().forget_party(party);
        for port in held {
            self.release(party, port, why);
        }
        self.parties.remove(party);
        self.partners.remove(party);
        self.review_trust();
    }

    /// Decides whose memory need not be waited for: that of the only party, if it does everything in order.
    fn review_trust(&mut self) {
        let mut parties = self.parties.iter();
        let only = parties.next().filter(|_| parties.next().is_none());
        let ordered = only
            .and_then(|(party, only)| Some(OrderedOwner { party, at_once: only.memory.in_order? as usize }));
        self.requests.borrow_mut().trust(ordered);
    }

    /// Resets everything to power-on, for a partner that is reset itself or for another party. Time goes on,
    /// ports stay attached, open requests fail.
    fn reset(&mut self, by: Option<PartyId>) -> Result<(), Failure> {
        let was_high = self.begin_anew("the platform was reset", |platform| {
            platform.reset().map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))
        })?;
        self.reset_partners(by);
        self.tell_level_behind(was_high);
        Ok(())
    }

    /// Goes on from a saved platform, if it is one of this description and no partner is a part of it.
    fn restore(&mut self, party: PartyId, saved: &[u8]) -> Result<(), Failure> {
        self.may_control_time(party)?;
        if let Some(partner) = self.partners.first() {
            let why = format!("{} is a part of the platform's hardware", self.parties.name(partner));
            return Err(Failure::new(FailureKind::Unsupported, why));
        }
        let refused = |error: RestoreError| {
            let kind = match &error {
                RestoreError::Memory(_) => FailureKind::OutOfMemory,
                _ => FailureKind::WrongState,
            };
            Failure::new(kind, error.to_string())
        };
        self.platform.may_take_up(saved).map_err(refused)?;
        let was_high = self.begin_anew("the platform was restored", |platform| {
            platform.take_up(saved).map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))
        })?;
        self.tell_level_behind(was_high);
        Ok(())
    }

    /// Ends all that is under way, has the platform begin anew, and connects all to it again. Tells whether the interrupt line was high.
    fn begin_anew(
        &mut self,
        why: &str,
        begin: impl FnOnce(&mut Platform) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let was_high = self.platform.irq().level();
        self.cancel_all(&Failure::new(FailureKind::Cancelled, why));
        self.time.restart();
        self.turns.forget_room();
        self.platform.take_shortage();
        self.platform.sum_up_warnings();
        self.collect();
        self.requests.borrow_mut().forget_bursts();
        self.outcomes.clear();
        self.log.clear();
        begin(&mut self.platform)?;
        self.listen();
        self.review_watcher();
        for holding in self.holdings.iter() {
            match holding.is_timed {
                true => self.connect_partner(holding),
                false => self.connect_memory(holding),
            }
        }
        Ok(was_high)
    }

    /// Tells the interrupt line's level, if it is another one than before the platform began anew.
    fn tell_level_behind(&mut self, was_high: bool) {
        let is_high = self.platform.irq().level();
        if is_high != was_high {
            self.tell_level(is_high, self.now());
        }
    }
}
