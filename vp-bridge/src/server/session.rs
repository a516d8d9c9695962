//! One session: a stream, a connection, a platform.
//!
//! The task moves messages between the two sides and decides only one thing: when to stop reading. It does so while the
//! peer does not read what it asked for, and while the platform has not done what the peer sent.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use vp_protocols::native::statistics::emit_counters;
use vp_protocols::native::{
    Breach, Connection, ErrorCode, Event, HARD_MAX_PAYLOAD, Hello, MIN_MAX_PAYLOAD, Offer, Reply, Request,
    RequestId, SendError, SessionId, TimeMode, Violation,
};

use super::House;
use super::instance::{Account, Command, Instance, Join, Joined, ToSession, Token};
use crate::address::Stream;

/// Commands that a session may have in its platform before it is read no further.
const COMMANDS: usize = 4096;
/// Bytes of data, likewise, beside one longest payload.
const BYTES: usize = 1 << 20;
/// While the platform waits for the session's own memory its answer may stand behind more of its requests. So these
/// are taken, up to here; a peer that goes beyond makes its own answer unreachable.
const HARD_COMMANDS: usize = 65_536;
const HARD_BYTES: usize = 32 << 20;
/// Bytes read at once.
const READ: usize = 64 << 10;

/// Why a session ended: for the log.
enum End {
    /// As it should.
    Fine(String),
    /// The peer did wrong.
    Wrong(String),
}

impl From<Violation> for End {
    fn from(violation: Violation) -> Self {
        Self::Wrong(violation.to_string())
    }
}

/// Serves a connection to its end.
pub(super) async fn run(house: &House, mut stream: Stream, id: SessionId, name: &str) {
    let mut connection = Connection::server(house.options.terms);
    let mut input = BytesMut::new();
    let end = match greet(house, &mut stream, &mut connection, &mut input).await {
        Err(end) => end,
        Ok(hello) => enter(house, &mut stream, &mut connection, &mut input, id, name, hello).await,
    };
    match &end {
        End::Fine(why) => tracing::info!("{name}: {why}; session closed"),
        End::Wrong(why) => tracing::warn!("{name}: {why}; session closed"),
    }
    farewell(house, stream, connection).await;
}

/// Tells a newcomer why there is no place for it.
pub(super) async fn turn_away(house: &House, stream: Stream, code: ErrorCode, reason: String) {
    let mut connection = Connection::server(house.options.terms);
    connection.refuse(code, reason);
    farewell(house, stream, connection).await;
}

/// Writes what is left to be said. What the peer still sends is read and thrown away, lest the system takes back our last
/// words together with the stream.
async fn farewell(house: &House, mut stream: Stream, mut connection: Connection) {
    let polite = async {
        while !connection.output().is_empty() {
            stream.write_buf(connection.output()).await?;
        }
        stream.shutdown().await?;
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await? > 0 {}
        std::io::Result::Ok(())
    };
    // A peer that is gone, or does not listen: nothing more to be done.
    let _ = timeout(house.options.farewell_timeout, polite).await;
}

/// Waits for the hello.
async fn greet(
    house: &House,
    stream: &mut Stream,
    connection: &mut Connection,
    input: &mut BytesMut,
) -> Result<Hello, End> {
    let hello = async {
        loop {
            match connection.receive(input)? {
                Some(Event::Hello(hello)) => return Ok(hello),
                Some(_) => return Err(End::Wrong("something else than a hello".to_owned())),
                None => {}
            }
            match stream.read_buf(input).await {
                Ok(0) if input.is_empty() => return Err(End::Fine("left without a word".to_owned())),
                Ok(0) => return Err(End::Wrong("vanished in the middle of its hello".to_owned())),
                Ok(_) => {}
                Err(error) => return Err(End::Wrong(format!("stream broken before the hello: {error}"))),
            }
        }
    };
    let waited = house.options.handshake_timeout;
    let greeted = tokio::select! {
        biased;
        () = house.shutdown.cancelled() => Err(None),
        greeted = timeout(waited, hello) => greeted.map_err(|_| Some(())),
    };
    match greeted {
        Ok(greeted) => greeted,
        Err(None) => {
            connection.refuse(ErrorCode::ShuttingDown, "the server shuts down");
            Err(End::Fine("the server shuts down".to_owned()))
        }
        Err(Some(())) => {
            let reason = format!("no hello within {} s", waited.as_secs_f64());
            connection.refuse(ErrorCode::UnexpectedMessage, reason.clone());
            Err(End::Wrong(reason))
        }
    }
}

