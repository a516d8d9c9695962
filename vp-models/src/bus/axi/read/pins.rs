//! Reads where a partner with a clock is the memory or a master.
//!
//! What happens at pins is known only edge by edge. A memory outside determines when each beat comes; a master
//! outside determines when it takes one. Until then the time of the data behind it on the data bus is not
//! known. Such reads wait in a queue for the bus, in the order in which the memory has served them.

use super::channel::{Channel, InFlight};
use super::{PendingAnswer, Reads};
use crate::bus::axi::observed::Observed;
use crate::bus::axi::pins::{ManagerPins, OpenRead, SubordinatePins};
use crate::bus::axi::read_client::ReadClient;
use crate::bus::axi::{Answer, Burst, Unmapped};
use bytes::Bytes;
use std::rc::Rc;
use vp_core::Time;

/// A read whose data the memory has, or will have then, and that waits for the data bus.
pub(super) struct Queued {
    pub(super) ready: Time,
    pub(super) read: InFlight,
    pub(super) answer: Option<Answer<Vec<u8>>>,
}

/// A read whose data a master outside is taking.
pub(super) struct Driving {
    read: InFlight,
    data: Bytes,
    error: bool,
    /// Time at which the first beat was taken.
    first: Time,
    /// The present beat, and whether it is on the pins.
    beat: u32,
    is_driven: bool,
}

/// The partners of an interface.
#[derive(Default)]
pub(in crate::bus::axi) struct Partners {
    /// The memory outside.
    pub(in crate::bus::axi) memory: Option<Rc<ManagerPins>>,
    /// Memories that have left, whose bursts have not been ended.
    pub(in crate::bus::axi) gone: Vec<Rc<ManagerPins>>,
    /// The master outside, and its number among the clients of that direction.
    pub(in crate::bus::axi) master: Option<(Rc<SubordinatePins>, usize)>,
    /// Number of masters that there have been: transfers of one master do not belong to the next.
    pub(in crate::bus::axi) generation: u32,
}

impl Partners {
    /// Returns true if anything is to be done at pins.
    pub(in crate::bus::axi) fn is_any(&self) -> bool {
        self.memory.is_some() || self.master.is_some() || !self.gone.is_empty()
    }
}

impl Reads {
    /// Does what is due at the pins; tells when something is due next there.
    pub(super) fn step_pins(
        &self,
        channel: &mut Channel,
        clients: &[Rc<ReadClient>],
        now: Time,
        observed: &Observed,
    ) -> Result<Time, PendingAnswer> {
        let gone = std::mem::take(&mut self.partners.borrow_mut().gone);
        for (why, open) in gone.iter().filter_map(|memory| memory.take_gone()) {
            open.iter().for_each(|read| self.refuse(read, &why, channel, clients, now, observed));
        }
        self.has_partners.set(self.partners.borrow().is_any());
        let partners = self.partners.borrow();
        let mut due = Time::MAX;
        if let Some(memory) = &partners.memory {
            due = self.take_data(memory, &partners, channel, clients, now, observed);
        }
        if let Some((master, number)) = &partners.master {
            let generation = partners.generation;
            due = due.min(self.drive_bus((master, generation), channel, clients, now, observed)?);
            let client = &clients[*number];
            if !client.is_requesting()
                && let Some(burst) = master.take_read(now, self.room(channel, now))
            {
                client.request_outside(burst);
                self.set_requesting(*number);
            }
        }
        Ok(due)
    }

    /// Drives ARREADY of a master outside for its next read; returns the time of the next update.
    pub(super) fn update_ready(&self, channel: &Channel, clients: &[Rc<ReadClient>], now: Time) -> Time {
        let partners = self.partners.borrow();
        let Some((master, number)) = &partners.master else { return Time::MAX };
        let room = if clients[*number].is_requesting() { Time::MAX } else { self.room(channel, now) };
        master.set_read_room(now, room);
        // Its next one is taken then, if it waits already.
        if room > now {
            room
        } else if master.is_address_waiting(false) {
            now + self.config.period
        } else {
            Time::MAX
        }
    }

