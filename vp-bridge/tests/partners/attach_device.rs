//! `vp attach-device`: a part of a platform is another process, and the run takes the same cycles.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::common::{Served, copy, description, run, start_copy};
use vp_host::Host;
use vp_host::LocalHost;
use vp_models::bus::axi::Latency;
use vp_models::platform::{Description, DeviceDescription, Platform};
use vp_remote::{MemoryPlace, RemoteOptions};
use vp_server::Options;

/// Ends with the test.
struct Part(Child);

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that is a part of a served platform, once it is attached.
fn attach(served: &Served, description: &Description, arguments: &[&str]) -> Part {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("platform.toml");
    std::fs::write(&file, description.to_toml()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_vp"))
        .arg("attach-device")
        .arg(served.address.to_string())
        .args(["--platform", file.to_str().unwrap()])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("attached to "), "{line:?}");
    let is_delayed = arguments.contains(&"--quantum");
    assert_eq!(line.contains("delays what crosses by "), is_delayed, "{line:?}");
    Part(child)
}

fn described(latency: u32, limit: u32) -> Description {
    let mut described = description();
    described.dbb0.read_latency = Some(Latency::Fixed(latency));
    described.dbb0.read_outstanding = limit;
    described
}

fn compare(address: impl Fn(usize) -> String) {
    let trace = copy(8, 8, 32);
    for (number, (latency, limit)) in [(1, 8), (50, 256), (400, 8)].into_iter().enumerate() {
        let description = described(latency, limit);
        let (outcome, uncut) = run(&trace, &mut LocalHost::new(Platform::build(&description).unwrap()));
        let cycles = uncut.get("nvdla.cycles");
        assert!(cycles.is_some());
        let is_same = |seen: &vp_host::Statistics, what: &str| {
            for counter in ["nvdla.cycles", "dbb0.read.bursts", "dbb0.write.bursts", "dbb0.read.latency.mean"]
            {
                assert_eq!(seen.get(counter), uncut.get(counter), "{what}, latency {latency}: {counter}");
            }
        };

        let mut around = description.clone();
        let outside = description.device.outside();
        around.device = DeviceDescription::Outside(Box::new(outside));
        let served = Served::with(&address(2 * number), Options::default(), around);
        let device = attach(&served, &description, &[]);
        let (cut_outcome, cut) = run(&trace, &mut served.host(MemoryPlace::Inside));
        assert_eq!(cut_outcome, outcome, "latency {latency}");
        is_same(&cut, "device elsewhere");
        drop(device);

        let served = Served::with(&address(2 * number + 1), Options::default(), description.clone());
        let shared = || RemoteOptions { platform: Some("one".to_owned()), ..RemoteOptions::default() };
        let mut cpu = served.join(shared());
        let memory = attach(&served, &description, &["--as", "memory:dbb0", "--shared", "one"]);
        let (cut_outcome, cut) = run(&trace, &mut cpu);
        assert_eq!(cut_outcome, outcome, "latency {latency}");
        is_same(&cut, "memory elsewhere");
        drop(memory);
    }
}

#[test]
fn a_platform_of_two_processes_takes_the_same_cycles_over_tcp() {
    compare(|_| "tcp:127.0.0.1:0".to_owned());
}

#[test]
fn a_platform_of_two_processes_takes_the_same_cycles_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    compare(|number| format!("unix:{}", folder.path().join(format!("vp{number}.sock")).display()));
}

