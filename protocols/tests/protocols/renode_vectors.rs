//! Byte vectors of Renode's protocol: our own, and messages that Renode's library for simulators wrote.

use crate::common::{bytes, conformance_file, hex, own_vectors};
use bytes::BytesMut;
use serde_json::Value;
use vp_protocols::renode::*;

const OWN: &str = include_str!("../../vectors/renode.txt");

fn parse(name: &str, image: &[u8]) -> Message {
    let image = image.try_into().unwrap_or_else(|_| panic!("{name}: {} bytes", image.len()));
    Message::parse(image).unwrap_or_else(|rule| panic!("{name}: {rule}"))
}

#[test]
fn own_vectors_mean_what_they_say_and_are_written_so() {
    let mut actions: Vec<Action> = Vec::new();
    for (name, means, image) in own_vectors(OWN) {
        let message = parse(name, &image);
        assert_eq!(format!("{message:?}"), means, "{name}");
        assert_eq!(hex(&message.emit()), hex(&image), "{name}");
        actions.push(message.action);
    }
    assert!(Action::ALL.iter().all(|action| actions.contains(action)), "a vector of each action");
}

/// A vector of the file: its line and its bytes.
fn conformance_vectors() -> Vec<(Value, Vec<u8>)> {
    let Some(file) = conformance_file("renode-vectors.jsonl") else { return Vec::new() };
    let vectors: Vec<(Value, Vec<u8>)> = file
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let image = bytes(line["hex"].as_str().unwrap());
            (line, image)
        })
        .collect();
    assert!(vectors.len() >= 21, "{} vectors", vectors.len());
    vectors
}

#[test]
fn messages_of_others_mean_what_they_parse_to_and_are_written_so() {
    for (line, image) in conformance_vectors() {
        let name = line["name"].as_str().unwrap();
        let message = parse(name, &image);
        let fields = serde_json::json!({
            "action": message.action as i32, "address": message.address, "data": message.data, "index": message.index,
        });
        assert_eq!(fields, line["fields"], "{name}");
        assert_eq!(hex(&message.emit()), hex(&image), "{name}");
    }
}

/// A peripheral that has the handshake and this message behind it, and has written what it had to.
fn peripheral(of_renode: &[u8]) -> Connection {
    let mut peripheral = Connection::new();
    let mut input = BytesMut::from(&Message::plain(Action::Handshake).emit()[..]);
    input.extend_from_slice(of_renode);
    while peripheral.receive(Socket::Main, &mut input).unwrap().is_some() {}
    peripheral.output().next_write().unwrap();
    peripheral
}

#[test]
fn a_peripheral_writes_byte_for_byte_what_the_library_of_renode_does() {
    let vectors = conformance_vectors();
    let image = |name: &str| &vectors.iter().find(|(line, _)| line["name"] == name).expect(name).1;
    if vectors.is_empty() {
        return;
    }
    let check = |peripheral: &mut Connection, socket, name: &str| {
        let (on, written) = peripheral.output().next_write().expect(name);
        assert_eq!((on, hex(&written)), (socket, hex(image(name))), "{name}");
    };
    let mut at = peripheral(image("read32"));
    at.answer(Answer::Value(0xdead_beef)).unwrap();
    check(&mut at, Socket::Main, "read_answer");
    let mut at = peripheral(image("write32"));
    at.answer(Answer::Done).unwrap();
    check(&mut at, Socket::Main, "ok");
    let mut at = peripheral(image("read8"));
    at.answer(Answer::Failed).unwrap();
    check(&mut at, Socket::Main, "error");
    let mut at = peripheral(image("tickClock"));
    at.ticked().unwrap();
    check(&mut at, Socket::Async, "tick_answer");
    let mut at = peripheral(&[]);
    at.interrupt(2, true).unwrap();
    at.interrupt(2, false).unwrap();
    at.push(Width::DoubleWord, 0x8000_1000, 0xcafe_f00d, 0).unwrap();
    for name in ["irq_high", "irq_low", "push32"] {
        check(&mut at, Socket::Async, name);
    }
    let mut confirmation = BytesMut::from(&image("push_confirmation")[..]);
    assert_eq!(at.receive(Socket::Main, &mut confirmation), Ok(Some(Event::Pushed)));
    at.get(Width::QuadWord, 0x8000_1008, 0).unwrap();
    check(&mut at, Socket::Async, "get64");
    let mut answer = BytesMut::from(&image("get_answer")[..]);
    let got = Event::Got { data: 0x0102_0304_0506_0708 };
    assert_eq!(at.receive(Socket::Main, &mut answer), Ok(Some(got)));
    at.log(LogLevel::Warning, "hello").unwrap();
    check(&mut at, Socket::Async, "log");
    assert_eq!(at.output().next_write().unwrap().1[..], b"hello"[..]);
}
