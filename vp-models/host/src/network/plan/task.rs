//! Work that a plan does at once.

use super::parts::ConvolutionPart;
use crate::network::Cpu;
use crate::network::winograd::NoWinograd;

/// One layer, or a convolution with the pooling behind it.
pub(super) struct Task {
    /// The layer's place.
    pub(super) layer: usize,
    /// The pooling that takes on the fly what the convolution makes.
    pub(super) pooling: Option<usize>,
    /// A convolution's parts.
    pub(super) parts: Vec<ConvolutionPart>,
    /// Frames that run at once.
    pub(super) cubes: u32,
    /// Task of the CPU, if no unit does it.
    pub(super) cpu: Option<Cpu>,
    /// Reason why a convolution is computed directly though Winograd's method was asked for.
    pub(super) no_winograd: Option<NoWinograd>,
}

impl Task {
    /// Returns true if the task is a convolution by Winograd's method.
    pub(super) fn makes_tiles(&self) -> bool {
        self.parts.iter().any(|part| part.winograd.is_some())
    }
}
