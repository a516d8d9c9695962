//! Cost of a simulated burst, its growth with the number of bursts, and the cost of observing it.
//!
//! `cargo bench -p vp-tests --bench bursts` prints a table: clients of one memory interface move growing numbers of bursts of 64
//! bytes to or from a RAM in the same process; the platform's observers (statistics, hash of all events) look on. A line is
//! one kind of traffic, a column a number of bursts, and the figure the host's nanoseconds of CPU time for each of them. A second table
//! has the same for one number of bursts, with nobody to observe them, with the hash alone, with the platform's observers, and with
//! one more that puts everything in the order of time, as a waveform does.
//!
//! `-- --once NAME COUNT` runs one of them once and prints nothing: for profilers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use nix::time::{ClockId, clock_gettime};
use vp_core::observe::{EventHash, Kinds, Observation, Observer, Transfer, What};
use vp_core::{Sim, Simulation, Time};
use vp_models::bus::axi::{
    AxiConfig, AxiStatistics, Interconnect, Latency, PipelineConfig, ReadStream, ReadStreamConfig,
    RegisterKind, Request, Requester, WriteStream,
};
use vp_models::memory::Ram;

const BURST: u32 = 64;
/// The RAM: addresses go round in it.
const BYTES: u64 = 1 << 20;
const COUNTS: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// Bursts of the second table.
const OBSERVED: u64 = 100_000;
/// Bursts of a read, as CDMA makes them.
const TOGETHER: u32 = 4;

/// A kind of traffic: starts processes that move so many bursts.
struct Traffic {
    name: &'static str,
    what: &'static str,
    start: fn(&Sim, &Rc<Interconnect>, u64),
}

const TRAFFIC: [Traffic; 4] = [
    Traffic { name: "weights", what: "reads that the interface makes, as CDMA's", start: weights },
    Traffic { name: "fifo", what: "reads through a latency FIFO, a burst at a time", start: fifo },
    Traffic { name: "writes", what: "writes", start: writes },
    Traffic { name: "all", what: "all three at once, a third of the bursts each", start: all },
];

/// Reads one after the other, a read a cycle.
struct Weights {
    left: Cell<u64>,
    at: Cell<u64>,
}

impl Requester for Weights {
    fn next(&self, now: Time) -> Option<Request> {
        let left = self.left.get().checked_sub(1)?;
        self.left.set(left);
        let (address, bytes) = (self.at.get(), TOGETHER * BURST);
        self.at.set((address + u64::from(bytes)) % BYTES);
        Some(Request { due: now + Time::ns(1), address, bytes })
    }
}

fn weights(sim: &Sim, interconnect: &Rc<Interconnect>, bursts: u64) {
    let stream = ReadStream::unbuffered(interconnect, "weights", 0, &[]);
    let (asking, reads) = (stream.clone(), bursts / u64::from(TOGETHER));
    sim.process("ask", async move {
        let weights = Weights { left: Cell::new(reads), at: Cell::new(0) };
        asking.run_requester(Rc::new(weights)).await;
    });
    sim.process("take", async move {
        // As many as lie in the buffer together.
        let mut left = reads * u64::from(TOGETHER * BURST);
        while left > 0 {
            let some = left.min(8 * u64::from(TOGETHER * BURST)) as usize;
            stream.wait_for_data(some).await;
            stream.take_all(some, |_| ());
            left -= some as u64;
        }
    });
}

fn fifo(sim: &Sim, interconnect: &Rc<Interconnect>, bursts: u64) {
    let config = ReadStreamConfig { capacity: 256 * BURST, lines: u32::MAX, credit_return: Time::ns(14) };
    let stream = ReadStream::new(interconnect, "fifo", 1, config);
    let asking = stream.clone();
    sim.process("ask", async move {
        for burst in 0..bursts {
            asking.request(burst * u64::from(BURST) % BYTES, BURST).await;
        }
    });
    sim.process("take", async move {
        let mut bytes = [0; BURST as usize];
        for _ in 0..bursts {
            stream.take(&mut bytes).await;
        }
    });
}

fn writes(sim: &Sim, interconnect: &Rc<Interconnect>, bursts: u64) {
    let stream = WriteStream::new(interconnect, "writes", 2);
    let clock = sim.clone();
    sim.process("put", async move {
        for burst in 0..bursts {
            stream.line(burst * u64::from(BURST) % BYTES, BURST);
            // Sixteen at once, each a few cycles after the one before.
            stream.put_at(clock.now() + Time::ns(24 + 4 * (burst % 16)), &[1; BURST as usize]);
            if burst % 16 == 15 {
                clock.wait(Time::ns(64)).await;
                stream.at_most(64).await;
            }
        }
        stream.drained().await;
    });
}

fn all(sim: &Sim, interconnect: &Rc<Interconnect>, bursts: u64) {
    weights(sim, interconnect, bursts / 3);
    fifo(sim, interconnect, bursts / 3);
    writes(sim, interconnect, bursts / 3);
}

/// CPU time of this process: what others do on the machine meanwhile is not in it.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// Observers that look on: each variant has those before it as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Looking {
    Nobody,
    Hash,
    Statistics,
    Sorted,
}