/// A link's delay, and resets in mid-layer: the memory is one that answers two quanta later, and is put back with the platform.
#[test]
fn a_memory_behind_a_link_that_delays_is_reset_with_its_platform() {
    let trace = copy(8, 8, 32);
    let mut slower = described(50 + 2 * 7, 256);
    slower.dbb0.write_latency = Latency::Fixed(1 + 2 * 7);
    let begin = |host: &mut dyn Host| start_copy(host, 32, 32, 32);
    let mut uncut = LocalHost::new(Platform::build(&slower).unwrap());
    begin(&mut uncut);
    uncut.read(0).unwrap();
    uncut.reset().unwrap();
    let (outcome, uncut) = run(&trace, &mut uncut);
    assert!(outcome.passed(), "{outcome:?}");

    let mut description = described(50, 256);
    description.dbb0.write_latency = Latency::Fixed(1);
    let served = Served::with("tcp:127.0.0.1:0", Options::default(), description.clone());
    let shared = RemoteOptions { platform: Some("one".to_owned()), ..RemoteOptions::default() };
    let mut cpu = served.join(shared);
    let _memory =
        attach(&served, &description, &["--as", "memory:dbb0", "--shared", "one", "--quantum", "7"]);
    begin(&mut cpu);
    cpu.read(0).unwrap();
    cpu.reset().unwrap();
    let (outcome, cut) = run(&trace, &mut cpu);
    assert!(outcome.passed(), "{outcome:?}");
    assert!(uncut.get("nvdla.cycles").is_some());
    assert_eq!(cut.get("nvdla.cycles"), uncut.get("nvdla.cycles"));
}

#[test]
fn a_device_that_is_reset_in_mid_layer_works_on() {
    let description = described(50, 256);
    let mut around = description.clone();
    around.device = DeviceDescription::Outside(Box::new(description.device.outside()));
    let served = Served::with("tcp:127.0.0.1:0", Options::default(), around);
    let _device = attach(&served, &description, &[]);
    let mut cpu = served.host(MemoryPlace::Inside);
    start_copy(&mut cpu, 32, 32, 32);
    cpu.read(0).unwrap();
    cpu.reset().unwrap();
    let (outcome, cut) = run(&copy(8, 8, 32), &mut cpu);
    assert!(outcome.passed(), "{outcome:?}");
    let (_, uncut) = run(&copy(8, 8, 32), &mut LocalHost::new(Platform::build(&description).unwrap()));
    assert_eq!(cut.get("nvdla.cycles"), uncut.get("nvdla.cycles"));
}

#[test]
fn cpus_come_and_go_beside_a_device_and_devices_beside_a_cpu() {
    let description = described(50, 256);
    let mut around = description.clone();
    around.device = DeviceDescription::Outside(Box::new(description.device.outside()));
    let served = Served::with("tcp:127.0.0.1:0", Options::default(), around);
    let trace = copy(8, 8, 32);
    let device = attach(&served, &description, &[]);
    let (outcome, _) = run(&trace, &mut served.host(MemoryPlace::Inside));
    assert!(outcome.passed(), "{outcome:?}");
    let mut cpu = served.host(MemoryPlace::Inside);
    assert!(Host::read(&mut cpu, 0).is_ok());
    // It goes with a layer begun.
    start_copy(&mut cpu, 32, 32, 32);
    drop(device);
    let gone = loop {
        match Host::read(&mut cpu, 0) {
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(gone.contains("gone") || gone.contains("no device"), "{gone}");
    let _device = attach(&served, &description, &[]);
    let (outcome, _) = run(&trace, &mut cpu);
    assert!(outcome.passed(), "{outcome:?}");
}

#[test]
fn without_its_device_a_platform_answers_with_bus_errors_and_says_why() {
    let mut around = description();
    let outside = around.device.outside();
    around.device = DeviceDescription::Outside(Box::new(outside));
    let served = Served::with("tcp:127.0.0.1:0", Options::default(), around);
    let mut cpu = served.host(MemoryPlace::Inside);
    let refused = Host::read(&mut cpu, 0).unwrap_err().to_string();
    assert!(refused.contains("no device is attached to csb0"), "{refused}");
    let device = attach(&served, &description(), &[]);
    assert!(Host::read(&mut cpu, 0).is_ok());
    drop(device);
    // The CPU goes on when the device has gone.
    let gone = loop {
        match Host::read(&mut cpu, 0) {
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(gone.contains("csb0") || gone.contains("is gone"), "{gone}");
}
