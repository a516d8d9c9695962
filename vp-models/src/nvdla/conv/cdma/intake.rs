//! Pace at which CDMA takes data from memory, and the time from which CSC may use it.
//!
//! Input goes beat by beat through a small buffer and a converter to the convolution buffer; each [`BeatConsumer`] here says
//! when a beat is taken from the bus, and notes when the lines that it completes can be used.

use super::feature::Feature;
use super::image::{Image, Slot};
use crate::bus::axi::{BeatConsumer, RequestWatch};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::Time;

/// Times at which lines, those that are fetched together at once, can be used; in order.
pub(super) type Usable = Rc<RefCell<VecDeque<Time>>>;

/// From an atom's leaving the shared buffer to CSC's knowing of it (RTL, `NV_NVDLA_CDMA_cvt.v`, `_status.v`).
pub(super) const TO_USABLE: u64 = 14;

/// Cycles from the last atom of a bundle to its packing.
const TO_PACKING: u64 = 4;

/// Consumer whose beats are counted.
pub(super) struct Counted {
    /// None: beats are taken at once.
    pub(super) consumer: Option<Rc<dyn BeatConsumer>>,
    pub(super) watch: Rc<RequestWatch>,
}

impl BeatConsumer for Counted {
    fn take(&self, offered: Time) -> Time {
        let at = self.consumer.as_ref().map_or(offered, |consumer| consumer.take(offered));
        self.watch.taken(at);
        at
    }
}

/// Feature data (RTL, `NV_NVDLA_CDMA_dc.v`).
///
/// An atom goes into the shared buffer in one cycle and is read out in the next. Where two atoms of different surfaces
/// are not read out together, the second half of the read costs a cycle in which nothing goes in: at the end of a line,
/// and for two surfaces of every four.
pub(super) struct FeatureIntake {
    cycle: Time,
    width: u32,
    surfaces: u32,
    grain: u32,
    cubes: u32,
    usable: Usable,
    state: RefCell<FeatureState>,
}

#[derive(Default)]
struct FeatureState {
    column: u32,
    line: u32,
    surface: u32,
    cube: u32,
    lines_left: u32,
    taken: Time,
    read: Time,
    blocked: Option<Time>,
}

impl FeatureIntake {
    pub(super) fn new(feature: &Feature, cycle: Time, usable: Usable) -> FeatureIntake {
        let (surfaces, width) = feature.runs();
        let state = FeatureState { lines_left: feature.height, ..FeatureState::default() };
        let Feature { grain, cubes, .. } = *feature;
        FeatureIntake { cycle, width, surfaces, grain, cubes, usable, state: RefCell::new(state) }
    }
}

impl BeatConsumer for FeatureIntake {
    fn take(&self, offered: Time) -> Time {
        let mut state = self.state.borrow_mut();
        let mut at = offered.max(state.taken + self.cycle);
        if state.blocked == Some(at) {
            at += self.cycle;
        }
        let read = at.max(state.read) + self.cycle;
        let lines = self.grain.min(state.lines_left);
        let mut ends = state.column + 1 == self.width;
        if (ends || state.surface & 2 != 0) && state.blocked != Some(read) {
            state.blocked = Some(read + self.cycle);
        }
        (state.taken, state.read) = (at, read);
        state.column = if ends { 0 } else { state.column + 1 };
        if ends {
            ends = state.line + 1 == lines;
            state.line = if ends { 0 } else { state.line + 1 };
            if ends {
                ends = state.surface + 1 == self.surfaces;
                state.surface = if ends { 0 } else { state.surface + 1 };
                if ends {
                    ends = state.cube + 1 == self.cubes;
                    state.cube = if ends { 0 } else { state.cube + 1 };
                }
                if ends {
                    state.lines_left = state.lines_left.saturating_sub(lines);
                    self.usable.borrow_mut().push_back(read + self.cycle * TO_USABLE);
                }
            }
        }
        at
    }
}

/// Images (RTL, `NV_NVDLA_CDMA_IMG_sg.v`, `_pack.v`).
///
/// Atoms are taken in the order of their requests, and those that are only padding take a cycle as well. When a bundle
/// is complete its atoms are packed, as many of a plane a cycle as a beat has, bundle after bundle.
pub(super) struct ImageIntake {
    cycle: Time,
    image: Image,
    /// Atoms of a beat: so many are taken, and packed, in a cycle.
    of_beat: u32,
    slots: Vec<Slot>,
    /// From the last atom's packing to CSC's knowing of the line.
    to_usable: u64,
    usable: Usable,
    state: RefCell<ImageState>,
}

