//! What an engine's DMA sees of the memory: bytes in the order in which it asked for them.

use super::intake::{Intake, Place, Taker};
use super::interconnect::ClientId;
use super::{Burst, Interconnect, bursts};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// The size of a read client's latency-hiding FIFO, and how its room is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadStreamConfig {
    /// Bytes asked for and not yet taken, at most.
    pub capacity: u32,
    /// From the taking of data to the first request that may use its room.
    pub credit_return: Time,
}

/// One DMA read client: a FIFO that is filled from memory and emptied by the engine.
///
/// One process asks ([`ReadStream::request`]), another takes ([`ReadStream::take`]); the FIFO between hides
/// the memory's latency as far as it reaches.
pub struct ReadStream {
    sim: Sim,
    interconnect: Rc<Interconnect>,
    client: ClientId,
    id: u32,
    config: Cell<ReadStreamConfig>,
    /// Bytes asked for whose room has not come back.
    used: Cell<u32>,
    /// Bytes asked for and not yet taken.
    pending: Cell<u64>,
    emptied: Event,
    returning: RefCell<VecDeque<(Time, u32)>>,
    returned: Event,
    data: RefCell<VecDeque<u8>>,
    /// Beats in the FIFO: when each was on the bus, and the bytes of it not yet taken.
    beats: RefCell<VecDeque<(Time, u32)>>,
    arrived: Event,
    /// Bytes that the engine waits for; 0 if it does not.
    wanted: Cell<usize>,
    /// How long requests have waited for room.
    stalled: Cell<Time>,
    /// For a client whose data may have to wait on the bus: the places behind it…
    intake: RefCell<Option<Intake>>,
    /// …when the beats asked for will be on the bus…
    expected: RefCell<VecDeque<Time>>,
    /// …and the arbiter's taking a request.
    granted: Event,
}

/// Beats that a client without a latency FIFO has waiting for the arbiter, at most: the requests in its pipeline.
const REQUESTS_AHEAD: u32 = 64;

impl ReadStream {
    /// A client of `interconnect` whose transactions carry `id`.
    pub fn new(
        interconnect: &Rc<Interconnect>,
        name: &str,
        id: u32,
        config: ReadStreamConfig,
    ) -> Rc<ReadStream> {
        let sim = interconnect.sim();
        let stream = Rc::new(ReadStream {
            sim: sim.clone(),
            interconnect: interconnect.clone(),
            client: interconnect.add_reader(id),
            id,
            config: Cell::new(config),
            used: Cell::new(0),
            pending: Cell::new(0),
            emptied: sim.event(format!("{name}.emptied")),
            returning: RefCell::default(),
            returned: sim.event(format!("{name}.room")),
            data: RefCell::default(),
            beats: RefCell::default(),
            arrived: sim.event(format!("{name}.data")),
            wanted: Cell::new(0),
            stalled: Cell::new(Time::ZERO),
            intake: RefCell::default(),
            expected: RefCell::default(),
            granted: sim.event(format!("{name}.granted")),
        });
        interconnect.connect_reader(stream.client, &stream);
        stream
    }

    /// A client without a latency FIFO: it asks for all it needs, and its data waits on the bus when `places` are
    /// full.
    pub fn unbuffered(
        interconnect: &Rc<Interconnect>,
        name: &str,
        id: u32,
        places: &[Place],
    ) -> Rc<ReadStream> {
        let unlimited = ReadStreamConfig { capacity: u32::MAX, credit_return: Time::ZERO };
        let stream = ReadStream::new(interconnect, name, id, unlimited);
        *stream.intake.borrow_mut() = Some(Intake::new(interconnect.config().period, places));
        stream
    }

    /// Says who takes the beats asked for from now on; at once, if nobody.
    pub fn set_taker(&self, taker: Option<Rc<dyn Taker>>) {
        if let Some(intake) = self.intake.borrow_mut().as_mut() {
            intake.set_taker(taker);
        }
    }

    /// Asks for `bytes` from `address` on; waits as long as the FIFO has no room for what comes next.
    pub async fn request(&self, address: u64, bytes: u32) {
        let axi = self.interconnect.config();
        for burst in bursts(self.id, address, bytes, axi.beat_bytes, axi.burst_beats) {
            let asked = self.sim.now();
            if self.intake.borrow().is_some() {
                while self.interconnect.waiting_reads(self.client) >= REQUESTS_AHEAD as usize {
                    self.granted.wait().await;
                }
            } else {
                self.room(burst.bytes).await;
                self.used.set(self.used.get() + burst.bytes);
            }
            self.stalled.set(self.stalled.get() + self.sim.now().since(asked));
            self.pending.set(self.pending.get() + u64::from(burst.bytes));
            self.interconnect.request_read(self.client, burst);
        }
    }

