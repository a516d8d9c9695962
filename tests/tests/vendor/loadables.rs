//! Loadables of the vendor's compiler, run without a guest: what they leave is what the vendor's runtime left, and what
//! is written to registers on the way is what the vendor's kernel driver wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use vp_host::LocalHost;
use vp_host::loadable::contents::Contents;
use vp_host::loadable::convert::convert;
use vp_host::loadable::describe::describe;
use vp_host::loadable::differences::{Part, differences};
use vp_host::loadable::{self, Generation, Loadable, OperationKind};
use vp_host::trace::made::{self, Script};
use vp_host::trace::player::{self, PlayOptions};
use vp_host::trace::{Body, Trace, discover};
use vp_host::{Host, HostError};
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, Platform};
use vp_tests::conformance::HostConnection;
use vp_tests::shared;

/// Every loadable of the folder, with the configuration that its folder names.
fn all() -> Vec<(String, String, PathBuf)> {
    let Some(folder) = shared::folder("loadables", "nvdla/loadables") else { return Vec::new() };
    let found = discover(&folder).expect("loadables");
    let named = |source: &vp_host::trace::TraceSource| {
        let configuration = source.configuration.clone().expect("a folder named for it");
        (source.name.clone(), configuration, source.script.clone())
    };
    found.iter().map(named).collect()
}

fn parsed(script: &Path) -> Loadable {
    Loadable::parse(&std::fs::read(script).expect("readable")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_lost_interrupt_ends_the_run_with_a_sentence() {
    for (name, configuration, script) in all() {
        let trace = Trace::load(&script).unwrap_or_else(|error| panic!("{error}"));
        let description = Description::named(&configuration).expect("a built-in platform");
        let mut host =
            LocalHost::new(Platform::build(&description).unwrap_or_else(|error| panic!("{error}")));
        host.inject_faults("[[fault]]\nkind = 'lost-interrupt'\n").unwrap_or_else(|error| panic!("{error}"));
        let map = host.map();
        let error = match player::play(&trace, &mut host, &map, &PlayOptions::default()) {
            Err(error) => error.to_string(),
            Ok(outcome) => format!("{:?}", outcome.failures),
        };
        assert!(error.contains("no group is enabled and no job is queued"), "{name}: {error}");
        let report = host.platform().faults().report();
        assert!(report[0].starts_with("lost-interrupt; once: struck at "), "{name}: {report:?}");
    }
}

#[test]
fn what_they_leave_is_what_the_runtime_left() {
    let mut lacking = Vec::new();
    for (name, configuration, script) in all() {
        let trace = Trace::load(&script).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            matches!(trace.body(), Body::Loadable { goldens, .. } if !goldens.is_empty()),
            "{name} has a golden"
        );
        let description = Description::named(&configuration).expect("a built-in platform");
        let mut first = None;
        for way in HostConnection::ALL {
            let mut host = (way.connect)(&description);
            let map = host.map();
            let outcome = player::play(&trace, host.as_mut(), &map, &PlayOptions::default());
            let outcome = outcome.unwrap_or_else(|error| panic!("{name}, {}: {error}", way.name));
            if host.warnings().iter().any(|warning| warning.marks.lacking) {
                lacking.push(name.clone());
                break;
            }
            assert_eq!(outcome.failures, [], "{name}, {}", way.name);
            let execution = outcome.execution.as_ref().expect("it ran");
            let golden = std::fs::read(script.with_file_name("o_000000.dimg")).expect("a golden");
            let image = execution.outputs[0].dimg().expect("described");
            assert!(image == golden, "{name}: the whole file is the runtime's");
            assert!(outcome.result.as_ref().is_some_and(|left| left.elements > 0), "{name} was compared");
            assert_eq!(*first.get_or_insert_with(|| outcome.clone()), outcome, "{name}, {}", way.name);
        }
    }
    if !lacking.is_empty() {
        shared::say(&format!("not modelled yet: loadables {}", lacking.join(", ")));
    }
}

/// A platform whose register writes are kept.
struct Recorder {
    host: LocalHost,
    writes: Vec<(u32, u32)>,
}

impl Host for Recorder {
    vp_host::forward_host!(host: read, wait_interrupt, now, load, fetch, map, device, statistics, set_limit);

    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.writes.push((address, value));
        self.host.write(address, value)
    }
    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.writes.push((address, value));
        self.host.write_acknowledged(address, value)
    }
}

/// The last value of each register, table entries as a whole in order, without what depends on where memory was allotted.
fn settled(map: RegisterMap, writes: &[(u32, u32)]) -> BTreeMap<String, Vec<u32>> {
    let mut settled: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for &(address, value) in writes {
        let located = map.at(address).expect("a register");
        let name = located.to_string();
        let is_address = name.contains("ADDR") && !name.contains("LUT");
        // Interrupts may come together or apart.
        if is_address || name.contains("S_INTR_STATUS") {
            continue;
        }
        let values = settled.entry(name.clone()).or_default();
        if !name.contains("LUT_ACCESS") {
            values.clear();
        }
        values.push(value);
    }
    settled
}

