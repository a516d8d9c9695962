//! A read client as its memory interface sees it: its requests, and where its data goes.

use super::arbiter::{ArbiterPort, Client};
use super::burst::{Cut, Run};
use super::bytes::Bytes;
use super::intake::{BeatConsumer, Intake};
use super::realigner::Realigner;
use super::request_registers::RequestRegisters;
use super::request_watch::RequestWatch;
use super::{Answer, AxiTarget, Burst, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::fifos::FifoLevel;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Name, Time};

/// Transactions that a client without a latency FIFO has waiting for the arbiter, at most: the requests in its pipeline.
const REQUESTS_AHEAD: usize = 64;

/// A read that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Time at which the read can be made at the earliest.
    pub due: Time,
    /// Byte address.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
}

impl Request {
    fn run(&self) -> Run {
        Run { address: self.address, bytes: self.bytes }
    }
}

/// Generates the reads of a client, one after the other.
pub trait Requester {
    /// The next read, when the previous one was made at `now`. `None`: it is not known yet, or there are no
    /// more.
    fn next(&self, now: Time) -> Option<Request>;
}

/// The reads of a requester: the present one, as far as it is not asked for.
pub(super) struct RequesterState {
    requester: Rc<dyn Requester>,
    left: Request,
}

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
        requester: RefCell<Option<RequesterState>>,
        /// Time of its requester's next read; [`Time::MAX`] if that has no room in the queue.
        next_read: Cell<Time>,
        /// Event at which its requester has no more reads.
        done: Event,
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
            requester: RefCell::default(),
            next_read: Cell::new(Time::MAX),
            done,
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
    /// Runs of bytes that wait for the arbiter.
    queue: RefCell<VecDeque<Run>>,
    /// Number of bursts that wait.
    waiting: Cell<usize>,
    /// Beats on their way to the client, if these are not those of the bus.
    realigner: Option<RefCell<Realigner>>,
    /// Bytes that were asked for, from the first that is not taken; what has not come yet holds its place.
    pub(super) data: RefCell<Bytes>,
    /// Beats of which it is known when each is on the bus, and the bytes of it that are not taken.
    beats: RefCell<VecDeque<(Time, u32)>>,
    /// Number of bytes of these beats.
    arrived_bytes: Cell<usize>,
    pub(super) arrived: Event,
    /// Number of bytes that the engine waits for; 0 if it does not wait.
    pub(super) awaited_bytes: Cell<usize>,
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
            queue: RefCell::default(),
            waiting: Cell::new(0),
            realigner: Realigner::of(config).map(RefCell::new),
            data: RefCell::default(),
            beats: RefCell::default(),
            arrived_bytes: Cell::new(0),
            arrived,
            awaited_bytes: Cell::new(0),
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
        self.queue.borrow_mut().push_back(Run { address: burst.address, bytes: burst.bytes });
        self.waiting.set(self.waiting.get() + 1);
    }

    /// Adds a burst that a master outside requests.
    pub(super) fn request_outside(&self, burst: Burst) {
        if let ReadKind::Outside { bursts } = &self.kind {
            bursts.borrow_mut().push_back(burst);
            self.waiting.set(self.waiting.get() + 1);
        }
    }

    /// Drops the requests of a master outside that has gone.
    pub(super) fn forget_outside(&self) {
        if let ReadKind::Outside { bursts } = &self.kind {
            bursts.borrow_mut().clear();
            self.waiting.set(0);
        }
    }

    /// Starts a requester; returns the time of its first read, if there is one.
    pub(super) fn start(&self, requester: Rc<dyn Requester>, now: Time) -> Option<Time> {
        let ReadKind::Direct { requester: place, next_read, .. } = &self.kind else { return None };
        let left = requester.next(now)?;
        self.begin_request(left.bytes);
        next_read.set(left.due);
        *place.borrow_mut() = Some(RequesterState { requester, left });
        Some(left.due)
    }

    /// Waits until its requester has no more reads.
    pub(super) async fn requests_made(&self) {
        if let ReadKind::Direct { requester, done, .. } = &self.kind {
            while requester.borrow().is_some() {
                done.wait().await;
            }
        }
    }

    /// Returns the arrival time of the next `bytes` bytes, if it is known.
    pub(super) fn due(&self, bytes: usize) -> Option<Time> {
        if self.arrived_bytes.get() < bytes {
            return None;
        }
        let mut found = 0;
        self.beats.borrow().iter().find_map(|&(due, bytes_of_beat)| {
            found += bytes_of_beat as usize;
            (found >= bytes).then_some(due)
        })
    }

    /// Removes the first bytes, which have arrived; returns the time at which they were on the bus.
    pub(super) fn drop_first(&self, bytes: usize, now: Time) -> Time {
        self.change_level(now, -(bytes as i64));
        self.data.borrow_mut().drop_first(bytes);
        self.arrived_bytes.set(self.arrived_bytes.get() - bytes);
        let (mut left, mut due, mut beats) = (bytes as u32, now, self.beats.borrow_mut());
        while left > 0
            && let Some(front) = beats.front_mut()
        {
            let taken = front.1.min(left);
            due = front.0;
            front.1 -= taken;
            left -= taken;
            if front.1 == 0 {
                beats.pop_front();
            }
        }
        due
    }

    // What the interface does.

    /// Returns the time of its requester's next read; [`Time::MAX`] if that waits for room in the queue.
    #[inline]
    pub(super) fn next_read(&self) -> Time {
        if let ReadKind::Direct { next_read, .. } = &self.kind { next_read.get() } else { Time::MAX }
    }

    /// Queues the reads of its requester that are due by now, as far as there is room for them; returns the time of the next one.
    /// `None`: there is none.
    pub(super) fn generate_reads(&self, now: Time) -> Option<Time> {
        let ReadKind::Direct { requester: place, next_read, done, .. } = &self.kind else { return None };
        let mut place = place.borrow_mut();
        let RequesterState { requester, left } = place.as_mut()?;
        let mut queue = self.queue.borrow_mut();
        loop {
            if left.due > now {
                next_read.set(left.due);
                return Some(left.due);
            }
            let room = REQUESTS_AHEAD.saturating_sub(self.waiting.get());
            let mut rest = left.run();
            let bursts = self.cut.count(rest).min(room);
            if bursts > 0 {
                queue.push_back(self.cut.split(&mut rest, bursts));
                self.waiting.set(self.waiting.get() + bursts);
                (left.address, left.bytes) = (rest.address, rest.bytes);
            }
            if left.bytes > 0 {
                // Goes on with the next grant.
                next_read.set(Time::MAX);
                return Some(Time::MAX);
            }
            match requester.next(now) {
                Some(next) => {
                    self.begin_request(next.bytes);
                    *left = next;
                }
                None => {
                    *place = None;
                    done.notify_delta();
                    return None;
                }
            }
        }
    }

    /// Returns true if something waits for the arbiter.
    pub(super) fn is_requesting(&self) -> bool {
        self.waiting.get() > 0
    }

    /// Takes what is granted now, a burst or several at once.
    pub(super) fn grant(&self, now: Time) -> Burst {
        self.waiting.set(self.waiting.get() - 1);
        if let ReadKind::Outside { bursts } = &self.kind {
            return bursts.borrow_mut().pop_front().unwrap_or_default();
        }
        let mut queue = self.queue.borrow_mut();
        let run = queue.front_mut().unwrap_or_else(|| unreachable!("a client is granted what it asks for"));
        let burst = self.cut.burst(self.port.id, run);
        if run.bytes == 0 {
            queue.pop_front();
        }
        self.pass_arbiter(now);
        if let ReadKind::Direct { next_read, .. } = &self.kind
            && next_read.get() == Time::MAX
        {
            // What its requester has to make has room now, if there is any.
            next_read.set(Time::ZERO);
        }
        burst
    }

    /// Tells the registers in front of the arbiter that it has taken a burst.
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

    /// Returns true if a beat may wait for it, or is told of.
    #[inline]
    pub(super) fn is_slow(&self) -> bool {
        matches!(&self.kind, ReadKind::Direct { intake, .. } if intake.borrow().delays())
    }

    /// Makes a place for a burst's data, none of which is there yet.
    pub(super) fn reserve(&self, burst: &Burst) -> u64 {
        let mut data = self.data.borrow_mut();
        let position = data.end();
        data.grow(burst.bytes as usize);
        position
    }

    /// Asks the memory for a burst's data, and makes a place for it. What comes back is not in its place yet.
    pub(super) fn read(&self, target: &dyn AxiTarget, burst: &Burst) -> (u64, Option<Answer<Vec<u8>>>) {
        let mut data = self.data.borrow_mut();
        let position = data.end();
        let answer = match target.read_onto(burst, data.store()) {
            Some(Ok(())) => return (position, None),
            Some(Err(refused)) => Answer::Now(Err(refused)),
            None => target.read(burst),
        };
        data.grow(burst.bytes as usize);
        (position, Some(answer))
    }

    /// Stores data at its reserved position.
    pub(super) fn store_data(&self, position: u64, bytes: &[u8]) {
        self.data.borrow_mut().at(position, bytes.len()).copy_from_slice(bytes);
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
        self.beats.borrow_mut().push_back((due, bytes));
        self.change_level(due.max(now), bytes.into());
        self.count_arrived(bytes);
    }

    /// Changes the fill level of the latency FIFO at `time` by `bytes`.
    #[inline]
    fn change_level(&self, time: Time, bytes: i64) {
        if let ReadKind::Fifo { level, .. } = &self.kind {
            level.change(time, bytes);
        }
    }

    #[inline]
    fn count_arrived(&self, bytes: u32) {
        let arrived = self.arrived_bytes.get() + bytes as usize;
        self.arrived_bytes.set(arrived);
        let awaited_bytes = self.awaited_bytes.get();
        if awaited_bytes > 0 && arrived >= awaited_bytes {
            self.awaited_bytes.set(0);
            self.arrived.notify_delta();
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
            waiting,
            realigner,
            data,
            beats,
            arrived_bytes,
            arrived: _,
            awaited_bytes,
            refused,
        } = self;
        at.part(name)?;
        let is_requesting = waiting.get() > 0 || !queue.borrow().is_empty();
        at.at_rest(!is_requesting && awaited_bytes.get() == 0, "a read is asked for")?;
        if let Some(realigner) = realigner {
            realigner.borrow().checkpoint(at)?;
        }
        let is_empty = data.borrow().len() == 0 && beats.borrow().is_empty() && arrived_bytes.get() == 0;
        at.at_rest(is_empty, "nobody has taken what was read")?;
        match kind {
            ReadKind::Fifo { registers, level: _ } => registers.borrow_mut().checkpoint(at)?,
            ReadKind::Direct { requester, next_read, done: _, intake, watch } => {
                at.at_rest(watch.borrow().is_none(), "reads are counted")?;
                at.at_rest(requester.borrow().is_none(), "a read is asked for")?;
                at.cell(next_read)?;
                intake.borrow_mut().checkpoint(at)?;
            }
            ReadKind::Outside { .. } => at.at_rest(false, "a master outside was attached")?,
        }
        at.place(refused)
    }
}
