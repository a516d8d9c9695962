//! Sessions of other protocols within their platform's thread: their sockets, and the adapter between them and the hub.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use rustix::event::{PollFd, PollFlags};
use tokio::sync::oneshot;
use vp_core::Time;
use vp_hub::{DirectRange, Input, Output, PortId};
use vp_models::platform::SaveError;
use vp_protocols::native::SessionId;
use vp_transport::{Socket, UnixPeer};

use super::message::JoiningAdapter;
use super::passed_files::{Carried, PassedFiles};
use crate::adapters::{Adapter, SessionEnd, SessionStart};
use crate::session_end::SessionOutcome;

/// Bytes read at once.
const READ: usize = 64 << 10;
/// Bytes that a peer may leave unread.
const UNREAD: usize = 32 << 20;

/// Time for which a peer is silent before its adapter is informed.
const SILENCE: Duration = Duration::from_millis(1);

/// A session's sockets and its adapter. When it is dropped the session's task is informed.
pub(super) struct AdaptedSession {
    /// Name of the session in the log.
    pub(super) name: String,
    /// Time since which it is here.
    pub(super) since: Instant,
    streams: Vec<AdaptedStream>,
    adapter: Box<dyn Adapter>,
    files: PassedFiles,
    landing: Box<[u8]>,
    /// Time at which something last came, or the adapter was informed of the silence.
    heard: Instant,
    /// True if something has passed since the last look, in either direction.
    has_passed: bool,
    /// Time for which nothing has, and nothing was under way, as of the last look.
    idle: Duration,
    /// The rule that the peer broke: the session ends when earlier requests are answered.
    broken: Option<SessionOutcome>,
    /// True if the platform could not be saved yet, and is looked at again when something else has happened.
    waits_for_rest: bool,
    /// Reason for which the session ends.
    end: Option<SessionOutcome>,
    ended: Option<oneshot::Sender<SessionOutcome>>,
}

struct AdaptedStream {
    socket: Arc<Socket>,
    /// Read, and not yet complete.
    input: BytesMut,
}

impl From<SessionEnd> for SessionOutcome {
    fn from(parting: SessionEnd) -> SessionOutcome {
        match parting {
            SessionEnd::Fine(why) => SessionOutcome::Fine(why),
            SessionEnd::Wrong(why) => SessionOutcome::Wrong(why),
        }
    }
}

impl AdaptedSession {
    pub(super) fn new(joining: JoiningAdapter) -> AdaptedSession {
        let JoiningAdapter { name, sockets, mut input, adapter, ended, .. } = joining;
        let peer = sockets.first().and_then(|socket| UnixPeer::of(socket).ok());
        let stream = |socket| AdaptedStream { socket, input: std::mem::take(&mut input) };
        AdaptedSession {
            name,
            since: Instant::now(),
            streams: sockets.into_iter().map(stream).collect(),
            adapter,
            files: PassedFiles::new(peer),
            landing: vec![0; READ].into(),
            heard: Instant::now(),
            has_passed: true,
            idle: Duration::ZERO,
            broken: None,
            waits_for_rest: false,
            end: None,
            ended: Some(ended),
        }
    }

    /// Ends the session, after earlier messages to the peer, as far as it reads them.
    fn close(&mut self, end: SessionOutcome) {
        self.write();
        self.end.get_or_insert(end);
    }

    fn note(&mut self, done: Result<(), SessionEnd>) {
        if let Err(parting) = done {
            let end = self.broken.take().unwrap_or_else(|| parting.into());
            self.end.get_or_insert(end);
        }
    }

    /// Ends the session of a peer that has done wrong when what came before is answered; or at once, when something is waited for
    /// that the peer would send.
    fn break_off(&mut self) {
        if self.broken.is_some() && !self.adapter.owes_answers() {
            self.write();
            self.end = self.end.take().or(self.broken.take());
        }
    }

