//! Transfers of an interface that are not yet reported to its observers.

use super::{Burst, Unmapped};
use std::cell::RefCell;
use std::ops::Range;
use vp_core::observe::{Kinds, ScheduledRead, Source, Stage, Transfer, Transfers, Warning, What};
use vp_core::{Sim, Time};

/// The transfers of an interface, reported several at once.
pub(super) struct Observed {
    sim: Sim,
    source: Source,
    pending: RefCell<PendingReports>,
}

#[derive(Default)]
struct PendingReports {
    /// Transfers that are seen as they happen, each with its time.
    single: Vec<(Time, Transfer)>,
    /// Reads for which it is known when their data will be on the bus, in that order.
    reads: Vec<ScheduledRead>,
    /// Numbers of these reads whose request, beginning and end were reported.
    reported: [usize; 3],
    /// Numbers of these reads that had begun and ended when the next event was last asked for.
    passed: [usize; 2],
}

/// About how many transfers are reported at once.
const MOST: usize = 256;

impl Observed {
    pub(super) fn new(sim: &Sim, source: Source) -> Observed {
        Observed { sim: sim.clone(), source, pending: RefCell::default() }
    }

    /// Returns the source as which transfers are reported.
    pub(super) fn source(&self) -> Source {
        self.source
    }

    /// A burst that was asked for at `requested` has got so far.
    #[inline]
    pub(super) fn see(&self, now: Time, stage: Stage, write: bool, requested: Time, burst: &Burst) {
        if self.sim.is_observed(Kinds::TRANSFERS) {
            let Burst { id, address, bytes, .. } = *burst;
            let single = &mut self.pending.borrow_mut().single;
            single.push((now, Transfer { stage, write, id, address, bytes, requested }));
        }
    }

    /// A burst is asked for at `requested`, if that was not seen already (`is_asked`), and its data is on the bus from `first`
    /// to `last`, after that of all reads before.
    #[inline]
    pub(super) fn expect(&self, requested: Time, is_asked: bool, first: Time, last: Time, burst: &Burst) {
        if self.sim.is_observed(Kinds::TRANSFERS) {
            let reads = &mut self.pending.borrow_mut().reads;
            // Nothing of it is seen before the same of the read before.
            let (first, last) = match reads.last() {
                Some(before) => (first.max(before.first), last.max(before.last)),
                None => (first, last),
            };
            let Burst { id, address, bytes, .. } = *burst;
            reads.push(ScheduledRead { requested, first, last, is_requested: is_asked, id, bytes, address });
        }
    }

    /// Returns the time before which everything has been reported; [`Time::MAX`] if everything has been reported.
    pub(super) fn reported_until(&self) -> Time {
        let pending = &*self.pending.borrow();
        let single = pending.single.first().map_or(Time::MAX, |&(time, _)| time);
        let asked = pending.reads[pending.reported[0]..].iter().find(|read| !read.is_requested);
        let [_, begun, over] = pending.reported;
        let first = pending.reads.get(begun).map_or(Time::MAX, |read| read.first);
        let last = pending.reads[..begun].get(over).map_or(Time::MAX, |read| read.last);
        single.min(asked.map_or(Time::MAX, |read| read.requested)).min(first).min(last)
    }

    /// Memory did not serve a client's burst; `became` says what that means for its data.
    pub(super) fn refused(&self, now: Time, client: &str, write: bool, refused: &Unmapped, became: &str) {
        if self.sim.is_observed(Kinds::WARNINGS) {
            self.report(now);
            let Unmapped { address, bytes, ref why } = *refused;
            let text = &format!("not served: {why}; {became}");
            let warning = Warning::Access { client, write, address, bytes, text };
            self.sim.report(self.source, What::Warning(warning));
        }
    }

    /// Tells the observers what has been seen by now before another process runs, if one of them waits for that, and else if it
    /// is much. Returns the time at which the next expected event will be seen; [`Time::MAX`] if none is expected.
    pub(super) fn report_awaited(&self, now: Time) -> Time {
        if self.sim.is_observed(Kinds::PROMPT | Kinds::WATERMARKS) {
            self.report(now);
        } else {
            self.report_many(now);
        }
        self.pending.borrow_mut().due(now)
    }

    /// Tells the observers what has been seen by now, if that is much.
    #[inline]
    pub(super) fn report_many(&self, now: Time) {
        let pending = self.pending.borrow();
        if pending.single.len() >= MOST || pending.reads.len() - pending.reported[0] >= MOST {
            drop(pending);
            self.report(now);
        }
    }

    /// Tells the observers what has been seen by now.
    pub(super) fn report(&self, now: Time) {
        // Nothing is added meanwhile: observers look on.
        let mut pending = self.pending.take();
        pending.report(now, |transfers| self.sim.report_transfers(self.source, transfers));
        self.pending.replace(pending);
    }
}

impl PendingReports {
    fn due(&mut self, now: Time) -> Time {
        let PendingReports { reads, passed: [begun, over], .. } = self;
        while reads.get(*begun).is_some_and(|read| read.first <= now) {
            *begun += 1;
        }
        while reads[..*begun].get(*over).is_some_and(|read| read.last <= now) {
            *over += 1;
        }
        let first = reads.get(*begun).map_or(Time::MAX, |read| read.first);
        let last = reads[..*begun].get(*over).map_or(Time::MAX, |read| read.last);
        first.min(last)
    }

    /// Reports what is up to `now`.
    fn report(&mut self, now: Time, report: impl FnOnce(&Transfers<'_>)) {
        let PendingReports { single, reads, reported: [asked, begun, over], .. } = self;
        let singles = single.partition_point(|(time, _)| *time <= now);
        // A read begins after it was asked for, and ends after it began.
        let is_asked = |read: &&ScheduledRead| read.is_requested || read.requested <= now;
        let asks = *asked + reads[*asked..].iter().take_while(is_asked).count();
        let begins = *begun + reads[*begun..asks].partition_point(|read| read.first <= now);
        let ends = *over + reads[*over..begins].partition_point(|read| read.last <= now);
        let stages = [*asked..asks, *begun..begins, *over..ends];
        if singles == 0 && stages.iter().all(Range::is_empty) {
            return;
        }
        report(&Transfers::new(&single[..singles], reads, stages));
        single.drain(..singles);
        self.reported = [asks, begins, ends];
        // Those that are over are not worth moving the others for each time.
        if ends == reads.len() || ends >= MOST.max(reads.len() - ends) {
            reads.drain(..ends);
            self.reported = self.reported.map(|number| number - ends);
            self.passed = self.passed.map(|passed| passed.saturating_sub(ends));
        }
    }
}
