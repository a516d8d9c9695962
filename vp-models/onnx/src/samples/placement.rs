//! Place of a picture in a network's input.

use super::resample::Span;

/// Place of a picture in the input that was made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Width and height of the picture.
    pub(super) picture: [usize; 2],
    /// Part of the resized picture that is the input, across and down.
    pub(super) spans: [Span; 2],
}

impl Placement {
    /// Width and height of the picture.
    pub fn picture(&self) -> [usize; 2] {
        self.picture
    }

    /// Returns the point of the picture that a point of the input shows, both in pixels from the left upper corner.
    pub fn in_picture(&self, point: [f64; 2]) -> [f64; 2] {
        let of = |axis: usize| {
            let Span { resized, start, .. } = self.spans[axis];
            (point[axis] + start as f64) * self.picture[axis] as f64 / resized as f64
        };
        [of(0), of(1)]
    }
}
