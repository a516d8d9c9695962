//! Promises of Remote-Port that hold for every packet and for every way a stream is cut.

use crate::common::cases;
use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use vp_protocols::remote_port::*;

/// An access as a request or a response of that command has it.
fn access(has_data: bool) -> impl Strategy<Value = Access> {
    let numbers = (any::<i64>(), any::<u64>(), any::<u64>(), any::<u64>());
    (numbers, vec(any::<u8>(), 0..80), 1u32.., vec(any::<u8>(), 0..20)).prop_map(
        move |((time, attributes, address, master), data, stream_width, byte_enables)| {
            let attributes = Attributes::from_bits_retain(attributes);
            let is_extended = attributes.contains(Attributes::EXTENDED);
            Access {
                time,
                attributes,
                address,
                length: data.len() as u32,
                stream_width,
                master: if is_extended { master } else { master & 0xffff },
                data: if has_data { data.into() } else { Bytes::new() },
                byte_enables: if is_extended { byte_enables.into() } else { Bytes::new() },
            }
        },
    )
}

fn transaction(is_response: bool) -> impl Strategy<Value = Transaction> {
    let ats = || {
        (any::<i64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>())
            .prop_map(|(time, rights, address, length, result)| Ats { time, rights, address, length, result })
    };
    prop_oneof![
        access(is_response).prop_map(Transaction::Read),
        access(!is_response).prop_map(Transaction::Write),
        (any::<i64>(), any::<u64>(), any::<u32>(), any::<bool>()).prop_map(|(time, vector, line, level)| {
            Transaction::Interrupt(Interrupt { time, vector, line, level })
        }),
        any::<i64>().prop_map(|time| Transaction::Sync { time }),
        ats().prop_map(Transaction::AtsRequest),
        ats().prop_map(Transaction::AtsInvalidate),
    ]
}

fn packet() -> impl Strategy<Value = Packet> {
    let hello = (any::<u16>(), any::<u16>(), option::of(vec(any::<u32>(), 0..9)))
        .prop_map(|(major, minor, capabilities)| Body::Hello(Hello { major, minor, capabilities }));
    let plain = prop_oneof![
        Just(Body::Nop),
        hello,
        (any::<u32>(), any::<u8>()).prop_map(|(option, value)| Body::Cfg(Cfg { option, value })),
    ];
    let body = prop_oneof![
        1 => (plain, any::<u32>()),
        3 => (transaction(false).prop_map(Body::Transaction), any::<u32>().prop_map(|bits| bits & !2)),
        3 => (transaction(true).prop_map(Body::Transaction), any::<u32>().prop_map(|bits| bits | 2)),
    ];
    (any::<u32>(), any::<u32>(), body).prop_map(|(id, channel, (body, flags))| Packet {
        id,
        flags: Flags::from_bits_retain(flags),
        channel,
        body,
    })
}

fn image(packet: &Packet) -> BytesMut {
    let mut out = BytesMut::new();
    packet.encode(&mut out).expect("a generated packet can be sent");
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(4096)) })]

    #[test]
    fn decoding_undoes_encoding(packet in packet()) {
        let mut bytes = image(&packet);
        prop_assert_eq!(Packet::decode(&mut bytes), Ok(Some(packet)));
        prop_assert!(bytes.is_empty());
    }

    #[test]
    fn packets_are_the_same_however_the_stream_is_cut(
        sent in vec(packet(), 1..6),
        cuts in vec(1..40usize, 1..20),
    ) {
        let stream: Vec<u8> = sent.iter().flat_map(|packet| image(packet).to_vec()).collect();
        let (mut input, mut came, mut rest) = (BytesMut::new(), Vec::new(), &stream[..]);
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*cut));
            input.extend_from_slice(now);
            rest = later;
            while let Some(packet) = Packet::decode(&mut input).unwrap() {
                came.push(packet);
            }
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(came, sent);
        prop_assert!(input.is_empty());
    }

    #[test]
    fn a_packet_cut_short_asks_for_more(packet in packet(), cut in any::<prop::sample::Index>()) {
        let whole = image(&packet);
        let mut part = BytesMut::from(&whole[..cut.index(whole.len())]);
        let before = part.clone();
        prop_assert_eq!(Packet::decode(&mut part), Ok(None));
        prop_assert_eq!(&part, &before);
        // What is lacking is known as soon as the header is there.
        let expected = if part.len() < HEADER { 0 } else { whole.len() - part.len() };
        prop_assert_eq!(lacking(&part), expected);
        prop_assert_eq!(lacking(&whole), 0);
    }

    #[test]
    fn what_one_connection_asks_another_answers(
        asked in vec((0u32..3, transaction(false), any::<bool>()), 1..80),
        fails in vec(any::<bool>(), 1..9),
    ) {
        let all = Capabilities::PLATFORM.union(Capabilities::ATS);
        let (mut here, mut there) = (Connection::new(all), Connection::new(all));
        here.receive(&mut there.output().split()).unwrap();
        there.receive(&mut here.output().split()).unwrap();
        let mut waiting = Vec::new();
        let mut sent = 0;
        for (channel, transaction, is_posted) in asked {
            let result = match is_posted {
                true => here.post(channel, transaction.clone()).map(|()| sent += 1),
                false => here.request(channel, transaction.clone()).map(|id| {
                    sent += 1;
                    waiting.push((id, transaction.command()));
                }),
            };
            match result {
                Ok(()) => {}
                Err(SendError::NotPostable { .. }) => prop_assert!(is_posted),
                Err(SendError::TooManyInFlight { .. }) => prop_assert!(waiting.len() >= MAX_IN_FLIGHT),
                // An access of no bytes.
                Err(SendError::Malformed(malformed)) => prop_assert_eq!(malformed.rule, Rule::StreamWidth),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
        prop_assert_eq!(here.in_flight(), waiting.len());

        let mut wire = here.output().split();
        for fail in fails.iter().cycle() {
            let Some(event) = there.receive(&mut wire).unwrap() else { break };
            let Event::Request(request) = event else { panic!("{event:?}") };
            sent -= 1;
            let zeros = vec![7; match &request.transaction {
                Transaction::Read(access) => access.length as usize,
                _ => 0,
            }];
            let answer = match (&request.transaction, fail) {
                (Transaction::Read(_), false) => Answer::Data(&zeros),
                (Transaction::AtsRequest(_), false) => Answer::Translated { rights: 1, address: 2, length: 3 },
                (Transaction::Read(_) | Transaction::Write(_) | Transaction::AtsRequest(_), true) => {
                    Answer::Failed(ResponseCode::AddressError)
                }
                _ => Answer::Done,
            };
            there.respond(request, 5, answer).unwrap();
        }
        prop_assert_eq!(sent, 0);
        let mut wire = there.output().split();
        for (id, command) in waiting {
            let event = here.receive(&mut wire).unwrap();
            let Some(Event::Response { id: answered, response }) = event else { panic!("{event:?}") };
            prop_assert_eq!((answered, response.command()), (id, command));
        }
        prop_assert_eq!((here.in_flight(), wire.len()), (0, 0));
    }
}
