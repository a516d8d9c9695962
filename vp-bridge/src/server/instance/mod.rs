//! One platform on a thread of its own, and the sessions that share it.
//!
//! The thread alone touches the platform. Sessions send [`Command`]s through the [`Door`]; what comes of them goes back
//! over each session's [`Outlet`], in order, a batch at a time. While there is nothing to do the thread attends to the
//! sessions' sockets and rings itself (`rest.rs`), so that a request that comes then hops to no other thread and needs no door.
//!
//! Who lets simulated time move is the *time mode*'s matter: in lockstep the one job under way, otherwise the work there
//! is. Jobs of a session are taken in its order; in lockstep one after the other over all sessions, each to its end, so
//! that a run depends on the commands alone and not on when they arrived.

mod answers;
mod charge;
mod door;
mod members;
mod outside;
mod ports;
mod requests;
mod rest;
mod share;
mod time;
mod work;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;
use vp_core::observe::Warning;
use vp_core::{Event, Stop, Time};
use vp_models::bus::axi::Unmapped;
use vp_models::host::{Statistics, Value};
use vp_models::platform::{Description, Platform};
use vp_protocols::native::{
    self, Activity, Attached, Capabilities, Counter, CounterValue, ErrorCode, Notice, Port, PortId, Posted,
    Reply, Request, RequestId, SessionId, StatusReport, TimeMode,
};

pub(super) use charge::{Account, Charge};
pub(super) use door::Door;
use door::Knock;
use members::{Member, Members};
use ports::Holding;
pub(super) use requests::Token;
use requests::{News, Requests, Trusted};
use work::Current;

use super::EndedPlatform;
use super::link::Outlet;

/// What a session wants of an instance.
pub(super) enum Command {
    /// To belong to it.
    Join(Join),
    /// To leave it; everything the session held or asked for ends.
    Leave { session: SessionId, why: String },
    /// A request, to be answered under its id.
    Request { session: SessionId, id: RequestId, request: Request, payload: Bytes, charge: Charge },
    /// A write without an answer.
    Posted { session: SessionId, posted: Posted, payload: Bytes, charge: Charge },
    /// A request with files: of one host only.
    Share { session: SessionId, id: RequestId, request: Request, files: Vec<OwnedFd> },
    /// There is something in a ring.
    Look,
    /// The answer to [`ToSession::Ask`].
    Answer { session: SessionId, token: Token, reply: Reply, payload: Bytes },
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
    pub(super) capabilities: Capabilities,
    /// Requests to it that may be unanswered.
    pub(super) max_in_flight: u32,
    pub(super) account: Arc<Account>,
    pub(super) to: Outlet,
    pub(super) joined: oneshot::Sender<Joined>,
}

/// What a session finds.
pub(super) struct Joined {
    pub(super) time: native::Time,
    pub(super) time_mode: TimeMode,
    pub(super) ports: Vec<Port>,
}

/// What an instance tells a session.
pub(super) enum ToSession {
    /// The answer to a request. The charge, if any, is for its payload.
    Reply { id: RequestId, time: native::Time, reply: Reply, payload: Bytes, charge: Option<Charge> },
    /// All counters that were asked for; the session cuts them to what a frame holds.
    Statistics { id: RequestId, time: native::Time, counters: Vec<Counter>, first: u32 },
    /// A request of the platform to the memory that the session owns.
    Ask { token: Token, request: Request, payload: Bytes },
    /// Something happened.
    Notice(Notice),
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
    door: Arc<Door>,
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
        let door = Arc::new(Door::new()?);
        let inside = door.clone();
        let label = name.to_owned();
        thread::Builder::new().name(format!("platform {name}")).spawn(move || {
            let door = CloseAtEnd(inside);
            // What the thread owned is gone with it; nothing half-done is looked at again.
            let ran =
                catch_unwind(AssertUnwindSafe(|| match Host::build(&door.0, description, mode, patience) {
                    Ok(mut host) => {
                        host.serve();
                        if let Some(ended) = ended {
                            let (name, statistics) = (label.clone(), host.platform.statistics());
                            // Who does not listen any more does not want to know.
                            let _ = ended.send(EndedPlatform { name, statistics });
                        }
                    }
                    Err(error) => tracing::error!("platform {label}: {error}"),
                }));
            if let Err(panic) = ran {
                let what = (panic.downcast_ref::<String>().map(String::as_str))
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                tracing::error!("platform {label} failed: {what}; its sessions are closed");
            }
        })?;
        Ok(Self { door })
    }

    /// The way in.
    pub(super) fn door(&self) -> &Arc<Door> {
        &self.door
    }

    /// Whether both are the same platform.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.door, &other.door)
    }
}

