//! What goes on from a saved platform goes on as what was not interrupted: the same events at the same times, the same
//! statistics, registers and memory.

use std::io::Cursor;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_core::Time;
use vp_models::counters::Statistics;
use vp_models::host::trace::player::{self, Outcome, PlayOptions};
use vp_models::host::trace::{Trace, discover};
use vp_models::host::{Host, HostError, Memory, Warning};
use vp_models::local::LocalHost;
use vp_models::memory::MemoryBudget;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, Platform};
use vp_tests::effort::cases;
use vp_tests::random::{Draw, Leaves};
use vp_tests::traces;

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

    fn now(&mut self) -> Result<Time, HostError> {
        self.host.now()
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        self.host.load(memory, address, bytes)
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        self.host.fetch(memory, address, bytes)
    }

    fn stream(&mut self, bytes: &[u8]) -> Result<(), HostError> {
        self.maybe_save();
        self.host.stream(bytes)
    }

    fn map(&self) -> RegisterMap {
        self.host.map()
    }

    fn device(&self) -> &str {
        self.host.device()
    }

    fn statistics(&mut self) -> Result<Statistics, HostError> {
        self.host.statistics()
    }

    fn activity(&mut self) -> Option<vp_models::host::Activity> {
        self.host.activity()
    }

    fn warnings(&mut self) -> Vec<Warning> {
        self.host.warnings()
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
    let [mut whole, mut restored] = [false, true].map(|restored| Interrupted::new(description, interrupts, restored));
    let results = [run(&mut whole), run(&mut restored)];
    let name = format!("{} {interrupts:?}", description.name);
    assert_eq!(whole.saves, restored.saves, "{name}: saves");
    assert_eq!(results[0], results[1], "{name}: results");
    assert_eq!(whole.statistics().unwrap(), restored.statistics().unwrap(), "{name}: statistics");
    assert_eq!(whole.host.platform().event_hash(), restored.host.platform().event_hash(), "{name}: hash");
    assert_eq!(whole.host.platform().layers(), restored.host.platform().layers(), "{name}: layers");
    // All state, and all memory.
    let ends = [whole.saved(), restored.saved()].map(|saved| saved.map_err(|error| error.to_string()));
    assert!(ends[0] == ends[1], "{name}: state at the end, {:?}", ends.map(|end| end.map(|bytes| bytes.len())));
    whole.saves.iter().filter(|save| save.is_ok()).count()
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
            saves += compare(draw.description(), (seed, 40), |host| play(&sequence.trace, host));
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
        &["dbb0.dram.standard=LPDDR4-3200", "dbb0.dram.page=closed", "dbb0.cache.sets=16", "dbb0.cache.ways=2"],
        &["dbb0.cache.sets=8", "dbb0.cache.ways=4", "dbb0.cache.replacement=random"],
        &["dbb0.sram.banks=2", "dbb0.traffic.cpu.rate=100_000_000", "dbb0.traffic.cpu.pattern=random"],
        &["dbb0.bandwidth=50_000_000", "dbb0.cache.sets=4"],
        &["dbb0.dram.standard=DDR4-2400R", "dbb0.traffic.gpu.rate=400_000_000", "dbb0.traffic.gpu.writes=0.3"],
    ];
    let mut saves = 0;
    for (seed, settings) in (0..).zip(models) {
        let mut draw = Draw::new("nv_small", seed);
        let sequence = draw.sequence("sequence", 4, Leaves::WhatIsTaken);
        let mut description = draw.description().clone();
        description.dbb0.read_latency = None;
        let description = description.with(settings.iter().copied()).unwrap();
        saves += compare(&description, (seed, 40), |host| play(&sequence.trace, host));
    }
    assert!(saves > 12, "{saves} saves");
}
