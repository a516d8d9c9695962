//! Atoms that have started and wait for EW, where EW takes longer for an atom than the stages in front of it.
//!
//! They wait in the registers between SDP's input and the one in which EW gathers an atom's elements
//! (`NV_NVDLA_SDP_core`, `u_ew_dppack`). Most of these have a skid buffer. They hold two beats while EW takes
//! nothing; when it takes one, the register in front sees that a cycle later. So the input, and the stages
//! before EW, are as many beats ahead of EW as the registers hold.
//!
//! On nvdlav1 BS and BN are pipelines that stand as a whole, and whose operators catch a beat each at both ends (`NV_NVDLA_SDP_CORE_x.v`).

use super::layer::{Carries, SdpLayer, SdpSource, Stage};
use super::timing;
use crate::nvdla::timing::SdpTiming;
use std::collections::VecDeque;
use vp_core::Time;

/// Registers that the beats of an atom pass one behind the other.
#[derive(Clone, Copy, Default)]
pub(super) struct Registers {
    pub(super) with_skid: u32,
    pub(super) without: u32,
    /// Beats that are held beside these where nothing moves on.
    pub(super) caught: u32,
    /// Number of places, skid buffers not counted, in front of which a beat waits a cycle more than behind them.
    pub(super) catching: u32,
}

/// Operators of BS or BN of nvdlav1, which each catch a beat in front of them (`NV_NVDLA_SDP_CORE_x.v`, `chn_*_in_wait_dp` of `X_alu`,
/// `X_mul`, `X_trt` and `X_relu`).
const NVDLAV1_OPERATORS: u32 = 4;
/// Beats that they catch, with those in the pipes of one place between them (`chn_alu_out_cns_pipe`, `chn_mul_out_cns_pipe`,
/// `chn_trt_out_cns_pipe`).
const NVDLAV1_CAUGHT: u32 = NVDLAV1_OPERATORS + 3;
/// Beats in front of the ALU and in the pipe behind it.
const NVDLAV1_CAUGHT_BY_ALU: u32 = 2;

impl Registers {
    pub(super) fn and(self, others: Registers) -> Registers {
        Registers {
            with_skid: self.with_skid + others.with_skid,
            without: self.without + others.without,
            caught: self.caught + others.caught,
            catching: self.catching + others.catching,
        }
    }

    /// Returns the number of beats that they hold.
    pub(super) fn held(self) -> u32 {
        2 * self.with_skid + self.without + self.caught
    }

    /// Returns the cycles from a beat's leaving the last of them until one can enter the first, where they are full.
    pub(super) fn backward(self) -> u32 {
        self.with_skid + self.catching
    }

    /// Returns those from SDP's input to EW, or what is behind it.
    pub(super) fn before_elementwise(layer: &SdpLayer, timing: &SdpTiming) -> Registers {
        // Multiplexers: pipe_p2, and pipe_p1 of what comes from the accumulator (`NV_NVDLA_SDP_cmux`).
        let with_skid = 1 + u32::from(layer.source == SdpSource::Accumulator);
        let [bs, bn] = [&layer.bs, &layer.bn].map(|stage| Registers::of(stage, timing));
        Registers { with_skid, ..Registers::default() }.and(bs).and(bn)
    }

    /// Returns the registers of BS or BN: the first and the last, which pack and unpack, have no skid buffer. On nvdlav1 only the first has one
    /// (`NV_NVDLA_SDP_core`, flop_bs_data_in).
    fn of(stage: &Option<Stage>, timing: &SdpTiming) -> Registers {
        match (stage, timing.stage_registers) {
            (None, _) => Registers::default(),
            (Some(_), None) => {
                Registers { with_skid: timing::registers(stage) - 2, without: 2, ..Registers::default() }
            }
            (Some(_), Some(all)) => Registers {
                with_skid: 1,
                without: all - 1,
                caught: NVDLAV1_CAUGHT,
                catching: NVDLAV1_OPERATORS,
            },
        }
    }

