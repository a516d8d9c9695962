//! The arbiter of reads and the channel behind it: reads that are chosen, on the bus, in flight, and on their
//! way back.

use super::pins::{Driving, Queued};
use super::run::Granting;
use crate::bus::axi::latency::LatencySource;
use crate::bus::axi::outstanding::{Beats, Outstanding};
use crate::bus::axi::read_pipeline::{Chosen, ReadPipeline};
use crate::bus::axi::turn::WeightedRoundRobin;
use crate::bus::axi::{Answer, Burst};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use vp_core::Time;

/// A read accepted by the memory and not yet handed back.
#[derive(Clone, Copy)]
pub(super) struct InFlight {
    pub(super) burst: Burst,
    pub(super) client: usize,
    /// Time at which the burst was asked for.
    pub(super) requested: Time,
    /// Time at which its first beat is on the bus.
    pub(super) first: Time,
    /// Time at which its last beat should be on the bus.
    pub(super) last: Time,
    /// Place of the read's data among its client's.
    pub(super) place: u64,
    /// True if that data is at its place already.
    pub(super) placed: bool,
    /// Generation of the master outside that has asked for it, if one has.
    pub(super) generation: u32,
}

/// A read that a memory with a time of its own has been given.
pub(super) struct TimedRead {
    pub(super) tag: u64,
    pub(super) read: InFlight,
    pub(super) answer: Option<Answer<Vec<u8>>>,
    pub(super) served: bool,
}

/// The arbiter and what is behind it.
pub(super) struct Channel {
    pub(super) turn: WeightedRoundRobin,
    /// Reads that are chosen and not on AR.
    pub(super) pipeline: ReadPipeline,
    pub(super) outstanding: Outstanding,
    /// Beats of reads asked for, as the device counts them.
    pub(super) beats: Beats,
    pub(super) latency: LatencySource,
    /// Time at which the data bus is free for the next beat.
    pub(super) bus_free: Time,
    /// Time at which the memory has moved all it was asked to; shared with the writes.
    pub(super) memory_free: Rc<Cell<Time>>,
    pub(super) in_flight: VecDeque<InFlight>,
    /// Reads that wait for the data bus behind a master outside, which takes its data when it likes.
    pub(super) bus_queue: VecDeque<Queued>,
    /// Read that a master outside is taking.
    pub(super) driving: Option<Driving>,
    /// Reads requested from a [`TimedPort`] and not on their way back: by transaction id in the order of the bus.
    pub(super) requested: BTreeMap<u32, VecDeque<TimedRead>>,
    /// Transaction id of each tag.
    pub(super) ids: BTreeMap<u64, u32>,
    pub(super) tags: u64,
    /// Bursts that are being granted without steps, by client: kept for its allocation.
    pub(super) granting: Vec<Granting>,
    /// The memory's answers to reads whose data is not in its place yet.
    pub(super) answers: VecDeque<Answer<Vec<u8>>>,
    pub(super) stall: Stall,
}

/// Effects of faults on AR and R.
#[derive(Default)]
pub(super) struct Stall {
    /// Time from which on AR takes an address.
    pub(super) address: Time,
    /// True if the fault of the next address is evaluated.
    pub(super) is_evaluated: bool,
    /// Delay of the next data on R, of a memory with a time of its own.
    pub(super) data: Time,
    /// No data comes any more.
    pub(super) is_dead: bool,
}

impl Channel {
    /// Returns the time at which the next read that is chosen can be counted.
    #[inline]
    pub(super) fn next_count(&self) -> Time {
        match self.pipeline.uncounted() {
            None => Time::MAX,
            Some((Chosen { counts: false, .. }, room)) => room,
            Some((Chosen { burst, .. }, room)) => room.max(self.beats.room(burst.beats)),
        }
    }

    /// Counts it.
    #[inline]
    pub(super) fn count(&mut self, now: Time) {
        if let Some((&Chosen { burst, counts: true, .. }, _)) = self.pipeline.uncounted() {
            self.beats.add_open(burst.beats);
        }
        self.pipeline.count(now);
    }

    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // A tag is a name only.
        let Channel {
            turn,
            pipeline,
            outstanding,
            beats,
            latency,
            bus_free,
            memory_free,
            tags: _,
            in_flight,
            bus_queue,
            driving,
            requested,
            ids,
            granting: _,
            answers,
            stall: _,
        } = self;
        turn.checkpoint(at)?;
        pipeline.checkpoint(at)?;
        outstanding.checkpoint(at)?;
        beats.checkpoint(at)?;
        latency.checkpoint(at)?;
        at.value(bus_free)?;
        at.cell(memory_free)?;
        let is_back = in_flight.is_empty() && bus_queue.is_empty() && driving.is_none() && answers.is_empty();
        at.at_rest(
            is_back && ids.is_empty() && requested.values().all(VecDeque::is_empty),
            "reads are in flight",
        )
    }
}
