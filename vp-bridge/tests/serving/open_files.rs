//! A server that may open few files.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::raw::{CSB, Raw};
use bytes::BytesMut;
use vp_protocols::native::{
    Connection, ErrorCode, Event, RegisterRead, Reply, Request, Role, Time, TimeMode, Until,
};
use vp_transport::Address;

/// A `vp serve` that may open so many files, and no more.
struct Server {
    process: Child,
    address: Address,
    /// First line of the server's log.
    log: String,
}

impl Server {
    fn start(files: u32) -> Server {
        Server::limited(&format!("-n {files}"), "")
    }

    /// With a limit in the words of the shell's `ulimit`.
    fn limited(limit: &str, options: &str) -> Server {
        let vp = env!("CARGO_BIN_EXE_vp");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("ulimit {limit}; exec '{vp}' serve --listen tcp:127.0.0.1:0 {options}"));
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let first = |from: &mut dyn std::io::Read| {
            let mut line = String::new();
            BufReader::new(from).read_line(&mut line).unwrap();
            line
        };
        let log = first(process.stderr.as_mut().unwrap());
        let line = first(process.stdout.as_mut().unwrap());
        let address = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        Server { process, address, log }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn as_many_sessions_are_taken_as_there_are_files_for_and_the_next_is_told_that_the_server_is_full() {
    let server = Server::start(102);
    assert!(server.log.contains("8 sessions at a time are taken, not 1024"), "{}", server.log);
    let _all: Vec<Raw> = (0..8).map(|_| Raw::open(&server.address, None, TimeMode::Free)).collect();
    assert_eq!(refusal(Raw::dial(&server.address)), ErrorCode::ServerFull);
}

#[test]
fn a_limit_that_may_be_raised_is() {
    let server = Server::limited("-S -n 102", "--max-sessions 20");
    assert!(server.log.contains("serving"), "{}", server.log);
    let _all: Vec<Raw> = (0..20).map(|_| Raw::open(&server.address, None, TimeMode::Free)).collect();
}

#[test]
fn when_files_are_used_up_sessions_go_on_and_newcomers_come_in_again_when_some_are_free() {
    let server = Server::start(1024);
    let mut sessions: Vec<Raw> =
        (0..4).map(|_| Raw::open(&server.address, None, TimeMode::Lockstep)).collect();
    for session in &mut sessions {
        assert_eq!(session.attach(CSB, Role::Initiator), Reply::Done);
    }
    // From now on it may open as many as it has.
    let process = rustix::process::Pid::from_child(&server.process);
    let limit = rustix::process::Rlimit { current: Some(lowest_free(&server).into()), maximum: Some(1024) };
    rustix::process::prlimit(Some(process), rustix::process::Resource::Nofile, limit).unwrap();
    let newcomers: Vec<_> = (0..4).map(|_| Raw::dial(&server.address)).collect();
    for round in 0..4 {
        for session in &mut sessions {
            let advance = Request::Advance { until: Until::Time(Time::ps(1_000_000 * (round + 1))) };
            assert!(matches!(session.ask(advance), Reply::Reached { .. }));
            let read = Request::RegisterRead(RegisterRead { port: CSB, address: 0x1000, at: None });
            assert!(matches!(session.ask(read), Reply::Value { .. }));
        }
    }
    drop(newcomers);
    // As many as two sessions had, when their platforms have ended.
    sessions.truncate(2);
    let given_up = Instant::now() + Duration::from_secs(60);
    while !is_welcome(&server.address) {
        assert!(Instant::now() < given_up, "nobody is let in any more");
    }
}

/// The lowest number that no open file of a server has.
fn lowest_free(server: &Server) -> u32 {
    let open: Vec<_> = std::fs::read_dir(format!("/proc/{}/fd", server.process.id())).unwrap().collect();
    let is_open =
        |file: &u32| open.iter().any(|entry| *entry.as_ref().unwrap().file_name() == *file.to_string());
    (0..).find(|file| !is_open(file)).unwrap()
}

/// Returns true if a newcomer gets a session.
fn is_welcome(address: &Address) -> bool {
    let mut stream = Raw::dial(address);
    let mut client = Connection::client(Connection::hello("x", None, TimeMode::Free)).unwrap();
    let (mut input, mut bytes) = (BytesMut::new(), [0; 4096]);
    // A server that has no file for its platform may close it before it has read this.
    let _ = stream.write_all(&client.output().split());
    loop {
        match client.receive(&mut input).unwrap() {
            Some(event) => return matches!(event, Event::Welcome(_)),
            None => match stream.read(&mut bytes) {
                Ok(read @ 1..) => input.extend_from_slice(&bytes[..read]),
                _ => return false,
            },
        }
    }
}

/// Reason for which the server turns a connection away on which nothing was said.
fn refusal(mut stream: std::net::TcpStream) -> ErrorCode {
    let mut client = Connection::client(Connection::hello("x", None, TimeMode::Free)).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    match client.receive(&mut BytesMut::from(&bytes[..])).unwrap() {
        Some(Event::Refused(refused)) => refused.code,
        other => panic!("{other:?}"),
    }
}
