//! Sessions with a server that does what a test says.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use vp_protocols::native::statistics::emit_counters;
use vp_protocols::native::{
    AccessKind, Capabilities, Connection, Counter, CounterValue, Driven, ErrorCode, Event, MemoryRead,
    MemoryWrite, Notice, Offer, Port, PortEvent, PortId, PortKind, Promised, Reaction, Reply, Request,
    RequestId, Role, Roles, Terms, Time, TimeMode, Token, WarningMarks,
};
use vp_shm::descriptors::Passed;
use vp_shm::ring;
use vp_transport::{Readiness, Route, Socket, Stream, UntrustedServer, in_process};

use crate::{
    Answered, Client, ConnectError, Error, Handler, Options, Refusal, SaveError, SilenceLimit, serve_memory,
};

const REGISTERS: PortId = PortId(0);
const LINE: PortId = PortId(1);
const MEMORY: PortId = PortId(2);
const LONG: Duration = Duration::from_secs(60);

/// A piece of memory, and what was heard.
#[derive(Default)]
struct Program {
    memory: Vec<u8>,
    heard: Vec<String>,
    /// Memory is read later.
    is_slow: bool,
    asked: Vec<RequestId>,
}

impl Handler for Program {
    fn interrupt(&mut self, line: PortId, level: bool, time: Time) {
        self.heard.push(format!("line {} {level} at {}", line.0, time.as_ps()));
    }

    fn warning(&mut self, time: Time, text: String) {
        self.heard.push(format!("{text} at {}", time.as_ps()));
    }

    fn driven(&mut self, driven: Driven, data: &Bytes) {
        self.heard.push(format!("{driven:?} with {data:?}"));
    }

    fn promised(&mut self, promised: Promised) {
        self.heard.push(format!("{promised:?}"));
    }

    fn read(&mut self, _: PortId, address: u64, into: &mut [u8]) -> Result<(), Refusal> {
        let from = usize::try_from(address).unwrap();
        let bytes = self.memory.get(from..from + into.len());
        into.copy_from_slice(bytes.ok_or_else(|| Refusal::new(ErrorCode::DecodeError, "no memory there"))?);
        Ok(())
    }

    fn write(&mut self, _: PortId, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.heard.push(format!("{} bytes to {address}", bytes.len()));
        let from = usize::try_from(address).unwrap();
        self.memory[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn request(&mut self, id: RequestId, request: &Request, payload: &Bytes) -> Answered {
        if self.is_slow {
            self.asked.push(id);
            return Answered::Later;
        }
        serve_memory(self, request, payload)
    }
}

/// The server's end.
struct Peer {
    stream: Stream,
    connection: Connection,
    input: BytesMut,
    files: VecDeque<Passed>,
}

impl Peer {
    fn new(stream: Stream, terms: Terms) -> Self {
        let (connection, input) = (Connection::server(terms), BytesMut::new());
        Self { stream, connection, input, files: VecDeque::new() }
    }

    fn welcome(&mut self, time_mode: TimeMode) {
        assert!(matches!(self.next(), Event::Hello(_)));
        let port = |name: &str, kind, role| {
            let (name, roles) = (name.to_owned(), Roles::of(&[role]));
            Port { name, kind, roles, base: 0x100, size: 0x1000, width: 32 }
        };
        let ports = vec![
            port("csb0", PortKind::Csb, Role::Initiator),
            port("irq0", PortKind::Irq, Role::Sink),
            port("dbb0", PortKind::Axi, Role::Target),
        ];
        self.connection.accept(Offer { ports, time_mode, ..Offer::default() }).unwrap();
        self.send();
    }

    fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.connection.receive(&mut self.input).unwrap() {
                return event;
            }
            self.stream.wait(Readiness::Bytes, None);
            let mut bytes = [0; 4096];
            let read = match &self.stream {
                Stream::Socket(socket) => socket.receive(&mut bytes, &mut self.files),
                stream => stream.read(&mut bytes),
            };
            let read = read.unwrap();
            assert_ne!(read, Some(0), "the client has gone");
            self.input.extend_from_slice(&bytes[..read.unwrap_or(0)]);
        }
    }

