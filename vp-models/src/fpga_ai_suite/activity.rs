//! The performance counters: clocks in which jobs were active.

use serde::{Deserialize, Serialize};
use vp_core::Time;

/// Clocks with any job active, and clocks times jobs active.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Activity {
    active: u32,
    since: Time,
    any: Time,
    jobs: Time,
}

impl Activity {
    /// A job begins.
    pub(super) fn begin(&mut self, now: Time) {
        self.settle(now);
        self.active += 1;
    }

    /// A job that began is over.
    pub(super) fn end(&mut self, now: Time) {
        self.settle(now);
        self.active -= 1;
    }

    /// Jobs that are active.
    pub(super) fn active(&self) -> u32 {
        self.active
    }

    /// Returns both counts up to now.
    pub(super) fn clocks(&self, now: Time, cycle: Time) -> [u64; 2] {
        let passed = now.since(self.since);
        let any = if self.active > 0 { self.any + passed } else { self.any };
        [any.cycles(cycle), (self.jobs + passed * u64::from(self.active)).cycles(cycle)]
    }

    fn settle(&mut self, now: Time) {
        let passed = now.since(self.since);
        if self.active > 0 {
            self.any += passed;
        }
        self.jobs += passed * u64::from(self.active);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_overlap_count_once_and_each() {
        let (mut activity, cycle) = (Activity::default(), Time::ns(2));
        activity.begin(Time::ns(10));
        activity.begin(Time::ns(14));
        assert_eq!(activity.clocks(Time::ns(18), cycle), [4, 6]);
        activity.end(Time::ns(20));
        activity.end(Time::ns(30));
        assert_eq!((activity.clocks(Time::ns(99), cycle), activity.active()), ([10, 13], 0));
    }
}
