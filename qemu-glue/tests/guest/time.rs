//! Guests under `-icount`: their time is the platform's.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use vp_core::Time;
use vp_core::observe::{Observation, Observer, Stage, Transfer, What};
use vp_host::LocalHost;
use vp_host::trace::player::{PlayOptions, play};
use vp_host::trace::{RegisterNames as _, Trace};
use vp_host::{CounterValue, Host as _, Memory};
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, Platform};
use vp_protocols::native::TimeMode;
use vp_transport::Address;

use crate::linux;
use crate::machine::{Kind, Setup, can_run};
use crate::script::Script;
use crate::served::Served;
use crate::watcher::Watcher;
use crate::{FUSED, POOL, POOLING, trace};

/// A clock so slow that a guest makes many instructions in a cycle: what it measures is the platform's doing.
const PERIOD: u64 = 1600;
/// Register that is read.
const REGISTER: &str = "GLB.S_INTR_MASK";

fn description() -> Description {
    let mut description = Description::named("nv_small").unwrap();
    description.period = Time::ns(PERIOD);
    description
}

/// Things that a run leaves: the console, and the platform's word on it.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    said: Vec<String>,
    hash: String,
    enabled: u64,
    done: u64,
    time: u64,
}

/// Runs a guest on a platform, with further options of the device.
fn run(setup: Setup, description: Description, options: &str) -> Left {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::with(Address::Unix(folder.path().join("vp.sock")), description);
    let mut watcher = Watcher::join(&server.address, "timed", TimeMode::Lockstep);
    let setup = setup.plugin(&format!(",connect={},platform=timed{options}", server.address));
    let mut machine = setup.args(&["-icount", "shift=3,sleep=off"]).start();
    machine.wait_for("PASS");
    let said = machine.said.clone();
    let told = machine.passes();
    assert!(!told.contains("vp: warning"), "{told}");
    let counters = watcher.counters("");
    let count = |name: &str| match &counters[name] {
        CounterValue::Count(count) => *count,
        other => panic!("{name}: {other:?}"),
    };
    let CounterValue::Text(hash) = &counters["events.hash"] else { panic!("no hash") };
    let (enabled, done) = (count("nvdla.enabled"), count("nvdla.done"));
    Left { said, hash: hash.clone(), enabled, done, time: count("time") }
}

/// The numbers behind a word, one a line.
fn said(lines: &[String], word: &str) -> Vec<u64> {
    lines.iter().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()).collect()
}

/// Numbers that the model gives, in this process.
struct Modelled {
    /// Cycles of a read.
    read: u64,
    /// Cycles of the layer.
    layer: u64,
    /// A word that the layer changes, and how many cycles before the layer's end.
    changed: (u64, u64),
}

/// The writes to memory: when a burst's data is complete, and where it goes.
#[derive(Default)]
struct Writes(RefCell<Vec<(Time, u64)>>);

impl Observer for Writes {
    fn observe(&self, observation: &Observation<'_>) {
        if let What::Transfer(Transfer { stage: Stage::Data, write: true, address, .. }) = observation.what {
            self.0.borrow_mut().push((observation.time, address));
        }
    }
}

fn modelled(layer: &Path) -> Modelled {
    let (period, build) = (Time::ns(PERIOD), || Platform::build(&description()).unwrap());
    let mut host = LocalHost::new(build());
    let began = host.now().unwrap();
    host.read(host.map().resolve(REGISTER).unwrap()).unwrap();
    let read = (host.now().unwrap() - began).cycles(period);
    let (trace, platform, writes) = (Trace::load(layer).unwrap(), build(), Rc::new(Writes::default()));
    platform.sim().observe(writes.clone());
    let (mut host, map) = (LocalHost::new(platform), host.map());
    play(&trace, &mut host, &map, &PlayOptions::default()).unwrap();
    let statistics = host.statistics().unwrap();
    let count = |name| match statistics.counters.iter().find(|counter| counter.name == name).unwrap().value {
        CounterValue::Count(count) => count,
        _ => panic!("{name} is no number"),
    };
    let done = Time::ps(count("nvdla.done"));
    let changed = writes.0.borrow().iter().find_map(|&(time, address)| {
        let mut word = [0; 4];
        host.fetch(Memory::Primary, address, &mut word).unwrap();
        (word != [0; 4]).then(|| (address, (done - time).cycles(period)))
    });
    Modelled { read, layer: count("nvdla.cycles"), changed: changed.unwrap() }
}

