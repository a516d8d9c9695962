//! The table of counters has each that a run yields, with its unit, and none that no run yields.

use crate::common;
use std::collections::BTreeSet;
use std::path::Path;

use vp_host::LocalHost;
use vp_host::fpga_ai_suite::{Driver, Model};
use vp_host::network::digits;
use vp_host::trace::Trace;
use vp_host::trace::player::{PlayOptions, play};
use vp_host::{Host as _, Statistics};
use vp_hub::{Clock, Hub, LinkedPort, PortId, Role, TimeMode};
use vp_models::counters::{CounterValue, EXPLANATIONS};
use vp_models::fpga_ai_suite::Architecture;
use vp_models::outside_device::OutsideDescription;
use vp_models::platform::{Description, DeviceDescription, Platform};

/// A layer with several reads, on a platform with these settings.
fn layer(host: &mut LocalHost) -> Statistics {
    let name = "sdp_residual_sum_8x8x16";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../traces/nv_small/{name}/{name}.cfg"));
    let map = host.map();
    play(&Trace::load(&file).unwrap(), host, &map, &PlayOptions::default()).unwrap();
    host.statistics().unwrap()
}

fn nvdla(settings: &[&str]) -> Statistics {
    let description = common::description().with(settings.iter().copied()).unwrap();
    layer(&mut LocalHost::new(Platform::build(&description).unwrap()))
}

/// The device is another platform's.
fn device_outside() -> Statistics {
    let mut around = common::description();
    around.device = DeviceDescription::Outside(Box::new(OutsideDescription::like("nv_small").unwrap()));
    let (here, there) = (Platform::build(&around).unwrap(), Platform::build(&common::description()).unwrap());
    let port = |platform: &Platform, name: &str| {
        PortId(platform.ports().iter().position(|port| port.name == name).unwrap() as u16)
    };
    let ends = [("csb0", Role::Target), ("irq0", Role::Source), ("dbb0", Role::Initiator)];
    let link = |(name, role)| LinkedPort { there: port(&here, name), role, here: port(&there, name) };
    let links = ends.map(link).to_vec();
    let mut host = LocalHost::new(here);
    host.link(Hub::new(there, TimeMode::Free), ("the device", Clock::default()), links).unwrap();
    layer(&mut host)
}

fn fpga_ai_suite() -> Statistics {
    let name = "fpga-ai-suite";
    let description = Description::named(name).unwrap();
    let mut host = LocalHost::new(Platform::build(&description).unwrap());
    let model = Model::of_network(&digits::network()).unwrap();
    let sample = &digits::samples()[0].pixels[..];
    let (architecture, memory) = (Architecture::named(name).unwrap(), description.dbb0.range());
    Driver::open(&mut host, &architecture, &model, memory).unwrap().infer(&[sample]).unwrap();
    host.statistics().unwrap()
}

#[test]
fn every_counter_of_a_run_is_explained_and_every_explained_counter_is_one_of_a_run() {
    let dram = "dbb0.dram.standard=DDR4-1600K";
    let runs = [
        nvdla(&[]),
        nvdla(&["dbb0.sram.banks=2"]),
        nvdla(&[dram, "dbb0.cache.sets=1", "dbb0.cache.ways=1", "dbb0.traffic.cpu.rate=3_000_000_000"]),
        // Reads find writes of the other master where both are in one range.
        nvdla(&[
            dram,
            "dbb0.traffic.cpu.rate=3_000_000_000",
            "dbb0.traffic.cpu.writes=0.5",
            "dbb0.traffic.cpu.offset=0",
        ]),
        nvdla(&[
            dram,
            "dbb0.dram.timing.tREFI=600",
            "dbb0.dram.page=closed",
            "dbb0.traffic.cpu.rate=3_000_000_000",
        ]),
        nvdla(&["dbb0.dram.standard=LPDDR5-6400", "dbb0.dram.refresh=bank", "dbb0.dram.power_down=20"]),
        nvdla(&["dbb0.dram.standard=LPDDR5-6400", "dbb0.dram.page=closed", "dbb0.dram.power_down=20"]),
        nvdla(&["dbb0.dram.standard=LPDDR5-6400", "dbb0.dram.page=closed", "dbb0.dram.self_refresh=40"]),
        device_outside(),
        fpga_ai_suite(),
    ];
    let (mut seen, mut unexplained) = (BTreeSet::new(), BTreeSet::new());
    for counter in runs.iter().flat_map(|run| &run.counters) {
        let name = counter.name.as_str();
        let unit = if let CounterValue::Text(_) = counter.value { "" } else { &*counter.unit };
        match EXPLANATIONS.iter().position(|it| it.is_of(name) && it.unit == unit) {
            Some(at) => _ = seen.insert(at),
            None => _ = unexplained.insert(format!("{name} [{unit}]")),
        }
    }
    assert!(unexplained.is_empty(), "not in the table: {unexplained:?}");
    let missing = (0..EXPLANATIONS.len()).filter(|at| !seen.contains(at)).map(|at| EXPLANATIONS[at].name);
    let missing: Vec<&str> = missing.collect();
    assert!(missing.is_empty(), "in the table, and no run has them: {missing:?}");
}
