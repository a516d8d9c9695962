//! Activity of a platform in a span of time, and what kept it from being done sooner.
//!
//! Three things have a pace of their own: the datapaths, what moves on reads, and what moves on writes. A moment at which
//! several of them are at work goes to the one that is at work longest in the span: it is the one that all wait for. A
//! moment at which none is goes to what is waited for: data of a read, the acknowledgement of a write, or the driver. Of the
//! datapaths, `pace` tells which one.

use super::pace::Datapaths;
use crate::activity::{Activity, Bound, Bounds, Moved};
use crate::bus::axi::AxiConfig;
use crate::memory::dram::DramWatch;
use crate::occupancy::{Occupancy, Spans};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::Time;
use vp_core::observe::{Kinds, Observation, Observer, Source, Stage, Transfer, Transfers, What};

/// One direction of an interface.
#[derive(Default)]
struct Direction {
    /// Bytes asked for since the last look.
    bytes: u64,
    outstanding: u64,
    /// Time since which something is outstanding.
    since: Time,
    /// Spans in which something was outstanding.
    pending: Spans,
    /// Spans in which data moved.
    moving: Spans,
}

impl Direction {
    #[inline]
    fn request(&mut self, time: Time, bytes: u32) {
        self.bytes += u64::from(bytes);
        if self.outstanding == 0 {
            self.since = time;
        }
        self.outstanding += 1;
    }

    #[inline]
    fn respond(&mut self, time: Time) {
        self.outstanding = self.outstanding.saturating_sub(1);
        if self.outstanding == 0 {
            self.pending.add(self.since, time);
        }
    }
}

/// Times at which a memory interface moved data, and at which something was outstanding there, from the transfers that it is told in their
/// order.
pub struct PortActivity {
    name: &'static str,
    source: Source,
    config: AxiConfig,
    /// Times at which a memory slower than the bus has moved all that it was asked for: of reads or of all, and of writes.
    memory_free: [Cell<Time>; 2],
    directions: [RefCell<Direction>; 2],
}

/// Activity of one direction of an interface in a span of time.
#[derive(Clone, Debug, Default)]
pub struct Moving {
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Spans in which data moved; what lies ahead is among it.
    pub moving: Spans,
    /// Spans in which something was outstanding.
    pub pending: Spans,
}

impl PortActivity {
    /// Of an interface that is a source, nothing of which is under way.
    pub fn new(name: &'static str, source: Source, config: &AxiConfig) -> PortActivity {
        let config = config.clone();
        PortActivity { name, source, config, memory_free: Default::default(), directions: Default::default() }
    }

    /// Begins anew, for an interface that was reset.
    pub fn restart(&self) {
        self.memory_free.iter().for_each(|free| free.set(Time::ZERO));
        self.directions.iter().for_each(|direction| drop(direction.take()));
    }

    /// A transfer has got so far.
    pub fn see(&self, time: Time, transfer: &Transfer) {
        let direction = &mut *self.directions[usize::from(transfer.write)].borrow_mut();
        match transfer.stage {
            Stage::Request => {
                direction.request(time, transfer.bytes);
                // As the interface has it: a memory with a rate moves one burst after the other.
                if let Some(rate) = self.config.bandwidth {
                    let free = &self.memory_free[usize::from(self.config.duplex && transfer.write)];
                    let from = time.max(free.get());
                    let bytes = u128::from(self.beats(transfer.bytes)) * u128::from(self.config.beat_bytes);
                    let span = Time::ps((bytes * 1_000_000_000_000 / u128::from(rate.max(1))) as u64);
                    free.set(from + span);
                    direction.moving.add(from, from + span);
                }
            }
            Stage::Data if self.config.bandwidth.is_none() => {
                // A read is told with its first beat, a write with its last.
                let span = self.config.period * self.beats(transfer.bytes);
                let from = if transfer.write { time.max(span) - span } else { time };
                direction.moving.add(from, from + span);
            }
            Stage::Data => {}
            Stage::Response => direction.respond(time),
        }
    }