    /// Of BS or BN, those behind the one in which data meets what is read for the layer, if something is.
    fn behind_operands(stage: &Option<Stage>, timing: &SdpTiming) -> Option<Registers> {
        let Stage { alu, operands, .. } = (*stage)?;
        let is_behind_alu = operands?.carries == Carries::Multiplier;
        let all = Registers::of(stage, timing);
        Some(match timing.stage_registers {
            None if is_behind_alu && alu.is_some() => {
                Registers { with_skid: all.with_skid - 2, without: 1, ..all }
            }
            None => Registers { without: 1, ..all },
            Some(_) if is_behind_alu => Registers {
                with_skid: 0,
                without: all.without - timing::NVDLAV1_ALU,
                caught: NVDLAV1_CAUGHT - NVDLAV1_CAUGHT_BY_ALU,
                ..all
            },
            Some(_) => Registers { with_skid: 0, ..all },
        })
    }
}

/// The atoms between SDP's input and EW.
pub(super) struct BeforeElementwise {
    cycle: Time,
    /// Cycles of an atom in front of EW, one a beat.
    beats: u32,
    /// Cycles of a beat in EW.
    each: u32,
    /// Registers from the input to EW.
    all: Registers,
    /// Registers from the place where the operands of BS or BN are taken, the later ones if both have some.
    operands: Option<Registers>,
    /// Times at which the last atoms would have started if nothing could wait in front of EW, the newest last.
    taken: VecDeque<Time>,
    /// Time at which the newest atom meets its operands, in BS or BN, and that at which these are taken: after the previous atom
    /// has met its own. Counted as if it were at its start.
    met: Time,
    operands_taken: Time,
}

impl BeforeElementwise {
    /// `None` if EW takes no part, or is not slower.
    pub(super) fn of(layer: &SdpLayer, timing: &SdpTiming, cycle: Time) -> Option<BeforeElementwise> {
        layer.ew.as_ref()?;
        let beats = timing::pace(layer, timing).max(1);
        let each = timing::cycles_per_atom(layer, timing) / beats;
        let bn = Registers::of(&layer.bn, timing);
        let of_bs = Registers::behind_operands(&layer.bs, timing).map(|rest| rest.and(bn));
        (each > 1).then(|| BeforeElementwise {
            cycle,
            beats,
            each,
            all: Registers::before_elementwise(layer, timing),
            operands: Registers::behind_operands(&layer.bn, timing).or(of_bs),
            taken: VecDeque::new(),
            met: Time::ZERO,
            operands_taken: Time::ZERO,
        })
    }

    /// Time from which on the next atom can start.
    pub(super) fn room(&self) -> Time {
        self.limit(self.all)
    }

    /// An atom starts; tells when it would if nothing could wait in front of EW.
    pub(super) fn start(&mut self, start: Time) -> Time {
        let pace = self.cycle * u64::from(self.beats * self.each);
        let taken = self.taken.back().map_or(start, |&before| start.max(before + pace));
        self.operands_taken = start.max(self.met);
        self.met = self.operands.map_or(start, |registers| start.max(self.limit(registers)));
        self.taken.push_back(taken);
        if self.taken.len() > 64 {
            self.taken.pop_front();
        }
        taken
    }

    /// Returns the time at which the newest atom's operands of BS or BN are taken, as if it were at its start; if it has some.
    pub(super) fn operands_taken(&self) -> Option<Time> {
        self.operands.map(|_| self.operands_taken)
    }

