//! The responder of a channel: the memory's answer to a burst, as time.
//!
//! ```text
//! channel → faults ─┬→ a latency         the answer's time is known at once
//!                   └→ a memory model    [`TimedPort`]: it says so when it has served the burst
//! ```
//!
//! Faults (`faults`) are in front of both: they hold an address back, or what is answered. A memory with a clock outside is not asked here: it
//! answers at its pins, beat by beat (`read::pins`, `write::pins`), and only its open writes are kept here.

mod faults;

use super::latency::LatencySource;
use super::{AxiConfig, Burst, TimedPort};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::faults::BurstFaults;
use faults::Faults;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use vp_core::Time;

/// Answer to a burst, of which the channel keeps `T`.
pub(super) enum Response<T> {
    /// From this time on the data can be on R, or the response on B.
    At(Time, T),
    /// Not known until the memory has served the burst ([`Responder::served`]), or never, by a fault.
    Open,
}

/// The memory of one direction; `T` is what the channel keeps of a burst.
pub(super) struct Responder<T> {
    write: bool,
    config: AxiConfig,
    latency: LatencySource,
    /// Time at which the memory has moved all it was asked to.
    memory_free: Rc<Cell<Time>>,
    model: Option<Rc<dyn TimedPort>>,
    /// Bursts that a memory model or a memory outside has and has not answered.
    pub(super) open: OpenBursts<T>,
    faults: Option<Faults>,
}

/// Bursts that are served in any order, and answered in the order in which those of each id were asked for.
pub(super) struct OpenBursts<T> {
    by_id: BTreeMap<u32, VecDeque<OpenBurst<T>>>,
    count: u64,
}

struct OpenBurst<T> {
    tag: u64,
    is_served: bool,
    /// Delay of its answer by a fault.
    delay: Time,
    kept: T,
}

impl<T> Responder<T> {
    pub(super) fn new(
        write: bool,
        config: &AxiConfig,
        model: Option<Rc<dyn TimedPort>>,
        memory_free: Rc<Cell<Time>>,
    ) -> Responder<T> {
        // Two sequences from one seed.
        let latency = match write {
            true => LatencySource::new(config.write_latency, config.seed ^ 0x5757_5757),
            false => LatencySource::new(config.read_latency, config.seed),
        };
        let open = OpenBursts { by_id: BTreeMap::new(), count: 0 };
        Responder { write, config: config.clone(), latency, memory_free, model, open, faults: None }
    }

    /// Has faults strike from now on.
    pub(super) fn set_faults(&mut self, faults: Rc<BurstFaults>) {
        self.faults = Some(Faults::new(self.write, faults));
    }

    /// Returns the faults in front of it.
    pub(super) fn faults(&self) -> Option<&BurstFaults> {
        self.faults.as_ref().map(Faults::source)
    }

    /// Returns the time from which on the next address is taken, as far as it is known.
    #[inline]
    pub(super) fn room(&self) -> Time {
        if self.model.as_ref().is_some_and(|model| !model.has_room(self.write)) {
            return Time::MAX;
        }
        self.faults.as_ref().map_or(Time::ZERO, Faults::room)
    }

    /// Returns true if no fault holds this address back now; it is the next one until then.
    #[inline]
    pub(super) fn admits(&mut self, burst: &Burst, now: Time) -> bool {
        self.faults.as_mut().is_none_or(|faults| faults.admits(burst, now))
    }

    /// Returns the time by which a fault holds back the data of a write, which is to go over W now.
    #[inline]
    pub(super) fn data_delay(&self, burst: &Burst) -> Time {
        self.faults.as_ref().map_or(Time::ZERO, |faults| faults.data_delay(burst))
    }

    /// Returns the time by which a fault holds back the answer to a burst; [`Time::MAX`]: for ever, as that to all behind it.
    #[inline]
    pub(super) fn answer_delay(&mut self, burst: &Burst) -> Time {
        self.faults.as_mut().map_or(Time::ZERO, |faults| faults.answer_delay(burst))
    }

