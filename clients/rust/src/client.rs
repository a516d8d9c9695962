//! The session: opening it, exchanging messages, and waiting for answers.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use vp_protocols::native::{
    Breach, Bye, Capabilities, Connection, Driven, Event, Notice, Payload, PortEvent, PortId, Posted,
    Promised, Refused, Reply, Request, RequestId, SendError, Time, TimeMode, Welcome,
};
use vp_shm::AdaptiveSpin;
use vp_transport::{Address, Readiness, Stream, UntrustedServer, Watch};

use crate::credentials::Credentials;
use crate::handler::{Answered, Handler};
use crate::ring::{Ring, RingLine};
use crate::silence::{SilenceAction, limit_in_words};
use crate::wire::{GreetError, Wire};
use crate::{ConnectError, Error, SilenceLimit};

/// Time for which a call looks before sleeping: waking a sleeping thread costs tens of microseconds.
const LOOK: Duration = Duration::from_micros(50);
/// Interval at which a waiting call asks whether it goes on.
const ASK: Duration = Duration::from_millis(20);
/// Looks at the stream before the core is given to another thread.
const LOOKS: u32 = 4;
/// Reads of the stream before a caller has its turn, however much the server still sends.
const READS: u32 = 64;

/// Kind of session that is wanted.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name and version of the program, as the server's log shows them.
    pub agent: String,
    /// The name of a shared platform; without it a new platform.
    pub platform: Option<String>,
    /// Mode in which simulated time moves.
    pub time_mode: TimeMode,
    /// The capabilities of this side. They include, unless it is removed,
    /// [`Capabilities::MEMORY_IN_ORDER`]: the promise to carry out accesses to memory in the order in which they come,
    /// which is right for a [`Handler`] that answers at once. A program that [serves](Client::serve) its
    /// session at any time, and not only in calls that wait, may add [`Capabilities::HEARTBEAT`]: the server
    /// then notices when the program is stopped.
    pub capabilities: Capabilities,
    /// True to use the capabilities of one host too, where the transport has them: rings and shared memory. Their
    /// files go only to a server that is [trusted](Stream::check_server): without one there is no session.
    pub share: bool,
    /// The credentials for a server that asks for authentication.
    pub credentials: Credentials,
    /// Longest wait for the connection and for the welcome.
    pub timeout: Duration,
    /// Time that the server may be silent while a call waits, from the welcome on. A server that is silent for
    /// longer, and answers no Ping, is taken to be stopped or out of reach, and the call fails. Over TCP this
    /// is also the time that the server's host may be out of reach between two calls ([`Stream::keep_alive`]).
    pub heartbeat: SilenceLimit,
}

impl Options {
    /// A new platform in lockstep, for a program of this name and version.
    pub fn new(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            platform: None,
            time_mode: TimeMode::Lockstep,
            capabilities: Capabilities::ALL.union(Capabilities::MEMORY_IN_ORDER),
            share: true,
            credentials: Credentials::default(),
            timeout: Duration::from_secs(10),
            heartbeat: SilenceLimit::default(),
        }
    }
}

impl Options {
    /// Only looks at a platform that others use, or, without a name, asks the server which platforms there are.
    pub fn observer(agent: impl Into<String>, platform: Option<String>) -> Self {
        let capabilities = Capabilities::INSPECTION.union(Capabilities::OBSERVER).union(Capabilities::DEVICE);
        Self { platform, capabilities, share: false, ..Self::new(agent) }
    }
}

/// An answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Simulated time at which the request took effect.
    pub time: Time,
    /// Reply to the request.
    pub reply: Reply,
    /// A memory's bytes, or counters; otherwise empty.
    pub payload: Bytes,
}

