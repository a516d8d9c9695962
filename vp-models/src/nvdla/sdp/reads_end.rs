//! End of a layer's reads: the read DMA is done when the last operands have left its lanes (`NV_NVDLA_SDP_BRDMA_eg.v`, layer_done), and asks for the
//! next layer's from then on.
//!
//! ```text
//! lanes → a register of one place (`NV_NVDLA_SDP_core.v`, pipe_p1 to p6) → place where a beat of data meets its own operands
//! ```
//!
//! So on nvdlav1 the last beat's leave the lanes when they are there and the beat before has met its own. That beat does when it comes to the place; or
//! where EW, PDP or the memory interface holds it up, when the registers behind the place have room for it.
//!
//! On other trees an atom's operands come and go together, and the atom before meets its own.

use super::before_elementwise::BeforeElementwise;
use super::before_interface::BeforeInterface;
use super::layer::{SdpLayer, SdpSource};
use super::pipeline::{Registers, operators};
use super::pooling_layer::PoolingLayer;
use super::timing::{later_of_operators, operands_later, pace};
use super::to_pooling::before_last_in_front_of_pdp;
use crate::nvdla::timing::SdpTiming;
use vp_core::Time;

/// A layer whose atoms have started.
pub(super) struct ReadsEnd<'a> {
    pub(super) layer: &'a SdpLayer,
    pub(super) timing: &'a SdpTiming,
    pub(super) cycle: Time,
    /// Starts of the last atom, and of the one before it.
    pub(super) started: Time,
    pub(super) started_before: Time,
    /// Earliest starts by the last operands of BS, BN and EW; of EW, if no atoms wait in front of it.
    pub(super) operands_there: [Time; 3],
    /// Stages that may hold beats up.
    pub(super) waiting: Option<&'a BeforeElementwise>,
    pub(super) leaving: Option<&'a BeforeInterface>,
    pub(super) pooling: Option<&'a PoolingLayer<'a>>,
}

/// Place where data meets the operands of an operator on nvdlav1.
pub(super) struct Meeting {
    /// Number of the stage: BS, BN, EW.
    pub(super) stage: usize,
    /// Cycles by which operands may come to their register later than data to SDP's input.
    pub(super) later: i32,
    /// Registers from the place to EW or, without it, to the converter.
    pub(super) behind: Registers,
}

impl Meeting {
    /// Returns the places of a layer, whose stages have so many registers.
    pub(super) fn all(layer: &SdpLayer, timing: &SdpTiming, registers: u32) -> Vec<Meeting> {
        let operands = [
            layer.bs.and_then(|stage| stage.operands),
            layer.bn.and_then(|stage| stage.operands),
            layer.ew.and_then(|stage| stage.operands),
        ];
        let later = later_of_operators(layer, registers);
        let bn = Registers::of(&layer.bn, timing);
        let behind = |stage, operator| match stage {
            0 => Registers::behind_operator(&layer.bs, operator, timing).and(bn),
            1 => Registers::behind_operator(&layer.bn, operator, timing),
            _ => Registers::default(),
        };
        let of_stage = |(stage, operands): (usize, Option<_>)| {
            let operators = operands.map_or(&[][..], operators);
            operators.iter().map(move |&operator| {
                let later = later[stage][operator as usize];
                Meeting { stage, later, behind: behind(stage, operator) }
            })
        };
        operands.into_iter().enumerate().flat_map(of_stage).collect()
    }
}

impl ReadsEnd<'_> {
    /// Waits until all that was read is taken, or it follows when; tells that time, as the start of a last atom for which no operands are read.
    pub(super) async fn time(&self) -> Time {
        match self.timing.stage_registers {
            Some(registers) => self.by_beats(registers).await,
            None => self.by_atoms().await,
        }
    }

    async fn by_beats(&self, registers: u32) -> Time {
        let beats = u64::from(pace(self.layer, self.timing).max(1));
        let mut end = match self.layer.source {
            SdpSource::Memory(_) => self.started + self.cycle * (beats - 1),
            SdpSource::Accumulator => Time::ZERO,
        };
        let before_last = match beats {
            1 => self.started_before,
            _ => self.started + self.cycle * (beats - 2),
        };
        let later = operands_later(self.layer, self.timing);
        for meeting in Meeting::all(self.layer, self.timing, registers) {
            let met = self.shifted(before_last, meeting.later + 1).max(self.held_up(&meeting).await);
            let there = match self.waiting {
                Some(waiting) if meeting.stage == 2 => waiting.operands_there(),
                _ => self.operands_there[meeting.stage],
            };
            end = end.max(met + self.cycle).max(self.shifted(there, later[meeting.stage] + 1));
        }
        end
    }

    /// Returns the time at which the beat before the last meets its operands if what is behind the place holds it up.
    async fn held_up(&self, meeting: &Meeting) -> Time {
        let Meeting { stage, later, behind } = *meeting;
        let by_elementwise = match self.waiting {
            Some(waiting) if stage == 2 => waiting.before_last_taken().await,
            Some(waiting) => waiting.before_last_enters(behind).await,
            None => Time::ZERO,
        };
        let by_interface = self.leaving.map_or(Time::ZERO, |leaving| leaving.before_last_enters(behind));
        let by_pooling = match self.pooling {
            Some(pooling) => {
                let (atoms, cycles) = before_last_in_front_of_pdp(behind, self.layer, self.timing);
                pooling.room_behind(atoms, cycles).await
            }
            None => Time::ZERO,
        };
        self.shifted(by_elementwise.max(by_interface), later + 1).max(by_pooling)
    }

    async fn by_atoms(&self) -> Time {
        let Some(waiting) = self.waiting else { return self.started };
        let SdpLayer { bs, bn, ew, .. } = self.layer;
        let behind_bs = Registers::of(bn, self.timing);
        let of_bs = Registers::behind_operands(bs, self.timing).map(|rest| rest.and(behind_bs));
        let met = match Registers::behind_operands(bn, self.timing).or(of_bs) {
            Some(behind) => waiting.atom_before_last_enters(behind).await,
            None => Time::ZERO,
        };
        let taken = match ew.and_then(|stage| stage.operands) {
            Some(_) => waiting.last_taken().await,
            None => Time::ZERO,
        };
        self.started.max(met).max(taken)
    }

    fn shifted(&self, time: Time, cycles: i32) -> Time {
        let difference = self.cycle * u64::from(cycles.unsigned_abs());
        if cycles < 0 { time.since(difference) } else { time + difference }
    }
}