    async fn room(&self, bytes: u32) {
        // A burst larger than the whole FIFO may still pass alone.
        let capacity = self.config.get().capacity.max(bytes);
        loop {
            let next = {
                let mut returning = self.returning.borrow_mut();
                while let Some(&(due, freed)) = returning.front()
                    && due <= self.sim.now()
                {
                    returning.pop_front();
                    self.used.set(self.used.get() - freed);
                }
                returning.front().map(|&(due, _)| due)
            };
            if self.used.get() + bytes <= capacity {
                return;
            }
            match next {
                Some(due) => self.sim.wait_until(due).await,
                None => self.returned.wait().await,
            }
        }
    }

    /// How long requests have waited for room since this was last asked.
    pub fn take_stalled(&self) -> Time {
        self.stalled.take()
    }

    /// Takes the next bytes, all of `into`; waits until they have been on the bus.
    pub async fn take(&self, into: &mut [u8]) {
        let due = loop {
            if let Some(due) = self.due(into.len()) {
                break due;
            }
            self.wanted.set(into.len());
            self.arrived.wait().await;
        };
        self.wanted.set(0);
        self.sim.wait_until(due).await;
        let mut data = self.data.borrow_mut();
        let (front, back) = data.as_slices();
        let (first, second) = into.split_at_mut(into.len().min(front.len()));
        first.copy_from_slice(&front[..first.len()]);
        second.copy_from_slice(&back[..second.len()]);
        data.drain(..into.len());
        let (mut left, mut beats) = (into.len() as u32, self.beats.borrow_mut());
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
        drop((data, beats));
        self.give_back(into.len() as u32);
    }

    /// When so many bytes are there, if they are on the bus or have been.
    fn due(&self, bytes: usize) -> Option<Time> {
        let mut found = 0;
        if bytes == 0 {
            return Some(self.sim.now());
        }
        self.beats.borrow().iter().find_map(|&(due, bytes_of_beat)| {
            found += bytes_of_beat as usize;
            (found >= bytes).then_some(due)
        })
    }

    /// Waits until all that was asked for is taken.
    pub async fn emptied(&self) {
        while self.pending.get() > 0 {
            self.emptied.wait().await;
        }
    }

    fn give_back(&self, bytes: u32) {
        self.pending.set(self.pending.get() - u64::from(bytes));
        if self.pending.get() == 0 {
            self.emptied.notify_delta();
        }
        if self.intake.borrow().is_some() {
            return;
        }
        let due = self.sim.now() + self.config.get().credit_return;
        let mut returning = self.returning.borrow_mut();
        returning.push_back((due, bytes));
        if returning.len() == 1 {
            self.returned.notify_delta();
        }
    }

    /// The arbiter has taken a request.
    pub(super) fn granted(&self) {
        if self.intake.borrow().is_some() {
            self.granted.notify_delta();
        }
    }

    /// A burst's beats can be on the bus from `offered` on: when the first and the last will be, if that depends on
    /// the client.
    pub(super) fn expect(&self, offered: Time, beats: u32) -> Option<(Time, Time)> {
        let mut intake = self.intake.borrow_mut();
        let intake = intake.as_mut()?;
        let period = self.interconnect.config().period;
        let mut expected = self.expected.borrow_mut();
        let first = intake.pass(offered);
        expected.push_back(first);
        let mut last = first;
        for _ in 1..beats {
            last = intake.pass(last + period);
            expected.push_back(last);
        }
        Some((first, last))
    }

    /// The interconnect has data: its first beat is on the bus now, the others follow, a cycle each if they need
    /// not wait.
    pub(super) fn deliver(&self, burst: &Burst, bytes: &[u8]) {
        let axi = self.interconnect.config();
        self.data.borrow_mut().extend(bytes);
        let mut beats = self.beats.borrow_mut();
        let mut due = self.sim.now();
        let mut expected = self.expected.borrow_mut();
        for beat in bursts(self.id, burst.address, burst.bytes, axi.beat_bytes, 1) {
            due = expected.pop_front().map_or(due, |expected| due.max(expected));
            beats.push_back((due, beat.bytes));
            due += axi.period;
        }
        if self.wanted.get() > 0 && self.data.borrow().len() >= self.wanted.get() {
            self.arrived.notify_delta();
        }
    }
}

