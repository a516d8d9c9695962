//! Things that observers can rely on: sources, joining and leaving, and the watermark.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use proptest::prelude::*;
use vp_core::observe::{
    BufferedSource, EventHash, Kinds, LevelUnit, Observation, Observer, ScheduledRead, Source, SourceInfo,
    SourceKind, Stage, Subscription, Transfer, Transfers, Warning, WarningMarks, What,
};
use vp_core::{Sim, Simulation, Time};

/// Notes all that it is told.
#[derive(Default)]
struct Noted {
    wants: Kinds,
    lines: RefCell<Vec<String>>,
}

impl Noted {
    fn new(wants: Kinds) -> Rc<Noted> {
        Rc::new(Noted { wants, lines: RefCell::default() })
    }

    fn take(&self) -> Vec<String> {
        self.lines.take()
    }

    fn note(&self, line: String) {
        self.lines.borrow_mut().push(line);
    }
}

impl Observer for Noted {
    fn wants(&self) -> Kinds {
        self.wants
    }

    fn announced(&self, source: Source, info: &SourceInfo) {
        self.note(format!("{} is {}", source.index(), info.name));
    }

    fn observe(&self, seen: &Observation<'_>) {
        self.note(format!("{} {:?}", seen.source.index(), seen.what));
    }

    fn complete_until(&self, watermark: Time) {
        self.note(format!("until {watermark}"));
    }
}

#[test]
fn who_joins_is_told_all_sources_in_order_and_then_each_new_one() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let noted = Noted::new(Kinds::NONE);
    sim.source("a", SourceKind::LINE);
    sim.source("b", SourceKind::Work);
    let subscription = sim.observe(noted.clone());
    sim.source("c", SourceKind::Transfers);
    assert_eq!(noted.take(), ["0 is a", "1 is b", "2 is c"]);
    // One that is there again is not another one.
    simulation.end_all();
    sim.source("b", SourceKind::Work);
    sim.source("b", SourceKind::Counts);
    assert_eq!(noted.take(), ["3 is b"]);
    subscription.cancel();
    sim.source("d", SourceKind::LINE);
    assert!(noted.take().is_empty());
}

#[test]
fn observers_are_told_what_they_want_and_nothing_else() {
    let sim = Simulation::new().sim();
    let (work, levels) = (Noted::new(Kinds::WORK | Kinds::WARNINGS), Noted::new(Kinds::LEVELS));
    let source = sim.source("a", SourceKind::Work);
    let watched = [work.clone(), levels.clone()].map(|noted| {
        let subscription = sim.observe(noted.clone());
        noted.take();
        subscription
    });
    assert!(sim.is_observed(Kinds::LEVELS) && !sim.is_observed(Kinds::COUNTS | Kinds::TRANSFERS));
    sim.report(source, What::Begin { label: "x", id: 1 });
    sim.report(source, What::Level(3));
    sim.report(source, What::Warning(Warning::Once("w")));
    sim.report(source, What::Count { label: "y", value: 0 });
    assert_eq!(work.take(), ["0 Begin { label: \"x\", id: 1 }", "0 Warning(Once(\"w\"))"]);
    assert_eq!(levels.take(), ["0 Level(3)"]);
    let [work, levels] = watched;
    levels.cancel();
    assert!(sim.is_observed(Kinds::WORK) && !sim.is_observed(Kinds::LEVELS));
    work.cancel();
    assert!(!sim.is_observed(Kinds::ALL));
}

#[test]
fn marks_of_a_warning_are_not_part_of_the_event_hash() {
    let hash_of = |warning| {
        let sim = Simulation::new().sim();
        let hash = Rc::new(EventHash::default());
        sim.observe(hash.clone());
        sim.report(sim.source("a", SourceKind::Work), What::Warning(warning));
        hash.value()
    };
    let marked = |text| Warning::Marked { marks: WarningMarks { refused: true, lacking: true }, text };
    assert_eq!(hash_of(marked("w")), hash_of(Warning::Once("w")));
    assert_ne!(hash_of(marked("w")), hash_of(marked("v")));
}

