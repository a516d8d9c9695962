//! The items of a write client in the registers between its lanes and the arbiter.
//!
//! Each item, a header or a beat, takes a place in each register. Headers leave the stream one at a time: that of the next line waits in pipe_p2
//! until the last beat of the line before has left the data FIFO. So how much the way holds depends on where the lines end (RTL, branch
//! nv_small: `NV_NVDLA_DMAIF_wr.v`, `NV_NVDLA_NOCIF_DRAM_WRITE_IG_bpt.v`, `_arb.v`; `master`: `NV_NVDLA_MCIF_WRITE_IG_bpt.v`, `_arb.v`).
//!
//! Times are those at which a burst would be on AW if nothing held it back from there on. So those of an unhindered burst are all the
//! same. Nothing waits in this code: the times follow from those of the puts and of the grants, as far as these are known.

use super::config::{Begin, WritePathConfig};
use super::times::{BurstTimes, EntryTimes, PAST};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;
use vp_core::Time;

/// Cycles from one burst of a client to its next at the arbiter: a command and its data go in turns.
const COMMAND_AND_DATA: u64 = 2;

/// Bursts that an engine may begin ahead of one that is whole, at most.
const MOST_AHEAD: usize = 64;

/// A header or a beat that is not in the data FIFO or pipe_p3.
#[derive(Clone, Copy)]
struct Item {
    /// Number of the beat, or of the first of the header's line.
    number: usize,
    is_header: bool,
    /// Lane of a beat.
    lane: usize,
    /// Time at which a beat is whole in its lane if nothing holds it back, and at which it is; [`Time::MAX`]: not known.
    due: Time,
    whole: Time,
}

/// The bursts of a client on their way to the arbiter.
#[derive(Clone)]
pub(in crate::bus::axi) struct WritePath {
    config: WritePathConfig,
    period: Time,
    /// Time from one burst of the engine to its next, at least.
    pace: Time,
    /// Items that are not in the data FIFO or pipe_p3, and how many of all are whole in their lanes, as far as is known; headers are.
    items: VecDeque<Item>,
    whole_count: usize,
    dmaif: EntryTimes,
    first: EntryTimes,
    second: EntryTimes,
    /// Entries into the data FIFO, or pipe_p3.
    behind: EntryTimes,
    /// Number of bursts put, and the place of the next one in its line, or among all.
    put: usize,
    place: usize,
    /// Times from which a lane can have its next burst; [`Time::MAX`] while it has one.
    lanes: Vec<Time>,
    /// Times at which the last burst is whole and enters DMAIF; the second is not known unless as many have.
    last: [Time; 2],
    /// Times at which bursts are whole, and enter DMAIF, that were held back until then; [`Time::ZERO`] of others.
    whole: BurstTimes<MOST_AHEAD>,
    handed_over: BurstTimes<MOST_AHEAD>,
    /// Times at which those in the data FIFO that do not request the arbiter have entered it.
    data: VecDeque<Time>,
    /// Times from which the last bursts request the arbiter.
    requests: BurstTimes<4>,
    /// Times at which the arbiter has granted the last bursts.
    grants: BurstTimes<2>,
    /// Time for which items have waited for a place in DMAIF.
    stalled: Time,
}

impl WritePath {
    pub(in crate::bus::axi) fn new(period: Time, config: WritePathConfig) -> WritePath {
        debug_assert!(config.data <= 4 && config.commands <= 2, "the times of so many are kept");
        debug_assert!((1..=PAST as u32).contains(&config.register), "so many items are looked back to");
        WritePath {
            config,
            period,
            pace: period,
            items: VecDeque::new(),
            whole_count: PAST,
            dmaif: EntryTimes::new(period),
            first: EntryTimes::new(period),
            second: EntryTimes::new(period),
            behind: EntryTimes::new(period),
            put: 0,
            place: 0,
            lanes: vec![Time::ZERO; config.lanes.count.max(1) as usize],
            last: [Time::ZERO; 2],
            whole: BurstTimes::NONE,
            handed_over: BurstTimes::NONE,
            data: VecDeque::new(),
            requests: BurstTimes::NONE,
            grants: BurstTimes::NONE,
            stalled: Time::ZERO,
        }
    }

    /// Sets the time from one burst of the engine to its next.
    pub(in crate::bus::axi) fn set_pace(&mut self, pace: Time) {
        self.pace = pace;
    }

    /// Begins a line.
    pub(in crate::bus::axi) fn begin_line(&mut self) {
        if self.config.lanes.by_line {
            self.place = 0;
        }
        self.push(true, 0, Time::ZERO);
    }