/// Closes the door even when the thread ends by a panic.
struct CloseAtEnd(Arc<Door>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What happened during a run, in order.
enum Happened {
    Level { level: bool, time: Time },
    Answer { tag: u64, value: u32, time: Time },
}

/// Who waits for the answer to a register access, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// At the stream.
    Stream(RequestId),
    /// At the session's ring: answers go there in order.
    Ring,
}

impl Asker {
    fn on_stream(self) -> Option<RequestId> {
        match self {
            Self::Stream(id) => Some(id),
            Self::Ring => None,
        }
    }
}

/// A register access that the bus has taken and not answered, or one that it never gets: answers keep request order.
struct OnBus {
    tag: u64,
    session: SessionId,
    asker: Asker,
    write: bool,
    failure: Option<Failure>,
    charge: Option<Charge>,
}

/// The inside of an instance: lives and dies on its thread.
struct Host {
    door: Arc<Door>,
    /// What came while this thread read the sockets itself: before all that waits at the door.
    commands: Vec<Command>,
    /// Requests that wait for a session to leave whose peer has gone already, and what came behind them.
    postponed: Vec<Command>,
    description: Description,
    mode: TimeMode,
    patience: Patience,
    platform: Platform,
    happened: Rc<RefCell<VecDeque<Happened>>>,
    requests: Rc<RefCell<Requests>>,
    /// Takes time to a moment at which nothing else happens.
    alarm: Event,
    ports: Vec<Port>,
    holdings: Vec<Holding>,
    members: Members,
    on_bus: VecDeque<OnBus>,
    next_tag: u64,
    current: Option<Current>,
    /// Where the next round over the members' jobs begins, so that none waits for ever.
    turn: SessionId,
    /// Paced: when the present work began, in both times.
    pace: Option<(Instant, Time)>,
    held: bool,
    /// Why simulated time moves no more until a reset, if it does not.
    livelock: Option<String>,
    /// Whether commands knock at the kernel.
    is_running: bool,
    ended: bool,
}

type Failure = (ErrorCode, String);

impl Host {
    fn build(
        door: &Arc<Door>,
        description: Description,
        mode: TimeMode,
        patience: Patience,
    ) -> Result<Self, String> {
        let platform = Platform::build(&description).map_err(|error| error.to_string())?;
        let ports = ports::list(&platform);
        let alarm = platform.sim().event("bridge.alarm");
        let mut host = Self {
            door: door.clone(),
            commands: Vec::new(),
            postponed: Vec::new(),
            description,
            mode,
            patience,
            platform,
            happened: Rc::default(),
            requests: Requests::new(),
            alarm,
            ports,
            holdings: Vec::new(),
            members: Members::default(),
            on_bus: VecDeque::new(),
            next_tag: 0,
            current: None,
            turn: SessionId(0),
            pace: None,
            held: false,
            livelock: None,
            is_running: false,
            ended: false,
        };
        host.connect();
        Ok(host)
    }

    /// Listens to a platform that was just built.
    fn connect(&mut self) {
        let sim = self.platform.sim();
        let (happened, stop) = (self.happened.clone(), sim.clone());
        self.platform.csb().on_response(move |response| {
            let (tag, value) = (response.tag, response.value);
            happened.borrow_mut().push_back(Happened::Answer { tag, value, time: stop.now() });
            stop.stop();
        });
        let (happened, stop) = (self.happened.clone(), sim.clone());
        self.platform.irq().connect(move |level, time| {
            happened.borrow_mut().push_back(Happened::Level { level, time });
            stop.stop();
        });
        self.door.knock_at(sim.injector(|sim, Knock| sim.stop()));
    }

