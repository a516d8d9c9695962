//! One session, seen from one side: handshake, ids, order, limits. No socket and no clock.
//!
//! Who owns a socket owns a [`Connection`] beside it, feeds it what it reads and writes what it finds in
//! [`output`](Connection::output):
//!
//! ```
//! use bytes::BytesMut;
//! use vp_protocols::native::*;
//!
//! let hello = Connection::hello("example 1.0", None, TimeMode::Lockstep);
//! let mut client = Connection::client(hello)?;
//! let mut server = Connection::server(Terms::default());
//!
//! // What a socket would do: everything written here is read there.
//! let mut wire: BytesMut = client.output().split();
//! let Some(Event::Hello(hello)) = server.receive(&mut wire)? else { panic!() };
//! assert_eq!(hello.agent, "example 1.0");
//! server.accept(Offer { agent: "vp 0.1.0".into(), session: SessionId(1), ..Offer::default() })?;
//!
//! let mut wire = server.output().split();
//! let Some(Event::Welcome(_)) = client.receive(&mut wire)? else { panic!() };
//! let read = RegisterRead { port: PortId(0), address: 0x0, at: None };
//! let id = client.request(Request::RegisterRead(read), &[])?;
//!
//! let mut wire = client.output().split();
//! let Some(Event::Request { id: asked, .. }) = server.receive(&mut wire)? else { panic!() };
//! server.reply(asked, Time(8_000), Reply::Value { value: 0x3231_3030 }, &[])?;
//! # let mut wire = server.output().split();
//! # assert!(matches!(client.receive(&mut wire)?, Some(Event::Reply { id: answered, .. }) if answered == id));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The caller bounds what a peer can make it hold: it takes events one at a time, none while the connection
//! [is backlogged](Connection::is_backlogged), and reads more only when the last [`receive`](Connection::receive) gave
//! `None`.
//!
//! A peer that breaks a rule ends the session: [`receive`](Connection::receive) says which rule, and the parting frame that
//! tells the peer is already in the output. What ports and roles allow is not judged here; that takes a platform.

use bytes::{Bytes, BytesMut};
use thiserror::Error;

use super::ledger::Ledger;
use super::{
    Breach, Bye, Capabilities, DEFAULT_MAX_IN_FLIGHT, DEFAULT_MAX_PAYLOAD, Decoder, EmitError, ErrorCode,
    Frame, HARD_MAX_IN_FLIGHT, HARD_MAX_PAYLOAD, Hello, MIN_MAX_PAYLOAD, Magic, Malformed, Message, Notice,
    Phase, Port, Posted, Refused, Reply, Request, RequestId, Rule, SessionId, Time, TimeMode, VERSION,
    Welcome, emit,
};

/// What a server can bear, before it knows who comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// What it can do beyond the bare protocol.
    pub capabilities: Capabilities,
    /// Longest payload it takes, in bytes.
    pub max_payload: u32,
    /// Most unanswered requests in one direction.
    pub max_in_flight: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            capabilities: Capabilities::ALL,
            max_payload: DEFAULT_MAX_PAYLOAD,
            max_in_flight: DEFAULT_MAX_IN_FLIGHT,
        }
    }
}

/// What a server adds to the negotiated terms to make a [`Welcome`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Program and version.
    pub agent: String,
    /// The time mode granted.
    pub time_mode: TimeMode,
    /// Simulated time now.
    pub time: Time,
    /// The platform's name.
    pub platform: String,
    /// The session's name.
    pub session: SessionId,
    /// The platform's ports.
    pub ports: Vec<Port>,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            agent: String::new(),
            time_mode: TimeMode::Lockstep,
            time: Time(0),
            platform: String::new(),
            session: SessionId(0),
            ports: Vec::new(),
        }
    }
}

/// What came in.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Server: a client wants in. Answer with [`Connection::accept`] or [`Connection::refuse`]; until then nothing else
    /// is read.
    Hello(Hello),
    /// Client: the session is open.
    Welcome(Welcome),
    /// Client: there will be no session. The connection is closed.
    Refused(Refused),
    /// Answer with [`Connection::reply`].
    Request {
        /// For the reply.
        id: RequestId,
        /// What to do.
        request: Request,
        /// Data of a memory write; else empty.
        payload: Bytes,
    },
    /// Do it; do not answer.
    Posted {
        /// What to do.
        posted: Posted,
        /// Data of a memory write; else empty.
        payload: Bytes,
    },
    /// The answer to [`Connection::request`].
    Reply {
        /// The request's.
        id: RequestId,
        /// When the request took effect.
        time: Time,
        /// The answer, of the kind the request asks for or [`Reply::Failed`].
        reply: Reply,
        /// Data of a memory read, as much as was asked for, or counters; else empty.
        payload: Bytes,
    },
    /// Something happened.
    Notice(Notice),
    /// The peer has ended the session. The connection is closed.
    Bye(Bye),
}

