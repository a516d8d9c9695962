//! A platform that is cut at its ports takes the cycles that it takes uncut.

use vp_models::bus::axi::Latency;
use vp_models::host::Host;
use vp_models::host::trace::player::{self, PlayOptions};
use vp_models::host::trace::{Trace, discover};
use vp_models::hub::{Clock, Hub, LinkedPort, PortIndex, Role, TimeMode};
use vp_models::local::LocalHost;
use vp_models::outside_device::OutsideDescription;
use vp_models::platform::{Description, DeviceDescription, Platform};

/// What must be the same.
#[derive(Debug, PartialEq)]
struct Seen {
    passed: bool,
    cycles: Option<u64>,
    time: u64,
    bursts: Vec<(String, String)>,
}

fn play(trace: &Trace, host: &mut LocalHost) -> Seen {
    let map = host.map();
    let outcome =
        player::play(trace, host, &map, &PlayOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    if std::env::var("WARN").is_ok() {
        for w in host.warnings() {
            println!("  {} {}", w.time, w.text);
        }
    }
    let statistics = host.statistics().unwrap_or_else(|error| panic!("{error}"));
    let time = host.now().unwrap_or_else(|error| panic!("{error}")).as_ps();
    // The pins have whole beats: how many bytes of them are wanted is known on the device's side.
    let device = host.linked().iter().find_map(|linked| {
        let platform = linked.hub().platform();
        platform.statistics().get("nvdla.cycles").map(|_| platform.statistics())
    });
    let statistics = device.unwrap_or(statistics);
    let is_compared = |name: &str| name.starts_with("dbb0.") || name.starts_with("sram0.");
    let bursts = (statistics.counters.iter())
        .filter(|count| is_compared(&count.name))
        .map(|counter| (counter.name.clone(), format!("{:?}", counter.value)))
        .collect();
    Seen { passed: outcome.passed(), cycles: cycles(host), time, bursts }
}

fn port(hub: &Platform, name: &str) -> PortIndex {
    let index = hub.ports().iter().position(|port| port.name == name);
    PortIndex(index.unwrap_or_else(|| panic!("no port {name}")) as u16)
}

fn built(description: &Description) -> Platform {
    Platform::build(description).unwrap_or_else(|error| panic!("{error}"))
}

/// The memories are another platform's.
fn with_memory_elsewhere(description: &Description, ports: &[&str]) -> LocalHost {
    let (here, there) = (built(description), built(description));
    let links = ports.iter().map(|name| LinkedPort {
        there: port(&here, name),
        role: Role::Target,
        here: port(&there, name),
    });
    let links = links.collect();
    let mut host = LocalHost::new(here);
    let hub = Hub::new(there, TimeMode::Free);
    host.link(hub, ("the memory", Clock::default()), links).unwrap_or_else(|error| panic!("{error}"));
    host
}

/// The device is another platform's, with the ports of these names; the memories are here.
fn with_device_elsewhere(description: &Description, memories: &[&str]) -> LocalHost {
    let mut around = description.clone();
    let outside = OutsideDescription::like(&description.name).unwrap_or_else(|error| panic!("{error}"));
    around.device = DeviceDescription::Outside(Box::new(outside));
    let (here, there) = (built(&around), built(description));
    let roles = [("csb0", Role::Target), ("irq0", Role::Source)];
    let masters = memories.iter().map(|name| (*name, Role::Initiator));
    let link = |(name, role)| LinkedPort { there: port(&here, name), role, here: port(&there, name) };
    let links = roles.into_iter().chain(masters).map(link).collect();
    let mut host = LocalHost::new(here);
    let hub = Hub::new(there, TimeMode::Free);
    host.link(hub, ("the device", Clock::default()), links).unwrap_or_else(|error| panic!("{error}"));
    host
}

/// Both are elsewhere, each at another place.
fn with_all_elsewhere(description: &Description, memories: &[&str]) -> LocalHost {
    let mut host = with_device_elsewhere(description, memories);
    let there = built(description);
    let link = |name: &&str| LinkedPort {
        there: port(host.platform(), name),
        role: Role::Target,
        here: port(&there, name),
    };
    let links = memories.iter().map(link).collect();
    let hub = Hub::new(there, TimeMode::Free);
    host.link(hub, ("the memory", Clock::default()), links).unwrap_or_else(|error| panic!("{error}"));
    host
}

/// The device is elsewhere, with its memories: only its registers and its interrupt line are cut.
fn with_registers_elsewhere(description: &Description, memories: &[&str]) -> LocalHost {
    let mut around = description.clone();
    let outside = OutsideDescription::like(&description.name).unwrap_or_else(|error| panic!("{error}"));
    around.device = DeviceDescription::Outside(Box::new(outside));
    let (here, there) = (built(&around), built(description));
    let roles = [("csb0", Role::Target), ("irq0", Role::Source)];
    // Loaders' accesses go there, too.
    let masters = memories.iter().map(|name| (*name, Role::Target));
    let link = |(name, role)| LinkedPort { there: port(&here, name), role, here: port(&there, name) };
    let links = roles.into_iter().chain(masters).map(link).collect();
    let mut host = LocalHost::new(here);
    let hub = Hub::new(there, TimeMode::Free);
    host.link(hub, ("the device", Clock::default()), links).unwrap_or_else(|error| panic!("{error}"));
    host
}

fn memories(description: &Description) -> &'static [&'static str] {
    if built(description).memory("sram0").is_some() { &["dbb0", "sram0"] } else { &["dbb0"] }
}

