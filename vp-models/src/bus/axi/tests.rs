//! Random traffic of several clients: an interface that goes through the scheduler with every step, and one that does so
//! only where it must, do the same at the same times.

mod arbitration;
mod responses;

use super::*;
use crate::memory::Ram;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use vp_core::observe::{Observation, Observer, Transfer, What};
use vp_core::{Sim, Simulation, Stop};

const MEMORY: u64 = 0x4000;

/// Accesses of one client: so many cycles pass, then so many bytes are asked for, or put, from an address on.
type Traffic = Vec<(u64, u64, u32)>;

#[derive(Debug, Clone)]
enum Client {
    /// Asks as far as its FIFO has room, and takes some bytes every so many cycles.
    Buffered { capacity: u32, take: usize, every: u64, traffic: Traffic },
    /// Has the interface make its reads.
    Unbuffered { places: bool, take: usize, traffic: Traffic },
    /// Writes, each piece so many cycles after it was put.
    Writer { latency: u64, traffic: Traffic },
}

/// Way in which the memory answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// At once, into place.
    Inside,
    /// At once.
    AtOnce,
    /// Not before simulated time has come to where it needs the answer.
    Later,
}

#[derive(Debug, Clone)]
struct Case {
    latency: Latency,
    /// Beats of a burst, and those that the arbiter grants at once.
    beats: u32,
    granted_beats: u32,
    realigns: bool,
    outstanding: [u32; 2],
    pipeline: PipelineConfig,
    beats_limit: u32,
    bandwidth: Option<u64>,
    duplex: bool,
    memory: Memory,
    clients: Vec<(u32, Client)>,
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let scattered = prop::collection::vec((0u64..40, 0..MEMORY / 2, 1u32..300), 1..12);
    // Each where the one before ended, most of them the cycle after it.
    let run =
        (0..MEMORY / 8, 1u32..200, prop::collection::vec(prop_oneof![5 => Just(1u64), 1 => 0u64..9], 1..30))
            .prop_map(|(start, bytes, gaps)| {
                let address = |number: usize| start + number as u64 * u64::from(bytes);
                gaps.into_iter().enumerate().map(|(number, gap)| (gap, address(number), bytes)).collect()
            });
    prop_oneof![scattered, run]
}

fn client() -> impl Strategy<Value = Client> {
    prop_oneof![
        (64u32..600, 1usize..64, 0u64..12, traffic()).prop_map(|(capacity, take, every, traffic)| {
            Client::Buffered { capacity, take, every, traffic }
        }),
        (any::<bool>(), 1usize..900, traffic())
            .prop_map(|(places, take, traffic)| { Client::Unbuffered { places, take, traffic } }),
        (0u64..60, traffic()).prop_map(|(latency, traffic)| Client::Writer { latency, traffic }),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let latency = prop_oneof![
        (0u32..80).prop_map(Latency::Fixed),
        (0u32..10, 10u32..90).prop_map(|(min, max)| Latency::Drawn(Drawn::Uniform { min, max })),
    ];
    let memory = prop_oneof![Just(Memory::Inside), Just(Memory::AtOnce), Just(Memory::Later)];
    let bandwidth = prop_oneof![Just(None), (1u64..8).prop_map(|bytes| Some(bytes * 1_000_000_000))];
    let clients = prop::collection::vec((1u32..5, client()), 1..6);
    let pipeline = (1u32..5, 1u32..4)
        .prop_map(|(before_count, behind_count)| PipelineConfig { before_count, behind_count });
    let bandwidth = (bandwidth, any::<bool>());
    (
        latency,
        (0u32..3, 0u32..3, any::<bool>()),
        [1u32..20, 1u32..20],
        pipeline,
        1u32..40,
        bandwidth,
        memory,
        clients,
    )
        .prop_map(
            |(
                latency,
                (beats, more, realigns),
                outstanding,
                pipeline,
                beats_limit,
                (bandwidth, duplex),
                memory,
                clients,
            )| Case {
                latency,
                beats: 1 << beats,
                granted_beats: 1 << (beats + more),
                realigns,
                outstanding,
                pipeline,
                // A burst of more would wait for ever.
                beats_limit: beats_limit.max(1 << beats),
                bandwidth,
                duplex,
                memory,
                clients,
            },
        )
}

/// A RAM whose answers a test sets.
struct Slow {
    sim: Sim,
    ram: Ram,
    memory: Memory,
    answers: RefCell<Vec<Box<dyn FnOnce()>>>,
}

impl Slow {
    fn answer<T: 'static>(&self, value: Result<T, Unmapped>) -> Answer<T> {
        if self.memory != Memory::Later {
            return Answer::Now(value);
        }
        let completion = Completion::new(&self.sim, "answer");
        let later = completion.clone();
        self.answers.borrow_mut().push(Box::new(move || later.complete(value)));
        Answer::Later(completion)
    }
}