    fn send(&mut self) {
        while !self.connection.output().is_empty() {
            if self.stream.write(self.connection.output()).unwrap().is_none() {
                self.stream.wait(Readiness::BytesOrRoom, None);
            }
        }
    }

    fn asked(&mut self) -> (RequestId, Request, Bytes) {
        match self.next() {
            Event::Request { id, request, payload } => (id, request, payload),
            other => panic!("{other:?}"),
        }
    }

    /// Answers the next event, a request, and gives it.
    fn answer(&mut self, reply: Reply, payload: &[u8]) -> Request {
        let (id, request, _) = self.asked();
        self.connection.reply(id, Time::ps(5), reply, payload).unwrap();
        self.send();
        request
    }

    fn raise(&mut self, level: bool, time: u64) {
        let notice = Notice::Interrupt { port: LINE, level, time: Time::ps(time) };
        self.connection.notify(notice).unwrap();
    }
}

fn options() -> Options {
    Options { timeout: LONG, ..Options::new("test") }
}

/// A session within the process, and the server's end in a thread of its own.
fn session<T: Send + 'static>(
    program: Program,
    time_mode: TimeMode,
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Client<Program>, JoinHandle<T>) {
    let (near, far) = in_process::pair();
    over(near, far, program, time_mode, serve)
}

fn over<T: Send + 'static>(
    near: Stream,
    far: Stream,
    program: Program,
    time_mode: TimeMode,
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Client<Program>, JoinHandle<T>) {
    with([near, far], program, &Options { time_mode, ..options() }, serve)
}

fn with<T: Send + 'static>(
    [near, far]: [Stream; 2],
    program: Program,
    options: &Options,
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Client<Program>, JoinHandle<T>) {
    let (capabilities, time_mode) = (options.capabilities.union(Capabilities::LOCAL), options.time_mode);
    let server = thread::spawn(move || {
        let terms = Terms { capabilities, max_payload: 8192, ..Terms::default() };
        let mut peer = Peer::new(far, terms);
        peer.welcome(time_mode);
        serve(peer)
    });
    (Client::over(near, "the test", options, program).unwrap(), server)
}

/// A session in which the server may be silent for so long.
fn impatient<T: Send + 'static>(
    limit: Duration,
    serve: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Client<Program>, JoinHandle<T>) {
    let (near, far) = in_process::pair();
    let options = Options { heartbeat: SilenceLimit::of(limit), ..options() };
    with([near, far], Program::default(), &options, serve)
}

#[test]
fn who_waits_for_a_server_that_is_stopped_is_told_where_and_how_long_and_what_to_do() {
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let (mut client, server) = impatient(Duration::from_millis(40), move |peer| {
        // Reads nothing, answers nothing, and does not end.
        let _ = is_over.recv();
        drop(peer);
    });
    let error = client.read_register(REGISTERS, 0x100).unwrap_err().to_string();
    for part in ["the test has said nothing for 40 ms", "a request waits for its answer", "VP_HEARTBEAT=none"]
    {
        assert!(error.contains(part), "{error}");
    }
    assert!(matches!(client.ping(), Err(Error::Ended(_))));
    drop(over);
    server.join().unwrap();
}

#[test]
fn who_waits_at_a_ring_notices_a_server_that_is_stopped() {
    let (near, far) = UnixStream::pair().unwrap();
    let ends = [near, far].map(|end| {
        end.set_nonblocking(true).unwrap();
        Stream::Socket(Socket::Unix(end))
    });
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let options = Options { heartbeat: SilenceLimit::of(Duration::from_millis(40)), ..options() };
    let (mut client, server) = with(ends, Program::default(), &options, move |mut peer| {
        peer.answer(Reply::Done, &[]);
        let _ = is_over.recv();
        drop(peer);
    });
    assert!(client.open_ring(REGISTERS, LINE).unwrap());
    let error = client.read_register(REGISTERS, 0x100).unwrap_err().to_string();
    assert!(error.contains("the test has said nothing for 40 ms"), "{error}");
    drop(over);
    server.join().unwrap();
}

