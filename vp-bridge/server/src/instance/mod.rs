//! One platform on a thread of its own, and the sessions that share it.
//!
//! Only this thread touches the platform and the sockets of the sessions that have joined it. It is one loop
//! ([`PlatformThread::serve`]): carry out the sessions' requests, let simulated time move for a while
//! (`run.rs`), write the answers, read the sockets. With nothing left to do, it polls and then sleeps until
//! something comes (`idle.rs`). So no request passes through another thread, and nothing here needs a lock
//! except the [`Inbox`], through which sessions join.
//!
//! This is an adapter: messages of sessions become inputs of the platform's [`Hub`], and its outputs become
//! messages to them (`translate.rs`, `notices.rs`). The hub has the rules of time and of who may do what. This
//! module has threads, the wall clock, and the limits of what a session may use of the server.

mod adapted;
mod commands;
mod debugger;
mod files;
mod handle;
mod idle;
mod inbox;
mod inspect;
mod member;
mod message;
mod notices;
mod observed;
mod owners;
mod partners;
mod passed_files;
mod permits;
mod quota;
mod rights;
mod round_robin;
mod run;
mod save;
mod session_stream;
mod share;
mod silence;
mod translate;

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vp_hub::{Hub, Input, MemoryGuarantees, Tag};
use vp_models::memory::MemoryBudget;
use vp_models::platform::{DeviceRegisters, Platform};
use vp_protocols::native::{ErrorCode, Offer, SessionId, TimeMode};
use vp_shm::AdaptiveSpin;

use adapted::AdaptedSessions;
pub(super) use handle::{Instance, Start};
pub(super) use inbox::{Inbox, PlatformCommand};
use member::Members;
use message::SessionCommand;
pub(super) use message::{JoiningAdapter, JoiningSession};
use owners::Owners;
use partners::StalledPartner;
use run::PollSchedule;
use save::RestWait;
use silence::Watch;

use super::PlatformObserver;
use super::session_end::SessionOutcome;

/// Returns what a welcome says of a platform, for every session.
pub(super) fn offer(platform: &Platform) -> Offer {
    Offer {
        platform: platform.description().name.clone(),
        ports: translate::ports(&platform.ports()),
        device: Some(translate::device(platform.identity())),
        ..Offer::default()
    }
}

/// The time limits of an instance: see [`Options`](super::Options).
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimits {
    pub(super) owner_timeout: Duration,
    pub(super) delta_limit: u64,
    pub(super) heartbeat: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
    /// True if time stands until a debugger lets it go on.
    pub(super) is_stopped: bool,
}

#[cfg(test)]
impl Default for TimeLimits {
    fn default() -> Self {
        super::Options::default().patience()
    }
}

/// The inside of an instance: lives and dies on its thread.
struct PlatformThread {
    inbox: Arc<Inbox>,
    /// Requests that wait for a session to leave whose peer has gone already, and what came behind them.
    postponed: Vec<(SessionId, SessionCommand)>,
    hub: Hub,
    mode: TimeMode,
    /// Time of the platform's start.
    began: Instant,
    patience: TimeLimits,
    members: Members,
    spin: AdaptiveSpin,
    adapted: AdaptedSessions,
    owners: Owners,
    /// Sessions that wait for the platform to be at rest.
    resting: Vec<RestWait>,
    standing: StalledPartner,
    /// Paced: the clock of the present work, and what simulated time has to do with it.
    pace: Option<(Instant, vp_hub::Pace)>,
    looks: PollSchedule,
    watch: Watch,
    /// Observer that looks on.
    observer: Option<Box<dyn PlatformObserver>>,
    /// Notes of what is not stored of what was to be, for sessions that come later.
    not_observed: Vec<String>,
    has_ended: bool,
    /// The device's registers by name, for the log.
    registers: OnceCell<DeviceRegisters>,
}

type Failure = (ErrorCode, String);

