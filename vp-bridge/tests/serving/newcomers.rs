//! Connections that have not said who they are: they keep no session out, and not each other.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Served;
use crate::common::raw::Raw;
use bytes::BytesMut;
use tempfile::TempDir;
use vp_client::{Client, Credentials, Options as ClientOptions};
use vp_protocols::native::{Capabilities, Connection, ErrorCode, Event, TimeMode, Token};
use vp_server::{Access, Options, Tokens};
use vp_transport::Address;

/// A server with one place for a session, where nobody has to go because it is slow.
fn serve(access: Access) -> Served {
    let handshake_timeout = Duration::from_secs(3600);
    Served::at(
        "tcp:127.0.0.1:0",
        Options { max_sessions: 1, handshake_timeout, access, ..Options::default() },
    )
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
fn who_says_nothing_or_half_a_hello_takes_no_sessions_place() {
    let served = serve(Access::default());
    let mut silent: Vec<TcpStream> = (0..8).map(|_| Raw::dial(&served.address)).collect();
    silent[1].write_all(&[0x10, 0, 0]).unwrap();
    let _session = Raw::open(&served.address, None, TimeMode::Free);
    // Now the place is taken: by who came first with a hello, not with a connection.
    let mut connection = Connection::client(Connection::hello("late", None, TimeMode::Free)).unwrap();
    silent[0].write_all(&connection.output().split()).unwrap();
    assert_eq!(refusal(silent.swap_remove(0)), ErrorCode::ServerFull);
}

#[test]
fn who_shows_no_token_takes_no_sessions_place() {
    const TOKEN: &str = "cpu-0123456789abcdef";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    std::fs::write(&path, format!("[[token]]\nname = 'cpu'\nsecret = '{TOKEN}'\nroles = ['cpu']\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let served = serve(Access { tokens: Tokens::read(&path).unwrap(), ..Access::default() });
    let mut hello = Connection::hello("raw 1.0", None, TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
    let _strangers: Vec<Raw> = (0..8).map(|_| Raw::greet(&served.address, hello.clone())).collect();
    let credentials = Credentials { token: Some(Token::new(TOKEN)), tls: None };
    let options = ClientOptions { credentials, ..ClientOptions::new("test 1.0") };
    Client::connect(&served.address, &options, ()).unwrap();
}

#[test]
fn who_has_waited_longest_for_its_hello_makes_room_for_the_next_and_is_told() {
    let served = serve(Access::default());
    let first = Raw::dial(&served.address);
    // More than are borne at a time, even with many files.
    let _others: Vec<TcpStream> = (0..300).map(|_| Raw::dial(&served.address)).collect();
    assert_eq!(refusal(first), ErrorCode::ServerFull);
    Raw::open(&served.address, None, TimeMode::Free);
}

/// 64 of them are told at a time, and may take their time to read it.
#[test]
fn who_comes_while_many_are_being_turned_away_is_told_so_too() {
    let farewell_timeout = Duration::from_secs(3600);
    let options = Options { max_sessions: 1, farewell_timeout, ..Options::default() };
    let served = Served::at("tcp:127.0.0.1:0", options);
    let _session = Raw::open(&served.address, None, TimeMode::Free);
    let _silent: Vec<TcpStream> = (0..64).map(|_| Raw::dial(&served.address)).collect();
    for _ in 0..8 {
        assert_eq!(refusal(Raw::dial(&served.address)), ErrorCode::ServerFull);
    }
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

/// Number of lines of a log that have these words, and of such lines for which they stand.
fn summed_up(log: &str, words: &str) -> (u64, u64) {
    let lines = log.lines().filter(|line| line.contains(words));
    let stand_for = lines.map(|line| {
        let more = line.rsplit_once("; and ").and_then(|(_, more)| more.strip_suffix(" more like it"));
        1 + more.map_or(0, |more| more.parse::<u64>().expect("a number"))
    });
    stand_for.fold((0, 0), |(lines, all), stands_for| (lines + 1, all + stands_for))
}

#[test]
fn who_connects_again_and_again_has_a_line_a_second_in_the_log_with_the_number() {
    let began = Instant::now();
    let server = Logging::start(None, &["--max-sessions", "1"]);
    // Nothing is said on these, and the server is not full yet.
    for _ in 0..100 {
        drop(Raw::dial(&server.address));
    }
    let session = Raw::open(&server.address, None, TimeMode::Free);
    for _ in 0..100 {
        assert_eq!(refusal(Raw::dial(&server.address)), ErrorCode::ServerFull);
    }
    drop(session);
    let log = server.log();
    // One at the beginning, one a second, and one at the end.
    let most = began.elapsed().as_secs() + 2;
    for (words, times) in [("left without a word; session closed", 100), ("turned away", 100)] {
        let (lines, all) = summed_up(&log, words);
        assert!(all == times && lines <= most, "{lines} lines for {all}, at most {most}: {log}");
    }
}

#[test]
fn wrong_tokens_are_in_the_log_with_their_number_and_from_where_and_not_what_they_are() {
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
    assert!(first.ends_with("): the token is not known (once from there)"), "{first}");
    assert_eq!(summed_up(&log, "the token is not known").1, 3, "{log}");
    assert!(log.contains("the token is not known (3 times from there)"), "{log}");
    assert!(!log.contains(right) && !log.contains(wrong), "{log}");
}
