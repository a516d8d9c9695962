//! Views: a tensor of a graph as it lies in a cube.
//!
//! Reshaping and transposing move nothing as long as each axis of the tensor is a run of the cube's axes: what they
//! change is the view. `Flatten` of `[1, C, H, W]` is the view `[[], [C, H, W]]`.

use vp_host::network::Shape;

/// Axis of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CubeAxis {
    Channels,
    Height,
    Width,
}

use CubeAxis::{Channels, Height, Width};

/// Tensor of a graph in a cube: for each of its axes the cube's axes that it is, the slowest first. Axes of one element are
/// nobody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) cube: Shape,
    axes: Vec<Vec<CubeAxis>>,
}

/// Number of elements along an axis of a cube.
pub(crate) fn size(cube: Shape, axis: CubeAxis) -> usize {
    let size = match axis {
        Channels => cube.channels,
        Height => cube.height,
        Width => cube.width,
    };
    size as usize
}

impl View {
    /// The view of a tensor that is to become a cube: of four axes batch, channels, lines and columns; else channels are the last
    /// axis of more than one element. None if there are too many axes, or one is too long.
    pub(crate) fn natural(shape: &[usize]) -> Option<View> {
        let most = Shape::MOST as usize;
        if shape.is_empty() || shape.iter().any(|&size| size == 0 || size > most) {
            return (shape.is_empty())
                .then(|| View { cube: Shape { width: 1, height: 1, channels: 1 }, axes: vec![] });
        }
        let mut axes = vec![Vec::new(); shape.len()];
        let order: &[CubeAxis] = match shape {
            [1, ..] if shape.len() == 4 => {
                for (at, axis) in [(1, Channels), (2, Height), (3, Width)] {
                    axes[at] = if shape[at] > 1 { vec![axis] } else { vec![] };
                }
                &[]
            }
            _ => &[Channels, Width, Height],
        };
        let mut left = order.iter();
        for (at, _) in shape.iter().enumerate().rev().filter(|(_, size)| !order.is_empty() && **size > 1) {
            axes[at] = vec![*left.next()?];
        }
        let of = |wanted: CubeAxis| {
            let at = axes.iter().position(|axes| axes.contains(&wanted));
            at.map_or(1, |at| shape[at] as u32)
        };
        let cube = Shape { width: of(Width), height: of(Height), channels: of(Channels) };
        Some(View { cube, axes })
    }

    /// The view of `[1, C, H, W]`.
    pub(crate) fn of_cube(cube: Shape) -> View {
        let axis = |axis| if size(cube, axis) > 1 { vec![axis] } else { vec![] };
        View { cube, axes: vec![vec![], axis(Channels), axis(Height), axis(Width)] }
    }

    /// The tensor with another shape, if its axes are still runs of the cube's.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Option<View> {
        let mut left =
            self.axes.iter().flatten().copied().filter(|axis| size(self.cube, *axis) > 1).peekable();
        let mut axes = Vec::with_capacity(shape.len());
        for &wanted in shape {
            let (mut run, mut have) = (Vec::new(), 1);
            while have < wanted {
                let axis = left.next()?;
                have *= size(self.cube, axis);
                run.push(axis);
            }
            if have != wanted {
                return None;
            }
            axes.push(run);
        }
        left.peek().is_none().then_some(View { cube: self.cube, axes })
    }

    /// The tensor with its axes in another order: the input's axis of each axis of the output.
    pub(crate) fn transposed(&self, permutation: &[usize]) -> Option<View> {
        let axes = permutation.iter().map(|&axis| self.axes.get(axis).cloned()).collect::<Option<_>>()?;
        Some(View { cube: self.cube, axes })
    }

    /// Returns true if a tensor of this shape is `[1, C, H, W]` of the cube as it is.
    pub(crate) fn is_nchw(&self, shape: &[usize]) -> bool {
        let [1, channels, height, width] = *shape else { return false };
        [channels, height, width] == [Channels, Height, Width].map(|axis| size(self.cube, axis))
            && *self == View::of_cube(self.cube)
    }

    /// The cube's axes of more than one element that the tensor's last axis is, and whether those before are none.
    pub(crate) fn last(&self) -> Option<(&[CubeAxis], bool)> {
        let (last, before) = self.axes.split_last()?;
        Some((last, before.iter().all(Vec::is_empty)))
    }

    /// The view with the last axis on the channels, of another cube.
    pub(crate) fn with_channels(&self, cube: Shape) -> View {
        let mut axes = self.axes.clone();
        if let Some(last) = axes.last_mut() {
            *last = if cube.channels > 1 { vec![Channels] } else { vec![] };
        }
        View { cube, axes }
    }

    /// The cube's axis that an axis of the tensor is, if it is one alone.
    pub(crate) fn axis(&self, at: usize) -> Option<CubeAxis> {
        match self.axes.get(at)?[..] {
            [axis] => Some(axis),
            _ => None,
        }
    }

    /// The cube's axes in the order of the tensor's elements, and their sizes: a tensor of that shape has the same elements in
    /// the same order, and each of its axes is one of the cube.
    pub(crate) fn apart(&self) -> (Vec<CubeAxis>, Vec<usize>) {
        let axes: Vec<CubeAxis> = self.axes.iter().flatten().copied().collect();
        let sizes = axes.iter().map(|&axis| size(self.cube, axis)).collect();
        (axes, sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBE: Shape = Shape { width: 5, height: 3, channels: 8 };

    #[test]
    fn a_flattened_tensor_is_a_run_of_all_axes() {
        let view = View::of_cube(CUBE).reshaped(&[1, 120]).unwrap();
        assert_eq!(view.last().unwrap().0, [Channels, Height, Width]);
        assert!(view.reshaped(&[1, 8, 3, 5]).unwrap().is_nchw(&[1, 8, 3, 5]));
        assert_eq!(view.reshaped(&[10, 12]), None, "no axis of the cube is split");
    }

    #[test]
    fn lines_and_columns_may_be_one_axis_and_trade_places_with_channels() {
        let view = View::of_cube(CUBE).reshaped(&[1, 8, 15]).unwrap().transposed(&[0, 2, 1]).unwrap();
        assert_eq!(view.last().unwrap(), (&[Channels][..], false));
        assert_eq!(view.apart(), (vec![Height, Width, Channels], vec![3, 5, 8]));
        assert!(!view.is_nchw(&[1, 15, 8]));
    }

    #[test]
    fn what_becomes_a_cube_has_its_last_axis_as_channels_unless_it_has_four() {
        let cube = |shape: &[usize]| View::natural(shape).map(|view| view.cube.to_string());
        assert_eq!(cube(&[1, 3, 20, 10]).unwrap(), "10x20x3");
        assert_eq!(cube(&[1, 40, 96]).unwrap(), "40x1x96");
        assert_eq!(cube(&[7]).unwrap(), "1x1x7");
        assert_eq!(cube(&[]).unwrap(), "1x1x1");
        assert_eq!(cube(&[2, 3, 4, 5]), None);
        assert_eq!(cube(&[1, 9000]), None);
    }
}
