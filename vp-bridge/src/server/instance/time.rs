//! How far simulated time moves, and when.

use std::time::{Duration, Instant};

use vp_core::{Stop, Time};
use vp_protocols::native::{ErrorCode, TimeMode};

use super::Host;
use super::work::HORIZON;

/// What a run came back with.
enum Ran {
    /// Look again at once.
    Again,
    /// The goal's time is reached.
    Reached,
    /// Nothing is left to do.
    Idle,
    /// A memory owner's answer is needed before time may move on.
    Held,
}

/// Until when to sleep; without a time, until a command comes.
pub(super) struct Wake(pub(super) Option<Instant>);

impl Host {
    /// Lets simulated time move as far as the mode allows. `Some`: nothing more until a command comes or, if given, until
    /// then.
    pub(super) fn advance(&mut self) -> Option<Wake> {
        self.held = false;
        if self.livelock.is_some() {
            return Some(Wake(None));
        }
        let (goal, paced) = match self.mode {
            TimeMode::Lockstep => match self.current_goal() {
                Some(goal) => (goal, None),
                None => return Some(Wake(None)),
            },
            TimeMode::Free => (Time::MAX, None),
            TimeMode::Paced { picoseconds_per_nanosecond } => {
                let (began, from) =
                    *self.pace.get_or_insert_with(|| (Instant::now(), self.platform.simulation().now()));
                let passed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                let period = self.description.period.as_ps();
                // Whole cycles: commands that come between two runs take effect on a clock edge.
                let span = passed.saturating_mul(picoseconds_per_nanosecond) / period * period;
                // A clock that has run beyond all bounds holds nobody back; time then stands where the work ends.
                let goal = Some(from + Time::ps(span)).filter(|goal| *goal <= HORIZON).unwrap_or(Time::MAX);
                (goal, Some((began, from, picoseconds_per_nanosecond)))
            }
        };
        if self.mode != TimeMode::Lockstep && self.platform.simulation().next_time().is_none() {
            self.pace = None;
            return Some(Wake(None));
        }
        match self.run(goal) {
            Ran::Again => None,
            Ran::Held => {
                self.held = true;
                Some(Wake(None))
            }
            ran if self.mode == TimeMode::Lockstep => {
                self.goal_met(matches!(ran, Ran::Idle));
                self.is_step_owed().then_some(Wake(None))
            }
            // What was held back because the bus was full has its turn now.
            Ran::Idle if self.has_ready_job() => None,
            Ran::Idle => {
                self.pace = None;
                Some(Wake(None))
            }
            Ran::Reached => {
                let Some((began, from, ratio)) = paced else { return Some(Wake(None)) };
                let next = self.platform.simulation().next_time()?;
                let wait = Duration::from_nanos((next - from).as_ps() / ratio.max(1) + 1);
                Some(Wake(began.checked_add(wait)))
            }
        }
    }

    /// Runs up to `goal`, but to no moment for which a memory owner's answer is missing.
    fn run(&mut self, goal: Time) -> Ran {
        let mut limit = goal;
        if let Some(deadline) = self.requests.borrow().deadline()
            && goal >= deadline
        {
            match self.platform.simulation().next_time() {
                // A cycle before it, lest time stand between two clock edges.
                Some(next) if next < deadline => {
                    limit = next.max(deadline.since(self.description.period));
                }
                _ => return Ran::Held,
            }
        }
        if self.door.has_waiting() {
            return Ran::Again;
        }
        self.requests.borrow_mut().run_limit = limit;
        let stop = self.run_kernel(limit);
        self.requests.borrow_mut().run_limit = Time::ZERO;
        self.tell();
        match stop {
            Stop::Requested => Ran::Again,
            Stop::Held => Ran::Held,
            Stop::Limit if limit == goal => Ran::Reached,
            Stop::Limit => Ran::Again,
            Stop::Idle => Ran::Idle,
            Stop::Livelock => {
                self.livelocked();
                Ran::Again
            }
        }
    }

    /// Time stands still, and no run will move it: sessions are told, and whoever waits for it is answered.
    fn livelocked(&mut self) {
        let livelock = self.platform.simulation().livelock();
        let report =
            livelock.map_or_else(|| ErrorCode::Livelock.to_string(), |livelock| livelock.to_string());
        tracing::warn!("platform {}: {report}; it stands until a reset", self.description.name);
        self.warn_all(self.wire_now(), &report);
        self.cancel_all(&(ErrorCode::Livelock, report.clone()));
        self.livelock = Some(report);
    }
}