    /// Puts a burst, which would be on AW at `at`.
    pub(in crate::bus::axi) fn put(&mut self, at: Time) {
        let waits = self.is_waiting();
        self.push(false, self.place % self.lanes.len(), at);
        self.put += 1;
        self.place += 1;
        if !waits {
            // Nothing holds it back before the arbiter.
            self.fill_lanes();
            self.enter_dmaif();
            self.enter_first();
            self.enter_second();
            self.enter_behind();
            self.request();
        } else {
            self.advance();
        }
    }

    fn push(&mut self, is_header: bool, lane: usize, due: Time) {
        let whole = if is_header { Time::ZERO } else { Time::MAX };
        self.items.push_back(Item { number: self.put, is_header, lane, due, whole });
    }

    /// Notes that the arbiter has granted the first burst that requests it.
    pub(in crate::bus::axi) fn granted(&mut self, at: Time) {
        self.grants.push(at);
        self.advance();
    }

    /// Returns the time from which the first burst that is not granted requests the arbiter, if that is known.
    #[inline]
    pub(in crate::bus::axi) fn request_time(&self) -> Option<Time> {
        Some(self.requests.before(self.grants.count, 0)).filter(|requests| *requests < Time::MAX)
    }

    /// Returns the time at which the last burst is in DMAIF, if that is known.
    pub(in crate::bus::axi) fn handed_over(&self) -> Option<Time> {
        (self.handed_over.count == self.put).then_some(self.last[1])
    }

    /// Returns the earliest time at which the next burst can be on AW, as far as those before it hold it back. `None`: that is not known.
    pub(in crate::bus::axi) fn earliest(&self, begin: Begin) -> Option<Time> {
        let (of, before, cycles) = match begin {
            Begin::Whole { before, cycles } => (&self.whole, before, cycles),
            Begin::HandedOver { before, cycles } => (&self.handed_over, before, cycles),
        };
        match of.before(self.put, before.clamp(1, MOST_AHEAD as u32)) {
            Time::ZERO => Some(Time::ZERO),
            Time::MAX => None,
            from => Some(from + self.period * u64::from(cycles)),
        }
    }

    /// Returns how many bursts of at most so many, the first of which would be on AW at `at` and the others each `pace` later, begin as if
    /// nothing held them back.
    pub(in crate::bus::axi) fn unhindered(&self, begin: Begin, at: Time, pace: Time, most: usize) -> usize {
        let mut path = self.clone();
        let is_next = |number: &usize| {
            let next = at + pace * *number as u64;
            let begins = path.earliest(begin).is_some_and(|earliest| earliest <= next);
            path.put(next);
            begins
        };
        (0..most).take_while(is_next).count()
    }

    /// Finds the times that are known by now, each once: what a grant lets go on makes room place by place, from the arbiter back to the lanes.
    fn advance(&mut self) {
        while self.is_waiting()
            && (self.request()
                | self.enter_behind()
                | self.enter_second()
                | self.enter_first()
                | self.enter_dmaif()
                | self.fill_lanes())
        {}
    }

    /// Returns true if something waits on the way to the arbiter.
    #[inline]
    fn is_waiting(&self) -> bool {
        !self.items.is_empty() || !self.data.is_empty()
    }

    /// Returns the item that is the next to get to a place, which so many have got to.
    #[inline]
    fn next(&self, count: usize) -> Option<&Item> {
        self.items.get(count - self.behind.count)
    }

    /// Has bursts whole in their lanes; returns true if one is.
    #[inline]
    fn fill_lanes(&mut self) -> bool {
        let before = self.whole_count;
        while let Some(item) = self.items.get_mut(self.whole_count - self.behind.count) {
            if !item.is_header {
                let free = self.lanes[item.lane];
                if free == Time::MAX {
                    break;
                }
                self.lanes[item.lane] = Time::MAX;
                item.whole = item.due.max(free).max(self.last[0] + self.pace);
                self.last[0] = item.whole;
                self.whole.push(if item.whole > item.due { item.whole } else { Time::ZERO });
            }
            self.whole_count += 1;
        }
        self.whole_count > before
    }

    /// Has items leave the engine for DMAIF; returns true if one does.
    #[inline]
    fn enter_dmaif(&mut self) -> bool {
        let before = self.dmaif.count;
        while self.dmaif.count < self.whole_count
            && let Some(&Item { is_header, lane, due, whole, .. }) = self.next(self.dmaif.count)
        {
            let Some(dmaif) = self.enters_dmaif(whole) else { break };
            let ready = whole.max(self.dmaif.at(self.dmaif.count - 1) + self.period);
            self.stalled += dmaif.since(ready);
            self.dmaif.push(dmaif);
            if !is_header {
                self.last[1] = dmaif;
                self.handed_over.push(if dmaif > due { dmaif } else { Time::ZERO });
                self.lanes[lane] = dmaif + self.period * u64::from(self.config.lanes.refill);
            }
        }
        self.dmaif.count > before
    }

