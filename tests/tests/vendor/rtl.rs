//! Cycles and memory traffic agree with the published RTL.
//!
//! Each row of a table is one simulation of the RTL: a vendor trace under a read latency, a write latency and a
//! limit of reads outstanding. The same trace runs here under the same memory. How far the two are apart is kept in
//! `data/rtl-distribution.csv`, which `vp compare-rtl DIR --distribution FILE` writes: nothing may get worse.

use std::collections::BTreeMap;
use std::path::Path;

use vp_study::rtl::distribution::{self, Bounds, Distribution, TableDistribution, error_ppm};
use vp_study::rtl::log;
use vp_study::rtl::run::{Run, run};
use vp_study::rtl::table::{Row, Table};
use vp_tests::conformance::Test;
use vp_tests::shared;

/// Engines that the models have.
const ENGINES: [&str; 5] = ["SDP", "PDP", "CDP", "CONV", "BDMA"];

/// Differences of the traffic of a row from the RTL's.
fn wrong_traffic(test: &Test, run: &Run, row: &Row) -> Vec<String> {
    // A convolution's input waits on the bus, and of that single cycles are not modelled; nothing else may differ.
    let exact = test.uses_only(&["SDP", "PDP", "CDP"]) && test.config != "nv_full";
    if exact && run.traffic != row.traffic {
        return vec![format!("{:?}, the RTL {:?}", run.traffic, row.traffic)];
    }
    run.traffic_differences(row)
}

/// The distribution of each group of rows that is kept.
fn groups(errors: &[(&Row, u64)]) -> BTreeMap<String, Distribution> {
    let mut groups = BTreeMap::<String, Vec<u64>>::new();
    for &(row, error) in errors {
        groups.entry("all".to_owned()).or_default().push(error);
        groups.entry(row.setting.to_string()).or_default().push(error);
    }
    groups.into_iter().map(|(group, errors)| (group, Distribution::of(errors))).collect()
}

/// Holds what was found to what is kept; says aloud what is better.
fn compare_with_kept(table: &str, found: &BTreeMap<String, Distribution>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/rtl-distribution.csv");
    let kept = distribution::read(&path).unwrap_or_else(|error| panic!("{error}"));
    let kept: Vec<TableDistribution> = kept.into_iter().filter(|kept| kept.table == table).collect();
    let groups: Vec<&String> = kept.iter().map(|kept| &kept.group).collect();
    let missing: Vec<_> = found.keys().filter(|group| !groups.contains(group)).collect();
    assert!(missing.is_empty(), "{table}: {missing:?} are not kept in {}", path.display());
    let mut worse = Vec::new();
    for TableDistribution { group, distribution: earlier, .. } in &kept {
        let now = found.get(group).copied().unwrap_or_default();
        worse.extend(now.worse_than(earlier).into_iter().map(|what| format!("{group}: {what}")));
        if now != *earlier && now.worse_than(earlier).is_empty() {
            shared::say(&format!("{table}, {group}: better than kept: {now}; it was {earlier}"));
        }
    }
    assert!(worse.is_empty(), "{table}: farther from the RTL than before:\n{}", worse.join("\n"));
}

/// Runs the rows of a table. Traffic, and the order of each client's addresses, must be the RTL's, and the cycles as
/// near to its as they were.
fn compare(name: &str) {
    let what = format!("RTL measurements of {name}");
    let Some(folder) = shared::folder(&what, "nvdla/rtl-golden") else { return };
    let Some(traces) = shared::folder(&what, "nvdla/traces") else { return };
    let table = Table::read(&folder.join(format!("{name}.csv"))).unwrap_or_else(|error| panic!("{error}"));
    let tests = Test::all(&traces);
    let (mut errors, mut wrong) = (Vec::new(), Vec::new());
    let (mut logs, mut unknown, mut near) = (0, 0, Vec::new());
    for row in &table.rows {
        let mut known = tests.iter().filter(|test| test.config == table.config && test.name == row.test);
        let Some(test) = known.next().filter(|test| test.uses_only(&ENGINES)) else {
            unknown += 1;
            continue;
        };
        let description = table.description(row.setting).unwrap_or_else(|error| panic!("{error}"));
        let run =
            run(&test.trace(), &description).unwrap_or_else(|why| panic!("{name}: {}: {why}", row.test));
        assert_eq!(run.right, !test.needs_absent_hardware, "{name}: {}: its memory", row.test);
        errors.push((row, error_ppm(run.cycles, row.cycles)));
        near.push(Bounds::ASKED.error(run.cycles, row.cycles));
        let mut differs = wrong_traffic(test, &run, row);
        let log = log::of_row(&folder, &table, row).unwrap_or_else(|error| panic!("{error}"));
        if let Some(log) = log {
            logs += 1;
            differs.extend(log::differences(&run.requests, &log));
        }
        wrong.extend(differs.iter().map(|what| format!("{}, {}: {what}", row.test, row.setting)));
    }
    let found = groups(&errors);
    shared::say(&format!("{name}: {}", found["all"]));
    shared::say(&format!("  {logs} logs compared; {unknown} rows whose trace or engine is not here"));
    assert!(wrong.is_empty(), "{name}: traffic differs:\n{}", wrong.join("\n"));
    assert!(Bounds::ASKED.hold(&Distribution::of(near)), "{name}: {}", found["all"]);
    compare_with_kept(name, &found);
}

#[test]
fn nv_small_takes_the_rtls_cycles() {
    compare("nv_small");
}

#[test]
fn nv_small_of_branch_master_takes_the_rtls_cycles() {
    compare("nv_small.master");
}

#[test]
fn nv_small_256_takes_the_rtls_cycles() {
    compare("nv_small_256.master");
}

#[test]
fn nv_small_256_full_takes_the_rtls_cycles() {
    compare("nv_small_256_full.master");
}

#[test]
fn nv_medium_512_takes_the_rtls_cycles() {
    compare("nv_medium_512.master");
}

#[test]
fn nv_large_of_branch_master_takes_the_rtls_cycles() {
    compare("nv_large.master");
}

#[test]
fn nv_full_takes_the_rtls_cycles() {
    compare("nv_full");
}
