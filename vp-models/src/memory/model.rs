//! A memory that takes its own time: its description, and the model built from it.

use super::cache::{Cache, CacheConfig};
use super::dram::{Dram, DramConfig, DramError};
use super::level::Level;
use super::litedram::{LiteDram, LiteDramConfig};
use super::plain::Plain;
use super::sram::{Sram, SramConfig};
use super::system::{MasterPort, MemorySystem};
use super::traffic::{Traffic, TrafficConfig};
use crate::bus::axi::{AxiConfig, TimedPort};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::Statistics;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::rc::Rc;
use vp_core::Sim;

/// The memory model behind a memory interface. If nothing is set, there is only a latency.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryModel {
    /// Bursts of each direction that wait at a master's port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Priority of NVDLA's bursts: of several masters those of the highest are served first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// A cache in front of the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheConfig>,
    /// An SRAM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sram: Option<SramConfig>,
    /// A DRAM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dram: Option<DramConfig>,
    /// LiteDRAM's controller and its DRAM, alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub litedram: Option<LiteDramConfig>,
    /// Masters beside NVDLA.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficConfig>,
}

/// A model that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Two memories in one place.
    #[error("a memory is an SRAM or a DRAM, not both: leave out `sram` or `dram`")]
    TwoMemories,
    /// A figure of the cache, the SRAM or the queues.
    #[error("{parameter} = {value}: {right}")]
    Figure {
        /// The parameter.
        parameter: &'static str,
        /// Value that was given.
        value: u64,
        /// Description of the right values.
        right: &'static str,
    },
    /// LiteDRAM beside something else.
    #[error("litedram is alone at its port: leave out `queue`, `cache`, `sram`, `dram` and `traffic`")]
    NotAlone,
    /// LiteDRAM where no AXI interface is.
    #[error("litedram has AXI ports only: a replay or a curve needs a `dram`, an `sram` or a latency")]
    NoLevel,
    /// A figure of LiteDRAM.
    #[error("litedram.{name} = {value}: {right}")]
    LiteDram {
        /// The figure.
        name: &'static str,
        /// Value that was given.
        value: u32,
        /// Description of the right values.
        right: &'static str,
    },
    /// A DRAM that cannot be built.
    #[error("dram.{0}")]
    Dram(#[from] DramError),
    /// A generator that cannot run.
    #[error("traffic `{name}`: {parameter} = {value}: {right}")]
    Traffic {
        /// The generator.
        name: String,
        /// The parameter.
        parameter: &'static str,
        /// Value that was given.
        value: String,
        /// Description of the right values.
        right: &'static str,
    },
}

const DEFAULT_QUEUE: u32 = 16;

impl MemoryModel {
    /// Returns true if there is nothing but a latency.
    pub fn is_empty(&self) -> bool {
        *self == MemoryModel::default()
    }

    /// Returns true if latency and bandwidth follow from the memory itself.
    pub fn has_own_time(&self) -> bool {
        self.sram.is_some() || self.dram.is_some() || self.litedram.is_some()
    }

    /// Returns the bytes of a request of a trace that does not say how many it has: a burst of the DRAM, a word of the SRAM, or 64.
    pub fn request_bytes(&self) -> Result<u32, DramError> {
        Ok(match (&self.dram, &self.sram) {
            (Some(dram), _) => dram.organisation()?.burst_bytes(),
            (None, Some(sram)) => sram.word,
            (None, None) => 64,
        })
    }

