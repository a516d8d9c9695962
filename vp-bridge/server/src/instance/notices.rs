//! The messages to sessions about the hub's outputs.

use bytes::Bytes;
use vp_core::observe::{Warning, WarningMarks};
use vp_core::{Name, Time};
use vp_hub::{Output, Severity, Tag};
use vp_models::platform::{DeviceRegisters, Warned};
use vp_protocols::native::{
    self, Capabilities, ErrorCode, Notice, PortId, Reply, Request, RequestId, SessionId,
};

use super::message::ToSession;
use super::{Failure, PlatformThread, translate};
use crate::TOLD;

/// A session that has this many warnings unread gets no more until it reads.
const MOST_WARNINGS: usize = 256;
/// A session that has this many notices unread does not read at all.
const MOST_NOTICES: usize = 65_536;

impl PlatformThread {
    /// A request as the log shows it: addresses in hexadecimal, those of registers with the name.
    pub(super) fn logged(&self, request: &Request) -> String {
        let register = |address: u64| {
            let registers =
                self.registers.get_or_init(|| DeviceRegisters::of(self.hub.platform().description()));
            let register = u32::try_from(address).ok().and_then(|address| registers.at(address));
            register
                .map_or_else(|| format!("0x{address:x}"), |register| format!("{register} (0x{address:x})"))
        };
        match request {
            Request::RegisterRead(read) => format!("reads {}", register(read.address)),
            Request::RegisterWrite(write) => {
                format!("writes 0x{:x} to {}", write.value, register(write.address))
            }
            Request::MemoryRead(read) => {
                format!("reads {} bytes at 0x{:x} of port {}", read.length, read.address, read.port.0)
            }
            Request::MemoryWrite(write) => {
                format!("writes {} bytes at 0x{:x} of port {}", write.length, write.address, write.port.0)
            }
            request => format!("{request:?}"),
        }
    }

    pub(super) fn send(&mut self, session: SessionId, message: ToSession) {
        if let Some(member) = self.members.get_mut(&session) {
            member.stream.send(message);
        }
    }

    /// Answers a request that did not reach the hub.
    pub(super) fn reply(&mut self, session: SessionId, id: RequestId, done: Result<(), Failure>) {
        let reply = match done {
            Ok(()) => Reply::Done,
            Err((code, reason)) => Reply::Failed { code, reason },
        };
        self.sum_up_failures(session);
        let time = self.hub.now();
        self.send(session, ToSession::Reply { id, time, reply, payload: Bytes::new(), permit: None });
    }

    /// Tells the sessions about the hub's outputs, and returns true if there were any.
    pub(super) fn tell(&mut self) -> bool {
        self.let_observer_keep_up();
        let mut is_told = false;
        while let Some(output) = self.hub.poll() {
            is_told = true;
            match output {
                output if self.is_adapted(&output) => self.tell_adapted(output),
                Output::Completed { party, tag, time, result } => {
                    let (reply, payload) = translate::reply(result);
                    self.completed(party, tag, time, reply, payload);
                }
                Output::Request { party: owner, request, port, access } => {
                    self.owners.asked(request.0, owner);
                    let (asked, payload) = translate::request(port, access);
                    self.send(owner, ToSession::Ask { token: request.0, request: asked, payload });
                }
                Output::Level { party, port, level, time } => {
                    self.notify_level(party, port, level, time);
                }
                Output::PostedFailed { party, time, failure } => {
                    self.posted_write_failed(party, time, &failure);
                }
                Output::Driven { party, port, at, event } => {
                    self.send_driven(party, port, at, event);
                }
                Output::Promised { party, promise } => {
                    self.send_promise(party, promise);
                }
                Output::Expelled { party, failure, .. } => {
                    self.expelled(party, &failure);
                }
                Output::Stopped { party, report } => {
                    self.tell_stopped(party, report);
                }
                Output::Warning { severity, time, ref text, marks } => {
                    self.announce(severity, time, text, marks);
                    self.adapted.tell_all(&output, self.hub.now());
                }
            }
        }
        is_told
    }

    fn is_adapted(&self, output: &Output) -> bool {
        !matches!(output, Output::Expelled { .. })
            && output.party().is_some_and(|party| self.adapted.contains(party))
    }

    fn tell_adapted(&mut self, output: Output) {
        let Some(session) = output.party() else { return };
        if let Output::Request { request, .. } = &output {
            self.owners.asked(request.0, session);
        }
        self.adapted.tell(session, output, self.hub.now());
    }

