use super::*;
use crate::remote_port::{Cfg, Interrupt};

const ALL: Capabilities = Capabilities::PLATFORM;

fn encode(id: u32, flags: Flags, channel: u32, body: Body) -> BytesMut {
    let mut out = BytesMut::new();
    Packet { id, flags, channel, body }.encode(&mut out).unwrap();
    out
}

fn hello(capabilities: Capabilities) -> BytesMut {
    encode(0, Flags::NONE, 0, Body::Hello(Hello::new(capabilities)))
}

/// A side that announces `own`, whose peer has announced `peer`, and whose output is empty.
fn greeted(own: Capabilities, peer: Capabilities) -> Connection {
    let mut connection = Connection::new(own);
    connection.output().clear();
    assert!(matches!(connection.receive(&mut hello(peer)), Ok(Some(Event::Hello(_)))));
    connection
}

fn read(length: u32) -> Transaction {
    Transaction::Read(Access::read(5, 0x40, length))
}

fn write(data: &'static [u8]) -> Transaction {
    Transaction::Write(Access::write(5, 0x40, data))
}

fn interrupt() -> Transaction {
    Transaction::Interrupt(Interrupt { time: 5, vector: 0, line: 1, level: true })
}

/// A request as the peer sends it, as the connection tells it.
fn ask(connection: &mut Connection, flags: Flags, transaction: Transaction) -> Request {
    match connection.receive(&mut encode(77, flags, 9, Body::Transaction(transaction))) {
        Ok(Some(Event::Request(request))) => request,
        other => panic!("{other:?}"),
    }
}

fn sent(connection: &mut Connection) -> Option<Packet> {
    Packet::decode(connection.output()).unwrap()
}

/// The rule that a packet breaks at a connection that has greeted and waits for request 1, a read of 4 bytes on channel 9.
fn broken(mut packet: BytesMut) -> Rule {
    let mut connection = greeted(ALL, ALL);
    connection.request(9, read(4)).unwrap();
    let length = packet.len();
    let violation = connection.receive(&mut packet).expect_err("a violation");
    assert_eq!(violation.packet, 2, "behind the hello");
    let said = violation.to_string();
    assert!(said.starts_with(violation.rule().name()) && said.contains("packet 2"), "{said}");
    // It is over.
    let mut more = hello(ALL);
    assert_eq!(connection.receive(&mut more), Ok(None));
    assert!(more.is_empty() && length > 0);
    assert_eq!(connection.request(1, read(4)), Err(SendError::Over));
    violation.rule()
}

fn patched(mut packet: BytesMut, at: usize, bytes: &[u8]) -> BytesMut {
    packet[at..at + bytes.len()].copy_from_slice(bytes);
    packet
}

fn extended(transaction: Transaction) -> BytesMut {
    let layout =
        |access: Access| Access { attributes: access.attributes.with_layout(Layout::Extended), ..access };
    let transaction = match transaction {
        Transaction::Read(access) => Transaction::Read(layout(access)),
        Transaction::Write(access) => Transaction::Write(layout(access)),
        other => other,
    };
    encode(3, Flags::NONE, 9, Body::Transaction(transaction))
}

