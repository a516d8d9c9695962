//! Requests played into a memory without a device: those of a trace, or of a generator.
//!
//! ```
//! use vp_models::memory::{MemoryRequest, Replay};
//! use vp_models::platform::Description;
//!
//! let platform = Description::named("nv_small").unwrap();
//! let platform = platform.with(["dbb0.dram.standard=DDR4-2400R", "dbb0.dram.latency=0 ns"]).unwrap();
//! let requests = (0..4).map(|at| MemoryRequest { clock: 0, write: false, address: at * 64, bytes: 64 });
//! let played = Replay::of(&platform, "dbb0").unwrap().play(requests, None);
//! // ACT, tRCD, CL and a burst of four clocks.
//! assert_eq!((played.reads.bursts, played.reads.latency_min), (4, Some(played.clock * (16 + 16 + 4))));
//! ```

use super::level::{Level, TransferPart, parts};
use super::model::{MemoryModel, ModelError};
use crate::bus::axi::AxiConfig;
use crate::counters::{Statistics, Tally};
use crate::latencies::Latencies;
use crate::units::HORIZON;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use vp_core::{Event, Sim, Simulation, Time};

/// A request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRequest {
    /// Clock from which on it is made: of the DRAM's command clock, or of the platform's where there is no DRAM.
    pub clock: u64,
    /// True for a write.
    pub write: bool,
    /// First byte, from the start of the memory.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
}

/// Requests of one direction that were played.
#[derive(Debug, Clone, Default)]
pub struct PlayedRequests {
    /// Requests.
    pub bursts: u64,
    /// Bytes.
    pub bytes: u64,
    /// Sum of the latencies: from the time at which a request could be made first to its data, or a write's acceptance.
    pub latency_sum: Time,
    /// Shortest latency.
    pub latency_min: Option<Time>,
    /// Longest latency.
    pub latency_max: Time,
    latencies: Latencies,
}

impl PlayedRequests {
    fn add(&mut self, bytes: u32, latency: Time) {
        self.bursts += 1;
        self.bytes += u64::from(bytes);
        self.latency_sum += latency;
        self.latency_min = Some(self.latency_min.map_or(latency, |least| least.min(latency)));
        self.latency_max = self.latency_max.max(latency);
        self.latencies.add(latency, 1);
    }

    /// Returns the mean latency.
    pub fn latency_mean(&self) -> Option<Time> {
        (self.bursts > 0).then(|| self.latency_sum / self.bursts)
    }

    /// Returns the latency that so large a part of the requests does not exceed.
    pub fn latency_quantile(&self, quantile: f64) -> Option<Time> {
        self.latencies.quantile(quantile)
    }
}

/// Result of a replay.
#[derive(Debug, Clone)]
pub struct Played {
    /// Period of the clocks in which requests are counted.
    pub clock: Time,
    /// Reads.
    pub reads: PlayedRequests,
    /// Writes.
    pub writes: PlayedRequests,
    /// Time of the last answer.
    pub end: Time,
    /// Counters of the memory.
    pub statistics: Statistics,
}

impl Played {
    /// Returns the bytes a second that were moved, until the last answer.
    pub fn rate(&self) -> f64 {
        (self.reads.bytes + self.writes.bytes) as f64 * 1e12 / self.end.as_ps().max(1) as f64
    }
}

/// A request under way.
struct Open {
    request: MemoryRequest,
    /// Time at which it could be made first.
    made: Time,
    parts: u32,
}

#[derive(Default)]
struct State {
    open: BTreeMap<u64, Open>,
    reads: PlayedRequests,
    writes: PlayedRequests,
    end: Time,
}

/// A memory in a simulation of its own, into which requests are played.
pub struct Replay {
    simulation: Simulation,
    period: Time,
    clock: Time,
    request_bytes: u32,
    memory: Rc<dyn Level>,
    state: Rc<RefCell<State>>,
    answered: Event,
    counts: Option<Rc<Tally>>,
}

