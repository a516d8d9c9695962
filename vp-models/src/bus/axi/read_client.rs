//! A read client as its memory interface sees it: its requests, and where its data goes.
//!
//! ```text
//! engine: Requester::next → GeneratedReads → RunQueue → arbiter     of a client without a FIFO
//!         ReadStream::request ─────────────→ RunQueue → arbiter     of a client with one
//! engine ← ReadData ← beats from R
//! ```
//!
//! * `requester`: the reads of a client without a FIFO, which the interface makes by a call to its engine.
//! * `queue`: the runs of bytes in front of the arbiter.
//! * `data`: the bytes from R, and the times of their beats.

mod data;
mod queue;
mod requester;

pub use requester::{Request, Requester};

use super::arbiter::{ArbiterPort, Client};
use super::burst::{Cut, Run};
use super::intake::{BeatConsumer, Intake};
use super::realigner::Realigner;
use super::request_registers::RequestRegisters;
use super::request_watch::RequestWatch;
use super::{Burst, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::fifos::FifoLevel;
use data::ReadData;
use queue::RunQueue;
use requester::GeneratedReads;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Name, Time};

/// Kind of a read client, with what only that kind has.
pub(super) enum ReadKind {
    /// A client with a latency FIFO, for which it requests no more than there is room.
    Fifo {
        /// The registers in which its requests wait.
        registers: RefCell<RequestRegisters>,
        /// Number of bytes in the FIFO.
        level: FifoLevel,
    },
    /// A client without one: the interface makes its reads, and its data may have to wait on the bus.
    Direct {
        /// The reads of its requester.
        reads: GeneratedReads,
        /// Places behind the bus.
        intake: RefCell<Intake>,
        /// Counts of its requests, while its engine makes any.
        watch: RefCell<Option<Rc<RequestWatch>>>,
    },
    /// A master outside, which makes its bursts itself and takes its data at its pins.
    Outside {
        /// Bursts that wait for the arbiter.
        bursts: RefCell<VecDeque<Burst>>,
    },
}

impl ReadKind {
    pub(super) fn direct(done: Event, intake: Intake) -> ReadKind {
        ReadKind::Direct {
            reads: GeneratedReads::new(done),
            intake: RefCell::new(intake),
            watch: RefCell::default(),
        }
    }
}

/// State that a client and its interface share.
pub(super) struct ReadClient {
    pub(super) name: Name,
    pub(super) port: ArbiterPort,
    beat_bytes: u32,
    /// Rule by which requests are cut into what the arbiter grants at once.
    pub(super) cut: Cut,
    period: Time,
    pub(super) kind: ReadKind,
    queue: RunQueue,
    /// Beats on their way to the client, if these are not those of the bus.
    realigner: Option<RefCell<Realigner>>,
    pub(super) data: ReadData,
    /// The first burst that was answered with an error, among those since the last call that asks for it.
    pub(super) refused: RefCell<Option<Unmapped>>,
}

impl Client for ReadClient {
    #[inline]
    fn port(&self) -> &ArbiterPort {
        &self.port
    }
}

impl ReadClient {
    pub(super) fn new(
        name: &str,
        id: u32,
        config: &super::AxiConfig,
        arrived: Event,
        kind: ReadKind,
    ) -> ReadClient {
        ReadClient {
            name: name.into(),
            port: ArbiterPort::new(id, matches!(kind, ReadKind::Outside { .. })),
            beat_bytes: config.beat_bytes,
            cut: Cut::new(config, config.transaction_beats),
            period: config.period,
            kind,
            queue: RunQueue::default(),
            realigner: Realigner::of(config).map(RefCell::new),
            data: ReadData::new(arrived),
            refused: RefCell::default(),
        }
    }

    pub(super) fn set_taker(&self, taker: Option<Rc<dyn BeatConsumer>>) {
        if let ReadKind::Direct { intake, .. } = &self.kind {
            intake.borrow_mut().set_taker(taker);
        }
    }

