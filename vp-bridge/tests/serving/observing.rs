//! Files about a run: written by `vp run` and `vp serve`, seen by other people's programs, and nothing half of them left behind.

#![allow(clippy::print_stderr, reason = "what is skipped is said")]

use crate::common::process::Ended as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn vp(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).current_dir(folder).ended()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The event hash that a run shows.
fn hash(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find(|line| line.starts_with("event hash")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_run_writes_its_files_and_goes_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "lenet", "--timed", "--platform", "nv_small"];
    let plain = vp(folder.path(), &run);
    let observed =
        vp(folder.path(), &[&run[..], &["--trace", "run.fst", "--timeline", "run.perfetto"]].concat());
    assert!(observed.status.success(), "{}", said(&observed));
    assert_eq!(hash(&plain), hash(&observed));
    assert_eq!(names(folder.path()), ["run.fst", "run.perfetto"]);
}

#[test]
fn what_cannot_be_done_is_one_line_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], error: &str| {
        let output =
            vp(folder.path(), &[&["run", "lenet", "--timed", "--platform", "nv_small"], arguments].concat());
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(said(&output), format!("error: {error}\n"));
        assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    };
    refused(
        &["--trace", "run.ghw"],
        "--trace run.ghw: a waveform's name ends in .fst, or in .vcd for the older, larger format",
    );
    refused(
        &["--trace", "run.fst", "--trace-start", "layer:convl"],
        "--trace-start layer:convl: no layer `convl`; nearest: conv1",
    );
    refused(
        &["--trace", "run.fst", "--trace-stop", "register:GLB.S_INTR_STATSU"],
        "--trace-stop register:GLB.S_INTR_STATSU: no register `GLB.S_INTR_STATSU` in the nv_small map; nearest: GLB.S_INTR_STATUS (0x100c)",
    );
    refused(
        &["--timeline", "no/run.perfetto"],
        "cannot write no/run.perfetto: No such file or directory (os error 2)",
    );
    refused(
        &["--record", "run.fst", "--trace", "./run.fst"],
        "--record and --trace both name ./run.fst: each needs a file of its own",
    );
    let output = vp(folder.path(), &["run", "lenet", "--connect", "unix:s", "--trace", "run.fst"]);
    assert!(said(&output).starts_with("error: --trace is the server's to say when --connect is given\n"));
}

#[test]
fn a_start_that_never_comes_is_an_error_after_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let output = vp(folder.path(), &["run", "--trace", "run.fst", "--trace-start", "address:0x1"]);
    assert!(!output.status.success());
    assert!(!output.stdout.is_empty(), "what the run came to is shown");
    let said = said(&output);
    assert!(said.starts_with("error: --trace-start address:0x1 has not come by the end, at "), "{said}");
    assert!(said.ends_with(": run.fst is not written\n"), "{said}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_full_disk_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    for files in ["--trace run.fst", "--trace run.vcd", "--timeline run.perfetto"] {
        // Files of 8 KiB at most, and an error instead of a signal beyond.
        let vp = env!("CARGO_BIN_EXE_vp");
        let line =
            format!("trap '' XFSZ; ulimit -f 8; exec {vp} run lenet --timed --platform nv_small {files}");
        let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path()).ended();
        assert!(!output.status.success());
        let said = said(&output);
        assert!(said.starts_with("error: cannot write run.") && said.contains("File too large"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    }
}

#[test]
fn a_server_has_a_file_for_each_platform_when_it_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_vp"))
        .args(["serve", "--listen", "unix:s", "--trace", "run.fst", "--timeline", "run.perfetto"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on"), "{line}");
    let trace = format!("{}/../traces/nv_small/sdp_prelu_5x7x13", env!("CARGO_MANIFEST_DIR"));
    for _ in 0..2 {
        let output = vp(folder.path(), &["run", &trace, "--connect", "unix:s"]);
        assert!(output.status.success(), "{}", said(&output));
    }
    // One whose session is there when the server ends.
    let address = format!("unix:{}", folder.path().join("s").display()).parse().unwrap();
    let host = vp_remote::RemoteHost::connect(&address, vp_remote::RemoteOptions::default()).unwrap();
    kill(Pid::from_raw(server.id() as i32), Signal::SIGINT).unwrap();
    assert!(server.wait().unwrap().success());
    drop(host);
    let mut files = names(folder.path());
    files.retain(|name| name != "s");
    let expected = ["run-2.fst", "run-2.perfetto", "run-3.fst", "run-3.perfetto", "run.fst", "run.perfetto"];
    assert_eq!(files, expected);
}

#[test]
fn a_server_says_at_once_that_a_file_cannot_be_written_and_goes_on_and_ends_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_vp"))
        .args(["serve", "--listen", "unix:s", "--trace", "run.fst", "--registers", "/dev/full"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let trace = format!("{}/../traces/nv_small/pdp_max_3x3_s2_16x16x16", env!("CARGO_MANIFEST_DIR"));
    let output = vp(folder.path(), &["run", &trace, "--connect", "unix:s"]);
    let sentence = "cannot write /dev/full: No space left on device (os error 28)";
    let shown = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
    assert!(
        output.status.success() && shown.contains(sentence),
        "its session is told while it runs: {shown}"
    );
    kill(Pid::from_raw(server.id() as i32), Signal::SIGINT).unwrap();
    let ended = server.wait_with_output().unwrap();
    let logged = said(&ended);
    assert_eq!(logged.matches(sentence).count(), 1, "{logged}");
    assert_eq!(ended.status.code(), Some(1), "{logged}");
    assert_eq!(names(folder.path()), ["run.fst"], "the other file is whole");
}

#[test]
fn gtkwave_opens_a_waveform() {
    for program in ["gtkwave", "xvfb-run"] {
        if Command::new(program).arg("--help").output().is_err() {
            eprintln!("skipped: a waveform in GTKWave: no {program}");
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for file in ["run.fst", "run.vcd"] {
        assert!(vp(folder.path(), &["run", "--trace", file]).status.success());
        let script = "
            set facs [gtkwave::getNumFacs]
            gtkwave::addSignalsFromList {nv_small.irq0 nv_small.csb0.register nv_small.nvdla.sdp.busy}
            set out [open seen.txt w]
            puts $out \"$facs [gtkwave::getMaxTime]\"
            for {set i 0} {$i < $facs} {incr i} { puts $out [gtkwave::getFacName $i] }
            close $out
            exit
        ";
        std::fs::write(folder.path().join("script.tcl"), script).unwrap();
        let seen = folder.path().join("seen.txt");
        let mut viewer = Command::new("xvfb-run");
        viewer.args(["-a", "timeout", "120", "gtkwave", "-S", "script.tcl", file]).current_dir(folder.path());
        let output = viewer.ended();
        let seen = std::fs::read_to_string(&seen).unwrap_or_else(|_| panic!("{}", said(&output)));
        assert!(seen.lines().count() > 50, "{seen}");
        for signal in ["nv_small.irq0", "nv_small.dbb0.ar.address[31:0]", "nv_small.nvdla.sdp.layer[31:0]"] {
            let name = signal.split('[').next().unwrap();
            assert!(seen.lines().any(|line| line == signal || line == name), "{file}: {seen}");
        }
    }
}
