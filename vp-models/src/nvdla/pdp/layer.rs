//! One PDP layer: what a register group of PDP, and the one of PDP_RDMA beside it, say.
//!
//! [`PdpLayer::decode`] checks everything once, [`PdpLayer::encode`] is its inverse; [`super::compute`] and the timing rely on it. All fields are plain data:
//! tests build layers by hand.

use std::ops::Range;

use crate::nvdla::config::Config;
use crate::nvdla::cube::{self, Packing, Surface};
use crate::nvdla::formats::Formats;
use crate::nvdla::numeric::Precision;
use crate::nvdla::place::{LowBits, Place};
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, Group, pdp as reg, pdp_rdma as rdma_reg};

/// What a PDP consists of, by hardware configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// Bytes of a memory atom: 8, 16 or 32.
    pub atom: usize,
    /// What it pools besides int8.
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
    /// What a window is reduced to.
    pub method: Method,
    /// Left to right.
    pub horizontal: Axis,
    /// Top to bottom.
    pub vertical: Axis,
    /// Where input comes from.
    pub source: PdpSource,
    /// Where output goes.
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
    fn surplus_padding(&self) -> u32 {
        (self.padding + self.input + self.padding_after - self.kernel) % self.stride
    }

    /// Windows that the RTL makes, which counts those that end in the padding by the padding alone, and not by where the last one
    /// ends (`NV_NVDLA_PDP_CORE_cal1d.v` and `_cal2d.v`: `flush_num_cal`, and `samllW_flush_num` where not even the first window
    /// ends in the input).
    fn windows_of_rtl(&self) -> u32 {
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
    const fn open_windows(&self) -> u32 {
        self.kernel.div_ceil(if self.stride == 0 { 1 } else { self.stride })
    }
}

/// The most output columns of a strip for which the line buffer holds that many lines: its eight banks of 16 columns
/// are merged in powers of two (RTL, `PDP_CORE_cal2d`).
fn line_buffer_columns(lines: u32) -> u32 {
    8 * 16 / lines.next_power_of_two().min(128)
}

/// What a window is reduced to.
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
    /// What 1 to 7 missing pixels add together: `PAD_VALUE_nX`, 19 bits signed.
    pub padding: [i32; 7],
}

/// Where the input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PdpSource {
    /// On the fly from SDP.
    Sdp,
    /// From memory.
    Memory(Surface),
}

/// How a layer too wide for the line buffer is cut: `SPLIT_NUM` and the partial widths.
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

    /// As few as the line buffer has room for, equal ones but for the last. A strip in padding alone has no columns, which no
    /// register can say: such a layer is refused.
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

    /// Whether there is but one, as there must be of what comes from SDP.
    pub const fn is_whole(&self) -> bool {
        self.count == 1
    }

    fn columns(&self, widths: [u32; 3], index: u32) -> Range<u32> {
        let [first, middle, last] = widths;
        match index {
            0 => 0..first,
            _ => {
                let start = first + middle * (index - 1);
                start..start + if index + 1 == self.count { last } else { middle }
            }
        }
    }

    fn total(&self, widths: [u32; 3]) -> u32 {
        self.columns(widths, self.count - 1).end
    }

    fn strips(self, horizontal: &Axis) -> impl Iterator<Item = Strip> + use<> {
        let overlap = horizontal.kernel.saturating_sub(horizontal.stride);
        (0..self.count).map(move |index| {
            let new = self.columns(self.input, index);
            let input = if index == 0 { new } else { new.start.saturating_sub(overlap)..new.end };
            Strip { input, output: self.columns(self.output, index) }
        })
    }
}

/// Where PDP reads.
pub(super) const SOURCE: Place = Place {
    ram: rdma_reg::D_SRC_RAM_CFG::SRC_RAM_TYPE,
    base: [
        rdma_reg::D_SRC_BASE_ADDR_LOW::SRC_BASE_ADDR_LOW,
        rdma_reg::D_SRC_BASE_ADDR_HIGH::SRC_BASE_ADDR_HIGH,
    ],
    line_stride: rdma_reg::D_SRC_LINE_STRIDE::SRC_LINE_STRIDE,
    surface_stride: rdma_reg::D_SRC_SURFACE_STRIDE::SRC_SURFACE_STRIDE,
};

