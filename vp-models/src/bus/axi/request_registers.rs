//! The registers between an engine's requests and the arbiter, one by one: when each request finds `ready`.
//!
//! ```text
//! engine → its registers → pipe_p1 → pipe_p2 → split into bursts, room in the latency FIFO → pipe_p1 → arbiter
//! ```
//!
//! Each has another beside it for what comes when it cannot move; see [`RegisterKind`]. Those of an engine with a latency FIFO are one, of
//! `NV_NVDLA_DMAIF_rdreq`. The others are the interface's (RTL, branch nv_small: `NV_NVDLA_NOCIF_DRAM_READ_IG_bpt.v`, `_arb.v`). When all are
//! full, because the FIFO has no room or other clients have their turn, the engine's `valid` waits for `ready`, which it counts. An engine
//! whose queue of requests under way (of contexts: `NV_NVDLA_PDP_RDMA_cq`, `_CDP_RDMA_cq`) has no place makes none: its `valid` is low.
//!
//! Nothing waits in this code: times follow from those of requests, room and grants, as far as these are known.

use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use vp_core::Time;

/// The number of stall counters of a read client: BDMA has one for each of its groups.
pub const STALL_COUNTERS: usize = 2;

/// Items of a register that say when it takes the next one: two may be in it, and what has left last.
const REMEMBERED: usize = 3;

/// Time of a request or burst in a register; [`Time::MAX`]: not known.
#[derive(Clone, Copy, Serialize, Deserialize)]
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
pub struct EarliestRequest {
    /// Time but for earlier requests.
    pub at: Time,
    /// Time from the first cycle after the one before it has found `ready`.
    pub after_ready: Time,
    /// Time from the first cycle after the one before it could have found it: what the engine does while that one waits.
    pub after_valid: Time,
}

/// A request that has not found `ready`.
struct Waiting {
    possible: EarliestRequest,
    bursts: usize,
    /// Number of the counter of its stall.
    counter: usize,
}

/// Registers between an engine and its memory interface, and the size of the queue for its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPlaces {
    /// Registers between the engine and the memory interface.
    pub registers: usize,
    /// Requests made whose data is not all taken, at most; `None`: as many as there are.
    pub under_way: Option<usize>,
}

/// The requests of an engine on their way to the arbiter.
///
/// Times of requests, room and grants are those of the arbiter: an unhindered request is made and granted at the same time.
pub(super) struct RequestRegisters {
    cycle: Time,
    /// Times at which the free places of the engine's queue of requests under way can be taken; `None` if it has none.
    places: Option<VecDeque<Time>>,
    /// Times from which there is room in the latency FIFO for the bursts that are not split off; `None` if it has none.
    room: Option<VecDeque<Time>>,
    waiting: VecDeque<Waiting>,
    requests: Vec<Register>,
    bursts: Register,
    /// The first cycle after the last request has found `ready`, and after it could have.
    after_ready: Time,
    after_valid: Time,
    /// The first cycle after the last burst was split off.
    after_burst: Time,
    stalled: [Time; STALL_COUNTERS],
    /// Times at which requests were made that are under way.
    made: VecDeque<Time>,
}

impl RequestRegisters {
    /// Registers in which nothing stands, of which the interface's are of this kind.
    pub(super) fn new(cycle: Time, interface: RegisterKind, places: RequestPlaces) -> RequestRegisters {
        let RequestPlaces { registers, under_way } = places;
        let kinds = std::iter::repeat_n(RegisterKind::Delayed, registers).chain([interface; 2]);
        RequestRegisters {
            cycle,
            places: under_way.map(|under_way| vec![Time::ZERO; under_way].into()),
            room: None,
            waiting: VecDeque::new(),
            requests: kinds.map(Register::new).collect(),
            bursts: Register::new(interface),
            after_ready: Time::ZERO,
            after_valid: Time::ZERO,
            after_burst: Time::ZERO,
            stalled: [Time::ZERO; STALL_COUNTERS],
            made: VecDeque::new(),
        }
    }

