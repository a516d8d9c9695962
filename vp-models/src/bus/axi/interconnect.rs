//! One memory interface (NVDLA's MCIF and SRAMIF): its DMA clients, their arbitration, and the channels behind it.
//!
//! All of it is one process. What happens at an interface follows from its clients' requests and from the
//! transfers in flight, by rules that give each step its time; the process goes from one step to the next.
//! While no other process has anything to do it moves on without the scheduler ([`Sim::advance`]), so that a
//! burst costs little more than its arithmetic. Otherwise it waits like any process. Steps and times are the
//! same either way.
//! Tests with random traffic (`tests.rs`) compare both ways.

use super::channel::PendingAnswer;
use super::observed::Observed;
use super::partners::{Master, Partners};
use super::read::{ReadSide, Reads};
use super::read_client::{ReadClient, ReadKind};
use super::write::{WriteSide, Writes};
use super::write_client::{WriteClient, WriteKind};
use super::{AxiConfig, AxiEvent, AxiTarget, AxiViolation, ManagerPins, SubordinatePins, TimedPort};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::faults::BurstFaults;
use crate::fifos::Fifos;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::{BufferedSource, Kinds, Source, SourceKind, Warning, What};
use vp_core::{Event, Sim, Time};

/// The directions.
const READS: usize = 0;
const WRITES: usize = 1;

/// One memory interface.
pub struct Interconnect {
    sim: Sim,
    observed: Observed,
    config: AxiConfig,
    reads: Reads,
    writes: Writes,
    partners: Rc<Partners>,
    /// Times at which there is something to do: for reads, and for writes.
    due: [Cell<Time>; 2],
    /// Event for work at a port.
    work: Event,
    /// The time for which `work` is set to fire; [`Time::ZERO`] while the process runs.
    next: Cell<Time>,
    /// Takes every step through the scheduler, as a check of the steps that do not.
    stepwise: Cell<bool>,
    /// FIFOs whose levels its clients report.
    fifos: RefCell<Rc<Fifos>>,
}

impl Interconnect {
    /// An interface named `name` (observations carry that name) in front of `target`.
    pub fn new(sim: &Sim, name: &str, config: AxiConfig, target: Rc<dyn AxiTarget>) -> Rc<Interconnect> {
        Interconnect::timed_by(sim, name, config, target, None)
    }

    /// Creates an interface as [`Interconnect::new`] does, in front of a memory that decides by `timed` when its answers come.
    pub fn timed_by(
        sim: &Sim,
        name: &str,
        config: AxiConfig,
        target: Rc<dyn AxiTarget>,
        timed: Option<Rc<dyn TimedPort>>,
    ) -> Rc<Interconnect> {
        let memory_free = Rc::new(Cell::new(Time::ZERO));
        // Of a memory with a port for each neither waits for the other.
        let for_writes = if config.duplex { Rc::default() } else { memory_free.clone() };
        let partners = Rc::new(Partners::default());
        let interconnect = Rc::new(Interconnect {
            sim: sim.clone(),
            observed: Observed::new(sim, sim.source(name, SourceKind::Transfers)),
            reads: Reads::new(
                &config,
                (target.clone(), timed.clone()),
                memory_free,
                &partners,
                ReadSide::new(config.period),
            ),
            writes: Writes::new(
                &config,
                (target, timed.clone()),
                for_writes,
                &partners,
                WriteSide::default(),
            ),
            partners,
            due: Default::default(),
            work: sim.work_event(format!("{name}.request")),
            next: Cell::new(Time::ZERO),
            stepwise: Cell::new(false),
            fifos: RefCell::default(),
            config,
        });
        if let Some(timed) = timed {
            for direction in [READS, WRITES] {
                interconnect.follow(name, &timed, direction);
            }
        }
        sim.add_buffered(&interconnect);
        sim.server(format!("{name}.interface"), interconnect.clone().serve());
        interconnect
    }

