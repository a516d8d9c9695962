//! Parts that the tests share: a small network on nv_small that is looked at, and readers of waveforms.

#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fst_reader::{FstFilter, FstHierarchyEntry, FstReader, FstSignalValue};
use vp_core::Time;
use vp_core::observe::{Observation, Observer, Transfer, What};
use vp_host::LocalHost;
use vp_host::network::{Plan, Runner, digits};
use vp_host::{Bounds, Host as _, Statistics};
use vp_hub::{Hub, TimeMode};
use vp_models::platform::{Description, Platform};
use vp_observers::{Files, Finished, LayerNames, TraceFile};

pub fn description() -> Description {
    Description::named("nv_small").unwrap()
}

pub fn plan() -> Plan {
    let description = description();
    let config = &description.nvdla().unwrap().config;
    Plan::new(&digits::network(), config, description.dbb0.range()).unwrap()
}

/// A waveform from one trigger to another.
pub fn trace(path: PathBuf, start: Option<&str>, stop: Option<&str>) -> Files {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let trace = Some(TraceFile { path, start: owned(start), stop: owned(stop) });
    Files { trace, layers: LayerNames::of(&plan()), ..Files::default() }
}

/// Results of a run.
pub struct Ran {
    pub statistics: Statistics,
    pub finished: Finished,
    pub seen: Rc<ObservationLog>,
    pub end: Time,
    /// Bounds of all layers.
    pub bounds: Bounds,
}

impl Ran {
    pub fn count(&self, name: &str) -> u64 {
        self.statistics.get(name).unwrap_or_else(|| panic!("no counter {name}"))
    }
}

/// All that an observer beside the files was told, each kind in the order of time.
#[derive(Default)]
pub struct ObservationLog {
    pub transfers: RefCell<Vec<(Time, Transfer)>>,
    pub accesses: RefCell<Vec<(Time, bool, u32, u32)>>,
    pub levels: RefCell<Vec<(Time, u64)>>,
}

impl Observer for ObservationLog {
    fn observe(&self, observation: &Observation<'_>) {
        let time = observation.time;
        match observation.what {
            What::Transfer(transfer) => self.transfers.borrow_mut().push((time, transfer)),
            What::Register { write, address, value } => {
                self.accesses.borrow_mut().push((time, write, address, value));
            }
            What::Level(level) => self.levels.borrow_mut().push((time, level)),
            _ => {}
        }
    }
}

/// A hub that nobody has used.
pub fn hub() -> Hub {
    hub_with(&[])
}

/// A hub whose platform has these settings.
pub fn hub_with(settings: &[&str]) -> Hub {
    let description = description().with(settings.iter().copied()).unwrap();
    Hub::new(Platform::build(&description).unwrap(), TimeMode::Lockstep)
}

/// Classifies one digit on nv_small while the files are written.
pub fn run(files: &Files) -> Ran {
    run_with(&[], files)
}

/// Classifies it on a platform with these settings.
pub fn run_with(settings: &[&str], files: &Files) -> Ran {
    let mut hub = hub_with(settings);
    let seen = Rc::new(ObservationLog::default());
    hub.platform().sim().observe(seen.clone());
    let observers = files.attach(&mut hub).unwrap();
    let mut host = LocalHost::at(hub);
    host.watch();
    let (plan, samples) = (plan(), digits::samples());
    let mut bounds = Bounds::default();
    let ran = Runner::new(&plan, &mut host).unwrap().run(&[&samples[0].pixels], |_, inference| {
        let activities = inference.steps.iter().filter_map(|step| step.activity.as_ref());
        activities.for_each(|activity| bounds += activity.bounds);
    });
    ran.unwrap();
    let (statistics, end) = (host.statistics().unwrap(), host.now().unwrap());
    Ran { statistics, finished: observers.finish(), seen, end, bounds }
}

/// The changes of each signal, by its path, in picoseconds; what it was at first among them.
pub type Waves = BTreeMap<String, Vec<(u64, String)>>;

