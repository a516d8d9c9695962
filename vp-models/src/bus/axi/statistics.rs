//! Statistics of an AXI interface, counted from its observations.

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::latencies::Latencies;
use serde::{Deserialize, Serialize};
use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;

use vp_core::Time;
use vp_core::observe::{Kinds, Observation, Observer, Source, Stage, Transfer, Transfers, What};

/// The traffic of one transaction id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Client {
    id: u32,
    bursts: u64,
}

/// The traffic of one direction of one interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bursts.
    pub bursts: u64,
    /// Bytes asked for or written.
    pub bytes: u64,
    clients: Vec<Client>,
    /// The client of the last transfer: mostly that of the next one as well.
    last_client: usize,
    /// Most bursts outstanding at the end of a cycle: a burst that ends in the cycle in which another begins
    /// does not count.
    most_outstanding: u64,
    /// Bursts that are over.
    pub completed: u64,
    /// Latency from request to first data (reads) or to acknowledgement (writes): the sum over completed bursts.
    pub latency_sum: Time,
    /// Shortest latency.
    pub latency_min: Option<Time>,
    /// Longest latency.
    pub latency_max: Time,
    latencies: Latencies,
    outstanding: u64,
    /// The time that `outstanding` belongs to.
    at: Time,
    /// Time at which the direction was first used.
    pub first: Option<Time>,
    /// Time at which the last response came.
    pub last: Option<Time>,
}

impl Traffic {
    /// The mean latency of completed bursts.
    pub fn latency_mean(&self) -> Option<Time> {
        (self.completed > 0).then(|| self.latency_sum / self.completed)
    }

    /// The latency that this part of the completed bursts, 0 to 1, did not exceed; to three digits.
    pub fn latency_quantile(&self, quantile: f64) -> Option<Time> {
        Some(self.latencies.quantile(quantile)?.min(self.latency_max))
    }

    /// Most bursts outstanding at the end of a cycle.
    pub fn most_outstanding(&self) -> u64 {
        self.most_outstanding.max(self.outstanding)
    }

    /// Bursts by transaction id, in its order.
    pub fn by_id(&self) -> BTreeMap<u32, u64> {
        self.clients.iter().map(|client| (client.id, client.bursts)).collect()
    }

    #[inline]
    fn client(&mut self, id: u32) -> &mut Client {
        if self.clients.get(self.last_client).is_none_or(|client| client.id != id) {
            let place = self.clients.iter().position(|client| client.id == id);
            self.last_client = place.unwrap_or_else(|| {
                self.clients.push(Client { id, bursts: 0 });
                self.clients.len() - 1
            });
        }
        &mut self.clients[self.last_client]
    }

    fn see(&mut self, time: Time, transfer: &Transfer) {
        match transfer.stage {
            Stage::Request => self.request(time, transfer.id, transfer.bytes),
            // A read's latency ends with its first data, a write's with its acknowledgement.
            Stage::Data if !transfer.write => self.answer(time - transfer.requested, 1),
            Stage::Data => {}
            Stage::Response => {
                if transfer.write {
                    self.answer(time - transfer.requested, 1);
                }
                self.end(time);
            }
        }
    }

    /// Counts reads of which the times are known: a stage of all, and then the next.
    fn see_scheduled(&mut self, transfers: &Transfers<'_>) {
        // There are millions, so what changes with each of them is kept in registers.
        let (mut outstanding, mut most, mut at) = (self.outstanding, self.most_outstanding, self.at);
        transfers.each_outstanding(|stage, read| {
            let (time, then) = match stage {
                Stage::Request => (read.requested, outstanding + 1),
                _ => (read.last, outstanding.saturating_sub(1)),
            };
            if time > at {
                (most, at) = (most.max(outstanding), time);
            }
            outstanding = then;
        });
        (self.outstanding, self.most_outstanding, self.at) = (outstanding, most, at);
        if let Some(first) = transfers.requested().next() {
            self.first.get_or_insert(first.requested);
        }
        if let Some(last) = transfers.ended().last() {
            self.last = Some(last.last);
        }
        let (mut id, mut of_id) = (0, 0);
        for read in transfers.requested() {
            self.bytes += u64::from(read.bytes);
            if read.id != id {
                self.count_client(id, std::mem::take(&mut of_id));
                id = read.id;
            }
            of_id += 1;
        }
        self.count_client(id, of_id);
        let (mut latency, mut of_latency) = (Time::ZERO, 0);
        for read in transfers.begun() {
            let next = read.first - read.requested;
            if next != latency {
                self.answer(latency, std::mem::take(&mut of_latency));
                latency = next;
            }
            of_latency += 1;
        }
        self.answer(latency, of_latency);
    }