    /// Lets the interface know when a memory with a time of its own has served something, and when it has room: at a clock edge of the
    /// interface, whatever clock the memory has.
    fn follow(self: &Rc<Self>, name: &str, timed: &Rc<dyn TimedPort>, direction: usize) {
        let write = direction == WRITES;
        let this = Rc::downgrade(self);
        timed.on_served(
            write,
            Rc::new(move |tag| {
                let Some(this) = this.upgrade() else { return };
                let now = this.config.edge_from(this.sim.now());
                if write {
                    this.writes.at(now, &this.observed, |mut step| step.served(tag));
                } else {
                    this.reads.at(now, &this.observed, |mut step| step.served(tag));
                }
                this.wake(direction, now);
            }),
        );
        let this = Rc::downgrade(self);
        let channel = if write { "aw" } else { "ar" };
        let room = self.sim.method(format!("{name}.{channel}_room")).sensitive(timed.room(write));
        room.run(move |sim| {
            if let Some(this) = this.upgrade() {
                this.wake(direction, this.config.edge_from(sim.now()));
            }
        });
    }

    /// The interface's shape.
    pub fn config(&self) -> &AxiConfig {
        &self.config
    }

    /// Returns the source as which the interface's transfers are reported.
    pub fn source(&self) -> Source {
        self.observed.source()
    }

    pub(super) fn sim(&self) -> &Sim {
        &self.sim
    }

    /// Adds the FIFOs of later clients to these.
    pub fn set_fifos(&self, fifos: Rc<Fifos>) {
        *self.fifos.borrow_mut() = fifos;
    }

    pub(super) fn fifos(&self) -> Rc<Fifos> {
        self.fifos.borrow().clone()
    }

    /// Takes every step through the scheduler, even where no process could notice the difference: slower, and
    /// otherwise the same. For tests of exactly that.
    pub fn set_stepwise(&self, stepwise: bool) {
        self.stepwise.set(stepwise);
    }

    /// Sets the order in which clients stand before the arbiters, by their transaction ids: of reads, and of writes. For clients that are
    /// added from then on.
    pub fn set_order(&self, reads: &'static [u32], writes: &'static [u32]) {
        self.reads.arbiter.set_order(reads);
        self.writes.arbiter.set_order(writes);
    }

    /// The number of requests that the read client of this transaction id may be granted in a row.
    pub fn set_read_weight(&self, id: u32, weight: u32) {
        let changed = self.reads.arbiter.set_weight(id, weight);
        self.weight_changed(changed, READS, id);
    }

    /// The number of requests that the write client of this transaction id may be granted in a row.
    pub fn set_write_weight(&self, id: u32, weight: u32) {
        let changed = self.writes.arbiter.set_weight(id, weight);
        self.weight_changed(changed, WRITES, id);
    }

    fn weight_changed(&self, has_weight: Option<bool>, direction: usize, id: u32) {
        match has_weight {
            // It may have been asking.
            Some(true) => self.wake(direction, self.sim.now()),
            Some(false) if self.sim.is_observed(Kinds::WARNINGS) => {
                let what = if direction == READS { "reads" } else { "writes" };
                let text = format!(
                    "{what} with id {id} have weight 0 in the arbiter from now on: it grants none, and who asks waits (RTL, \
                     NV_NVDLA_*_IG_arb)"
                );
                self.sim.report(self.observed.source(), What::Warning(Warning::Once(&text)));
            }
            _ => {}
        }
    }

    /// Returns true if nothing is outstanding in either direction.
    pub fn is_idle(&self) -> bool {
        let now = self.sim.now();
        self.reads.is_idle(now) && self.writes.is_idle(now)
    }

