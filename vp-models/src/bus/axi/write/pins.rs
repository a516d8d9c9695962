//! Writes where a partner with a clock is the memory or a master.

use super::{DataPhase, Write, WriteSide};
use crate::bus::axi::channel::Step;
use crate::bus::axi::pins::{Arrived, ManagerPins, SubordinatePins};
use crate::bus::axi::{Answer, AxiConfig, AxiTarget, Burst, Unmapped};
use bytes::Bytes;
use vp_core::Time;

impl Step<'_, WriteSide> {
    /// Does what is due at the pins; returns the time at which something is due next there.
    #[inline]
    pub(super) fn step_pins(&mut self) -> Time {
        if !self.channel.partners.is_any() {
            return Time::MAX;
        }
        let memory = self.channel.partners.memory();
        if let Some(memory) = &memory {
            while let Some((id, error)) = memory.take_response() {
                let why = error.then_some("the memory answered an error");
                if let Some(write) = self.transfers.responder.open.pop(id.into()) {
                    self.end(write, why);
                }
            }
        }
        let master = self.channel.partners.master();
        let Some(master) = &*master else { return Time::MAX };
        let (pins, client) = (&*master.pins, &self.clients[master.writer]);
        let due = pins.take_write_data(self.now);
        let AxiConfig { period, beat_bytes, .. } = self.channel.config;
        let (clients, now) = (self.clients, self.now);
        let open =
            |phase: &&mut DataPhase| phase.stored == Time::MAX && clients[phase.write.client].port.is_outside;
        if let Some(phase) = self.transfers.side.data_phases.back_mut().filter(open) {
            let is_its = phase.write.generation == self.channel.partners.generation() && !pins.is_gone();
            let sender = Some(pins).filter(|_| is_its);
            let stored = match phase.is_sent {
                true => phase.pass_on(memory.as_deref(), sender, (now, beat_bytes)),
                false => phase.take_all(sender, (now, period)),
            };
            if let Some(stored) = stored {
                phase.stored = stored;
                self.transfers.pipeline.hold_bus(stored + period);
            }
        }
        if !client.has_burst()
            && let Some(burst) = pins.take_write(self.now, self.master_room(master.writer))
        {
            client.take_outside(burst);
        }
        // It requests the arbiter's grant when its first data is there.
        if let Some(first) = pins.first_beat()
            && client.request_outside(first.max(self.now))
        {
            self.channel.arbiter.set_requesting(master.writer);
        }
        due
    }

    /// Drives AWREADY of a master outside for its next write; returns the time of the next update.
    pub(super) fn update_ready(&self) -> Time {
        let master = self.channel.partners.master();
        let Some(master) = &*master else { return Time::MAX };
        let is_taken = self.clients[master.writer].has_burst();
        let room = if is_taken { Time::MAX } else { self.master_room(master.writer) };
        master.pins.update_room(true, self.now, room)
    }

    /// Time from which on another address of a master outside is taken: when the data of the one before has come.
    fn master_room(&self, writer: usize) -> Time {
        match self.transfers.pipeline.holds(writer) {
            true => Time::MAX,
            false => self.room().max(self.transfers.pipeline.bus_free()),
        }
    }

    // A memory outside.

    /// Ends a write that a memory outside had, with an error if there is a reason for one.
    fn end(&mut self, mut write: Write, why: Option<&str>) {
        let Burst { address, bytes, .. } = write.burst;
        write.answer = why.map(|why| Answer::Now(Err(Unmapped { address, bytes, why: why.to_owned() })));
        write.acknowledged = self.now;
        self.transfers.outstanding.close(self.now);
        if !self.clients[write.client].port.is_outside {
            self.transfers.count.close_at(write.burst.beats, self.now);
        }
        self.transfers.side.last_acknowledged = self.now;
        self.transfers.side.answered.push_back(write);
    }

    /// Ends the writes that a memory which has gone has not answered, with errors.
    pub(in crate::bus::axi) fn end_at_pins(&mut self, why: &str) {
        for write in self.transfers.responder.open.take_all() {
            self.end(write, Some(why));
        }
        if let Some(phase) = self.transfers.side.data_phases.back_mut().filter(|phase| phase.is_sent) {
            phase.is_lost = true;
        }
    }
}

impl DataPhase {
    /// Passes on to a memory outside what has come of a master outside; returns the time of its last beat.
    fn pass_on(
        &mut self,
        memory: Option<&ManagerPins>,
        master: Option<&SubordinatePins>,
        (now, beat_bytes): (Time, u32),
    ) -> Option<Time> {
        let beats = self.write.burst.beats;
        while self.passed_on < beats {
            let (data, strobes) = match master {
                // The burst has to end.
                None => (Bytes::from(vec![0; beat_bytes as usize]), 0),
                Some(master) => master.next_beat()?,
            };
            self.passed_on += 1;
            if let Some(memory) = memory.filter(|_| !self.is_lost) {
                memory.write_data(now, data, (strobes, self.passed_on == beats));
            }
        }
        Some(now)
    }

    /// Takes all data of a master outside, if it has come; returns the time of its last beat.
    fn take_all(&mut self, master: Option<&SubordinatePins>, (now, period): (Time, Time)) -> Option<Time> {
        let burst = &mut self.write.burst;
        let last = self.write.granted + period * u64::from(burst.beats - 1);
        let arrived = match master {
            Some(master) => master.arrived(burst)?,
            None => {
                let burst = Burst { bytes: 0, ..*burst };
                Arrived { data: Vec::new(), written: Vec::new(), base: 0, burst }
            }
        };
        *burst = arrived.burst;
        self.arrived = Some(Box::new(arrived));
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
