//! `vp run` as a user types it: what it counts, what it names, and how it exits.

use crate::common::process::Ended as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces")
}

fn run(arguments: &[&Path]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).arg("run").args(arguments).ended();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

/// Copies a test's folder, its script changed.
fn changed(test: &str, to: &Path, change: impl Fn(String) -> String) {
    let (from, to) = (traces().join("nv_small").join(test), to.join(test));
    fs::create_dir_all(&to).unwrap();
    for entry in from.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text =
            if path.extension().is_some_and(|extension| extension == "cfg") { change(text) } else { text };
        fs::write(to.join(path.file_name().unwrap()), text).unwrap();
    }
}

#[test]
fn a_folder_of_folders_is_one_table_with_its_count() {
    let (output, text) = run(&[&traces()]);
    assert!(output.status.success(), "{text}");
    let rows = text.lines().filter(|line| line.trim_end().ends_with("PASS")).count();
    assert!(rows > 10, "{text}");
    assert_eq!(text.lines().last(), Some(format!("{rows} passed, 0 failed").as_str()));
}

#[test]
fn a_failure_is_named_and_makes_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("nv_small");
    changed("sdp_prelu_5x7x13", &small, |text| text);
    changed("conv_fully_connected_4x4x16x40", &small, |text| {
        // The last word of the script is the CRC.
        let (rest, _) = text.rsplit_once("0x").expect("a CRC");
        format!("{rest}0x12345678);\n")
    });
    let (output, text) = run(&[folder.path()]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("conv_fully_connected_4x4x16x40.cfg:"), "{text}");
    assert_eq!(text.lines().last(), Some("1 passed, 1 failed"));
}

#[test]
fn a_value_of_a_memory_that_the_platform_does_not_have_is_refused() {
    let (small, all) = (traces().join("nv_small/sdp_prelu_5x7x13"), traces());
    let set = ["--set", "sram0.read_latency=33"].map(Path::new);
    for platform in [&[][..], &["--platform", "nv_small"].map(Path::new)] {
        let arguments = [&[small.as_path()], &set[..], platform].concat();
        let (output, _) = run(&arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("--set sram0.read_latency=33: nv_small has no second memory port"), "{told}");
    }
    // Where each trace has a platform of its own, it is for those that have the memory.
    let (output, text) = run(&[&all, set[0], set[1]]);
    assert!(output.status.success(), "{text}");
}

/// A script of these lines, run on nv_small: what is shown.
fn script(folder: &Path, lines: &str) -> (Output, String) {
    let script = folder.join("t.txn");
    fs::write(&script, lines).unwrap();
    run(&[&script, Path::new("--platform"), Path::new("nv_small")])
}

#[test]
fn a_script_whose_addresses_could_be_bytes_or_words_is_told_how_they_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (output, text) = script(folder.path(), "write_reg 0x1004 0x5\nread_reg 0x1004 0xff == 0x5 0\n");
    assert!(output.status.success(), "{text}");
    let taken = "taken for byte addresses, as all are multiples of 4: 0x1004 is GLB.S_INTR_MASK, and would be CSC.D_DATAIN_FORMAT if words";
    assert!(text.contains(taken) && text.contains("0xffff1004"), "{text}");
    let (_, text) = script(folder.path(), "write_reg 0xffff0401 0x5\nread_reg 0xffff0401 0xff == 0x5 0\n");
    assert!(!text.contains("warning"), "{text}");
}

#[test]
fn a_script_that_waits_for_values_alone_compares_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for lines in ["until 0xffff0c03 0\n", "read_reg 0xffff0401 0 0x5\n"] {
        let (output, text) = script(folder.path(), lines);
        assert!(output.status.success() && text.ends_with("\nnothing compared\n"), "{text}");
    }
}

#[test]
fn a_script_for_another_register_map_is_told_the_platform_to_run_it_with() {
    let folder = tempfile::tempdir().unwrap();
    let (_, text) = script(folder.path(), "write_reg 0xffff0001 0\nread_reg 0xffff0001 0xff 0\n");
    assert!(text.contains("; if t is written for nv_full, run it with --platform nv_full"), "{text}");
}

#[test]
fn what_the_hardware_lacks_is_counted_apart() {
    let elementwise = traces().join("nv_small_256_full/sdp_elementwise_sigmoid_9x6x16");
    let plain = traces().join("nv_small/sdp_prelu_5x7x13");
    let platform = [Path::new("--platform"), Path::new("nv_small")];
    let (output, text) = run(&[&elementwise, &plain, platform[0], platform[1]]);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.lines().last(), Some("1 passed, 0 failed, 1 not supported by the configuration"));
    assert!(text.contains("not supported: sdp_elementwise_sigmoid_9x6x16: "), "{text}");
    // Alone, it has proven nothing.
    let (output, text) = run(&[&elementwise, platform[0], platform[1]]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.lines().last(), Some("not supported"));
}