    /// Writes what there is to write, as far as the peer reads.
    fn write(&mut self) {
        while let Some((number, output)) = self.adapter.next_output() {
            match self.streams[number].socket.write(output) {
                Ok(Some(_)) => self.has_passed = true,
                Ok(None) if output.len() <= UNREAD => return,
                Ok(None) => {
                    let why = format!("the peer has left {} bytes unread", output.len());
                    return self.note(Err(SessionEnd::Wrong(why)));
                }
                Err(error) => return self.note(Err(self.lost(&error))),
            }
        }
    }

    /// Writes, and reads each stream once, at that simulated time.
    fn poll(&mut self, now: Time) {
        if self.end.is_some() {
            return;
        }
        self.write();
        if self.silent_at().is_some_and(|silent| Instant::now() >= silent) {
            self.heard = Instant::now();
            let done = self.adapter.is_silent();
            self.note(done);
        }
        if let Some(eventfd) = self.files.signalled() {
            self.adapter.is_signalled(eventfd);
        }
        for number in 0..self.streams.len() {
            if self.end.is_none() && self.reads() {
                let done = self.read(number, now);
                self.note(done);
            }
        }
        self.write();
        self.break_off();
    }

    /// Returns true if the session's streams are read. What a peer sends that has done wrong is thrown away.
    fn reads(&self) -> bool {
        self.broken.is_some() || self.adapter.takes_more()
    }

    /// Returns the time at which the peer will have been silent for long, if nothing comes.
    fn silent_at(&self) -> Option<Instant> {
        self.adapter.minds_silence().then(|| self.heard + SILENCE)
    }

    fn read(&mut self, number: usize, now: Time) -> Result<(), SessionEnd> {
        let (stream, mut files) = (&mut self.streams[number], VecDeque::new());
        match stream.socket.receive(&mut self.landing, &mut files) {
            // What had no room before may have it now.
            Ok(None) if stream.input.is_empty() => Ok(()),
            Ok(None) => self.receive(number, now),
            Ok(Some(0)) => match self.streams.iter().map(|stream| stream.input.len()).sum::<usize>() {
                0 => Err(self.adapter.gone()),
                left => Err(SessionEnd::Wrong(format!(
                    "the peer is gone in the middle of a packet, after {left} bytes of it"
                ))),
            },
            Ok(Some(_)) if self.broken.is_some() => Ok(()),
            Ok(Some(read)) => {
                self.heard = Instant::now();
                self.has_passed = true;
                stream.input.extend_from_slice(&self.landing[..read]);
                if !files.is_empty() {
                    self.adapter.add_files(number, files, stream.input.len());
                }
                self.receive(number, now)?;
                if !self.streams[number].input.is_empty() {
                    self.streams[number].socket.acknowledge_at_once();
                }
                Ok(())
            }
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// Shows the adapter what has come.
    fn receive(&mut self, number: usize, now: Time) -> Result<(), SessionEnd> {
        match self.adapter.receive(number, &mut self.streams[number].input, now) {
            Err(wrong @ SessionEnd::Wrong(_)) => {
                self.streams.iter_mut().for_each(|stream| stream.input.clear());
                self.broken = Some(wrong.into());
                Ok(())
            }
            done => done,
        }
    }

    /// The stream cannot be used any more. A peer that ends without reading all messages resets it.
    fn lost(&self, error: &io::Error) -> SessionEnd {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => self.adapter.gone(),
            _ => SessionEnd::Wrong(format!("stream broken: {error}")),
        }
    }

    /// Returns what to sleep on until [`poll`](Self::poll) can do more.
    fn wanted(&mut self) -> impl Iterator<Item = PollFd<'_>> {
        let reads = self.reads();
        let written = self.adapter.next_output().map(|(number, _)| number);
        let streams = self.streams.iter().enumerate().filter_map(move |(number, stream)| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, reads);
            flags.set(PollFlags::OUT, written == Some(number));
            (!flags.is_empty()).then(|| PollFd::new(&*stream.socket, flags))
        });
        streams.chain(self.files.wanted())
    }

    /// Collects what the adapter has for the hub, and carries out its tasks with files meanwhile.
    fn collect(&mut self, id: SessionId, inputs: &mut VecDeque<AdaptedInput>) {
        loop {
            while let Some(input) = self.adapter.next_input() {
                inputs.push_back(AdaptedInput::Hub(input));
            }
            let Some(task) = self.adapter.next_file_task() else { return };
            match self.files.carry_out(task, &self.name) {
                Carried::Told(result) => self.adapter.file_task_done(result),
                Carried::Done => {}
                Carried::Share(port, parts) => inputs.push_back(AdaptedInput::Share(id, port, parts)),
            }
        }
    }
}

