//! A session's stream within its platform's thread: bytes become the session's commands, and messages of the
//! platform become bytes.
//!
//! The socket never blocks. [`SessionStream::poll`] does what can be done: it writes, decodes and reads once. A
//! thread that will not look again soon sleeps until the socket is ready for [what the stream waits
//! for](SessionStream::wanted).
//!
//! A peer that does not read is asked nothing more, and one that has too much under way is not read.

mod reading;
mod writing;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rustix::event::{PollFd, PollFlags};
use tokio::sync::oneshot;
use vp_protocols::native::{Capabilities, Connection, ErrorCode, Promised, Request, RequestId, Terms};
use vp_transport::Socket;

use super::files::Files;
use super::message::{SessionCommand, ToSession};
use super::owners::Token;
use super::permits::Permits;
use super::quota::Quotas;
use crate::session_end::{Ended, SessionOutcome};

/// Commands that a session may have in its platform before it is read no further.
const COMMANDS: usize = 4096;
/// Bytes of data, likewise, beside one longest payload.
const BYTES: usize = 1 << 20;
/// While the platform waits for the session's own memory its answer may stand behind more of its requests. So these
/// are taken, up to here; a peer that goes beyond makes its own answer unreachable.
const HARD_COMMANDS: usize = 65_536;
const HARD_BYTES: usize = 32 << 20;
/// Commands of a batch, at most: so many are decoded and then carried out before the next session is served.
pub(super) const BATCH_COMMANDS: usize = 64;
/// Bytes of data after which a batch ends. Client libraries load in pieces of this size.
pub(super) const BATCH_BYTES: usize = 256 << 10;
/// Bytes read at once, unless a payload is known to be longer.
const READ: usize = 64 << 10;
/// Messages for the session that are collected before they are written.
const COLLECTED: usize = 64;

/// Signs of life that a session has shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ActivityFlags {
    /// Something came, or could not come, since the stream is not read.
    pub(super) is_heard: bool,
    /// True if there were messages, other than Pings, or something is under way.
    pub(super) is_busy: bool,
}

/// A rule that a peer has broken.
struct Broken {
    code: ErrorCode,
    reason: String,
    /// Number of offending requests; they get no reply.
    unanswered: usize,
}

/// A session's socket and the protocol's state of it. When it is dropped the session's task gets both back.
pub(super) struct SessionStream {
    socket: Arc<Socket>,
    connection: Connection,
    input: BytesMut,
    landing: Box<[u8]>,
    files: Files,
    quotas: Quotas,
    permits: Rc<Permits>,
    /// The batch: decoded commands that are not yet passed to the platform.
    commands: VecDeque<SessionCommand>,
    /// Bytes of data that the batch's commands carry or ask for, those passed on included.
    batch_bytes: usize,
    /// From the platform, not yet encoded: collected, or the peer lags behind.
    outgoing: VecDeque<ToSession>,
    /// Requests of the platform that wait while the peer has its maximum.
    asks: VecDeque<(Token, Request, Bytes)>,
    tokens: BTreeMap<RequestId, Token>,
    max_bytes: usize,
    /// Since the last look at it.
    signs: ActivityFlags,
    /// Pings without an answer, of the server's.
    pings: usize,
    /// Pings without an answer, of the peer's.
    peer_pings: usize,
    /// True if the session has a clock of its own.
    is_partner: bool,
    /// True if all that was read is decoded, as far as it is whole: more may be read.
    wants_input: bool,
    /// A rule that the peer broke: the session ends when earlier requests are answered.
    broken: Option<Broken>,
    /// Reason for which the session ends.
    end: Option<SessionOutcome>,
    /// Sender that informs the session's task of the end.
    ended: Option<oneshot::Sender<Ended>>,
}

impl SessionStream {
    /// Longest payload in bytes.
    pub(super) fn max_payload(&self) -> u32 {
        self.connection.max_payload()
    }

    /// The stream of a session that is open; `input` has come behind its hello.
    pub(super) fn new(
        socket: Arc<Socket>,
        connection: Connection,
        input: BytesMut,
        ended: oneshot::Sender<Ended>,
    ) -> Self {
        let quotas = Quotas::new();
        Self {
            socket,
            max_bytes: BYTES + connection.max_payload() as usize,
            signs: ActivityFlags { is_heard: true, is_busy: true },
            pings: 0,
            peer_pings: 0,
            connection,
            input,
            landing: vec![0; READ].into(),
            files: Files::new(quotas.clone()),
            quotas,
            permits: Rc::default(),
            commands: VecDeque::new(),
            batch_bytes: 0,
            outgoing: VecDeque::new(),
            asks: VecDeque::new(),
            tokens: BTreeMap::new(),
            is_partner: false,
            wants_input: false,
            broken: None,
            end: None,
            ended: Some(ended),
        }
    }

