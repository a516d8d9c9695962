//! Byte vectors of Remote-Port: our own, and packets that a SystemC library and its encoder wrote.

use crate::common::{bytes, conformance_file, hex, own_vectors};
use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use vp_protocols::remote_port::*;

const OWN: &str = include_str!("../../vectors/remote-port.txt");

fn decode(bytes: &[u8]) -> Packet {
    let mut input = BytesMut::from(bytes);
    let packet = Packet::decode(&mut input).expect("a packet that is right").expect("a whole packet");
    assert!(input.is_empty(), "a packet and nothing else");
    packet
}

fn encode(packet: &Packet) -> BytesMut {
    let mut out = BytesMut::new();
    packet.encode(&mut out).expect("a packet that can be sent");
    out
}

#[test]
fn own_vectors_mean_what_they_say_and_are_written_so() {
    let mut commands: Vec<Command> = Vec::new();
    for (name, means, image) in own_vectors(OWN) {
        let packet = decode(&image);
        assert_eq!(format!("{packet:?}"), means, "{name}");
        assert_eq!(hex(&encode(&packet)), hex(&image), "{name}");
        commands.push(packet.body.command());
    }
    assert!(Command::ALL.iter().all(|command| commands.contains(command)), "a vector of each command");
}

/// A vector of the file, and its packet.
struct Vector {
    line: Value,
    image: Vec<u8>,
    packet: Packet,
}

impl Vector {
    fn name(&self) -> &str {
        self.line["name"].as_str().unwrap()
    }

    /// Returns what the receiver had announced, where the file says it.
    fn receiver(&self) -> Option<Capabilities> {
        let numbers: Vec<u32> =
            self.line["peer_caps"].as_array()?.iter().map(|number| number.as_u64().unwrap() as u32).collect();
        Some(Capabilities::from_numbers(&numbers))
    }

    fn transaction(&self) -> &Transaction {
        match &self.packet.body {
            Body::Transaction(transaction) => transaction,
            other => panic!("{}: {other:?}", self.name()),
        }
    }
}

fn conformance_vectors() -> Option<Vec<Vector>> {
    let vectors: Vec<Vector> = conformance_file("remote-port-vectors.jsonl")?
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let image = bytes(line["hex"].as_str().unwrap());
            let packet = decode(&image);
            Vector { line, image, packet }
        })
        .collect();
    assert!(vectors.len() >= 204, "{} vectors", vectors.len());
    Some(vectors)
}

