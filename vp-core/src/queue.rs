//! The timed queue: future events, ordered by time and, within one time, by insertion.
//!
//! The queue has two parts. The *near* entries are in one short sorted list, and the next entry is taken from
//! its end. Later entries are in a wheel of eight levels with 256 slots each. An entry is on the level of the
//! highest 8-bit digit in which its time differs from the cursor, in the slot that this digit names. So the
//! earliest entry is in the first slot of the lowest occupied level. When the near list is empty, that slot is
//! emptied: it is sorted into the near list if it holds few entries, and spread over the levels below if it
//! holds many. So an entry is moved two or three times, however many others wait, and a queue of a few entries
//! is the sorted list alone.
//!
//! A slot is a list in one piece of memory, in order of insertion, so taking it is friendly to the cache. A
//! removed entry stays in place and is skipped.

use rustc_hash::FxHashSet;
use std::ops::Range;

const BITS: u32 = 8;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 64 / BITS as usize;
const WORDS: usize = SLOTS / 64;

/// Entries that a slot may have to be sorted instead of spread.
const FEW: usize = 32;
/// Entries that the near list may grow to; then inserting in the middle costs more than the wheel.
const NEAR: usize = 2 * FEW;
/// Room a slot keeps when it is emptied; more is given back, lest many slots keep much.
const KEPT: usize = 32;

/// Names an entry until it is due or removed; the owner forgets it then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry(u32);

impl Entry {
    /// Names none.
    pub(crate) const NONE: Entry = Entry(u32::MAX);
}

#[derive(Clone, Copy)]
struct Item<T> {
    time: u64,
    entry: u32,
    target: T,
}

/// Set of the slots of a level that hold something.
#[derive(Clone, Copy, Default)]
struct Occupied([u64; WORDS]);

impl Occupied {
    fn set(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    fn clear(&mut self, slot: usize) {
        self.0[slot / 64] &= !(1 << (slot % 64));
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    fn first(&self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(word * 64 + self.0[word].trailing_zeros() as usize)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(word * 64 + bit)
            })
        })
    }
}

/// The numbers of entries: which come next, and which name what was removed and still lies somewhere.
struct Numbers {
    /// Nothing that lies in the queue has one of these.
    fresh: Range<u32>,
    removed: FxHashSet<u32>,
}

impl Numbers {
    /// Returns true if an entry is still wanted, as its item leaves the queue.
    #[inline(always)]
    fn take(&mut self, entry: u32) -> bool {
        // Mostly nothing was removed at all, and then it need not be looked up.
        self.removed.is_empty() || self.take_among_removed(entry)
    }

    #[inline(never)]
    fn take_among_removed(&mut self, entry: u32) -> bool {
        !self.removed.remove(&entry)
    }

    #[inline]
    fn is_wanted(&self, entry: u32) -> bool {
        self.removed.is_empty() || !self.removed.contains(&entry)
    }
}

pub(crate) struct TimedQueue<T> {
    /// Nothing earlier is in the queue or will come into it. It moves on only into what is near, or with a
    /// slot that it empties: so a place in the wheel, once found from it, never goes stale.
    cursor: u64,
    /// Time up to which items are near.
    near_until: u64,
    /// In falling order of time; among equal ones, of insertion.
    near: Vec<Item<T>>,
    levels: u8,
    occupied: [Occupied; LEVELS],
    /// Of the levels that were used, and those below them.
    slots: Vec<Vec<Item<T>>>,
    /// Number of items that the slots hold.
    far: usize,
    numbers: Numbers,
    /// A slot that is being spread, kept for its room.
    spread: Vec<Item<T>>,
}

impl<T: Copy> Default for TimedQueue<T> {
    fn default() -> TimedQueue<T> {
        TimedQueue::new()
    }
}

