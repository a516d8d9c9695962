//! Promises of the native protocol that hold for every message and for every byte string.

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use vp_protocols::native::*;

const SESSION: Phase = Phase::Session { max_payload: DEFAULT_MAX_PAYLOAD };

fn text(longest: usize) -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..=longest).prop_map(|chars| chars.into_iter().collect())
}

fn time() -> impl Strategy<Value = Time> {
    any::<u64>().prop_map(Time::ps)
}

fn port() -> impl Strategy<Value = PortId> {
    any::<u16>().prop_map(PortId)
}

fn code() -> impl Strategy<Value = ErrorCode> {
    prop_oneof![0..100u16, any::<u16>()].prop_map(ErrorCode::from)
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Initiator), Just(Role::Target), Just(Role::Source), Just(Role::Sink)]
}

fn access() -> impl Strategy<Value = AccessKind> {
    prop_oneof![Just(AccessKind::Timed), Just(AccessKind::Debug)]
}

fn time_mode() -> impl Strategy<Value = TimeMode> {
    prop_oneof![
        Just(TimeMode::Free),
        Just(TimeMode::Lockstep),
        any::<u64>().prop_map(|picoseconds_per_nanosecond| TimeMode::Paced { picoseconds_per_nanosecond }),
    ]
}

fn hello() -> impl Strategy<Value = Hello> {
    let numbers = (any::<u16>(), any::<u16>(), any::<u64>(), any::<u32>(), any::<u32>());
    (numbers, text(16), option::of(text(16)), time_mode()).prop_map(
        |(
            (version_min, version_max, capabilities, max_payload, max_in_flight),
            agent,
            platform,
            time_mode,
        )| {
            Hello {
                magic: Magic,
                version_min,
                version_max,
                agent,
                capabilities: Capabilities::from_bits_retain(capabilities),
                max_payload,
                max_in_flight,
                platform,
                time_mode,
            }
        },
    )
}

fn listed_port() -> impl Strategy<Value = Port> {
    let kind = prop_oneof![Just(PortKind::Csb), Just(PortKind::Irq), Just(PortKind::Axi)];
    (text(16), kind, any::<u8>(), any::<u64>(), any::<u64>(), any::<u16>()).prop_map(
        |(name, kind, roles, base, size, width)| Port {
            name,
            kind,
            roles: Roles::from_bits(roles),
            base,
            size,
            width,
        },
    )
}

fn welcome() -> impl Strategy<Value = Welcome> {
    let device = (text(16), vec(text(16), 0..3), option::of(text(16)));
    let device =
        device.prop_map(|(kind, compatible, register_map)| Device { kind, compatible, register_map });
    (hello(), vec(listed_port(), 0..8), time(), any::<u64>(), any::<u64>(), option::of(device)).prop_map(
        |(hello, ports, time, session, time_resolution, device)| Welcome {
            version: hello.version_min,
            agent: hello.agent,
            capabilities: match device {
                Some(_) => hello.capabilities.union(Capabilities::DEVICE),
                None => hello.capabilities.difference(Capabilities::DEVICE),
            },
            max_payload: hello.max_payload,
            max_in_flight: hello.max_in_flight,
            time_mode: hello.time_mode,
            time_resolution,
            time,
            platform: hello.platform.unwrap_or_default(),
            session: SessionId(session),
            ports,
            device,
        },
    )
}

fn register_read() -> impl Strategy<Value = RegisterRead> {
    (port(), any::<u64>(), option::of(time())).prop_map(|(port, address, at)| RegisterRead {
        port,
        address,
        at,
    })
}

fn register_write() -> impl Strategy<Value = RegisterWrite> {
    (register_read(), any::<u32>()).prop_map(|(RegisterRead { port, address, at }, value)| RegisterWrite {
        port,
        address,
        value,
        at,
    })
}

fn memory_read(longest: u32) -> impl Strategy<Value = MemoryRead> {
    (register_read(), 1..=longest, access(), any::<u16>()).prop_map(
        |(RegisterRead { port, address, at }, length, access, axi_id)| MemoryRead {
            port,
            address,
            length,
            access,
            axi_id,
            at,
        },
    )
}

