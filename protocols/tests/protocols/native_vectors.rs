//! The byte vectors of the native protocol, in both directions: what the bytes mean, and which bytes a meaning has.
//!
//! The vectors are a promise to other implementations. They are added to, never changed.

use bytes::{Bytes, BytesMut};
use vp_protocols::native::*;

const MESSAGES: &str = include_str!("../../vectors/native-messages.txt");
const MALFORMED: &str = include_str!("../../vectors/native-malformed.txt");
const PAGE: &str = include_str!("../../../docs/protocol.md");

/// Keys of the lines of the files.
const KEYS: &[&str] = &["means", "prefix", "header", "payload", "about", "phase", "bytes", "rule", "offset"];

/// One entry of a vector file: a name in brackets, then `key: text` lines; `#` starts a comment line.
#[derive(Default)]
struct Vector<'a> {
    name: &'a str,
    lines: Vec<(&'a str, &'a str)>,
}

impl Vector<'_> {
    fn text(&self, key: &str) -> &str {
        let found = self.lines.iter().find(|(of, _)| *of == key);
        found.unwrap_or_else(|| panic!("vector {} has no line `{key}:`", self.name)).1
    }

    /// The hexadecimal bytes of these lines, one after the other.
    fn bytes(&self, keys: &[&str]) -> Vec<u8> {
        let digits: String = keys.iter().flat_map(|key| self.text(key).split_whitespace()).collect();
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two hexadecimal digits");
        (0..digits.len()).step_by(2).map(byte).collect()
    }
}

fn vectors(file: &str) -> Vec<Vector<'_>> {
    let mut vectors: Vec<Vector<'_>> = Vec::new();
    for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => vectors.push(Vector { name, ..Vector::default() }),
            None => {
                let (key, text) = line.split_once(':').expect("a line is `key: text`");
                assert!(KEYS.contains(&key), "no line `{key}:` is known");
                vectors.last_mut().expect("a name before the first line").lines.push((key, text.trim()));
            }
        }
    }
    vectors
}

fn request(id: u32, request: Request) -> Message {
    Message::Request { id: RequestId(id), request }
}

fn reply(id: u32, time: u64, reply: Reply) -> Message {
    Message::Reply { id: RequestId(id), time: Time::ps(time), reply }
}

fn hello(platform: Option<&str>, time_mode: TimeMode) -> Hello {
    Hello {
        capabilities: Capabilities::from_bits_retain(7),
        ..Connection::hello("example 1.0", platform, time_mode)
    }
}

fn welcome() -> Welcome {
    let port = |name: &str, kind, roles: &[Role], base, size, width| Port {
        name: name.into(),
        kind,
        roles: Roles::of(roles),
        base,
        size,
        width,
    };
    let memory = [Role::Initiator, Role::Target];
    Welcome {
        version: 1,
        agent: "vp 0.1.0".into(),
        capabilities: Capabilities::from_bits_retain(7),
        max_payload: 1 << 20,
        max_in_flight: 256,
        time_mode: TimeMode::Lockstep,
        time_resolution: 1,
        time: Time::ZERO,
        platform: "nv_small".into(),
        session: SessionId(7),
        ports: vec![
            port("csb0", PortKind::Csb, &[Role::Initiator], 0, 0x4_0000, 32),
            port("irq0", PortKind::Irq, &[Role::Sink], 0, 0, 1),
            port("dbb0", PortKind::Axi, &memory, 0x8000_0000, 0x4000_0000, 64),
        ],
        device: None,
    }
}

fn welcome_with_device() -> Welcome {
    let device = Device {
        kind: "nvdla".into(),
        compatible: vec!["nvidia,nv_small".into(), "nvidia,nvdla_2".into()],
        register_map: Some("nv_small".into()),
    };
    Welcome { capabilities: Capabilities::from_bits_retain(0x87), device: Some(device), ..welcome() }
}

fn driven(name: &'static str, port: PortId, event: PortEvent) -> (&'static str, Message, Vec<u8>) {
    (name, Message::Driven(Driven { port, at: Time::ps(12_000), event }), Vec::new())
}

