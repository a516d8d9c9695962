//! Writes: the way of their data, and what comes back on B.
//!
//! ```text
//! AW → data on W, a beat a cycle → memory → responder → response on B, in order, from a memory model or outside within each id
//! ```

mod pins;

use crate::bus::axi::channel::{Channel, Direction, PendingAnswer, Step};
use crate::bus::axi::pins::Arrived;
use crate::bus::axi::responder::Response;
use crate::bus::axi::target::take_answer;
use crate::bus::axi::turn::Clients;
use crate::bus::axi::write_client::WriteClient;
use crate::bus::axi::{Answer, AxiConfig, Burst};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;
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

/// A write in its data phase: its address was on AW, and its data is on its way over W to the memory.
pub(super) struct DataPhase {
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

/// The writes in their data phase, and those that wait for B.
#[derive(Default)]
pub(super) struct WriteSide {
    data_phases: VecDeque<DataPhase>,
    /// Writes whose responses' times are known.
    answered: VecDeque<Write>,
    last_acknowledged: Time,
}

/// The writes of one interface.
pub(super) type Writes = Channel<WriteSide>;

impl Direction for WriteSide {
    const WRITE: bool = true;
    type Client = WriteClient;
    type Transaction = Write;

    fn requests(step: &Step<'_, WriteSide>) -> (Clients, Time) {
        let (mut left, mut requesting, mut first) = (step.channel.arbiter.requesting(), 0, Time::MAX);
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            match step.clients[number].request_time() {
                Some(at) => {
                    requesting |= Clients::from(at <= step.now) << number;
                    first = first.min(at);
                }
                None => step.channel.arbiter.clear_requesting(number),
            }
        }
        (requesting, first)
    }

    fn most_granted(config: &AxiConfig) -> u32 {
        config.burst_beats
    }

    fn grant(step: &Step<'_, WriteSide>, client: &WriteClient) -> Burst {
        client.grant(step.now)
    }

    fn cycles(burst: &Burst) -> u32 {
        burst.beats
    }