impl Drop for AdaptedSession {
    fn drop(&mut self) {
        for stream in &self.streams {
            stream.socket.shut_down();
        }
        if let Some(ended) = self.ended.take() {
            let end =
                self.end.take().unwrap_or_else(|| SessionOutcome::Wrong("the platform failed".to_owned()));
            // A task that was given up does not wait any more.
            let _ = ended.send(end);
        }
    }
}

/// Input of an adapter for the hub.
pub(super) enum AdaptedInput {
    /// An input.
    Hub(Input),
    /// The memory behind a port that a session shares from now on.
    Share(SessionId, PortId, Vec<DirectRange>),
}

/// The sessions of other protocols at a platform, and what they have for its hub.
#[derive(Default)]
pub(super) struct AdaptedSessions {
    sessions: Vec<(SessionId, AdaptedSession)>,
    inputs: VecDeque<AdaptedInput>,
}

impl AdaptedSessions {
    fn get_mut(&mut self, session: SessionId) -> Option<&mut AdaptedSession> {
        self.sessions.iter_mut().find(|(id, _)| *id == session).map(|(_, session)| session)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionId, &AdaptedSession)> {
        self.sessions.iter().map(|(session, adapted)| (*session, adapted))
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn contains(&self, session: SessionId) -> bool {
        self.sessions.iter().any(|(id, _)| *id == session)
    }

    /// Takes a session in: the adapter's first inputs, and those of the bytes that have come already, go to the
    /// hub.
    pub(super) fn insert(
        &mut self,
        session: SessionId,
        mut adapted: AdaptedSession,
        beginning: &SessionStart<'_>,
    ) {
        let begun = adapted.adapter.begin(beginning);
        adapted.note(begun);
        if adapted.end.is_none() && adapted.streams.first().is_some_and(|stream| !stream.input.is_empty()) {
            let done = adapted.receive(0, beginning.now);
            adapted.note(done);
        }
        self.sessions.push((session, adapted));
        self.collect();
    }

    /// Removes a session; returns true if there was such a session.
    pub(super) fn remove(&mut self, session: SessionId) -> bool {
        let before = self.len();
        self.sessions.retain(|(id, _)| *id != session);
        self.len() < before
    }

    pub(super) fn close(&mut self, session: SessionId, end: SessionOutcome) {
        if let Some(adapted) = self.get_mut(session) {
            adapted.close(end);
        }
    }

    /// One that did wrong, and what.
    pub(super) fn wrong(&self) -> Option<(SessionId, String)> {
        self.sessions.iter().find_map(|(id, session)| match session.end.as_ref()? {
            SessionOutcome::Wrong(why) => Some((*id, why.clone())),
            SessionOutcome::Fine(_) => None,
        })
    }

    /// A session that is over, and why.
    pub(super) fn ended(&self) -> Option<(SessionId, String)> {
        self.sessions.iter().find_map(|(id, session)| Some((*id, session.end.as_ref()?.why().to_owned())))
    }

    pub(super) fn tell(&mut self, session: SessionId, output: Output, now: Time) {
        if let Some(adapted) = self.get_mut(session)
            && adapted.end.is_none()
        {
            let done = adapted.adapter.tell(output, now);
            adapted.note(done);
            self.collect();
        }
    }

    /// Tells all what is for no party in particular.
    pub(super) fn tell_all(&mut self, output: &Output, now: Time) {
        for session in self.ids() {
            self.tell(session, output.clone(), now);
        }
    }

    /// Simulated time waits for a session to promise more.
    pub(super) fn wait_for(&mut self, session: SessionId) {
        if let Some(adapted) = self.get_mut(session) {
            let done = adapted.adapter.is_waited_for();
            adapted.note(done);
            self.collect();
        }
    }

    /// Looks at them, so long after the last look; gives those that have been idle for so long.
    pub(super) fn idle(&mut self, interval: Duration, limit: Duration) -> Vec<SessionId> {
        for (_, session) in &mut self.sessions {
            let is_busy = std::mem::take(&mut session.has_passed) || session.adapter.is_under_way();
            session.idle = if is_busy { Duration::ZERO } else { session.idle + interval };
        }
        self.sessions.iter().filter(|(_, session)| session.idle >= limit).map(|(id, _)| *id).collect()
    }

    /// None of them has been idle until now.
    pub(super) fn keep_active(&mut self) {
        self.sessions.iter_mut().for_each(|(_, session)| session.idle = Duration::ZERO);
    }

    /// All of them.
    pub(super) fn ids(&self) -> Vec<SessionId> {
        self.sessions.iter().map(|(id, _)| *id).collect()
    }

    fn collect(&mut self) {
        for (id, session) in &mut self.sessions {
            session.collect(*id, &mut self.inputs);
        }
    }

    /// A session's memory is shared, or is not for a reason.
    pub(super) fn is_shared(&mut self, session: SessionId, result: Result<(), String>) {
        if let Some(adapted) = self.get_mut(session) {
            adapted.adapter.file_task_done(result);
            self.collect();
        }
    }

    /// Sessions that want the platform saved.
    pub(super) fn want_saved(&self) -> Vec<SessionId> {
        self.sessions.iter().filter(|(_, session)| session.adapter.wants_saved()).map(|(id, _)| *id).collect()
    }

    /// The platform is not at rest yet, and comes to rest.
    pub(super) fn wait_for_rest(&mut self, session: SessionId) {
        if let Some(adapted) = self.get_mut(session) {
            adapted.waits_for_rest = true;
        }
    }

    /// The platform is saved for a session, or is not for a reason.
    pub(super) fn saved(&mut self, session: SessionId, result: Result<Bytes, SaveError>) {
        if let Some(adapted) = self.get_mut(session) {
            adapted.waits_for_rest = false;
            adapted.adapter.saved(result);
            self.collect();
        }
    }

    /// The next input for the hub.
    pub(super) fn next_input(&mut self) -> Option<AdaptedInput> {
        self.inputs.pop_front()
    }

    pub(super) fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    pub(super) fn flush(&mut self) {
        self.sessions.iter_mut().for_each(|(_, session)| session.write());
    }

    /// Writes and reads what can be. Says whether there is something to do.
    pub(super) fn poll(&mut self, now: Time) -> bool {
        for (_, session) in &mut self.sessions {
            session.poll(now);
        }
        self.collect();
        let wants_saved =
            |(_, session): &(_, AdaptedSession)| session.adapter.wants_saved() && !session.waits_for_rest;
        self.has_inputs() || self.ended().is_some() || self.sessions.iter().any(wants_saved)
    }

    /// Returns the time at which the first of the peers will have been silent for long, if nothing comes.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        self.sessions.iter().filter_map(|(_, session)| session.silent_at()).min()
    }

    /// Returns what to sleep on until [`poll`](Self::poll) can do more.
    pub(super) fn wanted(&mut self) -> impl Iterator<Item = PollFd<'_>> {
        self.sessions.iter_mut().flat_map(|(_, session)| session.wanted())
    }
}
