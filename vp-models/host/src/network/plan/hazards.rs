//! Steps for which a step waits: those that make what it reads, or use the memory that it writes.
//!
//! A step waits for the last ones that touched each place, and so for all before these: they waited for those. What was touched before that
//! is forgotten, so a plan takes about as long as it has steps.

use super::access::Access;
use std::collections::BTreeMap;
use std::ops::Range;

/// Something that a step touches, and in what memory that is.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) access: Access,
    /// Memory that it is in: DRAM or SRAM.
    pub(super) memory: usize,
    /// All addresses of what is touched a part of.
    pub(super) addresses: Range<u64>,
}

impl Touched {
    /// Returns true if both have bytes in common: parts of one cube by its surfaces and lines, of others by their addresses.
    pub(super) fn meets(&self, other: &Touched) -> bool {
        let overlap = |a: &Range<u32>, b: &Range<u32>| a.start < b.end && b.start < a.end;
        let (one, two) = (&self.access, &other.access);
        if one.storage == two.storage {
            return overlap(&one.copies, &two.copies)
                && overlap(&one.surfaces, &two.surfaces)
                && overlap(&one.lines, &two.lines);
        }
        let (a, b) = (&self.addresses, &other.addresses);
        self.memory == other.memory && a.start < b.end && b.start < a.end
    }

    /// Returns true if all of another part of the same cube is in this one.
    fn covers(&self, other: &Touched) -> bool {
        let within = |a: &Range<u32>, b: &Range<u32>| b.start <= a.start && a.end <= b.end;
        let (one, two) = (&other.access, &self.access);
        within(&one.copies, &two.copies)
            && within(&one.surfaces, &two.surfaces)
            && within(&one.lines, &two.lines)
    }
}

/// Reads and writes of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Touches {
    pub(super) reads: Vec<Touched>,
    pub(super) writes: Vec<Touched>,
}

/// A touch that later ones may have to wait for.
#[derive(Clone, Copy)]
struct Known<'a> {
    step: usize,
    touched: &'a Touched,
    is_write: bool,
}

/// Last accesses to some addresses.
#[derive(Clone, Default)]
struct Segment<'a> {
    end: u64,
    /// The cube that is there now.
    storage: usize,
    /// Writes of that cube.
    writes: Vec<Known<'a>>,
    reads: Vec<Known<'a>>,
    /// Accesses to the cubes there before, for which each write of the present one has waited.
    before: Vec<Known<'a>>,
}

