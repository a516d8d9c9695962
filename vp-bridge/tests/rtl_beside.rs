//! RTL in Verilator beside a platform: our own designs behind the blocks of `clients/rtl`.

#[path = "common/beside.rs"]
mod beside;
mod common;
#[path = "common/tools.rs"]
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use beside::{VP, check, library, root, rows, text};
use common::{SOURCE, Served, TARGET, description, pattern};
use vp_core::Time;
use vp_models::host::{Host, Memory};
use vp_models::outside_device::OutsideDescription;
use vp_models::platform::DeviceDescription;
use vp_remote::{MemoryPlace, RemoteHost};
use vp_server::Options;

/// Builds a top module with Verilator and its options, and gives the program. `None`, said aloud: a tool is missing.
fn verilated(test: &str, folder: &str, top: &str, options: &[&str]) -> Option<PathBuf> {
    if !tools::can_verilate(test) {
        return None;
    }
    let name = format!("{test}{}", options.concat()).replace([' ', '='], "_");
    let made = Path::new(VP).with_file_name("verilated").join(name);
    let built = Command::new(root().join("clients/rtl/verilate"))
        .arg(&made)
        .arg(top)
        .args(["-Wall", "-Wno-UNUSED"])
        .args(options)
        .args(sources(folder))
        .env("LIBVP", library())
        .env("OPT", "-O1")
        .output()
        .unwrap();
    check(test, &built);
    Some(made.join(top))
}

/// The `.sv` files of a folder.
fn sources(folder: &str) -> Vec<PathBuf> {
    let entries = root().join(folder).read_dir().unwrap();
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sv");
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(is_source).collect();
    files.sort();
    files
}

/// Two of our own layers.
const TWO: &[&str] = &["conv_3x2_s2x3_dilated_17x16x8x8", "sdp_residual_sum_8x8x16"];

#[test]
fn a_memory_in_rtl_takes_the_cycles_of_the_one_inside() {
    let Some(memory) = verilated("a memory in RTL", "examples/rtl-memory", "top", &[]) else { return };
    for latency in ["1", "50", "400"] {
        let inside = rows(&[""], &["--dbb-latency", latency]);
        let command = format!("dbb0={} +latency={latency}", memory.display());
        let outside = rows(&[""], &["--memory-command", &command]);
        assert!(inside.len() >= 12, "{inside:?}");
        assert_eq!(outside, inside, "at a latency of {latency}");
    }
}

/// With a quantum, what crosses is seen that much later each way.
#[test]
fn a_memory_that_may_answer_at_the_same_edge_or_is_behind_a_link_takes_the_cycles_that_this_means() {
    let test = "a memory at a link";
    let ways: [(&str, &[&str]); 2] = [
        ("-GSAME_EDGE=1", &["--dbb-latency", "20"]),
        ("-GQUANTUM=7", &["--dbb-latency", "34", "--dbb-write-latency", "15"]),
    ];
    for (option, inside) in ways {
        let Some(memory) = verilated(test, "examples/rtl-memory", "top", &[option]) else { return };
        let outside = rows(TWO, &["--memory-command", &format!("dbb0={} +latency=20", memory.display())]);
        assert_eq!(outside, rows(TWO, inside), "{option}");
    }
}

#[test]
fn a_dram_in_rtl_gives_the_same_bytes_in_more_cycles() {
    let Some(memory) = verilated("a DRAM in RTL", "examples/rtl-memory", "top", &["-GROWS=1"]) else {
        return;
    };
    let cycles = |arguments: &[&str]| -> Vec<u64> {
        let of = |row: &String| {
            let (_, row) = row.split_once(" nv_small ").unwrap();
            row.trim_start().split("  ").next().unwrap().replace(' ', "").parse().unwrap()
        };
        rows(TWO, arguments).iter().map(of).collect()
    };
    let plain = cycles(&["--dbb-latency", "15"]);
    let dram = cycles(&["--memory-command", &format!("dbb0={} +latency=15", memory.display())]);
    assert_eq!(dram.len(), plain.len());
    assert!(dram.iter().zip(&plain).all(|(dram, plain)| dram > plain), "{dram:?} {plain:?}");
}

