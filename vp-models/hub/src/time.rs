//! Moves of simulated time: how far, and when.

use std::time::Duration;

use vp_core::{Simulation, Stop, Time};

use super::Hub;
use super::output::{Failure, FailureKind, Severity};
use super::partner::Bound;
use super::time_mode::TimeMode;
use vp_models::units::HORIZON;
use vp_types::Activity;

/// Delta cycles of one instant after which a run comes back, some milliseconds: its caller may have to end it.
const CYCLES_AT_ONCE: u64 = 20_000;

/// State that a run came back with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// More may have to be done at once.
    Again,
    /// Many delta cycles of one instant are over, and there is more to do at once. Input that comes before the
    /// instant's end takes effect within it.
    InInstant,
    /// The time given to the run, or granted to free mode, is reached.
    Limit,
    /// Nothing more happens until an input comes.
    Waiting,
}

/// Binds simulated time to a clock that its caller reads.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Picoseconds of simulated time for each nanosecond on the clock.
    pub picoseconds_per_nanosecond: u64,
    /// The simulated time at which the clock showed zero.
    pub from: Time,
}

impl Pace {
    /// Returns the time to which simulated time may have moved when the clock shows `elapsed`: a whole number of
    /// cycles, so that inputs between two runs take effect on a clock edge.
    #[must_use]
    pub fn limit(self, elapsed: Duration, cycle: Time) -> Time {
        let elapsed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let span = elapsed.saturating_mul(self.picoseconds_per_nanosecond);
        let cycle = cycle.as_ps().max(1);
        // A clock that has run beyond all bounds holds nobody back; time then stands where the work ends.
        Some(self.from + Time::ps(span / cycle * cycle))
            .filter(|limit| *limit <= HORIZON)
            .unwrap_or(Time::MAX)
    }

    /// Returns what the clock shows when simulated time may reach `time`.
    #[must_use]
    pub fn due(self, time: Time) -> Duration {
        Duration::from_nanos(time.since(self.from).as_ps() / self.picoseconds_per_nanosecond.max(1) + 1)
    }
}

/// Rules by which simulated time moves, and where it stands.
pub(super) struct TimeControl {
    mode: TimeMode,
    /// Free mode: time moves no further.
    granted: Time,
    /// The number of delta cycles of one instant after which its run is ended.
    delta_limit: u64,
    /// The instant with many delta cycles, and how many of them are over.
    long_instant: (Time, u64),
    /// Reason for which simulated time does not move any more until a reset, if so.
    standstill: Option<Failure>,
    /// True if a memory owner's answer is needed before time may move on.
    is_held: bool,
    /// True if the present instant is done, unless new input comes.
    is_instant_over: bool,
}

impl TimeControl {
    pub(super) fn new(mode: TimeMode) -> TimeControl {
        TimeControl {
            mode,
            granted: Time::MAX,
            delta_limit: Simulation::DELTA_LIMIT,
            long_instant: (Time::ZERO, 0),
            standstill: None,
            is_held: false,
            is_instant_over: true,
        }
    }

    pub(super) fn set_mode(&mut self, mode: TimeMode) {
        self.mode = mode;
    }

    pub(super) fn granted(&self) -> Time {
        self.granted
    }

    pub(super) fn standstill(&self) -> Option<&Failure> {
        self.standstill.as_ref()
    }

    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }

    pub(super) fn is_instant_over(&self) -> bool {
        self.is_instant_over
    }

    /// Notes that nothing more is done in the present instant.
    pub(super) fn end_instant(&mut self) {
        self.is_instant_over = true;
    }

    /// Notes that something is to be done in the present instant.
    pub(super) fn resume_instant(&mut self) {
        self.is_instant_over = false;
    }

    /// Number of delta cycles of the present instant, `now`, that are over, if they are too many for one run and there are
    /// more.
    pub(super) fn cycles_over(&self, now: Time) -> u64 {
        let (instant, cycles) = self.long_instant;
        if !self.is_instant_over && instant == now { cycles } else { 0 }
    }

    /// Lets time move again, after a reset.
    pub(super) fn restart(&mut self) {
        (self.standstill, self.long_instant) = (None, (Time::ZERO, 0));
    }
}

impl Hub {
    /// The rules of time in force.
    #[must_use]
    pub fn mode(&self) -> TimeMode {
        self.time.mode
    }

    /// Moves time on before any party has joined: a hub that becomes a part of another one takes over that
    /// one's time.
    pub fn start_at(&mut self, time: Time) {
        // An interruption ends a run early.
        while self.now() < time && self.platform.simulation_mut().run_until(time) == Stop::Requested {}
    }

    /// Free mode: lets time move up to this time, and no further; [`Time::MAX`], the initial value, is no
    /// limit.
    pub fn grant(&mut self, to: Time) {
        self.time.granted = to;
    }

