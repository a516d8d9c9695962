//! A platform that is cut at its ports takes the cycles that it takes uncut.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use vp_core::Time;
use vp_host::Host;
use vp_host::LocalHost;
use vp_host::trace::player::{self, PlayOptions};
use vp_host::trace::{Trace, discover};
use vp_hub::{Clock, Hub, LinkedPort, PortId, Reaction, Role, TimeMode};
use vp_models::bus::axi::Latency;
use vp_models::nvdla::registers::{Unit, glb};
use vp_models::outside_device::OutsideDescription;
use vp_models::platform::{Description, DeviceDescription, Platform};
use vp_tests::effort::cases;
use vp_tests::program::Program;
use vp_tests::random::Draw;
use vp_tests::{shared, traces};

/// Results that must be the same.
#[derive(Debug, PartialEq)]
struct PlayResult {
    passed: bool,
    cycles: Option<u64>,
    time: u64,
    /// Of the memory ports, as the device's side counts them.
    counters: Vec<(String, String)>,
}

fn play(trace: &Trace, host: &mut LocalHost) -> PlayResult {
    let map = host.map();
    let outcome =
        player::play(trace, host, &map, &PlayOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let statistics = host.statistics().unwrap_or_else(|error| panic!("{error}"));
    let time = host.now().unwrap_or_else(|error| panic!("{error}")).as_ps();
    // The pins have whole beats: how many bytes of them are wanted is known on the device's side.
    let device = host.linked().iter().find_map(|linked| {
        let platform = linked.hub().platform();
        platform.statistics().get("nvdla.cycles").map(|_| platform.statistics())
    });
    let statistics = device.unwrap_or(statistics);
    let is_compared = |name: &str| name.starts_with("dbb0.") || name.starts_with("sram0.");
    let counters = (statistics.counters.iter())
        .filter(|counter| is_compared(&counter.name))
        .map(|counter| (counter.name.clone(), format!("{:?}", counter.value)))
        .collect();
    PlayResult { passed: outcome.passed(), cycles: cycles(host), time, counters }
}

fn port(hub: &Platform, name: &str) -> PortId {
    let index = hub.ports().iter().position(|port| port.name == name);
    PortId(index.unwrap_or_else(|| panic!("no port {name}")) as u16)
}

fn built(description: &Description) -> Platform {
    Platform::build(description).unwrap_or_else(|error| panic!("{error}"))
}

/// The memories are another platform's.
fn with_memory_elsewhere(description: &Description, ports: &[&str], clock: Clock) -> LocalHost {
    let (here, there) = (built(description), built(description));
    let links = ports.iter().map(|name| LinkedPort {
        there: port(&here, name),
        role: Role::Target,
        here: port(&there, name),
    });
    let links = links.collect();
    let mut host = LocalHost::new(here);
    let hub = Hub::new(there, TimeMode::Free);
    host.link(hub, ("the memory", clock), links).unwrap_or_else(|error| panic!("{error}"));
    host
}

/// The device is another platform's, with the ports of these names; the memories are here.
fn with_device_elsewhere(description: &Description, memories: &[&str], clock: Clock) -> LocalHost {
    with_ports_elsewhere(description, &["csb0", "irq0"], (memories, &[]), clock)
}

/// The device is another platform's, and linked at `device`. Of its memories some are `here`, and the others `there`, where loaders'
/// accesses go, too.
fn with_ports_elsewhere(
    description: &Description,
    device: &[&str],
    (memories_here, memories_there): (&[&str], &[&str]),
    clock: Clock,
) -> LocalHost {
    let mut around = description.clone();
    let outside = OutsideDescription::like(&description.name).unwrap_or_else(|error| panic!("{error}"));
    around.device = DeviceDescription::Outside(Box::new(outside));
    let (here, there) = (built(&around), built(description));
    let link = |name: &str, role| LinkedPort { there: port(&here, name), role, here: port(&there, name) };
    let of_device =
        device.iter().map(|name| link(name, if *name == "irq0" { Role::Source } else { Role::Target }));
    let masters = memories_here.iter().map(|name| link(name, Role::Initiator));
    let targets = memories_there.iter().map(|name| link(name, Role::Target));
    let links = of_device.chain(masters).chain(targets).collect();
    let mut host = LocalHost::new(here);
    let hub = Hub::new(there, TimeMode::Free);
    host.link(hub, ("the device", clock), links).unwrap_or_else(|error| panic!("{error}"));
    host
}

/// Platform with device and memories elsewhere, each at another place.
fn with_all_elsewhere(description: &Description, memories: &[&str], clock: Clock) -> LocalHost {
    let mut host = with_device_elsewhere(description, memories, clock);
    let there = built(description);
    let link = |name: &&str| LinkedPort {
        there: port(host.platform(), name),
        role: Role::Target,
        here: port(&there, name),
    };
    let links = memories.iter().map(link).collect();
    let hub = Hub::new(there, TimeMode::Free);
    host.link(hub, ("the memory", clock), links).unwrap_or_else(|error| panic!("{error}"));
    host
}

fn memories(description: &Description) -> &'static [&'static str] {
    if built(description).memory("sram0").is_some() { &["dbb0", "sram0"] } else { &["dbb0"] }
}

