//! Nodes with windows that are not convolutions: poolings.

use super::draft::{Draft, DraftKind, Kernels, Source, Weights};
use super::drafter::{Drafter, PlacedValue};
use super::nodes::{Decided, cpu, cube};
use super::view::View;
use vp_host::network::{Method, Pooling, Shape, Window};
use vp_tensors::{AutoPad, Spatial, ValueId};

/// Columns and lines of a window of PDP, at most (hardware manual, "PDP": 3 bits).
const MOST: usize = 8;

/// Columns and lines of a mean that is a convolution, at most: the kernels of CSC have 5 bits of each.
const MOST_SUMMED: u32 = 32;

/// Columns and lines from one window of a convolution to the next, at most: CSC has 3 bits of each.
const MOST_STRIDE: u32 = 8;

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
        let [from, to] = match self.cubes_of([input, output]) {
            Ok(cubes) => cubes,
            Err(why) => return Ok(Err(why)),
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
            cpu!(
                "with `ceil_mode` its last windows reach beyond its padding, and PDP divides by all that a window has"
            );
        }
        if self.is_whole(window, from, to) {
            return self.global_pool(at, true, input, output);
        }
        let is_pdps = !is_large(window) || smaller(window, from, to, Method::Average).is_some();
        let is_plain = window.size.iter().all(|size| *size <= MOST_SUMMED)
            && window.dilation == [1; 2]
            && (is_pdps || window.stride.iter().all(|stride| *stride <= MOST_STRIDE));
        let is_summed = self.recodes(input, output) || pads && self.has_zero_point(input) || !is_pdps;
        if self.hardware.is_integer && is_summed && is_plain {
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
        let [from, to] = match self.cubes_of([input, output]) {
            Ok(cubes) => cubes,
            Err(why) => return Ok(Err(why)),
        };
        if spatial.dilations.iter().any(|dilation| *dilation != 1) {
            cpu!("PDP's windows have no gaps");
        }
        let Some(window) = window(spatial, from, to) else { cpu!("its windows are not of two axes") };
        if self.is_whole(window, from, to) {
            return self.global_pool(at, method != Method::Max, input, output);
        }
        let steps = match is_large(window) {
            true => smaller(window, from, to, method),
            false => Some(vec![window]),
        };
        let Some(steps) = steps else {
            let [columns, rows] = window.size;
            cpu!(
                "its windows of {rows} x {columns} are larger than PDP's {MOST} x {MOST}, and cannot be made of such"
            );
        };
        let Some(PlacedValue { source, .. }) = self.nchw(input)? else { cpu!("its input is no cube") };
        self.add_steps(at, method, &steps, (source, from), output);
        Ok(Ok(()))
    }

    /// Returns true if a window larger than PDP's has all of a cube.
    fn is_whole(&self, window: Window, from: Shape, to: Shape) -> bool {
        let is_all = window.size == [from.width, from.height] && [to.width, to.height] == [1; 2];
        is_large(window) && is_all && [window.before, window.after] == [[0; 2]; 2]
    }

    /// Adds poolings of which each takes what the one before has made; the last one gives the value.
    fn add_steps(
        &mut self,
        at: usize,
        method: Method,
        steps: &[Window],
        from: (Source, Shape),
        output: ValueId,
    ) {
        let Some((last, steps)) = steps.split_last() else { return };
        let from = self.push_steps(at, method, steps, from, output);
        let draft = self.step(at, method, *last, from, output);
        let view = View::of_cube(draft.output);
        self.add(draft, output, view);
    }

    /// Adds poolings as [`Drafter::add_steps`] does, of which none gives the value, and returns what the last one makes.
    fn push_steps(
        &mut self,
        at: usize,
        method: Method,
        steps: &[Window],
        mut from: (Source, Shape),
        output: ValueId,
    ) -> (Source, Shape) {
        for (step, window) in steps.iter().enumerate() {
            let draft = self.step(at, method, *window, from, output);
            let (name, made) = (format!("{} step {}", draft.name, step + 1), draft.output);
            from = (Some(self.push(Draft { value: None, name, ..draft })), made);
        }
        from
    }

    /// A pooling of a cube.
    fn step(
        &self,
        at: usize,
        method: Method,
        window: Window,
        (source, size): (Source, Shape),
        output: ValueId,
    ) -> Draft {
        let [width, height] = [(0, size.width), (1, size.height)].map(|(axis, size)| {
            (window.before[axis] + size + window.after[axis] - window.size[axis]) / window.stride[axis] + 1
        });
        let kind = DraftKind::Pooling(Pooling { method, window });
        self.draft(at, kind, vec![source], [size, Shape { width, height, ..size }], output)
    }

    /// A pooling of whole lines and columns: in steps where they are longer than a window.
    pub(crate) fn global_pool(
        &mut self,
        at: usize,
        is_average: bool,
        input: ValueId,
        output: ValueId,
    ) -> Decided {
        let from = match cube(self.shape(input)) {
            Ok(cube) => cube,
            Err(why) => return Ok(Err(why)),
        };
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
        // Padding counts as zeros in what is divided.
        let counted: u32 = steps.iter().map(|step| step.size[0] * step.size[1]).product();
        let ratio = f64::from(counted) / f64::from(from.width * from.height);
        if !is_average || ratio == 1.0 {
            self.add_steps(at, method, &steps, (source, from), output);
            return Ok(Ok(()));
        }
        let (source, size) = self.push_steps(at, method, &steps, (source, from), output);
        let channels = from.channels as usize;
        let kind = DraftKind::Scaling { scales: vec![ratio; channels], addends: vec![0.0; channels] };
        let draft = self.draft(at, kind, vec![source], [size; 2], output);
        self.add(draft, output, View::of_cube(size));
        Ok(Ok(()))
    }
}

