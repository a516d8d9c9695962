//! The write channels AW, W and B: what is in flight, and when it is acknowledged.

use super::latency::LatencySource;
use super::outstanding::Outstanding;
use super::{Answer, AxiConfig, AxiTarget, Burst};
use crate::bus::DelayLine;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::{Source, Stage, Transfer, What};
use vp_core::{Sim, Time};

/// A write whose data is on its way to the memory.
struct Moving {
    burst: Burst,
    data: Vec<u8>,
    acknowledged: Time,
}

/// A write that the memory has been given.
struct Given {
    burst: Burst,
    answer: Answer<()>,
}

type Sink = Box<dyn Fn(Burst)>;

/// AW, W and B of one interface. Data follows its address a beat a cycle; the memory holds it before the
/// acknowledgement comes; acknowledgements are in order.
pub(super) struct WriteChannel {
    sim: Sim,
    source: Source,
    config: AxiConfig,
    latency: RefCell<LatencySource>,
    target: Rc<dyn AxiTarget>,
    pub(super) outstanding: Outstanding,
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
        target: Rc<dyn AxiTarget>,
        memory_free: Rc<Cell<Time>>,
        sink: Sink,
    ) -> Rc<WriteChannel> {
        let channel = Rc::new(WriteChannel {
            sim: sim.clone(),
            source,
            // Another sequence than the reads', from the same seed.
            latency: RefCell::new(LatencySource::new(config.write_latency, config.seed ^ 0x5757_5757)),
            target,
            outstanding: Outstanding::new(sim, config.period, config.write_outstanding),
            last_acknowledged: Cell::new(Time::ZERO),
            memory_free,
            moving: DelayLine::new(sim, format!("{name}.w"), Time::ZERO),
            given: DelayLine::new(sim, format!("{name}.b"), Time::ZERO),
            config: config.clone(),
        });
        sim.server(format!("{name}.write_data"), channel.clone().give());
        sim.server(format!("{name}.write_response"), channel.clone().acknowledge(sink));
        channel
    }

    /// Puts an address on AW now, and its data on W from now on.
    pub(super) fn issue(&self, burst: Burst, data: Vec<u8>) {
        let config = &self.config;
        let last_beat = self.sim.now() + config.cycles(u64::from(burst.beats - 1));
        let stored = config.serve(&self.memory_free, last_beat, &burst);
        let latency = config.cycles(self.latency.borrow_mut().draw());
        let acknowledged = (stored + latency).max(self.last_acknowledged.get());
        self.last_acknowledged.set(acknowledged);
        self.outstanding.add(acknowledged);
        self.report(Stage::Request, &burst);
        let moving = Moving { burst, data, acknowledged };
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
        self.given.push_at(acknowledged, Given { burst, answer });
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
