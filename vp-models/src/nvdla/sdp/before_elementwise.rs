//! Atoms that have started and wait for EW, where EW takes longer for an atom than the stages in front of it.
//!
//! They wait in the registers between SDP's input and the one in which EW gathers an atom's elements
//! (`NV_NVDLA_SDP_core`, `u_ew_dppack`). Most of these have a skid buffer. They hold two beats while EW takes
//! nothing; when it takes one, the register in front sees that a cycle later. So the input, and the stages
//! before EW, are as many beats ahead of EW as the registers hold.
//!
//! On nvdlav1 BS and BN are pipelines that stand as a whole, and whose operators catch a beat each at both ends (`NV_NVDLA_SDP_CORE_x.v`).

use super::layer::SdpLayer;
use super::pass::AtomPosition;
use super::pipeline::Registers;
use super::timing;
use crate::nvdla::dma::MAX_ATOM;
use crate::nvdla::timing::SdpTiming;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vp_core::{Event, Sim, Time};

/// An atom that has entered SDP, or some that are alike.
pub(super) struct Entered {
    /// Place of the first.
    pub(super) position: AtomPosition,
    pub(super) start: Time,
    /// Number of atoms.
    pub(super) steps: usize,
    /// True if the layer's last is among them.
    pub(super) is_last: bool,
    /// `None`: the layer has ended early, and operands alone still come.
    pub(super) input: Option<AtomInput>,
}

/// Data of atoms.
pub(super) enum AtomInput {
    /// Bytes of one of the main input, or of one of each surface.
    Memory([u8; 2 * MAX_ATOM]),
    /// Sums of CACC's.
    Accumulator(Vec<i32>),
}

/// An atom between SDP's input and EW, with its operands of BS and BN.
pub(super) struct Waiting {
    pub(super) entered: Entered,
    pub(super) bs: Vec<u8>,
    pub(super) bn: Vec<u8>,
}

/// The atoms between SDP's input and EW.
pub(super) struct BeforeElementwise {
    cycle: Time,
    /// Cycles of an atom in front of EW, one a beat.
    beats: u32,
    /// Cycles of a beat in EW.
    each: u32,
    /// True on nvdlav1, where operands are taken one beat ahead.
    by_beat: bool,
    /// Registers from the input to EW.
    all: Registers,
    /// Registers from the place where the operands of BS or BN are taken, the later ones if both have some.
    operands: Option<Registers>,
    /// Atoms that EW has not taken; behind the layer's last `None`.
    atoms: RefCell<VecDeque<Option<Waiting>>>,
    entered: Event,
    /// Number of atoms that have entered.
    count: Cell<usize>,
    taken: RefCell<Taken>,
    went: Event,
}

/// Atoms that EW has taken.
#[derive(Default)]
struct Taken {
    /// Number of them.
    count: usize,
    /// Times at which the last ones would have started if nothing could wait in front of EW, the newest last.
    times: VecDeque<Time>,
    /// Time at which the newest atom meets its operands, in BS or BN, and that at which these are taken: after what is before them, the previous
    /// atom or on nvdlav1 beat, has met its own. Counted as if it were at its start.
    met: Time,
    operands: Time,
}

impl BeforeElementwise {
    /// `None` if EW takes no part, or is not slower.
    pub(super) fn of(
        layer: &SdpLayer,
        timing: &SdpTiming,
        sim: &Sim,
        cycle: Time,
    ) -> Option<BeforeElementwise> {
        layer.ew.as_ref()?;
        let beats = timing::pace(layer, timing).max(1);
        let each = timing::cycles_per_atom(layer, timing) / beats;
        let bn = Registers::of(&layer.bn, timing);
        let of_bs = Registers::behind_operands(&layer.bs, timing).map(|rest| rest.and(bn));
        let all = Registers::before_elementwise(layer, timing);
        let operands = Registers::behind_operands(&layer.bn, timing).or(of_bs);
        let by_beat = timing.stage_registers.is_some();
        (each > 1).then(|| BeforeElementwise::new(sim, cycle, (beats, each, by_beat), all, operands))
    }

    fn new(
        sim: &Sim,
        cycle: Time,
        (beats, each, by_beat): (u32, u32, bool),
        all: Registers,
        operands: Option<Registers>,
    ) -> BeforeElementwise {
        BeforeElementwise {
            cycle,
            beats,
            each,
            by_beat,
            all,
            operands,
            atoms: RefCell::default(),
            entered: sim.event("nvdla.sdp.before_elementwise.entered"),
            count: Cell::new(0),
            taken: RefCell::default(),
            went: sim.event("nvdla.sdp.before_elementwise.went"),
        }
    }

    /// Waits until it is known when the next atom can start; returns that time.
    pub(super) async fn room(&self) -> Time {
        loop {
            let room = self.limit(self.all, self.count.get(), &self.taken.borrow());
            match room {
                Some(room) => return room,
                None => self.went.wait().await,
            }
        }
    }

    /// Number of atoms that EW has not taken.
    pub(super) fn ahead(&self) -> usize {
        self.count.get() - self.taken.borrow().count
    }

    /// Puts an atom that has started; `None` ends the layer.
    pub(super) fn enter(&self, atom: Option<Waiting>) {
        self.count.set(self.count.get() + usize::from(atom.is_some()));
        self.atoms.borrow_mut().push_back(atom);
        self.entered.notify_delta();
    }

