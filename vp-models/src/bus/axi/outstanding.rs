//! How many transactions of one direction are in flight, and when there is room for another.

use super::ring::Ring;
use vp_core::Time;

pub(super) struct Outstanding {
    period: Time,
    most: u32,
    limit: u32,
    /// When each is over, in order; those that are over go when another is added.
    ends: Ring<Time>,
    /// How many there are of which that is not known yet.
    open: usize,
}

impl Outstanding {
    pub(super) fn new(period: Time, most: u32) -> Outstanding {
        let most = most.max(1);
        Outstanding { period, most, limit: most, ends: Ring::default(), open: 0 }
    }

    /// Sets a limit below the one given at the start.
    pub(super) fn set_limit(&mut self, limit: u32) {
        self.limit = limit.clamp(1, self.most);
    }

    /// Adds one that begins now and will be over at `end`; the ends come in order.
    #[inline]
    pub(super) fn add(&mut self, now: Time, end: Time) {
        while self.ends.front().is_some_and(|end| end + self.period <= now) {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }

    /// Adds one of which it is not known when it will be over.
    pub(super) fn add_open(&mut self) {
        self.open += 1;
    }

    /// Now it is known of one.
    pub(super) fn close(&mut self, now: Time, end: Time) {
        self.open -= 1;
        self.add(now, end);
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self, now: Time) -> bool {
        self.open == 0 && self.ends.back().is_none_or(|end| end <= now)
    }

    /// From when on there is room: the cycle after one is over (`arready` and `awready` are registered). [`Time::MAX`] if
    /// that is not known yet.
    #[inline]
    pub(super) fn room(&self) -> Time {
        match (self.ends.len() + self.open).checked_sub(self.limit as usize) {
            None => Time::ZERO,
            Some(last) => self.ends.get(last).map_or(Time::MAX, |end| end + self.period),
        }
    }
}

/// How many beats of reads the device has asked for and not seen come.
pub(super) struct Beats {
    /// From a beat's being on the bus to the first address that may use its place: it is registered, counted, and
    /// the address goes out (RTL, `NV_NVDLA_MCIF_READ_IG_cvt.v`, `os_cnt`).
    lag: Time,
    period: Time,
    limit: u32,
    /// When each is on the bus, in order; those that were go when others are added.
    ends: Ring<Time>,
    /// How many there are of which that is not known yet.
    open: usize,
}

impl Beats {
    pub(super) fn new(period: Time) -> Beats {
        Beats { lag: period * 3, period, limit: u32::MAX, ends: Ring::default(), open: 0 }
    }

    pub(super) fn set_limit(&mut self, limit: u32) {
        self.limit = limit.max(1);
    }

    /// Adds the beats of a burst that is asked for now, of which the first and the last are on the bus then.
    #[inline]
    pub(super) fn add(&mut self, now: Time, beats: u32, first: Time, last: Time) {
        while self.ends.front().is_some_and(|end| end + self.lag <= now) {
            self.ends.pop_front();
        }
        self.ends.push_back(first);
        if beats > 1 {
            // Should they have to wait in between, all but the first are late.
            let held = last - first - self.period * u64::from(beats - 1);
            let mut end = first + held;
            for _ in 1..beats {
                end += self.period;
                self.ends.push_back(end);
            }
        }
    }

    /// Adds the beats of a burst of which it is not known when they will be on the bus.
    pub(super) fn add_open(&mut self, beats: u32) {
        self.open += beats as usize;
    }

    /// Now it is known of a burst.
    pub(super) fn close(&mut self, now: Time, beats: u32, first: Time, last: Time) {
        self.open -= beats as usize;
        self.add(now, beats, first, last);
    }

    /// From when on there is room for a burst; one that is larger than the limit may pass alone. [`Time::MAX`] if that is
    /// not known yet.
    #[inline]
    pub(super) fn room(&self, beats: u32) -> Time {
        let limit = self.limit.max(beats) as usize;
        match (self.ends.len() + self.open + beats as usize).checked_sub(limit + 1) {
            None => Time::ZERO,
            Some(last) => self.ends.get(last).map_or(Time::MAX, |end| end + self.lag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_the_cycle_after_one_of_the_most_is_over() {
        let mut outstanding = Outstanding::new(Time::ns(1), 2);
        assert_eq!(outstanding.room(), Time::ZERO);
        outstanding.add(Time::ZERO, Time::ns(9));
        assert_eq!(outstanding.room(), Time::ZERO);
        outstanding.add(Time::ns(1), Time::ns(11));
        assert_eq!(outstanding.room(), Time::ns(10));
        outstanding.add(Time::ns(10), Time::ns(20));
        assert_eq!(outstanding.room(), Time::ns(12));
        outstanding.set_limit(1);
        assert_eq!(outstanding.room(), Time::ns(21));
        assert_eq!([Time::ns(19), Time::ns(20)].map(|now| outstanding.is_empty(now)), [false, true]);
    }

    #[test]
    fn beats_have_room_three_cycles_after_as_many_were_on_the_bus() {
        let mut beats = Beats::new(Time::ns(1));
        beats.set_limit(4);
        beats.add(Time::ZERO, 4, Time::ns(10), Time::ns(13));
        assert_eq!([1, 2, 4].map(|count| beats.room(count)), [13, 14, 16].map(Time::ns));
        // More than there is ever room for passes alone.
        assert_eq!(beats.room(8), Time::ns(16));
    }
}