/// Gives the session its platform, and serves it.
async fn enter(
    house: &House,
    stream: &mut Stream,
    connection: &mut Connection,
    input: &mut BytesMut,
    id: SessionId,
    name: &str,
    hello: Hello,
) -> End {
    if let TimeMode::Paced { picoseconds_per_nanosecond: 0 } = hello.time_mode {
        let reason = "a pace of 0 would stop time: 1000 ps/ns is real time";
        return refuse(connection, ErrorCode::TimeModeUnavailable, reason);
    }
    let platform = hello.platform.as_deref();
    if let Some(name) = platform
        && (name.is_empty() || name.len() > 64 || name.chars().any(char::is_control))
    {
        let reason = "a platform's name has 1 to 64 bytes and no control characters";
        return refuse(connection, ErrorCode::PlatformUnavailable, reason);
    }
    let instance = match house.registry.enter(platform, hello.time_mode) {
        Ok(instance) => instance,
        Err(error) => {
            return refuse(connection, ErrorCode::Internal, &format!("no thread for the platform: {error}"));
        }
    };
    let (to, from) = mpsc::unbounded_channel();
    let (joined, answer) = oneshot::channel();
    let account = Arc::new(Account::default());
    let terms = house.options.terms;
    let capabilities = terms.capabilities.intersection(hello.capabilities);
    let join = Join { session: id, capabilities, account: account.clone(), to, joined };
    let mut batch = vec![Command::Join(join)];
    let _ = instance.door().send(&mut batch);

    let end = match answer.await {
        Err(_) => refuse(connection, ErrorCode::Internal, "the platform failed"),
        Ok(Joined { time, time_mode, ports }) => {
            let called = platform.unwrap_or(&house.registry.description().name).to_owned();
            let offer = Offer {
                agent: house.options.agent.clone(),
                time_mode,
                time,
                platform: called.clone(),
                session: id,
                ports,
            };
            let max_payload =
                terms.max_payload.min(hello.max_payload).clamp(MIN_MAX_PAYLOAD, HARD_MAX_PAYLOAD);
            match connection.accept(offer) {
                Err(error) => refuse(connection, ErrorCode::Internal, &error.to_string()),
                Ok(_) => {
                    tracing::info!("{name}: {} on platform {called}", printable(&hello.agent));
                    let session = Session {
                        id,
                        connection: &mut *connection,
                        input,
                        from,
                        instance: &instance,
                        account,
                        batch,
                        inbox: VecDeque::new(),
                        asks: VecDeque::new(),
                        tokens: HashMap::new(),
                        max_bytes: BYTES + max_payload as usize,
                    };
                    session.serve(house, stream).await
                }
            }
        }
    };
    let why = match &end {
        End::Fine(why) | End::Wrong(why) => why.clone(),
    };
    let _ = instance.door().send(&mut vec![Command::Leave { session: id, why }]);
    house.registry.leave(platform, &instance);
    end
}

fn refuse(connection: &mut Connection, code: ErrorCode, reason: &str) -> End {
    connection.refuse(code, reason);
    End::Wrong(format!("turned away: {reason}"))
}

/// What a stranger calls itself, fit for a line of a log.
fn printable(agent: &str) -> String {
    agent.chars().take(64).map(|c| if c.is_control() { '?' } else { c }).collect()
}

struct Session<'a> {
    id: SessionId,
    connection: &'a mut Connection,
    input: &'a mut BytesMut,
    from: mpsc::UnboundedReceiver<Vec<ToSession>>,
    instance: &'a Instance,
    account: Arc<Account>,
    /// For the platform, collected from one read.
    batch: Vec<Command>,
    /// From the platform, while the peer lags behind.
    inbox: VecDeque<ToSession>,
    /// Requests of the platform, while the peer has as many as it takes.
    asks: VecDeque<(Token, Request, Bytes)>,
    tokens: HashMap<RequestId, Token>,
    max_bytes: usize,
}

