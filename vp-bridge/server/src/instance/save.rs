//! Saved platforms, while they are sent to the session that asks for them.

use std::io::ErrorKind;

use bytes::Bytes;
use vp_core::Busy;
use vp_models::platform::SaveError;
use vp_protocols::native::{ErrorCode, Reply, RequestId, SessionId};

use super::message::ToSession;
use super::{Failure, PlatformThread};

impl PlatformThread {
    /// Saves the platform for a session, or reads on in what was saved for it. One that has read the last byte keeps nothing.
    pub(super) fn save(&mut self, session: SessionId, id: RequestId, first: u64) {
        let saved = match first {
            0 => self.saved(),
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
    fn saved(&mut self) -> Result<Bytes, Failure> {
        if self.adapted.len() > 0 {
            let reason = "the platform cannot be saved: a session of another protocol takes part in it";
            return Err((ErrorCode::Unsupported, reason.to_owned()));
        }
        let mut bytes = self.hub.platform().counted_bytes();
        match self.hub.save(&mut bytes) {
            Ok(()) => Ok(Bytes::from_owner(bytes)),
            Err(error) => {
                let code = match &error {
                    SaveError::Busy(_) | SaveError::Settling(_) => ErrorCode::NotAtRest,
                    SaveError::Unsupported(_) => ErrorCode::Unsupported,
                    SaveError::Io(error) if error.kind() == ErrorKind::OutOfMemory => ErrorCode::OutOfMemory,
                    SaveError::Io(_) => ErrorCode::Internal,
                };
                Err((code, error.to_string()))
            }
        }
    }
}
