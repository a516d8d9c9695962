//! A platform that goes on from a saved one goes on as what was not interrupted: the same events at the same times, the same
//! statistics, registers and memory.

use std::cell::Cell;
use std::io::{Cursor, Read as _};
use std::rc::Rc;

use flate2::bufread::DeflateDecoder;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_core::Time;
use vp_host::LocalHost;
use vp_host::fpga_ai_suite::{Driver, Model};
use vp_host::network::{Measured, Network, Options as NetworkOptions, Plan, example_input};
use vp_host::trace::player::{self, Outcome, PlayOptions};
use vp_host::trace::{Trace, discover};
use vp_host::{Host, HostError};
use vp_hub::{
    Access, AccessKind, Hub, Input, MemoryGuarantees, Operation as Accessing, PartyCommand, PartyId,
    Recorded, Recorder, Role, Tag, TimeMode,
};
use vp_models::fpga_ai_suite::graph::{Converter, Graph, Operation, Shape, Sums, Tensor};
use vp_models::memory::{MemoryBudget, MemoryPool};
use vp_models::platform::{Description, DeviceDescription, Platform};
use vp_tests::effort::cases;
use vp_tests::random::{Draw, Leaves};
use vp_tests::stage::{MEMORY, hub};
use vp_tests::{shared, traces};

/// A host that saves its platform now and then, where that next comes to rest; and then goes on with that one, or with what is
/// made of the saved bytes.
struct Interrupted {
    host: LocalHost,
    random: ChaCha8Rng,
    /// One call in so many is behind a save.
    often: u32,
    goes_on_restored: bool,
    limit: Time,
    /// Each save: when, or why not.
    saves: Vec<Result<Time, String>>,
}

impl Interrupted {
    fn new(description: &Description, (seed, often): (u64, u32), goes_on_restored: bool) -> Interrupted {
        let host = LocalHost::new(Platform::build(description).unwrap());
        let (random, saves) = (ChaCha8Rng::seed_from_u64(seed), Vec::new());
        Interrupted { host, random, often, goes_on_restored, limit: Time::MAX, saves }
    }

    fn saved(&mut self) -> Result<Vec<u8>, HostError> {
        let mut bytes = Vec::new();
        self.host.save(&mut bytes).map(|_| bytes)
    }

    fn maybe_save(&mut self) {
        if self.random.random_range(0..self.often) > 0 {
            return;
        }
        let saved = self.saved();
        self.saves.push(match &saved {
            Ok(_) => Ok(self.host.now().unwrap()),
            Err(why) => Err(why.to_string()),
        });
        if let (Ok(bytes), true) = (saved, self.goes_on_restored) {
            let budget = MemoryBudget::unlimited();
            let platform = Platform::restore(&mut Cursor::new(&bytes), None, budget).unwrap();
            self.host = LocalHost::new(platform);
            self.host.set_limit(self.limit);
            // What was taken up is what was saved.
            assert_eq!(self.saved().unwrap(), bytes);
        }
    }
}

impl Host for Interrupted {
    vp_host::forward_host!(host: now, load, fetch, map, device, statistics, activity, warnings);

    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.maybe_save();
        self.host.write(address, value)
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.maybe_save();
        self.host.write_acknowledged(address, value)
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        self.maybe_save();
        self.host.read(address)
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        self.maybe_save();
        self.host.wait_interrupt()
    }

    fn stream(&mut self, bytes: &[u8]) -> Result<(), HostError> {
        self.maybe_save();
        self.host.stream(bytes)
    }

    fn set_limit(&mut self, limit: Time) {
        self.limit = limit;
        self.host.set_limit(limit);
    }
}

