//! DRAM behind a controller, by the rules of DDR4 and LPDDR4.
//!
//! [`standard`] has the durations, [`bank`] says when a command may be given, `queue` chooses the next access,
//! and `channel` gives the commands. A burst of a master is cut into the DRAM's bursts; a [`mapping::Mapping`]
//! converts addresses to channels, banks and rows.

pub mod bank;
mod channel;
pub mod mapping;
mod queue;
pub mod standard;

#[cfg(test)]
mod tests;

use super::level::{Answers, Done, Level, TransferPart};
use crate::checkpoint::{Checkpoint, CheckpointError};
use channel::Channel;
use mapping::{Mapping, MappingError};
use serde::{Deserialize, Serialize};
use standard::{Organisation, Standard, Timing};
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// Treatment of a row that no access waits for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PagePolicy {
    /// The row stays open until another one is wanted, or a refresh comes.
    #[default]
    Open,
    /// The last access that waits for it closes it (auto-precharge).
    Closed,
}

/// Order in which accesses are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// First the accesses to open rows, then the oldest (first ready, first come first served).
    #[default]
    FrFcfs,
    /// The oldest, of reads or of writes.
    Fcfs,
}

/// A DRAM and its controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// The speed grade, which gives all values that are not set here.
    pub standard: Standard,
    /// Channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    /// Width of a channel's data bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_bits: Option<u32>,
    /// Groups of banks in a channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// Banks in a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banks: Option<u32>,
    /// Rows in a bank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// Columns in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<u32>,
    /// Parts of an address from the most significant down.
    #[serde(default = "default_mapping")]
    pub mapping: String,
    /// Policy for open rows.
    #[serde(default)]
    pub page: PagePolicy,
    /// Order in which accesses are served.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// Row hits that may overtake the oldest access to their bank, one after the other.
    #[serde(default = "default_overtake")]
    pub overtake: u32,
    /// Bursts of the DRAM that may wait in a channel to be read.
    #[serde(default = "default_queue")]
    pub read_queue: u32,
    /// Bursts of the DRAM that may wait in a channel to be written.
    #[serde(default = "default_queue")]
    pub write_queue: u32,
    /// Number of waiting writes from which on writes go before reads.
    #[serde(default = "default_high")]
    pub writes_high: u32,
    /// Number of waiting writes from which down reads go first again.
    #[serde(default = "default_low")]
    pub writes_low: u32,
    /// True if the DRAM is refreshed.
    #[serde(default = "default_refresh")]
    pub refresh: bool,
    /// Time that controller and wires add to a read.
    #[serde(default = "default_latency", with = "crate::units::time_text")]
    pub latency: Time,
    /// Figures that differ from the speed grade's, in clocks (`tCK` in picoseconds).
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub timing: toml::Table,
}

fn default_mapping() -> String {
    Mapping::DEFAULT.to_owned()
}
fn default_overtake() -> u32 {
    16
}
fn default_queue() -> u32 {
    32
}
fn default_high() -> u32 {
    24
}
fn default_low() -> u32 {
    8
}
fn default_refresh() -> bool {
    true
}
fn default_latency() -> Time {
    Time::ns(20)
}

/// A DRAM that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DramError {
    /// A number of parts that addresses cannot select.
    #[error("{parameter} = {value}: it must be a power of two from 1 to {most}")]
    Count {
        /// The parameter.
        parameter: &'static str,
        /// Value that was given.
        value: u32,
        /// The most there can be.
        most: u32,
    },
    /// A queue that holds nothing, or too much.
    #[error("{parameter} = {value}: a queue holds from 1 to 1024 bursts")]
    Queue {
        /// The parameter.
        parameter: &'static str,
        /// Value that was given.
        value: u32,
    },
    /// Marks that contradict each other.
    #[error(
        "writes_low = {low}, writes_high = {high}: the low mark is below the high one, and that within write_queue = {queue}"
    )]
    Marks {
        /// The low mark.
        low: u32,
        /// The high mark.
        high: u32,
        /// The queue's size.
        queue: u32,
    },
    /// A mapping that does not fit.
    #[error("mapping = \"{text}\": {source}")]
    Mapping {
        /// Text that was given.
        text: String,
        /// Error of the mapping.
        source: MappingError,
    },
    /// A figure that no standard has, or an invalid one.
    #[error("timing.{0}: figures of the timing are {names}, each a whole number of clocks (tCK: picoseconds) up to 1 000 000", names = timing_names())]
    Figure(String),
    /// A figure that must not be zero.
    #[error("timing.{0} = 0: it is at least 1")]
    Zero(&'static str),
    /// A controller slower than anything.
    #[error("latency = \"{0}\": at most 100 µs")]
    Latency(Time),
}

fn timing_table(timing: Timing) -> toml::Table {
    toml::Table::try_from(timing).unwrap_or_default()
}

fn timing_names() -> String {
    timing_table(Standard::Ddr4_2400R.timing()).keys().cloned().collect::<Vec<_>>().join(", ")
}

