//! Cycles and memory traffic agree with the published RTL.
//!
//! Each row of a table is one simulation of the RTL: a vendor trace under a read latency, a write latency and a
//! limit of reads outstanding. The same trace runs here under the same memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use vp_core::Sim;
use vp_core::observe::{Observation, Observer, Stage, What};
use vp_models::host::Host as _;
use vp_models::nvdla::timing::RtlTree;
use vp_models::platform::LocalHost;
use vp_tests::conformance::{Test, local};
use vp_tests::rtl::{self, Requests, Row, Traffic};
use vp_tests::shared;

/// The convolution that takes longest.
const LONGEST: &str = "dc_32x26x76_6x3x76x16_int8_0";

/// Keeps the requests on the memory interfaces.
struct Wire {
    sim: Sim,
    requests: RefCell<Requests>,
}

impl Wire {
    fn tapped(host: &LocalHost) -> Rc<Wire> {
        let sim = host.platform().sim();
        let wire = Rc::new(Wire { sim: sim.clone(), requests: RefCell::default() });
        sim.observe(wire.clone());
        wire
    }
}

impl Observer for Wire {
    fn observe(&self, observation: &Observation<'_>) {
        let What::Transfer(transfer) = observation.what else { return };
        if transfer.stage == Stage::Request {
            let name = self.sim.source_name(observation.source);
            let port = if &*name == "dbb0" { "dbb0" } else { "sram0" };
            let request = (transfer.address, transfer.bytes);
            let channel = (port, transfer.write, transfer.id);
            self.requests.borrow_mut().entry(channel).or_default().push(request);
        }
    }
}

/// What one row's trace did here.
struct Run {
    cycles: u64,
    traffic: Traffic,
    requests: Requests,
}

fn run(test: &Test, row: &Row, golden: &Golden) -> Run {
    let mut host = local(&row.description(golden.device, golden.tree));
    let wire = Wire::tapped(&host);
    test.run_on(&mut host).unwrap_or_else(|wrong| panic!("{wrong}"));
    let statistics = host.statistics().expect("statistics");
    Run {
        cycles: statistics.get("nvdla.cycles").expect("a layer ran"),
        traffic: Traffic::counted(&statistics),
        requests: wire.requests.take(),
    }
}

/// A table of `nvdla/rtl-golden` and the RTL it was measured on.
struct Golden {
    /// Whose traces were run.
    config: &'static str,
    /// On what.
    device: &'static str,
    tree: RtlTree,
    /// The table's file name, without `.csv`.
    table: &'static str,
}

/// How far the model is from the RTL, in cycles of thousand.
#[derive(Default)]
struct Distances {
    rows: usize,
    exact: usize,
    /// The largest, in per mille, and whose it is.
    worst: (u64, String),
    by_test: BTreeMap<String, Vec<i64>>,
}

impl Distances {
    fn add(&mut self, row: &Row, cycles: u64) {
        let off = cycles as i64 - row.cycles as i64;
        let per_mille = (off.unsigned_abs() * 1000).div_ceil(row.cycles.max(1));
        self.rows += 1;
        self.exact += usize::from(off == 0);
        if per_mille > self.worst.0 {
            let name = format!("{} at latency {}", row.test, row.read_latency);
            self.worst = (per_mille, format!("{name}: {cycles} cycles, the RTL takes {}", row.cycles));
        }
        if off != 0 {
            self.by_test.entry(row.test.clone()).or_default().push(off);
        }
    }

    fn say(&self, table: &str) {
        let Distances { rows, exact, worst, by_test } = self;
        shared::say(&format!("{table}: {exact} of {rows} rows exact, all within {} per mille", worst.0));
        if worst.0 > 0 {
            shared::say(&format!("  farthest: {}", worst.1));
            by_test.iter().for_each(|(test, off)| shared::say(&format!("  {test}: {off:?} cycles")));
        }
    }
}

