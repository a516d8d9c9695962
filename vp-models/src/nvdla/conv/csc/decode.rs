//! Decoding of CSC's registers into a layer: the requirements of each mode of convolution, and contradictions.

use super::layer::{CscLayer, CscParameters};
use crate::nvdla::conv::buffer::Reuse;
use crate::nvdla::conv::compute::{Axes, Kernel};
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::conv::window::Frame;
use crate::nvdla::numeric::Precision;
use crate::nvdla::order::Order as Passing;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, Group, csc as reg};

/// The widest padding right of the input and below it that CDMA's registers can name: 6 bits.
const MAX_PADDING_AFTER: usize = 63;

impl CscLayer {
    /// Decodes and checks a group.
    pub fn decode(group: &Group, hardware: &Hardware) -> Result<CscLayer, Refused> {
        Decoder { group, hardware }.layer()
    }
}

/// A register group, and the hardware it is for.
struct Decoder<'a> {
    group: &'a Group,
    hardware: &'a Hardware,
}

impl Decoder<'_> {
    fn refuse<T>(
        &self,
        field: FieldRef,
        why: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Result<T, Refused> {
        Err(Refused::new(self.group, field, why))
    }

    fn lacks<T>(&self, field: FieldRef, why: &'static str) -> Result<T, Refused> {
        Err(Refused::lacking(self.group, field, why))
    }

    /// The layer.
    fn layer(&self) -> Result<CscLayer, Refused> {
        use reg::{D_DATAOUT_SIZE_0 as out, D_MISC_CFG as misc};
        let Decoder { group, hardware } = self;
        let compressed = reg::D_WEIGHT_FORMAT::WEIGHT_FORMAT;
        if group.flag(compressed) && !hardware.compression {
            return self.lacks(compressed, "this configuration has no weight compression");
        }
        let precision = hardware.precision(group, misc::PROC_PRECISION)?;
        let is_image = group.flag(reg::D_DATAIN_FORMAT::DATAIN_FORMAT);
        let passing = self.passing(is_image)?;
        let kernel = match passing {
            Passing::Tiles => self.transformed_kernel(precision)?,
            _ => self.kernel(is_image)?,
        };
        // Lines of an image are padded in the buffer already.
        let left = if is_image { 0 } else { group.get(reg::D_ZERO_PADDING::PAD_LEFT) as usize };
        let parameters = CscParameters {
            precision,
            is_image,
            kernel,
            rows_at_once: if is_image { 1 << group.get(reg::D_POST_Y_EXTENSION::Y_EXTENSION) } else { 1 },
            stride: Axes {
                x: group.actual(reg::D_CONV_STRIDE_EXT::CONV_X_STRIDE_EXT) as usize,
                y: group.actual(reg::D_CONV_STRIDE_EXT::CONV_Y_STRIDE_EXT) as usize,
            },
            output: [out::DATAOUT_WIDTH, out::DATAOUT_HEIGHT].map(|field| group.actual(field)),
            input: {
                use reg::D_DATAIN_SIZE_EXT_0::{DATAIN_HEIGHT_EXT, DATAIN_WIDTH_EXT};
                [DATAIN_WIDTH_EXT, DATAIN_HEIGHT_EXT].map(|field| group.actual(field))
            },
            before: Axes { x: left, y: group.get(reg::D_ZERO_PADDING::PAD_TOP) as usize },
            padding: group.get_signed(reg::D_ZERO_PADDING_VALUE::PAD_VALUE) as i16,
            kernels: group.actual(reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_KERNEL),
            reuse: Reuse {
                data: group.flag(misc::DATA_REUSE),
                weight: group.flag(misc::WEIGHT_REUSE),
                keep_data: group.flag(misc::SKIP_DATA_RLS),
                keep_weight: group.flag(misc::SKIP_WEIGHT_RLS),
            },
            released: group.actual(reg::D_RELEASE::RLS_SLICES),
            compressed: group.flag(compressed),
            passing,
            // RTL, branch nvdlav1, `NV_NVDLA_CSC_dl.v`, pra_truncate_w: 3 is 2.
            truncate: group.get(reg::D_PRA_CFG::PRA_TRUNCATE).min(2),
        };
        let layer = CscLayer::of(&parameters, hardware);
        self.check(&layer)?;
        Ok(layer)
    }

    /// Checks what must agree with what follows from the rest.
    fn check(&self, layer: &CscLayer) -> Result<(), Refused> {
        let group = self.group;
        self.check_reach(layer)?;
        let kernels = layer.kernels;
        if group.actual(reg::D_DATAOUT_SIZE_1::DATAOUT_CHANNEL) != kernels {
            return self
                .refuse(reg::D_DATAOUT_SIZE_1::DATAOUT_CHANNEL, format!("there are {kernels} kernels"));
        }
        let positions = layer.positions();
        if !layer.is_image && group.actual(reg::D_ATOMICS::ATOMICS) != positions {
            return self.refuse(reg::D_ATOMICS::ATOMICS, format!("the output has {positions} positions"));
        }
        let lines = layer.lines;
        if !layer.reuse.keep_data && layer.released > lines {
            return self.refuse(reg::D_RELEASE::RLS_SLICES, format!("the input has {lines} slices"));
        }
        Ok(())
    }

    /// The order of positions, which is also the mode of convolution.
    fn passing(&self, is_image: bool) -> Result<Passing, Refused> {
        use reg::{D_BATCH_NUMBER::BATCHES, D_DATAIN_FORMAT::DATAIN_FORMAT, D_MISC_CFG::CONV_MODE};
        let Decoder { group, hardware } = self;
        let cubes = group.actual(BATCHES);
        let winograd = group.flag(CONV_MODE);
        if winograd && !hardware.winograd {
            return self.lacks(CONV_MODE, "this configuration has no Winograd");
        }
        if cubes > hardware.batches {
            return self.lacks(BATCHES, "this configuration does not take so many cubes at once");
        }
        match (winograd, cubes) {
            (true, 2..) => self.refuse(BATCHES, "with Winograd there is one cube (0)"),
            (_, 2..) if is_image => self.refuse(BATCHES, "images come one at a time (0)"),
            (true, _) if is_image => self.refuse(DATAIN_FORMAT, "Winograd takes features (0)"),
            (true, _) => Ok(Passing::Tiles),
            (false, 1) => Ok(Passing::Lines),
            (false, cubes) => Ok(Passing::Cubes(cubes)),
        }
    }

    /// Of Winograd's method: a kernel of 3 x 3 that comes transformed, to 4 x 4.
    fn transformed_kernel(&self, precision: Precision) -> Result<Kernel, Refused> {
        use reg::{
            D_CONV_STRIDE_EXT as stride, D_DATAOUT_SIZE_0 as out, D_WEIGHT_SIZE_EXT_0 as size,
            D_ZERO_PADDING as padding,
        };
        let Decoder { group, hardware } = self;
        for (field, actual, why) in [
            (size::WEIGHT_WIDTH_EXT, 4, "Winograd's kernels are 4 wide (3)"),
            (size::WEIGHT_HEIGHT_EXT, 4, "Winograd's kernels are 4 high (3)"),
            (stride::CONV_X_STRIDE_EXT, 1, "Winograd moves pixel by pixel (0)"),
            (stride::CONV_Y_STRIDE_EXT, 1, "Winograd moves line by line (0)"),
            (padding::PAD_LEFT, 0, "with Winograd CDMA pads"),
            (padding::PAD_TOP, 0, "with Winograd CDMA pads"),
        ] {
            if group.actual(field) != actual {
                return self.refuse(field, why);
            }
        }
        for field in [out::DATAOUT_WIDTH, out::DATAOUT_HEIGHT] {
            if !group.actual(field).is_multiple_of(4) {
                return self.refuse(field, "Winograd makes a multiple of four");
            }
        }
        let channels = group.actual(reg::D_DATAIN_SIZE_EXT_1::DATAIN_CHANNEL_EXT);
        let lanes = hardware.lanes(precision);
        if !channels.is_multiple_of(lanes) {
            let why = format!("Winograd takes a multiple of {lanes}");
            return self.refuse(reg::D_DATAIN_SIZE_EXT_1::DATAIN_CHANNEL_EXT, why);
        }
        let merged = reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_CHANNEL_EXT;
        if group.actual(merged) != channels {
            return self.refuse(merged, format!("the input has {channels} channels"));
        }
        Ok(Kernel { height: 3, width: 3, channels: channels as usize, dilation: Axes::ONE })
    }

    /// The kernel's extent. An image's kernel row comes merged into the channels; dilation of images is not in hardware, and of
    /// one row or column has no meaning (such fields may hold anything).
    fn kernel(&self, is_image: bool) -> Result<Kernel, Refused> {
        let group = self.group;
        let rows = group.actual(reg::D_WEIGHT_SIZE_EXT_0::WEIGHT_HEIGHT_EXT);
        let columns = group.actual(reg::D_WEIGHT_SIZE_EXT_0::WEIGHT_WIDTH_EXT);
        let merged = reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_CHANNEL_EXT;
        let weight_channels = group.actual(merged);
        let channels = group.actual(reg::D_DATAIN_SIZE_EXT_1::DATAIN_CHANNEL_EXT);
        if is_image {
            let extension = reg::D_POST_Y_EXTENSION::Y_EXTENSION;
            if group.get(extension) > 2 {
                return self.refuse(extension, "1, 2 or 4 lines are merged (0 to 2)");
            }
            if !weight_channels.is_multiple_of(channels) {
                return self.refuse(merged, format!("pixels have {channels} channels"));
            }
            return Ok(Kernel {
                height: rows as usize,
                width: (weight_channels / channels) as usize,
                channels: channels as usize,
                dilation: Axes::ONE,
            });
        }
        if weight_channels != channels {
            return self.refuse(merged, format!("the input has {channels} channels"));
        }
        let dilation = |taps: u32, field| if taps == 1 { 1 } else { group.actual(field) as usize };
        Ok(Kernel {
            height: rows as usize,
            width: columns as usize,
            channels: channels as usize,
            dilation: Axes {
                x: dilation(columns, reg::D_DILATION_EXT::X_DILATION_EXT),
                y: dilation(rows, reg::D_DILATION_EXT::Y_DILATION_EXT),
            },
        })
    }

    /// Kernels must not lie further beyond the input than padding can.
    fn check_reach(&self, layer: &CscLayer) -> Result<(), Refused> {
        let Frame { extent, before, width, .. } = layer.frame;
        let beyond = |field, reach: usize, input: usize, before: usize, allowed: usize| {
            if reach > input + before + allowed {
                self.refuse(field, format!("the kernels reach {} beyond the input", reach - input - before))
            } else {
                Ok(())
            }
        };
        // Of Winograd's method all padding is in the buffer.
        let after = if layer.passing == Passing::Tiles { 0 } else { MAX_PADDING_AFTER };
        // How wide an image's lines are in the buffer, CDMA says: see `agree`.
        if !layer.is_image {
            beyond(reg::D_DATAOUT_SIZE_0::DATAOUT_WIDTH, extent.x, width, before.x, after)?;
        }
        beyond(reg::D_DATAOUT_SIZE_0::DATAOUT_HEIGHT, extent.y, layer.lines as usize, before.y, after)
    }
}
