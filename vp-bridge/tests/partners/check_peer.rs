//! `vp check-peer` against the programs of this project: they keep the rules. Peers that break them are in the tests of `vp-check`.

use crate::common;
use crate::common::process::Ended as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use vp_host::{Host as _, Memory};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};

fn vp(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Waits until a program listens at a socket, without a connection to it. Its file is there before that.
fn await_listener(socket: &Path) {
    // unix(7), /proc/net/unix: the fourth field has the flags; __SO_ACCEPTCON of linux/net.h is bit 16.
    let listens = || {
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        sockets.lines().any(|line| {
            line.ends_with(socket.to_str().unwrap()) && line.split_whitespace().nth(3) == Some("00010000")
        })
    };
    let until = Instant::now() + Duration::from_secs(20);
    while !listens() {
        assert!(Instant::now() < until, "nothing listens at {}", socket.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `vp serve`, which ends with the test.
struct Serving(Child);

impl Serving {
    fn new(arguments: &[&str], socket: &Path) -> Serving {
        let child =
            vp(&["serve"]).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        await_listener(socket);
        Serving(child)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The findings of a check that passes: the rules that are kept.
fn kept(output: &Output) -> Vec<String> {
    let json: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(output.status.success() && json["passed"] == true, "{json:#}");
    let rules = json["rules"].as_array().unwrap().iter().filter(|rule| rule["verdict"] == "kept");
    rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_served_platform_keeps_the_rules_of_the_native_protocol_and_of_remote_port() {
    let folder = tempfile::tempdir().unwrap();
    let (native, remote_port) = (folder.path().join("vp.sock"), folder.path().join("rp.sock"));
    let address = |path: &Path| format!("unix:{}", path.display());
    let arguments = ["--listen", &address(&native), "--remote-port", &address(&remote_port)];
    // The memory stays inside: a check of a device is none of its memory.
    let channels = ["--remote-port-channels", "csb0=9,irq0=12"];
    let _serving = Serving::new(&[&arguments[..], &channels].concat(), &remote_port);
    for (socket, protocol, least) in [(&native, "native", 23), (&remote_port, "remote-port", 19)] {
        let output = vp(&["check-peer", &address(socket), "--protocol", protocol, "--address", "0x1000"])
            .args(["--json", "-"])
            .ended();
        assert!(kept(&output).len() >= least, "{}", String::from_utf8_lossy(&output.stdout));
    }
    // It says so in words, too, and goes on serving.
    let output = vp(&["check-peer", &address(&native), "--protocol", "native"]).ended();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("kept    NP-22") && said.contains("24 kept, 0 broken"), "{said}");

    // One protocol is not the other: the rule is named, and the bytes.
    let output =
        vp(&["check-peer", &address(&remote_port), "--protocol", "native", "--timeout", "1"]).ended();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success() && said.contains("BROKEN  NP-"), "{said}");
    assert!(said.contains("received: …0000000100000018"), "the hello of Remote-Port: {said}");
}

#[test]
fn the_client_keeps_the_rules_as_cpu_and_as_memory() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("check.sock");
    let address = format!("unix:{}", socket.display());
    let check = vp(&["check-peer", &address, "--protocol", "native", "--as", "memory", "--json", "-"])
        .args(["--timeout", "10"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    await_listener(&socket);
    let options = RemoteOptions { memory: MemoryPlace::Client, ..RemoteOptions::default() };
    let mut host = RemoteHost::connect(&address.parse().unwrap(), options).unwrap();
    host.load(Memory::Primary, 0x8000_0000, &common::pattern(4096)).unwrap();
    for value in 0..20 {
        host.write_acknowledged(0x1004, value).unwrap();
        assert_eq!(host.read(0x1004).unwrap(), value);
    }
    drop(host);
    let output = check.wait_with_output().unwrap();
    let kept = kept(&output);
    assert!(kept.len() == 17 && kept.contains(&"NP-26".to_owned()), "{kept:?}");
}

#[test]
fn a_peripheral_of_renode_keeps_the_rules() {
    let ports = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let [main, asynchronous] = ports.map(|listener| listener.local_addr().unwrap().port().to_string());
    let check = vp(&["check-peer", &format!("tcp:127.0.0.1:{main}"), "--protocol", "renode", "--json", "-"])
        .args(["--async", &format!("tcp:127.0.0.1:{asynchronous}"), "--address", "0x1000", "--timeout", "20"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    // Renode starts its peripheral when it listens.
    while !vp(&["renode", &main, &asynchronous]).ended().status.success() {
        assert!(Instant::now() < until, "it does not come to an end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = check.wait_with_output().unwrap();
    assert!(kept(&output).len() >= 11, "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn mistakes_of_the_user_are_sentences() {
    for (arguments, expected) in [
        (
            &["unix:/nonexistent/vp.sock", "--protocol", "native", "--timeout", "0.1"][..],
            "nobody can be reached",
        ),
        (&["listen:tcp:0.0.0.0:0", "--protocol", "remote-port"], "other hosts can reach it"),
        (&["tcp:0.0.0.0:0", "--protocol", "native", "--as", "cpu"], "other hosts can reach it"),
        (&["tcp:0.0.0.0:5000", "--protocol", "renode"], "other hosts can reach it"),
        (
            &["tcp:0.0.0.0:0", "--protocol", "native", "--as", "cpu", "--insecure", "--timeout", "0.1"],
            "nobody has connected",
        ),
        (&["tcp:127.0.0.1:65535", "--protocol", "renode"], "no port behind it"),
        (&["tcp:127.0.0.1:5000", "--protocol", "renode", "--as", "cpu"], "is a peripheral"),
        (&["tcp:127.0.0.1:5000", "--protocol", "native", "--timeout", "0"], "more than 0"),
        (&["tcp:127.0.0.1:5000", "--protocol", "native", "--address", "five"], "such as 0x1000"),
    ] {
        let output = vp(&["check-peer"]).args(arguments).ended();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}