    /// Returns the permits of what the session has under way.
    pub(super) fn permits(&self) -> &Rc<Permits> {
        &self.permits
    }

    /// Returns the quotas that the session has of the server.
    pub(super) fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Returns the reason for which the session ends, if it does.
    pub(super) fn end(&self) -> Option<&SessionOutcome> {
        self.end.as_ref()
    }

    /// Ends the session: the peer gets the reason, after earlier messages, as far as it reads them.
    pub(super) fn close(&mut self, code: ErrorCode, end: SessionOutcome) {
        self.flush();
        if self.end.is_none() {
            self.connection.bye(Some(code), end.why());
            self.end = Some(end);
        }
    }

    /// Collects a message for the session. A few are written at once.
    pub(super) fn send(&mut self, message: ToSession) {
        self.outgoing.push_back(message);
        if self.outgoing.len() == COLLECTED {
            self.flush();
        }
    }

    /// Puts a promise in the place of the one that is the last message on its way, if it is one.
    pub(super) fn replace_promise(&mut self, promised: Promised) -> bool {
        match self.outgoing.back_mut() {
            Some(ToSession::Promised(last)) => {
                *last = promised;
                true
            }
            _ => false,
        }
    }

    /// Writes what has been collected, as far as the peer reads.
    pub(super) fn flush(&mut self) {
        if self.outgoing.is_empty() {
            return;
        }
        if self.end.is_some() {
            return self.outgoing.clear();
        }
        let done = self.send_all();
        self.note(done);
    }

    /// Takes back what the platform asks of the peer and the peer has not been sent, where that is over; gives the tokens.
    pub(super) fn withdraw(&mut self, is_over: impl Fn(Token) -> bool) -> Vec<Token> {
        let mut withdrawn = Vec::new();
        let mut stays = |token| {
            let is_over = is_over(token);
            withdrawn.extend(is_over.then_some(token));
            !is_over
        };
        self.asks.retain(|(token, ..)| stays(*token));
        self.outgoing.retain(|message| match message {
            ToSession::Ask { token, .. } => stays(*token),
            _ => true,
        });
        withdrawn
    }

    /// Writes, and decodes a batch of commands, for which it reads once if all that was read before is decoded.
    /// Whether the session ends then is for [`end`](Self::end) to say.
    pub(super) fn poll(&mut self) {
        if self.end.is_none() {
            let done = self.advance();
            self.note(done);
        }
    }

    /// Returns true if commands of the batch have not been handed over.
    pub(super) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Hands over the next command of the batch.
    pub(super) fn next_command(&mut self) -> Option<SessionCommand> {
        let command = self.commands.pop_front();
        if self.commands.is_empty() {
            self.batch_bytes = 0;
        }
        command
    }

    /// Returns the signs of life that the session has shown since this was last asked.
    pub(super) fn take_signs(&mut self) -> ActivityFlags {
        let is_under_way = self.connection.to_answer() > self.peer_pings
            || self.connection.in_flight() > self.pings
            || !self.connection.output().is_empty();
        let ActivityFlags { is_heard, is_busy } = std::mem::take(&mut self.signs);
        ActivityFlags { is_heard: is_heard || !self.wants_input, is_busy: is_busy || is_under_way }
    }

    /// The session has accessed a register through its ring.
    pub(super) fn note_access(&mut self) {
        self.signs = ActivityFlags { is_heard: true, is_busy: true };
    }

    /// Returns true if the session has so much under way that it is not read, and has taken all messages: it
    /// then cannot see that the server is there.
    pub(super) fn is_held_back(&mut self) -> bool {
        let is_over = self.end.is_some() || self.broken.is_some();
        let has_too_much = !self.permits.is_within(COMMANDS, self.max_bytes);
        !self.wants_input && has_too_much && self.connection.output().is_empty() && !is_over
    }

    /// Returns true if the session answers Pings at any time.
    pub(super) fn has_promised_pongs(&self) -> bool {
        self.connection.capabilities().contains(Capabilities::HEARTBEAT)
    }

    /// Pings without an answer.
    pub(super) fn pings(&self) -> usize {
        self.pings
    }

    /// Sends a Ping, if one more may be under way.
    pub(super) fn ping(&mut self) {
        if self.connection.request(Request::Ping, &[]).is_ok() {
            self.pings += 1;
            let done = self.write();
            self.note(done);
        }
    }

