//! Rules that every memory keeps to, whatever it is made of.

use super::dram::{DramConfig, Grade, PagePolicy, Refresh, Scheduler};
use super::*;
use crate::bus::axi::{
    AxiConfig, Interconnect, Latency, PipelineConfig, ReadStream, ReadStreamConfig, RegisterKind, WriteStream,
};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use vp_core::observe::{EventHash, Observation, Observer, Stage, Transfer, What};
use vp_core::{Sim, Simulation, Time};

const BYTES: u64 = 1 << 16;

fn axi() -> AxiConfig {
    AxiConfig {
        period: Time::ns(1),
        beat_bytes: 8,
        burst_beats: 4,
        transaction_beats: 4,
        realigns_reads: false,
        address_bits: 64,
        read_outstanding: 32,
        read_pipeline: PipelineConfig { before_count: 3, behind_count: 2 },
        write_outstanding: 16,
        write_pipeline: PipelineConfig { before_count: 1, behind_count: 1 },
        read_latency: Latency::Fixed(30),
        write_latency: Latency::Fixed(1),
        bandwidth: None,
        duplex: false,
        seed: 1,
        request_registers: RegisterKind::Catching,
        write_overlap: false,
        write_gathering: None,
    }
}

/// Everything that is reported: the transfers, and what is counted, each with its time and who reports it.
struct Everything(Sim, RefCell<Vec<(Time, String, Transfer)>>, RefCell<Vec<(Time, String, String)>>);

impl Observer for Everything {
    fn observe(&self, observation: &Observation<'_>) {
        let source = || self.0.source_name(observation.source).to_string();
        match observation.what {
            What::Transfer(transfer) => self.1.borrow_mut().push((observation.time, source(), transfer)),
            What::Count { label, .. } => {
                self.2.borrow_mut().push((observation.time, source(), label.to_owned()));
            }
            _ => {}
        }
    }
}

struct Ran {
    transfers: Vec<(Time, String, Transfer)>,
    counts: Vec<(Time, String, String)>,
    /// Bytes that each reader got.
    read: Vec<Vec<u8>>,
    /// Bytes that memory holds in the end.
    left: Vec<u8>,
    hash: u64,
    end: Time,
}

impl Ran {
    fn count(&self, wanted: &str) -> usize {
        self.counts.iter().filter(|(_, _, label)| label == wanted).count()
    }
}

/// A line that a client reads or writes: address and bytes.
type Line = (u64, u32);

fn byte_at(address: u64) -> u8 {
    (address ^ (address >> 8) ^ 0x5a) as u8
}

/// Readers and writers, a client for each list of lines, each line after the other as fast as they can. Readers read from
/// the lower half and writers write to the upper.
fn run(model: &MemoryModel, axi: AxiConfig, readers: &[Vec<Line>], writers: &[Vec<Line>]) -> Ran {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let seen = Rc::new(Everything(sim.clone(), RefCell::default(), RefCell::default()));
    let hash = Rc::new(EventHash::default());
    sim.observe(seen.clone());
    sim.observe(hash.clone());
    let ram = Rc::new(Ram::new(0..BYTES));
    let filled: Vec<u8> = (0..BYTES / 2).map(byte_at).collect();
    ram.write(0, &filled).unwrap();
    let built = model.build(&sim, "axi", 0..BYTES, &axi).unwrap();
    let timed = built.as_ref().map(|built| built.place.clone());
    let interconnect = Interconnect::timed_by(&sim, "axi", axi, ram.clone(), timed);
    let read: Rc<RefCell<Vec<Vec<u8>>>> = Rc::new(RefCell::new(vec![Vec::new(); readers.len()]));
    for (id, lines) in readers.iter().enumerate() {
        let config = ReadStreamConfig { capacity: 1024, lines: u32::MAX, credit_return: Time::ZERO };
        let stream = ReadStream::new(&interconnect, "reader", id as u32, config);
        let (asking, asked) = (stream.clone(), lines.clone());
        sim.process("asks", async move {
            for (address, bytes) in asked {
                asking.request(address, bytes).await;
            }
        });
        let (read, lines) = (read.clone(), lines.clone());
        sim.process("takes", async move {
            for (_, bytes) in lines {
                let mut line = vec![0; bytes as usize];
                for part in line.chunks_mut(64) {
                    stream.take(part).await;
                }
                read.borrow_mut()[id].extend(line);
            }
        });
    }
    for (id, lines) in writers.iter().enumerate() {
        let stream = WriteStream::new(&interconnect, "writer", id as u32);
        let lines = lines.clone();
        sim.process("writes", async move {
            for (address, bytes) in lines {
                stream.line(BYTES / 2 + address, bytes);
                let data: Vec<u8> =
                    (0..u64::from(bytes)).map(|at| byte_at(address + at) ^ id as u8).collect();
                stream.put(&data, 64).await;
            }
            stream.drained().await;
        });
    }
    simulation.run();
    let waits = simulation.idle_report();
    assert!(!waits.is_deadlock(), "{waits:?}");
    let mut left = vec![0; BYTES as usize];
    ram.read(0, &mut left).unwrap();
    let (end, read) = (simulation.now(), read.take());
    Ran { transfers: seen.1.take(), counts: seen.2.take(), read, left, hash: hash.value(), end }
}

