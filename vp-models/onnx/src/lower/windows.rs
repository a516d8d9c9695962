//! Nodes with windows that are not convolutions: poolings.

use super::draft::Kind;
use super::drafter::{Drafter, Placed};
use super::nodes::{Decided, cpu, cube_of};
use super::view::View;
use vp_host::network::{Method, Pooling, Shape, Window};
use vp_tensors::{AutoPad, Spatial, ValueId};

/// Columns and lines of a window of PDP, at most (hardware manual, "PDP": 3 bits).
const MOST: usize = 8;

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
        // PDP divides by the size of the window, whatever of it is padding.
        if pads && (!counts_padding || pooling.rounds_up) {
            cpu!("PDP counts padding as a part of what it divides by");
        }
        self.pool(at, &pooling.spatial, Method::Average, input, output)
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
        let kind = Kind::Pooling(Pooling { method, window });
        let draft = self.draft(at, kind, vec![placed.source], [from, to], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    /// A pooling of whole lines and columns: in two steps where they are longer than a window.
    pub(crate) fn global_pool(
        &mut self,
        at: usize,
        is_average: bool,
        input: ValueId,
        output: ValueId,
    ) -> Decided {
        let Some(from) = cube_of(self.shape(input)) else { cpu!("its input is no cube") };
        let method = if is_average { Method::Average } else { Method::Max };
        let Some(steps) = steps(from) else {
            let Shape { width, height, .. } = from;
            cpu!("{height} lines of {width} are no windows of PDP, nor windows of windows");
        };
        let Some(Placed { source, .. }) = self.nchw(input)? else { cpu!("its input is no cube") };
        let (mut source, mut size) = (source, from);
        let count = steps.len();
        for (step, window) in steps.into_iter().enumerate() {
            let made = Shape { width: size.width / window[0], height: size.height / window[1], ..size };
            let window =
                Window { size: window, stride: window, before: [0; 2], after: [0; 2], dilation: [1; 2] };
            let mut draft =
                self.draft(at, Kind::Pooling(Pooling { method, window }), vec![source], [size, made], output);
            if step + 1 == count {
                self.add(draft, output, View::of_cube(made));
            } else {
                draft.value = None;
                draft.name = format!("{} first", draft.name);
                source = Some(self.push(draft));
            }
            size = made;
        }
        Ok(Ok(()))
    }
}

/// Windows of which each takes what the one before has made, until one pixel is left: one or two.
fn steps(cube: Shape) -> Option<Vec<[u32; 2]>> {
    let most = MOST as u32;
    let parts = |size: u32| match size <= most {
        true => Some([1, size]),
        false => (2..=most)
            .rev()
            .find(|part| size.is_multiple_of(*part) && size / part <= most)
            .map(|part| [part, size / part]),
    };
    let (across, down) = (parts(cube.width)?, parts(cube.height)?);
    let steps = [0, 1].map(|step| [across[step], down[step]]);
    Some(steps.into_iter().filter(|step| *step != [1, 1]).collect::<Vec<_>>())
        .map(|steps| if steps.is_empty() { vec![[1, 1]] } else { steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_cube_is_pooled_in_one_step_or_two() {
        let of = |width, height| steps(Shape { width, height, channels: 4 });
        assert_eq!(of(7, 7), Some(vec![[7, 7]]));
        assert_eq!(of(14, 7), Some(vec![[7, 1], [2, 7]]));
        assert_eq!(of(1, 1), Some(vec![[1, 1]]));
        assert_eq!(of(56, 56), Some(vec![[8, 8], [7, 7]]));
        assert_eq!(of(13, 13), None);
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
