//! Pace of a cube for Winograd's method where a beat of the bus is two atoms, as on nv_full (RTL, branch nvdlav1, `NV_NVDLA_CDMA_wg.v`).
//!
//! ```text
//! bus, padding → shared buffer, by columns of up to eight atoms in four lines → reader: tiles of four columns and lines
//! ```
//!
//! Padding takes its cycles as data does. Eight tiles may wait for the reader, which takes eight cycles for each (`req_sub_h_cnt`,
//! `sbuf_avl_cube`, `sbuf_blocking`, `rd_sub_cnt`).

use super::intake::Usable;
use super::wide_feature::BEAT;
use super::winograd::Winograd;
use crate::bus::axi::BeatConsumer;
use std::cell::RefCell;
use std::collections::VecDeque;
use vp_core::Time;

/// Cycles in which four columns and lines of an atom leave the shared buffer.
const TILE_CYCLES: u64 = 8;
/// Number of tiles waiting there that stops what comes.
const TILES_WAITING: usize = 8;
/// Cycles from a layer's start to those in which padding can be taken, which is asked for as data is (seen at dma_rsp_fifo_req).
const TO_PADDING: u64 = 6;
/// Cycles from the last tile's leaving the shared buffer until CSC can use the lines (seen at cdma2sc_dat_updt).
const TO_USABLE: u64 = 16;

/// Step of four lines' way into the shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Beat of data.
    Data,
    /// Beat of padding.
    Padding,
    /// One tile more is complete.
    Tile,
    /// All of the lines is there.
    End,
}

/// Consumer of the beats of a layer's input.
pub(super) struct WinogradIntake {
    cycle: Time,
    input: Winograd,
    usable: Usable,
    state: RefCell<State>,
}

struct State {
    /// The first line of the buffer whose steps are not begun.
    line: u32,
    steps: VecDeque<Step>,
    /// Time at which the last beat was taken, and from which the reader is free.
    taken: Time,
    reader: Time,
    /// Times at which the last tiles left.
    left: [Time; TILES_WAITING],
    tiles: usize,
}

impl WinogradIntake {
    pub(super) fn new(input: &Winograd, (cycle, now): (Time, Time), usable: Usable) -> WinogradIntake {
        let state = State {
            line: 0,
            steps: VecDeque::new(),
            taken: now + cycle * TO_PADDING,
            reader: now,
            left: [Time::ZERO; TILES_WAITING],
            tiles: 0,
        };
        let intake = WinogradIntake { cycle, input: *input, usable, state: RefCell::new(state) };
        intake.go_on(&mut intake.state.borrow_mut());
        intake
    }

    /// Does what is before the next beat of data.
    fn go_on(&self, state: &mut State) {
        loop {
            match state.steps.front() {
                Some(Step::Data) => return,
                Some(Step::Padding) => state.taken += self.cycle,
                Some(Step::Tile) => {
                    let place = state.tiles % TILES_WAITING;
                    state.taken = state.taken.max(state.left[place]);
                    state.reader = state.reader.max(state.taken + self.cycle) + self.cycle * TILE_CYCLES;
                    state.left[place] = state.reader;
                    state.tiles += 1;
                }
                Some(Step::End) => self.usable.borrow_mut().push_back(state.reader + self.cycle * TO_USABLE),
                None if state.line >= self.input.height() => return,
                None => {
                    state.steps = steps(&self.input, state.line);
                    state.line += Winograd::LINES;
                    continue;
                }
            }
            state.steps.pop_front();
        }
    }
}

impl BeatConsumer for WinogradIntake {
    fn take(&self, offered: Time) -> Time {
        let state = &mut *self.state.borrow_mut();
        let at = offered.max(state.taken + self.cycle);
        state.taken = at;
        state.steps.pop_front();
        self.go_on(state);
        at
    }
}

/// Steps of four lines of the buffer from `first` on.
fn steps(input: &Winograd, first: u32) -> VecDeque<Step> {
    let [right, down] = input.step;
    let mut steps = VecDeque::new();
    for of_step in (0..input.feature.surfaces()).flat_map(|_| 0..down) {
        let (mut columns, mut tiles) = (0, 0);
        for (atoms, pixel) in input.parts() {
            for line in (first..first + Winograd::LINES).map(|line| line * down + of_step) {
                let is_data = pixel.is_some() && input.data_line(line).is_some();
                let beat = if is_data { Step::Data } else { Step::Padding };
                steps.extend((0..atoms.div_ceil(BEAT)).map(|_| beat));
            }
            columns += atoms;
            let complete = columns / (4 * right) * right;
            steps.extend((tiles..complete).map(|_| Step::Tile));
            tiles = complete;
        }
    }
    steps.push_back(Step::End);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::conv::cdma::feature::Feature;
    use crate::nvdla::conv::cdma::wide_feature::tests::feature;

    const CYCLE: Time = Time::ns(1);

    /// A layer of 38 columns and three lines, padded to 48 and twelve, on the RTL: its beats were on the bus in these cycles, six before CDMA, and
    /// cdma2sc_dat_updt rose a cycle before these.
    #[test]
    fn padding_takes_its_cycles_and_tiles_leave_one_behind_the_other() {
        let feature = Feature { height: 3, ..feature(38, 1) };
        let input = Winograd { feature, left: 0, right: 10, top: 2, bottom: 7, padding: 178, step: [3, 1] };
        let usable = Usable::default();
        let intake = WinogradIntake::new(&input, (CYCLE, CYCLE * 30), usable.clone());
        let on_bus = [
            96, 101, 102, 103, 108, 109, 114, 115, 120, 125, 126, 127, 132, 133, 138, 139, 144, 149, 150,
            151, 156, 157, 162, 163, 168, 173, 174, 175, 180, 181, 186, 187, 192, 197, 198, 203, 204, 209,
            214, 215, 216, 221, 226, 227, 228, 233, 238, 239, 240, 245, 250, 251, 252, 257, 262, 263, 264,
        ];
        let taken: Vec<u64> = on_bus.iter().map(|&at| intake.take(CYCLE * (at + 6)).cycles(CYCLE)).collect();
        assert_eq!(taken.last(), Some(&302));
        let usable: Vec<u64> = usable.take().into_iter().map(|at| at.cycles(CYCLE)).collect();
        assert_eq!(usable, [280, 380, 476]);
    }
}