impl Golden {
    /// Runs the rows of SDP, PDP, CDP and convolutions; `None` without the data. Traffic, and the order of each client's
    /// addresses, must be the RTL's.
    fn compare(&self) -> Option<Distances> {
        let what = format!("RTL measurements of {}", self.table);
        let folder = shared::folder(&what, "nvdla/rtl-golden")?;
        let traces = shared::folder(&what, "nvdla/traces")?;
        let tests = Test::all(&traces);
        let mut distances = Distances::default();
        let mut wrong = Vec::new();
        let (mut logs, mut unknown) = (0, 0);
        for row in Row::all(&folder.join(format!("{}.csv", self.table))) {
            let test = tests.iter().find(|test| test.config == self.config && test.name == row.test);
            let Some(test) = test else {
                unknown += 1;
                continue;
            };
            if !test.uses_only(&["SDP", "PDP", "CDP", "CONV"]) {
                continue;
            }
            let run = run(test, &row, self);
            distances.add(&row, run.cycles);
            let mut traffic = run.traffic;
            if !test.uses_only(&["SDP", "PDP", "CDP"]) {
                traffic.most_reads = about(traffic.most_reads, row.traffic.most_reads);
            }
            if traffic != row.traffic {
                wrong.push(format!(
                    "{} at {}: {:?}, the RTL {:?}",
                    row.test, row.read_latency, traffic, row.traffic
                ));
            }
            if let Some(log) = self.log_of(&folder, &row) {
                logs += 1;
                wrong.extend(differences(&run.requests, &log).map(|what| format!("{}: {what}", row.test)));
            }
        }
        assert!(distances.rows > 0, "{}: no row to compare", self.table);
        distances.say(self.table);
        shared::say(&format!("  {logs} logs compared; {unknown} rows of traces that are not here"));
        assert!(wrong.is_empty(), "{}: traffic differs:\n{}", self.table, wrong.join("\n"));
        Some(distances)
    }

    /// The log of a row's run: logs were written at latency 100 with nothing else limited.
    fn log_of(&self, folder: &Path, row: &Row) -> Option<Requests> {
        let logged = (row.read_latency, row.write_latency, row.read_outstanding) == (100, 1, 256);
        let file = folder.join("logs").join(self.table).join(format!("{}.csv.gz", row.test));
        logged.then(|| rtl::log(&file)).flatten()
    }

    /// All rows but those of one convolution must be exact, and those almost: an inner queue of the memory interface
    /// that holds it back now and then is not modelled.
    fn must_be_exact(&self, almost: &str) {
        let Some(distances) = self.compare() else { return };
        assert!(distances.worst.0 <= 1, "{}: {}", self.table, distances.worst.1);
        let off: Vec<_> = distances.by_test.keys().filter(|test| *test != almost).collect();
        assert!(off.is_empty(), "{}: {off:?} are not exact; {}", self.table, distances.worst.1);
    }
}

/// The RTL's most reads outstanding, if the model's are but one off. Convolutions have their input wait on the bus, and
/// of that single cycles are not modelled.
fn about(model: u64, rtl: u64) -> u64 {
    if model.abs_diff(rtl) <= 1 { rtl } else { model }
}

/// Where two runs asked for different addresses, or in another order on the same channel.
fn differences<'a>(model: &'a Requests, rtl: &'a Requests) -> impl Iterator<Item = String> {
    let channels = model.keys().chain(rtl.keys().filter(|channel| !model.contains_key(channel)));
    channels.filter_map(move |channel| {
        let empty = Vec::new();
        let (ours, theirs) = (model.get(channel).unwrap_or(&empty), rtl.get(channel).unwrap_or(&empty));
        let first = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
        match first {
            Some(at) => {
                Some(format!("{channel:?}: request {at} is {:x?}, the RTL's {:x?}", ours[at], theirs[at]))
            }
            None if ours.len() != theirs.len() => {
                Some(format!("{channel:?}: {} requests, the RTL {}", ours.len(), theirs.len()))
            }
            None => None,
        }
    })
}

#[test]
fn nv_small_takes_the_rtls_cycles() {
    Golden { config: "nv_small", device: "nv_small", tree: RtlTree::NvSmall, table: "nv_small" }
        .must_be_exact(LONGEST);
}

#[test]
fn nv_small_of_branch_master_takes_the_rtls_cycles() {
    Golden { config: "nv_small", device: "nv_small", tree: RtlTree::Master, table: "nv_small.master" }
        .must_be_exact(LONGEST);
}

#[test]
fn nv_small_256_takes_the_rtls_cycles() {
    Golden {
        config: "nv_small_256",
        device: "nv_small_256",
        tree: RtlTree::Master,
        table: "nv_small_256.master",
    }
    .must_be_exact("");
}

#[test]
fn nv_small_256_full_is_within_a_percent_of_the_rtl() {
    let golden = Golden {
        config: "nv_small_256_full",
        device: "nv_small_256_full",
        tree: RtlTree::Master,
        table: "nv_small_256_full.master",
    };
    let Some(distances) = golden.compare() else { return };
    assert!(distances.worst.0 <= 10, "{}", distances.worst.1);
}

#[test]
fn nv_medium_512_takes_the_rtls_cycles() {
    Golden {
        config: "nv_medium_512",
        device: "nv_medium_512",
        tree: RtlTree::Master,
        table: "nv_medium_512.master",
    }
    .must_be_exact("");
}

#[test]
fn nv_large_of_branch_master_is_within_a_percent_of_the_rtl() {
    let golden = Golden {
        config: "nv_large",
        device: "nv_large_master",
        tree: RtlTree::Master,
        table: "nv_large.master",
    };
    let Some(distances) = golden.compare() else { return };
    assert!(distances.worst.0 <= 10, "{}", distances.worst.1);
}