/// Returns what each vector of `native-messages.txt` means.
fn examples() -> Vec<(&'static str, Message, Vec<u8>)> {
    let csb = PortId(0);
    let irq = PortId(1);
    let dbb = PortId(2);
    let read = MemoryRead {
        port: dbb,
        address: 0x8000_1000,
        length: 64,
        access: AccessKind::Timed,
        axi_id: 5,
        at: Some(Time::ps(1_000_000)),
    };
    let write = MemoryWrite {
        port: dbb,
        address: 0x8000_0000,
        length: 4,
        access: AccessKind::Debug,
        axi_id: 0,
        strobes: false,
        at: None,
    };
    let register_write = RegisterWrite { port: csb, address: 0xb010, value: 1, at: None };
    let strobed = MemoryWrite { length: 10, access: AccessKind::Timed, axi_id: 3, strobes: true, ..write };
    let counters = [
        Counter { name: "dbb0.read.bytes".into(), unit: "bytes".into(), value: CounterValue::Count(4096) },
        Counter { name: "pdp.busy".into(), unit: "%".into(), value: CounterValue::Real(37.5) },
        Counter { name: "pdp.state".into(), unit: String::new(), value: CounterValue::Text("idle".into()) },
    ];
    let status = StatusReport {
        time_mode: TimeMode::Lockstep,
        activity: Activity::Held,
        sessions: 1,
        in_flight: 2,
        events: 1234,
        attached: vec![
            Attached { port: csb, role: Role::Initiator, session: SessionId(7) },
            Attached { port: irq, role: Role::Sink, session: SessionId(7) },
        ],
    };
    let range = Range { base: 0x8000_0000, size: 0x1000_0000 };
    let busy = "dbb0 is held as target by session 3; detach it there first";
    let deadlock = "pdp waits for dbb0 read data that no request asks for";
    let paced = TimeMode::Paced { picoseconds_per_nanosecond: 1000 };
    let observer = Hello {
        capabilities: Capabilities::from_bits_retain(0x1800),
        ..hello(Some("lab"), TimeMode::Lockstep)
    };
    let none = Vec::new;
    let debug = |name, command| (name, request(23, Request::Debug { command }), Vec::new());
    let register = BreakOn::Register { address: 0xb038, access: Accesses::Write, value: Some(1) };
    let memory =
        BreakOn::Memory { port: dbb, range: Range { base: 0x8000_1000, size: 64 }, access: Accesses::Any };
    let break_on = |skip, on| DebugCommand::Break(Breakpoint { on, skip, once: skip > 0 });
    let breakpoint = Breakpoint { on: BreakOn::Interrupt, skip: 0, once: false };
    let set = SetBreakpoint { number: 4, by: SessionId(7), breakpoint, hits: 2 };
    let report = |hits: Vec<Hit>| {
        let why = if hits.is_empty() { StopWhy::Asked } else { StopWhy::Breakpoint };
        StopReport { by: SessionId(7), time: Time::ps(1_300_000), why, hits }
    };
    let seen = [
        DebugEvent::Register { write: true, address: 0xb038, value: 1 },
        DebugEvent::Interrupt,
        DebugEvent::Layer { end: true, unit: "sdp".into(), number: 0, label: "32x32x8".into() },
        DebugEvent::Burst { port: dbb, write: false, id: 5, address: 0x8000_1000, bytes: 64 },
        DebugEvent::Time,
    ];
    let hit = |(number, seen)| Hit { breakpoint: Some(number), time: Time::ps(1_300_000), seen };
    let hits = (1..).zip(seen).map(hit).collect();
    vec![
        ("hello-private-lockstep", Message::Hello(Box::new(hello(None, TimeMode::Lockstep))), none()),
        ("hello-shared-free", Message::Hello(Box::new(hello(Some("lab"), TimeMode::Free))), none()),
        ("hello-shared-paced", Message::Hello(Box::new(hello(Some("lab"), paced))), none()),
        ("welcome", Message::Welcome(Box::new(welcome())), none()),
        (
            "refused-version",
            Message::Refused(Refused {
                code: ErrorCode::UnsupportedVersion,
                reason: "peer speaks versions 2 to 3, not 1".into(),
            }),
            none(),
        ),
        ("bye-orderly", Message::Bye(Bye { code: None, reason: "done".into() }), none()),
        (
            "bye-after-violation",
            Message::Bye(Bye {
                code: Some(ErrorCode::UnknownId),
                reason: "no request 9 is in flight".into(),
            }),
            none(),
        ),
        (
            "attach-initiator",
            request(0, Request::Attach(Attach { port: csb, role: Role::Initiator, range: None })),
            none(),
        ),
        (
            "attach-target-range",
            request(1, Request::Attach(Attach { port: dbb, role: Role::Target, range: Some(range) })),
            none(),
        ),
        ("detach", request(2, Request::Detach { port: irq }), none()),
        (
            "register-read",
            request(3, Request::RegisterRead(RegisterRead { port: csb, address: 0xb000, at: None })),
            none(),
        ),
        (
            "register-read-scheduled",
            request(
                300,
                Request::RegisterRead(RegisterRead { port: csb, address: 0, at: Some(Time::ps(2_500_000)) }),
            ),
            none(),
        ),
        (
            "register-write",
            request(4, Request::RegisterWrite(RegisterWrite { value: 0xdead_beef, ..register_write })),
            none(),
        ),
        ("memory-read-dma", request(0, Request::MemoryRead(read)), none()),
        ("memory-write", request(5, Request::MemoryWrite(write)), vec![0xde, 0xad, 0xbe, 0xef]),
        (
            "memory-write-strobed",
            request(6, Request::MemoryWrite(strobed)),
            vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0b1111_0000, 0b01],
        ),
        (
            "advance-time",
            request(7, Request::Advance { until: Until::Time(Time::ps(1_000_000_000)) }),
            none(),
        ),
        (
            "advance-interrupt",
            request(8, Request::Advance { until: Until::Interrupt { port: irq, limit: None } }),
            none(),
        ),
        (
            "advance-interrupt-limit",
            request(
                9,
                Request::Advance { until: Until::Interrupt { port: irq, limit: Some(Time::ps(5_000)) } },
            ),
            none(),
        ),
        ("advance-idle", request(10, Request::Advance { until: Until::Idle }), none()),
        ("reset", request(11, Request::Reset), none()),
        ("status", request(12, Request::Status), none()),
        ("statistics", request(13, Request::Statistics { prefix: "dbb0.".into(), first: 0 }), none()),
        ("ping", request(14, Request::Ping), none()),
        ("done", reply(4, 40_000, Reply::Done), none()),
        ("value", reply(3, 32_000, Reply::Value { value: 0x3231_3030 }), none()),
        ("data", reply(0, 1_400_000, Reply::Data), (0..64).collect()),
        (
            "failed-port-busy",
            reply(1, 0, Reply::Failed { code: ErrorCode::PortBusy, reason: busy.into() }),
            none(),
        ),
        (
            "failed-unnamed-code",
            reply(1, 0, Reply::Failed { code: ErrorCode::from(999), reason: "of a later day".into() }),
            none(),
        ),
        ("reached-time", reply(7, 1_000_000_000, Reply::Reached { why: Why::Time }), none()),
        ("reached-interrupt", reply(8, 1_200_000, Reply::Reached { why: Why::Interrupt }), none()),
        ("reached-idle", reply(10, 1_300_000, Reply::Reached { why: Why::Idle }), none()),
        (
            "reached-deadlock",
            reply(10, 1_300_000, Reply::Reached { why: Why::Deadlock { report: deadlock.into() } }),
            none(),
        ),
        ("reached-stopped", reply(10, 1_300_000, Reply::Reached { why: Why::Stopped }), none()),
        ("status-report", reply(12, 1_300_000, Reply::Status(Box::new(status))), none()),
        (
            "statistics-report",
            reply(13, 1_300_000, Reply::Statistics { total: 5, count: 3 }),
            statistics::emit_counters(&counters, 1024).0.to_vec(),
        ),
        ("pong", reply(14, 1_300_000, Reply::Pong), none()),
        ("posted-register-write", Message::Posted(Posted::RegisterWrite(register_write)), none()),
        ("posted-memory-write", Message::Posted(Posted::MemoryWrite(write)), vec![1, 2, 3, 4]),
        (
            "interrupt",
            Message::Notice(Notice::Interrupt { port: irq, level: true, time: Time::ps(1_200_000) }),
            none(),
        ),
        (
            "warning",
            Message::Notice(Notice::Warning {
                time: Time::ps(50_000),
                text: "posted write to 0xfffc on csb0: no register there".into(),
            }),
            none(),
        ),
        (
            "share-memory",
            request(
                15,
                Request::ShareMemory(ShareMemory {
                    port: dbb,
                    files: 1,
                    regions: vec![SharedRegion {
                        base: 0x8000_0000,
                        size: 0x1000_0000,
                        file: 0,
                        offset: 0x4000_0000,
                    }],
                }),
            ),
            none(),
        ),
        ("open-ring", request(16, Request::OpenRing(OpenRing { port: csb, line: irq })), none()),
        ("step", request(17, Request::Step { to: Time::ps(1_300_000) }), none()),
        ("stepped", reply(17, 1_300_000, Reply::Stepped { next: Some(Time::ps(1_301_000)) }), none()),
        ("stepped-to-rest", reply(18, 1_400_000, Reply::Stepped { next: None }), none()),
        ("welcome-with-device", Message::Welcome(Box::new(welcome_with_device())), none()),
        ("clock", request(19, Request::Clock { reaction: Reaction::SameEdge, quantum: 0 }), none()),
        ("promised", Message::Promised(Promised { heard: 9_000, next: Some(Time::ps(12_000)) }), none()),
        ("promised-for-ever", Message::Promised(Promised { heard: 9_000, next: None }), none()),
        driven("driven-read-address", dbb, PortEvent::ReadAddress { id: 3, address: 0x8000_1000, beats: 1 }),
        (
            "driven-read-data",
            Message::Driven(Driven {
                port: dbb,
                at: Time::ps(12_000),
                event: PortEvent::ReadData { id: 3, last: true, error: false },
            }),
            (0..8).collect(),
        ),
        driven(
            "driven-write-address",
            dbb,
            PortEvent::WriteAddress { id: 1, address: 0x8000_2000, beats: 1 },
        ),
        (
            "driven-write-data",
            Message::Driven(Driven {
                port: dbb,
                at: Time::ps(12_000),
                event: PortEvent::WriteData { strobes: 0xf0, last: true },
            }),
            (8..16).collect(),
        ),
        driven("driven-write-response", dbb, PortEvent::WriteResponse { id: 1, error: false }),
        driven("driven-ready", dbb, PortEvent::Ready { channel: AxiChannel::ReadData, ready: false }),
        driven(
            "driven-register",
            csb,
            PortEvent::Register { address: 0xb010, write: Some(1), posted: false },
        ),
        driven("driven-register-ready", csb, PortEvent::RegisterReady { ready: true }),
        driven("driven-register-answer", csb, PortEvent::RegisterAnswer { value: 0x3231_3030 }),
        driven("driven-level", irq, PortEvent::Level { level: true }),
        driven("driven-reset", dbb, PortEvent::Reset),
        (
            "authenticate",
            request(0, Request::Authenticate { token: Token::new("example-token-0123456789") }),
            none(),
        ),
        (
            "failed-not-authenticated",
            reply(0, 0, Reply::Failed { code: ErrorCode::NotAuthenticated, reason: "no such token".into() }),
            none(),
        ),
        (
            "failed-not-permitted",
            reply(1, 0, Reply::Failed { code: ErrorCode::NotPermitted, reason: LACKING.into() }),
            none(),
        ),
        ("inspect", request(20, Request::Inspect { first: 0 }), none()),
        (
            "register-peek",
            request(
                21,
                Request::RegisterPeek(RegisterPeek { port: csb, address: 0xb000, count: 4, group: Some(1) }),
            ),
            none(),
        ),
        (
            "register-poke",
            request(22, Request::RegisterPoke(RegisterPoke { port: csb, address: 0xb010, value: 1 })),
            none(),
        ),
        ("hello-observer", Message::Hello(Box::new(observer)), none()),
        ("inject", request(2, Request::Inject { length: FAULTS.len() as u32 }), FAULTS.as_bytes().to_vec()),
        debug("debug-state", DebugCommand::State),
        debug("debug-stop", DebugCommand::Stop),
        debug("debug-continue", DebugCommand::Continue),
        debug("debug-step", DebugCommand::Step { by: StepBy::Event, count: 3 }),
        debug("debug-break-register", break_on(0, register)),
        debug("debug-break-interrupt", break_on(2, BreakOn::Interrupt)),
        debug("debug-break-layer", break_on(0, BreakOn::Layer { unit: "sdp".into(), end: true })),
        debug("debug-break-memory", break_on(0, memory)),
        debug("debug-break-time", break_on(0, BreakOn::Time(Time::ps(1_300_000)))),
        debug("debug-clear", DebugCommand::Clear { number: 4 }),
        ("debug-stopped", reply(23, 1_300_000, Reply::Stopped(Box::new(report(vec![])))), none()),
        (
            "debug-state-report",
            reply(
                23,
                1_300_000,
                Reply::DebugState(Box::new(DebugState { stopped: None, breakpoints: vec![set] })),
            ),
            none(),
        ),
        ("stop-notice", Message::Notice(Notice::Stopped(Box::new(report(hits)))), none()),
        ("save", request(15, Request::Save { first: 0 }), none()),
        ("save-on", request(16, Request::Save { first: 1 << 20 }), none()),
        ("saved", reply(15, 1_300_000, Reply::Saved { total: 9 }), b"VPSV".to_vec()),
        (
            "marked-warning",
            Message::Notice(Notice::MarkedWarning {
                time: Time::ps(1_300_000),
                marks: WarningMarks::REFUSED.union(WarningMarks::LACKING),
                text: "nvdla.pdp: layer refused: no int16".into(),
            }),
            none(),
        ),
        ("await-rest", request(17, Request::AwaitRest { patience: 20_000 }), none()),
        ("save-device", request(18, Request::SaveDevice { first: 0 }), none()),
        (
            "restore-device",
            request(19, Request::RestoreDevice { total: 9, first: 5, length: 4 }),
            b"VPSV".to_vec(),
        ),
    ]
}