fn grades() -> Vec<Grade> {
    Grade::all().collect()
}

fn ddr4() -> Grade {
    "DDR4-2400R".parse().unwrap()
}

fn dram(standard: Grade) -> MemoryModel {
    MemoryModel { dram: Some(DramConfig::of(standard)), ..MemoryModel::default() }
}

fn lines(within: u64) -> impl Strategy<Value = Vec<Line>> {
    proptest::collection::vec((0..within, 1u32..200), 1..40).prop_map(move |lines| {
        lines.into_iter().map(|(at, bytes)| (at.min(within - u64::from(bytes)), bytes)).collect()
    })
}

fn traffic(seed: u64) -> TrafficConfig {
    let text = format!(
        "name = \"other\"\nrate = 2_000_000_000\npattern = \"random\"\nwrites = 0.3\nrest = 200\nrange = 65536\nseed = {seed}"
    );
    toml::from_str(&text).unwrap()
}

fn models() -> impl Strategy<Value = MemoryModel> {
    let standard = proptest::sample::select(grades());
    let rests = proptest::option::of(1u32..300);
    let policies = (0usize..3, any::<(bool, bool, bool, bool)>(), proptest::option::of(50u32..500));
    let dram = (standard, policies, (rests.clone(), rests), 1u32..40, 1u32..5, 0u32..3).prop_map(
        |(standard, (page, flags, age_limit), rests, queue, channels, overtake)| DramConfig {
            page: [PagePolicy::Closed, PagePolicy::Open, PagePolicy::Timer][page],
            scheduler: if flags.0 { Scheduler::Fcfs } else { Scheduler::FrFcfs },
            merge: flags.1,
            ranks: (flags.2 && standard.standard().most_ranks() > 1).then_some(2),
            refresh: if flags.3 && standard.standard().refreshes_banks() {
                Refresh::Bank
            } else {
                Refresh::All
            },
            age_limit,
            power_down: rests.0.filter(|_| standard.standard().most_pseudo_channels() == 1),
            self_refresh: rests.1.filter(|_| standard.standard().most_pseudo_channels() == 1),
            channels: Some(channels.next_power_of_two()),
            // Few rows, so that they are in each other's way.
            rows: Some(4),
            columns: Some(64),
            read_queue: queue,
            write_queue: queue,
            writes_high: queue,
            writes_low: queue / 2,
            overtake,
            ..DramConfig::of(standard)
        },
    );
    let sram = (0u32..3, 3u32..7, 1u32..4).prop_map(|(banks, word, cycle)| SramConfig {
        banks: 1 << banks,
        word: 1 << word,
        cycle,
        latency: 5,
    });
    let cache =
        (0u32..4, 1u32..4, 3u32..8, 1u32..5, 0usize..3).prop_map(|(sets, ways, line, mshrs, policy)| {
            let replacement = [Replacement::Lru, Replacement::Fifo, Replacement::Random][policy];
            CacheConfig {
                sets: 1 << sets,
                ways,
                line: 1 << line,
                mshrs,
                hit_latency: 3,
                replacement,
                seed: 1,
            }
        });
    let memory = (0usize..3, dram, sram);
    (memory, proptest::option::of(cache), 1u32..20, any::<bool>()).prop_map(
        |((which, dram, sram), cache, queue, beside)| MemoryModel {
            priority: None,
            litedram: None,
            queue: Some(queue),
            cache,
            dram: (which == 1).then_some(dram),
            sram: (which == 2).then_some(sram),
            traffic: if beside { vec![traffic(7)] } else { vec![] },
        },
    )
}