impl<T: Copy> TimedQueue<T> {
    pub(crate) fn new() -> TimedQueue<T> {
        TimedQueue {
            cursor: 0,
            near_until: 0,
            near: Vec::with_capacity(NEAR + 1),
            levels: 0,
            occupied: Default::default(),
            slots: Vec::new(),
            far: 0,
            numbers: Numbers { fresh: 0..Entry::NONE.0, removed: FxHashSet::default() },
            spread: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.far - self.numbers.removed.len()
    }

    /// A number for an entry.
    #[inline(always)]
    fn number(&mut self) -> u32 {
        if self.numbers.fresh.start >= self.numbers.fresh.end {
            self.renew_numbers();
        }
        let number = self.numbers.fresh.start;
        self.numbers.fresh.start += 1;
        number
    }

    /// Finds the longest range of unused entry numbers, after all 2^32 have been given out once.
    #[cold]
    fn renew_numbers(&mut self) {
        let items = self.near.iter().chain(self.slots.iter().flatten());
        let mut used: Vec<u32> = items.map(|item| item.entry).chain([Entry::NONE.0]).collect();
        used.sort_unstable();
        let mut from = 0;
        for number in used {
            if number - from > self.numbers.fresh.len() as u32 {
                self.numbers.fresh = from..number;
            }
            from = number.saturating_add(1);
        }
    }

    /// Adds an entry; `time` must not lie before the last one taken.
    #[inline]
    pub(crate) fn insert(&mut self, time: u64, target: T) -> Entry {
        debug_assert!(time >= self.cursor, "an entry in the past");
        // The common case calls nothing, so that callers have nothing to save. Each way makes the item where it
        // puts it: made here and copied, it would be read back before the writes of its parts are through.
        let fresh = &mut self.numbers.fresh;
        if self.near.is_empty() && self.near.capacity() > 0 && self.levels == 0 && fresh.start < fresh.end {
            let entry = fresh.start;
            fresh.start += 1;
            self.near_until = u64::MAX;
            self.near.push(Item { time, entry, target });
            Entry(entry)
        } else {
            self.insert_among(time, target)
        }
    }

    /// Takes out an entry that is not due yet, and has not been removed.
    #[inline(never)]
    pub(crate) fn remove(&mut self, entry: Entry) {
        if entry == Entry::NONE {
            return;
        }
        self.numbers.removed.insert(entry.0);
        if self.numbers.removed.len() > self.len() + 1024 {
            self.sweep();
        }
    }

    /// Takes the earliest entry, of equal ones the first inserted, if it is not after `limit`.
    #[inline]
    pub(crate) fn pop(&mut self, limit: u64) -> Option<(u64, T)> {
        loop {
            let Some(&Item { time, entry, target }) = self.near.last() else {
                if self.levels == 0 || !self.fetch(limit) {
                    return None;
                }
                continue;
            };
            if time > limit {
                return None;
            }
            self.near.pop();
            if self.numbers.take(entry) {
                self.cursor = time;
                return Some((time, target));
            }
        }
    }

    /// Takes the next entry of a time from which one was just taken: all entries of that time are near.
    #[inline]
    pub(crate) fn pop_another(&mut self, time: u64) -> Option<T> {
        loop {
            let &Item { time: next, entry, target } = self.near.last()?;
            if next != time {
                return None;
            }
            self.near.pop();
            if self.numbers.take(entry) {
                return Some(target);
            }
        }
    }

    /// Returns true if there may be another entry of a time from which one was just taken.
    #[inline(always)]
    pub(crate) fn may_have_another(&self, time: u64) -> bool {
        self.near.last().is_some_and(|item| item.time == time)
    }

    #[inline(always)]
    pub(crate) fn has_none_near(&self) -> bool {
        self.near.is_empty()
    }

    /// Returns what is due after `n` others, if it is near.
    #[inline(always)]
    pub(crate) fn ahead(&self, n: usize) -> Option<T> {
        let at = self.near.len().checked_sub(n + 1)?;
        self.near.get(at).map(|item| item.target)
    }

    /// Empties the first slot of the wheel, if it holds anything not after `limit`. Few entries all go into the
    /// near list. Of many, the earliest go there, and the rest to lower levels.
    #[inline(never)]
    fn fetch(&mut self, limit: u64) -> bool {
        let Some((level, slot)) = self.first() else { return false };
        let at = level * SLOTS + slot;
        let Some(time) = self.earliest_in(at) else {
            self.discard(level, slot);
            return true;
        };
        if time > limit {
            return false;
        }
        self.cursor = time;
        let mut spread = std::mem::take(&mut self.spread);
        std::mem::swap(&mut spread, &mut self.slots[at]);
        self.far -= spread.len();
        self.clear(level, slot);
        // Into the near list the latest insertion goes first: sorting is stable, and it is taken from the end.
        if spread.len() <= FEW {
            // All that the digits below this level can say is near now.
            self.near_until = time | ((1 << (level as u32 * BITS)) - 1);
            self.near.extend(spread.iter().rev());
            self.near.sort_by_key(|item| std::cmp::Reverse(item.time));
        } else {
            self.near_until = time;
            self.near.extend(spread.iter().rev().filter(|item| item.time == time));
            // Everything else here is nearer to the cursor now, so on a lower level; in order, so ties stay in
            // order.
            for &Item { time, entry, target } in spread.iter().filter(|item| item.time != time) {
                if self.numbers.take(entry) {
                    self.put(time, entry, target);
                }
            }
        }
        spread.clear();
        self.spread = spread;
        true
    }

    /// The earliest time, if there is an entry.
    pub(crate) fn earliest(&self) -> Option<u64> {
        if let Some(item) = self.near.iter().rfind(|item| self.numbers.is_wanted(item.entry)) {
            return Some(item.time);
        }
        let levels = (0..LEVELS).filter(|level| self.levels >> level & 1 == 1);
        let slots =
            levels.flat_map(|level| self.occupied[level].iter().map(move |slot| level * SLOTS + slot));
        slots.into_iter().find_map(|at| self.earliest_in(at))
    }

    /// Returns true if there is no entry up to and including `time`.
    #[inline]
    pub(crate) fn is_empty_until(&self, time: u64) -> bool {
        match self.near.last() {
            Some(item) if item.time > time => true,
            Some(item) if self.numbers.is_wanted(item.entry) => false,
            None if self.levels == 0 || time <= self.near_until || time < self.first_slot() => true,
            _ => self.earliest().is_none_or(|next| next > time),
        }
    }

    /// A time up to and including which there is no entry: not always the latest, but quick to tell.
    #[inline]
    pub(crate) fn empty_until(&self) -> u64 {
        let next = match self.near.last() {
            Some(item) => item.time,
            None if self.levels == 0 => return u64::MAX,
            None => self.first_slot().max(self.near_until.saturating_add(1)),
        };
        next.saturating_sub(1)
    }

    /// The first time that belongs to the first slot of the wheel that holds something.
    #[inline]
    fn first_slot(&self) -> u64 {
        let Some((level, slot)) = self.first() else { return u64::MAX };
        let bits = level as u32 * BITS;
        (self.cursor >> bits >> BITS << BITS | slot as u64) << bits
    }

    #[inline(never)]
    fn insert_among(&mut self, time: u64, target: T) -> Entry {
        let entry = self.number();
        if time <= self.near_until && self.near.len() >= NEAR {
            self.spill();
        }
        if self.near.is_empty() && self.levels == 0 {
            self.near_until = u64::MAX;
        }
        if time > self.near_until {
            self.put(time, entry, target);
        } else {
            let at = self.near.partition_point(|later| later.time > time);
            self.near.insert(at, Item { time, entry, target });
        }
        Entry(entry)
    }

    /// The near list has outgrown itself: what is later than the cursor goes to the wheel, in order.
    #[cold]
    fn spill(&mut self) {
        self.near_until = self.cursor;
        let mut near = std::mem::take(&mut self.near);
        let later = near.partition_point(|item| item.time > self.cursor);
        for Item { time, entry, target } in near.drain(..later).rev() {
            self.put(time, entry, target);
        }
        self.near = near;
    }

    #[inline]
    fn first(&self) -> Option<(usize, usize)> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        Some((level, self.occupied[level].first()?))
    }