    /// Refuses what cannot be built.
    pub fn check(&self) -> Result<(), ModelError> {
        if self.sram.is_some() && self.dram.is_some() {
            return Err(ModelError::TwoMemories);
        }
        let power = |least: u32, most: u32| {
            move |value: u32| value.is_power_of_two() && (least..=most).contains(&value)
        };
        let range = |least: u32, most: u32| move |value: u32| (least..=most).contains(&value);
        let figure = |parameter, value: u32, holds: &dyn Fn(u32) -> bool, right| {
            if holds(value) {
                Ok(())
            } else {
                Err(ModelError::Figure { parameter, value: value.into(), right })
            }
        };
        figure("queue", self.queue.unwrap_or(DEFAULT_QUEUE), &range(1, 1024), "from 1 to 1024 bursts wait")?;
        if let Some(cache) = &self.cache {
            figure("cache.sets", cache.sets, &power(1, 1 << 20), "a power of two up to 1048576")?;
            figure("cache.ways", cache.ways, &range(1, 64), "from 1 to 64")?;
            figure("cache.line", cache.line, &power(8, 4096), "a power of two from 8 to 4096 bytes")?;
            figure("cache.mshrs", cache.mshrs, &range(1, 1024), "from 1 to 1024")?;
            figure("cache.hit_latency", cache.hit_latency, &range(0, 10_000), "at most 10000 cycles")?;
        }
        if let Some(sram) = &self.sram {
            figure("sram.banks", sram.banks, &power(1, 1024), "a power of two up to 1024")?;
            figure("sram.word", sram.word, &power(1, 4096), "a power of two up to 4096 bytes")?;
            figure("sram.cycle", sram.cycle, &range(1, 1000), "from 1 to 1000 cycles")?;
            figure("sram.latency", sram.latency, &range(0, 10_000), "at most 10000 cycles")?;
        }
        if let Some(litedram) = &self.litedram {
            if *self != (MemoryModel { litedram: Some(*litedram), ..MemoryModel::default() }) {
                return Err(ModelError::NotAlone);
            }
            litedram.check().map_err(|(name, value, right)| ModelError::LiteDram { name, value, right })?;
        }
        if let Some(dram) = &self.dram {
            dram.check()?;
        }
        self.traffic.iter().enumerate().try_for_each(|(place, traffic)| self.check_traffic(place, traffic))
    }