#[test]
fn transfers_that_are_reported_together_are_observed_as_those_that_are_reported_one_by_one() {
    let read = |requested, first, last| ScheduledRead {
        requested: Time::ns(requested),
        first: Time::ns(first),
        last: Time::ns(last),
        is_requested: false,
        id: 1,
        bytes: 64,
        address: 0x40,
    };
    let reads = [read(2, 5, 9), read(3, 10, 12)];
    let requested = Time::ns(4);
    let write = Transfer { stage: Stage::Request, write: true, id: 2, address: 0x80, bytes: 32, requested };
    let single = [(requested, write), (Time::ns(8), Transfer { stage: Stage::Data, ..write })];
    let transfers = Transfers::new(&single, &reads, [0..2, 0..2, 0..1]);
    let observed = |report: fn(&Sim, Source, &Transfers<'_>)| {
        let sim = Simulation::new().sim();
        let source = sim.source("bus", SourceKind::Transfers);
        let [noted, levels] = [Kinds::TRANSFERS, Kinds::LEVELS].map(Noted::new);
        let hash = Rc::new(EventHash::default());
        for noted in [&noted, &levels] {
            sim.observe(noted.clone());
            noted.take();
        }
        sim.observe(hash.clone());
        report(&sim, source, &transfers);
        assert!(levels.take().is_empty());
        (noted.take(), hash.value(), hash.count())
    };
    let together = observed(Sim::report_transfers);
    let single = observed(|sim, source, transfers| {
        transfers.iter().for_each(|(time, transfer)| sim.report_at(time, source, What::Transfer(transfer)));
    });
    assert_eq!(together, single);
    assert_eq!((together.0.len(), together.2), (7, 7));
}

/// Leaves at the first thing that it is told, and has another one join.
struct Fleeting(Sim, Cell<Option<Subscription>>, Rc<Noted>, Cell<u32>);

impl Observer for Fleeting {
    fn observe(&self, _: &Observation<'_>) {
        self.3.set(self.3.get() + 1);
        if let Some(subscription) = self.1.take() {
            subscription.cancel();
            self.0.observe(self.2.clone());
        }
    }
}

#[test]
fn observers_may_leave_and_join_while_they_are_told() {
    let sim = Simulation::new().sim();
    let source = sim.source("a", SourceKind::LINE);
    let [joins, stays] = [Kinds::LEVELS; 2].map(Noted::new);
    let fleeting = Rc::new(Fleeting(sim.clone(), Cell::default(), joins.clone(), Cell::new(0)));
    fleeting.1.set(Some(sim.observe(fleeting.clone())));
    sim.observe(stays.clone());
    stays.take();
    sim.report(source, What::Level(1));
    sim.report(source, What::Level(0));
    assert_eq!(fleeting.3.get(), 1);
    assert_eq!(stays.take(), ["0 Level(1)", "0 Level(0)"]);
    assert_eq!(joins.take(), ["0 is a", "0 Level(0)"]);
}

/// Reports up to `most` levels together.
struct Late {
    sim: Sim,
    source: Source,
    most: usize,
    untold: RefCell<VecDeque<(Time, u64)>>,
}

impl Late {
    fn new(sim: &Sim, name: &str, most: usize) -> Rc<Late> {
        let source = sim.source(name.to_owned(), SourceKind::Level { bits: 64, unit: LevelUnit::None });
        let late = Rc::new(Late { sim: sim.clone(), source, most, untold: RefCell::default() });
        sim.add_buffered(&late);
        late
    }

    /// Something that is seen so much later is known now.
    fn expect(&self, after: Time, level: u64) {
        if self.sim.is_observed(Kinds::LEVELS) {
            let last = self.untold.borrow().back().map_or(Time::ZERO, |&(time, _)| time);
            let time = (self.sim.now() + after).max(last);
            self.untold.borrow_mut().push_back((time, level));
            if self.untold.borrow().len() > self.most {
                self.flush(self.sim.now());
            }
        }
    }
}

impl BufferedSource for Late {
    fn told_until(&self) -> Time {
        self.untold.borrow().front().map_or(Time::MAX, |&(time, _)| time)
    }

    fn flush(&self, now: Time) {
        while self.told_until() <= now
            && let Some((time, level)) = { self.untold.borrow_mut().pop_front() }
        {
            self.sim.report_at(time, self.source, What::Level(level));
        }
    }
}

#[test]
fn who_joins_is_not_told_of_before_and_who_leaves_is_told_all_until_then() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let late = Late::new(&sim, "late", 9);
    let [first, second] = [Kinds::LEVELS; 2].map(Noted::new);
    let subscription = sim.observe(first.clone());
    first.take();
    let joins = second.clone();
    sim.clone().process("p", async move {
        late.expect(Time::ZERO, 1);
        sim.wait(Time::ns(5)).await;
        sim.observe(joins);
        late.expect(Time::ZERO, 2);
        sim.wait(Time::ns(5)).await;
        subscription.cancel();
        late.expect(Time::ZERO, 3);
        sim.flush_observers();
    });
    simulation.run();
    assert_eq!(first.take(), ["0 Level(1)", "0 Level(2)"]);
    assert_eq!(second.take(), ["0 is late", "0 Level(2)", "0 Level(3)"]);
}