#[test]
fn a_server_that_has_much_to_do_is_waited_for_as_long_as_it_answers_pings() {
    let (mut client, server) = impatient(Duration::from_secs(2), |mut peer| {
        let (read, _, _) = peer.asked();
        for _ in 0..3 {
            assert_eq!(peer.answer(Reply::Pong, &[]), Request::Ping);
        }
        peer.connection.reply(read, Time::ps(5), Reply::Value { value: 7 }, &[]).unwrap();
        peer.send();
        peer.answer(Reply::Pong, &[])
    });
    assert_eq!(client.read_register(REGISTERS, 0x100), Ok(7));
    // A Ping of the program's own is answered to it.
    client.ping().unwrap();
    assert_eq!(server.join().unwrap(), Request::Ping);
}

#[test]
fn one_of_the_requests_that_may_be_under_way_is_kept_for_a_ping() {
    let (mut client, server) = impatient(LONG, |mut peer| while let Event::Request { .. } = peer.next() {});
    let limit = client.welcome().max_in_flight;
    for _ in 1..limit {
        client.send(Request::Status, &[]).unwrap();
    }
    assert!(matches!(client.send(Request::Status, &[]), Err(Error::Unsent(_))));
    client.close("done").unwrap();
    server.join().unwrap();
}

#[test]
fn counters_without_end_are_not_read_for_ever() {
    for total in [u32::MAX, 60_000] {
        let (mut client, server) = session(Program::default(), TimeMode::Lockstep, move |mut peer| {
            let text = CounterValue::Text("x".repeat(8000));
            let counter = Counter { name: "liar".to_owned(), unit: String::new(), value: text };
            let (payload, count) = emit_counters([&counter], 8192);
            while let Event::Request { id, .. } = peer.next() {
                peer.connection
                    .reply(id, Time::ZERO, Reply::Statistics { total, count }, &payload[..])
                    .unwrap();
                peer.send();
            }
        });
        let error = client.counters("").unwrap_err().to_string();
        assert!(error.contains(&format!("the server says it has {total} counters")), "{error}");
        client.wire.connection.bye(None, "done");
        client.wire.flush().unwrap();
        server.join().unwrap();
    }
}

/// Two ends of a Unix socket.
fn sockets() -> [Stream; 2] {
    let (near, far) = UnixStream::pair().unwrap();
    [near, far].map(|end| {
        end.set_nonblocking(true).unwrap();
        Stream::Socket(Socket::Unix(end))
    })
}

fn write(address: u64, length: u32, strobes: bool) -> MemoryWrite {
    MemoryWrite { port: MEMORY, address, length, access: AccessKind::Timed, axi_id: 0, strobes, at: None }
}

fn read(address: u64) -> MemoryRead {
    MemoryRead { port: MEMORY, address, length: 4, access: AccessKind::Timed, axi_id: 0, at: None }
}

#[test]
fn while_a_register_is_waited_for_memory_is_served_and_events_are_told_in_order() {
    let program = Program { memory: vec![0; 64], ..Program::default() };
    let (mut client, server) = session(program, TimeMode::Lockstep, |mut peer| {
        let (id, request, _) = peer.asked();
        assert!(matches!(request, Request::RegisterRead(read) if read.address == 0x108));
        peer.raise(true, 1);
        peer.connection.request(Request::MemoryWrite(write(8, 4, true)), &[1, 2, 3, 4, 0b1101]).unwrap();
        peer.connection.request(Request::MemoryRead(read(8)), &[]).unwrap();
        peer.connection.request(Request::MemoryRead(read(62)), &[]).unwrap();
        peer.connection.notify(Notice::Warning { time: Time::ps(2), text: "mind".into() }).unwrap();
        let (time, marks) = (Time::ps(2), WarningMarks::REFUSED);
        peer.connection.notify(Notice::MarkedWarning { time, marks, text: "refused".into() }).unwrap();
        peer.connection.reply(id, Time::ps(3), Reply::Value { value: 7 }, &[]).unwrap();
        peer.raise(false, 4);
        peer.send();
        [peer.next(), peer.next(), peer.next()].map(|event| match event {
            Event::Reply { reply, payload, .. } => (reply, payload),
            other => panic!("{other:?}"),
        })
    });
    assert_eq!(client.read_register(REGISTERS, 0x108), Ok(7));
    let [written, here, nowhere] = server.join().unwrap();
    assert_eq!(written.0, Reply::Done);
    assert_eq!((here.0, &here.1[..]), (Reply::Data, &[1, 0, 3, 4][..]));
    assert!(matches!(nowhere.0, Reply::Failed { code: ErrorCode::DecodeError, .. }));
    let heard = [
        "line 1 true at 1",
        "1 bytes to 8",
        "2 bytes to 10",
        "mind at 2",
        "refused at 2",
        "line 1 false at 4",
    ];
    assert_eq!(client.handler().heard, heard);
    assert_eq!(client.time(), Time::ps(4));
}

