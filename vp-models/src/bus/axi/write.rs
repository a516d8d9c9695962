//! Writes: arbitration among the clients, the channels AW, W and B, and when they are acknowledged.

use super::latency::LatencySource;
use super::observed::Observed;
use super::outstanding::Outstanding;
use super::read::{Next, Pending};
use super::turn::{Clients, Turn};
use super::write_client::WriteClient;
use super::{Answer, AxiConfig, AxiTarget, Burst, TimedPort};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use vp_core::Time;
use vp_core::observe::Stage;

/// A write whose data is on its way to the memory.
struct Moving {
    burst: Burst,
    client: usize,
    /// When the memory has all of it.
    stored: Time,
    /// When it is acknowledged, if that is known already.
    acknowledged: Option<Time>,
}

/// A write that the memory has been given.
struct Given {
    burst: Burst,
    client: usize,
    acknowledged: Time,
    answer: Option<Answer<()>>,
}

/// A write that a memory with a time of its own has been given.
struct Asked {
    tag: u64,
    given: Given,
    served: bool,
}

/// The writes of one interface. Data follows its address a beat a cycle; the memory holds it before the
/// acknowledgement comes; acknowledgements are in order, from a memory with a time of its own within each id.
pub(super) struct Writes {
    config: AxiConfig,
    target: Rc<dyn AxiTarget>,
    timed: Option<Rc<dyn TimedPort>>,
    clients: RefCell<Vec<Rc<WriteClient>>>,
    /// Clients with bursts that wait for the arbiter, or are to come.
    asking: Cell<Clients>,
    channel: RefCell<Channel>,
}

/// The arbiter and what is behind it.
struct Channel {
    turn: Turn,
    /// From when on the next address may follow.
    free: Time,
    outstanding: Outstanding,
    latency: LatencySource,
    last_acknowledged: Time,
    memory_free: Rc<Cell<Time>>,
    moving: VecDeque<Moving>,
    given: VecDeque<Given>,
    /// What is asked of a [`TimedPort`] and not acknowledged: by transaction id in order…
    asked: BTreeMap<u32, VecDeque<Asked>>,
    /// …and which id a tag belongs to.
    ids: BTreeMap<u64, u32>,
    tags: u64,
}

impl Writes {
    pub(super) fn new(
        config: &AxiConfig,
        (target, timed): (Rc<dyn AxiTarget>, Option<Rc<dyn TimedPort>>),
        memory_free: Rc<Cell<Time>>,
    ) -> Writes {
        let channel = Channel {
            turn: Turn::default(),
            free: Time::ZERO,
            outstanding: Outstanding::new(config.period, config.write_outstanding),
            // Another sequence than the reads', from the same seed.
            latency: LatencySource::new(config.write_latency, config.seed ^ 0x5757_5757),
            last_acknowledged: Time::ZERO,
            memory_free,
            moving: VecDeque::new(),
            given: VecDeque::new(),
            asked: BTreeMap::new(),
            ids: BTreeMap::new(),
            tags: 0,
        };
        Writes {
            config: config.clone(),
            target,
            timed,
            clients: RefCell::default(),
            asking: Cell::new(0),
            channel: RefCell::new(channel),
        }
    }

    /// Adds a client; gives its number.
    pub(super) fn add(&self, client: Rc<WriteClient>) -> usize {
        let mut clients = self.clients.borrow_mut();
        assert!(clients.len() < Clients::BITS as usize, "more clients than an interface has places for");
        clients.push(client);
        clients.len() - 1
    }

    pub(super) fn set_weight(&self, id: u32, weight: u32) {
        if let Some(client) = self.clients.borrow().iter().find(|client| client.id == id) {
            client.weight.set(weight);
        }
    }

