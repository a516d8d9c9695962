use super::*;
use crate::native::{
    AccessKind, MAX_TEXT, MemoryRead, MemoryWrite, PortEvent, PortId, Reaction, RegisterRead, RegisterWrite,
    Until, WarningMarks,
};

const PORT: PortId = PortId(0);

fn hello() -> Hello {
    Connection::hello("client", None, TimeMode::Lockstep)
}

fn greet(hello: Hello, terms: Terms) -> (Connection, Connection) {
    let mut client = Connection::client(hello).unwrap();
    let mut server = Connection::server(terms);
    assert!(matches!(pass(&mut client, &mut server), Ok(Some(Event::Hello(_)))));
    server.accept(Offer::default()).unwrap();
    assert!(matches!(pass(&mut server, &mut client), Ok(Some(Event::Welcome(_)))));
    (client, server)
}

fn open() -> (Connection, Connection) {
    greet(hello(), Terms::default())
}

/// Carries what waits at one side to the other, and gives the first event there.
fn pass(from: &mut Connection, to: &mut Connection) -> Result<Option<Event>, Violation> {
    to.receive(&mut from.output().split())
}

/// Puts a message on the wire that a connection would not send.
fn force(to: &mut Connection, message: &Message, payload: &[u8]) -> Result<Option<Event>, Violation> {
    let mut wire = BytesMut::new();
    emit(message, payload, &mut wire).unwrap();
    to.receive(&mut wire)
}

fn register_read() -> Request {
    Request::RegisterRead(RegisterRead { port: PORT, address: 0, at: None })
}

fn memory_read(length: u32) -> Request {
    let (access, axi_id) = (AccessKind::Timed, 0);
    Request::MemoryRead(MemoryRead { port: PORT, address: 0, length, access, axi_id, at: None })
}

fn memory_write(length: u32, strobes: bool) -> MemoryWrite {
    MemoryWrite { port: PORT, address: 0, length, access: AccessKind::Timed, axi_id: 0, strobes, at: None }
}

fn breach(breach: Breach) -> Result<Option<Event>, Violation> {
    Err(Violation::Breach(breach))
}

#[test]
fn both_sides_work_with_the_smaller_limits_and_the_common_capabilities() {
    let hello = Hello { max_payload: 64 << 10, capabilities: Capabilities::STROBES, ..hello() };
    let (client, server) = greet(hello, Terms { max_in_flight: 3, ..Terms::default() });
    for side in [client, server] {
        assert_eq!(side.max_payload(), 64 << 10);
        assert_eq!(side.capabilities(), Capabilities::STROBES);
        assert_eq!(side.session().unwrap().asked.has_room(), Ok(()));
    }
}

#[test]
fn no_wish_goes_beyond_the_hard_limits() {
    let hello = Hello { max_payload: u32::MAX, max_in_flight: u32::MAX, ..hello() };
    let terms = Terms { max_payload: u32::MAX, max_in_flight: u32::MAX, ..Terms::default() };
    let (client, _) = greet(hello, terms);
    assert_eq!(client.max_payload(), HARD_MAX_PAYLOAD);
}

#[test]
fn refuses_a_client_of_other_versions_and_tells_it_so() {
    let mut client = Connection::client(Hello { version_min: 2, version_max: 3, ..hello() }).unwrap();
    let mut server = Connection::server(Terms::default());
    assert_eq!(pass(&mut client, &mut server), Err(Violation::Version { min: 2, max: 3 }));
    let event = pass(&mut server, &mut client);
    assert!(matches!(event, Ok(Some(Event::Refused(Refused { code: ErrorCode::UnsupportedVersion, .. })))));
    assert!(server.is_closed() && client.is_closed());
}

#[test]
fn speaks_with_a_client_of_newer_versions_that_still_knows_ours() {
    greet(Hello { version_max: 9, ..hello() }, Terms::default());
}

#[test]
fn refuses_limits_that_cannot_be_worked_with() {
    for hello in [Hello { max_payload: 100, ..hello() }, Hello { max_in_flight: 0, ..hello() }] {
        let mut client = Connection::client(hello).unwrap();
        let mut server = Connection::server(Terms::default());
        let refused = pass(&mut client, &mut server);
        assert!(matches!(refused, Err(Violation::Limit { .. })), "{refused:?}");
    }
}

