//! The rules by which time is stopped, and goes on.

use std::collections::BTreeSet;
use std::rc::Rc;

use vp_core::Time;
use vp_core::observe::Subscription;

use super::watcher::{Watched, Watcher};
use super::{BreakOn, Breakpoint, DebugCommand, MOST_BREAKPOINTS, MOST_UNIT, SetBreakpoint};
use crate::ids::Tag;
use crate::jobs::{check_bytes, register_of, within_horizon};
use crate::output::{Completion, Failure, FailureKind, Output};
use crate::{Hub, RunState, TimeMode};
use vp_models::platform::PortKind;
use vp_types::{DebugEvent, Hit, PartyId, PortId, StepBy, StopReport, StopWhy};

/// State that there is as long as there are debuggers.
pub(crate) struct Debugging {
    watcher: Rc<Watcher>,
    subscription: Option<Subscription>,
    /// All debuggers, and those that the other parties have been told of.
    debuggers: BTreeSet<PartyId>,
    told_of: BTreeSet<PartyId>,
    next_number: u32,
    stopped: Option<StopReport>,
    /// True if the debuggers still have to be told.
    is_untold: bool,
    step: Option<DebugStep>,
    /// The latest time of the present run because of a breakpoint or a step.
    bound: Option<Time>,
}

/// A step under way.
struct DebugStep {
    party: PartyId,
    tag: Tag,
    by: StepBy,
    /// Instants that are left, of a step by these.
    left: u32,
    /// Time at which it ends, if that is known.
    until: Option<Time>,
}

impl Hub {
    /// Returns the report of the stop, if a debugger has stopped time.
    #[must_use]
    pub fn stopped(&self) -> Option<&StopReport> {
        self.debugging.as_ref()?.stopped.as_ref()
    }

    /// Returns true if the party has debugged, and has not left.
    #[must_use]
    pub fn is_debugger(&self, party: PartyId) -> bool {
        self.debugging.as_ref().is_some_and(|debugging| debugging.debuggers.contains(&party))
    }

    /// The breakpoints, in the order of their numbers.
    #[must_use]
    pub fn breakpoints(&self) -> Vec<SetBreakpoint> {
        let watched = self.debugging.as_ref().map(|debugging| debugging.watcher.breakpoints.borrow());
        watched.map_or_else(Vec::new, |watched| watched.iter().map(|watched| watched.set.clone()).collect())
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped().is_some()
    }

    /// A debugger wants something.
    pub(crate) fn debugger_command(&mut self, party: PartyId, tag: Tag, command: DebugCommand) {
        let done = match command {
            DebugCommand::Stop => {
                self.debugging_for(party);
                if !self.is_stopped() {
                    self.stop_time(party, StopWhy::Asked, Vec::new());
                }
                self.tell_stopped();
                let Some(report) = self.stopped().cloned() else { return };
                Ok(Completion::Stopped(report))
            }
            DebugCommand::Continue => {
                self.debugging_for(party).stopped = None;
                self.cancel_step(&format!("{} lets time go on", self.debugger_name(party)));
                Ok(Completion::Done)
            }
            DebugCommand::Step { by, count } => match self.begin_step(party, tag, by, count) {
                Ok(()) => return,
                Err(failure) => Err(failure),
            },
            DebugCommand::Break(breakpoint) => self.set_breakpoint(party, breakpoint).map(Completion::Value),
            DebugCommand::Clear { number } => self.clear_breakpoint(number).map(|()| Completion::Done),
        };
        self.complete(party, tag, done);
    }

    /// Returns the state for debuggers, with this one among them.
    fn debugging_for(&mut self, party: PartyId) -> &mut Debugging {
        let debugging = self.debugging.get_or_insert_with(|| {
            Box::new(Debugging {
                watcher: Rc::new(Watcher::new(self.platform.sim(), &self.ports)),
                subscription: None,
                debuggers: BTreeSet::new(),
                told_of: BTreeSet::new(),
                next_number: 1,
                stopped: None,
                is_untold: false,
                step: None,
                bound: None,
            })
        });
        debugging.debuggers.insert(party);
        debugging
    }

