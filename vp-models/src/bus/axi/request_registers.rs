//! The registers between an engine's requests and the arbiter, one by one: when each request finds `ready`.
//!
//! ```text
//! engine → registers of the engine → two of the interface → split into bursts → one of the interface → arbiter
//! ```
//!
//! Each has another beside it for what comes when it cannot move; see [`RegisterKind`].
//!
//! Nothing waits in this code: times follow from those of requests and grants, as far as these are known.

use std::collections::VecDeque;
use vp_core::Time;

/// Items of a register that say when it takes the next one: two may be in it, and what has left last.
const REMEMBERED: usize = 3;

/// Time of a request or burst in a register; [`Time::MAX`]: not known.
#[derive(Clone, Copy)]
struct Item {
    entered: Time,
    /// Time from which the next stage sees it.
    seen: Time,
    left: Time,
    /// Bursts of a request that are not split off.
    bursts: usize,
}

/// Kind of a register, by its `ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterKind {
    /// `ready` is what the next one's was a cycle before: low in the cycle behind each in which the register could not move, even if there was
    /// nothing to catch (RTL, `vmod/plugins/pipe.pm` with input skid).
    Delayed,
    /// `ready` is low only while both hold something (RTL, branch `nv_small`, `NV_NVDLA_NOCIF_DRAM_READ_IG_bpt.v`, pipe_p1 and p2; `_arb.v`,
    /// pipe_p1: `skid_catch`).
    Catching,
}

/// A register and the one beside it.
struct Register {
    kind: RegisterKind,
    items: VecDeque<Item>,
}

impl Register {
    fn new(kind: RegisterKind) -> Register {
        Register { kind, items: VecDeque::new() }
    }

    /// Returns the time at which an item gets in that is offered from `offered` on, if it is known.
    fn accepts(&self, offered: Time, cycle: Time) -> Option<Time> {
        if self.kind == RegisterKind::Catching {
            let Some(second) = self.items.len().checked_sub(2) else { return Some(offered) };
            let left = self.items[second].left;
            return (left < Time::MAX).then(|| offered.max(left + cycle));
        }
        let mut at = offered;
        for item in &self.items {
            if item.seen == Time::MAX {
                return None;
            }
            if at > item.seen {
                if item.left == Time::MAX {
                    return None;
                }
                if at <= item.left {
                    at = item.left + cycle;
                }
            }
        }
        Some(at)
    }

    fn enter(&mut self, entered: Time, bursts: usize, cycle: Time) {
        let seen = match self.items.back() {
            Some(before) if before.left == Time::MAX => Time::MAX,
            before => before.map_or(entered, |before| entered.max(before.left)) + cycle,
        };
        self.items.push_back(Item { entered, seen, left: Time::MAX, bursts });
        while self.items.len() > REMEMBERED && self.items[0].left < Time::MAX {
            self.items.pop_front();
        }
    }

    /// Returns the first item that has not left and that the next stage sees.
    fn front(&mut self) -> Option<&mut Item> {
        self.items.iter_mut().find(|item| item.left == Time::MAX).filter(|item| item.seen < Time::MAX)
    }

    /// Lets the first item that has not left leave.
    fn leave(&mut self, at: Time, cycle: Time) {
        let Some(index) = self.items.iter().position(|item| item.left == Time::MAX) else { return };
        self.items[index].left = at;
        if let Some(next) = self.items.get_mut(index + 1) {
            next.seen = next.entered.max(at) + cycle;
        }
    }
}

/// The earliest time of an engine's next request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Possible {
    /// Time but for earlier requests.
    pub at: Time,
    /// Time from the first cycle after the one before it has found `ready`.
    pub after_ready: Time,
    /// Time from the first cycle after the one before it could have found it: what the engine does while that one waits.
    pub after_valid: Time,
}

/// A request that has not found `ready`.
struct Waiting {
    possible: Possible,
    bursts: usize,
}

/// The requests of an engine without a latency FIFO on their way to the arbiter.
///
/// Times of requests and grants are those of the arbiter: an unhindered request is made and granted at the same time.
pub(super) struct RequestRegisters {
    cycle: Time,
    /// Times at which the free places of the engine's queue of requests under way can be taken.
    places: VecDeque<Time>,
    waiting: VecDeque<Waiting>,
    requests: Vec<Register>,
    bursts: Register,
    /// The first cycle after the last request has found `ready`, and after it could have.
    after_ready: Time,
    after_valid: Time,
    /// The first cycle after the last burst was split off.
    after_burst: Time,
    stalled: Time,
    /// Times at which requests were made that nobody has asked for.
    made: VecDeque<Time>,
}