#[test]
fn a_client_refuses_a_welcome_beyond_what_it_offered() {
    let mut client = Connection::client(hello()).unwrap();
    let mut generous = Connection::server(Terms::default());
    pass(&mut client, &mut generous).unwrap();
    let fine = generous.accept(Offer::default()).unwrap();
    let too_much = Welcome { max_payload: DEFAULT_MAX_PAYLOAD + 1, ..fine };
    let refused = force(&mut client, &Message::Welcome(Box::new(too_much)), &[]);
    assert!(matches!(refused, Err(Violation::Limit { field: "max_payload", .. })), "{refused:?}");
}

#[test]
fn requests_sent_right_behind_the_hello_wait_for_the_welcome() {
    let mut client = Connection::client(hello()).unwrap();
    let mut server = Connection::server(Terms::default());
    let mut wire = client.output().split();
    emit(&Message::Request { id: RequestId(5), request: Request::Ping }, &[], &mut wire).unwrap();
    assert!(matches!(server.receive(&mut wire), Ok(Some(Event::Hello(_)))));
    assert_eq!(server.receive(&mut wire), Ok(None));
    server.accept(Offer::default()).unwrap();
    let event = server.receive(&mut wire);
    assert!(matches!(event, Ok(Some(Event::Request { id: RequestId(5), request: Request::Ping, .. }))));
}

#[test]
fn each_direction_has_its_own_ids() {
    let (mut client, mut server) = open();
    let asked = client.request(Request::Ping, &[]).unwrap();
    let asked_back = server.request(Request::Ping, &[]).unwrap();
    assert_eq!(asked, asked_back);
    pass(&mut client, &mut server).unwrap();
    pass(&mut server, &mut client).unwrap();
    client.reply(asked_back, Time::ZERO, Reply::Pong, &[]).unwrap();
    server.reply(asked, Time::ZERO, Reply::Pong, &[]).unwrap();
    assert!(matches!(pass(&mut client, &mut server), Ok(Some(Event::Reply { .. }))));
    assert!(matches!(pass(&mut server, &mut client), Ok(Some(Event::Reply { .. }))));
    assert_eq!((client.in_flight(), client.to_answer(), server.to_answer()), (0, 0, 0));
}

#[test]
fn ids_still_in_flight_are_skipped_when_numbers_wrap() {
    let (mut client, _) = open();
    let first = client.request(Request::Ping, &[]).unwrap();
    let ConnectionState::Open(session) = &mut client.state else { panic!() };
    session.next_id = first.0;
    assert_ne!(client.request(Request::Ping, &[]).unwrap(), first);
}

#[test]
fn a_full_window_is_back_pressure_for_the_sender_and_a_violation_for_the_receiver() {
    let (mut client, mut server) = greet(hello(), Terms { max_in_flight: 2, ..Terms::default() });
    let full = Breach::TooManyInFlight { limit: 2 };
    let first = client.request(Request::Ping, &[]).unwrap();
    client.request(Request::Ping, &[]).unwrap();
    assert_eq!(client.request(Request::Ping, &[]), Err(SendError::Breach(full)));

    let mut wire = client.output().split();
    server.receive(&mut wire).unwrap();
    server.receive(&mut wire).unwrap();
    server.reply(first, Time::ZERO, Reply::Pong, &[]).unwrap();
    pass(&mut server, &mut client).unwrap();
    client.request(Request::Ping, &[]).unwrap();
    pass(&mut client, &mut server).unwrap();

    let third = Message::Request { id: RequestId(77), request: Request::Ping };
    assert_eq!(force(&mut server, &third, &[]), breach(full));
}

#[test]
fn posted_writes_are_not_counted_and_not_answered() {
    let (mut client, mut server) = greet(hello(), Terms { max_in_flight: 1, ..Terms::default() });
    client.request(Request::Ping, &[]).unwrap();
    let write = RegisterWrite { port: PORT, address: 4, value: 1, at: None };
    client.post(Posted::RegisterWrite(write), &[]).unwrap();
    client.post(Posted::MemoryWrite(memory_write(2, false)), &[1, 2]).unwrap();
    let mut wire = client.output().split();
    server.receive(&mut wire).unwrap();
    assert!(matches!(server.receive(&mut wire), Ok(Some(Event::Posted { .. }))));
    assert!(
        matches!(server.receive(&mut wire), Ok(Some(Event::Posted { payload, .. })) if payload[..] == [1, 2])
    );
    assert_eq!(server.to_answer(), 1);
}

