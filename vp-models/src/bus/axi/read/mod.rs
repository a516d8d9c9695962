//! Reads: what comes back on R.
//!
//! ```text
//! AR → responder → data bus, in order over all clients, a beat a cycle → clients
//! ```

mod pins;
mod run;

use super::arbiter::Client as _;
use crate::bus::axi::channel::{Channel, Direction, PendingAnswer, Transfers};
use crate::bus::axi::observed::Observed;
use crate::bus::axi::read_client::ReadClient;
use crate::bus::axi::responder::Response;
use crate::bus::axi::target::take_answer;
use crate::bus::axi::turn::Clients;
use crate::bus::axi::{Answer, Burst, Unmapped};
use crate::checkpoint::{Checkpoint, CheckpointError};
use pins::Driving;
use run::Granting;
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::Time;
use vp_core::observe::Stage;

/// Time, as an interface moves it on.
pub(super) trait Advance {
    /// The present.
    fn now(&self) -> Time;

    /// Moves time on, if no other process does anything until then.
    fn advance(&self, to: Time) -> bool;

    /// A time up to which it could be moved on.
    fn quiet_until(&self) -> Time;
}

/// A read accepted by the memory and not yet handed back.
pub(super) struct Read {
    burst: Burst,
    client: usize,
    /// Time at which the burst was asked for.
    requested: Time,
    /// Time at which its first beat is on the bus, or from which it can be.
    first: Time,
    /// Time at which its last beat should be on the bus.
    last: Time,
    /// Place of the read's data among its client's.
    place: u64,
    /// The memory's answer, unless the data is at its place already.
    answer: Option<Answer<Vec<u8>>>,
    /// Generation of the master outside that has asked for it, if one has.
    generation: u32,
}

/// The data bus, and what is on its way to it.
#[derive(Default)]
pub(super) struct ReadSide {
    /// Clients whose requester has reads to come.
    generating: Cell<Clients>,
    /// Time at which the data bus is free for the next beat.
    bus_free: Time,
    in_flight: VecDeque<Read>,
    /// Reads that wait for the data bus behind a master outside, which takes its data when it likes.
    bus_queue: VecDeque<Read>,
    /// Read that a master outside is taking.
    driving: Option<Driving>,
    /// Bursts that are being granted without steps, by client: kept for its allocation.
    granting: Vec<Granting>,
}

/// The reads of one interface.
pub(super) type Reads = Channel<ReadSide>;

impl Direction for ReadSide {
    const WRITE: bool = false;
    type Client = ReadClient;
    type Kept = Read;

    #[inline]
    fn requests(channel: &Reads, _: &[Rc<ReadClient>], _: Time) -> (Clients, Time) {
        let requesting = channel.arbiter.requesting();
        (requesting, if requesting == 0 { Time::MAX } else { Time::ZERO })
    }

    #[inline]
    fn grant(client: &ReadClient, now: Time) -> (Burst, bool) {
        client.grant(now)
    }

    fn cycles(_: &Burst) -> u32 {
        1
    }

    fn issue(
        channel: &Reads,
        transfers: &mut Transfers<ReadSide>,
        (number, client): (usize, &ReadClient),
        burst: Burst,
        now: Time,
        observed: &Observed,
    ) {
        transfers.outstanding.add_open();
        if let Some(memory) = channel.partners.memory() {
            observed.see(now, Stage::Request, false, now, &burst);
            if let Some(faults) = transfers.responder.faults() {
                faults.miss_at_pins(false, &burst);
            }
            return channel.request_at_pins(&memory, (number, client), burst, now);
        }
        let delay = transfers.responder.answer_delay(&burst);
        if delay == Time::MAX {
            return observed.see(now, Stage::Request, false, now, &burst);
        }
        let (place, answer) = match client.is_outside() {
            true => (0, Some(channel.target.read(&burst))),
            false => client.read(&*channel.target, &burst),
        };
        let (requested, first, last) = (now, Time::MAX, Time::MAX);
        let generation = channel.partners.generation();
        let read = Read { burst, client: number, requested, first, last, place, answer, generation };
        match transfers.responder.request(&burst, now, delay, read) {
            Response::At(ready, read) if !client.is_outside() && !transfers.side.is_bus_open() => {
                _ = channel.put_on_bus(transfers, client, Read { first: ready, ..read }, false, observed);
            }
            Response::At(ready, read) => {
                observed.see(now, Stage::Request, false, now, &burst);
                transfers.side.bus_queue.push_back(Read { first: ready, ..read });
            }
            Response::Open => observed.see(now, Stage::Request, false, now, &burst),
        }
    }
}