    fn earliest_in(&self, at: usize) -> Option<u64> {
        let wanted = |item: &&Item<T>| self.numbers.is_wanted(item.entry);
        self.slots[at].iter().filter(wanted).map(|item| item.time).min()
    }

    /// Level and slot of a time, seen from the cursor.
    #[inline]
    fn place(&self, time: u64) -> (usize, usize) {
        let level = (63 - ((time ^ self.cursor) | 1).leading_zeros()) / BITS;
        (level as usize, (time >> (level * BITS)) as usize & (SLOTS - 1))
    }

    #[inline]
    fn put(&mut self, time: u64, entry: u32, target: T) {
        let (level, slot) = self.place(time);
        self.levels |= 1 << level;
        self.occupied[level].set(slot);
        if self.slots.len() <= level * SLOTS {
            self.slots.resize_with((level + 1) * SLOTS, Vec::new);
        }
        self.slots[level * SLOTS + slot].push(Item { time, entry, target });
        self.far += 1;
    }

    #[inline]
    fn clear(&mut self, level: usize, slot: usize) {
        let list = &mut self.slots[level * SLOTS + slot];
        if list.capacity() > KEPT && list.is_empty() {
            list.shrink_to(KEPT);
        }
        self.occupied[level].clear(slot);
        if self.occupied[level].is_empty() {
            self.levels &= !(1 << level);
        }
    }

    /// Empties a slot in which nothing is wanted any more.
    fn discard(&mut self, level: usize, slot: usize) {
        for item in std::mem::take(&mut self.slots[level * SLOTS + slot]) {
            self.numbers.take(item.entry);
            self.far -= 1;
        }
        self.clear(level, slot);
    }