impl<'a> Segment<'a> {
    /// Adds the steps for which somebody waits.
    fn collect(&self, touched: &Touched, is_write: bool, after: &mut Vec<usize>) {
        // A write that is waited for has waited for what was before.
        let waits_for_write = self.writes.iter().any(|known| known.touched.meets(touched));
        let before: &[Known<'a>] = if waits_for_write { &[] } else { &self.before };
        let reads: &[Known<'a>] = if is_write { &self.reads } else { &[] };
        let all = self.writes.iter().chain(reads).chain(before);
        let open = all.filter(|known| (is_write || known.is_write) && known.touched.meets(touched));
        after.extend(open.map(|known| known.step));
    }

    fn insert(&mut self, known: Known<'a>) {
        let storage = known.touched.access.storage;
        if storage != self.storage {
            if !self.writes.is_empty() {
                self.before.clear();
            }
            self.before.append(&mut self.writes);
            self.before.append(&mut self.reads);
            self.storage = storage;
        }
        if known.is_write {
            // Whoever meets these meets the new one.
            for list in [&mut self.writes, &mut self.reads] {
                list.retain(|old| !known.touched.covers(old.touched));
            }
            self.writes.push(known);
        } else {
            self.reads.push(known);
        }
    }

    fn is_like(&self, other: &Segment<'_>) -> bool {
        let same = |a: &[Known<'_>], b: &[Known<'_>]| {
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| a.step == b.step && std::ptr::eq(a.touched, b.touched))
        };
        self.storage == other.storage
            && same(&self.writes, &other.writes)
            && same(&self.reads, &other.reads)
            && same(&self.before, &other.before)
    }
}

/// The segments of one memory by their first addresses.
type Segments<'a> = BTreeMap<u64, Segment<'a>>;

/// Of each step those that it waits for, in their order. What these wait for may be left out.
pub(super) fn after(steps: &[Touches]) -> Vec<Vec<usize>> {
    let mut memories: BTreeMap<usize, Segments<'_>> = BTreeMap::new();
    let mut all = Vec::with_capacity(steps.len());
    for (step, Touches { reads, writes }) in steps.iter().enumerate() {
        let touches =
            || reads.iter().map(|touched| (touched, false)).chain(writes.iter().map(|one| (one, true)));
        let mut after = Vec::new();
        for (touched, is_write) in touches() {
            let segments = memories.entry(touched.memory).or_default();
            cut(segments, &touched.addresses);
            for (_, segment) in segments.range(touched.addresses.clone()) {
                segment.collect(touched, is_write, &mut after);
            }
        }
        for (touched, is_write) in touches() {
            let segments = memories.entry(touched.memory).or_default();
            for (_, segment) in segments.range_mut(touched.addresses.clone()) {
                segment.insert(Known { step, touched, is_write });
            }
            join(segments, &touched.addresses);
        }
        after.sort_unstable();
        after.dedup();
        all.push(after);
    }
    all
}

/// Makes segments of which none has addresses both within the range and outside it, and that have all of it.
fn cut(segments: &mut Segments<'_>, range: &Range<u64>) {
    for at in [range.start, range.end] {
        if let Some((_, segment)) = segments.range_mut(..at).next_back()
            && segment.end > at
        {
            let behind = segment.clone();
            segment.end = at;
            segments.insert(at, behind);
        }
    }
    let mut gaps = Vec::new();
    let mut from = range.start;
    for (start, segment) in segments.range(range.clone()) {
        gaps.extend((from < *start).then_some((from, *start)));
        from = segment.end;
    }
    gaps.extend((from < range.end).then_some((from, range.end)));
    segments.extend(gaps.into_iter().map(|(start, end)| (start, Segment { end, ..Segment::default() })));
}

/// Joins neighbours within a range of which the same is known.
fn join(segments: &mut Segments<'_>, range: &Range<u64>) {
    let mut first = range.start;
    while let Some(end) = segments.get(&first).map(|segment| segment.end).filter(|end| *end < range.end) {
        let is_like = segments[&first].is_like(&segments[&end]);
        if is_like && let Some(joined) = segments.remove(&end) {
            segments.entry(first).and_modify(|segment| segment.end = joined.end);
        } else {
            first = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pair by pair, as the rule says it.
    fn slow(steps: &[Touches]) -> Vec<Vec<usize>> {
        let any = |some: &[Touched], written: &[Touched]| {
            some.iter().any(|one| written.iter().any(|other| one.meets(other)))
        };
        let needs = |later: &Touches, earlier: &Touches| {
            any(&later.reads, &earlier.writes)
                || any(&earlier.reads, &later.writes)
                || any(&later.writes, &earlier.writes)
        };
        let of = |at: usize| (0..at).filter(|&before| needs(&steps[at], &steps[before])).collect();
        (0..steps.len()).map(of).collect()
    }

    /// All that steps wait for, also by way of others.
    fn closure(after: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let mut all: Vec<Vec<bool>> = Vec::new();
        for direct in after {
            let mut waits = vec![false; after.len()];
            for &before in direct {
                waits[before] = true;
                for (waits, further) in waits.iter_mut().zip(&all[before]) {
                    *waits |= further;
                }
            }
            all.push(waits);
        }
        all
    }

    /// A cube's part: some copies, surfaces and lines of one that lies there now.
    #[derive(Debug, Clone)]
    struct CubePart {
        cube: usize,
        copy: u32,
        surfaces: (u32, u32),
        lines: (u32, u32),
    }

    fn part() -> impl Strategy<Value = CubePart> {
        let range = || (0_u32..4, 1_u32..4);
        (0_usize..4, 0_u32..2, range(), range()).prop_map(|(cube, copy, surfaces, lines)| CubePart {
            cube,
            copy,
            surfaces,
            lines,
        })
    }

    /// Cubes that lie at some places for some time, and steps that touch parts of those that are there.
    fn plan() -> impl Strategy<Value = Vec<Touches>> {
        let cubes = || prop::collection::vec((0_u64..12, 1_u64..6), 4);
        let step = || (prop::collection::vec(part(), 0..3), prop::collection::vec(part(), 0..2));
        let time = || (cubes(), prop::collection::vec(step(), 0..8));
        prop::collection::vec(time(), 1..6).prop_map(|times| {
            let mut steps = Vec::new();
            for (time, (cubes, all)) in times.into_iter().enumerate() {
                // Those that live at the same time lie beside each other.
                let mut from = 0;
                let places: Vec<(u64, u64)> = cubes
                    .into_iter()
                    .map(|(gap, size)| {
                        let place = (from + gap, size);
                        from = place.0 + 2 * size;
                        place
                    })
                    .collect();
                let touched = |part: CubePart| {
                    let (start, size) = places[part.cube];
                    let start = start + u64::from(part.copy) * size;
                    let to = |(start, length): (u32, u32)| start..start + length;
                    let access = Access {
                        storage: 4 * time + part.cube,
                        copies: part.copy..part.copy + 1,
                        surfaces: to(part.surfaces),
                        lines: to(part.lines),
                    };
                    Touched { access, memory: part.cube / 3, addresses: start..start + size }
                };
                for (reads, writes) in all {
                    let of = |parts: Vec<CubePart>| parts.into_iter().map(touched).collect();
                    steps.push(Touches { reads: of(reads), writes: of(writes) });
                }
            }
            steps
        })
    }

    proptest! {
        #[test]
        fn a_step_waits_for_all_that_touch_what_it_touches(steps in plan()) {
            let (fast, slow) = (after(&steps), slow(&steps));
            prop_assert_eq!(closure(&fast), closure(&slow));
            for (fast, slow) in fast.iter().zip(&slow) {
                prop_assert!(fast.iter().all(|before| slow.contains(before)), "{fast:?} of {slow:?}");
            }
        }
    }

    /// A chain of layers in two places: each waits for the one before it, and not for all of them.
    #[test]
    fn of_many_steps_a_step_waits_for_few() {
        let touched = |storage: usize| Touched {
            access: Access { storage, copies: 0..1, surfaces: 0..1, lines: 0..9 },
            memory: 0,
            addresses: [0..100, 100..180][storage % 2].clone(),
        };
        let step = |at: usize| Touches { reads: vec![touched(at)], writes: vec![touched(at + 1)] };
        let steps: Vec<Touches> = (0..1_000).map(step).collect();
        assert!(after(&steps).iter().all(|after| after.len() <= 2));
    }
}