#[test]
fn a_refusal_is_an_error_and_the_session_goes_on() {
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, |mut peer| {
        let (code, reason) = (ErrorCode::Unsupported, "no such register".to_owned());
        peer.answer(Reply::Failed { code, reason }, &[]);
        peer.answer(Reply::Done, &[]);
        peer.answer(Reply::Pong, &[]);
        peer
    });
    let refused = client.read_register(REGISTERS, 0).unwrap_err();
    assert_eq!(refused.to_string(), "no such register");
    assert!(client.write_register(REGISTERS, 0, 1).is_ok());
    assert_eq!(client.ping(), Ok(()));
    drop(server.join().unwrap());
}

#[test]
fn a_session_that_has_ended_says_why_to_every_call() {
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, |mut peer| {
        peer.asked();
        peer.connection.bye(Some(ErrorCode::ShuttingDown), "the server shuts down");
        peer.send();
    });
    let ended = client.ping().unwrap_err();
    assert!(ended.to_string().ends_with("the server shuts down"), "{ended}");
    assert!(matches!(ended, Error::Ended(_)));
    assert_eq!(client.read_register(REGISTERS, 0), Err(ended.clone()));
    assert_eq!(client.progress(), Err(ended.clone()));
    assert_eq!(client.close("done"), Err(ended));
    server.join().unwrap();
}

#[test]
fn a_server_that_breaks_the_protocol_ends_the_session() {
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, |mut peer| {
        peer.asked();
        peer.stream.write(&mut &[0xff; 64][..]).unwrap();
        peer
    });
    let ended = client.ping().unwrap_err().to_string();
    assert!(ended.starts_with("the server broke the protocol: "), "{ended}");
    drop(server.join().unwrap());
}

#[test]
fn an_answer_is_delivered_though_a_violation_comes_in_the_same_read() {
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, |mut peer| {
        let (id, _, _) = peer.asked();
        peer.connection.reply(id, Time::ps(5), Reply::Value { value: 7 }, &[]).unwrap();
        let mut bytes = peer.connection.output().split().to_vec();
        bytes.extend([0xff; 64]);
        assert_eq!(peer.stream.write(&mut &bytes[..]).unwrap(), Some(bytes.len()));
        peer
    });
    assert_eq!(client.read_register(REGISTERS, 0x100), Ok(7));
    let ended = client.ping().unwrap_err().to_string();
    assert!(ended.starts_with("the server broke the protocol: "), "{ended}");
    drop(server.join().unwrap());
}

#[test]
fn a_wait_ends_in_its_time_and_a_deadline_ends_the_session() {
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, |mut peer| {
        peer.asked();
        // It stays there, and says nothing.
        assert!(matches!(peer.next(), Event::Request { .. }));
        peer
    });
    let id = client.send(Request::Ping, &[]).unwrap();
    let waited = client.wait(Some(Duration::from_millis(1)), |client| client.take_answer(id));
    assert_eq!(waited, Ok(None));
    assert_eq!(client.check(), Ok(()));
    client.set_deadline(Some(Instant::now() + Duration::from_millis(1)));
    assert_eq!(client.ping(), Err(Error::Ended("the server does not answer".to_owned())));
    assert!(client.check().is_err());
    drop(server.join().unwrap());
}