    /// Takes out what was removed, where that is more than what is left.
    #[cold]
    fn sweep(&mut self) {
        let TimedQueue { slots, near, numbers, .. } = self;
        near.retain(|item| numbers.take(item.entry));
        slots.iter_mut().for_each(|slot| slot.retain(|item| numbers.take(item.entry)));
        self.far = self.slots.iter().map(Vec::len).sum();
        for at in 0..self.slots.len() {
            if self.slots[at].is_empty() {
                self.clear(at / SLOTS, at % SLOTS);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum QueueAction {
        Insert(u64),
        /// As many, from one time on, so far apart.
        InsertMany(usize, u64, u64),
        Remove(usize),
        /// As many, so far apart in the order of insertion.
        RemoveMany(usize, usize),
        /// The time that is due next, if it is not after the limit.
        Take(u64),
        /// As many.
        TakeMany(usize),
        /// Nothing was due, and time was granted all the same.
        Advance(u64),
    }

    /// The latest limit that a run has: what is due at the end of time is never taken.
    const LAST: u64 = u64::MAX - 1;

    /// Close by, within a slot of some level, on its border, or far.
    fn delay() -> impl Strategy<Value = u64> {
        let border = (0u32..8, 1u64..4, 0u64..4)
            .prop_map(|(level, digit, off)| ((digit << (level * BITS)) + off).saturating_sub(2).max(1));
        prop_oneof![
            3 => 1u64..4,
            3 => 1u64..2_000,
            2 => border,
            2 => 1u64..1 << 40,
            1 => Just(u64::MAX >> 1),
            1 => Just(u64::MAX),
        ]
    }

    fn step() -> impl Strategy<Value = QueueAction> {
        let apart = prop_oneof![Just(0u64), 0u64..3, 0u64..300, 0u64..1 << 33];
        prop_oneof![
            6 => delay().prop_map(QueueAction::Insert),
            2 => (1usize..3 * NEAR, delay(), apart).prop_map(|(n, from, apart)| QueueAction::InsertMany(n, from, apart)),
            2 => any::<usize>().prop_map(QueueAction::Remove),
            1 => (1usize..NEAR, 1usize..4).prop_map(|(n, apart)| QueueAction::RemoveMany(n, apart)),
            4 => prop_oneof![0u64..3_000, delay(), Just(u64::MAX)].prop_map(QueueAction::Take),
            2 => (1usize..NEAR).prop_map(QueueAction::TakeMany),
            1 => delay().prop_map(QueueAction::Advance),
        ]
    }

    /// The obvious reference: a list in order of insertion, searched whenever one looks.
    #[derive(Default)]
    struct Pair {
        queue: TimedQueue<u32>,
        reference: Vec<(u64, u32, Entry)>,
        now: u64,
        next: u32,
    }

    impl Pair {
        fn insert(&mut self, delay: u64) {
            let time = self.now.saturating_add(delay);
            self.reference.push((time, self.next, self.queue.insert(time, self.next)));
            self.next += 1;
        }

        fn remove(&mut self, which: usize) {
            if !self.reference.is_empty() {
                let (_, _, entry) = self.reference.remove(which % self.reference.len());
                self.queue.remove(entry);
            }
        }

        fn earliest(&self) -> Option<u64> {
            self.reference.iter().map(|entry| entry.0).min()
        }

        /// Takes all of the next time; some of them are removed while that goes on, as an armed method's
        /// time-out is when its event comes at the same time.
        fn take(&mut self, limit: u64) -> Result<(), TestCaseError> {
            let first = self.queue.pop(limit);
            prop_assert_eq!(first.map(|(time, _)| time), self.earliest().filter(|&time| time <= limit));
            let Some((time, target)) = first else { return Ok(()) };
            self.now = time;
            let mut due = Some(target);
            while let Some(target) = due {
                let expected = self.reference.iter().position(|entry| entry.0 == time);
                prop_assert_eq!(Some(target), expected.map(|at| self.reference[at].1));
                self.reference.remove(expected.unwrap_or(0));
                if target % 7 == 0
                    && let Some(at) = self.reference.iter().rposition(|entry| entry.0 == time)
                {
                    self.remove(at);
                }
                due = self.queue.pop_another(time);
            }
            prop_assert!(self.earliest() != Some(time), "one was left behind");
            Ok(())
        }

        /// Checks what the parts say of themselves.
        fn check(&self) -> Result<(), TestCaseError> {
            let queue = &self.queue;
            prop_assert_eq!(queue.len(), self.reference.len());
            prop_assert_eq!(queue.far, queue.slots.iter().map(Vec::len).sum::<usize>());
            prop_assert_eq!(queue.earliest(), self.earliest());
            let next = self.earliest().unwrap_or(u64::MAX);
            for time in [self.now, next.saturating_sub(1), next, next.saturating_add(1), next / 2] {
                prop_assert_eq!(queue.is_empty_until(time), self.earliest().is_none_or(|next| next > time));
            }
            prop_assert!(self.earliest().is_none_or(|next| queue.empty_until() < next || next == 0));
            prop_assert!(queue.cursor <= self.now);
            prop_assert!(queue.near.windows(2).all(|two| two[0].time >= two[1].time));
            prop_assert!(queue.near.iter().all(|item| item.time <= queue.near_until));
            for (at, slot) in queue.slots.iter().enumerate() {
                let (level, place) = (at / SLOTS, at % SLOTS);
                let said = queue.occupied[level].0[place / 64] >> (place % 64) & 1 != 0;
                prop_assert_eq!(said, !slot.is_empty());
                // Where it lies is where it would be put now: places do not go stale.
                prop_assert!(slot.iter().all(|item| queue.place(item.time) == (level, place)));
                let has_near = !queue.near.is_empty();
                prop_assert!(!has_near || slot.iter().all(|item| item.time > queue.near_until));
            }
            for level in 0..LEVELS {
                prop_assert_eq!(queue.levels >> level & 1 == 0, queue.occupied[level].is_empty());
            }
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn gives_entries_in_order_of_time_then_insertion(steps in prop::collection::vec(step(), 1..100)) {
            let mut pair = Pair::default();
            for step in steps {
                match step {
                    QueueAction::Insert(delay) => pair.insert(delay),
                    QueueAction::InsertMany(n, from, apart) => {
                        (0..n as u64).for_each(|i| pair.insert(from.saturating_add(i * apart)));
                    }
                    QueueAction::Remove(which) => pair.remove(which),
                    QueueAction::RemoveMany(n, apart) => (0..n).for_each(|i| pair.remove(i * apart)),
                    QueueAction::Take(ahead) => pair.take(pair.now.saturating_add(ahead).min(LAST))?,
                    QueueAction::TakeMany(n) => (0..n).try_for_each(|_| pair.take(LAST))?,
                    QueueAction::Advance(delay) => {
                        // As a run up to a limit does: takes all before it, and stands there then.
                        let limit = pair.now.saturating_add(delay).min(LAST);
                        while pair.earliest().is_some_and(|time| time <= limit) {
                            pair.take(limit)?;
                        }
                        pair.take(limit)?;
                        pair.now = limit;
                    }
                }
                pair.check()?;
            }
        }
    }

    /// Numbers come again, but not those of what still lies in the queue.
    #[test]
    fn numbers_are_renewed_around_those_in_use() {
        let mut pair = Pair::default();
        let starts = [5u32, 2_000_000_000, 3_000_000_000, u32::MAX - 3];
        for start in starts {
            pair.queue.numbers.fresh = start..u32::MAX;
            pair.insert(u64::from(start));
        }
        pair.queue.numbers.fresh = 0..0;
        pair.insert(77);
        // Longest is what lies before the second.
        assert_eq!(pair.queue.numbers.fresh, 7..2_000_000_000);
        pair.remove(2);
        pair.queue.numbers.fresh = 9..9;
        pair.insert(9);
        while pair.earliest().is_some() {
            pair.check().expect("whole");
            pair.take(u64::MAX).expect("in order");
        }
        assert_eq!((pair.queue.len(), pair.queue.numbers.removed.len()), (0, 0));
    }

    /// Removing more than is left has the queue swept, wherever the entries lie.
    #[test]
    fn what_was_removed_is_swept_out_in_time() {
        let mut pair = Pair::default();
        for round in 0..3u64 {
            (0..3_000).for_each(|i| pair.insert(1 + (i * 7_919) % (1 << (8 + 8 * round))));
            (0..2_900).for_each(|_| pair.remove(pair.reference.len() / 2));
            pair.check().expect("whole after sweeping");
            let held: usize = pair.queue.near.len() + pair.queue.slots.iter().map(Vec::len).sum::<usize>();
            assert!(held <= 2 * pair.queue.len() + 1024, "{held} are held for {}", pair.queue.len());
            for _ in 0..50 {
                pair.take(u64::MAX).expect("in order");
            }
        }
        while pair.earliest().is_some() {
            pair.take(u64::MAX).expect("in order");
        }
        assert_eq!((pair.queue.len(), pair.queue.numbers.removed.len()), (0, 0));
    }
}
