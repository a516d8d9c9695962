//! The arbiter between the DMA clients of one memory interface (NVDLA's MCIF and SRAMIF).

use super::outstanding::Beats;
use super::read::ReadChannel;
use super::write::WriteChannel;
use super::{AxiConfig, AxiTarget, Burst, ReadStream, TimedPort, WriteStream};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use vp_core::observe::Source;
use vp_core::{Event, Sim, Time, select};

/// A client of an interconnect, in the order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientId(usize);

/// Weighted round robin: a client is granted up to its weight in a row, then the next that asks has its turn.
#[derive(Default)]
struct Turn {
    /// Who was granted last; nobody at the start, so the first client comes first.
    granted: Option<usize>,
    left: u32,
}

impl Turn {
    fn next(
        &mut self,
        clients: usize,
        weight: impl Fn(usize) -> u32,
        asks: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if let Some(client) = self.granted
            && self.left > 0
            && asks(client)
        {
            self.left -= 1;
            return Some(client);
        }
        let first = self.granted.map_or(0, |client| client + 1);
        let next = (0..clients).map(|step| (first + step) % clients).find(|&client| asks(client))?;
        // A weight of zero counts as one: it must not starve the client for ever.
        *self = Turn { granted: Some(next), left: weight(next).max(1) - 1 };
        Some(next)
    }
}

struct ReadClient {
    id: u32,
    weight: Cell<u32>,
    queue: RefCell<VecDeque<Burst>>,
    stream: RefCell<Weak<ReadStream>>,
}

struct WriteClient {
    id: u32,
    weight: Cell<u32>,
    /// When its last burst has left its buffer: the next one enters only then, a beat a cycle.
    buffer_free: Cell<Time>,
    queue: RefCell<VecDeque<(Burst, Vec<u8>)>>,
    stream: RefCell<Weak<WriteStream>>,
}

/// One memory interface: its clients, their arbitration, and the AXI channels behind it.
pub struct Interconnect {
    sim: Sim,
    source: Source,
    config: AxiConfig,
    readers: RefCell<Vec<Rc<ReadClient>>>,
    writers: RefCell<Vec<Rc<WriteClient>>>,
    read_requested: Event,
    write_requested: Event,
    reads: Rc<ReadChannel>,
    writes: Rc<WriteChannel>,
    /// Beats of reads asked for, as the device counts them.
    beats: Rc<Beats>,
}

impl Interconnect {
    /// An interface named `name` (observations carry that name) in front of `target`.
    pub fn new(sim: &Sim, name: &str, config: AxiConfig, target: Rc<dyn AxiTarget>) -> Rc<Interconnect> {
        Interconnect::timed_by(sim, name, config, target, None)
    }

    /// The same, in front of a memory whose answers come when `timed` says.
    pub fn timed_by(
        sim: &Sim,
        name: &str,
        config: AxiConfig,
        target: Rc<dyn AxiTarget>,
        timed: Option<Rc<dyn TimedPort>>,
    ) -> Rc<Interconnect> {
        let source = sim.source(name);
        let memory_free = Rc::new(Cell::new(vp_core::Time::ZERO));
        let beats = Rc::new(Beats::new(sim, name, config.period));
        let interconnect = Rc::new_cyclic(|this: &Weak<Interconnect>| {
            let (data, acknowledged) = (this.clone(), this.clone());
            let free = memory_free.clone();
            let on_data = Box::new(move |burst: Burst, bytes: &[u8]| {
                if let Some(stream) = data.upgrade().and_then(|this| this.reader_of(burst.id)) {
                    stream.deliver(&burst, bytes);
                }
            });
            let on_acknowledged = Box::new(move |burst: Burst| {
                if let Some(stream) = acknowledged.upgrade().and_then(|this| this.writer_of(burst.id)) {
                    stream.acknowledged();
                }
            });
            Interconnect {
                sim: sim.clone(),
                source,
                readers: RefCell::default(),
                writers: RefCell::default(),
                read_requested: sim.work_event(format!("{name}.read_request")),
                write_requested: sim.work_event(format!("{name}.write_request")),
                reads: ReadChannel::new(
                    sim,
                    name,
                    source,
                    &config,
                    (target.clone(), timed.clone()),
                    (free.clone(), beats.clone()),
                    on_data,
                ),
                writes: WriteChannel::new(sim, name, source, &config, (target, timed), free, on_acknowledged),
                beats,
                config,
            }
        });
        sim.server(format!("{name}.read_arbiter"), interconnect.clone().arbitrate_reads());
        sim.server(format!("{name}.write_arbiter"), interconnect.clone().arbitrate_writes());
        interconnect
    }

    /// The interface's shape.
    pub fn config(&self) -> &AxiConfig {
        &self.config
    }

    /// What the interface's transfers are reported as.
    pub fn source(&self) -> Source {
        self.source
    }

