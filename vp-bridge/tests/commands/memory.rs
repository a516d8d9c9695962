//! `vp memory`, and the logs of memories that runs write.

use crate::common::process::Ended as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

fn vp(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vp")).current_dir(folder).args(arguments).ended()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&said(output)).unwrap()
}

/// A DDR4-2400R whose controller adds nothing.
const DDR4: [&str; 4] = ["--dram", "DDR4-2400R", "--set", "dbb0.dram.latency=0 ns"];

/// A folder with a trace.
fn trace(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("trace"), text).unwrap();
    folder
}

fn replay(folder: &Path, more: &[&str]) -> Output {
    vp(folder, &[&["memory", "replay", "trace"], &DDR4[..], more].concat())
}

/// Four reads at once, of one row in four groups: ACTs tRRD_S = 4 apart, reads tRCD = 16 behind them, data CL = 16 later, 4 clocks long.
const FOUR: &str = "# four groups\n0 R 0x0\n0 R 0x40\n0 R 0x80 64\n0 R 0xc0\n";

#[test]
fn a_replay_takes_the_clocks_of_the_standard() {
    let folder = trace(FOUR);
    let result = json(&replay(folder.path(), &["--json"]));
    assert_eq!(
        (&result["form"], &result["clocks"], &result["clock_ps"]),
        (&"vp".into(), &48.into(), &833.into())
    );
    let reads = &result["reads"];
    // 36, 40, 44 and 48 clocks.
    assert_eq!((&reads["requests"], &reads["bytes"]), (&4.into(), &256.into()));
    let ns = |name: &str| reads[name].as_f64().unwrap();
    assert_eq!(
        [ns("latency_least_ns"), ns("latency_mean_ns"), ns("latency_most_ns")],
        [29.988, 34.986, 39.984]
    );
    assert_eq!(result["counters"]["dbb0.dram0.command.ACT"], 4);
    let text = said(&replay(folder.path(), &[]));
    for part in [
        "requests   4 reads of 256 bytes, 0 writes",
        "time       48 clocks, 39.984 ns",
        "42.0 clocks (35.0 ns) on average",
        "the longest 48.0 clocks (40.0 ns)",
        "rows       0 hits (0.0 %), 4 of a closed bank (100.0 %)",
        "commands   ACT 4, RD 4",
        "dram0.bank12",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn a_replay_writes_its_commands_in_each_form() {
    let folder = trace("0 R 0x0\n0 W 0x20000\n");
    let log = |form: &str| {
        said(&replay(folder.path(), &["--commands", "log", "--commands-form", form]));
        let text = fs::read_to_string(folder.path().join("log")).unwrap();
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    // The other row of the bank: PRE after tRAS = 39, ACT tRP = 16 later, the write tRCD behind it.
    assert_eq!(
        log("vp"),
        [
            "clock,time_ps,memory,channel,pseudo_channel,rank,group,bank,row,column,command",
            "0,0,dbb0,0,0,0,0,0,0,,ACT",
            "16,13328,dbb0,0,0,0,0,0,0,0,RD",
            "39,32487,dbb0,0,0,0,0,0,,,PRE",
            "55,45815,dbb0,0,0,0,0,0,1,,ACT",
            "71,59143,dbb0,0,0,0,0,0,1,0,WR",
        ]
    );
    assert_eq!(
        log("ramulator"),
        [
            "clock,command,Channel,Rank,BankGroup,Bank,Row,Column,type,source",
            "0,ACT,0,0,0,0,0,-1,-1,-1",
            "16,RD,0,0,0,0,0,0,0,-1",
            "39,PREpb,0,0,0,0,-1,-1,-1,-1",
            "55,ACT,0,0,0,0,1,-1,-1,-1",
            "71,WR,0,0,0,0,1,0,1,-1",
        ]
    );
    assert_eq!(
        log("dramsim3"),
        [
            "0 activate 0 0 0 0 0x0 0x0",
            "16 read 0 0 0 0 0x0 0x0",
            "39 precharge 0 0 0 0 0x0 0x0",
            "55 activate 0 0 0 0 0x1 0x0",
            "71 write 0 0 0 0 0x1 0x0",
        ]
    );
}

#[test]
fn traces_of_peers_are_played_as_our_own() {
    let clocks = |text: &str| {
        let result = json(&replay(trace(text).path(), &["--json"]));
        (result["form"].as_str().unwrap().to_owned(), result["clocks"].as_u64().unwrap())
    };
    assert_eq!(clocks("0x0 READ 0\n0x40 READ 0\n0x80 READ 0\n0xc0 READ 0\n"), ("dramsim3".to_owned(), 48));
    assert_eq!(clocks("LD 0\nLD 64\nLD 0x80\nLD 0xc0\n"), ("ramulator".to_owned(), 48));
    let places = "R 0,0,0,0,0,0\nR 0,0,1,0,0,0\nR 0,0,2,0,0,0\nR 0,0,3,0,0,0\n";
    assert_eq!(clocks(places), ("ramulator-places".to_owned(), 48));
    // One after the other: each from its answer on, the last three of open rows where they are of one group.
    let folder = trace("LD 0\nLD 0x100\nLD 0x200\n");
    let result = json(&replay(folder.path(), &["--outstanding", "1", "--json"]));
    // 36 clocks, and twice CL and a burst.
    assert_eq!(result["clocks"], 36 + 20 + 20);
}

#[test]
fn a_packed_trace_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(FOUR.as_bytes()).unwrap();
    fs::write(folder.path().join("trace"), packed.finish().unwrap()).unwrap();
    assert_eq!(json(&replay(folder.path(), &["--json"]))["clocks"], 48);
}

#[test]
fn a_line_that_is_no_request_is_named_with_what_would_be_right() {
    let of = |text: &str| refused(&replay(trace(text).path(), &[]));
    assert_eq!(
        of("0 R 0x0\n1 X 0x40\n"),
        "error: trace:2: here a line is `CLOCK R|W 0xADDRESS [BYTES]`, as the first one\n"
    );
    assert!(of("5 R 0x0\n4 R 0x40\n").starts_with("error: trace:2: clock 4 behind clock 5: "));
    assert!(of("R 0,0,0,9,0,0\n").starts_with("error: trace:1: Bank 9: there are 4, counted from 0"));
    assert!(of("# nothing\n").starts_with("error: trace: there is no request in it\n"));
    let none = refused(&vp(Path::new("."), &["memory", "replay", "no-such-trace"]));
    assert!(none.starts_with("error: no-such-trace: No such file"), "{none}");
    let folder = trace(FOUR);
    let none = refused(&vp(folder.path(), &["memory", "replay", "trace", "--commands", "log"]));
    assert!(none.contains("nv_small has no DRAM: take one with --dram"), "{none}");
    assert!(!folder.path().join("log").exists());
}

#[test]
fn a_runs_bursts_are_played_again_without_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let logs = ["--memory-requests", "trace", "--dram-commands", "log"];
    let run = json(&vp(folder.path(), &[&["run", "--json"], &DDR4[..], &logs].concat()));
    let counters = &run["runs"][0]["counters"];
    let bursts =
        |counters: &serde_json::Value, of: &str| counters[format!("dbb0.{of}.bursts")].as_u64().unwrap();
    let result = json(&replay(folder.path(), &["--json"]));
    for (direction, of) in [("read", "reads"), ("write", "writes")] {
        assert_eq!(result[of]["requests"].as_u64(), Some(bursts(counters, direction)), "{direction}");
    }
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let columns = |name: &str| log.lines().filter(|line| line.ends_with(&format!(",{name}"))).count() as u64;
    for name in ["ACT", "RD", "WR"] {
        assert_eq!(counters[format!("dbb0.dram0.command.{name}")].as_u64(), Some(columns(name)), "{name}");
    }
    // As DRAMsim3 reads it: address, direction, clock.
    let logs = ["--memory-requests", "trace", "--memory-requests-form", "dramsim3"];
    said(&vp(folder.path(), &[&["run"], &DDR4[..], &logs].concat()));
    let text = fs::read_to_string(folder.path().join("trace")).unwrap();
    assert!(text.lines().all(|line| line.starts_with("0x") && line.split(' ').count() == 3), "{text}");
    assert_eq!(json(&replay(folder.path(), &["--json"]))["form"], "dramsim3");
}

#[test]
fn logs_of_memories_that_are_not_there_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let none = refused(&vp(folder.path(), &["run", "--dram-commands", "log"]));
    assert!(none.contains("--dram-commands log: nv_small has no DRAM"), "{none}");
    let none =
        refused(&vp(folder.path(), &["run", "--memory-requests", "trace", "--memory-requests-of", "sram0"]));
    assert!(none.contains("--memory-requests trace: nv_small has no memory `sram0`"), "{none}");
    let twice = refused(&vp(folder.path(), &["run", "--dram-commands", "log", "--memory-requests", "log"]));
    assert!(twice.contains("--dram-commands and --memory-requests both name log"), "{twice}");
}

