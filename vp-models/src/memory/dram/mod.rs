//! DRAM behind a controller, by the rules of its standard.
//!
//! ```text
//! burst of a master ── cut into bursts of the DRAM ── mapping: channel, rank, group, bank, row, column
//!                                                                          │
//!            ┌─────────────────────────── channel (the simulation's time) ─┴──────────┐
//!            │  controller (clocks only):  queues ── choice of the next access        │
//!            │                             maintenance ── refresh, timers, power-down │
//!            │                             banks ── earliest clock of each command,   │
//!            │                                      moved by the rules                │
//!            └────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! [`grade`] has the table of speed grades, and [`timing`] their figures in clocks, of which `rules` makes the distances between
//! commands.

mod access;
mod bank;
mod channel;
mod command;
mod config;
mod controller;
mod counts;
mod figure;
pub mod grade;
mod held_banks;
mod maintenance;
pub mod mapping;
mod organisation;
mod queue;
mod rules;
pub mod timing;
mod watch;

#[cfg(test)]
mod tests;

pub use bank::Background;
pub use command::{CommandKind, DramCommand};
pub use config::{DramConfig, DramError, PagePolicy, Refresh, Scheduler};
pub use figure::Rounding;
pub use grade::{Grade, Standard};
pub use organisation::Organisation;
pub use timing::Timing;
pub use watch::{DramActivity, DramWatch};

use super::awaited::AwaitedEvent;
use super::level::{Answers, Done, Level, TransferPart};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::counters::Statistics;
use channel::Channel;
use mapping::Mapping;
use std::rc::Rc;
use vp_core::{Sim, Time};

/// All channels.
pub(crate) struct Dram {
    granule: u32,
    mapping: Mapping,
    channels: Vec<Rc<Channel>>,
    answers: Rc<Answers>,
    room: Rc<AwaitedEvent>,
}

impl Dram {
    pub(crate) fn new(sim: &Sim, name: &str, config: &DramConfig) -> Result<Dram, DramError> {
        config.check()?;
        let (organisation, timing) = (config.organisation()?, config.timing()?);
        let answers = Answers::new(sim, &format!("{name}.dram"));
        let room = Rc::new(AwaitedEvent::new(sim.event(format!("{name}.dram.room"))));
        let start = |channel: u32| {
            let name = format!("{name}.dram{channel}");
            Channel::start(sim, name, config, (&organisation, &timing), answers.clone(), room.clone())
        };
        let channels = (0..organisation.channels).map(start).collect();
        let mapping = config.address_mapping()?;
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
        self.channels[at.channel as usize].offer(part, at, (first, first + part.bytes))
    }

    fn room(&self) -> &AwaitedEvent {
        &self.room
    }

    fn on_done(&self, done: Done) {
        self.answers.on_done(done);
    }

    fn add_counters(&self, period: Time, statistics: &mut Statistics) {
        self.channels.iter().for_each(|channel| channel.add_counters(period, statistics));
    }

    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Dram { granule: _, mapping: _, channels, answers, room: _ } = self;
        at.part("dram")?;
        answers.checkpoint(at)?;
        channels.iter().try_for_each(|channel| channel.checkpoint(at))
    }
}