    pub(super) fn set_outstanding(&self, limit: u32) {
        self.channel.borrow_mut().outstanding.set_limit(limit);
    }

    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.channel.borrow().outstanding.is_empty(now)
    }

    /// A client asks, or will.
    pub(super) fn ask(&self, client: usize) {
        self.asking.set(self.asking.get() | 1 << client);
    }

    /// Does all that is due by now, and tells what is next.
    pub(super) fn step(&self, now: Time, observed: &mut Observed) -> Next {
        let clients = self.clients.borrow();
        let channel = &mut *self.channel.borrow_mut();
        self.store(channel, &clients, now, observed);
        if let Some(pending) = self.acknowledge(channel, &clients, now, observed) {
            return Next::Answer(pending);
        }
        let mut granted = self.arbitrate(channel, &clients, now, observed);
        if granted <= now {
            // No other address follows now; but the memory may have all data, and acknowledge it, at once.
            self.store(channel, &clients, now, observed);
            if let Some(pending) = self.acknowledge(channel, &clients, now, observed) {
                return Next::Answer(pending);
            }
            granted = self.next_grant(channel, &clients, now).1;
        }
        let stored = channel.moving.front().map_or(Time::MAX, |write| write.stored);
        let acknowledged = channel.given.front().map_or(Time::MAX, |write| write.acknowledged);
        Next::At(granted.min(stored).min(acknowledged))
    }

    /// The clients that have a whole burst in their buffers, and when the arbiter can grant one, of these or of others.
    fn next_grant(&self, channel: &Channel, clients: &[Rc<WriteClient>], now: Time) -> (Clients, Time) {
        if self.timed.as_ref().is_some_and(|timed| !timed.has_room(true)) {
            return (0, Time::MAX);
        }
        let (mut left, mut asking, mut first) = (self.asking.get(), 0, Time::MAX);
        while left != 0 {
            let number = left.trailing_zeros();
            left &= left - 1;
            match clients[number as usize].asks() {
                Some(at) if at <= now => (asking, first) = (asking | 1 << number, first.min(now)),
                Some(at) => first = first.min(at),
                None => self.asking.set(self.asking.get() & !(1 << number)),
            }
        }
        (asking, first.max(channel.free).max(channel.outstanding.room()))
    }

    /// Grants one write, if a whole one is in its buffer. Otherwise tells when that is.
    fn arbitrate(
        &self,
        channel: &mut Channel,
        clients: &[Rc<WriteClient>],
        now: Time,
        observed: &mut Observed,
    ) -> Time {
        let (asking, at) = self.next_grant(channel, clients, now);
        if at > now {
            return at;
        }
        let Some(client) = channel.turn.next(asking, |client| clients[client].weight.get()) else {
            return at;
        };
        let burst = clients[client].grant(now);
        channel.free = now + self.config.period * u64::from(burst.beats);
        self.issue(channel, burst, client, now, observed);
        now
    }

    /// Puts an address on AW now, and its data on W from now on.
    fn issue(&self, channel: &mut Channel, burst: Burst, client: usize, now: Time, observed: &mut Observed) {
        let config = &self.config;
        let last_beat = now + config.period * u64::from(burst.beats - 1);
        if self.timed.is_some() {
            channel.outstanding.add_open();
            observed.see(now, Stage::Request, true, &burst);
            channel.moving.push_back(Moving { burst, client, stored: last_beat, acknowledged: None });
            return;
        }
        let stored = config.serve(&channel.memory_free, last_beat, &burst);
        let latency = config.period * channel.latency.draw();
        let acknowledged = (stored + latency).max(channel.last_acknowledged);
        channel.last_acknowledged = acknowledged;
        channel.outstanding.add(acknowledged);
        observed.see(now, Stage::Request, true, &burst);
        // In order.
        let stored = channel.moving.back().map_or(stored, |before| stored.max(before.stored));
        channel.moving.push_back(Moving { burst, client, stored, acknowledged: Some(acknowledged) });
    }

    /// Gives the memory what it has all data of.
    fn store(&self, channel: &mut Channel, clients: &[Rc<WriteClient>], now: Time, observed: &mut Observed) {
        while let Some(&Moving { burst, client, stored, acknowledged }) = channel.moving.front()
            && stored <= now
        {
            channel.moving.pop_front();
            observed.see(now, Stage::Data, true, &burst);
            let answer = match clients[client].give(&burst, |data| self.target.write(&burst, data)) {
                Answer::Now(Ok(())) => None,
                other => Some(other),
            };
            if let Some(acknowledged) = acknowledged {
                channel.given.push_back(Given { burst, client, acknowledged, answer });
            } else if let Some(timed) = &self.timed {
                let given = Given { burst, client, acknowledged: Time::MAX, answer };
                let tag = channel.tags;
                channel.tags += 1;
                channel.ids.insert(tag, burst.id);
                channel.asked.entry(burst.id).or_default().push_back(Asked { tag, given, served: false });
                timed.request(true, tag, &burst);
            }
        }
    }

    /// A memory with a time of its own has taken a write; it is acknowledged after all earlier ones of its id.
    pub(super) fn served(&self, tag: u64, now: Time) {
        let channel = &mut *self.channel.borrow_mut();
        let Some(id) = channel.ids.remove(&tag) else { return };
        let mut queue = channel.asked.remove(&id).unwrap_or_default();
        if let Some(asked) = queue.iter_mut().find(|asked| asked.tag == tag) {
            asked.served = true;
        }
        while queue.front().is_some_and(|asked| asked.served)
            && let Some(Asked { given, .. }) = queue.pop_front()
        {
            let latency = self.config.period * channel.latency.draw();
            let acknowledged = (now + latency).max(channel.last_acknowledged);
            channel.last_acknowledged = acknowledged;
            channel.outstanding.close(acknowledged);
            channel.given.push_back(Given { acknowledged, ..given });
        }
        channel.asked.insert(id, queue);
    }

    /// Hands on the acknowledgements that have come.
    fn acknowledge(
        &self,
        channel: &mut Channel,
        clients: &[Rc<WriteClient>],
        now: Time,
        observed: &mut Observed,
    ) -> Option<Pending> {
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
                        return Some(Pending::Write(completion));
                    }
                },
            };
            if let Err(refused) = answer {
                let client = &clients[given.client];
                observed.refused(now, &client.name, true, &refused, "data lost");
                client.refused.borrow_mut().get_or_insert(refused);
            }
            let Given { burst, client, .. } = *given;
            channel.given.pop_front();
            observed.see(now, Stage::Response, true, &burst);
            clients[client].acknowledge();
        }
        None
    }
}
