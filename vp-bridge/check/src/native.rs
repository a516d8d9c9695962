//! Peers that speak the native protocol: servers, to which the check connects as a client; and clients, for which it listens and is
//! a server without a platform.

mod driving;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use vp_protocols::native::{
    AccessKind, Attach, Capabilities, Connection, Device, ErrorCode, Event, Hello, MemoryRead, MemoryWrite,
    Offer, Port, PortId, PortKind, Posted, RegisterRead, Reply, Request, RequestId, Role, Roles, Rule, Terms,
    Time, TimeMode, Token, VERSION, Why,
};
use vp_transport::{Address, MeetingPlace, Route, tls};

use crate::report::Tally;
use crate::wire::{Listener, WaitResult, Wire};
use crate::{MeetError, Over, PeerRole, Report};

/// Order for a check: the peer, and what is asked of it.
#[derive(Debug, Clone)]
pub struct Check {
    /// Place at which the peer is met. A server listens; a client connects to the check.
    pub place: MeetingPlace,
    /// Role of the peer: a device is a server, a CPU or a memory a client.
    pub peer: PeerRole,
    /// A register of a server's first register port that may be read.
    pub address: u64,
    /// Token that is shown to a server that wants to know who comes.
    pub token: Option<Token>,
    /// Authorities that are trusted at an address for TLS.
    pub tls: Option<tls::Client>,
    /// True if a client on another host may connect.
    pub insecure: bool,
    /// Time for which each answer is waited for; and of a client, time for which it may be silent before it is taken to be done.
    pub timeout: Duration,
}

/// Rules of each message that arrives.
const EACH_MESSAGE: [Rule; 6] = [
    Rule::Flags,
    Rule::HeaderLength,
    Rule::PayloadLimit,
    Rule::HeaderIsOneMessage,
    Rule::KnownNumbers,
    Rule::OneEncoding,
];
/// Of a whole window of memory so much is written by a check.
const BLOCK: u32 = 64;
/// The name by which the check says hello.
const AGENT: &str = "vp check-peer";

struct Session {
    wire: Wire,
    connection: Connection,
    input: BytesMut,
    tally: Tally<Rule>,
    timeout: Duration,
    /// True if the peer has closed the stream.
    is_closed: bool,
    token: Option<Token>,
    /// Address at which the peer was met.
    place: Address,
    /// Reason for which the server is not shown the token.
    withheld: Option<MeetError>,
    /// The latest time of a reply to an access to registers.
    register_time: Time,
    model: Model,
}

impl Check {
    /// Meets the peer and checks it.
    ///
    /// # Errors
    /// [`MeetError`]: there is none.
    pub fn run(&self) -> Result<Report, MeetError> {
        let mut tally = Tally::new();
        match self.peer {
            PeerRole::Device => self.check_server(&mut tally)?,
            PeerRole::Cpu | PeerRole::Memory => self.check_client(&mut tally)?,
        }
        let is_server = self.peer == PeerRole::Device;
        let could_break = |rule| match rule {
            Rule::AgreedLimits
            | Rule::RegisterOrder
            | Rule::TimeGoesOn
            | Rule::NoSuchPort
            | Rule::AttachFirst
            | Rule::StrangersAreCutOff
            | Rule::ByeOnViolation
            | Rule::PortsAreDistinct
            | Rule::RefusesVersion
            | Rule::WhoFirst
            | Rule::DrivenBySide => is_server,
            Rule::FreshId | Rule::InFlight => !is_server,
            Rule::MemoryKeeps => self.peer == PeerRole::Memory,
            _ => true,
        };
        Ok(tally.report("native", self.peer, self.place.address.to_string(), could_break))
    }

    fn hello(&self) -> Hello {
        let mut hello = Connection::hello(AGENT, None, TimeMode::Lockstep);
        if self.token.is_some() {
            hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
        }
        hello
    }

    fn connect(&self) -> Result<Wire, MeetError> {
        Wire::connect(&self.place.address, self.tls.as_ref(), self.timeout)
    }

