//! The registers between the arbiter and AR or AW, and the bursts that wait in them.
//!
//! While the memory takes no address, or the device has too much outstanding, the arbiter goes on
//! choosing until these registers are full. The bursts in them go first, whichever clients request meanwhile.
//!
//! ```text
//! arbiter → before the count → count of what is outstanding → behind the count, the last one on AR or AW
//! ```
//!
//! Times are those at which a burst would be on the bus if nothing held it back. So an unhindered one is chosen,
//! counted and on the bus at the same time. Each of the two parts holds as many bursts as a round trip has cycles:
//! from a burst's leaving it, through the registers of `ready` and then those of data, until the next one that
//! is chosen for this place leaves it.

use super::Burst;
use super::outstanding::Outstanding;
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;
use vp_core::Time;

/// The number of bursts that the registers between the arbiter and the bus hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineConfig {
    /// Stages in front of the count; at least one.
    pub before_count: u32,
    /// Stages behind the count, including the one that is on AR or AW; at least one.
    pub behind_count: u32,
}

/// A burst that the arbiter has chosen.
#[derive(Clone, Copy)]
pub(super) struct Chosen {
    /// The client whose burst it is; `None` if it has left.
    pub(super) client: Option<usize>,
    pub(super) burst: Burst,
    /// Number of places that it takes of those that the device counts.
    pub(super) counted: u32,
    /// Number of cycles that it takes for each step.
    pub(super) cycles: u32,
}

/// The registers, and when what in them can move.
pub(super) struct Pipeline {
    period: Time,
    /// Chosen bursts; those that are counted come first.
    waiting: VecDeque<Chosen>,
    counted: usize,
    before_count: Outstanding,
    behind_count: Outstanding,
    /// Times at which the next burst can be chosen, counted, and put on the bus: one a cycle.
    free: [Time; 3],
}

