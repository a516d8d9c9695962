//! Lockstep: the job for which time moves, and when the job is over.

use vp_core::Time;
use vp_types::{PartyId, Why};

use super::Hub;
use super::bus_accesses::BusAccess;
use super::ids::Tag;
use super::job::Job;
use super::output::{Completion, Failure, FailureKind};

/// The job for which time moves.
pub(super) struct CurrentJob {
    party: PartyId,
    goal: Goal,
}

impl CurrentJob {
    /// The job that waits for its time, and its party.
    pub(super) fn to_begin(&self) -> Option<(PartyId, &Job)> {
        match &self.goal {
            Goal::Begin(_, job) => Some((self.party, job)),
            _ => None,
        }
    }
}

/// Goal that the job waits for.
pub(super) enum Goal {
    /// The time at which a job is to begin.
    Begin(Time, Job),
    /// The answer from the bus.
    Answer { bus_tag: u64 },
    /// An Advance to a time.
    Time(Time, Tag),
    /// An Advance to an interrupt.
    Interrupt(Option<Time>, Tag),
    /// An Advance until nothing is left to do.
    Idle(Tag),
    /// A Step.
    Step(Time, Tag),
    /// Fewer posted writes in front of the bus, or the time up to which partners were promised silence.
    Room(Time),
}

impl Hub {
    pub(super) fn pursue(&mut self, party: PartyId, goal: Goal) {
        self.current = Some(CurrentJob { party, goal });
    }

    /// Returns the goal that the current job waits for, if it is this party's.
    pub(super) fn current_of(&self, party: PartyId) -> Option<&Goal> {
        self.current.as_ref().filter(|current| current.party == party).map(|current| &current.goal)
    }

    /// Ends the current job if it is this party's.
    pub(super) fn end_current_of(&mut self, party: PartyId) {
        if self.current.as_ref().is_some_and(|current| current.party == party) {
            self.current = None;
        }
    }

    /// Ends the current job; returns the party that waits for its end, with the tag, if there is one and the
    /// bus does not answer it.
    pub(super) fn take_current(&mut self) -> Option<(PartyId, Tag)> {
        let CurrentJob { party, goal } = self.current.take()?;
        match goal {
            Goal::Begin(_, job) => job.tag.map(|tag| (party, tag)),
            Goal::Time(_, tag) | Goal::Interrupt(_, tag) | Goal::Idle(tag) | Goal::Step(_, tag) => {
                Some((party, tag))
            }
            Goal::Answer { .. } | Goal::Room(_) => None,
        }
    }

    /// Returns true if the party's current job waits for the moment at which it accesses memory.
    pub(super) fn is_to_begin_with_memory(&self, party: PartyId) -> bool {
        matches!(&self.current, Some(CurrentJob { party: of, goal: Goal::Begin(_, job) })
            if *of == party && job.is_memory())
    }

    /// Ends the wait for an interrupt that is there, and starts what can be started. After that, nothing more happens
    /// until time moves or an input comes.
    pub(super) fn settle(&mut self) {
        self.start_jobs();
        while let Some(CurrentJob { party, goal: Goal::Interrupt(_, tag) }) = &self.current
            && self.platform.irq().level()
        {
            let (party, tag) = (*party, *tag);
            self.current = None;
            self.reached(party, tag, Why::Interrupt);
            self.start_jobs();
        }
    }

    /// Returns the time to which time may move now; `None`: not at all.
    pub(super) fn goal_time(&self) -> Option<Time> {
        Some(match &self.current.as_ref()?.goal {
            Goal::Begin(time, _) | Goal::Time(time, ..) | Goal::Step(time, _) | Goal::Room(time) => *time,
            Goal::Interrupt(limit, ..) => limit.unwrap_or(Time::MAX),
            Goal::Answer { .. } | Goal::Idle(_) => Time::MAX,
        })
    }

    /// An answer came from the bus.
    pub(super) fn answer_was_awaited(&mut self, bus_tag: u64) {
        if matches!(&self.current, Some(CurrentJob { goal: Goal::Answer { bus_tag: awaited }, .. })
            if *awaited == bus_tag)
        {
            self.current = None;
        }
    }

    /// A run has come to its goal, or to where nothing is left to do.
    pub(super) fn goal_met(&mut self, idle: bool) {
        // An answer or the line may have ended the wait in the very last delta cycle.
        let Some(CurrentJob { party, goal }) = self.current.take() else { return };
        let why_idle = |hub: &Hub| match hub.platform.unfinished() {
            Some(report) => Why::Deadlock { report },
            None => Why::Idle,
        };
        match goal {
            Goal::Begin(time, job) => {
                if self.now() < time {
                    let failure = Failure::new(FailureKind::Unsupported, "that time never comes");
                    return self.fail(party, job.tag, failure);
                }
                self.start(party, job.now());
            }
            Goal::Answer { bus_tag } => {
                if let Some(BusAccess { tag, .. }) = self.bus.remove(bus_tag) {
                    let reason = "nothing is left to do and the bus has not answered";
                    self.fail(party, Some(tag), Failure::new(FailureKind::SlaveError, reason));
                }
            }
            Goal::Time(time, tag) => {
                let why = if self.now() < time { why_idle(self) } else { Why::Time };
                self.reached(party, tag, why);
            }
            Goal::Interrupt(_, tag) => {
                let why = match (self.platform.irq().level(), idle) {
                    (true, _) => Why::Interrupt,
                    (false, true) => why_idle(self),
                    (false, false) => Why::Time,
                };
                self.reached(party, tag, why);
            }
            Goal::Idle(tag) => {
                let why = why_idle(self);
                self.reached(party, tag, why);
            }
            // Also when a run was interrupted meanwhile: then the present moment has something left.
            Goal::Step(..)
                if self.owed_bursts() > 0 || self.platform.simulation().next_time() == Some(self.now()) =>
            {
                self.current = Some(CurrentJob { party, goal });
            }
            Goal::Step(_, tag) => {
                let next = self.platform.simulation().next_time();
                self.complete(party, tag, Ok(Completion::Stepped { next }));
            }
            Goal::Room(_) => {}
        }
    }

    /// Returns true if a Step waits for nothing but the answers of memories outside.
    pub(super) fn is_step_owed(&self) -> bool {
        matches!(self.current, Some(CurrentJob { goal: Goal::Step(..), .. })) && self.owed_bursts() > 0
    }

    /// Bursts that memories outside have not answered.
    pub(super) fn owed_bursts(&self) -> usize {
        self.requests.borrow().bursts()
    }
}
