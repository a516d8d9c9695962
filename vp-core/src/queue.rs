//! The timed queue: what happens later, ordered by time and, within one time, by insertion.
//!
//! A wheel of eleven levels with 64 slots each. An entry lies on the level of the highest 6-bit digit in
//! which its time differs from the cursor, in the slot that digit names; so the earliest entry is in the
//! first slot of the lowest occupied level, found by two bit scans. An entry moves down at most once a
//! level, which keeps the cost of an entry independent of how many others wait.
//!
//! A slot is a list in one piece of memory, in order of insertion: taking one touches neighbours, not
//! places all over. An entry that is removed stays where it lies and is passed over.

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 11;

/// Names an entry until it is due or removed; the owner forgets it then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry(u32);

#[derive(Clone, Copy)]
struct Item<T> {
    time: u64,
    entry: u32,
    target: T,
}

pub(crate) struct TimedQueue<T> {
    /// The time of the last entry taken; nothing earlier is in the queue.
    cursor: u64,
    levels: u16,
    occupied: [u64; LEVELS],
    slots: Box<[Vec<Item<T>>]>,
    /// Which entries are still wanted, and the numbers of those that are none.
    wanted: Vec<bool>,
    free: Vec<u32>,
    len: usize,
    /// Entries that were removed and still lie somewhere.
    removed: usize,
    /// A slot that is being spread, kept for its room.
    spread: Vec<Item<T>>,
}

/// Room a slot keeps when it is emptied; more is given back, lest many slots keep much.
const KEPT: usize = 64;

impl<T: Copy> Default for TimedQueue<T> {
    fn default() -> TimedQueue<T> {
        TimedQueue::new()
    }
}

