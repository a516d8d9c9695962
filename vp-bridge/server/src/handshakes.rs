//! New connections: they have not sent their hello, or not authenticated yet. They have places apart from those
//! of sessions, so a silent one keeps nobody out. When all places are taken, one that has waited for long has
//! to go, so the next one is heard.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use vp_protocols::native::SessionId;

use crate::access::{Origin, Place};
use crate::session_end::End;

/// The newcomers of a server.
#[derive(Debug, Clone)]
pub(crate) struct HandshakeSlots {
    most: usize,
    /// Oldest first.
    waiting: Arc<Mutex<Vec<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    id: SessionId,
    from: Place,
    must_go: CancellationToken,
}

/// The place of one of them, until this is dropped.
#[derive(Debug)]
pub(crate) struct HandshakeSlot {
    handshakes: HandshakeSlots,
    id: SessionId,
    must_go: CancellationToken,
}

impl HandshakeSlots {
    pub(crate) fn new(most: usize) -> HandshakeSlots {
        HandshakeSlots { most, waiting: Arc::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives one more a place. If all are taken the oldest newcomer has to go, of those from where most of them are: one host, or
    /// one user, then has no more than the others are not using.
    pub(crate) fn enter(&self, id: SessionId, origin: Origin) -> HandshakeSlot {
        let must_go = CancellationToken::new();
        let mut waiting = self.waiting();
        if waiting.len() >= self.most {
            let from_there = |at: &usize| {
                let from = waiting[*at].from;
                waiting.iter().filter(|other| other.from == from).count()
            };
            // Of several with as many the last is taken: the oldest.
            if let Some(oldest) = (0..waiting.len()).rev().max_by_key(from_there) {
                waiting.remove(oldest).must_go.cancel();
            }
        }
        waiting.push(Waiting { id, from: origin.into(), must_go: must_go.clone() });
        HandshakeSlot { handshakes: self.clone(), id, must_go }
    }
}

impl HandshakeSlot {
    /// Runs what the newcomer does, unless it has to go.
    ///
    /// # Errors
    /// It has to go, and why; or what it does fails.
    pub(crate) async fn run<T>(&self, what: impl Future<Output = Result<T, End>>) -> Result<T, End> {
        tokio::select! {
            biased;
            done = what => done,
            () = self.must_go.cancelled() => {
                Err(End::Wrong("too many connections have not said who they are: come again".to_owned()))
            }
        }
    }

    /// Returns true if the newcomer has to go.
    pub(crate) fn must_go(&self) -> bool {
        self.must_go.is_cancelled()
    }
}

impl Drop for HandshakeSlot {
    fn drop(&mut self) {
        self.handshakes.waiting().retain(|waiting| waiting.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(host: u8) -> Origin {
        Origin::Network([192, 0, 2, host].into(), 1)
    }

    #[test]
    fn who_has_waited_longest_where_most_come_from_makes_room_for_the_next() {
        let handshakes = HandshakeSlots::new(4);
        let enter = |id, host| handshakes.enter(SessionId(id), from(host));
        let mut places = vec![enter(1, 1), enter(2, 2), enter(3, 2), enter(4, 3)];
        assert!(!places.iter().any(HandshakeSlot::must_go));
        let gone = |places: &[HandshakeSlot]| -> Vec<u64> {
            places.iter().filter(|place| place.must_go()).map(|place| place.id.0).collect()
        };
        places.push(enter(5, 2));
        assert_eq!(gone(&places), [2]);
        places.push(enter(6, 2));
        assert_eq!(gone(&places), [2, 3]);
        places.extend([enter(7, 4), enter(8, 5)]);
        // One from each of four: the oldest.
        assert_eq!(gone(&places), [1, 2, 3, 5]);
    }

    #[test]
    fn who_has_left_makes_room_too() {
        let handshakes = HandshakeSlots::new(2);
        let first = handshakes.enter(SessionId(1), from(1));
        drop(handshakes.enter(SessionId(2), from(1)));
        let third = handshakes.enter(SessionId(3), from(1));
        assert!(!first.must_go() && !third.must_go());
    }
}