    fn session(&self, wire: Wire, connection: Connection, tally: &mut Tally<Rule>) -> Session {
        let tally = std::mem::replace(tally, Tally::new());
        let (timeout, input) = (self.timeout, BytesMut::new());
        Session {
            wire,
            connection,
            input,
            tally,
            timeout,
            is_closed: false,
            token: self.token.clone(),
            place: self.place.address.clone(),
            withheld: None,
            register_time: Time::ZERO,
            model: Model::default(),
        }
    }

    // A server.

    fn check_server(&self, tally: &mut Tally<Rule>) -> Result<(), MeetError> {
        // Each in a session of its own, the ordinary one first.
        for script in [Session::be_a_client, Session::break_a_frame] {
            let wire = self.connect()?;
            let Ok(connection) = Connection::client(self.hello()) else { return Ok(()) };
            let mut session = self.session(wire, connection, tally);
            // How it ended is in the tally.
            let _ = script(&mut session, self.address);
            *tally = session.tally;
            if let Some(why) = session.withheld {
                return Err(why);
            }
        }
        let until = || Instant::now() + self.timeout;

        let mut wire = self.connect()?;
        wire.send(b"GET / HTTP/1.1\r\n\r\n", until());
        let is_closed = wire.is_closed_by(until());
        tally.judge(
            Rule::StrangersAreCutOff,
            is_closed,
            "the stream stays open behind `GET / HTTP/1.1`",
            &wire,
        );

        let hello = Hello { version_min: VERSION + 1, version_max: u16::MAX, ..self.hello() };
        if let Ok(connection) = Connection::client(hello) {
            // What else a welcome to it breaks is the same finding.
            let mut session = self.session(self.connect()?, connection, &mut Tally::new());
            let answer = session.event(until());
            let is_refused = matches!(&answer, Ok(Some(Event::Refused(refused))) if refused.code == ErrorCode::UnsupportedVersion);
            let what =
                format!("a hello of versions {} to {} is not refused with code 1", VERSION + 1, u16::MAX);
            tally.judge(Rule::RefusesVersion, is_refused, what, &session.wire);
        }
        self.check_driving(tally)
    }

    // A client.

    fn check_client(&self, tally: &mut Tally<Rule>) -> Result<(), MeetError> {
        let listener = Listener::bind(&self.place.address, self.insecure)?;
        let wire = listener.accept(self.timeout)?;
        let terms = Terms {
            // Files beside the stream, rings and clocks need a platform.
            capabilities: [Capabilities::WARNINGS, Capabilities::STEPPING, Capabilities::DEVICE]
                .into_iter()
                .fold(Capabilities::STROBES, Capabilities::union),
            ..Terms::default()
        };
        let mut session = self.session(wire, Connection::server(terms), tally);
        // How it ended is in the tally.
        let _ = session.be_a_server();
        *tally = session.tally;
        Ok(())
    }
}

/// The ports that the check's server has.
fn ports() -> Vec<Port> {
    let port = |name: &str, kind, roles: &[Role], base, size, width| Port {
        name: name.to_owned(),
        kind,
        roles: Roles::of(roles),
        base,
        size,
        width,
    };
    vec![
        port("csb0", PortKind::Csb, &[Role::Initiator], 0, 0x2_0000, 32),
        port("irq0", PortKind::Irq, &[Role::Sink], 0, 0, 1),
        port("dbb0", PortKind::Axi, &[Role::Initiator, Role::Target], MEMORY, 1 << 20, 64),
    ]
}

/// Address at which the memory of the check's server begins.
const MEMORY: u64 = 0x8000_0000;
/// Port of that memory.
const DBB: PortId = PortId(2);

