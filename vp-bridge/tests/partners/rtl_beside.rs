//! RTL in Verilator and in Icarus Verilog beside a platform: our own designs behind the blocks of `clients/rtl`.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::beside::{VP, check, library, root, rows, text};
use crate::common::{SOURCE, Served, TARGET, description, pattern};
use bytes::BytesMut;
use vp_core::Time;
use vp_host::{Host, Memory};
use vp_models::platform::DeviceDescription;
use vp_protocols::native::{ErrorCode, Message, Refused, emit};
use vp_remote::{MemoryPlace, RemoteHost};
use vp_server::Options;

/// Builds a top module with Verilator and its options, and gives the program. `None`, said aloud: a tool is missing.
fn verilated(test: &str, folder: &str, top: &str, options: &[&str]) -> Option<PathBuf> {
    if !tools::can_verilate(test) {
        return None;
    }
    let made = tools::built_once(&format!("verilated {folder} {top} {}", options.concat()), |made| {
        let built = Command::new(root().join("clients/rtl/verilate"))
            .arg(made)
            .arg(top)
            .args(["-Wall", "-Wno-UNUSED"])
            .args(options)
            .args(sources(folder))
            .env("LIBVP", library())
            .env("OPT", "-O1")
            .ended();
        check(test, &built);
    });
    Some(made.join(top))
}

