//! Saved platforms, while they are sent to the session that asks for them, or come from the one that has them taken up.

use std::io::{ErrorKind, Write as _};
use std::time::{Duration, Instant};

use bytes::Bytes;
use vp_core::Busy;
use vp_models::platform::SaveError;
use vp_protocols::native::{ErrorCode, Reply, RequestId, SessionId};

use super::message::ToSession;
use super::{Failure, PlatformThread};

/// Part of a platform that is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it, with its memories, which must be inside.
    Whole,
    /// All but the memories outside: these are saved by those who have them.
    Device,
}

/// A session's wait for the platform to be at rest.
#[derive(Debug)]
pub(super) struct RestWait {
    session: SessionId,
    id: RequestId,
    /// End of the session's patience.
    pub(super) until: Instant,
}

impl PlatformThread {
    /// Answers a session when the platform is at rest, or does not come to rest.
    pub(super) fn await_rest(&mut self, session: SessionId, id: RequestId, patience: u32) {
        let until = Instant::now() + Duration::from_millis(patience.into());
        self.resting.push(RestWait { session, id, until });
    }

    /// Forgets what a session has waited for, which has left.
    pub(super) fn forget_rest_waits(&mut self, session: SessionId) {
        self.resting.retain(|wait| wait.session != session);
    }

    /// Answers the sessions that wait for rest, where it is known whether the platform comes to rest. The platform has nothing to do
    /// now. Returns true if a session was told something.
    pub(super) fn answer_rested(&mut self) -> bool {
        if self.resting.is_empty() {
            return false;
        }
        let is_held = self.hub.platform().simulation().rest() == Err(Busy::Held);
        // In lockstep nothing happens until somebody lets time move.
        let goes_on = self.hub.mode() == vp_hub::TimeMode::Free && self.hub.stopped().is_none();
        if goes_on && (is_held || self.hub.next_time().is_some()) {
            return self.end_rest_waits();
        }
        let rest = self.hub.come_to_rest().map_err(|error| failure(&error));
        for wait in std::mem::take(&mut self.resting) {
            self.reply(wait.session, wait.id, rest.clone());
        }
        self.tell();
        true
    }

    /// Refuses the sessions whose patience has ended before the platform was at rest. Returns true if there were any.
    pub(super) fn end_rest_waits(&mut self) -> bool {
        if self.resting.is_empty() {
            return false;
        }
        let now = Instant::now();
        let waits = std::mem::take(&mut self.resting).into_iter();
        let (ended, others): (Vec<_>, Vec<_>) = waits.partition(|wait| wait.until <= now);
        self.resting = others;
        for RestWait { session, id, .. } in &ended {
            let busy = self.hub.platform().unfinished().unwrap_or_else(|| "it is at work".to_owned());
            let reason = format!("{} is not at rest: {busy}", self.name());
            self.reply(*session, *id, Err((ErrorCode::NotAtRest, reason)));
        }
        !ended.is_empty()
    }

    /// Takes a part of the state that the platform is to take up: the first byte of it, and how many there are in all. Returns the
    /// state once it is whole.
    pub(super) fn load(
        &mut self,
        session: SessionId,
        (total, first): (u64, u64),
        part: &Bytes,
    ) -> Result<Option<Bytes>, Failure> {
        self.stands_alone()?;
        let empty = self.hub.platform().counted_bytes();
        let Some(member) = self.members.get_mut(&session) else { return Ok(None) };
        let begun = member.loading.take();
        let begun = match first {
            0 => Some(empty),
            _ => begun.filter(|begun| begun.as_ref().len() as u64 == first),
        };
        let mut loading = begun.ok_or_else(|| {
            let reason = format!("byte {first} does not follow what has come: begin with byte 0");
            (ErrorCode::BadRange, reason)
        })?;
        let end = first.saturating_add(part.len() as u64);
        if end > total {
            return Err((ErrorCode::BadRange, format!("bytes {first} to {end} of {total}")));
        }
        loading.write_all(part).map_err(|error| failure(&SaveError::Io(error)))?;
        if end < total {
            member.loading = Some(loading);
            return Ok(None);
        }
        Ok(Some(Bytes::from_owner(loading)))
    }

    /// Saves the platform for a session, or reads on in what was saved for it. One that has read the last byte keeps nothing.
    pub(super) fn save(&mut self, session: SessionId, id: RequestId, first: u64, extent: Extent) {
        let saved = match first {
            0 => self.saved(extent),
            _ => self.members.get_mut(&session).and_then(|member| member.saved.take()).ok_or_else(|| {
                (ErrorCode::BadRange, "nothing is saved for this session: begin with byte 0".to_owned())
            }),
        };
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let saved = saved.and_then(|bytes| match first < bytes.len() {
            true => Ok(bytes),
            false => Err((ErrorCode::BadRange, format!("byte {first} of {}", bytes.len()))),
        });
        let time = self.hub.now();
        self.sum_up_failures(session);
        let told = match saved {
            Ok(bytes) => {
                let Some(member) = self.members.get_mut(&session) else { return };
                let is_last = first + member.stream.max_payload() as usize >= bytes.len();
                member.saved = (!is_last).then(|| bytes.clone());
                ToSession::Saved { id, time, bytes, first }
            }
            Err((code, reason)) => {
                let (reply, payload) = (Reply::Failed { code, reason }, Bytes::new());
                ToSession::Reply { id, time, reply, payload, permit: None }
            }
        };
        self.send(session, told);
        // Time may have moved.
        self.tell();
    }

    /// Saves the platform for sessions of other protocols that want it. The platform has nothing left to do: what is not at rest now comes to
    /// no rest by itself, unless time waits for somebody. Returns true if a session was told something.
    pub(super) fn save_for_adapters(&mut self) -> bool {
        let mut is_told = false;
        for session in self.adapted.want_saved() {
            let is_held = || self.hub.platform().simulation().rest() == Err(Busy::Held);
            if self.hub.next_time().is_some() || is_held() {
                self.adapted.wait_for_rest(session);
                continue;
            }
            let mut bytes = self.hub.platform().counted_bytes();
            let result = self.hub.save_device(&mut bytes).map(|()| Bytes::from_owner(bytes));
            self.adapted.saved(session, result);
            is_told = true;
        }
        // Time may have moved.
        self.tell();
        is_told
    }

    /// The platform, saved. Its bytes count among those of its memory.
    fn saved(&mut self, extent: Extent) -> Result<Bytes, Failure> {
        self.stands_alone()?;
        let mut bytes = self.hub.platform().counted_bytes();
        let saved = match extent {
            Extent::Whole => self.hub.save(&mut bytes),
            Extent::Device => self.hub.save_device(&mut bytes),
        };
        saved.map(|()| Bytes::from_owner(bytes)).map_err(|error| failure(&error))
    }

    /// Checks that all who take part in the platform speak the native protocol: others have a state of their own.
    fn stands_alone(&self) -> Result<(), Failure> {
        if self.adapted.len() == 0 {
            return Ok(());
        }
        let reason = "a session of another protocol takes part in the platform, which is neither saved nor restored then";
        Err((ErrorCode::Unsupported, reason.to_owned()))
    }
}

fn failure(error: &SaveError) -> Failure {
    let code = match error {
        SaveError::Busy(_) | SaveError::Settling(_) => ErrorCode::NotAtRest,
        SaveError::Unsupported(_) => ErrorCode::Unsupported,
        SaveError::Io(error) if error.kind() == ErrorKind::OutOfMemory => ErrorCode::OutOfMemory,
        SaveError::Io(_) => ErrorCode::Internal,
    };
    (code, error.to_string())
}
