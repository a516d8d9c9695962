//! Atoms that have started and wait for EW, where EW takes longer for an atom than the stages in front of it.
//!
//! They wait in the registers between SDP's input and the one in which EW gathers an atom's elements
//! (`NV_NVDLA_SDP_core`, `u_ew_dppack`). Most of these have a skid buffer. They hold two beats while EW takes
//! nothing; when it takes one, the register in front sees that a cycle later. So the input, and the stages
//! before EW, are as many beats ahead of EW as the registers hold.
//!
//! On nvdlav1 BS and BN are pipelines that stand as a whole, and whose operators catch a beat each at both ends (`NV_NVDLA_SDP_CORE_x.v`).

use super::atom::AtomPosition;
use super::feed::Feed;
use super::layer::SdpLayer;
use super::pipeline::Registers;
use super::reads_end::Meeting;
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
    /// Registers from the input to EW.
    all: Registers,
    /// Atoms that EW has not taken; behind the layer's last `None`.
    atoms: RefCell<VecDeque<Option<Waiting>>>,
    entered: Event,
    /// Number of atoms that have entered, and the starts of those whose operands have not left, of BS and of BN.
    count: Cell<usize>,
    starts: [RefCell<VecDeque<Option<Time>>>; 2],
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
    /// Earliest of these times for the newest one by its operands of EW.
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
        let beats = timing::pace(layer, timing).max(1);
        let each = timing::cycles_per_atom(layer, timing) / beats;
        let all = Registers::before_elementwise(layer, timing);
        timing::waits_for_elementwise(layer, timing)
            .then(|| BeforeElementwise::new(sim, cycle, (beats, each), all))
    }

    fn new(sim: &Sim, cycle: Time, (beats, each): (u32, u32), all: Registers) -> BeforeElementwise {
        BeforeElementwise {
            cycle,
            beats,
            each,
            all,
            atoms: RefCell::default(),
            entered: sim.event("nvdla.sdp.before_elementwise.entered"),
            count: Cell::new(0),
            starts: Default::default(),
            taken: RefCell::default(),
            went: sim.event("nvdla.sdp.before_elementwise.went"),
        }
    }

    /// Waits until it is known when the next atom can start; returns that time.
    pub(super) async fn room(&self) -> Time {
        self.known(|taken| self.limit(self.all, self.count.get(), taken)).await
    }

    /// Waits until a time that follows from what EW has taken is known.
    async fn known(&self, time: impl Fn(&Taken) -> Option<Time>) -> Time {
        loop {
            let known = time(&self.taken.borrow());
            match known {
                Some(time) => return time,
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
        let start = atom.as_ref().map(|atom| atom.entered.start);
        self.starts.iter().for_each(|starts| starts.borrow_mut().push_back(start));
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
        taken.operands = operands;
        taken.count += 1;
        taken.times.push_back(time);
        if taken.times.len() > 64 {
            taken.times.pop_front();
        }
        self.went.notify_delta();
        time
    }

    /// Waits until it is known when the beat before the last, of the atoms that have entered, can enter so many registers in front of EW; tells that
    /// time, as if it were at SDP's input.
    pub(super) async fn before_last_enters(&self, registers: Registers) -> Time {
        match self.beats {
            1 => self.atom_before_last_enters(registers).await,
            // EW takes it, and what makes room for it, a beat before the last.
            _ => {
                let last = self.count.get().checked_sub(1);
                let enters = self
                    .known(|taken| last.map_or(Some(Time::ZERO), |last| self.limit(registers, last, taken)));
                let beats = self.cycle * u64::from(self.beats - 1);
                (enters.await + beats).since(self.cycle * u64::from(self.each))
            }
        }
    }

    /// Waits until it is known when the last beat of the atom before the last can enter so many registers in front of EW; tells that time, as if its
    /// atom were at its start.
    pub(super) async fn atom_before_last_enters(&self, registers: Registers) -> Time {
        let Some(before) = self.count.get().checked_sub(2) else { return Time::ZERO };
        self.known(|taken| self.limit(registers, before, taken)).await
    }

    /// Has the operands of BS or BN leave `feed` as atoms meet them: each when it comes to the place or, where EW holds it up, when the registers
    /// behind the place have room for it. Ends with the layer.
    pub(super) async fn leave(&self, feed: &Feed, meeting: &Meeting) {
        let later = self.cycle * u64::from(meeting.later.unsigned_abs() + 1);
        for number in 0.. {
            let start = loop {
                let start = self.starts[meeting.stage].borrow_mut().pop_front();
                match start {
                    Some(start) => break start,
                    None => self.entered.wait().await,
                }
            };
            let Some(start) = start else { return };
            let room = self.known(|taken| self.limit(meeting.behind, number, taken)).await;
            feed.leave(start.max(room) + later);
        }
    }

    /// Waits until EW has taken all atoms that have entered; tells when the last one would have started if nothing could wait in front of EW.
    pub(super) async fn last_taken(&self) -> Time {
        self.known(|taken| {
            (taken.count == self.count.get()).then(|| taken.times.back().copied().unwrap_or_default())
        })
        .await
    }

    /// Waits until EW has taken all atoms that have entered; tells when it takes the beat before the last, as if it were at SDP's input.
    pub(super) async fn before_last_taken(&self) -> Time {
        let last = self.last_taken().await;
        let times = &self.taken.borrow().times;
        match self.beats {
            1 => times.iter().nth_back(1).copied().unwrap_or_default(),
            beats => last + self.cycle * u64::from(self.each * (beats - 2)),
        }
    }

    /// Returns when the last atom that EW has taken could have started by its operands of EW.
    pub(super) fn operands_there(&self) -> Time {
        self.taken.borrow().operands
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

    fn of(beats: u32, each: u32, all: Registers) -> BeforeElementwise {
        BeforeElementwise::new(&Simulation::new().sim(), Time::ns(1), (beats, each), all)
    }

    /// Returns for atoms that come one behind the other when they start, and when they would if nothing could wait.
    fn pass(waiting: &BeforeElementwise, atoms: usize) -> Vec<(u64, u64)> {
        let cycles = |time: Time| time.cycles(Time::ns(1));
        let (mut next, mut seen) = (Time::ZERO, Vec::new());
        for number in 0..atoms {
            let room = waiting.limit(waiting.all, number, &waiting.taken.borrow()).unwrap();
            let start = next.max(room);
            next = start + waiting.cycle * u64::from(waiting.beats);
            let taken = waiting.take(start, Time::ZERO);
            seen.push((cycles(start), cycles(taken)));
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
                let expected = slowly(&of(beats, each, registers), 40);
                let starts: Vec<u64> =
                    pass(&of(beats, each, registers), 40).iter().map(|atom| atom.0).collect();
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
        let operands = Registers { with_skid: 3, without: 1, ..Registers::default() };
        let waiting = of(2, 4, all);
        let seen = pass(&waiting, 35);
        let &(start, taken) = seen.last().unwrap();
        let operands = waiting.limit(operands, 33, &waiting.taken.borrow()).unwrap().cycles(Time::ns(1));
        assert_eq!((taken, taken - start, taken - operands), (34 * 8, 33, 26));
    }

    /// nv_full with data of CACC's and BS: its beats were taken in each cycle from 726 to 752, then in 756, 760, 764.
    #[test]
    fn as_on_nv_full() {
        let all = Registers { with_skid: 3, without: 12, caught: 7, catching: 4 };
        let starts: Vec<u64> = pass(&of(2, 4, all), 16).iter().map(|atom| 726 + atom.0).collect();
        assert_eq!(starts[11..], [748, 750, 755, 763, 771]);
    }
}
