//! A session's stream with all that belongs to it, moved on by whoever comes first: the session's task or its platform.
//!
//! The platform's thread writes its answers to the socket itself, and while it has nothing to do it reads the socket
//! itself too: the link is then *lent*, and its task does not watch the socket, lest a thread wakes for every frame. Before it
//! is busy for long the platform gives the link back. So a register access goes from the client to the thread that carries it
//! out and back, and nobody in between has to wake.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use vp_protocols::native::statistics::emit_counters;
use vp_protocols::native::{
    Breach, Connection, ErrorCode, Event, Offer, Reply, Request, RequestId, SendError, SessionId, Violation,
    Welcome,
};

use super::House;
use super::instance::{Account, Command, Door, ToSession, Token};
use crate::address::Plain;

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
/// Rounds of reading, doing and writing before somebody else has a turn.
const ROUNDS: usize = 16;
/// Files that came beside the stream and that no request has taken, at most.
const FILES: usize = 64;

/// Why a session ended: for the log.
pub(super) enum End {
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

/// What a link waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wants {
    /// Bytes from the peer.
    pub(super) input: bool,
    /// Room for bytes to it.
    pub(super) room: bool,
    /// Nothing: there is more to do at once.
    pub(super) turn: bool,
}

impl Wants {
    /// Whether nothing but input is waited for.
    fn is_plain(self) -> bool {
        self.input && !self.room
    }
}

/// A session's link.
pub(super) struct Link {
    socket: Plain,
    core: Mutex<Core>,
    mail: Mutex<Mail>,
    /// For the task: look.
    look: Notify,
    /// Whether the platform reads the socket.
    lent: AtomicBool,
    /// What the client rings when it has asked in its ring.
    bell: OnceLock<OwnedFd>,
}

/// From the platform, while nobody could take it.
#[derive(Default)]
struct Mail {
    messages: Vec<ToSession>,
    /// Nothing more comes.
    hung_up: bool,
}

struct Core {
    id: SessionId,
    connection: Connection,
    input: BytesMut,
    landing: Box<[u8]>,
    files: VecDeque<OwnedFd>,
    door: Arc<Door>,
    account: Arc<Account>,
    /// For the platform, collected from one read.
    batch: Vec<Command>,
    /// From the platform, while the peer lags behind.
    inbox: VecDeque<ToSession>,
    /// Requests of the platform, while the peer has as many as it takes.
    asks: VecDeque<(Token, Request, Bytes)>,
    tokens: HashMap<RequestId, Token>,
    max_bytes: usize,
    /// Why the session ends, as the platform's thread has found; for the task.
    end: Option<End>,
    /// Whether the session is over.
    over: bool,
}

/// A new session: what a link begins with.
pub(super) struct Newcomer {
    pub(super) id: SessionId,
    pub(super) connection: Connection,
    pub(super) input: BytesMut,
    pub(super) door: Arc<Door>,
    pub(super) account: Arc<Account>,
    pub(super) max_payload: u32,
}

