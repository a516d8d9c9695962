//! Writes: arbitration among the clients, the channels AW, W and B, and when they are acknowledged.

mod pins;

use crate::bus::axi::latency::LatencySource;
use crate::bus::axi::observed::Observed;
use crate::bus::axi::outstanding::Outstanding;
use crate::bus::axi::pins::Arrived;
use crate::bus::axi::read::{NextAction, Partners, PendingAnswer};
use crate::bus::axi::turn::{Clients, WeightedRoundRobin};
use crate::bus::axi::write_client::WriteClient;
use crate::bus::axi::{Answer, AxiChannel, AxiConfig, AxiTarget, Burst, TimedPort};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::faults::BurstFaults;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use vp_core::Time;
use vp_core::observe::Stage;

/// A write whose data is on its way to the memory.
pub(super) struct Moving {
    pub(super) burst: Burst,
    pub(super) client: usize,
    /// Time at which its address was on the bus.
    pub(super) granted: Time,
    /// Time at which the memory has all of it.
    pub(super) stored: Time,
    /// Time at which it is acknowledged, if that is known already.
    pub(super) acknowledged: Option<Time>,
    /// The data that a master outside has sent.
    pub(super) arrived: Option<Arrived>,
    /// True if a memory outside has been sent its data with its address.
    pub(super) is_sent: bool,
    /// Beats of a master outside that were passed on to a memory outside.
    pub(super) passed_on: u32,
    /// True if the memory that it was sent to has gone.
    pub(super) is_lost: bool,
    /// Generation of the master outside that it is of, if of one.
    pub(super) generation: u32,
}

/// A write that the memory has been given.
pub(super) struct GrantedWrite {
    pub(super) burst: Burst,
    pub(super) client: usize,
    /// Time at which its address was on the bus.
    pub(super) granted: Time,
    pub(super) acknowledged: Time,
    pub(super) answer: Option<Answer<()>>,
    /// Generation of the master outside that it is of, if of one.
    pub(super) generation: u32,
}

/// A write that a memory with a time of its own has been given.
pub(super) struct TimedWrite {
    tag: u64,
    pub(super) given: GrantedWrite,
    served: bool,
}

