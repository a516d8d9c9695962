//! Observers that a study puts beside a run: how long reads and writes took, and levels over time.

use super::measured::{Histogram, Levels};
use std::cell::RefCell;
use vp_core::Time;
use vp_core::observe::{Kinds, Observation, Observer, Source, Stage, What};

/// Latencies of the bursts of an interface.
pub(super) struct Latencies {
    source: Source,
    period: Time,
    /// The buckets of each direction.
    directions: RefCell<[Vec<Bucket>; 2]>,
}

/// Latencies that are near each other: the longest that was seen, and how many.
#[derive(Clone, Copy, Default)]
struct Bucket {
    longest: u64,
    count: u64,
}

impl Latencies {
    pub(super) fn new(source: Source, period: Time) -> Latencies {
        Latencies { source, period, directions: RefCell::default() }
    }

    /// Of reads and of writes.
    pub(super) fn histograms(&self) -> [Histogram; 2] {
        let directions = self.directions.borrow();
        [&directions[0], &directions[1]].map(|direction| {
            let seen = direction.iter().filter(|bucket| bucket.count > 0);
            Histogram(seen.map(|bucket| (bucket.longest, bucket.count)).collect())
        })
    }
}

/// Cycles that have a bucket each; from there a power of two has `PARTS` of them.
const EXACT: u64 = 32;
const PARTS: u64 = 16;

fn bucket(cycles: u64) -> usize {
    if cycles < EXACT {
        return cycles as usize;
    }
    let power = u64::from(cycles.ilog2());
    let part = (cycles >> (power - PARTS.ilog2() as u64)) - PARTS;
    (EXACT + (power - u64::from(EXACT.ilog2())) * PARTS + part) as usize
}

impl Observer for Latencies {
    fn wants(&self) -> Kinds {
        Kinds::TRANSFERS
    }

    fn observe(&self, observation: &Observation<'_>) {
        if let What::Transfer(transfer) = observation.what
            && observation.source == self.source
        {
            // A read's latency ends with its first data, a write's with its acknowledgement.
            let answered = if transfer.write { Stage::Response } else { Stage::Data };
            if transfer.stage == answered {
                let cycles = (observation.time - transfer.requested).cycles(self.period);
                let bucket = bucket(cycles);
                let buckets = &mut self.directions.borrow_mut()[usize::from(transfer.write)];
                if buckets.len() <= bucket {
                    buckets.resize(bucket + 1, Bucket::default());
                }
                let Bucket { longest, count } = &mut buckets[bucket];
                (*longest, *count) = (cycles.max(*longest), *count + 1);
            }
        }
    }
}

/// A level over time, in a number of spans that does not grow: their length does.
#[derive(Clone, Debug)]
pub(super) struct Gauge {
    span: u64,
    level: u64,
    since: u64,
    /// The level's integral over each span, and its maximum.
    spans: Vec<(u128, u64)>,
}

/// Spans at most; at least half as many are in use in the end.
const SPANS: usize = 512;

impl Gauge {
    pub(super) fn new(period: Time) -> Gauge {
        Gauge { span: period.as_ps().max(1), level: 0, since: 0, spans: Vec::new() }
    }

    /// The level is another from now on.
    pub(super) fn set(&mut self, time: Time, level: u64) {
        self.advance(time.as_ps());
        self.level = level;
        // A level that nothing follows at the same time has been there, however short.
        let at = (self.since / self.span) as usize;
        if let Some((_, most)) = self.spans.get_mut(at) {
            *most = (*most).max(level);
        }
    }

    pub(super) fn add(&mut self, time: Time, difference: i64) {
        self.set(time, self.level.saturating_add_signed(difference));
    }

    fn advance(&mut self, now: u64) {
        while now / self.span >= SPANS as u64 {
            self.double();
        }
        while self.since < now {
            let at = (self.since / self.span) as usize;
            if self.spans.len() <= at {
                self.spans.resize(at + 1, (0, 0));
            }
            let until = ((at as u64 + 1) * self.span).min(now);
            let (integral, most) = &mut self.spans[at];
            *integral += u128::from(self.level) * u128::from(until - self.since);
            *most = (*most).max(self.level);
            self.since = until;
        }
    }

    fn double(&mut self) {
        self.span *= 2;
        let both = |pair: &[(u128, u64)]| {
            pair.iter().fold((0, 0), |sum: (u128, u64), one| (sum.0 + one.0, sum.1.max(one.1)))
        };
        self.spans = self.spans.chunks(2).map(both).collect();
    }

    /// The level over time up to `end`, in spans of this length, which is one of its own times a power of two.
    pub(super) fn levels(mut self, name: &str, end: Time, span: u64) -> Levels {
        self.advance(end.as_ps());
        while self.span < span {
            self.double();
        }
        let mean = |(integral, _): &(u128, u64)| *integral as f64 / self.span as f64;
        Levels {
            name: name.to_owned(),
            means: self.spans.iter().map(|span| (mean(span) * 1e3).round() / 1e3).collect(),
            most: self.spans.iter().map(|(_, most)| *most).collect(),
        }
    }