    /// Registers of a client with a latency FIFO: a burst is split off when that has room for it.
    pub(super) fn with_fifo(cycle: Time, interface: RegisterKind, places: RequestPlaces) -> RequestRegisters {
        RequestRegisters { room: Some(VecDeque::new()), ..RequestRegisters::new(cycle, interface, places) }
    }

    /// The engine has a request of so many bursts, whose stall this counter counts.
    pub(super) fn request(&mut self, possible: EarliestRequest, bursts: usize, counter: usize) {
        self.waiting.push_back(Waiting { possible, bursts, counter });
        self.advance();
    }

    /// Notes that there is room in the latency FIFO for the next burst from `at` on.
    pub(super) fn add_room(&mut self, at: Time) {
        if let Some(room) = &mut self.room {
            room.push_back(at);
        }
        self.advance();
    }

    /// Notes that the arbiter has taken a burst.
    pub(super) fn granted(&mut self, at: Time) {
        let behind = self.cycle * (self.requests.len() as u64 + 1);
        self.bursts.leave(at + behind, self.cycle);
        self.advance();
    }

    /// Notes that the first request is no longer under way from `at` on; returns when it was made, if that is known.
    pub(super) fn done(&mut self, at: Time) -> Option<Time> {
        let made = self.made.pop_front();
        if let Some(places) = &mut self.places {
            places.push_back(at);
            self.advance();
        }
        made
    }

    /// Returns the time for which requests of a counter have waited for `ready`.
    pub(super) fn stalled(&mut self, counter: usize) -> &mut Time {
        &mut self.stalled[counter]
    }

    /// Moves on what is known to move.
    fn advance(&mut self) {
        while self.split() || self.pass() || self.make() {}
    }

    /// Splits the next burst off the request in the last register.
    fn split(&mut self) -> bool {
        let cycle = self.cycle;
        let to_here = cycle * self.requests.len() as u64;
        let Some(last) = self.requests.last_mut() else { return false };
        let Some(request) = last.front() else { return false };
        let room = match &self.room {
            None => Some(Time::ZERO),
            Some(room) => room.front().map(|room| *room + to_here),
        };
        let Some(room) = room else { return false };
        let from = request.seen.max(self.after_burst).max(room);
        let Some(at) = self.bursts.accepts(from, cycle) else { return false };
        if let Some(room) = &mut self.room {
            room.pop_front();
        }
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
        let Some(&Waiting { possible, bursts, counter }) = self.waiting.front() else { return false };
        let place = match &self.places {
            None => Some(Time::ZERO),
            Some(places) => places.front().copied(),
        };
        let Some(place) = place else { return false };
        let after = (self.after_ready + possible.after_ready).max(self.after_valid + possible.after_valid);
        let valid = possible.at.max(place).max(after);
        let Some(ready) = self.requests[0].accepts(valid, self.cycle) else { return false };
        self.waiting.pop_front();
        if let Some(places) = &mut self.places {
            places.pop_front();
        }
        self.requests[0].enter(ready, bursts, self.cycle);
        self.stalled[counter] += ready.since(valid);
        self.after_ready = ready + self.cycle;
        self.after_valid = valid + self.cycle;
        self.made.push_back(ready);
        true
    }

    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let RequestRegisters {
            cycle: _,
            places,
            room,
            waiting,
            requests,
            bursts,
            after_ready,
            after_valid,
            after_burst,
            stalled,
            made,
        } = self;
        let is_split = room.as_ref().is_none_or(VecDeque::is_empty);
        at.at_rest(waiting.is_empty() && is_split && made.is_empty(), "requests are under way")?;
        at.value(places)?;
        for Register { kind: _, items } in requests.iter_mut().chain([bursts]) {
            at.value(items)?;
            at.check(items.iter().all(|item| item.left < Time::MAX), "a request waits for the arbiter")?;
        }
        at.value(after_ready)?;
        at.value(after_valid)?;
        at.value(after_burst)?;
        at.value(stalled)
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

