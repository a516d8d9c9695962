//! Counts of a channel by bank, and of its queues.

use super::bank::Background;
use super::queue::Entry;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::Statistics;
use crate::latencies::Latencies;
use serde::{Deserialize, Serialize};
use vp_core::Time;

/// State of the bank that an access found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The access's row, open.
    Hit,
    /// No row open.
    Miss,
    /// Another row, which was closed for it.
    Conflict,
}

impl Found {
    pub(super) fn of(entry: &Entry) -> Found {
        match (entry.opened, entry.closed) {
            (false, _) => Found::Hit,
            (true, false) => Found::Miss,
            (true, true) => Found::Conflict,
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Found::Hit => "row_hit",
            Found::Miss => "row_miss",
            Found::Conflict => "row_conflict",
        }
    }
}

/// Counts of a bank.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct BankCounts {
    found: [u64; 3],
    reads: u64,
    /// From the arrival of reads to the ends of their data: the sum.
    latency_sum: Time,
    latencies: Latencies,
}

/// Entries of a queue that an access found when it came.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct DepthCounts {
    accesses: u64,
    sum: u64,
    most: u64,
}

/// Counts of a channel.
#[derive(Debug)]
pub(super) struct Counts {
    banks: Vec<BankCounts>,
    depths: [DepthCounts; 2],
}

impl Counts {
    pub(super) fn new(banks: usize) -> Counts {
        Counts { banks: vec![BankCounts::default(); banks], depths: Default::default() }
    }

    /// Counts an access that comes to a queue with so many entries.
    pub(super) fn comes(&mut self, write: bool, entries: usize) {
        let depth = &mut self.depths[usize::from(write)];
        depth.accesses += 1;
        depth.sum += entries as u64;
        depth.most = depth.most.max(entries as u64);
    }

    /// Counts an access that is served, and a read's latency.
    pub(super) fn served(&mut self, bank: u32, found: Found, latency: Option<Time>) {
        let bank = &mut self.banks[bank as usize];
        bank.found[found as usize] += 1;
        if let Some(latency) = latency {
            bank.reads += 1;
            bank.latency_sum += latency;
            bank.latencies.add(latency, 1);
        }
    }

    /// Adds the counters of the channel of that name; banks without an access have none.
    pub(super) fn fill(
        &self,
        channel: &str,
        backgrounds: [u64; Background::COUNT],
        period: Time,
        statistics: &mut Statistics,
    ) {
        for (depth, queue) in self.depths.iter().zip(["read", "write"]) {
            if let Some(mean) = (depth.sum + depth.accesses / 2).checked_div(depth.accesses) {
                statistics.count(format!("{channel}.{queue}_queue.mean"), mean, "bursts");
                statistics.count(format!("{channel}.{queue}_queue.most"), depth.most, "bursts");
            }
        }
        for background in Background::ALL {
            let clocks = backgrounds[background as usize];
            if clocks > 0 {
                statistics.count(format!("{channel}.{}", background.name()), clocks, "clocks");
            }
        }
        for (number, bank) in self.banks.iter().enumerate() {
            let name = |what: &str| format!("{channel}.bank{number}.{what}");
            for (found, count) in [Found::Hit, Found::Miss, Found::Conflict].into_iter().zip(bank.found) {
                if count > 0 {
                    statistics.count(name(found.label()), count, "times");
                }
            }
            if bank.reads > 0 {
                let mean = bank.latency_sum / bank.reads;
                statistics.count(name("read.latency.mean"), mean.cycles(period), "cycles");
                for (part, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
                    if let Some(latency) = bank.latencies.quantile(quantile) {
                        statistics.count(
                            name(&format!("read.latency.{part}")),
                            latency.cycles(period),
                            "cycles",
                        );
                    }
                }
            }
        }
    }

    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Counts { banks, depths } = self;
        at.fixed(banks)?;
        at.value(depths)
    }
}
