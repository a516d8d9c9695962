//! A peer for each rule of the native protocol that breaks it, and peers that break none.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tempfile::TempDir;
use vp_check::native::Check;
use vp_check::{PeerRole, Report, Verdict};
use vp_protocols::native::{
    Attach, Capabilities, Connection, Counter, CounterValue, ErrorCode, Event, Message, Notice, Offer, Port,
    PortId, PortKind, Reaction, RegisterRead, Reply, Request, RequestId, Role, Roles, Rule, Terms, Time,
    TimeMode, Token, VERSION, Welcome, emit, statistics::emit_counters,
};

fn frame(message: &Message, payload: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    emit(message, payload, &mut out).unwrap();
    out.to_vec()
}

fn reply(id: u32, reply: Reply) -> Message {
    Message::Reply { id: RequestId(id), time: Time::ZERO, reply }
}

/// Rule that a server breaks.
#[derive(Clone)]
enum Wrong {
    Nothing,
    /// Says that to the first ping, whose id is 0.
    ToPing(Vec<u8>),
    /// Welcomes so.
    Welcomes(fn(&mut Welcome)),
    /// Says that in place of the welcome.
    InPlaceOfWelcome(Vec<u8>),
    IsSilent,
    AnswersReadsBackwards,
    TellsEarlierTimes,
    HasEveryPort,
    NeedsNoAttach,
    SaysNoBye,
    KeepsStrangers,
    SpeaksAllVersions,
    /// Wants to know who comes, and answers those that have not said so.
    AsksNobody,
    /// Takes whatever partners drive.
    TakesAllThatIsDriven,
}

fn ports() -> Vec<Port> {
    let port = |name: &str, kind, base| Port {
        name: name.to_owned(),
        kind,
        roles: Roles::of(&[Role::Initiator]),
        base,
        size: 0x1000,
        width: 32,
    };
    vec![port("csb0", PortKind::Csb, 0), port("dbb0", PortKind::Axi, 0x8000_0000)]
}

struct Server {
    stream: UnixStream,
    wrong: Wrong,
    /// Wants to know who comes.
    asks: bool,
    is_known: bool,
    is_attached: bool,
    time: u64,
    /// Reads of registers that wait to be answered backwards.
    reads: Vec<RequestId>,
}

impl Server {
    fn serve(mut self) {
        let mut terms = Terms::default();
        if self.asks {
            terms.capabilities = terms.capabilities.union(Capabilities::AUTHENTICATION);
        }
        let mut connection = Connection::server(terms);
        let mut input = BytesMut::new();
        loop {
            let output = connection.output().split();
            if self.stream.write_all(&output).is_err() {
                return;
            }
            match connection.receive(&mut input) {
                Ok(Some(Event::Hello(_))) => self.welcome(&mut connection),
                Ok(Some(Event::Request { id, request, .. })) => self.answer(&mut connection, id, &request),
                Ok(Some(Event::Bye(_))) => return,
                Ok(Some(_)) => {}
                Ok(None) => {
                    let mut chunk = [0; 4096];
                    match self.stream.read(&mut chunk) {
                        Ok(0) | Err(_) => return,
                        Ok(read) => input.extend_from_slice(&chunk[..read]),
                    }
                }
                Err(violation) => return self.part(&mut connection, &violation.to_string()),
            }
        }
    }

    /// A client has broken a rule.
    fn part(&mut self, connection: &mut Connection, why: &str) {
        let is_stranger = why.contains("hello") || why.contains("bytes; at most");
        match self.wrong {
            Wrong::SaysNoBye => return,
            Wrong::KeepsStrangers if is_stranger => {
                let _ = std::io::copy(&mut self.stream, &mut std::io::sink());
                return;
            }
            Wrong::SpeaksAllVersions if why.contains("versions") => {
                let welcome = welcome(VERSION + 1);
                let _ = self.stream.write_all(&frame(&Message::Welcome(Box::new(welcome)), &[]));
            }
            _ => {}
        }
        let _ = self.stream.write_all(&connection.output().split());
    }