    /// Waits for the next atom on its way to EW.
    pub(super) async fn next(&self) -> Option<Waiting> {
        loop {
            if let Some(atom) = self.atoms.borrow_mut().pop_front() {
                return atom;
            }
            self.entered.wait().await;
        }
    }

    /// EW takes an atom that has started at `start`, and whose operands of EW let it be taken at `operands`: tells when it would have started if
    /// nothing could wait in front of EW.
    pub(super) fn take(&self, start: Time, operands: Time) -> Time {
        let pace = self.cycle * u64::from(self.beats * self.each);
        let mut taken = self.taken.borrow_mut();
        let start_behind = taken.times.back().map_or(start, |&before| start.max(before + pace));
        let time = start_behind.max(operands);
        let limit = self.operands.and_then(|registers| self.limit(registers, taken.count, &taken));
        let met = limit.map_or(start, |limit| start.max(limit));
        taken.operands = match self.by_beat {
            false => start.max(taken.met),
            true if self.beats == 1 => taken.met,
            true => start.max(met.since(self.cycle * u64::from(self.each - 1))),
        };
        taken.met = met;
        taken.count += 1;
        taken.times.push_back(time);
        if taken.times.len() > 64 {
            taken.times.pop_front();
        }
        self.went.notify_delta();
        time
    }

    /// Returns the time at which EW takes the beat before the newest atom's last one, as if its atom were at its start.
    pub(super) fn before_last(&self) -> Option<Time> {
        let times = &self.taken.borrow().times;
        let newest = times.len().checked_sub(if self.beats == 1 { 2 } else { 1 })?;
        times.get(newest).copied()
    }

    /// Returns the time at which the newest atom's operands of BS or BN are taken, as if it were at its start; if it has some.
    pub(super) fn operands_taken(&self) -> Option<Time> {
        self.operands.map(|_| self.taken.borrow().operands)
    }

    /// Returns the time at which the last beat of an atom of this number can enter so many registers in front of EW, a beat's place in its atom not
    /// counted; `None` if that is not known yet.
    fn limit(&self, registers: Registers, number: usize, taken: &Taken) -> Option<Time> {
        // If they hold less than an atom, none is ahead of the one that EW takes. When they are full, it enters when the one so many beats before it has gone to EW, and this has come back.
        let held = registers.held().max(self.beats - 1) - (self.beats - 1);
        let (atoms, beat) = (held.div_ceil(self.beats).max(1), (self.beats - held % self.beats) % self.beats);
        let Some(before) = number.checked_sub(atoms as usize) else { return Some(Time::ZERO) };
        let index = (before + taken.times.len()).checked_sub(taken.count)?;
        let passing = registers.forward() + registers.backward();
        let later = beat * self.each + passing;
        let time = *taken.times.get(index)?;
        Some(time + self.cycle * u64::from(later.saturating_sub(self.beats - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_core::Simulation;

    fn of(beats: u32, each: u32, all: Registers, operands: Option<Registers>) -> BeforeElementwise {
        BeforeElementwise::new(&Simulation::new().sim(), Time::ns(1), (beats, each, false), all, operands)
    }

    /// Returns for atoms that come one behind the other when they start, when they would if nothing could wait, and when their operands are
    /// taken.
    fn pass(waiting: &BeforeElementwise, atoms: usize) -> Vec<(u64, u64, u64)> {
        let cycles = |time: Time| time.cycles(Time::ns(1));
        let (mut next, mut seen) = (Time::ZERO, Vec::new());
        for number in 0..atoms {
            let room = waiting.limit(waiting.all, number, &waiting.taken.borrow()).unwrap();
            let start = next.max(room);
            next = start + waiting.cycle * u64::from(waiting.beats);
            let taken = waiting.take(start, Time::ZERO);
            seen.push((cycles(start), cycles(taken), waiting.operands_taken().map_or(0, cycles)));
        }
        seen
    }

    /// One beat at a time through the same registers, which are places that are free again when what comes behind has moved on.
    fn slowly(waiting: &BeforeElementwise, atoms: usize) -> Vec<u64> {
        let registers = waiting.all;
        let forward = u64::from(registers.forward());
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
            for (with_skid, without, caught, catching) in
                [(1, 0, 0, 0), (2, 0, 0, 0), (2, 2, 0, 0), (5, 2, 0, 0), (9, 4, 0, 0), (3, 12, 7, 4)]
            {
                let registers = Registers { with_skid, without, caught, catching };
                if registers.held() < beats {
                    continue;
                }
                let expected = slowly(&of(beats, each, registers, None), 40);
                let starts: Vec<u64> =
                    pass(&of(beats, each, registers, None), 40).iter().map(|atom| atom.0).collect();
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
        let seen = pass(&of(2, 4, all, operands), 35);
        let &(start, taken, operands) = seen.last().unwrap();
        assert_eq!((taken, taken - start, taken - operands), (34 * 8, 33, 26));
    }

    /// nv_full with data of CACC's and BS: its beats were taken in each cycle from 726 to 752, then in 756, 760, 764.
    #[test]
    fn as_on_nv_full() {
        let all = Registers { with_skid: 3, without: 12, caught: 7, catching: 4 };
        let starts: Vec<u64> = pass(&of(2, 4, all, None), 16).iter().map(|atom| 726 + atom.0).collect();
        assert_eq!(starts[11..], [748, 750, 755, 763, 771]);
    }
}
