//! What an interface has done and its observers have not been told yet.

use super::{Burst, Unmapped};
use vp_core::observe::{Read, Source, Stage, Transfer, Transfers, Warning, What};
use vp_core::{Sim, Time};

/// Transfers are told several at once, before anybody else runs: so observers hear of everything in its order.
pub(super) struct Observed {
    sim: Sim,
    source: Source,
    /// What is seen as it happens.
    single: Vec<(Time, Transfer)>,
    /// Reads of which it is known when their data will be on the bus, in that order…
    reads: Vec<Read>,
    /// …and how many of them were told to be asked for, to have begun, and to be over.
    told: [usize; 3],
}

/// Transfers that are told at once, more or less.
const MOST: usize = 256;

impl Observed {
    pub(super) fn new(sim: &Sim, source: Source) -> Observed {
        Observed { sim: sim.clone(), source, single: Vec::new(), reads: Vec::new(), told: [0; 3] }
    }

    /// A burst has got so far.
    #[inline]
    pub(super) fn see(&mut self, now: Time, stage: Stage, write: bool, burst: &Burst) {
        if self.sim.is_observed() {
            let Burst { id, address, bytes, .. } = *burst;
            self.single.push((now, Transfer { stage, write, id, address, bytes }));
            if self.single.len() >= MOST {
                self.tell(now);
            }
        }
    }

    /// A burst is asked for at `requested`, if that was not `told` already, and its data is on the bus from `first` to
    /// `last`, after that of all reads before.
    #[inline]
    pub(super) fn expect(&mut self, requested: Time, told: bool, first: Time, last: Time, burst: &Burst) {
        if self.sim.is_observed() {
            // Nothing of it is seen before the same of the read before.
            let (first, last) = match self.reads.last() {
                Some(before) => (first.max(before.first), last.max(before.last)),
                None => (first, last),
            };
            let Burst { id, address, bytes, .. } = *burst;
            self.reads.push(Read { requested, first, last, told, id, bytes, address });
            if self.reads.len() - self.told[0] >= MOST && !told {
                self.tell(requested);
            }
        }
    }

    /// When the next of what is expected will be seen; [`Time::MAX`] if nothing is.
    pub(super) fn due(&self) -> Time {
        let [_, begun, over] = self.told;
        let first = self.reads.get(begun).map_or(Time::MAX, |read| read.first);
        let last = self.reads[..begun].get(over).map_or(Time::MAX, |read| read.last);
        first.min(last)
    }

    /// Memory did not serve a client's burst; `became` says what that means for its data.
    pub(super) fn refused(&mut self, now: Time, client: &str, write: bool, refused: &Unmapped, became: &str) {
        self.tell(now);
        let Unmapped { address, bytes, ref why } = *refused;
        let text = format!("no memory there: {why}; {became}");
        self.sim.report(
            self.source,
            What::Warning(Warning::Access { client, write, address, bytes, text: &text }),
        );
    }

    /// Tells the observers what has been seen by now.
    pub(super) fn tell(&mut self, now: Time) {
        let [asked, begun, over] = self.told;
        let reads = &self.reads[..];
        let begins = begun + reads[begun..].partition_point(|read| read.first <= now);
        let ends = over + reads[over..begins].partition_point(|read| read.last <= now);
        if self.single.is_empty() && [asked, begun, over] == [reads.len(), begins, ends] {
            return;
        }
        let ranges = [asked..reads.len(), begun..begins, over..ends];
        self.sim.report_transfers(self.source, &Transfers::new(&self.single, reads, ranges));
        self.single.clear();
        self.told = [reads.len(), begins, ends];
        // Those that are over are not worth moving the others for each time.
        if ends == self.reads.len() || ends >= MOST.max(self.reads.len() - ends) {
            self.reads.drain(..ends);
            self.told = self.told.map(|told| told - ends);
        }
    }
}
