//! Reads: arbitration among the clients, the channels AR and R, and when data comes back.

mod channel;
mod pins;
mod run;

pub(super) use pins::Partners;

use crate::bus::axi::latency::LatencySource;
use crate::bus::axi::observed::Observed;
use crate::bus::axi::outstanding::{Beats, Outstanding};
use crate::bus::axi::read_client::ReadClient;
use crate::bus::axi::read_pipeline::{Chosen, ReadPipeline};
use crate::bus::axi::turn::{Clients, WeightedRoundRobin};
use crate::bus::axi::{Answer, AxiChannel, AxiConfig, AxiTarget, Burst, Completion, TimedPort, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::faults::BurstFaults;
use channel::{Channel, InFlight, Stall, TimedRead};
use pins::Queued;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use vp_core::Time;
use vp_core::observe::Stage;

/// Time, as an interface moves it on.
pub(super) trait Advance {
    /// The present.
    fn now(&self) -> Time;

    /// Moves time on, if no other process does anything until then.
    fn advance(&self, to: Time) -> bool;

    /// A time up to which it could be moved on.
    fn quiet_until(&self) -> Time;
}

/// Next action of a side of an interface.
pub(super) enum NextAction {
    /// Time of the next work; [`Time::MAX`]: none, until there is a request.
    At(Time),
    /// The side waits for a memory's answer, whose modelled time has come.
    Answer(PendingAnswer),
}

/// An answer whose modelled time has come.
pub(super) enum PendingAnswer {
    Read(Rc<Completion<Vec<u8>>>),
    Write(Rc<Completion<()>>),
}

/// The reads of one interface. Addresses are granted one a cycle, data returns in order over all clients, a beat a
/// cycle.
pub(super) struct Reads {
    pub(super) config: AxiConfig,
    pub(super) target: Rc<dyn AxiTarget>,
    timed: Option<Rc<dyn TimedPort>>,
    clients: RefCell<Vec<Rc<ReadClient>>>,
    /// Clients with reads that wait for the arbiter.
    pub(super) requesting: Cell<Clients>,
    /// Clients that request and whose weight is zero: the arbiter skips them (RTL, `NV_NVDLA_*_IG_arb`, `wt*`).
    requesting_without_weight: Cell<Clients>,
    /// Clients whose requester has reads to come.
    generating: Cell<Clients>,
    channel: RefCell<Channel>,
    /// Partners with a clock at the interface.
    pub(super) partners: RefCell<Partners>,
    /// True if there are partners.
    pub(super) has_partners: Cell<bool>,
    /// Faults of bursts here.
    faults: RefCell<Option<Rc<BurstFaults>>>,
    /// True if there are faults.
    has_faults: Cell<bool>,
}

impl Reads {
    pub(super) fn new(
        config: &AxiConfig,
        (target, timed): (Rc<dyn AxiTarget>, Option<Rc<dyn TimedPort>>),
        memory_free: Rc<Cell<Time>>,
    ) -> Reads {
        let channel = Channel {
            turn: WeightedRoundRobin::default(),
            pipeline: ReadPipeline::new(config.period, config.read_pipeline),
            // `arready` is registered.
            outstanding: Outstanding::new(config.period, config.read_outstanding),
            beats: Beats::new(config.period, config.burst_beats),
            latency: LatencySource::new(config.read_latency, config.seed),
            bus_free: Time::ZERO,
            memory_free,
            in_flight: VecDeque::new(),
            bus_queue: VecDeque::new(),
            driving: None,
            requested: BTreeMap::new(),
            ids: BTreeMap::new(),
            tags: 0,
            granting: Vec::new(),
            answers: VecDeque::new(),
            stall: Stall::default(),
        };
        Reads {
            config: config.clone(),
            target,
            timed,
            clients: RefCell::default(),
            requesting: Cell::new(0),
            requesting_without_weight: Cell::new(0),
            generating: Cell::new(0),
            channel: RefCell::new(channel),
            partners: RefCell::default(),
            has_partners: Cell::new(false),
            faults: RefCell::default(),
            has_faults: Cell::new(false),
        }
    }

    /// Has faults strike from now on.
    pub(super) fn set_faults(&self, faults: Rc<BurstFaults>) {
        *self.faults.borrow_mut() = Some(faults);
        self.has_faults.set(true);
    }

    /// Adds a client; gives its number.
    pub(super) fn add(&self, client: Rc<ReadClient>) -> usize {
        let mut clients = self.clients.borrow_mut();
        assert!(clients.len() < Clients::BITS as usize, "more clients than an interface has places for");
        clients.push(client);
        clients.len() - 1
    }

    /// Tells whether the client has a weight, if that has changed.
    pub(super) fn set_weight(&self, id: u32, weight: u32) -> Option<bool> {
        let clients = self.clients.borrow();
        let number = clients.iter().position(|client| client.id == id)?;
        let before = clients[number].weight.replace(weight);
        let [from, to] = match (before, weight) {
            (1.., 0) => [&self.requesting, &self.requesting_without_weight],
            (0, 1..) => [&self.requesting_without_weight, &self.requesting],
            _ => return None,
        };
        to.set(to.get() | from.get() & 1 << number);
        from.set(from.get() & !(1 << number));
        Some(weight > 0)
    }

    pub(super) fn set_beats(&self, limit: u32) {
        self.channel.borrow_mut().beats.set_limit(limit);
    }

    pub(super) fn is_idle(&self, now: Time) -> bool {
        let channel = self.channel.borrow();
        channel.pipeline.is_empty() && channel.outstanding.is_empty(now)
    }

    /// Adds a client to those that request.
    pub(super) fn set_requesting(&self, client: usize) {
        let requesting = match self.clients.borrow()[client].weight.get() {
            0 => &self.requesting_without_weight,
            _ => &self.requesting,
        };
        requesting.set(requesting.get() | 1 << client);
    }

    /// Drops the requests of a master outside.
    pub(super) fn forget(&self, client: usize) {
        self.clients.borrow()[client].forget_outside();
        self.channel.borrow_mut().pipeline.forget(client);
        for requesting in [&self.requesting, &self.requesting_without_weight] {
            requesting.set(requesting.get() & !(1 << client));
        }
    }

    /// Adds a client to those whose requester has reads to come.
    pub(super) fn start_generating(&self, client: usize) {
        self.generating.set(self.generating.get() | 1 << client);
    }

    /// Does all that is due by now, and then what is due next, as long as that comes before `until` and time can be moved
    /// on; tells what is next.
    pub(super) fn step(&self, time: &impl Advance, until: Time, observed: &Observed) -> NextAction {
        let clients = self.clients.borrow();
        let channel = &mut *self.channel.borrow_mut();
        let (mut now, mut made) = (time.now(), Time::ZERO);
        loop {
            if self.has_partners.get()
                && let Err(pending) = self.step_pins(channel, &clients, now, observed)
            {
                return NextAction::Answer(pending);
            }
            if let Some(pending) = self.return_data(channel, &clients, now, observed) {
                return NextAction::Answer(pending);
            }
            if made <= now {
                made = self.generate_reads(&clients, now);
            }
            if self.advance_pipeline(channel, &clients, now, observed) {
                // One address a cycle: no other follows now. But there is room for another request, and what was asked
                // for may be back at once.
                made = self.generate_reads(&clients, now);
                if self.has_none_in_flight(channel)
                    && let Some(last) =
                        self.run(channel, &clients, (until.min(made), time.quiet_until()), observed)
                {
                    time.advance(last);
                    made = self.generate_reads(&clients, now);
                }
                if let Some(pending) = self.return_data(channel, &clients, now, observed) {
                    return NextAction::Answer(pending);
                }
            }
            let mut next = self.next_advance(channel, now);
            if self.has_partners.get() {
                match self.step_pins(channel, &clients, now, observed) {
                    Ok(at_pins) => next = next.min(at_pins),
                    Err(pending) => return NextAction::Answer(pending),
                }
                next = next.min(self.update_ready(channel, &clients, now));
            }
            next = next.min(made).min(channel.in_flight.front().map_or(Time::MAX, |read| read.first));
            if next >= until || !time.advance(next) {
                return NextAction::At(next);
            }
            now = next;
            observed.report_many(now);
        }
    }

    /// Returns true if no read is in flight whose next step could depend on a partner, a fault or a timed memory.
    #[inline]
    fn has_none_in_flight(&self, channel: &Channel) -> bool {
        let is_plain = self.timed.is_none() && !self.has_partners.get() && !self.has_faults.get();
        is_plain && channel.in_flight.is_empty()
    }

    /// Queues the reads that are due of all requesters; returns the time of the next one.
    fn generate_reads(&self, clients: &[Rc<ReadClient>], now: Time) -> Time {
        let (mut left, mut next) = (self.generating.get(), Time::MAX);
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            let client = &clients[number];
            let mut at = client.next_read();
            if at <= now {
                match client.generate_reads(now) {
                    Some(then) => at = then,
                    None => {
                        self.generating.set(self.generating.get() & !(1 << number));
                        at = Time::MAX;
                    }
                }
                if client.is_requesting() {
                    self.set_requesting(number);
                }
            }
            next = next.min(at);
        }
        next
    }

    /// Returns the time at which the arbiter can choose a read, or one that is chosen can move on.
    #[inline]
    fn next_advance(&self, channel: &Channel, now: Time) -> Time {
        let choice = if self.requesting.get() == 0 { Time::MAX } else { channel.pipeline.room() };
        choice.min(channel.next_count()).min(self.next_issue(channel, now))
    }

    /// Returns the time at which the next address can be on AR, as far as that is chosen and counted.
    #[inline]
    fn next_issue(&self, channel: &Channel, now: Time) -> Time {
        match channel.pipeline.counted() {
            None => Time::MAX,
            Some((Chosen { client: None, .. }, free)) => free,
            Some((_, free)) => free.max(self.memory_room(channel, now)),
        }
    }

    /// Time from which on the memory takes another read.
    #[inline]
    fn memory_room(&self, channel: &Channel, now: Time) -> Time {
        if self.timed.as_ref().is_some_and(|timed| !timed.has_room(false)) {
            return Time::MAX;
        }
        let room = channel.outstanding.room().max(channel.stall.address);
        match self.has_partners.get() {
            true => self.partners.borrow().memory.as_ref().map_or(room, |pins| room.max(pins.read_room(now))),
            false => room,
        }
    }

    /// Time from which on a read of a master outside is taken, which can then be on AR.
    fn room(&self, channel: &Channel, now: Time) -> Time {
        channel.pipeline.room().max(self.memory_room(channel, now))
    }

    /// Chooses a read, counts one, and puts one on AR, as far as they can move now. Tells whether one has.
    #[inline]
    fn advance_pipeline(
        &self,
        channel: &mut Channel,
        clients: &[Rc<ReadClient>],
        now: Time,
        observed: &Observed,
    ) -> bool {
        let mut has_moved = self.choose(channel, clients, now);
        if channel.next_count() <= now {
            channel.count(now);
            has_moved = true;
        }
        if self.next_issue(channel, now) <= now
            && let Some((&Chosen { client, burst, .. }, _)) = channel.pipeline.counted()
            && !self.is_ar_stalled(channel, client, &burst, now)
        {
            channel.pipeline.issue(now);
            if let Some(number) = client {
                self.issue(channel, (number, burst), &clients[number], now, observed);
            }
            has_moved = true;
        }
        has_moved
    }

    /// Returns true if a fault stalls AR before this address.
    #[inline]
    fn is_ar_stalled(&self, channel: &mut Channel, client: Option<usize>, burst: &Burst, now: Time) -> bool {
        if !self.has_faults.get() || client.is_none() {
            return false;
        }
        if let Some(faults) = &*self.faults.borrow()
            && !std::mem::replace(&mut channel.stall.is_evaluated, true)
        {
            channel.stall.address = now + faults.stall(AxiChannel::ReadAddress, burst);
        }
        let is_stalled = channel.stall.address > now;
        channel.stall.is_evaluated = is_stalled;
        is_stalled
    }

    /// Returns the time by which a fault delays the data of a burst.
    fn fault_delay(&self, burst: &Burst) -> Time {
        let faults = self.faults.borrow();
        faults.as_ref().map_or(Time::ZERO, |faults| faults.stall(AxiChannel::ReadData, burst))
    }

    /// Has the arbiter choose a read, if there is one and a place for it.
    #[inline]
    fn choose(&self, channel: &mut Channel, clients: &[Rc<ReadClient>], now: Time) -> bool {
        let requesting = self.requesting.get();
        if requesting == 0 || channel.pipeline.room() > now {
            return false;
        }
        let Some(number) = channel.turn.next(requesting, |client| clients[client].weight.get()) else {
            return false;
        };
        let client = &clients[number];
        let (burst, is_requesting) = client.grant(now);
        if !is_requesting {
            self.requesting.set(requesting & !(1 << number));
        }
        // The count of beats is the device's own, and none of another master's.
        channel.pipeline.choose(Chosen { client: Some(number), burst, counts: !client.is_outside() }, now);
        client.granted();
        true
    }

    /// Puts an address on AR now.
    fn issue(
        &self,
        channel: &mut Channel,
        (number, burst): (usize, Burst),
        client: &ReadClient,
        now: Time,
        observed: &Observed,
    ) {
        let memory = self.partners.borrow().memory.clone();
        if let Some(memory) = &memory {
            observed.see(now, Stage::Request, false, now, &burst);
            if let Some(faults) = &*self.faults.borrow() {
                faults.miss_at_pins(false, &burst);
            }
            return self.request_at_pins(memory, channel, (number, burst), client, now);
        }
        let delay = if self.has_faults.get() { self.fault_delay(&burst) } else { Time::ZERO };
        channel.stall.is_dead |= delay == Time::MAX;
        if channel.stall.is_dead {
            channel.outstanding.add_open();
            return observed.see(now, Stage::Request, false, now, &burst);
        }
        let is_outside = client.is_outside();
        let is_open = self.timed.is_some() || is_outside || Self::is_bus_open(channel);
        if is_open {
            channel.outstanding.add_open();
            observed.see(now, Stage::Request, false, now, &burst);
            let (place, answer) = match is_outside {
                true => (0, Some(self.target.read(&burst))),
                false => client.read(&*self.target, &burst),
            };
            let (first, last, placed) = (Time::MAX, Time::MAX, answer.is_none());
            let generation = self.partners.borrow().generation;
            let read =
                InFlight { burst, client: number, requested: now, first, last, place, placed, generation };
            let Some(timed) = &self.timed else {
                let served = self.config.serve(&channel.memory_free, now, &burst);
                let ready = served + self.config.period * channel.latency.draw() + delay;
                channel.bus_queue.push_back(Queued { ready, read, answer });
                return;
            };
            channel.stall.data += delay;
            let tag = channel.tags;
            channel.tags += 1;
            channel.ids.insert(tag, burst.id);
            channel.requested.entry(burst.id).or_default().push_back(TimedRead {
                tag,
                read,
                answer,
                served: false,
            });
            return timed.request(false, tag, &burst);
        }
        let (first, last) = self.request(channel, &burst, client, now, delay);
        let (place, answer) = client.read(&*self.target, &burst);
        let placed = answer.is_none();
        if placed && channel.in_flight.is_empty() {
            // All is known of it: nothing is left to do when its data is on the bus.
            observed.expect(now, false, first, last, &burst);
            client.deliver(&burst, first);
        } else {
            observed.see(now, Stage::Request, false, now, &burst);
            channel.answers.extend(answer);
            channel.in_flight.push_back(InFlight {
                burst,
                client: number,
                requested: now,
                first,
                last,
                place,
                placed,
                generation: 0,
            });
        }
    }

    /// Requests a burst now, whose data is delayed by so much; returns when its first and its last beat are on
    /// the bus.
    #[inline(always)]
    fn request(
        &self,
        channel: &mut Channel,
        burst: &Burst,
        client: &ReadClient,
        now: Time,
        delay: Time,
    ) -> (Time, Time) {
        let served = self.config.serve(&channel.memory_free, now, burst);
        // In order, one beat a cycle.
        let ready = served + self.config.period * channel.latency.draw() + delay;
        let first = ready.max(channel.bus_free);
        let (first, last) = self.on_bus(channel, first, burst, client);
        channel.outstanding.add(last);
        channel.beats.close(burst.beats, first, last);
        (first, last)
    }

    /// Returns the times at which the first and the last beat of a burst are on the bus whose data can be there from `first` on.
    #[inline(always)]
    fn on_bus(&self, channel: &mut Channel, first: Time, burst: &Burst, client: &ReadClient) -> (Time, Time) {
        let (first, last, ready) = client.expect(first, burst.beats).unwrap_or_else(|| {
            let last = first + self.config.period * u64::from(burst.beats - 1);
            (first, last, last + self.config.period)
        });
        channel.bus_free = ready;
        (first, last)
    }

    /// A memory with a time of its own has the data of a read; it goes on the bus when that of all earlier ones of its id
    /// has.
    pub(super) fn served(&self, tag: u64, now: Time) {
        let clients = self.clients.borrow();
        let channel = &mut *self.channel.borrow_mut();
        let Some(id) = channel.ids.remove(&tag) else { return };
        let mut queue = channel.requested.remove(&id).unwrap_or_default();
        if let Some(requested) = queue.iter_mut().find(|requested| requested.tag == tag) {
            requested.served = true;
        }
        while queue.front().is_some_and(|requested| requested.served)
            && let Some(TimedRead { read, answer, .. }) = queue.pop_front()
        {
            if channel.stall.is_dead {
                continue;
            }
            let now = now + std::mem::take(&mut channel.stall.data);
            if clients[read.client].is_outside() || Self::is_bus_open(channel) {
                channel.bus_queue.push_back(Queued { ready: now, read, answer });
                continue;
            }
            let earliest = now.max(channel.bus_free);
            let (first, last) = self.on_bus(channel, earliest, &read.burst, &clients[read.client]);
            channel.outstanding.close(last);
            channel.beats.close(read.burst.beats, first, last);
            channel.answers.extend(answer);
            channel.in_flight.push_back(InFlight { first, last, ..read });
        }
        channel.requested.insert(id, queue);
    }

    /// Hands on what is on the bus by now. Tells if an answer has to be waited for before.
    fn return_data(
        &self,
        channel: &mut Channel,
        clients: &[Rc<ReadClient>],
        now: Time,
        observed: &Observed,
    ) -> Option<PendingAnswer> {
        while channel.in_flight.front().is_some_and(|read| read.first <= now) {
            let read = channel.in_flight.pop_front()?;
            if !read.placed {
                let answer = match channel.answers.pop_front() {
                    Some(Answer::Later(completion)) => match completion.take() {
                        Some(answer) => answer,
                        None => {
                            channel.in_flight.push_front(read);
                            channel.answers.push_front(Answer::Later(completion.clone()));
                            return Some(PendingAnswer::Read(completion));
                        }
                    },
                    Some(Answer::Now(answer)) => answer,
                    None => unreachable!("each read without data has an answer"),
                };
                place(&read, &clients[read.client], answer, now, observed);
            }
            let InFlight { burst, client, last, .. } = read;
            // Its answer may have come late.
            let last = last.max(now + self.config.period * u64::from(burst.beats - 1));
            observed.expect(read.requested, true, now, last, &burst);
            clients[client].deliver(&burst, now);
        }
        None
    }
}

