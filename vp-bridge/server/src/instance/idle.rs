//! A platform's thread while it is idle.
//!
//! It polls the rings and the sockets of its sessions for 50 µs, because waking a sleeping thread costs tens of
//! microseconds. Then it sleeps until one of them has something, or a session joins.

use std::hint;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::PlatformThread;

/// Time for which a thread polls for the next command before it sleeps.
const LOOK: Duration = Duration::from_micros(50);
/// Looks at the rings before the core is given to another thread: longer than an access takes if both sides
/// have a core.
const GLANCES: u32 = 32;
/// Rounds of looks at the rings for each look at the sockets.
const ROUNDS: u32 = 8;
/// Looks at the sockets, where there are no rings, before the core is given to another thread.
const LOOKS: u32 = 4;

impl PlatformThread {
    /// Waits until something is to be done, or until `wake`.
    pub(super) fn idle_until(&mut self, wake: Option<Instant>) {
        self.spin.begin();
        if self.has_come_soon() {
            return;
        }
        self.spin.give_up();
        // From now on clients ring when they have asked; what came before is seen here.
        if self.announce_sleep() {
            self.sleep(wake);
        }
        self.wake_rings();
        self.serve_round();
    }

    /// Looks for a while whether something is to be done.
    fn has_come_soon(&mut self) -> bool {
        let mut began = None;
        let has_ring = self.rings().next().is_some();
        if !has_ring {
            // Nothing is there yet of a peer that has been answered just now, and it may be waiting for this very core.
            self.spin.yield_core();
        }
        for round in 0_u32.. {
            if has_ring {
                for _ in 0..GLANCES {
                    if self.is_asked() {
                        return true;
                    }
                    hint::spin_loop();
                }
            }
            if !has_ring || round.is_multiple_of(ROUNDS) {
                if self.serve_round() || self.inbox.is_waiting() {
                    return true;
                }
                if began.get_or_insert_with(Instant::now).elapsed() >= LOOK {
                    return false;
                }
            }
            // The other side may be waiting for this very core.
            if has_ring || (round + 1).is_multiple_of(LOOKS) {
                self.spin.yield_core();
            }
        }
        false
    }

    /// Sleeps until a command comes, a socket or a ring has something, or until `wake`.
    pub(super) fn sleep(&mut self, wake: Option<Instant>) {
        // What came while it was polled may have begun a silence.
        let wake = wake.into_iter().chain(self.adapted.silent_at()).min();
        let timeout = wake.map(|wake| wake.saturating_duration_since(Instant::now()));
        // So long a time-out that the system has no number for it is none.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut files = vec![PollFd::from_borrowed_fd(self.inbox.bell(), PollFlags::IN)];
        for member in self.members.values_mut() {
            let bell = member.ring.as_ref().map(|ring| ring.server.bell());
            files.extend(bell.map(|bell| PollFd::from_borrowed_fd(bell, PollFlags::IN)));
            files.extend(member.stream.wanted());
        }
        files.extend(self.adapted.wanted());
        // A signal: the caller looks again.
        let _ = poll(&mut files, timeout.as_ref());
    }
}