#[test]
fn a_file_with_a_dram_alone_has_its_curve_drawn() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("dram.toml"), "[dram]\nstandard = \"DDR4-2400R\"\nlatency = \"0 ns\"\n")
        .unwrap();
    let curve = ["memory", "curve", "dram.toml", "--requests", "300"];
    let text =
        said(&vp(folder.path(), &[&curve[..], &["--csv", "curve.csv", "--html", "curve.html"]].concat()));
    for part in [
        "a read without load takes 30.0 ns (36 clocks), of an open row 16.7 ns (20 clocks)",
        "the pins move 19.2 GB/s, 18.3 GB/s less refreshes",
        "row after row",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let csv = fs::read_to_string(folder.path().join("curve.csv")).unwrap();
    assert!(csv.starts_with("memory,mix,addresses,offered_bytes_per_second,bytes_per_second,"), "{csv}");
    assert!(csv.lines().any(|line| line.starts_with("dbb0,2 reads : 1 write,random,")), "{csv}");
    let page = fs::read_to_string(folder.path().join("curve.html")).unwrap();
    // A chart for each mix, and the numbers behind it.
    assert_eq!((page.matches("<figure").count(), page.matches("<svg").count()), (3, 3));
    // The same seed gives the same points.
    let json = || said(&vp(folder.path(), &[&curve[..], &["--json"]].concat()));
    assert_eq!(json(), json());
    let none = refused(&vp(folder.path(), &["memory", "curve"]));
    assert!(none.starts_with("error: dbb0 of nv_small: a latency alone, without a bandwidth\n"), "{none}");
}