/// Returns true if a window is larger than PDP's.
fn is_large(window: Window) -> bool {
    window.size.iter().any(|size| *size as usize > MOST)
}

/// Windows of one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AxisWindows {
    size: u32,
    /// Distance of windows; none if there is but one, behind which nothing is left.
    stride: Option<u32>,
    before: u32,
    after: u32,
}

impl AxisWindows {
    /// Windows that leave an axis as it is.
    const PIXEL: AxisWindows = AxisWindows { size: 1, stride: Some(1), before: 0, after: 0 };

    fn of(window: Window, axis: usize, [input, outputs]: [u32; 2]) -> AxisWindows {
        let (size, before, after) = (window.size[axis], window.before[axis], window.after[axis]);
        let is_one = outputs == 1 && before + input + after == size;
        AxisWindows { size, stride: (!is_one).then_some(window.stride[axis]), before, after }
    }

    /// Windows of PDP's size whose windows these are, the first ones first: the largest of the largest, and of means those that have no
    /// element in common.
    ///
    /// Of the largest padding is nothing, so that it may come at any step as long as each window has an element: as much of it as possible
    /// comes at first.
    fn smaller(self, method: Method) -> Option<Vec<AxisWindows>> {
        let is_mean = method != Method::Max;
        let (mut left, mut steps) = (self, Vec::new());
        if is_mean && left.size as usize > MOST && (left.before, left.after) != (0, 0)
            || left.before.max(left.after) >= left.size
        {
            return None;
        }
        while left.size as usize > MOST {
            let strides = (1..=MOST as u32).rev();
            let (size, stride) = strides
                .filter(|&stride| left.stride.is_none_or(|all| all.is_multiple_of(stride)))
                .find_map(|stride| {
                    let largest = if is_mean { stride } else { MOST as u32 };
                    let fits = |size: &u32| *size > 1 && (left.size - size).is_multiple_of(stride);
                    Some(((stride..=largest).rev().find(fits)?, stride))
                })?;
            // Whole strides of padding are left over for the windows of these windows.
            let part = |padding: u32| match padding < size {
                true => padding,
                false => size - 1 - (size - 1 + stride - padding % stride) % stride,
            };
            let (before, after) = (part(left.before), part(left.after));
            steps.push(AxisWindows { size, stride: Some(stride), before, after });
            left = AxisWindows {
                size: (left.size - size) / stride + 1,
                stride: left.stride.map(|all| all / stride),
                before: (left.before - before) / stride,
                after: (left.after - after) / stride,
            };
        }
        steps.push(left);
        Some(steps)
    }
}