#[test]
fn refuses_an_id_that_is_in_flight() {
    let (_, mut server) = open();
    let ping = Message::Request { id: RequestId(1), request: Request::Ping };
    force(&mut server, &ping, &[]).unwrap();
    assert_eq!(force(&mut server, &ping, &[]), breach(Breach::DuplicateId { id: RequestId(1) }));
}

#[test]
fn refuses_a_reply_that_nobody_waits_for() {
    let (mut client, mut server) = open();
    let id = RequestId(9);
    let nobody = Breach::UnknownId { id };
    assert_eq!(server.reply(id, Time::ZERO, Reply::Done, &[]), Err(SendError::Breach(nobody)));
    let reply = Message::Reply { id, time: Time::ZERO, reply: Reply::Done };
    assert_eq!(force(&mut client, &reply, &[]), breach(nobody));
}

#[test]
fn refuses_a_reply_of_the_wrong_kind_or_length() {
    let (mut client, mut server) = open();
    let id = client.request(memory_read(4), &[]).unwrap();
    pass(&mut client, &mut server).unwrap();
    let kind = Breach::WrongReply { id, request: "MemoryRead", reply: "Done" };
    assert_eq!(server.reply(id, Time::ZERO, Reply::Done, &[]), Err(SendError::Breach(kind)));
    let length = Breach::WrongLength { id, length: 3, asked: 4 };
    assert_eq!(server.reply(id, Time::ZERO, Reply::Data, &[0; 3]), Err(SendError::Breach(length)));
    server.reply(id, Time::ZERO, Reply::Data, &[0; 4]).unwrap();
    let short = Message::Reply { id, time: Time::ZERO, reply: Reply::Data };
    assert_eq!(force(&mut client, &short, &[0; 3]), breach(length));
}

#[test]
fn register_replies_of_a_port_come_in_request_order_and_others_as_they_like() {
    let (mut client, mut server) = open();
    let first = client.request(register_read(), &[]).unwrap();
    let second = client.request(register_read(), &[]).unwrap();
    let memory = client.request(memory_read(1), &[]).unwrap();
    let mut wire = client.output().split();
    while server.receive(&mut wire).unwrap().is_some() {}

    let value = |value| Reply::Value { value };
    let order = Breach::OutOfOrder { id: second, first, port: PORT };
    server.reply(memory, Time::ps(1), Reply::Data, &[0]).unwrap();
    assert_eq!(server.reply(second, Time::ps(1), value(2), &[]), Err(SendError::Breach(order)));
    server.reply(first, Time::ps(1), value(1), &[]).unwrap();
    server.reply(second, Time::ps(2), value(2), &[]).unwrap();

    let mut wire = server.output().split();
    assert!(matches!(client.receive(&mut wire), Ok(Some(Event::Reply { id, .. })) if id == memory));
    let early = Message::Reply { id: second, time: Time::ps(1), reply: value(2) };
    assert_eq!(force(&mut client, &early, &[]), breach(order));
}

#[test]
fn any_request_may_fail() {
    let (mut client, mut server) = open();
    let id = client.request(Request::Advance { until: Until::Idle }, &[]).unwrap();
    pass(&mut client, &mut server).unwrap();
    let failed = Reply::Failed { code: ErrorCode::WrongTimeMode, reason: "the platform runs free".into() };
    server.reply(id, Time::ZERO, failed.clone(), &[]).unwrap();
    assert!(
        matches!(pass(&mut server, &mut client), Ok(Some(Event::Reply { reply, .. })) if reply == failed)
    );
}

#[test]
fn only_clients_command_time() {
    let (mut client, mut server) = open();
    let advance = Request::Advance { until: Until::Idle };
    assert!(matches!(server.request(advance.clone(), &[]), Err(SendError::WrongSide { .. })));
    let message = Message::Request { id: RequestId(0), request: advance };
    assert!(matches!(force(&mut client, &message, &[]), Err(Violation::Unexpected { .. })));
}

