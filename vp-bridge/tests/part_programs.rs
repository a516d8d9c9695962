//! Programs that `vp` starts as parts of a platform.

#[path = "common/beside.rs"]
mod beside;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use beside::{VP, text};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn vp(arguments: &[&str]) -> Output {
    Command::new(VP).args(arguments).output().unwrap()
}

/// The lines of a report that do not depend on who is the device.
fn traffic(output: &Output) -> Vec<String> {
    let is_compared = |line: &&str| ["read", "written", "CRC"].iter().any(|word| line.starts_with(word));
    text(&output.stdout).lines().filter(is_compared).map(str::to_owned).collect()
}

#[test]
fn a_layer_moves_the_same_bytes_whoever_is_the_device_or_the_memory() {
    let whole = vp(&["run"]);
    assert!(whole.status.success());
    let device = format!("{VP} attach-device --platform nv_small");
    let memory = format!("dbb0={VP} attach-device --as memory:dbb0");
    let ways: [&[&str]; 3] = [
        &["--device-command", &device],
        &["--memory-command", &memory],
        &["--device-command", &device, "--memory-command", &memory, "--owner-timeout", "none"],
    ];
    for way in ways {
        let cut = vp(&[&["run"], way].concat());
        assert!(cut.status.success(), "{way:?}: {}", text(&cut.stderr));
        assert_eq!(traffic(&cut), traffic(&whole), "{way:?}");
        assert!(!traffic(&whole).is_empty());
    }
}

#[test]
fn a_program_that_is_no_part_is_named_with_what_became_of_it() {
    let refused = |command: &str| {
        let output = vp(&["run", "--device-command", command]);
        assert!(!output.status.success());
        text(&output.stderr)
    };
    let ended = refused("sh -c 'exit 3'");
    assert!(ended.contains("has ended before it was attached (exit status: 3)"), "{ended}");
    assert!(ended.contains("VP_CONNECT"), "{ended}");
    let missing = refused("./no/such/program");
    assert!(missing.contains("cannot start `./no/such/program`"), "{missing}");
    let open = refused("sh -c 'exit");
    assert!(open.contains("all quotes closed"), "{open}");
    let twice = vp(&["run", "--memory-command", "dbb0=a", "--memory-command", "dbb0=b"]);
    assert!(text(&twice.stderr).contains("dbb0 is given twice"));
    let nowhere = vp(&["run", "--memory-command", "dbb7=a"]);
    assert!(text(&nowhere.stderr).contains("write dbb0=COMMAND or sram0=COMMAND"));
}

#[test]
fn a_device_that_dies_in_the_middle_is_a_bus_error_and_its_end_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    // Killed some time after it was attached; the network takes longer.
    let script = format!(
        "{VP} attach-device --platform nv_small > {0} & device=$!; \
         for _ in $(seq 500); do grep -q attached {0} && break; sleep 0.02; done; sleep 0.2; kill -9 $device; wait $device",
        said.display()
    );
    let output =
        vp(&["run", "googlenet", "--platform", "nv_small", "--device-command", &format!("sh -c '{script}'")]);
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("csb0") && said.contains("is gone"), "{said}");
    assert!(said.contains("has ended with exit status: 137"), "{said}");
}

#[test]
fn a_served_platform_with_a_program_for_a_device_begins_anew_for_each_run() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("unix:{}", folder.path().join("vp.sock").display());
    let device = format!("{VP} attach-device --platform nv_small");
    let mut server = Command::new(VP)
        .args(["serve", "--listen", &address, "--device-command", &device])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    for line in ["listening on ", "attached to "] {
        let said = lines.next().unwrap().unwrap();
        assert!(said.starts_with(line), "{said}");
    }
    let runs: Vec<Output> = (0..2).map(|_| vp(&["run", "--connect", &address])).collect();
    // It may have ended by itself.
    let _ = kill(Pid::from_raw(i32::try_from(server.id()).unwrap()), Signal::SIGTERM);
    assert!(server.wait().unwrap().success());
    for run in &runs {
        assert!(run.status.success(), "{}", text(&run.stdout));
        assert_eq!(traffic(run), traffic(&vp(&["run"])));
    }
}