pub fn read_fst(path: &Path) -> Waves {
    let mut reader = FstReader::open(BufReader::new(std::fs::File::open(path).unwrap())).unwrap();
    assert_eq!(reader.get_header().timescale_exponent, -12);
    let (mut scope, mut paths) = (Vec::new(), BTreeMap::new());
    reader
        .read_hierarchy(|entry| match entry {
            FstHierarchyEntry::Scope { name, .. } => scope.push(name),
            FstHierarchyEntry::UpScope => drop(scope.pop()),
            FstHierarchyEntry::Var { name, handle, .. } => {
                paths.insert(handle.get_index(), format!("{}.{name}", scope.join(".")));
            }
            _ => {}
        })
        .unwrap();
    let mut waves: Waves = paths.values().map(|path| (path.clone(), Vec::new())).collect();
    reader
        .read_signals(&FstFilter::all(), |time, handle, value| {
            let FstSignalValue::String(value) = value else { panic!("a real number") };
            let is_text = ["register", "name", "event", "warning"]
                .iter()
                .any(|name| paths[&handle.get_index()].ends_with(&format!(".{name}")));
            let value = if is_text { text_of(value) } else { String::from_utf8_lossy(value).into_owned() };
            waves.get_mut(&paths[&handle.get_index()]).unwrap().push((time, value));
            Ok::<(), ()>(())
        })
        .unwrap();
    waves.values_mut().for_each(|changes| changes.dedup_by(|later, before| later.1 == before.1));
    waves
}

/// Text as Verilog has it: eight bits a character, behind zeros.
fn text_of(bits: &[u8]) -> String {
    if bits.contains(&b'x') {
        return "x".to_owned();
    }
    let bytes = bits.chunks(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0')));
    String::from_utf8(bytes.skip_while(|byte| *byte == 0).collect()).unwrap()
}

pub fn read_vcd(path: &Path) -> Waves {
    let mut parser = vcd::Parser::new(BufReader::new(std::fs::File::open(path).unwrap()));
    let header = parser.parse_header().unwrap();
    let mut paths = BTreeMap::new();
    fn collect(items: &[vcd::ScopeItem], scope: &str, paths: &mut BTreeMap<vcd::IdCode, (String, u32)>) {
        for item in items {
            match item {
                vcd::ScopeItem::Scope(inner) => {
                    collect(&inner.items, &format!("{scope}{}.", inner.identifier), paths);
                }
                vcd::ScopeItem::Var(variable) => {
                    paths.insert(variable.code, (format!("{scope}{}", variable.reference), variable.size));
                }
                _ => {}
            }
        }
    }
    collect(&header.items, "", &mut paths);
    let mut waves: Waves = paths.values().map(|(path, _)| (path.clone(), Vec::new())).collect();
    let mut now = 0;
    for command in parser {
        let (code, value) = match command.unwrap() {
            vcd::Command::Timestamp(time) => {
                now = time;
                continue;
            }
            vcd::Command::ChangeScalar(code, value) => (code, value.to_string()),
            vcd::Command::ChangeVector(code, value) => (
                code,
                format!("{value:0>width$}", value = value.to_string(), width = paths[&code].1 as usize),
            ),
            vcd::Command::ChangeString(code, value) if value == "-" => (code, String::new()),
            vcd::Command::ChangeString(code, value) => (code, value),
            _ => continue,
        };
        waves.get_mut(&paths[&code].0).unwrap().push((now, value));
    }
    waves
}

/// Returns the value of a signal of bits at a time.
pub fn at(waves: &Waves, path: &str, time: u64) -> String {
    let changes =
        waves.get(path).unwrap_or_else(|| panic!("no signal {path}; there are {:#?}", waves.keys()));
    changes.iter().take_while(|(change, _)| *change <= time).last().map(|it| it.1.clone()).unwrap_or_default()
}

pub fn number(value: &str) -> u64 {
    u64::from_str_radix(value, 2).unwrap_or_else(|_| panic!("`{value}` is no number"))
}

/// Returns the time for which a line was high.
pub fn high(waves: &Waves, path: &str, end: u64) -> u64 {
    let changes = &waves[path];
    let ends = changes.iter().skip(1).map(|(time, _)| *time).chain([end]);
    changes
        .iter()
        .zip(ends)
        .filter(|((_, value), _)| value == "1")
        .map(|((from, _), until)| until - from)
        .sum()
}