impl DramConfig {
    /// A DRAM of that grade, with the defaults for everything else.
    pub fn of(standard: Standard) -> DramConfig {
        DramConfig {
            standard,
            channels: None,
            data_bits: None,
            groups: None,
            banks: None,
            rows: None,
            columns: None,
            mapping: default_mapping(),
            page: PagePolicy::default(),
            scheduler: Scheduler::default(),
            overtake: default_overtake(),
            read_queue: default_queue(),
            write_queue: default_queue(),
            writes_high: default_high(),
            writes_low: default_low(),
            refresh: default_refresh(),
            latency: default_latency(),
            timing: toml::Table::new(),
        }
    }

    /// Returns the organisation: the number of each part.
    pub fn organisation(&self) -> Organisation {
        let usual = self.standard.organisation();
        Organisation {
            channels: self.channels.unwrap_or(usual.channels),
            data_bits: self.data_bits.unwrap_or(usual.data_bits),
            groups: self.groups.unwrap_or(usual.groups),
            banks: self.banks.unwrap_or(usual.banks),
            rows: self.rows.unwrap_or(usual.rows),
            columns: self.columns.unwrap_or(usual.columns),
            burst_length: usual.burst_length,
        }
    }

    /// The grade's timing, with the figures that differ from it; only the grade's if they are wrong.
    pub fn timing_in_force(&self) -> Timing {
        self.timing().unwrap_or_else(|_| self.standard.timing())
    }

    fn timing(&self) -> Result<Timing, DramError> {
        let mut table = timing_table(self.standard.timing());
        for (name, value) in &self.timing {
            let is_figure = value.as_integer().is_some_and(|figure| (0..=1_000_000).contains(&figure));
            if !is_figure || !table.contains_key(name) {
                return Err(DramError::Figure(name.clone()));
            }
            table.insert(name.clone(), value.clone());
        }
        let timing: Timing = table.try_into().map_err(|_| DramError::Figure("tCK".to_owned()))?;
        let needed =
            [("tCK", timing.tCK), ("tBURST", timing.tBURST), ("tREFI", timing.tREFI), ("nCAS", timing.nCAS)];
        match needed.into_iter().find(|(_, figure)| *figure == 0) {
            Some((name, _)) => Err(DramError::Zero(name)),
            None => Ok(timing),
        }
    }

    /// Refuses what cannot be built.
    pub fn check(&self) -> Result<(), DramError> {
        let organisation = self.organisation();
        let counts = [
            ("channels", organisation.channels, 1, 64),
            ("data_bits", organisation.data_bits, 8, 512),
            ("groups", organisation.groups, 1, 8),
            ("banks", organisation.banks, 1, 8),
            ("rows", organisation.rows, 1, 1 << 20),
            ("columns", organisation.columns, organisation.burst_length, 1 << 16),
        ];
        for (parameter, value, least, most) in counts {
            if !value.is_power_of_two() || !(least..=most).contains(&value) {
                return Err(DramError::Count { parameter, value, most });
            }
        }
        for (parameter, value) in [("read_queue", self.read_queue), ("write_queue", self.write_queue)] {
            if !(1..=1024).contains(&value) {
                return Err(DramError::Queue { parameter, value });
            }
        }
        let (low, high, queue) = (self.writes_low, self.writes_high, self.write_queue);
        if low >= high || high > queue {
            return Err(DramError::Marks { low, high, queue });
        }
        if self.latency > Time::us(100) {
            return Err(DramError::Latency(self.latency));
        }
        self.timing()?;
        let text = self.mapping.clone();
        Mapping::parse(&self.mapping, &organisation).map_err(|source| DramError::Mapping { text, source })?;
        Ok(())
    }
}

/// All channels.
pub(crate) struct Dram {
    granule: u32,
    mapping: Mapping,
    channels: Vec<Rc<Channel>>,
    answers: Rc<Answers>,
    room: Event,
}

impl Dram {
    pub(crate) fn new(sim: &Sim, name: &str, config: &DramConfig) -> Result<Dram, DramError> {
        config.check()?;
        let organisation = config.organisation();
        let text = config.mapping.clone();
        let mapping = Mapping::parse(&config.mapping, &organisation)
            .map_err(|source| DramError::Mapping { text, source })?;
        let answers = Answers::new(sim, &format!("{name}.dram"));
        let room = sim.event(format!("{name}.dram.room"));
        let start = |channel: u32| {
            let name = format!("{name}.dram{channel}");
            Channel::start(sim, &name, config, &organisation, answers.clone(), room.clone())
        };
        let channels = (0..organisation.channels).map(start).collect();
        Ok(Dram { granule: organisation.burst_bytes(), mapping, channels, answers, room })
    }
}

impl Level for Dram {
    fn granule(&self) -> u32 {
        self.granule
    }

    fn offer(&self, part: TransferPart) -> bool {
        let at = self.mapping.locate(part.address);
        let first = (part.address % u64::from(self.granule)) as u32;
        self.channels[at.channel as usize].offer(part.owner, part.write, at, (first, first + part.bytes))
    }

    fn room(&self) -> &Event {
        &self.room
    }

    fn on_done(&self, done: Done) {
        self.answers.on_done(done);
    }

    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Dram { granule: _, mapping: _, channels, answers, room: _ } = self;
        at.part("dram")?;
        answers.checkpoint(at)?;
        channels.iter().try_for_each(|channel| channel.checkpoint(at))
    }
}
