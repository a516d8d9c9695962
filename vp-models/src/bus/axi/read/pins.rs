//! Reads where a partner with a clock is the memory or a master.
//!
//! What happens at pins is known only edge by edge. A memory outside determines when each beat comes; a master
//! outside determines when it takes one. Until then the time of the data behind it on the data bus is not
//! known. Such reads wait in a queue for the bus, in the order in which the memory has served them.

use super::egress::Beat;
use super::{Read, ReadSide};
use crate::bus::axi::channel::{PendingAnswer, Step, Transfers};
use crate::bus::axi::observed::Observed;
use crate::bus::axi::pins::{ManagerPins, OpenRead, SubordinatePins};
use crate::bus::axi::read_client::ReadClient;
use crate::bus::axi::target::take_answer;
use crate::bus::axi::{Burst, Unmapped};
use bytes::Bytes;
use vp_core::Time;
use vp_core::observe::Stage;

/// A read whose data a master outside is taking.
pub(super) struct Driving {
    read: Read,
    data: Bytes,
    error: bool,
    /// The present beat, and whether it is on the pins.
    beat: u32,
    is_driven: bool,
}

impl Step<'_, ReadSide> {
    /// Does what is due at the pins; returns the time at which something is due next there.
    #[inline]
    pub(super) fn step_pins(&mut self) -> Result<Time, PendingAnswer> {
        if self.channel.partners.is_any() { self.step_partners() } else { Ok(Time::MAX) }
    }

    /// Does what [`Step::step_pins`] does, where there are pins: not inlined where mostly there are none.
    fn step_partners(&mut self) -> Result<Time, PendingAnswer> {
        let mut due = Time::MAX;
        if let Some(memory) = self.channel.partners.memory() {
            due = self.take_data(&memory);
        }
        if let Some(master) = &*self.channel.partners.master() {
            due = due.min(self.drive_bus(&master.pins)?);
            let client = &self.clients[master.reader];
            if !client.is_requesting()
                && let Some(burst) = master.pins.take_read(self.now, self.room())
            {
                client.request_outside(burst);
                self.channel.arbiter.set_requesting(master.reader);
            }
        }
        Ok(due)
    }

    /// Drives ARREADY of a master outside for its next read; returns the time of the next update.
    pub(super) fn update_ready(&self) -> Time {
        let master = self.channel.partners.master();
        let Some(master) = &*master else { return Time::MAX };
        let is_taken = self.clients[master.reader].is_requesting();
        let room = if is_taken { Time::MAX } else { self.room() };
        master.pins.update_room(false, self.now, room)
    }

    // A memory outside.

    /// Puts a client's read on AR of a memory outside.
    pub(super) fn issue_at_pins(&self, memory: &ManagerPins, number: usize, burst: Burst) {
        self.observed.see(self.now, Stage::Request, false, self.now, &burst);
        if let Some(faults) = self.transfers.responder.faults() {
            faults.miss_at_pins(false, &burst);
        }
        let client = &self.clients[number];
        // A master outside takes its data at its pins.
        let position = if client.port.is_outside { 0 } else { client.data.reserve(&burst) };
        memory.read(self.now, burst, number, (position, self.channel.partners.generation()));
    }

    /// Takes what is on R; returns the time from which it takes more.
    fn take_data(&mut self, memory: &ManagerPins) -> Time {
        let clients = self.clients;
        while memory.has_data() {
            let free = self.transfers.side.bus_free();
            if free > self.now {
                return free;
            }
            let Some((read, beat)) = memory.take_data(self.now) else { continue };
            let client = &clients[read.client];
            if client.port.is_outside {
                self.transfers.side.bus_free = self.now + self.channel.config.period;
                if let Some(master) = self.channel.partners.master_of(read.generation) {
                    let is_last = read.taken == read.burst.beats;
                    master.send_data(self.now, beat.id, beat.data, (is_last, beat.error));
                }
            } else {
                let (lane, from, count) = read.burst.lanes(read.taken - 1, self.channel.config.beat_bytes);
                if beat.error {
                    client.refuse(&read.burst, "the memory answered an error", self.now, self.observed);
                } else {
                    client.data.store(read.position + from as u64, &beat.data[lane..lane + count]);
                }
                self.transfers.count.close(1, self.now, self.now);
                self.pass_beat(read.client, count as u32);
                self.step_egress();
                memory.hold_data(self.now, self.transfers.side.bus_free());
            }
            if read.taken == read.burst.beats {
                self.observed.expect(
                    read.requested,
                    true,
                    read.first.unwrap_or(self.now),
                    self.now,
                    &read.burst,
                );
                self.transfers.outstanding.close(self.now);
            }
        }
        Time::MAX
    }

    /// Passes a beat that is on R now on to its client.
    fn pass_beat(&mut self, number: usize, bytes: u32) {
        let (side, client) = (&mut self.transfers.side, &self.clients[number]);
        let (passed, from) =
            side.pass_beats((number, client), std::iter::once(bytes), self.now, self.channel.config.period);
        if passed == 1 {
            return client.deliver_beat(bytes, from, self.now);
        }
        side.queue_beat(Beat { client: number, read: None, bytes }, from);
        side.bus_free = from + self.channel.config.period;
    }

    /// Ends the reads that a memory which has gone has not answered, with errors.
    pub(in crate::bus::axi) fn end_at_pins(&mut self, memory: &ManagerPins, why: &str) {
        let (clients, now) = (self.clients, self.now);
        for OpenRead { burst, requested, first, client: number, generation, taken, .. } in memory.take_reads()
        {
            let client = &clients[number];
            client.refuse(&burst, why, now, self.observed);
            let master =
                client.port.is_outside.then(|| self.channel.partners.master_of(generation)).flatten();
            for beat in taken..burst.beats {
                if let Some(master) = &master {
                    let zeros = Bytes::from(vec![0; self.channel.config.beat_bytes as usize]);
                    master.send_data(now, burst.id as u16, zeros, (beat + 1 == burst.beats, true));
                } else if !client.port.is_outside {
                    let (_, _, count) = burst.lanes(beat, self.channel.config.beat_bytes);
                    self.pass_beat(number, count as u32);
                    self.transfers.count.close(1, now, now);
                }
            }
            self.observed.expect(requested, true, first.unwrap_or(now), now, &burst);
            self.transfers.outstanding.close(now);
        }
    }

    // A master outside.

    /// Puts a beat of what a master outside takes on R, unless it is there, and looks if it is taken. Returns the time of what is
    /// next; `None`: now.
    fn drive_beat(&mut self, master: &SubordinatePins) -> Option<Time> {
        let (period, width) = (self.channel.config.period, self.channel.config.beat_bytes as usize);
        let Transfers { side, outstanding, .. } = &mut *self.transfers;
        let free = side.bus_free();
        let driving = side.driving.as_mut()?;
        let (burst, is_last) = (driving.read.burst, driving.beat + 1 == driving.read.burst.beats);
        // If who has asked for it has gone, nobody takes it.
        let mut taken = Ok(self.now);
        let is_its = driving.read.generation == self.channel.partners.generation();
        if is_its {
            if !driving.is_driven {
                if free > self.now {
                    return Some(free);
                }
                let start = driving.beat as usize * width;
                let data = driving.data.slice(start..start + width);
                master.send_data(self.now, burst.id as u16, data, (is_last, driving.error));
                driving.is_driven = true;
            }
            taken = master.data_taken(self.now);
        }
        let edge = match taken {
            Err(free) => return Some(free),
            Ok(edge) => edge,
        };
        if driving.beat == 0 {
            driving.read.first = edge;
        }
        if is_its {
            side.bus_free = edge + period;
            (driving.beat, driving.is_driven) = (driving.beat + 1, false);
        }
        if is_last || !is_its {
            let first = if is_its { driving.read.first } else { edge };
            self.observed.expect(driving.read.requested, true, first, edge, &burst);
            outstanding.close(edge);
            side.driving = None;
        }
        None
    }

    /// Puts on R what is to be there now; returns the time at which there is more to do.
    fn drive_bus(&mut self, master: &SubordinatePins) -> Result<Time, PendingAnswer> {
        let width = self.channel.config.beat_bytes as usize;
        loop {
            if self.transfers.side.driving.is_some() {
                match self.drive_beat(master) {
                    Some(next) => return Ok(next),
                    None => continue,
                }
            }
            let start = self.transfers.side.bus_free();
            let Some(read) = self.transfers.side.bus_queue.front_mut() else { return Ok(Time::MAX) };
            let (start, client) = (read.first.max(start), &self.clients[read.client]);
            let is_outside = client.port.is_outside;
            if is_outside && start > self.now {
                return Ok(start);
            }
            let answer = match is_outside {
                true => take_answer(&mut read.answer).map_err(PendingAnswer::Read)?,
                false => None,
            };
            let Some(read) = self.transfers.side.bus_queue.pop_front() else { return Ok(Time::MAX) };
            if !is_outside {
                self.put_on_bus(read, true);
                continue;
            }
            let answer = answer.unwrap_or_else(|| Ok(Vec::new()));
            let error = answer.is_err();
            let mut data = answer.unwrap_or_else(|refused| {
                self.observed.refused(self.now, &client.name, false, &refused, "zeros and an error returned");
                Vec::new()
            });
            data.resize(read.burst.beats as usize * width, 0);
            self.transfers.side.driving =
                Some(Driving { read, data: Bytes::from(data), error, beat: 0, is_driven: false });
        }
    }
}

impl ReadClient {
    /// Notes that a memory outside has not served a burst.
    fn refuse(&self, burst: &Burst, why: &str, now: Time, observed: &Observed) {
        let Burst { address, bytes, .. } = *burst;
        let refused = Unmapped { address, bytes, why: why.to_owned() };
        observed.refused(now, &self.name, false, &refused, "zeros returned");
        self.refused.borrow_mut().get_or_insert(refused);
    }
}
