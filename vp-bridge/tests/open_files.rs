//! A server that may open few files: nobody is left without an answer.

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use bytes::BytesMut;
use common::raw::Raw;
use vp_protocols::native::{Connection, ErrorCode, Event, TimeMode};
use vp_transport::Address;

/// A `vp serve` that may open so many files, and no more.
struct Server {
    process: Child,
    address: Address,
    /// What it logs first.
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
    let server = Server::start(94);
    assert!(server.log.contains("10 sessions at a time are taken, not 1024"), "{}", server.log);
    let _all: Vec<Raw> = (0..10).map(|_| Raw::open(&server.address, None, TimeMode::Free)).collect();
    assert_eq!(refusal(Raw::dial(&server.address)), ErrorCode::ServerFull);
}

#[test]
fn a_limit_that_may_be_raised_is() {
    let server = Server::limited("-S -n 94", "--max-sessions 20");
    assert!(server.log.contains("serving"), "{}", server.log);
    let _all: Vec<Raw> = (0..20).map(|_| Raw::open(&server.address, None, TimeMode::Free)).collect();
}

/// Nothing but the one session uses files here; elsewhere it may be what sessions share.
#[test]
fn newcomers_are_answered_even_when_no_more_files_can_be_opened() {
    // As many as a server with one session has.
    let server = Server::start(94);
    let session = Raw::open(&server.address, None, TimeMode::Free);
    let open: Vec<_> = std::fs::read_dir(format!("/proc/{}/fd", server.process.id())).unwrap().collect();
    let is_open =
        |file: &u32| open.iter().any(|entry| *entry.as_ref().unwrap().file_name() == *file.to_string());
    let files = (0..).find(|file| !is_open(file)).unwrap();
    drop((session, server));
    let server = Server::start(files);
    let _session = Raw::open(&server.address, None, TimeMode::Free);
    for _ in 0..3 {
        let newcomers = [(); 3].map(|()| Raw::dial(&server.address));
        for stream in newcomers {
            assert_eq!(refusal(stream), ErrorCode::ServerFull);
        }
    }
}

/// Why the server turns a connection away on which nothing was said.
fn refusal(mut stream: std::net::TcpStream) -> ErrorCode {
    let mut client = Connection::client(Connection::hello("x", None, TimeMode::Free)).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    match client.receive(&mut BytesMut::from(&bytes[..])).unwrap() {
        Some(Event::Refused(refused)) => refused.code,
        other => panic!("{other:?}"),
    }
}