    /// Counts so many bursts of a client.
    fn count_client(&mut self, id: u32, bursts: u64) {
        if bursts > 0 {
            self.bursts += bursts;
            self.client(id).bursts += bursts;
        }
    }

    #[inline]
    fn pass_to(&mut self, time: Time) {
        if time > self.at {
            self.most_outstanding = self.most_outstanding();
            self.at = time;
        }
    }

    #[inline]
    fn request(&mut self, time: Time, id: u32, bytes: u32) {
        self.pass_to(time);
        self.bytes += u64::from(bytes);
        self.outstanding += 1;
        self.first.get_or_insert(time);
        self.count_client(id, 1);
    }

    /// Counts so many bursts that are answered with the same latency.
    #[inline]
    fn answer(&mut self, latency: Time, bursts: u64) {
        if bursts == 0 {
            return;
        }
        self.completed += bursts;
        self.latency_sum += latency * bursts;
        self.latency_min = Some(self.latency_min.map_or(latency, |least| least.min(latency)));
        self.latency_max = self.latency_max.max(latency);
        self.latencies.add(latency, bursts);
    }

    #[inline]
    fn end(&mut self, time: Time) {
        self.pass_to(time);
        self.outstanding = self.outstanding.saturating_sub(1);
        self.last = Some(time);
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

    /// Begins anew, as if nothing had been seen.
    pub fn restart(&self) {
        self.traffic.take();
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
    fn wants(&self) -> Kinds {
        Kinds::TRANSFERS
    }

    fn observe(&self, observation: &Observation<'_>) {
        if let What::Transfer(transfer) = observation.what
            && observation.source == self.source
        {
            let mut traffic = self.traffic.borrow_mut();
            let (reads, writes) = &mut *traffic;
            if transfer.write { writes } else { reads }.see(observation.time, &transfer);
        }
    }

    fn observe_transfers(&self, _: u64, source: Source, transfers: &Transfers<'_>) {
        if source != self.source {
            return;
        }
        let (reads, writes) = &mut *self.traffic.borrow_mut();
        if transfers.single().iter().all(|(_, transfer)| transfer.write) {
            reads.see_scheduled(transfers);
            transfers.single().iter().for_each(|(time, transfer)| writes.see(*time, transfer));
        } else {
            for (time, transfer) in transfers.iter() {
                if transfer.write { &mut *writes } else { &mut *reads }.see(time, &transfer);
            }
        }
    }
}

impl AxiStatistics {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let AxiStatistics { source: _, traffic } = self;
        at.place(traffic)?;
        let (reads, writes) = &*traffic.borrow();
        let has_last =
            |traffic: &Traffic| traffic.clients.is_empty() || traffic.last_client < traffic.clients.len();
        at.check(has_last(reads) && has_last(writes), "no such client")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_told_by_the_part_of_the_bursts_that_took_no_longer() {
        let mut traffic = Traffic::default();
        assert_eq!(traffic.latency_quantile(0.5), None);
        for (latency, bursts) in [(50, 60), (1_200, 9), (50, 30), (2_000_000, 1)] {
            traffic.answer(Time::ns(latency), bursts);
        }
        let within = |quantile| traffic.latency_quantile(quantile).map(|latency| latency.cycles(Time::ns(1)));
        // To three digits: of 1 200 000 ps the next that is told apart is 1 200 127.
        assert_eq!([0.5, 0.9, 0.91, 0.99].map(within), [Some(50), Some(50), Some(1_200), Some(1_200)]);
        assert_eq!(within(1.0), Some(2_000_000));
    }
}
