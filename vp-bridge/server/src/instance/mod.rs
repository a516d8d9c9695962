//! One platform on a thread of its own, and the sessions that share it.
//!
//! The thread alone touches the platform. Sessions send [`Command`]s through the [`Inbox`]; what comes of them goes back
//! over each session's [`Outlet`], in order, a batch at a time. While there is nothing to do the thread attends to the
//! sessions' sockets and rings itself (`idle.rs`), so that a request that comes then passes through no other thread.
//!
//! This is an adapter: what sessions say becomes inputs of the platform's [`Hub`], and its outputs become what they are told
//! (`translate.rs`, `told.rs`). The rules of time, and of who may do what, are the hub's. What is here are threads, the
//! wall clock, and what a session may take of the server.

mod idle;
mod inbox;
mod members;
mod owners;
mod partners;
mod permits;
mod run;
mod share;
mod told;
mod translate;

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;
use vp_models::host::{Statistics, Value};
use vp_models::hub::{self, Hub, Input, MemoryPromise, RequestId as HubRequest, Tag};
use vp_models::platform::{Description, Platform};
use vp_protocols::native::{
    self, Attached, Capabilities, Counter, CounterValue, Driven, ErrorCode, Notice, Port, Posted, Promised,
    Reply, Request, RequestId, SessionId, StatusReport, TimeMode,
};

pub(super) use inbox::Inbox;
use members::{Member, Members};
use owners::Owners;
pub(super) use owners::Token;
use partners::Standing;
pub(super) use permits::{Permit, Permits};

use super::EndedPlatform;
use super::link::Outlet;

/// What a session wants of an instance.
pub(super) enum Command {
    /// To belong to it.
    Join(Join),
    /// To leave it; everything the session held or asked for ends.
    Leave { session: SessionId, why: String },
    /// A request, to be answered under its id.
    Request { session: SessionId, id: RequestId, request: Request, payload: Bytes, permit: Permit },
    /// A write without an answer.
    Posted { session: SessionId, posted: Posted, payload: Bytes, permit: Permit },
    /// A request with files: of one host only.
    Share { session: SessionId, id: RequestId, request: Request, files: Vec<OwnedFd> },
    /// There is something in a ring.
    Look,
    /// The answer to [`ToSession::Ask`].
    Answer { session: SessionId, token: Token, reply: Reply, payload: Bytes },
    /// A partner drives something.
    Driven { session: SessionId, driven: Driven, payload: Bytes, permit: Permit },
    /// A partner promises something.
    Promised { session: SessionId, promised: Promised, permit: Permit },
    /// The last session has left: the thread ends.
    End,
    /// Whatever a model may do, for tests.
    #[cfg(test)]
    Do(Box<dyn FnOnce(&vp_core::Sim) + Send>),
}

impl Command {
    /// The session of a request, which is carried out in the session's order.
    fn requester(&self) -> Option<SessionId> {
        match self {
            Self::Request { session, .. } | Self::Posted { session, .. } | Self::Share { session, .. } => {
                Some(*session)
            }
            _ => None,
        }
    }
}

/// A session that comes.
pub(super) struct Join {
    pub(super) session: SessionId,
    /// What it asks for; a platform has the mode of the first session that is no partner.
    pub(super) time_mode: TimeMode,
    pub(super) capabilities: Capabilities,
    /// Requests to it that may be unanswered.
    pub(super) max_in_flight: u32,
    pub(super) permits: Arc<Permits>,
    pub(super) to: Outlet,
    pub(super) joined: oneshot::Sender<Joined>,
}

/// What a session finds.
pub(super) struct Joined {
    pub(super) time: native::Time,
    pub(super) time_mode: TimeMode,
    pub(super) ports: Vec<Port>,
    pub(super) device: native::Device,
}

/// What an instance tells a session.
pub(super) enum ToSession {
    /// The answer to a request. The permit, if any, is for its payload.
    Reply { id: RequestId, time: native::Time, reply: Reply, payload: Bytes, permit: Option<Permit> },
    /// All counters that were asked for; the session cuts them to what a frame holds.
    Statistics { id: RequestId, time: native::Time, counters: Vec<Counter>, first: u32 },
    /// A request of the platform to the memory that the session owns.
    Ask { token: Token, request: Request, payload: Bytes },
    /// Something happened.
    Notice(Notice),
    /// A port drives something for the session, a partner.
    Driven { driven: Driven, payload: Bytes },
    /// The platform promises the session something.
    Promised(Promised),
    /// The session is put out.
    Close { code: ErrorCode, reason: String },
}

/// How long an instance bears with others: see [`Options`](super::Options).
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) owner_timeout: Duration,
    pub(super) delta_limit: u64,
}

