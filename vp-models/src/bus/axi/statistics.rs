//! What an AXI interface did, counted from its observations.

use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, VecDeque};
use vp_core::Time;
use vp_core::observe::{Observation, Observer, Source, Stage, Transfer, What};

/// The traffic of one direction of one interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bursts.
    pub bursts: u64,
    /// Bytes asked for or written.
    pub bytes: u64,
    /// Bursts by transaction id, and which id was the last.
    by_id: Vec<(u32, u64)>,
    last_id: usize,
    /// Most bursts outstanding at the end of a cycle: one that ends in the cycle in which another begins
    /// makes room for it.
    most_outstanding: u64,
    /// Bursts that are over.
    pub completed: u64,
    /// From request to first data (reads) or to acknowledgement (writes): the sum over completed bursts…
    pub latency_sum: Time,
    /// …the shortest…
    pub latency_min: Option<Time>,
    /// …and the longest.
    pub latency_max: Time,
    /// Requests outstanding, by transaction id: when each was made. In order, as each id is answered.
    pending: BTreeMap<u32, VecDeque<Time>>,
    outstanding: u64,
    /// The time that `outstanding` belongs to.
    at: Time,
    /// When the direction was first and last used.
    pub first: Option<Time>,
    /// When the last response came.
    pub last: Option<Time>,
}

impl Traffic {
    /// The mean latency of completed bursts.
    pub fn latency_mean(&self) -> Option<Time> {
        (self.completed > 0).then(|| self.latency_sum / self.completed)
    }

    /// Most bursts outstanding at the end of a cycle.
    pub fn most_outstanding(&self) -> u64 {
        self.most_outstanding.max(self.outstanding)
    }

    /// Bursts by transaction id, in its order.
    pub fn by_id(&self) -> BTreeMap<u32, u64> {
        self.by_id.iter().copied().collect()
    }

    #[inline]
    fn count_id(&mut self, id: u32) {
        // Mostly a burst is of the client that the one before was of.
        if self.by_id.get(self.last_id).is_none_or(|&(last, _)| last != id) {
            let place = self.by_id.iter().position(|&(of, _)| of == id);
            self.last_id = place.unwrap_or_else(|| {
                self.by_id.push((id, 0));
                self.by_id.len() - 1
            });
        }
        self.by_id[self.last_id].1 += 1;
    }

    #[inline]
    fn see(&mut self, time: Time, transfer: &Transfer) {
        // A read's latency ends with its first data, a write's with its acknowledgement.
        let answered = if transfer.write { Stage::Response } else { Stage::Data };
        if time > self.at {
            self.most_outstanding = self.most_outstanding();
            self.at = time;
        }
        if transfer.stage == Stage::Request {
            self.bursts += 1;
            self.bytes += u64::from(transfer.bytes);
            self.count_id(transfer.id);
            self.pending.entry(transfer.id).or_default().push_back(time);
            self.outstanding += 1;
            self.first.get_or_insert(time);
        }
        if transfer.stage == answered
            && let Some(requested) = self.pending.get_mut(&transfer.id).and_then(VecDeque::pop_front)
        {
            let latency = time - requested;
            self.completed += 1;
            self.latency_sum += latency;
            self.latency_min = Some(self.latency_min.map_or(latency, |least| least.min(latency)));
            self.latency_max = self.latency_max.max(latency);
        }
        if transfer.stage == Stage::Response {
            self.outstanding = self.outstanding.saturating_sub(1);
            self.last = Some(time);
        }
    }
}

/// Watches one AXI interface.
pub struct AxiStatistics {
    source: Source,
    traffic: RefCell<(Traffic, Traffic)>,
}

impl AxiStatistics {
    /// Watches what `source` reports.
    pub fn new(source: Source) -> AxiStatistics {
        AxiStatistics { source, traffic: RefCell::default() }
    }

    /// The reads so far.
    pub fn reads(&self) -> Ref<'_, Traffic> {
        Ref::map(self.traffic.borrow(), |traffic| &traffic.0)
    }

    /// The writes so far.
    pub fn writes(&self) -> Ref<'_, Traffic> {
        Ref::map(self.traffic.borrow(), |traffic| &traffic.1)
    }
}

impl Observer for AxiStatistics {
    fn observe(&self, observation: &Observation<'_>) {
        if let What::Transfer(transfer) = observation.what
            && observation.source == self.source
        {
            let mut traffic = self.traffic.borrow_mut();
            let (reads, writes) = &mut *traffic;
            if transfer.write { writes } else { reads }.see(observation.time, &transfer);
        }
    }

    fn observe_transfers(&self, _: u64, source: Source, transfers: &[(Time, Transfer)]) {
        if source != self.source {
            return;
        }
        let mut traffic = self.traffic.borrow_mut();
        let (reads, writes) = &mut *traffic;
        for (time, transfer) in transfers {
            if transfer.write { &mut *writes } else { &mut *reads }.see(*time, transfer);
        }
    }
}
