//! The transactions of one direction in flight, and when there is room for another.

use crate::checkpoint::{Checkpoint, CheckpointError};
use vp_core::Time;

/// Times from which on the places of the last so many can be used again, in order.
struct Places {
    /// As many as a power of two. Those that nothing ever took can be used from the start.
    last: Vec<Time>,
    /// Number of entries so far.
    count: usize,
}

impl Places {
    fn new(most: usize) -> Places {
        Places { last: vec![Time::ZERO; most.max(1).next_power_of_two()], count: 0 }
    }

    #[inline]
    fn push(&mut self, free: Time) {
        let place = self.count & (self.last.len() - 1);
        self.last[place] = free;
        self.count = self.count.wrapping_add(1);
    }

    /// Time from which on the place of the last but so many can be used; 1 is the last.
    #[inline]
    fn back(&self, from_back: usize) -> Time {
        self.last[self.count.wrapping_sub(from_back) & (self.last.len() - 1)]
    }

    /// Keeps so many from now on.
    fn keep(&mut self, most: usize) {
        if most > self.last.len() {
            let mut more = Places::new(most);
            (1..=self.last.len()).rev().for_each(|from_back| more.push(self.back(from_back)));
            *self = more;
        }
    }
}

/// Transactions, of which so many have a place at the same time.
pub(super) struct Outstanding {
    /// Time from a transaction's end until another one can use its place.
    lag: Time,
    most: usize,
    places: Places,
    /// The number of transactions whose end is not known yet.
    open: usize,
}

impl Outstanding {
    pub(super) fn new(lag: Time, most: u32) -> Outstanding {
        let most = most.max(1) as usize;
        Outstanding { lag, most, places: Places::new(most), open: 0 }
    }

    /// Adds one whose end is not known yet.
    pub(super) fn add_open(&mut self) {
        self.open += 1;
    }

    /// Notes when one whose end was not known is over; the ends come in order.
    #[inline]
    pub(super) fn close(&mut self, end: Time) {
        self.open -= 1;
        self.places.push(end + self.lag);
    }

    /// Returns true if nothing is in flight.
    pub(super) fn is_empty(&self, now: Time) -> bool {
        self.open == 0 && self.places.back(1) <= now + self.lag
    }

    /// Time from which on there is room. [`Time::MAX`] if that is not known yet.
    #[inline]
    pub(super) fn room(&self) -> Time {
        match self.most.checked_sub(self.open) {
            None | Some(0) => Time::MAX,
            Some(before) => self.places.back(before),
        }
    }
}

/// The device's own count of beats under way: of reads until they are on R, of writes until their response is on B.
pub(super) struct CountLimit {
    /// Time from a beat or a response on the bus to the first address that may use its place: it is registered, counted, and the
    /// address goes out (RTL, `NV_NVDLA_MCIF_READ_IG_cvt.v` and `_WRITE_IG_cvt.v`, `os_cnt`).
    lag: Time,
    period: Time,
    limit: Option<u32>,
    places: Places,
    /// The number of those whose end is not known yet.
    open: usize,
}

impl CountLimit {
    /// Without a limit, for bursts of at most so many beats.
    pub(super) fn new(period: Time, burst_beats: u32) -> CountLimit {
        let places = Places::new(burst_beats as usize);
        CountLimit { lag: period * 3, period, limit: None, places, open: 0 }
    }

    pub(super) fn set_limit(&mut self, limit: u32) {
        self.limit = Some(limit.max(1));
        self.places.keep(limit as usize);
    }

    /// Adds a burst whose times on the bus are not known yet.
    pub(super) fn add_open(&mut self, beats: u32) {
        self.open += beats as usize;
    }

    /// Notes of a burst whose times were not known that its first and last beats are on the bus at these.
    #[inline]
    pub(super) fn close(&mut self, beats: u32, first: Time, last: Time) {
        self.open -= beats as usize;
        if self.limit.is_none() {
            return;
        }
        self.places.push(first + self.lag);
        if beats > 1 {
            // Should they have to wait in between, all but the first are late.
            let held = last - first - self.period * u64::from(beats - 1);
            let mut free = first + held + self.lag;
            for _ in 1..beats {
                free += self.period;
                self.places.push(free);
            }
        }
    }

    /// Notes of a burst whose times were not known that all its beats end at once.
    pub(super) fn close_at(&mut self, beats: u32, end: Time) {
        (0..beats).for_each(|_| self.close(1, end, end));
    }

    /// Time from which on there is room for a burst. [`Time::MAX`] if that is not known yet, or if it has more beats than the limit (RTL,
    /// `NV_NVDLA_CVIF_*_IG_cvt.v`, os_cnt_full).
    #[inline]
    pub(super) fn room(&self, beats: u32) -> Time {
        let Some(limit) = self.limit else { return Time::ZERO };
        match (limit as usize + 1).checked_sub(self.open + beats as usize) {
            None | Some(0) => Time::MAX,
            Some(before) => self.places.back(before),
        }
    }
}

impl Outstanding {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // Times are past.
        let Outstanding { lag: _, most: _, places: _, open } = self;
        at.at_rest(*open == 0, "transactions are in flight")
    }
}

impl CountLimit {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let CountLimit { lag: _, period: _, limit: _, places: _, open } = self;
        at.at_rest(*open == 0, "transactions are in flight")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_the_cycle_after_one_of_the_most_is_over() {
        let mut outstanding = Outstanding::new(Time::ns(1), 2);
        let add = |outstanding: &mut Outstanding, end| {
            outstanding.add_open();
            outstanding.close(end);
        };
        assert_eq!(outstanding.room(), Time::ZERO);
        add(&mut outstanding, Time::ns(9));
        assert_eq!(outstanding.room(), Time::ZERO);
        add(&mut outstanding, Time::ns(11));
        assert_eq!(outstanding.room(), Time::ns(10));
        add(&mut outstanding, Time::ns(20));
        assert_eq!(outstanding.room(), Time::ns(12));
        assert_eq!([Time::ns(19), Time::ns(20)].map(|now| outstanding.is_empty(now)), [false, true]);
    }

    #[test]
    fn beats_have_room_three_cycles_after_as_many_were_on_the_bus() {
        let mut beats = CountLimit::new(Time::ns(1), 8);
        beats.set_limit(4);
        beats.add_open(4);
        beats.close(4, Time::ns(10), Time::ns(13));
        assert_eq!([1, 2, 4].map(|count| beats.room(count)), [13, 14, 16].map(Time::ns));
        // More than there is ever room for.
        assert_eq!(beats.room(8), Time::MAX);
    }
}