/// A rule that the peer broke. The session is over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    /// Bytes that are no frame.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// No version in common.
    #[error("peer speaks versions {min} to {max}, not {VERSION}")]
    Version {
        /// The peer's lowest.
        min: u16,
        /// The peer's highest.
        max: u16,
    },
    /// A limit that cannot be worked with, or that goes beyond what was offered.
    #[error("{field} of {value}; must be {low} to {high}")]
    Limit {
        /// `max_payload` or `max_in_flight`.
        field: &'static str,
        /// As found.
        value: u32,
        /// Least that would do.
        low: u32,
        /// Most that would do.
        high: u32,
    },
    /// A message at the wrong moment, or in the wrong direction.
    #[error("{message} is not for a {recipient} {moment}")]
    Unexpected {
        /// The message's name.
        message: &'static str,
        /// `client` or `server`.
        recipient: &'static str,
        /// In which state the session was.
        moment: &'static str,
    },
    /// A rule about requests and replies.
    #[error(transparent)]
    Breach(#[from] Breach),
    /// A capability that was not granted.
    #[error("{message} needs a capability that was not granted")]
    NotGranted {
        /// The message's name.
        message: &'static str,
    },
}

impl Violation {
    /// The code that tells the peer.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed(_) => ErrorCode::Malformed,
            Self::Version { .. } => ErrorCode::UnsupportedVersion,
            Self::Limit { .. } => ErrorCode::BadLimits,
            Self::Unexpected { .. } => ErrorCode::UnexpectedMessage,
            Self::NotGranted { .. } => ErrorCode::NotGranted,
            Self::Breach(breach) => match breach {
                Breach::DuplicateId { .. } => ErrorCode::DuplicateId,
                Breach::TooManyInFlight { .. } => ErrorCode::TooManyInFlight,
                Breach::UnknownId { .. } => ErrorCode::UnknownId,
                Breach::WrongReply { .. } | Breach::WrongLength { .. } => ErrorCode::ReplyMismatch,
                Breach::OutOfOrder { .. } => ErrorCode::ReplyOutOfOrder,
            },
        }
    }
}

