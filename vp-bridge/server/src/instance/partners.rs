//! Sessions with a clock of their own: events and promises in both directions, and how long simulated time
//! waits for the sessions.

use std::time::Instant;

use bytes::Bytes;
use vp_core::Time;
use vp_hub::Input;
use vp_protocols::native::{Driven, ErrorCode, Promised, SessionId};

use super::message::ToSession;
use super::{PlatformThread, translate};
use vp_native_values::partner_event;

/// Partner for which simulated time stands, the promise, and the wall clock's time since when.
#[derive(Default)]
pub(super) struct StalledPartner(Option<(SessionId, Time, Instant)>);

impl StalledPartner {
    /// Time waits for the partner, which has promised to be silent up to then; `None`: for none.
    fn look(&mut self, waited_for: Option<(SessionId, Time)>) {
        let before = self.0.take();
        self.0 = waited_for.map(|(session, promised)| match before {
            Some((of, at, since)) if (of, at) == (session, promised) => (of, at, since),
            _ => (session, promised, Instant::now()),
        });
    }

    /// The partner that time waits for, and since when.
    pub(super) fn since(&self) -> Option<(SessionId, Instant)> {
        self.0.map(|(session, _, since)| (session, since))
    }

    /// The session is gone.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.0 = self.0.filter(|(of, ..)| *of != session);
    }
}

impl PlatformThread {
    /// A partner drives something.
    pub(super) fn take_driven(&mut self, session: SessionId, driven: Driven, payload: Bytes) {
        let Driven { port, at, event } = driven;
        if self.members.get(&session).is_some_and(|member| !member.has_clock) {
            return self.disconnect(session, ErrorCode::ContractBroken, "it drives a port, and has no clock");
        }
        match partner_event::from_event(event, payload) {
            Ok(event) => self.handle(Input::Driven { party: session, port, at, event }),
            Err(reason) => self.disconnect(session, ErrorCode::ContractBroken, &reason),
        }
    }

    /// A partner promises something.
    pub(super) fn take_promised(&mut self, session: SessionId, promised: Promised) {
        let Promised { heard, next } = promised;
        let promise = vp_hub::Promise { heard, next: next.unwrap_or(Time::MAX) };
        self.handle(Input::Promised { party: session, promise });
    }

    /// Tells a partner what a port drives.
    pub(super) fn send_driven(
        &mut self,
        session: SessionId,
        port: vp_hub::PortId,
        at: Time,
        event: vp_hub::PortEvent,
    ) {
        let (event, payload) = partner_event::to_event(event);
        let driven = Driven { port, at, event };
        self.notify(session, ToSession::Driven { driven, payload });
    }

    /// Tells a partner what the platform promises. What follows another promise replaces it.
    pub(super) fn send_promise(&mut self, session: SessionId, promise: vp_hub::Promise) {
        let vp_hub::Promise { heard, next } = promise;
        let promised = Promised { heard, next: Some(next).filter(|next| *next < Time::MAX) };
        let Some(member) = self.members.get_mut(&session) else { return };
        if !member.stream.replace_promise(promised) {
            self.notify(session, ToSession::Promised(promised));
        }
    }

    /// A partner has broken the contract: its session ends.
    pub(super) fn expelled(&mut self, session: SessionId, failure: &vp_hub::Failure) {
        let code = translate::error_code(failure.kind);
        self.disconnect(session, code, &format!("session {}: {}", session.0, failure.reason));
    }

    /// Notes for which partner simulated time stands.
    pub(super) fn look_who_holds_time(&mut self) {
        self.standing.look(self.hub.held_by());
    }

    /// Partners of other protocols promise more when they are asked. Asked are a partner that simulated time
    /// waits for, and in free mode all of them, because their own time has to go on; but not before there is a
    /// session that decides the mode.
    pub(super) fn ask_adapted_partners(&mut self) {
        let asked = match self.hub.mode() {
            vp_hub::TimeMode::Free if self.hub.are_all_partners() => Vec::new(),
            vp_hub::TimeMode::Free => self.adapted.ids(),
            vp_hub::TimeMode::Lockstep => {
                self.standing.since().map(|(session, _)| session).into_iter().collect()
            }
        };
        asked.into_iter().for_each(|session| self.adapted.wait_for(session));
    }

    /// A partner that promises nothing must not hold time up for all others: its session has to go.
    pub(super) fn disconnect_unresponsive_partner(&mut self) {
        // It may have promised more since it was last looked at, in a run that has gone on.
        self.look_who_holds_time();
        let timeout = self.patience.owner_timeout;
        let Some((partner, promised, since)) = self.standing.0 else { return };
        if since.elapsed() >= timeout {
            let reason = format!(
                "session {}: simulated time stands at {promised}, up to where it has promised to be silent, \
                 and within {} s it has promised no more",
                partner.0,
                timeout.as_secs_f64()
            );
            self.disconnect(partner, ErrorCode::NotAnswered, &reason);
        }
    }
}