impl PlatformThread {
    fn build(
        inbox: &Arc<Inbox>,
        start: &Start,
        budget: MemoryBudget,
        mode: TimeMode,
        patience: TimeLimits,
    ) -> Result<Self, String> {
        let mut hub = Hub::new(start.platform(budget)?, translate::time_mode(mode));
        hub.set_delta_limit(patience.delta_limit);
        Ok(Self {
            inbox: inbox.clone(),
            postponed: Vec::new(),
            hub,
            mode,
            began: Instant::now(),
            patience,
            members: Members::default(),
            spin: AdaptiveSpin::default(),
            adapted: AdaptedSessions::default(),
            owners: Owners::default(),
            resting: Vec::new(),
            standing: StalledPartner::default(),
            pace: None,
            looks: PollSchedule::SOON,
            watch: Watch::new(&patience),
            observer: None,
            not_observed: Vec::new(),
            has_ended: false,
            registers: OnceCell::new(),
        })
    }

    /// Arms the server's own faults.
    fn arm_own_faults(&mut self, faults: Option<&str>) -> Result<(), String> {
        /// No session has this number.
        const OWN: vp_hub::PartyId = vp_hub::PartyId(0);
        let Some(faults) = faults else { return Ok(()) };
        let command = vp_hub::PartyCommand::Inject { faults: faults.to_owned() };
        let memory = MemoryGuarantees::default();
        self.hub.handle(Input::Enter { party: OWN, name: "the server".to_owned(), memory });
        self.hub.handle(Input::Command { party: OWN, tag: Tag(0), command });
        self.hub.handle(Input::Leave { party: OWN, why: "the faults are armed".to_owned() });
        while let Some(output) = self.hub.poll() {
            if let vp_hub::Output::Completed { result: Err(failure), .. } = output {
                return Err(failure.reason);
            }
        }
        Ok(())
    }

    /// The loop: carry out, run, answer, listen.
    fn serve(&mut self) {
        // The first session is on its way: in free mode time would move on before it is here.
        self.sleep(None);
        loop {
            for command in self.inbox.take() {
                self.platform_command(command);
            }
            self.take_adapted_inputs();
            self.remove_ended_sessions();
            if self.has_ended {
                // A platform that runs by itself might have much to do, and nobody could end that any more.
                break;
            }
            self.take_rings();
            self.disconnect_unresponsive_owner();
            self.disconnect_unresponsive_partner();
            // Who waits for an answer, or for the line, does not wait for what the platform has to do besides.
            self.flush();
            let (wake, sessions) = (self.advance(), self.sessions());
            self.tell();
            match wake {
                // Who had to go meanwhile may have left something to others that can be done now.
                Some(wake) if self.sessions() == sessions && !self.has_commands() => {
                    if self.save_for_adapters() || self.answer_rested() {
                        continue;
                    }
                    self.look_who_holds_time();
                    self.ask_adapted_partners();
                    self.flush();
                    let silence = self.silence_wake();
                    let since = [self.owners.oldest(), self.standing.since()].into_iter().flatten();
                    let patience =
                        since.filter_map(|(_, since)| since.checked_add(self.patience.owner_timeout));
                    let rest = self.resting.iter().map(|wait| wait.until);
                    self.idle_until(wake.0.into_iter().chain(patience).chain(silence).chain(rest).min());
                    self.looks = PollSchedule::SOON;
                    self.check_heartbeat();
                }
                _ => {
                    self.end_rest_waits();
                    if self.look() {
                        self.check_heartbeat();
                    }
                }
            }
        }
        self.flush();
    }

    /// Sessions whose stream has ended leave.
    fn remove_ended_sessions(&mut self) {
        while let Some((session, why)) = self.adapted.wrong() {
            self.warn_others(session, &why);
            self.leave(session, &why);
        }
        while let Some((session, why)) = self.ended_member().or_else(|| self.adapted.ended()) {
            self.leave(session, &why);
        }
    }

