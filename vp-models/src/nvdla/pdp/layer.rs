//! One PDP layer: the contents of a register group of PDP, and of the group of PDP_RDMA beside it.
//!
//! [`PdpLayer::decode`] (`decode.rs`) checks everything once, [`PdpLayer::encode`] is its inverse; [`super::compute`] and the timing rely on
//! it. All fields are plain data: tests build layers by hand.

use std::ops::Range;

use crate::nvdla::config::Config;
use crate::nvdla::cube;
use crate::nvdla::cube::Surface;
use crate::nvdla::formats::Formats;
use crate::nvdla::numeric::Precision;

/// Properties of a PDP, by hardware configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// Bytes of a memory atom: 8, 16 or 32.
    pub atom: usize,
    /// Formats that PDP pools besides int8.
    pub formats: Formats,
}

impl From<&Config> for Hardware {
    fn from(config: &Config) -> Self {
        Hardware { atom: config.memory_atom as usize, formats: Formats::of_features(config) }
    }
}

/// One hardware layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdpLayer {
    /// Bytes of a memory atom.
    pub atom: usize,
    /// Channels in and out; the last surface may be partly used.
    pub channels: u32,
    /// Element format.
    pub precision: Precision,
    /// In fp16, what is read and is not a number counts as 0.
    pub nan_to_zero: bool,
    /// Value that a window is reduced to.
    pub method: Method,
    /// Left to right.
    pub horizontal: Axis,
    /// Top to bottom.
    pub vertical: Axis,
    /// Source of the input.
    pub source: PdpSource,
    /// Surface to which output goes.
    pub destination: Surface,
    /// The input's vertical strips, left to right; a layer that is not split is one strip.
    pub strips: Strips,
}

/// Window geometry along one direction, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Input size.
    pub input: u32,
    /// Output size.
    pub output: u32,
    /// Window size, 1 to 8.
    pub kernel: u32,
    /// Step from window to window, 1 to 16.
    pub stride: u32,
    /// Padding before the first pixel: how far the first window starts outside. Less than the window size.
    pub padding: u32,
    /// Padding behind the last pixel. Less than the window size.
    pub padding_after: u32,
}

impl Axis {
    /// The largest window (PDP.D_POOLING_KERNEL_CFG: KERNEL_WIDTH, KERNEL_HEIGHT).
    pub const MOST_KERNEL: u32 = 8;

    /// The input pixels that the window of output pixel `output` covers. Never empty; shorter than the window where
    /// it hangs over an edge.
    #[inline]
    pub fn window(&self, output: u32) -> Range<u32> {
        let start = output * self.stride;
        let end = (start + self.kernel - self.padding.min(start + self.kernel)).min(self.input);
        start.saturating_sub(self.padding)..end
    }

    /// Pixels behind the last window.
    pub fn unread(&self) -> u32 {
        (self.padding + self.input).saturating_sub((self.output - 1) * self.stride + self.kernel)
    }

    /// Padding behind the last window.
    pub(super) fn surplus_padding(&self) -> u32 {
        (self.padding + self.input + self.padding_after - self.kernel) % self.stride
    }

    /// Windows that the RTL makes, which counts those that end in the padding by the padding alone, and not by where the last one
    /// ends (`NV_NVDLA_PDP_CORE_cal1d.v` and `_cal2d.v`: `flush_num_cal`, and `samllW_flush_num` where not even the first window
    /// ends in the input).
    pub(super) fn windows_of_rtl(&self) -> u32 {
        let flushed = (self.padding_after / self.stride).min(7);
        if flushed == 0 {
            return self.output;
        }
        match (self.padding + self.input).checked_sub(self.kernel) {
            Some(before) => {
                before / self.stride + 1 + flushed + u32::from(!before.is_multiple_of(self.stride))
            }
            // Only whole steps are known, and at most six.
            None if self.surplus_padding() > 0 || self.output > 7 => 1,
            None => self.output,
        }
    }

    /// Windows that are open at once: output lines under way, along the vertical axis.
    pub(super) const fn open_windows(&self) -> u32 {
        self.kernel.div_ceil(if self.stride == 0 { 1 } else { self.stride })
    }
}

/// The most output columns of a strip for which the line buffer holds that many lines: its eight banks of 16 columns
/// are merged in powers of two (RTL, `PDP_CORE_cal2d`).
pub(super) fn line_buffer_columns(lines: u32) -> u32 {
    8 * 16 / lines.next_power_of_two().min(128)
}

/// Value that a window is reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The mean, by two reciprocals; padding counts.
    Average(Average),
    /// The largest element; padding does not take part.
    Max,
    /// The smallest element; padding does not take part.
    Min,
}

/// Parameters of average pooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Average {
    /// 65536 / kernel width, 17 bits. In fp16 the code of 1 / width in 17 bits, and likewise below.
    pub reciprocal_width: u32,
    /// 65536 / kernel height, 17 bits.
    pub reciprocal_height: u32,
    /// Sums that 1 to 7 missing pixels add together: `PAD_VALUE_nX`, 19 bits signed.
    pub padding: [i32; 7],
}