    /// Limits the transfers in flight further than the memory does: beats of reads, and beats of writes. A burst of more beats waits for ever.
    pub fn set_outstanding(&self, read_beats: u32, write_beats: u32) {
        self.reads.set_limit(read_beats);
        self.writes.set_limit(write_beats);
        let longest = self.config.burst_beats;
        for (what, limit) in [("reads", read_beats), ("writes", write_beats)] {
            if limit < longest && self.sim.is_observed(Kinds::WARNINGS) {
                let text = format!(
                    "CFG_OUTSTANDING_CNT lets {limit} beats of {what} be under way from now on: a burst of more, of up to {longest}, waits for \
                     ever (RTL, NV_NVDLA_*_IG_cvt, os_cnt_full)"
                );
                self.sim.report(self.observed.source(), What::Warning(Warning::Once(&text)));
            }
        }
        // There may be room earlier.
        self.due.iter().for_each(|due| due.set(Time::ZERO));
    }

    /// Has faults strike its channels from now on.
    pub(crate) fn set_faults(&self, faults: &Rc<BurstFaults>) {
        self.reads.set_faults(faults.clone());
        self.writes.set_faults(faults.clone());
        self.wake_both();
    }

    /// Puts the pins of a memory outside in the place of the memory behind the interface, or takes them away: for `why` its
    /// bursts then end with errors.
    pub fn attach_memory(&self, pins: Result<Rc<ManagerPins>, &str>) {
        let (pins, why) = match pins {
            Ok(pins) => (Some(pins), "another memory has taken its place"),
            Err(why) => (None, why),
        };
        if let Some(before) = self.partners.set_memory(pins) {
            let now = self.sim.now();
            self.reads.at(now, &self.observed, |mut step| step.end_at_pins(&before, why));
            self.writes.at(now, &self.observed, |mut step| step.end_at_pins(why));
        }
        self.wake_both();
    }

    /// Puts the pins of a master outside before the arbiter. Of a master that goes the pins stay until another comes: what
    /// it has asked for ends there.
    pub fn attach_master(&self, name: &str, pins: Rc<SubordinatePins>) {
        let known = self.partners.master().as_ref().map(|master| (master.reader, master.writer));
        let (reader, writer) = known.unwrap_or_else(|| {
            let kind = ReadKind::Outside { bursts: RefCell::default() };
            let arrived = self.sim.event(format!("{name}.data"));
            let reader = Rc::new(ReadClient::new(name, 0, &self.config, arrived, kind));
            self.add_reader(reader.clone());
            let events =
                [self.sim.event(format!("{name}.room")), self.sim.event(format!("{name}.acknowledged"))];
            let kind = WriteKind::Outside(Cell::default());
            let writer = Rc::new(WriteClient::new(name, 0, self.config.period, kind, events, None));
            self.add_writer(writer.clone());
            (reader.port.number(), writer.port.number())
        });
        self.partners.set_master(Master { pins, reader, writer });
        self.wake_both();
    }

    /// The master outside goes.
    pub fn detach_master(&self) {
        if let Some(master) = &*self.partners.master() {
            master.pins.detach();
            self.reads.arbiter.clients()[master.reader].forget_outside();
            self.reads.forget(master.reader);
            self.writes.arbiter.clients()[master.writer].forget_outside();
            self.writes.forget(master.writer);
        }
        self.wake_both();
    }

    /// Returns the time at which the master outside, if there has been one, was last given the response of a write.
    pub(crate) fn responded_to_master(&self) -> Option<Time> {
        self.partners.master().as_ref().and_then(|master| master.pins.responded())
    }

    /// The memory outside drives this, seen now.
    ///
    /// # Errors
    /// It breaks a rule of the interface. The event has no effect.
    pub fn drive_from_memory(&self, event: AxiEvent) -> Result<(), AxiViolation> {
        let memory = self.partners.memory();
        memory.map_or(Ok(()), |memory| memory.drive(self.sim.now(), event))?;
        self.wake_both();
        Ok(())
    }

