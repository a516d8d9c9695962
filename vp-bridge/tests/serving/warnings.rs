//! Warnings when something repeats, or when the driver is another map's: the same in process, over a
//! connection, in `vp run`'s output and in `vp serve`'s log.

use crate::common::process::Ended as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Served;
use crate::common::raw::{CSB, Raw};
use vp_host::LocalHost;
use vp_host::{Host, Warning};
use vp_models::backlog::Backlog;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, Platform};
use vp_protocols::native::{
    Event, Notice, Posted, RegisterRead, RegisterWrite, Reply, Request, Role, TimeMode,
};
use vp_remote::MemoryPlace;
use vp_server::Options;

const DRAM: u32 = 0x8000_0000;
/// Of nv_full's memories none is there.
const NOWHERE: u32 = 0x1000;

fn full() -> Description {
    Description::named("nv_full").unwrap()
}

fn set(host: &mut dyn Host, register: &str, value: u32) {
    let address = RegisterMap::Full.find(register).unwrap().address;
    host.write(address, value).unwrap();
}

/// Copies lines of 8 KiB within primary memory with BDMA's first group, and waits for its interrupt.
fn copy(host: &mut dyn Host, from: u32, to: u32, lines: u32) {
    for (register, value) in [
        ("BDMA.CFG_SRC_ADDR_LOW", from),
        ("BDMA.CFG_DST_ADDR_LOW", to),
        ("BDMA.CFG_LINE", 0xff),
        ("BDMA.CFG_CMD", 3),
        ("BDMA.CFG_LINE_REPEAT", lines - 1),
        ("BDMA.CFG_SRC_LINE", 0x2000),
        ("BDMA.CFG_DST_LINE", 0x2000),
        ("BDMA.CFG_SURF_REPEAT", 0),
        ("BDMA.CFG_OP", 1),
        ("BDMA.CFG_LAUNCH0", 1),
    ] {
        set(host, register, value);
    }
    host.wait_interrupt().unwrap();
    set(host, "GLB.S_INTR_STATUS", 0x40);
    host.read(0).unwrap();
}

/// All that a platform warns of while it copies a MiB twice, from no memory to no memory.
fn warned(host: &mut dyn Host) -> Vec<Warning> {
    for _ in 0..2 {
        copy(host, NOWHERE, NOWHERE, 128);
    }
    host.warnings()
}

#[test]
fn a_copy_between_addresses_without_memory_is_two_warnings_a_direction_everywhere() {
    let mut local = LocalHost::new(Platform::build(&full()).unwrap());
    let expected = warned(&mut local);
    let texts: Vec<&str> = expected.iter().map(|warning| warning.text.as_str()).collect();
    assert_eq!(texts.len(), 8, "{texts:#?}");
    let none = "not served: the memory reaches from 0x80000000 to 0xffffffff";
    for text in &texts {
        assert!(text.starts_with("dbb0: nvdla.bdma ") && text.contains(none), "{text}");
    }
    let reads: Vec<&&str> = texts.iter().filter(|text| text.contains(" reads ")).collect();
    assert!(
        reads[0].contains(" bytes at 0x1000: ") && reads[0].ends_with("; zeros returned"),
        "{}",
        reads[0]
    );
    assert!(reads[1].contains(" reads 0x1000 to 0x100fff in "), "{}", reads[1]);
    let bursts = local.statistics().unwrap().get("dbb0.write.bursts").unwrap() / 2;
    let summary = format!(" writes 0x1000 to 0x100fff in {bursts} bursts, from ");
    assert_eq!(texts.iter().filter(|text| text.contains(&summary)).count(), 2, "{texts:#?}");
    let served = Served::with("tcp:127.0.0.1:0", Options::default(), full());
    let mut remote = served.host(MemoryPlace::Inside);
    assert_eq!(warned(&mut remote), expected);
}

#[test]
fn a_session_that_never_asks_keeps_the_newest_and_counts_the_others() {
    let mut local = LocalHost::new(Platform::build(&full()).unwrap());
    let served = Served::with("tcp:127.0.0.1:0", Options::default(), full());
    let mut remote = served.host(MemoryPlace::Inside);
    // Two warnings each.
    let layers = Backlog::<Warning>::MOST / 2 + 10;
    for host in [&mut local as &mut dyn Host, &mut remote] {
        (0..layers).for_each(|_| copy(host, DRAM, NOWHERE, 1));
        let warnings = host.warnings();
        assert_eq!(warnings.len(), Backlog::<Warning>::MOST + 1);
        let first = &warnings[0].text;
        assert!(first.ends_with("20 warnings before these left out: nobody asked for them"), "{first}");
    }
}