    /// Returns the time at which the next item, which can be there from `from` on, enters DMAIF, if that is known: a register made by
    /// `eperl::pipe -is`, which holds two if the second is there in the very next cycle, or when one leaves.
    #[inline]
    fn enters_dmaif(&self, from: Time) -> Option<Time> {
        let (item, period) = (self.dmaif.count, self.period);
        let [before, earlier] = [self.first.at(item - 1), self.first.at(item - 2)];
        if earlier == Time::MAX {
            return None;
        }
        let before_it = self.dmaif.at(item - 1);
        if earlier + period <= before_it && from <= before_it + period {
            return Some(before_it + period);
        }
        let leaves = earlier + period * 2;
        if from <= leaves {
            return Some(leaves);
        }
        (before < Time::MAX).then(|| from.max(before + period * 2))
    }

    /// Has items enter pipe_p1; returns true if one does.
    #[inline]
    fn enter_first(&mut self) -> bool {
        self.first.pass(&self.dmaif, &self.second, self.config.register, self.period)
    }

    /// Has items enter pipe_p2; returns true if one does.
    #[inline]
    fn enter_second(&mut self) -> bool {
        self.second.pass(&self.first, &self.behind, self.config.register, self.period)
    }

    /// Has items enter pipe_p3 and the data FIFO; returns true if one does.
    #[inline]
    fn enter_behind(&mut self) -> bool {
        let before = self.behind.count;
        while self.behind.count < self.second.count
            && let Some(&Item { number, is_header, .. }) = self.items.front()
        {
            let (by, cycles) = match is_header {
                true => (1, self.config.header),
                false => (self.config.data, self.config.data),
            };
            let asked = self.requests.before(number, by);
            if asked == Time::MAX {
                break;
            }
            let (item, room) = (self.behind.count, asked + self.period * u64::from(cycles));
            let behind = self.second.at(item).max(self.behind.at(item - 1) + self.period).max(room);
            self.behind.push(behind);
            self.items.pop_front();
            if !is_header {
                self.data.push_back(behind);
            }
        }
        self.behind.count > before
    }

    /// Has bursts request the arbiter; returns true if one does.
    #[inline]
    fn request(&mut self) -> bool {
        let (period, commands, mut has_moved) = (self.period, self.config.commands, false);
        while let Some(&in_data) = self.data.front() {
            let number = self.requests.count;
            let granted = self.grants.before(number, commands);
            if granted == Time::MAX {
                break;
            }
            let command = self.requests.before(number, 1) + period * COMMAND_AND_DATA;
            self.requests.push(in_data.max(command).max(granted + period * u64::from(commands + 1)));
            self.data.pop_front();
            has_moved = true;
        }
        has_moved
    }

    /// Takes the time for which items have waited for a place in DMAIF.
    pub(in crate::bus::axi) fn take_stalled(&mut self) -> Time {
        std::mem::take(&mut self.stalled)
    }