    /// The master outside drives this, seen now.
    ///
    /// # Errors
    /// It breaks a rule of the interface. The event has no effect.
    pub fn drive_from_master(&self, event: AxiEvent) -> Result<(), AxiViolation> {
        let master = self.partners.master().as_ref().map(|master| master.pins.clone());
        master.map_or(Ok(()), |master| master.drive(self.sim.now(), event))?;
        self.wake_both();
        Ok(())
    }

    /// Returns the number of bursts that a memory outside owes.
    pub fn owed_by_memory(&self) -> usize {
        self.partners.memory().map_or(0, |memory| memory.open())
    }

    fn wake_both(&self) {
        [READS, WRITES].into_iter().for_each(|direction| self.wake(direction, self.sim.now()));
    }

    pub(super) fn add_reader(&self, client: Rc<ReadClient>) {
        self.reads.arbiter.add(client);
    }

    pub(super) fn add_writer(&self, client: Rc<WriteClient>) {
        self.writes.arbiter.add(client);
    }

    /// Notes that a read client requests.
    pub(super) fn request_read(&self, client: usize) {
        self.reads.arbiter.set_requesting(client);
        self.wake(READS, self.sim.now());
    }

    /// Notes that a read client's requester has its first read at `due`.
    pub(super) fn start_requester(&self, client: usize, due: Time) {
        self.reads.start_generating(client);
        self.wake(READS, due);
    }

    /// Notes that a write client requests from `at` on.
    pub(super) fn request_write(&self, client: usize, at: Time) {
        self.writes.arbiter.set_requesting(client);
        self.wake(WRITES, at);
    }

    /// Wakes a direction for work at `at`.
    fn wake(&self, direction: usize, at: Time) {
        let due = &self.due[direction];
        due.set(due.get().min(at));
        if at < self.next.get() {
            self.next.set(at);
            self.work.notify_after(at.since(self.sim.now()));
        }
    }

    /// Does what is due. Reads go on as long as nothing else happens: so time may have come further.
    fn step(&self, now: Time) -> Result<(), PendingAnswer> {
        if self.due[READS].get() <= now {
            let writes = self.due[WRITES].get();
            let advance = |next| next < writes && self.advance(next);
            self.due[READS].set(self.reads.at(now, &self.observed, |mut step| step.run(advance))?);
        }
        let now = self.sim.now();
        if self.due[WRITES].get() <= now {
            self.due[WRITES].set(self.writes.at(now, &self.observed, |mut step| step.run())?);
        }
        Ok(())
    }

    /// Moves time on, if no other process does anything until then.
    #[inline]
    fn advance(&self, to: Time) -> bool {
        to < Time::MAX && !self.stepwise.get() && self.sim.advance(to)
    }

    async fn serve(self: Rc<Self>) {
        let observed = &self.observed;
        loop {
            self.next.set(Time::ZERO);
            if let Err(pending) = self.step(self.sim.now()) {
                observed.report(self.sim.now());
                match pending {
                    PendingAnswer::Read(completion) => completion.done(&self.sim).await,
                    PendingAnswer::Write(completion) => completion.done(&self.sim).await,
                }
                continue;
            }
            let work = self.due[READS].get().min(self.due[WRITES].get());
            // Observers hear of what happens until then when it has.
            if self.advance(work) {
                observed.report_many(self.sim.now());
                continue;
            }
            let now = self.sim.now();
            let next = work.min(observed.report_awaited(now));
            if next < work && self.advance(next) {
                continue;
            }
            self.next.set(next);
            if next < Time::MAX {
                self.work.notify_after(next.since(now));
            }
            self.work.wait().await;
            // The RTL's arbiter sees all requests of a cycle (NV_NVDLA_NOCIF_DRAM_READ_IG_arb.v): those of this instant come first.
            if self.sim.quiet_until() <= self.sim.now() {
                self.next.set(Time::ZERO);
                self.work.notify_delta();
                self.work.wait().await;
            }
        }
    }
}

impl BufferedSource for Interconnect {
    fn told_until(&self) -> Time {
        self.observed.reported_until()
    }