impl Session {
    /// The next thing that comes by then.
    fn event(&mut self, until: Instant) -> Result<Option<Event>, Over> {
        loop {
            let output = self.connection.output().split();
            self.wire.send(&output, until);
            match self.connection.receive(&mut self.input) {
                Err(violation) => {
                    self.tally.broken(violation.rule(), violation, &self.wire);
                    // What tells the peer.
                    let parting = self.connection.output().split();
                    self.wire.send(&parting, until);
                    return Err(Over);
                }
                Ok(Some(event)) => {
                    self.count(&event);
                    return Ok(Some(event));
                }
                Ok(None) => {}
            }
            match self.wire.receive(&mut self.input, until) {
                WaitResult::Bytes => {}
                WaitResult::Nothing => return Ok(None),
                WaitResult::End => {
                    self.is_closed = true;
                    if !self.input.is_empty() {
                        let what = format!("the stream ends after {} bytes of a frame", self.input.len());
                        self.tally.broken(Rule::HeaderIsOneMessage, what, &self.wire);
                    }
                    return Err(Over);
                }
            }
        }
    }

    /// Notes which rules an event could have broken.
    fn count(&mut self, event: &Event) {
        self.tally.kept(&EACH_MESSAGE);
        self.tally.kept(match event {
            Event::Hello(_) => &[Rule::HelloFirst, Rule::Versions],
            Event::Refused(_) => &[Rule::HelloFirst],
            Event::Welcome(_) => &[Rule::HelloFirst, Rule::Versions, Rule::AgreedLimits],
            Event::Reply { .. } => &[
                Rule::MomentAndSide,
                Rule::ReplyToRequest,
                Rule::ReplyFits,
                Rule::PayloadFits,
                Rule::Answered,
            ],
            Event::Request { .. } => {
                &[Rule::MomentAndSide, Rule::FreshId, Rule::InFlight, Rule::Granted, Rule::PayloadFits]
            }
            Event::Posted { .. } | Event::Notice(_) | Event::Driven { .. } | Event::Promised(_) => {
                &[Rule::MomentAndSide, Rule::Granted, Rule::PayloadFits]
            }
            Event::Bye(_) => &[Rule::MomentAndSide],
        });
    }

    fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Waits for the replies to these requests: they are given in the order in which they came.
    fn replies(&mut self, mut open: Vec<RequestId>) -> Result<Vec<(Reply, Bytes)>, Over> {
        let until = self.until();
        let mut replies = Vec::new();
        while !open.is_empty() {
            match self.event(until) {
                Ok(Some(Event::Reply { id, reply, payload, time })) => {
                    open.retain(|of| *of != id);
                    if matches!(reply, Reply::Value { .. }) {
                        let what = format!("{} ps behind {} ps", time.as_ps(), self.register_time.as_ps());
                        let is_later = time >= self.register_time;
                        self.tally.judge(Rule::TimeGoesOn, is_later, what, &self.wire);
                        self.register_time = time;
                        self.tally.kept(&[Rule::RegisterOrder]);
                    }
                    replies.push((reply, payload));
                }
                Ok(Some(Event::Request { id, request, payload })) => self.answer(id, &request, &payload)?,
                Ok(Some(Event::Posted { posted, payload })) => self.model.posted(posted, &payload),
                Ok(Some(Event::Bye(bye))) => {
                    let what = format!("it says goodbye instead: {}", bye.reason);
                    self.tally.broken(Rule::Answered, what, &self.wire);
                    return Err(Over);
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    let what =
                        format!("no answer in {} s to {} requests", self.timeout.as_secs_f64(), open.len());
                    self.tally.broken(Rule::Answered, what, &self.wire);
                    return Err(Over);
                }
                Err(Over) => {
                    if self.is_closed {
                        let what = format!("the stream was closed, with {} requests unanswered", open.len());
                        self.tally.broken(Rule::Answered, what, &self.wire);
                    }
                    return Err(Over);
                }
            }
        }
        Ok(replies)
    }

    /// Does what the peer asks.
    fn answer(&mut self, id: RequestId, request: &Request, payload: &[u8]) -> Result<(), Over> {
        let (reply, payload) = self.model.answer(request, payload);
        self.connection.reply(id, self.model.time, reply, &payload[..]).map_err(|_| Over)
    }

    fn send(&mut self, request: Request, payload: &[u8]) -> Result<RequestId, Over> {
        // The caller's session is open, and few requests are under way.
        self.connection.request(request, payload).map_err(|_| Over)
    }

