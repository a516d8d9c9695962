//! Reads granted one after the other while nobody could notice a single one.
//!
//! Much of what an engine reads is a long run of bursts: weights above all. As long as nobody else has anything to do, and the
//! engines wait for more than what comes next, nothing happens that anybody could react to. Then grants need no steps;
//! each still has its own times, by the rules of [`super::read`].

use super::Burst;
use super::observed::Observed;
use super::read::{Channel, Reads};
use super::read_client::ReadClient;
use super::turn::Clients;
use std::rc::Rc;
use vp_core::Time;

impl Reads {
    /// Grants reads before `until` and no later than `quiet`; tells when the last one was granted.
    pub(super) fn run(
        &self,
        channel: &mut Channel,
        clients: &[Rc<ReadClient>],
        (mut until, quiet): (Time, Time),
        observed: &mut Observed,
    ) -> Option<Time> {
        let (asking, period) = (self.asking.get(), self.config.period);
        let (mut granted, mut reading): (_, Clients) = (None, 0);
        loop {
            let now = channel.free.max(channel.outstanding.room());
            let mut turn = channel.turn.clone();
            if now > quiet || now >= until {
                break;
            }
            let Some(number) = turn.next(asking, |client| clients[client].weight.get()) else { break };
            let client = &*clients[number];
            let readable = |burst: &Burst| {
                channel.beats.room(burst.beats) <= now && client.can_read_later(&*self.target, burst)
            };
            let Some(burst) = client.next_unnoticed(now, readable) else { break };
            channel.turn = turn;
            channel.free = now + period;
            let (first, last) = self.request(channel, &burst, client, now);
            observed.expect(now, false, first, last, &burst);
            client.deliver(&burst, first);
            client.read_later(&*self.target, &burst);
            until = until.min(client.makes());
            reading |= 1 << number;
            granted = Some(now);
        }
        // Nobody has written meanwhile.
        while reading != 0 {
            clients[reading.trailing_zeros() as usize].read_now(&*self.target);
            reading &= reading - 1;
        }
        granted
    }
}
