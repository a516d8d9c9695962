//! Reads of one client granted one after the other while nobody else could notice.
//!
//! Much of what an engine reads is a long run of bursts: weights above all. As long as no other client asks, nobody else has
//! anything to do, and the engine waits for more than what comes, all of these go the same way, and nothing happens that
//! anybody could react to. Then they need no steps; each still has its own times, by the rules of [`super::read`].

use super::burst::Run;
use super::observed::Observed;
use super::read::{Channel, Reads};
use super::read_client::ReadClient;
use vp_core::Time;

impl Reads {
    /// Grants reads to the client that alone asks, before `until` and no later than `quiet`; tells when the last one was
    /// granted.
    pub(super) fn run(
        &self,
        channel: &mut Channel,
        client: &ReadClient,
        (until, quiet): (Time, Time),
        observed: &mut Observed,
    ) -> Option<Time> {
        let config = &self.config;
        let mut granted = None;
        // Asked of the memory together, as nobody writes meanwhile…
        let mut reading = Run { address: 0, bytes: 0 };
        // …for no more than it has there.
        let mut held = 0;
        loop {
            let now = channel.free.max(channel.outstanding.room());
            if now > quiet || now >= until.min(client.makes()) {
                break;
            }
            let next = client.next_unnoticed(now, |burst| {
                if granted.is_none() {
                    reading.address = burst.address;
                    held = self.target.held(burst.address);
                }
                burst.address == reading.address.wrapping_add(reading.bytes.into())
                    && u64::from(reading.bytes) + u64::from(burst.bytes) <= held
                    && channel.beats.room(burst.beats) <= now
            });
            let Some(burst) = next else { break };
            channel.turn.next(self.asking.get(), |_| client.weight.get());
            channel.free = now + config.period;
            let (first, last) = self.request(channel, &burst, client, now);
            observed.expect(now, false, first, last, &burst);
            client.deliver(&burst, first);
            reading.bytes += burst.bytes;
            granted = Some(now);
        }
        if reading.bytes > 0 {
            self.target.read_held(reading.address, reading.bytes, client.data.borrow_mut().store());
        }
        granted
    }
}
