//! One channel of a DRAM: its controller, a command a clock at most.

use super::bank::{Banks, DramCommand};
use super::mapping::Location;
use super::queue::{NextCommand, Queues};
use super::standard::{Organisation, Timing};
use super::{DramConfig, PagePolicy};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::memory::level::Answers;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::{Source, SourceKind, What};
use vp_core::{Event, Sim, Time, select};

/// Refreshes that are caught up with, about a second's of DDR4: what a caller waits for is bounded, however far time has gone.
const MOST_MISSED: u64 = 1 << 17;

struct ChannelState {
    banks: Banks,
    queues: Queues,
    /// The clock in which the next refresh is due.
    refresh_due: u64,
}

pub(super) struct Channel {
    sim: Sim,
    source: Source,
    timing: Timing,
    clock: Time,
    /// Time that controller and wires add to a read.
    latency: Time,
    config: DramConfig,
    banks_in_group: u32,
    state: RefCell<ChannelState>,
    arrived: Event,
    /// True if there was nothing to do at the last look, and nothing has arrived since.
    rests: Cell<bool>,
    answers: Rc<Answers>,
    room: Event,
}

impl Channel {
    pub(super) fn start(
        sim: &Sim,
        name: &str,
        config: &DramConfig,
        organisation: &Organisation,
        answers: Rc<Answers>,
        room: Event,
    ) -> Rc<Channel> {
        let timing = config.timing_in_force();
        let banks = (organisation.groups * organisation.banks) as usize;
        let channel = Rc::new(Channel {
            sim: sim.clone(),
            source: sim.source(name, SourceKind::Counts),
            timing,
            clock: Time::ps(timing.tCK),
            latency: config.latency,
            config: config.clone(),
            banks_in_group: organisation.banks,
            state: RefCell::new(ChannelState {
                banks: Banks::new(organisation, timing),
                queues: Queues::new(banks),
                refresh_due: timing.tREFI,
            }),
            arrived: sim.work_event(format!("{name}.arrived")),
            rests: Cell::new(false),
            answers,
            room,
        });
        sim.server(format!("{name}.controller"), channel.clone().run());
        channel
    }

    /// Takes a burst, or a part of one; false if its queue is full.
    pub(super) fn offer(&self, owner: u64, write: bool, at: Location, bytes: (u32, u32)) -> bool {
        let mut state = self.state.borrow_mut();
        let queues = &mut state.queues;
        let now = self.sim.now();
        if !write && queues.holds(at, bytes) {
            self.count("forwarded", at);
            self.answers.at(now + self.latency, owner);
            return true;
        }
        let depth = if write { self.config.write_queue } else { self.config.read_queue };
        if queues.len(write) >= depth as usize {
            return false;
        }
        let bank = (at.group * self.banks_in_group + at.bank) as usize;
        queues.add(owner, write, bank, at, bytes);
        if write {
            // Posted: it waits here, and whoever reads it is answered from here.
            self.answers.at(now, owner);
        }
        self.arrived.notify_delta();
        true
    }

    async fn run(self: Rc<Self>) {
        loop {
            if self.rests.get() {
                self.arrived.wait().await;
                self.rests.set(false);
            }
            let now = self.sim.now().as_ps().div_ceil(self.clock.as_ps());
            let edge = self.clock * now;
            if edge > self.sim.now() {
                self.sim.wait_until(edge).await;
                continue;
            }
            match self.step(now) {
                NextCommand::Give(..) => self.sim.wait(self.clock).await,
                NextCommand::NotBefore(clock) => {
                    select(self.arrived.wait(), self.sim.wait_until(self.clock * clock)).await;
                }
                NextCommand::Nothing => self.rests.set(true),
            }
        }
    }

    /// Gives the command of this clock, if there is one.
    fn step(&self, now: u64) -> NextCommand {
        let state = &mut *self.state.borrow_mut();
        if self.config.refresh {
            self.catch_up(state, now);
            if let Some(next) = self.refresh(state, now) {
                return next;
            }
        }
        let next = state.queues.next(&state.banks, &self.config, now);
        match next {
            NextCommand::Give(command, number) => self.give(state, command, number, now),
            // Nothing is awaited beyond the next refresh without looking at it again.
            NextCommand::NotBefore(clock) if self.config.refresh => {
                return NextCommand::NotBefore(clock.min(state.refresh_due));
            }
            _ => {}
        }
        next
    }

