//! Reads that are not delivered at once: their beats wait in the egress, or the memory's answer is not there.

use super::egress::{self, Beat, Moved};
use super::{Read, ReadSide};
use crate::bus::axi::channel::{PendingAnswer, Step, Transfers};
use crate::bus::axi::observed::Observed;
use crate::bus::axi::outstanding::{CountLimit, Outstanding};
use crate::bus::axi::read_client::ReadClient;
use crate::bus::axi::target::take_answer;
use crate::bus::axi::{Burst, Unmapped};
use vp_core::Time;
use vp_core::observe::Stage;

/// A read on its way from the bus to its client.
pub(super) struct Returning {
    read: Read,
    /// Numbers of its beats that have been on the bus, and that its client has been handed, at times that are known.
    on_bus: u32,
    handed: u32,
    /// Bytes of those that are handed and not delivered, because the memory's answer is not there, and the times at which they were on the bus.
    due: Vec<(Time, u32)>,
    /// True if the memory's answer is there: its data is on the bus.
    is_answered: bool,
}

impl Returning {
    fn new(read: Read) -> Returning {
        Returning { read, on_bus: 0, handed: 0, due: Vec::new(), is_answered: false }
    }

    /// Notes that the next beat is on the bus at `at`; returns true if that was the last.
    fn note_on_bus(&mut self, at: Time) -> bool {
        if self.on_bus == 0 {
            self.read.first = at;
        }
        (self.on_bus, self.read.last) = (self.on_bus + 1, at);
        self.on_bus == self.read.burst.beats
    }

    /// Hands the client the next beat, which was on the bus at `due`.
    fn hand(&mut self, client: &ReadClient, bytes: u32, (due, now): (Time, Time)) {
        self.handed += 1;
        match self.is_answered {
            true => client.deliver_beat(bytes, due, now),
            false => self.due.push((due, bytes)),
        }
    }

    /// Notes that the memory's answer is there, and delivers what was handed on.
    fn answered(&mut self, client: &ReadClient, now: Time) {
        self.is_answered = true;
        self.due.drain(..).for_each(|(due, bytes)| client.deliver_beat(bytes, due, now));
    }

    /// Time at which its first beat is on the bus, or after that its last; [`Time::MAX`] if it is not known.
    fn next_on_bus(&self) -> Time {
        match self.is_answered {
            false if self.on_bus > 0 => self.read.first,
            true if self.on_bus == self.read.burst.beats => self.read.last,
            _ => Time::MAX,
        }
    }

    /// Returns true if its client has been handed all of it.
    fn is_handed(&self) -> bool {
        self.handed == self.read.burst.beats
    }
}

impl Step<'_, ReadSide> {
    /// Adds a read to those that are returning, whose `first` is that of its data: so many of its beats have passed. Returns when its last beat is on
    /// the bus, if that is known.
    pub(super) fn return_later(&mut self, read: Read, passed: u32) -> Time {
        let client = &self.clients[read.client];
        let Transfers { side, outstanding, count, .. } = &mut *self.transfers;
        let (number, mut at, mut last) = (read.client, read.first, Time::MAX);
        let number_of_read = side.over + side.returning.len() as u64;
        let mut returning = Returning::new(read);
        for (beat, bytes) in (0..).zip(client.beats(&returning.read.burst)) {
            if beat < passed {
                returning.due.push((at, bytes));
                returning.handed += 1;
                if returning.note_on_bus(at) {
                    last = at;
                    side.on_bus += 1;
                    close(&returning.read, outstanding, count);
                }
            } else {
                side.queue_beat(Beat { client: number, read: Some(number_of_read), bytes }, at);
            }
            at += self.channel.config.period;
        }
        side.returning.push_back(returning);
        last
    }

    /// Moves on what is returning, and hands on what is on the bus by now; returns when there is more to do.
    #[inline]
    pub(super) fn return_data(&mut self) -> Result<Time, PendingAnswer> {
        if self.transfers.side.returning.is_empty() && self.transfers.side.egress.is_empty() {
            return Ok(Time::MAX);
        }
        let due = self.step_egress();
        let (side, mut next) = (&mut self.transfers.side, Time::MAX);
        while let Some(returning) = side.returning.get_mut(side.complete) {
            if returning.next_on_bus() <= self.now && !returning.is_answered {
                let Returning { read, .. } = returning;
                let client = &self.clients[read.client];
                if let Some(answer) = take_answer(&mut read.answer).map_err(PendingAnswer::Read)? {
                    store(read, client, answer, self.now, self.observed);
                }
                self.observed.see(self.now, Stage::Data, false, read.requested, &read.burst);
                returning.answered(client, self.now);
            }
            if returning.next_on_bus() > self.now {
                next = returning.next_on_bus();
                break;
            }
            self.observed.see(
                self.now,
                Stage::Response,
                false,
                returning.read.requested,
                &returning.read.burst,
            );
            side.complete += 1;
        }
        while side.complete > 0 && side.returning.front().is_some_and(Returning::is_handed) {
            side.returning.pop_front();
            (side.over, side.on_bus, side.complete) = (side.over + 1, side.on_bus - 1, side.complete - 1);
        }
        Ok(next.min(due))
    }

    /// Moves beats on that have had to wait, as far as it is known when they are granted; returns when more is known.
    pub(super) fn step_egress(&mut self) -> Time {
        if self.transfers.side.egress_due > self.now {
            return self.transfers.side.egress_due;
        }
        let period = self.channel.config.period;
        // What comes at pins, or waits behind a master outside, may be on R at once.
        let is_open = self.channel.partners.memory().is_some() || self.transfers.side.is_bus_open();
        let ahead = if is_open { Time::ZERO } else { self.transfers.responder.least() };
        let Transfers { side, outstanding, count, responder, .. } = &mut *self.transfers;
        while let Some(moved) = side.egress.next(self.now + ahead, self.clients) {
            match moved {
                Moved::OnBus { beat, at } => {
                    side.bus_free = side.egress.bus_free();
                    if beat.read.is_some()
                        && let Some(returning) = side.returning.get_mut(side.on_bus)
                        && returning.note_on_bus(at)
                    {
                        side.on_bus += 1;
                        close(&returning.read, outstanding, count);
                        responder.taken(at);
                    }
                }
                Moved::Granted { beat: Beat { client, read, bytes }, at } => {
                    let (client, due) = (&self.clients[client], at.since(period * egress::CYCLES));
                    client.take_beat(at, due, bytes);
                    match read {
                        Some(read) => {
                            if let Some(returning) = side.returning.get_mut((read - side.over) as usize) {
                                returning.hand(client, bytes, (due, self.now));
                            }
                        }
                        None => client.deliver_beat(bytes, due, self.now),
                    }
                }
            }
        }
        side.egress_due = side.egress.due(ahead, self.clients);
        side.egress_due
    }
}

/// Notes that all of a read has its time on the bus.
pub(super) fn close(read: &Read, outstanding: &mut Outstanding, count: &mut CountLimit) {
    outstanding.close(read.last);
    count.close(read.burst.beats, read.first, read.last);
}

/// Puts what the memory has answered where its client has reserved room.
fn store(
    read: &Read,
    client: &ReadClient,
    answer: Result<Vec<u8>, Unmapped>,
    now: Time,
    observed: &Observed,
) {
    let burst = &read.burst;
    match answer {
        Ok(data) if data.len() == burst.bytes as usize => client.data.store(read.position, &data),
        // Hardware gets a DECERR response and whatever is on the bus: zeros here, as they were reserved.
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
