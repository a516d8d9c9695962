//! Writes where a partner with a clock is the memory or a master.

use super::{Moving, Write, WriteSide, Writes};
use crate::bus::axi::channel::Transfers;
use crate::bus::axi::pins::{Arrived, ManagerPins, SubordinatePins};
use crate::bus::axi::write_client::WriteClient;
use crate::bus::axi::{Answer, AxiTarget, Burst, Unmapped};
use bytes::Bytes;
use std::rc::Rc;
use vp_core::Time;

impl Writes {
    /// Does what is due at the pins; returns the time at which something is due next there.
    #[inline]
    pub(super) fn step_pins(
        &self,
        transfers: &mut Transfers<WriteSide>,
        clients: &[Rc<WriteClient>],
        now: Time,
    ) -> Time {
        if !self.partners.is_any() {
            return Time::MAX;
        }
        let memory = self.partners.memory();
        if let Some(memory) = &memory {
            while let Some((id, error)) = memory.take_response() {
                let why = error.then_some("the memory answered an error");
                if let Some(write) = transfers.responder.open.pop(id.into()) {
                    self.end(transfers, clients, write, why, now);
                }
            }
        }
        let master = self.partners.master();
        let Some(master) = &*master else { return Time::MAX };
        let (pins, client) = (&*master.pins, &clients[master.writer]);
        let due = pins.take_write_data(now);
        let open =
            |moving: &&mut Moving| moving.stored == Time::MAX && clients[moving.write.client].port.is_outside;
        if let Some(moving) = transfers.side.moving.back_mut().filter(open) {
            let is_its = moving.write.generation == self.partners.generation() && !pins.is_gone();
            let sender = Some(pins).filter(|_| is_its);
            let stored = match moving.is_sent {
                true => self.pass_on(memory.as_deref(), sender, moving, now),
                false => self.arrive(sender, moving, now),
            };
            if let Some(stored) = stored {
                moving.stored = stored;
                transfers.pipeline.hold_bus(stored + self.config.period);
            }
        }
        if !client.has_burst()
            && let Some(burst) = pins.take_write(now, self.master_room(transfers, master.writer, now))
        {
            client.take_outside(burst);
        }
        // It requests the arbiter's grant when its first data is there.
        if let Some(first) = pins.first_beat()
            && client.request_outside(first.max(now))
        {
            self.arbiter.set_requesting(master.writer);
        }
        due
    }

    /// Drives AWREADY of a master outside for its next write; returns the time of the next update.
    pub(super) fn update_ready(
        &self,
        transfers: &Transfers<WriteSide>,
        clients: &[Rc<WriteClient>],
        now: Time,
    ) -> Time {
        let master = self.partners.master();
        let Some(master) = &*master else { return Time::MAX };
        let is_taken = clients[master.writer].has_burst();
        let room = if is_taken { Time::MAX } else { self.master_room(transfers, master.writer, now) };
        master.pins.update_room(true, now, room)
    }

    /// Time from which on another address of a master outside is taken: when the data of the one before has come.
    fn master_room(&self, transfers: &Transfers<WriteSide>, writer: usize, now: Time) -> Time {
        match transfers.pipeline.holds(writer) {
            true => Time::MAX,
            false => self.room(transfers, now).max(transfers.pipeline.bus_free()),
        }
    }

    // A memory outside.

    /// Ends a write that a memory outside had, with an error if there is a reason for one.
    fn end(
        &self,
        transfers: &mut Transfers<WriteSide>,
        clients: &[Rc<WriteClient>],
        mut write: Write,
        why: Option<&str>,
        now: Time,
    ) {
        let Burst { address, bytes, .. } = write.burst;
        write.answer = why.map(|why| Answer::Now(Err(Unmapped { address, bytes, why: why.to_owned() })));
        write.acknowledged = now;
        transfers.outstanding.close(now);
        if !clients[write.client].port.is_outside {
            transfers.count.close_at(write.burst.beats, now);
        }
        transfers.side.last_acknowledged = now;
        transfers.side.answered.push_back(write);
    }

    /// Ends the writes that a memory which has gone has not answered, with errors.
    pub(in crate::bus::axi) fn end_at_pins(&self, why: &str, now: Time) {
        let (clients, transfers) = (self.arbiter.clients(), &mut *self.transfers.borrow_mut());
        for write in transfers.responder.open.take_all() {
            self.end(transfers, &clients, write, Some(why), now);
        }
        if let Some(moving) = transfers.side.moving.back_mut().filter(|moving| moving.is_sent) {
            moving.is_lost = true;
        }
    }

    // A master outside.

    /// Passes on to a memory outside what has come of a write; returns the time of its last beat.
    fn pass_on(
        &self,
        memory: Option<&ManagerPins>,
        master: Option<&SubordinatePins>,
        moving: &mut Moving,
        now: Time,
    ) -> Option<Time> {
        let beats = moving.write.burst.beats;
        while moving.passed_on < beats {
            let (data, strobes) = match master {
                // The burst has to end.
                None => (Bytes::from(vec![0; self.config.beat_bytes as usize]), 0),
                Some(master) => master.next_beat()?,
            };
            moving.passed_on += 1;
            if let Some(memory) = memory.filter(|_| !moving.is_lost) {
                memory.write_data(now, data, (strobes, moving.passed_on == beats));
            }
        }
        Some(now)
    }

    /// Takes all data of a write, if it has come; returns the time of its last beat.
    fn arrive(&self, master: Option<&SubordinatePins>, moving: &mut Moving, now: Time) -> Option<Time> {
        let burst = &mut moving.write.burst;
        let last = moving.write.granted + self.config.period * u64::from(burst.beats - 1);
        let arrived = match master {
            Some(master) => master.arrived(burst)?,
            None => {
                let burst = Burst { bytes: 0, ..*burst };
                Arrived { data: Vec::new(), written: Vec::new(), base: 0, burst }
            }
        };
        *burst = arrived.burst;
        moving.arrived = Some(Box::new(arrived));
        Some(now.max(last))
    }
}

/// Writes what the strobes select: mostly one run of bytes.
pub(super) fn store(target: &dyn AxiTarget, arrived: &Arrived) -> Answer<()> {
    let Arrived { burst, data, written, base } = arrived;
    let (mut at, mut done) = (0, Answer::Now(Ok(())));
    while let Some(start) = (at..written.len()).find(|&byte| written[byte]) {
        let end = (start..written.len()).find(|&byte| !written[byte]).unwrap_or(written.len());
        let run = Burst { address: base + start as u64, bytes: (end - start) as u32, ..*burst };
        let answer = target.write(&run, &data[start..end]);
        // The first error counts. An answer still to come is that of the last run: a memory takes them in order.
        done = match done {
            Answer::Now(Err(refused)) => Answer::Now(Err(refused)),
            _ => answer,
        };
        at = end;
    }
    done
}
