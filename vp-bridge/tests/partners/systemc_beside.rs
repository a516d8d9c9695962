//! SystemC beside a platform: memories, CPUs and devices behind the sockets of `clients/systemc/vp_systemc.h`.

use crate::common;
use crate::common::process::Ended as _;
use crate::common::tools;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::Duration;

use crate::common::beside::{check, library, root, rows, text};
use crate::common::{Served, fetch_target, pattern, start_copy};
use vp_core::Time;
use vp_host::LocalHost;
use vp_host::{Host as _, Memory};
use vp_models::bus::axi::Latency;
use vp_models::outside_device::{OutsideDescription, OutsideInterface};
use vp_models::platform::{Description, DeviceDescription, Platform};
use vp_remote::{MemoryPlace, RemoteHost};
use vp_server::Options;

/// A program in SystemC.
struct Program {
    path: PathBuf,
}

impl Program {
    /// Builds it. `None`, said aloud: a tool is missing.
    fn build(test: &str, source: &str) -> Option<Program> {
        if tools::command(&["g++"]).is_none() || !Path::new("/usr/include/systemc").exists() {
            tools::skipped(test, "no SystemC with g++ (Debian: apt-get install g++ libsystemc-dev)");
            return None;
        }
        let folder = tools::built_once(&format!("systemc {source}"), |folder| {
            let built = Command::new(root().join("clients/systemc/build"))
                .arg(folder.join("program"))
                .arg(root().join(source))
                .env("LIBVP", library())
                .env("CXXFLAGS", "-O1 -Werror")
                .ended();
            check(source, &built);
        });
        Some(Program { path: folder.join("program") })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1");
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).ended()
    }
}

#[test]
fn a_memory_in_systemc_that_annotates_its_latency_takes_the_cycles_of_the_one_inside() {
    let Some(memory) = Program::build("a memory in SystemC", "examples/systemc-memory/main.cpp") else {
        return;
    };
    for latency in ["1", "50"] {
        let inside = rows(&[""], &["--dbb-latency", latency]);
        let command = format!("dbb0={} {latency}", memory.path.display());
        let outside = rows(&[""], &["--memory-command", &command]);
        assert!(inside.len() >= 12, "{inside:?}");
        assert_eq!(outside, inside, "at a latency of {latency}");
    }
}

#[test]
fn a_cpu_and_a_memory_in_systemc_take_the_cycles_of_those_inside() {
    let Some(platform) = Program::build("a platform in SystemC", "examples/systemc-platform/main.cpp") else {
        return;
    };
    for latency in [1, 50] {
        let mut description = Description::named("nv_small").unwrap();
        description.dbb0.read_latency = Some(Latency::Fixed(latency));
        let mut inside = LocalHost::new(Platform::build(&description).unwrap());
        let expected = start_copy(&mut inside, 8, 8, 16);
        inside.wait_interrupt().unwrap();
        assert_eq!(fetch_target(&mut inside, expected.len()), expected);
        let cycles = inside.platform().statistics().get("nvdla.cycles").unwrap();
        let outside = platform.output(&[&latency.to_string()]);
        check("the platform in SystemC", &outside);
        let said = text(&outside.stdout);
        assert!(said.contains(&format!("nvdla.cycles {cycles}\n")), "{cycles} at {latency}: {said}");
    }
}

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A platform whose device is a program in SystemC that copies bytes.
struct Copying {
    // Ended in this order.
    host: RemoteHost,
    served: Served,
    device: Running,
}

/// Registers of the device.
const SOURCE: u32 = 0x0;
const TARGET: u32 = 0x4;
const LENGTH: u32 = 0x8;
const CONTROL: u32 = 0xc;
const NONE: u32 = 0x10;

impl Copying {
    fn new(program: &Program, arguments: &[&str], width_bits: u32) -> Copying {
        let mut description = common::description();
        let dbb0 = OutsideInterface { width_bits, longest_burst: 4 };
        let compatible = vec!["example,copier".to_owned()];
        let outside = OutsideDescription { nvdla: None, window: 0x1000, compatible, dbb0, sram0: None };
        description.device = DeviceDescription::Outside(Box::new(outside));
        let served = Served::with("tcp:127.0.0.1:0", Options::default(), description);
        let mut device = program.command();
        let device = device.args(arguments).env("VP_CONNECT", served.address.to_string());
        let device = Running(device.spawn().unwrap());
        let mut host = served.host(MemoryPlace::Inside);
        // The host's own places at registers and line, and those of the device, memory included.
        while host.status().unwrap().attached.len() < 5 {
            sleep(Duration::from_millis(5));
        }
        Copying { host, served, device }
    }