impl Looking {
    const ALL: [(Looking, &str); 4] = [
        (Looking::Nobody, "nobody"),
        (Looking::Hash, "hash"),
        (Looking::Statistics, "statistics"),
        (Looking::Sorted, "in order"),
    ];
}

/// Puts transfers in the order of time, and counts those that are complete.
#[derive(Default)]
struct Sorted {
    kept: RefCell<Vec<(Time, Transfer)>>,
    complete: Cell<usize>,
}

impl Observer for Sorted {
    fn wants(&self) -> Kinds {
        Kinds::TRANSFERS | Kinds::WATERMARKS
    }

    fn observe(&self, observation: &Observation<'_>) {
        if let What::Transfer(transfer) = observation.what {
            self.kept.borrow_mut().push((observation.time, transfer));
        }
    }

    fn complete_until(&self, watermark: Time) {
        let mut kept = self.kept.borrow_mut();
        kept.sort_by_key(|&(time, _)| time);
        let complete = kept.partition_point(|&(time, _)| time < watermark);
        self.complete.set(self.complete.get() + kept.drain(..complete).len());
    }
}

/// Moves so many bursts; gives how long it took.
fn run(traffic: &Traffic, bursts: u64, looking: Looking) -> f64 {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let config = AxiConfig {
        period: Time::ns(1),
        beat_bytes: BURST,
        burst_beats: 1,
        transaction_beats: 1,
        realigns_reads: false,
        address_bits: 64,
        read_outstanding: 256,
        read_pipeline: PipelineConfig { before_count: 3, behind_count: 2 },
        write_outstanding: 256,
        write_pipeline: PipelineConfig { before_count: 1, behind_count: 1 },
        read_latency: Latency::Fixed(100),
        write_latency: Latency::Fixed(50),
        bandwidth: None,
        duplex: false,
        seed: 1,
        request_registers: RegisterKind::Catching,
        write_overlap: false,
        write_gathering: None,
    };
    let ram = Ram::new(0..BYTES);
    ram.write(0, &vec![1; BYTES as usize]).expect("inside");
    let interconnect = Interconnect::new(&sim, "dbb", config, Rc::new(ram));
    let statistics = Rc::new(AxiStatistics::new(interconnect.source()));
    let sorted = Rc::new(Sorted::default());
    if looking >= Looking::Hash {
        sim.observe(Rc::new(EventHash::default()));
    }
    if looking >= Looking::Statistics {
        sim.observe(statistics.clone());
    }
    if looking >= Looking::Sorted {
        sim.observe(sorted.clone());
    }
    (traffic.start)(&sim, &interconnect, bursts);
    let start = cpu_seconds();
    simulation.run();
    let took = cpu_seconds() - start;
    if looking >= Looking::Statistics {
        let moved = statistics.reads().completed + statistics.writes().completed;
        assert!(moved > bursts - bursts / 100 - 20 && moved <= bursts, "{moved} of {bursts} bursts");
        // Of each its request, its data and its end; some are seen at the very end.
        assert!(looking < Looking::Sorted || sorted.complete.get() as u64 > 3 * moved - 20);
    }
    took
}

/// The least nanoseconds a burst of some runs: small counts are over soon.
fn cost(traffic: &Traffic, bursts: u64, looking: Looking) -> f64 {
    let runs = (100_000 / bursts).clamp(3, 20);
    let best = (0..runs).map(|_| run(traffic, bursts, looking)).fold(f64::INFINITY, f64::min);
    best * 1e9 / bursts as f64
}

#[expect(clippy::print_stdout, reason = "the output of a command line program")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    if has("--once") {
        let count = wanted.iter().find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
        let named = TRAFFIC.iter().filter(|traffic| wanted.iter().any(|name| *name == traffic.name));
        named.for_each(|traffic| _ = run(traffic, count, Looking::Statistics));
        return;
    }
    // `cargo bench` says so; `cargo test --benches` only wants to see it run.
    let counts = if has("--bench") { &COUNTS[..] } else { &COUNTS[..2] };
    let chosen =
        || TRAFFIC.iter().filter(|of| wanted.is_empty() || wanted.iter().any(|name| *name == of.name));
    let cells =
        |cells: &mut dyn Iterator<Item = String>| cells.map(|cell| format!("{cell:>12}")).collect::<String>();
    println!("{:8}{}   ns a burst, of so many", "", cells(&mut counts.iter().map(u64::to_string)));
    for traffic in chosen() {
        let costs = counts.iter().map(|&count| cost(traffic, count, Looking::Statistics));
        println!(
            "{:8}{}   {}",
            traffic.name,
            cells(&mut costs.map(|cost| format!("{cost:.1}"))),
            traffic.what
        );
    }
    let names = Looking::ALL.iter().map(|(_, name)| (*name).to_owned());
    println!("\n{:8}{}   ns a burst, observed by", "", cells(&mut names.into_iter()));
    for traffic in chosen() {
        let costs = Looking::ALL.iter().map(|&(looking, _)| cost(traffic, OBSERVED, looking));
        println!("{:8}{}", traffic.name, cells(&mut costs.map(|cost| format!("{cost:.1}"))));
    }
}
