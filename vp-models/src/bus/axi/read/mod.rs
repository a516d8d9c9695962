//! Reads: what comes back on R.
//!
//! ```text
//! AR → responder → data bus, in order over all clients, a beat a cycle → egress → clients
//! ```

mod egress;
mod pins;
mod returning;

use crate::bus::axi::channel::{Channel, Direction, PendingAnswer, Transfers};
use crate::bus::axi::observed::Observed;
use crate::bus::axi::read_client::ReadClient;
use crate::bus::axi::responder::Response;
use crate::bus::axi::turn::Clients;
use crate::bus::axi::{Answer, AxiConfig, Burst};
use crate::checkpoint::{Checkpoint, CheckpointError};
use egress::{Beat, Egress};
use pins::Driving;
use returning::{Returning, close};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::Time;
use vp_core::observe::Stage;

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
pub(super) struct ReadSide {
    /// Clients whose requester has reads to come.
    generating: Cell<Clients>,
    /// Time at which the data bus is free for the next beat.
    bus_free: Time,
    egress: Egress,
    /// Time from which on its next step is known; none is known before unless a beat is added.
    egress_due: Time,
    /// Reads that are not all delivered at once, in the order of the bus.
    returning: VecDeque<Returning>,
    /// Number of reads that have been among these and are over: the number of the first.
    over: u64,
    /// Number of these whose beats have all been on the bus, at times that are known.
    on_bus: usize,
    /// Number of these whose beats have all been on the bus by now.
    complete: usize,
    /// Reads that wait for the data bus behind a master outside, which takes its data when it likes.
    bus_queue: VecDeque<Read>,
    /// Read that a master outside is taking.
    driving: Option<Driving>,
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

    fn most_granted(config: &AxiConfig) -> u32 {
        config.transaction_beats
    }