/// Read latencies, and reads that may be outstanding.
const ALL: [(u32, u32); 6] = [(1, 8), (1, 256), (50, 8), (50, 256), (400, 8), (400, 256)];

/// Two that are far apart.
const FEW: [(u32, u32); 2] = [(1, 8), (400, 256)];

/// All if there is time for more than usual, else three that have each latency, and both limits.
fn many() -> &'static [(u32, u32)] {
    const MANY: [(u32, u32); 3] = [(1, 256), (50, 8), (400, 256)];
    if cases(1) > 1 { &ALL } else { &MANY }
}

fn described(name: &str, latency: u32, limit: u32) -> Description {
    let mut description = Description::named(name).unwrap_or_else(|error| panic!("{error}"));
    for memory in [&mut description.dbb0, &mut description.sram0] {
        memory.read_latency = Some(Latency::Fixed(latency));
        memory.read_outstanding = limit;
    }
    description
}

fn cycles(host: &LocalHost) -> Option<u64> {
    let linked =
        host.linked().iter().find_map(|linked| linked.hub().platform().statistics().get("nvdla.cycles"));
    linked.or(host.platform().statistics().get("nvdla.cycles"))
}

/// As the platform counts them that was told to run: of a device outside, what its ports show.
fn cycles_here(host: &LocalHost) -> Option<u64> {
    host.platform().statistics().get("nvdla.cycles")
}

/// Plays a trace uncut, once for all tests that cut it under the same memory.
fn play_uncut(
    trace: &Trace,
    script: &Path,
    memory: (u32, u32),
    description: &Description,
) -> Arc<PlayResult> {
    type Played = BTreeMap<(PathBuf, (u32, u32)), Arc<OnceLock<Arc<PlayResult>>>>;
    static PLAYED: Mutex<Played> = Mutex::new(BTreeMap::new());
    let mut played = PLAYED.lock().unwrap_or_else(PoisonError::into_inner);
    let result = played.entry((script.to_owned(), memory)).or_default().clone();
    drop(played);
    result.get_or_init(|| Arc::new(play(trace, &mut LocalHost::new(built(description))))).clone()
}

/// Plays every trace uncut and cut, under several memories. `kind` says in failures what is cut.
fn compare(kind: &str, settings: &[(u32, u32)], cut: impl Fn(&Description) -> LocalHost) {
    compare_and_check(kind, settings, cut, |_, _| true);
}