/// A write and its payload.
fn memory_write() -> impl Strategy<Value = (MemoryWrite, Vec<u8>)> {
    (memory_read(200), any::<bool>(), any::<u8>()).prop_map(|(read, strobes, fill)| {
        let MemoryRead { port, address, length, access, axi_id, at } = read;
        let write = MemoryWrite { port, address, length, access, axi_id, strobes, at };
        let mut payload = vec![fill; write.payload_length() as usize];
        if strobes && length % 8 != 0 {
            *payload.last_mut().unwrap() &= (1 << (length % 8)) - 1;
        }
        (write, payload)
    })
}

fn share_memory() -> impl Strategy<Value = ShareMemory> {
    let region = (any::<u64>(), any::<u64>(), any::<u8>(), any::<u64>())
        .prop_map(|(base, size, file, offset)| SharedRegion { base, size, file, offset });
    (port(), any::<u8>(), vec(region, 0..8)).prop_map(|(port, files, regions)| ShareMemory {
        port,
        files,
        regions,
    })
}

fn request() -> impl Strategy<Value = (Request, Vec<u8>)> {
    let range = (any::<u64>(), any::<u64>()).prop_map(|(base, size)| Range { base, size });
    let until = prop_oneof![
        time().prop_map(Until::Time),
        (port(), option::of(time())).prop_map(|(port, limit)| Until::Interrupt { port, limit }),
        Just(Until::Idle),
    ];
    prop_oneof![
        (port(), role(), option::of(range))
            .prop_map(|(port, role, range)| (Request::Attach(Attach { port, role, range }), vec![])),
        port().prop_map(|port| (Request::Detach { port }, vec![])),
        register_read().prop_map(|read| (Request::RegisterRead(read), vec![])),
        register_write().prop_map(|write| (Request::RegisterWrite(write), vec![])),
        memory_read(DEFAULT_MAX_PAYLOAD).prop_map(|read| (Request::MemoryRead(read), vec![])),
        memory_write().prop_map(|(write, payload)| (Request::MemoryWrite(write), payload)),
        until.prop_map(|until| (Request::Advance { until }, vec![])),
        Just((Request::Reset, vec![])),
        Just((Request::Status, vec![])),
        (text(32), any::<u32>()).prop_map(|(prefix, first)| (Request::Statistics { prefix, first }, vec![])),
        Just((Request::Ping, vec![])),
        share_memory().prop_map(|share| (Request::ShareMemory(share), vec![])),
        (port(), port()).prop_map(|(port, line)| (Request::OpenRing(OpenRing { port, line }), vec![])),
        time().prop_map(|to| (Request::Step { to }, vec![])),
        (reaction(), any::<u32>())
            .prop_map(|(reaction, quantum)| (Request::Clock { reaction, quantum }, vec![])),
        text(16).prop_map(|token| (Request::Authenticate { token: Token::new(token) }, vec![])),
        any::<u32>().prop_map(|first| (Request::Inspect { first }, vec![])),
        (port(), any::<u64>(), 1..=MAX_PEEKED, option::of(any::<u8>())).prop_map(
            |(port, address, count, group)| (
                Request::RegisterPeek(RegisterPeek { port, address, count, group }),
                vec![]
            )
        ),
        (port(), any::<u64>(), any::<u32>()).prop_map(|(port, address, value)| (
            Request::RegisterPoke(RegisterPoke { port, address, value }),
            vec![]
        )),
        vec(any::<u8>(), 1..100).prop_map(|text| (Request::Inject { length: text.len() as u32 }, text)),
        debug_command().prop_map(|command| (Request::Debug { command }, vec![])),
        any::<u64>().prop_map(|first| (Request::Save { first }, vec![])),
        any::<u32>().prop_map(|patience| (Request::AwaitRest { patience }, vec![])),
        any::<u64>().prop_map(|first| (Request::SaveDevice { first }, vec![])),
        (any::<u64>(), any::<u64>(), vec(any::<u8>(), 1..100)).prop_map(|(total, first, part)| {
            (Request::RestoreDevice { total, first, length: part.len() as u32 }, part)
        }),
    ]
}