#[cfg(test)]
impl Default for Patience {
    fn default() -> Self {
        super::Options::default().patience()
    }
}

/// The outside of an instance.
#[derive(Clone)]
pub(super) struct Instance {
    inbox: Arc<Inbox>,
}

impl Instance {
    /// Starts the thread. The platform is built there, so what is wrong with the description shows when a session joins:
    /// the channel closes.
    pub(super) fn start(
        name: &str,
        description: Description,
        mode: TimeMode,
        patience: Patience,
        ended: Option<Sender<EndedPlatform>>,
    ) -> std::io::Result<Self> {
        let inbox = Arc::new(Inbox::new()?);
        let inside = inbox.clone();
        let label = name.to_owned();
        thread::Builder::new().name(format!("platform {name}")).spawn(move || {
            let inbox = CloseAtEnd(inside);
            // What the thread owned is gone with it; nothing half-done is looked at again.
            let ran = catch_unwind(AssertUnwindSafe(|| {
                match PlatformThread::build(&inbox.0, &description, mode, patience) {
                    Ok(mut thread) => {
                        thread.serve();
                        if let Some(ended) = ended {
                            let (name, statistics) = (label.clone(), thread.hub.platform().statistics());
                            // Who does not listen any more does not want to know.
                            let _ = ended.send(EndedPlatform { name, statistics });
                        }
                    }
                    Err(error) => tracing::error!("platform {label}: {error}"),
                }
            }));
            if let Err(panic) = ran {
                let what = (panic.downcast_ref::<String>().map(String::as_str))
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                tracing::error!("platform {label} failed: {what}; its sessions are closed");
            }
        })?;
        Ok(Self { inbox })
    }

    /// The way in.
    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// Whether both are the same platform.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inbox, &other.inbox)
    }
}

