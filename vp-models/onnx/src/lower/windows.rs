//! Nodes with windows that are not convolutions: poolings.

use super::draft::{DraftKind, Kernels, Weights};
use super::drafter::{Drafter, PlacedValue};
use super::nodes::{Decided, cpu, cube_of};
use super::view::View;
use vp_host::network::{Method, Pooling, Shape, Window};
use vp_tensors::{AutoPad, Spatial, ValueId};

/// Columns and lines of a window of PDP, at most (hardware manual, "PDP": 3 bits).
const MOST: usize = 8;

/// Columns and lines of a mean that is a convolution, at most: the kernels of CSC have 5 bits of each.
const MOST_SUMMED: u32 = 32;

/// A mean as kernels of ones, each for one channel. PDP's means are in the codes of what it reads; a sum keeps all that codes of its own,
/// which are finer, can say.
fn mean_of(window: Window, channels: u32) -> DraftKind {
    let taps = window.size[0] * window.size[1];
    let values = vec![1; taps as usize * channels as usize];
    DraftKind::Convolution(Kernels {
        kernels: channels,
        groups: channels,
        window,
        weights: Weights::Codes { values, scales: vec![1.0 / taps as f32] },
        bias: vec![0.0; channels as usize],
        adds: false,
    })
}

/// Windows over columns and lines, whose padding behind is what the output's size needs.
pub(crate) fn window(spatial: &Spatial, input: Shape, output: Shape) -> Option<Window> {
    let Spatial { kernel, strides, dilations, before, auto_pad, .. } = spatial;
    let (&[rows, columns], &[down, right]) = (&kernel[..], &strides[..]) else { return None };
    let &[row_distance, column_distance] = &dilations[..] else { return None };
    let along = |size: u32, output: u32, kernel: usize, stride: usize, distance: usize, before: usize| {
        let extent = (kernel - 1) * distance + 1;
        let needed = (output as usize - 1) * stride + extent;
        let whole = needed.saturating_sub(size as usize);
        let before = match auto_pad {
            AutoPad::NotSet => before,
            AutoPad::Valid => 0,
            AutoPad::SameUpper => whole / 2,
            AutoPad::SameLower => whole.div_ceil(2),
        };
        (before as u32, needed.saturating_sub(size as usize + before) as u32)
    };
    let pads = if before.is_empty() { [0, 0] } else { [before[0], before[1]] };
    let (top, bottom) = along(input.height, output.height, rows, down, row_distance, pads[0]);
    let (left, after) = along(input.width, output.width, columns, right, column_distance, pads[1]);
    let narrow = |pair: [usize; 2]| pair.map(|size| size as u32);
    Some(Window {
        size: narrow([columns, rows]),
        stride: narrow([right, down]),
        before: [left, top],
        after: [after, bottom],
        dilation: narrow([column_distance, row_distance]),
    })
}

