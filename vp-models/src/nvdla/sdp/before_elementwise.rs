//! Atoms that have started and wait for EW, where EW takes longer for an atom than the stages in front of it.
//!
//! They wait in the registers between SDP's input and the one in which EW gathers an atom's elements
//! (`NV_NVDLA_SDP_core`, `u_ew_dppack`). Most of these have a skid buffer. They hold two beats while EW takes
//! nothing; when it takes one, the register in front sees that a cycle later. So the input, and the stages
//! before EW, are as many beats ahead of EW as the registers hold.

use super::layer::{Carries, SdpLayer, SdpSource, Stage};
use super::timing;
use crate::nvdla::timing::SdpTiming;
use std::collections::VecDeque;
use vp_core::Time;

/// Registers that the beats of an atom pass one behind the other.
#[derive(Clone, Copy)]
struct Registers {
    with_skid: u32,
    without: u32,
}

impl Registers {
    fn and(self, others: Registers) -> Registers {
        Registers { with_skid: self.with_skid + others.with_skid, without: self.without + others.without }
    }

    /// Returns the registers of BS or BN: the first and the last, which pack and unpack, have no skid buffer.
    fn of(stage: &Option<Stage>) -> Registers {
        match stage {
            Some(_) => Registers { with_skid: timing::registers(stage) - 2, without: 2 },
            None => Registers { with_skid: 0, without: 0 },
        }
    }

    /// Of BS or BN, those behind the one in which data meets what is read for the layer, if something is.
    fn behind_operands(stage: &Option<Stage>) -> Option<Registers> {
        let operands = (*stage)?.operands?;
        let before = match operands.carries {
            Carries::Multiplier => 2 * u32::from(stage.is_some_and(|stage| stage.alu.is_some())),
            _ => 0,
        };
        let all = Registers::of(stage);
        Some(Registers { with_skid: all.with_skid - before, without: 1 })
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
        // Multiplexers: pipe_p2, and pipe_p1 of what comes from the accumulator (`NV_NVDLA_SDP_cmux`).
        let with_skid = 1 + u32::from(layer.source == SdpSource::Accumulator);
        let (bs, bn) = (Registers::of(&layer.bs), Registers::of(&layer.bn));
        let of_bs = Registers::behind_operands(&layer.bs).map(|rest| rest.and(bn));
        (each > 1).then(|| BeforeElementwise {
            cycle,
            beats,
            each,
            all: Registers { with_skid, without: 0 }.and(bs).and(bn),
            operands: Registers::behind_operands(&layer.bn).or(of_bs),
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
        let held = (2 * registers.with_skid + registers.without).max(self.beats - 1) - (self.beats - 1);
        let (atoms, beat) = (held.div_ceil(self.beats).max(1), (self.beats - held % self.beats) % self.beats);
        let Some(index) = self.taken.len().checked_sub(atoms as usize) else { return Time::ZERO };
        let passing = registers.with_skid + registers.without + registers.with_skid;
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
        let backward = u64::from(registers.with_skid);
        let held = (2 * registers.with_skid + registers.without) as usize;
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
            for (with_skid, without) in [(1, 0), (2, 0), (2, 2), (5, 2), (9, 4)] {
                let registers = Registers { with_skid, without };
                if 2 * with_skid + without < beats {
                    continue;
                }
                let expected = slowly(&of(beats, each, registers, None), 40);
                let starts: Vec<u64> =
                    pass(of(beats, each, registers, None), 40).iter().map(|atom| atom.0).collect();
                // While they fill, an atom's last beat alone may be held up: the first ones differ by less than an atom.
                let late = starts.len() / 2;
                assert_eq!(starts[late..], expected[late..], "{beats} {each} {with_skid} {without}");
            }
        }
    }

    /// nv_large with data of CACC's, BN with a factor: 33 cycles ahead, and its factors 25 (measured, with the cycle that operands take more).
    #[test]
    fn as_on_nv_large() {
        let all = Registers { with_skid: 5, without: 2 };
        let operands = Some(Registers { with_skid: 3, without: 1 });
        let seen = pass(of(2, 4, all, operands), 35);
        let &(start, taken, operands) = seen.last().unwrap();
        assert_eq!((taken, taken - start, taken - operands), (34 * 8, 33, 26));
    }
}