    fn copy(&mut self, from: u32, to: u32, length: u32) {
        for (register, value) in [(SOURCE, from), (TARGET, to), (LENGTH, length), (CONTROL, 1)] {
            self.host.write(register, value).unwrap();
        }
    }

    /// The time that a read takes.
    fn read_takes(&mut self, register: u32) -> Time {
        let before = self.host.now().unwrap();
        self.host.read(register).unwrap();
        self.host.now().unwrap() - before
    }
}

#[test]
fn a_device_in_systemc_has_registers_an_interrupt_and_dma() {
    let Some(program) = Program::build("a device in SystemC", "vp-bridge/tests/systemc/copier.cpp") else {
        return;
    };
    for width in [32, 64, 256] {
        let mut platform = Copying::new(&program, &["1"], width);
        let base = 0x8000_0000;
        let bytes = pattern(9000);
        platform.host.load(Memory::Primary, base, &bytes).unwrap();
        // Across pages, from and to addresses within a beat.
        platform.copy(base as u32 + 3, base as u32 + 0x1_0ffd, 5000);
        platform.host.wait_interrupt().unwrap();
        let mut copied = vec![0; 5002];
        platform.host.fetch(Memory::Primary, base + 0x1_0ffc, &mut copied).unwrap();
        assert_eq!((copied[0], copied[5001]), (0, 0), "{width} bits: beside them");
        assert!(copied[1..5001] == bytes[3..5003], "{width} bits");
        platform.host.write_acknowledged(CONTROL, 0).unwrap();
        assert_eq!(platform.host.read(CONTROL).unwrap(), 0);
        assert_eq!(platform.host.read(LENGTH).unwrap(), 5000);
        // What the device refuses the bus cannot say.
        assert_eq!(platform.host.read(NONE).unwrap(), 0);
    }
}

#[test]
fn a_register_in_systemc_takes_the_delay_that_it_annotates_or_waits() {
    let test = "the delay of a register in SystemC";
    let Some(program) = Program::build(test, "vp-bridge/tests/systemc/copier.cpp") else { return };
    let takes = |arguments: &[&str]| Copying::new(&program, arguments, 64).read_takes(LENGTH);
    let shortest = takes(&["1"]);
    assert_eq!(takes(&["0"]), shortest, "an answer is at least an edge after its access");
    assert_eq!(takes(&["11"]), shortest + Time::ns(10));
    assert_eq!(takes(&["11", "waits"]), shortest + Time::ns(10));
}

#[test]
fn a_device_in_systemc_is_put_back_with_its_platform() {
    let test = "a reset of a device in SystemC";
    let Some(program) = Program::build(test, "vp-bridge/tests/systemc/copier.cpp") else { return };
    let mut platform = Copying::new(&program, &["1"], 64);
    platform.copy(0x8000_0000, 0x8001_0000, 100_000);
    assert_eq!(platform.host.read(LENGTH).unwrap(), 100_000);
    platform.host.reset().unwrap();
    assert_eq!(platform.host.read(LENGTH).unwrap(), 0);
    platform.host.load(Memory::Primary, 0x8000_0000, &pattern(64)).unwrap();
    platform.copy(0x8000_0000, 0x8001_0000, 64);
    platform.host.wait_interrupt().unwrap();
    let mut copied = vec![0; 64];
    platform.host.fetch(Memory::Primary, 0x8001_0000, &mut copied).unwrap();
    assert_eq!(copied, pattern(64));
}

#[test]
fn a_simulation_in_systemc_ends_with_its_platform() {
    let test = "the end of a simulation in SystemC";
    let Some(program) = Program::build(test, "vp-bridge/tests/systemc/copier.cpp") else { return };
    let Copying { mut host, served, mut device } = Copying::new(&program, &["1"], 64);
    // Answered by a simulation that runs: a platform that ends before that is an error of its ports.
    assert_eq!(host.read(LENGTH).unwrap(), 0);
    drop(host);
    drop(served);
    assert!(device.0.wait().unwrap().success());
}

#[test]
fn a_simulation_in_systemc_without_a_platform_says_why() {
    let test = "an error in SystemC";
    let Some(program) = Program::build(test, "vp-bridge/tests/systemc/copier.cpp") else { return };
    let output = program.command().arg("1").env("VP_CONNECT", "tcp:127.0.0.1").ended();
    assert!(!output.status.success());
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("Fatal: vp: `tcp:127.0.0.1` is no address"), "{said}");
}
