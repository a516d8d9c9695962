//! One session, seen from one side: handshake, ids, order, limits. No socket and no clock.
//!
//! The owner of a socket keeps a [`Connection`] beside it, feeds it what it reads, and writes what it finds in
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
//! server.reply(asked, Time::ps(8_000), Reply::Value { value: 0x3231_3030 }, &[])?;
//! # let mut wire = server.output().split();
//! # assert!(matches!(client.receive(&mut wire)?, Some(Event::Reply { id: answered, .. }) if answered == id));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The caller bounds what a peer can make it store: it takes events one at a time, takes none while the
//! connection [is backlogged](Connection::is_backlogged), and reads more only when the last
//! [`receive`](Connection::receive) gave `None`.
//!
//! A peer that breaks a rule ends the session: [`receive`](Connection::receive) says which rule, and the last
//! frame, which tells the peer, is already in the output. Rules of ports and roles are not checked here; that
//! takes a platform.

use bytes::{Bytes, BytesMut};
use thiserror::Error;

use super::ledger::Ledger;
use super::{
    Breach, Bye, Capabilities, DEFAULT_MAX_IN_FLIGHT, DEFAULT_MAX_PAYLOAD, Decoder, Device, Driven,
    EmitError, ErrorCode, Frame, FrameRule, HARD_MAX_IN_FLIGHT, HARD_MAX_PAYLOAD, Hello, MIN_MAX_PAYLOAD,
    Magic, Malformed, Message, Notice, Phase, Port, Posted, Promised, Refused, Reply, Request, RequestId,
    SessionId, Time, TimeMode, VERSION, Welcome, emit, emit_header,
    output::{Output, Payload},
    printable,
};

/// A server's limits and capabilities, before it knows the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Capabilities of the server beyond the basic protocol.
    pub capabilities: Capabilities,
    /// Longest payload it takes, in bytes.
    pub max_payload: u32,
    /// Most unanswered requests in one direction.
    pub max_in_flight: u32,
}

impl Terms {
    /// The limits of both sides together: the terms of a session with a client that sends this hello.
    pub fn agreed(self, hello: &Hello) -> Self {
        Self {
            capabilities: self.capabilities.intersection(hello.capabilities),
            max_payload: self.max_payload.min(hello.max_payload).clamp(MIN_MAX_PAYLOAD, HARD_MAX_PAYLOAD),
            max_in_flight: self.max_in_flight.min(hello.max_in_flight).clamp(1, HARD_MAX_IN_FLIGHT),
        }
    }
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

/// Parts that a server adds to the negotiated terms to make a [`Welcome`].
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
    /// The platform's device, for clients that support [`Capabilities::DEVICE`]. Without it no client is
    /// granted that capability.
    pub device: Option<Device>,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            agent: String::new(),
            time_mode: TimeMode::Lockstep,
            time: Time::ZERO,
            platform: String::new(),
            session: SessionId(0),
            ports: Vec::new(),
            device: None,
        }
    }
}

