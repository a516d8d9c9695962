//! `vp save` and `vp serve --restore`: a platform goes on in another server as it would have in the first.

use crate::common::process::Ended as _;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::program::ServeProgram;
use crate::common::{SOURCE, Served, TARGET, copy, copy_registers, fetch_target, pattern, run};
use vp_host::trace::{Trace, TraceBuilder};
use vp_host::{Host as _, Memory};
use vp_models::nvdla::glb::InterruptSource;
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::Options;
use vp_transport::Address;

fn vp(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
    command.args(arguments);
    command
}

fn save(address: &Address, shared: Option<&str>, file: &Path) -> Output {
    let address = address.to_string();
    let mut arguments = vec!["save", "--connect", &address];
    arguments.extend(shared.iter().flat_map(|name| ["--shared", name]));
    vp(&arguments).arg(file).ended()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(if output.status.success() { &output.stdout } else { &output.stderr })
        .into_owned()
}

/// A server that goes on from a file.
fn restored(file: &Path, recording: Option<&Path>) -> ServeProgram {
    let mut options = vec![OsStr::new("--restore"), file.as_os_str()];
    options.extend(recording.iter().flat_map(|recording| [OsStr::new("--record"), recording.as_os_str()]));
    ServeProgram::start(&options)
}

/// A copy like [`copy`], by the other group: whose turn it is behind one.
fn copy_again(width: u32, height: u32, channels: u32) -> Trace {
    let bytes = pattern((width * height * channels) as usize);
    let mut trace = TraceBuilder::new("again").place(Memory::Primary, u64::from(SOURCE), "input.dat", &bytes);
    for (register, value) in copy_registers(width, height, channels) {
        trace = trace.write(register, if register.ends_with("S_POINTER") { 1 } else { value });
    }
    let done = InterruptSource::Pdp.of_group(1);
    trace.interrupt(done, "done").check("done", Memory::Primary, u64::from(TARGET), &bytes).build().unwrap()
}

fn lab() -> RemoteOptions {
    RemoteOptions {
        memory: MemoryPlace::Inside,
        platform: Some("lab".to_owned()),
        ..RemoteOptions::default()
    }
}

/// Bytes that do not deflate well.
fn noise(length: u64) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
}

#[test]
fn a_platform_goes_on_in_another_server_as_it_would_have_in_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.vpsv");
    let served = Served::tcp();
    let mut host = served.join(lab());
    run(&copy(9, 7, 8), &mut host);
    let output = save(&served.address, Some("lab"), &file);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).starts_with("saved at ") && said(&output).contains("lab.vpsv"),
        "{}",
        said(&output)
    );
    let whole = run(&copy_again(12, 11, 16), &mut host);

    let restored = restored(&file, None);
    let mut other = RemoteHost::connect(&restored.address, lab()).unwrap();
    assert_eq!(fetch_target(&mut other, 9 * 7 * 8), pattern(9 * 7 * 8));
    let resumed = run(&copy_again(12, 11, 16), &mut other);
    assert_eq!(resumed.1, whole.1);
    assert_eq!(resumed.0.finish, whole.0.finish);
}

#[test]
fn a_restored_platform_is_recorded_from_where_it_stood() {
    let folder = tempfile::tempdir().unwrap();
    let [file, recording] = ["lab.vpsv", "run.vprec"].map(|name| folder.path().join(name));
    let served = Served::tcp();
    let mut host = served.join(lab());
    run(&copy(9, 7, 8), &mut host);
    let output = save(&served.address, Some("lab"), &file);
    assert!(output.status.success(), "{}", said(&output));

    let mut restored = restored(&file, Some(&recording));
    let mut other = RemoteHost::connect(&restored.address, lab()).unwrap();
    let (_, statistics) = run(&copy_again(12, 11, 16), &mut other);
    drop(other);
    let process = restored.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    assert!(restored.child.wait().unwrap().success());
    let replayed = vp(&["replay"]).arg(&recording).ended();
    let said = said(&replayed);
    assert!(said.contains(statistics.text("events.hash").unwrap()), "{said}");
    assert!(said.trim_end().ends_with("; the event hash is the recorded one"), "{said}");
}