/// One DMA write client: lines are announced, filled atom by atom, cut into bursts, and acknowledged.
pub struct WriteStream {
    interconnect: Rc<Interconnect>,
    client: ClientId,
    id: u32,
    /// Bursts announced and not yet complete, in order.
    planned: RefCell<VecDeque<Burst>>,
    filling: RefCell<Vec<u8>>,
    /// When each burst that waits for the arbiter was complete.
    waiting: RefCell<VecDeque<Time>>,
    limit: u32,
    last_granted: Cell<Time>,
    /// How long complete bursts have waited.
    stalled: Cell<Time>,
    granted: Event,
    unacknowledged: Cell<u64>,
    acknowledged: Event,
}

impl WriteStream {
    /// A client of `interconnect` whose transactions carry `id`; up to `buffer` bursts wait for the arbiter.
    pub fn new(interconnect: &Rc<Interconnect>, name: &str, id: u32, buffer: u32) -> Rc<WriteStream> {
        let sim = interconnect.sim();
        let stream = Rc::new(WriteStream {
            interconnect: interconnect.clone(),
            client: interconnect.add_writer(id),
            id,
            planned: RefCell::default(),
            filling: RefCell::default(),
            waiting: RefCell::default(),
            limit: buffer.max(1),
            last_granted: Cell::new(Time::ZERO),
            stalled: Cell::new(Time::ZERO),
            granted: sim.event(format!("{name}.room")),
            unacknowledged: Cell::new(0),
            acknowledged: sim.event(format!("{name}.acknowledged")),
        });
        interconnect.connect_writer(stream.client, &stream);
        stream
    }

    /// Announces that the next `bytes` put go to `address` on.
    pub fn line(&self, address: u64, bytes: u32) {
        let axi = self.interconnect.config();
        self.planned.borrow_mut().extend(bursts(self.id, address, bytes, axi.beat_bytes, axi.burst_beats));
    }

    /// Puts the next bytes into the bursts announced; `completed` is given each burst that they fill, its data, and
    /// how many of them are left behind it. False if no burst was announced for them, and they are dropped.
    pub fn fill(&self, mut bytes: &[u8], mut completed: impl FnMut(Burst, Vec<u8>, usize)) -> bool {
        while !bytes.is_empty() {
            let Some(burst) = self.planned.borrow().front().copied() else { return false };
            let mut filling = self.filling.borrow_mut();
            if filling.is_empty() {
                filling.reserve_exact(burst.bytes as usize);
            }
            let (now, later) = bytes.split_at(bytes.len().min(burst.bytes as usize - filling.len()));
            filling.extend_from_slice(now);
            bytes = later;
            if filling.len() == burst.bytes as usize {
                self.planned.borrow_mut().pop_front();
                completed(burst, std::mem::take(&mut *filling), bytes.len());
            }
        }
        true
    }

    /// Sends a complete burst; waits while too many wait for the arbiter.
    pub async fn send(&self, burst: Burst, data: Vec<u8>) {
        while self.waiting.borrow().len() >= self.limit as usize {
            self.granted.wait().await;
        }
        self.waiting.borrow_mut().push_back(self.interconnect.sim().now());
        self.unacknowledged.set(self.unacknowledged.get() + 1);
        self.interconnect.request_write(self.client, burst, data);
    }

    /// Puts the next bytes and sends the bursts that they complete.
    pub async fn put(&self, bytes: &[u8]) {
        let mut complete = Vec::new();
        self.fill(bytes, |burst, data, _| complete.push((burst, data)));
        for (burst, data) in complete {
            self.send(burst, data).await;
        }
    }

    /// Drops what was announced and not put.
    pub fn abandon(&self) {
        self.planned.borrow_mut().clear();
        self.filling.borrow_mut().clear();
    }

    /// Waits until the memory has acknowledged everything put so far.
    pub async fn drained(&self) {
        while self.unacknowledged.get() > 0 {
            self.acknowledged.wait().await;
        }
    }

    /// How long complete bursts have waited for the arbiter since this was last asked; several that wait at the
    /// same time count once.
    pub fn take_stalled(&self) -> Time {
        self.stalled.take()
    }

    pub(super) fn granted(&self) {
        let now = self.interconnect.sim().now();
        let complete = self.waiting.borrow_mut().pop_front().unwrap_or(now);
        let since = complete.max(self.last_granted.replace(now));
        self.stalled.set(self.stalled.get() + now.since(since));
        self.granted.notify_delta();
    }

    pub(super) fn acknowledged(&self) {
        self.unacknowledged.set(self.unacknowledged.get() - 1);
        if self.unacknowledged.get() == 0 {
            self.acknowledged.notify_delta();
        }
    }
}
