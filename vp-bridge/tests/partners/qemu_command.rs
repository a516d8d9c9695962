//! `vp qemu` as a user types it, with a program in QEMU's place: what it is given, and that it never stays behind.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A program that says what it was given, and then lasts until its input ends.
fn stand_in(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("qemu");
    std::fs::write(&program, "#!/bin/sh\necho \"$@\"\nexec cat\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn start(folder: &Path, settings: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
    command.args(["qemu", "--plugin", "plugin.so", "--qemu"]).arg(stand_in(folder));
    for setting in settings {
        command.args(["--set", setting]);
    }
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let files = folder.join("temporary");
    std::fs::create_dir_all(&files).unwrap();
    piped.env("TMPDIR", files).spawn().unwrap()
}

#[test]
fn a_killed_vp_qemu_leaves_neither_its_qemu_nor_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut vp = start(folder.path(), &["share=off"]);
    let mut console = BufReader::new(vp.stdout.take().unwrap());
    let mut given = String::new();
    console.read_line(&mut given).unwrap();
    assert!(given.contains("connect=unix:@vp-") && given.trim_end().ends_with(",share=off"), "{given}");
    // Kept open: what stands in for QEMU would wait for its end.
    let input = vp.stdin.take();
    vp.kill().unwrap();
    vp.wait().unwrap();
    let (ended, has_ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut rest = String::new();
        _ = ended.send(console.read_to_string(&mut rest).map(|_| rest));
    });
    // The console ends with the last who has it.
    let rest = has_ended.recv_timeout(Duration::from_secs(60)).expect("the program in QEMU's place goes on");
    assert_eq!(rest.unwrap(), "");
    drop(input);
    let left: Vec<_> = folder.path().join("temporary").read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_qemu_that_never_had_the_device_ends_without_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let vp = start(folder.path(), &[]);
    let output = vp.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
}

#[test]
fn a_mistyped_option_of_the_device_is_refused_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let output = start(folder.path(), &["spii=180"]).wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("spii"), "{told}");
    let options = "the device's own options are address, spi, compatible, platform, pool, timeout, share, heartbeat, ranges; nearest: spi";
    assert!(told.contains(options), "{told}");
}