impl ReadSide {
    /// Returns true if the data bus is not known to be free at any time.
    fn is_bus_open(&self) -> bool {
        self.driving.is_some() || !self.bus_queue.is_empty()
    }

    /// Returns the times at which the first and the last beat of a burst are on the bus whose data can be there from `first` on:
    /// in order, one beat a cycle.
    fn occupy_bus(&mut self, first: Time, burst: &Burst, client: &ReadClient, period: Time) -> (Time, Time) {
        let first = first.max(self.bus_free);
        let (first, last, ready) = client.expect(first, burst.beats).unwrap_or_else(|| {
            let last = first + period * u64::from(burst.beats - 1);
            (first, last, last + period)
        });
        self.bus_free = ready;
        (first, last)
    }
}

impl Reads {
    /// Adds a client to those whose requester has reads to come.
    pub(super) fn start_generating(&self, client: usize) {
        let generating = &self.transfers.borrow().side.generating;
        generating.set(generating.get() | 1 << client);
    }

    /// Does all that is due by now, and then what is due next, as long as that comes before `until` and time can be moved
    /// on; returns the time of what is next.
    pub(super) fn step(
        &self,
        time: &impl Advance,
        until: Time,
        observed: &Observed,
    ) -> Result<Time, PendingAnswer> {
        let clients = self.arbiter.clients();
        let transfers = &mut *self.transfers.borrow_mut();
        let (mut now, mut made) = (time.now(), Time::ZERO);
        loop {
            self.step_pins(transfers, &clients, now, observed)?;
            self.return_data(transfers, &clients, now, observed)?;
            if made <= now {
                made = self.generate_reads(transfers, &clients, now);
            }
            if self.advance_pipeline(transfers, &clients, now, observed) {
                // One address a cycle: no other follows now. But there is room for another request, and what was asked
                // for may be back at once.
                made = self.generate_reads(transfers, &clients, now);
                if self.has_none_in_flight(transfers)
                    && let Some(last) =
                        self.run(transfers, &clients, (until.min(made), time.quiet_until()), observed)
                {
                    time.advance(last);
                    made = self.generate_reads(transfers, &clients, now);
                }
                self.return_data(transfers, &clients, now, observed)?;
            }
            let at_pins = self.step_pins(transfers, &clients, now, observed)?;
            let at_pins = at_pins.min(self.update_ready(transfers, &clients, now));
            let data = transfers.side.in_flight.front().map_or(Time::MAX, |read| read.first);
            let next = self.next_advance(transfers, &clients, now).min(at_pins).min(made).min(data);
            if next >= until || !time.advance(next) {
                return Ok(next);
            }
            now = next;
            observed.report_many(now);
        }
    }

    /// Returns true if no read is in flight whose next step could depend on a partner, a fault or a memory model.
    #[inline]
    fn has_none_in_flight(&self, transfers: &Transfers<ReadSide>) -> bool {
        transfers.responder.is_plain() && !self.partners.is_any() && transfers.side.in_flight.is_empty()
    }

