//! A read client as its memory interface sees it: its requests, and where its data goes.

use super::burst::{Cut, Run, bursts};
use super::bytes::Bytes;
use super::intake::{BeatConsumer, Intake};
use super::request_path::RequestPath;
use super::ring::Ring;
use super::{Answer, AxiTarget, Burst, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::fifos::FifoLevel;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Name, Time};

/// Beats that a client without a latency FIFO has waiting for the arbiter, at most: the requests in its pipeline.
pub(super) const REQUESTS_AHEAD: usize = 64;

/// Bytes that are read from memory at once, at most.
const MOST_READ: u32 = 1 << 16;

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

/// Waiting bursts whose single grants no process would notice.
pub(super) struct Unnoticed {
    /// The first one; the others have the same length and follow it.
    pub(super) burst: Burst,
    pub(super) count: usize,
    /// True if the last of them is the last burst of the requester's present request.
    pub(super) ends_request: bool,
}

/// Generates the reads of a client, one after the other.
pub trait Requester {
    /// The next read, when the previous one was made at `now`. `None`: it is not known yet, or there are no
    /// more.
    fn next(&self, now: Time) -> Option<Request>;

    /// Returns the next read as [`Requester::next`] does, if there is one and it wakes no process; then it
    /// may be called before simulated time has reached `now`. `None` means that nothing has happened and that
    /// [`Requester::next`] is to be called at that time.
    fn ahead(&self, now: Time) -> Option<Request> {
        let _ = now;
        None
    }
}

/// The reads of a requester: the present one, as far as it is not asked for.
struct RequesterState {
    requester: Rc<dyn Requester>,
    left: Request,
}

/// State that a client and its interface share.
pub(super) struct ReadClient {
    pub(super) name: Name,
    pub(super) id: u32,
    pub(super) weight: Cell<u32>,
    beat_bytes: u32,
    cut: Cut,
    period: Time,
    /// Runs of bytes that wait for the arbiter.
    queue: RefCell<Ring<Run>>,
    /// Number of bursts of these runs.
    waiting: Cell<usize>,
    requester: RefCell<Option<RequesterState>>,
    /// Time of its requester's next read; [`Time::MAX`] if that has no room in the queue.
    next_read: Cell<Time>,
    /// Event at which its requester has no more reads.
    pub(super) requester_done: Event,
    /// For a client with a latency FIFO: how long its requests wait.
    pub(super) path: RefCell<Option<RequestPath>>,
    /// Places behind the bus, for a client whose data may have to wait on it.
    pub(super) intake: RefCell<Option<Intake>>,
    /// Times at which the requested beats will be on the bus.
    expected: RefCell<Ring<Time>>,
    /// The next request to the memory, and how many bytes the memory has there.
    reading: Cell<(Run, u64)>,
    /// Bytes that were asked for, from the first that is not taken; what has not come yet holds its place.
    pub(super) data: RefCell<Bytes>,
    /// Beats of which it is known when each is on the bus, and the bytes of it that are not taken.
    pub(super) beats: RefCell<Ring<(Time, u32)>>,
    /// Number of bytes of these beats.
    arrived_bytes: Cell<usize>,
    /// For a client with a latency FIFO: the number of bytes in it.
    level: Option<FifoLevel>,
    pub(super) arrived: Event,
    /// Number of bytes that the engine waits for; 0 if it does not wait.
    pub(super) awaited_bytes: Cell<usize>,
    /// Event at which the arbiter has taken a request.
    pub(super) granted: Event,
    /// True if a process waits for `granted`.
    pub(super) awaits_grant: Cell<bool>,
    /// The first burst that was answered with an error, among those since the last call that asks for it.
    pub(super) refused: RefCell<Option<Unmapped>>,
    /// For a master outside: its bursts that wait for the arbiter.
    outside: Option<RefCell<VecDeque<Burst>>>,
}

/// The events of a client.
pub(super) struct Events {
    pub(super) requester_done: Event,
    pub(super) arrived: Event,
    pub(super) granted: Event,
}

impl ReadClient {
    pub(super) fn new(
        name: &str,
        id: u32,
        config: &super::AxiConfig,
        events: Events,
        level: Option<FifoLevel>,
    ) -> ReadClient {
        ReadClient {
            name: name.into(),
            id,
            weight: Cell::new(1),
            beat_bytes: config.beat_bytes,
            cut: Cut::new(config.beat_bytes, config.burst_beats, config.on_the_bus(u64::MAX)),
            period: config.period,
            queue: RefCell::default(),
            waiting: Cell::new(0),
            requester: RefCell::default(),
            next_read: Cell::new(Time::MAX),
            requester_done: events.requester_done,
            path: RefCell::default(),
            intake: RefCell::default(),
            expected: RefCell::default(),
            reading: Cell::default(),
            data: RefCell::default(),
            beats: RefCell::default(),
            arrived_bytes: Cell::new(0),
            level,
            arrived: events.arrived,
            awaited_bytes: Cell::new(0),
            granted: events.granted,
            awaits_grant: Cell::new(false),
            refused: RefCell::default(),
            outside: None,
        }
    }

