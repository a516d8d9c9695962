//! One channel of a DRAM in a simulation: its controller, at the clocks in which it has something to do.

use super::access::Access;
use super::command::CommandKind;
use super::config::DramConfig;
use super::controller::{Controller, Issued, Taken};
use super::counts::{Counts, Found};
use super::mapping::Location;
use super::organisation::Organisation;
use super::queue::NextCommand;
use super::timing::Timing;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::Statistics;
use crate::memory::awaited::AwaitedEvent;
use crate::memory::level::{Answers, TransferPart};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::{BufferedSource, Kinds, Source, SourceKind, What};
use vp_core::{Event, Sim, Time};

pub(super) struct Channel {
    sim: Sim,
    name: String,
    /// Source of what accesses find.
    accesses: Source,
    /// Source of commands.
    commands: Source,
    clock: Time,
    /// Time from the first clock of a read to the end of its data, with what controller and wires add.
    read_latency: Time,
    /// Time that controller and wires add to a read.
    latency: Time,
    organisation: Organisation,
    controller: RefCell<Controller>,
    counts: RefCell<Counts>,
    /// Commands that are to be reported.
    issued: RefCell<Vec<Issued>>,
    /// Event for a look: something has arrived, or a clock has come for which it was set.
    look: Event,
    /// True if there was nothing to do at the last look, and nothing has arrived since.
    rests: Cell<bool>,
    answers: Rc<Answers>,
    room: Rc<AwaitedEvent>,
}

impl Channel {
    pub(super) fn start(
        sim: &Sim,
        name: String,
        config: &DramConfig,
        (organisation, timing): (&Organisation, &Timing),
        answers: Rc<Answers>,
        room: Rc<AwaitedEvent>,
    ) -> Rc<Channel> {
        let controller = Controller::new(config, organisation, *timing);
        let Timing { CL, tDQSCK, tBURST, nCAS, .. } = *timing;
        let clock = Time::ps(timing.tCK);
        let channel = Rc::new(Channel {
            sim: sim.clone(),
            accesses: sim.source(&name, SourceKind::Counts),
            commands: sim.source(format!("{name}.command"), SourceKind::Counts),
            clock,
            read_latency: clock * (nCAS - 1 + CL + tDQSCK + tBURST) + config.latency,
            latency: config.latency,
            organisation: *organisation,
            counts: RefCell::new(Counts::new(controller.banks.len())),
            controller: RefCell::new(controller),
            issued: RefCell::default(),
            look: sim.work_event(format!("{name}.arrived")),
            rests: Cell::new(false),
            answers,
            room,
            name,
        });
        sim.add_buffered(&channel);
        sim.server(format!("{}.controller", channel.name), channel.clone().run());
        channel
    }

    /// Takes a burst, or a part of one; false if its queue is full.
    pub(super) fn offer(&self, part: TransferPart, at: Location, bytes: (u32, u32)) -> bool {
        let TransferPart { owner, write, priority, .. } = part;
        let now = self.sim.now();
        let clock = now.as_ps().div_ceil(self.clock.as_ps());
        if self.rests.get() {
            self.controller.borrow_mut().catch_up(clock, &mut self.issued.borrow_mut());
            self.tell();
        }
        let taken = {
            let mut controller = self.controller.borrow_mut();
            let entries = controller.queues.len(write);
            let taken = controller.offer(Access { owner, write, at, bytes, priority }, clock);
            if taken != Taken::Full {
                self.counts.borrow_mut().comes(write, entries);
            }
            taken
        };
        match taken {
            Taken::Full => return false,
            Taken::Forwarded => {
                self.count("forwarded", at);
                self.answers.at(now + self.latency, owner);
                return true;
            }
            Taken::Waits { is_merged } => {
                if is_merged {
                    self.count("merged", at);
                }
            }
        }
        if write {
            // Posted: it waits here, and whoever reads it is answered from here.
            self.answers.at(now, owner);
        }
        self.look.notify_delta();
        true
    }

    async fn run(self: Rc<Self>) {
        loop {
            if self.rests.get() {
                self.look.wait().await;
                self.rests.set(false);
            }
            let now = self.sim.now().as_ps().div_ceil(self.clock.as_ps());
            let edge = self.clock * now;
            if edge > self.sim.now() {
                self.sim.wait_until(edge).await;
                continue;
            }
            let next = self.controller.borrow_mut().step(now, &mut self.issued.borrow_mut());
            self.tell();
            match next {
                NextCommand::Give(..) => self.sim.wait(self.clock).await,
                NextCommand::NotBefore(clock) => {
                    self.look.notify_after((self.clock * clock).since(edge));
                    self.look.wait().await;
                }
                NextCommand::Nothing => self.rests.set(true),
            }
        }
    }

    /// Answers the accesses whose commands have been given, and reports the commands.
    fn tell(&self) {
        let mut issued = self.issued.take();
        for Issued { clock, command, served } in issued.drain(..) {
            let time = self.clock * clock;
            let (label, value) = command.observed();
            self.sim.report_at(time, self.commands, What::Count { label, value });
            let Some(entry) = served else { continue };
            let found = Found::of(&entry);
            self.count(found.label(), entry.at);
            let is_read = matches!(command.kind, CommandKind::Read | CommandKind::ReadPrecharge);
            let data = time + self.read_latency;
            for (owner, arrived) in entry.owners() {
                let latency = is_read.then(|| data - self.clock * arrived);
                self.counts.borrow_mut().served(command.bank, found, latency);
                if is_read {
                    self.answers.at(data, owner);
                }
            }
            self.room.notify_delta();
        }
        // The room is used again.
        *self.issued.borrow_mut() = issued;
    }

    fn count(&self, label: &'static str, at: Location) {
        let bank = u64::from(at.bank_in(&self.organisation));
        let value = u64::from(at.row) << 32 | u64::from(at.column & 0xffff) << 16 | bank & 0xffff;
        self.sim.report(self.accesses, What::Count { label, value });
    }

    /// Adds the channel's counters; latencies are in cycles of `period`.
    pub(super) fn add_counters(&self, period: Time, statistics: &mut Statistics) {
        // Without observers nobody has asked for what is due.
        self.flush(self.sim.now());
        let now = self.sim.now().as_ps() / self.clock.as_ps();
        let backgrounds = self.controller.borrow().banks.backgrounds(now);
        self.counts.borrow().fill(&self.name, backgrounds, period, statistics);
    }
}

/// Refreshes and power-down of a channel at rest are reported with the times at which they were due.
impl BufferedSource for Channel {
    fn told_until(&self) -> Time {
        match self.rests.get() && self.sim.is_observed(Kinds::COUNTS) {
            true => {
                let next = self.controller.borrow_mut().next_maintenance();
                next.map_or(Time::MAX, |clock| self.clock * clock)
            }
            false => Time::MAX,
        }
    }

    fn flush(&self, now: Time) {
        if self.rests.get() {
            let now = now.as_ps().div_ceil(self.clock.as_ps());
            self.controller.borrow_mut().catch_up(now, &mut self.issued.borrow_mut());
            self.tell();
        }
    }
}

impl Channel {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Channel {
            sim: _,
            name: _,
            accesses: _,
            commands: _,
            clock: _,
            read_latency: _,
            latency: _,
            organisation: _,
            controller,
            counts,
            issued: _,
            look: _,
            rests,
            answers: _,
            room: _,
        } = self;
        at.at_rest(rests.get(), "the controller has something to do")?;
        at.cell(rests)?;
        controller.borrow_mut().checkpoint(at)?;
        counts.borrow_mut().checkpoint(at)
    }
}