impl AxiTarget for Slow {
    fn read(&self, burst: &Burst) -> Answer<Vec<u8>> {
        match AxiTarget::read(&self.ram, burst) {
            Answer::Now(value) => self.answer(value),
            later @ Answer::Later(_) => later,
        }
    }

    fn read_onto(&self, burst: &Burst, onto: &mut Vec<u8>) -> Option<Result<(), Unmapped>> {
        (self.memory == Memory::Inside).then(|| self.ram.read_onto(burst, onto))?
    }

    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()> {
        match AxiTarget::write(&self.ram, burst, data) {
            Answer::Now(value) => self.answer(value),
            later @ Answer::Later(_) => later,
        }
    }
}

/// Transfers that were seen of each direction, in order.
#[derive(Default)]
struct TransferLog(RefCell<[Vec<(Time, Transfer)>; 2]>);

impl Observer for TransferLog {
    fn observe(&self, observation: &Observation<'_>) {
        if let What::Transfer(transfer) = observation.what {
            self.0.borrow_mut()[usize::from(transfer.write)].push((observation.time, transfer));
        }
    }
}

/// Makes reads one after the other, some cycles after the one before.
struct Script(RefCell<std::vec::IntoIter<(u64, u64, u32)>>);

impl Requester for Script {
    fn next(&self, now: Time) -> Option<Request> {
        let (gap, address, bytes) = self.0.borrow_mut().next()?;
        Some(Request { due: now + Time::ns(gap), address, bytes })
    }
}

/// Takes a beat every three cycles.
struct Reluctant(Cell<Time>);

impl BeatConsumer for Reluctant {
    fn take(&self, offered: Time) -> Time {
        let at = offered.max(self.0.get());
        self.0.set(at + Time::ns(3));
        at
    }
}

/// Client that took something or was done, the time, and the bytes.
type Taken = (usize, Time, Vec<u8>);

/// Results of a run.
struct Outcome {
    transfers: [Vec<(Time, Transfer)>; 2],
    taken: Vec<Taken>,
    memory: Vec<u8>,
    end: Time,
    levels: BTreeMap<usize, Levels>,
}

/// The levels that a FIFO has had, each since then; those that it had for no time are left out.
type Levels = Vec<(Time, i64)>;

/// Returns the levels of a FIFO that follow from its changes, in the order in which these were reported.
fn levels(mut changes: Vec<(Time, i64)>) -> Levels {
    changes.sort_by_key(|(time, _)| *time);
    let mut levels = Levels::from([(Time::ZERO, 0)]);
    for (time, by) in changes {
        let level = levels[levels.len() - 1].1 + by;
        assert!(level >= 0, "{level} at {time}");
        if levels[levels.len() - 1].0 == time {
            levels.pop();
        }
        if levels.last().is_none_or(|(_, last)| *last != level) {
            levels.push((time, level));
        }
    }
    levels
}

fn config(case: &Case) -> AxiConfig {
    AxiConfig {
        period: Time::ns(1),
        beat_bytes: 8,
        burst_beats: case.beats,
        transaction_beats: case.granted_beats,
        realigns_reads: case.realigns,
        address_bits: 64,
        read_outstanding: case.outstanding[0],
        read_pipeline: case.pipeline,
        write_outstanding: case.outstanding[1],
        write_pipeline: PipelineConfig { before_count: 1, behind_count: 1 },
        read_latency: case.latency,
        write_latency: case.latency,
        bandwidth: case.bandwidth,
        duplex: case.duplex,
        seed: 7,
        request_registers: RegisterKind::Catching,
        write_overlap: false,
        write_gathering: None,
    }
}

