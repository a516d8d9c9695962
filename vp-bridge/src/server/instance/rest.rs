//! What a platform's thread does when it has nothing to do, and how long it may be deaf when it has.
//!
//! First it looks: at the door, at the rings, and at the sockets of its sessions, which are lent to it meanwhile. Mostly
//! the next request is under way, and is there sooner than a sleeper wakes. Then it sleeps until one of them rings. Before a
//! run that lasts it gives the sockets back to the sessions' tasks, which knock when something comes.

use std::hint;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use vp_core::{Stop, Time};

use super::Host;

/// How long a thread looks for the next command before it sleeps.
const LOOK: Duration = Duration::from_micros(50);
/// Looks at the rings before somebody else has the core: longer than an access takes if both sides have one.
const GLANCES: u32 = 32;
/// Rounds of looks at the rings for each look at the sockets.
const ROUNDS: u32 = 8;
/// Looks at the sockets, where there are no rings, before somebody else has the core.
const LOOKS: u32 = 4;
/// Cycles between two looks at the rings and at the door, and at how long a run has lasted: more than a register access takes.
const BETWEEN_LOOKS: u64 = 32;
/// Delta cycles of one moment between two looks: some milliseconds.
const CYCLES_BETWEEN_LOOKS: u64 = 20_000;
/// Looks after which a run is one that lasts.
const MANY_LOOKS: u32 = 16;
/// A run that has taken so long is one that lasts, however little has happened in it.
const LASTS: Duration = Duration::from_millis(2);

impl Host {
    /// Rests until something is to be done, or until `wake`.
    pub(super) fn rest(&mut self, wake: Option<Instant>) {
        self.members.iter().for_each(|(_, member)| member.to.link().lend());
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
            if self.door.has_waiting() {
                return;
            }
            if !has_ring || round.is_multiple_of(ROUNDS) {
                self.attend();
                if !self.commands.is_empty() || self.door.has_waiting() {
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
        if self.fall_asleep() && self.door.fall_asleep() {
            let links = self.members.iter().filter_map(|(_, member)| member.to.link().lent_socket());
            let rings = self.rings().map(|ring| ring.server.bell());
            let files: Vec<BorrowedFd<'_>> =
                [self.door.bell()].into_iter().chain(links).chain(rings).collect();
            vp_shm::wait(&files, &[], wake.map(|wake| wake.saturating_duration_since(Instant::now())));
        }
        self.door.wake();
        self.hush();
        self.attend();
    }

    /// Reads the sockets that are lent to this thread.
    fn attend(&mut self) {
        for (_, member) in self.members.iter() {
            member.to.link().attend(&mut self.commands);
        }
    }

    /// Runs the kernel up to `limit`. A run that turns out to last is one that others can end by a knock, if there are no rings: else
    /// it is looked in its course whether there is something to do. Nobody who is owed an answer waits for its end.
    pub(super) fn run_kernel(&mut self, limit: Time) -> Stop {
        let has_ring = self.rings().next().is_some();
        let (mut began, mut lasts) = (None, false);
        let between = self.description.period * BETWEEN_LOOKS;
        let delta_limit = self.patience.delta_limit;
        // Of one moment, and those of it that are over.
        let (cycles, mut stood) = (CYCLES_BETWEEN_LOOKS.min(delta_limit), 0_u64);
        self.platform.simulation_mut().set_delta_limit(cycles);
        for looks in 1_u32.. {
            let simulation = self.platform.simulation_mut();
            let ahead = simulation.next_time().filter(|next| *next < limit);
            let stop = match ahead {
                Some(next) => simulation.run_up_to(limit.min(next + between)),
                // Nothing ahead: takes time to where it belongs.
                None => simulation.run_until(limit),
            };
            match stop {
                Stop::Idle if ahead.is_some() => continue,
                Stop::Limit if ahead.is_some() => stood = 0,
                Stop::Livelock if stood.saturating_add(cycles) < delta_limit => stood += cycles,
                stop => return stop,
            }
            // Register accesses are over before the clock is looked at.
            if !lasts {
                lasts = looks >= MANY_LOOKS
                    || stop == Stop::Livelock
                    || began.get_or_insert_with(Instant::now).elapsed() >= LASTS;
                if lasts {
                    self.flush();
                    self.members.iter().for_each(|(_, member)| member.to.link().give_back());
                }
            }
            if self.door.has_waiting() || self.is_asked() {
                return Stop::Requested;
            }
            if lasts && !has_ring {
                self.is_running = self.door.begin_run();
                if !self.is_running {
                    return Stop::Requested;
                }
                break;
            }
        }
        let simulation = self.platform.simulation_mut();
        simulation.set_delta_limit(delta_limit);
        simulation.run_until(limit)
    }
}
