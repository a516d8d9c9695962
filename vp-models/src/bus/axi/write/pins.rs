//! Writes where a partner with a clock is the memory or a master.

use super::{Channel, GrantedWrite, Moving, TimedWrite, Writes};
use crate::bus::axi::pins::{Arrived, ManagerPins, SubordinatePins};
use crate::bus::axi::write_client::WriteClient;
use crate::bus::axi::{Answer, AxiTarget, Burst, Unmapped};
use bytes::Bytes;
use std::rc::Rc;
use vp_core::Time;

impl Writes {
    /// Does what is due at the pins; tells when something is due next there.
    pub(super) fn step_pins(&self, channel: &mut Channel, clients: &[Rc<WriteClient>], now: Time) -> Time {
        let gone = std::mem::take(&mut self.partners.borrow_mut().gone);
        for (why, _) in gone.iter().filter_map(|memory| memory.take_gone()) {
            for requested in std::mem::take(&mut channel.requested).into_values().flatten() {
                Self::end(channel, requested.given, Some(why.clone()), now);
            }
            if let Some(moving) = channel.moving.back_mut().filter(|moving| moving.is_sent) {
                moving.is_lost = true;
            }
        }
        self.has_partners.set(self.partners.borrow().is_any());
        let partners = self.partners.borrow();
        if let Some(memory) = &partners.memory {
            Self::take_responses(memory, channel, now);
        }
        match &partners.master {
            Some((master, number)) => {
                let due = master.take_write_data(now);
                let open = channel.moving.back().filter(|moving| moving.stored == Time::MAX);
                if let Some(is_sent) = open.map(|moving| moving.is_sent) {
                    let is_its = channel.moving.back().is_some_and(|it| it.generation == partners.generation);
                    let master = Some(&**master).filter(|master| is_its && !master.is_gone());
                    match is_sent {
                        true => self.pass_on(partners.memory.as_deref(), master, channel, now),
                        false => self.arrive(master, channel, now),
                    }
                }
                self.take_request(master, (*number, &clients[*number]), channel, now);
                due
            }
            None => Time::MAX,
        }
    }

    /// Drives AWREADY of a master outside for its next write; returns the time of the next update.
    pub(super) fn update_ready(&self, channel: &Channel, clients: &[Rc<WriteClient>], now: Time) -> Time {
        let partners = self.partners.borrow();
        let Some((master, number)) = &partners.master else { return Time::MAX };
        let room = if clients[*number].has_burst() { Time::MAX } else { self.room(channel, now) };
        master.set_write_room(now, room);
        if room > now {
            room
        } else if master.is_address_waiting(true) {
            now + self.config.period
        } else {
            Time::MAX
        }
    }

    // A memory outside.

    /// Takes the responses that have come.
    fn take_responses(memory: &ManagerPins, channel: &mut Channel, now: Time) {
        while let Some((id, error)) = memory.take_response() {
            let why = error.then(|| "the memory answered an error".to_owned());
            if let Some(TimedWrite { given, .. }) =
                channel.requested.get_mut(&u32::from(id)).and_then(std::collections::VecDeque::pop_front)
            {
                Self::end(channel, given, why, now);
            }
        }
    }

    fn end(
        channel: &mut Channel,
        GrantedWrite { burst, client, granted, generation, .. }: GrantedWrite,
        why: Option<String>,
        now: Time,
    ) {
        let Burst { address, bytes, .. } = burst;
        let answer = why.map(|why| Answer::Now(Err(Unmapped { address, bytes, why })));
        channel.last_acknowledged = now;
        channel.outstanding.close(now);
        channel.given.push_back(GrantedWrite {
            burst,
            client,
            granted,
            acknowledged: now,
            answer,
            generation,
        });
    }

    // A master outside.

    /// Takes the address of the master's next write; it requests the arbiter's grant when its first data is there.
    fn take_request(
        &self,
        master: &SubordinatePins,
        (number, client): (usize, &WriteClient),
        channel: &Channel,
        now: Time,
    ) {
        if !client.has_burst()
            && let Some(burst) = master.take_write(now, self.room(channel, now))
        {
            client.take_outside(burst);
        }
        if let Some(first) = master.first_beat()
            && client.request_outside(first.max(now))
        {
            self.set_requesting(number);
        }
    }

    /// Passes on to a memory outside what has come of the write that is moving.
    fn pass_on(
        &self,
        memory: Option<&ManagerPins>,
        master: Option<&SubordinatePins>,
        channel: &mut Channel,
        now: Time,
    ) {
        let Some(moving) = channel.moving.back_mut().filter(|moving| moving.stored == Time::MAX) else {
            return;
        };
        while moving.passed_on < moving.burst.beats {
            let beat = match master {
                // The burst has to end.
                None => (Bytes::from(vec![0; self.config.beat_bytes as usize]), 0),
                Some(master) => match master.next_beat() {
                    Some(beat) => beat,
                    None => return,
                },
            };
            moving.passed_on += 1;
            if let Some(memory) = memory.filter(|_| !moving.is_lost) {
                memory.write_data(now, beat.0, (beat.1, moving.passed_on == moving.burst.beats));
            }
        }
        moving.stored = now;
        channel.free = now + self.config.period;
    }

    /// All data of the write that is moving has come, if it has: when the memory has it is known then.
    fn arrive(&self, master: Option<&SubordinatePins>, channel: &mut Channel, now: Time) {
        let Some(moving) = channel.moving.back_mut().filter(|moving| moving.stored == Time::MAX) else {
            return;
        };
        let arrived = match master {
            None => Arrived {
                data: Vec::new(),
                written: Vec::new(),
                base: 0,
                burst: Burst { bytes: 0, ..moving.burst },
            },
            Some(master) => match master.arrived(&moving.burst) {
                Some(arrived) => arrived,
                None => return,
            },
        };
        let moved = moving.granted + self.config.period * u64::from(moving.burst.beats - 1);
        let last = now.max(moved);
        moving.burst = arrived.burst;
        moving.arrived = Some(arrived);
        moving.stored = last;
        channel.free = last + self.config.period;
        if self.timed.is_none() {
            let stored = self.config.serve(&channel.memory_free, last, &moving.burst);
            moving.stored = stored;
            let latency = self.config.period * channel.latency.draw();
            let acknowledged = (stored + latency).max(channel.last_acknowledged + self.config.period);
            moving.acknowledged = Some(acknowledged);
            channel.last_acknowledged = acknowledged;
            channel.outstanding.close(acknowledged);
        }
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

impl Moving {
    /// A write of a master outside, whose data is still to come.
    pub(super) fn open(burst: Burst, client: usize, granted: Time) -> Moving {
        Moving {
            burst,
            client,
            granted,
            stored: Time::MAX,
            acknowledged: None,
            arrived: None,
            is_sent: false,
            passed_on: 0,
            is_lost: false,
            generation: 0,
        }
    }
}
