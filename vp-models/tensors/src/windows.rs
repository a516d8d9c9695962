//! Windows over up to three spatial axes. Fewer axes are as many more of size 1, so that all are computed alike.

use crate::arguments::{wrong_attribute, wrong_shape};
use crate::{AutoPad, OperatorError, Spatial};
use std::ops::Range;

/// Largest size, step or padding of a window: products of two have room.
const LARGEST: usize = 1 << 31;

/// Windows along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) input: usize,
    pub(crate) output: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// An axis of size 1 that windows leave alone.
const NO_AXIS: Axis = Axis { input: 1, output: 1, kernel: 1, stride: 1, dilation: 1, before: 0, after: 0 };

impl Axis {
    /// Returns those taps of an output's window that are within the input.
    #[inline]
    pub(crate) fn taps(&self, output: usize) -> Range<usize> {
        self.taps_within(output, self.before, self.before + self.input)
    }

    /// Returns those outputs whose tap is within the input.
    pub(crate) fn outputs(&self, tap: usize) -> Range<usize> {
        let offset = tap * self.dilation;
        let first = self.before.saturating_sub(offset).div_ceil(self.stride);
        let last = (self.before + self.input).saturating_sub(offset).div_ceil(self.stride).min(self.output);
        first.min(last)..last
    }

    /// Returns the number of an output's taps that are within the input or its padding.
    pub(crate) fn padded_taps(&self, output: usize) -> usize {
        self.taps_within(output, 0, self.before + self.input + self.after).len()
    }

    #[inline]
    fn taps_within(&self, output: usize, from: usize, to: usize) -> Range<usize> {
        let start = output * self.stride;
        let first = from.saturating_sub(start).div_ceil(self.dilation);
        let last = to.saturating_sub(start).div_ceil(self.dilation).min(self.kernel);
        first.min(last)..last
    }

    /// Returns the place in the input of a tap that is within it.
    #[inline]
    pub(crate) fn place(&self, output: usize, tap: usize) -> usize {
        output * self.stride + tap * self.dilation - self.before
    }
}

/// The three axes of windows on a plane or volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows(pub(crate) [Axis; 3]);

impl Windows {
    /// Windows on an input of these spatial sizes.
    pub(crate) fn new(spatial: &Spatial, sizes: &[usize], rounds_up: bool) -> Result<Windows, OperatorError> {
        check(spatial, sizes.len())?;
        let mut axes = [NO_AXIS; 3];
        let skipped = axes.len() - sizes.len();
        for (at, &input) in sizes.iter().enumerate() {
            axes[skipped + at] = axis(spatial, at, input, rounds_up)?;
        }
        Ok(Windows(axes))
    }

    /// Returns the sizes of the output's axes, of which there are so many.
    pub(crate) fn output(&self, axes: usize) -> Vec<usize> {
        self.0[3 - axes..].iter().map(|axis| axis.output).collect()
    }

    /// Number of elements of an input's plane.
    pub(crate) fn input_plane(&self) -> usize {
        self.0.iter().map(|axis| axis.input).product()
    }

    /// Number of elements of an output's plane.
    pub(crate) fn output_plane(&self) -> usize {
        self.0.iter().map(|axis| axis.output).product()
    }

    /// Number of taps.
    pub(crate) fn kernel(&self) -> usize {
        self.0.iter().map(|axis| axis.kernel).product()
    }

    /// Returns the output's place on each axis.
    #[inline]
    pub(crate) fn coordinates(&self, place: usize) -> [usize; 3] {
        let [_, height, width] = self.0;
        [place / (height.output * width.output), place / width.output % height.output, place % width.output]
    }

    /// Calls `each` with the tap and the place in the input's plane of all taps that are within it.
    #[inline]
    pub(crate) fn each_tap(&self, output: usize, mut each: impl FnMut(usize, usize)) {
        let [depth, height, width] = self.0;
        let [z, y, x] = self.coordinates(output);
        let columns = width.taps(x);
        for i in depth.taps(z) {
            for j in height.taps(y) {
                let tap = (i * height.kernel + j) * width.kernel;
                let line = (depth.place(z, i) * height.input + height.place(y, j)) * width.input;
                for k in columns.clone() {
                    each(tap + k, line + width.place(x, k));
                }
            }
        }
    }
}

/// Checks that there is an entry for each axis, and none too large.
pub(crate) fn check(spatial: &Spatial, axes: usize) -> Result<(), OperatorError> {
    let lists: [(&'static str, &[usize], usize); 5] = [
        ("kernel_shape", &spatial.kernel, 1),
        ("strides", &spatial.strides, 1),
        ("dilations", &spatial.dilations, 1),
        ("pads", &spatial.before, 0),
        ("pads", &spatial.after, 0),
    ];
    for (attribute, list, least) in lists {
        if list.len() != axes {
            return Err(wrong_attribute(attribute, list, format!("an entry for each of the {axes} axes")));
        }
        if list.iter().any(|entry| !(least..LARGEST).contains(entry)) {
            return Err(wrong_attribute(attribute, list, format!("entries from {least} to {}", LARGEST - 1)));
        }
    }
    Ok(())
}

/// Checks the number of spatial axes of an input.
pub(crate) fn check_rank(shape: &[usize]) -> Result<(), OperatorError> {
    if (3..=5).contains(&shape.len()) {
        return Ok(());
    }
    Err(wrong_shape(0, shape, "three to five axes: batch, channels, and one to three spatial ones".into()))
}

fn axis(spatial: &Spatial, at: usize, input: usize, rounds_up: bool) -> Result<Axis, OperatorError> {
    let (kernel, stride, dilation) = (spatial.kernel[at], spatial.strides[at], spatial.dilations[at]);
    let span = (kernel - 1) * dilation + 1;
    let (before, after) = match spatial.auto_pad {
        AutoPad::NotSet => (spatial.before[at], spatial.after[at]),
        AutoPad::Valid => (0, 0),
        rule => {
            let output = input.div_ceil(stride);
            let whole = (output.saturating_sub(1) * stride + span).saturating_sub(input);
            same(rule, whole)
        }
    };
    let Some(room) = (before + input + after).checked_sub(span) else {
        let expected = format!("at most {}, which is the input with its padding", before + input + after);
        return Err(wrong_attribute("kernel_shape", &spatial.kernel, expected));
    };
    let output = if !rounds_up {
        room / stride + 1
    } else {
        let output = room.div_ceil(stride) + 1;
        // A window that would begin behind the input and its padding at the start is left out.
        if (output - 1) * stride >= before + input { output - 1 } else { output }
    };
    Ok(Axis { input, output, kernel, stride, dilation, before, after })
}

/// Returns the padding on both sides of `SAME_UPPER` and `SAME_LOWER`.
pub(crate) fn same(rule: AutoPad, whole: usize) -> (usize, usize) {
    match rule {
        AutoPad::SameLower => (whole.div_ceil(2), whole / 2),
        _ => (whole / 2, whole.div_ceil(2)),
    }
}