/// Compares as [`compare`] does, with another check of what was seen.
fn compare_and_check(
    kind: &str,
    settings: &[(u32, u32)],
    cut: impl Fn(&Description) -> LocalHost,
    agrees: impl Fn(&LocalHost, &PlayResult) -> bool,
) {
    let mut all = discover(&traces::folder()).unwrap_or_else(|error| panic!("{error}"));
    if let Some(folder) = shared::folder("the vendor's traces, cut", "nvdla/traces") {
        all.extend(discover(&folder).unwrap_or_else(|error| panic!("{error}")));
    }
    let (mut same, mut wrong) = (0, Vec::new());
    for source in &all {
        let Some(config) = &source.configuration else { continue };
        let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
        for &(latency, limit) in settings {
            let description = described(config, latency, limit);
            let uncut = play_uncut(&trace, &source.script, (latency, limit), &description);
            let mut host = cut(&description);
            let found = play(&trace, &mut host);
            if *uncut == found && agrees(&host, &found) {
                same += 1;
                continue;
            }
            let differs = uncut.counters.iter().zip(&found.counters).find(|(uncut, cut)| uncut != cut);
            let heard: Vec<String> =
                host.warnings().into_iter().map(|warning| warning.text).take(2).collect();
            wrong.push(format!(
                "{config}/{}, latency {latency}, {limit} outstanding: uncut {:?} cycles, passed {}; cut {:?} ({:?} \
                 here), {}; {differs:?}; {heard:?}",
                source.name, uncut.cycles, uncut.passed, found.cycles, cycles_here(&host), found.passed
            ));
        }
    }
    shared::say(&format!("{kind} elsewhere: {same} runs of the same cycles, bursts and results"));
    assert!(
        wrong.is_empty(),
        "{kind}: {} of {} differ:\n{}",
        wrong.len(),
        same + wrong.len(),
        wrong.join("\n")
    );
    assert!(same > 0, "no trace was played");
}

#[test]
fn a_fault_that_would_hold_up_what_a_master_outside_writes_is_said_to_have_missed() {
    let clock = Clock { reaction: Reaction::NextEdge, quantum: 0 };
    let mut host = with_device_elsewhere(&described("nv_small", 1, 8), &["dbb0"], clock);
    let stall = |channel| {
        format!("[[fault]]\nkind = 'stall'\nport = 'dbb0'\nchannel = '{channel}'\ncycles = 50\nafter = 0\n")
    };
    host.inject_faults(&["w", "b", "aw"].map(stall).concat()).unwrap_or_else(|error| panic!("{error}"));
    let trace = traces::folder().join("nv_small/sdp_prelu_5x7x13/sdp_prelu_5x7x13.cfg");
    let trace = Trace::load(&trace).unwrap_or_else(|error| panic!("{error}"));
    assert!(play(&trace, &mut host).passed);
    let report = host.platform().faults().report();
    for missed in &report[..2] {
        assert!(
            missed.contains(": never struck: at ") && missed.ends_with("only AW can be held up"),
            "{missed}"
        );
    }
    assert!(report[2].contains(": struck at "), "{}", report[2]);
}

#[test]
fn the_memory_may_be_elsewhere() {
    compare("memory", many(), |description| with_memory_elsewhere(description, &["dbb0"], Clock::default()));
}

#[test]
fn all_memories_may_be_elsewhere() {
    compare("memories", &FEW, |description| {
        with_memory_elsewhere(description, memories(description), Clock::default())
    });
}

#[test]
fn the_device_may_be_elsewhere() {
    let cut = |description: &Description| {
        with_device_elsewhere(description, memories(description), Clock::default())
    };
    // Its ports show how long it took, even if its line was high when the layer ended.
    compare_and_check("device", many(), cut, |host, found| cycles_here(host) == found.cycles);
}

#[test]
fn registers_and_line_may_be_elsewhere() {
    compare("registers", &FEW, |description| {
        with_ports_elsewhere(description, &["csb0", "irq0"], (&[], memories(description)), Clock::default())
    });
}