impl Link {
    pub(super) fn new(socket: Plain, newcomer: Newcomer) -> Arc<Self> {
        let Newcomer { id, connection, input, door, account, max_payload } = newcomer;
        let core = Core {
            id,
            connection,
            input,
            landing: vec![0; READ].into(),
            files: VecDeque::new(),
            door,
            account,
            batch: Vec::new(),
            inbox: VecDeque::new(),
            asks: VecDeque::new(),
            tokens: HashMap::new(),
            max_bytes: BYTES + max_payload as usize,
            end: None,
            over: false,
        };
        Arc::new(Self {
            socket,
            core: Mutex::new(core),
            mail: Mutex::default(),
            look: Notify::new(),
            lent: AtomicBool::new(false),
            bell: OnceLock::new(),
        })
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the session.
    pub(super) fn accept(&self, offer: Offer) -> Result<Welcome, SendError> {
        self.core().connection.accept(offer)
    }

    /// There will be no session, by the server's own fault.
    pub(super) fn refuse(&self, reason: &str) -> End {
        self.core().connection.refuse(ErrorCode::Internal, reason);
        End::Wrong(format!("turned away: {reason}"))
    }

    /// The protocol's state and the socket, when the session is over.
    pub(super) fn close(&self, house: &House) -> (Connection, &Plain) {
        let mut core = self.core();
        core.over = true;
        (std::mem::replace(&mut core.connection, Connection::server(house.options.terms)), &self.socket)
    }

    /// Ends the stream at once.
    pub(super) fn cut(&self) {
        self.core().over = true;
        self.socket.shut_down();
    }

    // The task's side.

    /// Serves the session to its end.
    pub(super) async fn serve(self: &Arc<Self>, house: &House) -> End {
        let account = self.core().account.clone();
        let (mut socket, mut bell) = (None, None);
        loop {
            let wants = {
                let mut core = self.core();
                match core.end.take().map_or_else(|| core.pump(self), Err) {
                    Ok(wants) => wants,
                    Err(end) => return end,
                }
            };
            if wants.turn {
                tokio::task::yield_now().await;
                continue;
            }
            if !wants.is_plain() {
                // The platform waits for input only.
                self.lent.store(false, Ordering::Release);
            }
            match self.lent.load(Ordering::Acquire) {
                true => (socket, bell) = (None, None),
                false => {
                    if let Err(error) = self.watch(&mut socket, &mut bell) {
                        return End::Wrong(format!("the socket cannot be watched: {error}"));
                    }
                }
            }
            tokio::select! {
                biased;
                () = self.look.notified() => {}
                () = rung(bell.as_ref()) => {
                    let _ = self.core().door.send(&mut vec![Command::Look]);
                }
                () = ready(socket.as_ref(), wants) => {}
                () = account.is_put_out() => return self.core().last_words(self),
                () = account.paid(), if !wants.input => {}
                () = house.shutdown.cancelled() => {
                    let why = "the server shuts down";
                    self.core().connection.bye(Some(ErrorCode::ShuttingDown), why);
                    return End::Fine(why.to_owned());
                }
            }
        }
    }

    fn watch(
        self: &Arc<Self>,
        socket: &mut Option<AsyncFd<Watched>>,
        bell: &mut Option<AsyncFd<Watched>>,
    ) -> std::io::Result<()> {
        if socket.is_none() {
            // What is there to be read already is told as well.
            *socket = Some(Watched(self.clone(), What::Socket).register()?);
        }
        if bell.is_none() && self.bell.get().is_some() {
            *bell = Some(Watched(self.clone(), What::Bell).register()?);
        }
        Ok(())
    }

    // The platform's side.

    /// Hands on messages, and writes what can be written; leaves `messages` empty.
    fn tell(&self, messages: &mut Vec<ToSession>) {
        self.mail().messages.append(messages);
        match self.core.try_lock() {
            Ok(mut core) => {
                let done = core.push(self);
                let is_stuck = !core.connection.output().is_empty();
                if !core.note(done) || is_stuck {
                    self.look.notify_one();
                }
            }
            // The task is at it: it looks again.
            Err(_) => self.look.notify_one(),
        }
    }

    /// Takes the reading of the socket over from the task.
    pub(super) fn lend(&self) {
        if !self.lent.swap(true, Ordering::AcqRel) {
            self.look.notify_one();
        }
    }

    /// Gives it back.
    pub(super) fn give_back(&self) {
        if self.lent.swap(false, Ordering::AcqRel) {
            self.look.notify_one();
        }
    }

    /// Reads, does and writes what there is, if the link is lent. What the peer wants goes through the door.
    pub(super) fn attend(&self) {
        if !self.lent.load(Ordering::Relaxed) {
            return;
        }
        let mut core = match self.core.try_lock() {
            Ok(core) => core,
            Err(TryLockError::Poisoned(_)) => return self.give_back(),
            Err(TryLockError::WouldBlock) => return,
        };
        if !core.connection.is_open() && !core.over {
            return;
        }
        // What has been read is dealt with before anybody sleeps. A peer that sends on and on is held back after a while.
        let wants = loop {
            match core.pump(self) {
                Ok(Wants { turn: true, .. }) => {}
                wants => break wants,
            }
        };
        let is_plain = wants.as_ref().is_ok_and(|wants| wants.is_plain());
        core.note(wants.map(|_| ()));
        drop(core);
        if !is_plain {
            self.give_back();
        }
    }

    /// What becomes readable when the peer has sent something, while the link is lent.
    pub(super) fn lent_socket(&self) -> Option<BorrowedFd<'_>> {
        self.lent.load(Ordering::Relaxed).then(|| self.socket.as_fd())
    }