fn debug_command() -> impl Strategy<Value = DebugCommand> {
    let by = prop_oneof![Just(StepBy::Cycle), Just(StepBy::Event), Just(StepBy::Layer), Just(StepBy::Access)];
    prop_oneof![
        Just(DebugCommand::State),
        Just(DebugCommand::Stop),
        Just(DebugCommand::Continue),
        (by, any::<u32>()).prop_map(|(by, count)| DebugCommand::Step { by, count }),
        breakpoint().prop_map(DebugCommand::Break),
        any::<u32>().prop_map(|number| DebugCommand::Clear { number }),
    ]
}

fn breakpoint() -> impl Strategy<Value = Breakpoint> {
    let access = || prop_oneof![Just(Accesses::Read), Just(Accesses::Write), Just(Accesses::Any)];
    let on = prop_oneof![
        (any::<u64>(), access(), option::of(any::<u32>()))
            .prop_map(|(address, access, value)| BreakOn::Register { address, access, value }),
        Just(BreakOn::Interrupt),
        (text(8), any::<bool>()).prop_map(|(unit, end)| BreakOn::Layer { unit, end }),
        (port(), any::<u64>(), any::<u64>(), access()).prop_map(|(port, base, size, access)| {
            BreakOn::Memory { port, range: Range { base, size }, access }
        }),
        time().prop_map(BreakOn::Time),
    ];
    (on, any::<u32>(), any::<bool>()).prop_map(|(on, skip, once)| Breakpoint { on, skip, once })
}

fn stop_report() -> impl Strategy<Value = StopReport> {
    let seen = prop_oneof![
        (any::<bool>(), any::<u64>(), any::<u32>())
            .prop_map(|(write, address, value)| DebugEvent::Register { write, address, value }),
        Just(DebugEvent::Interrupt),
        (any::<bool>(), text(8), any::<u64>(), text(16))
            .prop_map(|(end, unit, number, label)| DebugEvent::Layer { end, unit, number, label }),
        (port(), any::<bool>(), any::<u32>(), any::<u64>(), any::<u32>()).prop_map(
            |(port, write, id, address, bytes)| DebugEvent::Burst { port, write, id, address, bytes }
        ),
        Just(DebugEvent::Time),
    ];
    let hit = (option::of(any::<u32>()), time(), seen).prop_map(|(breakpoint, time, seen)| Hit {
        breakpoint,
        time,
        seen,
    });
    let why = prop_oneof![Just(StopWhy::Asked), Just(StopWhy::Stepped), Just(StopWhy::Breakpoint)];
    (any::<u64>(), time(), why, vec(hit, 0..8)).prop_map(|(by, time, why, hits)| StopReport {
        by: SessionId(by),
        time,
        why,
        hits,
    })
}

fn debug_state() -> impl Strategy<Value = DebugState> {
    let set = (any::<u32>(), any::<u64>(), breakpoint(), any::<u32>()).prop_map(
        |(number, by, breakpoint, hits)| SetBreakpoint { number, by: SessionId(by), breakpoint, hits },
    );
    (option::of(stop_report()), vec(set, 0..32))
        .prop_map(|(stopped, breakpoints)| DebugState { stopped, breakpoints })
}

fn status() -> impl Strategy<Value = StatusReport> {
    let activity = prop_oneof![
        Just(Activity::Running),
        Just(Activity::Held),
        Just(Activity::Idle),
        Just(Activity::Deadlocked)
    ];
    let attached = (port(), role(), any::<u64>()).prop_map(|(port, role, session)| Attached {
        port,
        role,
        session: SessionId(session),
    });
    (time_mode(), activity, any::<u32>(), any::<u32>(), any::<u64>(), vec(attached, 0..20)).prop_map(
        |(time_mode, activity, sessions, in_flight, events, attached)| StatusReport {
            time_mode,
            activity,
            sessions,
            in_flight,
            events,
            attached,
        },
    )
}

