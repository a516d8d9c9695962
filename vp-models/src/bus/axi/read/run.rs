//! Reads granted together while no other process could notice a single one.
//!
//! Much of what an engine reads is a long run of bursts, above all weights. As long as no other process has
//! anything to do, and the engines wait for more than the next burst, nothing can react to a single burst. Then
//! grants need no steps; each still has its own times, by the rules of [`super::Reads`].

use super::{Read, ReadSide, Reads};
use crate::bus::axi::Burst;
use crate::bus::axi::channel::Transfers;
use crate::bus::axi::observed::Observed;
use crate::bus::axi::pipeline::Chosen;
use crate::bus::axi::read_client::{ReadClient, Request, Unnoticed};
use crate::bus::axi::turn::Clients;
use std::rc::Rc;
use vp_core::Time;
use vp_core::observe::Stage;

/// Bursts of a client that are looked at together, at most.
const TOGETHER: usize = 64;

/// Bursts of a client that are being granted.
#[derive(Default)]
pub(super) struct Granting {
    /// The next burst; the others have the same length and follow it.
    burst: Burst,
    /// Number of bursts.
    count: usize,
    /// Number of these bursts that were granted.
    done: usize,
    /// True if the last one completes the present request of the client's requester.
    ends_request: bool,
    /// Time at which the last was granted.
    last: Time,
}

impl Granting {
    /// Tells the client what it has to know of the bursts granted.
    fn settle(&mut self, client: &ReadClient, next: Option<Request>) {
        let Granting { done, last, .. } = std::mem::take(self);
        if done > 0 {
            client.take(done, next, last);
        }
    }
}

impl Reads {
    /// Chooses reads and puts them on AR before `until` and no later than `quiet`; tells when the last thing was done.
    pub(super) fn run(
        &self,
        transfers: &mut Transfers<ReadSide>,
        clients: &[Rc<ReadClient>],
        (mut until, quiet): (Time, Time),
        observed: &Observed,
    ) -> Option<Time> {
        let (requesting, target) = (self.arbiter.requesting(), &*self.target);
        let mut granting = std::mem::take(&mut transfers.side.granting);
        granting.resize_with(clients.len(), Granting::default);
        let (mut done, mut granted, mut reading): (_, Clients, Clients) = (None, 0, 0);
        loop {
            let choice = if requesting == 0 { Time::MAX } else { transfers.pipeline.room() };
            let now = choice.min(transfers.next_count()).min(transfers.next_issue());
            if now > quiet || now >= until {
                break;
            }
            if choice <= now {
                let Some((number, turn)) = self.arbiter.next(requesting, clients) else { break };
                let (client, batch) = (&*clients[number], &mut granting[number]);
                if batch.count == 0 {
                    let Some(Unnoticed { burst, count, ends_request }) = client.unnoticed(TOGETHER) else {
                        break;
                    };
                    *batch = Granting { burst, count, ends_request, ..Granting::default() };
                    granted |= 1 << number;
                }
                let (is_last, mut next) = (batch.done + 1 == batch.count, None);
                if is_last && batch.ends_request {
                    next = client.ahead(now);
                    if next.is_none() {
                        break;
                    }
                }
                self.arbiter.set_turn(turn);
                let (burst, counted) = (batch.burst, batch.burst.beats);
                // Mostly nothing waits before it or holds it back: then it is on the bus at once.
                let passes = transfers.passes(&burst).is_some_and(|at| at <= now)
                    && !client.is_awaited(&burst)
                    && client.read_later(target, &burst);
                if !passes {
                    transfers
                        .pipeline
                        .choose(Chosen { client: Some(number), burst, counted, cycles: 1 }, now);
                }
                client.pass_arbiter(now);
                batch.burst.address = batch.burst.address.wrapping_add(batch.burst.bytes.into());
                batch.done += 1;
                batch.last = now;
                done = Some(now);
                if is_last {
                    batch.settle(client, next);
                    until = until.min(client.next_read());
                }
                if passes {
                    reading |= 1 << number;
                    transfers.pipeline.pass(now);
                    if !self.deliver(transfers, (number, client), &burst, now, observed) {
                        break;
                    }
                    continue;
                }
            }
            if transfers.next_count() <= now {
                transfers.count_next(now);
                done = Some(now);
            }
            if transfers.next_issue() <= now
                && let Some((&Chosen { client: Some(number), burst, .. }, _)) = transfers.pipeline.counted()
            {
                let client = &*clients[number];
                if client.is_awaited(&burst) || !client.read_later(target, &burst) {
                    break;
                }
                reading |= 1 << number;
                transfers.pipeline.issue(now);
                transfers.count.remove_open(burst.beats);
                done = Some(now);
                if !self.deliver(transfers, (number, client), &burst, now, observed) {
                    break;
                }
            }
        }
        while granted != 0 {
            let number = granted.trailing_zeros() as usize;
            granting[number].settle(&clients[number], None);
            granted &= granted - 1;
        }
        // Nobody has written meanwhile.
        while reading != 0 {
            clients[reading.trailing_zeros() as usize].read_now(target);
            reading &= reading - 1;
        }
        transfers.side.granting = granting;
        done
    }
}

impl Reads {
    /// Has a burst that is on AR now on the data bus as soon as that is free; returns false if some of it has to wait for other data.
    #[inline]
    fn deliver(
        &self,
        transfers: &mut Transfers<ReadSide>,
        (number, client): (usize, &ReadClient),
        burst: &Burst,
        now: Time,
        observed: &Observed,
    ) -> bool {
        let (from, period) = (transfers.responder.request_plain(burst, now), self.config.period);
        let (passed, first) = transfers.side.pass((number, client), burst.beats, from, period);
        if passed < burst.beats {
            observed.see(now, Stage::Request, false, now, burst);
            transfers.outstanding.add_open();
            transfers.count.add_open(burst.beats);
            let generation = self.partners.generation();
            let read = Read {
                burst: *burst,
                client: number,
                requested: now,
                first,
                last: Time::MAX,
                place: 0,
                answer: None,
                generation,
            };
            self.return_later(transfers, read, passed);
            return false;
        }
        let last = first + period * u64::from(burst.beats - 1);
        client.deliver(burst, first);
        transfers.outstanding.add(last);
        transfers.count.add(burst.beats, first, last);
        observed.expect(now, false, first, last, burst);
        observed.report_many(now);
        true
    }
}

impl Transfers<ReadSide> {
    /// Returns the time at which the next burst is chosen and on AR at once, if it can be, with a memory inside and no partner.
    #[inline]
    fn passes(&self, burst: &Burst) -> Option<Time> {
        let at = self.pipeline.passes()?;
        (self.count.room(burst.beats).max(self.outstanding.room()) <= at).then_some(at)
    }

    /// Returns the time at which the next address can be on AR, with a memory inside and no partner.
    #[inline]
    fn next_issue(&self) -> Time {
        self.pipeline.counted().map_or(Time::MAX, |(_, free)| free.max(self.outstanding.room()))
    }
}