    fn welcome(&mut self, connection: &mut Connection) {
        let offer = Offer { ports: ports(), ..Offer::default() };
        let mut welcome = connection.accept(offer).unwrap();
        match &self.wrong {
            Wrong::Welcomes(change) => change(&mut welcome),
            Wrong::InPlaceOfWelcome(bytes) => {
                connection.output().split();
                return self.stream.write_all(bytes).unwrap();
            }
            _ => return,
        }
        connection.output().split();
        self.stream.write_all(&frame(&Message::Welcome(Box::new(welcome)), &[])).unwrap();
    }

    fn answer(&mut self, connection: &mut Connection, id: RequestId, request: &Request) {
        let failed = |code| Reply::Failed { code, reason: "so".to_owned() };
        let mut payload = Vec::new();
        let reply = match (request, &self.wrong) {
            (Request::Ping, Wrong::IsSilent) => return,
            (Request::Ping, Wrong::ToPing(bytes)) if id == RequestId(0) => {
                return self.stream.write_all(bytes).unwrap();
            }
            (Request::Ping, _) => Reply::Pong,
            (Request::Authenticate { token }, _) if token.secret() == TOKEN => {
                self.is_known = true;
                connection.let_in();
                Reply::Done
            }
            (_, wrong) if self.asks && !self.is_known && !matches!(wrong, Wrong::AsksNobody) => {
                failed(ErrorCode::NotAuthenticated)
            }
            (Request::Statistics { .. }, _) => {
                let (name, unit, value) = ("period".to_owned(), String::new(), CounterValue::Count(1));
                payload = emit_counters([&Counter { name, unit, value }], 4096).0.to_vec();
                Reply::Statistics { total: 1, count: 1 }
            }
            (Request::RegisterRead(read), wrong) if read.port != PortId(0) => match wrong {
                Wrong::HasEveryPort => Reply::Value { value: 0 },
                _ => failed(ErrorCode::NoSuchPort),
            },
            (Request::RegisterRead(_), wrong) if !self.is_attached => match wrong {
                Wrong::NeedsNoAttach => Reply::Value { value: 0 },
                _ => failed(ErrorCode::NotAttached),
            },
            (Request::RegisterRead(_), Wrong::AnswersReadsBackwards) => {
                self.reads.push(id);
                if let [first, second] = self.reads[..] {
                    for id in [second, first] {
                        let reply = Message::Reply { id, time: Time::ZERO, reply: Reply::Value { value: 0 } };
                        self.stream.write_all(&frame(&reply, &[])).unwrap();
                    }
                }
                return;
            }
            (Request::RegisterRead(_), _) => Reply::Value { value: 0 },
            (Request::Attach(_), _) => {
                self.is_attached = true;
                Reply::Done
            }
            (Request::Detach { .. }, _) => Reply::Done,
            // Others have no partners.
            (Request::Clock { .. }, Wrong::TakesAllThatIsDriven) => Reply::Done,
            (Request::MemoryRead(read), _) => {
                payload = vec![7; read.length as usize];
                Reply::Data
            }
            _ => failed(ErrorCode::Unsupported),
        };
        self.time = match self.wrong {
            Wrong::TellsEarlierTimes => 1_000_000 - self.time,
            _ => self.time + 1_000,
        };
        connection.reply(id, Time::ps(self.time), reply, &payload[..]).unwrap();
    }
}

fn welcome(version: u16) -> Welcome {
    let mut connection = Connection::server(Terms::default());
    let mut client = Connection::client(Connection::hello("test", None, TimeMode::Lockstep)).unwrap();
    connection.receive(&mut client.output().split()).unwrap();
    Welcome { version, ..connection.accept(Offer::default()).unwrap() }
}

const TOKEN: &str = "what the server knows";

fn check_server(wrong: &Wrong) -> Report {
    check_server_that(matches!(wrong, Wrong::AsksNobody), wrong)
}