impl Pipeline {
    pub(super) fn new(period: Time, config: PipelineConfig) -> Pipeline {
        let part = |places: u32| Outstanding::new(period * u64::from(places.max(1)), places);
        Pipeline {
            period,
            waiting: VecDeque::new(),
            counted: 0,
            before_count: part(config.before_count),
            behind_count: part(config.behind_count),
            free: [Time::ZERO; 3],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the time at which the arbiter can choose a burst; [`Time::MAX`] if none can move before something happens.
    #[inline]
    pub(super) fn room(&self) -> Time {
        self.free[0].max(self.before_count.room())
    }

    pub(super) fn choose(&mut self, chosen: Chosen, now: Time) {
        self.waiting.push_back(chosen);
        self.before_count.add_open();
        self.moved(0, now, chosen.cycles);
    }

    /// The next to be counted, and when there is a place for it.
    #[inline]
    pub(super) fn uncounted(&self) -> Option<(&Chosen, Time)> {
        let next = self.waiting.get(self.counted)?;
        Some((next, self.free[1].max(self.behind_count.room())))
    }

    pub(super) fn count(&mut self, now: Time) {
        let cycles = self.waiting.get(self.counted).map_or(1, |next| next.cycles);
        self.counted += 1;
        self.before_count.close(now);
        self.behind_count.add_open();
        self.moved(1, now, cycles);
    }

    /// The next for AR or AW, and when it can be there at the earliest.
    #[inline]
    pub(super) fn counted(&self) -> Option<(&Chosen, Time)> {
        Some((self.waiting.front().filter(|_| self.counted > 0)?, self.free[2]))
    }

    /// The first is on AR or AW, and taken.
    pub(super) fn issue(&mut self, now: Time) {
        let cycles = self.waiting.pop_front().map_or(1, |first| first.cycles);
        self.counted -= 1;
        self.behind_count.close(now);
        self.moved(2, now, cycles);
    }

    /// Time from which on the next address can be on the bus.
    pub(super) fn bus_free(&self) -> Time {
        self.free[2]
    }

    /// Returns true if a burst of the client waits in the registers.
    pub(super) fn holds(&self, client: usize) -> bool {
        self.waiting.iter().any(|chosen| chosen.client == Some(client))
    }

    /// Lets the next address not be on the bus before `until`.
    pub(super) fn hold_bus(&mut self, until: Time) {
        self.free[2] = until;
    }

    /// One has moved; it can take the next step at once, and others this one as many cycles later as it takes.
    #[inline]
    fn moved(&mut self, step: usize, now: Time, cycles: u32) {
        self.free[step] = now + self.period * u64::from(cycles);
        if let Some(next) = self.free.get_mut(step + 1) {
            *next = (*next).max(now);
        }
    }

    /// A client has gone, and what it has asked for is not to be.
    pub(super) fn forget(&mut self, client: usize) {
        for chosen in self.waiting.iter_mut().filter(|chosen| chosen.client == Some(client)) {
            (chosen.client, chosen.counted) = (None, 0);
        }
    }
}

impl Pipeline {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Pipeline { period: _, waiting, counted, before_count, behind_count, free } = self;
        at.at_rest(waiting.is_empty() && *counted == 0, "bursts wait for the bus")?;
        before_count.checkpoint(at)?;
        behind_count.checkpoint(at)?;
        at.value(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times at which each of so many reads is chosen, and on AR, if there is always a request, and AR
    /// takes one at these times.
    fn passes(config: PipelineConfig, taken: &[u64]) -> Vec<(u64, u64)> {
        let mut pipeline = Pipeline::new(Time::ns(1), config);
        let (mut chosen, mut issued) = (Vec::new(), Vec::new());
        for cycle in 0..=*taken.last().expect("some") {
            let now = Time::ns(cycle);
            if pipeline.room() <= now {
                pipeline
                    .choose(Chosen { client: Some(0), burst: Burst::default(), counted: 1, cycles: 1 }, now);
                chosen.push(cycle);
            }
            if pipeline.uncounted().is_some_and(|(_, at)| at <= now) {
                pipeline.count(now);
            }
            if taken.contains(&cycle) && pipeline.counted().is_some_and(|(_, at)| at <= now) {
                pipeline.issue(now);
                issued.push(cycle);
            }
        }
        assert!(issued.len() <= chosen.len());
        chosen.into_iter().zip(issued).collect()
    }

    const SMALL: PipelineConfig = PipelineConfig { before_count: 3, behind_count: 2 };

    #[test]
    fn reads_that_nothing_holds_are_on_ar_when_they_are_chosen() {
        let cycles: Vec<u64> = (0..20).collect();
        let both: Vec<(u64, u64)> = cycles.iter().map(|&cycle| (cycle, cycle)).collect();
        assert_eq!(passes(SMALL, &cycles), both);
        assert_eq!(passes(PipelineConfig { before_count: 1, behind_count: 1 }, &cycles), both);
    }

    #[test]
    fn the_arbiter_chooses_until_the_registers_are_full_and_then_a_round_trip_after_each_read() {
        // Five wait; the sixth is chosen two cycles of the hardware after the first has left AR, which is three before its own time.
        let taken = [20, 30, 31, 32, 33, 34, 35, 36];
        let expected = [(0, 20), (1, 30), (2, 31), (3, 32), (4, 33), (25, 34), (35, 35), (36, 36)];
        assert_eq!(passes(SMALL, &taken), expected);
    }

    #[test]
    fn what_waits_of_a_client_that_has_gone_is_nobodys() {
        let mut pipeline = Pipeline::new(Time::ns(1), SMALL);
        for client in [1, 2] {
            let chosen = Chosen { client: Some(client), burst: Burst::default(), counted: 0, cycles: 1 };
            pipeline.choose(chosen, Time::ns(client as u64));
            pipeline.count(Time::ns(client as u64));
        }
        pipeline.forget(1);
        let left: Vec<_> = pipeline.waiting.iter().map(|chosen| chosen.client).collect();
        assert_eq!(left, [None, Some(2)]);
    }
}