#[test]
fn strobes_need_the_capability() {
    let bare = Hello { capabilities: Capabilities::NONE, ..hello() };
    let (mut client, mut server) = greet(bare, Terms::default());
    let write = Request::MemoryWrite(memory_write(1, true));
    let refused = client.request(write.clone(), &[5, 1]);
    assert_eq!(refused, Err(SendError::NotGranted { message: "MemoryWrite" }));
    let message = Message::Request { id: RequestId(0), request: write };
    assert!(matches!(force(&mut server, &message, &[5, 1]), Err(Violation::NotGranted { .. })));
}

#[test]
fn warnings_are_left_out_when_not_wanted() {
    let bare = Hello { capabilities: Capabilities::NONE, ..hello() };
    let (_, mut server) = greet(bare, Terms::default());
    server.output().split();
    server.notify(Notice::Warning { time: Time::ZERO, text: "careful".into() }).unwrap();
    server.notify(marked_warning()).unwrap();
    assert!(server.output().is_empty());
}

fn marked_warning() -> Notice {
    Notice::MarkedWarning { time: Time::ps(3), marks: WarningMarks::LACKING, text: "careful".into() }
}

#[test]
fn marks_come_with_a_warning_if_both_sides_know_them_and_else_the_warning_alone() {
    let with_marks = Capabilities::WARNINGS.union(Capabilities::WARNING_MARKS);
    let plain = Notice::Warning { time: Time::ps(3), text: "careful".into() };
    for (capabilities, expected) in [(with_marks, marked_warning()), (Capabilities::WARNINGS, plain)] {
        let (mut client, mut server) = greet(Hello { capabilities, ..hello() }, Terms::default());
        server.notify(marked_warning()).unwrap();
        assert_eq!(pass(&mut server, &mut client), Ok(Some(Event::Notice(expected))));
    }
}

#[test]
fn a_marked_warning_needs_both_capabilities_and_comes_from_a_server() {
    for capabilities in [Capabilities::WARNINGS, Capabilities::WARNING_MARKS] {
        let (mut client, _) = greet(Hello { capabilities, ..hello() }, Terms::default());
        let violation = force(&mut client, &Message::Notice(marked_warning()), &[]).unwrap_err();
        assert_eq!(violation, Violation::NotGranted { message: "MarkedWarning" });
    }
    let (mut client, mut server) = open();
    assert!(matches!(client.notify(marked_warning()), Err(SendError::WrongSide { .. })));
    let violation = force(&mut server, &Message::Notice(marked_warning()), &[]).unwrap_err();
    assert!(matches!(violation, Violation::Unexpected { message: "MarkedWarning", .. }), "{violation}");
}

#[test]
fn a_payload_beyond_the_agreed_limit_is_not_sent() {
    let (mut client, _) = greet(Hello { max_payload: 8 << 10, ..hello() }, Terms::default());
    let length = (8 << 10) + 1;
    let refused =
        client.request(Request::MemoryWrite(memory_write(length, false)), &vec![0; length as usize]);
    assert!(matches!(refused, Err(SendError::Emit(_))));
    assert!(matches!(client.request(memory_read(length), &[]), Err(SendError::Emit(_))));
    assert_eq!((client.in_flight(), client.output().len()), (0, 0));
}

#[test]
fn a_peer_that_asks_without_reading_is_backlogged_until_it_has_read() {
    let (mut client, mut server) = greet(Hello { max_payload: 8 << 10, ..hello() }, Terms::default());
    for _ in 0..2 {
        assert!(!server.is_backlogged());
        let id = client.request(memory_read(8 << 10), &[]).unwrap();
        pass(&mut client, &mut server).unwrap();
        server.reply(id, Time::ZERO, Reply::Data, &[0; 8 << 10]).unwrap();
        assert!(server.is_backlogged());
        pass(&mut server, &mut client).unwrap();
    }
}