    #[cfg(test)]
    pub(super) fn is_hung_up(&self) -> bool {
        self.mail().hung_up
    }

    /// The client has a ring now, and rings this. `false`: it has had one; there is one in a session's life.
    pub(super) fn set_bell(&self, bell: OwnedFd) -> bool {
        let is_first = self.bell.set(bell).is_ok();
        self.look.notify_one();
        is_first
    }
}

/// What the task watches of a link.
struct Watched(Arc<Link>, What);

enum What {
    Socket,
    Bell,
}

impl Watched {
    /// Has the runtime watch it, until what comes back is dropped.
    #[expect(unsafe_code, reason = "the runtime knows the file by its number only")]
    fn register(self) -> std::io::Result<AsyncFd<Self>> {
        // SAFETY: the number stays the same and the file open as long as the runtime watches it: `self`, which the
        // result owns, keeps the link alive, whose socket is never changed and whose bell is set once, before it is watched.
        Ok(unsafe { AsyncFd::register(self) }?)
    }
}

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match (&self.1, self.0.bell.get()) {
            (What::Bell, Some(bell)) => bell.as_fd(),
            _ => self.0.socket.as_fd(),
        }
    }
}

/// Until the socket can do what is wanted.
async fn ready(socket: Option<&AsyncFd<Watched>>, wants: Wants) {
    let Some(socket) = socket else { return std::future::pending().await };
    // What is forgotten here is tried next, before anything is waited for again.
    let forget = |mut guard: tokio::io::unix::AsyncFdReadyGuard<'_, Watched>| guard.clear_ready();
    // An error ends the wait: the next read or write finds it as well.
    tokio::select! {
        input = socket.readable(), if wants.input => drop(input.map(forget)),
        room = socket.writable(), if wants.room => drop(room.map(forget)),
        else => std::future::pending().await,
    }
}

/// Until the bell is rung.
async fn rung(bell: Option<&AsyncFd<Watched>>) {
    match bell {
        Some(bell) => drop(bell.readable().await.map(|mut guard| guard.clear_ready())),
        None => std::future::pending().await,
    }
}

/// The platform's handle of a link. When it is dropped the link is told that nothing more comes.
pub(super) struct Outlet(Arc<Link>);

impl Outlet {
    pub(super) fn new(link: &Arc<Link>) -> Self {
        Self(link.clone())
    }

    /// Hands messages on; leaves `messages` empty.
    pub(super) fn tell(&self, messages: &mut Vec<ToSession>) {
        self.0.tell(messages);
    }

    /// The link.
    pub(super) fn link(&self) -> &Link {
        &self.0
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.0.mail().hung_up = true;
        self.0.lent.store(false, Ordering::Release);
        self.0.look.notify_one();
    }
}

impl Core {
    /// Keeps how the session ends for the task. Says whether it goes on.
    fn note(&mut self, done: Result<(), End>) -> bool {
        if let Err(end) = done {
            self.over = true;
            self.end.get_or_insert(end);
        }
        !self.over
    }

    /// Reads, does and writes what there is.
    fn pump(&mut self, link: &Link) -> Result<Wants, End> {
        if self.over {
            return Ok(Wants { input: false, room: false, turn: false });
        }
        let mut may_read = true;
        for _ in 0..ROUNDS {
            self.collect(link)?;
            let wants_more = self.settle()?;
            let lagged = self.connection.is_backlogged();
            self.write(link)?;
            let has_caught_up = lagged && !self.connection.is_backlogged();
            let mut has_input = false;
            if wants_more && may_read {
                (has_input, may_read) = self.read(link)?;
            }
            let has_mail = self.inbox.is_empty() && !link.mail().messages.is_empty();
            if !has_caught_up && !has_input && !has_mail {
                let room = !self.connection.output().is_empty();
                return Ok(Wants { input: wants_more, room, turn: false });
            }
        }
        Ok(Wants { input: true, room: false, turn: true })
    }