struct ImageState {
    /// Beats that are to come of the present line: the atoms that CDMA has with each.
    beats: VecDeque<u32>,
    slot: usize,
    /// Atoms taken of the slot.
    done: u32,
    /// Atoms of each plane's part of the bundle that will be packed.
    bundle: [u32; 2],
    lines_left: u32,
    taken: Time,
    packed: Time,
}

impl ImageIntake {
    pub(super) fn new(image: &Image, of_beat: u32, (cycle, now): (Time, Time), usable: Usable) -> Self {
        let state = ImageState {
            beats: VecDeque::new(),
            slot: 0,
            done: 0,
            bundle: [0; 2],
            lines_left: image.height,
            taken: now,
            packed: now,
        };
        let to_usable = TO_USABLE - 1 + u64::from(image.is_packed_later(of_beat));
        let (slots, state) = (image.slots(), RefCell::new(state));
        let intake = ImageIntake { cycle, image: *image, of_beat, slots, to_usable, usable, state };
        intake.take_padding();
        intake
    }

    /// Time in which so many atoms are taken or packed.
    fn cycles(&self, atoms: u32) -> Time {
        self.cycle * u64::from(atoms.div_ceil(self.of_beat))
    }

    fn take_padding(&self) {
        loop {
            let mut state = self.state.borrow_mut();
            match self.slots.get(state.slot) {
                Some(slot) if !slot.reads && state.lines_left > 0 => {
                    state.taken += self.cycles(slot.atoms);
                    self.finish(&mut state, slot);
                }
                _ => return,
            }
        }
    }

    fn finish(&self, state: &mut ImageState, slot: &Slot) {
        state.bundle[slot.plane] += slot.atoms - u32::from(slot.first);
        if slot.ends_bundle {
            let start = state.packed.max(state.taken + self.cycle * TO_PACKING);
            let [first, second] = std::mem::take(&mut state.bundle);
            state.packed = start + self.cycles(first) + self.cycles(second);
        }
        (state.slot, state.done) = (state.slot + 1, 0);
        if state.slot == self.slots.len() {
            (state.slot, state.lines_left) = (0, state.lines_left.saturating_sub(1));
            let usable = state.packed + self.cycle * self.to_usable;
            self.usable.borrow_mut().push_back(usable);
        }
    }
}

impl BeatConsumer for ImageIntake {
    fn take(&self, offered: Time) -> Time {
        let mut state = self.state.borrow_mut();
        if state.beats.is_empty() {
            let reads = self.image.reads(self.image.height - state.lines_left);
            state.beats.extend(reads.into_iter().flat_map(|read| read.beats(self.image.atom, self.of_beat)));
        }
        let atoms = state.beats.pop_front().unwrap_or(1);
        let at = offered.max(state.taken + self.cycle);
        state.taken = at;
        state.done += atoms;
        if let Some(slot) = self.slots.get(state.slot)
            && state.done == slot.atoms
        {
            self.finish(&mut state, slot);
            drop(state);
            self.take_padding();
        }
        at
    }
}

/// Weights are taken at once; this notes when each beat came.
#[derive(Default)]
pub(super) struct WeightIntake {
    came: RefCell<VecDeque<Time>>,
}

impl WeightIntake {
    /// Returns true if nothing is noted.
    pub(super) fn is_empty(&self) -> bool {
        self.came.borrow().is_empty()
    }

    /// Takes the time at which the next beat came, if it was noted.
    pub(super) fn next(&self) -> Option<Time> {
        self.came.borrow_mut().pop_front()
    }
}

impl BeatConsumer for WeightIntake {
    fn take(&self, offered: Time) -> Time {
        self.came.borrow_mut().push_back(offered);
        offered
    }
}

/// Weights on their way into the buffer: one beat a cycle. The kernels that are multiplied together can be used when
/// all entries that they share are there; this is looked at one group after the other, every second cycle (RTL,
/// `NV_NVDLA_CDMA_wt.v`, `status_update`).
pub(super) struct WeightArrival {
    cycle: Time,
    written: Cell<Time>,
    checked: Cell<Time>,
}

impl WeightArrival {
    /// Cycles from the check to CSC's use.
    const TO_USABLE: u64 = 5;

    pub(super) fn new(cycle: Time) -> WeightArrival {
        WeightArrival { cycle, written: Cell::default(), checked: Cell::default() }
    }

    /// Writes so many beats from `due` on.
    pub(super) fn write(&self, due: Time, beats: u32) {
        let first = due.max(self.written.get() + self.cycle);
        self.written.set(first + self.cycle * u64::from(beats.saturating_sub(1)));
    }

    /// Ends a group with the last beat; returns the time at which CSC can use the group.
    pub(super) fn usable(&self) -> Time {
        let next = self.checked.get() + self.cycle * 2;
        self.checked.set(next.max(self.written.get() + self.cycle));
        self.last_usable()
    }

