//! A master beside NVDLA: it loads the memory, and measures its own latency.

use super::system::MasterPort;
use crate::bus::axi::{Burst, TimedPort};
use crate::checkpoint::{Checkpoint, CheckpointError};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::{Source, SourceKind, Stage, Transfer, What};
use vp_core::{Event, Sim, Time};

/// The order in which a generator goes through its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Burst after burst, and again from the start.
    #[default]
    Sequential,
    /// `stride` bytes from one burst to the next.
    Strided,
    /// Anywhere in the range, each burst at a multiple of its size.
    Random,
}

/// Traffic of a generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficConfig {
    /// Name of the generator: its counters are those of `dbb0.NAME`.
    pub name: String,
    /// Bytes a second that it requests, if the memory keeps up.
    #[serde(deserialize_with = "crate::units::rate")]
    pub rate: u64,
    /// Order of the addresses.
    #[serde(default)]
    pub pattern: Pattern,
    /// Bytes from one burst to the next, if strided.
    #[serde(default = "default_stride", deserialize_with = "crate::units::size")]
    pub stride: u64,
    /// First byte of the range, from the start of the memory; its last bytes if absent, below those of the generators before, and so
    /// apart from what a network puts at the start.
    #[serde(
        default,
        deserialize_with = "crate::units::optional_size",
        skip_serializing_if = "Option::is_none"
    )]
    pub offset: Option<u64>,
    /// Bytes of the range.
    #[serde(default = "default_range", deserialize_with = "crate::units::size")]
    pub range: u64,
    /// Bytes of a burst: a power of two.
    #[serde(default = "default_burst", deserialize_with = "crate::units::size")]
    pub burst: u32,
    /// The share of its bursts that are writes, from 0 to 1.
    #[serde(default)]
    pub writes: f64,
    /// Bursts that it has outstanding, at most.
    #[serde(default = "default_outstanding")]
    pub outstanding: u32,
    /// Cycles without a transfer of NVDLA after which it pauses, until there is one.
    #[serde(default = "default_rest")]
    pub rest: u32,
    /// Priority of its bursts: of several masters those of the highest are served first.
    #[serde(default)]
    pub priority: u8,
    /// Seed of random addresses and directions.
    #[serde(default = "default_seed")]
    pub seed: u64,
}

fn default_stride() -> u64 {
    4096
}
fn default_range() -> u64 {
    16 << 20
}
fn default_burst() -> u32 {
    64
}
fn default_outstanding() -> u32 {
    16
}
fn default_rest() -> u32 {
    10_000
}
fn default_seed() -> u64 {
    1
}

/// A generator at work. Its writes carry no data: what a memory holds is NVDLA's alone.
pub(crate) struct Traffic {
    sim: Sim,
    period: Time,
    beat_bytes: u32,
    /// First address of its range.
    first: u64,
    config: TrafficConfig,
    source: Source,
    own: Rc<MasterPort>,
    /// The place of the one it runs beside.
    beside: Rc<MasterPort>,
    /// The transfers under way and the times of their requests, each under its own id.
    under_way: RefCell<Vec<Option<(Burst, Time)>>>,
    served: Event,
    at: Cell<u64>,
    random: RefCell<ChaCha8Rng>,
    /// Time at which the next burst is due.
    next: Cell<Time>,
}

impl Traffic {
    #[expect(clippy::too_many_arguments, reason = "each is one thing that its surroundings know")]
    pub(crate) fn start(
        sim: &Sim,
        name: &str,
        period: Time,
        first: u64,
        beat_bytes: u32,
        config: TrafficConfig,
        own: Rc<MasterPort>,
        beside: Rc<MasterPort>,
    ) -> Rc<Traffic> {
        let traffic = Rc::new(Traffic {
            sim: sim.clone(),
            period,
            beat_bytes,
            first,
            source: sim.source(name, SourceKind::Transfers),
            own,
            beside,
            under_way: RefCell::new(vec![None; config.outstanding as usize]),
            served: sim.event(format!("{name}.served")),
            at: Cell::new(0),
            random: RefCell::new(ChaCha8Rng::seed_from_u64(config.seed)),
            next: Cell::new(Time::ZERO),
            config,
        });
        for write in [false, true] {
            let this = Rc::downgrade(&traffic);
            traffic.own.on_served(
                write,
                Rc::new(move |tag| {
                    if let Some(traffic) = this.upgrade() {
                        traffic.over(write, tag);
                    }
                }),
            );
        }
        sim.server(format!("{name}.traffic"), traffic.clone().run());
        traffic
    }