/// Writes of 8 KiB: more than a stream of one process holds.
const REQUESTS: usize = 40;

/// A session whose server reads nothing until it is told to, and then answers so many requests.
fn with_late_answers() -> (std::sync::mpsc::Sender<()>, Client<Program>, JoinHandle<Peer>) {
    let (now, told) = std::sync::mpsc::channel();
    let (client, server) = session(Program::default(), TimeMode::Lockstep, move |mut peer| {
        told.recv().unwrap();
        for _ in 0..REQUESTS {
            peer.answer(Reply::Done, &[]);
        }
        peer
    });
    (now, client, server)
}

#[test]
fn a_wait_ends_in_its_time_though_the_server_does_not_read_and_what_is_unwritten_goes_out_later() {
    let (now, mut client, server) = with_late_answers();
    let whole = MemoryWrite { access: AccessKind::Debug, ..write(0x100, 8192, false) };
    let mut send = || client.send(Request::MemoryWrite(whole), &[7; 8192]).unwrap();
    let sent: Vec<RequestId> = (0..REQUESTS).map(|_| send()).collect();
    for timeout in [Duration::ZERO, Duration::from_millis(20)] {
        let waited = client.wait(Some(timeout), |client| client.take_answer(sent[0]));
        assert_eq!(waited, Ok(None));
        assert!(client.unwritten() > 0);
        assert_eq!(client.check(), Ok(()));
    }
    now.send(()).unwrap();
    for id in sent {
        assert_eq!(client.answer(id).unwrap().reply, Reply::Done);
    }
    drop(server.join().unwrap());
}

#[test]
fn a_program_with_a_loop_of_its_own_never_waits() {
    let (now, mut client, server) = with_late_answers();
    let whole = MemoryWrite { access: AccessKind::Debug, ..write(0x100, 8192, false) };
    let mut under_way = Vec::new();
    for _ in 0..REQUESTS {
        under_way.push(client.send(Request::MemoryWrite(whole), &[7; 8192]).unwrap());
        assert_eq!(client.progress(), Ok(false));
    }
    assert!(client.unwritten() > 0);
    now.send(()).unwrap();
    while let Some(&next) = under_way.first() {
        client.progress().unwrap();
        match client.take_answer(next) {
            Some(answer) => assert_eq!((answer.reply, under_way.remove(0)), (Reply::Done, next)),
            None => thread::yield_now(),
        }
    }
    drop(server.join().unwrap());
}

#[test]
fn a_request_may_be_answered_later() {
    let program = Program { memory: vec![9; 64], is_slow: true, ..Program::default() };
    let (mut client, server) = session(program, TimeMode::Lockstep, |mut peer| {
        let asked = peer.connection.request(Request::MemoryRead(read(0)), &[]).unwrap();
        peer.answer(Reply::Pong, &[]);
        let Event::Reply { id, time, reply, payload } = peer.next() else { panic!() };
        assert_eq!((id, time, reply, &payload[..]), (asked, Time::ps(77), Reply::Data, &[9; 4][..]));
        peer
    });
    client.ping().unwrap();
    let asked = client.handler_mut().asked.remove(0);
    client.reply(asked, Time::ps(77), Reply::Data, vec![9; 4]).unwrap();
    client.flush().unwrap();
    drop(server.join().unwrap());
}

#[test]
fn posted_writes_wait_in_lockstep_for_what_is_waited_for_and_go_out_at_once_otherwise() {
    for (mode, unwritten) in [(TimeMode::Lockstep, true), (TimeMode::Free, false)] {
        let (mut client, server) = session(Program::default(), mode, |mut peer| {
            assert!(matches!(peer.next(), Event::Posted { .. }));
            peer.answer(Reply::Pong, &[]);
            peer
        });
        client.post_register(REGISTERS, 0x10, 1).unwrap();
        assert_eq!(client.unwritten() > 0, unwritten);
        client.ping().unwrap();
        drop(server.join().unwrap());
    }
}

