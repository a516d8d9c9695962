//! PDP's timing: when each input atom is taken and when each output atom is made.
//!
//! There are two stages, and each takes one element in a slot of `cycles_per_atom`. The horizontal stage
//! reduces the columns of a window: it makes a one-dimensional element in the slot of the input atom that
//! completes it. The vertical stage reduces the rows: it makes an output in the slot of the element that
//! completes a window. Windows over the right or lower edge are completed by flushing. The flushed elements
//! share the slots of the following atoms, as long as those complete no window themselves. Otherwise, and at
//! the end, they take slots of their own and delay the input. Top and left padding, and changes of line and
//! surface, cost nothing.
//!
//! RTL, `PDP_CORE_cal1d` and `PDP_CORE_cal2d`; agrees with the RTL's cycles on all pooling layers of the nv_small
//! family's traces.

use super::layer::{Axis, PdpLayer, Strip};
use crate::bus::axi::Begin;
use crate::nvdla::cube::{Packing, Surface};
use crate::nvdla::dma::Lines;
use crate::nvdla::timing::PdpTiming;
use std::ops::Range;

/// Elements that the datapath holds where it stands, and the register behind it (`NV_NVDLA_PDP_wdma.v`); cycles in which one passes the
/// datapath. Seen on the RTL: branch nv_small, windows of one pixel.
const HELD: u32 = 13 + 2;
const FORWARD: u32 = 12;

/// Returns the bound on an atom's start by those before it on their way to the write DMA. The FIFO there takes the first element of an atom two cycles
/// behind the leaving of the one as many before it as it holds; the datapath takes another element a cycle behind that.
pub(super) fn begin(timing: &PdpTiming) -> Begin {
    let (beats, fifo) = (timing.cycles_per_atom, timing.write_path.map_or(0, |path| path.lanes.count));
    let atoms = HELD.div_ceil(beats);
    // To DMAIF, an atom goes two cycles behind its last element.
    let cycles = atoms * beats - HELD + 2 + 1 + FORWARD + (beats - 1) + 2;
    Begin::HandedOver { before: fifo + atoms, cycles }
}

/// Returns what PDP_RDMA reads, one run of lines for each strip.
pub(super) fn reads(layer: &PdpLayer, source: Surface) -> impl Iterator<Item = Lines> {
    let (height, surfaces) = (layer.vertical.input, layer.surfaces());
    layer.strips().map(move |strip| lines(source, strip.input, height, surfaces))
}

/// Returns what PDP writes, in order: address and bytes of each line of each strip.
pub(super) fn writes(layer: &PdpLayer) -> impl Iterator<Item = (u64, u32)> + use<> {
    let (destination, height, surfaces) = (layer.destination, layer.vertical.output, layer.surfaces());
    layer.strips().flat_map(move |strip| lines(destination, strip.output, height, surfaces).requests())
}

fn lines(surface: Surface, columns: Range<u32>, height: u32, surfaces: u32) -> Lines {
    debug_assert_eq!(surface.packing, Packing::Strided, "PDP follows the strides");
    Lines {
        surface,
        first_column: columns.start,
        width: columns.end - columns.start,
        height,
        surfaces,
        together: 1,
    }
}

/// Windows of one direction over one run of input.
#[derive(Debug, Clone)]
struct Windows {
    /// Number of windows.
    count: u32,
    /// End of the first window, counted from the first input; then one every stride.
    first_end: u32,
    stride: u32,
    input: u32,
    /// Elements that must be flushed after the last input, beyond the one its own slot may make.
    flushes: u32,
    /// Number of inputs that the next run takes before it completes a window of its own.
    lead: u32,
}

impl Windows {
    /// `padding` is what lies before the first of `input` inputs.
    fn new(count: u32, input: u32, padding: u32, kernel: u32, stride: u32) -> Windows {
        let first_end = (kernel - 1).saturating_sub(padding);
        let ends = |index: u32| first_end + index * stride;
        let over = (0..count).filter(|&index| ends(index) >= input).count() as u32;
        let last_is_own = (0..count).any(|index| ends(index) + 1 == input);
        let lead = if input + padding < kernel { input } else { kernel - padding };
        // Without a window of its own, the last input's slot makes the first of those that hang over.
        let flushes = if last_is_own { over } else { over.saturating_sub(1) };
        Windows { count, first_end, stride, input, flushes, lead }
    }