/// Puts what the memory has answered into its client's place.
fn place(
    read: &InFlight,
    client: &ReadClient,
    answer: Result<Vec<u8>, Unmapped>,
    now: Time,
    observed: &Observed,
) {
    let burst = &read.burst;
    match answer {
        Ok(data) if data.len() == burst.bytes as usize => client.store_data(read.place, &data),
        // Hardware gets a DECERR response and whatever is on the bus: zeros here, as the place was made.
        answer => {
            let wrong_length = |data: Vec<u8>| {
                let (Burst { address, bytes, .. }, got) = (*burst, data.len());
                let why = format!("the memory answered {got} bytes where {bytes} were asked for");
                Unmapped { address, bytes, why }
            };
            let refused = answer.map_or_else(|refused| refused, wrong_length);
            observed.refused(now, &client.name, false, &refused, "zeros returned");
            client.refused.borrow_mut().get_or_insert(refused);
        }
    }
}

impl Reads {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Reads {
            config: _,
            target: _,
            timed: _,
            clients,
            requesting,
            requesting_without_weight,
            generating,
            channel,
            partners: _,
            has_partners,
            faults: _,
            has_faults: _,
        } = self;
        let is_requested =
            requesting.get() != 0 || requesting_without_weight.get() != 0 || generating.get() != 0;
        at.at_rest(!is_requested, "reads are asked for")?;
        // The others are their engines'.
        let had_master = clients.borrow().iter().any(|client| client.is_outside());
        at.at_rest(
            !has_partners.get() && !had_master,
            "a partner is, or was since the last reset, at its pins",
        )?;
        channel.borrow_mut().checkpoint(at)
    }
}
