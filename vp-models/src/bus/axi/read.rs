//! The read channels AR and R: what is in flight, and when its data comes back.

use super::latency::LatencySource;
use super::outstanding::{Beats, Outstanding};
use super::{Answer, AxiConfig, AxiTarget, Burst, ReadStream, TimedPort};
use crate::bus::DelayLine;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
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

/// A read that a memory with a time of its own has been given.
struct Asked {
    burst: Burst,
    answer: Answer<Vec<u8>>,
    client: Option<Rc<ReadStream>>,
    served: bool,
}

/// What is asked of a [`TimedPort`] and not on its way back, by transaction id in the order of the bus, and which id a
/// tag belongs to.
#[derive(Default)]
struct AskedOf {
    ids: BTreeMap<u32, VecDeque<(u64, Asked)>>,
    tags: BTreeMap<u64, u32>,
    count: u64,
}

/// Who gets the data: burst, its bytes, and when the first beat was on the bus.
type Sink = Box<dyn Fn(Burst, &[u8])>;

/// AR and R of one interface. Addresses are accepted one at a time. Data returns in order over all ids, or, from a memory
/// with a time of its own, in order within each (AXI specification, "Transaction ordering").
pub(super) struct ReadChannel {
    sim: Sim,
    source: Source,
    config: AxiConfig,
    latency: RefCell<LatencySource>,
    target: Rc<dyn AxiTarget>,
    pub(super) outstanding: Outstanding,
    beats: Rc<Beats>,
    timed: Option<Rc<dyn TimedPort>>,
    asked: RefCell<AskedOf>,
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
        (target, timed): (Rc<dyn AxiTarget>, Option<Rc<dyn TimedPort>>),
        (memory_free, beats): (Rc<Cell<Time>>, Rc<Beats>),
        sink: Sink,
    ) -> Rc<ReadChannel> {
        let channel = Rc::new(ReadChannel {
            sim: sim.clone(),
            source,
            latency: RefCell::new(LatencySource::new(config.read_latency, config.seed)),
            target,
            outstanding: Outstanding::new(
                sim,
                &format!("{name}.read"),
                config.period,
                config.read_outstanding,
            ),
            beats,
            timed,
            asked: RefCell::default(),
            bus_free: Cell::new(Time::ZERO),
            memory_free,
            in_flight: DelayLine::new(sim, format!("{name}.r"), Time::ZERO),
            completing: DelayLine::new(sim, format!("{name}.r_last"), Time::ZERO),
            config: config.clone(),
        });
        if let Some(timed) = &channel.timed {
            let this = Rc::downgrade(&channel);
            timed.on_served(
                false,
                Rc::new(move |tag| {
                    if let Some(channel) = this.upgrade() {
                        channel.served(tag);
                    }
                }),
            );
        }
        sim.server(format!("{name}.read_data"), channel.clone().return_data(sink));
        sim.server(format!("{name}.read_last"), channel.clone().complete());
        channel
    }

    /// Waits until the memory takes another read.
    pub(super) async fn room(&self) {
        self.outstanding.room().await;
        if let Some(timed) = &self.timed {
            while !timed.has_room(false) {
                timed.room(false).wait().await;
            }
        }
    }

    /// Puts an address on AR now.
    pub(super) fn issue(&self, burst: Burst, client: Option<Rc<ReadStream>>) {
        let config = &self.config;
        if let Some(timed) = &self.timed {
            self.outstanding.add_open();
            self.beats.add_open(burst.beats);
            self.report(Stage::Request, &burst);
            let answer = self.target.read(&burst);
            let mut asked = self.asked.borrow_mut();
            let tag = asked.count;
            asked.count += 1;
            asked.tags.insert(tag, burst.id);
            let read = Asked { burst, answer, client, served: false };
            asked.ids.entry(burst.id).or_default().push_back((tag, read));
            return timed.request(false, tag, &burst);
        }
        let served = config.serve(&self.memory_free, self.sim.now(), &burst);
        // In order, one beat a cycle.
        let first = (served + config.cycles(self.latency.borrow_mut().draw())).max(self.bus_free.get());
        let (first, last) = self.on_bus(first, &burst, client.as_deref());
        self.outstanding.add(last);
        self.beats.add(burst.beats, first, last);
        self.report(Stage::Request, &burst);
        let answer = self.target.read(&burst);
        self.in_flight.push_at(first, InFlight { burst, last, answer });
    }

    /// When the first and the last beat are on the bus of a burst whose data can be there from `first` on.
    fn on_bus(&self, first: Time, burst: &Burst, client: Option<&ReadStream>) -> (Time, Time) {
        let (first, last) = client
            .and_then(|client| client.expect(first, burst.beats))
            .unwrap_or_else(|| (first, first + self.config.cycles(u64::from(burst.beats - 1))));
        self.bus_free.set(last + self.config.period);
        (first, last)
    }

    /// The memory has the data of a read; it goes on the bus when that of all earlier ones of its id has.
    fn served(&self, tag: u64) {
        let mut asked = self.asked.borrow_mut();
        let Some(id) = asked.tags.remove(&tag) else { return };
        let Some(queue) = asked.ids.get_mut(&id) else { return };
        if let Some((_, read)) = queue.iter_mut().find(|(of, _)| *of == tag) {
            read.served = true;
        }
        while queue.front().is_some_and(|(_, read)| read.served)
            && let Some((_, Asked { burst, answer, client, .. })) = queue.pop_front()
        {
            let earliest = self.sim.now().max(self.bus_free.get());
            let (first, last) = self.on_bus(earliest, &burst, client.as_deref());
            self.outstanding.close(last);
            self.beats.close(burst.beats, first, last);
            self.in_flight.push_at(first, InFlight { burst, last, answer });
        }
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