    fn of(axis: &Axis) -> Windows {
        Windows::new(axis.output, axis.input, axis.padding, axis.kernel, axis.stride)
    }

    fn end(&self, index: u32) -> u32 {
        self.first_end + index * self.stride
    }

    /// Returns true if an element is made in the slot of input `at`.
    fn closes(&self, at: u32) -> bool {
        let own = at >= self.first_end
            && (at - self.first_end).is_multiple_of(self.stride)
            && (at - self.first_end) / self.stride < self.count;
        own || (at + 1 == self.input && self.first_end + (self.count - 1) * self.stride >= self.input)
    }

    /// Of the elements to flush, how many hold the input back when another run follows.
    fn blocking(&self) -> u32 {
        if self.flushes == 0 { 0 } else { (self.flushes + 1).saturating_sub(self.lead) }
    }
}

/// Lines that must be flushed before the next surface's input, of the windows of one direction, top to bottom. Beyond those that
/// the next surface's first window does not wait for, these are the ones up to the last whose unit that surface takes from its
/// beginning (RTL, `NV_NVDLA_PDP_CORE_cal2d.v`, `bubble_num`, `bubble_add`: `pnum_flush`, the units of the lines to flush, beside
/// `up_pnum`, those of the windows that begin in the padding).
fn blocking_lines(windows: &Windows, axis: &Axis) -> u32 {
    let blocking = windows.blocking();
    let riding = windows.flushes - blocking;
    if riding < 2 {
        return blocking;
    }
    // Units are taken in turns; each window has one until its line is out (`buffer_lines_num`).
    let units = axis.kernel.div_ceil(axis.stride);
    let before_last = (0..axis.output).filter(|&index| windows.end(index) + 1 < axis.input).count() as u32;
    // The table ends with a padding of 5.
    let begun = if axis.padding > 5 { 0 } else { axis.padding / axis.stride };
    let taken = (1..=riding).rev().find(|line| (before_last + blocking + line) % units <= begun);
    blocking + taken.unwrap_or(0)
}

/// Times from which an atom's beats leave the input, one behind the other, for its first half and for the other.
///
/// Where PDP stands, a part of an atom is in front of its slot (RTL, branch nvdlav1, seen at pre2cal1d_pvld of `NV_NVDLA_PDP_CORE_preproc.v`): two beats
/// may be ahead of the stage over columns and seven ahead of the one over rows, and the next comes in as many cycles behind the slot of the one
/// that many before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Leaving {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// The slots of one layer, in cycles from the start of simulation: fed with the arrival of input atoms.
pub(super) struct Slots {
    pace: u64,
    strips: Vec<(Windows, u32)>,
    vertical: Windows,
    blocking_lines: u32,
    height: u32,
    surfaces: u32,
    // Horizontal stage: the place of the next input atom…
    strip: usize,
    surface: u32,
    row: u32,
    column: u32,
    // …the earliest slot of the next one, and flushed elements that ride on coming atoms.
    atom_from: u64,
    riding: u32,
    // Vertical stage: the place of the next one-dimensional element…
    element_strip: usize,
    element_surface: u32,
    element_row: u32,
    element_column: u32,
    // …its earliest slot, and lines of the surface before that ride on coming ones.
    element_from: u64,
    riding_lines: u32,
    // The input in front of both: when the last atom leaves it, the earliest time for the next one, and the last atom's slot.
    leaves: Leaving,
    leaves_from: u64,
    last_slot: u64,
}

