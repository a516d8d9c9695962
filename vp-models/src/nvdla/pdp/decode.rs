//! The registers of PDP and PDP_RDMA as a layer, and their errors.

use super::layer::{Average, Axis, Hardware, Method, PdpLayer, PdpSource, Strips, line_buffer_columns};
use crate::nvdla::cube::Packing;
use crate::nvdla::numeric::Precision;
use crate::nvdla::place::{LowBits, PlaceFields, destination_place, source_place};
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, Group, pdp as reg, pdp_rdma as rdma_reg};

/// Registers of the place that PDP reads.
pub(super) const SOURCE: PlaceFields = source_place!(rdma_reg, D_SRC_RAM_CFG);

/// Registers of the place that PDP writes.
pub(super) const DESTINATION: PlaceFields = destination_place!(reg, D_DST_RAM_CFG);

impl PdpLayer {
    /// Returns the errors in the registers that place the layer's cubes, each as a sentence.
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

    /// Returns the reason for which the RTL does not end this layer, or ends it with other bytes: it makes other windows than the registers
    /// say.
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

    /// Returns true if a layer that these PDP registers describe needs PDP_RDMA.
    pub fn needs_rdma(pdp: &Group) -> bool {
        pdp.get(reg::D_OPERATION_MODE_CFG::FLYING_MODE) == reg::D_OPERATION_MODE_CFG::FLYING_MODE::OFF_FLYING
    }

    /// Decodes and checks a group of PDP and, if the layer reads memory, of PDP_RDMA (not looked at otherwise).
    ///
    /// Drivers leave PDP's own source address and PDP_RDMA's flying mode at their reset values, so both are
    /// ignored.
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

/// Fields of the output columns of the strips.
pub(super) const PARTIAL_OUT: [FieldRef; 3] = {
    use reg::D_PARTIAL_WIDTH_OUT::*;
    [PARTIAL_WIDTH_OUT_FIRST, PARTIAL_WIDTH_OUT_MID, PARTIAL_WIDTH_OUT_LAST]
};

/// Fields of the sums that 1 to 7 missing pixels add.
pub(super) const PADDING: [FieldRef; 7] = [
    reg::D_POOLING_PADDING_VALUE_1_CFG::PAD_VALUE_1X,
    reg::D_POOLING_PADDING_VALUE_2_CFG::PAD_VALUE_2X,
    reg::D_POOLING_PADDING_VALUE_3_CFG::PAD_VALUE_3X,
    reg::D_POOLING_PADDING_VALUE_4_CFG::PAD_VALUE_4X,
    reg::D_POOLING_PADDING_VALUE_5_CFG::PAD_VALUE_5X,
    reg::D_POOLING_PADDING_VALUE_6_CFG::PAD_VALUE_6X,
    reg::D_POOLING_PADDING_VALUE_7_CFG::PAD_VALUE_7X,
];

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
    if axis.kernel > Axis::MOST_KERNEL {
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
mod tests;
