//! Places of the operands of a convolution: a kernel's extent, how it moves, and the window of rows it reads.

use super::element::Element;
use super::error::Error;
use std::ops::Range;

/// A pair of steps, along a row and from row to row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// Along a row.
    pub x: usize,
    /// From row to row.
    pub y: usize,
}

impl Axes {
    /// One in both directions.
    pub const ONE: Axes = Axes { x: 1, y: 1 };
}

/// A kernel's extent: what its weights are packed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Kernel rows, R.
    pub height: usize,
    /// Kernel columns, S.
    pub width: usize,
    /// Channels, C.
    pub channels: usize,
    /// Input pixels from one tap to the next.
    pub dilation: Axes,
}

impl Kernel {
    /// Returns the number of weights of a kernel, R·S·C. [`Error::Empty`] if there is none, or more than can be counted.
    pub fn taps(&self) -> Result<usize, Error> {
        let taps = self.height.checked_mul(self.width).and_then(|area| area.checked_mul(self.channels));
        taps.filter(|&taps| taps > 0).ok_or(Error::Empty)
    }

    /// Elements that lie side by side both in a row of the window and in a kernel: without dilation along the
    /// row a whole kernel row, else the channels of one tap.
    pub(super) fn run(&self) -> usize {
        if self.rows_are_runs() { self.width * self.channels } else { self.channels }
    }

    /// Number of such runs in a kernel.
    pub(super) fn runs(&self) -> usize {
        if self.rows_are_runs() { self.height } else { self.height * self.width }
    }

    fn rows_are_runs(&self) -> bool {
        self.dilation.x == 1 || self.width == 1
    }

    /// Returns the place in the window where each group of taps starts, from the first tap of its kernel, in the order of the packed
    /// weights.
    pub(super) fn groups<T: Element>(&self, pitch: usize) -> Vec<usize> {
        let (run, per_row) = (self.run(), self.runs() / self.height);
        let mut groups = Vec::with_capacity(self.runs() * run.div_ceil(T::GROUP));
        for r in 0..self.height {
            for s in 0..per_row {
                let start = r * self.dilation.y * pitch + s * self.dilation.x * self.channels;
                groups.extend((0..run.div_ceil(T::GROUP)).map(|group| start + group * T::GROUP));
            }
        }
        groups
    }
}

/// A kernel and how it moves over its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Kernel that moves.
    pub kernel: Kernel,
    /// Input pixels from one output to the next.
    pub stride: Axes,
    /// Outputs in a row. Position p is column p mod this, and row p div this below the window's first.
    pub output_width: usize,
}

impl Geometry {
    /// Returns the place in the window of a position's first tap.
    pub(super) fn start(&self, position: usize, pitch: usize) -> usize {
        let (x, y) = (position % self.output_width, position / self.output_width);
        y * self.stride.y * pitch + x * self.stride.x * self.kernel.channels
    }

    /// Returns the number of elements of the window that positions 0 to `end` need. None: more than can be counted.
    fn needs(&self, end: usize, pitch: usize) -> Option<usize> {
        let Some(last) = end.checked_sub(1) else { return Some(0) };
        let (x, y) = (last % self.output_width, last / self.output_width);
        // The last position, and the last column of the row before it, if there is one.
        let full_row = y.checked_sub(1).map(|above| (self.output_width - 1, above));
        let corner = |(x, y): (usize, usize)| {
            let kernel = &self.kernel;
            let row = y
                .checked_mul(self.stride.y)?
                .checked_add((kernel.height - 1).checked_mul(kernel.dilation.y)?)?;
            let column = x
                .checked_mul(self.stride.x)?
                .checked_add((kernel.width - 1).checked_mul(kernel.dilation.x)?)?;
            row.checked_mul(pitch)?.checked_add(column.checked_add(1)?.checked_mul(kernel.channels)?)
        };
        let needed = corner((x, y))?;
        full_row.map_or(Some(needed), |end_of_row| Some(needed.max(corner(end_of_row)?)))
    }

    /// Checks that all that is asked for exists and has its place among `sums` sums: kernels among those `packed`, and what
    /// positions read in a window of that pitch with `held` elements.
    pub(super) fn check(
        &self,
        (positions, kernels): (&Range<usize>, &Range<usize>),
        sums: usize,
        packed: usize,
        (pitch, held): (usize, usize),
    ) -> Result<(), Error> {
        if kernels.start > kernels.end || kernels.end > packed {
            let Range { start, end } = *kernels;
            return Err(Error::Kernels { start, end, packed });
        }
        let needed = positions.len().saturating_mul(kernels.len());
        if needed != sums {
            return Err(Error::Sums { needed, given: sums });
        }
        match self.needs(positions.end, pitch) {
            _ if needed == 0 => Ok(()),
            Some(needed) if needed <= held => Ok(()),
            needed => Err(Error::Window { needed: needed.unwrap_or(usize::MAX), held }),
        }
    }
}

/// Rows of activations: pixel after pixel, each with exactly the kernel's channels, padding written out.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a, T: Element> {
    /// The rows; the first holds the first tap of position 0.
    pub elements: &'a [T],
    /// Elements from one row to the next.
    pub pitch: usize,
}
