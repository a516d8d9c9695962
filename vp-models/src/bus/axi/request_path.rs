//! The time that a read client's requests have waited for `ready`, which its engine counts.
//!
//! An engine requests a line at a time. Registers hold a few requests in front of the unit that splits them
//! into bursts, and others hold a few bursts in front of the arbiter (RTL, nv_small: `NV_NVDLA_DMAIF_rdreq`,
//! then pipe_p1 and pipe_p2 of `NV_NVDLA_NOCIF_DRAM_READ_IG_bpt`; pipe_p1 of `_arb`). When all are full,
//! because the latency FIFO has no room or other clients have their turn, the engine's `valid` waits for
//! `ready`.
//!
//! ```text
//! engine → 6 requests → split into bursts, room in the FIFO → 2 bursts → arbiter
//! ```
//!
//! An engine whose context queue (`NV_NVDLA_PDP_RDMA_cq`, `_CDP_RDMA_cq`) has no place makes no request: its `valid` is low, and nothing is
//! counted.
//!
//! Nothing waits in this code. The interface knows the requests and grants, and from them follows how long the
//! engine's `valid` was high without `ready`. Times are those of the arbiter: an unhindered request is made,
//! split and granted at the same time.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;
use vp_core::Time;

/// Requests in front of the split into bursts: three registers, and one beside each that catches what comes when it cannot move.
const REQUESTS: usize = 6;

/// Bursts in front of the arbiter: the same, once.
const BURSTS: usize = 2;

/// The number of stall counters of a read client: BDMA has one for each of its groups.
pub const STALL_COUNTERS: usize = 2;

/// A client's requests between its engine and the arbiter.
pub(super) struct RequestPath {
    period: Time,
    /// Times at which the free places of the context queue can be taken; `None` if requests need none.
    free_contexts: Option<VecDeque<Time>>,
    /// Times at which the free places for requests, and for bursts, can be taken.
    free_requests: VecDeque<Time>,
    free_bursts: VecDeque<Time>,
    /// Requests that wait for a place: when they could be made but for earlier ones, and which counter counts.
    requests: VecDeque<(Time, usize)>,
    /// Bursts that wait for a place: since when there is room for them in the FIFO, and whether they are their
    /// request's last.
    bursts: VecDeque<(Time, bool)>,
    /// The earliest time at which the next request is made, or burst is split off: one a cycle.
    next_request: Time,
    next_burst: Time,
    stalled: [Time; STALL_COUNTERS],
}

impl RequestPath {
    /// With so many places in the context queue; [`u32::MAX`] if there is none.
    pub(super) fn new(period: Time, contexts: u32) -> RequestPath {
        let contexts = (contexts < u32::MAX).then_some(contexts as usize);
        RequestPath {
            period,
            free_contexts: contexts.map(|contexts| VecDeque::from(vec![Time::ZERO; contexts])),
            free_requests: [Time::ZERO; REQUESTS].into(),
            free_bursts: [Time::ZERO; BURSTS].into(),
            requests: VecDeque::new(),
            bursts: VecDeque::new(),
            next_request: Time::ZERO,
            next_burst: Time::ZERO,
            stalled: [Time::ZERO; STALL_COUNTERS],
        }
    }

    /// The engine has a request from `possible` on, if it has made those before and has a place in the context queue.
    pub(super) fn request(&mut self, possible: Time, counter: usize) {
        let context = self.free_contexts.as_mut().and_then(VecDeque::pop_front);
        self.requests.push_back((possible.max(context.unwrap_or(Time::ZERO)), counter));
        self.issue_requests();
    }

    /// From `due` on so many places of the context queue are free again.
    pub(super) fn free_contexts(&mut self, due: Time, places: u32) {
        if let Some(free) = &mut self.free_contexts {
            free.extend((0..places).map(|_| due));
        }
    }

    /// Adds the next burst, for which there is room in the FIFO at `at`.
    pub(super) fn add_burst(&mut self, at: Time, ends_request: bool) {
        self.bursts.push_back((at, ends_request));
        self.split();
    }

    /// Notes that the arbiter has taken a burst.
    pub(super) fn granted(&mut self, at: Time) {
        // A place can be taken again as many cycles later as there are places: each register takes one for what comes, one for `ready`.
        self.free_bursts.push_back(at + self.period * BURSTS as u64);
        self.split();
    }

