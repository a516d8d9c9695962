//! A platform that is cut at its ports takes the cycles that it takes uncut.

use vp_models::bus::axi::Latency;
use vp_models::host::Host;
use vp_models::host::trace::player::{self, PlayOptions};
use vp_models::host::trace::{Trace, discover};
use vp_models::hub::{Clock, Hub, LinkedPort, PortIndex, Role, TimeMode};
use vp_models::local::LocalHost;
use vp_models::platform::{Description, Platform};

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
    let is_compared = |name: &str| name.starts_with("dbb0.") || name.starts_with("sram0.");
    let bursts = (statistics.counters.iter())
        .filter(|count| is_compared(&count.name))
        .map(|counter| (counter.name.clone(), format!("{:?}", counter.value)))
        .collect();
    Seen { passed: outcome.passed(), cycles: statistics.get("nvdla.cycles"), time, bursts }
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

#[test]
fn the_memory_may_be_elsewhere() {
    let filter = std::env::var("CUT").unwrap_or_default();
    let mut all = discover(std::path::Path::new("../traces")).unwrap_or_default();
    all.extend(discover(std::path::Path::new("../../shared/nvdla/traces")).unwrap_or_default());
    let (mut same, mut wrong) = (0, Vec::new());
    for source in all {
        let Some(config) = source.configuration.clone() else { continue };
        let full = format!("{config}/{}", source.name);
        if !full.contains(&filter) {
            continue;
        }
        let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
        for description in settings(&config) {
            let uncut = play(&trace, &mut LocalHost::new(built(&description)));
            let cut = play(&trace, &mut with_memory_elsewhere(&description, &["dbb0"]));
            if uncut == cut {
                same += 1;
            } else {
                let d: Vec<_> =
                    uncut.bursts.iter().zip(&cut.bursts).filter(|(a, b)| a != b).take(3).collect();
                wrong.push(format!(
                    "{full} {:?} {}: {:?} {} {} / {:?} {} {} {d:?}",
                    description.dbb0.read_latency,
                    description.dbb0.read_outstanding,
                    uncut.cycles,
                    uncut.time,
                    uncut.passed,
                    cut.cycles,
                    cut.time,
                    cut.passed
                ));
                println!("{}", wrong.last().unwrap());
            }
        }
    }
    println!("{same} same, {} wrong", wrong.len());
    assert!(wrong.is_empty());
}