/// A server that wants to know who comes, or not.
fn check_server_that(asks: bool, wrong: &Wrong) -> Report {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("server.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let wrong_of = wrong.clone();
    // It ends with the test.
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let wrong = wrong_of.clone();
            let (is_known, is_attached) = (false, false);
            let server = Server { stream, wrong, asks, is_known, is_attached, time: 0, reads: Vec::new() };
            std::thread::spawn(|| server.serve());
        }
    });
    let waits = matches!(wrong, Wrong::IsSilent | Wrong::KeepsStrangers | Wrong::TakesAllThatIsDriven);
    let timeout = Duration::from_millis(if waits { 2_000 } else { 10_000 });
    let place = format!("unix:{}", socket.display()).parse().unwrap();
    let token = asks.then(|| Token::new(TOKEN));
    Check { place, peer: PeerRole::Device, address: 0, token, tls: None, insecure: false, timeout }
        .run()
        .unwrap()
}

fn broken(report: &Report) -> Vec<&'static str> {
    let is_broken = |verdict: &Verdict| matches!(verdict, Verdict::Broken { .. });
    report.rules.iter().filter(|finding| is_broken(&finding.verdict)).map(|finding| finding.rule).collect()
}

fn servers() -> Vec<(Rule, Wrong)> {
    let pong = || frame(&reply(0, Reply::Pong), &[]);
    let with = |at: usize, bytes: &[u8]| {
        let mut frame = pong();
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        frame
    };
    // The header's length is the first word, little-endian; the header begins at byte 8, with the message's number.
    let surplus = [with(0, &[pong()[0] + 1]), vec![0]].concat();
    let long_number = {
        let mut frame = with(0, &[pong()[0] + 1]);
        frame.splice(8..9, [frame[8] | 0x80, 0]);
        frame
    };
    let with_payload = [with(4, &[4]), vec![1, 2, 3, 4]].concat();
    let asks_to_attach = Message::Request {
        id: RequestId(0),
        request: Request::Attach(Attach { port: PortId(0), role: Role::Initiator, range: None }),
    };
    let warning = Message::Notice(Notice::Warning { time: Time::ZERO, text: "so".to_owned() });
    vec![
        (Rule::Flags, Wrong::ToPing(with(2, &[1]))),
        (Rule::HeaderLength, Wrong::ToPing(with(0, &[0xff, 0xff]))),
        (Rule::PayloadLimit, Wrong::ToPing(with(4, &[0xff; 4]))),
        (Rule::HeaderIsOneMessage, Wrong::ToPing(surplus)),
        (Rule::KnownNumbers, Wrong::ToPing(with(8, &[99]))),
        (Rule::OneEncoding, Wrong::ToPing(long_number)),
        (Rule::PayloadFits, Wrong::ToPing(with_payload)),
        (Rule::HelloFirst, Wrong::InPlaceOfWelcome(pong())),
        (Rule::Versions, Wrong::Welcomes(|welcome| welcome.version = 2)),
        (Rule::AgreedLimits, Wrong::Welcomes(|welcome| welcome.max_payload = u32::MAX)),
        (Rule::MomentAndSide, Wrong::ToPing(frame(&asks_to_attach, &[]))),
        (Rule::ReplyToRequest, Wrong::ToPing(frame(&reply(99, Reply::Pong), &[]))),
        (Rule::ReplyFits, Wrong::ToPing(frame(&reply(0, Reply::Done), &[]))),
        (Rule::RegisterOrder, Wrong::AnswersReadsBackwards),
        (
            Rule::Granted,
            // The welcome does not grant it; and a welcome is what the check remembers.
            Wrong::InPlaceOfWelcome(
                [
                    frame(
                        &Message::Welcome(Box::new(Welcome {
                            capabilities: Capabilities::NONE,
                            ..welcome(VERSION)
                        })),
                        &[],
                    ),
                    frame(&warning, &[]),
                ]
                .concat(),
            ),
        ),
        (Rule::Answered, Wrong::IsSilent),
        (Rule::TimeGoesOn, Wrong::TellsEarlierTimes),
        (Rule::NoSuchPort, Wrong::HasEveryPort),
        (Rule::AttachFirst, Wrong::NeedsNoAttach),
        (Rule::ByeOnViolation, Wrong::SaysNoBye),
        (Rule::StrangersAreCutOff, Wrong::KeepsStrangers),
        (Rule::PortsAreDistinct, Wrong::Welcomes(|welcome| welcome.ports[1].name = "csb0".to_owned())),
        (Rule::RefusesVersion, Wrong::SpeaksAllVersions),
        (Rule::WhoFirst, Wrong::AsksNobody),
        (Rule::DrivenBySide, Wrong::TakesAllThatIsDriven),
    ]
}

