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

/// Surfaces that are read in turns (`req_ch_mode`).
const TURNS: u32 = 2;

/// Cycles from the last read of lines until CSC can use them (seen at cdma2sc_dat_updt).
const TO_USABLE: u64 = 14;

/// Consumer of the beats of a layer's features.
pub(super) struct WideFeatureIntake {
    feature: Feature,
    usable: Usable,
    state: RefCell<State>,
}

struct State {
    /// Beats that are to come of the lines that are fetched: the place of each one's surface among those in turns, and its atoms.
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
    /// Atoms of each of two surfaces in turns that are there.
    atoms: [u32; 2],
    is_blocking: bool,
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
            atoms: [0; 2],
            is_blocking: false,
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
        let Some(beat) = state.beats.pop_front() else { return offered };
        let at = state.reader.take(&self.feature, offered, beat);
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
        let of_surface = (lines * width * atom) as usize;
        self.reads(first, lines).into_iter().flat_map(move |read| {
            let place = read.at / of_surface.max(1) % surfaces.max(1) as usize % TURNS as usize;
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
        let these = (surfaces - self.surface).min(TURNS);
        // Half of an entry is there already, of the surfaces before (is_data_normal, rsp_ch_cnt).
        let is_half = self.surface / TURNS % 2 == 1;
        let is_single = these > 1 || self.column + 1 == width || is_half;
        let columns = if is_single { 1 } else { BEAT };
        let needs = if these > 1 { [1, 1] } else { [columns, 0] };
        let reads = self.atoms.iter().zip(needs).all(|(there, needed)| *there >= needed);
        self.is_blocking = !self.is_blocking && reads && is_single;
        self.now += self.cycle;
        if reads {
            self.atoms.iter_mut().zip(needs).for_each(|(there, needed)| *there -= needed);
            self.pass(feature, (columns, these));
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::nvdla::cube::{Packing, Ram, Surface};
    use crate::nvdla::numeric::Precision;

    const CYCLE: Time = Time::ns(1);

    /// A line of so many pixels of int16 in so many surfaces.
    pub(in crate::nvdla::conv::cdma) fn feature(width: u32, surfaces: u32) -> Feature {
        let surface = Surface {
            ram: Ram::Primary,
            base: 0,
            line_stride: 0x400,
            surface_stride: 0x4000,
            pixel: 32,
            atom: 32,
            packing: Packing::Strided,
        };
        Feature {
            surface,
            width,
            height: 1,
            channels: 16 * surfaces,
            lanes: 16,
            surfaces_at_once: 2,
            grain: 1,
            cubes: 1,
            cube_stride: 0,
            format: Precision::Int16,
            nan_to_zero: false,
            converter: None,
        }
    }

    /// Returns the cycles in which beats are taken that are offered in these, and the one from which the line can be used.
    fn taken(feature: &Feature, offered: &[u64]) -> (Vec<u64>, u64) {
        let usable = Usable::default();
        let intake = WideFeatureIntake::new(feature, CYCLE, Time::ZERO, usable.clone());
        let taken = offered.iter().map(|&at| intake.take(CYCLE * at).cycles(CYCLE)).collect();
        let usable: Vec<u64> = usable.take().into_iter().map(|at| at.cycles(CYCLE)).collect();
        assert_eq!(usable.len(), 1);
        (taken, usable[0])
    }

    /// Two layers of a pixel and three surfaces on the RTL: read out in cycles 105 and 110, 101 and 104; cdma2sc_dat_updt in 123 and 117.
    #[test]
    fn atoms_of_two_surfaces_leave_together_and_stop_what_comes_for_a_cycle() {
        assert_eq!(taken(&feature(1, 3), &[99, 104, 109]), (vec![99, 104, 109], 124));
        assert_eq!(taken(&feature(1, 3), &[99, 100, 102]), (vec![99, 100, 103], 118));
    }

    /// Two lines of a pixel and five surfaces on the RTL, the second of which begins another eight atoms: cdma2sc_dat_updt in 123.
    #[test]
    fn lines_of_single_atoms_are_read_out_as_they_come() {
        let mut feature = Feature { height: 2, grain: 2, ..feature(1, 5) };
        (feature.surface.base, feature.surface.line_stride, feature.surface.surface_stride) = (224, 32, 128);
        let (taken, usable) = taken(&feature, &[99, 101, 102, 103, 105, 106, 107, 108]);
        assert_eq!((taken, usable), (vec![99, 101, 102, 104, 105, 106, 108, 109], 124));
    }

    #[test]
    fn two_atoms_of_a_surface_leave_together() {
        // The last one of five leaves in cycle 13.
        assert_eq!(taken(&feature(5, 1), &[10, 11, 12]), (vec![10, 11, 12], 13 + TO_USABLE));
    }

    #[test]
    fn atoms_from_within_a_beat_come_in_pairs() {
        let mut feature = feature(5, 1);
        feature.surface.base = 32;
        assert_eq!(feature.beats(0, 1).collect::<Vec<_>>(), [(0, 2), (0, 2), (0, 1)]);
    }
}
