//! The transfers that one side has driven on a channel with a handshake, and when the other side has taken
//! them.

use std::collections::VecDeque;

use vp_core::Time;

/// The ready of a channel over time, as far as it is known.
#[derive(Debug, Clone)]
struct Ready {
    /// Before the first change.
    level: bool,
    changes: VecDeque<(Time, bool)>,
}

impl Ready {
    /// The first edge from `from` on at which it is high; `None`: as far as is known it stays low.
    fn high_from(&self, from: Time) -> Option<Time> {
        let mut level = self.level;
        for &(at, after) in &self.changes {
            if at > from && level {
                break;
            }
            level = after;
            if at > from && level {
                return Some(at);
            }
        }
        level.then_some(from)
    }

    /// Forgets what was before.
    fn forget(&mut self, before: Time) {
        while let Some(&(at, level)) = self.changes.front()
            && at <= before
        {
            self.level = level;
            self.changes.pop_front();
        }
    }
}

/// Transfers on a channel, in order: each is valid from a certain edge on, and taken at the first edge from then on at which
/// ready is high, one an edge.
#[derive(Debug, Clone)]
pub struct Driven {
    period: Time,
    ready: Ready,
    /// For each transfer that is not known to be taken, the time from which it is valid.
    waiting: VecDeque<Time>,
    /// The edge after the one at which the last transfer was taken.
    free: Time,
    /// Number of transfers that were taken.
    taken: u64,
}

impl Driven {
    /// A channel whose ready is high.
    #[must_use]
    pub(crate) fn new(period: Time) -> Driven {
        let ready = Ready { level: true, changes: VecDeque::new() };
        Driven { period, ready, waiting: VecDeque::new(), free: Time::ZERO, taken: 0 }
    }

    /// Drives one more, valid from `at` on.
    pub(crate) fn drive(&mut self, at: Time) {
        self.waiting.push_back(at);
    }

    /// The ready is so from `at` on.
    pub(crate) fn set_ready(&mut self, at: Time, ready: bool) {
        if self.waiting.is_empty() {
            self.ready.forget(at);
        }
        self.ready.changes.push_back((at, ready));
    }

    /// Takes what is taken before `now`, in which it may not be known yet; gives the edges.
    pub(crate) fn settle(&mut self, now: Time) -> impl Iterator<Item = Time> {
        std::iter::from_fn(move || {
            let front = *self.waiting.front()?;
            let edge = self.ready.high_from(front.max(self.free)).filter(|edge| *edge < now)?;
            self.waiting.pop_front();
            self.ready.forget(edge);
            self.free = edge + self.period;
            self.taken += 1;
            Some(edge)
        })
    }

    /// Returns the number of transfers that were taken, as far as it was settled.
    #[must_use]
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the number of transfers that are not known to be taken.
    #[must_use]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Time from which on the channel is free for the next transfer, if ready stays as it is known; [`Time::MAX`] if it is low.
    #[must_use]
    pub(crate) fn free(&self) -> Time {
        let mut free = self.free;
        for at in &self.waiting {
            match self.ready.high_from(free.max(*at)) {
                Some(edge) => free = edge + self.period,
                None => return Time::MAX,
            }
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(driven: &mut Driven, now: u64) -> Vec<u64> {
        driven.settle(Time::ns(now)).map(|edge| edge.cycles(Time::ns(1))).collect()
    }

    #[test]
    fn one_transfer_is_taken_an_edge_while_ready_is_high() {
        let mut driven = Driven::new(Time::ns(1));
        [5, 5, 6, 10].into_iter().for_each(|at| driven.drive(Time::ns(at)));
        assert_eq!(driven.free(), Time::ns(11));
        assert_eq!(edges(&mut driven, 7), [5, 6]);
        assert_eq!(edges(&mut driven, 20), [7, 10]);
        assert_eq!((driven.taken(), driven.waiting()), (4, 0));
    }

    #[test]
    fn transfers_wait_while_ready_is_low() {
        let mut driven = Driven::new(Time::ns(1));
        driven.set_ready(Time::ns(4), false);
        [3, 4, 4].into_iter().for_each(|at| driven.drive(Time::ns(at)));
        assert_eq!(driven.free(), Time::MAX);
        assert_eq!(edges(&mut driven, 9), [3]);
        driven.set_ready(Time::ns(9), true);
        driven.set_ready(Time::ns(10), false);
        assert_eq!(edges(&mut driven, 20), [9]);
        driven.set_ready(Time::ns(21), true);
        assert_eq!(driven.free(), Time::ns(22));
        assert_eq!(edges(&mut driven, 30), [21]);
    }
}