/// The writes of one interface. Data follows its address a beat a cycle; the memory holds it before the
/// acknowledgement comes; acknowledgements are in order, from a memory with a time of its own within each id.
pub(super) struct Writes {
    pub(super) config: AxiConfig,
    target: Rc<dyn AxiTarget>,
    pub(super) timed: Option<Rc<dyn TimedPort>>,
    clients: RefCell<Vec<Rc<WriteClient>>>,
    /// Clients with bursts that wait for the arbiter, or are to come.
    requesting: Cell<Clients>,
    /// Clients that request and whose weight is zero: the arbiter skips them (RTL, `NV_NVDLA_*_IG_arb`, `wt*`).
    requesting_without_weight: Cell<Clients>,
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

/// The arbiter and what is behind it.
pub(super) struct Channel {
    turn: WeightedRoundRobin,
    /// Time from which on the next address may follow.
    pub(super) free: Time,
    pub(super) outstanding: Outstanding,
    pub(super) latency: LatencySource,
    pub(super) last_acknowledged: Time,
    pub(super) memory_free: Rc<Cell<Time>>,
    pub(super) moving: VecDeque<Moving>,
    pub(super) given: VecDeque<GrantedWrite>,
    /// Writes requested from a [`TimedPort`], or from a memory outside, and not acknowledged: by transaction id in order.
    pub(super) requested: BTreeMap<u32, VecDeque<TimedWrite>>,
    /// Transaction id of each tag.
    ids: BTreeMap<u64, u32>,
    tags: u64,
    /// A granted write, its client, and the time from which AW takes its address: a fault delays it.
    stalled_address: Option<(Burst, usize, Time)>,
    /// Delay of the next response on B, for a memory with a time of its own.
    response_delay: Time,
}

impl Writes {
    pub(super) fn new(
        config: &AxiConfig,
        (target, timed): (Rc<dyn AxiTarget>, Option<Rc<dyn TimedPort>>),
        memory_free: Rc<Cell<Time>>,
    ) -> Writes {
        let channel = Channel {
            turn: WeightedRoundRobin::default(),
            free: Time::ZERO,
            // `awready` is registered.
            outstanding: Outstanding::new(config.period, config.write_outstanding),
            // Another sequence than the reads', from the same seed.
            latency: LatencySource::new(config.write_latency, config.seed ^ 0x5757_5757),
            last_acknowledged: Time::ZERO,
            memory_free,
            moving: VecDeque::new(),
            given: VecDeque::new(),
            requested: BTreeMap::new(),
            ids: BTreeMap::new(),
            tags: 0,
            stalled_address: None,
            response_delay: Time::ZERO,
        };
        Writes {
            config: config.clone(),
            target,
            timed,
            clients: RefCell::default(),
            requesting: Cell::new(0),
            requesting_without_weight: Cell::new(0),
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

    /// Returns the time by which a fault delays a burst on a channel.
    #[inline]
    fn fault_delay(&self, channel: AxiChannel, burst: &Burst) -> Time {
        if !self.has_faults.get() {
            return Time::ZERO;
        }
        self.faults.borrow().as_ref().map_or(Time::ZERO, |faults| faults.stall(channel, burst))
    }

    /// Adds a client; gives its number.
    pub(super) fn add(&self, client: Rc<WriteClient>) -> usize {
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

    pub(super) fn set_outstanding(&self, limit: u32) {
        self.channel.borrow_mut().outstanding.set_limit(limit);
    }

    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.channel.borrow().outstanding.is_empty(now)
    }

    /// Adds a client to those that request, or will.
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
        for requesting in [&self.requesting, &self.requesting_without_weight] {
            requesting.set(requesting.get() & !(1 << client));
        }
    }

    /// Does all that is due by now, and tells what is next.
    pub(super) fn step(&self, now: Time, observed: &Observed) -> NextAction {
        let clients = self.clients.borrow();
        let channel = &mut *self.channel.borrow_mut();
        let mut at_pins = Time::MAX;
        if self.has_partners.get() {
            at_pins = self.step_pins(channel, &clients, now);
        }
        self.store(channel, &clients, now, observed);
        if let Some(pending) = self.acknowledge(channel, &clients, now, observed) {
            return NextAction::Answer(pending);
        }
        let mut granted = self.arbitrate(channel, &clients, now, observed);
        if granted <= now {
            if self.has_partners.get() {
                at_pins = self.step_pins(channel, &clients, now);
            }
            // No other address follows now; but the memory may have all data, and acknowledge it, at once.
            self.store(channel, &clients, now, observed);
            if let Some(pending) = self.acknowledge(channel, &clients, now, observed) {
                return NextAction::Answer(pending);
            }
            granted = self.next_grant(channel, &clients, now).1;
        }
        if self.has_partners.get() {
            granted = granted.min(at_pins).min(self.update_ready(channel, &clients, now));
        }
        let stored = channel.moving.front().map_or(Time::MAX, |write| write.stored);
        let acknowledged = channel.given.front().map_or(Time::MAX, |write| write.acknowledged);
        NextAction::At(granted.min(stored).min(acknowledged))
    }

    /// The clients that have a whole burst in their buffers, and when the arbiter can grant one, of these or of others.
    fn next_grant(&self, channel: &Channel, clients: &[Rc<WriteClient>], now: Time) -> (Clients, Time) {
        if let Some((.., until)) = channel.stalled_address {
            return (0, until);
        }
        let room = self.room(channel, now);
        if room == Time::MAX {
            return (0, Time::MAX);
        }
        let (mut left, mut requesting, mut first) = (self.requesting.get(), 0, Time::MAX);
        while left != 0 {
            let number = left.trailing_zeros();
            left &= left - 1;
            match clients[number as usize].request_time() {
                Some(at) if at <= now => (requesting, first) = (requesting | 1 << number, first.min(now)),
                Some(at) => first = first.min(at),
                None => self.requesting.set(self.requesting.get() & !(1 << number)),
            }
        }
        (requesting, first.max(room))
    }

    /// Time from which on the memory takes another write.
    pub(super) fn room(&self, channel: &Channel, now: Time) -> Time {
        if self.timed.as_ref().is_some_and(|timed| !timed.has_room(true)) {
            return Time::MAX;
        }
        let room = channel.free.max(channel.outstanding.room());
        match self.has_partners.get() {
            true => {
                self.partners.borrow().memory.as_ref().map_or(room, |pins| room.max(pins.write_room(now)))
            }
            false => room,
        }
    }

    /// Grants one write, if a whole one is in its buffer. Otherwise tells when that is.
    fn arbitrate(
        &self,
        channel: &mut Channel,
        clients: &[Rc<WriteClient>],
        now: Time,
        observed: &Observed,
    ) -> Time {
        let (requesting, at) = self.next_grant(channel, clients, now);
        if at > now {
            return at;
        }
        let (burst, client) = match channel.stalled_address.take() {
            Some((burst, client, _)) => (burst, client),
            None => {
                let weight = |client: usize| clients[client].weight.get();
                let Some(client) = channel.turn.next(requesting, weight) else { return at };
                let burst = clients[client].grant(now);
                let delay = self.fault_delay(AxiChannel::WriteAddress, &burst);
                if delay > Time::ZERO {
                    channel.stalled_address = Some((burst, client, now + delay));
                    return now;
                }
                (burst, client)
            }
        };
        channel.free = now + self.config.period * u64::from(burst.beats);
        if clients[client].is_outside() {
            // Its data comes when it comes.
            channel.free = Time::MAX;
            channel.outstanding.add_open();
            observed.see(now, Stage::Request, true, now, &burst);
            let generation = self.partners.borrow().generation;
            let mut moving = Moving { generation, ..Moving::open(burst, client, now) };
            let memory = &self.partners.borrow().memory;
            if let Some(faults) = &*self.faults.borrow() {
                match memory {
                    Some(_) => faults.miss_at_pins(true, &burst),
                    None => faults.miss_of_master(&burst),
                }
            }
            if let Some(memory) = memory {
                memory.write_address(now, &burst);
                moving.is_sent = true;
                Self::await_response(channel, (burst, client, now), generation);
            }
            channel.moving.push_back(moving);
        } else {
            self.issue(channel, burst, clients, client, now, observed);
        }
        now
    }

    /// Puts an address on AW now, and its data on W from now on.
    fn issue(
        &self,
        channel: &mut Channel,
        burst: Burst,
        clients: &[Rc<WriteClient>],
        client: usize,
        now: Time,
        observed: &Observed,
    ) {
        let config = &self.config;
        let last_beat = now + config.period * u64::from(burst.beats - 1);
        let moving = Moving { stored: last_beat, ..Moving::open(burst, client, now) };
        if let Some(memory) = &self.partners.borrow().memory {
            if let Some(faults) = &*self.faults.borrow() {
                faults.miss_at_pins(true, &burst);
            }
            channel.outstanding.add_open();
            observed.see(now, Stage::Request, true, now, &burst);
            clients[client].take_data(&burst, |data| memory.write(now, &burst, data));
            channel.moving.push_back(Moving { is_sent: true, ..moving });
            return Self::await_response(channel, (burst, client, now), 0);
        }
        let delay = self.fault_delay(AxiChannel::WriteData, &burst);
        let response_delay = self.fault_delay(AxiChannel::WriteResponse, &burst);
        channel.free += delay;
        let last_beat = last_beat + delay;
        // Of data that never comes the memory knows nothing.
        if self.timed.is_some() || delay == Time::MAX {
            channel.response_delay += response_delay;
            channel.outstanding.add_open();
            observed.see(now, Stage::Request, true, now, &burst);
            channel.moving.push_back(Moving { stored: last_beat, ..moving });
            return;
        }
        let stored = config.serve(&channel.memory_free, last_beat, &burst);
        let latency = config.period * channel.latency.draw();
        // B has one response an edge.
        let acknowledged = (stored + latency).max(channel.last_acknowledged + config.period);
        let acknowledged = acknowledged + response_delay;
        channel.last_acknowledged = acknowledged;
        channel.outstanding.add(acknowledged);
        observed.see(now, Stage::Request, true, now, &burst);
        // In order.
        let stored = channel.moving.back().map_or(stored, |before| stored.max(before.stored));
        channel.moving.push_back(Moving { stored, acknowledged: Some(acknowledged), ..moving });
    }

    /// A memory outside will respond to this.
    fn await_response(
        channel: &mut Channel,
        (burst, client, granted): (Burst, usize, Time),
        generation: u32,
    ) {
        let given =
            GrantedWrite { burst, client, granted, acknowledged: Time::MAX, answer: None, generation };
        channel.requested.entry(burst.id).or_default().push_back(TimedWrite { tag: 0, given, served: false });
    }

    /// Gives the memory what it has all data of.
    fn store(&self, channel: &mut Channel, clients: &[Rc<WriteClient>], now: Time, observed: &Observed) {
        while channel.moving.front().is_some_and(|moving| moving.stored <= now)
            && let Some(Moving { burst, client, granted, acknowledged, arrived, is_sent, generation, .. }) =
                channel.moving.pop_front()
        {
            observed.see(now, Stage::Data, true, granted, &burst);
            if is_sent {
                continue;
            }
            let stored = match &arrived {
                Some(arrived) => pins::store(&*self.target, arrived),
                None => clients[client].take_data(&burst, |data| self.target.write(&burst, data)),
            };
            let answer = match stored {
                Answer::Now(Ok(())) => None,
                other => Some(other),
            };
            if let Some(acknowledged) = acknowledged {
                channel.given.push_back(GrantedWrite {
                    burst,
                    client,
                    granted,
                    acknowledged,
                    answer,
                    generation,
                });
            } else if burst.bytes == 0 {
                // No strobe was set: the memory has nothing to do.
                let acknowledged = now.max(channel.last_acknowledged) + self.config.period;
                channel.last_acknowledged = acknowledged;
                channel.outstanding.close(acknowledged);
                channel.given.push_back(GrantedWrite {
                    burst,
                    client,
                    granted,
                    acknowledged,
                    answer,
                    generation,
                });
            } else if let Some(timed) = &self.timed {
                let given =
                    GrantedWrite { burst, client, granted, acknowledged: Time::MAX, answer, generation };
                let tag = channel.tags;
                channel.tags += 1;
                channel.ids.insert(tag, burst.id);
                channel.requested.entry(burst.id).or_default().push_back(TimedWrite {
                    tag,
                    given,
                    served: false,
                });
                timed.request(true, tag, &burst);
            }
        }
    }

    /// A memory with a time of its own has taken a write; it is acknowledged after all earlier ones of its id.
    pub(super) fn served(&self, tag: u64, now: Time) {
        let channel = &mut *self.channel.borrow_mut();
        let Some(id) = channel.ids.remove(&tag) else { return };
        let mut queue = channel.requested.remove(&id).unwrap_or_default();
        if let Some(requested) = queue.iter_mut().find(|requested| requested.tag == tag) {
            requested.served = true;
        }
        while queue.front().is_some_and(|requested| requested.served)
            && let Some(TimedWrite { given, .. }) = queue.pop_front()
        {
            let latency = self.config.period * channel.latency.draw();
            let latency = latency + std::mem::take(&mut channel.response_delay);
            let acknowledged = (now + latency).max(channel.last_acknowledged + self.config.period);
            channel.last_acknowledged = acknowledged;
            channel.outstanding.close(acknowledged);
            channel.given.push_back(GrantedWrite { acknowledged, ..given });
        }
        channel.requested.insert(id, queue);
    }

    /// Hands on the acknowledgements that have come.
    fn acknowledge(
        &self,
        channel: &mut Channel,
        clients: &[Rc<WriteClient>],
        now: Time,
        observed: &Observed,
    ) -> Option<PendingAnswer> {
        while let Some(given) = channel.given.front_mut()
            && given.acknowledged <= now
        {
            let answer = match given.answer.take() {
                None => Ok(()),
                Some(Answer::Now(answer)) => answer,
                Some(Answer::Later(completion)) => match completion.take() {
                    Some(answer) => answer,
                    None => {
                        given.answer = Some(Answer::Later(completion.clone()));
                        return Some(PendingAnswer::Write(completion));
                    }
                },
            };
            let (GrantedWrite { burst, client, granted, generation, .. }, is_refused) =
                (&*given, answer.is_err());
            let generation = *generation;
            let (burst, granted, client) = (*burst, *granted, &clients[*client]);
            if let Err(refused) = answer {
                observed.refused(now, &client.name, true, &refused, "data lost");
                client.refused.borrow_mut().get_or_insert(refused);
            }
            channel.given.pop_front();
            observed.see(now, Stage::Response, true, granted, &burst);
            let partners = self.partners.borrow();
            match &partners.master {
                _ if !client.is_outside() => client.acknowledge(),
                Some((master, _)) if generation == partners.generation => {
                    master.respond(now, burst.id as u16, is_refused);
                }
                // Who has sent it has gone.
                _ => {}
            }
        }
        None
    }
}

impl Writes {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // Clients are their engines'. That one is in `requesting` says only that it is to be looked at.
        let Writes {
            config,
            target: _,
            timed: _,
            clients: _,
            requesting: _,
            requesting_without_weight: _,
            channel,
            partners: _,
            has_partners,
            faults: _,
            has_faults: _,
        } = self;
        at.at_rest(!has_partners.get(), "a partner is at its pins")?;
        let mut channel = channel.borrow_mut();
        // A tag is a name only; what a memory of one port has moved is saved with the reads.
        let Channel {
            turn,
            free,
            outstanding,
            latency,
            last_acknowledged,
            memory_free,
            tags: _,
            moving,
            given,
            requested,
            ids,
            stalled_address,
            response_delay: _,
        } = &mut *channel;
        turn.checkpoint(at)?;
        at.value(free)?;
        outstanding.checkpoint(at)?;
        latency.checkpoint(at)?;
        at.value(last_acknowledged)?;
        if config.duplex {
            at.cell(memory_free)?;
        }
        let is_over = moving.is_empty() && given.is_empty() && ids.is_empty() && stalled_address.is_none();
        at.at_rest(is_over && requested.values().all(VecDeque::is_empty), "writes are in flight")
    }
}