impl RequestRegisters {
    /// Registers in which nothing stands: so many of the engine in front of the interface's, which are of this kind, with a queue of so many
    /// requests under way.
    pub(super) fn new(
        cycle: Time,
        (engine, interface): (usize, RegisterKind),
        places: usize,
    ) -> RequestRegisters {
        let kinds = std::iter::repeat_n(RegisterKind::Delayed, engine).chain([interface; 2]);
        RequestRegisters {
            cycle,
            places: vec![Time::ZERO; places].into(),
            waiting: VecDeque::new(),
            requests: kinds.map(Register::new).collect(),
            bursts: Register::new(interface),
            after_ready: Time::ZERO,
            after_valid: Time::ZERO,
            after_burst: Time::ZERO,
            stalled: Time::ZERO,
            made: VecDeque::new(),
        }
    }

    /// The engine has a request of so many bursts.
    pub(super) fn request(&mut self, possible: Possible, bursts: usize) {
        self.waiting.push_back(Waiting { possible, bursts });
        self.advance();
    }

    /// Notes that the arbiter has taken a burst.
    pub(super) fn granted(&mut self, at: Time) {
        let behind = self.cycle * (self.requests.len() as u64 + 1);
        self.bursts.leave(at + behind, self.cycle);
        self.advance();
    }

    /// Notes that a request is no longer under way from `at` on.
    pub(super) fn done(&mut self, at: Time) {
        self.places.push_back(at);
        self.advance();
    }

    /// Returns the time at which the first request was made of those that this has not told of; none if that is not known.
    pub(super) fn take_made(&mut self) -> Option<Time> {
        self.made.pop_front()
    }

    /// Returns the time for which requests have waited for `ready`.
    pub(super) fn stalled(&self) -> Time {
        self.stalled
    }

    /// Moves on what is known to move.
    fn advance(&mut self) {
        while self.split() || self.pass() || self.make() {}
    }

    /// Splits the next burst off the request in the last register.
    fn split(&mut self) -> bool {
        let cycle = self.cycle;
        let Some(last) = self.requests.last_mut() else { return false };
        let Some(request) = last.front() else { return false };
        let Some(at) = self.bursts.accepts(request.seen.max(self.after_burst), cycle) else { return false };
        self.after_burst = at + cycle;
        self.bursts.enter(at, 1, cycle);
        request.bursts = request.bursts.saturating_sub(1);
        if request.bursts == 0 {
            last.leave(at, cycle);
        }
        true
    }

    /// Passes a request on to the next register.
    fn pass(&mut self) -> bool {
        let cycle = self.cycle;
        (1..self.requests.len()).any(|next| {
            let Some(&mut Item { seen, bursts, .. }) = self.requests[next - 1].front() else { return false };
            let Some(at) = self.requests[next].accepts(seen, cycle) else { return false };
            self.requests[next].enter(at, bursts, cycle);
            self.requests[next - 1].leave(at, cycle);
            true
        })
    }

