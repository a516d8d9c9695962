//! Texts of a peer reach the terminal of the one who runs `vp` as text, and as nothing else.

use crate::common::process::Ended as _;
use bytes::BytesMut;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;
use vp_protocols::native::{Connection, ErrorCode, Event, Terms};

/// Clears the screen, names the window, and moves the cursor in one character.
const REASON: &str = "a\u{1b}[2J\u{1b}]0;b\u{7}\u{9b}3Ac";

/// A server that turns the first client away.
fn refuse(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    let (mut connection, mut input) = (Connection::server(Terms::default()), BytesMut::new());
    while !matches!(connection.receive(&mut input).unwrap(), Some(Event::Hello(_))) {
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).unwrap();
        assert!(read > 0, "the client closed the stream");
        input.extend_from_slice(&bytes[..read]);
    }
    connection.refuse(ErrorCode::ServerFull, REASON);
    let refusal = connection.output().split();
    stream.write_all(&refusal).unwrap();
}

#[test]
fn a_servers_reason_moves_no_cursor_and_names_no_window() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp:{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || refuse(&listener));
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small/sdp_prelu_5x7x13");
    let mut run = Command::new(env!("CARGO_BIN_EXE_vp"));
    // As on a terminal, with colours.
    run.env("CLICOLOR_FORCE", "1").arg("run").arg(trace).arg("--connect").arg(address);
    let output = run.ended();
    server.join().unwrap();
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("a?[2J?]0;b??3Ac"), "{said}{told}");
    let others = ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\u{9b}"];
    assert!(!others.iter().any(|other| said.contains(other) || told.contains(other)), "{said:?}{told:?}");
}