    fn registers(kind: RegisterKind, registers: usize, under_way: usize) -> RequestRegisters {
        let places = RequestPlaces { registers, under_way: Some(under_way) };
        RequestRegisters::new(CYCLE, kind, places)
    }

    /// Makes requests when the engine has them; of the arbiter's grants these are known. Returns the cycles in which they find `ready`.
    fn made(kind: RegisterKind, requests: &[(u64, usize)], grants: &[u64]) -> Vec<u64> {
        let mut path = registers(kind, 2, 128);
        for &(valid, bursts) in requests {
            path.request(EarliestRequest { at: at(valid), ..EarliestRequest::default() }, bursts, 0);
        }
        grants.iter().for_each(|&grant| path.granted(at(grant)));
        path.made.iter().map(|made| made.cycles(CYCLE)).collect()
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
        let mut path = registers(Catching, 2, 1);
        path.request(EarliestRequest::default(), 1, 0);
        path.request(EarliestRequest::default(), 1, 0);
        path.granted(at(0));
        assert_eq!(path.done(at(50)), Some(at(0)));
        assert_eq!(*path.stalled(0), Time::ZERO);
        assert_eq!(path.done(at(60)), Some(at(50)));
    }

    /// Returns the stall of a seventh request, behind six of which the sixth waits for the first grant: as much as is known with the second.
    fn stall_of_the_last(possible: EarliestRequest) -> u64 {
        let mut path = registers(Catching, 0, 128);
        for cycle in 0..7 {
            path.request(EarliestRequest { at: at(cycle), ..EarliestRequest::default() }, 1, 0);
        }
        path.request(possible, 1, 0);
        path.granted(at(100));
        let before = *path.stalled(0);
        path.granted(at(200));
        path.stalled(0).since(before).cycles(CYCLE)
    }

    #[test]
    fn what_an_engine_does_while_a_request_waits_does_not_shorten_the_next_stall() {
        let ready = |after| {
            stall_of_the_last(EarliestRequest { after_ready: at(after), ..EarliestRequest::default() })
        };
        let valid = |after| {
            stall_of_the_last(EarliestRequest { after_valid: at(after), ..EarliestRequest::default() })
        };
        assert_eq!(ready(0) - ready(3), 3);
        assert_eq!(valid(0), valid(3));
    }

    /// Returns the cycles for which requests of one burst each wait that are all possible at once, and of which one is granted every `pace` cycles.
    fn stalls_before_a_fifo(requests: u64, pace: u64, room: impl Fn(u64) -> u64) -> [u64; 2] {
        let places = RequestPlaces { registers: 1, under_way: None };
        let mut path = RequestRegisters::with_fifo(CYCLE, Catching, places);
        for number in 0..requests {
            path.request(EarliestRequest::default(), 1, usize::from(number + 1 == requests));
            path.add_room(at(room(number)));
        }
        (0..requests).for_each(|number| path.granted(at(number * pace)));
        [0, 1].map(|counter| path.stalled(counter).cycles(CYCLE))
    }

    #[test]
    fn requests_that_find_a_place_do_not_stall() {
        assert_eq!(stalls_before_a_fifo(8, 1000, |_| 0), [0, 0]);
        assert_eq!(stalls_before_a_fifo(1000, 1, |_| 0), [0, 0]);
    }

    /// Two requests in each of three registers, and two bursts behind them: the ninth request waits for the first grant that is late, which frees its
    /// place four cycles later.
    #[test]
    fn each_counter_has_the_stalls_of_its_requests() {
        assert_eq!(stalls_before_a_fifo(10, 100, |_| 0), [0, 99]);
        assert_eq!(stalls_before_a_fifo(11, 100, |_| 0), [99, 99]);
    }

    #[test]
    fn requests_wait_for_room_in_the_fifo() {
        // The first burst has no room before 50; its request frees a place at the engine six cycles later.
        assert_eq!(stalls_before_a_fifo(7, 0, |_| 50), [0, 50]);
    }
}