    pub(super) fn sim(&self) -> &Sim {
        &self.sim
    }

    /// How many requests the read client of this transaction id may be granted in a row.
    pub fn set_read_weight(&self, id: u32, weight: u32) {
        if let Some(client) = self.readers.borrow().iter().find(|client| client.id == id) {
            client.weight.set(weight);
        }
    }

    /// How many requests the write client of this transaction id may be granted in a row.
    pub fn set_write_weight(&self, id: u32, weight: u32) {
        if let Some(client) = self.writers.borrow().iter().find(|client| client.id == id) {
            client.weight.set(weight);
        }
    }

    /// Whether nothing is outstanding in either direction.
    pub fn is_idle(&self) -> bool {
        self.reads.outstanding.is_empty() && self.writes.outstanding.is_empty()
    }

    /// Limits what is in flight further than the memory does: beats of reads, and writes.
    pub fn set_outstanding(&self, read_beats: u32, writes: u32) {
        self.beats.set_limit(read_beats);
        self.writes.outstanding.set_limit(writes);
    }

    pub(super) fn add_reader(&self, id: u32) -> ClientId {
        let mut readers = self.readers.borrow_mut();
        readers.push(Rc::new(ReadClient {
            id,
            weight: Cell::new(1),
            queue: RefCell::default(),
            stream: RefCell::default(),
        }));
        ClientId(readers.len() - 1)
    }

    pub(super) fn add_writer(&self, id: u32) -> ClientId {
        let mut writers = self.writers.borrow_mut();
        writers.push(Rc::new(WriteClient {
            id,
            weight: Cell::new(1),
            buffer_free: Cell::new(Time::ZERO),
            queue: RefCell::default(),
            stream: RefCell::default(),
        }));
        ClientId(writers.len() - 1)
    }

    pub(super) fn connect_reader(&self, client: ClientId, stream: &Rc<ReadStream>) {
        *self.readers.borrow()[client.0].stream.borrow_mut() = Rc::downgrade(stream);
    }

    pub(super) fn connect_writer(&self, client: ClientId, stream: &Rc<WriteStream>) {
        *self.writers.borrow()[client.0].stream.borrow_mut() = Rc::downgrade(stream);
    }

    /// How many of a client's reads wait for the arbiter.
    pub(super) fn waiting_reads(&self, client: ClientId) -> usize {
        self.readers.borrow()[client.0].queue.borrow().len()
    }

    pub(super) fn request_read(&self, client: ClientId, burst: Burst) {
        self.readers.borrow()[client.0].queue.borrow_mut().push_back(burst);
        self.read_requested.notify_delta();
    }

    pub(super) fn request_write(&self, client: ClientId, burst: Burst, data: Vec<u8>) {
        let writers = self.writers.borrow();
        let mut queue = writers[client.0].queue.borrow_mut();
        queue.push_back((burst, data));
        // What waits behind another burst changes nothing for the arbiter.
        if queue.len() == 1 {
            self.write_requested.notify_delta();
        }
    }

    fn reader_of(&self, id: u32) -> Option<Rc<ReadStream>> {
        self.readers.borrow().iter().find(|client| client.id == id)?.stream.borrow().upgrade()
    }

    fn writer_of(&self, id: u32) -> Option<Rc<WriteStream>> {
        self.writers.borrow().iter().find(|client| client.id == id)?.stream.borrow().upgrade()
    }

    async fn arbitrate_reads(self: Rc<Self>) {
        let mut turn = Turn::default();
        loop {
            self.reads.room().await;
            let granted = {
                let readers = self.readers.borrow();
                let asks = |client: usize| !readers[client].queue.borrow().is_empty();
                turn.next(readers.len(), |client| readers[client].weight.get(), asks).and_then(|client| {
                    let stream = readers[client].stream.borrow().upgrade();
                    readers[client].queue.borrow_mut().pop_front().map(|burst| (burst, stream))
                })
            };
            let Some((burst, stream)) = granted else {
                self.read_requested.wait().await;
                continue;
            };
            self.beats.room(burst.beats).await;
            self.reads.issue(burst, stream.clone());
            if let Some(stream) = stream {
                stream.granted();
            }
            // One address a cycle.
            self.sim.wait(self.config.period).await;
        }
    }