/// Builds with Icarus Verilog and its options what is in these files and folders, as [`verilated`] does with Verilator.
fn compiled(test: &str, top: &str, places: &[&str], options: &[&str]) -> Option<PathBuf> {
    for tool in ["iverilog", "cc"] {
        if tools::command(&[tool]).is_none() {
            tools::skipped(
                test,
                &format!("no Icarus Verilog: no {tool} (Debian: apt-get install iverilog gcc)"),
            );
            return None;
        }
    }
    let name = format!("icarus {} {top} {}", places.concat(), options.concat());
    let made = tools::built_once(&name, |made| {
        let files = places.iter().flat_map(|place| match place.ends_with(".sv") {
            true => vec![root().join(place)],
            false => sources(place),
        });
        let mut build = Command::new(root().join("clients/rtl/icarus"));
        build.arg(made).arg(top).arg("-Wall").args(options).args(files).env("LIBVP", library());
        let built = build.ended();
        check(test, &built);
        assert_eq!(text(&built.stderr), "", "warnings");
    });
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

/// The smallest ones, as one alone makes no table.
const SMALL: &[&str] = &["sdp_prelu_5x7x13", "cdp_lrn5_7x5x20"];

#[test]
fn a_memory_in_rtl_takes_the_cycles_of_the_one_inside() {
    let Some(memory) = verilated("a memory in RTL", "examples/rtl-memory", "top", &[]) else { return };
    // The limit is 256 where none is given.
    for (latency, limit) in
        [("1", "8"), ("50", "8"), ("400", "8"), ("1", "256"), ("50", "256"), ("400", "256")]
    {
        let inside = rows(&[""], &["--dbb-latency", latency, "--outstanding", limit]);
        let command = format!("dbb0={} +latency={latency}", memory.display());
        let outside = rows(&[""], &["--memory-command", &command, "--outstanding", limit]);
        assert!(inside.len() >= 12, "{inside:?}");
        assert_eq!(outside, inside, "at a latency of {latency} and {limit} outstanding");
    }
}

/// Transfer by transfer, with a few of the vendor's layers; with more effort with all of them.
#[test]
fn a_memory_in_rtl_transfers_what_the_one_inside_does_at_the_same_edges() {
    let test = "a memory in RTL, transfer by transfer";
    let Some(memory) = verilated(test, "examples/rtl-memory", "top", &[]) else { return };
    let mut traces = vec![root().join("traces/nv_small")];
    let vendors = shared().map(|shared| shared.join("nvdla/traces/nv_small")).filter(|it| it.is_dir());
    match vendors {
        Some(folder) if is_effort() => traces.push(folder),
        Some(folder) => traces.extend(FEW.iter().map(|name| folder.join(name))),
        None => tools::skipped(test, "no conformance data"),
    }
    for (latency, limit) in [("50", "256"), ("17", "8")] {
        let command = format!("dbb0={} +latency={latency}", memory.display());
        let mut compare = Command::new(VP);
        compare.arg("compare").args(&traces).args(["--cycles", "--memory-command", &command]);
        let output = compare.args(["--dbb-latency", latency, "--outstanding", limit]).ended();
        check("vp compare", &output);
        let said = text(&output.stdout);
        let counts = said.lines().last().unwrap();
        assert!(counts.ends_with(" equal, 0 different"), "{said}");
    }
}

/// Some of the vendor's layers, a unit each.
const FEW: [&str; 3] = ["cdp_1x1x31_lrn3_int8_0", "pdp_7x9x10_3x3_int8", "dc_1x1x8_1x1x8x1_int8_0"];

/// Returns true if more is tried than usual.
fn is_effort() -> bool {
    std::env::var("VP_TEST_EFFORT").is_ok_and(|effort| effort.parse().is_ok_and(|times: u32| times > 1))
}

/// The vendor's data, if it is there: in a folder `shared` beside the repository or above, or where VP_SHARED says.
fn shared() -> Option<PathBuf> {
    match std::env::var_os("VP_SHARED") {
        Some(named) => Some(PathBuf::from(named)),
        None => Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .map(|above| above.join("shared"))
            .find(|it| it.is_dir()),
    }
}

/// Asks a device for layers that it does not have, and for whose interrupts it waits in vain.
#[test]
fn a_device_in_rtl_that_is_another_one_differs_at_the_first_answer() {
    let test = "a device in RTL, compared";
    let Some(device) = verilated(test, "clients/rtl/tests/copier", "device", &[]) else { return };
    let mut compare = Command::new(VP);
    let output = compare.args(["compare", "--device-command"]).arg(device).ended();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    for part in ["the first that differs", "wrong: with the part outside: ", "DIFFERENT"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_memory_in_icarus_verilog_takes_the_cycles_of_the_one_inside() {
    let Some(memory) = compiled("a memory in Icarus Verilog", "top", &["examples/rtl-memory"], &[]) else {
        return;
    };
    for latency in ["1", "50", "400"] {
        let inside = rows(SMALL, &["--dbb-latency", latency]);
        let command = format!("dbb0={} +latency={latency}", memory.display());
        let outside = rows(SMALL, &["--memory-command", &command]);
        assert_eq!(inside.len(), SMALL.len(), "{inside:?}");
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
    let folder = "clients/rtl/tests/cpu";
    let programs = [
        verilated("a CPU in RTL", folder, "cpu", &[]),
        compiled("a CPU in Icarus Verilog", "cpu", &[folder], &[]),
    ];
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
    for program in programs.into_iter().flatten() {
        let output = Command::new(&program).ended();
        check("the CPU", &output);
        let said = text(&output.stdout);
        let said: Vec<&str> = said.lines().take_while(|line| *line != "done").collect();
        assert_eq!(said, expected, "{}", program.display());
    }
}

#[test]
fn a_simulation_that_cannot_take_its_port_says_why() {
    let Some(device) = verilated("a device in RTL alone", "clients/rtl/tests/copier", "device", &[]) else {
        return;
    };
    for (address, why) in [(None, "VP_CONNECT"), (Some("inproc:nv_small"), "csb0 takes no target")] {
        let mut command = Command::new(&device);
        command.env_remove("VP_CONNECT").envs(address.map(|address| ("VP_CONNECT", address)));
        let output = command.ended();
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.starts_with("error: ") && said.contains(why), "{said}");
    }
}

#[test]
fn each_kind_of_rule_of_axi_is_seen_broken() {
    let files = ["clients/rtl/tests/checks/checks.sv", "clients/rtl/vp_axi_checks.sv"];
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("checks");
    if let Some(compiler) = tools::command(&["iverilog"]) {
        let mut compile = Command::new(compiler);
        compile.args(["-g2012", "-s", "checks", "-o"]).arg(&program).args(files).current_dir(root());
        check("iverilog", &compile.ended());
        expect_all_seen(Command::new("vvp").arg(&program));
    } else {
        tools::skipped("rules of AXI", "no Icarus Verilog: no iverilog (Debian: apt-get install iverilog)");
    }
    if let Some(compiler) = tools::command(&["verilator"]) {
        let mut compile = Command::new(compiler);
        compile.args([
            "--binary",
            "--timing",
            "-Wno-WIDTH",
            "--top-module",
            "checks",
            "-o",
            "checks",
            "--Mdir",
        ]);
        check("verilator", &compile.arg(folder.path().join("made")).args(files).current_dir(root()).ended());
        expect_all_seen(&mut Command::new(folder.path().join("made/checks")));
    } else {
        tools::skipped("rules of AXI", "no Verilator: no verilator (Debian: apt-get install verilator)");
    }
}

fn expect_all_seen(program: &mut Command) {
    let output = program.ended();
    let (said, broken) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.lines().any(|line| line == "all seen"), "{said}{broken}");
    for rule in ["AW, at", "AR, at", "the payload", "R, at", "LAST", "B, at", "a response", "W, at", "4 KiB"]
    {
        assert!(broken.contains(rule), "{rule}: {broken}");
    }
}

/// The memory that goes wrong at its ninth beat of read data.
fn faulty_memory(test: &str) -> Option<PathBuf> {
    let memory = "examples/rtl-memory/memory_fixed.sv";
    let writes = "examples/rtl-memory/memory_writes.sv";
    compiled(test, "memory", &["clients/rtl/tests/faults/memory.sv", memory, writes], &[])
}

#[test]
fn pins_that_are_neither_0_nor_1_end_the_run_with_port_channel_and_time() {
    let Some(memory) = faulty_memory("X and Z at pins") else { return };
    let faults = [
        ("arready", "AR, at 142 ns: ARREADY has"),
        ("rvalid", "R, at 142 ns: RVALID has"),
        ("rlast", "R, at 142 ns: RID, RRESP or RLAST has"),
        ("rid", "R, at 142 ns: RID, RRESP or RLAST has"),
    ];
    for (fault, said) in faults {
        let command = format!("dbb0={} +fault={fault}", memory.display());
        let layer = root().join("traces/nv_small/sdp_prelu_5x7x13");
        let output = Command::new(VP).arg("run").arg(layer).args(["--memory-command", &command]).ended();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{fault}: {errors}");
        assert!(
            errors.contains(&format!("error: dbb0, {said} to be 0 or 1 in each bit")),
            "{fault}: {errors}"
        );
        assert!(errors.contains("has ended with exit status: 1"), "{fault}: {errors}");
    }
}

#[test]
fn a_master_that_breaks_a_rule_of_axi_ends_with_port_channel_and_time() {
    let test = "a faulty master";
    let Some(manager) = compiled(test, "manager", &["clients/rtl/tests/faults/manager.sv"], &[]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let platform = folder.path().join("waits.toml");
    let text_of =
        "name = \"waits\"\n[nvdla]\nbase = \"nv_small\"\n[dbb0]\nread_latency = 50\nread_outstanding = 1\n";
    std::fs::write(&platform, text_of).unwrap();
    let faults = [
        ("none", ""),
        ("fall", "error: dbb0, AR, at 3 ns: valid has to stay high until ready takes the transfer\n"),
        (
            "change",
            "error: dbb0, AR, at 3 ns: the payload has to stay as it is until ready takes the transfer\n",
        ),
        ("size", "error: dbb0, AR, at 1 ns: beats of 32 bits: a platform takes whole ones, of 64\n"),
        ("burst", "error: dbb0, AR, at 1 ns: a burst of type 2: a platform takes incrementing ones (1)\n"),
    ];
    for (fault, said) in faults {
        let mut run = Command::new(&manager);
        run.arg(format!("+fault={fault}")).env("VP_CONNECT", format!("inproc:{}", platform.display()));
        let output = run.ended();
        assert_eq!(text(&output.stderr), said, "{fault}");
        assert_eq!(output.status.success(), said.is_empty(), "{fault}");
    }
}

#[test]
fn a_simulation_at_a_server_of_another_version_says_so() {
    let test = "another version";
    let Some(manager) = compiled(test, "manager", &["clients/rtl/tests/faults/manager.sv"], &[]) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp:{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let reason = "peer speaks versions 1 to 1, not 2".to_owned();
        let refused = Message::Refused(Refused { code: ErrorCode::UnsupportedVersion, reason });
        let mut frame = BytesMut::new();
        emit(&refused, &[], &mut frame).unwrap();
        stream.write_all(&frame).unwrap();
        // Until the client is gone: what it has sent is read, so that nothing resets the stream.
        _ = stream.read_to_end(&mut Vec::new());
    });
    let output = Command::new(manager).env("VP_CONNECT", address).ended();
    server.join().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: ") && said.contains("versions 1 to 1, not 2"), "{said}");
}

/// A simulation that is a part of a served platform.
struct Part(Child);

impl Part {
    /// Once it holds so many ports.
    fn attach(
        program: &Path,
        arguments: &[&str],
        served: &Served,
        host: &mut RemoteHost,
        ports: usize,
    ) -> Part {
        let before = host.status().unwrap().attached.len();
        let address = served.address.to_string();
        let mut command = Command::new(program);
        command.args(arguments).env("VP_CONNECT", address).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut part = Part(command.spawn().unwrap());
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
    around.device = DeviceDescription::Outside(Box::new(around.device.outside()));
    Served::with("tcp:127.0.0.1:0", Options::default(), around)
}

/// Has the device copy a burst, and gives what came of it and how long it took.
fn copy_burst(host: &mut RemoteHost, bytes: &[u8]) -> (Vec<u8>, Time) {
    host.load(Memory::Primary, SOURCE.into(), bytes).unwrap();
    host.write(0, SOURCE).unwrap();
    host.write(4, TARGET).unwrap();
    host.write(8, 15).unwrap();
    assert_eq!(host.read(12).unwrap(), 0);
    let since = host.now().unwrap();
    host.write_acknowledged(12, 1).unwrap();
    let until = host.wait_interrupt().unwrap();
    let mut copy = vec![0; bytes.len()];
    host.fetch(Memory::Primary, TARGET.into(), &mut copy).unwrap();
    (copy, until - since)
}

/// A copy as it should be, and how long it took.
fn copied(host: &mut RemoteHost) -> Time {
    let bytes = pattern(16 * 8);
    let (copy, time) = copy_burst(host, &bytes);
    assert_eq!(copy, bytes);
    time
}

#[test]
fn a_device_in_rtl_works_and_is_reset_with_its_platform() {
    let Some(device) = verilated("a device in RTL", "clients/rtl/tests/copier", "device", &[]) else {
        return;
    };
    let served = without_device();
    let mut host = served.host(MemoryPlace::Inside);
    let _device = Part::attach(&device, &[], &served, &mut host, 3);
    // The first accesses are not before the end of the device's own reset.
    host.write(0, 7).unwrap();
    assert_eq!(host.read(0).unwrap(), 7);
    let first = copied(&mut host);
    host.write_acknowledged(12, 0).unwrap();
    assert_eq!(copied(&mut host), first);
    // Its line is high and its words are set: a reset puts both back.
    host.reset().unwrap();
    host.write(4, 7).unwrap();
    assert_eq!(host.read(4).unwrap(), 7);
    host.reset().unwrap();
    assert_eq!((host.read(0).unwrap(), host.read(12).unwrap()), (0, 0));
    assert_eq!(copied(&mut host), first);
}

#[test]
fn registers_behind_axi4_lite_and_apb_are_written_and_read() {
    let (test, folder) = ("registers", "clients/rtl/tests/buses");
    let devices = [
        verilated(test, folder, "device", &["-GAPB=0"]),
        verilated(test, folder, "device", &["-GAPB=1"]),
        compiled(test, "device", &[folder], &["-Pdevice.APB=0"]),
        compiled(test, "device", &[folder], &["-Pdevice.APB=1"]),
    ];
    for device in devices.into_iter().flatten() {
        let served = without_device();
        let mut host = served.host(MemoryPlace::Inside);
        let _device = Part::attach(&device, &[], &served, &mut host, 1);
        for word in 0..4 {
            host.write(4 * word, 0x1111 * word).unwrap();
        }
        host.write_acknowledged(8, 0xffff_fffe).unwrap();
        let words: Vec<u32> = (0..4).map(|word| host.read(4 * word).unwrap()).collect();
        assert_eq!(words, [0, 0x1111, 0xffff_fffe, 0x3333], "{}", device.display());
    }
}

/// Device and memory are simulations. What the memory owes when it fails ends with errors of the bus, which this device copies.
#[test]
fn after_a_memory_in_rtl_that_goes_wrong_another_one_is_attached() {
    let Some(memory) = faulty_memory("another memory") else { return };
    let folder = "clients/rtl/tests/copier";
    let Some(device) = compiled("a device in Icarus Verilog", "device", &[folder], &[]) else { return };
    let faults = [
        ("rvalid", "the peer said goodbye"),
        ("other_id", "R with id 90: no read of that id is open"),
        ("finish", "the peer said goodbye"),
    ];
    for (fault, said) in faults {
        let served = without_device();
        let mut host = served.host(MemoryPlace::Inside);
        let _device = Part::attach(&device, &[], &served, &mut host, 3);
        let faulty = Part::attach(&memory, &[&format!("+fault={fault}")], &served, &mut host, 1);
        let bytes = pattern(16 * 8);
        assert_ne!(copy_burst(&mut host, &bytes).0, bytes, "{fault}");
        let warnings: Vec<String> = host.warnings().into_iter().map(|warning| warning.text).collect();
        assert!(warnings.iter().any(|text| text.contains(said)), "{fault}: {warnings:?}");
        drop(faulty);
        host.write_acknowledged(12, 0).unwrap();
        let _memory = Part::attach(&memory, &[], &served, &mut host, 1);
        copied(&mut host);
    }
}