    /// Notes that the read a memory model has served is taken from the bus at `at`.
    pub(super) fn taken(&self, at: Time) {
        if let Some(model) = &self.model {
            model.taken(at);
        }
    }

    /// Returns true if a memory model answers.
    pub(super) fn has_model(&self) -> bool {
        self.model.is_some()
    }

    /// Gives the memory a burst, whose answer a fault holds back for so long: a read when its address is on AR, a write when all its data is
    /// there.
    pub(super) fn request(&mut self, burst: &Burst, now: Time, delay: Time, kept: T) -> Response<T> {
        if delay == Time::MAX {
            return Response::Open;
        }
        if let Some(model) = &self.model {
            let tag = self.open.push(burst.id, delay, kept);
            model.request(self.write, tag, burst);
            return Response::Open;
        }
        Response::At(self.serve(burst, now) + self.config.period * self.latency.draw() + delay, kept)
    }

    /// Returns the time that passes at least from a read's address to its data.
    #[inline]
    pub(super) fn least(&self) -> Time {
        if self.model.is_some() {
            Time::ZERO
        } else {
            self.config.period * u64::from(self.config.read_latency.least())
        }
    }

    /// Edge at which the memory starts on a burst that reaches it at `now`: at once, or if it moves bytes more
    /// slowly than the bus, when it is free; it is then busy with this one.
    #[inline]
    fn serve(&self, burst: &Burst, now: Time) -> Time {
        let Some(rate) = self.config.bandwidth else { return now };
        let start = now.max(self.memory_free.get());
        let bytes = u128::from(burst.beats) * u128::from(self.config.beat_bytes);
        self.memory_free.set(start + Time::ps((bytes * 1_000_000_000_000 / u128::from(rate.max(1))) as u64));
        // The memory's time is kept whole, so the rate is kept: only what the interface sees of it is at an edge.
        self.config.edge_from(start)
    }

    /// Notes that a memory model has served a burst; [`Responder::take_answered`] has those that are answered with that.
    pub(super) fn served(&mut self, tag: u64) {
        if self.faults.as_ref().is_some_and(Faults::is_silent) {
            return;
        }
        let Some(queue) = self.open.by_id.get_mut(&(tag as u32)) else { return };
        if let Some(burst) = queue.iter_mut().find(|burst| burst.tag == tag) {
            burst.is_served = true;
        }
    }

    /// Takes the next burst of the id of a tag, if that is served, and returns when it is answered at the earliest.
    pub(super) fn take_answered(&mut self, tag: u64, now: Time) -> Option<(T, Time)> {
        let queue = self.open.by_id.get_mut(&(tag as u32))?;
        if !queue.front()?.is_served {
            return None;
        }
        let OpenBurst { delay, kept, .. } = queue.pop_front()?;
        // The latency of a write's response is the interface's own.
        let latency = if self.write { self.latency.draw() } else { 0 };
        Some((kept, now + self.config.period * latency + delay))
    }

    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // What a memory of one port has moved is saved with the reads.
        let Responder { write, config, latency, memory_free, model: _, open, faults: _ } = self;
        latency.checkpoint(at)?;
        if !*write || config.duplex {
            at.cell(memory_free)?;
        }
        at.at_rest(open.is_empty(), "bursts are in flight")
    }
}

impl<T> OpenBursts<T> {
    /// Adds a burst; returns its tag, the lower half of which is its id.
    pub(super) fn push(&mut self, id: u32, delay: Time, kept: T) -> u64 {
        let tag = self.count << 32 | u64::from(id);
        self.count += 1;
        self.by_id.entry(id).or_default().push_back(OpenBurst { tag, is_served: false, delay, kept });
        tag
    }

    /// Takes the first burst of an id.
    pub(super) fn pop(&mut self, id: u32) -> Option<T> {
        self.by_id.get_mut(&id)?.pop_front().map(|burst| burst.kept)
    }

    /// Takes all bursts, by id.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.by_id).into_values().flatten().map(|burst| burst.kept)
    }

    fn is_empty(&self) -> bool {
        self.by_id.values().all(VecDeque::is_empty)
    }
}
