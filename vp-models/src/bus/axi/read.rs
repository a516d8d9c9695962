//! The read channels AR and R: what is in flight, and when its data comes back.

use super::latency::LatencySource;
use super::outstanding::Outstanding;
use super::{Answer, AxiConfig, AxiTarget, Burst, ReadStream};
use crate::bus::DelayLine;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::{Source, Stage, Transfer, What};
use vp_core::{Sim, Time};

/// A read accepted by the memory and not yet handed back.
struct InFlight {
    burst: Burst,
    /// When its last beat should be on the bus.
    last: Time,
    answer: Answer<Vec<u8>>,
}

/// Who gets the data: burst, its bytes, and when the first beat was on the bus.
type Sink = Box<dyn Fn(Burst, &[u8])>;

/// AR and R of one interface. Addresses are accepted one at a time, data returns in order over all ids.
pub(super) struct ReadChannel {
    sim: Sim,
    source: Source,
    config: AxiConfig,
    latency: RefCell<LatencySource>,
    target: Rc<dyn AxiTarget>,
    pub(super) outstanding: Outstanding,
    /// When the data bus is free for the next beat.
    bus_free: Cell<Time>,
    /// When the memory has moved all it was asked to; shared with the write channel.
    memory_free: Rc<Cell<Time>>,
    in_flight: DelayLine<InFlight>,
    completing: DelayLine<Burst>,
}

impl ReadChannel {
    pub(super) fn new(
        sim: &Sim,
        name: &str,
        source: Source,
        config: &AxiConfig,
        target: Rc<dyn AxiTarget>,
        memory_free: Rc<Cell<Time>>,
        sink: Sink,
    ) -> Rc<ReadChannel> {
        let channel = Rc::new(ReadChannel {
            sim: sim.clone(),
            source,
            latency: RefCell::new(LatencySource::new(config.read_latency, config.seed)),
            target,
            outstanding: Outstanding::new(sim, config.period, config.read_outstanding),
            bus_free: Cell::new(Time::ZERO),
            memory_free,
            in_flight: DelayLine::new(sim, format!("{name}.r"), Time::ZERO),
            completing: DelayLine::new(sim, format!("{name}.r_last"), Time::ZERO),
            config: config.clone(),
        });
        sim.server(format!("{name}.read_data"), channel.clone().return_data(sink));
        sim.server(format!("{name}.read_last"), channel.clone().complete());
        channel
    }

    /// Puts an address on AR now. Tells when its first and its last beat will be on the bus.
    pub(super) fn issue(&self, burst: Burst, client: Option<&ReadStream>) -> (Time, Time) {
        let config = &self.config;
        let served = config.serve(&self.memory_free, self.sim.now(), &burst);
        // In order, one beat a cycle.
        let first = (served + config.cycles(self.latency.borrow_mut().draw())).max(self.bus_free.get());
        let (first, last) = client
            .and_then(|client| client.expect(first, burst.beats))
            .unwrap_or_else(|| (first, first + config.cycles(u64::from(burst.beats - 1))));
        self.bus_free.set(last + config.period);
        self.outstanding.add(last);
        self.report(Stage::Request, &burst);
        let answer = self.target.read(&burst);
        self.in_flight.push_at(first, InFlight { burst, last, answer });
        (first, last)
    }

    async fn return_data(self: Rc<Self>, sink: Sink) {
        loop {
            let InFlight { burst, last, answer } = self.in_flight.next().await;
            let data = match answer.get(&self.sim).await {
                Ok(data) if data.len() == burst.bytes as usize => data,
                refused => {
                    // Hardware gets a DECERR response and whatever is on the bus: zeros here.
                    let why =
                        refused.map_or_else(|why| why.to_string(), |data| wrong_length(&burst, data.len()));
                    self.sim.report(self.source, What::Warning(&format!("read: {why}; zeros returned")));
                    vec![0; burst.bytes as usize]
                }
            };
            self.report(Stage::Data, &burst);
            sink(burst, &data);
            let earliest = self.sim.now() + self.config.cycles(u64::from(burst.beats - 1));
            let last = last.max(earliest);
            if last > self.sim.now() || !self.completing.is_empty() {
                self.completing.push_at(last, burst);
            } else {
                self.report(Stage::Response, &burst);
            }
        }
    }

    async fn complete(self: Rc<Self>) {
        loop {
            let burst = self.completing.next().await;
            self.report(Stage::Response, &burst);
        }
    }

    fn report(&self, stage: Stage, burst: &Burst) {
        let Burst { id, address, bytes, .. } = *burst;
        self.sim.report(self.source, What::Transfer(Transfer { stage, write: false, id, address, bytes }));
    }
}

fn wrong_length(burst: &Burst, got: usize) -> String {
    format!("the memory at 0x{:x} answered {got} bytes where {} were asked for", burst.address, burst.bytes)
}