    fn completed(&mut self, session: SessionId, tag: Tag, time: native::Time, reply: Reply, payload: Bytes) {
        self.sum_up_failures(session);
        let Some(member) = self.members.get_mut(&session) else { return };
        match u32::try_from(tag.0) {
            Ok(id) => {
                let permit = member.held_permits.remove(&tag);
                member.stream.send(ToSession::Reply { id: RequestId(id), time, reply, payload, permit });
            }
            Err(_) => {
                if let Some(ring) = &mut member.ring {
                    ring.answer(&reply, time);
                }
            }
        }
    }

    /// Tells of the first posted write that fails, and before the next reply of how many have failed by then.
    fn posted_write_failed(&mut self, session: SessionId, time: Time, failure: &vp_hub::Failure) {
        self.posted_write_refused(session, time, translate::error_code(failure.kind), &failure.reason);
    }

    /// Tells of a posted write that did not reach the hub, as of one that fails.
    pub(super) fn posted_write_refused(
        &mut self,
        session: SessionId,
        time: Time,
        code: ErrorCode,
        reason: &str,
    ) {
        let cause = code.to_string();
        let text = format!("posted write failed: {reason}");
        let Some(member) = self.members.get_mut(&session) else { return };
        member.failures.add(time, &Name::default(), &Warning::Repeated { cause: &cause, text: &text });
        self.tell_failures(session);
    }

    pub(super) fn sum_up_failures(&mut self, session: SessionId) {
        let now = self.hub.now();
        if let Some(member) = self.members.get_mut(&session)
            && member.failures.may_repeat()
        {
            member.failures.sum_up_all(now);
            self.tell_failures(session);
        }
    }

    fn tell_failures(&mut self, session: SessionId) {
        let told = self.members.get_mut(&session).map(|member| member.failures.take());
        for Warned { time, source: _, text, marks } in told.into_iter().flatten() {
            self.warn(session, time, text, marks);
        }
    }

    /// Tells all sessions and the log.
    fn announce(&mut self, severity: Severity, time: Time, text: &str, marks: WarningMarks) {
        let sessions: Vec<SessionId> = self.members.keys().copied().collect();
        let mut is_told = false;
        for session in sessions {
            // An observer is somebody else than those whose terminal shows the log.
            is_told |= self.warn(session, time, text.to_owned(), marks) && !self.is_observer(session);
        }
        let name = self.name();
        match (severity, is_told) {
            (Severity::Note, _) => tracing::info!("platform {name} at {time}: {text}"),
            (Severity::Warning, true) => tracing::warn!(target: TOLD, "platform {name} at {time}: {text}"),
            (Severity::Warning, false) => tracing::warn!("platform {name} at {time}: {text}"),
        }
    }

    /// Tells the other sessions why one of another protocol ends, because its peer cannot be told.
    pub(super) fn warn_others(&mut self, session: SessionId, why: &str) {
        let time = self.hub.now();
        let text = format!("session {}: {why}", session.0);
        self.announce(Severity::Warning, time, &text, WarningMarks::NONE);
    }

    /// Warns a session; returns true if the session hears of it.
    pub(super) fn warn(
        &mut self,
        session: SessionId,
        time: native::Time,
        text: String,
        marks: WarningMarks,
    ) -> bool {
        let Some(member) = self.members.get_mut(&session) else { return false };
        if !member.capabilities.contains(Capabilities::WARNINGS) {
            return false;
        }
        if member.stream.permits().notices() >= MOST_WARNINGS {
            member.lost_warnings += 1;
            return false;
        }
        let text = match std::mem::take(&mut member.lost_warnings) {
            0 => text,
            lost => format!("{text} ({lost} warnings before this one were left out: nobody read them)"),
        };
        member.stream.permits().notice_sent();
        member.stream.send(ToSession::Notice(translate::warning(time, text, marks)));
        true
    }

    fn notify_level(&mut self, session: SessionId, port: PortId, level: bool, time: native::Time) {
        let Some(member) = self.members.get_mut(&session) else { return };
        if let Some(ring) = member.ring.as_mut().filter(|ring| ring.line == port) {
            ring.server.set_line(level);
        }
        self.notify(session, ToSession::Notice(Notice::Interrupt { port, level, time }));
    }

    /// Sends what nothing holds back; a session that leaves too much of it unread has to go.
    pub(super) fn notify(&mut self, session: SessionId, notice: ToSession) {
        let Some(member) = self.members.get_mut(&session) else { return };
        let unread = member.stream.permits().notice_sent();
        member.stream.send(notice);
        if unread >= MOST_NOTICES {
            self.disconnect(session, ErrorCode::TooManyInFlight, &format!("{unread} notices were not read"));
        }
    }
}