    fn serve(&mut self) {
        loop {
            let mut commands = std::mem::take(&mut self.commands);
            if std::mem::take(&mut self.is_running) || self.door.has_waiting() {
                self.door.take(&mut commands);
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
            self.start_jobs();
            // Who waits for an answer, or for the line, does not wait for what the platform has to do besides.
            self.flush();
            let wake = self.advance();
            self.tell();
            if let Some(wake) = wake {
                self.flush();
                let patience = self.patience_ends().map(|(_, ends)| ends);
                self.rest(wake.0.into_iter().chain(patience).min());
            }
        }
        self.flush();
    }

    /// The session whose answer is due first, and when it is too late.
    fn patience_ends(&self) -> Option<(SessionId, Instant)> {
        let (owner, asked) = self.requests.borrow().oldest()?;
        asked.checked_add(self.patience.owner_timeout).map(|ends| (owner, ends))
    }

    /// A memory that does not answer must not hold time up for all others: its session has to go.
    fn put_out_silent_owner(&mut self) {
        if let Some((owner, ends)) = self.patience_ends()
            && Instant::now() >= ends
        {
            let patience = self.patience.owner_timeout.as_secs_f64();
            let reason = format!("a request to its memory was not answered within {patience} s");
            self.put_out(owner, ErrorCode::NotAnswered, &reason);
            self.tell();
        }
    }

    fn put_out(&mut self, session: SessionId, code: ErrorCode, reason: &str) {
        if let Some(member) = self.members.get_mut(session) {
            member.send(ToSession::Close { code, reason: reason.to_owned() });
            member.flush();
            member.account.put_out();
        }
        self.leave(session, reason);
    }

    fn now(&self) -> Time {
        self.platform.simulation().now()
    }

    fn wire_now(&self) -> native::Time {
        native::Time(self.now().as_ps())
    }

    /// What the platform asks of memories goes before all that is said later: it may be trusted to have been done.
    #[inline]
    fn ask(&mut self) {
        // Mostly it asks for nothing.
        if self.requests.borrow().has_outbox() {
            self.ask_all();
        }
    }

    fn ask_all(&mut self) {
        for (session, ask) in self.requests.borrow_mut().take_outbox() {
            if let Some(member) = self.members.get_mut(session) {
                member.send(ask);
            }
        }
    }

    fn flush(&mut self) {
        self.ask();
        self.members.iter_mut().for_each(|(_, member)| member.flush());
    }

    // Commands.

    fn command(&mut self, command: Command) {
        if self.is_early(&command) {
            return self.postponed.push(command);
        }
        match command {
            Command::Join(join) => self.join(join),
            Command::Leave { session, why } => self.leave(session, &why),
            Command::Request { session, id, request, payload, charge } => {
                self.take_ring(session);
                if self.members.contains(session) {
                    self.request(session, id, request, payload, charge);
                }
            }
            Command::Posted { session, posted, payload, charge } => {
                self.take_ring(session);
                if self.members.contains(session) {
                    self.posted(session, posted, payload, charge);
                }
            }
            Command::Share { session, id, request, files } => self.share(session, id, &request, files),
            Command::Look => self.hush(),
            Command::Answer { session, token, reply, payload } => {
                match Requests::answer(&self.requests, session, token, reply, payload) {
                    Some(News::Forwarded(forwarded)) => self.pass_on(forwarded),
                    Some(News::Lost(lost)) => {
                        let Unmapped { address, bytes, why } = lost;
                        let text = format!("the memory, which took writes before, has not: {why}; data lost");
                        let (client, text) = ("", text.as_str());
                        let access = Warning::Access { client, write: true, address, bytes, text };
                        self.platform.warn("late answer", &access);
                        self.tell_warnings();
                    }
                    None => {}
                }
            }
            Command::End => self.ended = true,
            #[cfg(test)]
            Command::Do(what) => what(&self.platform.sim()),
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
        let holder = self.in_the_way(*session, *attach).map(|holding| holding.session);
        let holder = holder.filter(|holder| holder != session).and_then(|holder| self.members.get(holder));
        holder.is_some_and(|holder| holder.to.link().is_deserted())
    }

    fn join(&mut self, join: Join) {
        let Join { session, capabilities, max_in_flight, account, to, joined } = join;
        let found = Joined { time: self.wire_now(), time_mode: self.mode, ports: self.ports.clone() };
        if joined.send(found).is_ok() {
            self.sum_up_warnings();
            self.members.insert(session, Member::new(capabilities, max_in_flight, account, to));
            self.review_trust();
        }
    }

    /// Says whose memory need not be waited for: that of the only session, if it does all in order.
    fn review_trust(&mut self) {
        let mut members = self.members.iter();
        let only = members.next().filter(|(_, member)| member.is_in_order() && members.next().is_none());
        let trusted = only.map(|(owner, member)| Trusted { owner, at_once: member.max_in_flight as usize });
        self.requests.borrow_mut().trust(trusted);
    }

    fn leave(&mut self, session: SessionId, why: &str) {
        if self.members.remove(session).is_none() {
            return;
        }
        self.sum_up_warnings();
        self.review_trust();
        if self.current.as_ref().is_some_and(|current| current.session == session) {
            self.end_current();
        }
        self.requests.borrow_mut().forget_session(session);
        let held: Vec<PortId> = (self.holdings.iter())
            .filter(|holding| holding.session == session)
            .map(|holding| holding.port)
            .collect();
        for port in held {
            self.release(session, port, why);
        }
        let postponed = std::mem::take(&mut self.postponed);
        let of_others = postponed.into_iter().filter(|command| command.requester() != Some(session));
        of_others.for_each(|command| self.command(command));
    }

    fn request(
        &mut self,
        session: SessionId,
        id: RequestId,
        request: Request,
        payload: Bytes,
        charge: Charge,
    ) {
        let done = match request {
            Request::Attach(attach) => self.attach(session, attach),
            Request::Detach { port } => self.detach(session, port),
            Request::Reset => self.may_rule(session).and_then(|()| self.reset()),
            Request::Status => {
                let status = self.status();
                return self.reply(session, id, Reply::Status(Box::new(status)));
            }
            Request::Statistics { prefix, first } => {
                let counters = counters(&self.platform.statistics(), &prefix);
                let time = self.wire_now();
                return self.send(session, ToSession::Statistics { id, time, counters, first });
            }
            Request::Ping => return self.reply(session, id, Reply::Pong),
            other => {
                return self.enqueue(session, Some(Asker::Stream(id)), other, payload, Some(charge));
            }
        };
        match done {
            Ok(()) => self.reply(session, id, Reply::Done),
            Err(failure) => self.fail(session, Some(Asker::Stream(id)), failure),
        }
        // What the request changed others may have to know: a line that fell with a reset, say.
        self.tell();
    }

    fn posted(&mut self, session: SessionId, posted: Posted, payload: Bytes, charge: Charge) {
        let request = match posted {
            Posted::RegisterWrite(write) => Request::RegisterWrite(write),
            Posted::MemoryWrite(write) => Request::MemoryWrite(write),
        };
        self.enqueue(session, None, request, payload, Some(charge));
    }

    fn activity(&self) -> Activity {
        let simulation = self.platform.simulation();
        let waits = self.held || self.requests.borrow().bursts() > 0;
        match (self.mode, simulation.next_time()) {
            _ if self.livelock.is_some() => Activity::Deadlocked,
            _ if waits => Activity::Held,
            _ if self.has_jobs() => Activity::Running,
            (TimeMode::Lockstep, _) if self.current.is_some() => Activity::Running,
            (TimeMode::Lockstep, Some(_)) => Activity::Held,
            (_, Some(_)) => Activity::Running,
            (_, None) if self.platform.unfinished().is_some() => Activity::Deadlocked,
            (_, None) => Activity::Idle,
        }
    }

    fn status(&self) -> StatusReport {
        let attached = self.holdings.iter().map(|holding| Attached {
            port: holding.port,
            role: holding.role,
            session: holding.session,
        });
        StatusReport {
            time_mode: self.mode,
            activity: self.activity(),
            sessions: u32::try_from(self.members.len()).unwrap_or(u32::MAX),
            // The session knows.
            in_flight: 0,
            events: self.platform.simulation().activations(),
            // A status report is a header: as many as fit with certainty.
            attached: attached.take(200).collect(),
        }
    }

    /// Puts everything back to power-on. Time goes on, ports stay attached, what is in flight fails.
    fn reset(&mut self) -> Result<(), Failure> {
        let now = self.now();
        let was_high = self.platform.irq().level();
        let internal =
            |error: vp_models::platform::DescriptionError| (ErrorCode::Internal, error.to_string());
        let platform = Platform::build(&self.description).map_err(internal)?;
        self.cancel_all(&(ErrorCode::Cancelled, "the platform was reset".to_owned()));
        self.platform.sum_up_warnings();
        self.livelock = None;
        self.tell();
        self.requests.borrow_mut().forget_bursts();
        self.happened.borrow_mut().clear();
        self.alarm = platform.sim().event("bridge.alarm");
        self.platform = platform;
        self.pace = None;
        self.connect();
        for holding in self.holdings.clone() {
            self.connect_memory(&holding);
        }
        if now > Time::ZERO {
            self.alarm.notify_after(now);
            // A knock ends a run early; idle before then it is only at the end of all time.
            while self.now() < now && self.platform.simulation_mut().run_until(now) != Stop::Idle {}
        }
        if was_high {
            self.level_changed(false, now);
        }
        Ok(())
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
        let socket = crate::address::Stream::Unix(near).into_plain().unwrap();
        let (id, capabilities) = (SessionId(1), Capabilities::NONE);
        let newcomer = Newcomer::silent(id, instance.door());
        let account = newcomer.account.clone();
        let link = Link::new(socket, newcomer);
        let (joined, answer) = oneshot::channel();
        let to = Outlet::new(&link);
        let join = Join { session: id, capabilities, max_in_flight: 1, account, to, joined };
        instance.door().send(&mut vec![Command::Join(join)]).unwrap();
        answer.await.unwrap();
        assert!(!link.is_hung_up());
        instance.door().send(&mut vec![Command::Do(Box::new(|_| panic!("a model's fault")))]).unwrap();
        while instance.door().is_open() || !link.is_hung_up() {
            tokio::task::yield_now().await;
        }
        assert!(instance.door().send(&mut vec![Command::End]).is_err());
    }
}