    fn debugger_name(&self, party: PartyId) -> String {
        match self.parties.get(party) {
            Some(party) => party.name.clone(),
            // Who only looks on is no party; its adapter numbers sessions.
            None => format!("session {}", party.0),
        }
    }

    fn begin_step(&mut self, party: PartyId, tag: Tag, by: StepBy, count: u32) -> Result<(), Failure> {
        if count == 0 {
            return Err(Failure::new(FailureKind::BadRange, "a step of 0: at least 1"));
        }
        let other = self.debugging.as_ref().and_then(|debugging| debugging.step.as_ref());
        if let Some(other) = other {
            let reason = format!("{} steps: stop first", self.debugger_name(other.party));
            return Err(Failure::new(FailureKind::PortBusy, reason));
        }
        let until = match by {
            StepBy::Cycle => {
                let period = self.platform.description().period;
                let cycles = self.now().as_ps() / period.as_ps().max(1) + u64::from(count);
                let until = Time::ps(cycles.saturating_mul(period.as_ps()));
                within_horizon(until)?;
                Some(until)
            }
            _ => None,
        };
        let debugging = self.debugging_for(party);
        debugging.step = Some(DebugStep { party, tag, by, left: count, until });
        debugging.stopped = None;
        if matches!(by, StepBy::Layer | StepBy::Access) {
            debugging.watcher.step.set(Some((by, count)));
        }
        self.review_watcher();
        Ok(())
    }

    fn cancel_step(&mut self, why: &str) {
        let Some(debugging) = &mut self.debugging else { return };
        debugging.watcher.step.set(None);
        if let Some(DebugStep { party, tag, .. }) = debugging.step.take() {
            let reason = format!("the step has not come to its end: {why}");
            self.fail(party, Some(tag), Failure::new(FailureKind::Cancelled, reason));
        }
        self.review_watcher();
    }

    fn set_breakpoint(&mut self, party: PartyId, breakpoint: Breakpoint) -> Result<u32, Failure> {
        let breakpoint = self.checked(breakpoint)?;
        let debugging = self.debugging_for(party);
        if debugging.watcher.breakpoints.borrow().len() >= MOST_BREAKPOINTS {
            let reason =
                format!("there are {MOST_BREAKPOINTS} breakpoints, as many as there may be: clear one");
            return Err(Failure::new(FailureKind::Unsupported, reason));
        }
        let number = debugging.next_number;
        debugging.next_number = number.wrapping_add(1).max(1);
        let skip = breakpoint.skip;
        let set = SetBreakpoint { number, by: party, breakpoint, hits: 0 };
        debugging.watcher.breakpoints.borrow_mut().push(Watched { set, skip });
        self.review_watcher();
        Ok(number)
    }

    /// Refuses a breakpoint that can never be hit. A time is moved to a clock edge, because accesses while time
    /// is stopped are made on one.
    fn checked(&self, mut breakpoint: Breakpoint) -> Result<Breakpoint, Failure> {
        match &mut breakpoint.on {
            BreakOn::Register { address, .. } => {
                let port = self.ports.iter().find(|port| port.kind == PortKind::Registers);
                let port = port.ok_or_else(|| Failure::new(FailureKind::NoSuchPort, "no registers"))?;
                register_of(port, *address)?;
            }
            BreakOn::Layer { unit, .. } if unit.len() > MOST_UNIT => {
                let reason = format!("a unit's name of {} bytes: at most {MOST_UNIT}", unit.len());
                return Err(Failure::new(FailureKind::BadRange, reason));
            }
            BreakOn::Interrupt | BreakOn::Layer { .. } => {}
            BreakOn::Memory { port, range, .. } => {
                let port = self.memory_port(*port)?;
                if range.is_empty() {
                    return Err(Failure::new(FailureKind::BadRange, "a range without a byte"));
                }
                check_bytes(port, range.start, range.end - range.start)?;
            }
            BreakOn::Time(time) => {
                within_horizon(*time)?;
                let period = self.platform.description().period.as_ps().max(1);
                *time = Time::ps(time.as_ps().next_multiple_of(period));
                let now = self.now();
                if *time <= now {
                    let reason = format!("{time} is over: it is {now}");
                    return Err(Failure::new(FailureKind::BadRange, reason));
                }
                (breakpoint.once, breakpoint.skip) = (true, 0);
            }
        }
        Ok(breakpoint)
    }