/// Windows of PDP's size of which each takes what the one before has made, and which together are a larger one.
fn smaller(window: Window, from: Shape, to: Shape, method: Method) -> Option<Vec<Window>> {
    let sizes = [[from.width, to.width], [from.height, to.height]];
    let along = |axis: usize| AxisWindows::of(window, axis, sizes[axis]).smaller(method);
    let (across, down) = (along(0)?, along(1)?);
    let step = |step: usize| {
        let both = [&across, &down].map(|axis| axis.get(step).copied().unwrap_or(AxisWindows::PIXEL));
        Window {
            size: both.map(|axis| axis.size),
            stride: both.map(|axis| axis.stride.unwrap_or(axis.size)),
            before: both.map(|axis| axis.before),
            after: both.map(|axis| axis.after),
            dilation: [1; 2],
        }
    };
    Some((0..across.len().max(down.len())).map(step).collect())
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

    /// Windows of an axis, each of what the one before has made of `0..size`: where padding is nothing, the elements that they have.
    fn elements(steps: &[AxisWindows], size: u32) -> Vec<Vec<u32>> {
        let mut made: Vec<Vec<u32>> = (0..size).map(|at| vec![at]).collect();
        for step in steps {
            let stride = step.stride.unwrap_or(step.size);
            let outputs = (step.before + made.len() as u32 + step.after - step.size) / stride + 1;
            let of = |output: u32| {
                let start = output * stride;
                let end = (start + step.size).saturating_sub(step.before).min(made.len() as u32);
                let parts = &made[start.saturating_sub(step.before) as usize..end as usize];
                assert!(!parts.is_empty(), "a window of {step:?} has padding alone");
                let mut all = parts.concat();
                all.sort_unstable();
                all
            };
            made = (0..outputs).map(of).collect();
        }
        made
    }

    #[test]
    fn large_windows_are_windows_of_windows() {
        let mut means = 0;
        for size in 9..36_u32 {
            for (stride, before, after, input) in (1..=size).flat_map(|stride| {
                [(0, 0), (size / 2, size / 2), (1, 0), (size - 1, size - 1), (0, 3)]
                    .into_iter()
                    .flat_map(move |(before, after)| [size, 40].map(|input| (stride, before, after, input)))
            }) {
                let outputs = (before + input + after - size) / stride + 1;
                // Padding behind is what the last window needs.
                let after = ((outputs - 1) * stride + size).saturating_sub(before + input);
                let window = Window {
                    size: [size, 1],
                    stride: [stride, 1],
                    before: [before, 0],
                    after: [after, 0],
                    dilation: [1; 2],
                };
                let of = AxisWindows::of(window, 0, [input, outputs]);
                let whole = elements(&[of], input);
                assert_eq!(whole.len() as u32, outputs);
                let steps = of.smaller(Method::Max).unwrap();
                let mut found = elements(&steps, input);
                found.iter_mut().for_each(Vec::dedup);
                assert_eq!(found, whole, "{of:?}: {steps:?}");
                assert!(steps.iter().all(|step| step.size <= 8 && step.before.max(step.after) < step.size));
                // Each element counts once in a mean.
                if let Some(steps) = of.smaller(Method::Average) {
                    assert_eq!(elements(&steps, input), whole, "{of:?}: {steps:?}");
                    means += 1;
                }
            }
        }
        assert!(means > 100, "{means}");
    }

    #[test]
    fn means_of_means_have_no_element_in_common() {
        let of = |size, stride, before| {
            let steps = AxisWindows { size, stride, before, after: 0 }.smaller(Method::Average)?;
            Some(steps.iter().map(|step| (step.size, step.stride)).collect::<Vec<_>>())
        };
        assert_eq!(of(20, Some(20), 0), Some(vec![(5, Some(5)), (4, Some(4))]));
        assert_eq!(of(12, Some(4), 0), Some(vec![(4, Some(4)), (3, Some(1))]));
        assert_eq!(of(12, None, 0), Some(vec![(6, Some(6)), (2, None)]));
        assert_eq!(of(9, Some(1), 0), None);
        assert_eq!(of(11, Some(11), 0), None);
        assert_eq!(of(12, Some(12), 2), None);
        assert_eq!(of(7, Some(3), 3), Some(vec![(7, Some(3))]));
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
