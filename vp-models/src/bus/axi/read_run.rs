//! Reads granted one after the other while nobody could notice a single one.
//!
//! Much of what an engine reads is a long run of bursts: weights above all. As long as nobody else has anything to do, and the
//! engines wait for more than what comes next, nothing happens that anybody could react to. Then grants need no steps;
//! each still has its own times, by the rules of [`super::read`].

use super::observed::Observed;
use super::read::{Channel, Reads};
use super::read_client::{ReadClient, Request, Unnoticed};
use super::turn::Clients;
use super::{AxiTarget, Burst};
use std::rc::Rc;
use vp_core::Time;

/// Bursts of a client that are looked at together, at most.
const TOGETHER: usize = 64;

/// What of a client is being granted.
#[derive(Default)]
pub(super) struct Granting {
    /// The next burst; the others are as long and follow it.
    burst: Burst,
    /// Of so many bursts…
    count: usize,
    /// …so many were granted.
    done: usize,
    /// With the last, all of what the client's requester is making waits.
    ends: bool,
    /// Where the first began.
    start: u64,
    /// When the last was granted.
    last: Time,
}

impl Granting {
    /// What the client has to know of it.
    fn settle(&mut self, client: &ReadClient, target: &dyn AxiTarget, next: Option<Request>) {
        let Granting { burst, done, start, last, .. } = std::mem::take(self);
        if done > 0 {
            client.take(done, next, last);
            client.read_later(target, start, done as u32 * burst.bytes);
        }
    }
}

impl Reads {
    /// Grants reads before `until` and no later than `quiet`; tells when the last one was granted.
    pub(super) fn run(
        &self,
        channel: &mut Channel,
        clients: &[Rc<ReadClient>],
        (mut until, quiet): (Time, Time),
        observed: &Observed,
    ) -> Option<Time> {
        let (asking, period, target) = (self.asking.get(), self.config.period, &*self.target);
        let mut granting = std::mem::take(&mut channel.granting);
        granting.resize_with(clients.len(), Granting::default);
        let (mut granted, mut reading): (_, Clients) = (None, 0);
        loop {
            let now = channel.free.max(channel.outstanding.room());
            let mut turn = channel.turn.clone();
            if now > quiet || now >= until {
                break;
            }
            let Some(number) = turn.next(asking, |client| clients[client].weight.get()) else { break };
            let (client, of) = (&*clients[number], &mut granting[number]);
            if of.count == 0 {
                let Some(Unnoticed { burst, count, ends }) = client.unnoticed(target, TOGETHER) else {
                    break;
                };
                *of = Granting { burst, count, ends, start: burst.address, ..Granting::default() };
                reading |= 1 << number;
            }
            if channel.beats.room(of.burst.beats) > now {
                break;
            }
            let (is_last, mut next) = (of.done + 1 == of.count, None);
            if is_last && of.ends {
                next = client.ahead(now);
                if next.is_none() {
                    break;
                }
            }
            channel.turn = turn;
            channel.free = now + period;
            let (first, last) = self.request(channel, &of.burst, client, now);
            observed.expect(now, false, first, last, &of.burst);
            observed.tell_much(now);
            client.deliver(&of.burst, first);
            of.burst.address = of.burst.address.wrapping_add(of.burst.bytes.into());
            of.done += 1;
            of.last = now;
            granted = Some(now);
            if is_last {
                of.settle(client, target, next);
                until = until.min(client.makes());
            }
        }
        // Nobody has written meanwhile.
        while reading != 0 {
            let number = reading.trailing_zeros() as usize;
            granting[number].settle(&clients[number], target, None);
            clients[number].read_now(target);
            reading &= reading - 1;
        }
        channel.granting = granting;
        granted
    }
}
