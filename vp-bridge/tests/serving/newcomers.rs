//! Connections for which there is no place, or that do not become sessions.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Served;
use crate::common::raw::Raw;
use bytes::BytesMut;
use tempfile::TempDir;
use vp_client::{Client, Credentials, Options as ClientOptions};
use vp_protocols::native::{Connection, ErrorCode, Event, TimeMode, Token};
use vp_server::Options;
use vp_transport::Address;

/// A server that takes one connection, where nobody has to go because it is slow.
fn serve() -> Served {
    let long = Duration::from_secs(3600);
    let options =
        Options { max_sessions: 1, handshake_timeout: long, farewell_timeout: long, ..Options::default() };
    Served::at("tcp:127.0.0.1:0", options)
}

/// Reason for which a connection is turned away.
fn refusal(mut stream: TcpStream) -> ErrorCode {
    let mut client = Connection::client(Connection::hello("x", None, TimeMode::Free)).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    match client.receive(&mut BytesMut::from(&bytes[..])).unwrap() {
        Some(Event::Refused(refused)) => refused.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_comes_to_a_full_server_is_told_so_at_once_however_many_come() {
    let served = serve();
    let _session = Raw::open(&served.address, None, TimeMode::Free);
    let silent: Vec<TcpStream> = (0..80).map(|_| Raw::dial(&served.address)).collect();
    for stream in silent {
        assert_eq!(refusal(stream), ErrorCode::ServerFull);
    }
}

#[test]
fn a_connection_that_has_said_nothing_counts_until_it_ends() {
    let served = serve();
    let silent = Raw::dial(&served.address);
    assert_eq!(refusal(Raw::dial(&served.address)), ErrorCode::ServerFull);
    drop(silent);
    while Client::connect(&served.address, &ClientOptions::new("test 1.0"), ()).is_err() {}
}

/// `vp serve` with a file for its log.
struct Logging {
    child: Child,
    address: Address,
    folder: TempDir,
}

impl Logging {
    fn start(token: Option<&str>, options: &[&str]) -> Logging {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
        for name in ["VP_TOKEN", "VP_TOKEN_FILE", "RUST_LOG"] {
            command.env_remove(name);
        }
        command.envs(token.map(|token| ("VP_TOKEN", token)));
        command.args(["serve", "--listen", "tcp:127.0.0.1:0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").unwrap().parse().unwrap();
        Logging { child, address, folder }
    }

    /// Ends it politely, and gives its log.
    fn log(mut self) -> String {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Number of warnings in a log about connections that were not let in, and of those for which they stand.
fn strangers(log: &str) -> (u64, u64) {
    let number = |words: &str| words.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok());
    let stand_for = log.lines().filter(|line| line.contains(" WARN ")).map(|line| {
        if let Some((left_out, _)) = line.split_once(" more lines about connections that were not let in") {
            return number(left_out).expect("a number");
        }
        let left_out = line.split_once(" more lines like this were left out before it");
        1 + left_out.map_or(0, |(before, _)| number(before).expect("a number"))
    });
    stand_for.fold((0, 0), |(lines, all), stands_for| (lines + 1, all + stands_for))
}

#[test]
fn who_connects_again_and_again_has_a_line_a_second_in_the_log_with_the_number() {
    for is_full in [false, true] {
        let began = Instant::now();
        let server = Logging::start(None, if is_full { &["--max-sessions", "1"] } else { &[] });
        let _session = Raw::open(&server.address, None, TimeMode::Free);
        for _ in 0..100 {
            let mut stream = Raw::dial(&server.address);
            if is_full {
                assert_eq!(refusal(stream), ErrorCode::ServerFull);
            } else {
                // Left without a word, but not before the server has seen it: one that ends drops whom it has not met.
                stream.shutdown(Shutdown::Write).unwrap();
                stream.read_to_end(&mut Vec::new()).unwrap();
            }
        }
        let log = server.log();
        // One at the beginning, one a second, and one at the end.
        let most = began.elapsed().as_secs() + 2;
        let (lines, all) = strangers(&log);
        assert!(all == 100 && lines <= most, "{lines} lines for {all}, at most {most}: {log}");
    }
}

#[test]
fn wrong_tokens_are_in_the_log_and_from_where_and_not_what_they_are() {
    let (right, wrong) = ("right-0123456789abcdef", "wrong-0123456789abcdef");
    let server = Logging::start(Some(right), &[]);
    for _ in 0..3 {
        let credentials = Credentials { token: Some(Token::new(wrong)), tls: None };
        let options = ClientOptions { credentials, ..ClientOptions::new("test 1.0") };
        assert!(Client::connect(&server.address, &options, ()).is_err());
    }
    let log = server.log();
    let first = log.lines().find(|line| line.contains("the token is not known")).expect("a line");
    assert!(first.contains("WARN session 1 (127.0.0.1:"), "{first}");
    assert!(first.ends_with("): the token is not known"), "{first}");
    assert_eq!(log.lines().filter(|line| line.contains("the token is not known")).count(), 3, "{log}");
    assert!(!log.contains(right) && !log.contains(wrong), "{log}");
}
