//! Cost of a study: the parts of a point, and points in parallel.
//!
//! `cargo bench -p vp-tests --bench study` prints a table, a line a network and a platform: the host's CPU time for planning it, which
//! points of a study share, and for a point after that, looked at closely or not; last, what several points cost on two threads over
//! what they cost on one. Each figure is the least of some rounds, which take turns.
//!
//! `-- --once NETWORK PLATFORM` runs one point once and prints nothing: for profilers.

#![expect(clippy::print_stdout, reason = "a table is what it is for")]

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use vp_study::{self as study, Bench, Store, Study};

/// Networks and where they run.
const RUNS: [(&str, &str); 5] = [
    ("digits", "nv_small"),
    ("lenet", "nv_small"),
    ("lenet", "nv_large"),
    ("mobilenet_v1", "nv_large"),
    ("resnet50", "nv_large"),
];

/// Rounds of which the least counts.
const ROUNDS: usize = 5;

/// Points that run on one thread and on two.
const POINTS: usize = 4;

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--once").skip(1);
    if let (Some(network), Some(platform)) = (arguments.next(), arguments.next()) {
        let study = of(&network, &platform);
        let bench = Bench::new(&study);
        let job = bench.job(&study.points[0]).expect("a point");
        assert!(bench.run(&job, false).measured().is_some());
        return;
    }
    println!("{:<26} {:>9} {:>9} {:>9} {:>12}", "ms of CPU", "plan", "point", "closely", "2 threads/1");
    for (network, platform) in RUNS {
        let study = of(network, platform);
        let mut least = [Duration::MAX; 5];
        for _ in 0..ROUNDS {
            for (least, took) in least.iter_mut().zip(round(&study)) {
                *least = took.min(*least);
            }
        }
        let [first, point, closely, one, two] = least.map(|took| took.as_secs_f64() * 1e3);
        println!(
            "{:<26} {:>9.2} {point:>9.2} {closely:>9.2} {:>12.2}",
            format!("{network} on {platform}"),
            (first - point).max(0.0),
            two / one
        );
    }
}

/// A study of some points that differ in nothing that takes time.
fn of(network: &str, platform: &str) -> Study {
    let latencies: Vec<String> = (0..POINTS).map(|at| (100 + at).to_string()).collect();
    let text = format!(
        "name = 'bench'\n[sweep]\nnetwork = '{network}'\nplatform = '{platform}'\n'dbb0.read_latency' = [{}]",
        latencies.join(", ")
    );
    Study::parse(&text, Path::new("")).expect("a study")
}

/// CPU time of a first point, of one behind it, of one that is looked at closely, and of all on one thread and on two.
fn round(study: &Study) -> [Duration; 5] {
    let bench = Bench::new(study);
    let job = bench.job(&study.points[0]).expect("a point");
    let run = |closely: bool| cpu(|| assert!(bench.run(&job, closely).measured().is_some()));
    let [first, point, closely] = [run(false), run(false), run(true)];
    let planned = study::plan(study, &bench, &[].into());
    let points: Vec<_> = planned.iter().collect();
    let [one, two] = [1, 2].map(|threads| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Store::open(&folder.path().join("points.jsonl")).expect("a store");
        let threads = NonZeroUsize::new(threads).expect("not zero");
        cpu(|| study::run(&points, &bench, (&mut store, "bench"), threads, |_, _, _| {}).expect("kept"))
    });
    [first, point, closely, one, two]
}

/// The process's CPU time for this.
fn cpu(work: impl FnOnce()) -> Duration {
    let now = || Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a clock"));
    let start = now();
    work();
    now() - start
}