    fn ask(&mut self, request: Request, payload: &[u8]) -> Result<(Reply, Bytes), Over> {
        let id = self.send(request, payload)?;
        self.replies(vec![id])?.pop().ok_or(Over)
    }

    // To a server.

    fn welcome(&mut self) -> Result<Vec<Port>, Over> {
        match self.event(self.until()) {
            Ok(Some(Event::Welcome(welcome))) => {
                self.authenticate()?;
                Ok(welcome.ports)
            }
            Ok(Some(Event::Refused(refused))) => {
                let what = format!("a session is refused: {}", refused.reason);
                self.tally.broken(Rule::Answered, what, &self.wire);
                Err(Over)
            }
            Ok(_) => {
                self.tally.broken(Rule::HelloFirst, "no answer to a hello", &self.wire);
                Err(Over)
            }
            Err(Over) => {
                if self.is_closed {
                    self.tally.broken(Rule::HelloFirst, "the stream was closed behind a hello", &self.wire);
                }
                Err(Over)
            }
        }
    }

    /// Says who this is, if the server wants to know, is the one that is meant, and nobody on the way to it can read the token.
    fn authenticate(&mut self) -> Result<(), Over> {
        let is_wanted = self.connection.capabilities().contains(Capabilities::AUTHENTICATION);
        let Some(token) = self.token.clone().filter(|_| is_wanted) else { return Ok(()) };
        let address = self.place.clone();
        let withheld = match (self.wire.check_server(&address), self.wire.route().map(Route::check_private)) {
            (Ok(Ok(())), Ok(Ok(()))) => None,
            (Ok(Err(source)), _) => Some(MeetError::UntrustedServer { address, source }),
            (_, Ok(Err(source))) => Some(MeetError::TokenInClear { address, source }),
            (Err(error), _) | (_, Err(error)) => {
                self.tally.broken(Rule::Answered, format!("it went behind its welcome: {error}"), &self.wire);
                return Err(Over);
            }
        };
        if withheld.is_some() {
            self.withheld = withheld;
            return Err(Over);
        }
        self.judge_failure(Rule::WhoFirst, Request::Status, ErrorCode::NotAuthenticated)?;
        self.ask(Request::Ping, &[])?;
        match self.ask(Request::Authenticate { token }, &[])? {
            (Reply::Failed { reason, .. }, _) => {
                self.tally.broken(Rule::Answered, format!("the token is refused: {reason}"), &self.wire);
                Err(Over)
            }
            _ => Ok(()),
        }
    }

    /// Judges whether a request fails with that code, and the session goes on.
    fn judge_failure(&mut self, rule: Rule, request: Request, code: ErrorCode) -> Result<(), Over> {
        let (reply, _) = self.ask(request, &[])?;
        let is_right = matches!(&reply, Reply::Failed { code: of, .. } if *of == code);
        self.tally.judge(rule, is_right, format!("answered with {reply:?}"), &self.wire);
        Ok(())
    }

    fn be_a_client(&mut self, address: u64) -> Result<(), Over> {
        let ports = self.welcome()?;
        let names: HashSet<&str> = ports.iter().map(|port| port.name.as_str()).collect();
        let what = format!("{} ports have {} names", ports.len(), names.len());
        self.tally.judge(Rule::PortsAreDistinct, names.len() == ports.len(), what, &self.wire);
        self.ask(Request::Ping, &[])?;
        self.ask(Request::Status, &[])?;
        self.ask(Request::Statistics { prefix: String::new(), first: 0 }, &[])?;
        let read = |port| Request::RegisterRead(RegisterRead { port, address, at: None });
        let nowhere = PortId(u16::MAX);
        self.judge_failure(Rule::NoSuchPort, read(nowhere), ErrorCode::NoSuchPort)?;
        let port = ports.iter().position(|port| port.kind == PortKind::Csb);
        if let Some(port) = port.and_then(|port| u16::try_from(port).ok()).map(PortId) {
            self.judge_failure(Rule::AttachFirst, read(port), ErrorCode::NotAttached)?;
            self.ask(Request::Attach(Attach { port, role: Role::Initiator, range: None }), &[])?;
            let reads: Vec<RequestId> =
                (0..5).map(|_| self.send(read(port), &[])).collect::<Result<_, _>>()?;
            self.replies(reads)?;
            self.ask(Request::Detach { port }, &[])?;
        }
        // Attached or not, of a memory inside or none: it is answered.
        if let Some((port, base)) = ports
            .iter()
            .position(|port| port.kind == PortKind::Axi)
            .and_then(|place| Some((PortId(u16::try_from(place).ok()?), ports[place].base)))
        {
            self.ask(Request::Attach(Attach { port, role: Role::Initiator, range: None }), &[])?;
            self.ask(memory_read(port, base, BLOCK), &[])?;
        }
        self.ask(Request::Ping, &[])?;
        self.connection.bye(None, "done");
        let bye = self.connection.output().split();
        let until = self.until();
        self.wire.send(&bye, until);
        Ok(())
    }