    fn clear_breakpoint(&mut self, number: u32) -> Result<(), Failure> {
        let is_there = self.debugging.as_mut().is_some_and(|debugging| {
            let mut breakpoints = debugging.watcher.breakpoints.borrow_mut();
            let before = breakpoints.len();
            breakpoints.retain(|watched| watched.set.number != number);
            breakpoints.len() < before
        });
        self.review_watcher();
        match is_there {
            true => Ok(()),
            false => Err(Failure::new(FailureKind::BadRange, format!("there is no breakpoint {number}"))),
        }
    }

    /// Makes the watcher observe what breakpoints need, and nothing else. Bursts are then reported one by one,
    /// at their times: the interface takes each step through the scheduler.
    pub(crate) fn review_watcher(&mut self) {
        let Some(debugging) = &mut self.debugging else { return };
        let watcher = &debugging.watcher;
        if let Some(kinds) = watcher.review() {
            if let Some(subscription) = debugging.subscription.take() {
                subscription.cancel();
            }
            let is_any = kinds != vp_core::observe::Kinds::NONE;
            debugging.subscription = is_any.then(|| self.platform.sim().observe(watcher.clone()));
        }
        let is_watched = |name: &str| {
            watcher.breakpoints.borrow().iter().any(|watched| match &watched.set.breakpoint.on {
                BreakOn::Memory { port: PortId(port), .. } => {
                    self.ports.get(usize::from(*port)).is_some_and(|port| port.name == name)
                }
                _ => false,
            })
        };
        for memory in self.platform.memories() {
            memory.interconnect().set_stepwise(is_watched(memory.name()));
        }
    }

    /// A debugger goes: nothing is left of it.
    pub(crate) fn debugger_leaves(&mut self, party: PartyId) {
        let Some(debugging) = &mut self.debugging else { return };
        if !debugging.debuggers.remove(&party) {
            return;
        }
        debugging.watcher.breakpoints.borrow_mut().retain(|watched| watched.set.by != party);
        if debugging.step.as_ref().is_some_and(|step| step.party == party) {
            debugging.step = None;
            debugging.watcher.step.set(None);
        }
        let holds = debugging.stopped.as_ref().is_some_and(|report| report.by == party);
        if holds {
            debugging.stopped = None;
        }
        self.review_watcher();
        if self.debugging.as_ref().is_some_and(|debugging| debugging.debuggers.is_empty()) {
            self.debugging = None;
        }
    }

    // Where time stops.

    fn stop_time(&mut self, by: PartyId, why: StopWhy, hits: Vec<Hit>) {
        let time = self.now();
        let Some(debugging) = &mut self.debugging else { return };
        debugging.stopped = Some(StopReport { by, time, why, hits });
        debugging.is_untold = true;
        debugging.watcher.step.set(None);
        debugging
            .watcher
            .breakpoints
            .borrow_mut()
            .retain(|Watched { set, .. }| !set.breakpoint.once || set.hits == 0);
    }

    /// The kernel is about to run.
    pub(crate) fn begin_watching(&self) {
        if let Some(debugging) = &self.debugging {
            debugging.watcher.set_running(true);
        }
    }

    /// The kernel has run: has what a debugger waits for happened meanwhile?
    pub(crate) fn look_for_hits(&mut self) -> bool {
        let Some(debugging) = &self.debugging else { return false };
        debugging.watcher.set_running(false);
        let Some(hits) = debugging.watcher.take_hits() else { return false };
        let number = hits.iter().find_map(|hit| hit.breakpoint);
        let owner = |number| {
            let breakpoints = debugging.watcher.breakpoints.borrow();
            breakpoints.iter().find(|watched| watched.set.number == number).map(|watched| watched.set.by)
        };
        let stepper = debugging.step.as_ref().map(|step| step.party);
        let (by, why) = match number {
            Some(number) => (owner(number).or(stepper), StopWhy::Breakpoint),
            None => (stepper, StopWhy::Stepped),
        };
        if let Some(by) = by {
            self.stop_time(by, why, hits);
        }
        true
    }

    /// Before a run: up to where it may go for debuggers.
    pub(crate) fn bound_for_debuggers(&mut self) -> Option<Time> {
        let bound = self.next_bound();
        self.debugging.as_mut()?.bound = bound;
        bound
    }