impl<T: Copy> TimedQueue<T> {
    pub(crate) fn new() -> TimedQueue<T> {
        TimedQueue {
            cursor: 0,
            levels: 0,
            occupied: [0; LEVELS],
            slots: (0..LEVELS * SLOTS).map(|_| Vec::new()).collect(),
            wanted: Vec::new(),
            free: Vec::new(),
            len: 0,
            removed: 0,
            spread: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds an entry; `time` must not lie before the last one taken.
    #[inline]
    pub(crate) fn insert(&mut self, time: u64, target: T) -> Entry {
        debug_assert!(time >= self.cursor, "an entry in the past");
        self.len += 1;
        let entry = match self.free.pop() {
            Some(entry) => {
                self.wanted[entry as usize] = true;
                entry
            }
            None => {
                self.wanted.push(true);
                (self.wanted.len() - 1) as u32
            }
        };
        self.put(Item { time, entry, target });
        Entry(entry)
    }

    /// Takes an entry out before it is due.
    pub(crate) fn remove(&mut self, Entry(entry): Entry) {
        self.wanted[entry as usize] = false;
        self.len -= 1;
        self.removed += 1;
        if self.removed > self.len + 1024 {
            self.sweep();
        }
    }

    /// Moves all entries of the earliest time, if it is not after `limit`, to `due` in order of insertion.
    pub(crate) fn take_earliest(&mut self, limit: u64, due: &mut Vec<T>) -> Option<u64> {
        loop {
            let (level, slot) = self.first()?;
            let at = level * SLOTS + slot;
            if level == 0 {
                // One time only, which the slot and the cursor name.
                let time = (self.cursor & !(SLOTS as u64 - 1)) | slot as u64;
                if time > limit && self.slots[at].iter().any(|item| self.wanted[item.entry as usize]) {
                    return None;
                }
                let before = due.len();
                let TimedQueue { slots, wanted, free, len, removed, .. } = self;
                for item in &slots[at] {
                    free.push(item.entry);
                    if wanted[item.entry as usize] {
                        due.push(item.target);
                        *len -= 1;
                    } else {
                        *removed -= 1;
                    }
                }
                slots[at].clear();
                self.clear(level, slot);
                if due.len() > before {
                    self.cursor = time;
                    return Some(time);
                }
                continue;
            }
            let Some(time) = self.earliest_in(at) else {
                self.discard(level, slot);
                continue;
            };
            if time > limit {
                return None;
            }
            // Everything here is nearer to the cursor now, so on a lower level; in order, so ties stay in
            // order.
            self.cursor = time;
            let mut spread = std::mem::take(&mut self.spread);
            std::mem::swap(&mut spread, &mut self.slots[at]);
            self.clear(level, slot);
            for &item in &spread {
                if !self.wanted[item.entry as usize] {
                    self.free.push(item.entry);
                    self.removed -= 1;
                } else if item.time == time {
                    due.push(item.target);
                    self.free.push(item.entry);
                    self.len -= 1;
                } else {
                    self.put(item);
                }
            }
            spread.clear();
            self.spread = spread;
            return Some(time);
        }
    }

    /// The earliest time, if there is an entry.
    pub(crate) fn earliest(&self) -> Option<u64> {
        let mut levels = self.levels;
        while levels != 0 {
            let level = levels.trailing_zeros() as usize;
            levels &= levels - 1;
            let mut occupied = self.occupied[level];
            while occupied != 0 {
                let slot = occupied.trailing_zeros() as usize;
                occupied &= occupied - 1;
                if let Some(time) = self.earliest_in(level * SLOTS + slot) {
                    return Some(time);
                }
            }
        }
        None
    }

    #[inline]
    fn first(&self) -> Option<(usize, usize)> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        Some((level, self.occupied[level].trailing_zeros() as usize))
    }

    fn earliest_in(&self, at: usize) -> Option<u64> {
        let wanted = |item: &&Item<T>| self.wanted[item.entry as usize];
        self.slots[at].iter().filter(wanted).map(|item| item.time).min()
    }

    /// Level and slot of a time, seen from the cursor. An entry's place never goes stale: the cursor only
    /// enters a slot by emptying it.
    #[inline]
    fn place(&self, time: u64) -> (usize, usize) {
        let level = (63 - ((time ^ self.cursor) | 1).leading_zeros()) / BITS;
        (level as usize, (time >> (level * BITS)) as usize & (SLOTS - 1))
    }

    #[inline]
    fn put(&mut self, item: Item<T>) {
        let (level, slot) = self.place(item.time);
        self.levels |= 1 << level;
        self.occupied[level] |= 1 << slot;
        self.slots[level * SLOTS + slot].push(item);
    }

    #[inline]
    fn clear(&mut self, level: usize, slot: usize) {
        let list = &mut self.slots[level * SLOTS + slot];
        if list.capacity() > KEPT && list.is_empty() {
            list.shrink_to(KEPT);
        }
        self.occupied[level] &= !(1 << slot);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// Empties a slot in which nothing is wanted any more.
    fn discard(&mut self, level: usize, slot: usize) {
        let list = std::mem::take(&mut self.slots[level * SLOTS + slot]);
        self.removed -= list.len();
        self.free.extend(list.iter().map(|item| item.entry));
        self.clear(level, slot);
    }

    /// Takes out what was removed, where that is more than what is left.
    #[cold]
    fn sweep(&mut self) {
        for at in 0..self.slots.len() {
            let TimedQueue { slots, wanted, free, removed, .. } = self;
            slots[at].retain(|item| {
                let keep = wanted[item.entry as usize];
                if !keep {
                    free.push(item.entry);
                    *removed -= 1;
                }
                keep
            });
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
    enum Step {
        Insert(u64),
        Remove(usize),
        Take(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => prop_oneof![0u64..4, 0u64..2_000, 0u64..1 << 40, Just(u64::MAX >> 1)].prop_map(Step::Insert),
            1 => any::<usize>().prop_map(Step::Remove),
            3 => prop_oneof![0u64..3_000, Just(u64::MAX)].prop_map(Step::Take),
        ]
    }

    proptest! {
        /// The obvious reference: a list, sorted by time and insertion whenever one looks.
        #[test]
        fn gives_entries_in_order_of_time_then_insertion(steps in prop::collection::vec(step(), 1..200)) {
            let mut queue = TimedQueue::new();
            let mut reference: Vec<(u64, u32, Entry)> = Vec::new();
            let (mut now, mut next) = (0u64, 0u32);
            for step in steps {
                match step {
                    Step::Insert(delay) => {
                        let time = now.saturating_add(delay);
                        reference.push((time, next, queue.insert(time, next)));
                        next += 1;
                    }
                    Step::Remove(which) if !reference.is_empty() => {
                        let (_, _, entry) = reference.remove(which % reference.len());
                        queue.remove(entry);
                    }
                    Step::Remove(_) => {}
                    Step::Take(ahead) => {
                        let limit = now.saturating_add(ahead);
                        let mut due = Vec::new();
                        let taken = queue.take_earliest(limit, &mut due);
                        let earliest = reference.iter().map(|entry| entry.0).min().filter(|&time| time <= limit);
                        prop_assert_eq!(taken, earliest);
                        if let Some(time) = earliest {
                            now = time;
                            let expected: Vec<u32> =
                                reference.iter().filter(|entry| entry.0 == time).map(|entry| entry.1).collect();
                            prop_assert_eq!(due, expected);
                            reference.retain(|entry| entry.0 != time);
                        }
                    }
                }
                prop_assert_eq!(queue.len(), reference.len());
                prop_assert_eq!(queue.earliest(), reference.iter().map(|entry| entry.0).min());
            }
        }
    }
}
