//! Choice of the tensors that share a memory that has no room for all of them.

use crate::network::plan::memory::Memory;
use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};

/// Memory that is needed for some time: both ends of it count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Allocation {
    pub(super) bytes: u64,
    pub(super) life: RangeInclusive<usize>,
}

impl Allocation {
    /// Returns true if both are needed at some time.
    pub(super) fn meets(&self, other: &Allocation) -> bool {
        self.life.start() <= other.life.end() && other.life.start() <= self.life.end()
    }

    pub(super) fn length(&self) -> u64 {
        (self.life.end() - self.life.start() + 1) as u64
    }
}

/// Memory that is of use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) allocation: Allocation,
    /// Bytes of traffic that it saves.
    pub(super) saved: u64,
}

/// Addresses of all of these, if they have room together: each is the lowest that is free all the while, for the large ones first, or for
/// those first that live longest.
pub(super) fn pack(all: &[&Allocation], room: Range<u64>) -> Option<Vec<u64>> {
    [true, false].into_iter().find_map(|by_bytes| {
        let key = |allocation: &Allocation| match by_bytes {
            true => (allocation.bytes, allocation.length()),
            false => (allocation.length(), allocation.bytes),
        };
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|&at| (Reverse(key(all[at])), at));
        let mut memory = Memory::new(room.clone());
        let mut addresses = vec![0; all.len()];
        for at in order {
            addresses[at] = memory.allocate("", all[at].bytes, all[at].life.clone()).ok()?;
        }
        Some(addresses)
    })
}

/// Tensors that are placed again for the sake of further ones, at most: each further one moves those before it, which takes long where
/// there are thousands. What is tried after that is placed beside them.
const MOST_PLACED: usize = 1 << 20;

/// Bytes of a memory that are used at each time.
#[derive(Clone, Default)]
struct Load(Vec<u64>);

impl Load {
    fn most(&self, life: &RangeInclusive<usize>) -> u64 {
        self.0.iter().take(life.end() + 1).skip(*life.start()).copied().max().unwrap_or(0)
    }

    fn add(&mut self, allocation: &Allocation) {
        self.0.resize(self.0.len().max(allocation.life.end() + 1), 0);
        self.0[allocation.life.clone()].iter_mut().for_each(|load| *load += allocation.bytes);
    }
}

/// The addresses of what is in any case, which has room, and of those candidates beside it that save most; and which these are.
///
/// A packing that saves most of all is too hard to find (it is a knapsack). Candidates are tried in three orders: by bytes saved for each
/// byte kept, by the same for each task for which it is kept, and by bytes saved alone. The order that saves most is taken.
pub(super) fn choose(
    fixed: &[Allocation],
    candidates: &[Candidate],
    room: Range<u64>,
) -> (Vec<u64>, Vec<usize>) {
    let per = |saved: u64, of: u64| u128::from(saved) * 1_000_000 / u128::from(of.max(1));
    let orders: [&dyn Fn(&Candidate) -> u128; 3] = [
        &|it| per(it.saved, it.allocation.bytes),
        &|it| per(it.saved, it.allocation.bytes * it.allocation.length()),
        &|it| it.saved.into(),
    ];
    let mut best: Option<(u64, Vec<u64>, Vec<usize>)> = None;
    for worth in orders {
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_key(|&at| (Reverse(worth(&candidates[at])), at));
        let (addresses, chosen) = in_order(fixed, candidates, &order, &room);
        let saved: u64 = chosen.iter().map(|&at| candidates[at].saved).sum();
        if best.as_ref().is_none_or(|(most, ..)| saved > *most) {
            best = Some((saved, addresses, chosen));
        }
    }
    best.map(|(_, addresses, chosen)| (addresses, chosen)).unwrap_or_default()
}

/// Takes one after the other, if it has room beside those before.
fn in_order(
    fixed: &[Allocation],
    candidates: &[Candidate],
    order: &[usize],
    room: &Range<u64>,
) -> (Vec<u64>, Vec<usize>) {
    let size = room.end.saturating_sub(room.start);
    let everything =
        fixed.iter().chain(order.iter().map(|&at| &candidates[at].allocation)).collect::<Vec<_>>();
    if let Some(addresses) = pack(&everything, room.clone()) {
        return (addresses, order.to_vec());
    }
    let mut load = Load::default();
    fixed.iter().for_each(|allocation| load.add(allocation));
    let mut addresses = pack(&fixed.iter().collect::<Vec<_>>(), room.clone()).unwrap_or_default();
    let mut all: Vec<&Allocation> = fixed.iter().collect();
    let mut chosen = Vec::new();
    let mut left = MOST_PLACED;
    for (done, &at) in order.iter().enumerate() {
        let allocation = &candidates[at].allocation;
        if load.most(&allocation.life).saturating_add(allocation.bytes) > size {
            continue;
        }
        all.push(allocation);
        let Some(after) = left.checked_sub(all.len()) else {
            all.pop();
            add_beside(&all, candidates, &order[done..], (room.clone(), &mut addresses, &mut chosen));
            break;
        };
        left = after;
        match pack(&all, room.clone()) {
            Some(packed) => {
                addresses = packed;
                chosen.push(at);
                load.add(allocation);
            }
            None => {
                all.pop();
            }
        }
    }
    (addresses, chosen)
}