const FAULTS: &str = "[[fault]]\nkind = 'lost-interrupt'\nafter = 1\n";

const LACKING: &str = "`lab-memory` lacks the right `cpu`: registers, and letting time move";

fn phase_of(message: &Message) -> Phase {
    match message {
        Message::Hello(_) => Phase::Hello,
        Message::Welcome(_) | Message::Refused(_) => Phase::Welcome,
        _ => Phase::Session { max_payload: DEFAULT_MAX_PAYLOAD },
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Returns a vector as it is written, for whoever adds one.
fn written(name: &str, message: &Message, payload: &[u8]) -> String {
    let mut frame = BytesMut::new();
    emit(message, payload, &mut frame).expect("an example can be sent");
    let (prefix, rest) = frame.split_at(PREFIX);
    let (header, payload) = rest.split_at(rest.len() - payload.len());
    let [prefix, header, payload] = [prefix, header, payload].map(hex);
    format!("[{name}]\nmeans: {message:?}\nprefix: {prefix}\nheader: {header}\npayload: {payload}\n\n")
}

#[test]
fn every_example_has_a_vector_and_every_vector_an_example() {
    let there = vectors(MESSAGES);
    let missing: String = examples()
        .iter()
        .filter(|(name, ..)| !there.iter().any(|vector| vector.name == *name))
        .map(|(name, message, payload)| written(name, message, payload))
        .collect();
    assert!(missing.is_empty(), "to be added to native-messages.txt:\n{missing}");
    assert_eq!(there.len(), examples().len());
}

#[test]
fn emitting_a_message_gives_the_bytes_of_its_vector() {
    for ((name, message, payload), vector) in examples().iter().zip(vectors(MESSAGES)) {
        let mut frame = BytesMut::new();
        emit(message, payload, &mut frame).unwrap();
        assert_eq!(vector.name, *name);
        assert_eq!(hex(&frame), hex(&vector.bytes(&["prefix", "header", "payload"])), "{name}");
    }
}

#[test]
fn parsing_the_bytes_of_a_vector_gives_its_message() {
    for ((name, message, payload), vector) in examples().into_iter().zip(vectors(MESSAGES)) {
        let mut bytes = BytesMut::from(&vector.bytes(&["prefix", "header", "payload"])[..]);
        let frame = Decoder::new(phase_of(&message)).decode(&mut bytes).unwrap().unwrap();
        assert_eq!(format!("{:?}", frame.message), vector.text("means"), "{name}");
        assert_eq!(frame, Frame { message, payload: Bytes::from(payload) }, "{name}");
        assert!(bytes.is_empty(), "{name}");
    }
}

#[test]
fn the_counters_of_the_statistics_vector_can_be_read() {
    let vectors = vectors(MESSAGES);
    let vector = vectors.iter().find(|vector| vector.name == "statistics-report").unwrap();
    let counters = statistics::parse_counters(&vector.bytes(&["payload"]), 3).unwrap();
    assert_eq!(counters[1].value, CounterValue::Real(37.5));
}

#[test]
fn the_vectors_cover_every_message() {
    // An enum's number is the first byte of the header, or behind the numbers of id and time.
    let mut seen: Vec<&str> = examples().iter().map(|(_, message, _)| message.name()).collect();
    seen.sort_unstable();
    seen.dedup();
    // 4 of the handshake, 24 requests, 6 of debuggers, 12 replies, 2 posted writes, 4 notices, 2 of partners.
    assert_eq!(seen.len(), 4 + 24 + 6 + 12 + 2 + 4 + 2, "{seen:?}");
}

#[test]
fn malformed_vectors_break_the_rule_they_name_at_the_byte_they_name() {
    let vectors = vectors(MALFORMED);
    assert!(!vectors.is_empty());
    for vector in vectors {
        let phase = match vector.text("phase") {
            "hello" => Phase::Hello,
            "welcome" => Phase::Welcome,
            "session" => Phase::Session { max_payload: DEFAULT_MAX_PAYLOAD },
            other => panic!("{}: no phase `{other}`", vector.name),
        };
        let mut bytes = BytesMut::from(&vector.bytes(&["bytes"])[..]);
        let error = Decoder::new(phase).decode(&mut bytes);
        let error = error.expect_err(vector.name);
        assert_eq!(format!("{:?}", error.rule), vector.text("rule"), "{}", vector.name);
        assert_eq!(error.offset.to_string(), vector.text("offset"), "{}", vector.name);
    }
}

/// The bytes of a worked example of the page: the columns of hexadecimal digits, up to the first wide gap.
fn worked(example: &str) -> String {
    let digits =
        |line: &&str| line.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    let columns = example.lines().filter(digits).map(|line| line.split("  ").next().unwrap_or(line).trim());
    columns.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_shows_the_bytes_of_the_vectors() {
    let vectors = vectors(MESSAGES);
    let frame = |name| {
        let vector = vectors.iter().find(|vector| vector.name == name).unwrap();
        hex(&vector.bytes(&["prefix", "header", "payload"]))
    };
    let examples: Vec<_> = PAGE.split("```").skip(1).step_by(2).map(worked).collect();
    assert_eq!(examples[0], frame("hello-private-lockstep"));
    assert_eq!(examples[1], frame("register-read") + " " + &frame("value"));
}

#[test]
fn the_page_lists_every_error_code_and_every_broken_rule() {
    for code in ErrorCode::ALL {
        assert!(PAGE.contains(&format!("| {} | {code:?} | ", u16::from(*code))), "{code:?}");
    }
    for vector in vectors(MALFORMED) {
        let rule = vector.text("rule").split(' ').next().unwrap();
        assert!(PAGE.contains(rule), "{rule}");
    }
}
