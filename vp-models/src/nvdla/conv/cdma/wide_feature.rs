//! Pace of features where a beat of the bus is two atoms, as on nv_full (RTL, branch nvdlav1, `NV_NVDLA_CDMA_dc.v`).
//!
//! ```text
//! bus → queue of each surface of those that are read in turns (shared buffer) → reader → converter, convolution buffer
//! ```
//!
//! The reader takes two atoms of one surface in a cycle, or one of each of two, which lie side by side in the buffer (`rsp_rd_en`). After a cycle
//! in which it takes one atom of the first surface no beat is taken (`is_blocking`).

use super::feature::Feature;
use super::intake::Usable;
use crate::bus::axi::BeatConsumer;
use std::cell::RefCell;
use std::collections::VecDeque;
use vp_core::Time;

/// Atoms of a beat.
pub(super) const BEAT: u32 = 2;

/// Cycles from the last read of lines until CSC can use them (seen at cdma2sc_dat_updt).
const TO_USABLE: u64 = 14;

/// Consumer of the beats of a layer's features.
pub(super) struct WideFeatureIntake {
    feature: Feature,
    usable: Usable,
    state: RefCell<State>,
}

struct State {
    /// Beats that are to come of the lines that are fetched: the place of each one's surface among those in turns, and the atoms that CDMA has with
    /// it, which is told of atoms in pairs from the first of a read on.
    beats: VecDeque<(usize, u32)>,
    /// The first line that is not fetched.
    next_line: u32,
    /// Number of times that lines were fetched together.
    fetched: u32,
    reader: Reader,
}

/// Reader of the shared buffer.
#[derive(Clone, Copy)]
struct Reader {
    cycle: Time,
    now: Time,
    /// Atoms of each surface in turns that are there.
    atoms: [u32; 4],
    is_blocking: bool,
    /// True if the third and the fourth surface in turns are read next.
    is_second: bool,
    column: u32,
    /// Line among those that were fetched together, and the first of these.
    line: u32,
    first: u32,
    surface: u32,
    cube: u32,
    /// Number of times that lines which were fetched together have been read.
    done: u32,
}

impl WideFeatureIntake {
    pub(super) fn new(feature: &Feature, cycle: Time, now: Time, usable: Usable) -> WideFeatureIntake {
        let reader = Reader {
            cycle,
            now,
            atoms: [0; 4],
            is_blocking: false,
            is_second: false,
            column: 0,
            line: 0,
            first: 0,
            surface: 0,
            cube: 0,
            done: 0,
        };
        let state = State { beats: VecDeque::new(), next_line: 0, fetched: 0, reader };
        WideFeatureIntake { feature: *feature, usable, state: RefCell::new(state) }
    }
}

impl BeatConsumer for WideFeatureIntake {
    fn take(&self, offered: Time) -> Time {
        let state = &mut *self.state.borrow_mut();
        if state.beats.is_empty() {
            let lines = self.feature.grain.min(self.feature.height - state.next_line);
            state.beats.extend(self.feature.beats(state.next_line, lines));
            (state.next_line, state.fetched) = (state.next_line + lines, state.fetched + 1);
        }
        let Some((place, mut atoms)) = state.beats.pop_front() else { return offered };
        let mut at = offered;
        while atoms > 0 {
            let these = atoms.min(BEAT);
            at = state.reader.take(&self.feature, at, (place, these));
            atoms -= these;
        }
        if state.beats.is_empty() {
            let mut ahead = state.reader;
            while ahead.done < state.fetched {
                ahead.step(&self.feature);
            }
            // The cycle of the last read is over.
            self.usable.borrow_mut().push_back(ahead.now + ahead.cycle * (TO_USABLE - 1));
        }
        at
    }
}

impl Feature {
    /// The beats of so many lines from `first` on, as [`State`] has them.
    fn beats(&self, first: u32, lines: u32) -> impl Iterator<Item = (usize, u32)> {
        let (surfaces, width) = self.runs();
        let atom = self.surface.pixel;
        let of_surface =
            (if surfaces > 1 || self.surfaces() == 1 { lines } else { 1 } * width * atom) as usize;
        let turns = self.surfaces_at_once.max(1) as usize;
        self.reads(first, lines).into_iter().flat_map(move |read| {
            let place = read.at / of_surface.max(1) % surfaces.max(1) as usize % turns;
            read.beats(atom, BEAT).map(move |atoms| (place, atoms))
        })
    }
}

impl Reader {
    /// Takes atoms of a surface that are there from `from` on; returns when.
    fn take(&mut self, feature: &Feature, from: Time, (place, atoms): (usize, u32)) -> Time {
        while self.now < from || self.is_blocking {
            if !self.step(feature) && self.now < from && !self.is_blocking {
                self.now = from;
            }
        }
        let at = self.now;
        self.step(feature);
        self.atoms[place] += atoms;
        at
    }

    /// Reads what can be read in the present cycle; returns true if that is something.
    fn step(&mut self, feature: &Feature) -> bool {
        let (surfaces, width) = feature.runs();
        let turns = feature.surfaces_at_once.max(1);
        let these = (surfaces - self.surface).min(turns);
        // Half of an entry is there already, of the surfaces before (is_data_normal, is_data_shrink).
        let is_half = self.surface / turns % 2 == 1 && turns > 1;
        let is_single = these > 1 || self.column + 1 == width || is_half;
        let first = if is_single { 1 } else { BEAT };
        let needs = match (these, self.is_second) {
            (1, _) => [first, 0, 0, 0],
            (_, false) => [1, 1, 0, 0],
            (3, true) => [0, 0, 1, 0],
            (_, true) => [0, 0, 1, 1],
        };
        let reads = self.atoms.iter().zip(needs).all(|(there, needed)| *there >= needed);
        self.is_blocking = !self.is_blocking && reads && is_single;
        self.now += self.cycle;
        if reads {
            self.atoms.iter_mut().zip(needs).for_each(|(there, needed)| *there -= needed);
            self.is_second = these > 2 && !self.is_second;
            if !self.is_second {
                self.pass(feature, (first, these));
            }
        }
        reads
    }

    /// Goes on behind so many columns of so many surfaces.
    fn pass(&mut self, feature: &Feature, (columns, these): (u32, u32)) {
        let (surfaces, width) = feature.runs();
        let lines = feature.grain.min(feature.height - self.first);
        self.column += columns;
        if self.column < width {
            return;
        }
        (self.column, self.line) = (0, self.line + 1);
        if self.line < lines {
            return;
        }
        (self.line, self.surface) = (0, self.surface + these);
        if self.surface < surfaces {
            return;
        }
        (self.surface, self.cube) = (0, self.cube + 1);
        if self.cube < feature.cubes {
            return;
        }
        (self.cube, self.first, self.done) = (0, self.first + lines, self.done + 1);
    }
}