    /// Queues the reads that are due of all requesters; returns the time of the next one.
    fn generate_reads(&self, transfers: &Transfers<ReadSide>, clients: &[Rc<ReadClient>], now: Time) -> Time {
        let generating = &transfers.side.generating;
        let (mut left, mut next) = (generating.get(), Time::MAX);
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            let client = &clients[number];
            let mut at = client.next_read();
            if at <= now {
                match client.generate_reads(now) {
                    Some(then) => at = then,
                    None => {
                        generating.set(generating.get() & !(1 << number));
                        at = Time::MAX;
                    }
                }
                if client.is_requesting() {
                    self.arbiter.set_requesting(number);
                }
            }
            next = next.min(at);
        }
        next
    }

    /// Has the data of a read on the bus as soon as that is free, from its `first` on; returns when its last beat is.
    /// `is_seen`: its request was seen.
    fn put_on_bus(
        &self,
        transfers: &mut Transfers<ReadSide>,
        client: &ReadClient,
        mut read: Read,
        is_seen: bool,
        observed: &Observed,
    ) -> Time {
        let (side, period) = (&mut transfers.side, self.config.period);
        (read.first, read.last) = side.occupy_bus(read.first, &read.burst, client, period);
        transfers.outstanding.close(read.last);
        transfers.count.close(read.burst.beats, read.first, read.last);
        let Read { burst, requested, first, last, .. } = read;
        if read.answer.is_none() && side.in_flight.is_empty() {
            // All is known of it: nothing is left to do when its data is on the bus.
            observed.expect(requested, is_seen, first, last, &burst);
            client.deliver(&burst, first);
        } else {
            if !is_seen {
                observed.see(requested, Stage::Request, false, requested, &burst);
            }
            side.in_flight.push_back(read);
        }
        last
    }

    /// A memory model has served a read; it goes on the bus when all earlier ones of its id have.
    pub(super) fn served(&self, tag: u64, now: Time, observed: &Observed) {
        let clients = self.arbiter.clients();
        let transfers = &mut *self.transfers.borrow_mut();
        transfers.responder.served(tag);
        while let Some((read, first)) = transfers.responder.take_answered(tag, now) {
            let read = Read { first, ..read };
            let client = &clients[read.client];
            if client.is_outside() || transfers.side.is_bus_open() {
                transfers.side.bus_queue.push_back(read);
            } else {
                let last = self.put_on_bus(transfers, client, read, true, observed);
                transfers.responder.taken(last);
            }
        }
    }

    /// Hands on what is on the bus by now.
    fn return_data(
        &self,
        transfers: &mut Transfers<ReadSide>,
        clients: &[Rc<ReadClient>],
        now: Time,
        observed: &Observed,
    ) -> Result<(), PendingAnswer> {
        let in_flight = &mut transfers.side.in_flight;
        while let Some(read) = in_flight.front_mut().filter(|read| read.first <= now) {
            if let Some(answer) = take_answer(&mut read.answer).map_err(PendingAnswer::Read)? {
                store(read, &clients[read.client], answer, now, observed);
            }
            let Read { burst, client, requested, last, .. } = *read;
            in_flight.pop_front();
            // Its answer may have been late.
            let last = last.max(now + self.config.period * u64::from(burst.beats - 1));
            observed.expect(requested, true, now, last, &burst);
            clients[client].deliver(&burst, now);
        }
        Ok(())
    }

    pub(super) fn checkpoint_reads(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        at.at_rest(!self.arbiter.has_requests(), "reads are asked for")?;
        self.checkpoint(at, |side, at| {
            let ReadSide { generating, bus_free, in_flight, bus_queue, driving, granting: _ } = side;
            at.at_rest(generating.get() == 0, "reads are asked for")?;
            at.value(bus_free)?;
            let is_back = in_flight.is_empty() && bus_queue.is_empty() && driving.is_none();
            at.at_rest(is_back, "reads are in flight")
        })
    }
}

/// Puts what the memory has answered into its client's place.
fn store(
    read: &Read,
    client: &ReadClient,
    answer: Result<Vec<u8>, Unmapped>,
    now: Time,
    observed: &Observed,
) {
    let burst = &read.burst;
    match answer {
        Ok(data) if data.len() == burst.bytes as usize => client.store_data(read.place, &data),
        // Hardware gets a DECERR response and whatever is on the bus: zeros here, as the place was made.
        answer => {
            let wrong_length = |data: Vec<u8>| {
                let (Burst { address, bytes, .. }, got) = (*burst, data.len());
                let why = format!("the memory answered {got} bytes where {bytes} were asked for");
                Unmapped { address, bytes, why }
            };
            let refused = answer.map_or_else(|refused| refused, wrong_length);
            observed.refused(now, &client.name, false, &refused, "zeros returned");
            client.refused.borrow_mut().get_or_insert(refused);
        }
    }
}