    /// Sets the number of delta cycles of one instant after which a run is ended
    /// ([`vp_core::Simulation::set_delta_limit`]). Open commands then fail, and so do commands that need time
    /// to move, until a reset.
    pub fn set_delta_limit(&mut self, cycles: u64) {
        self.time.delta_limit = cycles;
        self.platform.simulation_mut().set_delta_limit(cycles.min(CYCLES_AT_ONCE));
    }

    /// The number of delta cycles of one instant after which a run is ended.
    #[must_use]
    pub fn delta_limit(&self) -> u64 {
        self.time.delta_limit
    }

    /// Lets simulated time move as far as the mode and the parties allow, and no further than `until`. Time is
    /// then that of the last event, unless the parties' or the grant's limit is reached.
    pub fn run(&mut self, until: Time) -> RunState {
        let ran = self.run_unpromised(until);
        if matches!(ran, RunState::Waiting | RunState::Limit) && self.tell_promises(self.due_promises()) {
            // What is promised depends on where a run ends.
            self.has_run();
            self.record_run();
        }
        ran
    }

    /// Runs as [`Hub::run`] does, without promises to partners: a replay makes those that were made where they were made.
    pub(super) fn run_unpromised(&mut self, until: Time) -> RunState {
        self.time.is_held = false;
        if self.is_stopped() {
            return RunState::Waiting;
        }
        // A write whose turn came at the end of the run before may have been refused.
        if self.halt_if_out_of_memory() || self.time.standstill.is_some() {
            return RunState::Waiting;
        }
        let ran = match self.bound_for_debuggers() {
            None => self.run_once(until),
            Some(bound) => self.run_once(until.min(bound)),
        };
        let ran = self.after_run(ran, until);
        self.tell_stopped();
        self.record_accessed();
        ran
    }

    fn run_once(&mut self, until: Time) -> RunState {
        // What partners drive takes effect at the end of an instant, or before the very first one.
        let simulation = self.platform.simulation();
        if simulation.activations() == 0 || simulation.next_time() != Some(simulation.now()) {
            let is_reset = self.apply_driven();
            if is_reset {
                // What waits for it goes before all that follows.
                return RunState::Again;
            }
        }
        if !self.outcomes.is_empty() {
            // What a register outside has answered may be what somebody waits for.
            self.has_run();
            self.collect();
            self.settle();
            self.collect();
            return RunState::Again;
        }
        let goal = match self.time.mode {
            TimeMode::Lockstep => match self.goal_time() {
                Some(goal) => goal,
                None => return RunState::Waiting,
            },
            TimeMode::Free if self.next_time().is_none() && self.partners.are_silent() => {
                return RunState::Waiting;
            }
            // A job that waits for its moment finds it.
            TimeMode::Free => self.time.granted.min(self.next_job_time().unwrap_or(Time::MAX)),
        };
        let Some(limit) = self.before_deadline(goal) else {
            self.time.is_held = true;
            return RunState::Waiting;
        };
        let bound = self.partners.bound(limit);
        let stop = match bound {
            None => self.run_kernel(limit, until),
            Some(Bound::Event(at) | Bound::Horizon(at)) if until < at => self.run_kernel(Time::MAX, until),
            Some(Bound::Event(at)) => self.run_kernel(at, until),
            // Time is the partners', too: it passes where nothing happens here.
            Some(Bound::Horizon(at)) if self.time.mode == TimeMode::Free => self.run_kernel(at, until),
            Some(Bound::Horizon(at)) => self.run_kernel(Time::MAX, until.min(at)),
        };
        self.has_run();
        if self.halt_if_out_of_memory() {
            self.collect();
            return RunState::Again;
        }
        self.collect();
        let ran = match (stop, bound) {
            (Stop::Requested, _) => RunState::Again,
            (Stop::Livelock, _) => {
                self.instant_is_long();
                RunState::InInstant
            }
            (Stop::Held, _) => {
                self.time.is_held = true;
                RunState::Waiting
            }
            (_, None) => self.end_run(stop, goal, limit, until),
            (_, Some(bound)) => self.end_bounded(bound, until),
        };
        self.settle();
        self.collect();
        ran
    }

    /// Says what a run of the kernel means that partners have limited.
    fn end_bounded(&mut self, bound: Bound, until: Time) -> RunState {
        match bound {
            Bound::Event(at) | Bound::Horizon(at) if until < at => RunState::Limit,
            Bound::Event(_) => RunState::Again,
            // This run has ended the instant in which something is to take effect.
            Bound::Horizon(_) if self.time.is_instant_over && self.is_driven_due() => RunState::Again,
            Bound::Horizon(_) => {
                self.time.is_held = true;
                RunState::Waiting
            }
        }
    }

    /// Says what a run of the kernel means.
    fn end_run(&mut self, stop: Stop, goal: Time, limit: Time, until: Time) -> RunState {
        match (stop, self.time.mode) {
            (Stop::Limit, _) if until < limit => RunState::Limit,
            (Stop::Limit, _) if limit < goal => RunState::Again,
            (Stop::Limit | Stop::Idle, TimeMode::Free) if self.has_ready_job() => RunState::Again,
            (Stop::Limit, TimeMode::Free) => RunState::Limit,
            (stop, TimeMode::Lockstep) => {
                self.goal_met(stop == Stop::Idle);
                if self.is_step_owed() { RunState::Waiting } else { RunState::Again }
            }
            (_, TimeMode::Free) => RunState::Waiting,
        }
    }

