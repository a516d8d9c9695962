//! What sessions are told: replies, in the order of the requests on a port, lines, and warnings.

use bytes::Bytes;
use vp_core::observe::Warning;
use vp_core::{Name, Time};
use vp_models::platform::Warned;
use vp_protocols::native::{
    self, Capabilities, ErrorCode, Notice, PortId, Reply, RequestId, Role, SessionId,
};

use super::requests::Forwarded;
use super::{Asker, Failure, Happened, Host, OnBus, ToSession};
use crate::server::TOLD;

/// A session that has this many warnings unread gets no more until it reads.
const MOST_WARNINGS: usize = 256;
/// A session that has this many notices unread does not read at all.
const MOST_NOTICES: usize = 65_536;

impl Host {
    pub(super) fn send(&mut self, session: SessionId, message: ToSession) {
        if let ToSession::Reply { .. } = message {
            self.sum_up_failures(session);
        }
        if let Some(member) = self.members.get_mut(session) {
            member.send(message);
        }
    }

    pub(super) fn reply(&mut self, session: SessionId, id: RequestId, reply: Reply) {
        let time = self.wire_now();
        self.send(session, ToSession::Reply { id, time, reply, payload: Bytes::new(), charge: None });
    }

    /// Fails a request; a posted write fails by a warning.
    pub(super) fn fail(&mut self, session: SessionId, asker: Option<Asker>, (code, reason): Failure) {
        match asker {
            Some(Asker::Stream(id)) => self.reply(session, id, Reply::Failed { code, reason }),
            Some(Asker::Ring) => self.answer_in_ring(session, code.into(), 0, self.wire_now()),
            None => self.posted_write_failed(session, code, &reason),
        }
    }

    /// Tells of the first posted write that fails, and before the next reply of how many have failed by then.
    fn posted_write_failed(&mut self, session: SessionId, code: ErrorCode, reason: &str) {
        let now = self.now();
        let (cause, text) = (code.to_string(), format!("posted write failed: {reason}"));
        let Some(member) = self.members.get_mut(session) else { return };
        let again = Warning::Repeated { cause: &cause, text: &text };
        member.failures.add(now, &Name::default(), &again);
        self.tell_failures(session);
    }

    fn sum_up_failures(&mut self, session: SessionId) {
        let now = self.now();
        if let Some(member) = self.members.get_mut(session)
            && member.failures.may_repeat()
        {
            member.failures.sum_up_all(now);
            self.tell_failures(session);
        }
    }

    fn tell_failures(&mut self, session: SessionId) {
        let told = self.members.get_mut(session).map(|member| member.failures.take());
        for Warned { time, text, .. } in told.into_iter().flatten() {
            self.warn(session, native::Time(time.as_ps()), text);
        }
    }

    pub(super) fn pass_on(&mut self, forwarded: Forwarded) {
        let Forwarded { to, id, reply, payload, charge } = forwarded;
        let time = self.wire_now();
        self.send(to, ToSession::Reply { id, time, reply, payload, charge });
    }

    /// Whether it hears of it.
    fn warn(&mut self, session: SessionId, time: native::Time, text: String) -> bool {
        let Some(member) = self.members.get_mut(session) else { return false };
        if !member.capabilities.contains(Capabilities::WARNINGS) {
            return false;
        }
        if member.account.notices() >= MOST_WARNINGS {
            member.lost_warnings += 1;
            return false;
        }
        let text = match std::mem::take(&mut member.lost_warnings) {
            0 => text,
            lost => format!("{text} ({lost} warnings before this one were left out: nobody read them)"),
        };
        member.account.notice_sent();
        member.send(ToSession::Notice(Notice::Warning { time, text }));
        true
    }

    /// Tells all sessions; whether any hears of it.
    pub(super) fn warn_all(&mut self, time: native::Time, text: &str) -> bool {
        let sessions: Vec<SessionId> = self.members.iter().map(|(session, _)| session).collect();
        let mut told = false;
        for session in sessions {
            told |= self.warn(session, time, text.to_owned());
        }
        told
    }

    /// Tells all sessions and the log.
    pub(super) fn announce(&mut self, time: Time, text: &str) {
        let told = self.warn_all(native::Time(time.as_ps()), text);
        let platform = &self.description.name;
        match told {
            true => tracing::warn!(target: TOLD, "platform {platform} at {time}: {text}"),
            false => tracing::warn!("platform {platform} at {time}: {text}"),
        }
    }

    /// Tells what the platform warns of.
    pub(super) fn tell_warnings(&mut self) {
        for Warned { time, source, text } in self.platform.take_warnings() {
            self.announce(time, &format!("{source}: {text}"));
        }
    }

    /// Tells how often what was warned of has happened by now. Sessions come and go: to who comes it is new.
    pub(super) fn sum_up_warnings(&mut self) {
        self.platform.sum_up_warnings();
        self.tell_warnings();
    }

    pub(super) fn notify_level(&mut self, session: SessionId, port: PortId, level: bool, time: native::Time) {
        let Some(member) = self.members.get_mut(session) else { return };
        if let Some(ring) = member.ring.as_mut().filter(|ring| ring.line == port) {
            ring.server.set_line(level);
        }
        let unread = member.account.notice_sent();
        member.send(ToSession::Notice(Notice::Interrupt { port, level, time }));
        if unread >= MOST_NOTICES {
            self.put_out(session, ErrorCode::TooManyInFlight, &format!("{unread} notices were not read"));
        }
    }

    /// Tells the sessions what the platform did since the last time.
    pub(super) fn tell(&mut self) {
        self.ask();
        loop {
            let Some(happened) = self.happened.borrow_mut().pop_front() else { break };
            match happened {
                Happened::Level { level, time } => self.level_changed(level, time),
                Happened::Answer { tag, value, time } => self.answered(tag, value, time),
            }
        }
        self.tell_warnings();
    }

    pub(super) fn level_changed(&mut self, level: bool, time: Time) {
        let sinks: Vec<(SessionId, PortId)> = (self.holdings.iter())
            .filter(|holding| holding.role == Role::Sink)
            .map(|holding| (holding.session, holding.port))
            .collect();
        for (session, port) in sinks {
            self.notify_level(session, port, level, native::Time(time.as_ps()));
        }
    }

    fn answered(&mut self, tag: u64, value: u32, time: Time) {
        // Answers come in request order; what a reset threw away answers no more.
        if self.on_bus.front().is_none_or(|front| front.tag != tag) {
            return;
        }
        let Some(OnBus { session, asker, write, charge, .. }) = self.on_bus.pop_front() else { return };
        let time = native::Time(time.as_ps());
        match asker {
            Asker::Ring => self.answer_in_ring(session, 0, if write { 0 } else { value }, time),
            Asker::Stream(id) => {
                let reply = if write { Reply::Done } else { Reply::Value { value } };
                self.send(session, ToSession::Reply { id, time, reply, payload: Bytes::new(), charge });
            }
        }
        self.answer_was_awaited(tag);
        self.fail_front();
    }

    /// Answers the accesses that failed and whose turn it is.
    pub(super) fn fail_front(&mut self) {
        while let Some(front) = self.on_bus.front_mut()
            && let Some(failure) = front.failure.take()
        {
            let (session, asker) = (front.session, front.asker);
            self.on_bus.pop_front();
            self.fail(session, Some(asker), failure);
        }
    }
}
