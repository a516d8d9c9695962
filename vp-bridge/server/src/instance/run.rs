//! How the platform's thread lets its hub run: in short pieces while somebody may be waiting, in one when the run lasts.

use std::time::{Duration, Instant};

use vp_core::Time;
use vp_models::hub::{Pace, Ran};
use vp_protocols::native::TimeMode;

use super::PlatformThread;

/// Cycles between two looks at the rings and at the inbox, and at how long a run has lasted: more than a register access takes.
const BETWEEN_LOOKS: u64 = 32;
/// Looks after which a run is one that lasts.
const MANY_LOOKS: u32 = 16;
/// A run that has taken so long is one that lasts, however little has happened in it.
const LASTS: Duration = Duration::from_millis(2);

/// Until when to sleep; without a time, until a command comes.
pub(super) struct Wake(pub(super) Option<Instant>);

impl PlatformThread {
    /// Lets simulated time move as far as the mode allows. `Some`: nothing more until a command comes or, if given, until
    /// then.
    pub(super) fn advance(&mut self) -> Option<Wake> {
        let granted = self.grant();
        let ran = self.run_hub(granted);
        let next = self.hub.next_time();
        if next.is_none() {
            // The pace begins anew with the next work.
            self.pace = None;
        }
        match (ran, &self.pace, next) {
            (Ran::Again | Ran::InInstant, ..) => None,
            (Ran::Limit, Some((began, pace)), Some(next)) => Some(Wake(began.checked_add(pace.due(next)))),
            _ => Some(Wake(None)),
        }
    }

    /// Paced: says how far time may move by the wall clock.
    fn grant(&mut self) -> Time {
        let TimeMode::Paced { picoseconds_per_nanosecond } = self.mode else { return Time::MAX };
        let from = self.hub.now();
        let new = || (Instant::now(), Pace { picoseconds_per_nanosecond, from });
        let (began, pace) = *self.pace.get_or_insert_with(new);
        let granted = pace.limit(began.elapsed(), self.hub.platform().description().period);
        self.hub.grant(granted);
        granted
    }

    /// Runs the hub. A run that turns out to last can be interrupted by others, if there are no rings; else this thread
    /// looks in its course whether there is something to do. Nobody who is owed an answer waits for its end.
    fn run_hub(&mut self, granted: Time) -> Ran {
        if self.inbox.has_waiting() {
            return Ran::Again;
        }
        let has_ring = self.rings().next().is_some();
        let (mut began, mut lasts) = (None, false);
        let between = self.hub.platform().description().period * BETWEEN_LOOKS;
        for looks in 1_u32.. {
            // Nothing ahead: the run says so, and takes time to where it belongs.
            let Some(next) = self.hub.next_time().filter(|next| *next < granted) else { break };
            let piece = next + between;
            match self.hub.run(piece) {
                Ran::Limit if piece < granted => {}
                Ran::InInstant => {
                    self.let_tasks_poll();
                    return Ran::Again;
                }
                ran => return ran,
            }
            // Register accesses are over before the clock is looked at.
            if !lasts {
                lasts = looks >= MANY_LOOKS || began.get_or_insert_with(Instant::now).elapsed() >= LASTS;
                if lasts {
                    self.let_tasks_poll();
                }
            }
            if self.inbox.has_waiting() || self.is_asked() {
                return Ran::Again;
            }
            if lasts && !has_ring {
                self.is_running = self.inbox.begin_run();
                if !self.is_running {
                    return Ran::Again;
                }
                break;
            }
        }
        self.hub.run(Time::MAX)
    }

    /// From here on this thread is busy: the sessions' tasks watch their sockets.
    fn let_tasks_poll(&mut self) {
        self.tell();
        self.flush();
        self.members.iter().for_each(|(_, member)| member.to.link().poll_by_task());
    }
}