    // A memory outside.

    /// Requests a read from a memory outside: puts it on AR.
    pub(super) fn request_at_pins(
        &self,
        memory: &ManagerPins,
        channel: &mut Channel,
        (number, burst): (usize, Burst),
        client: &ReadClient,
        now: Time,
    ) {
        channel.outstanding.add_open();
        // A master outside takes its data at its pins; whose it is shows in its place.
        let place = match client.is_outside() {
            true => u64::from(self.partners.borrow().generation),
            false => client.reserve(&burst),
        };
        memory.read(now, burst, number, place);
    }

    /// Takes what is on R; tells when it takes more.
    fn take_data(
        &self,
        memory: &ManagerPins,
        partners: &Partners,
        channel: &mut Channel,
        clients: &[Rc<ReadClient>],
        now: Time,
        observed: &Observed,
    ) -> Time {
        while memory.has_data() {
            if channel.bus_free > now {
                return channel.bus_free;
            }
            let Some((read, beat)) = memory.take_data(now) else { continue };
            let OpenRead { burst, requested, first, client: number, place, taken, .. } = read;
            let client = &clients[number];
            if client.is_outside() {
                let is_last = taken == burst.beats;
                if let Some((master, _)) = &partners.master
                    && place == u64::from(partners.generation)
                {
                    master.send_data(now, beat.id, beat.data, (is_last, beat.error));
                }
                channel.bus_free = now + self.config.period;
                if is_last {
                    observed.expect(requested, true, first.unwrap_or(now), now, &burst);
                    channel.outstanding.close(now);
                }
                continue;
            }
            let (lane, from, count) =
                crate::bus::axi::pins::of_beat(&burst, taken - 1, self.config.beat_bytes);
            if beat.error {
                let Burst { address, bytes, .. } = burst;
                let refused = Unmapped { address, bytes, why: "the memory answered an error".to_owned() };
                observed.refused(now, &client.name, false, &refused, "zeros returned");
                client.refused.borrow_mut().get_or_insert(refused);
            } else {
                client.store_data(place + from as u64, &beat.data[lane..lane + count]);
            }
            let next = now + self.config.period;
            let ready = client.expect_beat(now).unwrap_or(next).max(next);
            channel.bus_free = ready;
            memory.hold_data(now, ready);
            channel.beats.close(1, now, now);
            client.deliver_beat(count as u32, now);
            if taken == burst.beats {
                observed.expect(requested, true, first.unwrap_or(now), now, &burst);
                channel.outstanding.close(now);
            }
        }
        Time::MAX
    }

    /// The memory has gone: its reads end with errors.
    fn refuse(
        &self,
        read: &OpenRead,
        why: &str,
        channel: &mut Channel,
        clients: &[Rc<ReadClient>],
        now: Time,
        observed: &Observed,
    ) {
        let OpenRead { burst, requested, first, client: number, taken, .. } = *read;
        let client = &clients[number];
        let Burst { address, bytes, .. } = burst;
        let refused = Unmapped { address, bytes, why: why.to_owned() };
        observed.refused(now, &client.name, false, &refused, "zeros returned");
        client.refused.borrow_mut().get_or_insert(refused);
        if client.is_outside() {
            let partners = self.partners.borrow();
            if let Some((master, _)) = &partners.master
                && read.place == u64::from(partners.generation)
            {
                let zeros = Bytes::from(vec![0; self.config.beat_bytes as usize]);
                for beat in taken..burst.beats {
                    let is_last = beat + 1 == burst.beats;
                    master.send_data(now, burst.id as u16, zeros.clone(), (is_last, true));
                }
            }
            channel.outstanding.close(now);
            return;
        }
        for beat in taken..burst.beats {
            let (_, _, count) = crate::bus::axi::pins::of_beat(&burst, beat, self.config.beat_bytes);
            client.expect_beat(now);
            client.deliver_beat(count as u32, now);
            channel.beats.close(1, now, now);
        }
        observed.expect(requested, true, first.unwrap_or(now), now, &burst);
        channel.outstanding.close(now);
    }

