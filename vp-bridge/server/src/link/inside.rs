//! What a session's link knows and does, by whichever thread holds it: bytes become events, these become the platform's
//! commands, and what the platform says becomes bytes.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use vp_protocols::native::statistics::emit_counters;
use vp_protocols::native::{
    Breach, Capabilities, Connection, ErrorCode, Event, Reply, Request, RequestId, SendError, SessionId,
    Violation,
};

use super::{Link, Newcomer, printable};
use crate::instance::{Command, Inbox, Permits, ToSession, Token};

/// Commands that a session may have in its platform before it is read no further.
const COMMANDS: usize = 4096;
/// Bytes of data, likewise, beside one longest payload.
const BYTES: usize = 1 << 20;
/// While the platform waits for the session's own memory its answer may stand behind more of its requests. So these
/// are taken, up to here; a peer that goes beyond makes its own answer unreachable.
const HARD_COMMANDS: usize = 65_536;
const HARD_BYTES: usize = 32 << 20;
/// Bytes read at once, unless a payload is known to be longer.
const READ: usize = 64 << 10;
/// Rounds of reading, doing and writing before somebody else has a turn.
const ROUNDS: usize = 16;
/// Files that came beside the stream and that no request has taken, at most.
const FILES: usize = 64;

/// Why a session ended: for the log.
pub(crate) enum End {
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
    pub(super) fn is_plain(self) -> bool {
        self.input && !self.room
    }
}

/// A link's inside.
pub(super) struct Core {
    id: SessionId,
    pub(super) connection: Connection,
    input: BytesMut,
    landing: Box<[u8]>,
    files: VecDeque<OwnedFd>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) permits: Arc<Permits>,
    /// For the platform, collected from one read.
    batch: Vec<Command>,
    /// From the platform, while the peer lags behind.
    pub(super) undelivered: VecDeque<ToSession>,
    /// Requests of the platform, while the peer has as many as it takes.
    asks: VecDeque<(Token, Request, Bytes)>,
    tokens: BTreeMap<RequestId, Token>,
    max_bytes: usize,
    /// Whether the session has said that it has a clock.
    is_partner: bool,
    /// Whether all is done that can be done without the peer.
    is_at_rest: bool,
    /// Why the session ends, as the platform's thread has found; for the task.
    pub(super) end: Option<End>,
    /// Whether the session is over.
    pub(super) over: bool,
}

impl Core {
    pub(super) fn new(newcomer: Newcomer) -> Self {
        let Newcomer { id, connection, input, inbox, permits, max_payload } = newcomer;
        Self {
            id,
            connection,
            input,
            landing: vec![0; READ].into(),
            files: VecDeque::new(),
            inbox,
            permits,
            batch: Vec::new(),
            undelivered: VecDeque::new(),
            asks: VecDeque::new(),
            tokens: BTreeMap::new(),
            max_bytes: BYTES + max_payload as usize,
            is_partner: false,
            is_at_rest: false,
            end: None,
            over: false,
        }
    }

    /// Keeps how the session ends for the task. Says whether it goes on.
    pub(super) fn note(&mut self, done: Result<(), End>) -> bool {
        if let Err(end) = done {
            self.over = true;
            self.end.get_or_insert(end);
        }
        !self.over
    }

    /// Reads, does and writes what there is. What the peer wants goes `here` if the caller is the platform, else through the
    /// inbox.
    pub(super) fn pump(&mut self, link: &Link, mut here: Option<&mut Vec<Command>>) -> Result<Wants, End> {
        if self.over {
            return Ok(Wants { input: false, room: false, turn: false });
        }
        let mut may_read = true;
        if std::mem::take(&mut self.is_at_rest) && !link.has_mail.load(Ordering::Acquire) {
            let (has_input, has_more) = self.read(link)?;
            if !has_input {
                self.is_at_rest = true;
                return Ok(Wants { input: true, room: false, turn: false });
            }
            may_read = has_more;
        }
        for _ in 0..ROUNDS {
            self.collect(link)?;
            let wants_more = self.settle(here.as_deref_mut())?;
            let lagged = self.connection.is_backlogged();
            self.write(link)?;
            let has_caught_up = lagged && !self.connection.is_backlogged();
            let mut has_input = false;
            if wants_more && may_read {
                (has_input, may_read) = self.read(link)?;
            }
            let has_mail = self.undelivered.is_empty() && link.has_mail.load(Ordering::Acquire);
            if !has_caught_up && !has_input && !has_mail {
                let room = !self.connection.output().is_empty();
                self.is_at_rest = wants_more && !room && self.undelivered.is_empty();
                return Ok(Wants { input: wants_more, room, turn: false });
            }
        }
        Ok(Wants { input: true, room: false, turn: true })
    }