/// One session with a server. Dropping it says goodbye and ends the stream.
///
/// Every call that waits also receives the server's other messages, and tells the [`Handler`] of them, in
/// order.
pub struct Client<H> {
    /// Address of the server, for errors.
    peer: String,
    pub(crate) wire: Wire,
    pub(crate) welcome: Welcome,
    handler: H,
    /// Answers that have not been taken yet; mostly none, or one.
    answers: Vec<(RequestId, Answer)>,
    spin: AdaptiveSpin,
    pub(crate) ring: Option<Box<Ring>>,
    /// The line that a ring shows.
    pub(crate) line: Option<Arc<RingLine>>,
    time: Time,
    ended: Option<String>,
    /// The server's last message, if it has ended the session.
    bye: Option<Bye>,
    /// End of the session, for the thread that has the ring.
    pub(crate) over: Arc<AtomicBool>,
    goes_on: Option<Box<dyn FnMut() -> bool + Send>>,
}

impl<H: Handler> Client<H> {
    /// Connects to a server and opens a session.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(address: &Address, options: &Options, handler: H) -> Result<Self, ConnectError> {
        let stream = Stream::connect(address, options.credentials.tls.as_ref(), options.timeout)
            .map_err(|source| ConnectError::Io { peer: address.to_string(), source })?;
        let trust = stream.check_server(Some(address));
        Self::open(stream, &address.to_string(), trust, options, handler)
    }

    /// Opens a session over a stream to a server; `peer` names it in errors. At a Unix socket the server has to be a
    /// process of the own user or of root to get a token or files.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn over(stream: Stream, peer: &str, options: &Options, handler: H) -> Result<Self, ConnectError> {
        let trust = stream.check_server(None);
        Self::open(stream, peer, trust, options, handler)
    }

    /// Opens a session with a server that is to be trusted, or not.
    pub(crate) fn open(
        stream: Stream,
        peer: &str,
        trust: io::Result<Result<(), UntrustedServer>>,
        options: &Options,
        handler: H,
    ) -> Result<Self, ConnectError> {
        let io = |source| ConnectError::Io { peer: peer.to_owned(), source };
        let trust = trust.map_err(io)?;
        let shares = options.share && stream.carries_files();
        if shares {
            // Not only the files are kept back: a server that is given none can still ask for the memory behind a port.
            ConnectError::check_trust(peer, trust.clone())?;
        }
        let mut hello = Connection::hello(&options.agent, options.platform.as_deref(), options.time_mode);
        hello.capabilities = options.capabilities;
        if shares {
            hello.capabilities = hello.capabilities.union(Capabilities::LOCAL);
        }
        if options.credentials.token.is_some() {
            hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
        }
        let until = Instant::now() + options.timeout;
        let connection = Connection::client(hello).map_err(ConnectError::Hello)?;
        if let Some(limit) = options.heartbeat.duration() {
            stream.keep_alive(limit).map_err(io)?;
        }
        let mut wire = Wire::new(stream, connection, options.heartbeat);
        let welcome = wire.greet(until).map_err(|error| match error {
            GreetError::Io(source) => io(source),
            GreetError::Refused(Refused { code, reason }) => {
                ConnectError::Refused { peer: peer.to_owned(), code, reason }
            }
            GreetError::Protocol(what) => ConnectError::Protocol { peer: peer.to_owned(), what },
        })?;
        let mut client = Self {
            peer: peer.to_owned(),
            wire,
            time: welcome.time,
            welcome,
            handler,
            answers: Vec::new(),
            spin: AdaptiveSpin::default(),
            ring: None,
            line: None,
            ended: None,
            bye: None,
            over: Arc::default(),
            goes_on: None,
        };
        client.set_deadline(Some(until));
        client.authenticate(options, trust)?;
        client.set_deadline(None);
        Ok(client)
    }

    /// Authenticates, if the server asks for it, is trusted, and nobody on the way to it can read the token.
    fn authenticate(
        &mut self,
        options: &Options,
        trust: Result<(), UntrustedServer>,
    ) -> Result<(), ConnectError> {
        let is_wanted = self.welcome.capabilities.contains(Capabilities::AUTHENTICATION);
        let Some(token) = options.credentials.token.clone().filter(|_| is_wanted) else { return Ok(()) };
        let peer = self.peer.clone();
        ConnectError::check_trust(&peer, trust)?;
        match self.wire.stream.route() {
            Ok(route) => ConnectError::check_route(&peer, route)?,
            Err(source) => return Err(ConnectError::Io { peer, source }),
        }
        match self.ask(Request::Authenticate { token }, &[]) {
            Ok(answer) => {
                // Before that the server tells no time.
                self.welcome.time = answer.time;
                Ok(())
            }
            Err(Error::Refused { code, reason }) => Err(ConnectError::Refused { peer, code, reason }),
            Err(error) => Err(ConnectError::Ended { peer, why: error.to_string() }),
        }
    }

    /// The terms of the session: platform and ports, session number, granted capabilities.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// The latest simulated time in a message of the server.
    pub fn time(&self) -> Time {
        self.time
    }

    /// The receiver of events.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// The receiver of events, to be changed.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Sets a time limit, from now on, for calls that wait. A call that takes longer fails, and ends the
    /// session.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.wire.deadline = deadline;
    }

    /// Sets a function that is called every 20 ms while a call sleeps, and says whether the call goes on. If
    /// not, the session ends, because its request to the server is still under way.
    pub fn ask_whether(&mut self, goes_on: impl FnMut() -> bool + Send + 'static) {
        self.goes_on = Some(Box::new(goes_on));
    }

    /// A handle with which another thread waits for messages of the server.
    ///
    /// # Errors
    /// What the system says.
    pub fn watch(&self) -> io::Result<Watch> {
        self.wire.stream.watch()
    }

    /// The server's reason, if it has ended the session.
    pub fn bye(&self) -> Option<&Bye> {
        self.bye.as_ref()
    }

    /// Writes what is still to be written, and says goodbye.
    ///
    /// # Errors
    /// [`Error::Ended`]: posted writes may not have arrived.
    pub fn close(&mut self, reason: &str) -> Result<(), Error> {
        self.check()?;
        self.wire.connection.bye(None, reason);
        let flushed = self.flush();
        self.end(reason);
        flushed
    }

    /// Ends the session without a message; every later call fails with this reason.
    pub fn end(&mut self, why: impl Into<String>) -> Error {
        let why = self.ended.get_or_insert_with(|| why.into());
        self.over.store(true, Ordering::Release);
        if self.line.is_some() {
            // Wakes who waits at the ring.
            self.wire.stream.shut_down();
        }
        Error::Ended(why.clone())
    }

    // Sending.

    /// Checks that the session is still open.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn check(&self) -> Result<(), Error> {
        match &self.ended {
            None => Ok(()),
            Some(why) => Err(Error::Ended(why.clone())),
        }
    }

    /// Makes a request. It is sent with the next call that waits, or with [`flush`](Client::flush) or
    /// [`progress`](Client::progress). Its answer is kept until it is [taken](Client::take_answer).
    ///
    /// # Errors
    /// [`Error::Ended`], [`Error::Unsent`].
    pub fn send<'a>(
        &mut self,
        request: Request,
        payload: impl Into<Payload<'a>>,
    ) -> Result<RequestId, Error> {
        self.check()?;
        self.leave_room_for_a_ping()?;
        let sent = self.wire.connection.request(request, payload);
        sent.map_err(|error| self.unsent(error))
    }

    /// Of the requests that may be under way one is kept for a Ping, unless there is only one.
    fn leave_room_for_a_ping(&self) -> Result<(), Error> {
        let limit = self.welcome.max_in_flight;
        let is_kept = limit > 1 && self.wire.silence.limit().is_some() && self.wire.silence.ping.is_none();
        match is_kept && self.wire.connection.in_flight() + 1 >= limit as usize {
            true => Err(Error::Unsent(Breach::TooManyInFlight { limit: limit - 1 }.into())),
            false => Ok(()),
        }
    }

    /// Makes a write that gets no answer. It is sent as requests are.
    ///
    /// # Errors
    /// [`Error::Ended`], [`Error::Unsent`].
    pub fn post(&mut self, posted: Posted, payload: &[u8]) -> Result<(), Error> {
        self.check()?;
        let sent = self.wire.connection.post(posted, payload);
        sent.map_err(|error| self.unsent(error))
    }

    /// Drives something at a timed port, to be seen at that clock edge; `data` has the bytes of a beat. It is
    /// sent as requests are: all that is driven and promised between two waits is one write.
    ///
    /// # Errors
    /// [`Error::Ended`], [`Error::Unsent`].
    pub fn drive<'a>(
        &mut self,
        port: PortId,
        at: Time,
        event: PortEvent,
        data: impl Into<Payload<'a>>,
    ) -> Result<(), Error> {
        self.check()?;
        let sent = self.wire.connection.drive(Driven { port, at, event }, data);
        sent.map_err(|error| self.unsent(error))
    }

    /// Promises two things: so many events of the platform, from the first one on, are taken into account; and
    /// nothing more is driven to be seen before `next` (`None`: ever), unless another event comes. It is sent
    /// as requests are.
    ///
    /// # Errors
    /// [`Error::Ended`], [`Error::Unsent`].
    pub fn promise(&mut self, heard: u64, next: Option<Time>) -> Result<(), Error> {
        self.check()?;
        let sent = self.wire.connection.promise(Promised { heard, next });
        sent.map_err(|error| self.unsent(error))
    }

    /// Answers a request of the platform that was left [for later](Answered::Later). It is sent as requests
    /// are.
    ///
    /// # Errors
    /// [`Error::Ended`], [`Error::Unsent`].
    pub fn reply(
        &mut self,
        id: RequestId,
        time: Time,
        reply: Reply,
        payload: impl Into<Bytes>,
    ) -> Result<(), Error> {
        self.check()?;
        let sent = self.wire.connection.reply(id, time, reply, payload.into());
        sent.map_err(|error| self.unsent(error))
    }

    /// Bytes that are to be written.
    pub fn unwritten(&mut self) -> usize {
        self.wire.connection.output().len()
    }

    /// Sends everything that was made. It waits for the server to accept it, but receives nothing.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.check()?;
        self.wire.flush().map_err(|error| self.end(error.to_string()))
    }

    /// Writes everything as [`Client::flush`] does, but only until that instant. `false`: there is more, which is still to be written.
    fn flush_until(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        self.check()?;
        self.wire.flush_until(until).map_err(|error| self.end(error.to_string()))
    }

    /// Sends a request with open files beside it, and waits for its answer.
    pub(crate) fn ask_with(&mut self, request: Request, files: &[BorrowedFd<'_>]) -> Result<Answer, Error> {
        // The files go with the request's bytes.
        self.flush()?;
        let id = self.send(request, &[])?;
        self.wire.flush_with(files).map_err(|error| self.end(error.to_string()))?;
        self.answer(id)
    }

    fn unsent(&mut self, error: SendError) -> Error {
        match error {
            SendError::NotNow { .. } => self.end(error.to_string()),
            error => Error::Unsent(error),
        }
    }

    // Answers.

    /// Sends a request and waits for its answer. A refusal is an error.
    ///
    /// # Errors
    /// [`Error`].
    pub fn ask<'a>(&mut self, request: Request, payload: impl Into<Payload<'a>>) -> Result<Answer, Error> {
        let id = self.send(request, payload)?;
        self.answer(id)
    }

    /// Waits for the answer to a request that was sent. A refusal is an error.
    ///
    /// # Errors
    /// [`Error`].
    pub fn answer(&mut self, id: RequestId) -> Result<Answer, Error> {
        match self.wait(self.left(), |client| client.take_answer(id))? {
            Some(Answer { reply: Reply::Failed { code, reason }, .. }) => {
                Err(Error::Refused { code, reason })
            }
            Some(answer) => Ok(answer),
            None => Err(self.end("the server does not answer")),
        }
    }

    /// The answer to a request, if it has come; it may be a refusal.
    pub fn take_answer(&mut self, id: RequestId) -> Option<Answer> {
        let place = self.answers.iter().position(|(of, _)| *of == id)?;
        Some(self.answers.swap_remove(place).1)
    }

    /// Waits until `done` returns something, up to a time limit. `done` is called whenever a message has come.
    /// `None`: the time is over. What the server has not taken by then is still [to be written](Client::unwritten),
    /// and goes out with the next call that waits.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn wait<T>(
        &mut self,
        timeout: Option<Duration>,
        mut done: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        // It may have come with something else.
        if let Some(done) = done(self) {
            return Ok(Some(done));
        }
        // A time that the clock has no number for is none.
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        // What is left when the time is over is found by the loop, which looks at least once at what has come.
        self.flush_until(until)?;
        self.spin.begin();
        let (mut moved, mut looks) = (None, 0_u32);
        loop {
            // What was asked for just now is not there yet, and the server may be waiting for this very core.
            if looks.is_multiple_of(LOOKS) {
                self.spin.yield_core();
            }
            looks = looks.wrapping_add(1);
            let served = self.move_on(|client| client.flush_until(until));
            // What ended the session behind it is found again by the next call.
            if let Some(done) = done(self) {
                return Ok(Some(done));
            }
            let (has_moved, now) = (served?, Instant::now());
            if until.is_some_and(|until| now >= until) {
                return Ok(None);
            }
            if has_moved {
                moved = Some(now);
            } else if now - *moved.get_or_insert(now) >= LOOK {
                let patience = self.check_heartbeat_until(until)?;
                if self.goes_on.as_mut().is_some_and(|goes_on| !goes_on()) {
                    return Err(self.end("the call that waited for the server was ended by its caller"));
                }
                let ask = self.goes_on.is_some().then_some(ASK);
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                self.spin.give_up();
                self.wire.stream.wait(Readiness::Bytes, left.into_iter().chain(patience).chain(ask).min());
            }
        }
    }

    /// Sends Ping to a server that is silent, when that is due; returns the time until this has to be called
    /// again. Calls that wait do this by themselves. It is for a program that sleeps at the stream itself,
    /// after [`progress`](Client::progress) or [`serve`](Client::serve).
    ///
    /// # Errors
    /// [`Error::Ended`]: the server has been silent for [so long](Options::heartbeat).
    pub fn check_heartbeat(&mut self) -> Result<Option<Duration>, Error> {
        self.check_heartbeat_until(None)
    }

    /// Sends a due Ping as [`Client::check_heartbeat`] does, but writes it only until that instant.
    fn check_heartbeat_until(&mut self, until: Option<Instant>) -> Result<Option<Duration>, Error> {
        self.check()?;
        loop {
            match self.wire.silence.look(Instant::now()) {
                None => return Ok(None),
                Some(SilenceAction::Wait(left)) => return Ok(Some(left)),
                Some(SilenceAction::Ask) if self.wire.silence.ping.is_some() => {}
                Some(SilenceAction::Ask) => match self.wire.connection.request(Request::Ping, &[]) {
                    Ok(id) => {
                        self.wire.silence.ping = Some(id);
                        self.flush_until(until)?;
                    }
                    // All that may be under way is: the server cannot be asked.
                    Err(_) => self.wire.silence.end(),
                },
                Some(SilenceAction::GiveUp) => {
                    let limit = limit_in_words(self.wire.silence.limit().unwrap_or_default());
                    let waiting = match self.wire.connection.in_flight() {
                        // The Ping.
                        0 | 1 => String::new(),
                        2 => "; a request waits for its answer".to_owned(),
                        more => format!("; {} requests wait for their answers", more - 1),
                    };
                    let (peer, variable) = (&self.peer, SilenceLimit::VARIABLE);
                    let why = format!(
                        "{peer} has said nothing for {limit}, and answers no Ping: it is stopped or out of reach{waiting} \
                         (start it anew or let it go on; {variable}=none waits for ever, such as for a server in a debugger)"
                    );
                    return Err(self.end(why));
                }
            }
        }
    }

    // Moving on.

    /// Receives what is there now, some MiB at most, tells the handler, and writes what there is room for;
    /// never waits. `false`: nothing had come.
    ///
    /// For programs with a loop of their own. They sleep until the stream has bytes, or has room while
    /// something is [to be written](Client::unwritten), and then call this.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn progress(&mut self) -> Result<bool, Error> {
        self.move_on(|client| client.wire.write().map_err(|error| client.end(error.to_string())))
    }

    /// Receives what is there now, some MiB at most, and tells the handler. All answers that this causes are
    /// written before it returns, which waits for the server to accept them. `false`: nothing had come.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn serve(&mut self) -> Result<bool, Error> {
        self.move_on(|client| client.flush().map(|()| true))
    }

    /// The descriptor that becomes readable when [`progress`](Client::progress) has something to receive, where
    /// the transport has one.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.wire.stream.descriptor()
    }

    /// Receives and handles what is there. `write` says whether everything was written.
    fn move_on(&mut self, mut write: impl FnMut(&mut Self) -> Result<bool, Error>) -> Result<bool, Error> {
        self.check()?;
        write(self)?;
        let mut moved = self.deal(&mut write)?;
        for _ in 0..READS {
            let read = self.wire.read().map_err(|error| self.end(error.to_string()))?;
            let Some(read) = read else { break };
            moved |= self.deal(&mut write)?;
            // Less than there was room for is all there was.
            if !read.may_have_more {
                break;
            }
        }
        Ok(moved)
    }

    /// Deals with what has been read; all the answers it causes go out at once.
    fn deal(&mut self, write: &mut impl FnMut(&mut Self) -> Result<bool, Error>) -> Result<bool, Error> {
        let mut moved = false;
        loop {
            match self.wire.receive() {
                Ok(Some(event)) => {
                    moved = true;
                    self.event(event)?;
                    // The server lags behind: no more answers before it has taken these.
                    if self.wire.connection.is_backlogged() && !write(self)? {
                        return Ok(true);
                    }
                }
                Ok(None) => break,
                Err(violation) => {
                    // The parting frame says why; the session is over either way.
                    let _ = self.wire.write();
                    return Err(self.end(format!("the server broke the protocol: {violation}")));
                }
            }
        }
        if moved {
            write(self)?;
        }
        Ok(moved)
    }

    fn event(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Reply { id, .. } if self.wire.silence.ping == Some(id) => self.wire.silence.ping = None,
            Event::Reply { id, time, reply, payload } => {
                self.time = self.time.max(time);
                self.answers.push((id, Answer { time, reply, payload }));
            }
            Event::Notice(Notice::Interrupt { port, level, time }) => {
                self.time = self.time.max(time);
                match &self.line {
                    // An access may have shown a later level.
                    Some(line) if line.port() == port => {
                        let handler = &mut self.handler;
                        line.look(|level| handler.interrupt(port, level, time));
                    }
                    _ => self.handler.interrupt(port, level, time),
                }
            }
            Event::Notice(Notice::Warning { time, text }) => self.handler.warning(time, text),
            Event::Notice(Notice::MarkedWarning { time, marks, text }) => {
                self.handler.marked_warning(time, marks, text);
            }
            Event::Notice(Notice::Stopped(report)) => self.handler.stopped(*report),
            Event::Request { id, request, payload } => {
                let answered = match request {
                    Request::Ping => Answered::now(Reply::Pong, Bytes::new()),
                    request => self.handler.request(id, &request, &payload),
                };
                if let Answered::Now { time, reply, payload } = answered {
                    let sent = self.wire.connection.reply(id, time, reply, payload);
                    sent.map_err(|error| self.end(error.to_string()))?;
                }
            }
            Event::Posted { posted, payload } => self.handler.posted(&posted, &payload),
            Event::Driven { driven, payload } => self.handler.driven(driven, &payload),
            Event::Promised(promised) => self.handler.promised(promised),
            Event::Bye(bye) => {
                let code = bye.code.map(|code| format!("{code}: ")).unwrap_or_default();
                let ended = self.end(format!("the server ended the session: {code}{}", bye.reason));
                self.bye = Some(bye);
                return Err(ended);
            }
            Event::Hello(_) | Event::Welcome(_) | Event::Refused(_) => {}
        }
        Ok(())
    }

    /// Notes the time that a ring's answer has.
    pub(crate) fn heard(&mut self, time: Time) {
        self.time = self.time.max(time);
    }

    /// Time that calls may still take; `None`: without end.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.wire.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }
}

impl<H> Drop for Client<H> {
    fn drop(&mut self) {
        if self.ended.is_none() && self.wire.connection.is_open() {
            self.wire.connection.bye(None, "done");
            // Whether it arrives or not, the session is over.
            let _ = self.wire.flush();
        }
        // Ends the wait of who watches the stream, and of who waits at the ring.
        self.over.store(true, Ordering::Release);
        self.wire.stream.shut_down();
    }
}