#[test]
fn each_rule_has_a_packet_that_breaks_it() {
    let asked = |transaction| encode(3, Flags::NONE, 9, Body::Transaction(transaction));
    let answer =
        |id, channel, transaction| encode(id, Flags::RESPONSE, channel, Body::Transaction(transaction));
    let mut enabled = Access::write(5, 0x40, &b"abcd"[..]);
    enabled.attributes = Attributes::EXTENDED;
    enabled.byte_enables = Bytes::from_static(&[255, 0]);
    let answered = Access { data: Bytes::from_static(b"abcd"), ..Access::read(5, 0x40, 4) };
    let sync = || asked(Transaction::Sync { time: 0 });
    let cases = [
        (Rule::UnknownCommand, patched(sync(), 3, &[9])),
        // The flag that it is optional makes no difference to real peers either.
        (Rule::UnknownCommand, patched(patched(sync(), 3, &[77]), 15, &[1])),
        (Rule::UnusedCommand, encode(1, Flags::NONE, 0, Body::Nop)),
        (Rule::UnusedCommand, encode(1, Flags::NONE, 0, Body::Cfg(Cfg { option: 0, value: 1 }))),
        (Rule::PacketTooLong, patched(asked(read(4)), 4, &[0xff, 0xff, 0xff, 0xff])),
        (Rule::PacketTooLong, patched(sync(), 4, &[0, 0, 0x10, 1])),
        (Rule::PacketTooShort, patched(sync(), 7, &[7])),
        (Rule::PacketTooShort, patched(asked(read(4)), 35, &[4])),
        (Rule::MajorVersion, patched(hello(ALL), 21, &[5])),
        (Rule::CapabilitiesOutside, patched(hello(ALL), 27, &[36])),
        (Rule::CapabilitiesOutside, patched(hello(ALL), 24, &[0xff; 6])),
        (Rule::CapabilitiesOutside, patched(hello(ALL), 27, &[0])),
        (Rule::SecondHello, hello(ALL)),
        (Rule::AccessTooLong, patched(asked(read(4)), 44, &[0x7f])),
        (Rule::Width, patched(asked(read(4)), 51, &[4])),
        (Rule::StreamWidth, patched(asked(read(4)), 55, &[0])),
        (Rule::NextOffset, patched(extended(read(4)), 71, &[80])),
        (Rule::DataOutside, patched(extended(write(b"abcd")), 67, &[81])),
        (Rule::DataOutside, patched(extended(write(b"abcd")), 67, &[79])),
        (Rule::DataOutside, patched(extended(write(b"abcd")), 64, &[0xff; 4])),
        (Rule::ByteEnablesOutside, patched(extended(Transaction::Write(enabled.clone())), 75, &[85])),
        (Rule::ByteEnablesOutside, patched(extended(Transaction::Write(enabled.clone())), 72, &[0xff; 8])),
        (Rule::ByteEnablesOutside, patched(extended(Transaction::Write(enabled)), 75, &[20])),
        (Rule::SurplusBytes, patched(extended(write(b"abcd")), 47, &[3])),
        (Rule::AtsNotAnnounced, asked(Transaction::AtsRequest(ATS))),
        (Rule::UnexpectedResponse, answer(2, 9, Transaction::Read(answered.clone()))),
        (Rule::UnexpectedResponse, answer(1, 8, Transaction::Read(answered.clone()))),
        (Rule::ResponseCommand, answer(1, 9, Transaction::Sync { time: 0 })),
        (Rule::ResponseEcho, answer(1, 9, Transaction::Read(Access { address: 0x44, ..answered.clone() }))),
        (Rule::ResponseEcho, answer(1, 9, Transaction::Read(Access { stream_width: 2, ..answered.clone() }))),
        (Rule::ResponseEcho, answer(1, 9, Transaction::Read(Access { master: 1, ..answered.clone() }))),
        (
            Rule::ResponseEcho,
            answer(
                1,
                9,
                Transaction::Read(Access { length: 3, data: Bytes::from_static(b"abc"), ..answered }),
            ),
        ),
    ];
    for (place, (rule, packet)) in cases.iter().enumerate() {
        assert_eq!(broken(packet.clone()), *rule, "case {place}");
    }
    let tested: Vec<Rule> = cases.iter().map(|(rule, _)| *rule).collect();
    let missing: Vec<Rule> = Rule::OF_PACKETS
        .iter()
        .copied()
        // This one has a test of its own.
        .filter(|rule| *rule != Rule::ByteEnablesNotAnnounced && !tested.contains(rule))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

const ATS: Ats = Ats { time: 0, rights: 3, address: 0x1000, length: 0, result: 0 };

#[test]
fn byte_enables_are_for_who_announced_them() {
    let mut access = Access::write(5, 0x40, &b"abcd"[..]);
    access.byte_enables = Bytes::from_static(&[255, 0]);
    let mut connection = greeted(Capabilities::EXTENDED_LAYOUT, Capabilities::EXTENDED_LAYOUT);
    let refused = connection.request(9, Transaction::Write(access.clone()));
    assert!(matches!(refused, Err(SendError::NotAnnounced { .. })));
    access.attributes = Attributes::EXTENDED;
    let mut packet = encode(3, Flags::NONE, 9, Body::Transaction(Transaction::Write(access.clone())));
    let violation = connection.receive(&mut packet.clone()).unwrap_err();
    assert_eq!((violation.rule(), violation.channel), (Rule::ByteEnablesNotAnnounced, 9));

    let mut connection = greeted(ALL, ALL);
    assert!(matches!(connection.receive(&mut packet), Ok(Some(Event::Request(_)))));
    connection.request(9, Transaction::Write(access)).unwrap();
}

#[test]
fn the_names_of_rules_are_their_numbers_in_order() {
    for (place, rule) in Rule::ALL.iter().enumerate() {
        assert_eq!(rule.name(), format!("RP-{:02}", place + 1));
        assert!(!rule.text().is_empty() && !rule.source().is_empty());
    }
}

#[test]
fn a_hello_is_sent_first_and_once() {
    let mut connection = Connection::new(ALL);
    connection.request(0, read(4)).unwrap();
    let first = sent(&mut connection).unwrap();
    assert_eq!((first.id, first.channel, &first.body), (0, 0, &Body::Hello(Hello::new(ALL))));
    assert_eq!(sent(&mut connection).unwrap().body.command(), Command::Read);
    assert_eq!(sent(&mut connection), None);
}

#[test]
fn requests_before_the_hello_are_served_and_the_layout_is_what_was_announced() {
    let mut connection = Connection::new(ALL);
    connection.output().clear();
    let request = ask(&mut connection, Flags::NONE, read(4));
    connection.respond(request, 6, Answer::Data(b"abcd")).unwrap();
    assert_eq!(connection.output().len(), 58 + 4);
    connection.output().clear();
    connection.receive(&mut hello(ALL)).unwrap();
    let request = ask(&mut connection, Flags::NONE, read(4));
    connection.respond(request, 6, Answer::Data(b"abcd")).unwrap();
    assert_eq!(connection.output().len(), 80 + 4);
}

#[test]
fn a_second_hello_without_capabilities_changes_nothing() {
    let mut connection = greeted(ALL, ALL);
    connection.receive(&mut hello(Capabilities::NONE)).unwrap();
    assert_eq!(connection.peer(), ALL);
}

#[test]
fn a_hello_may_have_more_behind_it_and_capabilities_that_nobody_knows() {
    let mut packet = hello(ALL);
    packet[35] = 200;
    packet.extend_from_slice(&[0xaa; 9]);
    packet[7] += 9;
    let mut connection = Connection::new(ALL);
    assert!(matches!(connection.receive(&mut packet), Ok(Some(Event::Hello(_)))));
    let known = Capabilities::BYTE_ENABLES.union(Capabilities::INTERRUPT_RESPONSES);
    assert_eq!(connection.peer(), known);
    assert!(packet.is_empty());
}

#[test]
fn a_peer_that_says_and_reads_one_byte_at_a_time_is_understood() {
    let mut peer = Connection::new(ALL);
    peer.request(9, write(b"abcdefgh")).unwrap();
    let bytes = peer.output().split();
    let (mut connection, mut input, mut events) = (Connection::new(ALL), BytesMut::new(), 0);
    for (place, byte) in bytes.iter().enumerate() {
        assert!(super::super::lacking(&input) <= bytes.len() - place);
        input.extend_from_slice(&[*byte]);
        events += usize::from(connection.receive(&mut input).unwrap().is_some());
    }
    assert_eq!((events, input.len()), (2, 0));
}

#[test]
fn ids_are_counted_over_all_commands_and_responses_come_in_any_order() {
    let mut connection = greeted(ALL, ALL);
    let first = connection.request(9, read(4)).unwrap();
    connection.post(12, interrupt()).unwrap();
    let second = connection.request(9, Transaction::Sync { time: 9 }).unwrap();
    assert_eq!((first.id, second.id), (1, 3));
    let body = Body::Transaction(Transaction::Sync { time: 12 });
    let event = connection.receive(&mut encode(second.id, Flags::RESPONSE, 9, body)).unwrap();
    assert_eq!(event, Some(Event::Response { id: second, response: Transaction::Sync { time: 12 } }));
    assert_eq!(connection.in_flight(), 1);
}

#[test]
fn an_id_that_waits_is_not_given_again() {
    let mut connection = greeted(ALL, ALL);
    let waiting = connection.request(9, read(4)).unwrap();
    connection.next_id = waiting.id;
    assert_eq!(connection.request(9, read(4)).unwrap().id, waiting.id + 1);
    connection.next_id = u32::MAX;
    assert_eq!(connection.request(9, read(4)).unwrap().id, u32::MAX);
    assert_eq!(connection.request(9, read(4)).unwrap().id, 0);
}

#[test]
fn a_channel_has_no_more_requests_than_qemu_bears() {
    let mut connection = greeted(ALL, ALL);
    for _ in 0..MAX_IN_FLIGHT {
        connection.request(9, read(4)).unwrap();
    }
    connection.output().clear();
    assert_eq!(connection.request(9, read(4)), Err(SendError::TooManyInFlight { channel: 9 }));
    assert!(connection.output().is_empty());
    connection.request(10, read(4)).unwrap();
    connection.post(9, write(b"a")).unwrap();
}

#[test]
fn a_posted_request_gets_no_response_and_responses_to_ours_are_dropped() {
    let mut connection = greeted(ALL, ALL);
    for transaction in [write(b"abcd"), interrupt()] {
        let request = ask(&mut connection, Flags::POSTED, transaction);
        assert!(!request.wants_response());
        connection.respond(request, 6, Answer::Done).unwrap();
        assert!(connection.output().is_empty());
    }
    connection.post(9, write(b"abcd")).unwrap();
    let answer =
        Body::Transaction(Transaction::Write(Access { data: Bytes::new(), ..Access::read(5, 0x40, 4) }));
    let flags = Flags::POSTED.union(Flags::RESPONSE);
    assert_eq!(connection.receive(&mut encode(1, flags, 9, answer)), Ok(None));
    assert_eq!(connection.post(9, read(4)), Err(SendError::NotPostable { command: Command::Read }));
}

#[test]
fn an_interrupt_is_answered_to_who_announced_it() {
    for (peer, is_answered) in [(ALL, true), (Capabilities::EXTENDED_LAYOUT, false)] {
        let mut connection = greeted(ALL, peer);
        let request = ask(&mut connection, Flags::NONE, interrupt());
        assert_eq!(request.wants_response(), is_answered);
        connection.respond(request, 6, Answer::Done).unwrap();
        assert_eq!(sent(&mut connection).is_some(), is_answered);
        connection.output().clear();
        assert_eq!(connection.request(12, interrupt()).is_ok(), is_answered);
        connection.post(12, interrupt()).unwrap();
    }
}

#[test]
fn a_read_that_failed_has_as_many_bytes_as_one_that_was_done() {
    let mut connection = greeted(ALL, ALL);
    let request = ask(&mut connection, Flags::NONE, read(16));
    connection.respond(request, 6, Answer::Failed(ResponseCode::AddressError)).unwrap();
    let Body::Transaction(Transaction::Read(access)) = sent(&mut connection).unwrap().body else { panic!() };
    assert_eq!((access.attributes.code(), &access.data[..]), (ResponseCode::AddressError, &[0; 16][..]));
}

#[test]
fn a_response_repeats_the_id_and_the_flags_of_its_request_and_no_attribute() {
    let mut connection = greeted(ALL, ALL);
    let mut access = Access::write(5, 0x40, &b"abcd"[..]);
    access.attributes = Attributes::SECURE.union(Attributes::END_OF_PACKET);
    access.attributes = access.attributes.with_layout(Layout::Extended);
    access.master = 0xabcd_1234;
    let request = ask(&mut connection, Flags::OPTIONAL, Transaction::Write(access.clone()));
    connection.respond(request, 6, Answer::Done).unwrap();
    let packet = sent(&mut connection).unwrap();
    assert_eq!((packet.id, packet.channel), (77, 9));
    assert_eq!(packet.flags, Flags::OPTIONAL.union(Flags::RESPONSE));
    let expected =
        Access { time: 6, attributes: Attributes::EXTENDED, data: Bytes::new(), master: 0x1234, ..access };
    assert_eq!(packet.body, Body::Transaction(Transaction::Write(expected)));
}

#[test]
fn translations_are_asked_of_who_announced_them() {
    let with_ats = ALL.union(Capabilities::ATS);
    let mut host = greeted(with_ats, ALL);
    assert!(matches!(host.request(21, Transaction::AtsRequest(ATS)), Err(SendError::NotAnnounced { .. })));
    let request = ask(&mut host, Flags::NONE, Transaction::AtsRequest(ATS));
    let answer = Answer::Translated { rights: 2, address: 0x8000_2000, length: 0x1000 };
    host.respond(request, 6, answer).unwrap();
    let request = ask(&mut host, Flags::NONE, Transaction::AtsRequest(ATS));
    host.respond(request, 6, Answer::Failed(ResponseCode::Error)).unwrap();
    let results = [sent(&mut host), sent(&mut host)].map(|packet| match packet.unwrap().body {
        Body::Transaction(Transaction::AtsRequest(ats)) => (ats.result, ats.address),
        other => panic!("{other:?}"),
    });
    assert_eq!(results, [(0, 0x8000_2000), (1, 0x1000)]);

    // The answer is another address, and the time is of no account.
    let mut device = greeted(ALL, with_ats);
    let id = device.request(21, Transaction::AtsRequest(ATS)).unwrap();
    let answer = Transaction::AtsRequest(Ats { time: i64::MIN, address: 0x8000_2000, length: 0x1000, ..ATS });
    let event = device.receive(&mut encode(id.id, Flags::RESPONSE, 21, Body::Transaction(answer.clone())));
    assert_eq!(event, Ok(Some(Event::Response { id, response: answer })));
}

#[test]
fn what_would_break_a_rule_is_not_sent() {
    let mut connection = greeted(ALL, ALL);
    let malformed = |sent: Result<RequestId, SendError>| match sent {
        Err(SendError::Malformed(malformed)) => malformed.rule,
        other => panic!("{other:?}"),
    };
    let mut inner = Access::write(5, 0x40, &b"abcd"[..]);
    inner.length = 3;
    assert_eq!(malformed(connection.request(9, Transaction::Write(inner))), Rule::SurplusBytes);
    assert_eq!(malformed(connection.request(9, read((1 << 20) + 1))), Rule::AccessTooLong);
    assert_eq!(malformed(connection.request(9, read(0))), Rule::StreamWidth);
    let request = ask(&mut connection, Flags::NONE, read(4));
    assert!(matches!(connection.respond(request, 6, Answer::Data(b"abc")), Err(SendError::Malformed(_))));
    let request = ask(&mut connection, Flags::NONE, read(4));
    assert!(matches!(connection.respond(request, 6, Answer::Done), Err(SendError::WrongAnswer { .. })));
    assert_eq!((connection.output().len(), connection.in_flight()), (0, 0));

    let mut connection = greeted(ALL, Capabilities::NONE);
    let wide = Transaction::Read(Access { master: 0xffff, ..Access::read(5, 0x40, 4) });
    assert_eq!(connection.request(9, wide), Err(SendError::MasterId { master: 0xffff }));
}

#[test]
fn a_peer_that_asks_without_reading_is_noticed() {
    let mut connection = greeted(ALL, ALL);
    for _ in 0..2 {
        assert!(!connection.is_backlogged());
        let request = ask(&mut connection, Flags::NONE, read(1 << 20));
        connection.respond(request, 6, Answer::Failed(ResponseCode::Error)).unwrap();
    }
    assert!(connection.is_backlogged());
}

#[test]
fn what_came_before_a_broken_rule_can_be_answered_and_nothing_more_be_asked() {
    let (mut near, mut far) = (greeted(ALL, ALL), greeted(ALL, ALL));
    let asked = near.request(9, read(4)).unwrap();
    let mut wire = near.output().split();
    wire.extend_from_slice(&[0xff; HEADER]);
    let Some(Event::Request(request)) = far.receive(&mut wire).unwrap() else { panic!() };
    far.receive(&mut wire).unwrap_err();
    assert_eq!(far.request(9, read(4)), Err(SendError::Over));
    far.respond(request, 1, Answer::Data(&[1, 2, 3, 4])).unwrap();
    let answer = near.receive(&mut far.output().split()).unwrap();
    assert!(matches!(answer, Some(Event::Response { id, .. }) if id == asked), "{answer:?}");
}
