//! Reach of a window over channels, and the elements that it is taken from.

/// The most elements an atom holds.
pub(super) const MAX_LANES: usize = 32;
/// The most channels of a window on either side of its centre; no atom holds fewer elements.
pub(super) const MAX_REACH: usize = 4;

/// The elements of a surface with the nearest of both neighbours.
pub(super) type Gathered<T> = [T; MAX_LANES + 2 * MAX_REACH];
