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

/// Bursts that wait for the arbiter and whose single grants no process would notice.
pub(super) struct Unnoticed {
    /// The first; the others are as long and follow it.
    pub(super) burst: Burst,
    pub(super) count: usize,
    /// With the last, all of what the requester is making waits.
    pub(super) ends: bool,
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
    making: RefCell<Option<RequesterState>>,
    /// The time at which its requester makes the next read; [`Time::MAX`] if there is no room for its data.
    makes: Cell<Time>,
    /// Fires when its requester has nothing more to make.
    pub(super) made: Event,
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
    /// Bytes of these.
    come: Cell<usize>,
    /// For a client with a latency FIFO: the number of bytes in it.
    level: Option<FifoLevel>,
    pub(super) arrived: Event,
    /// Bytes that the engine waits for; 0 if it does not.
    pub(super) wanted: Cell<usize>,
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
    pub(super) made: Event,
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
            making: RefCell::default(),
            makes: Cell::new(Time::MAX),
            made: events.made,
            path: RefCell::default(),
            intake: RefCell::default(),
            expected: RefCell::default(),
            reading: Cell::default(),
            data: RefCell::default(),
            beats: RefCell::default(),
            come: Cell::new(0),
            level,
            arrived: events.arrived,
            wanted: Cell::new(0),
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

    pub(super) fn ask(&self, burst: &Burst) {
        self.queue.borrow_mut().push_back(Run { address: burst.address, bytes: burst.bytes });
        self.waiting.set(self.waiting.get() + 1);
    }

    /// A master outside asks for a burst.
    pub(super) fn ask_outside(&self, burst: Burst) {
        if let Some(outside) = &self.outside {
            outside.borrow_mut().push_back(burst);
            self.waiting.set(self.waiting.get() + 1);
        }
    }

    /// A master outside has gone.
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

    /// Has a requester make reads; tells when the first is due, if there is one.
    pub(super) fn start(&self, requester: Rc<dyn Requester>, now: Time) -> Option<Time> {
        let left = requester.next(now)?;
        let due = left.due;
        *self.making.borrow_mut() = Some(RequesterState { requester, left });
        self.makes.set(due);
        Some(due)
    }

    /// Returns true if its requester has nothing more to make.
    pub(super) fn has_made(&self) -> bool {
        self.making.borrow().is_none()
    }

    /// Returns the time at which so many bytes have come, if that is known.
    pub(super) fn due(&self, bytes: usize) -> Option<Time> {
        if self.come.get() < bytes {
            return None;
        }
        let mut found = 0;
        self.beats.borrow().iter().find_map(|(due, bytes_of_beat)| {
            found += bytes_of_beat as usize;
            (found >= bytes).then_some(due)
        })
    }