    // A master outside.

    /// Returns true if the data bus is not known to be free at any time.
    pub(super) fn is_bus_open(channel: &Channel) -> bool {
        channel.driving.is_some() || !channel.bus_queue.is_empty()
    }

    /// Puts a beat of what a master outside takes on R, unless it is there, and looks whether it is taken. Tells when there is more
    /// to do; none: now.
    fn drive_beat(
        &self,
        (master, generation): (&SubordinatePins, u32),
        channel: &mut Channel,
        now: Time,
        observed: &Observed,
    ) -> Option<Time> {
        let (period, width) = (self.config.period, self.config.beat_bytes as usize);
        let driving = channel.driving.as_mut()?;
        let burst = driving.read.burst;
        if driving.read.generation != generation {
            // Who has asked for it has gone.
            observed.expect(driving.read.requested, true, now, now, &burst);
            channel.outstanding.close(now);
            channel.driving = None;
            return None;
        }
        let is_last = driving.beat + 1 == burst.beats;
        if !driving.is_driven {
            if channel.bus_free > now {
                return Some(channel.bus_free);
            }
            let start = driving.beat as usize * width;
            let data = driving.data.slice(start..start + width);
            master.send_data(now, burst.id as u16, data, (is_last, driving.error));
            driving.is_driven = true;
        }
        match master.data_taken(now) {
            Err(free) => return Some(free),
            Ok(edge) => {
                channel.bus_free = edge + period;
                if driving.beat == 0 {
                    driving.first = edge;
                }
                (driving.beat, driving.is_driven) = (driving.beat + 1, false);
                if is_last {
                    observed.expect(driving.read.requested, true, driving.first, edge, &burst);
                    channel.outstanding.close(edge);
                    channel.driving = None;
                }
            }
        }
        None
    }

    /// Puts on R what is to be there now; tells when there is more to do.
    fn drive_bus(
        &self,
        (master, generation): (&SubordinatePins, u32),
        channel: &mut Channel,
        clients: &[Rc<ReadClient>],
        now: Time,
        observed: &Observed,
    ) -> Result<Time, PendingAnswer> {
        let width = self.config.beat_bytes as usize;
        loop {
            if channel.driving.is_some() {
                match self.drive_beat((master, generation), channel, now, observed) {
                    Some(next) => return Ok(next),
                    None => continue,
                }
            }
            let Some(Queued { ready, read, answer }) = channel.bus_queue.pop_front() else {
                return Ok(Time::MAX);
            };
            let (start, client) = (ready.max(channel.bus_free), &clients[read.client]);
            if !client.is_outside() {
                let (first, last) = self.on_bus(channel, start, &read.burst, client);
                channel.outstanding.close(last);
                channel.beats.close(read.burst.beats, first, last);
                channel.answers.extend(answer);
                channel.in_flight.push_back(InFlight { first, last, ..read });
                continue;
            }
            if start > now {
                channel.bus_queue.push_front(Queued { ready, read, answer });
                return Ok(start);
            }
            let answer = match answer {
                Some(Answer::Now(answer)) => answer,
                None => Ok(Vec::new()),
                Some(Answer::Later(completion)) => match completion.take() {
                    Some(answer) => answer,
                    None => {
                        let answer = Some(Answer::Later(completion.clone()));
                        channel.bus_queue.push_front(Queued { ready, read, answer });
                        return Err(PendingAnswer::Read(completion));
                    }
                },
            };
            let error = answer.is_err();
            let mut data = answer.unwrap_or_else(|refused| {
                observed.refused(now, &client.name, false, &refused, "zeros and an error returned");
                Vec::new()
            });
            data.resize(read.burst.beats as usize * width, 0);
            let data = Bytes::from(data);
            channel.driving = Some(Driving { read, data, error, first: now, beat: 0, is_driven: false });
        }
    }
}