/// The packet's fields, by the names of the file.
fn fields(packet: &Packet, length: usize) -> Value {
    let (flags, command) = (packet.flags, packet.body.command());
    let mut fields = json!({
        "cmd": command as u32, "cmd_name": command.name(), "len": length - HEADER, "id": packet.id,
        "flags": flags.bits(), "response": flags.contains(Flags::RESPONSE), "posted": flags.contains(Flags::POSTED),
        "optional": flags.contains(Flags::OPTIONAL), "dev": packet.channel,
    });
    let more = match &packet.body {
        Body::Nop => json!({}),
        Body::Cfg(cfg) => json!({ "option": cfg.option, "set": cfg.value }),
        Body::Hello(Hello { major, minor, capabilities: None }) => json!({ "major": major, "minor": minor }),
        Body::Hello(Hello { major, minor, capabilities: Some(list) }) => json!({
            "major": major, "minor": minor, "caps_offset": 32, "caps_len": list.len(), "reserved0": 0, "caps": list,
        }),
        Body::Transaction(Transaction::Read(access) | Transaction::Write(access)) => access_fields(access),
        Body::Transaction(Transaction::Interrupt(Interrupt { time, vector, line, level })) => {
            json!({ "timestamp_ns": time, "vector": vector, "line": line, "val": u8::from(*level) })
        }
        // The file has this one as it is on the wire, without a sign.
        Body::Transaction(Transaction::Sync { time }) => json!({ "timestamp_ns": *time as u64 }),
        Body::Transaction(Transaction::AtsRequest(ats) | Transaction::AtsInvalidate(ats)) => json!({
            "timestamp_ns": ats.time, "attributes": format!("{:#x}", ats.rights), "addr": format!("{:#x}", ats.address),
            "range_len": format!("{:#x}", ats.length), "result": ats.result, "reserved": "0".repeat(64),
        }),
    };
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

fn access_fields(access: &Access) -> Value {
    let code = match access.attributes.code() {
        ResponseCode::Ok => 0,
        ResponseCode::Error => 1,
        ResponseCode::AddressError => 2,
        ResponseCode::Reserved(number) => number,
    };
    let is = |attribute| access.attributes.contains(attribute);
    let mut fields = json!({
        "timestamp_ns": access.time, "attributes": format!("{:#x}", access.attributes.bits()),
        "eop": is(Attributes::END_OF_PACKET), "secure": is(Attributes::SECURE), "ext": is(Attributes::EXTENDED),
        "phys_addr": is(Attributes::TRANSLATED), "io_access": is(Attributes::IO), "resp": code,
        "addr": format!("{:#x}", access.address), "access_len": access.length, "width": 0,
        "stream_width": access.stream_width, "master_id": format!("{:#x}", access.master), "data": hex(&access.data),
    });
    if access.layout() == Layout::Extended {
        let more = json!({
            "data_offset": 80, "next_offset": 0, "byte_enable_offset": 80 + access.data.len(),
            "byte_enable_len": access.byte_enables.len(), "byte_enables": hex(&access.byte_enables),
        });
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    fields
}

#[test]
fn packets_of_others_mean_what_they_decode_to_and_are_written_so() {
    for vector in conformance_vectors().unwrap_or_default() {
        let name = vector.name();
        assert_eq!(fields(&vector.packet, vector.image.len()), vector.line["fields"], "{name}");
        assert_eq!(hex(&encode(&vector.packet)), hex(&vector.image), "{name}");
    }
}

/// A connection whose peer has announced this, with an empty output.
fn connection(peer: Capabilities) -> Connection {
    let mut connection = Connection::new(Capabilities::PLATFORM.union(Capabilities::ATS));
    let hello = Packet { id: 0, flags: Flags::NONE, channel: 0, body: Body::Hello(Hello::new(peer)) };
    assert!(matches!(connection.receive(&mut encode(&hello)), Ok(Some(Event::Hello(_)))));
    connection.output().clear();
    connection
}

#[test]
fn a_connection_answers_byte_for_byte_as_the_systemc_library_does() {
    let vectors = conformance_vectors().unwrap_or_default();
    let answered = |vector: &&Vector| {
        vector.line["produced_by"] == "systemc-adaptor" && vector.line["direction"] == "response"
    };
    let mut count = 0;
    for response in vectors.iter().filter(answered) {
        let name = response.name();
        let request = vectors.iter().find(|it| it.line["name"] == response.line["in_reply_to"]).expect(name);
        let mut connection = connection(response.receiver().expect(name));
        let Ok(Some(Event::Request(request))) = connection.receive(&mut BytesMut::from(&request.image[..]))
        else {
            panic!("{name}: no request")
        };
        let answer = match response.transaction() {
            Transaction::Read(access) | Transaction::Write(access)
                if access.attributes.code() != ResponseCode::Ok =>
            {
                Answer::Failed(access.attributes.code())
            }
            Transaction::Read(access) => Answer::Data(&access.data),
            _ => Answer::Done,
        };
        connection.respond(request, response.transaction().time(), answer).expect(name);
        assert_eq!(hex(connection.output()), hex(&response.image), "{name}");
        count += 1;
    }
    assert!(vectors.is_empty() || count > 40, "{count} answers");
}

#[test]
fn a_connection_asks_byte_for_byte_as_the_systemc_library_does_and_takes_its_answers() {
    let vectors = conformance_vectors().unwrap_or_default();
    let asked = |vector: &&Vector| {
        vector.line["produced_by"] == "systemc-adaptor"
            && vector.line["direction"] == "request"
            && vector.packet.body.command() != Command::Hello
            // To a peer that answers none it sends interrupts as if they were answered.
            && !vector.name().starts_with("wire_nocap")
    };
    let mut count = 0;
    for request in vectors.iter().filter(asked) {
        let name = request.name();
        let mut connection = connection(request.receiver().expect(name));
        // Byte enables are offered where the attribute is not: the connection sets it.
        let transaction = match request.transaction().clone() {
            Transaction::Read(access) => Transaction::Read(plain(access)),
            Transaction::Write(access) => Transaction::Write(plain(access)),
            other => other,
        };
        let channel = request.packet.channel;
        match request.packet.flags.contains(Flags::POSTED) {
            true => connection.post(channel, transaction).expect(name),
            false => drop(connection.request(channel, transaction).expect(name)),
        }
        // Ids are counted; these come from the middle of a session.
        let mut sent = connection.output().split();
        let id: [u8; 4] = sent[8..12].try_into().unwrap();
        sent[8..12].copy_from_slice(&request.packet.id.to_be_bytes());
        assert_eq!(hex(&sent), hex(&request.image), "{name}");

        if let Some(response) = vectors.iter().find(|it| it.line["in_reply_to"] == request.line["name"]) {
            let mut image = BytesMut::from(&response.image[..]);
            image[8..12].copy_from_slice(&id);
            let event = connection.receive(&mut image).unwrap();
            assert!(matches!(event, Some(Event::Response { .. })), "{name}: {event:?}");
            assert_eq!(connection.in_flight(), 0, "{name}");
        }
        count += 1;
    }
    assert!(vectors.is_empty() || count > 50, "{count} requests");
}

fn plain(access: Access) -> Access {
    Access { attributes: access.attributes.with_layout(Layout::Basic), ..access }
}

#[test]
fn every_other_length_of_an_access_is_refused() {
    // A write of 4 bytes in the basic layout whose header says 3 or 5.
    let write = Access::write(0, 0, Bytes::from_static(&[1, 2, 3, 4]));
    let body = Body::Transaction(Transaction::Write(write));
    let image = encode(&Packet { id: 1, flags: Flags::NONE, channel: 0, body });
    for (change, rule) in [(-1, Rule::DataOutside), (1, Rule::SurplusBytes)] {
        let mut other = image.clone();
        let length = (i64::from(other[7]) + change) as u8;
        other[7] = length;
        other.resize(HEADER + usize::from(length), 0);
        assert_eq!(Packet::decode(&mut other).map_err(|malformed| malformed.rule), Err(rule));
    }
}
