//! Datapath that sets the pace, at moments at which datapaths bound a run.
//!
//! A convolution goes through several at once: the MAC array feeds SDP, and SDP may feed PDP. Where the one behind is slower, the FIFO
//! between them is full, and the one in front is *held*: it is done with something and has no room to put it. From when the one behind
//! begins until it last held the other, its pace is the whole pipeline's, also while the other has work: were that faster, it would be held
//! the longer. From then on until the one behind runs out of work, the one in front sets the pace: were the one behind faster, it would run
//! out the sooner. This is the critical path through the pipeline, found from its end to its beginning.

use crate::activity::{Bound, Bounds};
use crate::occupancy::{Datapath, Spans};
use vp_core::Time;

/// Times at which each datapath had work, and at which it was held by the one behind it.
pub(super) struct Datapaths<'a> {
    pub(super) busy: &'a [Spans; Datapath::COUNT],
    pub(super) held: &'a [Spans; Datapath::COUNT],
}

/// Returns the bound that a datapath is.
fn bound_of(datapath: Datapath) -> Bound {
    match datapath {
        Datapath::Array => Bound::MacArray,
        Datapath::Sdp => Bound::Sdp,
        Datapath::Pdp => Bound::Pdp,
        Datapath::Cdp => Bound::Cdp,
        Datapath::Rubik => Bound::Rubik,
    }
}

impl Datapaths<'_> {
    /// Returns the spans in which any of them had work.
    pub(super) fn busy(&self) -> Spans {
        self.busy
            .iter()
            .filter(|spans| !spans.is_empty())
            .fold(Spans::default(), |all, spans| all.joined(spans))
    }

    /// Parts moments at which datapaths bound: those at which some have work, and those in their pipelines, at which none has.
    pub(super) fn part(&self, at_work: &Spans, in_pipelines: &Spans, bounds: &mut Bounds) {
        let mut rest = at_work.clone();
        let mut claim = |datapath: Datapath, spans: &Spans| {
            if !rest.is_empty() && !spans.is_empty() {
                let (inside, outside) = rest.split(spans);
                bounds[bound_of(datapath)] += inside.length();
                rest = outside;
            }
        };
        for [feeding, behind] in [[Datapath::Sdp, Datapath::Pdp], [Datapath::Array, Datapath::Sdp]] {
            claim(behind, &self.paced_by(feeding, behind));
        }
        // The others: in a pipeline the one in front, for which the one behind waits; else who has more work, for that is who all wait for.
        let work = |datapath: Datapath| self.busy[datapath as usize].length();
        let work_with_those_behind = |datapath: Datapath| match datapath {
            Datapath::Array => work(datapath).max(work(Datapath::Sdp)).max(work(Datapath::Pdp)),
            Datapath::Sdp => work(datapath).max(work(Datapath::Pdp)),
            Datapath::Pdp | Datapath::Cdp | Datapath::Rubik => work(datapath),
        };
        let mut order = Datapath::ALL;
        order.sort_by_key(|&datapath| std::cmp::Reverse(work_with_those_behind(datapath)));
        for datapath in order {
            claim(datapath, &self.busy[datapath as usize]);
        }
        for (from, until) in in_pipelines.iter() {
            // Nobody has work between the two: what moves left the one that had it last, or is on its way to the first.
            let bound =
                self.last_before(from).or_else(|| self.first_behind(until)).map_or(Bound::Write, bound_of);
            bounds[bound] += until - from;
        }
    }

    /// The moments at which the one behind sets the pace of the one that feeds it.
    fn paced_by(&self, feeding: Datapath, behind: Datapath) -> Spans {
        let [busy, held] = [self.busy, self.held].map(|all| &all[feeding as usize]);
        let own = &self.busy[behind as usize];
        if own.is_empty() {
            return Spans::default();
        }
        // Being held itself is no end of its run.
        let runs = own.joined(&self.held[behind as usize]);
        let fed_until = busy.end().unwrap_or(Time::ZERO);
        let is_slower = own.length() > busy.length();
        let (mut paced, mut holds) = (Spans::default(), held.iter().peekable());
        for (from, until) in runs.iter() {
            let mut last_held = None;
            while let Some(&(held_from, held_until)) = holds.peek() {
                if held_from >= until {
                    break;
                }
                if held_until > from {
                    last_held = Some(held_until.min(until));
                }
                if held_until > until {
                    break;
                }
                holds.next();
            }
            match last_held {
                // Nothing is behind it.
                _ if fed_until <= until && (last_held.is_some() || is_slower) => paced.add(from, until),
                _ if fed_until <= from => paced.add(from, until),
                Some(last_held) => paced.add(from, last_held),
                None if fed_until <= until => paced.add(fed_until, until),
                None => {}
            }
        }
        paced
    }
}