    fn break_a_frame(&mut self, _: u64) -> Result<(), Over> {
        self.welcome()?;
        // A frame with flags, which version 1 has not.
        let until = self.until();
        self.wire.send(&[1, 0, 1, 0, 0, 0, 0, 0, 0], until);
        let told = loop {
            match self.event(until) {
                Ok(Some(Event::Bye(bye))) => break bye.code == Some(ErrorCode::Malformed),
                Ok(Some(_)) => {}
                // Another rule, which is another finding.
                Err(Over) if !self.is_closed => return Err(Over),
                Ok(None) | Err(Over) => break false,
            }
        };
        let is_closed = self.is_closed || self.wire.is_closed_by(until);
        let what = format!(
            "{}, and the stream {}",
            if told { "it says so" } else { "it does not say Bye with code 16" },
            if is_closed { "is closed" } else { "stays open" }
        );
        self.tally.judge(Rule::ByeOnViolation, told && is_closed, what, &self.wire);
        Ok(())
    }

    // To a client.

    fn be_a_server(&mut self) -> Result<(), Over> {
        let until = self.until();
        match self.event(until) {
            Ok(Some(Event::Hello(hello))) => {
                let offer = Offer {
                    agent: AGENT.to_owned(),
                    time_mode: hello.time_mode,
                    platform: "check".to_owned(),
                    ports: ports(),
                    // One that clients know; its registers are memory.
                    device: Some(Device {
                        kind: "nvdla".to_owned(),
                        compatible: vec!["nvidia,nv_small".to_owned()],
                        register_map: Some("nv_small".to_owned()),
                    }),
                    ..Offer::default()
                };
                self.connection.accept(offer).map_err(|_| Over)?;
            }
            Ok(_) => {
                let what = format!("none came in {} s", self.timeout.as_secs_f64());
                self.tally.broken(Rule::HelloFirst, what, &self.wire);
                return Err(Over);
            }
            Err(Over) => {
                if self.is_closed {
                    self.tally.broken(Rule::HelloFirst, "the stream was closed without one", &self.wire);
                }
                return Err(Over);
            }
        }
        self.serve()
    }

    /// Answers a client until it goes, or is silent. What has come together is answered together: an id that comes twice before
    /// its reply could be there has been used twice.
    fn serve(&mut self) -> Result<(), Over> {
        let mut waiting = Vec::new();
        loop {
            let until = if waiting.is_empty() { self.until() } else { Instant::now() };
            match self.event(until)? {
                Some(Event::Request { id, request, payload }) => waiting.push((id, request, payload)),
                Some(Event::Posted { posted, payload }) => self.model.posted(posted, &payload),
                Some(Event::Bye(_)) => return Ok(()),
                Some(_) => {}
                None if waiting.is_empty() => return Ok(()),
                None => {
                    let is_memory = waiting.iter().any(|(_, request, _)| {
                        matches!(request, Request::Attach(Attach { port: DBB, role: Role::Target, .. }))
                    });
                    for (id, request, payload) in waiting.drain(..) {
                        self.answer(id, &request, &payload)?;
                    }
                    if is_memory {
                        self.check_memory()?;
                    }
                }
            }
        }
    }