impl Slots {
    pub(super) fn new(layer: &PdpLayer, pace: u32) -> Slots {
        let Axis { kernel, stride, padding, .. } = layer.horizontal;
        let strip = |Strip { input, output }: Strip| {
            let padding = if output.start == 0 { padding } else { 0 };
            let (input, output) = (input.end - input.start, output.end - output.start);
            (Windows::new(output, input, padding, kernel, stride), output)
        };
        let vertical = Windows::of(&layer.vertical);
        Slots {
            pace: u64::from(pace),
            strips: layer.strips().map(strip).collect(),
            blocking_lines: blocking_lines(&vertical, &layer.vertical),
            vertical,
            height: layer.vertical.input,
            surfaces: layer.surfaces(),
            strip: 0,
            surface: 0,
            row: 0,
            column: 0,
            atom_from: 0,
            riding: 0,
            element_strip: 0,
            element_surface: 0,
            element_row: 0,
            element_column: 0,
            element_from: 0,
            riding_lines: 0,
            leaves: Leaving::default(),
            leaves_from: 0,
            last_slot: 0,
        }
    }

    /// The next input atom can start at `arrival` at the earliest. Gives its slot, and adds the slots of the
    /// outputs it leads to.
    pub(super) fn feed(&mut self, arrival: u64, outputs: &mut Vec<u64>) -> u64 {
        let Some((windows, _)) = self.strips.get(self.strip).cloned() else { return arrival };
        let closes = windows.closes(self.column);
        let mut slot = arrival.max(self.atom_from);
        if closes || self.riding > 0 {
            slot = slot.max(self.element_from);
        }
        self.atom_from = slot + self.pace;
        let first = arrival.max(self.leaves.last + self.pace);
        let last = arrival.max(self.leaves_from).max(self.last_slot + self.pace);
        self.leaves = Leaving { first, last };
        self.leaves_from = last + self.pace;
        self.last_slot = slot;
        if self.riding > 0 {
            self.riding -= 1;
            self.element(slot, outputs);
        } else if closes {
            self.element(slot, outputs);
        }
        self.column += 1;
        if self.column == windows.input {
            self.column = 0;
            self.end_row(&windows, outputs);
        }
        slot
    }

    /// Returns when the last atom leaves the input on nvdlav1.
    pub(super) fn leaves(&self) -> Leaving {
        self.leaves
    }

    fn end_row(&mut self, windows: &Windows, outputs: &mut Vec<u64>) {
        self.row += 1;
        let mut last_of_strip = false;
        if self.row == self.height {
            self.row = 0;
            self.surface += 1;
            if self.surface == self.surfaces {
                self.surface = 0;
                self.strip += 1;
                last_of_strip = true;
            }
        }
        let free_running = if last_of_strip { windows.flushes } else { windows.blocking() };
        let mut slot = self.atom_from;
        for _ in 0..free_running {
            let at = slot.max(self.element_from);
            self.element(at, outputs);
            self.atom_from = at + self.pace;
            self.leaves_from += self.pace;
            slot += self.pace;
        }
        self.riding = windows.flushes - free_running;
    }

    /// A one-dimensional element enters the vertical stage.
    fn element(&mut self, slot: u64, outputs: &mut Vec<u64>) {
        let Some(&(_, width)) = self.strips.get(self.element_strip) else { return };
        let closes = self.vertical.closes(self.element_row);
        if closes || self.riding_lines > 0 {
            outputs.push(slot);
        }
        self.element_from = slot + self.pace;
        self.element_column += 1;
        if self.element_column < width {
            return;
        }
        self.element_column = 0;
        if !closes && self.riding_lines > 0 {
            self.riding_lines -= 1;
        }
        if width == 1 {
            // The line buffer is written and read back at once.
            self.element_from += 3;
        }
        self.element_row += 1;
        if self.element_row < self.height {
            return;
        }
        self.element_row = 0;
        self.element_surface += 1;
        let last_of_strip = self.element_surface == self.surfaces;
        let free_running = if last_of_strip { self.vertical.flushes } else { self.blocking_lines };
        for _ in 0..u64::from(free_running) * u64::from(width) {
            outputs.push(self.element_from);
            self.element_from += self.pace;
        }
        self.riding_lines = self.vertical.flushes - free_running;
        if last_of_strip {
            self.element_surface = 0;
            self.element_strip += 1;
        }
    }
}
