//! The example with a guest, as a user starts it: Debian's kernel, and a program in it that runs a layer.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::path::Path;
use std::process::Command;

#[test]
fn a_guest_runs_a_layer_with_one_command() {
    let test = "a_guest_runs_a_layer_with_one_command";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let kernel = root.join("target/guest-kernel");
    let vp = Path::new(env!("CARGO_BIN_EXE_vp"));
    let needs = ["qemu-system-aarch64", "aarch64-linux-gnu-gcc", "cpio"];
    if let Some(tool) = needs.into_iter().find(|tool| tools::command(&[tool]).is_none()) {
        return tools::skipped(test, &format!("no {tool} for QEMU's guest"));
    }
    if !kernel.join("release").exists() || !vp.with_file_name("deps").join("libvp_qemu.so").exists() {
        return tools::skipped(test, "no Debian kernel for QEMU, or no libvp_qemu.so");
    }
    let folder = tempfile::tempdir().unwrap();
    let waves = folder.path().join("run.fst");
    let output = Command::new(root.join("examples/guest/run"))
        .arg("--trace")
        .arg(&waves)
        .env("VP", vp)
        .env("GUEST_KERNEL", &kernel)
        .ended();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "interrupt 1, status 0x10",
        "pixel 3: 15 16 17 18 19 20 21 22",
        "PASS",
        "PDP        4x4x8, group 0, 232 cycles",
    ] {
        assert!(shown.lines().any(|is| is.trim_end() == line), "{line} in {shown}");
    }
    assert!(waves.exists());
}
