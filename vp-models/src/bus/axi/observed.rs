//! Observations of an interface that its observers have not been told yet.

use super::{Burst, Unmapped};
use std::cell::RefCell;
use vp_core::observe::{Kinds, Source, Stage, Transfer, Warning, What};
use vp_core::{Sim, Time};

/// The transfers of an interface, reported in order of time, several at once. At one time, those that end come
/// before those that begin.
pub(super) struct Observed {
    sim: Sim,
    source: Source,
    untold: RefCell<PendingReports>,
}

#[derive(Default)]
struct PendingReports {
    /// Transfers that are seen as they happen, each with its time.
    single: Vec<(Time, Transfer)>,
    /// Reads for which it is known when their data will be on the bus, in that order.
    reads: Vec<Read>,
    /// Numbers of these reads whose request, beginning and end were reported.
    told: [usize; 3],
}

/// A read with all its times.
struct Read {
    requested: Time,
    first: Time,
    last: Time,
    /// True if the read's request was reported when it was made.
    is_asked: bool,
    id: u32,
    bytes: u32,
    address: u64,
}

impl Read {
    fn at(&self, stage: Stage) -> Transfer {
        let Read { requested, id, address, bytes, .. } = *self;
        Transfer { stage, write: false, id, address, bytes, requested }
    }
}

/// About how many transfers are reported at once.
const MOST: usize = 256;

impl Observed {
    pub(super) fn new(sim: &Sim, source: Source) -> Observed {
        Observed { sim: sim.clone(), source, untold: RefCell::default() }
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
            let single = &mut self.untold.borrow_mut().single;
            single.push((now, Transfer { stage, write, id, address, bytes, requested }));
        }
    }

    /// A burst is asked for at `requested`, if that was not seen already (`is_asked`), and its data is on the bus from `first`
    /// to `last`, after that of all reads before.
    #[inline]
    pub(super) fn expect(&self, requested: Time, is_asked: bool, first: Time, last: Time, burst: &Burst) {
        if self.sim.is_observed(Kinds::TRANSFERS) {
            let reads = &mut self.untold.borrow_mut().reads;
            // Nothing of it is seen before the same of the read before.
            let (first, last) = match reads.last() {
                Some(before) => (first.max(before.first), last.max(before.last)),
                None => (first, last),
            };
            let Burst { id, address, bytes, .. } = *burst;
            reads.push(Read { requested, first, last, is_asked, id, bytes, address });
        }
    }

    /// Returns the time at which the next expected event will be seen; [`Time::MAX`] if none is expected.
    pub(super) fn due(&self) -> Time {
        self.untold.borrow().due()
    }

    /// Nothing earlier will be reported; [`Time::MAX`] if everything has been reported.
    pub(super) fn told_until(&self) -> Time {
        let untold = &*self.untold.borrow();
        let single = untold.single.first().map_or(Time::MAX, |&(time, _)| time);
        let asked = untold.reads[untold.told[0]..].iter().find(|read| !read.is_asked);
        single.min(asked.map_or(Time::MAX, |read| read.requested)).min(untold.due())
    }

    /// Memory did not serve a client's burst; `became` says what that means for its data.
    pub(super) fn refused(&self, now: Time, client: &str, write: bool, refused: &Unmapped, became: &str) {
        if self.sim.is_observed(Kinds::WARNINGS) {
            self.tell(now);
            let Unmapped { address, bytes, ref why } = *refused;
            let text = &format!("not served: {why}; {became}");
            let warning = Warning::Access { client, write, address, bytes, text };
            self.sim.report(self.source, What::Warning(warning));
        }
    }

    /// Tells the observers what has been seen by now, if that is much.
    #[inline]
    pub(super) fn report_many(&self, now: Time) {
        let untold = self.untold.borrow();
        if untold.single.len() >= MOST || untold.reads.len() - untold.told[0] >= MOST {
            drop(untold);
            self.tell(now);
        }
    }

    /// Tells the observers what has been seen by now.
    pub(super) fn tell(&self, now: Time) {
        // Nothing is added meanwhile: observers look on.
        let mut untold = self.untold.take();
        untold.tell(now, |time, transfer| self.sim.report_at(time, self.source, What::Transfer(transfer)));
        self.untold.replace(untold);
    }
}

impl PendingReports {
    fn due(&self) -> Time {
        let [_, begun, over] = self.told;
        let first = self.reads.get(begun).map_or(Time::MAX, |read| read.first);
        let last = self.reads[..begun].get(over).map_or(Time::MAX, |read| read.last);
        first.min(last)
    }

    /// Tells what is up to `now`.
    fn tell(&mut self, now: Time, report: impl Fn(Time, Transfer)) {
        let PendingReports { single, reads, told: [asked, begun, over] } = self;
        let at = |read: Option<&Read>, of: fn(&Read) -> Time| read.map_or(Time::MAX, of);
        let mut seen = single.iter().peekable();
        loop {
            while reads.get(*asked).is_some_and(|read| read.is_asked) {
                *asked += 1;
            }
            let requested = at(reads.get(*asked), |read| read.requested);
            // A read begins after it was asked for, and ends after it began.
            let first = at(reads[..*asked].get(*begun), |read| read.first);
            let last = at(reads[..*begun].get(*over), |read| read.last);
            let single = seen.peek().map_or(Time::MAX, |(time, _)| *time);
            let next = last.min(first).min(requested).min(single);
            if next > now || next == Time::MAX {
                break;
            }
            // Of what is seen at one time, the request of a read may be that of the one that begins.
            let is_own_request = next == single && next == first && reads[*begun].is_asked;
            if !is_own_request && next == last {
                report(next, reads[*over].at(Stage::Response));
                *over += 1;
            } else if !is_own_request && next == first {
                report(next, reads[*begun].at(Stage::Data));
                *begun += 1;
            } else if !is_own_request && next == requested {
                report(next, reads[*asked].at(Stage::Request));
                *asked += 1;
            } else if let Some((time, transfer)) = seen.next() {
                report(*time, *transfer);
            }
        }
        let left = seen.len();
        single.drain(..single.len() - left);
        // Those that are over are not worth moving the others for each time.
        let over = *over;
        if over == reads.len() || over >= MOST.max(reads.len() - over) {
            reads.drain(..over);
            self.told = self.told.map(|told| told - over);
        }
    }
}
