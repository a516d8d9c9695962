//! Writes: the way of their data, and what comes back on B.
//!
//! ```text
//! AW → data on W, a beat a cycle → memory → responder → response on B, in order, from a memory model or outside within each id
//! ```

mod pins;

use crate::bus::axi::channel::{Channel, Direction, PendingAnswer, Transfers};
use crate::bus::axi::observed::Observed;
use crate::bus::axi::pins::Arrived;
use crate::bus::axi::responder::Response;
use crate::bus::axi::target::take_answer;
use crate::bus::axi::turn::Clients;
use crate::bus::axi::write_client::WriteClient;
use crate::bus::axi::{Answer, AxiConfig, Burst};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::Time;
use vp_core::observe::Stage;

/// A write whose address was on AW, and which is not acknowledged.
pub(super) struct Write {
    burst: Burst,
    client: usize,
    /// Time at which its address was on the bus.
    granted: Time,
    /// Time at which its response is on B.
    acknowledged: Time,
    /// The memory's answer, unless it is done without an error.
    answer: Option<Answer<()>>,
    /// Generation of the master outside that it is of, if of one.
    generation: u32,
}

/// A write whose data is on its way to the memory.
pub(super) struct Moving {
    write: Write,
    /// Time at which all its data is there; [`Time::MAX`] until it is known.
    stored: Time,
    /// The data that a master outside has sent.
    arrived: Option<Box<Arrived>>,
    /// True if a memory outside has been sent its address.
    is_sent: bool,
    /// Beats of a master outside that were passed on to a memory outside.
    passed_on: u32,
    /// True if the memory that it was sent to has gone.
    is_lost: bool,
}

/// The writes on W, and those that wait for B.
#[derive(Default)]
pub(super) struct WriteSide {
    moving: VecDeque<Moving>,
    /// Writes whose responses' times are known.
    answered: VecDeque<Write>,
    last_acknowledged: Time,
}

/// The writes of one interface.
pub(super) type Writes = Channel<WriteSide>;

impl Direction for WriteSide {
    const WRITE: bool = true;
    type Client = WriteClient;
    type Kept = Write;

    fn requests(channel: &Writes, clients: &[Rc<WriteClient>], now: Time) -> (Clients, Time) {
        let (mut left, mut requesting, mut first) = (channel.arbiter.requesting(), 0, Time::MAX);
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            match clients[number].request_time() {
                Some(at) => {
                    requesting |= Clients::from(at <= now) << number;
                    first = first.min(at);
                }
                None => channel.arbiter.clear_requesting(number),
            }
        }
        (requesting, first)
    }

    fn most_granted(config: &AxiConfig) -> u32 {
        config.burst_beats
    }

    fn grant(_: &Writes, client: &WriteClient, now: Time) -> Burst {
        client.grant(now)
    }

    fn cycles(burst: &Burst) -> u32 {
        burst.beats
    }

    fn issue(
        channel: &Writes,
        transfers: &mut Transfers<WriteSide>,
        (number, client): (usize, &WriteClient),
        burst: Burst,
        now: Time,
        observed: &Observed,
    ) {
        observed.see(now, Stage::Request, true, now, &burst);
        transfers.outstanding.add_open();
        let write = channel.write(burst, number, now);
        let (memory, faults) = (channel.partners.memory(), transfers.responder.faults());
        if let Some(faults) = faults.filter(|_| memory.is_some()) {
            faults.miss_at_pins(true, &burst);
        } else if let Some(faults) = faults.filter(|_| client.port.is_outside) {
            faults.miss_of_master(&burst);
        }
        let mut stored = now + channel.config.period * u64::from(burst.beats - 1);
        if client.port.is_outside {
            // Its data comes when it comes.
            stored = Time::MAX;
            transfers.pipeline.hold_bus(Time::MAX);
            if let Some(memory) = &memory {
                memory.write_address(now, &burst);
            }
        } else if let Some(memory) = &memory {
            client.take_data(&burst, |data| memory.write(now, &burst, data));
        } else {
            let delay = transfers.responder.data_delay(&burst);
            if delay > Time::ZERO {
                stored += delay;
                transfers.pipeline.hold_bus(stored + channel.config.period);
            }
        }
        if memory.is_some() {
            transfers.responder.open.push(burst.id, Time::ZERO, channel.write(burst, number, now));
        }
        transfers.side.moving.push_back(Moving {
            write,
            stored,
            arrived: None,
            is_sent: memory.is_some(),
            passed_on: 0,
            is_lost: false,
        });
    }
}

impl WriteSide {
    /// Has a write acknowledged from `ready` on, when B is free: it has one response an edge.
    fn acknowledge_at(&mut self, ready: Time, period: Time, write: Write) -> Time {
        let acknowledged = ready.max(self.last_acknowledged + period);
        self.last_acknowledged = acknowledged;
        self.answered.push_back(Write { acknowledged, ..write });
        acknowledged
    }
}

impl Writes {
    fn write(&self, burst: Burst, client: usize, granted: Time) -> Write {
        let generation = self.partners.generation();
        Write { burst, client, granted, acknowledged: Time::MAX, answer: None, generation }
    }