#[test]
fn memory_and_counters_come_in_as_many_pieces_as_it_takes() {
    let counter = |number: u32| Counter {
        name: format!("c{number}"),
        unit: String::new(),
        value: CounterValue::Count(number.into()),
    };
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, move |mut peer| {
        for piece in [8192, 8192, 616] {
            let (id, request, _) = peer.asked();
            let Request::MemoryRead(MemoryRead { address, length, .. }) = request else { panic!() };
            assert_eq!(length, piece);
            let bytes = vec![u8::try_from(address >> 13).unwrap(); piece as usize];
            peer.connection.reply(id, Time::ps(5), Reply::Data, &bytes).unwrap();
            peer.send();
        }
        for range in [0..3, 3..5] {
            let counters: Vec<Counter> = range.clone().map(counter).collect();
            let (payload, count) = emit_counters(&counters, 8192);
            let asked = peer.answer(Reply::Statistics { total: 5, count }, &payload);
            assert_eq!(asked, Request::Statistics { prefix: "c".into(), first: range.start });
        }
        peer
    });
    let mut bytes = vec![0; 17_000];
    client.read_memory(MEMORY, 0, &mut bytes).unwrap();
    assert!((0..17_000).all(|at| usize::from(bytes[at]) == at >> 13));
    assert_eq!(client.counters("c").unwrap(), (0..5).map(counter).collect::<Vec<_>>());
    drop(server.join().unwrap());
}

#[test]
fn a_saved_platform_that_is_larger_than_wanted_is_refused_before_a_byte_is_written() {
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, |mut peer| {
        for total in [u64::MAX, 9, 8] {
            assert_eq!(peer.answer(Reply::Saved { total }, &[7; 8]), Request::Save { first: 0 });
        }
        peer
    });
    for total in [u64::MAX, 9] {
        let mut into = Vec::new();
        let refused = client.save(&mut into, 8).unwrap_err();
        assert!(matches!(refused, SaveError::TooLarge { total: of, most: 8 } if of == total), "{refused}");
        assert!(into.is_empty());
    }
    let mut into = Vec::new();
    assert_eq!(client.save(&mut into, 8).unwrap(), Time::ps(5));
    assert_eq!(into, [7; 8]);
    drop(server.join().unwrap());
}

#[test]
fn who_gets_no_session_learns_why() {
    let refused = |serve: fn(&mut Peer)| {
        let (near, far) = in_process::pair();
        let mut peer = Peer::new(far, Terms::default());
        serve(&mut peer);
        let options = Options { timeout: Duration::from_millis(1), ..options() };
        let opened = Client::over(near, "the test", &options, ());
        drop(peer);
        opened.err().expect("no session")
    };
    let full = refused(|peer| {
        peer.connection.refuse(ErrorCode::ServerFull, "no room");
        peer.send();
    });
    assert!(matches!(&full, ConnectError::Refused { code: ErrorCode::ServerFull, .. }), "{full}");
    let stranger = refused(|peer| drop(peer.stream.write(&mut &b"220 mail.example ESMTP ready\r\n"[..])));
    assert!(stranger.to_string().starts_with("the test is no server of platforms: "), "{stranger}");
    let silent = refused(|_| {});
    assert_eq!(silent.to_string(), "cannot connect to the test: connected, and nobody greets");
}