impl Datapaths<'_> {
    /// Returns the datapath that had work last before a time; of several the one farthest behind.
    fn last_before(&self, time: Time) -> Option<Datapath> {
        let ends = |datapath: Datapath| {
            let spans = &self.busy[datapath as usize];
            Some((spans.last_end_by(time)?, datapath as usize, datapath))
        };
        Datapath::ALL.into_iter().filter_map(ends).max_by_key(|&(end, place, _)| (end, place)).map(|it| it.2)
    }

    /// Returns the datapath that has work first from a time on.
    fn first_behind(&self, time: Time) -> Option<Datapath> {
        let begins = |datapath: Datapath| Some((self.busy[datapath as usize].first_from(time)?, datapath));
        Datapath::ALL
            .into_iter()
            .filter_map(begins)
            .min_by_key(|&(begin, _)| begin)
            .map(|(_, datapath)| datapath)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Pairs<'a> = &'a [(u64, u64)];

    fn spans(pairs: Pairs<'_>) -> Spans {
        let mut spans = Spans::default();
        pairs.iter().for_each(|&(from, until)| spans.add(Time::ns(from), Time::ns(until)));
        spans
    }

    /// Nanoseconds of MAC array, SDP, PDP, and writes.
    fn parted(busy: [Pairs<'_>; 3], held: [Pairs<'_>; 2], span: (u64, u64)) -> [u64; 4] {
        let none: Pairs<'_> = &[];
        let busy = [busy[0], busy[1], busy[2], none, none].map(spans);
        let held = [held[0], held[1], none, none, none].map(spans);
        let datapaths = Datapaths { busy: &busy, held: &held };
        let (at_work, in_pipelines) = spans(&[span]).split(&datapaths.busy());
        let mut bounds = Bounds::default();
        datapaths.part(&at_work, &in_pipelines, &mut bounds);
        assert_eq!(bounds.total(), Time::ns(span.1 - span.0));
        [Bound::MacArray, Bound::Sdp, Bound::Pdp, Bound::Write].map(|bound| bounds[bound].as_ps() / 1000)
    }

    #[test]
    fn a_faster_sdp_waits_for_the_array() {
        let sdp = [(20, 25), (40, 45), (60, 65)];
        assert_eq!(parted([&[(0, 60)], &sdp, &[]], [&[], &[]], (0, 70)), [60, 10, 0, 0]);
    }

    #[test]
    fn a_slower_sdp_that_holds_the_array_sets_the_pace_also_while_that_has_work() {
        let array = [(0, 10), (20, 25), (50, 55)];
        let held = [(25, 50), (55, 80)];
        assert_eq!(parted([&array, &[(10, 100)], &[]], [&held, &[]], (0, 100)), [10, 90, 0, 0]);
    }

    #[test]
    fn from_when_it_last_held_the_array_until_it_runs_out_of_work_the_array_sets_the_pace() {
        // Held for a while; then the array has more to do for each result, and SDP runs out of work.
        let array = [(0, 10), (30, 100)];
        let sdp = [(10, 50), (90, 95), (100, 104)];
        assert_eq!(parted([&array, &sdp, &[]], [&[(10, 30)], &[]], (0, 104)), [10 + 70, 20 + 4, 0, 0]);
    }

    #[test]
    fn a_slower_sdp_whose_fifo_takes_all_that_the_array_makes_sets_the_pace() {
        assert_eq!(parted([&[(0, 20)], &[(5, 85)], &[]], [&[], &[]], (0, 85)), [5, 80, 0, 0]);
        // As fast as each other: what is left behind the array's end is SDP's.
        assert_eq!(parted([&[(0, 80)], &[(5, 85)], &[]], [&[], &[]], (0, 85)), [80, 5, 0, 0]);
    }

    #[test]
    fn a_slow_pdp_holds_sdp_and_through_it_the_array() {
        let held_array = [(10, 30), (40, 60), (70, 80)];
        let array = [(0, 10), (30, 40), (60, 70)];
        let (sdp, held_sdp) = ([(10, 12), (30, 32), (50, 52), (70, 72)], [(12, 30), (32, 50), (52, 70)]);
        let all = parted([&array, &sdp, &[(12, 90)]], [&held_array, &held_sdp], (0, 90));
        assert_eq!(all, [10, 2, 78, 0]);
    }

    #[test]
    fn what_moves_between_two_is_the_formers_and_before_the_first_the_firsts() {
        let of = parted([&[(10, 20)], &[(25, 30)], &[]], [&[], &[]], (5, 37));
        assert_eq!(of, [5 + 10 + 5, 5 + 7, 0, 0]);
        // BDMA has no datapath: it moves what it has read to where it writes.
        assert_eq!(parted([&[], &[], &[]], [&[], &[]], (0, 9)), [0, 0, 0, 9]);
    }

    /// Spans, by how far each begins behind the last one's end, and how long it is.
    fn any_spans() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0u64..8, 1u64..9), 0..6).prop_map(|steps| {
            let mut at = 0;
            let span = |(gap, length)| {
                let from = at + gap;
                at = from + length;
                (from, at)
            };
            steps.into_iter().map(span).collect()
        })
    }

    /// A pipeline of two that is simulated: the time that each needs for each item, and room for so many between them.
    struct Pipeline {
        feeding: Vec<(u64, u64)>,
        held: Vec<(u64, u64)>,
        behind: Vec<(u64, u64)>,
    }

    impl Pipeline {
        fn of(costs: &[(u64, u64)], room: usize) -> Pipeline {
            let (mut feeding, mut held, mut behind): (Vec<_>, Vec<_>, Vec<(u64, u64)>) = Default::default();
            let (mut at, mut free) = (0, 0);
            for (item, &(first, second)) in costs.iter().enumerate() {
                let made = at + first;
                // There is room when the one behind has begun the item that is so many before.
                let put = item.checked_sub(room).map_or(made, |before| made.max(behind[before].0));
                feeding.push((at, made));
                held.push((made, put));
                let begun = free.max(put);
                (at, free) = (put, begun + second);
                behind.push((begun, free));
            }
            Pipeline { feeding, held, behind }
        }

        /// Returns the time that the one behind is on the critical path: from the end to the beginning, always to what was waited for last.
        fn critical(&self, room: usize) -> u64 {
            let (mut item, mut critical) = (self.behind.len() - 1, 0);
            let mut until = self.behind[item].1;
            loop {
                while item > 0 && self.behind[item].0 == self.behind[item - 1].1 {
                    item -= 1;
                }
                critical += until - self.behind[item].0;
                // What it waited for was made in one go, since when there was room last.
                let Some(waited) = (0..=item).rev().find(|&before| self.held[before].0 < self.held[before].1)
                else {
                    return critical;
                };
                item = waited - room;
                until = self.behind[item].0;
            }
        }
    }

    proptest! {
        /// Whatever each item costs.
        #[test]
        fn the_one_behind_sets_the_pace_as_long_as_it_is_on_the_critical_path(
            costs in prop::collection::vec((1u64..9, 1u64..9), 1..40),
            room in 1usize..6,
        ) {
            let pipeline = Pipeline::of(&costs, room);
            let end = pipeline.behind.last().unwrap().1;
            let [_, behind, ..] =
                parted([&pipeline.feeding, &pipeline.behind, &[]], [&pipeline.held, &[]], (0, end));
            let last = spans(&pipeline.behind).iter().last().unwrap().0;
            let is_held = pipeline.held.iter().any(|&(from, until)| from < until && Time::ns(until) > last);
            let [first, second] = [0, 1].map(|which| costs.iter().map(|cost| [cost.0, cost.1][which]).sum::<u64>());
            // Where both work on to the end without a wait, the path is either's: it is said to be who has more work.
            prop_assume!(is_held || second > first);
            prop_assert_eq!(behind, pipeline.critical(room));
        }

        /// `parted` checks it: whoever works when, each moment counts once.
        #[test]
        fn parts_sum_up(
            busy in prop::array::uniform3(any_spans()),
            held in prop::array::uniform2(any_spans()),
            span in (0u64..10, 20u64..80),
        ) {
            let [array, sdp, pdp] = &busy;
            parted([array, sdp, pdp], [&held[0], &held[1]], span);
        }
    }
}
