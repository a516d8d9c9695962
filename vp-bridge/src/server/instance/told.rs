//! What sessions are told of the hub's outputs.

use bytes::Bytes;
use vp_models::hub::{Output, Severity, Tag};
use vp_protocols::native::{self, Capabilities, ErrorCode, Notice, PortId, Reply, RequestId, SessionId};

use super::{Failure, PlatformThread, ToSession, translate};

/// A session that has this many warnings unread gets no more until it reads.
const MOST_WARNINGS: usize = 256;
/// A session that has this many notices unread does not read at all.
const MOST_NOTICES: usize = 65_536;

impl PlatformThread {
    pub(super) fn send(&mut self, session: SessionId, message: ToSession) {
        if let Some(member) = self.members.get_mut(session) {
            member.send(message);
        }
    }

    /// Answers a request that did not reach the hub.
    pub(super) fn reply(&mut self, session: SessionId, id: RequestId, done: Result<(), Failure>) {
        let reply = match done {
            Ok(()) => Reply::Done,
            Err((code, reason)) => Reply::Failed { code, reason },
        };
        let time = translate::time(self.hub.now());
        self.send(session, ToSession::Reply { id, time, reply, payload: Bytes::new(), permit: None });
    }

    /// Tells the sessions what the hub has told.
    pub(super) fn tell(&mut self) {
        while let Some(output) = self.hub.poll() {
            match output {
                Output::Completed { party, tag, time, result } => {
                    let (reply, payload) = translate::reply(result);
                    self.completed(translate::session(party), tag, translate::time(time), reply, payload);
                }
                Output::Request { party, request, port, access } => {
                    let owner = translate::session(party);
                    self.owners.asked(request.0, owner);
                    let (asked, payload) = translate::request(port, access);
                    self.send(owner, ToSession::Ask { token: request.0, request: asked, payload });
                }
                Output::Level { party, port, level, time } => {
                    let (session, port) = (translate::session(party), translate::port_id(port));
                    self.notify_level(session, port, level, translate::time(time));
                }
                Output::Warning { severity, party, time, text } => {
                    if party.is_none() {
                        match severity {
                            Severity::Note => tracing::info!("platform {} at {time}: {text}", self.name()),
                            Severity::Warning => tracing::warn!("platform {} at {time}: {text}", self.name()),
                        }
                    }
                    let sessions = self.members.iter().map(|(session, _)| session);
                    let meant: Vec<SessionId> = sessions
                        .filter(|it| party.is_none_or(|party| party == translate::party(*it)))
                        .collect();
                    for session in meant {
                        self.warn(session, translate::time(time), text.clone());
                    }
                }
            }
        }
    }

    fn completed(&mut self, session: SessionId, tag: Tag, time: native::Time, reply: Reply, payload: Bytes) {
        let Some(member) = self.members.get_mut(session) else { return };
        match u32::try_from(tag.0) {
            Ok(id) => {
                let permit = member.held_permits.remove(&tag);
                member.send(ToSession::Reply { id: RequestId(id), time, reply, payload, permit });
            }
            Err(_) => member.answer_in_ring(&reply, time),
        }
    }

    fn warn(&mut self, session: SessionId, time: native::Time, text: String) {
        let Some(member) = self.members.get_mut(session) else { return };
        if !member.capabilities.contains(Capabilities::WARNINGS) {
            return;
        }
        if member.permits.notices() >= MOST_WARNINGS {
            member.lost_warnings += 1;
            return;
        }
        let text = match std::mem::take(&mut member.lost_warnings) {
            0 => text,
            lost => format!("{text} ({lost} warnings before this one were left out: nobody read them)"),
        };
        member.permits.notice_sent();
        member.send(ToSession::Notice(Notice::Warning { time, text }));
    }

    fn notify_level(&mut self, session: SessionId, port: PortId, level: bool, time: native::Time) {
        let Some(member) = self.members.get_mut(session) else { return };
        if let Some(ring) = member.ring.as_mut().filter(|ring| ring.line == port) {
            ring.server.set_line(level);
        }
        let unread = member.permits.notice_sent();
        member.send(ToSession::Notice(Notice::Interrupt { port, level, time }));
        if unread >= MOST_NOTICES {
            self.put_out(session, ErrorCode::TooManyInFlight, &format!("{unread} notices were not read"));
        }
    }
}