    /// Returns the time at which CSC can use the last group so far.
    pub(super) fn last_usable(&self) -> Time {
        self.checked.get() + self.cycle * Self::TO_USABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::conv::cdma::image::tests::image;
    use crate::nvdla::cube::{Packing, Ram, Surface};
    use crate::nvdla::numeric::Precision;
    use crate::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT as P;

    fn cycles(times: impl IntoIterator<Item = Time>) -> Vec<u64> {
        times.into_iter().map(|time| time.cycles(Time::ns(1))).collect()
    }

    /// Returns the cycles in which atoms that come every cycle are taken.
    fn taken(taker: &dyn BeatConsumer, count: u32) -> Vec<u64> {
        let mut at = Time::ns(9);
        cycles((0..count).map(|_| {
            at = taker.take(at + Time::ns(1));
            at
        }))
    }

    #[test]
    fn the_end_of_a_line_and_every_second_pair_of_surfaces_cost_cycles() {
        let surface = Surface {
            ram: Ram::Primary,
            base: 0,
            line_stride: 32,
            surface_stride: 64,
            pixel: 8,
            atom: 8,
            packing: Packing::Strided,
        };
        let (width, height, channels, lanes) = (4, 1, 24, 8);
        let (surfaces_at_once, grain, converter) = (1, 1, None);
        let (cubes, cube_stride) = (1, 0);
        let (format, nan_to_zero) = (Precision::Int8, false);
        let feature = Feature {
            surface,
            width,
            height,
            channels,
            lanes,
            surfaces_at_once,
            grain,
            cubes,
            cube_stride,
            format,
            nan_to_zero,
            converter,
        };
        let usable = Usable::default();
        let intake = FeatureIntake::new(&feature, Time::ns(1), usable.clone());
        assert_eq!(taken(&intake, 12), [10, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 24]);
        assert_eq!(cycles(usable.take()), [25 + TO_USABLE]);
    }

    #[test]
    fn padding_of_an_image_takes_its_cycle_and_a_bundle_is_packed_when_it_is_complete() {
        // Two atoms of padding, seven of pixels; one of padding in the next bundle.
        let image = Image { left: 4, ..image(P::T_A8B8G8R8, 14) };
        let usable = Usable::default();
        let intake = ImageIntake::new(&image, 1, (Time::ns(1), Time::ns(8)), usable.clone());
        // The padding is done in cycle 10; then seven atoms, and three cycles of padding up to the next line's.
        assert_eq!(taken(&intake, 8), [11, 12, 13, 14, 15, 16, 17, 21]);
        // Eight atoms are packed from 21 on, one more from 29 on.
        assert_eq!(cycles(usable.take()), [29 + TO_USABLE]);
    }

    /// As the first layer of seq_nv_small_90009 (30 pixels) and img_nv_small_2037 (9 with padding) on the RTL.
    #[test]
    fn the_last_atom_of_two_planes_is_packed_later_unless_it_holds_all_that_is_left() {
        let is_later = |width| image(P::T_Y8___U8V8_N444, width).is_packed_later(1);
        assert_eq!([30, 9, 10, 13].map(is_later), [true, false, false, false]);
        assert_eq!([8, 11, 12, 15].map(is_later), [true; 4]);
        assert!(!image(P::T_A8B8G8R8, 30).is_packed_later(1));
    }

    #[test]
    fn the_last_beat_of_two_planes_is_packed_later_by_the_second_planes_atoms() {
        let is_later = |width| image(P::T_Y8___U8V8_N444, width).is_packed_later(2);
        assert_eq!([5, 9, 10].map(is_later), [false; 3]);
        assert_eq!([6, 8, 11].map(is_later), [true; 3]);
    }

    #[test]
    fn pairs_of_atoms_are_packed_of_one_plane_a_cycle() {
        // Three and five atoms, and one of padding each, of which the first plane's three and the second's five are packed.
        let image = Image { height: 1, ..image(P::T_Y8___U8V8_N444, 17) };
        let usable = Usable::default();
        let intake = ImageIntake::new(&image, 2, (Time::ns(1), Time::ns(8)), usable.clone());
        assert_eq!(taken(&intake, 5), [10, 11, 13, 14, 15]);
        assert_eq!(cycles(usable.take()), [16 + TO_PACKING + 2 + 3 + TO_USABLE - 1]);
    }

    #[test]
    fn groups_of_weights_are_usable_two_cycles_apart() {
        let arrival = WeightArrival::new(Time::ns(1));
        let mut usable = Vec::new();
        for _ in 0..2 {
            arrival.write(Time::ns(20), 1);
            usable.push(arrival.usable());
        }
        assert_eq!(cycles(usable), [26, 28]);
    }
}