fn run(case: &Case, stepwise: bool) -> Outcome {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let ram = Ram::new(0..MEMORY);
    let pattern: Vec<u8> = (0..MEMORY).map(|at| (at * 7 + at / 251) as u8).collect();
    ram.write(0, &pattern).expect("inside");
    let memory = Rc::new(Slow { sim: sim.clone(), ram, memory: case.memory, answers: RefCell::default() });
    let interconnect = Interconnect::new(&sim, "axi", config(case), memory.clone());
    interconnect.set_stepwise(stepwise);
    interconnect.set_outstanding(case.beats_limit, 64);
    let seen = Rc::new(TransferLog::default());
    sim.observe(seen.clone());
    let changes = Rc::new(RefCell::new(BTreeMap::<usize, Vec<(Time, i64)>>::new()));
    let log = changes.clone();
    interconnect
        .fifos()
        .on_change(move |number, time, by| log.borrow_mut().entry(number).or_default().push((time, by)));
    let taken = Rc::new(RefCell::new(Vec::new()));
    for (number, (weight, client)) in case.clients.iter().cloned().enumerate() {
        start(&sim, &interconnect, (number, weight), client, &taken);
    }
    while simulation.run() == Stop::Held {
        memory.answers.take().into_iter().for_each(|answer| answer());
    }
    let mut left = vec![0; MEMORY as usize];
    memory.ram.read(0, &mut left).expect("inside");
    let mut taken = taken.take();
    taken.sort();
    let levels = changes.take().into_iter().map(|(number, changes)| (number, levels(changes))).collect();
    Outcome { transfers: seen.0.take(), taken, memory: left, end: simulation.now(), levels }
}

fn start(
    sim: &Sim,
    interconnect: &Rc<Interconnect>,
    (number, weight): (usize, u32),
    client: Client,
    taken: &Rc<RefCell<Vec<Taken>>>,
) {
    let id = number as u32;
    let (clock, log) = (sim.clone(), taken.clone());
    let taker = move |stream: Rc<ReadStream>, mut left: usize, take: usize, every: u64| async move {
        while left > 0 {
            let mut bytes = vec![0; take.min(left)];
            stream.take(&mut bytes).await;
            left -= bytes.len();
            log.borrow_mut().push((number, clock.now(), bytes));
            clock.wait_until(clock.now() + Time::ns(every)).await;
        }
    };
    let clock = sim.clone();
    let all = |traffic: &Traffic| traffic.iter().map(|&(.., bytes)| bytes as usize).sum();
    match client {
        Client::Buffered { capacity, take, every, traffic } => {
            let config = ReadStreamConfig { capacity, lines: u32::MAX, credit_return: Time::ns(5) };
            let stream = ReadStream::new(interconnect, "buffered", id, config);
            interconnect.set_read_weight(id, weight);
            sim.process("take", taker(stream.clone(), all(&traffic), take.min(capacity as usize), every));
            sim.process("ask", async move {
                for (gap, address, bytes) in traffic {
                    clock.wait_until(clock.now() + Time::ns(gap)).await;
                    stream.request(address, bytes).await;
                }
            });
        }
        Client::Unbuffered { places, take, traffic } => {
            let few = [IntakeStage::Fifo(2), IntakeStage::Skid];
            let stream =
                ReadStream::unbuffered(interconnect, "unbuffered", id, if places { &few } else { &[] });
            interconnect.set_read_weight(id, weight);
            if places {
                stream.set_taker(Some(Rc::new(Reluctant(Cell::default()))));
            }
            sim.process("take", taker(stream.clone(), all(&traffic), take, 0));
            sim.process("ask", async move {
                stream.run_requester(Rc::new(Script(RefCell::new(traffic.into_iter())))).await;
            });
        }
        Client::Writer { latency, traffic } => {
            let stream = WriteStream::new(interconnect, "writer", id);
            interconnect.set_write_weight(id, weight);
            let log = taken.clone();
            sim.process("put", async move {
                for (gap, address, bytes) in traffic {
                    clock.wait_until(clock.now() + Time::ns(gap)).await;
                    stream.line(MEMORY / 2 + address, bytes);
                    for piece in vec![number as u8; bytes as usize].chunks(32) {
                        stream.at_most(5).await;
                        stream.put_at(clock.now() + Time::ns(latency), piece);
                        clock.wait_until(clock.now() + Time::ns(2)).await;
                    }
                }
                stream.drained().await;
                log.borrow_mut().push((number, clock.now(), Vec::new()));
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_step_is_at_the_same_time_with_and_without_the_scheduler(case in case()) {
        let [by_itself, stepwise] = [false, true].map(|stepwise| run(&case, stepwise));
        prop_assert!(!by_itself.transfers.iter().all(Vec::is_empty));
        prop_assert!(by_itself.memory == stepwise.memory, "memory");
        prop_assert_eq!(by_itself.transfers, stepwise.transfers);
        prop_assert_eq!(by_itself.taken, stepwise.taken);
        prop_assert_eq!(by_itself.end, stepwise.end);
        prop_assert_eq!(by_itself.levels, stepwise.levels);
    }
}