#[test]
fn posted_writes_that_fail_are_counted_before_the_next_reply() {
    let served = Served::with("tcp:127.0.0.1:0", Options::default(), full());
    let mut raw = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    let mut told_of = |writes: u64| {
        for word in 0..writes {
            let write = RegisterWrite { port: CSB, address: 0x10_0000 + 4 * word, value: 1, at: None };
            raw.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
        }
        raw.send(Request::RegisterRead(RegisterRead { port: CSB, address: 0, at: None }));
        let mut before = Vec::new();
        assert!(matches!(raw.reply(&mut before).2, Reply::Value { .. }));
        let told = before.into_iter().map(|event| match event {
            Event::Notice(Notice::Warning { text, .. }) => text,
            other => panic!("{other:?}"),
        });
        told.collect::<Vec<String>>()
    };
    let told = told_of(1000);
    let [first, summary] = &told[..] else { panic!("{told:?}") };
    assert!(first.starts_with("posted write failed: "), "{first}");
    assert!(summary.starts_with(&**first) && summary.contains(" (1000 times, from "), "{summary}");
    assert_eq!(told_of(1).len(), 1);
}

/// A recording of the driver for nv_full's map that says of itself to be one for nv_small's.
fn misnamed(folder: &Path) -> PathBuf {
    let lines = [
        "R 0d004 00000000",
        "R 0c004 00000000",
        "W 0d004 00000000",
        "W 0c004 00000000",
        "R 00004 00000001",
        "W 00004 00000000",
        "W 0c008 00000001",
        "W 0d008 00000001",
        "I 00000010",
    ];
    let script = folder.join("driver_small.trace");
    fs::write(&script, lines.join("\n")).unwrap();
    let pool = fs::File::create(folder.join("driver_small.pool.gz")).unwrap();
    let mut pool = flate2::write::GzEncoder::new(pool, flate2::Compression::default());
    pool.write_all(&[0]).unwrap();
    pool.finish().unwrap();
    script
}

fn vp() -> Command {
    Command::new(env!("CARGO_BIN_EXE_vp"))
}

/// Number of times that the output names the map that the driver is for, and the switch that it lacks.
fn hints(output: &str) -> usize {
    let fits = "the accesses fit the register map of nv_full (GLB.S_INTR_MASK)";
    output.lines().filter(|line| line.contains(fits) && line.contains("with -DDLA_2_CONFIG")).count()
}

fn run(arguments: &[&str], script: &Path) -> String {
    let output = vp().arg("run").args(arguments).arg(script).ended();
    assert_eq!(output.status.code(), Some(1));
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

/// An SDP layer of this processing format on nv_small, by a script that compares nothing: the last line of `vp run`.
fn judged(connect: &[&str], folder: &Path, format: u32) -> String {
    let script = folder.join("layer.cfg");
    let lines = [
        &*format!("reg_write(NVDLA_SDP.D_DATA_FORMAT, {format:#x});"),
        "reg_write(NVDLA_SDP_RDMA.D_OP_ENABLE, 0x1);",
        "reg_write(NVDLA_SDP.D_OP_ENABLE, 0x1);",
        "poll_reg_equal(NVDLA_GLB.S_INTR_STATUS, 0x1);",
    ];
    fs::write(&script, lines.join("\n")).unwrap();
    let output = run(connect, &script);
    assert!(output.contains(": layer refused: SDP.D_DATA_FORMAT.PROC_PRECISION"), "{output}");
    output.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_layer_that_a_servers_platform_refuses_is_judged_as_in_process() {
    let served = Served::tcp();
    let address = served.address.to_string();
    let folder = tempfile::tempdir().unwrap();
    for connect in [&["--platform", "nv_small"][..], &["--connect", &address]] {
        assert_eq!(judged(connect, folder.path(), 1), "not supported", "int16, which other platforms have");
        assert_eq!(judged(connect, folder.path(), 3), "FAIL", "a format that none has");
    }
}

#[test]
fn a_driver_for_another_map_is_named_once_by_vp_run_and_in_the_log_of_vp_serve() {
    let folder = tempfile::tempdir().unwrap();
    let script = misnamed(folder.path());
    let output = run(&["--platform", "nv_small"], &script);
    assert_eq!(hints(&output), 1, "{output}");

    let mut serve = vp();
    serve.args(["serve", "--platform", "nv_small", "--listen", "tcp:127.0.0.1:0"]);
    let mut serve = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(serve.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on ").unwrap();
    let output = run(&["--connect", address], &script);
    serve.kill().unwrap();
    let log = String::from_utf8(serve.wait_with_output().unwrap().stderr).unwrap();
    assert_eq!(hints(&output), 1, "{output}");
    assert_eq!(hints(&log), 1, "{log}");
}