fn reply() -> impl Strategy<Value = (Reply, Vec<u8>)> {
    let why = prop_oneof![
        Just(Why::Time),
        Just(Why::Interrupt),
        Just(Why::Idle),
        text(64).prop_map(|report| Why::Deadlock { report }),
        Just(Why::Stopped),
    ];
    prop_oneof![
        Just((Reply::Done, vec![])),
        any::<u32>().prop_map(|value| (Reply::Value { value }, vec![])),
        vec(any::<u8>(), 0..200).prop_map(|payload| (Reply::Data, payload)),
        (code(), text(64)).prop_map(|(code, reason)| (Reply::Failed { code, reason }, vec![])),
        why.prop_map(|why| (Reply::Reached { why }, vec![])),
        status().prop_map(|status| (Reply::Status(Box::new(status)), vec![])),
        (any::<u32>(), any::<u32>(), vec(any::<u8>(), 0..200))
            .prop_map(|(total, count, payload)| (Reply::Statistics { total, count }, payload)),
        Just((Reply::Pong, vec![])),
        option::of(time()).prop_map(|next| (Reply::Stepped { next }, vec![])),
        stop_report().prop_map(|report| (Reply::Stopped(Box::new(report)), vec![])),
        debug_state().prop_map(|state| (Reply::DebugState(Box::new(state)), vec![])),
        (any::<u64>(), vec(any::<u8>(), 0..200))
            .prop_map(|(total, payload)| (Reply::Saved { total }, payload)),
    ]
}

fn reaction() -> impl Strategy<Value = Reaction> {
    prop_oneof![Just(Reaction::NextEdge), Just(Reaction::SameEdge)]
}

fn channel() -> impl Strategy<Value = AxiChannel> {
    prop_oneof![
        Just(AxiChannel::ReadAddress),
        Just(AxiChannel::ReadData),
        Just(AxiChannel::WriteAddress),
        Just(AxiChannel::WriteData),
        Just(AxiChannel::WriteResponse),
    ]
}

/// An event without data.
fn plain_event() -> impl Strategy<Value = PortEvent> {
    let address = || (any::<u16>(), any::<u64>(), any::<u16>());
    prop_oneof![
        address().prop_map(|(id, address, beats)| PortEvent::ReadAddress { id, address, beats }),
        address().prop_map(|(id, address, beats)| PortEvent::WriteAddress { id, address, beats }),
        (any::<u16>(), any::<bool>()).prop_map(|(id, error)| PortEvent::WriteResponse { id, error }),
        (channel(), any::<bool>()).prop_map(|(channel, ready)| PortEvent::Ready { channel, ready }),
        (any::<u64>(), option::of(any::<u32>()), any::<bool>())
            .prop_map(|(address, write, posted)| PortEvent::Register { address, write, posted }),
        any::<bool>().prop_map(|ready| PortEvent::RegisterReady { ready }),
        any::<u32>().prop_map(|value| PortEvent::RegisterAnswer { value }),
        any::<bool>().prop_map(|level| PortEvent::Level { level }),
        Just(PortEvent::Reset),
    ]
}

/// A beat and its data.
fn beat() -> impl Strategy<Value = (PortEvent, Vec<u8>)> {
    let data = || vec(any::<u8>(), 1..=MAX_BEAT);
    prop_oneof![
        (any::<u16>(), any::<bool>(), any::<bool>(), data())
            .prop_map(|(id, last, error, data)| (PortEvent::ReadData { id, last, error }, data)),
        (any::<u64>(), any::<bool>(), data()).prop_map(|(strobes, last, data)| {
            let strobes = strobes & u64::MAX >> (64 - data.len().min(64));
            (PortEvent::WriteData { strobes, last }, data)
        }),
    ]
}

fn driven() -> impl Strategy<Value = (Driven, Vec<u8>)> {
    let event = prop_oneof![2 => beat(), 8 => plain_event().prop_map(|event| (event, vec![]))];
    (port(), time(), event).prop_map(|(port, at, (event, payload))| (Driven { port, at, event }, payload))
}

