//! Programs that `vp` starts as parts of a platform.

use crate::common::process::Ended as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::beside::{VP, text};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn vp(arguments: &[&str]) -> Output {
    Command::new(VP).args(arguments).ended()
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
fn a_memory_behind_a_port_that_is_not_there_is_refused() {
    for part in [["--memory-command", "sram0=true"], ["--memory", "sram0=remote-port:unix:/nowhere"]] {
        let output = vp(&["run", "--platform", "nv_small", part[0], part[1]]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("nv_small has no port sram0"), "{said}");
    }
}

/// The time of a network is counted in the same way wherever its parts are.
#[test]
fn a_network_takes_the_same_time_with_a_memory_outside() {
    let total = |arguments: &[&str]| {
        let output = vp(&[&["run", "digits", "--platform", "nv_small"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = said.lines().find(|line| line.starts_with("all ")).unwrap_or_else(|| panic!("{said}"));
        line[..19].to_owned()
    };
    let memory =
        format!("dbb0={} attach-device --platform nv_small --as memory:dbb0", env!("CARGO_BIN_EXE_vp"));
    assert_eq!(total(&["--memory-command", &memory]), total(&[]));
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
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // What a part writes on standard output is there, too.
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("attached to ")), "the device is not attached");
    std::thread::spawn(move || lines.for_each(drop));
    let runs: Vec<Output> = (0..2).map(|_| vp(&["run", "--connect", &address])).collect();
    // It may have ended by itself.
    let _ = kill(Pid::from_raw(i32::try_from(server.id()).unwrap()), Signal::SIGTERM);
    assert!(server.wait().unwrap().success());
    for run in &runs {
        assert!(run.status.success(), "{}", text(&run.stdout));
        assert_eq!(traffic(run), traffic(&vp(&["run"])));
    }
}

/// A program of `vp` that is killed with the test; it has printed a line that begins so.
struct Running(Child);

impl Running {
    fn start(arguments: &[&str], line: &str) -> Running {
        let mut command = Command::new(VP);
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        assert!(said.starts_with(line), "{said}");
        Running(child)
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server of a platform whose device is outside, in a folder, and the address.
fn without_device(folder: &tempfile::TempDir, patience: &str) -> (Running, String) {
    let file = folder.path().join("outside.toml");
    fs::write(&file, "name = \"nv_small\"\n[outside_device]\nlike = \"nv_small\"\n").unwrap();
    let address = format!("unix:{}", folder.path().join("vp.sock").display());
    let file = file.to_str().unwrap();
    let arguments = ["serve", "--platform", file, "--listen", &address, "--owner-timeout", patience];
    (Running::start(&arguments, "listening on "), address)
}

#[test]
fn a_device_that_is_stopped_is_given_up_with_a_sentence_and_another_one_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, address) = without_device(&folder, "1");
    let device = Running::start(&["attach-device", &address], "attached to ");
    device.signal(Signal::SIGSTOP);
    let since = Instant::now();
    let stopped = vp(&["run", "--connect", &address]);
    assert!(!stopped.status.success() && since.elapsed() > Duration::from_secs(1));
    let said = text(&stopped.stdout);
    for part in ["csb0: session 1, which was the device, is gone", "simulated time stands at", "within 1 s"] {
        assert!(said.contains(part), "{said}");
    }
    let _device = Running::start(&["attach-device", &address], "attached to ");
    let run = vp(&["run", "--connect", &address]);
    assert!(run.status.success(), "{}", text(&run.stdout));
}

#[test]
fn without_a_limit_a_device_that_is_stopped_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, address) = without_device(&folder, "none");
    let device = Running::start(&["attach-device", &address], "attached to ");
    device.signal(Signal::SIGSTOP);
    let mut command = Command::new(VP);
    let mut run = command.args(["run", "--connect", &address]).stdout(Stdio::piped()).spawn().unwrap();
    // As long as a developer looks at a variable, and longer than other limits of tests.
    sleep(Duration::from_millis(1500));
    assert!(run.try_wait().unwrap().is_none(), "it has not waited");
    device.signal(Signal::SIGCONT);
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(traffic(&output), traffic(&vp(&["run"])));
}

/// The platform's time when it is killed depends on how fast the machine is; that it is in the middle does not.
#[test]
fn a_memory_that_is_killed_in_the_middle_is_named_with_the_time_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("unix:{}", folder.path().join("vp.sock").display());
    let _server = Running::start(&["serve", "--listen", &address], "listening on ");
    let attach = ["attach-device", &address, "--as", "memory:dbb0", "--shared", "x", "--dbb-latency", "400"];
    let memory = Running::start(&attach, "attached to ");
    let long = ["run", "lenet", "--connect", &address, "--shared", "x"];
    let mut command = Command::new(VP);
    let run = command.args(long).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_millis(500));
    memory.signal(Signal::SIGKILL);
    let output = run.wait_with_output().unwrap();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("dbb0: session 1, which owned the memory, is gone"), "{said}");
    assert!(said.contains("s: dbb0"), "{said}");
    let _memory = Running::start(&attach, "attached to ");
    let again = vp(&["run", "--connect", &address, "--shared", "x"]);
    assert!(again.status.success(), "{}", text(&again.stdout));
}
