//! The activations of one layer in the form that the MAC array uses: input lines with their padding written
//! out.

use super::compute::Axes;
use super::elements::Elements;
use crate::nvdla::numeric::Precision;

/// Position of a window over the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Format.
    pub precision: Precision,
    /// Channels of a pixel.
    pub channels: usize,
    /// Input pixels in a line, as they are in the buffer.
    pub width: usize,
    /// Padding left of the first pixel, and above the first line.
    pub before: Axes,
    /// Pixels in a line of the window, and its lines: what the outputs reach.
    pub extent: Axes,
    /// Value that padding reads as.
    pub padding: i16,
}

impl Frame {
    /// Elements from a line of the window to the next.
    pub fn pitch(&self) -> usize {
        self.extent.x * self.channels
    }

    /// Fills the window from lines, of which there may be more or fewer than it needs. If a line has the pixels of
    /// several cubes, one cube after the other, `cube` says which one is taken.
    pub fn lay<'a>(&self, cube: u32, lines: impl Iterator<Item = &'a Elements>) -> Elements {
        let mut window = Elements::filled(self.precision, self.padding, self.extent.y * self.pitch());
        let inside = self.width.min(self.extent.x.saturating_sub(self.before.x)) * self.channels;
        let first = cube as usize * self.width * self.channels;
        let rows = self.before.y..self.extent.y;
        for (row, line) in rows.zip(lines).filter(|_| inside > 0) {
            window.copy(row * self.pitch() + self.before.x * self.channels, line, first, inside);
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_surrounds_the_lines_and_what_nobody_reads_is_left_out() {
        let frame = Frame {
            precision: Precision::Int8,
            channels: 1,
            width: 3,
            before: Axes { x: 1, y: 1 },
            extent: Axes { x: 3, y: 4 },
            padding: 9,
        };
        let lines = [Elements::Int8(vec![1, 2, 3]), Elements::Int8(vec![4, 5, 6])];
        assert_eq!(frame.lay(0, lines.iter()), Elements::Int8(vec![9, 9, 9, 9, 1, 2, 9, 4, 5, 9, 9, 9]));
        let lines = [Elements::Int8(vec![1, 2, 3, 4, 5, 6])];
        assert_eq!(frame.lay(1, lines.iter()), Elements::Int8(vec![9, 9, 9, 9, 4, 5, 9, 9, 9, 9, 9, 9]));
    }
}