    /// A master outside, which makes its bursts itself and takes its data at its pins.
    pub(super) fn outside(name: &str, config: &super::AxiConfig, events: Events) -> ReadClient {
        ReadClient { outside: Some(RefCell::default()), ..ReadClient::new(name, 0, config, events, None) }
    }

    /// Returns true if the client is a master outside.
    #[inline]
    pub(super) fn is_outside(&self) -> bool {
        self.outside.is_some()
    }

    /// The bursts of a read.
    pub(super) fn bursts(&self, address: u64, bytes: u32) -> impl Iterator<Item = Burst> + use<> {
        let (id, cut, mut run) = (self.id, self.cut, Run { address, bytes });
        std::iter::from_fn(move || (run.bytes > 0).then(|| cut.burst(id, &mut run)))
    }

    pub(super) fn set_taker(&self, taker: Option<Rc<dyn BeatConsumer>>) {
        if let Some(intake) = self.intake.borrow_mut().as_mut() {
            intake.set_taker(taker);
        }
    }

    // What the engine's side does.

    pub(super) fn request(&self, burst: &Burst) {
        self.queue.borrow_mut().push_back(Run { address: burst.address, bytes: burst.bytes });
        self.waiting.set(self.waiting.get() + 1);
    }

    /// Adds a burst that a master outside requests.
    pub(super) fn request_outside(&self, burst: Burst) {
        if let Some(outside) = &self.outside {
            outside.borrow_mut().push_back(burst);
            self.waiting.set(self.waiting.get() + 1);
        }
    }

    /// Drops the requests of a master outside that has gone.
    pub(super) fn forget_outside(&self) {
        if let Some(outside) = &self.outside {
            outside.borrow_mut().clear();
            self.waiting.set(0);
        }
    }

