//! Faults from a file and over the socket: what `vp` says of them, who may inject them, and that a partner's are noticed.

use crate::common::process::Ended as _;
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Served, copy, local, run, start_copy};
use vp_client::{Client, Credentials, Error, Options as ClientOptions};
use vp_host::trace::player::{PlayOptions, play};
use vp_host::{Host as _, HostError};
use vp_protocols::native::{ErrorCode, Token};
use vp_remote::{MemoryPlace, RemoteOptions};
use vp_server::{Access, Options, Tokens};

const POOLING: &str = "pdp_max_3x3_s2_16x16x16";

/// Runs `vp` with a file of faults; what it says, and how it ends.
fn vp(arguments: &[&str], faults: &str) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faults.toml");
    std::fs::write(&file, faults).unwrap();
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small");
    let output = Command::new(env!("CARGO_BIN_EXE_vp"))
        .current_dir(traces)
        .args(arguments)
        .arg("--faults")
        .arg(&file)
        .ended();
    let text =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
    (output, text.replace(&file.display().to_string(), "faults.toml"))
}

#[test]
fn a_run_lists_each_fault_that_struck_and_each_that_did_not() {
    let faults = "[[fault]]\nkind = 'error'\nport = 'dbb0'\naddress = 0x80000000\n\
                  [[fault]]\nkind = 'lost-interrupt'\nafter = 7\n";
    let (output, text) = vp(&["run", POOLING], faults);
    assert!(!output.status.success(), "what the layer leaves is wrong: {text}");
    let line =
        |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{text}"));
    let first = line("fault 1");
    assert!(
        first.starts_with("fault 1    error at dbb0, at 0x80000000 to 0x80000000: SLVERR; once: struck at ")
    );
    assert!(first.ends_with("read of 8 bytes at 0x80000000 with id 2 answered with SLVERR"), "{first}");
    assert_eq!(line("fault 2"), "fault 2    lost-interrupt; after 7; once: never struck");
    assert!(text.contains("wrong: "), "{text}");
}

#[test]
fn a_run_that_waits_for_a_lost_interrupt_ends_with_what_was_injected() {
    let (output, text) = vp(&["run", POOLING], "[[fault]]\nkind = 'lost-interrupt'\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("nothing left to simulate at "), "{text}");
    assert!(text.contains("fault 1    lost-interrupt; once: struck at "), "{text}");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_line_and_key() {
    for arguments in [&["run", POOLING][..], &["serve", "--listen", "tcp:127.0.0.1:0"]] {
        let (output, text) = vp(arguments, "[[fault]]\nkind = 'error'\nport = 'dbb0'\nprobability = 2\n");
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text, "error: faults.toml:4: fault 1: probability = 2: from 0 to 1\n");
    }
    let missing = Command::new(env!("CARGO_BIN_EXE_vp")).args(["run", "--faults", "/none.toml"]).ended();
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(said, "error: /none.toml: No such file or directory (os error 2)\n");
}

#[test]
fn a_server_has_its_faults_at_each_platform_and_says_what_they_did_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faults.toml");
    let faults = "[[fault]]\nkind = 'delayed-interrupt'\ncycles = 1000\n";
    std::fs::write(&file, faults).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_vp"))
        .args(["serve", "--listen", "tcp:127.0.0.1:0", "--faults"])
        .arg(&file)
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().parse().unwrap();
    let mut here = local();
    here.inject_faults(faults).unwrap();
    let (_, expected) = run(&copy(8, 8, 32), &mut here);
    for _ in 0..2 {
        let mut host = vp_remote::RemoteHost::connect(&address, RemoteOptions::default()).unwrap();
        let (_, statistics) = run(&copy(8, 8, 32), &mut host);
        assert_eq!(statistics.text("events.hash"), expected.text("events.hash"));
        assert_eq!(statistics.text("fault.1"), expected.text("fault.1"));
    }
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
    let said = "platform nv_small: fault 1, delayed-interrupt: 1000 cycles; once: struck at ";
    assert!(log.any(|line| line.contains(said)), "the log says so");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_client_injects_faults_as_a_program_in_the_same_process_does() {
    let served = Served::tcp();
    let faults = "[[fault]]\nkind = 'stall'\nport = 'dbb0'\nchannel = 'r'\ncycles = 40\nprobability = 0.1\n";
    let mut here = local();
    here.inject_faults(faults).unwrap();
    let (_, expected) = run(&copy(8, 8, 32), &mut here);
    for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
        let mut host = served.host(memory);
        host.inject_faults(faults).unwrap();
        let (_, statistics) = run(&copy(8, 8, 32), &mut host);
        assert_eq!(statistics.text("events.hash"), expected.text("events.hash"), "{memory:?}");
    }
    let mut host = served.host(MemoryPlace::Inside);
    let refused = host.inject_faults("[[fault]]\nkind = 'eror'\n").unwrap_err();
    assert!(
        matches!(&refused, HostError::Refused(why) if why.contains("line 2: fault 1: kind: found `eror`")),
        "{refused}"
    );
}

#[test]
fn faults_need_their_right() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let text = "[[token]]\nname = 'cpu'\nsecret = 'cpu-0123456789abcdef'\nroles = ['cpu']\n\
                [[token]]\nname = 'tester'\nsecret = 'tester-0123456789abcdef'\nroles = ['cpu']\nrights = ['faults']\n";
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let access = Access { tokens: Tokens::read(&file).unwrap(), ..Access::default() };
    let served = Served::at("tcp:127.0.0.1:0", Options { access, ..Options::default() });
    let inject = |secret: &str| {
        let credentials = Credentials { token: Some(Token::new(secret)), tls: None };
        let options = ClientOptions { credentials, ..ClientOptions::new("test 1.0") };
        let mut client = Client::connect(&served.address, &options, ()).unwrap();
        client.inject_faults("[[fault]]\nkind = 'lost-interrupt'\n")
    };
    match inject("cpu-0123456789abcdef") {
        Err(Error::Refused { code: ErrorCode::NotPermitted, reason }) => {
            assert_eq!(reason, "`cpu` lacks the right `faults`: having things go wrong");
        }
        other => panic!("{other:?}"),
    }
    inject("tester-0123456789abcdef").unwrap();
}

#[test]
fn a_silent_owner_of_a_memory_is_put_out_and_a_failing_one_too() {
    let options = Options { owner_timeout: Duration::from_millis(50), ..Options::default() };
    let served = Served::at("tcp:127.0.0.1:0", options);
    for (kind, said) in [("silent", "was not answered within 0.05 s"), ("failing", "it fails, by fault 1")] {
        let mut host = served.host(MemoryPlace::Client);
        host.inject_faults(&format!("[[fault]]\nkind = '{kind}-partner'\nport = 'dbb0'\nafter = 3\n"))
            .unwrap();
        start_copy(&mut host, 8, 8, 32);
        let error = host.wait_interrupt().unwrap_err().to_string();
        assert!(error.contains(said), "{kind}: {error}");
    }
    let mut host = served.host(MemoryPlace::Inside);
    let map = host.map();
    assert!(play(&copy(8, 8, 32), &mut host, &map, &PlayOptions::default()).unwrap().passed());
}
