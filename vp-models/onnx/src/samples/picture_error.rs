//! Errors of pictures, and the sizes that are decoded.

use super::netpbm_error::NetpbmError;

/// Most pixels of a side.
pub(super) const MOST_SIDE: usize = 65_535;

/// Most pixels of a picture.
const MOST_PIXELS: usize = 64 << 20;

/// Error of a file that begins as a picture does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// Another size than the one asked for.
    #[error("{} x {} pixels; the input has {} x {}", found[0], found[1], wanted[0], wanted[1])]
    Size {
        /// Width and height of the picture.
        found: [usize; 2],
        /// Width and height that it should have.
        wanted: [usize; 2],
    },
    /// A size that is not decoded.
    #[error("{} x {} pixels; 1 to {MOST_SIDE} a side and {MOST_PIXELS} in all are decoded", .0[0], .0[1])]
    Bounds([usize; 2]),
    /// A PNG that its decoder refuses.
    #[error("PNG: {0}")]
    Png(String),
    /// A JPEG that its decoder refuses.
    #[error("JPEG: {0}")]
    Jpeg(String),
    /// A PGM or PPM that is wrong.
    #[error(transparent)]
    Netpbm(#[from] NetpbmError),
}

/// Error of a size that is not decoded.
pub(super) fn within_bounds(size: [usize; 2]) -> Result<(), PictureError> {
    let is_side = |side: &usize| (1..=MOST_SIDE).contains(side);
    match size.iter().all(is_side) && size[0] * size[1] <= MOST_PIXELS {
        true => Ok(()),
        false => Err(PictureError::Bounds(size)),
    }
}