    /// Returns the beats of so many bytes; the size of a beat is a power of two.
    #[inline]
    fn beats(&self, bytes: u32) -> u64 {
        let beat = self.config.beat_bytes;
        (u64::from(bytes) + u64::from(beat - 1)) >> beat.trailing_zeros()
    }
}

impl PortActivity {
    /// Returns what reads and writes did up to `until`, since the last call: what was told of later times stays for the next one.
    pub fn take(&self, until: Time) -> [Moving; 2] {
        [0, 1].map(|at| {
            let direction = &mut *self.directions[at].borrow_mut();
            if direction.outstanding > 0 && direction.since < until {
                direction.pending.add(direction.since, until);
                direction.since = until;
            }
            let (moving, pending) = (direction.moving.clone(), direction.pending.clone());
            direction.moving.forget(until);
            direction.pending.forget(until);
            Moving { bytes: std::mem::take(&mut direction.bytes), moving, pending }
        })
    }
}

impl Observer for PortActivity {
    fn wants(&self) -> Kinds {
        Kinds::TRANSFERS
    }

    fn observe(&self, observation: &Observation<'_>) {
        if let What::Transfer(transfer) = observation.what
            && observation.source == self.source
        {
            self.see(observation.time, &transfer);
        }
    }

    fn observe_transfers(&self, _: u64, source: Source, transfers: &Transfers<'_>) {
        if source != self.source {
            return;
        }
        // A memory with a rate moves reads and writes in the order in which they come.
        let is_in_order = self.config.bandwidth.is_some();
        if is_in_order || transfers.single().iter().any(|(_, transfer)| !transfer.write) {
            return transfers.iter().for_each(|(time, transfer)| self.see(time, &transfer));
        }
        transfers.single().iter().for_each(|(time, write)| self.see(*time, write));
        let reads = &mut *self.directions[0].borrow_mut();
        transfers.each_outstanding(|stage, read| match stage {
            Stage::Request => reads.request(read.requested, read.bytes),
            _ => reads.respond(read.last),
        });
        // Mostly one follows the other: of these only the whole span is added.
        let (mut from, mut until) = (Time::ZERO, Time::ZERO);
        for read in transfers.begun() {
            if read.first > until {
                reads.moving.add(from, until);
                from = read.first;
            }
            until = until.max(read.first + self.config.period * self.beats(read.bytes));
        }
        reads.moving.add(from, until);
    }
}

/// Watches a platform.
pub(super) struct Watch {
    pub(super) occupancy: Rc<Occupancy>,
    pub(super) ports: Vec<Rc<PortActivity>>,
    /// Counts of the DRAMs, by port.
    pub(super) drams: Vec<(&'static str, Rc<DramWatch>)>,
    /// Time at which it was last looked at.
    pub(super) since: Cell<Time>,
}

impl Watch {
    /// Begins anew, for a platform that was reset.
    pub(super) fn restart(&self, now: Time) {
        self.occupancy.restart();
        self.ports.iter().for_each(|port| port.restart());
        self.drams.iter().for_each(|(_, dram)| dram.restart(now));
        self.since.set(now);
    }

