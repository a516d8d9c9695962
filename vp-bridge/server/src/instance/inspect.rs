//! Sessions that read the platform's state, and the accesses of debuggers without the buses.
//!
//! A session that only observes is no party of the hub: it has no influence on time, holds no port, and ends
//! with the last other session. What it reads comes from beside the buses, and is in no recording.

use bytes::Bytes;
use vp_hub::{Activity, Completion, Input, Tag};
use vp_models::counters::Statistics;
use vp_protocols::native::{
    Attached, Counter, ErrorCode, RegisterPeek, RegisterPoke, Request, RequestId, SessionId, StatusReport,
};

use super::message::ToSession;
use super::permits::Permit;
use super::{PlatformThread, translate};
use crate::session_end::SessionOutcome;

impl PlatformThread {
    pub(super) fn is_observer(&self, session: SessionId) -> bool {
        self.members.get(&session).is_some_and(|member| member.is_observer)
    }

    /// The platform ends, because only observers are left.
    pub(super) fn part_from_observers(&mut self) {
        let observers: Vec<SessionId> = self
            .members
            .iter()
            .filter(|(_, member)| member.is_observer)
            .map(|(session, _)| *session)
            .collect();
        for session in observers {
            let why = "the platform has ended: its last session has left";
            self.close(session, ErrorCode::ShuttingDown, SessionOutcome::Fine(why.to_owned()));
        }
    }

    /// The state of the platform, of which the session knows its part.
    pub(super) fn status(&self) -> StatusReport {
        let attached = self.hub.holdings().map(|(session, port, role)| Attached { port, role, session });
        StatusReport {
            time_mode: self.time_mode(),
            activity: self.hub.activity(),
            sessions: u32::try_from(self.sessions()).unwrap_or(u32::MAX),
            // The session knows.
            in_flight: 0,
            events: self.hub.platform().simulation().activations(),
            // A status report is a header: as many as fit with certainty.
            attached: attached.take(200).collect(),
        }
    }

    /// Reports how things stand: the platform, its sessions, its ports.
    pub(super) fn inspect(&self) -> Vec<Counter> {
        let mut seen = vec![
            Counter::text("platform", self.name()),
            Counter::text("time.mode", self.time_mode().to_string()),
            Counter::text("activity", self.activity()),
            Counter::real("wall", "s", self.began.elapsed().as_secs_f64()),
        ];
        if let Some(report) = self.hub.stopped() {
            seen.push(Counter::text("stopped", format!("session {}, at {}", report.by.0, report.time)));
        }
        for (index, port) in self.hub.ports().iter().enumerate() {
            let held = self.hub.holdings().filter(|(_, of, _)| usize::from(of.0) == index);
            let held = held.map(|(party, _, role)| format!("{} session {}", role.name(), party.0));
            seen.push(Counter::text(format!("port.{}", port.name), held.collect::<Vec<_>>().join(", ")));
        }
        for (session, member) in &self.members {
            let name = format!("session.{}", session.0);
            seen.push(Counter::text(&name, &member.name));
            seen.push(Counter::text(format!("{name}.agent"), &member.agent));
            if let Some(holder) = member.identity.holder() {
                seen.push(Counter::text(format!("{name}.token"), holder));
            }
            seen.push(Counter::real(format!("{name}.since"), "s", member.since.elapsed().as_secs_f64()));
            match member.is_observer {
                true => seen.push(Counter::text(format!("{name}.observer"), "looks only")),
                false => self.inspect_party(*session, &mut seen),
            }
        }
        for (session, adapted) in self.adapted.iter() {
            let name = format!("session.{}", session.0);
            seen.push(Counter::text(&name, &adapted.name));
            seen.push(Counter::real(format!("{name}.since"), "s", adapted.since.elapsed().as_secs_f64()));
            self.inspect_party(session, &mut seen);
        }
        seen.extend(counters(&self.hub.platform().inspect(), ""));
        seen
    }

    /// Returns what the platform does, in a word.
    fn activity(&self) -> &'static str {
        match self.hub.activity() {
            Activity::Running => "running",
            Activity::Held => "held",
            Activity::Idle if self.hub.platform().awaits_cpu().is_some() => "waiting",
            Activity::Idle => "idle",
            Activity::Deadlocked => "deadlocked",
        }
    }

    fn inspect_party(&self, session: SessionId, seen: &mut Vec<Counter>) {
        if let Some(waits) = self.hub.waits_for(session) {
            seen.push(Counter::text(format!("session.{}.waits", session.0), &waits));
        }
        let owes = self.hub.owes(session);
        if owes > 0 {
            seen.push(Counter::count(format!("session.{}.owes", session.0), "answers", owes as u64));
        }
    }

    /// Carries out what is asked beside the buses.
    pub(super) fn debug(
        &mut self,
        session: SessionId,
        id: RequestId,
        request: &Request,
        payload: &Bytes,
        permit: Permit,
    ) {
        let Some(member) = self.members.get_mut(&session) else { return };
        let looked = match *request {
            Request::RegisterPeek(RegisterPeek { port, address, count, group }) => {
                let words = self.hub.peek_registers(port, address, count, group);
                words.map(|words| Some(words.iter().flat_map(|word| word.to_le_bytes()).collect()))
            }
            Request::MemoryRead(read) => self.hub.peek_memory(read.port, read.address, read.length),
            _ => Ok(None),
        };
        let looked = match looked {
            Ok(None) => None,
            Ok(Some(data)) => Some(Ok(Completion::Data(data))),
            Err(failure) => Some(Err(failure)),
        };
        if let Some(result) = looked {
            let (reply, payload) = translate::reply(result);
            let time = self.hub.now();
            return self.send(session, ToSession::Reply { id, time, reply, payload, permit: Some(permit) });
        }
        let access = match *request {
            Request::RegisterPoke(RegisterPoke { port, address, value }) => {
                let operation = vp_hub::Operation::RegisterWrite { address, value };
                Some(vp_hub::Access { port, at: None, operation })
            }
            _ => match translate::command(request, payload, member.capabilities, self.hub.ports()) {
                Some(vp_hub::PartyCommand::Access(access)) => Some(access),
                _ => None,
            },
        };
        let Some(access) = access else { return };
        let tag = Tag(id.0.into());
        member.held_permits.insert(tag, permit);
        self.handle(Input::Debug { party: session, tag, access });
    }
}

/// The counters whose names begin with the prefix, in the protocol's form.
pub(super) fn counters(statistics: &Statistics, prefix: &str) -> Vec<Counter> {
    let chosen = statistics.counters.iter().filter(|counter| counter.name.starts_with(prefix));
    chosen.cloned().collect()
}