/// Any message of an open session, and its payload.
fn session_message() -> impl Strategy<Value = (Message, Vec<u8>)> {
    let id = || any::<u32>().prop_map(RequestId);
    prop_oneof![
        2 => (option::of(code()), text(64))
            .prop_map(|(code, reason)| (Message::Bye(Bye { code, reason }), vec![])),
        12 => (id(), request()).prop_map(|(id, (request, payload))| (Message::Request { id, request }, payload)),
        9 => (id(), time(), reply())
            .prop_map(|(id, time, (reply, payload))| (Message::Reply { id, time, reply }, payload)),
        1 => register_write().prop_map(|write| (Message::Posted(Posted::RegisterWrite(write)), vec![])),
        1 => memory_write()
            .prop_map(|(write, payload)| (Message::Posted(Posted::MemoryWrite(write)), payload)),
        1 => (port(), any::<bool>(), time())
            .prop_map(|(port, level, time)| (Message::Notice(Notice::Interrupt { port, level, time }), vec![])),
        1 => (time(), text(64)).prop_map(|(time, text)| (Message::Notice(Notice::Warning { time, text }), vec![])),
        1 => (time(), any::<u8>(), text(64)).prop_map(|(time, marks, text)| {
            let marks = WarningMarks::from_bits_retain(marks);
            (Message::Notice(Notice::MarkedWarning { time, marks, text }), vec![])
        }),
        1 => stop_report().prop_map(|report| (Message::Notice(Notice::Stopped(Box::new(report))), vec![])),
        5 => driven().prop_map(|(driven, payload)| (Message::Driven(driven), payload)),
        1 => (any::<u64>(), option::of(time()))
            .prop_map(|(heard, next)| (Message::Promised(Promised { heard, next }), vec![])),
    ]
}

/// Any message, the payload, and a phase of a stream in which it may come.
fn anything() -> impl Strategy<Value = (Message, Vec<u8>, Phase)> {
    prop_oneof![
        8 => session_message().prop_map(|(message, payload)| (message, payload, SESSION)),
        1 => hello().prop_map(|hello| (Message::Hello(Box::new(hello)), vec![], Phase::Hello)),
        1 => welcome().prop_map(|welcome| (Message::Welcome(Box::new(welcome)), vec![], Phase::Welcome)),
        1 => (code(), text(64))
            .prop_map(|(code, reason)| (Message::Refused(Refused { code, reason }), vec![], Phase::Welcome)),
    ]
}

fn image(message: &Message, payload: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    emit(message, payload, &mut bytes).expect("a generated message can be sent");
    bytes
}

fn phase() -> impl Strategy<Value = Phase> {
    prop_oneof![Just(Phase::Hello), Just(Phase::Welcome), Just(SESSION)]
}