    /// Does all that is due by now, and returns the time of what is next.
    pub(super) fn step(&self, now: Time, observed: &Observed) -> Result<Time, PendingAnswer> {
        let clients = self.arbiter.clients();
        let transfers = &mut *self.transfers.borrow_mut();
        let mut at_pins = self.step_pins(transfers, &clients, now);
        self.store(transfers, &clients, now, observed);
        self.acknowledge(transfers, &clients, now, observed)?;
        if self.advance_pipeline(transfers, &clients, now, observed) {
            // The memory may have all data, and acknowledge it, at once.
            at_pins = self.step_pins(transfers, &clients, now);
            self.store(transfers, &clients, now, observed);
            self.acknowledge(transfers, &clients, now, observed)?;
        }
        let at_pins = at_pins.min(self.update_ready(transfers, &clients, now));
        let stored = transfers.side.moving.front().map_or(Time::MAX, |moving| moving.stored);
        let acknowledged = transfers.side.answered.front().map_or(Time::MAX, |write| write.acknowledged);
        let next = self.next_advance(transfers, &clients, now);
        Ok(next.min(at_pins).min(stored).min(acknowledged))
    }

    /// Gives the memory what it has all data of.
    fn store(
        &self,
        transfers: &mut Transfers<WriteSide>,
        clients: &[Rc<WriteClient>],
        now: Time,
        observed: &Observed,
    ) {
        while transfers.side.moving.front().is_some_and(|moving| moving.stored <= now)
            && let Some(Moving { mut write, arrived, is_sent, .. }) = transfers.side.moving.pop_front()
        {
            let (burst, client) = (write.burst, &clients[write.client]);
            observed.see(now, Stage::Data, true, write.granted, &burst);
            if is_sent {
                continue;
            }
            let stored = match &arrived {
                Some(arrived) => pins::store(&*self.target, arrived),
                None => client.take_data(&burst, |data| self.target.write(&burst, data)),
            };
            write.answer = Some(stored).filter(|answer| !matches!(answer, Answer::Now(Ok(()))));
            // Of a master with a clock only the address can be held up.
            let delay = match client.port.is_outside {
                true => Time::ZERO,
                false => transfers.responder.answer_delay(&burst),
            };
            let response = match burst.bytes {
                // No strobe was set: a memory model has nothing to do.
                0 if transfers.responder.has_model() => Response::At(now + self.config.period, write),
                _ => transfers.responder.request(&burst, now, delay, write),
            };
            if let Response::At(ready, write) = response {
                self.answer(transfers, client, write, ready);
            }
        }
    }

    /// Has a write acknowledged from `ready` on.
    fn answer(&self, transfers: &mut Transfers<WriteSide>, client: &WriteClient, write: Write, ready: Time) {
        let beats = write.burst.beats;
        let acknowledged = transfers.side.acknowledge_at(ready, self.config.period, write);
        transfers.outstanding.close(acknowledged);
        if !client.port.is_outside {
            transfers.count.close_at(beats, acknowledged);
        }
    }

    /// A memory model has taken a write; it is acknowledged after all earlier ones of its id.
    pub(super) fn served(&self, tag: u64, now: Time) {
        let clients = self.arbiter.clients();
        let transfers = &mut *self.transfers.borrow_mut();
        transfers.responder.served(tag);
        while let Some((write, ready)) = transfers.responder.take_answered(tag, now) {
            self.answer(transfers, &clients[write.client], write, ready);
        }
    }

    /// Hands on the acknowledgements that are due.
    fn acknowledge(
        &self,
        transfers: &mut Transfers<WriteSide>,
        clients: &[Rc<WriteClient>],
        now: Time,
        observed: &Observed,
    ) -> Result<(), PendingAnswer> {
        let answered = &mut transfers.side.answered;
        while let Some(write) = answered.front_mut().filter(|write| write.acknowledged <= now) {
            let answer = take_answer(&mut write.answer).map_err(PendingAnswer::Write)?;
            let refused = answer.and_then(Result::err);
            let Write { burst, client, granted, generation, .. } = *write;
            let (client, is_refused) = (&clients[client], refused.is_some());
            answered.pop_front();
            if let Some(refused) = refused {
                observed.refused(now, &client.name, true, &refused, "data lost");
                client.refused.borrow_mut().get_or_insert(refused);
            }
            observed.see(now, Stage::Response, true, granted, &burst);
            if !client.port.is_outside {
                client.acknowledge();
            } else if let Some(master) = self.partners.master_of(generation) {
                master.respond(now, burst.id as u16, is_refused);
            }
        }
        Ok(())
    }

    pub(super) fn checkpoint_writes(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // That a client is among those that request says only that it is to be looked at.
        self.checkpoint(at, |side, at| {
            let WriteSide { moving, answered, last_acknowledged } = side;
            at.value(last_acknowledged)?;
            at.at_rest(moving.is_empty() && answered.is_empty(), "writes are in flight")
        })
    }
}