    /// Writes what the platform has for the peer: all of `messages`, unless the session is over.
    pub(super) fn push(&mut self, link: &Link, messages: &mut Vec<ToSession>) -> Result<(), End> {
        if self.over {
            messages.clear();
            return Ok(());
        }
        self.is_at_rest = false;
        // What was left undelivered because the peer lagged behind may be followed by more.
        let lagged = !self.undelivered.is_empty();
        self.collect(link)?;
        self.deliver()?;
        if lagged {
            self.collect(link)?;
            self.deliver()?;
        }
        for message in messages.drain(..) {
            match self.undelivered.is_empty() && !self.connection.is_backlogged() {
                true => {
                    self.tell(message)?;
                    self.ask_more()?;
                }
                false => self.undelivered.push_back(message),
            }
        }
        self.hand_over(None);
        self.write(link)
    }

    /// Hands on what has been collected for the platform.
    fn hand_over(&mut self, here: Option<&mut Vec<Command>>) {
        match here {
            // What went through the inbox comes first.
            Some(here) if !self.inbox.has_waiting() => here.append(&mut self.batch),
            // Whatever a closed inbox means, the outlet tells it.
            _ => drop(self.inbox.send(&mut self.batch)),
        }
    }

    /// Takes what the platform has said, unless the peer lags behind.
    fn collect(&mut self, link: &Link) -> Result<(), End> {
        if !self.undelivered.is_empty() || !link.has_mail.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut mail = link.mail();
        if mail.messages.is_empty() && mail.hung_up {
            drop(mail);
            self.connection.bye(Some(ErrorCode::Internal), "the platform failed");
            return Err(End::Wrong("the platform failed".to_owned()));
        }
        link.has_mail.store(mail.hung_up, Ordering::Relaxed);
        if !mail.messages.is_empty() {
            self.undelivered.extend(mail.messages.drain(..));
        }
        Ok(())
    }

