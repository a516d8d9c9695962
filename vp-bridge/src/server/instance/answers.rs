//! What sessions are told: replies, in the order of the requests on a port, lines, and warnings.

use bytes::Bytes;
use vp_core::Time;
use vp_protocols::native::{
    self, Capabilities, ErrorCode, Notice, PortId, Reply, RequestId, Role, SessionId,
};

use super::requests::Forwarded;
use super::{Asker, Failure, Happened, Host, OnBus, ToSession};

/// A session that has this many warnings unread gets no more until it reads.
const MOST_WARNINGS: usize = 256;
/// A session that has this many notices unread does not read at all.
const MOST_NOTICES: usize = 65_536;

impl Host {
    pub(super) fn send(&mut self, session: SessionId, message: ToSession) {
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
            None => self.warn(session, self.wire_now(), format!("posted write failed: {reason}")),
        }
    }

    pub(super) fn pass_on(&mut self, forwarded: Forwarded) {
        let Forwarded { to, id, reply, payload, charge } = forwarded;
        let time = self.wire_now();
        self.send(to, ToSession::Reply { id, time, reply, payload, charge });
    }

    fn warn(&mut self, session: SessionId, time: native::Time, text: String) {
        let Some(member) = self.members.get_mut(session) else { return };
        if !member.capabilities.contains(Capabilities::WARNINGS) {
            return;
        }
        if member.account.notices() >= MOST_WARNINGS {
            member.lost_warnings += 1;
            return;
        }
        let text = match std::mem::take(&mut member.lost_warnings) {
            0 => text,
            lost => format!("{text} ({lost} warnings before this one were left out: nobody read them)"),
        };
        member.account.notice_sent();
        member.send(ToSession::Notice(Notice::Warning { time, text }));
    }

    pub(super) fn warn_all(&mut self, time: native::Time, text: &str) {
        let sessions: Vec<SessionId> = self.members.iter().map(|(session, _)| session).collect();
        for session in sessions {
            self.warn(session, time, text.to_owned());
        }
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
        for warned in self.platform.take_warnings() {
            let text = format!("{}: {}", warned.source, warned.text);
            tracing::warn!("platform {} at {}: {text}", self.description.name, warned.time);
            self.warn_all(native::Time(warned.time.as_ps()), &text);
        }
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