    fn check_memory(&mut self) -> Result<(), Over> {
        let (before, data) = self.ask(memory_read(DBB, MEMORY, BLOCK), &[])?;
        // A memory may have nothing there.
        if matches!(before, Reply::Failed { .. }) {
            return Ok(());
        }
        let expected: Vec<u8> = data.iter().map(|byte| byte ^ 0xa5).collect();
        self.ask(memory_write(false), &expected)?;
        // Strobes of no byte: nothing changes.
        let mut nothing = vec![0x11; BLOCK as usize];
        nothing.extend_from_slice(&[0; BLOCK as usize / 8]);
        // A client without strobes is not asked.
        if let Ok(id) = self.connection.request(memory_write(true), &nothing[..]) {
            self.replies(vec![id])?;
        }
        let (_, after) = self.ask(memory_read(DBB, MEMORY, BLOCK), &[])?;
        let what = format!("{BLOCK} bytes at {MEMORY:#x} are not what was written there");
        self.tally.judge(Rule::MemoryKeeps, after[..] == expected[..], what, &self.wire);
        self.ask(memory_write(false), &data)?;
        Ok(())
    }
}

fn memory_read(port: PortId, address: u64, length: u32) -> Request {
    let (access, axi_id, at) = (AccessKind::Debug, 0, None);
    Request::MemoryRead(MemoryRead { port, address, length, access, axi_id, at })
}

fn memory_write(strobes: bool) -> Request {
    let (access, axi_id, at) = (AccessKind::Debug, 0, None);
    let (address, length) = (MEMORY, BLOCK);
    Request::MemoryWrite(MemoryWrite { port: DBB, address, length, access, axi_id, strobes, at })
}

/// Registers and memory that keep what is written: what the check is to a client.
#[derive(Default)]
struct Model {
    time: Time,
    registers: BTreeMap<u64, u32>,
    memory: BTreeMap<u64, u8>,
}

impl Model {
    fn write_memory(&mut self, write: &MemoryWrite, payload: &[u8]) {
        let (data, strobes) = payload.split_at((write.length as usize).min(payload.len()));
        for (at, byte) in data.iter().enumerate() {
            if !write.strobes || strobes.get(at / 8).is_some_and(|bits| bits >> (at % 8) & 1 == 1) {
                self.memory.insert(write.address.wrapping_add(at as u64), *byte);
            }
        }
    }

    fn posted(&mut self, posted: Posted, payload: &[u8]) {
        match posted {
            Posted::RegisterWrite(write) => {
                self.registers.insert(write.address, write.value);
            }
            Posted::MemoryWrite(write) => self.write_memory(&write, payload),
        }
    }

    fn answer(&mut self, request: &Request, payload: &[u8]) -> (Reply, Vec<u8>) {
        // Everything takes a nanosecond.
        self.time += Time::ns(1);
        let reply = match request {
            Request::Ping => Reply::Pong,
            Request::RegisterRead(read) => {
                Reply::Value { value: self.registers.get(&read.address).copied().unwrap_or(0) }
            }
            Request::RegisterWrite(write) => {
                self.registers.insert(write.address, write.value);
                Reply::Done
            }
            Request::MemoryRead(read) => {
                let byte = |at: u64| self.memory.get(&read.address.wrapping_add(at)).copied().unwrap_or(0);
                return (Reply::Data, (0..u64::from(read.length)).map(byte).collect());
            }
            Request::MemoryWrite(write) => {
                self.write_memory(write, payload);
                Reply::Done
            }
            Request::Attach(_) | Request::Detach { .. } | Request::Reset => Reply::Done,
            Request::Advance { .. } => Reply::Reached { why: Why::Time },
            Request::Step { .. } => Reply::Stepped { next: None },
            _ => Reply::Failed {
                code: ErrorCode::Unsupported,
                reason: "this is a check, and no platform".to_owned(),
            },
        };
        (reply, Vec::new())
    }
}
