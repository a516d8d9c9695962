//! Connections that have not said who they are: they keep no session out, and not each other.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use crate::common::Served;
use crate::common::raw::Raw;
use bytes::BytesMut;
use vp_client::{Client, Credentials, Options as ClientOptions};
use vp_protocols::native::{Capabilities, Connection, ErrorCode, Event, TimeMode, Token};
use vp_server::{Access, Options, Tokens};

/// A server with one place for a session, where nobody has to go because it is slow.
fn serve(access: Access) -> Served {
    let handshake_timeout = Duration::from_secs(3600);
    Served::at(
        "tcp:127.0.0.1:0",
        Options { max_sessions: 1, handshake_timeout, access, ..Options::default() },
    )
}

/// Why a connection is turned away.
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
