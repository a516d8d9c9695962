//! One direction of a memory interface: bursts from the arbiter to the memory.
//!
//! ```text
//! clients → arbiter → registers → count → registers → AR or AW → responder
//! ```
//!
//! What comes back is the direction's own: `read` has the data bus, `write` the data's way to the memory and the responses.

use super::arbiter::{Arbiter, Client};
use super::burst::{Cut, Run};
use super::observed::Observed;
use super::outstanding::{CountLimit, Outstanding};
use super::partners::Partners;
use super::pipeline::{Chosen, Pipeline};
use super::responder::Responder;
use super::turn::Clients;
use super::{AxiConfig, AxiTarget, Burst, Completion, TimedPort};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::faults::BurstFaults;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::Time;

/// A direction: reads or writes.
pub(super) trait Direction: Sized {
    const WRITE: bool;

    /// Party that the arbiter grants bursts.
    type Client: Client;

    /// Transaction that the memory has been asked for: the burst, and what its answer needs.
    type Transaction;

    /// Returns the clients whose next burst can be chosen now, and the time at which the first one of these or of others can.
    fn requests(step: &Step<'_, Self>) -> (Clients, Time);

    /// Returns the number of beats that a client is granted at once, at most: more than those of a burst go on as several.
    fn most_granted(config: &AxiConfig) -> u32;

    /// Takes what a client is granted now, a burst or several at once.
    fn grant(step: &Step<'_, Self>, client: &Self::Client) -> Burst;

    /// Number of cycles for which a burst occupies the way from the arbiter on.
    fn cycles(burst: &Burst) -> u32;

    /// Puts the address of a client's burst on AR or AW now.
    fn issue(step: &mut Step<'_, Self>, client: usize, burst: Burst);
}

/// One direction of an interface.
pub(super) struct Channel<D: Direction> {
    pub(super) config: AxiConfig,
    /// Rule by which a grant of several bursts is cut into these.
    cut: Cut,
    pub(super) target: Rc<dyn AxiTarget>,
    pub(super) arbiter: Arbiter<D::Client>,
    pub(super) partners: Rc<Partners>,
    pub(super) transfers: RefCell<Transfers<D>>,
}

/// Step of a channel: what it works on, and the time.
pub(super) struct Step<'a, D: Direction> {
    pub(super) channel: &'a Channel<D>,
    pub(super) transfers: &'a mut Transfers<D>,
    /// Clients by their numbers.
    pub(super) clients: &'a [Rc<D::Client>],
    pub(super) observed: &'a Observed,
    pub(super) now: Time,
}

/// The bursts behind the arbiter.
pub(super) struct Transfers<D: Direction> {
    /// The rest of what the arbiter has granted a client at once, which goes on as bursts, one a cycle.
    granted: Option<(usize, Run)>,
    /// Bursts that are chosen and not on the bus.
    pub(super) pipeline: Pipeline,
    /// Beats under way, as the device counts them.
    pub(super) count: CountLimit,
    /// Bursts under way, as the memory counts them.
    pub(super) outstanding: Outstanding,
    pub(super) responder: Responder<D::Transaction>,
    pub(super) side: D,
}

/// An answer whose modelled time has come, and which has not.
pub(super) enum PendingAnswer {
    Read(Rc<Completion<Vec<u8>>>),
    Write(Rc<Completion<()>>),
}

impl<D: Direction> Channel<D> {
    pub(super) fn new(
        config: &AxiConfig,
        (target, model): (Rc<dyn AxiTarget>, Option<Rc<dyn TimedPort>>),
        memory_free: Rc<Cell<Time>>,
        partners: &Rc<Partners>,
        side: D,
    ) -> Channel<D> {
        let (stages, most) = match D::WRITE {
            true => (config.write_pipeline, config.write_outstanding),
            false => (config.read_pipeline, config.read_outstanding),
        };
        let transfers = Transfers {
            granted: None,
            pipeline: Pipeline::new(config.period, stages),
            count: CountLimit::new(config.period, config.burst_beats),
            // `arready` and `awready` are registered.
            outstanding: Outstanding::new(config.period, most),
            responder: Responder::new(D::WRITE, config, model, memory_free),
            side,
        };
        Channel {
            config: config.clone(),
            cut: Cut::new(config, config.burst_beats),
            target,
            arbiter: Arbiter::new(),
            partners: partners.clone(),
            transfers: RefCell::new(transfers),
        }
    }

    /// Lends the channel to `act` as a step at `now`.
    pub(super) fn at<T>(&self, now: Time, observed: &Observed, act: impl FnOnce(Step<'_, D>) -> T) -> T {
        let (clients, transfers) = (self.arbiter.clients(), &mut *self.transfers.borrow_mut());
        act(Step { channel: self, transfers, clients: &clients, observed, now })
    }

    /// Has faults strike from now on.
    pub(super) fn set_faults(&self, faults: Rc<BurstFaults>) {
        self.transfers.borrow_mut().responder.set_faults(faults);
    }

    /// Limits what is under way further than the memory does.
    pub(super) fn set_limit(&self, limit: u32) {
        self.transfers.borrow_mut().count.set_limit(limit);
    }

    /// Returns true if nothing is under way.
    pub(super) fn is_idle(&self, now: Time) -> bool {
        let transfers = self.transfers.borrow();
        transfers.granted.is_none() && transfers.pipeline.is_empty() && transfers.outstanding.is_empty(now)
    }

    /// Drops what a master outside has asked for and is not on the bus.
    pub(super) fn forget(&self, number: usize) {
        self.transfers.borrow_mut().pipeline.forget(number);
        self.arbiter.clear_requesting(number);
    }

    pub(super) fn checkpoint(
        &self,
        at: &mut Checkpoint<'_>,
        side: impl FnOnce(&mut D, &mut Checkpoint<'_>) -> Result<(), CheckpointError>,
    ) -> Result<(), CheckpointError> {
        let Channel { config: _, cut: _, target: _, arbiter, partners, transfers } = self;
        at.at_rest(
            !partners.is_any() && !arbiter.clients().iter().any(|client| client.port().is_outside),
            "a partner is, or was since the last reset, at its pins",
        )?;
        arbiter.checkpoint(at)?;
        let Transfers { granted, pipeline, count, outstanding, responder, side: own } =
            &mut *transfers.borrow_mut();
        at.at_rest(granted.is_none(), "bursts wait for the bus")?;
        pipeline.checkpoint(at)?;
        count.checkpoint(at)?;
        outstanding.checkpoint(at)?;
        responder.checkpoint(at)?;
        side(own, at)
    }
}

impl<D: Direction> Step<'_, D> {
    /// Time from which on the memory takes another address.
    #[inline]
    pub(super) fn memory_room(&self) -> Time {
        let room = self.transfers.responder.room().max(self.transfers.outstanding.room());
        match self.channel.partners.memory() {
            Some(pins) => room.max(pins.room(D::WRITE, self.now)),
            None => room,
        }
    }

    /// Time from which on an address of a master outside is taken.
    pub(super) fn room(&self) -> Time {
        self.transfers.pipeline.room().max(self.memory_room())
    }

    /// Returns the time at which the arbiter can choose a burst, or one that is chosen can move on.
    #[inline]
    pub(super) fn next_advance(&self) -> Time {
        let asked = match self.transfers.granted {
            Some(_) => Time::ZERO,
            None => D::requests(self).1,
        };
        let choice = asked.max(self.transfers.pipeline.room());
        choice.min(self.transfers.next_count()).min(self.next_issue())
    }

    /// Returns the time at which the next address can be on the bus, as far as that is chosen and counted.
    #[inline]
    fn next_issue(&self) -> Time {
        match self.transfers.pipeline.counted() {
            None => Time::MAX,
            Some((Chosen { client: None, .. }, free)) => free,
            Some((_, free)) => free.max(self.memory_room()),
        }
    }

    /// Chooses a burst, counts one, and puts one on the bus, as far as they can move now. Tells if one has.
    #[inline]
    pub(super) fn advance_pipeline(&mut self) -> bool {
        let mut has_moved = self.choose();
        if self.transfers.next_count() <= self.now {
            self.transfers.count_next(self.now);
            has_moved = true;
        }
        if self.next_issue() <= self.now
            && let Some((&Chosen { client, burst, .. }, _)) = self.transfers.pipeline.counted()
            && (client.is_none() || self.transfers.responder.admits(&burst, self.now))
        {
            self.transfers.pipeline.issue(self.now);
            if let Some(number) = client {
                D::issue(self, number, burst);
            }
            has_moved = true;
        }
        has_moved
    }

    /// Has the arbiter choose, if a client asks and there is a place; what it grants at once goes on burst by burst.
    #[inline]
    fn choose(&mut self) -> bool {
        if self.transfers.pipeline.room() > self.now {
            return false;
        }
        let (number, burst) = match self.transfers.granted.take() {
            Some((number, rest)) => (number, self.split(number, rest)),
            None => {
                let (requesting, _) = D::requests(self);
                let Some(number) = self.channel.arbiter.grant(requesting, self.clients) else { return false };
                let client = &*self.clients[number];
                let granted = D::grant(self, client);
                let whole = Run { address: granted.address, bytes: granted.bytes };
                let is_block = D::most_granted(&self.channel.config) > self.channel.config.burst_beats;
                match is_block && !client.port().is_outside {
                    true => (number, self.split(number, whole)),
                    false => (number, granted),
                }
            }
        };
        // What the device counts is its own, and nothing of another master's.
        let counted = if self.clients[number].port().is_outside { 0 } else { burst.beats };
        let chosen = Chosen { client: Some(number), burst, counted, cycles: D::cycles(&burst) };
        self.transfers.pipeline.choose(chosen, self.now);
        true
    }

    /// Takes the first burst off what a client was granted, and leaves the rest.
    fn split(&mut self, number: usize, mut rest: Run) -> Burst {
        let burst = self.channel.cut.burst(self.clients[number].port().id, &mut rest);
        self.transfers.granted = (rest.bytes > 0).then_some((number, rest));
        burst
    }
}

impl<D: Direction> Transfers<D> {
    /// Returns the time at which the next burst that is chosen can be counted.
    #[inline]
    pub(super) fn next_count(&self) -> Time {
        match self.pipeline.uncounted() {
            None => Time::MAX,
            Some((Chosen { counted: 0, .. }, room)) => room,
            Some((Chosen { counted, .. }, room)) => room.max(self.count.room(*counted)),
        }
    }

    /// Counts it.
    #[inline]
    pub(super) fn count_next(&mut self, now: Time) {
        if let Some((&Chosen { counted, .. }, _)) = self.pipeline.uncounted() {
            self.count.add_open(counted);
        }
        self.pipeline.count(now);
    }
}