#[test]
fn a_server_that_breaks_a_rule_is_caught_for_that_one() {
    let mut caught = Vec::new();
    for (rule, wrong) in servers() {
        let report = check_server(&wrong);
        let expected = match rule {
            // Who does not say goodbye does not refuse either.
            Rule::ByeOnViolation => vec![rule.name(), Rule::RefusesVersion.name()],
            _ => vec![rule.name()],
        };
        assert_eq!(broken(&report), expected, "{report}");
        caught.push(rule.name());
    }
    let report = check_server(&Wrong::Nothing);
    assert!(report.passed, "{report}");
    let listed: Vec<&str> = report.rules.iter().map(|finding| finding.rule).collect();
    assert_eq!(listed, caught, "each rule that a server can break");
}

#[test]
fn a_server_that_wants_to_know_who_comes_is_shown_the_token() {
    let report = check_server_that(true, &Wrong::Nothing);
    assert!(report.passed, "{report}");
    let finding = report.rules.iter().find(|finding| finding.rule == Rule::WhoFirst.name());
    assert!(matches!(finding.unwrap().verdict, Verdict::Kept { .. }), "{report}");
}

/// Rule that a client breaks, once it is welcome.
#[derive(Clone)]
enum ClientWrong {
    Nothing,
    Says(Vec<u8>),
    /// A memory that keeps nothing.
    Forgets,
    NeverAnswers,
    /// Says that in place of a hello.
    Greets(Vec<u8>),
}