impl Drafter<'_> {
    pub(crate) fn max_pool(
        &mut self,
        at: usize,
        pooling: &vp_tensors::Pooling,
        input: ValueId,
        output: ValueId,
    ) -> Decided {
        self.pool(at, &pooling.spatial, Method::Max, input, output)
    }

    pub(crate) fn average_pool(
        &mut self,
        at: usize,
        pooling: &vp_tensors::Pooling,
        counts_padding: bool,
        input: ValueId,
        output: ValueId,
    ) -> Decided {
        let [Some(from), Some(to)] = [input, output].map(|id| cube_of(self.shape(id))) else {
            cpu!("its tensors are no cubes");
        };
        let Some(window) = window(&pooling.spatial, from, to) else {
            cpu!("its windows are not of two axes")
        };
        let pads = [window.before, window.after].concat().iter().any(|padding| *padding > 0);
        if pads && !counts_padding {
            return self.pool(at, &pooling.spatial, Method::Mean, input, output);
        }
        let own = &pooling.spatial.after;
        let is_more = |axis: usize| own.get(1 - axis).is_none_or(|own| window.after[axis] as usize > *own);
        if pads && pooling.rounds_up && (0..2).any(is_more) {
            cpu!("PDP counts all of its windows' padding, and this mean not what rounding up adds");
        }
        let is_plain = window.size.iter().all(|size| *size <= MOST_SUMMED) && window.dilation == [1; 2];
        if (self.recodes(input, output) || pads && self.has_zero_point(input)) && is_plain {
            let Some(PlacedValue { source, .. }) = self.nchw(input)? else { cpu!("its input is no cube") };
            let draft = self.draft(at, mean_of(window, from.channels), vec![source], [from, to], output);
            self.add(draft, output, View::of_cube(to));
            return Ok(Ok(()));
        }
        self.pool(at, &pooling.spatial, Method::Average, input, output)
    }

    /// Returns true if the model gives an output other codes than an input.
    fn recodes(&self, input: ValueId, output: ValueId) -> bool {
        let own = self.code(output);
        self.hardware.is_integer && own.is_some() && own != self.code(input)
    }

    /// Returns true if the model gives a value codes whose zero is not the code 0, with which PDP pads.
    fn has_zero_point(&self, input: ValueId) -> bool {
        self.hardware.is_integer && self.code(input).is_some_and(|code| code.zero != 0)
    }

    fn pool(
        &mut self,
        at: usize,
        spatial: &Spatial,
        method: Method,
        input: ValueId,
        output: ValueId,
    ) -> Decided {
        let [Some(from), Some(to)] = [input, output].map(|id| cube_of(self.shape(id))) else {
            cpu!("its tensors are no cubes");
        };
        if spatial.dilations.iter().any(|dilation| *dilation != 1) {
            cpu!("PDP's windows have no gaps");
        }
        let Some(window) = window(spatial, from, to) else { cpu!("its windows are not of two axes") };
        if window.size.iter().any(|size| *size as usize > MOST) {
            cpu!("its windows are larger than PDP's {MOST} x {MOST}");
        }
        let Some(placed) = self.nchw(input)? else { cpu!("its input is no cube") };
        let view = View::of_cube(to);
        let kind = DraftKind::Pooling(Pooling { method, window });
        let draft = self.draft(at, kind, vec![placed.source], [from, to], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    /// A pooling of whole lines and columns: in steps where they are longer than a window.
    pub(crate) fn global_pool(
        &mut self,
        at: usize,
        is_average: bool,
        input: ValueId,
        output: ValueId,
    ) -> Decided {
        let Some(from) = cube_of(self.shape(input)) else { cpu!("its input is no cube") };
        let pads = || steps(from).is_some_and(|steps| steps.iter().any(|step| step.after != [0; 2]));
        let is_summed = self.recodes(input, output) || self.has_zero_point(input) && pads();
        if is_average && is_summed && from.width.max(from.height) <= MOST_SUMMED {
            let size = [from.width, from.height];
            let window = Window { size, stride: [1; 2], before: [0; 2], after: [0; 2], dilation: [1; 2] };
            let Some(PlacedValue { source, .. }) = self.nchw(input)? else { cpu!("its input is no cube") };
            let made = Shape { width: 1, height: 1, ..from };
            let draft = self.draft(at, mean_of(window, from.channels), vec![source], [from, made], output);
            self.add(draft, output, View::of_cube(made));
            return Ok(Ok(()));
        }
        let method = if is_average { Method::Average } else { Method::Max };
        let Some(steps) = steps(from) else {
            let Shape { width, height, .. } = from;
            cpu!("{height} lines of {width} are more than windows of windows of PDP have");
        };
        let Some(PlacedValue { source, .. }) = self.nchw(input)? else { cpu!("its input is no cube") };
        let (mut source, mut size) = (source, from);
        // Padding counts as zeros in what is divided.
        let counted: u32 = steps.iter().map(|step| step.size[0] * step.size[1]).product();
        let ratio = f64::from(counted) / f64::from(from.width * from.height);
        let is_exact = !is_average || ratio == 1.0;
        let count = steps.len();
        for (step, window) in steps.into_iter().enumerate() {
            let [across, down] =
                [0, 1].map(|axis| [size.width, size.height][axis].div_ceil(window.size[axis]));
            let made = Shape { width: across, height: down, ..size };
            let kind = DraftKind::Pooling(Pooling { method, window });
            let mut draft = self.draft(at, kind, vec![source], [size, made], output);
            if step + 1 == count && is_exact {
                self.add(draft, output, View::of_cube(made));
                return Ok(Ok(()));
            }
            draft.value = None;
            draft.name = format!("{} step {}", draft.name, step + 1);
            source = Some(self.push(draft));
            size = made;
        }
        let channels = from.channels as usize;
        let kind = DraftKind::Scaling { scales: vec![ratio; channels], addends: vec![0.0; channels] };
        let draft = self.draft(at, kind, vec![source], [size; 2], output);
        self.add(draft, output, View::of_cube(size));
        Ok(Ok(()))
    }
}

/// Windows of which each takes what the one before has made, until one pixel is left; what they lack is padding behind in the first
/// of them.
fn steps(cube: Shape) -> Option<Vec<Window>> {
    let (across, down) = (along(cube.width)?, along(cube.height)?);
    let count = across.0.len().max(down.0.len()).max(1);
    let of = |axis: &(Vec<u32>, u32), step: usize| {
        let padding = if step == 0 { axis.1 } else { 0 };
        (axis.0.get(step).copied().unwrap_or(1), padding)
    };
    let window = |step: usize| {
        let [(columns, right), (lines, bottom)] = [of(&across, step), of(&down, step)];
        let size = [columns, lines];
        Window { size, stride: size, before: [0; 2], after: [right, bottom], dilation: [1; 2] }
    };
    Some((0..count).map(window).collect())
}

/// Sizes of windows of windows along an axis, the largest first, and the padding that makes them whole.
fn along(size: u32) -> Option<(Vec<u32>, u32)> {
    (size..size + MOST as u32).find_map(|whole| {
        let (mut left, mut parts) = (whole, Vec::new());
        while left > 1 {
            let part = (2..=MOST as u32).rev().find(|part| left.is_multiple_of(*part))?;
            parts.push(part);
            left /= part;
        }
        let padding = whole - size;
        let fits = padding == 0 || parts.first().is_some_and(|first| padding < *first);
        fits.then_some((parts, padding))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_cube_is_pooled_in_steps() {
        let of = |width, height| {
            let steps = steps(Shape { width, height, channels: 4 }).unwrap();
            steps.iter().map(|window| (window.size, window.after)).collect::<Vec<_>>()
        };
        assert_eq!(of(7, 7), [([7, 7], [0, 0])]);
        assert_eq!(of(14, 7), [([7, 7], [0, 0]), ([2, 1], [0, 0])]);
        assert_eq!(of(1, 1), [([1, 1], [0, 0])]);
        assert_eq!(of(19, 25), [([5, 5], [1, 0]), ([4, 5], [0, 0])]);
        assert_eq!(of(160, 160), [([8, 8], [0, 0]), ([5, 5], [0, 0]), ([4, 4], [0, 0])]);
    }

    #[test]
    fn padding_behind_is_what_the_output_needs() {
        let spatial = Spatial {
            kernel: vec![3, 3],
            strides: vec![2, 2],
            dilations: vec![1, 1],
            before: vec![0, 0],
            after: vec![0, 0],
            auto_pad: AutoPad::SameUpper,
            groups: 1,
        };
        let size = |width, height| Shape { width, height, channels: 1 };
        let of = |spatial: &Spatial, from, to| {
            window(spatial, from, to).map(|window| [window.before, window.after])
        };
        // Of 6 columns 3 windows: one of padding behind. Of 5 lines 3 windows: one before, and one behind.
        assert_eq!(of(&spatial, size(6, 5), size(3, 3)), Some([[0, 1], [1, 1]]));
        let plain = Spatial { auto_pad: AutoPad::NotSet, ..spatial };
        assert_eq!(of(&plain, size(6, 6), size(2, 2)), Some([[0, 0], [0, 0]]));
    }
}