/// Something that cannot be sent. Nothing was; the session is as it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SendError {
    /// A rule about requests and replies. [`Breach::TooManyInFlight`] is back-pressure: try again after a reply.
    #[error(transparent)]
    Breach(#[from] Breach),
    /// It makes no frame.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The session is not, or no longer, in a state to send it.
    #[error("cannot send {message} {moment}")]
    NotNow {
        /// What was to be sent.
        message: &'static str,
        /// In which state the session is.
        moment: &'static str,
    },
    /// The other side sends these.
    #[error("a {sender} never sends {message}")]
    WrongSide {
        /// What was to be sent.
        message: &'static str,
        /// `client` or `server`.
        sender: &'static str,
    },
    /// A capability that was not granted.
    #[error("{message} needs a capability that was not granted")]
    NotGranted {
        /// What was to be sent.
        message: &'static str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

#[derive(Debug)]
enum State {
    /// Server: nobody has come.
    AwaitingHello(Terms),
    /// Server: somebody waits for an answer.
    Deciding(Terms, Hello),
    /// Client: waits for an answer.
    AwaitingWelcome(Hello),
    Open(Session),
    Closed,
}

impl State {
    fn moment(&self) -> &'static str {
        match self {
            Self::AwaitingHello(_) => "before the hello",
            Self::Deciding(..) => "before the welcome is sent",
            Self::AwaitingWelcome(_) => "before the welcome",
            Self::Open(_) => "in an open session",
            Self::Closed => "after the end of the session",
        }
    }
}

/// What an open session knows.
#[derive(Debug)]
struct Session {
    capabilities: Capabilities,
    max_payload: u32,
    asked: Ledger,
    to_answer: Ledger,
    next_id: u32,
}

impl Session {
    fn new(welcome: &Welcome) -> Self {
        Self {
            capabilities: welcome.capabilities,
            max_payload: welcome.max_payload,
            asked: Ledger::new(welcome.max_in_flight),
            to_answer: Ledger::new(welcome.max_in_flight),
            next_id: 0,
        }
    }

    /// The next id that is free. The ledger has room, so that one is near.
    fn free_id(&mut self) -> RequestId {
        loop {
            let id = RequestId(self.next_id);
            self.next_id = self.next_id.wrapping_add(1);
            if !self.asked.contains(id) {
                return id;
            }
        }
    }

    fn grants(&self, message: &Message) -> bool {
        let needed = match message {
            Message::Notice(Notice::Warning { .. }) => Capabilities::WARNINGS,
            _ if message.memory_write().is_some_and(|write| write.strobes) => Capabilities::STROBES,
            _ => Capabilities::NONE,
        };
        self.capabilities.contains(needed)
    }
}

/// One side of one session.
#[derive(Debug)]
pub struct Connection {
    side: Side,
    state: State,
    decoder: Decoder,
    output: BytesMut,
}

impl Connection {
    /// A hello with this crate's version, all its capabilities and the default limits.
    pub fn hello(agent: &str, platform: Option<&str>, time_mode: TimeMode) -> Hello {
        Hello {
            magic: Magic,
            version_min: VERSION,
            version_max: VERSION,
            agent: agent.into(),
            capabilities: Capabilities::ALL,
            max_payload: DEFAULT_MAX_PAYLOAD,
            max_in_flight: DEFAULT_MAX_IN_FLIGHT,
            platform: platform.map(Into::into),
            time_mode,
        }
    }

    /// A client; its hello is in the output.
    ///
    /// # Errors
    /// [`SendError::Emit`] when agent and platform name are too long.
    pub fn client(hello: Hello) -> Result<Self, SendError> {
        let mut output = BytesMut::new();
        emit(&Message::Hello(hello.clone()), &[], &mut output)?;
        let state = State::AwaitingWelcome(hello);
        Ok(Self { side: Side::Client, state, decoder: Decoder::new(Phase::Welcome), output })
    }

    /// A server that waits for a hello.
    pub fn server(terms: Terms) -> Self {
        let state = State::AwaitingHello(terms);
        Self { side: Side::Server, state, decoder: Decoder::new(Phase::Hello), output: BytesMut::new() }
    }

    /// Bytes to be written to the peer. The caller takes them off the front as the socket takes them; how many wait here is
    /// how far the peer lags behind.
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// Whether the peer lags behind by more than the longest payload. Take no more events until it has caught up: each may
    /// cause a reply, and a peer that asks without reading would fill our memory with them.
    pub fn is_backlogged(&self) -> bool {
        self.output.len() > self.max_payload().max(MIN_MAX_PAYLOAD) as usize
    }

    /// Whether the session is open.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether the session is over. What is still in the output should be written, then the stream closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Requests of ours without a reply.
    pub fn in_flight(&self) -> usize {
        self.session().map_or(0, |session| session.asked.in_flight())
    }

    /// Requests of the peer's that we have not answered.
    pub fn to_answer(&self) -> usize {
        self.session().map_or(0, |session| session.to_answer.in_flight())
    }

    /// Agreed payload limit in bytes; 0 when no session is open.
    pub fn max_payload(&self) -> u32 {
        self.session().map_or(0, |session| session.max_payload)
    }

    /// Agreed capabilities; none when no session is open.
    pub fn capabilities(&self) -> Capabilities {
        self.session().map_or(Capabilities::NONE, |session| session.capabilities)
    }

    fn session(&self) -> Option<&Session> {
        match &self.state {
            State::Open(session) => Some(session),
            _ => None,
        }
    }

    /// Takes the next event off the front of `input`. `Ok(None)`: more bytes are needed, or a hello waits to be answered; in
    /// that case read nothing more into `input` before it is. After the end of the session input is thrown away.
    ///
    /// # Errors
    /// [`Violation`]: the peer broke a rule. The session is over, and the output tells the peer why.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event>, Violation> {
        match self.state {
            State::Deciding(..) => return Ok(None),
            State::Closed => {
                input.clear();
                return Ok(None);
            }
            _ => (),
        }
        self.take(input).inspect_err(|violation| self.part(Some(violation.code()), violation.to_string()))
    }

    fn take(&mut self, input: &mut BytesMut) -> Result<Option<Event>, Violation> {
        let Some(Frame { message, payload }) = self.decoder.decode(input)? else { return Ok(None) };
        let unexpected = Violation::Unexpected {
            message: message.name(),
            recipient: self.side.name(),
            moment: self.state.moment(),
        };
        if self.session().is_some_and(|session| !session.grants(&message)) {
            return Err(Violation::NotGranted { message: message.name() });
        }
        let event = match (&mut self.state, message) {
            (State::AwaitingHello(terms), Message::Hello(hello)) => {
                check_hello(&hello)?;
                self.state = State::Deciding(*terms, hello.clone());
                Event::Hello(hello)
            }
            (State::AwaitingWelcome(hello), Message::Welcome(welcome)) => {
                check_welcome(&welcome, hello)?;
                self.open(&welcome);
                Event::Welcome(welcome)
            }
            (State::AwaitingWelcome(_), Message::Refused(refused)) => {
                self.state = State::Closed;
                Event::Refused(refused)
            }
            (State::Open(_), Message::Bye(bye)) => {
                self.state = State::Closed;
                Event::Bye(bye)
            }
            (State::Open(session), Message::Request { id, request })
                if self.side == Side::Server || !request.is_clients_only() =>
            {
                session.to_answer.open(id, &request)?;
                Event::Request { id, request, payload }
            }
            (State::Open(session), Message::Reply { id, time, reply }) => {
                session.asked.judge(id, &reply, payload.len())?;
                session.asked.close(id);
                Event::Reply { id, time, reply, payload }
            }
            (State::Open(_), Message::Posted(posted)) => Event::Posted { posted, payload },
            (State::Open(_), Message::Notice(notice))
                if self.side == Side::Client || matches!(notice, Notice::Interrupt { .. }) =>
            {
                Event::Notice(notice)
            }
            _ => return Err(unexpected),
        };
        Ok(Some(event))
    }

    fn open(&mut self, welcome: &Welcome) {
        self.decoder.set_phase(Phase::Session { max_payload: welcome.max_payload });
        self.state = State::Open(Session::new(welcome));
    }

    /// Server: opens the session that the hello asked for. Gives the welcome as sent.
    ///
    /// # Errors
    /// [`SendError::NotNow`] without a hello to answer, [`SendError::Emit`] when the ports do not fit a header.
    pub fn accept(&mut self, offer: Offer) -> Result<Welcome, SendError> {
        let State::Deciding(terms, hello) = &self.state else { return Err(self.not_now("Welcome")) };
        let welcome = Welcome {
            version: VERSION,
            agent: offer.agent,
            capabilities: terms.capabilities.intersection(hello.capabilities),
            max_payload: terms.max_payload.min(hello.max_payload).clamp(MIN_MAX_PAYLOAD, HARD_MAX_PAYLOAD),
            max_in_flight: terms.max_in_flight.min(hello.max_in_flight).clamp(1, HARD_MAX_IN_FLIGHT),
            time_mode: offer.time_mode,
            time_resolution: 1,
            time: offer.time,
            platform: offer.platform,
            session: offer.session,
            ports: offer.ports,
        };
        emit(&Message::Welcome(welcome.clone()), &[], &mut self.output)?;
        self.open(&welcome);
        Ok(welcome)
    }

    /// Server: turns the client away and closes the connection. Does nothing once the session is open.
    pub fn refuse(&mut self, code: ErrorCode, reason: impl Into<String>) {
        if self.side == Side::Server && !self.is_open() {
            self.part(Some(code), reason.into());
        }
    }

    /// Sends a request, and gives the id that its reply will have.
    ///
    /// # Errors
    /// [`Breach::TooManyInFlight`] is back-pressure. Others are the caller's mistakes.
    pub fn request(&mut self, request: Request, payload: &[u8]) -> Result<RequestId, SendError> {
        if self.side == Side::Server && request.is_clients_only() {
            return Err(SendError::WrongSide { message: request.name(), sender: self.side.name() });
        }
        let State::Open(session) = &mut self.state else { return Err(self.not_now(request.name())) };
        session.asked.has_room()?;
        let id = session.free_id();
        let message = Message::Request { id, request };
        send(session, &message, payload, &mut self.output)?;
        if let Message::Request { request, .. } = &message {
            session.asked.open(id, request)?;
        }
        Ok(id)
    }

    /// Answers a request of the peer's. `time` is the simulated time at which the request took effect.
    ///
    /// # Errors
    /// [`Breach`] when there is no such request, when the reply does not fit it, or when an earlier register request of the
    /// same port is still to be answered.
    pub fn reply(
        &mut self,
        id: RequestId,
        time: Time,
        reply: Reply,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let State::Open(session) = &mut self.state else { return Err(self.not_now(reply.name())) };
        session.to_answer.judge(id, &reply, payload.len())?;
        let mut message = Message::Reply { id, time, reply };
        message.cut_text();
        send(session, &message, payload, &mut self.output)?;
        session.to_answer.close(id);
        Ok(())
    }

    /// Sends a write that will not be answered.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn post(&mut self, posted: Posted, payload: &[u8]) -> Result<(), SendError> {
        self.send_plain(Message::Posted(posted), payload)
    }

    /// Tells the peer that something happened. A warning that the peer does not want is quietly left out.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn notify(&mut self, notice: Notice) -> Result<(), SendError> {
        if let Notice::Warning { .. } = notice {
            if self.side == Side::Client {
                return Err(SendError::WrongSide { message: "Warning", sender: self.side.name() });
            }
            if self.is_open() && !self.capabilities().contains(Capabilities::WARNINGS) {
                return Ok(());
            }
        }
        self.send_plain(Message::Notice(notice), &[])
    }

    fn send_plain(&mut self, mut message: Message, payload: &[u8]) -> Result<(), SendError> {
        let State::Open(session) = &mut self.state else { return Err(self.not_now(message.name())) };
        message.cut_text();
        send(session, &message, payload, &mut self.output)
    }

    /// Ends the session, and says why: `None` when all is well. Does nothing when it is over already.
    pub fn bye(&mut self, code: Option<ErrorCode>, reason: impl Into<String>) {
        self.part(code, reason.into());
    }

    /// The last frame, of the kind that the session's state calls for; then closes.
    fn part(&mut self, code: Option<ErrorCode>, reason: String) {
        let mut message = match (self.side, &self.state) {
            (_, State::Open(_)) => Message::Bye(Bye { code, reason }),
            (Side::Server, State::AwaitingHello(_) | State::Deciding(..)) => {
                Message::Refused(Refused { code: code.unwrap_or(ErrorCode::ShuttingDown), reason })
            }
            // A client without a session has nothing to say that a server would read.
            _ => {
                self.state = State::Closed;
                return;
            }
        };
        message.cut_text();
        let sent = emit(&message, &[], &mut self.output);
        debug_assert_eq!(sent, Ok(()), "the text was cut to fit");
        self.state = State::Closed;
    }

    fn not_now(&self, message: &'static str) -> SendError {
        SendError::NotNow { message, moment: self.state.moment() }
    }
}