    /// Returns the time at which the next atom's last beat can enter so many registers in front of EW, a beat's place in its atom not
    /// counted.
    fn limit(&self, registers: Registers) -> Time {
        // If they hold less than an atom, none is ahead of the one that EW takes. When they are full, it enters when the one so many beats before it has gone to EW, and this has come back.
        let held = registers.held().max(self.beats - 1) - (self.beats - 1);
        let (atoms, beat) = (held.div_ceil(self.beats).max(1), (self.beats - held % self.beats) % self.beats);
        let Some(index) = self.taken.len().checked_sub(atoms as usize) else { return Time::ZERO };
        let passing = registers.with_skid + registers.without + registers.backward();
        let later = beat * self.each + passing;
        self.taken[index] + self.cycle * u64::from(later.saturating_sub(self.beats - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(beats: u32, each: u32, all: Registers, operands: Option<Registers>) -> BeforeElementwise {
        let cycle = Time::ns(1);
        let (met, operands_taken) = (Time::ZERO, Time::ZERO);
        BeforeElementwise { cycle, beats, each, all, operands, taken: VecDeque::new(), met, operands_taken }
    }

    /// Returns for atoms that come one behind the other when they start, when they would if nothing could wait, and when their operands are
    /// taken.
    fn pass(mut waiting: BeforeElementwise, atoms: usize) -> Vec<(u64, u64, u64)> {
        let cycles = |time: Time| time.cycles(Time::ns(1));
        let (mut next, mut seen) = (Time::ZERO, Vec::new());
        for _ in 0..atoms {
            let start = next.max(waiting.room());
            next = start + waiting.cycle * u64::from(waiting.beats);
            let taken = waiting.start(start);
            seen.push((cycles(start), cycles(taken), waiting.operands_taken().map_or(0, cycles)));
        }
        seen
    }

    /// One beat at a time through the same registers, which are places that are free again when what comes behind has moved on.
    fn slowly(waiting: &BeforeElementwise, atoms: usize) -> Vec<u64> {
        let registers = waiting.all;
        let forward = u64::from(registers.with_skid + registers.without);
        let backward = u64::from(registers.backward());
        let held = registers.held() as usize;
        let (beats, each) = (waiting.beats as usize, u64::from(waiting.each));
        let (mut entered, mut taken): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
        for beat in 0..atoms * beats {
            let behind = entered.last().map_or(0, |&before| before + 1);
            let room = beat.checked_sub(held).map_or(0, |before| taken[before] + backward);
            entered.push(behind.max(room));
            let free = taken.last().map_or(0, |&before| before + each);
            taken.push(free.max(entered[beat] + forward));
        }
        // Of each atom, by its last beat.
        entered.chunks(beats).map(|beats| beats[beats.len() - 1] - (beats.len() as u64 - 1)).collect()
    }

    #[test]
    fn atoms_start_as_the_beats_of_the_registers_do() {
        for (beats, each) in [(1, 2), (2, 4), (4, 2), (8, 2)] {
            for (with_skid, without, caught, catching) in [
                (1, 0, 0, 0),
                (2, 0, 0, 0),
                (2, 2, 0, 0),
                (5, 2, 0, 0),
                (9, 4, 0, 0),
                (3, 12, NVDLAV1_CAUGHT, NVDLAV1_OPERATORS),
            ] {
                let registers = Registers { with_skid, without, caught, catching };
                if registers.held() < beats {
                    continue;
                }
                let expected = slowly(&of(beats, each, registers, None), 40);
                let starts: Vec<u64> =
                    pass(of(beats, each, registers, None), 40).iter().map(|atom| atom.0).collect();
                // While they fill, an atom's last beat alone may be held up: the first ones differ by less than an atom.
                let late = starts.len() / 2;
                assert_eq!(starts[late..], expected[late..], "{beats} {each} {with_skid} {without} {caught}");
            }
        }
    }

    /// nv_large with data of CACC's, BN with a factor: 33 cycles ahead, and its factors 25 (measured, with the cycle that operands take more).
    #[test]
    fn as_on_nv_large() {
        let all = Registers { with_skid: 5, without: 2, ..Registers::default() };
        let operands = Some(Registers { with_skid: 3, without: 1, ..Registers::default() });
        let seen = pass(of(2, 4, all, operands), 35);
        let &(start, taken, operands) = seen.last().unwrap();
        assert_eq!((taken, taken - start, taken - operands), (34 * 8, 33, 26));
    }

    /// nv_full with data of CACC's and BS: its beats were taken in each cycle from 726 to 752, then in 756, 760, 764.
    #[test]
    fn as_on_nv_full() {
        let all =
            Registers { with_skid: 3, without: 12, caught: NVDLAV1_CAUGHT, catching: NVDLAV1_OPERATORS };
        let starts: Vec<u64> = pass(of(2, 4, all, None), 16).iter().map(|atom| 726 + atom.0).collect();
        assert_eq!(starts[11..], [748, 750, 755, 763, 771]);
    }
}