    /// Sets who counts the requests from now on, of a client without a latency FIFO.
    pub(super) fn set_watch(&self, watch: Option<Rc<RequestWatch>>) {
        if let ReadKind::Direct { watch: counts, .. } = &self.kind {
            *counts.borrow_mut() = watch;
        }
    }

    // What the engine's side does.

    /// Begins a request of so many bytes.
    pub(super) fn begin_request(&self, bytes: u32) {
        if let Some(realigner) = &self.realigner {
            realigner.borrow_mut().request(bytes);
        }
        if let ReadKind::Direct { intake, .. } = &self.kind {
            intake.borrow_mut().begin_request(bytes);
        }
    }

    pub(super) fn request(&self, burst: &Burst) {
        self.queue.push(Run { address: burst.address, bytes: burst.bytes });
    }

    /// Adds a burst that a master outside requests.
    pub(super) fn request_outside(&self, burst: Burst) {
        if let ReadKind::Outside { bursts } = &self.kind {
            bursts.borrow_mut().push_back(burst);
        }
    }

    /// Drops the requests of a master outside that has gone.
    pub(super) fn forget_outside(&self) {
        if let ReadKind::Outside { bursts } = &self.kind {
            bursts.borrow_mut().clear();
        }
    }

    /// Starts a requester; returns the time of its first read, if there is one.
    pub(super) fn start(&self, requester: Rc<dyn Requester>, now: Time) -> Option<Time> {
        let ReadKind::Direct { reads, .. } = &self.kind else { return None };
        let first = reads.start(requester, now)?;
        self.begin_request(first.bytes);
        Some(first.due)
    }

    /// Waits until its requester has no more reads.
    pub(super) async fn requests_made(&self) {
        if let ReadKind::Direct { reads, .. } = &self.kind {
            reads.made().await;
        }
    }

    /// Removes the first bytes, which have arrived; returns the time at which they were on the bus.
    pub(super) fn drop_first(&self, bytes: usize, now: Time) -> Time {
        self.change_level(now, -(bytes as i64));
        self.data.drop_first(bytes, now)
    }

    // What the interface does.

    /// Returns the time of its requester's next read; [`Time::MAX`] if that waits for room in the queue.
    #[inline]
    pub(super) fn next_read(&self) -> Time {
        if let ReadKind::Direct { reads, .. } = &self.kind { reads.next() } else { Time::MAX }
    }

    /// Queues the reads of its requester that are due by now, as far as there is room for them; returns the time of the next one.
    /// `None`: there is none.
    pub(super) fn generate_reads(&self, now: Time) -> Option<Time> {
        let ReadKind::Direct { reads, .. } = &self.kind else { return None };
        reads.generate(now, (&self.queue, self.cut), |bytes| self.begin_request(bytes))
    }

    /// Returns true if something waits for the arbiter.
    pub(super) fn is_requesting(&self) -> bool {
        match &self.kind {
            ReadKind::Outside { bursts } => !bursts.borrow().is_empty(),
            _ => !self.queue.is_empty(),
        }
    }

    /// Takes what is granted now, a burst or several at once.
    pub(super) fn grant(&self, now: Time) -> Burst {
        if let ReadKind::Outside { bursts } = &self.kind {
            return bursts.borrow_mut().pop_front().unwrap_or_default();
        }
        let burst = self.queue.take(self.cut, self.port.id);
        self.pass_arbiter(now);
        if let ReadKind::Direct { reads, .. } = &self.kind {
            reads.granted();
        }
        burst
    }

    /// Notes in the registers in front of the arbiter that it has taken a burst.
    #[inline]
    pub(super) fn pass_arbiter(&self, now: Time) {
        match &self.kind {
            ReadKind::Fifo { registers, .. } => registers.borrow_mut().granted(now),
            ReadKind::Direct { watch, .. } => {
                if let Some(watch) = &*watch.borrow() {
                    watch.granted(now);
                }
            }
            ReadKind::Outside { .. } => {}
        }
    }