#[test]
fn a_token_goes_to_this_host_without_tls_and_to_no_other() {
    let tcp = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        [near, far].map(|end| {
            end.set_nonblocking(true).unwrap();
            Stream::Socket(Socket::Tcp(end))
        })
    };
    let (near, far) = in_process::pair();
    for [near, far] in [tcp(), sockets(), [near, far]] {
        let server = thread::spawn(move || {
            let capabilities = Capabilities::ALL.union(Capabilities::AUTHENTICATION);
            let mut peer = Peer::new(far, Terms { capabilities, ..Terms::default() });
            peer.welcome(TimeMode::Lockstep);
            let request = peer.answer(Reply::Done, &[]);
            (peer, request)
        });
        let mut options = options();
        options.credentials.token = Some(Token::new("a-token-0123456789"));
        let client = Client::over(near, "the test", &options, ()).unwrap();
        let (_peer, request) = server.join().unwrap();
        assert!(
            matches!(&request, Request::Authenticate { token } if token.secret() == "a-token-0123456789")
        );
        assert_eq!(client.time(), Time::ps(5));
    }
    let there = Route::Tcp("10.0.0.1:17790".parse().unwrap());
    let error = ConnectError::check_route("tcp:lab:17790", there).unwrap_err();
    assert!(matches!(&error, ConnectError::TokenInClear { .. }));
    let told = error.to_string();
    assert!(told.starts_with("tcp:lab:17790 wants a token, and it is not sent: "), "{told}");
    assert!(told.contains("10.0.0.1:17790") && told.contains("write tls: in place of tcp:"), "{told}");
}

#[test]
fn another_users_server_gets_neither_a_token_nor_files() {
    let trust = || Ok(Err(UntrustedServer::Abstract { uid: 54_321 }));
    let refused = |opened: Result<Client<()>, ConnectError>| {
        let error = opened.err().expect("no session");
        assert!(matches!(&error, ConnectError::UntrustedServer { .. }), "{error}");
        let told = error.to_string();
        assert!(
            told.starts_with("unix:@vp is sent neither a token nor memory: user 54321 listens there"),
            "{told}"
        );
        assert!(told.contains("a folder that only the server's user may write"), "{told}");
    };
    // Who would pass files says nothing at all.
    let [near, far] = sockets();
    refused(Client::open(near, "unix:@vp", trust(), &options(), ()));
    far.wait(Readiness::Bytes, Some(LONG));
    assert_eq!(far.read(&mut [0; 64]).unwrap(), Some(0));
    let mut options = Options { share: false, ..options() };
    for token in [Some(Token::new("a-token-0123456789")), None] {
        let [near, far] = sockets();
        let server = thread::spawn(move || {
            let capabilities = Capabilities::ALL.union(Capabilities::AUTHENTICATION);
            let mut peer = Peer::new(far, Terms { capabilities, ..Terms::default() });
            peer.welcome(TimeMode::Lockstep);
            peer.next()
        });
        options.credentials.token = token;
        let opened = Client::open(near, "unix:@vp", trust(), &options, ());
        match options.credentials.token {
            Some(_) => refused(opened),
            // Nothing of this side's is at stake.
            None => drop(opened.unwrap()),
        }
        assert!(matches!(server.join().unwrap(), Event::Bye(_)));
    }
}

#[test]
fn a_client_that_is_dropped_says_goodbye_with_what_was_posted_before() {
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, |mut peer| {
        assert!(matches!(peer.next(), Event::Posted { .. }));
        peer.next()
    });
    client.post_register(REGISTERS, 0x10, 1).unwrap();
    drop(client);
    assert!(matches!(server.join().unwrap(), Event::Bye(bye) if bye.code.is_none()));
}

/// A program whose server says more whenever the program has heard something.
#[derive(Default)]
struct Fed {
    server: Option<Stream>,
    /// Said again and again, and how far it is said.
    more: Vec<u8>,
    said: usize,
    heard: u32,
}

impl Handler for Fed {
    fn interrupt(&mut self, _: PortId, _: bool, _: Time) {
        self.heard += 1;
        assert!(self.heard < 2_000_000, "whoever serves the stream has no turn");
        let Some(server) = &self.server else { return };
        while let Some(said) = server.write(&mut &self.more[self.said..]).unwrap() {
            self.said = (self.said + said) % self.more.len();
        }
    }
}

#[test]
fn who_serves_the_stream_has_a_turn_though_the_server_never_stops_talking() {
    let [near, far] = sockets();
    let server = thread::spawn(move || {
        let mut peer = Peer::new(far, Terms::default());
        peer.welcome(TimeMode::Lockstep);
        peer
    });
    let mut client = Client::over(near, "the test", &options(), Fed::default()).unwrap();
    let mut peer = server.join().unwrap();
    (0..100).for_each(|_| peer.raise(true, 0));
    let more = peer.connection.output().split().to_vec();
    *client.handler_mut() = Fed { server: Some(peer.stream), more, ..Fed::default() };
    client.handler_mut().interrupt(LINE, true, Time::ZERO);
    assert_eq!(client.serve(), Ok(true));
}