    /// Returns what was done since the last look.
    pub(super) fn take(&self, now: Time) -> Activity {
        let from = self.since.replace(now);
        let mut moved = Vec::new();
        let [mut reading, mut writing] = [(Spans::default(), Spans::default()), Default::default()];
        for port in &self.ports {
            let did = port.take(now);
            for (total, of) in [&mut reading, &mut writing].into_iter().zip(&did) {
                *total = (total.0.joined(&of.moving), total.1.joined(&of.pending));
            }
            moved.push(Moved { port: port.name, read: did[0].bytes, written: did[1].bytes });
        }
        let bounds = {
            let (busy, held) = (self.occupancy.spans(), self.occupancy.waits());
            bounds(from..now, &Datapaths { busy: &busy, held: &held }, &reading, &writing)
        };
        self.occupancy.forget(now);
        let drams = self.drams.iter().map(|(port, dram)| (*port, dram.take(now))).collect();
        Activity { from, until: now, bounds, moved, work: self.occupancy.take_work(), drams }
    }
}

/// Parts a span of time by what bounded it. Of reads and writes: when they moved data, and when some were outstanding.
fn bounds(
    span: std::ops::Range<Time>,
    datapaths: &Datapaths<'_>,
    (reads, reading): &(Spans, Spans),
    (writes, writing): &(Spans, Spans),
) -> Bounds {
    let whole = Spans::from(span.clone());
    let (mut bounds, mut computing) = (Bounds::default(), Spans::default());
    let busy = datapaths.busy();
    // Without a bound of its own: the datapaths'.
    let mut by_work = [(&busy, None), (reads, Some(Bound::ReadBandwidth)), (writes, Some(Bound::Write))];
    by_work.sort_by_cached_key(|(spans, _)| std::cmp::Reverse(spans.length_within(&span)));
    let waits = [(reading, Some(Bound::ReadLatency)), (writing, Some(Bound::Write))];
    let (mut rest, mut first) = (whole.clone(), span.end);
    for (spans, bound) in by_work.into_iter().chain(waits) {
        let (inside, outside) = rest.split(spans);
        first = first.min(inside.start().unwrap_or(span.end));
        match bound {
            Some(bound) => bounds[bound] += inside.length(),
            None => computing = inside,
        }
        rest = outside;
    }
    // Before anything moves the driver is at work; between and behind, what moves is inside the datapaths.
    let (before, inside) = rest.split(&Spans::from(span.start..first));
    bounds[Bound::Csb] += before.length();
    datapaths.part(&computing, &inside, &mut bounds);
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::Datapath;

    fn spans(pairs: &[(u64, u64)]) -> Spans {
        let mut spans = Spans::default();
        pairs.iter().for_each(|&(from, until)| spans.add(Time::ns(from), Time::ns(until)));
        spans
    }

    /// Compute, read latency, read bandwidth, write, CSB.
    fn parts(bounds: Bounds) -> [u64; 5] {
        let [latency, bandwidth, write, csb] =
            [Bound::ReadLatency, Bound::ReadBandwidth, Bound::Write, Bound::Csb].map(|bound| bounds[bound]);
        [bounds.compute(), latency, bandwidth, write, csb].map(|time| time.as_ps() / 1000)
    }

    /// Of a device whose array alone has work.
    fn bounds_of(array: &[(u64, u64)], reads: &(Spans, Spans), writes: &(Spans, Spans)) -> Bounds {
        let (mut busy, held) = <([Spans; Datapath::COUNT], _)>::default();
        busy[Datapath::Array as usize] = spans(array);
        bounds(Time::ns(0)..Time::ns(100), &Datapaths { busy: &busy, held: &held }, reads, writes)
    }

    #[test]
    fn a_moment_goes_to_what_is_at_work_longest() {
        let of = |datapaths: &[(u64, u64)], reads: &[(u64, u64)], reading: &[(u64, u64)]| {
            let reads = (spans(reads), spans(reading));
            parts(bounds_of(datapaths, &reads, &Default::default()))
        };
        assert_eq!(of(&[(20, 90)], &[(10, 40)], &[(5, 40)]), [80, 5, 10, 0, 5]);
        assert_eq!(of(&[(20, 30), (60, 70)], &[(10, 90)], &[(5, 90)]), [10, 5, 80, 0, 5]);
    }

    #[test]
    fn what_is_waited_for_bounds_where_nothing_is_at_work() {
        let (reads, writes) =
            ((spans(&[(30, 32)]), spans(&[(10, 32)])), (spans(&[(50, 54)]), spans(&[(48, 80)])));
        let of = bounds_of(&[(32, 48)], &reads, &writes);
        assert_eq!(parts(of), [16 + 20, 20, 2, 32, 10]);
        assert_eq!(of.total(), Time::ns(100));
    }
}