    fn write(&mut self, link: &Link) -> Result<(), End> {
        while !self.connection.output().is_empty() {
            match link.socket.write(self.connection.output()) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Err(End::Wrong(format!("stream broken: {error}"))),
            }
        }
        Ok(())
    }

    /// Reads once. Says whether something was there, and whether there may be more.
    fn read(&mut self, link: &Link) -> Result<(bool, bool), End> {
        let lacking = self.connection.lacking(&self.input);
        let files = self.files.len();
        // The rest of a long payload goes straight to where it stays; nothing else is read with it.
        let (read, room) = match lacking < READ {
            true if self.takes_files() => (link.socket.receive(&mut self.landing, &mut self.files), READ),
            true => (link.socket.read(&mut self.landing), READ),
            false => (link.socket.read_onto(lacking, &mut self.input), lacking),
        };
        match read {
            Ok(None) => Ok((false, false)),
            Ok(Some(0)) if self.input.is_empty() => Err(End::Fine("the peer is gone".to_owned())),
            Ok(Some(0)) => Err(End::Wrong("the peer vanished in the middle of a frame".to_owned())),
            Ok(Some(read)) => {
                if lacking < READ {
                    self.input.extend_from_slice(&self.landing[..read]);
                }
                if self.files.len() > FILES {
                    return Err(self.wrong_files(format!("more than {FILES} files that no request needs")));
                }
                // Less than there was room for is all there was, unless files came: a read ends behind these.
                Ok((true, read == room || self.files.len() > files))
            }
            Err(error) => Err(End::Wrong(format!("stream broken: {error}"))),
        }
    }

    fn takes_files(&self) -> bool {
        self.connection.capabilities().intersection(Capabilities::LOCAL) != Capabilities::NONE
    }

    fn wrong_files(&mut self, reason: String) -> End {
        self.connection.bye(Some(ErrorCode::WrongFiles), reason.clone());
        End::Wrong(reason)
    }

    /// Put out while the peer does not read: of what waits for it only the reason is left to say.
    pub(super) fn last_words(&mut self, link: &Link) -> End {
        if let Some(end) = self.end.take() {
            return end;
        }
        let mail = std::mem::take(&mut link.mail().messages);
        for message in self.undelivered.drain(..).chain(mail) {
            if let ToSession::Close { code, reason } = message {
                self.connection.bye(Some(code), reason.clone());
                return End::Wrong(reason);
            }
        }
        self.connection.bye(Some(ErrorCode::Internal), "the platform put the session out");
        End::Wrong("put out".to_owned())
    }

    /// Moves what can be moved. Says whether more bytes are wanted.
    fn settle(&mut self, mut here: Option<&mut Vec<Command>>) -> Result<bool, End> {
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
        self.hand_over(here.as_deref_mut());
        self.deliver()?;
        // Requests that the peer cannot be asked have been answered in its place.
        self.hand_over(here);
        Ok(wants_more)
    }

    /// Whether the platform takes more of this session.
    fn may_ask(&mut self) -> Result<bool, End> {
        if self.permits.is_within(COMMANDS, self.max_bytes) {
            return Ok(true);
        }
        // A partner's promise may be what all its other commands wait for.
        if self.connection.in_flight() == 0 && !self.is_partner {
            return Ok(false);
        }
        if self.permits.is_within(HARD_COMMANDS, HARD_BYTES) {
            return Ok(true);
        }
        let reason =
            "the platform waits for this session's answer or promise, which stands behind too much else";
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
                self.is_partner |= matches!(request, Request::Clock { .. });
                // What is read costs memory as what is written does, only later.
                let bytes = match &request {
                    Request::MemoryRead(read) => read.length as usize,
                    _ => payload.len(),
                };
                let permit = self.permits.permit(bytes);
                Command::Request { session, id, request, payload: own(payload), permit }
            }
            Event::Posted { posted, payload } => {
                let permit = self.permits.permit(payload.len());
                Command::Posted { session, posted, payload: own(payload), permit }
            }
            Event::Reply { id, reply, payload, .. } => match self.tokens.remove(&id) {
                Some(token) => Command::Answer { session, token, reply, payload },
                None => return Ok(()),
            },
            Event::Driven { driven, payload } => {
                let permit = self.permits.permit(payload.len());
                Command::Driven { session, driven, payload: own(payload), permit }
            }
            Event::Promised(promised) => {
                Command::Promised { session, promised, permit: self.permits.permit(0) }
            }
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
            let Some(message) = self.undelivered.pop_front() else { return Ok(()) };
            self.tell(message)?;
        }
    }

    #[inline]
    fn ask_more(&mut self) -> Result<(), End> {
        // Mostly there is nothing to ask.
        if self.asks.is_empty() { Ok(()) } else { self.ask_them() }
    }

    fn ask_them(&mut self) -> Result<(), End> {
        while let Some((token, request, payload)) = self.asks.front() {
            match self.connection.request(request.clone(), payload.clone()) {
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
            ToSession::Reply { id, time, mut reply, payload, permit } => {
                if let Reply::Status(status) = &mut reply {
                    let both = self.connection.in_flight() + self.connection.to_answer();
                    status.in_flight = u32::try_from(both).unwrap_or(u32::MAX);
                }
                let sent = self.connection.reply(id, time, reply, payload);
                drop(permit);
                sent
            }
            ToSession::Statistics { id, time, counters, first } => {
                let limit = self.connection.max_payload() as usize;
                let total = u32::try_from(counters.len()).unwrap_or(u32::MAX);
                let (payload, count) = emit_counters(counters.iter().skip(first as usize), limit);
                self.connection.reply(id, time, Reply::Statistics { total, count }, payload.freeze())
            }
            ToSession::Notice(notice) => {
                self.permits.notice_taken();
                self.connection.notify(notice)
            }
            ToSession::Driven { driven, payload } => {
                self.permits.notice_taken();
                self.connection.drive(driven, payload)
            }
            ToSession::Promised(promised) => {
                self.permits.notice_taken();
                self.connection.promise(promised)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(session: u64) -> Command {
        let (session, token) = (SessionId(session), Token::default());
        Command::Answer { session, token, reply: Reply::Done, payload: Bytes::new() }
    }

    /// Of a session whose task was at it before the platform.
    #[test]
    fn nothing_overtakes_what_went_through_the_inbox() {
        let inbox = Arc::new(Inbox::new().unwrap());
        let mut core = Core::new(Newcomer::silent(SessionId(1), &inbox));
        let mut here = Vec::new();
        core.batch.push(answer(1));
        core.hand_over(None);
        core.batch.push(answer(2));
        core.hand_over(Some(&mut here));
        assert!(here.is_empty());
        let mut taken = Vec::new();
        inbox.take(&mut taken);
        let sessions = |commands: &[Command]| -> Vec<u64> {
            let session = |command: &Command| match command {
                Command::Answer { session, .. } => session.0,
                _ => 0,
            };
            commands.iter().map(session).collect()
        };
        assert_eq!(sessions(&taken), [1, 2]);
        core.batch.push(answer(3));
        core.hand_over(Some(&mut here));
        assert_eq!(sessions(&here), [3]);
        assert!(!inbox.has_waiting());
    }
}