    #[inline]
    fn grant(channel: &Reads, client: &ReadClient, now: Time) -> Burst {
        let granted = client.grant(now);
        if !client.is_requesting() {
            channel.arbiter.clear_requesting(client.port.number());
        }
        granted
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
        let (place, answer) = match client.port.is_outside {
            true => (0, Some(channel.target.read(&burst))),
            false => client.read(&*channel.target, &burst),
        };
        let (requested, first, last) = (now, Time::MAX, Time::MAX);
        let generation = channel.partners.generation();
        let read = Read { burst, client: number, requested, first, last, place, answer, generation };
        match transfers.responder.request(&burst, now, delay, read) {
            Response::At(ready, read) if !client.port.is_outside && !transfers.side.is_bus_open() => {
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
    pub(super) fn new(period: Time) -> ReadSide {
        ReadSide {
            generating: Cell::new(0),
            bus_free: Time::ZERO,
            egress: Egress::new(period),
            egress_due: Time::MAX,
            returning: VecDeque::new(),
            over: 0,
            on_bus: 0,
            complete: 0,
            bus_queue: VecDeque::new(),
            driving: None,
        }
    }

    /// Returns true if the data bus is not known to be free at any time.
    fn is_bus_open(&self) -> bool {
        self.driving.is_some() || !self.bus_queue.is_empty()
    }

    /// Time at which the data bus is free for the next beat, as far as that is known.
    fn bus_free(&self) -> Time {
        if self.egress.holds_bus() { Time::MAX } else { self.bus_free }
    }

    /// Has a beat wait that can be on the bus from `from` on.
    fn let_wait(&mut self, beat: Beat, from: Time) {
        self.egress.push(beat, from);
        self.egress_due = Time::ZERO;
    }

    /// Has beats of so many bytes each pass that can be on the bus from `from` on, as far as none waits: a beat a cycle. Returns their number, and
    /// when the first is on the bus.
    #[inline]
    fn pass(
        &mut self,
        (number, client): (usize, &ReadClient),
        beats: impl ExactSizeIterator<Item = u32>,
        from: Time,
        period: Time,
    ) -> (u32, Time) {
        let first = from.max(self.bus_free);
        let mut passed = 0;
        if self.egress.is_free(first) {
            passed = match client.is_slow() {
                true => self.pass_slow(client, beats, first, period),
                false => beats.len() as u32,
            };
        }
        if passed > 0 {
            let last = first + period * u64::from(passed - 1);
            self.egress.pass(number, last);
            self.bus_free = last + period;
        }
        (passed, first)
    }

    /// Returns the number of beats that a client takes which may let them wait.
    fn pass_slow(
        &self,
        client: &ReadClient,
        beats: impl Iterator<Item = u32>,
        first: Time,
        period: Time,
    ) -> u32 {
        let (mut at, mut passed) = (first, 0);
        for bytes in beats {
            let handed = at + period * egress::CYCLES;
            if client.takes_at(handed) > handed {
                break;
            }
            client.take_beat(handed, at, bytes);
            (at, passed) = (at + period, passed + 1);
        }
        passed
    }
}

impl Reads {
    /// Adds a client to those whose requester has reads to come.
    pub(super) fn start_generating(&self, client: usize) {
        let generating = &self.transfers.borrow().side.generating;
        generating.set(generating.get() | 1 << client);
    }

    /// Does all that is due by now, and then what is due next, as long as `advance` moves time on to that; returns the time of what is next.
    pub(super) fn step(
        &self,
        mut now: Time,
        advance: impl Fn(Time) -> bool,
        observed: &Observed,
    ) -> Result<Time, PendingAnswer> {
        let clients = self.arbiter.clients();
        let transfers = &mut *self.transfers.borrow_mut();
        let mut made = Time::ZERO;
        loop {
            self.step_pins(transfers, &clients, now, observed)?;
            let mut data = self.return_data(transfers, &clients, now, observed)?;
            if made <= now {
                made = self.generate_reads(transfers, &clients, now);
            }
            if self.advance_pipeline(transfers, &clients, now, observed) {
                // One address a cycle: no other follows now. But there is room for another request, and what was asked
                // for may be back at once.
                made = self.generate_reads(transfers, &clients, now);
                data = self.return_data(transfers, &clients, now, observed)?;
            }
            let at_pins = self.step_pins(transfers, &clients, now, observed)?;
            let at_pins = at_pins.min(self.update_ready(transfers, &clients, now));
            if self.partners.is_any() {
                data = self.return_data(transfers, &clients, now, observed)?;
            }
            let next = self.next_advance(transfers, &clients, now).min(at_pins).min(made).min(data);
            if !advance(next) {
                return Ok(next);
            }
            now = next;
            observed.report_many(now);
        }
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

    /// Has the data of a read on the bus as soon as that is free, from its `first` on; returns when its last beat is, if that is known.
    /// `is_seen`: its request was seen.
    fn put_on_bus(
        &self,
        transfers: &mut Transfers<ReadSide>,
        client: &ReadClient,
        mut read: Read,
        is_seen: bool,
        observed: &Observed,
    ) -> Time {
        let (side, period, beats) = (&mut transfers.side, self.config.period, read.burst.beats);
        let (passed, first) = side.pass((read.client, client), client.beats(&read.burst), read.first, period);
        let Read { burst, requested, .. } = read;
        if passed == beats && read.answer.is_none() && side.returning.is_empty() {
            // All is known of it: nothing is left to do when its data is on the bus.
            let last = first + period * u64::from(beats - 1);
            close(&Read { first, last, ..read }, &mut transfers.outstanding, &mut transfers.count);
            observed.expect(requested, is_seen, first, last, &burst);
            client.deliver(&burst, first);
            return last;
        }
        if !is_seen {
            observed.see(requested, Stage::Request, false, requested, &burst);
        }
        read.first = first;
        self.return_later(transfers, client, read, passed)
    }

    /// A memory model has served a read; it goes on the bus when all earlier ones of its id have.
    pub(super) fn served(&self, tag: u64, now: Time, observed: &Observed) {
        let clients = self.arbiter.clients();
        let transfers = &mut *self.transfers.borrow_mut();
        transfers.responder.served(tag);
        while let Some((read, first)) = transfers.responder.take_answered(tag, now) {
            let read = Read { first, ..read };
            let client = &clients[read.client];
            if client.port.is_outside || transfers.side.is_bus_open() {
                transfers.side.bus_queue.push_back(read);
            } else {
                let last = self.put_on_bus(transfers, client, read, true, observed);
                transfers.responder.taken(last);
            }
        }
    }

    pub(super) fn checkpoint_reads(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        at.at_rest(!self.arbiter.has_requests(), "reads are asked for")?;
        self.checkpoint(at, |side, at| {
            let ReadSide {
                generating,
                bus_free,
                egress,
                egress_due: _,
                returning,
                over: _,
                on_bus: _,
                complete: _,
                bus_queue,
                driving,
            } = side;
            at.at_rest(generating.get() == 0, "reads are asked for")?;
            at.value(bus_free)?;
            egress.checkpoint(at)?;
            let is_back = returning.is_empty() && bus_queue.is_empty() && driving.is_none();
            at.at_rest(is_back, "reads are in flight")
        })
    }
}