    fn issue(step: &mut Step<'_, WriteSide>, number: usize, burst: Burst) {
        let Step { channel, transfers, clients, observed, now } = step;
        let (client, now) = (&clients[number], *now);
        observed.see(now, Stage::Request, true, now, &burst);
        transfers.outstanding.add_open();
        let memory = channel.partners.memory();
        let last = now + channel.config.period * u64::from(burst.beats - 1);
        // The data of a master outside comes when it comes.
        let stored = match (&memory, client.port.is_outside) {
            (None, false) => last + transfers.responder.data_delay(&burst),
            (None, true) => {
                if let Some(faults) = transfers.responder.faults() {
                    faults.miss_of_master(&burst);
                }
                Time::MAX
            }
            (Some(memory), false) => {
                client.take_data(&burst, |data| memory.write(now, &burst, data));
                last
            }
            (Some(memory), true) => {
                memory.write_address(now, &burst);
                Time::MAX
            }
        };
        if stored > last {
            transfers.pipeline.hold_bus(stored + channel.config.period);
        }
        let write = || {
            let generation = channel.partners.generation();
            Write { burst, client: number, granted: now, acknowledged: Time::MAX, answer: None, generation }
        };
        if memory.is_some() {
            if let Some(faults) = transfers.responder.faults() {
                faults.miss_at_pins(true, &burst);
            }
            transfers.responder.open.push(burst.id, Time::ZERO, write());
        }
        transfers.side.data_phases.push_back(DataPhase {
            write: write(),
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

impl Step<'_, WriteSide> {
    /// Does all that is due by now, and returns the time of what is next.
    pub(super) fn run(&mut self) -> Result<Time, PendingAnswer> {
        let mut at_pins = self.step_pins();
        self.store();
        self.acknowledge()?;
        if self.advance_pipeline() {
            // The memory may have all data, and acknowledge it, at once.
            at_pins = self.step_pins();
            self.store();
            self.acknowledge()?;
        }
        let at_pins = at_pins.min(self.update_ready());
        let WriteSide { data_phases, answered, .. } = &self.transfers.side;
        let stored = data_phases.front().map_or(Time::MAX, |phase| phase.stored);
        let acknowledged = answered.front().map_or(Time::MAX, |write| write.acknowledged);
        Ok(self.next_advance().min(at_pins).min(stored).min(acknowledged))
    }

    /// A memory model has taken a write; it is acknowledged after all earlier ones of its id.
    pub(super) fn served(&mut self, tag: u64) {
        self.transfers.responder.served(tag);
        while let Some((write, ready)) = self.transfers.responder.take_answered(tag, self.now) {
            self.answer(write, ready);
        }
    }

    /// Gives the memory what it has all data of.
    fn store(&mut self) {
        while self.transfers.side.data_phases.front().is_some_and(|phase| phase.stored <= self.now)
            && let Some(DataPhase { mut write, arrived, is_sent, .. }) =
                self.transfers.side.data_phases.pop_front()
        {
            let (burst, client) = (write.burst, &self.clients[write.client]);
            self.observed.see(self.now, Stage::Data, true, write.granted, &burst);
            if is_sent {
                continue;
            }
            let stored = match &arrived {
                Some(arrived) => pins::store(&*self.channel.target, arrived),
                None => client.take_data(&burst, |data| self.channel.target.write(&burst, data)),
            };
            write.answer = Some(stored).filter(|answer| !matches!(answer, Answer::Now(Ok(()))));
            // Of a master with a clock only the address can be held up.
            let delay = match client.port.is_outside {
                true => Time::ZERO,
                false => self.transfers.responder.answer_delay(&burst),
            };
            let response = match burst.bytes {
                // No strobe was set: a memory model has nothing to do.
                0 if self.transfers.responder.has_model() => {
                    Response::At(self.now + self.channel.config.period, write)
                }
                _ => self.transfers.responder.request(&burst, self.now, delay, write),
            };
            if let Response::At(ready, write) = response {
                self.answer(write, ready);
            }
        }
    }

    /// Has a write acknowledged from `ready` on.
    fn answer(&mut self, write: Write, ready: Time) {
        let (client, beats) = (&self.clients[write.client], write.burst.beats);
        let acknowledged = self.transfers.side.acknowledge_at(ready, self.channel.config.period, write);
        self.transfers.outstanding.close(acknowledged);
        if !client.port.is_outside {
            self.transfers.count.close_at(beats, acknowledged);
        }
    }

    /// Hands on the acknowledgements that are due.
    fn acknowledge(&mut self) -> Result<(), PendingAnswer> {
        let answered = &mut self.transfers.side.answered;
        while let Some(write) = answered.front_mut().filter(|write| write.acknowledged <= self.now) {
            let answer = take_answer(&mut write.answer).map_err(PendingAnswer::Write)?;
            let refused = answer.and_then(Result::err);
            let Write { burst, client, granted, generation, .. } = *write;
            let (client, is_refused) = (&self.clients[client], refused.is_some());
            answered.pop_front();
            if let Some(refused) = refused {
                self.observed.refused(self.now, &client.name, true, &refused, "data lost");
                client.refused.borrow_mut().get_or_insert(refused);
            }
            self.observed.see(self.now, Stage::Response, true, granted, &burst);
            if !client.port.is_outside {
                client.acknowledge();
            } else if let Some(master) = self.channel.partners.master_of(generation) {
                master.respond(self.now, burst.id as u16, is_refused);
            }
        }
        Ok(())
    }
}

impl Writes {
    pub(super) fn checkpoint_writes(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // That a client is among those that request says only that it is to be looked at.
        self.checkpoint(at, |side, at| {
            let WriteSide { data_phases, answered, last_acknowledged } = side;
            at.value(last_acknowledged)?;
            at.at_rest(data_phases.is_empty() && answered.is_empty(), "writes are in flight")
        })
    }
}