/// Where it writes.
pub(super) const DESTINATION: Place = Place {
    ram: reg::D_DST_RAM_CFG::DST_RAM_TYPE,
    base: [reg::D_DST_BASE_ADDR_LOW::DST_BASE_ADDR_LOW, reg::D_DST_BASE_ADDR_HIGH::DST_BASE_ADDR_HIGH],
    line_stride: reg::D_DST_LINE_STRIDE::DST_LINE_STRIDE,
    surface_stride: reg::D_DST_SURFACE_STRIDE::DST_SURFACE_STRIDE,
};

impl PdpLayer {
    /// What is wrong with the registers of where its cubes lie, each as a sentence.
    pub(super) fn unaligned(&self, pdp: &Group, rdma: &Group) -> Vec<String> {
        let mut all = match &self.source {
            PdpSource::Memory(surface) => {
                SOURCE.unaligned(rdma, surface, (self.vertical.input, self.surfaces()), LowBits::OfSums)
            }
            PdpSource::Sdp => Vec::new(),
        };
        let size = (self.vertical.output, self.surfaces());
        all.extend(DESTINATION.unaligned(pdp, &self.destination, size, LowBits::OfSums));
        all
    }

    /// Elements in an atom.
    pub const fn lanes(&self) -> usize {
        self.atom / self.precision.bytes()
    }

    /// Surfaces of input and output.
    pub const fn surfaces(&self) -> u32 {
        cube::surfaces(self.channels, self.lanes())
    }

    /// The strips, left to right. Strips behind the first read again the columns their first window shares with the
    /// strip before.
    pub fn strips(&self) -> impl Iterator<Item = Strip> + use<> {
        self.strips.strips(&self.horizontal)
    }

    /// Why the RTL does not end this layer, or ends it with other bytes: it makes other windows than the registers say.
    pub(super) fn stands(&self) -> Option<String> {
        let axes = [(&HORIZONTAL, &self.horizontal, "cal1d"), (&VERTICAL, &self.vertical, "cal2d")];
        let (fields, axis, unit) =
            axes.into_iter().find(|(_, axis, _)| axis.windows_of_rtl() != axis.output)?;
        let (made, least) =
            (axis.windows_of_rtl(), axis.padding_after.saturating_sub(axis.surplus_padding()));
        let (field, value, windows) = (fields.padding_after, axis.padding_after, axis.output);
        Some(format!(
            "PDP.{field} is {value}, of which {} lie behind the last of {windows} windows: the RTL makes {made} windows \
             (NV_NVDLA_PDP_CORE_{unit}, flush_num), and hangs or leaves other bytes in this layer or in the next; {least} ends with the \
             last window. The layer waits for ever",
            axis.surplus_padding()
        ))
    }

    /// Whether a layer that these PDP registers describe needs PDP_RDMA.
    pub fn needs_rdma(pdp: &Group) -> bool {
        pdp.get(reg::D_OPERATION_MODE_CFG::FLYING_MODE) == reg::D_OPERATION_MODE_CFG::FLYING_MODE::OFF_FLYING
    }