#[test]
fn long_reasons_are_cut_between_characters() {
    let (mut client, mut server) = open();
    server.bye(Some(ErrorCode::Internal), "ü".repeat(MAX_TEXT));
    let Ok(Some(Event::Bye(bye))) = pass(&mut server, &mut client) else { panic!() };
    assert!(bye.reason.len() <= MAX_TEXT && bye.reason.ends_with("ü…"));
}

#[test]
fn after_bye_nothing_is_sent_and_nothing_is_heard() {
    let (mut client, mut server) = open();
    server.request(Request::Ping, &[]).unwrap();
    client.bye(None, "done");
    assert_eq!(pass(&mut server, &mut client), Ok(None));
    assert!(matches!(client.request(Request::Ping, &[]), Err(SendError::NotNow { .. })));
    assert!(matches!(pass(&mut client, &mut server), Ok(Some(Event::Bye(Bye { code: None, .. })))));
    assert!(server.is_closed());
}

#[test]
fn a_stranger_is_turned_away_with_the_rule_it_broke() {
    let mut server = Connection::server(Terms::default());
    let refused = server.receive(&mut BytesMut::from(&b"GET / HTTP/1.1\r\n"[..]));
    assert!(matches!(refused, Err(Violation::Malformed(_))));
    let told = Decoder::new(Phase::Welcome).decode(&mut server.output().split()).unwrap().unwrap().message;
    assert!(matches!(told, Message::Refused(Refused { code: ErrorCode::Malformed, .. })));
}

#[test]
fn who_is_not_granted_partners_neither_sends_nor_takes_what_is_theirs() {
    let capabilities = Capabilities::ALL.difference(Capabilities::PARTNERS);
    let clock = Request::Clock { reaction: Reaction::NextEdge, quantum: 0 };
    let driven = Driven { port: PORT, at: Time::ZERO, event: PortEvent::Level { level: true } };
    let promised = Promised { heard: 0, next: None };
    let (mut client, _) = greet(Hello { capabilities, ..hello() }, Terms::default());
    let refused = |message| SendError::NotGranted { message };
    assert_eq!(client.request(clock.clone(), &[]), Err(refused("Clock")));
    assert_eq!(client.drive(driven, &[]), Err(refused("Driven")));
    assert_eq!(client.promise(promised), Err(refused("Promised")));
    let messages = [
        Message::Request { id: RequestId(0), request: clock },
        Message::Driven(driven),
        Message::Promised(promised),
    ];
    for message in messages {
        let (_, mut server) = greet(Hello { capabilities, ..hello() }, Terms::default());
        let came = force(&mut server, &message, &[]);
        assert_eq!(came, Err(Violation::NotGranted { message: message.name() }));
    }
}

#[test]
fn before_authentication_a_frame_that_announces_a_long_payload_is_refused_by_its_prefix() {
    let both = Capabilities::ALL.union(Capabilities::AUTHENTICATION);
    let asking = || {
        let terms = Terms { capabilities: both, ..Terms::default() };
        greet(Hello { capabilities: both, ..hello() }, terms)
    };
    let too_long =
        FrameRule::PayloadTooLong { length: u64::from(DEFAULT_MAX_PAYLOAD), limit: MIN_MAX_PAYLOAD };
    let long = Message::Posted(Posted::MemoryWrite(memory_write(DEFAULT_MAX_PAYLOAD, false)));
    let mut prefix = BytesMut::new();
    emit_header(&long, DEFAULT_MAX_PAYLOAD as usize, &mut prefix).unwrap();
    prefix.truncate(8);

    let (_, mut server) = asking();
    let refused = server.receive(&mut prefix.clone());
    assert_eq!(refused, Err(Violation::Malformed(Malformed { offset: 4, rule: too_long })));
    assert!(server.is_closed());

    // One that only asks for as many bytes is answered, as are all that come before Authenticate.
    let (mut client, mut server) = asking();
    client.request(memory_read(DEFAULT_MAX_PAYLOAD), &[]).unwrap();
    assert!(matches!(pass(&mut client, &mut server), Ok(Some(Event::Request { .. }))));
    // A client that is let in may send as much as was agreed.
    server.let_in();
    assert!(server.lacking(&prefix) > DEFAULT_MAX_PAYLOAD as usize);
    assert_eq!(server.receive(&mut prefix), Ok(None));
}
