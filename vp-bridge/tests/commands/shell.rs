//! Completions and manual pages: what shells and `man` are told of the commands.

use crate::common::process::Ended as _;
use std::fs;
use std::process::{Command, Output};

fn vp(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).ended()
}

#[test]
fn a_shell_is_given_all_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let output = vp(&["completions", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && script.contains("attach-device") && script.contains("outstanding"),
            "{shell}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("vp.bash");
    fs::write(&script, vp(&["completions", "bash"]).stdout).unwrap();
    // What bash offers behind `vp che`.
    let ask = "source \"$0\"; COMP_WORDS=(vp che); COMP_CWORD=1; _vp vp che vp; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", ask]).arg(&script).ended();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "check-peer", "{output:?}");
}

#[test]
fn there_is_a_page_of_the_manual_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().join("man1");
    assert!(vp(&["man", man.to_str().unwrap()]).status.success());
    for (page, says) in [("vp", "vp\\-run(1)"), ("vp-run", "outstanding"), ("vp-study-published", "alexnet")]
    {
        let text = fs::read_to_string(man.join(format!("{page}.1"))).unwrap();
        assert!(text.contains(".TH") && text.contains(says), "{page}: {text}");
    }
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = vp(&["man", file.to_str().unwrap()]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot write to"), "{refused:?}");
}

#[test]
fn the_version_says_what_event_hashes_depend_on() {
    let told = String::from_utf8(vp(&["--version"]).stdout).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let commit = told.lines().nth(1).unwrap_or_default();
    assert!(commit.starts_with("commit      "), "{told}");
    assert_eq!(told, format!("vp {version}\n{commit}\nevent hash  version 2\n"));
}

#[test]
fn colours_are_there_when_they_are_asked_for() {
    let run = |when: &str| String::from_utf8(vp(&["run", "--color", when]).stdout).unwrap();
    assert!(run("always").contains("\u{1b}["));
    assert!(!run("never").contains('\u{1b}') && !run("auto").contains('\u{1b}'));
}

#[test]
fn more_and_less_at_once_is_refused_wherever_it_stands() {
    for options in [&["run", "-q", "-v"], &["-v", "run", "-q"]] {
        assert_eq!(vp(options).status.code(), Some(2), "{options:?}");
    }
}

#[test]
fn a_server_logs_accesses_with_their_registers_names() {
    let folder = tempfile::tempdir().unwrap();
    // On one host accesses would go through a ring in shared memory, and be no requests.
    let listen = "tcp:127.0.0.1:0";
    let mut server = Command::new(env!("CARGO_BIN_EXE_vp"))
        .args(["serve", "-v", "--platform", "nv_small", "--listen", listen])
        .env_remove("RUST_LOG")
        .stdout(std::process::Stdio::piped())
        .stderr(fs::File::create(folder.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(server.stdout.take().unwrap()), &mut line)
        .unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap();
    let ran = vp(&["run", "--connect", address]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("reads GLB.S_INTR_STATUS (0x") && log.contains("bytes at 0x8"), "{log}");
    assert!(!log.contains("address: "), "{log}");
}

#[test]
fn a_quiet_server_logs_only_what_is_wrong() {
    let log = |options: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let listen = format!("unix:{}", folder.path().join("s").display());
        let mut server = Command::new(env!("CARGO_BIN_EXE_vp"))
            .args(["serve", "--platform", "nv_small", "--listen", &listen])
            .args(options)
            .env_remove("RUST_LOG")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(server.stdout.take().unwrap()), &mut line)
            .unwrap();
        assert!(line.starts_with("listening on"), "{line}");
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(server.id() as i32),
            nix::sys::signal::Signal::SIGTERM,
        )
        .unwrap();
        String::from_utf8(server.wait_with_output().unwrap().stderr).unwrap()
    };
    assert!(log(&[]).contains("stopped"));
    assert_eq!(log(&["--quiet"]), "");
}