fn send(
    session: &Session,
    message: &Message,
    payload: &[u8],
    output: &mut BytesMut,
) -> Result<(), SendError> {
    if !session.grants(message) {
        return Err(SendError::NotGranted { message: message.name() });
    }
    let length = payload.len() as u64;
    let limit = session.max_payload;
    let fits = match length > u64::from(limit) {
        true => Err(Rule::PayloadTooLong { length, limit }),
        false => message.check(payload, limit),
    };
    fits.map_err(|rule| EmitError { message: message.name(), rule })?;
    Ok(emit(message, payload, output)?)
}

fn check_hello(hello: &Hello) -> Result<(), Violation> {
    if !(hello.version_min..=hello.version_max).contains(&VERSION) {
        return Err(Violation::Version { min: hello.version_min, max: hello.version_max });
    }
    let limit = |field, value, low| match value < low {
        true => Err(Violation::Limit { field, value, low, high: u32::MAX }),
        false => Ok(()),
    };
    limit("max_payload", hello.max_payload, MIN_MAX_PAYLOAD)?;
    limit("max_in_flight", hello.max_in_flight, 1)
}

fn check_welcome(welcome: &Welcome, hello: &Hello) -> Result<(), Violation> {
    if welcome.version != VERSION {
        return Err(Violation::Version { min: welcome.version, max: welcome.version });
    }
    if !hello.capabilities.contains(welcome.capabilities) {
        return Err(Violation::NotGranted { message: "Welcome" });
    }
    let limit = |field, value, low, high| match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(Violation::Limit { field, value, low, high }),
    };
    limit("max_payload", welcome.max_payload, MIN_MAX_PAYLOAD, hello.max_payload.min(HARD_MAX_PAYLOAD))?;
    limit("max_in_flight", welcome.max_in_flight, 1, hello.max_in_flight.min(HARD_MAX_IN_FLIGHT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{
        Access, MAX_TEXT, MemoryRead, MemoryWrite, PortId, RegisterRead, RegisterWrite, Until,
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
        let (access, axi_id) = (Access::Timed, 0);
        Request::MemoryRead(MemoryRead { port: PORT, address: 0, length, access, axi_id, at: None })
    }

    fn memory_write(length: u32, strobes: bool) -> MemoryWrite {
        MemoryWrite { port: PORT, address: 0, length, access: Access::Timed, axi_id: 0, strobes, at: None }
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
        assert!(matches!(
            event,
            Ok(Some(Event::Refused(Refused { code: ErrorCode::UnsupportedVersion, .. })))
        ));
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
        let refused = force(&mut client, &Message::Welcome(too_much), &[]);
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
        client.reply(asked_back, Time(0), Reply::Pong, &[]).unwrap();
        server.reply(asked, Time(0), Reply::Pong, &[]).unwrap();
        assert!(matches!(pass(&mut client, &mut server), Ok(Some(Event::Reply { .. }))));
        assert!(matches!(pass(&mut server, &mut client), Ok(Some(Event::Reply { .. }))));
        assert_eq!((client.in_flight(), client.to_answer(), server.to_answer()), (0, 0, 0));
    }

    #[test]
    fn ids_still_in_flight_are_skipped_when_numbers_wrap() {
        let (mut client, _) = open();
        let first = client.request(Request::Ping, &[]).unwrap();
        let State::Open(session) = &mut client.state else { panic!() };
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
        server.reply(first, Time(0), Reply::Pong, &[]).unwrap();
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
        assert_eq!(server.reply(id, Time(0), Reply::Done, &[]), Err(SendError::Breach(nobody)));
        let reply = Message::Reply { id, time: Time(0), reply: Reply::Done };
        assert_eq!(force(&mut client, &reply, &[]), breach(nobody));
    }

    #[test]
    fn refuses_a_reply_of_the_wrong_kind_or_length() {
        let (mut client, mut server) = open();
        let id = client.request(memory_read(4), &[]).unwrap();
        pass(&mut client, &mut server).unwrap();
        let kind = Breach::WrongReply { id, request: "MemoryRead", reply: "Done" };
        assert_eq!(server.reply(id, Time(0), Reply::Done, &[]), Err(SendError::Breach(kind)));
        let length = Breach::WrongLength { id, length: 3, asked: 4 };
        assert_eq!(server.reply(id, Time(0), Reply::Data, &[0; 3]), Err(SendError::Breach(length)));
        server.reply(id, Time(0), Reply::Data, &[0; 4]).unwrap();
        let short = Message::Reply { id, time: Time(0), reply: Reply::Data };
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
        server.reply(memory, Time(1), Reply::Data, &[0]).unwrap();
        assert_eq!(server.reply(second, Time(1), value(2), &[]), Err(SendError::Breach(order)));
        server.reply(first, Time(1), value(1), &[]).unwrap();
        server.reply(second, Time(2), value(2), &[]).unwrap();

        let mut wire = server.output().split();
        assert!(matches!(client.receive(&mut wire), Ok(Some(Event::Reply { id, .. })) if id == memory));
        let early = Message::Reply { id: second, time: Time(1), reply: value(2) };
        assert_eq!(force(&mut client, &early, &[]), breach(order));
    }

    #[test]
    fn any_request_may_fail() {
        let (mut client, mut server) = open();
        let id = client.request(Request::Advance { until: Until::Idle }, &[]).unwrap();
        pass(&mut client, &mut server).unwrap();
        let failed =
            Reply::Failed { code: ErrorCode::WrongTimeMode, reason: "the platform runs free".into() };
        server.reply(id, Time(0), failed.clone(), &[]).unwrap();
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
        server.output().clear();
        server.notify(Notice::Warning { time: Time(0), text: "careful".into() }).unwrap();
        assert!(server.output().is_empty());
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
            server.reply(id, Time(0), Reply::Data, &[0; 8 << 10]).unwrap();
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
        let told = Decoder::new(Phase::Welcome).decode(server.output()).unwrap().unwrap().message;
        assert!(matches!(told, Message::Refused(Refused { code: ErrorCode::Malformed, .. })));
    }
}