#[test]
fn with_a_ring_the_stream_is_served_and_late_news_of_the_line_is_none() {
    let [near, far] = sockets();
    let program = Program { memory: vec![3; 64], ..Program::default() };
    let (mut client, server) = over(near, far, program, TimeMode::Lockstep, |mut peer| {
        assert!(matches!(peer.answer(Reply::Done, &[]), Request::OpenRing(_)));
        let mut file = || peer.files.pop_front().unwrap();
        let (memory, own, client) = (file(), file(), file());
        let mut ring = ring::Server::open(&memory, own, client).unwrap();
        let taken = loop {
            if let Some(request) = ring.take().unwrap() {
                break request;
            }
            thread::yield_now();
        };
        // The answer waits for the client's memory.
        peer.connection.request(Request::MemoryRead(read(0)), &[]).unwrap();
        peer.send();
        assert!(matches!(peer.next(), Event::Reply { reply: Reply::Data, .. }));
        ring.set_line(true);
        ring.set_line(false);
        ring.answer(0, 7, 9);
        peer.raise(true, 8);
        peer.raise(false, 9);
        peer.answer(Reply::Pong, &[]);
        (taken, peer)
    });
    assert_eq!(client.open_ring(REGISTERS, LINE), Ok(true));
    client.handler_mut().heard.clear();
    assert_eq!(client.read_register(REGISTERS, 0x104), Ok(7));
    client.ping().unwrap();
    assert_eq!(client.handler().heard, ["line 1 false at 9"]);
    let (taken, _peer) = server.join().unwrap();
    assert_eq!((taken.access, taken.address), (ring::Access::Read, 0x104));
}

#[test]
fn a_partner_drives_and_promises_in_one_write_and_is_told_what_the_other_side_does() {
    let beat = PortEvent::ReadData { id: 3, last: true, error: false };
    let asked = Driven {
        port: MEMORY,
        at: Time::ps(2000),
        event: PortEvent::ReadAddress { id: 3, address: 64, beats: 1 },
    };
    let granted = Promised { heard: 0, next: None };
    let (mut client, server) = session(Program::default(), TimeMode::Lockstep, move |mut peer| {
        let clock = Request::Clock { reaction: Reaction::SameEdge, quantum: 4 };
        assert_eq!(peer.answer(Reply::Done, &[]), clock);
        peer.connection.drive(asked, &[]).unwrap();
        peer.connection.promise(granted).unwrap();
        peer.send();
        peer.stream.wait(Readiness::Bytes, None);
        // One read gets all.
        let mut bytes = [0; 4096];
        let read = peer.stream.read(&mut bytes).unwrap().unwrap();
        peer.input.extend_from_slice(&bytes[..read]);
        let mut next = || peer.connection.receive(&mut peer.input).unwrap().unwrap();
        let driven = Driven { port: MEMORY, at: Time::ps(4000), event: beat };
        assert_eq!(next(), Event::Driven { driven, payload: Bytes::from_static(&[7; 8]) });
        assert_eq!(next(), Event::Promised(Promised { heard: 1, next: Some(Time::ps(9000)) }));
        peer
    });
    client.clock(Reaction::SameEdge, 4).unwrap();
    let told = client.wait(Some(LONG), |client| (client.handler().heard.len() == 2).then_some(()));
    assert_eq!(told, Ok(Some(())));
    let heard = [format!("{asked:?} with b\"\""), format!("{granted:?}")];
    assert_eq!(client.handler().heard, heard);
    client.drive(MEMORY, Time::ps(4000), beat, &[7; 8]).unwrap();
    client.promise(1, Some(Time::ps(9000))).unwrap();
    client.flush().unwrap();
    drop(server.join().unwrap());
}