    /// Returns what to sleep on until [`poll`](Self::poll) can do more; `None`: it depends on the platform alone.
    pub(super) fn wanted(&mut self) -> Option<PollFd<'_>> {
        let reads = self.wants_input || self.broken.is_some();
        let writes = !self.connection.output().is_empty();
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, reads);
        flags.set(PollFlags::OUT, writes);
        // The end of a stream is always told. Nobody could do anything about it now.
        (!flags.is_empty()).then(|| PollFd::new(&*self.socket, flags))
    }

    /// Returns true if there are bytes to be read that the system does not tell of.
    pub(super) fn has_buffered(&self) -> bool {
        self.end.is_none() && self.wants_input && self.socket.has_buffered()
    }

    /// Returns true if the peer has gone: its session ends as soon as what it has sent is read. A peer that has only sent all
    /// it has to say, and does not read either, is there.
    pub(super) fn is_deserted(&mut self) -> bool {
        let socket: BorrowedFd<'_> = self.socket.as_fd();
        vp_shm::wait(&[], &[socket], Some(Duration::ZERO))
            || (vp_shm::stream::has_sent_all(socket) && self.connection.output().is_empty())
    }

    fn note(&mut self, done: Result<(), SessionOutcome>) {
        if let Err(end) = done {
            self.end.get_or_insert(end);
        }
    }

    fn advance(&mut self) -> Result<(), SessionOutcome> {
        let is_at_rest = self.wants_input && self.outgoing.is_empty() && self.connection.output().is_empty();
        if !is_at_rest {
            self.settle()?;
        }
        if self.wants_input && self.commands.is_empty() && self.read()? {
            self.settle()?;
        }
        Ok(())
    }

    /// Decodes, encodes and writes what can be without reading.
    fn settle(&mut self) -> Result<(), SessionOutcome> {
        loop {
            self.deliver()?;
            self.wants_input = self.decode()?;
            // Replies may have made room for requests.
            if !self.send_more()? {
                return Ok(());
            }
        }
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        let end = self.end.take().unwrap_or_else(|| {
            // Its thread panics, perhaps in what a flush would do again.
            let end = SessionOutcome::Wrong("the platform failed".to_owned());
            self.connection.bye(Some(ErrorCode::Internal), end.why());
            end
        });
        let connection = std::mem::replace(&mut self.connection, Connection::server(Terms::default()));
        if let Some(ended) = self.ended.take() {
            // A task that was given up does not wait any more.
            let _ = ended.send(Ended { connection, end });
        }
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
    use bytes::BufMut as _;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use vp_protocols::native::{Counter, CounterValue, Event, Hello, MIN_MAX_PAYLOAD, Offer, Time, TimeMode};

    /// A session that has been welcomed, and its peer's end.
    fn session(hello: Hello) -> (SessionStream, Connection, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let mut client = Connection::client(hello).unwrap();
        let mut connection = Connection::server(Terms::default());
        let mut input = bytes(&mut client);
        assert!(matches!(connection.receive(&mut input), Ok(Some(Event::Hello(_)))));
        connection.accept(Offer::default()).unwrap();
        let mut welcome = bytes(&mut connection);
        assert!(matches!(client.receive(&mut welcome), Ok(Some(Event::Welcome(_)))));
        let socket = Arc::new(Socket::Unix(near));
        (SessionStream::new(socket, connection, input, oneshot::channel().0), client, far)
    }

    /// Returns the bytes that a connection has to send.
    fn bytes(connection: &mut Connection) -> BytesMut {
        let mut bytes = BytesMut::new();
        bytes.put(connection.output());
        bytes
    }

    /// Carries out what the session wants, which are reports; says how many.
    fn report(stream: &mut SessionStream) -> u32 {
        let mut made = 0;
        stream.poll();
        while let Some(command) = stream.next_command() {
            let SessionCommand::Request { id, .. } = command else { panic!("another command") };
            let counter = |number: u32| Counter {
                name: number.to_string(),
                unit: String::new(),
                value: CounterValue::Text("x".repeat(1000)),
            };
            let counters = (0..20).map(counter).collect();
            stream.send(ToSession::Statistics { id, time: Time::ZERO, counters, first: 0 });
            made += 1;
        }
        stream.flush();
        made
    }

    #[test]
    fn of_reports_that_are_not_read_the_next_one_is_not_made() {
        const REPORTS: u32 = 200;
        let hello = Connection::hello("test", None, TimeMode::Lockstep);
        let (mut stream, mut client, mut far) = session(Hello { max_payload: MIN_MAX_PAYLOAD, ..hello });
        for _ in 0..REPORTS {
            client.request(Request::Statistics { prefix: String::new(), first: 0 }, &[]).unwrap();
        }
        far.write_all(&bytes(&mut client)).unwrap();
        let mut made: u32 = (0..10 * REPORTS).map(|_| report(&mut stream)).sum();
        // What is encoded the system keeps, and the connection.
        let kept = stream.outgoing.len();
        assert!(kept <= 1 && made < REPORTS, "{kept} of {made} are kept");
        // The peer reads, and all are made.
        far.set_nonblocking(true).unwrap();
        let mut rubbish = vec![0; 1 << 20];
        for _ in 0..10 * REPORTS {
            _ = far.read(&mut rubbish);
            made += report(&mut stream);
        }
        assert_eq!(made, REPORTS);
    }
}
