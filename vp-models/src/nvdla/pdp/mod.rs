//! PDP, the planar data processor: maximum, minimum and average pooling.
//!
//! [`layer`] decodes a register group, [`compute`] does the arithmetic.

pub mod compute;
pub mod layer;