/// Takes those of the others that have room beside what is placed, which stays where it is.
fn add_beside(
    placed: &[&Allocation],
    candidates: &[Candidate],
    others: &[usize],
    (room, addresses, chosen): (Range<u64>, &mut Vec<u64>, &mut Vec<usize>),
) {
    let mut memory = Memory::new(room);
    for (allocation, &address) in placed.iter().zip(&*addresses) {
        memory.occupy(address..address + allocation.bytes, allocation.life.clone());
    }
    for &at in others {
        let Allocation { bytes, life } = &candidates[at].allocation;
        if let Ok(address) = memory.allocate("", *bytes, life.clone()) {
            addresses.push(address);
            chosen.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allocation(bytes: u64, life: RangeInclusive<usize>) -> Allocation {
        Allocation { bytes, life }
    }

    fn candidate(bytes: u64, life: RangeInclusive<usize>, saved: u64) -> Candidate {
        Candidate { allocation: allocation(bytes, life), saved }
    }

    #[test]
    fn what_saves_most_for_its_bytes_is_kept() {
        let all = [candidate(512, 0..=3, 1024), candidate(256, 0..=1, 768), candidate(256, 2..=3, 768)];
        assert_eq!(choose(&[], &all, 0..256), (vec![0, 0], vec![1, 2]));
        assert_eq!(choose(&[], &all, 0..768).1, [1, 2, 0]);
        assert_eq!(choose(&[], &all, 0..255), (vec![], vec![]));
        // Beside what is there in any case.
        assert_eq!(choose(&[allocation(256, 1..=1)], &all, 0..256), (vec![0, 0], vec![2]));
    }

    #[test]
    fn many_small_ones_do_not_keep_out_what_saves_more() {
        // Twice a byte for 256 bytes all the while, or 1.9 times for 512 of 600.
        let all = [candidate(256, 0..=9, 512), candidate(512, 0..=9, 980)];
        assert_eq!(choose(&[], &all, 0..600).1, [1]);
    }

    fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
        let one = (1u64..2000, 0usize..12, 0usize..6, 1u64..5);
        let candidate = |(bytes, from, length, reads)| Candidate {
            allocation: Allocation { bytes, life: from..=from + length },
            saved: reads * bytes,
        };
        prop::collection::vec(one.prop_map(candidate), 0..20)
    }

    proptest! {
        #[test]
        fn nothing_overlaps_in_time_and_space_and_all_lies_within(
            all in candidates(),
            fixed in candidates(),
            from in 0u64..4,
            size in 0u64..9000,
        ) {
            let room = 256 * from..256 * from + size;
            let mut fixed: Vec<Allocation> = fixed.into_iter().map(|it| it.allocation).collect();
            while pack(&fixed.iter().collect::<Vec<_>>(), room.clone()).is_none() {
                fixed.pop();
            }
            let (addresses, chosen) = choose(&fixed, &all, room.clone());
            let placed: Vec<&Allocation> = fixed.iter().chain(chosen.iter().map(|&at| &all[at].allocation)).collect();
            prop_assert_eq!(placed.len(), addresses.len());
            // Block by block and task by task: all begins with a block.
            let mut used = std::collections::HashSet::new();
            for (allocation, &address) in placed.into_iter().zip(&addresses) {
                prop_assert!(room.start <= address && address + allocation.bytes <= room.end && address % 256 == 0);
                for task in allocation.life.clone() {
                    for block in address / 256..(address + allocation.bytes).div_ceil(256) {
                        prop_assert!(used.insert((task, block)));
                    }
                }
            }
            // What has room without sharing is all kept, and of what has room alone something is.
            let rounded = |allocation: &Allocation| allocation.bytes.next_multiple_of(256);
            let whole: u64 = fixed.iter().chain(all.iter().map(|it| &it.allocation)).map(rounded).sum();
            prop_assert!(whole > size || chosen.len() == all.len());
            let has_room = all.iter().any(|it| it.allocation.bytes <= size);
            prop_assert!(!fixed.is_empty() || !has_room || !chosen.is_empty());
        }
    }
}
