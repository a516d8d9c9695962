//! Reads: what comes back on R.
//!
//! ```text
//! AR → responder → data bus, in order over all clients, a beat a cycle → egress → clients
//! ```

mod egress;
mod pins;
mod returning;

use crate::bus::axi::channel::{Channel, Direction, PendingAnswer, Step};
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
    /// Position of the read's data among its client's bytes.
    position: u64,
    /// The memory's answer, unless the data is at its position already.
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
    type Transaction = Read;

    #[inline]
    fn requests(step: &Step<'_, ReadSide>) -> (Clients, Time) {
        let requesting = step.channel.arbiter.requesting();
        (requesting, if requesting == 0 { Time::MAX } else { Time::ZERO })
    }

    fn most_granted(config: &AxiConfig) -> u32 {
        config.transaction_beats
    }

    #[inline]
    fn grant(step: &Step<'_, ReadSide>, client: &ReadClient) -> Burst {
        let granted = client.grant(step.now);
        if !client.is_requesting() {
            step.channel.arbiter.clear_requesting(client.port.number());
        }
        granted
    }

    fn cycles(_: &Burst) -> u32 {
        1
    }

    fn issue(step: &mut Step<'_, ReadSide>, client: usize, burst: Burst) {
        step.transfers.outstanding.add_open();
        if let Some(memory) = step.channel.partners.memory() {
            return step.issue_at_pins(&memory, client, burst);
        }
        step.issue_to_memory(client, burst);
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

    /// Adds a beat to those that wait for the egress; it can be on the bus from `from` on.
    fn queue_beat(&mut self, beat: Beat, from: Time) {
        self.egress.push(beat, from);
        self.egress_due = Time::ZERO;
    }

    /// Has beats of so many bytes each pass that can be on the bus from `from` on, as far as none waits: a beat a cycle. Returns their number, and
    /// when the first is on the bus.
    #[inline]
    fn pass_beats(
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

impl Step<'_, ReadSide> {
    /// Does all that is due by now, and then what is due next, as long as `advance` moves time on to that; returns the time of what is next.
    pub(super) fn run(&mut self, advance: impl Fn(Time) -> bool) -> Result<Time, PendingAnswer> {
        let mut made = Time::ZERO;
        loop {
            self.step_pins()?;
            let mut data = self.return_data()?;
            if made <= self.now {
                made = self.generate_reads();
            }
            if self.advance_pipeline() {
                // One address a cycle: no other follows now. But there is room for another request, and what was asked
                // for may be back at once.
                made = self.generate_reads();
                data = self.return_data()?;
            }
            let at_pins = self.step_pins()?.min(self.update_ready());
            if self.channel.partners.is_any() {
                data = self.return_data()?;
            }
            let next = self.next_advance().min(at_pins).min(made).min(data);
            if !advance(next) {
                return Ok(next);
            }
            self.now = next;
            self.observed.report_many(next);
        }
    }

    /// A memory model has served a read; it goes on the bus when all earlier ones of its id have.
    pub(super) fn served(&mut self, tag: u64) {
        self.transfers.responder.served(tag);
        while let Some((read, first)) = self.transfers.responder.take_answered(tag, self.now) {
            let read = Read { first, ..read };
            if self.waits_for_master(&self.clients[read.client]) {
                self.transfers.side.bus_queue.push_back(read);
            } else {
                let last = self.put_on_bus(read, true);
                self.transfers.responder.taken(last);
            }
        }
    }

    /// Requests a client's read from the memory behind the interface: its bytes now, and the time from which they can be on R.
    fn issue_to_memory(&mut self, number: usize, burst: Burst) {
        let (client, now) = (&self.clients[number], self.now);
        let see = |step: &Self| step.observed.see(now, Stage::Request, false, now, &burst);
        let delay = self.transfers.responder.answer_delay(&burst);
        if delay == Time::MAX {
            return see(self);
        }
        let (position, answer) = match client.port.is_outside {
            true => (0, Some(self.channel.target.read(&burst))),
            false => client.data.read(&*self.channel.target, &burst),
        };
        let (requested, first, last) = (now, Time::MAX, Time::MAX);
        let generation = self.channel.partners.generation();
        let read = Read { burst, client: number, requested, first, last, position, answer, generation };
        let waits_for_master = self.waits_for_master(client);
        match self.transfers.responder.request(&burst, now, delay, read) {
            Response::Open => see(self),
            Response::At(first, read) if waits_for_master => {
                see(self);
                self.transfers.side.bus_queue.push_back(Read { first, ..read });
            }
            Response::At(first, read) => _ = self.put_on_bus(Read { first, ..read }, false),
        }
    }

    /// Returns true if a client's read waits for a master outside, which takes its data when it likes: that of its own, and that behind it.
    #[inline]
    fn waits_for_master(&self, client: &ReadClient) -> bool {
        client.port.is_outside || self.transfers.side.is_bus_open()
    }

    /// Queues the reads that are due of all requesters; returns the time of the next one.
    fn generate_reads(&self) -> Time {
        let generating = &self.transfers.side.generating;
        let (mut left, mut next) = (generating.get(), Time::MAX);
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            let client = &self.clients[number];
            let mut at = client.next_read();
            if at <= self.now {
                match client.generate_reads(self.now) {
                    Some(then) => at = then,
                    None => {
                        generating.set(generating.get() & !(1 << number));
                        at = Time::MAX;
                    }
                }
                if client.is_requesting() {
                    self.channel.arbiter.set_requesting(number);
                }
            }
            next = next.min(at);
        }
        next
    }

    /// Has the data of a read on the bus as soon as that is free, from its `first` on; returns when its last beat is, if that is known.
    /// `is_seen`: its request was seen.
    fn put_on_bus(&mut self, mut read: Read, is_seen: bool) -> Time {
        let client = &self.clients[read.client];
        let (side, period, beats) = (&mut self.transfers.side, self.channel.config.period, read.burst.beats);
        let (passed, first) =
            side.pass_beats((read.client, client), client.beats(&read.burst), read.first, period);
        let Read { burst, requested, .. } = read;
        if passed == beats && read.answer.is_none() && side.returning.is_empty() {
            // All is known of it: nothing is left to do when its data is on the bus.
            let last = first + period * u64::from(beats - 1);
            close(&Read { first, last, ..read }, &mut self.transfers.outstanding, &mut self.transfers.count);
            self.observed.expect(requested, is_seen, first, last, &burst);
            client.deliver(&burst, first);
            return last;
        }
        if !is_seen {
            self.observed.see(requested, Stage::Request, false, requested, &burst);
        }
        read.first = first;
        self.return_later(read, passed)
    }
}

impl Reads {
    /// Adds a client to those whose requester has reads to come.
    pub(super) fn start_generating(&self, client: usize) {
        let generating = &self.transfers.borrow().side.generating;
        generating.set(generating.get() | 1 << client);
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