    /// Returns the length of the gauge's spans if it is watched up to `end`.
    pub(super) fn span_at(&self, end: Time) -> u64 {
        let mut span = self.span;
        while end.as_ps() / span >= SPANS as u64 {
            span *= 2;
        }
        span
    }
}

/// Number of reads and writes that an interface has outstanding, over time.
pub(super) struct Outstanding {
    source: Source,
    gauges: RefCell<[Gauge; 2]>,
}

impl Outstanding {
    pub(super) fn new(source: Source, period: Time) -> Outstanding {
        Outstanding { source, gauges: RefCell::new([Gauge::new(period), Gauge::new(period)]) }
    }

    /// Of reads and of writes.
    pub(super) fn gauges(&self) -> [Gauge; 2] {
        self.gauges.borrow().clone()
    }
}

impl Observer for Outstanding {
    fn wants(&self) -> Kinds {
        Kinds::TRANSFERS
    }

    fn observe(&self, observation: &Observation<'_>) {
        if let What::Transfer(transfer) = observation.what
            && observation.source == self.source
        {
            let gauge = &mut self.gauges.borrow_mut()[usize::from(transfer.write)];
            match transfer.stage {
                Stage::Request => gauge.add(observation.time, 1),
                Stage::Response => gauge.add(observation.time, -1),
                Stage::Data => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first latency of a bucket.
    fn lower_end(bucket: usize) -> u64 {
        let bucket = bucket as u64;
        match bucket.checked_sub(EXACT) {
            None => bucket,
            Some(beyond) => {
                let power = beyond / PARTS + u64::from(EXACT.ilog2());
                (PARTS + beyond % PARTS) << (power - u64::from(PARTS.ilog2()))
            }
        }
    }
    use proptest::prelude::*;
    use vp_core::observe::{SourceKind, Transfer};

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        let mut last = 0;
        for cycles in 0..100_000 {
            let bucket = bucket(cycles);
            assert!(bucket == last || bucket == last + 1, "{cycles}");
            assert!(lower_end(bucket) <= cycles && cycles < lower_end(bucket + 1), "{cycles}");
            last = bucket;
        }
        // What people ask about has a bucket that begins with it.
        assert!(
            [10, 50, 100, 400, 1000]
                .into_iter()
                .filter(|it| *it <= 512)
                .all(|it| { lower_end(bucket(it)) >= it - it / 16 })
        );
    }

    #[test]
    fn a_latency_is_counted_when_the_first_data_comes() {
        let sim = vp_core::Simulation::new().sim();
        let source = sim.source("dbb0", SourceKind::Transfers);
        let latencies = std::rc::Rc::new(Latencies::new(source, Time::ns(1)));
        sim.observe(latencies.clone());
        let (request, data, response) = (Stage::Request, Stage::Data, Stage::Response);
        for (requested, time, stage, write) in [
            (0, 0, request, false),
            (1, 1, request, false),
            (2, 2, request, true),
            (0, 20, data, false),
            (1, 21, data, false),
            (0, 28, response, false),
            (2, 30, data, true),
            (2, 33, response, true),
        ] {
            let requested = Time::ns(requested);
            let transfer = Transfer { stage, write, id: 1, address: 0, bytes: 64, requested };
            sim.report_at(Time::ns(time), source, What::Transfer(transfer));
        }
        let [reads, writes] = latencies.histograms();
        assert_eq!((reads.0, writes.0), (vec![(20, 2)], vec![(31, 1)]));
    }

    proptest! {
        /// A gauge has the integral and the maximum of the plain list of levels, whatever its spans.
        #[test]
        fn a_gauge_loses_nothing(steps in prop::collection::vec((0u64..5000, 0u64..9), 1..40)) {
            let mut gauge = Gauge::new(Time::ps(1));
            let (mut now, mut level, mut integral, mut most) = (0, 0, 0, 0);
            for (after, next) in steps {
                integral += after * level;
                now += after;
                level = next;
                most = most.max(level);
                gauge.set(Time::ps(now), level);
            }
            integral += 7 * level;
            let end = Time::ps(now + 7);
            let span = gauge.span_at(end);
            let levels = gauge.levels("x", end, span);
            let sum: f64 = levels.means.iter().map(|mean| mean * span as f64).sum();
            prop_assert!((sum - integral as f64).abs() <= 0.001 * span as f64 * levels.means.len() as f64);
            prop_assert_eq!(levels.most.iter().copied().max().unwrap_or(0) <= most, true);
            prop_assert!(levels.means.len() <= SPANS);
        }
    }
}
