//! Register accesses through a ring in memory that the server maps too: no system call while both sides are awake.
//!
//! One access at a time, whichever vCPU it is of: the bus answers in order anyhow. The session's thread goes on serving the
//! stream meanwhile; its end is the end of the ring.

use std::sync::{Arc, MutexGuard, PoisonError};

use vp_client::{Ring, RingError};
use vp_shm::ring::Access;

use super::wire::Broken;
use super::{AccessError, Guest, Link, Session};

/// A session's ring.
pub(super) struct RegisterRing {
    pub(super) ring: Ring,
    /// Number of the session whose ring it is.
    pub(super) generation: u64,
    /// Address of the first register.
    pub(super) base: u64,
    pub(super) guest: Arc<dyn Guest>,
}

impl Session {
    /// Accesses a register through the ring. None: there is no ring.
    pub(super) fn through_ring(&self, offset: u64, access: RingAccess) -> Option<Result<u32, AccessError>> {
        let mut place = self.ring();
        let RegisterRing { ring, generation, base, guest } = place.as_mut()?;
        if ring.is_over() {
            *place = None;
            return None;
        }
        let access = match access {
            RingAccess::Value => Access::Read,
            // See `Session::write`.
            RingAccess::Store(value) if ring.line().level() => Access::Write(value),
            RingAccess::Store(value) => Access::Posted(value),
        };
        let address = base.wrapping_add(offset);
        match ring.access(address, access, self.shared.timeout, |level| guest.line(level)) {
            Ok(None) => Some(Ok(0)),
            Ok(Some(reply)) => Some(if reply.is_done() { Ok(reply.value) } else { Err(AccessError) }),
            Err(why) => {
                let generation = *generation;
                *place = None;
                // The session's lock comes before the ring's.
                drop(place);
                if why != RingError::Over {
                    let mut state = self.shared.lock();
                    if state.generation == generation && matches!(state.link, Link::Up(_)) {
                        self.shared.end(&mut state, &Broken(why.to_string()));
                    }
                }
                Some(Err(self.told()))
            }
        }
    }

    /// An access has failed: that is what the guest had to learn of the session's end.
    fn told(&self) -> AccessError {
        if let Link::Down { told, .. } = &mut self.shared.lock().link {
            *told = true;
        }
        AccessError
    }

    fn ring(&self) -> MutexGuard<'_, Option<RegisterRing>> {
        self.shared.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Purpose of an access.
#[derive(Debug, Clone, Copy)]
pub(super) enum RingAccess {
    Value,
    Store(u32),
}