#[test]
fn a_platform_that_no_one_else_is_at_is_not_saved_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("none.vpsv");
    let served = Served::tcp();
    let output = save(&served.address, None, &file);
    assert!(!output.status.success() && said(&output).contains("--shared NAME"), "{}", said(&output));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_platform_with_its_memory_outside_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outside.vpsv");
    let served = Served::tcp();
    let mut host = served.join(RemoteOptions { memory: MemoryPlace::Client, ..lab() });
    run(&copy(5, 5, 8), &mut host);
    let output = save(&served.address, Some("lab"), &file);
    assert!(said(&output).contains("the memory of dbb0 is outside"), "{}", said(&output));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_saved_counts_in_the_platforms_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("full.vpsv");
    let options = Options { platform_memory_limit: 3 << 20, ..Options::default() };
    let served = Served::at("tcp:127.0.0.1:0", options);
    let mut host = served.join(lab());
    // Nearly all of it.
    let bytes = noise(2_700_000);
    host.load(Memory::Primary, 0x8000_0000, &bytes).unwrap();
    let output = save(&served.address, Some("lab"), &file);
    assert!(said(&output).contains("the limit of 3145728 bytes"), "{}", said(&output));
    assert!(!file.exists());
    // Nothing was lost by it.
    host.load(Memory::Primary, 0x8000_0000, &bytes).unwrap();
}

/// A mistyped name would be a new platform's.
#[test]
fn a_platform_that_nobody_is_at_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lba.vpsv");
    let served = Served::tcp();
    let mut host = served.join(lab());
    run(&copy(5, 5, 8), &mut host);
    for name in [Some("lba"), None] {
        let told = said(&save(&served.address, name, &file));
        assert!(told.contains("nobody else is at this platform") && told.contains("vp status"), "{told}");
        assert!(!file.exists());
    }
}

#[test]
fn a_saved_platform_larger_than_the_file_may_be_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.vpsv");
    let served = Served::tcp();
    let mut host = served.join(lab());
    host.load(Memory::Primary, u64::from(SOURCE), &noise(1 << 20)).unwrap();
    let address = served.address.to_string();
    let save = |size: &str| {
        let options = ["save", "--connect", &address, "--shared", "lab", "--max-size", size];
        vp(&options).arg(&file).ended()
    };
    let output = save("64 KiB");
    let told = said(&output);
    assert!(!output.status.success() && told.contains("65536 are taken at most"), "{told}");
    assert!(told.contains("--max-size SIZE"), "{told}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(save("64 MiB").status.success());
}

#[test]
fn a_server_refuses_files_that_it_cannot_go_on_from_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.vpsv");
    let served = Served::tcp();
    let mut host = served.join(lab());
    run(&copy(5, 5, 8), &mut host);
    host.load(Memory::Primary, 0x9000_0000, &noise(2 << 20)).unwrap();
    assert!(save(&served.address, Some("lab"), &file).status.success());
    let refusal = |file: &Path, options: &[&str]| {
        let mut command = vp(&["serve", "--listen", "tcp:127.0.0.1:0", "--restore"]);
        let output = command.arg(file).args(options).ended();
        assert!(!output.status.success());
        let said = said(&output);
        let lines = said.lines().count();
        assert!(lines <= 2, "{said}");
        said
    };
    let whole = std::fs::read(&file).unwrap();
    let other = folder.path().join("other.vpsv");
    let with = |bytes: &[u8], what: &str| {
        std::fs::write(&other, bytes).unwrap();
        let said = refusal(&other, &[]);
        assert!(said.contains("other.vpsv") && said.contains(what), "{said}");
    };
    with(&whole[..whole.len() / 2], "cut short");
    with(b"#!/bin/sh\n", "no saved platform");
    with(&[&whole[..4], &[9, 0], &whole[6..]].concat(), "form 9");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    with(&flipped, "not those that were written");
    let said = refusal(&file, &["--platform", "nv_small", "--dbb-latency", "77"]);
    assert!(said.contains("`dbb0.read_latency` is 50 there and 77 here"), "{said}");
    let said = refusal(&file, &["--platform-memory-limit", "1M"]);
    assert!(said.contains("the limit of 1048576 bytes"), "{said}");
    let said = refusal(&folder.path().join("nowhere.vpsv"), &[]);
    assert!(said.contains("nowhere.vpsv"), "{said}");
    // What has no end, what nobody writes to, and what is larger than any platform with so much memory.
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for endless in [Path::new("/dev/zero"), &fifo] {
        let said = refusal(endless, &[]);
        assert!(said.contains(&format!("{}: it is no regular file", endless.display())), "{said}");
    }
    let large = folder.path().join("large.vpsv");
    std::fs::File::create(&large).unwrap().set_len(66 << 20).unwrap();
    let said = refusal(&large, &["--platform-memory-limit", "1M"]);
    assert!(said.contains("large.vpsv: it has more than 68157440 bytes"), "{said}");
    assert!(said.contains("--platform-memory-limit"), "{said}");
}
