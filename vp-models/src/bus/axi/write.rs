//! The write channels AW, W and B: what is in flight, and when it is acknowledged.

use super::latency::LatencySource;
use super::outstanding::Outstanding;
use super::{Answer, AxiConfig, AxiTarget, Burst, TimedPort};
use crate::bus::DelayLine;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use vp_core::observe::{Source, Stage, Transfer, What};
use vp_core::{Sim, Time};

/// A write whose data is on its way to the memory.
struct Moving {
    burst: Burst,
    data: Vec<u8>,
    /// When it is acknowledged, if that is known already.
    acknowledged: Option<Time>,
}

/// A write that the memory has been given.
struct Given {
    burst: Burst,
    answer: Answer<()>,
}

/// Writes that a memory with a time of its own has been given: by transaction id in order, each with its tag and whether
/// it has been served.
#[derive(Default)]
struct AskedOf {
    ids: BTreeMap<u32, VecDeque<(u64, bool, Given)>>,
    tags: BTreeMap<u64, u32>,
    count: u64,
}

type Sink = Box<dyn Fn(Burst)>;

/// AW, W and B of one interface. Data follows its address a beat a cycle; the memory holds it before the
/// acknowledgement comes; acknowledgements are in order, from a memory with a time of its own within each id.
pub(super) struct WriteChannel {
    sim: Sim,
    source: Source,
    config: AxiConfig,
    latency: RefCell<LatencySource>,
    target: Rc<dyn AxiTarget>,
    pub(super) outstanding: Outstanding,
    timed: Option<Rc<dyn TimedPort>>,
    asked: RefCell<AskedOf>,
    last_acknowledged: Cell<Time>,
    memory_free: Rc<Cell<Time>>,
    moving: DelayLine<Moving>,
    given: DelayLine<Given>,
}

impl WriteChannel {
    pub(super) fn new(
        sim: &Sim,
        name: &str,
        source: Source,
        config: &AxiConfig,
        (target, timed): (Rc<dyn AxiTarget>, Option<Rc<dyn TimedPort>>),
        memory_free: Rc<Cell<Time>>,
        sink: Sink,
    ) -> Rc<WriteChannel> {
        let channel = Rc::new(WriteChannel {
            sim: sim.clone(),
            source,
            // Another sequence than the reads', from the same seed.
            latency: RefCell::new(LatencySource::new(config.write_latency, config.seed ^ 0x5757_5757)),
            target,
            outstanding: Outstanding::new(
                sim,
                &format!("{name}.write"),
                config.period,
                config.write_outstanding,
            ),
            timed,
            asked: RefCell::default(),
            last_acknowledged: Cell::new(Time::ZERO),
            memory_free,
            moving: DelayLine::new(sim, format!("{name}.w"), Time::ZERO),
            given: DelayLine::new(sim, format!("{name}.b"), Time::ZERO),
            config: config.clone(),
        });
        if let Some(timed) = &channel.timed {
            let this = Rc::downgrade(&channel);
            timed.on_served(
                true,
                Rc::new(move |tag| {
                    if let Some(channel) = this.upgrade() {
                        channel.served(tag);
                    }
                }),
            );
        }
        sim.server(format!("{name}.write_data"), channel.clone().give());
        sim.server(format!("{name}.write_response"), channel.clone().acknowledge(sink));
        channel
    }

    /// Waits until the memory takes another write.
    pub(super) async fn room(&self) {
        self.outstanding.room().await;
        if let Some(timed) = &self.timed {
            while !timed.has_room(true) {
                timed.room(true).wait().await;
            }
        }
    }

    /// Puts an address on AW now, and its data on W from now on.
    pub(super) fn issue(&self, burst: Burst, data: Vec<u8>) {
        let config = &self.config;
        let last_beat = self.sim.now() + config.cycles(u64::from(burst.beats - 1));
        if self.timed.is_some() {
            self.outstanding.add_open();
            self.report(Stage::Request, &burst);
            return self.move_until(last_beat, Moving { burst, data, acknowledged: None });
        }
        let stored = config.serve(&self.memory_free, last_beat, &burst);
        let latency = config.cycles(self.latency.borrow_mut().draw());
        let acknowledged = (stored + latency).max(self.last_acknowledged.get());
        self.last_acknowledged.set(acknowledged);
        self.outstanding.add(acknowledged);
        self.report(Stage::Request, &burst);
        self.move_until(stored, Moving { burst, data, acknowledged: Some(acknowledged) });
    }

    /// The memory has a burst's data at `stored`.
    fn move_until(&self, stored: Time, moving: Moving) {
        if stored > self.sim.now() || !self.moving.is_empty() {
            self.moving.push_at(stored, moving);
        } else {
            self.store(moving);
        }
    }

    /// The memory has all of a burst's data.
    fn store(&self, Moving { burst, data, acknowledged }: Moving) {
        self.report(Stage::Data, &burst);
        let answer = self.target.write(&burst, &data);
        let given = Given { burst, answer };
        if let Some(acknowledged) = acknowledged {
            return self.given.push_at(acknowledged, given);
        }
        let Some(timed) = &self.timed else { return };
        let mut asked = self.asked.borrow_mut();
        let tag = asked.count;
        asked.count += 1;
        asked.tags.insert(tag, burst.id);
        asked.ids.entry(burst.id).or_default().push_back((tag, false, given));
        timed.request(true, tag, &burst);
    }

    /// The memory has taken a write; it is acknowledged after all earlier ones of its id.
    fn served(&self, tag: u64) {
        let mut asked = self.asked.borrow_mut();
        let Some(id) = asked.tags.remove(&tag) else { return };
        let Some(queue) = asked.ids.get_mut(&id) else { return };
        if let Some((_, served, _)) = queue.iter_mut().find(|(of, ..)| *of == tag) {
            *served = true;
        }
        while queue.front().is_some_and(|&(_, served, _)| served)
            && let Some((_, _, given)) = queue.pop_front()
        {
            let latency = self.config.cycles(self.latency.borrow_mut().draw());
            let acknowledged = (self.sim.now() + latency).max(self.last_acknowledged.get());
            self.last_acknowledged.set(acknowledged);
            self.outstanding.close(acknowledged);
            self.given.push_at(acknowledged, given);
        }
    }

    async fn give(self: Rc<Self>) {
        loop {
            let moving = self.moving.next().await;
            self.store(moving);
        }
    }

    async fn acknowledge(self: Rc<Self>, sink: Sink) {
        loop {
            let Given { burst, answer } = self.given.next().await;
            if let Err(why) = answer.get(&self.sim).await {
                self.sim.report(self.source, What::Warning(&format!("write: {why}; data lost")));
            }
            self.report(Stage::Response, &burst);
            sink(burst);
        }
    }

    fn report(&self, stage: Stage, burst: &Burst) {
        let Burst { id, address, bytes, .. } = *burst;
        self.sim.report(self.source, What::Transfer(Transfer { stage, write: true, id, address, bytes }));
    }
}