fn settings(name: &str) -> Vec<Description> {
    let mut all = Vec::new();
    for latency in [1, 50, 400] {
        for limit in [8, 256] {
            let mut description = Description::named(name).unwrap_or_else(|error| panic!("{error}"));
            for memory in [&mut description.dbb0, &mut description.sram0] {
                memory.read_latency = Some(Latency::Fixed(latency));
                memory.read_outstanding = limit;
            }
            all.push(description);
        }
    }
    all
}

fn cycles(host: &LocalHost) -> Option<u64> {
    let linked =
        host.linked().iter().find_map(|linked| linked.hub().platform().statistics().get("nvdla.cycles"));
    linked.or(host.platform().statistics().get("nvdla.cycles"))
}

fn compare(kind: &str, cut: impl Fn(&Description) -> LocalHost) {
    let filter = std::env::var("CUT").unwrap_or_default();
    let mut all = discover(std::path::Path::new("../traces")).unwrap_or_default();
    all.extend(discover(std::path::Path::new("../../shared/nvdla/traces")).unwrap_or_default());
    let (mut same, mut wrong) = (0, 0);
    for source in all {
        let Some(config) = source.configuration.clone() else { continue };
        let full = format!("{config}/{}", source.name);
        if !full.contains(&filter) {
            continue;
        }
        let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
        for description in settings(&config) {
            let uncut = play(&trace, &mut LocalHost::new(built(&description)));
            let mut host = cut(&description);
            let found = play(&trace, &mut host);
            if uncut == found {
                same += 1;
            } else {
                wrong += 1;
                let d: Vec<_> =
                    uncut.bursts.iter().zip(&found.bursts).filter(|(a, b)| a != b).take(3).collect();
                println!(
                    "{kind} {full} {:?} {}: {:?} {} {} / {:?} {} {} {d:?}",
                    description.dbb0.read_latency,
                    description.dbb0.read_outstanding,
                    uncut.cycles,
                    uncut.time,
                    uncut.passed,
                    found.cycles,
                    found.time,
                    found.passed
                );
                for warning in host.warnings().iter().take(3) {
                    println!("    {}", warning.text);
                }
            }
        }
    }
    println!("{kind}: {same} same, {wrong} wrong");
    assert_eq!(wrong, 0);
}

#[test]
fn the_memory_may_be_elsewhere() {
    compare("memory", |description| with_memory_elsewhere(description, &["dbb0"]));
}

#[test]
fn all_memories_may_be_elsewhere() {
    compare("memories", |description| with_memory_elsewhere(description, memories(description)));
}

#[test]
fn the_device_may_be_elsewhere() {
    compare("device", |description| with_device_elsewhere(description, memories(description)));
}

#[test]
fn registers_and_line_may_be_elsewhere() {
    compare("registers", |description| with_registers_elsewhere(description, memories(description)));
}

#[test]
fn device_and_memory_may_be_at_different_places() {
    compare("all", |description| with_all_elsewhere(description, memories(description)));
}