/// Whatever the bytes are: no panic; and what is accepted is the one image of what it means.
fn judge(bytes: &[u8], phase: Phase) -> Result<(), TestCaseError> {
    let mut decoder = Decoder::new(phase);
    let mut input = BytesMut::from(bytes);
    let mut rest = bytes;
    loop {
        match decoder.decode(&mut input) {
            Ok(Some(Frame { message, payload })) => {
                let again = image(&message, &payload);
                prop_assert_eq!(&again[..], &rest[..again.len()]);
                rest = &rest[again.len()..];
                prop_assert_eq!(rest, &input[..]);
            }
            Ok(None) => {
                prop_assert_eq!(rest, &input[..]);
                return Ok(());
            }
            Err(error) => {
                prop_assert!(error.offset <= rest.len(), "{} of {}", error.offset, rest.len());
                prop_assert_eq!(decoder.decode(&mut input), Err(error));
                return Ok(());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

    #[test]
    fn parsing_undoes_emitting((message, payload, phase) in anything()) {
        let mut bytes = image(&message, &payload);
        let frame = Decoder::new(phase).decode(&mut bytes).unwrap().unwrap();
        prop_assert_eq!(frame, Frame { message, payload: Bytes::from(payload) });
        prop_assert!(bytes.is_empty());
    }

    #[test]
    fn frames_are_the_same_however_the_stream_is_cut(
        sent in vec(session_message(), 1..6),
        cuts in vec(1..40usize, 1..20),
    ) {
        let mut stream = Vec::new();
        for (message, payload) in &sent {
            stream.extend_from_slice(&image(message, payload));
        }
        let mut decoder = Decoder::new(SESSION);
        let mut input = BytesMut::new();
        let mut came = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*cut));
            input.extend_from_slice(now);
            rest = later;
            while let Some(Frame { message, payload }) = decoder.decode(&mut input).unwrap() {
                came.push((message, payload.to_vec()));
            }
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(came, sent);
        prop_assert!(input.is_empty());
    }

    #[test]
    fn a_frame_cut_short_asks_for_more((message, payload, phase) in anything(), cut in any::<prop::sample::Index>()) {
        let whole = image(&message, &payload);
        let mut part = BytesMut::from(&whole[..cut.index(whole.len())]);
        let before = part.clone();
        prop_assert_eq!(Decoder::new(phase).decode(&mut part), Ok(None));
        prop_assert_eq!(&part, &before);
        // What is lacking is known as soon as the prefix is there.
        let lacking = if part.len() < PREFIX { 0 } else { whole.len() - part.len() };
        prop_assert_eq!(Decoder::new(phase).lacking(&part), lacking);
        prop_assert_eq!(Decoder::new(phase).lacking(&whole), 0);
    }

    #[test]
    fn random_bytes_are_refused_or_read_as_the_one_image_of_a_message(
        bytes in vec(any::<u8>(), 0..300),
        phase in phase(),
    ) {
        judge(&bytes, phase)?;
    }

    #[test]
    fn random_headers_are_refused_or_read_as_the_one_image_of_a_message(
        // Small numbers find their way deeper into the messages than any others.
        header in vec(prop_oneof![9 => 0..12u8, 1 => Just(0x80), 1 => any::<u8>()], 0..60),
        payload in vec(any::<u8>(), 0..12),
        phase in phase(),
    ) {
        let mut bytes = vec![header.len() as u8, 0, 0, 0, payload.len() as u8, 0, 0, 0];
        bytes.extend(header);
        bytes.extend(payload);
        judge(&bytes, phase)?;
    }

    #[test]
    fn changed_bytes_are_refused_or_read_as_the_one_image_of_a_message(
        (message, payload, phase) in anything(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = image(&message, &payload).to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        judge(&bytes, phase)?;
    }

    #[test]
    fn no_bytes_make_a_side_panic_and_a_violation_ends_the_session(
        messages in vec(anything(), 0..12),
        noise in vec(any::<u8>(), 0..20),
        server in any::<bool>(),
    ) {
        let (mut client, mut host) = open();
        let side = if server { &mut host } else { &mut client };
        let mut input = BytesMut::new();
        for (message, payload, _) in &messages {
            input.extend_from_slice(&image(message, payload));
        }
        input.extend_from_slice(&noise);
        loop {
            match side.receive(&mut input) {
                Ok(Some(_)) => (),
                Ok(None) => break,
                Err(violation) => {
                    prop_assert!(side.is_closed());
                    let mut told = side.output().split();
                    let told = Decoder::new(SESSION).decode(&mut told).unwrap().unwrap().message;
                    let Message::Bye(bye) = told else { panic!("{told:?}") };
                    prop_assert_eq!(bye.code, Some(violation.code()));
                }
            }
        }
    }

    #[test]
    fn counters_are_read_without_panic(bytes in vec(any::<u8>(), 0..100), count in any::<u32>()) {
        let _ = statistics::parse_counters(&bytes, count);
    }
}

/// Returns both sides of an open session.
fn open() -> (Connection, Connection) {
    let mut client = Connection::client(Connection::hello("client", None, TimeMode::Free)).unwrap();
    let mut server = Connection::server(Terms::default());
    server.receive(&mut client.output().split()).unwrap();
    server.accept(Offer::default()).unwrap();
    client.receive(&mut server.output().split()).unwrap();
    (client, server)
}