    /// Time up to which a step, and breakpoints at times, let the run go.
    pub(crate) fn next_bound(&self) -> Option<Time> {
        let debugging = self.debugging.as_ref()?;
        let breakpoints = debugging.watcher.breakpoints.borrow();
        let times = breakpoints.iter().filter_map(|watched| match watched.set.breakpoint.on {
            BreakOn::Time(time) => Some(time),
            _ => None,
        });
        let step = debugging.step.as_ref().and_then(|step| match step.by {
            StepBy::Event => self.platform.simulation().next_time(),
            _ => step.until,
        });
        times.chain(step).min()
    }

    /// Returns the time at which the present run has to stop for a debugger though nothing is left to do, if that is before `limit`.
    pub(crate) fn stop_before(&self, limit: Time) -> Option<Time> {
        let bound = self.debugging.as_ref()?.bound?;
        (bound < limit && limit < Time::MAX).then_some(bound)
    }

    /// After a run up to `until`: whether time has reached a debugger's stop.
    pub(crate) fn after_run(&mut self, ran: RunState, until: Time) -> RunState {
        let Some(bound) = self.debugging.as_mut().and_then(|debugging| debugging.bound.take()) else {
            return if self.is_stopped() { RunState::Waiting } else { ran };
        };
        if self.is_stopped() {
            return RunState::Waiting;
        }
        let (now, next) = (self.now(), self.platform.simulation().next_time());
        let is_over = now >= bound && next != Some(now) && self.outcomes.is_empty();
        let may_come = ran == RunState::Limit
            && bound <= until
            && next.is_none_or(|next| next > bound)
            && (self.mode() == TimeMode::Lockstep || bound <= self.time.granted());
        if !is_over && !may_come {
            return ran;
        }
        if now < bound {
            // Nothing is left to do on the way.
            self.platform.simulation_mut().run_until(bound);
        }
        self.has_come_to(bound);
        if self.is_stopped() { RunState::Waiting } else { RunState::Again }
    }

    /// All that is to be done up to then is done.
    fn has_come_to(&mut self, time: Time) {
        let Some(debugging) = &mut self.debugging else { return };
        let mut hits = Vec::new();
        let mut by = None;
        for watched in debugging.watcher.breakpoints.borrow_mut().iter_mut() {
            if matches!(watched.set.breakpoint.on, BreakOn::Time(at) if at <= time) && watched.happens() {
                by.get_or_insert(watched.set.by);
                hits.push(Hit { breakpoint: Some(watched.set.number), time, seen: DebugEvent::Time });
            }
        }
        if let Some(by) = by {
            return self.stop_time(by, StopWhy::Breakpoint, hits);
        }
        let Some(step) = &mut debugging.step else { return };
        let is_done = match step.by {
            StepBy::Event => {
                step.left -= 1;
                step.left == 0
            }
            _ => step.until.is_some_and(|until| until <= time),
        };
        if is_done {
            let party = step.party;
            self.stop_time(party, StopWhy::Stepped, Vec::new());
        }
    }

    /// Tells debuggers that time is stopped; a debugger that steps is told by the end of its step. When a
    /// debugger stops time for the first time all parties are told.
    pub(crate) fn tell_stopped(&mut self) {
        let Some(debugging) = &mut self.debugging else { return };
        if !std::mem::take(&mut debugging.is_untold) {
            return;
        }
        let Some(report) = debugging.stopped.clone() else { return };
        let (step, is_first) = (debugging.step.take(), debugging.told_of.insert(report.by));
        let parties = self.parties.iter().map(|(party, _)| party).filter(|_| is_first);
        let others: BTreeSet<PartyId> = (debugging.debuggers.iter().copied().chain(parties))
            .filter(|party| step.as_ref().is_none_or(|step| step.party != *party))
            .filter(|party| report.why != StopWhy::Asked || *party != report.by)
            .collect();
        if let Some(DebugStep { party, tag, .. }) = step {
            self.complete(party, tag, Ok(Completion::Stopped(report.clone())));
        }
        self.outputs
            .extend(others.into_iter().map(|party| Output::Stopped { party, report: report.clone() }));
        self.review_watcher();
    }
}