/// Closes the inbox even when the thread ends by a panic.
struct CloseAtEnd(Arc<Inbox>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The inside of an instance: lives and dies on its thread.
struct PlatformThread {
    inbox: Arc<Inbox>,
    /// What this thread has read from the sockets itself: before all that waits in the inbox.
    commands: Vec<Command>,
    /// Requests that wait for a session to leave whose peer has gone already, and what came behind them.
    postponed: Vec<Command>,
    hub: Hub,
    mode: TimeMode,
    patience: Patience,
    members: Members,
    owners: Owners,
    standing: Standing,
    /// Paced: the clock of the present work, and what simulated time has to do with it.
    pace: Option<(Instant, hub::Pace)>,
    /// Whether commands interrupt the run of the kernel.
    is_running: bool,
    ended: bool,
}

type Failure = (ErrorCode, String);

impl PlatformThread {
    fn build(
        inbox: &Arc<Inbox>,
        description: &Description,
        mode: TimeMode,
        patience: Patience,
    ) -> Result<Self, String> {
        let platform = Platform::build(description).map_err(|error| error.to_string())?;
        let mut hub = Hub::new(platform, translate::time_mode(mode));
        hub.set_delta_limit(patience.delta_limit);
        inbox.interrupt_runs_with(hub.interrupter());
        Ok(Self {
            inbox: inbox.clone(),
            commands: Vec::new(),
            postponed: Vec::new(),
            hub,
            mode,
            patience,
            members: Members::default(),
            owners: Owners::default(),
            standing: Standing::default(),
            pace: None,
            is_running: false,
            ended: false,
        })
    }

    fn serve(&mut self) {
        loop {
            let mut commands = std::mem::take(&mut self.commands);
            if std::mem::take(&mut self.is_running) || self.inbox.has_waiting() {
                self.inbox.take(&mut commands);
            }
            for command in commands.drain(..) {
                self.command(command);
            }
            self.commands = commands;
            if self.ended {
                // A platform that runs by itself might have much to do, and nobody could end that any more.
                break;
            }
            self.take_rings();
            self.put_out_silent_owner();
            self.put_out_silent_partner();
            // Who waits for an answer, or for the line, does not wait for what the platform has to do besides.
            self.flush();
            let (wake, sessions) = (self.advance(), self.members.len());
            self.tell();
            // Who had to go meanwhile may have left something to others that can be done now.
            if let Some(wake) = wake
                && self.members.len() == sessions
            {
                self.look_who_holds_time();
                self.flush();
                let since = [self.owners.oldest(), self.standing.since()].into_iter().flatten();
                let patience = since.filter_map(|(_, since)| since.checked_add(self.patience.owner_timeout));
                self.idle_until(wake.0.into_iter().chain(patience).min());
            }
        }
        self.flush();
    }

    /// A memory that does not answer must not hold time up for all others: its session has to go.
    fn put_out_silent_owner(&mut self) {
        if let Some((owner, asked)) = self.owners.oldest()
            && asked.elapsed() >= self.patience.owner_timeout
        {
            let patience = self.patience.owner_timeout.as_secs_f64();
            let reason = format!("a request to its memory was not answered within {patience} s");
            self.put_out(owner, ErrorCode::NotAnswered, &reason);
        }
    }

    fn put_out(&mut self, session: SessionId, code: ErrorCode, reason: &str) {
        if let Some(member) = self.members.get_mut(session) {
            member.send(ToSession::Close { code, reason: reason.to_owned() });
            member.flush();
            member.permits.put_out();
        }
        self.leave(session, reason);
    }

    fn name(&self) -> &str {
        &self.hub.platform().description().name
    }

    /// Hands on what sessions are told, and takes more of those whose posted writes have had their turn.
    fn flush(&mut self) {
        for (session, member) in self.members.iter_mut() {
            member.flush();
            if !member.posted.is_empty() {
                member.keep_posted(self.hub.waiting(translate::party(session)));
            }
        }
    }

    // Commands.

    fn command(&mut self, command: Command) {
        if self.is_early(&command) {
            return self.postponed.push(command);
        }
        match command {
            Command::Join(join) => self.join(join),
            Command::Leave { session, why } => self.leave(session, &why),
            Command::Request { session, id, request, payload, permit } => {
                self.take_ring(session);
                if self.members.contains(session) {
                    self.request(session, id, request, &payload, permit);
                }
            }
            Command::Posted { session, posted, payload, permit } => {
                self.take_ring(session);
                let Some(member) = self.members.get(session) else { return };
                let access = translate::posted(posted, &payload, member.capabilities, self.hub.ports());
                self.post(session, access, Some(permit));
            }
            Command::Share { session, id, request, files } => self.share(session, id, &request, files),
            Command::Look => self.wake_rings(),
            Command::Answer { session, token, reply, payload } => {
                self.owners.answered(token);
                let (party, request) = (translate::party(session), HubRequest(token));
                self.handle(Input::Answer { party, request, result: translate::answer(reply, payload) });
            }
            Command::Driven { session, driven, payload, permit: _permit } => {
                self.take_driven(session, driven, payload);
            }
            Command::Promised { session, promised, permit: _permit } => self.take_promised(session, promised),
            Command::End => self.ended = true,
            #[cfg(test)]
            Command::Do(what) => what(&self.hub.platform().sim()),
        }
    }

    /// Whether a request has to wait: for a port whose holder's peer has gone, or behind one that does.
    fn is_early(&self, command: &Command) -> bool {
        let waits = |session| self.postponed.iter().any(|other| other.requester() == Some(session));
        if !self.postponed.is_empty() && command.requester().is_some_and(waits) {
            return true;
        }
        let Command::Request { session, request: Request::Attach(attach), .. } = command else {
            return false;
        };
        let (port, role) = (translate::port_index(attach.port), translate::from_role(attach.role));
        let holder = self.hub.in_the_way(translate::party(*session), port, role).map(translate::session);
        let holder = holder.filter(|holder| holder != session).and_then(|holder| self.members.get(holder));
        holder.is_some_and(|holder| holder.to.link().is_deserted())
    }

    /// Gives the hub an input, and tells the sessions what comes of it.
    fn handle(&mut self, input: Input) {
        self.hub.handle(input);
        self.tell();
    }

    /// Gives the hub a posted write. What waits there for its turn keeps its permit.
    fn post(&mut self, session: SessionId, access: hub::Access, permit: Option<Permit>) {
        let party = translate::party(session);
        self.handle(Input::Posted { party, access });
        let waiting = self.hub.waiting(party);
        if let Some(member) = self.members.get_mut(session) {
            if waiting > 0 {
                member.posted.extend(permit);
            }
            member.keep_posted(waiting);
        }
    }

    fn join(&mut self, join: Join) {
        let Join { session, time_mode, capabilities, max_in_flight, permits, to, joined } = join;
        let mode = translate::time_mode(time_mode);
        self.handle(Input::Mode(mode));
        if self.hub.mode() == mode && self.hub.are_all_partners() {
            (self.mode, self.pace) = (time_mode, None);
        }
        let time = translate::time(self.hub.now());
        let (ports, device) = (self.hub.ports(), self.hub.platform().identity());
        let (ports, device) = (translate::ports(ports), translate::device(device));
        let found = Joined { time, time_mode: self.mode, ports, device };
        if joined.send(found).is_ok() {
            let member = Member::new(capabilities, permits, to);
            let memory = MemoryPromise { in_order: member.is_in_order().then_some(max_in_flight) };
            self.members.insert(session, member);
            let name = format!("session {}", session.0);
            self.handle(Input::Enter { party: translate::party(session), name, memory });
        }
    }

    fn leave(&mut self, session: SessionId, why: &str) {
        if self.members.remove(session).is_some() {
            self.owners.forget(session);
            self.standing.forget(session);
            self.handle(Input::Leave { party: translate::party(session), why: why.to_owned() });
            let postponed = std::mem::take(&mut self.postponed);
            let of_others = postponed.into_iter().filter(|command| command.requester() != Some(session));
            of_others.for_each(|command| self.command(command));
        }
    }

    fn request(
        &mut self,
        session: SessionId,
        id: RequestId,
        request: Request,
        payload: &Bytes,
        permit: Permit,
    ) {
        let time = translate::time(self.hub.now());
        let answer = match request {
            Request::Status => Reply::Status(Box::new(self.status())),
            Request::Statistics { prefix, first } => {
                let counters = counters(&self.hub.platform().statistics(), &prefix);
                return self.send(session, ToSession::Statistics { id, time, counters, first });
            }
            Request::Ping => Reply::Pong,
            request => {
                let name = request.name();
                let Some(member) = self.members.get_mut(session) else { return };
                match translate::command(&request, payload, member.capabilities, self.hub.ports()) {
                    Some(command) => {
                        let tag = Tag(id.0.into());
                        member.held_permits.insert(tag, permit);
                        return self.give(session, tag, command);
                    }
                    None => Reply::Failed {
                        code: ErrorCode::Internal,
                        reason: format!("{name} came without its files"),
                    },
                }
            }
        };
        self.sum_up_failures(session);
        self.send(session, ToSession::Reply { id, time, reply: answer, payload: Bytes::new(), permit: None });
    }

    /// Gives the hub a session's command.
    fn give(&mut self, session: SessionId, tag: Tag, command: hub::Command) {
        let is_reset = matches!(command, hub::Command::Reset);
        let is_detach = matches!(command, hub::Command::Detach { .. });
        self.handle(Input::Command { party: translate::party(session), tag, command });
        if is_reset {
            self.pace = None;
        }
        if is_detach {
            self.close_ring_without_ports(session);
        }
    }

    fn status(&self) -> StatusReport {
        let attached = self.hub.holdings().map(|(party, port, role)| Attached {
            port: translate::port_id(port),
            role: translate::role(role),
            session: translate::session(party),
        });
        StatusReport {
            time_mode: self.mode,
            activity: translate::activity(self.hub.activity()),
            sessions: u32::try_from(self.members.len()).unwrap_or(u32::MAX),
            // The session knows.
            in_flight: 0,
            events: self.hub.platform().simulation().activations(),
            // A status report is a header: as many as fit with certainty.
            attached: attached.take(200).collect(),
        }
    }
}

fn counters(statistics: &Statistics, prefix: &str) -> Vec<Counter> {
    let chosen = statistics.counters.iter().filter(|counter| counter.name.starts_with(prefix));
    let counter = |counter: &vp_models::host::Counter| Counter {
        name: counter.name.clone(),
        unit: counter.unit.clone(),
        value: match &counter.value {
            Value::Count(count) => CounterValue::Count(*count),
            Value::Text(text) => CounterValue::Text(text.clone()),
        },
    };
    chosen.map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::super::link::{Link, Newcomer};
    use super::*;

    #[tokio::test]
    async fn a_platform_that_panics_closes_its_sessions_and_nothing_else() {
        let description = Description::named("nv_small").unwrap();
        let (mode, patience) = (TimeMode::Lockstep, Patience::default());
        let instance = Instance::start("p", description, mode, patience, None).unwrap();
        let (near, _far) = tokio::net::UnixStream::pair().unwrap();
        let socket = crate::stream::Stream::Unix(near).into_socket().unwrap();
        let (id, capabilities) = (SessionId(1), Capabilities::NONE);
        let newcomer = Newcomer::silent(id, instance.inbox());
        let permits = newcomer.permits.clone();
        let link = Link::new(socket, newcomer);
        let (joined, answer) = oneshot::channel();
        let to = Outlet::new(&link);
        let join = Join { session: id, capabilities, max_in_flight: 1, permits, to, joined };
        instance.inbox().send(&mut vec![Command::Join(join)]).unwrap();
        answer.await.unwrap();
        assert!(!link.is_hung_up());
        instance.inbox().send(&mut vec![Command::Do(Box::new(|_| panic!("a model's fault")))]).unwrap();
        while instance.inbox().is_open() || !link.is_hung_up() {
            tokio::task::yield_now().await;
        }
        assert!(instance.inbox().send(&mut vec![Command::End]).is_err());
    }
}