/// Runs something twice, with saves at the same places: once going on, once from what was saved. Tells how many saves there were.
fn compare<R: PartialEq + std::fmt::Debug>(
    description: &Description,
    interrupts: (u64, u32),
    run: impl Fn(&mut Interrupted) -> R,
) -> usize {
    let [mut whole, mut restored] =
        [false, true].map(|restored| Interrupted::new(description, interrupts, restored));
    let results = [run(&mut whole), run(&mut restored)];
    let name = format!("{} {interrupts:?}", description.name);
    assert_eq!(whole.saves, restored.saves, "{name}: saves");
    assert_eq!(results[0], results[1], "{name}: results");
    assert_eq!(whole.statistics().unwrap(), restored.statistics().unwrap(), "{name}: statistics");
    assert_eq!(whole.host.platform().event_hash(), restored.host.platform().event_hash(), "{name}: hash");
    assert_eq!(whole.host.platform().layers(), restored.host.platform().layers(), "{name}: layers");
    let [stands, stands_restored] =
        [&whole, &restored].map(|host| format!("{:?}", host.host.platform().inspect()));
    assert_eq!(stands, stands_restored, "{name}: how things stand");
    // All state, and all memory.
    let ends = [whole.saved(), restored.saved()].map(|saved| saved.map_err(|error| error.to_string()));
    match ends {
        [Ok(whole), Ok(restored)] => {
            assert_eq!(difference(&whole, &restored), None, "{name}: state at the end");
        }
        ends => assert_eq!(ends[0], ends[1], "{name}: at the end"),
    }
    whole.saves.iter().filter(|save| save.is_ok()).count()
}