    /// Returns the time to which time may move towards `goal`: to no moment for which a memory owner's answer is missing. `None`: not at
    /// all.
    fn before_deadline(&self, goal: Time) -> Option<Time> {
        let deadline = self.requests.borrow().deadline().filter(|deadline| *deadline <= goal);
        let Some(deadline) = deadline else { return Some(goal) };
        // A cycle before it, lest time stand between two clock edges.
        let next = self.platform.simulation().next_time().filter(|next| *next < deadline)?;
        Some(next.max(deadline.since(self.platform.description().period)))
    }

    /// Runs the kernel to `limit`, or for now to `until`, if that is earlier.
    pub(super) fn run_kernel(&mut self, limit: Time, until: Time) -> Stop {
        let stops = self.outcomes.stops();
        self.requests.borrow_mut().run_limit = limit;
        self.partners.set_running(true);
        self.begin_watching();
        let simulation = self.platform.simulation_mut();
        let mut stop = match until < limit {
            true => simulation.run_up_to(until),
            false => simulation.run_until(limit),
        };
        if stop == Stop::Idle && until < limit {
            // Nothing is left to do: time may go where the limit is, or where a debugger has it stop.
            let (to, is_before) = self.stop_before(limit).map_or((limit, false), |to| (to, true));
            stop = self.platform.simulation_mut().run_until(to);
            if is_before && stop == Stop::Idle {
                stop = Stop::Limit;
            }
        }
        // What has come from outside takes effect at the end of an instant, or where the platform itself has ended a run: a
        // place that a replay finds again.
        self.partners.set_running(false);
        if stop == Stop::Requested && self.outcomes.stops() == stops {
            let now = self.now();
            let mut ended = self.platform.simulation_mut().run_up_to(now);
            if ended == Stop::Requested && self.outcomes.stops() == stops {
                // By a breakpoint, in the rest of the instant.
                ended = self.platform.simulation_mut().run_up_to(now);
            }
            if matches!(ended, Stop::Held | Stop::Livelock) {
                stop = ended;
            }
        }
        self.time.is_instant_over = self.outcomes.stops() == stops && stop != Stop::Livelock;
        self.requests.borrow_mut().run_limit = Time::ZERO;
        if self.look_for_hits() && self.time.is_instant_over {
            // What was told only when the run had ended is not to end the next one.
            let now = self.now();
            self.platform.simulation_mut().run_up_to(now);
        }
        stop
    }

    /// Many delta cycles were not enough for the present instant. If they are too many, time moves no more.
    fn instant_is_long(&mut self) {
        let (instant, cycles) = self.time.long_instant;
        let before = if instant == self.now() { cycles } else { 0 };
        let cycles = before.saturating_add(CYCLES_AT_ONCE.min(self.time.delta_limit));
        self.time.long_instant = (self.now(), cycles);
        if cycles < self.time.delta_limit {
            return;
        }
        let livelock = self.platform.simulation().livelock();
        let report = livelock.map_or_else(|| "time stands still".to_owned(), |livelock| livelock.to_string());
        self.stand(Failure::new(FailureKind::Livelock, report));
    }

    /// Ends the run if memory was refused that other platforms have: it would go another way than alone.
    pub(super) fn halt_if_out_of_memory(&mut self) -> bool {
        let shortage = self.platform.take_shortage().filter(|_| self.time.standstill.is_none());
        if let Some(shortage) = shortage {
            // Alone it would not have been refused.
            self.end_recording(Some(&format!("{shortage}: no replay can know that")));
            self.stand(Failure::new(FailureKind::OutOfMemory, shortage.to_string()));
        }
        shortage.is_some()
    }

    /// Simulated time moves no more until a reset: what is under way fails.
    fn stand(&mut self, why: Failure) {
        self.warn(Severity::Warning, format!("{why}; the platform stands until a reset"));
        self.cancel_all(&why);
        self.time.standstill = Some(why);
    }

    /// Returns the activity: whether there is work to do.
    #[must_use]
    pub fn activity(&self) -> Activity {
        match (self.time.mode, self.next_time()) {
            _ if self.time.standstill.is_some() => Activity::Deadlocked,
            _ if self.time.is_held || self.is_stopped() || self.owed_bursts() > 0 => Activity::Held,
            _ if self.has_jobs() => Activity::Running,
            (TimeMode::Lockstep, _) if self.current.is_some() => Activity::Running,
            (TimeMode::Lockstep, Some(_)) => Activity::Held,
            (_, Some(_)) => Activity::Running,
            (_, None) if self.platform.unfinished().is_none() => Activity::Idle,
            // An input that has still to come.
            (_, None) if self.platform.awaits_cpu().is_some() => Activity::Idle,
            (_, None) => Activity::Deadlocked,
        }
    }
}