    /// A memory that does not answer must not hold time up for all others: its session has to go.
    fn disconnect_unresponsive_owner(&mut self) {
        if let Some((owner, asked)) = self.owners.oldest()
            && asked.elapsed() >= self.patience.owner_timeout
        {
            let patience = self.patience.owner_timeout.as_secs_f64();
            let reason = format!("a request to its memory was not answered within {patience} s");
            self.disconnect(owner, ErrorCode::NotAnswered, &reason);
        }
    }

    fn disconnect(&mut self, session: SessionId, code: ErrorCode, reason: &str) {
        self.close(session, code, SessionOutcome::Wrong(reason.to_owned()));
    }

    /// Ends a session; its peer gets the reason.
    fn close(&mut self, session: SessionId, code: ErrorCode, end: SessionOutcome) {
        let why = end.why().to_owned();
        if let Some(member) = self.members.get_mut(&session) {
            member.stream.close(code, end);
        } else {
            self.adapted.close(session, end);
        }
        self.leave(session, &why);
    }

    fn name(&self) -> &str {
        &self.hub.platform().description().name
    }

    /// Returns the number of sessions.
    fn sessions(&self) -> usize {
        self.members.len() + self.adapted.len()
    }

    /// Passes on messages to sessions, and takes more requests from those whose posted writes have had their
    /// turn.
    fn flush(&mut self) {
        self.adapted.flush();
        for (session, member) in &mut self.members {
            member.stream.flush();
            if !member.posted.is_empty() {
                member.keep_posted(self.hub.waiting(*session));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::{BufMut as _, BytesMut};
    use std::os::unix::net::UnixStream;
    use tokio::sync::oneshot;
    use vp_models::platform::Description;
    use vp_protocols::native::{Connection, Event, Terms};
    use vp_transport::Socket;

    use crate::Listeners;
    use crate::access::SessionIdentity;
    use crate::session_end::Ended;

    /// A session on its way to its platform, the end of its client, and what tells of its end.
    pub(super) fn joining(
        id: u64,
        client: &mut Connection,
    ) -> (JoiningSession, UnixStream, oneshot::Receiver<Ended>) {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let mut connection = Connection::server(Terms::default());
        let mut input = BytesMut::new();
        input.put(client.output());
        assert!(matches!(connection.receive(&mut input), Ok(Some(Event::Hello(_)))));
        let (ended, has_ended) = oneshot::channel();
        let joining = JoiningSession {
            id: SessionId(id),
            name: format!("session {id}"),
            agent: "x".to_owned(),
            time_mode: TimeMode::Lockstep,
            is_observer: false,
            socket: Arc::new(Socket::Unix(near)),
            connection,
            input,
            server: "vp".to_owned(),
            platform: "p".to_owned(),
            identity: SessionIdentity::default(),
            ended,
        };
        (joining, far, has_ended)
    }

    #[tokio::test]
    async fn a_platform_that_panics_closes_its_sessions_and_nothing_else() {
        let description = Description::named("nv_small").unwrap();
        let (mode, patience) = (TimeMode::Lockstep, TimeLimits::default());
        let budget = MemoryBudget::unlimited();
        let instance =
            Instance::start("p", description, budget, mode, patience, None, Listeners::default()).unwrap();
        let mut client = Connection::client(Connection::hello("x", None, mode)).unwrap();
        let (joining, _far, mut has_ended) = joining(1, &mut client);
        instance.inbox().send(PlatformCommand::Join(Box::new(joining))).unwrap();
        assert!(has_ended.try_recv().is_err());
        instance.inbox().send(PlatformCommand::Do(Box::new(|_| panic!("a model's fault")))).unwrap();
        let Ended { mut connection, end } = has_ended.await.unwrap();
        assert_eq!(end.why(), "the platform failed");
        assert!(connection.is_closed() && !connection.output().is_empty());
        while instance.inbox().is_open() {
            tokio::task::yield_now().await;
        }
        assert!(instance.inbox().send(PlatformCommand::End).is_err());
    }
}