    async fn arbitrate_writes(self: Rc<Self>) {
        let mut turn = Turn::default();
        // From when on the next address may follow.
        let mut free = Time::ZERO;
        loop {
            self.writes.room().await;
            let granted = if self.sim.now() < free {
                None
            } else {
                let writers = self.writers.borrow();
                let asks = |client: usize| {
                    self.asks_to_write(&writers[client]).is_some_and(|at| at <= self.sim.now())
                };
                turn.next(writers.len(), |client| writers[client].weight.get(), asks).and_then(|client| {
                    let granted = writers[client].queue.borrow_mut().pop_front();
                    if let Some(stream) = writers[client].stream.borrow().upgrade() {
                        stream.granted();
                    }
                    granted.map(|(burst, data)| (client, burst, data))
                })
            };
            let Some((client, burst, data)) = granted else {
                let next = self.writers.borrow().iter().filter_map(|writer| self.asks_to_write(writer)).min();
                match next {
                    Some(at) => {
                        select(self.write_requested.wait(), self.sim.wait_until(at.max(free))).await;
                    }
                    None => self.write_requested.wait().await,
                }
                continue;
            };
            self.writes.issue(burst, data);
            let left = self.sim.now() + self.config.cycles(burst.beats.into());
            self.writers.borrow()[client].buffer_free.set(left);
            free = left;
        }
    }

    /// From when on a client asks for its next burst: when the whole burst is in its buffer at the arbiter.
    fn asks_to_write(&self, writer: &WriteClient) -> Option<Time> {
        let queue = writer.queue.borrow();
        let (burst, _) = queue.front()?;
        let enters = if self.config.write_overlap { 0 } else { burst.beats };
        Some(writer.buffer_free.get() + self.config.cycles(enters.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Interconnect, Turn};
    use crate::bus::axi::{AxiConfig, Latency, WriteStream};
    use crate::memory::Ram;
    use std::cell::RefCell;
    use std::rc::Rc;
    use vp_core::observe::{Observation, Observer, Stage, What};
    use vp_core::{Sim, Simulation, Time};

    /// When which client's bursts were on AW, in cycles.
    struct Addresses(Sim, RefCell<Vec<(u32, u64)>>);

    impl Observer for Addresses {
        fn observe(&self, observation: &Observation<'_>) {
            if let What::Transfer(transfer) = observation.what
                && transfer.stage == Stage::Request
            {
                self.1.borrow_mut().push((transfer.id, self.0.now().cycles(Time::ns(1))));
            }
        }
    }

    /// Each client puts three bursts of `beats` beats at once.
    fn written(clients: u32, beats: u32) -> Vec<(u32, u64)> {
        let mut simulation = Simulation::new();
        let sim = simulation.sim();
        let config = AxiConfig {
            period: Time::ns(1),
            beat_bytes: 8,
            burst_beats: beats,
            read_outstanding: 1,
            write_outstanding: 16,
            read_latency: Latency::Fixed(1),
            write_latency: Latency::Fixed(1),
            bandwidth: None,
            seed: 0,
            write_overlap: false,
        };
        let interconnect = Interconnect::new(&sim, "axi", config, Rc::new(Ram::new(0..0x10000)));
        for id in 0..clients {
            let stream = WriteStream::new(&interconnect, "client", id, 8);
            sim.process("client", async move {
                let bytes = 3 * 8 * beats;
                stream.line(u64::from(id) * 0x1000, bytes);
                stream.put(&vec![0; bytes as usize]).await;
                stream.drained().await;
            });
        }
        let addresses = Rc::new(Addresses(sim.clone(), RefCell::default()));
        sim.observe(addresses.clone());
        simulation.run();
        addresses.1.take()
    }

    /// It leaves its buffer at the arbiter a beat a cycle, and only then the next one enters, as fast.
    #[test]
    fn a_clients_bursts_follow_each_other_every_two_cycles_a_beat() {
        let times = |beats| -> Vec<u64> { written(1, beats).into_iter().map(|(_, at)| at).collect() };
        let [single, four] = [times(1), times(4)];
        assert_eq!([single[1] - single[0], single[2] - single[1]], [2, 2]);
        assert_eq!([four[1] - four[0], four[2] - four[1]], [8, 8]);
    }

    #[test]
    fn two_clients_fill_the_write_channel() {
        let bursts = written(2, 4);
        assert_eq!(bursts.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
        assert!(bursts.windows(2).all(|two| two[1].1 - two[0].1 == 4), "{bursts:?}");
    }

    fn grants(weights: &[u32], rounds: usize) -> Vec<usize> {
        let mut turn = Turn::default();
        (0..rounds).filter_map(|_| turn.next(weights.len(), |client| weights[client], |_| true)).collect()
    }

    #[test]
    fn equal_weights_take_turns() {
        assert_eq!(grants(&[1, 1, 1], 6), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_weight_is_the_number_of_grants_in_a_row() {
        assert_eq!(grants(&[1, 3], 8), [0, 1, 1, 1, 0, 1, 1, 1]);
    }

    #[test]
    fn a_client_that_does_not_ask_is_passed_over() {
        let mut turn = Turn::default();
        let mut grant = || turn.next(3, |_| 1, |client| client == 2);
        assert_eq!((grant(), grant()), (Some(2), Some(2)));
        assert_eq!(turn.next(3, |_| 1, |_| false), None);
    }
}
