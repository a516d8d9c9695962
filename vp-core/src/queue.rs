//! The timed queue: what happens later, ordered by time and, within one time, by insertion.
//!
//! A wheel of eleven levels with 64 slots each. An entry lies on the level of the highest 6-bit digit in
//! which its time differs from the cursor, in the slot that digit names; so the earliest entry is in the
//! first slot of the lowest occupied level, found by two bit scans. An entry moves down at most once a
//! level, which keeps the cost of an entry independent of how many others wait.
//!
//! Slots are doubly linked lists through one slab, so an entry can be taken out where it lies.

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 11;
const NONE: u32 = u32::MAX;

/// Names an entry until it is due or removed; the owner forgets it then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry(u32);

struct Node<T> {
    time: u64,
    next: u32,
    prev: u32,
    target: T,
}

#[derive(Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

const EMPTY: List = List { head: NONE, tail: NONE };

pub(crate) struct TimedQueue<T> {
    /// The time of the last entry taken; nothing earlier is in the queue.
    cursor: u64,
    levels: u16,
    occupied: [u64; LEVELS],
    slots: Box<[List]>,
    nodes: Vec<Node<T>>,
    free: u32,
    len: usize,
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
            levels: 0,
            occupied: [0; LEVELS],
            slots: vec![EMPTY; LEVELS * SLOTS].into_boxed_slice(),
            nodes: Vec::new(),
            free: NONE,
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds an entry; `time` must not lie before the last one taken.
    pub(crate) fn insert(&mut self, time: u64, target: T) -> Entry {
        debug_assert!(time >= self.cursor, "an entry in the past");
        self.len += 1;
        let node = Node { time, next: NONE, prev: NONE, target };
        let at = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
            at
        };
        self.link(at);
        Entry(at)
    }

    /// Takes an entry out before it is due.
    pub(crate) fn remove(&mut self, Entry(at): Entry) {
        let (level, slot) = self.place(self.nodes[at as usize].time);
        let Node { prev, next, .. } = self.nodes[at as usize];
        let list = &mut self.slots[level * SLOTS + slot];
        match prev {
            NONE => list.head = next,
            _ => self.nodes[prev as usize].next = next,
        }
        match next {
            NONE => list.tail = prev,
            _ => self.nodes[next as usize].prev = prev,
        }
        if list.head == NONE {
            self.clear(level, slot);
        }
        self.release(at);
    }

    /// Moves all entries of the earliest time, if it is not after `limit`, to `due` in order of insertion.
    pub(crate) fn take_earliest(&mut self, limit: u64, due: &mut Vec<T>) -> Option<u64> {
        let (level, slot) = self.first()?;
        let mut at = self.slots[level * SLOTS + slot].head;
        let time = self.earliest_in(level, at);
        if time > limit {
            return None;
        }
        self.cursor = time;
        self.slots[level * SLOTS + slot] = EMPTY;
        self.clear(level, slot);
        while at != NONE {
            let next = self.nodes[at as usize].next;
            if self.nodes[at as usize].time == time {
                due.push(self.nodes[at as usize].target);
                self.release(at);
            } else {
                // Nearer to the cursor now, so on a lower level; in order, so ties stay in order.
                self.link(at);
            }
            at = next;
        }
        Some(time)
    }

    /// The earliest time, if there is an entry.
    pub(crate) fn earliest(&self) -> Option<u64> {
        let (level, slot) = self.first()?;
        Some(self.earliest_in(level, self.slots[level * SLOTS + slot].head))
    }

    fn first(&self) -> Option<(usize, usize)> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        Some((level, self.occupied[level].trailing_zeros() as usize))
    }

    /// The earliest time in a slot's list; on level 0 a slot holds one time only.
    fn earliest_in(&self, level: usize, head: u32) -> u64 {
        let mut time = self.nodes[head as usize].time;
        if level > 0 {
            let mut at = self.nodes[head as usize].next;
            while at != NONE {
                time = time.min(self.nodes[at as usize].time);
                at = self.nodes[at as usize].next;
            }
        }
        time
    }

    /// Level and slot of a time, seen from the cursor. An entry's place never goes stale: the cursor only
    /// enters a slot by emptying it.
    fn place(&self, time: u64) -> (usize, usize) {
        let level = (63 - ((time ^ self.cursor) | 1).leading_zeros()) / BITS;
        (level as usize, (time >> (level * BITS)) as usize & (SLOTS - 1))
    }

    fn link(&mut self, at: u32) {
        let (level, slot) = self.place(self.nodes[at as usize].time);
        let list = &mut self.slots[level * SLOTS + slot];
        let tail = std::mem::replace(&mut list.tail, at);
        if tail == NONE {
            list.head = at;
            self.levels |= 1 << level;
            self.occupied[level] |= 1 << slot;
        } else {
            self.nodes[tail as usize].next = at;
        }
        let node = &mut self.nodes[at as usize];
        node.prev = tail;
        node.next = NONE;
    }

    fn clear(&mut self, level: usize, slot: usize) {
        self.occupied[level] &= !(1 << slot);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    fn release(&mut self, at: u32) {
        self.len -= 1;
        let node = &mut self.nodes[at as usize];
        node.next = self.free;
        self.free = at;
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