    /// Returns the source as which its bursts are reported.
    pub(crate) fn source(&self) -> Source {
        self.source
    }

    async fn run(self: Rc<Self>) {
        let interval =
            u128::from(self.config.burst) * 1_000_000_000_000 / u128::from(self.config.rate.max(1));
        let interval = Time::ps(interval as u64);
        loop {
            let rest = self.period * u64::from(self.config.rest);
            while self.beside.last().is_none_or(|last| last + rest < self.sim.now()) {
                self.beside.woken().wait().await;
            }
            // What the memory did not keep up with is not made up for.
            let next = self.next.get().max(self.sim.now());
            self.next.set(next + interval);
            self.sim.wait_until(next).await;
            let write = self.random.borrow_mut().random_bool(self.config.writes);
            let address = self.first.wrapping_add(self.step());
            let id = loop {
                let free = self.under_way.borrow().iter().position(Option::is_none);
                match free {
                    Some(id) => break id,
                    None => self.served.wait().await,
                }
            };
            while !self.own.has_room(write) {
                self.own.room(write).wait().await;
            }
            let beats = self.config.burst.div_ceil(self.beat_bytes);
            let burst = Burst { id: id as u32, address, bytes: self.config.burst, beats };
            let requested = self.sim.now();
            self.under_way.borrow_mut()[id] = Some((burst, requested));
            self.report(Stage::Request, write, requested, &burst);
            self.own.request(write, id as u64, &burst);
        }
    }

    /// Returns the place of the next burst in its range.
    fn step(&self) -> u64 {
        let burst = u64::from(self.config.burst);
        let bursts = (self.config.range / burst).max(1);
        let at = self.at.get();
        match self.config.pattern {
            Pattern::Random => self.random.borrow_mut().random_range(0..bursts) * burst,
            Pattern::Sequential => {
                self.at.set((at + 1) % bursts);
                at * burst
            }
            Pattern::Strided => {
                let next = at + (self.config.stride / burst).max(1);
                // The next time round a burst further, so that all are visited.
                self.at.set(if next < bursts { next } else { (next + 1) % bursts });
                at * burst
            }
        }
    }

    fn over(&self, write: bool, tag: u64) {
        let burst = self.under_way.borrow_mut().get_mut(tag as usize).and_then(Option::take);
        let Some((burst, requested)) = burst else { return };
        if !write {
            self.report(Stage::Data, write, requested, &burst);
        }
        self.report(Stage::Response, write, requested, &burst);
        self.served.notify_delta();
    }

    fn report(&self, stage: Stage, write: bool, requested: Time, burst: &Burst) {
        let Burst { id, address, bytes, .. } = *burst;
        let transfer = Transfer { stage, write, id, address, bytes, requested };
        self.sim.report(self.source, What::Transfer(transfer));
    }
}

impl Traffic {
    pub(crate) fn checkpoint(&self, to: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Traffic {
            sim: _,
            period: _,
            beat_bytes: _,
            first: _,
            config,
            source: _,
            own: _,
            beside: _,
            under_way,
            served: _,
            at,
            random,
            next,
        } = self;
        to.part(&config.name)?;
        to.at_rest(under_way.borrow().iter().all(Option::is_none), "bursts are under way")?;
        to.cell(at)?;
        to.drawn(&mut random.borrow_mut())?;
        to.cell(next)
    }
}