#[test]
fn each_memory_port_may_be_cut_by_itself() {
    let split = |description: &Description, name| {
        memories(description).iter().copied().partition::<Vec<_>, _>(|memory| *memory == name)
    };
    for name in ["dbb0", "sram0"] {
        compare(&format!("device but for what is behind {name}"), &FEW[1..], |description| {
            let (here, there) = split(description, name);
            with_ports_elsewhere(description, &["csb0", "irq0"], (&here, &there), Clock::default())
        });
        compare(&format!("memory {name}"), &FEW[1..], |description| {
            with_memory_elsewhere(description, &split(description, name).0, Clock::default())
        });
    }
}

/// A CPU that polls needs no line.
#[test]
fn registers_may_be_cut_by_themselves() {
    let mut draw = Draw::new("nv_small", 7);
    let layer = draw.sdp(true);
    let polled = |mut host: LocalHost| {
        let map = host.map();
        let mut program = Program::new(map);
        program.sdp(&layer, 0);
        program.enable_sdp(0);
        for write in &program.writes {
            let address = map.address(write.unit, write.register).unwrap();
            host.write(address, write.value).unwrap();
        }
        let status = map.address(Unit::Glb, glb::S_INTR_STATUS).unwrap();
        let mut polls = 0;
        while host.read(status).unwrap() == 0 {
            polls += 1;
            assert!(polls < 10_000, "the layer comes to no end");
        }
        (polls, host.now().unwrap())
    };
    let description = draw.description();
    let uncut = polled(LocalHost::new(built(description)));
    let memories = memories(description);
    assert_eq!(
        polled(with_ports_elsewhere(description, &["csb0"], (memories, &[]), Clock::default())),
        uncut
    );
    assert_eq!(
        polled(with_ports_elsewhere(description, &["csb0"], (&[], memories), Clock::default())),
        uncut
    );
}

#[test]
fn device_and_memory_may_be_at_different_places() {
    compare("device and memory", &FEW, |description| {
        with_all_elsewhere(description, memories(description), Clock::default())
    });
}

/// Runs with partners after whose inputs the platform's outputs go first, and the edges alternate.
#[test]
fn partners_whose_outputs_depend_on_inputs_of_the_same_edge_take_the_same_cycles() {
    let clock = Clock { reaction: Reaction::SameEdge, quantum: 0 };
    compare("memory without registers", &FEW, |description| {
        with_memory_elsewhere(description, &["dbb0"], clock)
    });
    compare("device without registers", &FEW, |description| {
        with_device_elsewhere(description, memories(description), clock)
    });
}

/// Returns the description with memories that take so much longer to answer.
fn slower(description: &Description, cycles: u32) -> Description {
    let mut description = description.clone();
    for memory in [&mut description.dbb0, &mut description.sram0] {
        for latency in [memory.read_latency.as_mut(), Some(&mut memory.write_latency)].into_iter().flatten() {
            let Latency::Fixed(fixed) = latency else { panic!("{latency:?}") };
            *fixed += cycles;
        }
    }
    description
}

/// Plays own traces cut by links that delay: a memory behind `links` of them is one that answers two quanta a link later.
fn compare_delayed(links: u32, cut: impl Fn(&Description, Clock) -> LocalHost) {
    let mut messages = Vec::new();
    for quantum in [0, 1, 7, 64] {
        let clock = Clock { quantum, ..Clock::default() };
        let mut sent = 0;
        for source in discover(&traces::folder()).unwrap_or_else(|error| panic!("{error}")) {
            let Some(config) = &source.configuration else { continue };
            let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
            for (latency, limit) in FEW {
                let description = described(config, latency, limit);
                let uncut = slower(&description, 2 * links * quantum);
                let uncut = play(&trace, &mut LocalHost::new(built(&uncut)));
                let mut host = cut(&description, clock);
                let found = play(&trace, &mut host);
                let what = format!("{config}/{}, latency {latency}, quantum {quantum}", source.name);
                assert!(found.passed, "{what}: {:?}", host.warnings());
                assert_eq!(found.cycles, uncut.cycles, "{what}");
                assert_eq!(found, play(&trace, &mut cut(&description, clock)), "{what}, once more");
                sent += host.linked().iter().map(|linked| linked.hub().position().outputs).sum::<u64>();
            }
        }
        messages.push(sent);
    }
    shared::say(&format!("messages with a quantum of 0, 1, 7 and 64: {messages:?}"));
    assert!(messages.is_sorted_by(|before, after| before > after), "{messages:?}");
}

