//! Transfers that a source reports together.

use super::{Stage, Transfer};
use crate::time::Time;
use std::ops::Range;

/// A read of which all times were known when it was on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledRead {
    /// Time at which its request is on the bus.
    pub requested: Time,
    /// Time of its first data.
    pub first: Time,
    /// Time at which it is over; not before the read in front of it.
    pub last: Time,
    /// True if its request was reported by itself.
    pub is_requested: bool,
    /// The bus client or identifier to which it belongs.
    pub id: u32,
    /// Length in bytes.
    pub bytes: u32,
    /// Byte address.
    pub address: u64,
}

impl ScheduledRead {
    /// Returns the read at one of its stages, with the time of that.
    #[inline]
    pub fn at(&self, stage: Stage) -> (Time, Transfer) {
        let ScheduledRead { requested, first, last, is_requested: _, id, bytes, address } = *self;
        let time = [requested, first, last][stage as usize];
        (time, Transfer { stage, write: false, id, address, bytes, requested })
    }
}

/// Transfers of one source that are reported together: what was seen as it happened, and reads of which all times were known,
/// stage by stage. Observers for which the order of stages does not matter take them so, the others in the order of time
/// ([`Transfers::iter`]).
///
/// ```
/// use vp_core::Time;
/// use vp_core::observe::{ScheduledRead, Stage, Transfers};
/// let read = |requested, first, last| ScheduledRead {
///     requested: Time::ns(requested),
///     first: Time::ns(first),
///     last: Time::ns(last),
///     is_requested: false,
///     id: 0,
///     bytes: 64,
///     address: 0x8000,
/// };
/// // Two are requested; one is over, and of the other the first data has come.
/// let reads = [read(0, 5, 8), read(6, 9, 12)];
/// let transfers = Transfers::new(&[], &reads, [0..2, 0..2, 0..1]);
/// let seen: Vec<(u64, Stage)> =
///     transfers.iter().map(|(time, transfer)| (time.as_ps() / 1000, transfer.stage)).collect();
/// let [request, data, response] = [Stage::Request, Stage::Data, Stage::Response];
/// assert_eq!(seen, [(0, request), (5, data), (6, request), (8, response), (9, data)]);
/// assert_eq!((transfers.requested().count(), transfers.begun().len(), transfers.ended().len()), (2, 2, 1));
/// assert!(transfers.single().is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct Transfers<'a> {
    single: &'a [(Time, Transfer)],
    reads: &'a [ScheduledRead],
    stages: [Range<usize>; 3],
}

impl<'a> Transfers<'a> {
    /// Transfers that were seen as they happened, in the order of time, and of some reads those that get to each stage.
    pub fn new(
        single: &'a [(Time, Transfer)],
        reads: &'a [ScheduledRead],
        stages: [Range<usize>; 3],
    ) -> Transfers<'a> {
        Transfers { single, reads, stages }
    }

    /// Returns the transfers that were seen as they happened, in the order of time.
    #[inline]
    pub fn single(&self) -> &'a [(Time, Transfer)] {
        self.single
    }

    /// Returns the other reads that are requested, in the order of time.
    #[inline]
    pub fn requested(&self) -> impl Iterator<Item = &'a ScheduledRead> + use<'a> {
        self.of(Stage::Request).iter().filter(|read| !read.is_requested)
    }

    /// Returns the other reads whose first data comes, in the order of time.
    #[inline]
    pub fn begun(&self) -> &'a [ScheduledRead] {
        self.of(Stage::Data)
    }

    /// Returns the other reads that are over, in the order of time.
    #[inline]
    pub fn ended(&self) -> &'a [ScheduledRead] {
        self.of(Stage::Response)
    }

    #[inline]
    fn of(&self, stage: Stage) -> &'a [ScheduledRead] {
        &self.reads[self.stages[stage as usize].clone()]
    }

    /// Passes on the requests and the ends of the other reads in the order of time. At one time requests are first.
    #[inline]
    pub fn each_outstanding(&self, mut see: impl FnMut(Stage, &ScheduledRead)) {
        let mut ended = self.ended().iter().peekable();
        for read in self.requested() {
            while let Some(ended) = ended.next_if(|ended| ended.last < read.requested) {
                see(Stage::Response, ended);
            }
            see(Stage::Request, read);
        }
        ended.for_each(|read| see(Stage::Response, read));
    }

    /// Returns all transfers in the order of time. At one time, those that end come before those that begin, but a read's
    /// own request before its data.
    pub fn iter(&self) -> InOrder<'a> {
        InOrder(self.clone())
    }
}

impl Transfers<'_> {
    /// Passes on all transfers in the order of time. Crates of observers have no copy of this loop, so it is as fast in those
    /// that are built without optimisation.
    pub(super) fn each(&self, see: &mut dyn FnMut(Time, Transfer)) {
        self.iter().for_each(|(time, transfer)| see(time, transfer));
    }
}

/// Transfers in the order of time; made by [`Transfers::iter`].
#[derive(Debug, Clone)]
pub struct InOrder<'a>(Transfers<'a>);

impl Iterator for InOrder<'_> {
    type Item = (Time, Transfer);

    fn next(&mut self) -> Option<(Time, Transfer)> {
        let Transfers { single, reads, stages: [requested, begun, ended] } = &mut self.0;
        while requested.start < requested.end && reads[requested.start].is_requested {
            requested.start += 1;
        }
        // A read begins after it was requested, and ends after it began.
        let request = reads[..requested.end].get(requested.start).map_or(Time::MAX, |read| read.requested);
        let begins = &reads[..begun.end.min(requested.start)];
        let begin = begins.get(begun.start);
        let first = begin.map_or(Time::MAX, |read| read.first);
        let ends = &reads[..ended.end.min(begun.start)];
        let last = ends.get(ended.start).map_or(Time::MAX, |read| read.last);
        let seen = single.first().map_or(Time::MAX, |(time, _)| *time);
        let next = last.min(first).min(request).min(seen);
        // Of what is seen at one time, the request of a read may be that of the one that begins.
        let is_own_request = next == seen && next == first && begin.is_some_and(|read| read.is_requested);
        let (range, stage) = match next {
            Time::MAX => return None,
            _ if is_own_request => return single.split_off_first().copied(),
            _ if next == last => (ended, Stage::Response),
            _ if next == first => (begun, Stage::Data),
            _ if next == request => (requested, Stage::Request),
            _ => return single.split_off_first().copied(),
        };
        range.start += 1;
        Some(reads[range.start - 1].at(stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_takes_no_time_is_requested_before_it_ends() {
        let at = Time::ns(3);
        let read = ScheduledRead {
            requested: at,
            first: at,
            last: at,
            is_requested: true,
            id: 1,
            bytes: 8,
            address: 0,
        };
        let (reads, single) = ([read], [read.at(Stage::Request)]);
        let stages = |transfers: Transfers<'_>| {
            transfers.iter().map(|(_, transfer)| transfer.stage).collect::<Vec<_>>()
        };
        let in_order = [Stage::Request, Stage::Data, Stage::Response];
        assert_eq!(stages(Transfers::new(&single, &reads, [0..1, 0..1, 0..1])), in_order);
        let reads = [ScheduledRead { is_requested: false, ..read }];
        let transfers = Transfers::new(&[], &reads, [0..1, 0..1, 0..1]);
        let mut outstanding = Vec::new();
        transfers.each_outstanding(|stage, _| outstanding.push(stage));
        assert_eq!(outstanding, [Stage::Request, Stage::Response]);
        assert_eq!(stages(transfers), in_order);
    }
}