    /// Takes the first bytes out now, which have come.
    pub(super) fn drop_first(&self, bytes: usize, now: Time) {
        self.enter(now, -(bytes as i64));
        self.data.borrow_mut().drop_first(bytes);
        self.come.set(self.come.get() - bytes);
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

    /// Returns the time at which its requester makes the next read, as far as it need not wait for room.
    #[inline]
    pub(super) fn makes(&self) -> Time {
        self.makes.get()
    }

    /// Makes the reads that are due by now, as far as there is room for them; returns when the next one is due.
    /// `None`: there is none.
    pub(super) fn make(&self, now: Time) -> Option<Time> {
        let mut place = self.making.borrow_mut();
        let RequesterState { requester, left } = place.as_mut()?;
        let mut queue = self.queue.borrow_mut();
        loop {
            if left.due > now {
                self.makes.set(left.due);
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
                self.makes.set(Time::MAX);
                return Some(Time::MAX);
            }
            match requester.next(now) {
                Some(next) => *left = next,
                None => {
                    *place = None;
                    self.made.notify_delta();
                    return None;
                }
            }
        }
    }

    /// Returns true if something waits for the arbiter.
    pub(super) fn asks(&self) -> bool {
        self.waiting.get() > 0
    }

    /// The part of the present request that is granted now, and whether more waits.
    pub(super) fn grant(&self, now: Time) -> (Burst, bool) {
        if let Some(burst) = self.outside.as_ref().and_then(|outside| outside.borrow_mut().pop_front()) {
            self.waiting.set(self.waiting.get() - 1);
            return (burst, self.asks());
        }
        let mut queue = self.queue.borrow_mut();
        let run = queue.front_mut().unwrap_or_else(|| unreachable!("a client is granted what it asks for"));
        let burst = self.cut.burst(self.id, run);
        if run.bytes == 0 {
            queue.pop_front();
        }
        self.waiting.set(self.waiting.get() - 1);
        self.leave(now);
        (burst, self.asks())
    }

    /// A burst leaves its place in front of the arbiter.
    #[inline]
    pub(super) fn leave(&self, now: Time) {
        self.on_path(|path| path.granted(now));
    }

    /// Tells the path of its requests, if it has a latency FIFO.
    #[inline]
    pub(super) fn on_path(&self, tell: impl FnOnce(&mut RequestPath)) {
        if let Some(path) = &mut *self.path.borrow_mut() {
            tell(path);
        }
    }

    /// Notes that what was granted has left its place.
    pub(super) fn granted(&self) {
        if self.awaits_grant.take() {
            self.granted.notify_delta();
        }
        if self.makes.get() == Time::MAX {
            // What its requester has to make has room now, if there is any.
            self.makes.set(Time::ZERO);
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
        let refilled = match &*self.making.borrow() {
            Some(making) if self.makes.get() == Time::MAX => Some(self.cut.count(making.left.run())),
            _ => None,
        };
        let count = count.min(refilled.unwrap_or(waiting - 1));
        let ends = refilled == Some(count);
        (count > 0).then_some(Unnoticed { burst, count, ends })
    }

    /// Asks the requester what it makes next, the present request having been made at `now`.
    pub(super) fn ahead(&self, now: Time) -> Option<Request> {
        self.making.borrow().as_ref()?.requester.ahead(now)
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
        let mut making = self.making.borrow_mut();
        let Some(RequesterState { left, .. }) = making.as_mut().filter(|_| self.makes.get() == Time::MAX)
        else {
            self.waiting.set(self.waiting.get() - bursts);
            return;
        };
        let mut run = left.run();
        let made = self.cut.split(&mut run, bursts);
        (left.address, left.bytes) = (run.address, run.bytes);
        if let Some(next) = next {
            *left = next;
            // When it can be granted next, there is no room for it.
            if next.due > now + self.period {
                self.makes.set(next.due);
            }
        }
        match queue.back_mut() {
            Some(back) if self.cut.continues(*back, made) => back.bytes += made.bytes,
            _ => queue.push_back(made),
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

    /// The data of a place.
    pub(super) fn place(&self, position: u64, bytes: &[u8]) {
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
            self.enter(due, burst.bytes.into());
        } else {
            for beat in bursts(self.id, burst.address, burst.bytes, self.beat_bytes, 1) {
                due = expected.pop_front().map_or(due, |expected| due.max(expected));
                beats.push_back((due, beat.bytes));
                self.enter(due, beat.bytes.into());
                due += self.period;
            }
        }
        drop((beats, expected));
        self.count_come(burst.bytes);
    }

    /// A beat was taken from the bus now.
    pub(super) fn deliver_beat(&self, bytes: u32, now: Time) {
        self.beats.borrow_mut().push_back((now, bytes));
        self.enter(now, bytes.into());
        self.count_come(bytes);
    }

    /// Notes that so many bytes enter the latency FIFO at that time, or leave it.
    #[inline]
    fn enter(&self, time: Time, bytes: i64) {
        if let Some(level) = &self.level {
            level.change(time, bytes);
        }
    }

    /// Returns true if a process waits for a burst, and wakes with its data.
    #[inline]
    pub(super) fn wakes(&self, burst: &Burst) -> bool {
        let wanted = self.wanted.get();
        wanted > 0 && self.come.get() + burst.bytes as usize >= wanted
    }

    #[inline]
    fn count_come(&self, bytes: u32) {
        let come = self.come.get() + bytes as usize;
        self.come.set(come);
        let wanted = self.wanted.get();
        if wanted > 0 && come >= wanted {
            self.wanted.set(0);
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
            making,
            makes,
            made: _,
            path,
            intake,
            expected,
            reading,
            data,
            beats,
            come,
            level: _,
            arrived: _,
            wanted,
            granted: _,
            awaits_grant,
            refused,
            outside,
        } = self;
        at.part(name)?;
        let asks = waiting.get() > 0 || !queue.borrow().is_empty() || making.borrow().is_some();
        at.at_rest(!asks && !awaits_grant.get() && wanted.get() == 0, "a read is asked for")?;
        at.at_rest(expected.borrow().is_empty() && reading.get().0.bytes == 0, "a read is in flight")?;
        let is_empty = data.borrow().len() == 0 && beats.borrow().is_empty() && come.get() == 0;
        at.at_rest(is_empty, "nobody has taken what was read")?;
        at.at_rest(outside.is_none(), "a master outside was attached")?;
        at.cell(makes)?;
        if let Some(path) = &mut *path.borrow_mut() {
            path.checkpoint(at)?;
        }
        if let Some(intake) = &mut *intake.borrow_mut() {
            intake.checkpoint(at)?;
        }
        at.place(refused)
    }
}