#[test]
fn registers_are_written_as_the_driver_writes_them() {
    for (name, configuration, script) in all() {
        let Some(folder) = shared::folder(&format!("driver recording {name}"), "nvdla/driver-recordings")
        else {
            return;
        };
        let recording = folder.join(format!("{name}.trace"));
        if !recording.is_file() {
            continue;
        }
        let description = Description::named(&configuration).expect("a built-in platform");
        let map = description.nvdla().unwrap().config.register_map;
        let text = std::fs::read_to_string(&recording).expect("readable");
        let hex = |text: &str| u32::from_str_radix(text, 16).expect("hexadecimal");
        let recorded: Vec<(u32, u32)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("W ")?.split_once(' '))
            .map(|(address, value)| (hex(address), hex(value)))
            .collect();
        let host = LocalHost::new(Platform::build(&description).expect("a platform"));
        let mut recorder = Recorder { host, writes: Vec::new() };
        loadable::run(&parsed(&script), &[], &mut recorder).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (ours, drivers) = (settled(map, &recorder.writes), settled(map, &recorded));
        let differing: BTreeSet<String> = ours
            .keys()
            .chain(drivers.keys())
            .filter(|register| ours.get(*register) != drivers.get(*register))
            .map(|register| {
                format!("{register}: {:x?}, driver {:x?}", ours.get(register), drivers.get(register))
            })
            .collect();
        assert_eq!(differing, BTreeSet::new(), "{name}");
    }
}

#[test]
fn their_tables_read_back_as_written_and_leave_the_same() {
    for (name, configuration, script) in all() {
        let read = |bytes: &[u8]| Contents::read(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let contents = read(&std::fs::read(&script).expect("readable"));
        let written = contents.write();
        assert!(read(&written) == contents, "{name}");
        let description = Description::named(&configuration).expect("a built-in platform");
        let run = |loadable: &Loadable| {
            let mut host = LocalHost::new(Platform::build(&description).expect("a platform"));
            loadable::run(loadable, &[], &mut host).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let again = Loadable::parse(&written).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(run(&again) == run(&parsed(&script)), "{name}");
    }
}

#[test]
fn converted_to_the_other_form_they_leave_the_same() {
    for (name, configuration, script) in all() {
        let contents = Contents::read(&std::fs::read(&script).expect("readable")).expect("whole");
        let description = Description::named(&configuration).expect("a built-in platform");
        let run = |contents: &Contents| {
            let mut host = LocalHost::new(Platform::build(&description).expect("a platform"));
            let loadable = Loadable::of(contents).unwrap_or_else(|error| panic!("{name}: {error}"));
            loadable::run(&loadable, &[], &mut host).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let expected = run(&contents);
        let convert = |contents: &Contents, form| {
            convert(contents, form).unwrap_or_else(|error| panic!("{name} to {form}: {error}"))
        };
        let there = convert(&contents, Generation::Long);
        assert_eq!(Loadable::of(&there).expect("whole").generation(), Generation::Long, "{name}");
        assert!(run(&there) == expected, "{name}");
        assert!(run(&convert(&there, Generation::Short)) == expected, "{name}");
        let parts: Vec<Part> = differences(&contents, &there).iter().map(|found| found.part).collect();
        assert_eq!(parts, [Part::Versions], "{name}");
    }
}

#[test]
fn each_is_described_as_a_whole() {
    for (name, configuration, script) in all() {
        let contents = Contents::read(&std::fs::read(&script).expect("readable")).expect("whole");
        let described = describe(&contents);
        assert_eq!(described.problems, Vec::<String>::new(), "{name}");
        assert!(described.fits.contains(&configuration.as_str()), "{name}: {:?}", described.fits);
        let operations: Vec<_> = described.tasks.iter().flat_map(|task| &task.operations).collect();
        assert!(!operations.is_empty(), "{name}");
        assert!(operations.iter().all(|operation| operation.error.is_none()), "{name}");
    }
}

#[test]
fn traces_made_of_them_pass_and_check_their_outputs() {
    for (name, configuration, script) in all() {
        let description = Description::named(&configuration).expect("a built-in platform");
        let platform =
            || LocalHost::new(Platform::build(&description).unwrap_or_else(|error| panic!("{error}")));
        for language in [Script::Cfg, Script::Txn] {
            let mut host = platform();
            let mut recorder = made::Recorder::new(&mut host);
            loadable::run_from(0x8000_0000, &parsed(&script), &[], 1, &mut recorder)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let trace = recorder.trace(&name, language).unwrap_or_else(|error| panic!("{name}: {error}"));
            let folder = tempfile::tempdir().expect("a folder");
            let trace = Trace::load(&trace.save(folder.path()).expect("written"));
            let trace = trace.unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut host = platform();
            let map = host.map();
            let outcome = player::play(&trace, &mut host, &map, &PlayOptions::default());
            let outcome = outcome.unwrap_or_else(|error| panic!("{name}, {language:?}: {error}"));
            assert_eq!(outcome.failures, [], "{name}, {language:?}");
            assert!(trace.summary().memory_checks > 0, "{name}, {language:?}");
        }
    }
}

#[test]
fn their_parts_are_told() {
    for (name, _, script) in all() {
        let loadable = parsed(&script);
        assert_eq!(loadable.generation(), Generation::Short, "{name}");
        assert_eq!(loadable.outputs().len(), 1, "{name}");
        assert!(!loadable.tasks().is_empty(), "{name}");
    }
    let kinds: BTreeSet<String> = OperationKind::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(kinds.len(), 6);
}
