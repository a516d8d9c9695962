//! A program cannot tell a platform behind a socket from one in its own process, and neither can the platform.

use crate::common::{Served, copy, description, local, run};
use vp_host::LocalHost;
use vp_host::Statistics;
use vp_models::bus::axi::{Drawn, Latency};
use vp_models::platform::Platform;
use vp_remote::MemoryPlace;
use vp_server::Options;

fn is_the_same_run_over(address: &str) {
    let trace = copy(8, 8, 32);
    let (outcome, statistics) = run(&trace, &mut local());
    assert!(statistics.get("nvdla.cycles").is_some());
    let served = Served::at(address, Options::default());
    for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
        let (remote_outcome, remote) = run(&trace, &mut served.host(memory));
        assert_eq!(remote.get("nvdla.cycles"), statistics.get("nvdla.cycles"), "{memory:?}");
        assert_eq!(remote.text("events.hash"), statistics.text("events.hash"), "{memory:?}");
        assert_eq!(remote_outcome, outcome, "{memory:?}");
    }
}

#[test]
fn a_trace_over_tcp_is_the_same_run_as_in_process_wherever_the_memory_is() {
    is_the_same_run_over("tcp:127.0.0.1:0");
}

#[test]
fn a_trace_over_a_unix_socket_is_the_same_run_as_in_process() {
    let folder = tempfile::tempdir().unwrap();
    is_the_same_run_over(&format!("unix:{}", folder.path().join("vp.sock").display()));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the socket's file is left behind");
}

#[test]
fn the_run_does_not_depend_on_the_latency_of_the_memory_model_either() {
    let latencies = [
        Latency::Fixed(0),
        Latency::Fixed(1),
        Latency::Drawn(Drawn::Uniform { min: 3, max: 90 }),
        Latency::Drawn(Drawn::Exponential { min: 10, mean: 40.0 }),
    ];
    let trace = copy(8, 4, 16);
    for latency in latencies {
        let mut described = description();
        described.dbb0.read_latency = Some(latency);
        described.dbb0.write_latency = latency;
        let (_, statistics) = run(&trace, &mut LocalHost::new(Platform::build(&described).unwrap()));
        let served = Served::with("tcp:127.0.0.1:0", Options::default(), described);
        let (_, remote) = run(&trace, &mut served.host(MemoryPlace::Client));
        // How often the kernel ran something is no part of the run: a memory interface goes ahead by itself where
        // nobody can tell, and with memory outside it cannot.
        let simulated = |statistics: &Statistics| {
            let counters = statistics.counters.iter().filter(|counter| !counter.name.starts_with("kernel."));
            counters.cloned().collect::<Vec<_>>()
        };
        assert_eq!(simulated(&remote), simulated(&statistics), "{latency:?}");
    }
}