    /// Returns the time for which requests of a counter have waited since this was last asked.
    pub(super) fn take_stalled(&mut self, counter: usize) -> Time {
        std::mem::take(&mut self.stalled[counter])
    }

    fn split(&mut self) {
        while let Some(&(at, ends_request)) = self.bursts.front()
            && let Some(free) = self.free_bursts.pop_front()
        {
            self.bursts.pop_front();
            let split = at.max(free).max(self.next_burst);
            self.next_burst = split + self.period;
            if ends_request {
                self.free_requests.push_back(split + self.period * REQUESTS as u64);
                self.issue_requests();
            }
        }
    }

    fn issue_requests(&mut self) {
        while let Some(&(possible, counter)) = self.requests.front()
            && let Some(free) = self.free_requests.pop_front()
        {
            self.requests.pop_front();
            let valid = possible.max(self.next_request);
            let ready = valid.max(free);
            self.stalled[counter] += ready.since(valid);
            self.next_request = ready + self.period;
        }
    }
}

impl RequestPath {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let RequestPath {
            period: _,
            free_contexts,
            free_requests,
            free_bursts,
            requests,
            bursts,
            next_request,
            next_burst,
            stalled,
        } = self;
        at.at_rest(requests.is_empty() && bursts.is_empty(), "requests wait for a place")?;
        at.value(free_contexts)?;
        at.value(free_requests)?;
        at.value(free_bursts)?;
        at.value(next_request)?;
        at.value(next_burst)?;
        at.value(stalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLE: Time = Time::ns(1);

    fn at(cycle: u64) -> Time {
        CYCLE * cycle
    }

    /// Requests of one burst each, all possible at once and with room in the FIFO, of which one is granted every `pace` cycles.
    fn stalls_of(requests: u64, pace: u64, contexts: u32) -> u64 {
        let mut path = RequestPath::new(CYCLE, contexts);
        for number in 0..requests {
            path.request(at(0), 0);
            path.add_burst(at(number), true);
        }
        for number in 0..requests {
            path.granted(at(number * pace));
        }
        path.take_stalled(0).cycles(CYCLE)
    }

    #[test]
    fn requests_that_find_a_place_do_not_stall() {
        assert_eq!(stalls_of(9, 1000, u32::MAX), 0);
        assert_eq!(stalls_of(1000, 1, u32::MAX), 0);
    }

    /// The first two bursts are split off at 0 and 1, the third two cycles after the grant at 0. A request's place can be taken six
    /// cycles after its burst is split off: so the seventh to ninth requests need not wait at 6, 7 and 8. The fourth burst is split off at 102, two
    /// cycles after the second grant: the tenth request, possible at 9, is made at 108.
    #[test]
    fn a_request_behind_full_registers_stalls_until_a_burst_is_granted() {
        assert_eq!(stalls_of(9, 100, u32::MAX), 0);
        assert_eq!(stalls_of(10, 100, u32::MAX), 99);
        assert_eq!(stalls_of(11, 100, u32::MAX), 99 + 99);
    }

    #[test]
    fn a_request_without_a_place_in_the_context_queue_is_not_made_and_does_not_stall() {
        let mut path = RequestPath::new(CYCLE, 1);
        path.request(at(0), 0);
        path.add_burst(at(0), true);
        path.granted(at(1));
        path.free_contexts(at(50), 1);
        path.request(at(1), 0);
        path.add_burst(at(51), true);
        assert_eq!(path.take_stalled(0), Time::ZERO);
    }

    #[test]
    fn a_request_of_several_bursts_holds_its_place_until_the_last_is_split_off() {
        let mut path = RequestPath::new(CYCLE, u32::MAX);
        for _ in 0..7 {
            path.request(at(0), 0);
        }
        for burst in 0..10 {
            // Room in the FIFO comes late.
            path.add_burst(at(100 * burst), burst == 9);
            path.granted(at(100 * burst));
        }
        // Made at 906, and possible at 6.
        assert_eq!(path.take_stalled(0), at(900));
    }

    #[test]
    fn each_counter_has_the_stalls_of_its_requests() {
        let mut path = RequestPath::new(CYCLE, u32::MAX);
        for number in 0..10 {
            path.request(at(0), usize::from(number == 9));
            path.add_burst(at(number), true);
        }
        for number in 0..10 {
            path.granted(at(number * 100));
        }
        assert_eq!(path.take_stalled(1), at(99));
        assert_eq!(path.take_stalled(0), Time::ZERO);
    }
}