    fn flush(&self, now: Time) {
        self.observed.report(now);
    }
}

impl Interconnect {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // When it is to run next follows from what is asked of it: nothing.
        let Interconnect {
            sim: _,
            observed,
            config: _,
            reads,
            writes,
            partners: _,
            due: _,
            work: _,
            next: _,
            stepwise: _,
            fifos: _,
        } = self;
        at.at_rest(observed.reported_until() == Time::MAX, "transfers are not told yet")?;
        at.part("reads")?;
        reads.checkpoint_reads(at)?;
        at.part("writes")?;
        writes.checkpoint_writes(at)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Interconnect;
    use crate::bus::axi::{AxiConfig, Latency, PipelineConfig, RegisterKind, WriteStream};
    use crate::memory::Ram;
    use std::cell::RefCell;
    use std::rc::Rc;
    use vp_core::observe::{Observation, Observer, Stage, What};
    use vp_core::{Simulation, Time};

    /// Bursts that were on AW: the client of each, and the time, in cycles.
    #[derive(Default)]
    struct Addresses(RefCell<Vec<(u32, u64)>>);

    impl Observer for Addresses {
        fn observe(&self, observation: &Observation<'_>) {
            if let What::Transfer(transfer) = observation.what
                && transfer.stage == Stage::Request
            {
                self.0.borrow_mut().push((transfer.id, observation.time.cycles(Time::ns(1))));
            }
        }
    }

    /// The shape of an interface of 8 bytes, in front of a memory that answers after a cycle.
    pub(in crate::bus::axi) fn config(burst_beats: u32) -> AxiConfig {
        AxiConfig {
            period: Time::ns(1),
            beat_bytes: 8,
            burst_beats,
            transaction_beats: burst_beats,
            realigns_reads: false,
            address_bits: 64,
            read_outstanding: 1,
            read_pipeline: PipelineConfig { before_count: 3, behind_count: 2 },
            write_outstanding: 16,
            write_pipeline: PipelineConfig { before_count: 1, behind_count: 1 },
            read_latency: Latency::Fixed(1),
            write_latency: Latency::Fixed(1),
            bandwidth: None,
            duplex: false,
            seed: 0,
            request_registers: RegisterKind::Catching,
            write_overlap: false,
            write_gathering: None,
        }
    }

    /// Each client puts three bursts of `beats` beats at once.
    fn written(clients: u32, beats: u32) -> Vec<(u32, u64)> {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let config = config(beats);
        let interconnect = Interconnect::new(&sim, "axi", config, Rc::new(Ram::new(0..0x10000)));
        for id in 0..clients {
            let stream = WriteStream::new(&interconnect, "client", id);
            sim.process("client", async move {
                let bytes = 3 * 8 * beats;
                stream.line(u64::from(id) * 0x1000, bytes);
                stream.put(&vec![0; bytes as usize], 8).await;
                stream.drained().await;
            });
        }
        let addresses = Rc::new(Addresses::default());
        sim.observe(addresses.clone());
        simulation.run();
        addresses.0.take()
    }

    /// A client's burst leaves its buffer at the arbiter a beat a cycle, and only then the next one enters, as fast.
    #[test]
    fn a_clients_bursts_follow_each_other_every_two_cycles_a_beat() {
        let times = |beats| -> Vec<u64> { written(1, beats).into_iter().map(|(_, at)| at).collect() };
        let [single, four] = [times(1), times(4)];
        assert_eq!([single[1] - single[0], single[2] - single[1]], [2, 2]);
        assert_eq!([four[1] - four[0], four[2] - four[1]], [8, 8]);
    }

    #[test]
    fn two_clients_fill_the_write_channel() {
        let bursts = written(2, 4);
        assert_eq!(bursts.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
        assert!(bursts.windows(2).all(|two| two[1].1 - two[0].1 == 4), "{bursts:?}");
    }
}