impl Session<'_> {
    async fn serve(mut self, house: &House, stream: &mut Stream) -> End {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let account = self.account.clone();
        loop {
            let wants_more = match self.settle() {
                Ok(wants_more) => wants_more,
                Err(end) => return end,
            };
            let pending = !self.connection.output().is_empty();
            let may_take = self.inbox.is_empty();
            tokio::select! {
                biased;
                written = writer.write_buf(self.connection.output()), if pending => {
                    if let Err(error) = written {
                        return End::Wrong(format!("stream broken: {error}"));
                    }
                }
                batch = self.from.recv(), if may_take => match batch {
                    Some(batch) => self.inbox.extend(batch),
                    None => {
                        self.connection.bye(Some(ErrorCode::Internal), "the platform failed");
                        return End::Wrong("the platform failed".to_owned());
                    }
                },
                read = read_some(&mut reader, self.input), if wants_more => match read {
                    Ok(0) if self.input.is_empty() => return End::Fine("the peer is gone".to_owned()),
                    Ok(0) => return End::Wrong("the peer vanished in the middle of a frame".to_owned()),
                    Ok(_) => {}
                    Err(error) => return End::Wrong(format!("stream broken: {error}")),
                },
                () = account.is_put_out() => return self.last_words(),
                () = account.paid(), if !wants_more => {}
                () = house.shutdown.cancelled() => {
                    self.connection.bye(Some(ErrorCode::ShuttingDown), "the server shuts down");
                    return End::Fine("the server shuts down".to_owned());
                }
            }
        }
    }

    /// Put out while the peer does not read: of what waits for it only the reason is left to say.
    fn last_words(&mut self) -> End {
        while let Ok(batch) = self.from.try_recv() {
            self.inbox.extend(batch);
        }
        for message in self.inbox.drain(..) {
            if let ToSession::Close { code, reason } = message {
                self.connection.bye(Some(code), reason.clone());
                return End::Wrong(reason);
            }
        }
        self.connection.bye(Some(ErrorCode::Internal), "the platform put the session out");
        End::Wrong("put out".to_owned())
    }

    /// Moves what can be moved. Says whether more bytes are wanted.
    fn settle(&mut self) -> Result<bool, End> {
        self.deliver()?;
        let wants_more = loop {
            if self.connection.is_backlogged() || !self.may_ask()? {
                break false;
            }
            match self.connection.receive(self.input)? {
                Some(event) => self.event(event)?,
                None => break true,
            }
        };
        // Whatever a closed door means, the channel tells it.
        let _ = self.instance.door().send(&mut self.batch);
        self.deliver()?;
        // Requests that the peer cannot be asked have been answered in its place.
        let _ = self.instance.door().send(&mut self.batch);
        Ok(wants_more)
    }

    /// Whether the platform takes more of this session.
    fn may_ask(&mut self) -> Result<bool, End> {
        if self.account.is_within(COMMANDS, self.max_bytes) {
            return Ok(true);
        }
        if self.connection.in_flight() == 0 {
            return Ok(false);
        }
        if self.account.is_within(HARD_COMMANDS, HARD_BYTES) {
            return Ok(true);
        }
        let reason = "the platform waits for this session's memory, whose answer stands behind too much else";
        self.connection.bye(Some(ErrorCode::TooManyInFlight), reason);
        Err(End::Wrong(reason.to_owned()))
    }

    fn event(&mut self, event: Event) -> Result<(), End> {
        let session = self.id;
        let command = match event {
            Event::Request { id, request, payload } => {
                // What is read costs memory as what is written does, only later.
                let bytes = match &request {
                    Request::MemoryRead(read) => read.length as usize,
                    _ => payload.len(),
                };
                let charge = self.account.charge(bytes);
                Command::Request { session, id, request, payload: own(payload), charge }
            }
            Event::Posted { posted, payload } => {
                let charge = self.account.charge(payload.len());
                Command::Posted { session, posted, payload: own(payload), charge }
            }
            Event::Reply { id, reply, payload, .. } => match self.tokens.remove(&id) {
                Some(token) => Command::Answer { session, token, reply, payload },
                None => return Ok(()),
            },
            Event::Bye(bye) => {
                let reason = printable(&bye.reason);
                return Err(match bye.code {
                    None => End::Fine("the peer said goodbye".to_owned()),
                    Some(code) => End::Wrong(format!("the peer gave up: {code}: {reason}")),
                });
            }
            other => {
                let reason = match other {
                    Event::Notice(_) => "no port here takes interrupts from outside",
                    _ => "a greeting in an open session",
                };
                self.connection.bye(Some(ErrorCode::UnexpectedMessage), reason);
                return Err(End::Wrong(reason.to_owned()));
            }
        };
        self.batch.push(command);
        Ok(())
    }

    /// Hands on what the platform has for the peer, as far as it keeps up.
    fn deliver(&mut self) -> Result<(), End> {
        loop {
            self.ask_more()?;
            if self.inbox.is_empty()
                && let Ok(batch) = self.from.try_recv()
            {
                self.inbox.extend(batch);
            }
            if self.connection.is_backlogged() {
                return Ok(());
            }
            let Some(message) = self.inbox.pop_front() else { return Ok(()) };
            self.tell(message)?;
        }
    }

    fn ask_more(&mut self) -> Result<(), End> {
        while let Some((token, request, payload)) = self.asks.front() {
            match self.connection.request(request.clone(), payload) {
                Ok(id) => {
                    self.tokens.insert(id, *token);
                    self.asks.pop_front();
                }
                Err(SendError::Breach(Breach::TooManyInFlight { .. })) => break,
                Err(error @ SendError::NotNow { .. }) => return Err(End::Wrong(error.to_string())),
                Err(error) => {
                    // The peer cannot be asked this: longer than it takes, or with strobes it does not know.
                    let (session, token) = (self.id, *token);
                    let reply = Reply::Failed { code: ErrorCode::Unsupported, reason: error.to_string() };
                    self.batch.push(Command::Answer { session, token, reply, payload: Bytes::new() });
                    self.asks.pop_front();
                }
            }
        }
        Ok(())
    }

    fn tell(&mut self, message: ToSession) -> Result<(), End> {
        let sent = match message {
            ToSession::Ask { token, request, payload } => {
                self.asks.push_back((token, request, payload));
                Ok(())
            }
            ToSession::Reply { id, time, mut reply, payload, charge } => {
                if let Reply::Status(status) = &mut reply {
                    let both = self.connection.in_flight() + self.connection.to_answer();
                    status.in_flight = u32::try_from(both).unwrap_or(u32::MAX);
                }
                let sent = self.connection.reply(id, time, reply, &payload);
                drop(charge);
                sent
            }
            ToSession::Statistics { id, time, counters, first } => {
                let limit = self.connection.max_payload() as usize;
                let total = u32::try_from(counters.len()).unwrap_or(u32::MAX);
                let (payload, count) = emit_counters(counters.iter().skip(first as usize), limit);
                self.connection.reply(id, time, Reply::Statistics { total, count }, &payload)
            }
            ToSession::Notice(notice) => {
                self.account.notice_taken();
                self.connection.notify(notice)
            }
            ToSession::Close { code, reason } => {
                self.connection.bye(Some(code), reason.clone());
                return Err(End::Wrong(reason));
            }
        };
        sent.map_err(|error| {
            self.connection.bye(Some(ErrorCode::Internal), error.to_string());
            End::Wrong(format!("cannot answer: {error}"))
        })
    }
}

/// A small write's data, copied: kept as it is, and it may be kept for long, it would hold on to all that was read with it.
fn own(payload: Bytes) -> Bytes {
    match payload.len() {
        0 => Bytes::new(),
        length if length < READ / 4 => Bytes::copy_from_slice(&payload),
        _ => payload,
    }
}

async fn read_some(
    reader: &mut tokio::io::ReadHalf<&mut Stream>,
    input: &mut BytesMut,
) -> std::io::Result<usize> {
    input.reserve(READ);
    reader.read_buf(input).await
}
