//! SDP, the single data point processor: bias, normalisation, element-wise operations and activation, one element
//! at a time.
//!
//! [`layer`] decodes a register group, [`compute`] does the arithmetic ([`lut`]: the lookup table of its last stage).

pub mod compute;
pub mod layer;
pub mod lut;
