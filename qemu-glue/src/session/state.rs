//! The platform's state, for the machine's: brought to rest when the machine stops, saved with it, and taken up again.
//!
//! All of this is waited for with QEMU's big lock. Whoever waits serves the platform's accesses to memory meanwhile, so a layer comes
//! to its end.

use std::time::Duration;

use thiserror::Error;
use vp_client::native::{Capabilities, ErrorCode, Reply, Request};

use super::wire::{Broken, Wire};
use super::{Link, Session};

/// Number of bytes of a platform's state that is taken at most.
pub(crate) const MOST: u64 = 1 << 30;
/// Bytes of a state that go in one message.
const PIECE: usize = 256 << 10;

/// Reason for which a platform is not saved, or takes up no state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum StateError {
    /// Loss of the server.
    #[error("the server is gone")]
    Gone,
    /// Session that others have all the while.
    #[error("the session is in use")]
    Busy,
    /// Server of an older version, without these messages.
    #[error("the server cannot save a platform whose memory is outside")]
    Unable,
    /// The server's refusal, in its words.
    #[error("{0}")]
    Refused(String),
    /// The state is larger than any that is taken.
    #[error("the platform's state has {0} bytes: {MOST} are taken at most")]
    TooLarge(u64),
}

impl Session {
    /// Checks that the server saves platforms for machines.
    ///
    /// # Errors
    /// [`StateError`]: it does not.
    pub(crate) fn check_keeps_state(&self) -> Result<(), StateError> {
        match &self.shared.lock().link {
            Link::Up(wire) => keeps_state(wire),
            Link::Down { .. } => Err(StateError::Gone),
        }
    }

    /// Waits until the platform is at rest. With `is_patient` a layer under way may come to its end meanwhile, in three quarters of the
    /// time for which an access is waited for.
    ///
    /// # Errors
    /// [`StateError`]: it is not at rest.
    pub(crate) fn await_rest(&self, is_patient: bool) -> Result<(), StateError> {
        self.have_state(|wire, limit| {
            let patience = if is_patient { limit - limit / 4 } else { Duration::ZERO };
            let patience = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
            let id = wire.request(Request::AwaitRest { patience })?;
            Ok(done(wire.answer(id, limit)?.reply))
        })
    }

    /// The platform's state, without the guest's memory.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn save(&self) -> Result<Vec<u8>, StateError> {
        self.have_state(|wire, limit| {
            let mut saved = Vec::new();
            loop {
                let first = saved.len() as u64;
                let id = wire.request(Request::SaveDevice { first })?;
                let answer = wire.answer(id, limit)?;
                let total = match answer.reply {
                    Reply::Saved { total } => total,
                    Reply::Failed { code, reason } => return Ok(Err(refused(code, reason))),
                    _ => return Err(unfit()),
                };
                let end = first + answer.payload.len() as u64;
                if total > MOST {
                    return Ok(Err(StateError::TooLarge(total)));
                }
                if end == first || end > total {
                    return Err(Broken(format!("bytes {first} to {end} of a state of {total}")));
                }
                saved.extend_from_slice(&answer.payload);
                if end == total {
                    return Ok(Ok(saved));
                }
            }
        })
    }

    /// Has the platform take up a state. The guest's time, if it is the platform's, is counted anew from here.
    ///
    /// # Errors
    /// [`StateError`]: the platform is as it was.
    pub(crate) fn restore(&self, saved: &[u8]) -> Result<(), StateError> {
        self.have_state(|wire, limit| {
            let (total, mut first) = (saved.len() as u64, 0);
            let piece = PIECE.min(wire.client.welcome().max_payload as usize).max(1);
            if saved.is_empty() {
                return Ok(Err(StateError::Refused("it is empty".to_owned())));
            }
            for part in saved.chunks(piece) {
                let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
                let id = wire.request_with(Request::RestoreDevice { total, first, length }, part)?;
                let answer = wire.answer(id, limit)?;
                if let Err(error) = done(answer.reply) {
                    return Ok(Err(error));
                }
                first += u64::from(length);
                if first == total {
                    wire.timeline = wire.timeline.map(|timeline| timeline.anew(answer.time));
                }
            }
            Ok(Ok(()))
        })
    }

    /// Has the session for a while, with QEMU's big lock, which is given up until the session is free. A server that is gone is not looked
    /// for: a new one has another platform.
    fn have_state<T>(
        &self,
        words: impl FnOnce(&mut Wire, Duration) -> Result<Result<T, StateError>, Broken>,
    ) -> Result<T, StateError> {
        self.holding_up(|limit| {
            let mut state = self.lock_making_way(limit).ok_or(StateError::Busy)?;
            let Link::Up(wire) = &mut state.link else { return Err(StateError::Gone) };
            keeps_state(wire)?;
            wire.begin(limit);
            let said = words(wire, limit);
            said.unwrap_or_else(|broken| {
                self.shared.end(&mut state, &broken);
                Err(StateError::Gone)
            })
        })
    }
}

fn keeps_state(wire: &Wire) -> Result<(), StateError> {
    let can = wire.client.welcome().capabilities.contains(Capabilities::DEVICE_STATE);
    if can { Ok(()) } else { Err(StateError::Unable) }
}

fn done(reply: Reply) -> Result<(), StateError> {
    match reply {
        Reply::Done => Ok(()),
        Reply::Failed { code, reason } => Err(refused(code, reason)),
        _ => Err(StateError::Refused("the server's answer is none".to_owned())),
    }
}

fn refused(code: ErrorCode, reason: String) -> StateError {
    StateError::Refused(if reason.is_empty() { code.to_string() } else { reason })
}

fn unfit() -> Broken {
    Broken("the server's answer is none to a request for the platform's state".to_owned())
}
