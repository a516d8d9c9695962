//! Memory that sessions have used is the system's again when they have gone.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::raw::{CSB, DBB, Raw};
use vp_protocols::native::{AccessKind, MemoryWrite, RegisterRead, Reply, Request, Role, TimeMode};
use vp_transport::Address;

/// A server in a process of its own.
struct Server(Child);

impl Server {
    /// Memory of which the process has pages, in MiB.
    fn resident(&self) -> u64 {
        let status = self.status();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() >> 10
    }

    /// Status of the process, as the system says it.
    fn status(&self) -> String {
        std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn work(address: &Address) -> Raw {
    let mut raw = Raw::open(address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(raw.attach(DBB, Role::Initiator), Reply::Done);
    let (address, length, axi_id, at) = (0x8000_0000, 1 << 16, 0, None);
    let write =
        MemoryWrite { port: DBB, address, length, access: AccessKind::Debug, axi_id, strobes: false, at };
    raw.connection.request(Request::MemoryWrite(write), &vec![1; 1 << 16]).unwrap();
    assert_eq!(raw.reply(&mut Vec::new()).2, Reply::Done);
    let read = Request::RegisterRead(RegisterRead { port: CSB, address: 0, at: None });
    assert!(matches!(raw.ask(read), Reply::Value { .. }));
    raw
}

#[test]
fn memory_of_sessions_that_have_gone_is_given_back() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_vp"));
    server.args(["serve", "--listen", "tcp:127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Server(server.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address: Address = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
    drop(work(&address));
    let before = server.resident();
    let mut peak = 0;
    for _ in 0..2 {
        let all: Vec<Raw> = (0..150).map(|_| work(&address)).collect();
        peak = server.resident().max(peak);
        drop(all);
    }
    // A quarter is for what the program has come to need meanwhile.
    let bound = before + (peak - before) / 4;
    let began = Instant::now();
    while server.resident() > bound {
        let now = server.resident();
        let why = format!("{now} MiB of {peak} are left, {before} were there before");
        // Its threads tell whether platforms are still there.
        assert!(began.elapsed() < Duration::from_secs(60), "{why}: {}", server.status());
        std::thread::sleep(Duration::from_millis(50));
    }
}