    /// Passes an event to the registers in front of the arbiter, if the client has a latency FIFO.
    #[inline]
    pub(super) fn on_registers(&self, update: impl FnOnce(&mut RequestRegisters)) {
        if let ReadKind::Fifo { registers, .. } = &self.kind {
            update(&mut registers.borrow_mut());
        }
    }

    /// Returns the time from which on it takes a beat that the interface can hand it at `offered`.
    #[inline]
    pub(super) fn takes_at(&self, offered: Time) -> Time {
        match &self.kind {
            ReadKind::Direct { intake, .. } => intake.borrow().takes_at(offered),
            _ => offered,
        }
    }

    /// Takes a beat of so many bytes at `handed`, which was on the bus at `due`.
    #[inline]
    pub(super) fn take_beat(&self, handed: Time, due: Time, bytes: u32) {
        if let ReadKind::Direct { intake, .. } = &self.kind {
            intake.borrow_mut().take(handed, due, bytes);
        }
    }

    /// Returns true if a beat may wait for it, or its consumer is called for each.
    #[inline]
    pub(super) fn is_slow(&self) -> bool {
        matches!(&self.kind, ReadKind::Direct { intake, .. } if intake.borrow().delays())
    }

    /// Delivers a burst whose first beat is on the bus at `first`, and the others a cycle each behind it.
    #[inline]
    pub(super) fn deliver(&self, burst: &Burst, first: Time) {
        if burst.beats == 1 {
            return self.deliver_beat(burst.bytes, first, first);
        }
        let mut due = first;
        for bytes in self.beats(burst) {
            self.deliver_beat(bytes, due, due);
            due += self.period;
        }
    }

    /// Returns the number of bytes of each beat of a burst.
    #[inline]
    pub(super) fn beats(&self, burst: &Burst) -> impl ExactSizeIterator<Item = u32> + use<> {
        let (burst, width) = (*burst, self.beat_bytes);
        (0..burst.beats).map(move |beat| burst.lanes(beat, width).2 as u32)
    }

    /// Delivers a beat that is on the bus at `due`, or was before `now`.
    #[inline]
    pub(super) fn deliver_beat(&self, bytes: u32, due: Time, now: Time) {
        let bytes = match &self.realigner {
            None => bytes,
            Some(realigner) => realigner.borrow_mut().take(bytes),
        };
        if bytes == 0 {
            return;
        }
        self.change_level(due.max(now), bytes.into());
        self.data.add_beat(due, bytes);
    }

    /// Changes the fill level of the latency FIFO at `time` by `bytes`.
    #[inline]
    fn change_level(&self, time: Time, bytes: i64) {
        if let ReadKind::Fifo { level, .. } = &self.kind {
            level.change(time, bytes);
        }
    }
}

impl ReadClient {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // The weight is a register's.
        let ReadClient {
            name,
            port: _,
            beat_bytes: _,
            cut: _,
            period: _,
            kind,
            queue,
            realigner,
            data,
            refused,
        } = self;
        at.part(name)?;
        let is_requesting = self.is_requesting() || !queue.is_empty();
        at.at_rest(!is_requesting && !data.is_awaited(), "a read is asked for")?;
        if let Some(realigner) = realigner {
            realigner.borrow().checkpoint(at)?;
        }
        at.at_rest(data.is_empty(), "nobody has taken what was read")?;
        match kind {
            ReadKind::Fifo { registers, level: _ } => registers.borrow_mut().checkpoint(at)?,
            ReadKind::Direct { reads, intake, watch } => {
                at.at_rest(watch.borrow().is_none(), "reads are counted")?;
                reads.checkpoint(at)?;
                intake.borrow_mut().checkpoint(at)?;
            }
            ReadKind::Outside { .. } => at.at_rest(false, "a master outside was attached")?,
        }
        at.place(refused)
    }
}