    pub(in crate::bus::axi) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        at.at_rest(self.grants.count == self.put, "a write waits for the arbiter")?;
        // The times are past.
        at.value(&mut self.stalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::axi::write_path::WriteLanes;
    use proptest::prelude::*;

    const CYCLE: Time = Time::ns(1);

    /// Branch nv_small, SDP.
    const SMALL: WritePathConfig = WritePathConfig {
        register: 1,
        data: 4,
        header: 2,
        commands: 2,
        lanes: WriteLanes { count: 4, by_line: true, refill: 2 },
    };

    /// Returns the cycles at which bursts are granted of lines that begin at these cycles with so many bursts, one each `pace`, if the arbiter grants
    /// none before `free`, and one each cycle from then on.
    fn granted(config: WritePathConfig, lines: &[(u64, u64)], pace: u64, free: u64) -> Vec<u64> {
        let mut path = WritePath::new(CYCLE, config);
        path.set_pace(CYCLE * pace);
        for &(first, bursts) in lines {
            path.begin_line();
            (0..bursts).for_each(|burst| path.put(CYCLE * (first + burst * pace)));
        }
        let (mut granted, mut free) = (Vec::new(), CYCLE * free);
        while let Some(requests) = path.request_time() {
            let at = requests.max(free);
            path.granted(at);
            granted.push(at.cycles(CYCLE));
            free = at + CYCLE;
        }
        assert!(path.handed_over().is_some());
        assert_eq!(granted.len() as u64, lines.iter().map(|(_, bursts)| bursts).sum::<u64>());
        granted
    }

    /// Branch nv_small, CDP; `master`, PDP.
    const FIFO: WriteLanes = WriteLanes { count: 9, by_line: false, refill: 11 };
    const MASTER: WritePathConfig =
        WritePathConfig { register: 2, data: 2, header: 1, commands: 1, lanes: FIFO };

    #[test]
    fn bursts_that_nothing_holds_back_ask_in_time() {
        let times = |first: u64, pace: u64| (0..8).map(move |burst| first + burst * pace);
        let lines = [(100, 8), (164, 8)];
        let expected: Vec<u64> = times(100, 8).chain(times(164, 8)).collect();
        assert_eq!(granted(SMALL, &lines, 8, 0), expected);
        assert_eq!(granted(MASTER, &lines, 8, 0), expected);
    }

    #[test]
    fn a_client_requests_every_second_cycle() {
        let expected = [100, 102, 104, 106, 108, 200, 202, 204, 206, 208];
        assert_eq!(granted(WritePathConfig { lanes: FIFO, ..SMALL }, &[(100, 5), (200, 5)], 1, 0), expected);
        assert_eq!(granted(MASTER, &[(100, 5), (200, 5)], 1, 0), expected);
    }

    /// Two bursts request at once, as many as there are commands; then the data of each command comes behind it.
    #[test]
    fn what_has_waited_comes_as_the_registers_pass_it_on() {
        let lines = [(100, 8)];
        assert_eq!(granted(SMALL, &lines, 8, 1000), [1000, 1001, 1003, 1005, 1007, 1009, 1011, 1013]);
        assert_eq!(granted(MASTER, &lines, 8, 1000), [1000, 1002, 1004, 1006, 1008, 1010, 1012, 1014]);
    }

    /// The header enters pipe_p3 when the last beat of the line before has left the data FIFO, and its data comes behind.
    #[test]
    fn a_line_waits_for_the_one_before() {
        let lines = [(100, 2), (116, 2), (132, 2)];
        assert_eq!(granted(SMALL, &lines, 8, 1000), [1000, 1001, 1003, 1005, 1008, 1010]);
    }

    /// RTL, branch nv_small, SDP without a stage: where AW has taken one burst and stands, 16 of two lines of 8 are begun and not taken, four of
    /// them behind the arbiter.
    #[test]
    fn an_engine_begins_no_more_than_the_way_holds() {
        let begin = Begin::Whole { before: 3, cycles: 24 };
        let mut path = WritePath::new(CYCLE, SMALL);
        path.set_pace(CYCLE * 8);
        let (mut begun, mut granted) = (0, 0);
        while let Some(earliest) = path.earliest(begin) {
            assert_eq!(earliest, Time::ZERO, "nothing is known to hold it back");
            if begun % 8 == 0 {
                path.begin_line();
            }
            path.put(CYCLE * (100 + 8 * begun));
            begun += 1;
            if granted < 5
                && let Some(requests) = path.request_time()
            {
                path.granted(requests);
                granted += 1;
            }
        }
        assert_eq!((begun, granted), (16 + 1, 4 + 1));
        path.granted(CYCLE * 1000);
        assert!(path.earliest(begin).is_some_and(|earliest| earliest > CYCLE * 1000));
    }

    proptest! {
        /// Bursts that are put one by one, between the grants, go as those that are put at once.
        #[test]
        fn times_do_not_depend_on_when_they_are_asked_for(
            lines in prop::collection::vec((1u64..40, 1u64..12), 1..8),
            pace in 1u64..9,
            delays in prop::collection::vec(0u64..40, 96),
            by_turns in prop::collection::vec(any::<bool>(), 200),
            is_master in any::<bool>(),
        ) {
            let config = if is_master { MASTER } else { SMALL };
            let mut puts = Vec::new();
            let mut at = 100;
            for (gap, bursts) in lines {
                (0..bursts).for_each(|burst| puts.push((at + burst * pace, burst == 0)));
                at += bursts * pace + gap;
            }
            let run = |mut is_put: Box<dyn FnMut() -> bool>| {
                let mut path = WritePath::new(CYCLE, config);
                path.set_pace(CYCLE * pace);
                let (mut next, mut free, mut granted) = (0, 0, Vec::new());
                while granted.len() < puts.len() {
                    match path.request_time() {
                        Some(requests) if next == puts.len() || !is_put() => {
                            let at = requests.cycles(CYCLE).max(free) + delays[granted.len()];
                            path.granted(CYCLE * at);
                            granted.push(at);
                            free = at + 1;
                        }
                        _ => {
                            let (at, is_first) = puts[next];
                            if is_first {
                                path.begin_line();
                            }
                            path.put(CYCLE * at);
                            next += 1;
                        }
                    }
                }
                (granted, path.handed_over())
            };
            let mut turns = by_turns.into_iter().cycle();
            let mixed = run(Box::new(move || turns.next().unwrap_or(true)));
            prop_assert_eq!(mixed, run(Box::new(|| true)));
        }
    }
}