/// Returns the addresses of a stage's transfers, in their order, for each master, direction and id.
fn by_id(ran: &Ran, stage: Stage) -> BTreeMap<(String, bool, u32), Vec<u64>> {
    let mut found = BTreeMap::<_, Vec<u64>>::new();
    for (_, source, transfer) in ran.transfers.iter().filter(|(_, _, transfer)| transfer.stage == stage) {
        found.entry((source.clone(), transfer.write, transfer.id)).or_default().push(transfer.address);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered_once_in_the_order_of_its_id_with_the_rams_data(
        model in models(),
        readers in proptest::collection::vec(lines(BYTES / 2), 1..4),
        writers in proptest::collection::vec(lines(BYTES / 8), 0..3),
    ) {
        // Each writer has a part of its own: between ids there is no order.
        let writers: Vec<Vec<Line>> = (0..).zip(&writers).map(|(id, lines)| {
            lines.iter().map(|&(at, bytes)| (at + id * BYTES / 8, bytes)).collect()
        }).collect();
        let ran = run(&model, axi(), &readers, &writers);
        prop_assert_eq!(by_id(&ran, Stage::Request), by_id(&ran, Stage::Response));
        for (lines, read) in readers.iter().zip(&ran.read) {
            let expected: Vec<u8> =
                lines.iter().flat_map(|&(at, bytes)| (at..at + u64::from(bytes)).map(byte_at)).collect();
            prop_assert_eq!(read, &expected);
        }
        let plain = run(&MemoryModel::default(), axi(), &readers, &writers);
        prop_assert_eq!(&ran.left, &plain.left);
        prop_assert_eq!(&ran.read, &plain.read);
    }

    #[test]
    fn no_channel_moves_more_than_its_data_bus_carries(
        standard in proptest::sample::select(grades()),
        readers in proptest::collection::vec(lines(BYTES / 2), 1..4),
        writers in proptest::collection::vec(lines(BYTES / 8), 1..3),
    ) {
        // A source for each data bus.
        let config = DramConfig { pseudo_channels: Some(1), ..DramConfig::of(standard) };
        let timing = config.timing().unwrap();
        let model = MemoryModel { dram: Some(config), ..MemoryModel::default() };
        let ran = run(&model, axi(), &readers, &writers);
        let mut bursts = BTreeMap::<String, Vec<u64>>::new();
        for (at, source, label) in &ran.counts {
            let latency = match label.as_str() {
                "RD" => timing.CL + timing.tDQSCK,
                "WR" => timing.CWL + timing.tDQSS,
                _ => continue,
            };
            bursts.entry(source.clone()).or_default().push(at.cycles(Time::ps(timing.tCK)) + latency);
        }
        for on_bus in bursts.values_mut() {
            on_bus.sort_unstable();
            prop_assert!(on_bus.windows(2).all(|two| two[0] + timing.tBURST <= two[1]), "{:?}", on_bus);
        }
    }

    #[test]
    fn the_same_run_happens_again(model in models(), readers in proptest::collection::vec(lines(BYTES / 2), 1..3)) {
        let [first, second] = [(); 2].map(|()| run(&model, axi(), &readers, &[vec![(0, 200)]]));
        prop_assert_eq!((first.hash, first.end), (second.hash, second.end));
    }
}

/// A transfer through the places of a shared memory is as late as in front of a memory of one master.
#[test]
fn a_shared_memory_without_company_takes_the_cycles_of_one_alone() {
    let readers = [vec![(0, 4000), (0x1003, 77)], vec![(0x2000, 500)]];
    let writers = [vec![(0, 700), (0x1001, 30)], vec![(0x1800, 64)]];
    let shared = MemoryModel { queue: Some(256), ..MemoryModel::default() };
    for latency in [1, 30, 200] {
        let axi = AxiConfig { read_latency: Latency::Fixed(latency), ..axi() };
        let [alone, shared] =
            [&MemoryModel::default(), &shared].map(|model| run(model, axi.clone(), &readers, &writers));
        // What happens at one time may be reported in another order.
        let sorted = |ran: &Ran| {
            let key = |(time, _, it): &(Time, String, Transfer)| {
                (*time, it.write, it.id, it.stage as u8, it.address)
            };
            let mut all: Vec<_> = ran.transfers.iter().map(key).collect();
            all.sort_unstable();
            all
        };
        let differs = sorted(&alone).into_iter().zip(sorted(&shared)).find(|(one, other)| one != other);
        assert_eq!((differs, alone.end), (None, shared.end), "read latency {latency}");
    }
}

#[test]
fn a_limit_of_bandwidth_holds_for_all_masters_together() {
    let axi = AxiConfig { bandwidth: Some(1_000_000_000), ..axi() };
    let model = MemoryModel { traffic: vec![traffic(3)], ..MemoryModel::default() };
    let ran = run(&model, axi, &[vec![(0, 8000)]], &[]);
    let bytes: u64 = ran
        .transfers
        .iter()
        .filter(|(_, _, transfer)| transfer.stage == Stage::Response)
        .map(|(_, _, transfer)| u64::from(transfer.bytes))
        .sum();
    assert!(bytes > 12_000, "both are served: {bytes} bytes");
    assert!(bytes <= ran.end.cycles(Time::ns(1)) + 4096, "{bytes} bytes in {}", ran.end);
}

#[test]
fn another_seed_is_another_run() {
    let hash = |seed| {
        let model = MemoryModel { traffic: vec![traffic(seed)], ..dram(ddr4()) };
        run(&model, axi(), &[vec![(0, 8000)]], &[]).hash
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_generator_rests_when_nothing_else_happens() {
    let model = MemoryModel { traffic: vec![traffic(1)], ..dram(ddr4()) };
    let ran = run(&model, axi(), &[vec![(0, 64)]], &[]);
    assert!(ran.end < Time::us(2), "the simulation ends by itself: {}", ran.end);
}

#[test]
fn a_line_that_was_read_is_a_hit_until_others_need_its_place() {
    let cache = CacheConfig { sets: 1, ways: 2, line: 64, ..CacheConfig::default() };
    let model = MemoryModel { cache: Some(cache), ..MemoryModel::default() };
    // Bursts are of 32 bytes: two a line. 0 and 64 fill the set, 0 is used again, 128 takes the place of 64.
    let far = |line: u64| (line * 64, 32);
    let axi = AxiConfig { read_outstanding: 1, ..axi() };
    let ran = run(&model, axi.clone(), &[[0, 1, 0, 2, 0, 1].map(far).to_vec()], &[]);
    assert_eq!((ran.count("miss"), ran.count("hit"), ran.count("writeback")), (4, 2, 0));
    let fifo = CacheConfig { replacement: Replacement::Fifo, ..cache };
    let model = MemoryModel { cache: Some(fifo), ..MemoryModel::default() };
    // 128 takes the place of 0, that of 64, that of 128.
    let ran = run(&model, axi, &[[0, 1, 0, 2, 0, 1].map(far).to_vec()], &[]);
    assert_eq!((ran.count("miss"), ran.count("hit")), (5, 1));
}

#[test]
fn a_line_that_was_written_is_written_back_once() {
    let cache = CacheConfig { sets: 1, ways: 1, line: 32, ..CacheConfig::default() };
    let model = MemoryModel { cache: Some(cache), ..dram("LPDDR4-3200".parse().unwrap()) };
    // Whole lines are not fetched; each makes the one before go, and the last stays.
    let ran = run(&model, axi(), &[], &[vec![(0, 32 * 5)]]);
    assert_eq!((ran.count("miss"), ran.count("writeback"), ran.count("RD"), ran.count("WR")), (5, 4, 0, 4));
}

#[test]
fn misses_wait_for_a_place_among_those_in_flight() {
    let of = |mshrs| {
        let cache = CacheConfig { sets: 64, ways: 1, line: 32, mshrs, ..CacheConfig::default() };
        let axi = AxiConfig { read_latency: Latency::Fixed(100), ..axi() };
        run(&MemoryModel { cache: Some(cache), ..MemoryModel::default() }, axi, &[vec![(0, 32 * 16)]], &[])
            .end
    };
    // One line at a time: 16 latencies; four: a quarter of that.
    assert!(of(1) >= Time::ns(1600) && of(4) < Time::ns(600), "{} and {}", of(1), of(4));
}

#[test]
fn banks_of_an_sram_work_beside_each_other() {
    let of = |banks| {
        let sram = SramConfig { banks, word: 8, cycle: 4, latency: 4 };
        run(&MemoryModel { sram: Some(sram), ..MemoryModel::default() }, axi(), &[vec![(0, 1024)]], &[])
    };
    let [one, four] = [of(1), of(4)];
    // 128 words at 4 cycles, in one bank or in four.
    assert!(one.end >= Time::ns(128 * 4) && four.end < Time::ns(180), "{} and {}", one.end, four.end);
    assert!(one.count("bank_conflict") > four.count("bank_conflict"));
}

#[test]
fn refusals_say_what_would_be_right() {
    let refusal = |text: &str| {
        let model: MemoryModel = toml::from_str(text).unwrap();
        model.check().unwrap_err().to_string()
    };
    assert_eq!(refusal("[cache]\nsets = 3"), "cache.sets = 3: a power of two up to 1048576");
    assert_eq!(
        refusal("[sram]\n[dram]\nstandard = \"DDR4-2400R\""),
        "a memory is an SRAM or a DRAM, not both: leave out `sram` or `dram`"
    );
    let dram = |rest: &str| refusal(&format!("[dram]\nstandard = \"DDR4-2400R\"\n{rest}"));
    assert_eq!(dram("banks = 3"), "dram.banks = 3: it must be a power of two from 1 to 16");
    assert!(
        dram("mapping = \"row bank\"").starts_with("dram.mapping = \"row bank\": `group` has 2 bits here")
    );
    assert_eq!(dram("ranks = 8"), "dram.ranks = 8: it must be a power of two from 1 to 4");
    assert_eq!(dram("pseudo_channels = 2"), "dram.pseudo_channels = 2: DDR4 has 1 at most");
    assert_eq!(dram("burst_length = 16"), "dram.burst_length = 16: DDR4 has 8");
    assert_eq!(
        dram("power_down = 0"),
        "dram.power_down = 0: it is at least one clock; leave it out for none"
    );
    assert!(
        dram("refresh = \"bank\"").starts_with("dram.refresh = \"bank\": DDR4 refreshes all banks at once")
    );
    assert_eq!(dram("timing.tRC = 50"), "dram.timing.tRC = 50: it is at least tRAS + tRP - 1 = 54");
    assert_eq!(dram("timing.tCK = 0"), "dram.timing.tCK = 0: it is at least a picosecond = 1");
    assert!(
        dram("timing.tRDC = 20")
            .starts_with("dram.timing.tRDC: there is no such figure; figures are tCK, CL")
    );
    assert!(
        dram("timing.tRCD = \"soon\"")
            .starts_with("dram.timing.tRCD = \"soon\": a figure is a number of clocks")
    );
    let whole = |rest: &str| refusal(&format!("[dram]\nstandard = \"DDR5\"\n{rest}"));
    let parts = "data_bits = 32\ngroups = 8\nbanks = 4\nrows = 65536\ncolumns = 1024\n";
    assert!(
        whole("").starts_with("dram.data_bits is missing: DDR5 alone is no speed grade"),
        "{}",
        whole("")
    );
    assert!(whole(parts).starts_with("dram.timing.tCK is missing: DDR5 does not say it"), "{}", whole(parts));
    let clock = format!("{parts}timing.tCK = \"0.4 ns\"");
    assert!(whole(&clock).starts_with("dram.timing.CL is missing"), "{}", whole(&clock));
    assert!(dram("writes_low = 30").starts_with("dram.writes_low = 30, writes_high = 24: the low mark"));
    let traffic = |rest: &str| refusal(&format!("[[traffic]]\nname = \"cpu\"\nrate = 1000\n{rest}"));
    assert_eq!(traffic("writes = 1.5"), "traffic `cpu`: writes = 1.5: a share from 0 to 1");
    assert_eq!(traffic("burst = 48"), "traffic `cpu`: burst = 48: a power of two from 8 to 4096 bytes");
    let unknown = toml::from_str::<MemoryModel>("[dram]\nstandard = \"DDR9\"").unwrap_err().to_string();
    assert!(unknown.contains("no DRAM `DDR9`: there are DDR4-1600K"), "{unknown}");
}