/// Event that came in.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Server: a client wants to open a session. Answer with [`Connection::accept`] or [`Connection::refuse`];
    /// until then nothing else is read.
    Hello(Box<Hello>),
    /// Client: the session is open.
    Welcome(Box<Welcome>),
    /// Client: there will be no session. The connection is closed.
    Refused(Refused),
    /// Answer with [`Connection::reply`].
    Request {
        /// Number of the request, for the reply.
        id: RequestId,
        /// Request to carry out.
        request: Request,
        /// Data of a memory write; otherwise empty.
        payload: Bytes,
    },
    /// Do it; do not answer.
    Posted {
        /// Request to carry out.
        posted: Posted,
        /// Data of a memory write; otherwise empty.
        payload: Bytes,
    },
    /// The answer to [`Connection::request`].
    Reply {
        /// The request's.
        id: RequestId,
        /// Simulated time at which the request took effect.
        time: Time,
        /// The answer, of the kind the request asks for or [`Reply::Failed`].
        reply: Reply,
        /// Data of a memory read, as much as was requested, or counters; otherwise empty.
        payload: Bytes,
    },
    /// Something happened.
    Notice(Notice),
    /// The other side of a timed port drives something.
    Driven {
        /// Event, with its port and the time from which on it holds.
        driven: Driven,
        /// The bytes of a beat of data; otherwise empty.
        payload: Bytes,
    },
    /// The other side of timed ports makes a promise.
    Promised(Promised),
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
    /// A limit that is too small to work with, or larger than the offered one.
    #[error("{field} of {value}; must be {low} to {high}")]
    Limit {
        /// `max_payload` or `max_in_flight`.
        field: &'static str,
        /// Value that was found.
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
        /// State in which the session was.
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

/// The message cannot be sent. Nothing was sent; the session is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SendError {
    /// A rule about requests and replies. [`Breach::TooManyInFlight`] is back-pressure: try again after a reply.
    #[error(transparent)]
    Breach(#[from] Breach),
    /// The message makes no frame.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The state of the session does not, or no longer, allow to send it.
    #[error("cannot send {message} {moment}")]
    NotNow {
        /// Message that was to be sent.
        message: &'static str,
        /// State in which the session is.
        moment: &'static str,
    },
    /// The other side sends these.
    #[error("a {sender} never sends {message}")]
    WrongSide {
        /// Message that was to be sent.
        message: &'static str,
        /// `client` or `server`.
        sender: &'static str,
    },
    /// A capability that was not granted.
    #[error("{message} needs a capability that was not granted")]
    NotGranted {
        /// Message that was to be sent.
        message: &'static str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionSide {
    Client,
    Server,
}

impl ConnectionSide {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

#[derive(Debug)]
enum ConnectionState {
    /// Server: no hello has come yet.
    AwaitingHello(Terms),
    /// Server: a hello waits for an answer.
    Deciding(Terms, Hello),
    /// Client: waits for an answer.
    AwaitingWelcome(Hello),
    Open(Session),
    Closed,
}

impl ConnectionState {
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

/// State of an open session.
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
            Message::Notice(Notice::MarkedWarning { .. }) => {
                Capabilities::WARNINGS.union(Capabilities::WARNING_MARKS)
            }
            Message::Request { request: Request::ShareMemory(_), .. } => Capabilities::SHARED_MEMORY,
            Message::Request { request: Request::OpenRing(_), .. } => Capabilities::REGISTER_RING,
            Message::Request { request: Request::Step { .. }, .. } => Capabilities::STEPPING,
            Message::Request { request: Request::Clock { .. }, .. }
            | Message::Driven(_)
            | Message::Promised(_) => Capabilities::PARTNERS,
            Message::Request { request: Request::Authenticate { .. }, .. } => Capabilities::AUTHENTICATION,
            Message::Request {
                request: Request::Inspect { .. } | Request::RegisterPeek(_) | Request::RegisterPoke(_),
                ..
            } => Capabilities::INSPECTION,
            Message::Request { request: Request::Inject { .. }, .. } => Capabilities::FAULTS,
            Message::Request { request: Request::Debug { .. }, .. } | Message::Notice(Notice::Stopped(_)) => {
                Capabilities::DEBUGGING
            }
            Message::Request { request: Request::Save { .. }, .. } => Capabilities::SAVING,
            Message::Request {
                request:
                    Request::AwaitRest { .. } | Request::SaveDevice { .. } | Request::RestoreDevice { .. },
                ..
            } => Capabilities::DEVICE_STATE,
            _ if message.memory_write().is_some_and(|write| write.strobes) => Capabilities::STROBES,
            _ => Capabilities::NONE,
        };
        self.capabilities.contains(needed)
    }
}

/// One side of one session.
#[derive(Debug)]
pub struct Connection {
    side: ConnectionSide,
    state: ConnectionState,
    decoder: Decoder,
    output: Output,
}

impl Connection {
    /// A hello with this crate's version, the capabilities that any stream supports and the default limits.
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
        let mut output = Output::default();
        emit(&Message::Hello(Box::new(hello.clone())), &[], output.tail())?;
        let state = ConnectionState::AwaitingWelcome(hello);
        Ok(Self { side: ConnectionSide::Client, state, decoder: Decoder::new(Phase::Welcome), output })
    }

    /// A server that waits for a hello.
    pub fn server(terms: Terms) -> Self {
        let state = ConnectionState::AwaitingHello(terms);
        Self {
            side: ConnectionSide::Server,
            state,
            decoder: Decoder::new(Phase::Hello),
            output: Output::default(),
        }
    }

    /// Bytes to be written to the peer. The caller removes them from the front as the socket accepts them.
    /// Their number is how far the peer lags behind.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Returns true if the peer lags behind by more than the longest payload. Take no more events until it has caught
    /// up: each may cause a reply, and a peer that sends requests without reading would fill our memory with
    /// replies.
    pub fn is_backlogged(&self) -> bool {
        self.output.len() > self.max_payload().max(MIN_MAX_PAYLOAD) as usize
    }

    /// Returns true if the session is open.
    pub fn is_open(&self) -> bool {
        matches!(self.state, ConnectionState::Open(_))
    }

    /// Returns true if the session is over. What is still in the output should be written, then the stream closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, ConnectionState::Closed)
    }

    /// Requests of ours without a reply.
    pub fn in_flight(&self) -> usize {
        self.session().map_or(0, |session| session.asked.in_flight())
    }

    /// Requests of the peer that we have not answered.
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
            ConnectionState::Open(session) => Some(session),
            _ => None,
        }
    }

    /// Takes the next event off the front of `input`. `Ok(None)`: more bytes are needed, or a hello waits for
    /// an answer; in that case read nothing more into `input` before it has one. After the end of the session
    /// input is discarded.
    ///
    /// # Errors
    /// [`Violation`]: the peer broke a rule. The session is over, and the output tells the peer why.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event>, Violation> {
        self.receive_first(input)
            .inspect_err(|violation| self.part(Some(violation.code()), violation.to_string()))
    }

    /// Takes the next event as [`receive`](Self::receive) does, but after a violation the session stays open for the answers to earlier
    /// messages. The caller then takes no more events, and sends [`bye`](Self::bye) with the violation's code.
    ///
    /// # Errors
    /// [`Violation`]: the peer broke a rule.
    pub fn receive_first(&mut self, input: &mut BytesMut) -> Result<Option<Event>, Violation> {
        match self.state {
            ConnectionState::Deciding(..) => return Ok(None),
            ConnectionState::Closed => {
                input.clear();
                return Ok(None);
            }
            _ => (),
        }
        self.take(input)
    }

    /// The number of bytes that the frame at the front of `input` still lacks, once its lengths are known and
    /// allowed; otherwise 0. A caller can then make room for all of it at once, and read the bytes directly to
    /// their final place.
    pub fn lacking(&self, input: &[u8]) -> usize {
        self.decoder.lacking(input)
    }

    fn take(&mut self, input: &mut BytesMut) -> Result<Option<Event>, Violation> {
        let Some(Frame { message, payload }) = self.decoder.decode(input)? else { return Ok(None) };
        let name = message.name();
        if self.session().is_some_and(|session| !session.grants(&message)) {
            return Err(Violation::NotGranted { message: name });
        }
        let mut event = match (&mut self.state, message) {
            (ConnectionState::AwaitingHello(terms), Message::Hello(hello)) => {
                check_hello(&hello)?;
                self.state = ConnectionState::Deciding(*terms, (*hello).clone());
                Event::Hello(hello)
            }
            (ConnectionState::AwaitingWelcome(hello), Message::Welcome(welcome)) => {
                check_welcome(&welcome, hello)?;
                self.open(&welcome);
                Event::Welcome(welcome)
            }
            (ConnectionState::AwaitingWelcome(_), Message::Refused(refused)) => {
                self.state = ConnectionState::Closed;
                Event::Refused(refused)
            }
            (ConnectionState::Open(_), Message::Bye(bye)) => {
                self.state = ConnectionState::Closed;
                Event::Bye(bye)
            }
            (ConnectionState::Open(session), Message::Request { id, request })
                if self.side == ConnectionSide::Server || !request.is_clients_only() =>
            {
                session.to_answer.open(id, &request)?;
                Event::Request { id, request, payload }
            }
            (ConnectionState::Open(session), Message::Reply { id, time, reply }) => {
                session.asked.judge(id, &reply, payload.len())?;
                session.asked.close(id);
                Event::Reply { id, time, reply, payload }
            }
            (ConnectionState::Open(_), Message::Posted(posted)) => Event::Posted { posted, payload },
            (ConnectionState::Open(_), Message::Notice(notice))
                if self.side == ConnectionSide::Client || matches!(notice, Notice::Interrupt { .. }) =>
            {
                Event::Notice(notice)
            }
            (ConnectionState::Open(_), Message::Driven(driven)) => Event::Driven { driven, payload },
            (ConnectionState::Open(_), Message::Promised(promised)) => Event::Promised(promised),
            _ => {
                let (recipient, moment) = (self.side.name(), self.state.moment());
                return Err(Violation::Unexpected { message: name, recipient, moment });
            }
        };
        let fit = match self.side {
            ConnectionSide::Client => printable::in_lines,
            ConnectionSide::Server => printable::in_one_line,
        };
        printable::event(&mut event, fit);
        Ok(Some(event))
    }

    fn open(&mut self, welcome: &Welcome) {
        let max_payload = welcome.max_payload;
        let asks = self.side == ConnectionSide::Server
            && welcome.capabilities.contains(Capabilities::AUTHENTICATION);
        self.decoder.set_phase(match asks {
            true => Phase::Authentication { max_payload },
            false => Phase::Session { max_payload },
        });
        self.state = ConnectionState::Open(Session::new(welcome));
    }

    /// Server: opens the session that the hello asked for. Returns the welcome as sent. If it grants
    /// [`Capabilities::AUTHENTICATION`], only short payloads are taken before [`let_in`](Self::let_in).
    ///
    /// # Errors
    /// [`SendError::NotNow`] without a hello to answer, [`SendError::Emit`] when the ports do not fit a header.
    pub fn accept(&mut self, offer: Offer) -> Result<Welcome, SendError> {
        let ConnectionState::Deciding(terms, hello) = &self.state else {
            return Err(self.not_now("Welcome"));
        };
        let Terms { mut capabilities, max_payload, max_in_flight } = terms.agreed(hello);
        let device = offer.device.filter(|_| capabilities.contains(Capabilities::DEVICE));
        if device.is_none() {
            capabilities = capabilities.difference(Capabilities::DEVICE);
        }
        let welcome = Welcome {
            version: VERSION,
            agent: offer.agent,
            capabilities,
            max_payload,
            max_in_flight,
            time_mode: offer.time_mode,
            time_resolution: 1,
            time: offer.time,
            platform: offer.platform,
            session: offer.session,
            ports: offer.ports,
            device,
        };
        emit(&Message::Welcome(Box::new(welcome.clone())), &[], self.output.tail())?;
        self.open(&welcome);
        Ok(welcome)
    }

    /// Server: the client has authenticated. From the next frame on payloads may be as long as was agreed.
    pub fn let_in(&mut self) {
        if let ConnectionState::Open(Session { max_payload, .. }) = self.state {
            self.decoder.set_phase(Phase::Session { max_payload });
        }
    }

    /// Server: refuses the client and closes the connection. Does nothing once the session is open.
    pub fn refuse(&mut self, code: ErrorCode, reason: impl Into<String>) {
        if self.side == ConnectionSide::Server && !self.is_open() {
            self.part(Some(code), reason.into());
        }
    }

    /// Sends a request, and returns the id that its reply will have.
    ///
    /// # Errors
    /// [`Breach::TooManyInFlight`] is back-pressure. Others are the caller's mistakes.
    pub fn request<'a>(
        &mut self,
        request: Request,
        payload: impl Into<Payload<'a>>,
    ) -> Result<RequestId, SendError> {
        if self.side == ConnectionSide::Server && request.is_clients_only() {
            return Err(SendError::WrongSide { message: request.name(), sender: self.side.name() });
        }
        let ConnectionState::Open(session) = &mut self.state else {
            return Err(self.not_now(request.name()));
        };
        session.asked.has_room()?;
        let id = session.free_id();
        let message = Message::Request { id, request };
        send(session, &message, payload.into(), &mut self.output)?;
        if let Message::Request { request, .. } = &message {
            session.asked.open(id, request)?;
        }
        Ok(id)
    }

    /// Answers a request of the peer. `time` is the simulated time at which the request took effect.
    ///
    /// # Errors
    /// [`Breach`] when there is no such request, when the reply does not fit it, or when an earlier register
    /// request of the same port is not answered yet.
    pub fn reply<'a>(
        &mut self,
        id: RequestId,
        time: Time,
        reply: Reply,
        payload: impl Into<Payload<'a>>,
    ) -> Result<(), SendError> {
        let payload = payload.into();
        let ConnectionState::Open(session) = &mut self.state else { return Err(self.not_now(reply.name())) };
        session.to_answer.judge(id, &reply, payload.bytes().len())?;
        let mut message = Message::Reply { id, time, reply };
        message.cut_text();
        send(session, &message, payload, &mut self.output)?;
        session.to_answer.close(id);
        Ok(())
    }

    /// Sends a write that gets no answer.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn post(&mut self, posted: Posted, payload: &[u8]) -> Result<(), SendError> {
        self.send_plain(Message::Posted(posted), payload)
    }

    /// Sends a notice. A warning that the peer does not want is silently left out. A peer that does not know marks gets a
    /// warning without them.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn notify(&mut self, notice: Notice) -> Result<(), SendError> {
        let notice = match notice {
            Notice::Warning { .. } | Notice::MarkedWarning { .. } if self.side == ConnectionSide::Client => {
                let message = Message::Notice(notice).name();
                return Err(SendError::WrongSide { message, sender: self.side.name() });
            }
            Notice::Warning { .. } | Notice::MarkedWarning { .. }
                if self.is_open() && !self.capabilities().contains(Capabilities::WARNINGS) =>
            {
                return Ok(());
            }
            Notice::MarkedWarning { time, text, .. }
                if !self.capabilities().contains(Capabilities::WARNING_MARKS) =>
            {
                Notice::Warning { time, text }
            }
            notice => notice,
        };
        self.send_plain(Message::Notice(notice), &[])
    }

    /// Drives something at a timed port; the payload has the bytes of a beat of data.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn drive<'a>(&mut self, driven: Driven, payload: impl Into<Payload<'a>>) -> Result<(), SendError> {
        self.send_plain(Message::Driven(driven), payload)
    }

    /// Promises to be silent at timed ports.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn promise(&mut self, promised: Promised) -> Result<(), SendError> {
        self.send_plain(Message::Promised(promised), &[])
    }

    fn send_plain<'a>(
        &mut self,
        mut message: Message,
        payload: impl Into<Payload<'a>>,
    ) -> Result<(), SendError> {
        let ConnectionState::Open(session) = &mut self.state else {
            return Err(self.not_now(message.name()));
        };
        message.cut_text();
        send(session, &message, payload.into(), &mut self.output)
    }

    /// Ends the session with a reason: `None` when all is well. Does nothing when it is over already.
    pub fn bye(&mut self, code: Option<ErrorCode>, reason: impl Into<String>) {
        self.part(code, reason.into());
    }

    /// The last frame, of the kind that the session's state calls for; then closes.
    fn part(&mut self, code: Option<ErrorCode>, reason: String) {
        let mut message = match (self.side, &self.state) {
            (_, ConnectionState::Open(_)) => Message::Bye(Bye { code, reason }),
            (ConnectionSide::Server, ConnectionState::AwaitingHello(_) | ConnectionState::Deciding(..)) => {
                Message::Refused(Refused { code: code.unwrap_or(ErrorCode::ShuttingDown), reason })
            }
            // A client without a session has nothing to say that a server would read.
            _ => {
                self.state = ConnectionState::Closed;
                return;
            }
        };
        message.cut_text();
        let sent = emit(&message, &[], self.output.tail());
        debug_assert_eq!(sent, Ok(()), "the text was cut to fit");
        self.state = ConnectionState::Closed;
    }

    fn not_now(&self, message: &'static str) -> SendError {
        SendError::NotNow { message, moment: self.state.moment() }
    }
}

fn send(
    session: &Session,
    message: &Message,
    payload: Payload<'_>,
    output: &mut Output,
) -> Result<(), SendError> {
    if !session.grants(message) {
        return Err(SendError::NotGranted { message: message.name() });
    }
    let bytes = payload.bytes();
    let length = bytes.len() as u64;
    let limit = session.max_payload;
    let fits = match length > u64::from(limit) {
        true => Err(FrameRule::PayloadTooLong { length, limit }),
        false => message.check(bytes, limit),
    };
    fits.map_err(|rule| EmitError { message: message.name(), rule })?;
    emit_header(message, bytes.len(), output.tail())?;
    output.append(payload);
    Ok(())
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
mod tests;