/// The first value in which two saved platforms differ, with the part whose it is.
fn difference(one: &[u8], other: &[u8]) -> Option<String> {
    let values = |saved: &[u8]| {
        let (mut state, mut values) = (Vec::new(), Vec::new());
        DeflateDecoder::new(&saved[6..saved.len() - 4]).read_to_end(&mut state).unwrap();
        let mut left = &state[..];
        while let Some((length, rest)) = left.split_first_chunk() {
            let (value, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
            values.push(value.to_vec());
            left = rest;
        }
        values
    };
    let [one, other] = [one, other].map(values);
    let at = (0..one.len().max(other.len())).find(|&at| one.get(at) != other.get(at))?;
    let is_name = |value: &&Vec<u8>| {
        value.len() > 3 && usize::from(value[0]) + 1 == value.len() && value[1..].is_ascii()
    };
    let part = one[..at].iter().rev().position(|value| is_name(&value)).map_or(0, |back| at - 1 - back);
    let name = String::from_utf8_lossy(&one[part]).into_owned();
    Some(format!("value {} of {name:?}: {:x?} and {:x?}", at - part, one.get(at), other.get(at)))
}

/// A description that can be written down.
fn drawn(draw: &Draw) -> Description {
    let mut description = draw.description().clone();
    for memory in [&mut description.dbb0, &mut description.sram0] {
        memory.seed &= u64::MAX >> 1;
    }
    description
}

fn play(trace: &Trace, host: &mut Interrupted) -> Result<Outcome, String> {
    let map = host.map();
    player::play(trace, host, &map, &PlayOptions::default()).map_err(|error| error.to_string())
}

/// Sequences of layers in both groups, with what they keep in the buffer for each other, tables, and latencies that are drawn.
#[test]
fn sequences_go_on_as_if_not_interrupted() {
    let mut saves = 0;
    for platform in ["nv_small", "nv_large", "nv_full"] {
        for seed in 0..u64::from(cases(12)) {
            let mut draw = Draw::new(platform, seed);
            let sequence = draw.sequence("sequence", 5, Leaves::Anything);
            saves += compare(&drawn(&draw), (seed, 40), |host| play(&sequence.trace, host));
        }
    }
    assert!(saves > 100, "{saves} saves");
}

/// Traces of the repository: each mode of each engine, tables that are loaded before a layer and used in it, BDMA, RUBIK.
#[test]
fn own_traces_go_on_as_if_not_interrupted() {
    let mut saves = 0;
    for (seed, source) in (0..).zip(discover(&traces::folder()).unwrap()) {
        let trace = Trace::load(&source.script).unwrap();
        let description = Description::named(&source.configuration.unwrap()).unwrap();
        saves += compare(&description, (seed, 30), |host| play(&trace, host));
    }
    assert!(saves > 50, "{saves} saves");
}

/// Memories with a time of their own: open rows and refresh, lines of caches, banks, masters beside the device.
#[test]
fn memory_models_go_on_as_if_not_interrupted() {
    let models: [&[&str]; 6] = [
        &["dbb0.dram.standard=DDR4-2400R"],
        &[
            "dbb0.dram.standard=LPDDR4-3200",
            "dbb0.dram.page=closed",
            "dbb0.cache.sets=16",
            "dbb0.cache.ways=2",
        ],
        &["dbb0.cache.sets=8", "dbb0.cache.ways=4", "dbb0.cache.replacement=random"],
        &["dbb0.sram.banks=2", "dbb0.traffic.cpu.rate=100_000_000", "dbb0.traffic.cpu.pattern=random"],
        &["dbb0.bandwidth=50_000_000", "dbb0.cache.sets=4"],
        &[
            "dbb0.dram.standard=DDR4-2400R",
            "dbb0.traffic.gpu.rate=400_000_000",
            "dbb0.traffic.gpu.writes=0.3",
        ],
    ];
    let mut saves = 0;
    for (seed, settings) in (0..).zip(models) {
        let mut draw = Draw::new("nv_small", seed);
        let sequence = draw.sequence("sequence", 4, Leaves::WhatIsTaken);
        let mut description = drawn(&draw);
        description.dbb0.read_latency = None;
        let description = description.with(settings.iter().copied()).unwrap();
        saves += compare(&description, (seed, 40), |host| play(&sequence.trace, host));
    }
    assert!(saves > 12, "{saves} saves");
}

/// A network as a driver runs it, and a frame that is interrupted in its middle.
#[test]
fn networks_go_on_as_if_not_interrupted() {
    let mut saves = 0;
    for (name, platform, often) in
        [("digits", "nv_small", 100), ("lenet", "nv_large", 60), ("lenet", "nv_full", 60)]
    {
        let network = Network::named(name, &NetworkOptions::default()).unwrap().unwrap();
        let description = Description::named(platform).unwrap();
        let config = &description.nvdla().unwrap().config;
        let plan = Plan::new(&network, config, description.dbb0.range()).unwrap();
        let inputs: Vec<Vec<i8>> = (1..=3).map(|seed| example_input(network.input, seed)).collect();
        let inputs: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
        saves += compare(&description, (1, often), |host| {
            let measured = Measured::on(&network, &plan, host, description.period, &inputs, || ());
            measured.map(|measured| measured.outputs).map_err(|error| error.to_string())
        });
    }
    assert!(saves > 10, "{saves} saves");
}

/// A larger network, saved between its layers: weights, surfaces, and what one layer leaves in the buffer for the next.
#[test]
fn a_large_network_goes_on_from_between_its_layers() {
    let options = NetworkOptions { input_size: Some([64, 64]), ..NetworkOptions::default() };
    let network = Network::named("resnet50", &options).unwrap().unwrap().truncated(6);
    let description = Description::named("nv_large").unwrap();
    let plan = Plan::new(&network, &description.nvdla().unwrap().config, description.dbb0.range()).unwrap();
    let input = example_input(network.input, 1);
    let saves = compare(&description, (1, 40), |host| {
        let measured = Measured::on(&network, &plan, host, description.period, &[&input], || ());
        measured.map(|measured| measured.outputs).map_err(|error| error.to_string())
    });
    assert!(saves > 4, "{saves} saves");
}

/// Loadables of the vendor's compiler, with the order in which its driver enables operations.
#[test]
fn loadables_go_on_as_if_not_interrupted() {
    let Some(folder) = shared::folder("loadables", "nvdla/loadables") else { return };
    let mut saves = 0;
    for (seed, source) in (0..).zip(discover(&folder).unwrap()) {
        let trace = Trace::load(&source.script).unwrap();
        let description = Description::named(&source.configuration.unwrap()).unwrap();
        saves += compare(&description, (seed, 20), |host| play(&trace, host));
    }
    assert!(saves > 9, "{saves} saves");
}

#[test]
fn what_is_never_saved_is_refused_before_time_moves() {
    let mut hub = hub(&Description::named("nv_small").unwrap(), TimeMode::Lockstep);
    let (party, tag) = (PartyId(1), Tag(1));
    hub.handle(Input::Enter { party, name: "the CPU".into(), memory: MemoryGuarantees::default() });
    let faults = "[[fault]]\nkind = 'lost-interrupt'\n".to_owned();
    hub.handle(Input::Command { party, tag, command: PartyCommand::Inject { faults } });
    let refused = hub.save(&mut Vec::new()).unwrap_err().to_string();
    assert!(refused.starts_with("the platform cannot be saved: faults are armed"), "{refused}");
    assert_eq!(hub.now(), Time::ZERO);
}

/// The reason for which a platform stands is not in the bytes: a platform made of them would go on.
#[test]
fn a_platform_that_stands_until_a_reset_is_not_saved() {
    let pool = MemoryPool::new(1 << 20);
    let budget = MemoryBudget::within(&pool, 1 << 30).unwrap();
    let platform = Platform::build_within(&Description::named("nv_small").unwrap(), budget).unwrap();
    let mut hub = Hub::new(platform, TimeMode::Lockstep);
    let party = PartyId(1);
    hub.handle(Input::Enter { party, name: "the CPU".into(), memory: MemoryGuarantees::default() });
    let attach = PartyCommand::Attach { port: MEMORY, role: Role::Initiator, range: None };
    let (data, kind) = (vec![7; 2 << 20].into(), AccessKind::Debug);
    let operation = Accessing::MemoryWrite { address: 0x8000_0000, data, strobes: None, kind };
    let write = PartyCommand::Access(Access { port: MEMORY, at: None, operation });
    for (tag, command) in (1..).map(Tag).zip([attach, write]) {
        hub.handle(Input::Command { party, tag, command });
    }
    let refused = hub.save(&mut Vec::new()).unwrap_err().to_string();
    assert!(refused.starts_with("the platform cannot be saved: it stands until a reset: "), "{refused}");
}

/// Counts entries, and those that are kept where they outlive the program.
#[derive(Clone, Default)]
struct Kept(Rc<Cell<(usize, usize)>>);

impl Recorder for Kept {
    fn record(&mut self, _: Recorded) {
        let (entries, kept) = self.0.get();
        self.0.set((entries + 1, kept));
    }

    fn commit(&mut self) -> Result<(), String> {
        let (entries, _) = self.0.get();
        self.0.set((entries, entries));
        Ok(())
    }
}

#[test]
fn what_a_saved_platform_follows_from_is_in_the_recording_before() {
    let mut hub = hub(&Description::named("nv_small").unwrap(), TimeMode::Lockstep);
    let kept = Kept::default();
    hub.record_to(kept.clone());
    hub.handle(Input::Enter { party: PartyId(1), name: "it".into(), memory: MemoryGuarantees::default() });
    hub.save(&mut Vec::new()).unwrap();
    assert_eq!(kept.0.get(), (2, 2), "one has come, and it was let settle");
}

/// Jobs of the FPGA AI Suite IP: its registers, its queue's counts, its clocks, its debug network.
#[test]
fn jobs_go_on_as_if_not_interrupted() {
    let description = Description::named("fpga-ai-suite").unwrap();
    let DeviceDescription::FpgaAiSuite(architecture) = &description.device else { panic!("another device") };
    let filters: Vec<u8> = (0..64 * 32u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut graph = Graph::new(Shape { height: 2, width: 8, channels: 4 }, filters.len() as u32).unwrap();
    let converter = Converter { offset: 0, scale: 1, shift: 9 };
    let sums = Sums { kernels: 32, weights: 0, bias: None, relu: false, converter };
    graph.add(Tensor::Input, Operation::FullyConnected { sums }, None).unwrap();
    let model = Model { name: "small".into(), graph: graph.whole().unwrap(), filters };
    let inputs: Vec<Vec<i8>> =
        (0..12).map(|seed| (0..64).map(|at| ((at * 37 + seed * 101) % 251) as u8 as i8).collect()).collect();
    let mut saves = 0;
    for seed in 0..4 {
        saves += compare(&description, (seed, 12), |host| {
            let mut driver = Driver::open(host, architecture, &model, description.dbb0.range()).unwrap();
            let mut done = Vec::new();
            for inputs in inputs.chunks(5) {
                let inputs: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
                done.push(driver.infer(&inputs).unwrap());
            }
            (done, driver.counters().unwrap(), driver.debug(8).unwrap())
        });
    }
    assert!(saves > 8, "{saves} saves");
}

/// The device does not see the end of a reset before a save, which is its beginning.
#[test]
fn a_platform_that_was_reset_goes_on_as_if_not_interrupted() {
    let mut draw = Draw::new("nv_small", 77);
    let sequence = draw.sequence("sequence", 3, Leaves::WhatIsTaken);
    let saves = compare(&drawn(&draw), (3, 50), |host| {
        let first = play(&sequence.trace, host).map(|outcome| outcome.finish);
        host.host.reset().unwrap();
        (first, play(&sequence.trace, host))
    });
    assert!(saves > 2, "{saves} saves");
}