/// A client that reads a register and is the memory.
fn client(socket: &std::path::Path, wrong: &ClientWrong) {
    let until = Instant::now() + Duration::from_secs(10);
    let mut stream = loop {
        match UnixStream::connect(socket) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut connection = Connection::client(Connection::hello("test", None, TimeMode::Lockstep)).unwrap();
    if let ClientWrong::Greets(bytes) = wrong {
        stream.write_all(bytes).unwrap();
        connection.output().split();
    }
    let (mut input, mut memory, mut writes) = (BytesMut::new(), vec![3_u8; 1 << 12], 0);
    loop {
        if stream.write_all(&connection.output().split()).is_err() {
            return;
        }
        match connection.receive(&mut input) {
            Ok(Some(Event::Welcome(_))) => {
                if let ClientWrong::Says(bytes) = wrong {
                    stream.write_all(bytes).unwrap();
                    continue;
                }
                let read = RegisterRead { port: PortId(0), address: 0, at: None };
                connection.request(Request::RegisterRead(read), &[]).unwrap();
                let attach = Attach { port: PortId(2), role: Role::Target, range: None };
                connection.request(Request::Attach(attach), &[]).unwrap();
            }
            Ok(Some(Event::Request { id, request, payload })) => {
                let place = |address: u64| (address - 0x8000_0000) as usize;
                let (reply, data) = match request {
                    _ if matches!(wrong, ClientWrong::NeverAnswers) => continue,
                    Request::MemoryRead(read) => {
                        let data = memory[place(read.address)..][..read.length as usize].to_vec();
                        (Reply::Data, Bytes::from(data))
                    }
                    Request::MemoryWrite(write) => {
                        writes += 1;
                        let (data, strobes) = payload.split_at(write.length as usize);
                        for (at, byte) in data.iter().enumerate() {
                            let is_written = !write.strobes || strobes[at / 8] >> (at % 8) & 1 == 1;
                            if is_written && !matches!(wrong, ClientWrong::Forgets) {
                                memory[place(write.address) + at] = *byte;
                            }
                        }
                        (Reply::Done, Bytes::new())
                    }
                    other => panic!("{other:?}"),
                };
                connection.reply(id, Time::ZERO, reply, &data[..]).unwrap();
                // Bytes, bytes without a strobe, and what was there.
                if writes == 3 {
                    connection.bye(None, "done");
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                let mut chunk = [0; 4096];
                match stream.read(&mut chunk) {
                    Ok(0) | Err(_) => return,
                    Ok(read) => input.extend_from_slice(&chunk[..read]),
                }
            }
            Err(_) => return,
        }
    }
}

fn check_client(wrong: &ClientWrong) -> Report {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("check.sock");
    let (path, wrong_of) = (socket.clone(), wrong.clone());
    let peer = std::thread::spawn(move || client(&path, &wrong_of));
    let timeout =
        Duration::from_millis(if matches!(wrong, ClientWrong::NeverAnswers) { 2_000 } else { 10_000 });
    let place = format!("unix:{}", socket.display()).parse().unwrap();
    let report =
        Check { place, peer: PeerRole::Memory, address: 0, token: None, tls: None, insecure: false, timeout }
            .run()
            .unwrap();
    peer.join().unwrap();
    report
}

#[test]
fn a_client_that_breaks_a_rule_is_caught_for_that_one() {
    let ping = |id| frame(&Message::Request { id: RequestId(id), request: Request::Ping }, &[]);
    let attach = Request::Attach(Attach { port: PortId(2), role: Role::Target, range: None });
    let old = {
        let mut hello = Connection::hello("test", None, TimeMode::Lockstep);
        (hello.version_min, hello.version_max) = (VERSION + 1, VERSION + 1);
        frame(&Message::Hello(Box::new(hello)), &[])
    };
    let clock = Request::Clock { reaction: Reaction::NextEdge, quantum: 0 };
    let cases = [
        (Rule::Flags, ClientWrong::Says(vec![1, 0, 1, 0, 0, 0, 0, 0, 4])),
        (Rule::HelloFirst, ClientWrong::Greets(ping(0))),
        (Rule::Versions, ClientWrong::Greets(old)),
        (Rule::MomentAndSide, ClientWrong::Says(frame(&Message::Welcome(Box::new(welcome(VERSION))), &[]))),
        (
            Rule::FreshId,
            ClientWrong::Says(
                [frame(&Message::Request { id: RequestId(5), request: attach }, &[]), ping(5), ping(5)]
                    .concat(),
            ),
        ),
        (Rule::InFlight, ClientWrong::Says((0..300).flat_map(ping).collect())),
        (Rule::ReplyToRequest, ClientWrong::Says(frame(&reply(9, Reply::Pong), &[]))),
        (
            Rule::Granted,
            ClientWrong::Says(frame(&Message::Request { id: RequestId(0), request: clock }, &[])),
        ),
        (Rule::Answered, ClientWrong::NeverAnswers),
        (Rule::MemoryKeeps, ClientWrong::Forgets),
    ];
    for (rule, wrong) in cases {
        let report = check_client(&wrong);
        assert_eq!(broken(&report), [rule.name()], "{rule:?} {report}");
    }
    let report = check_client(&ClientWrong::Nothing);
    assert!(report.passed, "{report}");
    let memory = report.rules.iter().find(|finding| finding.rule == Rule::MemoryKeeps.name()).unwrap();
    assert_eq!(memory.verdict, Verdict::Kept { occasions: 1 }, "{report}");
}
