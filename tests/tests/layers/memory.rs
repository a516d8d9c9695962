//! Whole layers before memories that take their own time: the same bytes, later, and the same way every time.

use std::path::Path;

use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{PlayOptions, Sum, play};
use vp_host::{Host, Statistics};
use vp_models::platform::{Description, Platform};

const TRACES: [&str; 3] = [
    "nv_small/conv_sdp_pdp_3x3_prelu_maxpool_12x10x8x16",
    "nv_small/sdp_residual_sum_8x8x16",
    "nv_small_256_full/sdp_elementwise_sigmoid_9x6x16",
];

/// Runs a trace, whose end must leave memory right; returns what the run counted, and the sums over memory.
fn ran(name: &str, settings: &[&str]) -> (Statistics, Vec<Sum>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces").join(name);
    let (configuration, test) = name.split_once('/').unwrap();
    let trace = Trace::load(&folder.join(format!("{test}.cfg"))).unwrap();
    let description = Description::named(configuration).unwrap().with(settings.iter().copied()).unwrap();
    let mut host = LocalHost::new(Platform::build(&description).unwrap());
    let map = host.map();
    let outcome = play(&trace, &mut host, &map, &PlayOptions::default()).unwrap();
    assert!(outcome.failures.is_empty(), "{name} {settings:?}: {:?}", outcome.failures);
    assert_eq!(host.warnings(), []);
    (host.statistics().unwrap(), outcome.sums)
}

fn count(statistics: &Statistics, name: &str) -> u64 {
    statistics.get(name).unwrap_or_else(|| panic!("no counter {name}"))
}

/// Settings of memories that change times, and must not change contents.
const MODELS: [&[&str]; 6] = [
    &["dbb0.dram.standard=DDR4-2400R"],
    &["dbb0.dram.standard=LPDDR4-3200", "dbb0.dram.page=closed", "sram0.sram.banks=2"],
    &["dbb0.dram.standard=LPDDR4-1600", "dbb0.cache.sets=16", "dbb0.cache.ways=2"],
    &["dbb0.sram.banks=4"],
    &["dbb0.cache.line=128", "dbb0.bandwidth=4_000_000_000"],
    &["dbb0.dram.standard=DDR4-1600K", "dbb0.traffic.cpu.rate=3_000_000_000", "dbb0.traffic.cpu.writes=0.5"],
];

#[test]
fn every_memory_leaves_what_a_plain_one_leaves() {
    for name in TRACES {
        let (plain, sums) = ran(name, &[]);
        for model in MODELS {
            let (statistics, with) = ran(name, model);
            assert_eq!(with, sums, "{name} {model:?}");
            for counter in ["dbb0.read.bytes", "dbb0.write.bytes", "dbb0.read.bursts"] {
                assert_eq!(count(&statistics, counter), count(&plain, counter), "{name} {model:?}");
            }
            assert_ne!(statistics.text("events.hash"), plain.text("events.hash"), "{name} {model:?}");
        }
    }
}

#[test]
fn a_shared_memory_of_a_latency_takes_the_cycles_of_one_alone() {
    for name in TRACES {
        for latency in ["dbb0.read_latency=1", "dbb0.read_latency=50", "dbb0.read_latency=400"] {
            let cycles = |settings: &[&str]| count(&ran(name, settings).0, "nvdla.cycles");
            assert_eq!(cycles(&[latency]), cycles(&[latency, "dbb0.queue=256"]), "{name}, {latency}");
        }
    }
}

#[test]
fn a_slower_grade_and_company_take_longer() {
    let name = TRACES[0];
    let cycles = |settings: &[&str]| count(&ran(name, settings).0, "nvdla.cycles");
    let fast = cycles(&["dbb0.dram.standard=LPDDR4-4266"]);
    let slow = cycles(&["dbb0.dram.standard=LPDDR4-1600"]);
    let company = [
        "dbb0.dram.standard=LPDDR4-1600",
        "dbb0.traffic.cpu.rate=4_000_000_000",
        "dbb0.traffic.cpu.pattern=random",
    ];
    let busy = cycles(&company);
    assert!(fast < slow && slow < busy, "{fast}, {slow}, {busy}");
}

#[test]
fn each_master_has_its_own_latency() {
    let (statistics, _) = ran(
        TRACES[0],
        &[
            "dbb0.dram.standard=DDR4-2400R",
            "dbb0.traffic.cpu.rate=500_000_000",
            "dbb0.traffic.cpu.writes=0.25",
        ],
    );
    for master in ["dbb0", "dbb0.cpu"] {
        for counter in ["read.bursts", "read.latency.mean", "write.bursts"] {
            assert!(count(&statistics, &format!("{master}.{counter}")) > 0, "{master}.{counter}");
        }
    }
    let hits =
        ["row_hit", "row_miss", "row_conflict"].map(|what| count(&statistics, &format!("dbb0.dram0.{what}")));
    let columns = ["RD", "WR"].map(|what| count(&statistics, &format!("dbb0.dram0.command.{what}")));
    assert_eq!(
        hits.iter().sum::<u64>(),
        columns.iter().sum::<u64>(),
        "each burst is a hit, a miss or a conflict"
    );
}

#[test]
fn the_same_seed_is_the_same_run() {
    let hash = |seed: &str| {
        let settings = [
            "dbb0.dram.standard=DDR4-2400R",
            "dbb0.traffic.cpu.rate=500_000_000",
            "dbb0.traffic.cpu.pattern=random",
            seed,
        ];
        ran(TRACES[0], &settings).0.text("events.hash").map(str::to_owned)
    };
    assert_eq!(hash("dbb0.traffic.cpu.seed=5"), hash("dbb0.traffic.cpu.seed=5"));
    assert_ne!(hash("dbb0.traffic.cpu.seed=5"), hash("dbb0.traffic.cpu.seed=6"));
}