    fn give(&self, state: &mut ChannelState, command: DramCommand, number: u64, now: u64) {
        state.banks.give(command, now);
        self.report(command);
        let is_column = matches!(command, DramCommand::Read { .. } | DramCommand::Write { .. });
        if !is_column {
            return state.queues.note(number, command);
        }
        let Some(entry) = state.queues.take(number) else { return };
        let label = match (entry.opened, entry.closed) {
            (false, _) => "row_hit",
            (true, false) => "row_miss",
            (true, true) => "row_conflict",
        };
        self.count(label, entry.at);
        if !entry.write {
            let Timing { CL, tDQSCK, tBURST, .. } = self.timing;
            let data = self.clock * (now + CL + tDQSCK + tBURST);
            self.answers.at(data + self.latency, entry.owner);
        }
        self.room.notify_delta();
    }

    /// The refreshes that were due while nothing was to be done, as they would have been given. One that has been idle for longer
    /// than [`MOST_MISSED`] was in self refresh before, in which it is given none (JESD79-4, "Self refresh operation").
    fn catch_up(&self, state: &mut ChannelState, now: u64) {
        let missed = now.saturating_sub(state.refresh_due) / self.timing.tREFI.max(1);
        state.refresh_due += missed.saturating_sub(MOST_MISSED) * self.timing.tREFI;
        while state.refresh_due < now {
            let command =
                if state.banks.any_open() { DramCommand::PrechargeAll } else { DramCommand::Refresh };
            let at = state.refresh_due.max(state.banks.earliest(command));
            if at >= now {
                return;
            }
            self.refresh_at(state, command, at);
        }
    }

    /// The next step of a refresh that is due: nothing else is given until it is over.
    fn refresh(&self, state: &mut ChannelState, now: u64) -> Option<NextCommand> {
        if now < state.refresh_due {
            return None;
        }
        let command = if state.banks.any_open() { DramCommand::PrechargeAll } else { DramCommand::Refresh };
        let earliest = state.banks.earliest(command);
        if earliest > now {
            return Some(NextCommand::NotBefore(earliest));
        }
        self.refresh_at(state, command, now);
        Some(NextCommand::Give(command, 0))
    }

    fn refresh_at(&self, state: &mut ChannelState, command: DramCommand, at: u64) {
        state.banks.give(command, at);
        self.report(command);
        if command == DramCommand::Refresh {
            state.refresh_due += self.timing.tREFI;
        }
    }

    /// Tells the observers of a command: its bank in the lower half, its row above.
    fn report(&self, command: DramCommand) {
        let value = match command {
            DramCommand::Activate { bank, row } => u64::from(row) << 32 | bank as u64,
            DramCommand::Read { bank, .. }
            | DramCommand::Write { bank, .. }
            | DramCommand::Precharge { bank } => bank as u64,
            DramCommand::PrechargeAll | DramCommand::Refresh => 0,
        };
        self.sim.report(self.source, What::Count { label: command.name(), value });
    }

    fn count(&self, label: &'static str, at: Location) {
        let bank = u64::from(at.group * self.banks_in_group + at.bank);
        self.sim.report(self.source, What::Count { label, value: u64::from(at.row) << 32 | bank });
    }
}

/// A page policy, as a word.
impl Channel {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Channel {
            sim: _,
            source: _,
            timing: _,
            clock: _,
            latency: _,
            config: _,
            banks_in_group: _,
            state,
            arrived: _,
            rests,
            answers: _,
            room: _,
        } = self;
        at.at_rest(rests.get(), "the controller has something to do")?;
        at.cell(rests)?;
        let ChannelState { banks, queues, refresh_due } = &mut *state.borrow_mut();
        banks.checkpoint(at)?;
        queues.checkpoint(at)?;
        at.value(refresh_due)
    }
}

impl std::fmt::Display for PagePolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PagePolicy::Open => "open pages",
            PagePolicy::Closed => "closed pages",
        })
    }
}
