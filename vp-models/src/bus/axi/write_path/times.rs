//! The times at which the last items and bursts of a client got to a place on its way to the arbiter.
//!
//! [`Time::MAX`] stands for a time that is not known.

use vp_core::Time;

/// Items in front of all others, which have gone through: so many are looked back to.
pub(super) const PAST: usize = 2;

/// The times at which the last items have entered a register, by number of the item.
#[derive(Clone, Copy)]
pub(super) struct EntryTimes {
    times: [Time; 4],
    pub(super) count: usize,
}

impl EntryTimes {
    /// With the items that are past, the last of which has gone through at `time`.
    pub(super) fn new(time: Time) -> EntryTimes {
        EntryTimes { times: [Time::ZERO, time, Time::ZERO, Time::ZERO], count: PAST }
    }

    #[inline]
    pub(super) fn push(&mut self, time: Time) {
        self.times[self.count % 4] = time;
        self.count += 1;
    }

    /// Has items enter a register of so many places from the one in front, as those before them leave it for the one behind; returns true if one
    /// does. A register of one place passes its item on in the cycle in which it takes the next.
    #[inline]
    pub(super) fn pass(
        &mut self,
        front: &EntryTimes,
        behind: &EntryTimes,
        places: u32,
        period: Time,
    ) -> bool {
        let before = self.count;
        while self.count < front.count {
            let item = self.count;
            let left = behind.at(item - places as usize);
            if left == Time::MAX {
                break;
            }
            let room = left + period * u64::from(places);
            self.push(front.at(item).max(self.at(item - 1) + period).max(room));
        }
        self.count > before
    }

    /// Returns the time of an item, which is one of the last; [`Time::MAX`] if it is not known.
    #[inline]
    pub(super) fn at(&self, item: usize) -> Time {
        if item < self.count { self.times[item % 4] } else { Time::MAX }
    }
}

/// The times of the last so many bursts, by number.
#[derive(Clone)]
pub(super) struct BurstTimes<const N: usize> {
    times: [Time; N],
    pub(super) count: usize,
}

impl<const N: usize> BurstTimes<N> {
    pub(super) const NONE: BurstTimes<N> = BurstTimes { times: [Time::ZERO; N], count: 0 };

    pub(super) fn push(&mut self, time: Time) {
        self.times[self.count % N] = time;
        self.count += 1;
    }

    /// Returns the time of the burst that many before number `of`; [`Time::ZERO`] if there is none, [`Time::MAX`] if it is not known.
    pub(super) fn before(&self, of: usize, by: u32) -> Time {
        match of.checked_sub(by as usize) {
            None => Time::ZERO,
            Some(number) if number >= self.count => Time::MAX,
            Some(number) => self.times[number % N],
        }
    }
}