#[test]
fn a_memory_behind_a_link_that_delays_answers_two_quanta_later() {
    compare_delayed(1, |description, clock| with_memory_elsewhere(description, memories(description), clock));
}

#[test]
fn a_device_behind_a_link_that_delays_is_answered_two_quanta_later() {
    compare_delayed(1, |description, clock| with_device_elsewhere(description, memories(description), clock));
}

#[test]
fn two_links_that_delay_add_up() {
    compare_delayed(2, |description, clock| with_all_elsewhere(description, memories(description), clock));
}

/// Ends a trace by a limit in its middle, resets, and plays it to its end: what came of that.
fn play_behind_resets(trace: &Trace, host: &mut LocalHost, limits: &[u64]) -> PlayResult {
    let map = host.map();
    for &limit in limits {
        let now = host.now().unwrap_or_else(|error| panic!("{error}"));
        host.set_limit(now + Time::ns(limit));
        let ended = player::play(trace, host, &map, &PlayOptions::default());
        assert!(!ended.is_ok_and(|outcome| outcome.passed()), "it has come to its end in {limit} cycles");
        host.reset().unwrap_or_else(|error| panic!("{error}"));
        host.set_limit(Time::MAX);
    }
    let since = host.now().unwrap_or_else(|error| panic!("{error}")).as_ps();
    let seen = play(trace, host);
    PlayResult { time: seen.time - since, ..seen }
}

/// A reset in mid-layer puts every part back: the layer then takes the cycles that it takes behind a reset of the whole.
fn compare_resets(cut: impl Fn(&Description, Clock) -> LocalHost, links: u32) {
    for (config, name) in [
        ("nv_small", "conv_sdp_pdp_3x3_prelu_maxpool_12x10x8x16"),
        ("nv_small", "sdp_residual_sum_8x8x16"),
        ("nv_large", "conv_3x3_bias_relu_6x5x70x40"),
    ] {
        let script = traces::folder().join(config).join(name).join(format!("{name}.cfg"));
        let trace = Trace::load(&script).unwrap_or_else(|error| panic!("{error}"));
        for (latency, limit) in FEW {
            let description = described(config, latency, limit);
            let whole = play(&trace, &mut LocalHost::new(built(&description))).time / 1000;
            for limits in [vec![whole / 3], vec![whole / 2, whole * 2 / 3, 100], vec![whole * 9 / 10]] {
                for quantum in [0, 5] {
                    let uncut = slower(&description, 2 * links * quantum);
                    let uncut = play_behind_resets(&trace, &mut LocalHost::new(built(&uncut)), &limits);
                    let mut host = cut(&description, Clock { quantum, ..Clock::default() });
                    let found = play_behind_resets(&trace, &mut host, &limits);
                    let what = format!("{config}/{name}, latency {latency}, quantum {quantum}, {limits:?}");
                    match quantum {
                        0 => assert_eq!(found, uncut, "{what}: {:?}", host.warnings()),
                        _ => assert_eq!((found.passed, found.cycles), (true, uncut.cycles), "{what}"),
                    }
                }
            }
        }
    }
}

#[test]
fn a_memory_elsewhere_is_reset_with_the_platform() {
    compare_resets(|description, clock| with_memory_elsewhere(description, memories(description), clock), 1);
}

#[test]
fn a_device_elsewhere_is_reset_with_the_platform() {
    compare_resets(|description, clock| with_device_elsewhere(description, memories(description), clock), 1);
}

#[test]
fn device_and_memory_at_different_places_are_reset_with_the_platform() {
    compare_resets(|description, clock| with_all_elsewhere(description, memories(description), clock), 2);
}