    /// Decodes and checks a group of PDP and, if the layer reads memory, of PDP_RDMA (not looked at otherwise).
    ///
    /// PDP's own source address and PDP_RDMA's flying mode are left to their reset values by drivers: neither counts.
    pub fn decode(pdp: &Group, rdma: &Group, hardware: &Hardware) -> Result<PdpLayer, Refused> {
        use reg::D_DATA_FORMAT::INPUT_DATA;
        let precision = hardware.formats.decode(pdp, INPUT_DATA)?;
        if pdp.get(reg::D_DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL)
            != pdp.get(reg::D_DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL)
        {
            let why = format!(
                "pooling keeps the channels, PDP.{} is {}",
                reg::D_DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL,
                pdp.get(reg::D_DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL)
            );
            return Err(Refused::new(pdp, reg::D_DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL, why));
        }
        let horizontal = axis(pdp, &HORIZONTAL)?;
        let vertical = axis(pdp, &VERTICAL)?;
        let atom = hardware.atom as u32;
        let source = if Self::needs_rdma(pdp) {
            check_rdma_agrees(pdp, rdma)?;
            PdpSource::Memory(SOURCE.surface(rdma, (atom, atom), Packing::Strided, LowBits::OfSums))
        } else {
            PdpSource::Sdp
        };
        Ok(PdpLayer {
            atom: hardware.atom,
            channels: pdp.actual(reg::D_DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL),
            precision,
            // Of what comes from SDP it flushes nothing.
            nan_to_zero: source != PdpSource::Sdp && pdp.flag(reg::D_NAN_FLUSH_TO_ZERO::NAN_TO_ZERO),
            method: method(pdp, precision)?,
            horizontal,
            vertical,
            source,
            destination: DESTINATION.surface(pdp, (atom, atom), Packing::Strided, LowBits::OfSums),
            strips: strips(pdp, &horizontal, &vertical, source)?,
        })
    }
}

/// The new input columns of the strips: first, middle, last.
pub(super) const PARTIAL_IN: [FieldRef; 3] = {
    use reg::D_PARTIAL_WIDTH_IN::*;
    [PARTIAL_WIDTH_IN_FIRST, PARTIAL_WIDTH_IN_MID, PARTIAL_WIDTH_IN_LAST]
};

/// Their output columns.
pub(super) const PARTIAL_OUT: [FieldRef; 3] = {
    use reg::D_PARTIAL_WIDTH_OUT::*;
    [PARTIAL_WIDTH_OUT_FIRST, PARTIAL_WIDTH_OUT_MID, PARTIAL_WIDTH_OUT_LAST]
};

/// What 1 to 7 missing pixels add.
pub(super) const PADDING: [FieldRef; 7] = [
    reg::D_POOLING_PADDING_VALUE_1_CFG::PAD_VALUE_1X,
    reg::D_POOLING_PADDING_VALUE_2_CFG::PAD_VALUE_2X,
    reg::D_POOLING_PADDING_VALUE_3_CFG::PAD_VALUE_3X,
    reg::D_POOLING_PADDING_VALUE_4_CFG::PAD_VALUE_4X,
    reg::D_POOLING_PADDING_VALUE_5_CFG::PAD_VALUE_5X,
    reg::D_POOLING_PADDING_VALUE_6_CFG::PAD_VALUE_6X,
    reg::D_POOLING_PADDING_VALUE_7_CFG::PAD_VALUE_7X,
];

impl Average {
    pub(super) const NONE: Average = Average { reciprocal_width: 0, reciprocal_height: 0, padding: [0; 7] };

