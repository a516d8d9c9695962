//! An SRAM of several banks, each with one port.

use super::awaited::AwaitedEvent;
use super::level::{Answers, Done, Level, TransferPart};
use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use vp_core::observe::{Source, SourceKind, What};
use vp_core::{Sim, Time};

/// Configuration of an SRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SramConfig {
    /// Banks, interleaved by words: a power of two.
    pub banks: u32,
    /// Bytes of a word, which a bank reads or writes at once: a power of two.
    #[serde(deserialize_with = "crate::units::size")]
    pub word: u32,
    /// Cycles for which an access occupies its bank.
    pub cycle: u32,
    /// Cycles from the start of a read to its data.
    pub latency: u32,
}

impl Default for SramConfig {
    fn default() -> SramConfig {
        SramConfig { banks: 4, word: 32, cycle: 1, latency: 2 }
    }
}

/// Each bank serves one access after the other, reads and writes alike.
pub(crate) struct Sram {
    sim: Sim,
    period: Time,
    config: SramConfig,
    source: Source,
    /// Times at which each bank is free.
    free: RefCell<Vec<Time>>,
    answers: Rc<Answers>,
    room: AwaitedEvent,
}

impl Sram {
    pub(crate) fn new(sim: &Sim, name: &str, period: Time, config: SramConfig) -> Sram {
        Sram {
            sim: sim.clone(),
            period,
            config,
            source: sim.source(format!("{name}.sram"), SourceKind::Counts),
            free: RefCell::new(vec![Time::ZERO; config.banks as usize]),
            answers: Answers::new(sim, &format!("{name}.sram")),
            room: AwaitedEvent::new(sim.event(format!("{name}.sram.room"))),
        }
    }
}

impl Level for Sram {
    fn granule(&self) -> u32 {
        self.config.word
    }

    fn offer(&self, part: TransferPart) -> bool {
        let now = self.sim.now();
        let bank = (part.address / u64::from(self.config.word)) % u64::from(self.config.banks);
        let mut free = self.free.borrow_mut();
        let start = now.max(free[bank as usize]);
        free[bank as usize] = start + self.period * u64::from(self.config.cycle);
        drop(free);
        let label = if start > now { "bank_conflict" } else { "bank_free" };
        self.sim.report(self.source, What::Count { label, value: bank });
        let latency = if part.write { self.config.cycle } else { self.config.latency };
        self.answers.at(start + self.period * u64::from(latency), part.owner);
        true
    }

    fn room(&self) -> &AwaitedEvent {
        &self.room
    }

    fn on_done(&self, done: Done) {
        self.answers.on_done(done);
    }

    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Sram { sim: _, period: _, config: _, source: _, free, answers, room: _ } = self;
        at.part("sram")?;
        at.fixed(&mut free.borrow_mut())?;
        answers.checkpoint(at)
    }
}