    fn check_traffic(&self, place: usize, traffic: &TrafficConfig) -> Result<(), ModelError> {
        let TrafficConfig { name, rate, range, burst, writes, outstanding, .. } = traffic;
        let wrong = |parameter, value: String, right| {
            Err(ModelError::Traffic { name: name.clone(), parameter, value, right })
        };
        // Names of what the statistics of a port say themselves.
        let taken = ["read", "write", "cache", "sram"].contains(&name.as_str()) || name.starts_with("dram");
        let is_word =
            !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '-');
        let twice = self.traffic.iter().take(place).any(|other| other.name == *name);
        if taken || !is_word || twice {
            let right = "letters, digits, `_` and `-`, each master another, and not a word of the port's own statistics";
            return wrong("name", format!("\"{name}\""), right);
        }
        if *rate == 0 {
            return wrong("rate", rate.to_string(), "at least one byte a second");
        }
        if !burst.is_power_of_two() || !(8..=4096).contains(burst) {
            return wrong("burst", burst.to_string(), "a power of two from 8 to 4096 bytes");
        }
        if *range < u64::from(*burst) || traffic.offset.unwrap_or(0).checked_add(*range).is_none() {
            return wrong("range", range.to_string(), "at least a burst, and within 64 bits");
        }
        if !(0.0..=1.0).contains(writes) {
            return wrong("writes", writes.to_string(), "a share from 0 to 1");
        }
        if !(1..=256).contains(outstanding) {
            return wrong("outstanding", outstanding.to_string(), "from 1 to 256 bursts");
        }
        Ok(())
    }

    /// The model in one phrase for people; nothing if there is only a latency.
    pub fn phrase(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(CacheConfig { sets, ways, line, .. }) = self.cache {
            parts.push(format!(
                "{} KiB cache of {ways} ways",
                u64::from(sets) * u64::from(ways) * u64::from(line) / 1024
            ));
        }
        if let Some(SramConfig { banks, word, .. }) = self.sram {
            parts.push(format!("SRAM of {banks} banks, {} bit", word * 8));
        }
        if let Some(dram) = &self.dram {
            parts.push(dram.phrase());
        }
        if let Some(LiteDramConfig { nphases, .. }) = self.litedram {
            parts.push(format!("LiteDRAM, 1:{nphases}"));
        }
        parts.extend(self.traffic.iter().map(|traffic| format!("beside {}", traffic.name)));
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// A model that was built: NVDLA's port at it, and the other sources of reports about its transfers.
pub(crate) struct Built {
    pub(crate) place: Rc<dyn TimedPort>,
    pub(crate) masters: Vec<(String, Rc<Traffic>)>,
    /// Keeps the places' system alive.
    system: Option<Rc<MemorySystem>>,
    controller: Option<Rc<LiteDram>>,
}

impl MemoryModel {
    /// Builds what is described, for the memory `name` at these addresses; nothing if there is only a latency.
    pub(crate) fn build(
        &self,
        sim: &Sim,
        name: &str,
        addresses: Range<u64>,
        axi: &AxiConfig,
    ) -> Result<Option<Built>, ModelError> {
        if self.is_empty() {
            return Ok(None);
        }
        self.check()?;
        let Range { start: base, end } = addresses;
        if let Some(config) = &self.litedram {
            let controller = LiteDram::new(sim, name, base, axi, config, 1);
            let place = controller.port(0);
            return Ok(Some(Built {
                place,
                masters: Vec::new(),
                system: None,
                controller: Some(controller),
            }));
        }
        let period = axi.period;
        let system = MemorySystem::new(sim, name, period, base, self.levels(sim, name, axi)?);
        let depth = self.queue.unwrap_or(DEFAULT_QUEUE);
        let place: Rc<MasterPort> = system.place(&format!("{name}.nvdla"), depth, self.priority.unwrap_or(0));
        let mut room = end - base;
        let masters = self.traffic.iter().map(|traffic| {
            let offset = traffic.offset.unwrap_or_else(|| {
                room = room.saturating_sub(traffic.range);
                room
            });
            let label = format!("{name}.{}", traffic.name);
            let own = system.place(&label, depth, traffic.priority);
            let (beat, config) = (axi.beat_bytes, traffic.clone());
            let traffic = Traffic::start(
                sim,
                &label,
                period,
                base.wrapping_add(offset),
                beat,
                config,
                own,
                place.clone(),
            );
            (label, traffic)
        });
        let masters = masters.collect();
        Ok(Some(Built { place, masters, system: Some(system), controller: None }))
    }
}

impl MemoryModel {
    /// Builds the levels of the memory `name`, and returns the first.
    pub(crate) fn levels(&self, sim: &Sim, name: &str, axi: &AxiConfig) -> Result<Rc<dyn Level>, ModelError> {
        if self.litedram.is_some() {
            return Err(ModelError::NoLevel);
        }
        let memory: Rc<dyn Level> = match (&self.dram, &self.sram) {
            (Some(dram), _) => Rc::new(Dram::new(sim, name, dram)?),
            (None, Some(sram)) => Rc::new(Sram::new(sim, name, axi.period, *sram)),
            (None, None) => Rc::new(Plain::new(sim, &format!("{name}.memory"), axi)),
        };
        Ok(match self.cache {
            Some(cache) => Cache::new(sim, name, axi.period, cache, memory),
            None => memory,
        })
    }
}

impl Built {
    /// Adds the counters of the memory's own parts.
    pub(crate) fn add_counters(&self, statistics: &mut Statistics) {
        self.system.iter().for_each(|system| system.add_counters(statistics));
    }

    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // The system has its places.
        let Built { place: _, masters, system, controller } = self;
        if let Some(system) = system {
            system.checkpoint(at)?;
        }
        if let Some(controller) = controller {
            controller.checkpoint(at)?;
        }
        masters.iter().try_for_each(|(_, traffic)| traffic.checkpoint(at))
    }
}
