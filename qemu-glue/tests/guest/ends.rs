//! Ends of QEMU, `vp qemu` and the server, and what the others do then.

use std::path::PathBuf;

use crate::machine::{self, Setup, can_run};
use crate::served::Served;
use crate::{FUSED, half_a_layer, small, trace};

const STATUS: &str = "GLB.S_INTR_STATUS";

/// `vp`, if the test can run; says so if not.
pub(crate) fn vp_for(test: &str) -> Option<PathBuf> {
    if !can_run(test) {
        return None;
    }
    let vp = machine::vp();
    if vp.is_none() {
        machine::say(&format!("skipped: {test}: no `vp` beside this test (cargo build)"));
    }
    vp
}

#[test]
fn vp_qemu_starts_both_and_stops_both() {
    let Some(vp) = vp_for("vp_qemu_starts_both_and_stops_both") else { return };
    let script = small().layer(&trace(FUSED));
    let told = Setup::through(&vp, &[], script).start().passes();
    // Nothing is amiss in the end.
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn vp_qemu_shows_what_the_platform_did_when_the_guest_has_ended() {
    let Some(vp) = vp_for("vp_qemu_shows_what_the_platform_did_when_the_guest_has_ended") else { return };
    for options in [&[][..], &["--set", "share=off"]] {
        let said = Setup::through(&vp, options, small().layer(&trace(FUSED))).start().says();
        let report = said.iter().position(|line| line == "PASS").map(|end| &said[end + 1..]).unwrap();
        for word in ["nv_small · 64 MACs", "SDP ", "PDP ", "time ", "read ", "written ", "event hash "] {
            assert_eq!(report.iter().filter(|line| line.starts_with(word)).count(), 1, "{word}: {said:?}");
        }
    }
}

#[test]
fn vp_qemu_shows_nothing_of_a_platform_whose_guest_never_began() {
    let Some(vp) = vp_for("vp_qemu_shows_nothing_of_a_platform_whose_guest_never_began") else { return };
    // Found out when the device is there, and the machine complete.
    let told = Setup::through(&vp, &["--set", "pool=0x40000000:0x1000"], small()).start().refuses();
    assert!(told.contains("dtb is loaded there"), "{told}");
}

#[test]
fn vp_qemu_has_a_device_that_is_another_program() {
    let Some(vp) = vp_for("vp_qemu_has_a_device_that_is_another_program") else { return };
    let device = format!("{} attach-device --platform nv_small", vp.display());
    for share in ["share=on", "share=off"] {
        let options = ["--device-command", &device, "--set", share];
        let said = Setup::through(&vp, &options, small().layer(&trace(FUSED))).start().says();
        assert!(said.iter().any(|line| line == "PASS"), "{said:?}");
        assert!(said.iter().any(|line| line.starts_with("nv_small · the device outside")), "{said:?}");
    }
}

#[test]
fn vp_qemu_that_is_killed_leaves_no_qemu_and_no_file() {
    let Some(vp) = vp_for("vp_qemu_that_is_killed_leaves_no_qemu_and_no_file") else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::through(&vp, &[], half_a_layer().sleep_until_error(STATUS));
    let mut machine = setup.temporary(folder.path()).start();
    machine.wait_for("sleeping");
    // A guest that goes on would find a bus error.
    assert_eq!(machine.killed(), [""; 0]);
    let left: Vec<_> = folder.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_guest_that_sleeps_when_the_server_is_killed_has_its_timer_and_then_bus_errors() {
    if !can_run("a_guest_that_sleeps_when_the_server_is_killed_has_its_timer_and_then_bus_errors") {
        return;
    }
    for args in [&[][..], &["-icount", "shift=3"], &["-icount", "shift=3,sleep=off"]] {
        for share in ["on", "off"] {
            let server = Served::named("nv_small");
            let options = format!(",connect={},share={share}", server.address);
            let setup = Setup::new(half_a_layer().sleep_until_error(STATUS)).plugin(&options);
            let mut machine = setup.args(args).start();
            machine.wait_for("sleeping");
            server.kill();
            machine.passes();
        }
    }
}