/// Answers at registers are seen an edge after the platform gives them: 18 edges (RTL, `NV_NVDLA_csb_master.v`) and that one.
#[test]
fn a_cpu_and_a_master_of_bursts_in_rtl_see_what_the_platform_answers() {
    let Some(cpu) = verilated("a CPU in RTL", "clients/rtl/tests/cpu", "cpu", &[]) else { return };
    let output = Command::new(cpu).output().unwrap();
    check("the CPU", &output);
    let said = text(&output.stdout);
    let said: Vec<&str> = said.lines().take_while(|line| *line != "done").collect();
    let expected = [
        "word 0400 is 00303031 after 18 edges",
        "the line is high after 14 edges",
        "word 0403 is 00000001 after 18 edges",
        "word 0403 is written after 18 edges",
        "the line is low after 18 edges",
        "4 beats are written as 7 1 edges after the last",
        "beat 41 of 9 comes after 50 edges, last 0",
        "beat 42 of 9 comes after 51 edges, last 1",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_simulation_that_cannot_take_its_port_says_why() {
    let Some(device) = verilated("a device in RTL alone", "clients/rtl/tests/copier", "device", &[]) else {
        return;
    };
    for (address, why) in [(None, "VP_CONNECT"), (Some("inproc:nv_small"), "csb0 takes no target")] {
        let mut command = Command::new(&device);
        command.env_remove("VP_CONNECT").envs(address.map(|address| ("VP_CONNECT", address)));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.starts_with("error: ") && said.contains(why), "{said}");
    }
}

#[test]
fn each_rule_of_axi_is_seen_broken() {
    let Some(compiler) = tools::command(&["iverilog"]) else {
        return tools::skipped(
            "rules of AXI",
            "no Icarus Verilog: no iverilog (Debian: apt-get install iverilog)",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("checks");
    let mut compile = Command::new(compiler);
    compile.args(["-g2012", "-s", "checks", "-o"]).arg(&program);
    compile.args(["clients/rtl/tests/checks/checks.sv", "clients/rtl/vp_axi_checks.sv"]).current_dir(root());
    check("iverilog", &compile.output().unwrap());
    let output = Command::new("vvp").arg(program).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(said.lines().last(), Some("all seen"), "{said}");
    for rule in
        ["AW: VALID", "AR: the payload", "R: LAST", "R: data", "B: a response", "W: LAST", "AR: a burst"]
    {
        assert!(said.contains(rule), "{rule}: {said}");
    }
}

/// A simulation that is a part of a served platform.
struct Part(Child);

impl Part {
    /// Once it holds so many ports.
    fn attach(program: &Path, served: &Served, host: &mut RemoteHost, ports: usize) -> Part {
        let before = host.status().unwrap().attached.len();
        let address = served.address.to_string();
        let mut part =
            Part(Command::new(program).env("VP_CONNECT", address).stdout(Stdio::piped()).spawn().unwrap());
        let since = Instant::now();
        while host.status().unwrap().attached.len() < before + ports {
            assert!(part.0.try_wait().unwrap().is_none(), "it has ended");
            assert!(since.elapsed() < Duration::from_secs(30), "it does not attach");
            std::thread::sleep(Duration::from_millis(5));
        }
        part
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A served platform whose device is outside.
fn without_device() -> Served {
    let mut around = description();
    around.device = DeviceDescription::Outside(Box::new(OutsideDescription::in_place_of(&around.device)));
    Served::with("tcp:127.0.0.1:0", Options::default(), around)
}

/// Has the device copy a burst, and says how long it took.
fn copied(host: &mut RemoteHost) -> Time {
    let bytes = pattern(16 * 8);
    host.load(Memory::Primary, SOURCE.into(), &bytes).unwrap();
    host.write(0, SOURCE).unwrap();
    host.write(4, TARGET).unwrap();
    host.write(8, 15).unwrap();
    assert_eq!(host.read(12).unwrap(), 0);
    let since = host.now().unwrap();
    host.write_acknowledged(12, 1).unwrap();
    let until = host.wait_interrupt().unwrap();
    let mut copy = vec![0; bytes.len()];
    host.fetch(Memory::Primary, TARGET.into(), &mut copy).unwrap();
    assert_eq!(copy, bytes);
    until - since
}

#[test]
fn a_device_in_rtl_works_and_is_reset_with_its_platform() {
    let Some(device) = verilated("a device in RTL", "clients/rtl/tests/copier", "device", &[]) else {
        return;
    };
    let served = without_device();
    let mut host = served.host(MemoryPlace::Inside);
    let _device = Part::attach(&device, &served, &mut host, 3);
    let first = copied(&mut host);
    host.write_acknowledged(12, 0).unwrap();
    assert_eq!(copied(&mut host), first);
    // Its line is high and its words are set: a reset puts both back.
    host.reset().unwrap();
    assert_eq!((host.read(0).unwrap(), host.read(12).unwrap()), (0, 0));
    assert_eq!(copied(&mut host), first);
}

#[test]
fn registers_behind_axi4_lite_and_apb_are_written_and_read() {
    for option in ["-GAPB=0", "-GAPB=1"] {
        let Some(device) = verilated("registers", "clients/rtl/tests/buses", "device", &[option]) else {
            return;
        };
        let served = without_device();
        let mut host = served.host(MemoryPlace::Inside);
        let _device = Part::attach(&device, &served, &mut host, 1);
        for word in 0..4 {
            host.write(4 * word, 0x1111 * word).unwrap();
        }
        host.write_acknowledged(8, 0xffff_fffe).unwrap();
        let words: Vec<u32> = (0..4).map(|word| host.read(4 * word).unwrap()).collect();
        assert_eq!(words, [0, 0x1111, 0xffff_fffe, 0x3333], "{option}");
    }
}
