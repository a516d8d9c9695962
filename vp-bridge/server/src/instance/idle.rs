//! What a platform's thread does when it has nothing to do.
//!
//! It polls its inbox, the rings and the sockets of its sessions for 50 µs, because waking a sleeping thread costs tens of
//! microseconds; then it sleeps until one of them has something. Before a run that lasts, the sessions' tasks watch the
//! sockets again, and interrupt the run when something comes.

use std::hint;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use super::PlatformThread;

/// How long a thread polls for the next command before it sleeps.
const LOOK: Duration = Duration::from_micros(50);
/// Looks at the rings before somebody else has the core: longer than an access takes if both sides have one.
const GLANCES: u32 = 32;
/// Rounds of looks at the rings for each look at the sockets.
const ROUNDS: u32 = 8;
/// Looks at the sockets, where there are no rings, before somebody else has the core.
const LOOKS: u32 = 4;

impl PlatformThread {
    /// Waits until something is to be done, or until `wake`.
    pub(super) fn idle_until(&mut self, wake: Option<Instant>) {
        self.members.iter().for_each(|(_, member)| member.to.link().poll_by_platform());
        let mut began = None;
        if self.rings().next().is_none() {
            // Nothing is there yet of a peer that has been answered just now, and it may be waiting for this very core.
            thread::yield_now();
        }
        for round in 0_u32.. {
            let has_ring = self.rings().next().is_some();
            if has_ring {
                for _ in 0..GLANCES {
                    if self.is_asked() {
                        return;
                    }
                    hint::spin_loop();
                }
            }
            if self.inbox.has_waiting() {
                return;
            }
            if !has_ring || round.is_multiple_of(ROUNDS) {
                self.poll_sockets();
                if !self.commands.is_empty() || self.inbox.has_waiting() {
                    return;
                }
                if began.get_or_insert_with(Instant::now).elapsed() >= LOOK {
                    break;
                }
            }
            // The other side may be waiting for this very core.
            if has_ring || (round + 1).is_multiple_of(LOOKS) {
                thread::yield_now();
            }
        }
        // Whoever has something from now on rings; what came before is seen here.
        if self.fall_asleep() && self.inbox.fall_asleep() {
            let links = self.members.iter().filter_map(|(_, member)| member.to.link().polled_socket());
            let rings = self.rings().map(|ring| ring.server.bell());
            let files: Vec<BorrowedFd<'_>> =
                [self.inbox.bell()].into_iter().chain(links).chain(rings).collect();
            vp_shm::wait(&files, &[], wake.map(|wake| wake.saturating_duration_since(Instant::now())));
        }
        self.inbox.wake();
        self.wake_rings();
        self.poll_sockets();
    }

    /// Polls the sockets of the sessions.
    fn poll_sockets(&mut self) {
        for (_, member) in self.members.iter() {
            member.to.link().poll_socket(&mut self.commands);
        }
    }
}
