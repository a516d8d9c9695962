//! Runs of the hub by the platform's thread: in pieces, so that sessions are heard during a run.

use std::time::{Duration, Instant};

use vp_core::Time;
use vp_hub::{Pace, RunState};
use vp_protocols::native::TimeMode;

use super::PlatformThread;

/// Cycles of a piece: more than a register access takes. A layer that runs in such pieces takes no longer than in one.
const PIECE: u64 = 32;
/// Time for which a run lasts, after something has come, before the sockets are looked at again: a client that
/// waits for an answer soon sends the next request.
const SHORTEST: Duration = Duration::from_micros(10);
/// Time for which a run lasts after many looks at which nothing had come.
const LONGEST: Duration = Duration::from_micros(160);
/// Many sockets are looked at more rarely: the run has at least so many times what a look takes.
const SHARE_OF_RUN: u32 = 16;
/// Time for which a run lasts at most after a round with commands, however long that took: some commands take seconds.
const LONGEST_BEHIND_ROUND: Duration = Duration::from_millis(20);

/// Times at which the sockets are looked at while a run lasts.
#[derive(Clone, Copy)]
pub(super) struct PollSchedule {
    /// Read from the clock only when needed: most register accesses are over by then, and reading the clock
    /// takes a part of their time.
    next: Option<Instant>,
    interval: Duration,
}

impl PollSchedule {
    /// Nothing was left to do, and something has come.
    pub(super) const SOON: Self = Self { next: None, interval: SHORTEST };

    /// A round with commands has taken so long: the platform has as long for its own work before the next one.
    fn after(took: Duration) -> Self {
        Self { next: None, interval: took.clamp(SHORTEST, LONGEST_BEHIND_ROUND) }
    }

    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        now >= *self.next.get_or_insert(now + self.interval)
    }
}

/// Time until which to sleep; without one, until a command comes.
pub(super) struct Wake(pub(super) Option<Instant>);

impl PlatformThread {
    /// Lets simulated time move as far as the mode allows, until the sockets are to be looked at. `None`: there may be more to
    /// do at once. `Some`: nothing more until a command comes or, if given, until then.
    pub(super) fn advance(&mut self) -> Option<Wake> {
        let granted = self.grant();
        let ran = self.run_hub(granted);
        let next = self.hub.next_time();
        if next.is_none() || self.hub.stopped().is_some() {
            // The pace begins anew with the next work, or when a debugger lets time go on.
            self.pace = None;
        }
        match (ran, &self.pace, next) {
            (RunState::Again | RunState::InInstant, ..) => None,
            (RunState::Limit, Some((began, pace)), Some(next)) => {
                Some(Wake(began.checked_add(pace.due(next))))
            }
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

    /// Runs the hub until nothing is left to do, or a session has to be looked at. Its outputs are sent after
    /// each piece.
    fn run_hub(&mut self, granted: Time) -> RunState {
        let length = self.hub.platform().description().period * PIECE;
        // Nothing ahead: the run says so, and takes time to where it belongs.
        while let Some(next) = self.hub.next_time().filter(|next| *next < granted) {
            let piece = next + length;
            match self.hub.run(piece) {
                RunState::Limit if piece < granted => {}
                ran => return ran,
            }
            if self.tell() {
                self.flush();
            }
            if self.is_asked() || self.adapted.has_inputs() || self.looks.is_due() {
                return RunState::Again;
            }
        }
        self.hub.run(Time::MAX)
    }

    /// Serves the sessions between two pieces of a run, if that is due. Says whether it was.
    pub(super) fn look(&mut self) -> bool {
        if !self.looks.is_due() {
            return false;
        }
        let began = Instant::now();
        let has_come = self.serve_round();
        let took = began.elapsed();
        if has_come {
            self.looks = PollSchedule::after(took);
            return true;
        }
        let interval = (2 * self.looks.interval).min(LONGEST).max(took * SHARE_OF_RUN);
        self.looks = PollSchedule { next: Some(began + took + interval), interval };
        true
    }
}