impl Replay {
    /// Builds the memory that a model describes.
    pub(crate) fn new(model: &MemoryModel, name: &str, axi: &AxiConfig) -> Result<Replay, ModelError> {
        model.check()?;
        let simulation = Simulation::new();
        let sim = simulation.sim();
        let memory = model.levels(&sim, name, axi)?;
        let clock = match &model.dram {
            Some(dram) => Time::ps(dram.timing()?.tCK),
            None => axi.period,
        };
        let answered = sim.event(format!("{name}.answered"));
        let state: Rc<RefCell<State>> = Rc::default();
        let (this, now, again) = (state.clone(), sim.clone(), answered.clone());
        memory.on_done(Box::new(move |owner| {
            this.borrow_mut().answer(owner, now.now());
            again.notify_delta();
        }));
        let request_bytes = model.request_bytes()?;
        Ok(Replay {
            simulation,
            period: axi.period,
            clock,
            request_bytes,
            memory,
            state,
            answered,
            counts: None,
        })
    }

    /// Returns the simulation's handle, to which observers are added.
    pub fn sim(&self) -> Sim {
        self.simulation.sim()
    }

    /// Returns the period of the clocks in which requests are counted.
    pub fn clock(&self) -> Time {
        self.clock
    }

    /// Returns the bytes of a request that does not say how many it has: a burst of the DRAM, a word of the SRAM, or 64.
    pub fn request_bytes(&self) -> u32 {
        self.request_bytes
    }

    /// Counts events too, such as row hits and commands, which the statistics have then as a platform's have them.
    #[must_use]
    pub fn with_events(mut self) -> Replay {
        let counts = Rc::new(Tally::default());
        self.sim().observe(counts.clone());
        self.counts = Some(counts);
        self
    }

    /// Returns requests without times as made in the clock in which the memory has taken the one before.
    pub fn as_taken<R>(&self, requests: R) -> impl Iterator<Item = MemoryRequest> + use<R>
    where
        R: IntoIterator<Item = MemoryRequest>,
    {
        let (sim, period) = (self.sim(), self.clock.as_ps());
        let made = move |request| MemoryRequest { clock: sim.now().as_ps().div_ceil(period), ..request };
        requests.into_iter().map(made)
    }

    /// Makes the requests, one after the other: each at its clock at the earliest, when the memory has room for the ones before, and when no
    /// more than `outstanding` are under way (a write is until it is accepted).
    pub fn play(
        mut self,
        requests: impl IntoIterator<Item = MemoryRequest, IntoIter: 'static>,
        outstanding: Option<usize>,
    ) -> Played {
        let (sim, memory, state) = (self.sim(), self.memory.clone(), self.state.clone());
        let (clock, answered, requests) = (self.clock, self.answered.clone(), requests.into_iter());
        let most = outstanding.unwrap_or(usize::MAX).max(1);
        self.sim().process("requests", async move {
            let requests = requests.filter(|request| request.bytes > 0);
            for (owner, request) in (0..).zip(requests) {
                let due = Time::ps(clock.as_ps().saturating_mul(request.clock)).min(HORIZON);
                if due > sim.now() {
                    sim.wait_until(due).await;
                }
                let mut made = due;
                while state.borrow().open.len() >= most {
                    answered.wait().await;
                    made = sim.now();
                }
                let cut = || parts(request.address, request.bytes, memory.granule());
                let open = Open { request, made, parts: cut().count() as u32 };
                state.borrow_mut().open.insert(owner, open);
                for (address, bytes) in cut() {
                    let part = TransferPart { owner, write: request.write, address, bytes, priority: 0 };
                    while !memory.offer(part) {
                        memory.room().wait().await;
                    }
                }
            }
        });
        self.simulation.run();
        let mut statistics = Statistics::default();
        self.memory.add_counters(self.period, &mut statistics);
        for ((source, label), count) in self.counts.iter().flat_map(|tally| tally.counts()) {
            let name = self.sim().source_name(source);
            statistics.count(format!("{name}.{label}"), count, "times");
        }
        let State { reads, writes, end, .. } = self.state.take();
        Played { clock: self.clock, reads, writes, end, statistics }
    }
}

impl State {
    fn answer(&mut self, owner: u64, now: Time) {
        let Some(open) = self.open.get_mut(&owner) else { return };
        open.parts -= 1;
        if open.parts == 0
            && let Some(Open { request, made, .. }) = self.open.remove(&owner)
        {
            let played = if request.write { &mut self.writes } else { &mut self.reads };
            played.add(request.bytes, now - made);
            self.end = now;
        }
    }
}
