//! A guest of `vp qemu` that is looked at from outside while its driver waits, and the files about its run.

use std::path::Path;
use std::process::Command;

use crate::ends::vp_for;
use crate::half_a_layer;
use crate::linux;
use crate::machine::{Kind, Setup};
use crate::process::Ended as _;

/// Returns what `vp` shows.
fn shows(vp: &Path, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(vp).args(arguments).current_dir(folder).ended();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_linux_guest_that_waits_is_looked_at_from_outside_and_its_run_is_kept_in_files() {
    let test = "a_linux_guest_that_waits_is_looked_at_from_outside_and_its_run_is_kept_in_files";
    let Some(vp) = vp_for(test).filter(|_| linux::can_run(Kind::Node, test)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = |name: &str| folder.join(name).display().to_string();
    let (socket, trace, timeline) = (format!("unix:{}", path("s")), path("run.fst"), path("run.perfetto"));
    let (recording, registers) = (path("run.vprec"), path("run.log"));
    let options = ["--listen", &socket, "--trace", &trace, "--timeline", &timeline];
    let options = [&options[..], &["--record", &recording, "--registers", &registers]].concat();
    let script = half_a_layer().sleep_until_error("GLB.S_INTR_STATUS");
    let mut machine = Setup::linux_through(&vp, &options, script).start();
    machine.wait_for("sleeping");

    let place = shows(&vp, folder, &["where", "--connect", &socket]);
    for line in ["line      irq0 low since ", "enabled   PDP group 0", "device    pdp is "] {
        assert!(place.lines().any(|shown| shown.starts_with(line)), "{place}");
    }
    let waits = "          nvdla.pdp waits for nvdla.sdp_to_pdp.put\nso        The driver ";
    assert!(
        place.contains(waits) && place.ends_with("The device waits for the CPU to enable SDP.\n"),
        "{place}"
    );
    let status = shows(&vp, folder, &["status", "--connect", &socket]);
    for text in [
        "nv_small, waiting for the CPU to enable SDP\n",
        "free mode",
        "vp-qemu ",
        "csb0       initiator session ",
        "dbb0       target session ",
    ] {
        assert!(status.contains(text), "{text}: {status}");
    }
    assert!(
        status.contains("unit       pdp        busy with 16x16x16, group 0, number 1, since "),
        "{status}"
    );

    let process = machine.process().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    let said = machine.says();
    assert!(said.iter().any(|line| line.starts_with("event hash ")), "{said:?}");
    for file in [&trace, &timeline] {
        assert!(std::fs::metadata(file).unwrap().len() > 1000, "{file}");
    }
    let log = std::fs::read_to_string(&registers).unwrap();
    assert!(log.contains(": write PDP.D_OP_ENABLE (0x0b008, group 0) = 0x00000001"), "{log}");
    let again = shows(&vp, folder, &["replay", &recording]);
    let hash = |shown: &str| shown.lines().find(|line| line.starts_with("event hash ")).map(str::to_owned);
    assert_eq!(hash(&again), hash(&said.join("\n")), "{again}");
    assert!(again.contains("; the event hash is the recorded one"), "{again}");
}
