//! Wrong tokens: a host that sends one has to wait.
//!
//! Tokens that wait are all looked at when the wait of their place is over. So a right one gets in within the longest wait, however many wrong
//! ones come from there. Guesses are bounded by the newcomers that a server has at a time: each shows one token, and keeps its place until
//! that is looked at. Fewer guesses, such as one after the other, would let whoever guesses keep others of that place out, because a right
//! token cannot be told from a wrong one before it is looked at.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Origin;

/// Most addresses that are remembered. Beyond this, the one whose last wrong token is longest ago is forgotten.
const PLACES: usize = 1024;
/// Time for which a place is remembered after its last wrong token.
const REMEMBERED: Duration = Duration::from_secs(300);
/// The wait after the first wrong token; each further one doubles it.
const FIRST: Duration = Duration::from_millis(100);
/// The longest.
const LONGEST: Duration = Duration::from_secs(5);

/// Place that tries come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Host(IpAddr),
    /// The upper half of an IPv6 address: a host can choose the lower half itself (RFC 4291, 2.5.1).
    Network(u64),
    User(u32),
    Unknown,
}

impl From<Origin> for Place {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Network(IpAddr::V6(address), _) if !address.is_loopback() => {
                Self::Network((u128::from(address) >> 64) as u64)
            }
            Origin::Network(address, _) => Self::Host(address),
            Origin::Process(peer) => Self::User(peer.uid),
            Origin::Unknown => Self::Unknown,
        }
    }
}

#[derive(Debug)]
struct FailedTries {
    count: u32,
    last: Instant,
    /// Time from which on the next tokens from there are looked at.
    next: Instant,
}

/// Numbers of wrong tokens that have come, by the place they came from.
#[derive(Debug, Default)]
pub(crate) struct Tries(Mutex<HashMap<Place, FailedTries>>);

impl Tries {
    /// Returns the time for which a token from there waits until it is looked at, whatever comes meanwhile.
    pub(crate) fn wait(&self, origin: Origin, now: Instant) -> Duration {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = origin.into();
        let Some(wrong) = table.get(&place) else { return Duration::ZERO };
        if now.saturating_duration_since(wrong.last) > REMEMBERED {
            table.remove(&place);
            return Duration::ZERO;
        }
        wrong.next.saturating_duration_since(now)
    }

    /// Notes a wrong token. Gives how many have come from there.
    pub(crate) fn wrong(&self, origin: Origin, now: Instant) -> u32 {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = origin.into();
        if table.len() >= PLACES && !table.contains_key(&place) {
            let oldest = table.iter().min_by_key(|(_, wrong)| wrong.last).map(|(place, _)| *place);
            oldest.and_then(|oldest| table.remove(&oldest));
        }
        let wrong = table.entry(place).or_insert(FailedTries { count: 0, last: now, next: now });
        wrong.count = wrong.count.saturating_add(1);
        wrong.last = now;
        wrong.next = wrong.next.max(now + pause(wrong.count));
        wrong.count
    }
}

/// Returns the time for which the next tokens wait after so many wrong ones.
fn pause(count: u32) -> Duration {
    let doubled = FIRST.checked_mul(1 << count.saturating_sub(1).min(16));
    doubled.map_or(LONGEST, |pause| pause.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: u8) -> Origin {
        Origin::Network(IpAddr::from([192, 0, 2, last]), 1)
    }

    fn after(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn each_wrong_token_makes_the_next_one_wait_longer_and_others_are_not_touched() {
        let (tries, now) = (Tries::default(), Instant::now());
        assert_eq!(tries.wait(host(1), now), Duration::ZERO);
        let mut at = now;
        for (count, wait) in [(1, 100), (2, 200), (3, 400), (4, 800)] {
            assert_eq!(tries.wrong(host(1), at), count);
            assert_eq!(tries.wait(host(1), at), after(wait));
            at += after(wait);
        }
        assert_eq!(pause(200), LONGEST);
        assert_eq!(tries.wait(host(2), at), Duration::ZERO);
        // Whoever is there for long enough is forgotten.
        assert_eq!(tries.wait(host(1), at + REMEMBERED + after(1)), Duration::ZERO);
    }

    #[test]
    fn no_number_of_tries_makes_a_token_wait_longer_than_the_longest_wait() {
        let (tries, mut now) = (Tries::default(), Instant::now());
        let mut guesses = 0;
        // Fifty newcomers that guess, each again when it has been refused.
        for _ in 0..100 {
            let waits: Vec<_> = (0..50).map(|_| tries.wait(host(1), now)).collect();
            // They wait for the same moment, so none of them has another turn before.
            assert!(waits.iter().all(|wait| *wait == waits[0] && *wait <= LONGEST), "{waits:?}");
            now += waits[0];
            (0..50).for_each(|_| guesses = tries.wrong(host(1), now));
        }
        assert_eq!((guesses, tries.wait(host(1), now)), (5000, LONGEST));
    }

    #[test]
    fn the_table_has_a_bound_and_a_network_is_one_place() {
        let (tries, now) = (Tries::default(), Instant::now());
        for number in 0..2 * PLACES as u32 {
            let address = IpAddr::from((0x0a00_0000 + number).to_be_bytes());
            tries.wrong(Origin::Network(address, 1), now + Duration::from_nanos(number.into()));
        }
        assert_eq!(tries.0.lock().unwrap().len(), PLACES);
        let of = |low: u128| Origin::Network(IpAddr::from(((0x2001_0db8 << 96) | low).to_be_bytes()), 1);
        assert_eq!(tries.wrong(of(1), now), 1);
        assert_eq!(tries.wrong(of(2), now), 2);
    }
}
