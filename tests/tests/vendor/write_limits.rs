//! Layers and sequences take the RTL's cycles where memory takes few writes at once, or answers them late.
//!
//! `data/rtl-write-limits.csv` has the cycles of the vendor's RTL in the device's place (`vp run --device-command`), for limits of 1 to 256 writes and
//! latencies of 1 to 400 cycles, from the first enable to the interrupt.

use std::collections::BTreeMap;
use std::path::Path;

use vp_host::trace::{Trace, TraceSource, discover};
use vp_models::nvdla::rtl_tree::RtlTree;
use vp_models::platform::Description;
use vp_study::rtl::run::run;
use vp_study::rtl::table::Setting;
use vp_tests::shared;

/// Folders with traces, below the data's.
const FOLDERS: [&str; 4] = [
    "nvdla/traces",
    "nvdla/rtl-golden/fresh2/traces",
    "nvdla/rtl-golden/fresh2/sequences/traces",
    "nvdla/rtl-golden/fresh2/deviations",
];

#[test]
fn writes_that_memory_holds_back_take_the_rtls_cycles() {
    let mut traces = BTreeMap::<(Option<String>, String), TraceSource>::new();
    for folder in FOLDERS {
        let Some(folder) = shared::folder("limits of writes on the RTL", folder) else { return };
        let found = discover(&folder).unwrap_or_else(|error| panic!("{error}"));
        let key = |trace: &TraceSource| (trace.configuration.clone(), trace.name.clone());
        traces.extend(found.into_iter().map(|trace| (key(&trace), trace)));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/rtl-write-limits.csv");
    let rows = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut errors, mut far) = (Vec::new(), Vec::new());
    for row in rows.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let &[name, config, read_latency, read_outstanding, write_outstanding, write_latency, rtl] =
            &cells[..]
        else {
            panic!("seven cells: {row}")
        };
        let of =
            |configuration: Option<&str>| traces.get(&(configuration.map(str::to_owned), name.to_owned()));
        let configuration = config.trim_end_matches(".master");
        let Some(source) = of(Some(configuration)).or(of(None)) else { continue };
        let number = |cell: &str| cell.parse::<u32>().unwrap_or_else(|error| panic!("{row}: {error}"));
        let (platform, tree) = match config.strip_suffix(".master") {
            Some(config) => (format!("{config}_master"), RtlTree::Master),
            None => (config.to_owned(), RtlTree::NvSmall),
        };
        let mut description = Description::named(&platform).unwrap_or_else(|error| panic!("{error}"));
        description.nvdla_mut().expect("an NVDLA").rtl = tree;
        let [read_latency, write_latency, read_outstanding] =
            [read_latency, write_latency, read_outstanding].map(number);
        Setting { read_latency, write_latency, read_outstanding }.apply(&mut description);
        for memory in [&mut description.dbb0, &mut description.sram0] {
            memory.write_outstanding = number(write_outstanding);
        }
        let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
        let run = run(&trace, &description).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(run.right, "{name}: its memory");
        let rtl = u64::from(number(rtl));
        let ppm = run.cycles.abs_diff(rtl) * 1_000_000 / rtl;
        errors.push(ppm);
        if ppm > 10_000 {
            far.push(format!("{row}: {} here", run.cycles));
        }
    }
    errors.sort_unstable();
    assert!(!errors.is_empty(), "no row has its trace");
    let exact = errors.iter().filter(|ppm| **ppm == 0).count();
    let most = errors[errors.len() * 95 / 100];
    shared::say(&format!(
        "limits of writes: {exact} of {} rows take the RTL's cycles, 95 % within {most} ppm",
        errors.len()
    ));
    assert!(exact * 100 >= errors.len() * 80, "{exact} of {} are equal", errors.len());
    assert!(most <= 4_000, "95 % within {most} ppm");
    assert!(far.len() * 100 <= errors.len(), "off by more than 1 %: {far:#?}");
}