    /// Makes the engine's next request.
    fn make(&mut self) -> bool {
        let (Some(&Waiting { possible, bursts }), Some(&place)) = (self.waiting.front(), self.places.front())
        else {
            return false;
        };
        let after = (self.after_ready + possible.after_ready).max(self.after_valid + possible.after_valid);
        let valid = possible.at.max(place).max(after);
        let Some(ready) = self.requests[0].accepts(valid, self.cycle) else { return false };
        self.waiting.pop_front();
        self.places.pop_front();
        self.requests[0].enter(ready, bursts, self.cycle);
        self.stalled += ready.since(valid);
        self.after_ready = ready + self.cycle;
        self.after_valid = valid + self.cycle;
        self.made.push_back(ready);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::RegisterKind::{Catching, Delayed};
    use super::*;

    const CYCLE: Time = Time::ns(1);

    fn at(cycle: u64) -> Time {
        CYCLE * cycle
    }

    /// Makes requests when the engine has them; of the arbiter's grants these are known. Returns the cycles in which they find `ready`.
    fn made(kind: RegisterKind, requests: &[(u64, usize)], grants: &[u64]) -> Vec<u64> {
        let mut path = RequestRegisters::new(CYCLE, (2, kind), 128);
        for &(valid, bursts) in requests {
            path.request(Possible { at: at(valid), ..Possible::default() }, bursts);
        }
        grants.iter().for_each(|&grant| path.granted(at(grant)));
        std::iter::from_fn(|| path.take_made()).map(|made| made.cycles(CYCLE)).collect()
    }

    #[test]
    fn unhindered_requests_find_ready_at_once() {
        let requests: Vec<(u64, usize)> = (0..9).map(|cycle| (cycle, 1)).collect();
        let grants: Vec<u64> = (0..9).collect();
        assert_eq!(made(Delayed, &requests, &grants), grants);
        assert_eq!(made(Catching, &requests, &grants), grants);
    }

    /// Two requests for each register, and two bursts.
    #[test]
    fn registers_hold_two_requests_each_until_a_burst_is_granted() {
        let requests: Vec<(u64, usize)> = (0..12).map(|cycle| (cycle, 1)).collect();
        for kind in [Delayed, Catching] {
            assert_eq!(made(kind, &requests, &[]), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
            assert_eq!(made(kind, &requests, &[100]).last(), Some(&110));
        }
    }

    /// Input of a drawn layer on nv_small's RTL: requests of so many bursts, with the cycles in which `valid` rises and in which `ready` is
    /// high with it, and the addresses on the bus. At 12 a register is free, and is not `ready`.
    #[test]
    fn requests_find_ready_as_on_the_rtl() {
        let valid = [0, 1, 3, 4, 6, 9, 10, 12, 14, 15, 20, 23, 38, 56, 65];
        let ready = [0, 1, 3, 4, 6, 9, 10, 13, 14, 19, 22, 37, 55, 64, 73];
        let bursts = [4, 2, 1, 5, 6, 3, 3, 6, 5, 1, 2, 4, 6, 4, 2];
        let requests: Vec<(u64, usize)> = valid.into_iter().zip(bursts).collect();
        let addresses: Vec<u64> =
            (0..34).map(|burst| 3 * burst).chain((0..20).map(|burst| 102 + 2 * burst)).collect();
        assert_eq!(made(Catching, &requests, &addresses), ready);
    }

    /// Another one, which shares the bus: one request every other cycle, none of which waits.
    #[test]
    fn requests_of_a_burst_pass_where_the_arbiter_turns_to_another_client() {
        let valid = [0, 2, 4, 6, 8, 10, 12, 14, 16, 19, 21, 23];
        let requests: Vec<(u64, usize)> = valid.into_iter().map(|cycle| (cycle, 1)).collect();
        let addresses = [0, 2, 4, 7, 9, 11, 13, 16, 18, 20, 23, 25];
        assert_eq!(made(Catching, &requests, &addresses), valid);
        assert_eq!(made(Delayed, &requests, &addresses)[8], 17);
    }

    #[test]
    fn a_request_without_a_place_in_the_queue_has_no_valid_and_does_not_stall() {
        let mut path = RequestRegisters::new(CYCLE, (2, Catching), 1);
        path.request(Possible::default(), 1);
        path.request(Possible::default(), 1);
        path.granted(at(0));
        path.done(at(50));
        assert_eq!(path.stalled(), Time::ZERO);
        assert_eq!(path.take_made(), Some(at(0)));
        assert_eq!(path.take_made(), Some(at(50)));
    }

    /// Returns the stall of a seventh request, behind six of which the sixth waits for the first grant: as much as is known with the second.
    fn stall_of_the_last(possible: Possible) -> u64 {
        let mut path = RequestRegisters::new(CYCLE, (0, Catching), 128);
        for cycle in 0..7 {
            path.request(Possible { at: at(cycle), ..Possible::default() }, 1);
        }
        path.request(possible, 1);
        path.granted(at(100));
        let before = path.stalled();
        path.granted(at(200));
        path.stalled().since(before).cycles(CYCLE)
    }

    #[test]
    fn what_an_engine_does_while_a_request_waits_does_not_shorten_the_next_stall() {
        let ready = |after| stall_of_the_last(Possible { after_ready: at(after), ..Possible::default() });
        let valid = |after| stall_of_the_last(Possible { after_valid: at(after), ..Possible::default() });
        assert_eq!(ready(0) - ready(3), 3);
        assert_eq!(valid(0), valid(3));
    }
}