    /// What divides by so many columns or rows: in 1/65536ths, or in fp16 the code of 1 / `size` in 17 bits.
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
    fn with_signs_of(mut self, precision: Precision) -> Average {
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

fn method(pdp: &Group, precision: Precision) -> Result<Method, Refused> {
    use reg::D_OPERATION_MODE_CFG::POOLING_METHOD;
    Ok(match pdp.get(POOLING_METHOD) {
        POOLING_METHOD::POOLING_METHOD_AVERAGE => Method::Average(
            Average {
                reciprocal_width: pdp.get(reg::D_RECIP_KERNEL_WIDTH::RECIP_KERNEL_WIDTH),
                reciprocal_height: pdp.get(reg::D_RECIP_KERNEL_HEIGHT::RECIP_KERNEL_HEIGHT),
                padding: PADDING.map(|field| pdp.sign_extended(field)),
            }
            .with_signs_of(precision),
        ),
        POOLING_METHOD::POOLING_METHOD_MAX => Method::Max,
        POOLING_METHOD::POOLING_METHOD_MIN => Method::Min,
        _ => return Err(Refused::new(pdp, POOLING_METHOD, "there are 0 (average), 1 (max) and 2 (min)")),
    })
}

/// The fields of one direction.
pub(super) struct AxisFields {
    pub(super) input: FieldRef,
    pub(super) output: FieldRef,
    pub(super) kernel: FieldRef,
    pub(super) stride: FieldRef,
    pub(super) padding: FieldRef,
    pub(super) padding_after: FieldRef,
}

pub(super) const HORIZONTAL: AxisFields = AxisFields {
    input: reg::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH,
    output: reg::D_DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH,
    kernel: reg::D_POOLING_KERNEL_CFG::KERNEL_WIDTH,
    stride: reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH,
    padding: reg::D_POOLING_PADDING_CFG::PAD_LEFT,
    padding_after: reg::D_POOLING_PADDING_CFG::PAD_RIGHT,
};

pub(super) const VERTICAL: AxisFields = AxisFields {
    input: reg::D_DATA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT,
    output: reg::D_DATA_CUBE_OUT_HEIGHT::CUBE_OUT_HEIGHT,
    kernel: reg::D_POOLING_KERNEL_CFG::KERNEL_HEIGHT,
    stride: reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_HEIGHT,
    padding: reg::D_POOLING_PADDING_CFG::PAD_TOP,
    padding_after: reg::D_POOLING_PADDING_CFG::PAD_BOTTOM,
};

fn axis(pdp: &Group, fields: &AxisFields) -> Result<Axis, Refused> {
    let axis = Axis {
        input: pdp.actual(fields.input),
        output: pdp.actual(fields.output),
        kernel: pdp.actual(fields.kernel),
        stride: pdp.actual(fields.stride),
        padding: pdp.get(fields.padding),
        padding_after: pdp.get(fields.padding_after),
    };
    if axis.kernel > 8 {
        return Err(Refused::new(pdp, fields.kernel, "windows are at most 8 pixels long (7)"));
    }
    for (field, padding) in [(fields.padding, axis.padding), (fields.padding_after, axis.padding_after)] {
        if padding >= axis.kernel {
            let why = format!("a window of {} would hold only padding", axis.kernel);
            return Err(Refused::new(pdp, field, why));
        }
    }
    let padded = axis.padding + axis.input + axis.padding_after;
    let Some(room) = padded.checked_sub(axis.kernel) else {
        return Err(Refused::new(pdp, fields.kernel, format!("the padded input is only {padded} long")));
    };
    let windows = room / axis.stride + 1;
    if axis.output != windows {
        return Err(Refused::new(
            pdp,
            fields.output,
            format!("{windows} windows fit, that is {}", windows - 1),
        ));
    }
    let last = (axis.output - 1) * axis.stride;
    if last >= axis.padding + axis.input {
        return Err(Refused::new(pdp, fields.padding_after, "the last window would hold only padding"));
    }
    Ok(axis)
}

fn strips(pdp: &Group, horizontal: &Axis, vertical: &Axis, source: PdpSource) -> Result<Strips, Refused> {
    use reg::{D_OPERATION_MODE_CFG::SPLIT_NUM, D_PARTIAL_WIDTH_IN::*, D_PARTIAL_WIDTH_OUT::*};
    let count = pdp.actual(SPLIT_NUM);
    let lines = vertical.open_windows();
    let fits = |field: FieldRef, columns: u32| {
        let most = line_buffer_columns(lines);
        if columns <= most {
            return Ok(());
        }
        let why =
            format!("the line buffer holds {lines} lines of at most {most} columns, that is {}", most - 1);
        Err(Refused::new(pdp, field, why))
    };
    if count == 1 {
        fits(reg::D_DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH, horizontal.output)?;
        return Ok(Strips::whole(horizontal));
    }
    if source == PdpSource::Sdp {
        return Err(Refused::new(pdp, SPLIT_NUM, "input from SDP comes line by line and cannot be split"));
    }
    let strips = Strips {
        count,
        input: PARTIAL_IN.map(|it| pdp.actual(it)),
        output: PARTIAL_OUT.map(|it| pdp.actual(it)),
    };
    for (field, widths, width) in [
        (PARTIAL_WIDTH_IN_FIRST, strips.input, horizontal.input),
        (PARTIAL_WIDTH_OUT_FIRST, strips.output, horizontal.output),
    ] {
        let total = strips.total(widths);
        if total != width {
            return Err(Refused::new(pdp, field, format!("the strips add up to {total} columns of {width}")));
        }
    }
    for (field, (of_use, columns)) in
        PARTIAL_OUT.into_iter().zip([true, count > 2, true].into_iter().zip(strips.output))
    {
        if of_use {
            fits(field, columns)?;
        }
    }
    for strip in strips.strips(horizontal) {
        let needed = horizontal.window(strip.output.start).start..horizontal.window(strip.output.end - 1).end;
        if needed.start < strip.input.start || needed.end > strip.input.end {
            let why = format!(
                "the strip that makes output columns {:?} reads input columns {:?}, its windows cover {needed:?}",
                strip.output, strip.input
            );
            return Err(Refused::new(pdp, PARTIAL_WIDTH_OUT_FIRST, why));
        }
        // Only the first strip has padding on its left; in the others windows begin where reading does.
        let begin = i64::from(strip.output.start * horizontal.stride) - i64::from(horizontal.padding);
        if strip.output.start > 0 && begin != i64::from(strip.input.start) {
            let why = format!(
                "the strip that makes output columns {:?} reads from column {} on, its first window begins at {begin}",
                strip.output, strip.input.start
            );
            return Err(Refused::new(pdp, PARTIAL_WIDTH_OUT_FIRST, why));
        }
    }
    Ok(strips)
}

/// PDP_RDMA must deliver what PDP expects: hardware would wait for the rest for ever.
fn check_rdma_agrees(pdp: &Group, rdma: &Group) -> Result<(), Refused> {
    let mut pairs = vec![
        (reg::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH, rdma_reg::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH),
        (reg::D_DATA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT, rdma_reg::D_DATA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT),
        (reg::D_DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL, rdma_reg::D_DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL),
        (reg::D_DATA_FORMAT::INPUT_DATA, rdma_reg::D_DATA_FORMAT::INPUT_DATA),
        (reg::D_OPERATION_MODE_CFG::SPLIT_NUM, rdma_reg::D_OPERATION_MODE_CFG::SPLIT_NUM),
    ];
    if pdp.actual(reg::D_OPERATION_MODE_CFG::SPLIT_NUM) > 1 {
        use {rdma_reg::D_PARTIAL_WIDTH_IN as of_rdma, reg::D_PARTIAL_WIDTH_IN as of_pdp};
        // The strips' overlap is the reader's business: it needs the window too.
        pairs.extend([
            (of_pdp::PARTIAL_WIDTH_IN_FIRST, of_rdma::PARTIAL_WIDTH_IN_FIRST),
            (of_pdp::PARTIAL_WIDTH_IN_MID, of_rdma::PARTIAL_WIDTH_IN_MID),
            (of_pdp::PARTIAL_WIDTH_IN_LAST, of_rdma::PARTIAL_WIDTH_IN_LAST),
            (reg::D_POOLING_KERNEL_CFG::KERNEL_WIDTH, rdma_reg::D_POOLING_KERNEL_CFG::KERNEL_WIDTH),
            (
                reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH,
                rdma_reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH,
            ),
        ]);
    }
    for (of_pdp, of_rdma) in pairs {
        let expected = pdp.get(of_pdp);
        if rdma.get(of_rdma) != expected {
            return Err(Refused::new(rdma, of_rdma, format!("PDP.{of_pdp} is {expected:#x}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::registers::{RegisterMap, Unit};

    const SMALL: Hardware = Hardware { atom: 8, formats: Formats::INT8 };

    /// Max pooling of 5 x 7 x 8, windows of 4 x 1, stride 2, one column of padding on the left, in two strips.
    fn groups() -> (Group, Group) {
        let mut pdp = Group::new(Unit::Pdp, RegisterMap::Small);
        pdp.set_word(reg::D_DATA_CUBE_IN_WIDTH, 4);
        pdp.set_word(reg::D_DATA_CUBE_IN_HEIGHT, 6);
        pdp.set_word(reg::D_DATA_CUBE_IN_CHANNEL, 7);
        pdp.set_word(reg::D_DATA_CUBE_OUT_WIDTH, 1);
        pdp.set_word(reg::D_DATA_CUBE_OUT_HEIGHT, 3);
        pdp.set_word(reg::D_DATA_CUBE_OUT_CHANNEL, 7);
        pdp.set_word(reg::D_OPERATION_MODE_CFG, 0x111);
        pdp.set_word(reg::D_POOLING_KERNEL_CFG, 0x11_0003);
        pdp.set_word(reg::D_POOLING_PADDING_CFG, 1);
        pdp.set_word(reg::D_PARTIAL_WIDTH_IN, 0x10_0402);
        pdp.set_word(reg::D_PARTIAL_WIDTH_OUT, 0);
        let mut rdma = Group::new(Unit::PdpRdma, RegisterMap::Small);
        rdma.set_word(rdma_reg::D_DATA_CUBE_IN_WIDTH, 4);
        rdma.set_word(rdma_reg::D_DATA_CUBE_IN_HEIGHT, 6);
        rdma.set_word(rdma_reg::D_DATA_CUBE_IN_CHANNEL, 7);
        rdma.set_word(rdma_reg::D_OPERATION_MODE_CFG, 1);
        rdma.set_word(rdma_reg::D_POOLING_KERNEL_CFG, 0x13);
        rdma.set_word(rdma_reg::D_PARTIAL_WIDTH_IN, 0x10_0402);
        rdma.set_word(rdma_reg::D_SRC_BASE_ADDR_LOW, 0x8000_9000);
        (pdp, rdma)
    }

    fn refusal(pdp: &Group, rdma: &Group) -> String {
        PdpLayer::decode(pdp, rdma, &SMALL).expect_err("refused").to_string()
    }

    #[test]
    fn strips_read_again_what_their_windows_share() {
        let (pdp, rdma) = groups();
        let layer = PdpLayer::decode(&pdp, &rdma, &SMALL).unwrap();
        let strips: Vec<_> = layer.strips().collect();
        assert_eq!(strips, [Strip { input: 0..3, output: 0..1 }, Strip { input: 1..5, output: 1..2 }]);
    }

    #[test]
    fn windows_are_cut_at_the_edges() {
        let axis = Axis { input: 5, output: 4, kernel: 3, stride: 2, padding: 2, padding_after: 2 };
        assert_eq!([0, 1, 2, 3].map(|output| axis.window(output)), [0..1, 0..3, 2..5, 4..5]);
    }

    /// Each as the RTL of nv_small has it: what is equal ends there with the right bytes, what is not hangs or leaves others.
    #[test]
    fn windows_behind_the_input_are_counted_by_the_padding_alone() {
        let windows = |input, padding, padding_after, kernel, stride| {
            let output = (padding + input + padding_after - kernel) / stride + 1;
            let axis = Axis { input, output, kernel, stride, padding, padding_after };
            (output, axis.windows_of_rtl())
        };
        // Padding that ends with the last window, or is shorter than a step.
        assert_eq!(windows(8, 1, 3, 4, 2), (5, 5));
        assert_eq!(windows(8, 1, 1, 3, 2), (4, 4));
        assert_eq!(windows(10, 2, 1, 5, 3), (3, 3));
        // One pixel more.
        assert_eq!(windows(8, 1, 2, 4, 2), (4, 5));
        assert_eq!(windows(3, 6, 4, 8, 2), (3, 4));
        assert_eq!(windows(6, 2, 3, 4, 3), (3, 4));
        // The first window ends in the padding.
        assert_eq!(windows(1, 3, 4, 5, 3), (2, 2));
        assert_eq!(windows(3, 0, 2, 5, 2), (1, 1));
        assert_eq!(windows(1, 4, 4, 6, 2), (2, 1));
        assert_eq!(windows(1, 1, 6, 7, 3), (1, 1));
    }

    #[test]
    fn the_rdmas_flying_mode_does_not_count_and_pdps_does() {
        let (mut pdp, rdma) = groups();
        assert_eq!(rdma.get(rdma_reg::D_FLYING_MODE::FLYING_MODE), 0);
        let layer = PdpLayer::decode(&pdp, &rdma, &SMALL).unwrap();
        let PdpSource::Memory(source) = layer.source else { panic!("{:?}", layer.source) };
        assert_eq!(source.base, 0x8000_9000);

        pdp.set_word(reg::D_OPERATION_MODE_CFG, 1);
        let untouched = Group::new(Unit::PdpRdma, RegisterMap::Small);
        let layer = PdpLayer::decode(&pdp, &untouched, &SMALL).unwrap();
        assert_eq!((layer.source, layer.strips().count()), (PdpSource::Sdp, 1));
    }

    #[test]
    fn padding_registers_are_signed() {
        let (mut pdp, rdma) = groups();
        pdp.set(reg::D_OPERATION_MODE_CFG::POOLING_METHOD, 0);
        pdp.set_word(reg::D_POOLING_PADDING_VALUE_2_CFG, 0x7_fffe);
        let Method::Average(average) = PdpLayer::decode(&pdp, &rdma, &SMALL).unwrap().method else {
            panic!("method")
        };
        assert_eq!(average.padding, [0, -2, 0, 0, 0, 0, 0]);
        // As narrow as two elements of int8 are, and not negative.
        for (word, value) in [(0x1fe, -2), (0x0fe, 0xfe)] {
            pdp.set_word(reg::D_POOLING_PADDING_VALUE_2_CFG, word);
            let Method::Average(average) = PdpLayer::decode(&pdp, &rdma, &SMALL).unwrap().method else {
                panic!("method")
            };
            assert_eq!(average.padding[1], value);
        }
    }

    #[test]
    fn refuses_an_output_of_another_size() {
        let (mut pdp, rdma) = groups();
        pdp.set_word(reg::D_DATA_CUBE_OUT_HEIGHT, 4);
        assert_eq!(
            refusal(&pdp, &rdma),
            "PDP.D_DATA_CUBE_OUT_HEIGHT.CUBE_OUT_HEIGHT = 0x4: 4 windows fit, that is 3"
        );
    }

    #[test]
    fn refuses_windows_of_padding_alone() {
        let (mut pdp, rdma) = groups();
        pdp.set_word(reg::D_POOLING_PADDING_CFG, 4);
        assert_eq!(
            refusal(&pdp, &rdma),
            "PDP.D_POOLING_PADDING_CFG.PAD_LEFT = 0x4: a window of 4 would hold only padding"
        );
    }

    #[test]
    fn refuses_lines_that_the_line_buffer_does_not_hold() {
        assert_eq!([1, 2, 3, 4, 5, 8].map(line_buffer_columns), [128, 64, 32, 32, 16, 16]);
        let (mut pdp, mut rdma) = groups();
        // Windows of three lines, every line: 32 columns.
        for field in
            [reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH, reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_HEIGHT]
        {
            pdp.set_actual(field, 1);
        }
        pdp.set_actual(reg::D_POOLING_KERNEL_CFG::KERNEL_HEIGHT, 3);
        pdp.set_actual(reg::D_DATA_CUBE_OUT_HEIGHT::CUBE_OUT_HEIGHT, 5);
        pdp.set(reg::D_OPERATION_MODE_CFG::SPLIT_NUM, 0);
        rdma.set(rdma_reg::D_OPERATION_MODE_CFG::SPLIT_NUM, 0);
        let mut wide = |columns| {
            pdp.set_actual(reg::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH, columns + 2);
            rdma.set_actual(rdma_reg::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH, columns + 2);
            pdp.set_actual(reg::D_DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH, columns);
            PdpLayer::decode(&pdp, &rdma, &SMALL)
                .map(|layer| layer.horizontal.output)
                .map_err(|it| it.to_string())
        };
        assert_eq!(wide(32), Ok(32));
        assert_eq!(
            wide(33).unwrap_err(),
            "PDP.D_DATA_CUBE_OUT_WIDTH.CUBE_OUT_WIDTH = 0x20: the line buffer holds 3 lines of at most 32 \
             columns, that is 31"
        );
    }

    #[test]
    fn refuses_strips_that_miss_columns() {
        let (mut pdp, mut rdma) = groups();
        pdp.set_word(reg::D_PARTIAL_WIDTH_IN, 0x10_0403);
        rdma.set_word(rdma_reg::D_PARTIAL_WIDTH_IN, 0x10_0403);
        assert_eq!(
            refusal(&pdp, &rdma),
            "PDP.D_PARTIAL_WIDTH_IN.PARTIAL_WIDTH_IN_FIRST = 0x3: the strips add up to 6 columns of 5"
        );
        // 2 and 3 columns: the first window needs three.
        pdp.set_word(reg::D_PARTIAL_WIDTH_IN, 0x10_0801);
        rdma.set_word(rdma_reg::D_PARTIAL_WIDTH_IN, 0x10_0801);
        assert!(refusal(&pdp, &rdma).contains("windows cover 0..3"), "{}", refusal(&pdp, &rdma));
    }

    #[test]
    fn refuses_a_second_strip_that_begins_in_the_padding() {
        let (mut pdp, mut rdma) = groups();
        // Five windows, one pixel apart; the second strip's first one would begin two columns outside.
        pdp.set(reg::D_POOLING_PADDING_CFG::PAD_LEFT, 3);
        pdp.set_actual(reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH, 1);
        rdma.set_actual(rdma_reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH, 1);
        pdp.set_actual(reg::D_DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH, 5);
        for (field, widths) in [
            (reg::D_PARTIAL_WIDTH_IN::PARTIAL_WIDTH_IN_FIRST, 1),
            (reg::D_PARTIAL_WIDTH_IN::PARTIAL_WIDTH_IN_LAST, 4),
            (reg::D_PARTIAL_WIDTH_OUT::PARTIAL_WIDTH_OUT_FIRST, 1),
            (reg::D_PARTIAL_WIDTH_OUT::PARTIAL_WIDTH_OUT_LAST, 4),
        ] {
            pdp.set_actual(field, widths);
        }
        rdma.set_word(rdma_reg::D_PARTIAL_WIDTH_IN, pdp.word(reg::D_PARTIAL_WIDTH_IN));
        assert_eq!(
            refusal(&pdp, &rdma),
            "PDP.D_PARTIAL_WIDTH_OUT.PARTIAL_WIDTH_OUT_FIRST = 0x0: the strip that makes output columns 1..5 \
             reads from column 0 on, its first window begins at -2"
        );
    }

    #[test]
    fn refuses_an_rdma_that_reads_another_cube() {
        let (pdp, mut rdma) = groups();
        rdma.set_word(rdma_reg::D_DATA_CUBE_IN_CHANNEL, 8);
        assert!(refusal(&pdp, &rdma).starts_with("PDP_RDMA.D_DATA_CUBE_IN_CHANNEL.CUBE_IN_CHANNEL = 0x8"));
    }

    proptest::proptest! {
        #[test]
        fn any_register_contents_are_decoded_or_refused(words in proptest::collection::vec(proptest::num::u32::ANY, 60)) {
            let mut words = words.into_iter().cycle();
            let mut pdp = Group::new(Unit::Pdp, RegisterMap::Small);
            for register in Unit::Pdp.registers() {
                pdp.set_word(register, words.next().unwrap_or(0));
            }
            pdp.set_word(reg::D_DATA_FORMAT, 0);
            let rdma = Group::new(Unit::PdpRdma, RegisterMap::Small);
            for field in [reg::D_DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL, reg::D_OPERATION_MODE_CFG::FLYING_MODE] {
                pdp.set(field, 0);
            }
            pdp.set(reg::D_DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL, 0);
            let _ = PdpLayer::decode(&pdp, &rdma, &SMALL);
        }
    }
}