/// Source of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PdpSource {
    /// SDP, on the fly.
    Sdp,
    /// Memory.
    Memory(Surface),
}

/// Strips into which a layer too wide for the line buffer is cut: `SPLIT_NUM` and the partial widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strips {
    /// Number of strips.
    pub count: u32,
    /// New input columns of the first, of the middle ones and of the last strip. Overlap is not included.
    pub input: [u32; 3],
    /// Output columns, likewise.
    pub output: [u32; 3],
}

/// One vertical strip of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strip {
    /// Input columns read, those shared with the strip before included.
    pub input: Range<u32>,
    /// Output columns made.
    pub output: Range<u32>,
}

impl Strips {
    /// The layer in one piece.
    pub const fn whole(horizontal: &Axis) -> Self {
        Strips { count: 1, input: [horizontal.input, 0, 0], output: [horizontal.output, 0, 0] }
    }

    /// As few strips as the line buffer allows, equal except for the last. A strip that is only padding has no
    /// columns, which no register can express: such a layer is refused.
    pub fn fitting(horizontal: &Axis, vertical: &Axis) -> Strips {
        let &Axis { input, output, kernel, stride, padding, .. } = horizontal;
        let most = line_buffer_columns(vertical.open_windows());
        if output <= most {
            return Strips::whole(horizontal);
        }
        let each = output.div_ceil(output.div_ceil(most));
        let count = output.div_ceil(each);
        // A strip's new columns begin behind those that its first window shares with the strip before.
        let begins = |output: u32| (output * stride + kernel.saturating_sub(stride)).saturating_sub(padding);
        let last = input.saturating_sub(begins(each * (count - 1)));
        Strips {
            count,
            input: [begins(each), each * stride, last],
            output: [each, each, output - each * (count - 1)],
        }
    }

    /// Returns true if there is only one strip, which input from SDP requires.
    pub const fn is_whole(&self) -> bool {
        self.count == 1
    }

    pub(super) fn columns(&self, widths: [u32; 3], index: u32) -> Range<u32> {
        let [first, middle, last] = widths;
        match index {
            0 => 0..first,
            _ => {
                let start = first + middle * (index - 1);
                start..start + if index + 1 == self.count { last } else { middle }
            }
        }
    }

    pub(super) fn total(&self, widths: [u32; 3]) -> u32 {
        self.columns(widths, self.count - 1).end
    }

    pub(super) fn strips(self, horizontal: &Axis) -> impl Iterator<Item = Strip> + use<> {
        let overlap = horizontal.kernel.saturating_sub(horizontal.stride);
        (0..self.count).map(move |index| {
            let new = self.columns(self.input, index);
            let input = if index == 0 { new } else { new.start.saturating_sub(overlap)..new.end };
            Strip { input, output: self.columns(self.output, index) }
        })
    }
}

impl PdpLayer {
    /// Elements in an atom.
    pub const fn lanes(&self) -> usize {
        self.atom / self.precision.bytes()
    }

    /// Surfaces of input and output.
    pub const fn surfaces(&self) -> u32 {
        cube::surfaces(self.channels, self.lanes())
    }

    /// The strips, left to right. Later strips read the columns again that their first window shares with the
    /// previous strip.
    pub fn strips(&self) -> impl Iterator<Item = Strip> + use<> {
        self.strips.strips(&self.horizontal)
    }
}

impl Average {
    pub(super) const NONE: Average = Average { reciprocal_width: 0, reciprocal_height: 0, padding: [0; 7] };

    /// The divisor for so many columns or rows: in 1/65536ths, or in fp16 the code of 1 / `size` in 17 bits.
    pub fn reciprocal(size: u32, precision: Precision) -> u32 {
        /// Of 1 to 8, rounded towards zero.
        const FP17: [u32; 8] = [0x7c00, 0x7800, 0x7555, 0x7400, 0x7266, 0x7155, 0x7092, 0x7000];
        let float = FP17.get(size.wrapping_sub(1) as usize);
        match float {
            Some(float) if precision == Precision::Fp16 => *float,
            _ => 0x1_0000 / size.max(1),
        }
    }

    /// The padding of n missing columns has the bits that n elements need; what is written above the sign does not count
    /// for negative values (C-model, `NV_NVDLA_pdp.cpp`). fp16 has all bits.
    pub(super) fn with_signs_of(mut self, precision: Precision) -> Average {
        let more = match precision {
            Precision::Int8 => 7,
            Precision::Int16 => 15,
            Precision::Fp16 => return self,
        };
        for (value, bits) in self.padding.iter_mut().zip([0, 1, 2, 2, 3, 3, 3]) {
            let sign = 1 << (more + bits);
            if *value & sign != 0 {
                *value |= -sign;
            }
        }
        self
    }
}