#[test]
fn under_icount_the_guest_and_the_platform_have_one_time() {
    if !can_run("under_icount_the_guest_and_the_platform_have_one_time") {
        return;
    }
    let Modelled { read, layer, changed: (word, before) } = modelled(&trace(POOLING));
    let script = || {
        let script = Script::new(RegisterMap::Small).read_times(REGISTER, 8);
        script.layer_watching(&trace(POOLING), word).times()
    };
    let run = || run(Setup::new(script()), description(), "");
    let first = run();
    // The first read ends on a clock edge. The guest asks again less than a cycle later, waits for the next edge, and then
    // for as long as a read takes.
    assert_eq!(said(&first.said, "read"), [(1 + read) * PERIOD; 7]);
    assert_eq!(first.done - first.enabled, layer * PERIOD * 1000);
    // The guest looks every few instructions, many times a cycle.
    let raised = first.done / 1000;
    let [interrupted] = said(&first.said, "interrupted")[..] else { panic!("{first:?}") };
    assert!((raised..raised + PERIOD).contains(&interrupted), "{first:?}");
    assert!(before > 0);
    let written = raised - before * PERIOD;
    let [changed] = said(&first.said, "changed")[..] else { panic!("{first:?}") };
    assert!((written..written + PERIOD).contains(&changed), "{written}, {first:?}");
    assert_eq!(run(), first);
}

/// A boot of Debian's kernel, and a layer, all time stamps included.
fn linux_run(kind: Kind, args: &[&str], append: &str, options: &str) -> Left {
    let script = Script::new(RegisterMap::Small).layer(&trace(FUSED)).times();
    // What else differs from run to run: seeds for the guest, and the date.
    let setup = Setup::linux(kind, script).args(&["-seed", "1", "-rtc", "base=2026-01-01,clock=vm"]);
    let setup = setup.args(args).args(&["-append", &format!("{append} nokaslr printk.time=1 panic=-1")]);
    let left = run(setup, Description::named("nv_small").unwrap(), options);
    assert!(left.said.iter().any(|line| line.starts_with('[')), "{left:?}");
    left
}

#[test]
fn under_icount_two_runs_of_linux_are_one() {
    if !linux::can_run(Kind::Node, "under_icount_two_runs_of_linux_are_one") {
        return;
    }
    let args = ["-M", "dtb-randomness=off"];
    let run = || linux_run(Kind::Node, &args, "console=ttyAMA0", &format!(",{POOL}"));
    assert_eq!(run(), run());
}

#[test]
fn under_icount_two_runs_of_a_pc_are_one() {
    if !linux::can_run(Kind::Function, "under_icount_two_runs_of_a_pc_are_one") {
        return;
    }
    let run = || linux_run(Kind::Function, &[], "console=ttyS0 memmap=16M$0x80000000", "");
    assert_eq!(run(), run());
}

#[test]
fn under_icount_a_platform_whose_time_moves_by_itself_is_refused() {
    if !can_run("under_icount_a_platform_whose_time_moves_by_itself_is_refused") {
        return;
    }
    let server = Served::named("nv_small");
    let watcher = Watcher::join(&server.address, "free", TimeMode::Free);
    let options = format!(",connect={},platform=free", server.address);
    let setup = Setup::new(Script::new(RegisterMap::Small)).plugin(&options);
    let told = setup.args(&["-icount", "shift=3,sleep=off"]).start().refuses();
    assert!(told.contains("the guest owns time, but that of platform free moves by itself"), "{told}");
    drop(watcher);
}

#[test]
fn under_icount_with_the_hosts_clock_in_it_the_layer_runs_and_the_user_is_told() {
    if !can_run("under_icount_with_the_hosts_clock_in_it_the_layer_runs_and_the_user_is_told") {
        return;
    }
    for (icount, sentence) in
        [("shift=3", "-icount sleep=on makes"), ("shift=auto", "-icount shift=auto makes")]
    {
        let server = Served::named("nv_small");
        let setup = Setup::new(Script::new(RegisterMap::Small).layer(&trace(FUSED))).connect(&server.address);
        let told = setup.args(&["-icount", icount]).start().passes();
        assert!(told.contains(sentence), "{told}");
    }
}
