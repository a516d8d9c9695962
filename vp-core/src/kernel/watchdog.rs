//! The watchdog of the run loop: ends a run in which much is done but time does not move on.
//!
//! It checks rarely. So the loop pays one comparison a delta cycle, and nothing where time moves on.

use super::{Kernel, Simulation, Stop};
use crate::report::Livelock;
use crate::schedule::NOBODY;
use std::cell::{Cell, RefCell};

/// Waits of one activation that returned at once, between two looks at whether it ever ends.
const AT_ONCE: u64 = 1 << 18;
/// Number of such looks that count as much as the limit of delta cycles.
const LOOKS: u64 = 8;
/// Delta cycles, or activations of one phase, in which the running processes are noted.
const SEEN: usize = 16;

pub(super) struct Watchdog {
    /// Delta cycles at one moment; see [`Simulation::set_delta_limit`].
    limit: Cell<u64>,
    /// The time at its last look.
    since: Cell<u64>,
    /// The processes that ran in the last delta cycles before the limit, and the number of these cycles.
    seen: RefCell<Vec<u32>>,
    cycles_seen: Cell<usize>,
    found: RefCell<Option<Livelock>>,
    /// Waits that returned at once, and how many of them there are at its next look.
    at_once: Cell<u64>,
    at_once_due: Cell<u64>,
    /// The activation at its last look at them.
    activation: Cell<u64>,
}

impl Default for Watchdog {
    fn default() -> Watchdog {
        Watchdog {
            limit: Cell::new(Simulation::DELTA_LIMIT),
            since: Cell::new(0),
            seen: RefCell::default(),
            cycles_seen: Cell::new(0),
            found: RefCell::default(),
            at_once: Cell::new(0),
            at_once_due: Cell::new(AT_ONCE),
            activation: Cell::new(0),
        }
    }
}

impl Watchdog {
    pub(super) fn found(&self) -> Option<Livelock> {
        self.found.borrow().clone()
    }
}

impl Kernel {
    pub(super) fn set_delta_limit(&self, cycles: u64) {
        self.watchdog.limit.set(cycles);
        self.count_anew();
        self.schedule.limit_phase(cycles);
    }

    /// Delta cycles are counted on from that number.
    pub(super) fn count_deltas_from(&self, number: u64) {
        self.delta_due.set(number);
        self.delta_left.set(0);
        self.count_anew();
    }

    /// From this delta cycle on they are counted anew.
    fn count_anew(&self) {
        self.look_after(self.watchdog.limit.get());
        self.watchdog.seen.borrow_mut().clear();
        self.watchdog.cycles_seen.set(0);
    }

    /// The next look is after so many delta cycles, at least one.
    fn look_after(&self, cycles: u64) {
        let delta = self.delta();
        let due = delta.saturating_add(cycles.max(1));
        self.delta_due.set(due);
        self.delta_left.set(due - delta);
    }

    /// A look is due, but time has moved on.
    #[cold]
    pub(super) fn look_later(&self) {
        self.watchdog.since.set(self.now.get());
        self.count_anew();
    }

    /// A look in a delta cycle that begins, with `first` or what is runnable: whether time has stood for too long.
    #[cold]
    pub(super) fn time_stands(&self, first: u32) -> bool {
        let watchdog = &self.watchdog;
        if watchdog.since.get() != self.now.get() {
            self.look_later();
            return false;
        }
        let runnable = self.schedule.runnable();
        watchdog.seen.borrow_mut().extend((first != NOBODY).then_some(first).into_iter().chain(runnable));
        watchdog.cycles_seen.set(watchdog.cycles_seen.get() + 1);
        if watchdog.cycles_seen.get() < SEEN {
            self.look_after(1);
            return false;
        }
        self.found_livelock();
        true
    }

    /// An evaluation phase has had as many activations as a look comes after. Ends the run if that may go on for ever.
    #[cold]
    pub(super) fn phase_is_long(&self) {
        if self.schedule.prolong_phase(self.watchdog.limit.get()) {
            return;
        }
        let next = self.schedule.interrupt_phase();
        self.watchdog.seen.borrow_mut().extend(next.into_iter().take(SEEN));
        self.found_livelock();
        self.stop.set(Some(Stop::Livelock));
    }

    fn found_livelock(&self) {
        let mut seen = self.watchdog.seen.take();
        let mut known = std::collections::HashSet::new();
        seen.retain(|&id| known.insert(id));
        let processes = seen.into_iter().filter_map(|id| self.schedule.process_name(id)).collect();
        let livelock = Livelock { time: self.now(), processes };
        self.watchdog.found.replace(Some(livelock));
        self.count_anew();
    }

    /// Counts a wait that returns at once: whether the running process has had so many in this activation that it may
    /// never end.
    #[inline]
    pub(super) fn runs_in_place(&self) -> bool {
        let watchdog = &self.watchdog;
        let count = watchdog.at_once.get() + 1;
        watchdog.at_once.set(count);
        count >= watchdog.at_once_due.get() && self.is_same_activation()
    }

    #[cold]
    fn is_same_activation(&self) -> bool {
        let (watchdog, activation) = (&self.watchdog, self.schedule.activations());
        if watchdog.activation.replace(activation) != activation {
            watchdog.at_once_due.set(watchdog.at_once.get() + AT_ONCE);
            return false;
        }
        if watchdog.limit.get() < u64::MAX {
            self.look_after(self.delta_left.get().saturating_sub(watchdog.limit.get().div_ceil(LOOKS)));
        }
        // And so it is with the next one, until it waits.
        true
    }

    /// The running process waits after having run in place.
    #[cold]
    pub(super) fn leaves_place(&self) {
        self.watchdog.at_once_due.set(self.watchdog.at_once.get() + AT_ONCE);
    }
}