    /// Returns the number of bursts that wait for the arbiter.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.get()
    }

    /// Starts a requester; returns the time of its first read, if there is one.
    pub(super) fn start(&self, requester: Rc<dyn Requester>, now: Time) -> Option<Time> {
        let left = requester.next(now)?;
        let due = left.due;
        *self.requester.borrow_mut() = Some(RequesterState { requester, left });
        self.next_read.set(due);
        Some(due)
    }

    /// Returns true if its requester has no more reads.
    pub(super) fn has_no_more_reads(&self) -> bool {
        self.requester.borrow().is_none()
    }

    /// Returns the arrival time of the next `bytes` bytes, if it is known.
    pub(super) fn due(&self, bytes: usize) -> Option<Time> {
        if self.arrived_bytes.get() < bytes {
            return None;
        }
        let mut found = 0;
        self.beats.borrow().iter().find_map(|(due, bytes_of_beat)| {
            found += bytes_of_beat as usize;
            (found >= bytes).then_some(due)
        })
    }

    /// Removes the first bytes, which have arrived.
    pub(super) fn drop_first(&self, bytes: usize, now: Time) {
        self.change_level(now, -(bytes as i64));
        self.data.borrow_mut().drop_first(bytes);
        self.arrived_bytes.set(self.arrived_bytes.get() - bytes);
        let (mut left, mut beats) = (bytes as u32, self.beats.borrow_mut());
        while left > 0
            && let Some(front) = beats.front_mut()
        {
            let taken = front.1.min(left);
            front.1 -= taken;
            left -= taken;
            if front.1 == 0 {
                beats.pop_front();
            }
        }
    }

    // What the interface does.

    /// Returns the time of its requester's next read; [`Time::MAX`] if that waits for room in the queue.
    #[inline]
    pub(super) fn next_read(&self) -> Time {
        self.next_read.get()
    }

    /// Queues the reads of its requester that are due by now, as far as there is room for them; returns the time of the next one.
    /// `None`: there is none.
    pub(super) fn generate_reads(&self, now: Time) -> Option<Time> {
        let mut place = self.requester.borrow_mut();
        let RequesterState { requester, left } = place.as_mut()?;
        let mut queue = self.queue.borrow_mut();
        loop {
            if left.due > now {
                self.next_read.set(left.due);
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
                self.next_read.set(Time::MAX);
                return Some(Time::MAX);
            }
            match requester.next(now) {
                Some(next) => *left = next,
                None => {
                    *place = None;
                    self.requester_done.notify_delta();
                    return None;
                }
            }
        }
    }

    /// Returns true if something waits for the arbiter.
    pub(super) fn is_requesting(&self) -> bool {
        self.waiting.get() > 0
    }

    /// Takes the burst that is granted now; returns it, and true if more bursts wait.
    pub(super) fn grant(&self, now: Time) -> (Burst, bool) {
        if let Some(burst) = self.outside.as_ref().and_then(|outside| outside.borrow_mut().pop_front()) {
            self.waiting.set(self.waiting.get() - 1);
            return (burst, self.is_requesting());
        }
        let mut queue = self.queue.borrow_mut();
        let run = queue.front_mut().unwrap_or_else(|| unreachable!("a client is granted what it asks for"));
        let burst = self.cut.burst(self.id, run);
        if run.bytes == 0 {
            queue.pop_front();
        }
        self.waiting.set(self.waiting.get() - 1);
        self.pass_arbiter(now);
        (burst, self.is_requesting())
    }

    /// Tells the request-path model that the arbiter has taken a burst.
    #[inline]
    pub(super) fn pass_arbiter(&self, now: Time) {
        self.on_path(|path| path.granted(now));
    }

    /// Passes an event to the request-path model, if the client has a latency FIFO.
    #[inline]
    pub(super) fn on_path(&self, update: impl FnOnce(&mut RequestPath)) {
        if let Some(path) = &mut *self.path.borrow_mut() {
            update(path);
        }
    }

    /// Wakes the process, and lets the requester go on, that waited for the place of a granted burst.
    pub(super) fn granted(&self) {
        if self.awaits_grant.take() {
            self.granted.notify_delta();
        }
        if self.next_read.get() == Time::MAX {
            // What its requester has to make has room now, if there is any.
            self.next_read.set(Time::ZERO);
        }
    }

    /// Leaves a burst's data to be read by [`ReadClient::read_now`], if the memory has it there and nothing
    /// writes it before.
    #[inline]
    pub(super) fn read_later(&self, target: &dyn AxiTarget, burst: &Burst) -> bool {
        let (mut run, mut held) = self.reading.get();
        let continues = run.address.wrapping_add(run.bytes.into()) == burst.address;
        if !continues || u64::from(run.bytes + burst.bytes) > held {
            self.read_now(target);
            held = target.held(burst.address).min(MOST_READ.max(burst.bytes).into());
            if held < burst.bytes.into() {
                return false;
            }
            run = Run { address: burst.address, bytes: 0 };
        }
        self.reading.set((Run { bytes: run.bytes + burst.bytes, ..run }, held));
        true
    }

    /// Reads the data that was left for later.
    pub(super) fn read_now(&self, target: &dyn AxiTarget) {
        let (Run { address, bytes }, _) = self.reading.take();
        if bytes > 0 {
            target.read_held(address, bytes, self.data.borrow_mut().store());
        }
    }

    /// The waiting bursts that can be granted without any process noticing single grants: at most so many, of
    /// equal length.
    #[inline]
    pub(super) fn unnoticed(&self, most: usize) -> Option<Unnoticed> {
        let (front, waiting) = (self.queue.borrow().front()?, self.waiting.get());
        let mut rest = front;
        let burst = self.cut.burst(self.id, &mut rest);
        // More waits after it.
        if self.awaits_grant.get() || waiting < 2 {
            return None;
        }
        let count = most.min(self.cut.equal(front));
        // There was no room for what its requester has to make, and now there is for one burst after the other.
        let refilled = match &*self.requester.borrow() {
            Some(state) if self.next_read.get() == Time::MAX => Some(self.cut.count(state.left.run())),
            _ => None,
        };
        let count = count.min(refilled.unwrap_or(waiting - 1));
        let ends_request = refilled == Some(count);
        (count > 0).then_some(Unnoticed { burst, count, ends_request })
    }

    /// Asks the requester what it makes next, the present request having been made at `now`.
    pub(super) fn ahead(&self, now: Time) -> Option<Request> {
        self.requester.borrow().as_ref()?.requester.ahead(now)
    }

    /// Takes so many of the waiting bursts, the last at `now`. The reads that its requester makes in their
    /// places wait then, too. `next` is the request after that, if that was all of the present request.
    #[inline]
    pub(super) fn take(&self, bursts: usize, next: Option<Request>, now: Time) {
        let mut queue = self.queue.borrow_mut();
        if let Some(front) = queue.front_mut() {
            self.cut.split(front, bursts);
            if front.bytes == 0 {
                queue.pop_front();
            }
        }
        let mut state = self.requester.borrow_mut();
        let Some(RequesterState { left, .. }) = state.as_mut().filter(|_| self.next_read.get() == Time::MAX)
        else {
            self.waiting.set(self.waiting.get() - bursts);
            return;
        };
        let mut run = left.run();
        let generated = self.cut.split(&mut run, bursts);
        (left.address, left.bytes) = (run.address, run.bytes);
        if let Some(next) = next {
            *left = next;
            // When it can be granted next, there is no room for it.
            if next.due > now + self.period {
                self.next_read.set(next.due);
            }
        }
        match queue.back_mut() {
            Some(back) if self.cut.continues(*back, generated) => back.bytes += generated.bytes,
            _ => queue.push_back(generated),
        }
    }

    /// A burst's beats can be on the bus from `offered` on: when the first and the last will be, if that depends on
    /// the client.
    pub(super) fn expect(&self, offered: Time, beats: u32) -> Option<(Time, Time, Time)> {
        let mut intake = self.intake.borrow_mut();
        let intake = intake.as_mut().filter(|intake| intake.delays())?;
        let mut expected = self.expected.borrow_mut();
        let first = intake.pass(offered);
        expected.push_back(first);
        let mut last = first;
        for _ in 1..beats {
            last = intake.pass(last + self.period);
            expected.push_back(last);
        }
        Some((first, last, intake.ready(last + self.period)))
    }

    /// A beat is taken from the bus now: when the next one is, if that depends on the client.
    pub(super) fn expect_beat(&self, now: Time) -> Option<Time> {
        let mut intake = self.intake.borrow_mut();
        let intake = intake.as_mut().filter(|intake| intake.delays())?;
        intake.pass(now);
        Some(intake.ready(now + self.period))
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

    /// A burst's first beat is on the bus at `first`, the others follow, a cycle each if they need not wait.
    #[inline]
    pub(super) fn deliver(&self, burst: &Burst, first: Time) {
        let mut beats = self.beats.borrow_mut();
        let mut expected = self.expected.borrow_mut();
        let mut due = first;
        if burst.beats == 1 {
            due = expected.pop_front().map_or(due, |expected| due.max(expected));
            beats.push_back((due, burst.bytes));
            self.change_level(due, burst.bytes.into());
        } else {
            for beat in bursts(self.id, burst.address, burst.bytes, self.beat_bytes, 1) {
                due = expected.pop_front().map_or(due, |expected| due.max(expected));
                beats.push_back((due, beat.bytes));
                self.change_level(due, beat.bytes.into());
                due += self.period;
            }
        }
        drop((beats, expected));
        self.count_arrived(burst.bytes);
    }

    /// A beat was taken from the bus now.
    pub(super) fn deliver_beat(&self, bytes: u32, now: Time) {
        self.beats.borrow_mut().push_back((now, bytes));
        self.change_level(now, bytes.into());
        self.count_arrived(bytes);
    }

    /// Changes the fill level of the latency FIFO at `time` by `bytes`.
    #[inline]
    fn change_level(&self, time: Time, bytes: i64) {
        if let Some(level) = &self.level {
            level.change(time, bytes);
        }
    }

    /// Returns true if the data of a burst wakes a process.
    #[inline]
    pub(super) fn is_awaited(&self, burst: &Burst) -> bool {
        let awaited_bytes = self.awaited_bytes.get();
        awaited_bytes > 0 && self.arrived_bytes.get() + burst.bytes as usize >= awaited_bytes
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
            id: _,
            weight: _,
            beat_bytes: _,
            cut: _,
            period: _,
            queue,
            waiting,
            requester,
            next_read,
            requester_done: _,
            path,
            intake,
            expected,
            reading,
            data,
            beats,
            arrived_bytes,
            level: _,
            arrived: _,
            awaited_bytes,
            granted: _,
            awaits_grant,
            refused,
            outside,
        } = self;
        at.part(name)?;
        let is_requesting = waiting.get() > 0 || !queue.borrow().is_empty() || requester.borrow().is_some();
        at.at_rest(!is_requesting && !awaits_grant.get() && awaited_bytes.get() == 0, "a read is asked for")?;
        at.at_rest(expected.borrow().is_empty() && reading.get().0.bytes == 0, "a read is in flight")?;
        let is_empty = data.borrow().len() == 0 && beats.borrow().is_empty() && arrived_bytes.get() == 0;
        at.at_rest(is_empty, "nobody has taken what was read")?;
        at.at_rest(outside.is_none(), "a master outside was attached")?;
        at.cell(next_read)?;
        if let Some(path) = &mut *path.borrow_mut() {
            path.checkpoint(at)?;
        }
        if let Some(intake) = &mut *intake.borrow_mut() {
            intake.checkpoint(at)?;
        }
        at.place(refused)
    }
}