    /// Writes what the platform has for the peer.
    fn push(&mut self, link: &Link) -> Result<(), End> {
        if self.over {
            return Ok(());
        }
        // What was left in the box because the peer lagged behind may be followed by more.
        for _ in 0..2 {
            self.collect(link)?;
            self.deliver()?;
        }
        let _ = self.door.send(&mut self.batch);
        self.write(link)
    }

    /// Takes what the platform has said, unless the peer lags behind.
    fn collect(&mut self, link: &Link) -> Result<(), End> {
        if !self.inbox.is_empty() {
            return Ok(());
        }
        let mut mail = link.mail();
        if mail.messages.is_empty() && mail.hung_up {
            drop(mail);
            self.connection.bye(Some(ErrorCode::Internal), "the platform failed");
            return Err(End::Wrong("the platform failed".to_owned()));
        }
        self.inbox.extend(mail.messages.drain(..));
        Ok(())
    }

    fn write(&mut self, link: &Link) -> Result<(), End> {
        while !self.connection.output().is_empty() {
            match link.socket.write(self.connection.output()) {
                Ok(Some(written)) => self.connection.output().advance(written),
                Ok(None) => break,
                Err(error) => return Err(End::Wrong(format!("stream broken: {error}"))),
            }
        }
        Ok(())
    }

    /// Reads once. Says whether something was there, and whether there may be more.
    fn read(&mut self, link: &Link) -> Result<(bool, bool), End> {
        let files = self.files.len();
        match link.socket.read(&mut self.landing, &mut self.files) {
            Ok(None) => Ok((false, false)),
            Ok(Some(0)) if self.input.is_empty() => Err(End::Fine("the peer is gone".to_owned())),
            Ok(Some(0)) => Err(End::Wrong("the peer vanished in the middle of a frame".to_owned())),
            Ok(Some(read)) => {
                self.input.extend_from_slice(&self.landing[..read]);
                if self.files.len() > FILES {
                    return Err(self.wrong_files(format!("more than {FILES} files that no request needs")));
                }
                // Less than there was room for is all there was, unless files came: a read ends behind these.
                Ok((true, read == self.landing.len() || self.files.len() > files))
            }
            Err(error) => Err(End::Wrong(format!("stream broken: {error}"))),
        }
    }

    fn wrong_files(&mut self, reason: String) -> End {
        self.connection.bye(Some(ErrorCode::WrongFiles), reason.clone());
        End::Wrong(reason)
    }

    /// Put out while the peer does not read: of what waits for it only the reason is left to say.
    fn last_words(&mut self, link: &Link) -> End {
        if let Some(end) = self.end.take() {
            return end;
        }
        let mail = std::mem::take(&mut link.mail().messages);
        for message in self.inbox.drain(..).chain(mail) {
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
            match self.connection.receive(&mut self.input)? {
                Some(event) => self.event(event)?,
                None => break true,
            }
        };
        // Whatever a closed door means, the outlet tells it.
        let _ = self.door.send(&mut self.batch);
        self.deliver()?;
        // Requests that the peer cannot be asked have been answered in its place.
        let _ = self.door.send(&mut self.batch);
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
            Event::Request {
                id,
                request: request @ (Request::ShareMemory(_) | Request::OpenRing(_)),
                ..
            } => {
                let wanted = request.files();
                if self.files.len() < wanted {
                    let name = request.name();
                    let reason = format!("{name} needs {wanted} files, and {} came", self.files.len());
                    return Err(self.wrong_files(reason));
                }
                let files = self.files.drain(..wanted).collect();
                Command::Share { session, id, request, files }
            }
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

/// What a stranger calls itself, fit for a line of a log.
pub(super) fn printable(agent: &str) -> String {
    agent.chars().take(64).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// A small write's data, copied: kept as it is, and it may be kept for long, it would hold on to all that was read with it.
fn own(payload: Bytes) -> Bytes {
    match payload.len() {
        0 => Bytes::new(),
        length if length < READ / 4 => Bytes::copy_from_slice(&payload),
        _ => payload,
    }
}