#[test]
fn the_watermark_stands_where_a_source_keeps_something_back() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let late = Late::new(&sim, "late", 9);
    let noted = Noted::new(Kinds::LEVELS | Kinds::WATERMARKS);
    sim.observe(noted.clone());
    noted.take();
    let clock = sim.clone();
    sim.process("p", async move {
        clock.wait(Time::ns(2)).await;
        clock.wait(Time::ns(1)).await;
        late.expect(Time::ZERO, 1);
        late.expect(Time::ns(20), 2);
        clock.wait(Time::ns(4)).await;
        clock.wait(Time::ns(4)).await;
        clock.flush_observers();
        clock.flush_observers();
        clock.wait(Time::MAX - clock.now()).await;
        drop(late);
    });
    simulation.run_until(Time::ns(15));
    let seen = ["until 2 ns", "until 3 ns", "0 Level(1)", "until 11 ns", "until 11 ns", "until 15 ns"];
    assert_eq!(noted.take(), seen);
    // What is known, and has not been seen yet, is in nobody's way.
    simulation.run_until(Time::ns(30));
    assert_eq!(noted.take(), ["0 Level(2)", "until 30 ns"]);
}

/// Puts what it is told in the order of time, and gives out what is complete.
#[derive(Default)]
struct Sorted {
    kept: RefCell<Vec<(Time, usize, u64)>>,
    released: RefCell<Vec<(Time, usize, u64)>>,
    watermark: Cell<Time>,
}

impl Observer for Sorted {
    fn wants(&self) -> Kinds {
        Kinds::ALL | Kinds::WATERMARKS
    }

    fn observe(&self, seen: &Observation<'_>) {
        assert!(seen.time >= self.watermark.get(), "{} after {}", seen.time, self.watermark.get());
        let What::Level(level) = seen.what else { return };
        self.kept.borrow_mut().push((seen.time, seen.source.index(), level));
    }

    fn complete_until(&self, watermark: Time) {
        assert!(watermark >= self.watermark.replace(watermark));
        let mut kept = self.kept.borrow_mut();
        kept.sort_by_key(|&(time, ..)| time);
        let complete = kept.partition_point(|&(time, ..)| time <= watermark);
        self.released.borrow_mut().extend(kept.drain(..complete));
    }
}

/// Step of a model: it waits so long, then sees something so much later; and flushes all, or not.
type Step = (u64, u64, bool);

/// Runs models, in pieces of so many picoseconds; gives all that was seen, in the order of time, and its hash.
fn sorted(models: &[(usize, Vec<Step>)], piece: u64) -> (Vec<(Time, usize, u64)>, u64) {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let (sorted, hash) = (Rc::new(Sorted::default()), Rc::new(EventHash::default()));
    sim.observe(sorted.clone());
    sim.observe(hash.clone());
    let mut all = Vec::new();
    for (number, (most, steps)) in models.iter().cloned().enumerate() {
        let late = Late::new(&sim, &format!("model{number}"), most);
        all.push(late.clone());
        let sim = sim.clone();
        sim.clone().process("model", async move {
            for (level, (wait, after, flush)) in steps.into_iter().enumerate() {
                // As models do that move time on by themselves.
                let until = sim.now() + Time::ps(wait);
                if !sim.advance(until) {
                    sim.wait_until(until).await;
                }
                late.expect(Time::ps(after), level as u64);
                if flush {
                    sim.flush_observers();
                }
            }
        });
    }
    let end = Time::ps(1000);
    while simulation.now() < end {
        let until = (simulation.now() + Time::ps(piece)).min(end);
        simulation.run_until(until);
        assert_eq!(sorted.watermark.get(), until);
        assert!(sorted.kept.borrow().is_empty());
    }
    let mut released = sorted.released.take();
    assert!(released.is_sorted_by_key(|&(time, ..)| time));
    released.sort();
    (released, hash.value())
}

proptest! {
    /// However late sources tell: what was released up to the watermark is complete, and a flush releases everything.
    #[test]
    fn nothing_comes_that_is_earlier_than_the_watermark(
        models in prop::collection::vec(
            (0usize..6, prop::collection::vec((0u64..9, 0u64..20, prop::bool::weighted(0.1)), 0..30)),
            1..5,
        ),
        piece in 1u64..400,
    ) {
        let seen = sorted(&models, piece);
        prop_assert_eq!(seen.0.len(), models.iter().map(|(_, steps)| steps.len()).sum::<usize>());
        prop_assert_eq!(seen, sorted(&models, 1000));
    }
}
