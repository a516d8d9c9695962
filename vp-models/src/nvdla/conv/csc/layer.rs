//! One layer's registers of CSC: the kernels, how they move over the input, and what is released.
//! [`CscLayer::encode`] is the inverse of [`CscLayer::decode`].

use super::stripes::StripeLength;
use crate::nvdla::conv::buffer::{Fetch, Reuse};
use crate::nvdla::conv::compute::{Axes, Geometry, Kernel, winograd};
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::conv::sums::Shape;
use crate::nvdla::conv::weights::Order;
use crate::nvdla::conv::window::Frame;
use crate::nvdla::numeric::Precision;
use crate::nvdla::order::Order as Passing;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, cdma as cdma_reg, csc as reg};

/// One hardware layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CscLayer {
    /// Format of activations and weights.
    pub precision: Precision,
    /// The input is an image.
    pub is_image: bool,
    /// Kernels and how they move.
    pub geometry: Geometry,
    /// Place of the input under the kernels.
    pub frame: Frame,
    /// Input lines.
    pub lines: u32,
    /// Output lines.
    pub output_height: u32,
    /// Kernels.
    pub kernels: u32,
    /// Kernels multiplied at once.
    pub group_kernels: u32,
    /// Order in which the weights of a group lie.
    pub order: Order,
    /// Packages of a stripe.
    pub packages: u32,
    /// Length of stripes.
    pub stripe: StripeLength,
    /// Output positions that are cut into stripes together: all of them, or for an image those of a line.
    pub run: u32,
    /// Input and weights that are in the buffer already, and those that stay.
    pub reuse: Reuse,
    /// Input lines released at the end, if not all stay.
    pub released: u32,
    /// Weights come compressed.
    pub compressed: bool,
    /// The order in which positions are computed: that of Winograd's method, or of several cubes, if one is
    /// set.
    pub passing: Passing,
    /// Right shift behind the transformation of Winograd's method.
    pub truncate: u32,
}

/// The independent values of a layer: everything else follows from them and the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CscParameters {
    /// Format of activations and weights.
    pub precision: Precision,
    /// The input is an image.
    pub is_image: bool,
    /// Kernels: with Winograd's method of 3 x 3.
    pub kernel: Kernel,
    /// Rows of an image's kernels that share a block of channels: 1, 2 or 4.
    pub rows_at_once: u32,
    /// Steps of the kernels.
    pub stride: Axes,
    /// Output columns and lines.
    pub output: [u32; 2],
    /// Input columns and lines, as they are in the buffer; for an image without the columns of padding.
    pub input: [u32; 2],
    /// Padding left of the input and above it that is not in the buffer.
    pub before: Axes,
    /// Value that padding reads as.
    pub padding: i16,
    /// Kernels.
    pub kernels: u32,
    /// Input and weights that are in the buffer already, and those that stay.
    pub reuse: Reuse,
    /// Input lines released at the end.
    pub released: u32,
    /// Weights come compressed.
    pub compressed: bool,
    /// Order in which positions are made.
    pub passing: Passing,
    /// Right shift behind the transformation of Winograd's method.
    pub truncate: u32,
}

impl CscLayer {
    /// The layer that is made of these.
    pub fn of(parameters: &CscParameters, hardware: &Hardware) -> CscLayer {
        let &CscParameters { precision, is_image, kernel, stride, output, input, kernels, passing, .. } =
            parameters;
        let [rows, columns, channels] = [kernel.height, kernel.width, kernel.channels].map(|it| it as u32);
        let order = match (passing, is_image) {
            (Passing::Tiles, _) => Order::winograd(channels),
            (_, true) => {
                Order::image(rows, columns.wrapping_mul(channels), parameters.rows_at_once, hardware)
            }
            (_, false) => Order::direct(rows, columns, channels, hardware),
        };
        let reach = |outputs: u32, stride: usize, taps: usize, dilation: usize| {
            (outputs as usize).saturating_sub(1) * stride + taps.saturating_sub(1) * dilation + 1
        };
        let frame = Frame {
            precision,
            channels: kernel.channels,
            width: input[0] as usize,
            before: parameters.before,
            extent: Axes {
                x: reach(output[0], stride.x, kernel.width, kernel.dilation.x),
                y: reach(output[1], stride.y, kernel.height, kernel.dilation.y),
            },
            padding: parameters.padding,
        };
        let blocks = order.channels.div_ceil(order.block);
        let packages = blocks * order.rows.div_ceil(order.row_group) * order.columns;
        let positions = output[0] * output[1];
        CscLayer {
            precision,
            is_image,
            geometry: Geometry { kernel, stride, output_width: output[0] as usize },
            frame,
            lines: input[1],
            output_height: output[1],
            kernels,
            group_kernels: hardware.group_kernels(precision),
            order,
            packages: packages as u32,
            stripe: match is_image {
                true => StripeLength::of(hardware.image_stripe),
                false => hardware.stripe.of_cubes(passing.cubes()),
            },
            run: match (is_image, passing) {
                (true, _) => output[0],
                (false, Passing::Tiles) => positions / winograd::OUTPUTS as u32,
                (false, _) => positions,
            },
            reuse: parameters.reuse,
            released: parameters.released,
            compressed: parameters.compressed,
            passing,
            truncate: parameters.truncate,
        }
    }

    /// Output positions.
    pub fn positions(&self) -> u32 {
        self.geometry.output_width as u32 * self.output_height
    }

    /// Returns the shape of the layer's sums.
    pub(in crate::nvdla::conv) fn shape(&self) -> Shape {
        Shape {
            geometry: self.geometry,
            pitch: self.frame.pitch(),
            order: self.passing,
            size: [self.geometry.output_width, self.output_height as usize],
        }
    }

    /// Output positions of all cubes.
    pub fn all_positions(&self) -> u32 {
        self.positions() * self.passing.cubes()
    }

    /// Positions, of all cubes, that one position of a stripe stands for; for Winograd's method those of a
    /// tile.
    pub fn positions_each(&self) -> u32 {
        match self.passing {
            Passing::Lines => 1,
            Passing::Tiles => winograd::OUTPUTS as u32,
            Passing::Cubes(count) => count,
        }
    }

    /// Cycles of a package for one of a stripe.
    pub fn cycles_each(&self) -> u32 {
        self.passing.cubes()
    }

    /// Returns the cycles that a package takes for so many positions of a stripe: if rows of an image are merged whole turns of them, an entry
    /// of each row (RTL, `NV_NVDLA_CSC_sg.v`, dat_stripe_img_length_w; `_dl.v`, is_sub_h_end).
    pub fn package_cycles(&self, positions: u32) -> u32 {
        let turn = if self.is_image { self.order.row_group as u32 } else { 1 };
        (positions * self.cycles_each()).next_multiple_of(turn)
    }

    /// Groups of kernels.
    pub fn groups(&self) -> u32 {
        self.kernels.div_ceil(self.group_kernels)
    }

    /// Kernels of a group; the last one may be short.
    pub fn kernels_of(&self, group: u32) -> u32 {
        self.group_kernels.min(self.kernels - group * self.group_kernels)
    }

    /// Returns the end of the weights of a group, in bytes from the layer's first.
    pub fn weights_end(&self, group: u32) -> u64 {
        let kernels = ((group + 1) * self.group_kernels).min(self.kernels);
        u64::from(kernels) * (self.order.taps() * self.precision.bytes()) as u64
    }

    /// Checks what CDMA brings against what is needed: hardware would wait for the rest for ever, or compute
    /// with what happens to lie in the buffer.
    pub(super) fn agree(
        &mut self,
        group: &Group,
        fetch: &Fetch,
        cdma: &Group,
        kept: ReusedData,
    ) -> Result<(), Refused> {
        let refuse = |field, why: String| Err(Refused::new(group, field, why));
        let pairs = [
            (reg::D_MISC_CFG::CONV_MODE, cdma_reg::D_MISC_CFG::CONV_MODE),
            (reg::D_BATCH_NUMBER::BATCHES, cdma_reg::D_BATCH_NUMBER::BATCHES),
            (reg::D_DATAIN_FORMAT::DATAIN_FORMAT, cdma_reg::D_DATAIN_FORMAT::DATAIN_FORMAT),
            (reg::D_WEIGHT_FORMAT::WEIGHT_FORMAT, cdma_reg::D_WEIGHT_FORMAT::WEIGHT_FORMAT),
            (reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_KERNEL, cdma_reg::D_WEIGHT_SIZE_1::WEIGHT_KERNEL),
            (reg::D_ENTRY_PER_SLICE::ENTRIES, cdma_reg::D_ENTRY_PER_SLICE::ENTRIES),
            (reg::D_BANK::DATA_BANK, cdma_reg::D_BANK::DATA_BANK),
            (reg::D_BANK::WEIGHT_BANK, cdma_reg::D_BANK::WEIGHT_BANK),
            (reg::D_MISC_CFG::SKIP_WEIGHT_RLS, cdma_reg::D_MISC_CFG::SKIP_WEIGHT_RLS),
        ];
        for (field, of_cdma) in pairs {
            if group.get(field) != cdma.get(of_cdma) {
                return refuse(field, format!("CDMA.{of_cdma} is {:#x}", cdma.get(of_cdma)));
            }
        }
        if fetch.precision != self.precision {
            let (field, of_cdma) = (reg::D_MISC_CFG::PROC_PRECISION, cdma_reg::D_MISC_CFG::PROC_PRECISION);
            return refuse(field, format!("CDMA.{of_cdma} is {:#x}", cdma.get(of_cdma)));
        }
        let taps = self.order.taps() * self.precision.bytes();
        let kernel = cdma_reg::D_WEIGHT_SIZE_0::BYTE_PER_KERNEL;
        if fetch.weights && cdma.actual(kernel) as usize != taps {
            let why = format!("kernels have {taps} bytes, CDMA.{kernel} is {:#x}", cdma.get(kernel));
            return refuse(reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_CHANNEL_EXT, why);
        }
        if !fetch.weights && kept.weight_bytes < self.weights_end(self.groups() - 1) {
            let why = format!("{} bytes of weights were kept", kept.weight_bytes);
            return refuse(reg::D_MISC_CFG::WEIGHT_REUSE, why);
        }
        if !fetch.weights && kept.compressed != group.flag(reg::D_WEIGHT_FORMAT::WEIGHT_FORMAT) {
            let why =
                if kept.compressed { "the weights kept are compressed" } else { "the weights kept are not" };
            return refuse(reg::D_WEIGHT_FORMAT::WEIGHT_FORMAT, why.into());
        }
        let slices = kept.slices + fetch.slices;
        if slices < self.lines {
            let height = reg::D_DATAIN_SIZE_EXT_0::DATAIN_HEIGHT_EXT;
            return refuse(height, format!("{} slices were kept and {} come", kept.slices, fetch.slices));
        }
        let coming = (self.precision, fetch.slice_elements);
        let slice = if kept.slices > 0 { kept.slice.unwrap_or(coming) } else { coming };
        if slice.0 != self.precision {
            return refuse(
                reg::D_MISC_CFG::PROC_PRECISION,
                "slices in the buffer have another format".into(),
            );
        }
        let elements = slice.1;
        let cubes = self.passing.cubes() as usize;
        let reached =
            if self.is_image { self.frame.pitch() } else { self.frame.width * self.frame.channels * cubes };
        let wrong = if self.is_image { reached > elements } else { reached != elements };
        if wrong || (fetch.slices > 0 && slice != coming) {
            let why = format!("slices in the buffer have {elements} elements, {reached} are read");
            return refuse(reg::D_DATAIN_SIZE_EXT_0::DATAIN_WIDTH_EXT, why);
        }
        if self.is_image {
            self.frame.width = elements / self.frame.channels.max(1);
        }
        Ok(())
    }
}

/// Data that layers before have left in the buffer for this one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReusedData {
    pub(super) slices: u32,
    /// Format and elements of a slice.
    pub(super) slice: Option<(Precision, usize)>,
    /// Bytes of kernels, without compression.
    pub(super) weight_bytes: u64,
    pub(super) compressed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::config::Config;
    use crate::nvdla::conv::compute::{Axes, Kernel};
    use crate::nvdla::registers::{FieldRef, RegisterMap, Unit};

    fn hardware() -> Hardware {
        Hardware::from(&Config::named("nv_small").unwrap())
    }

    /// Kernels of 3 x 2 x 20 over 6 x 4 with padding 1, two steps at a time.
    fn group() -> Group {
        let mut group = Group::new(Unit::Csc, RegisterMap::Small);
        group.set_word(reg::D_MISC_CFG, 0);
        for (field, value) in [
            (reg::D_DATAIN_SIZE_EXT_0::DATAIN_WIDTH_EXT, 6),
            (reg::D_DATAIN_SIZE_EXT_0::DATAIN_HEIGHT_EXT, 4),
            (reg::D_DATAIN_SIZE_EXT_1::DATAIN_CHANNEL_EXT, 20),
            (reg::D_WEIGHT_SIZE_EXT_0::WEIGHT_WIDTH_EXT, 3),
            (reg::D_WEIGHT_SIZE_EXT_0::WEIGHT_HEIGHT_EXT, 2),
            (reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_CHANNEL_EXT, 20),
            (reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_KERNEL, 10),
            (reg::D_DATAOUT_SIZE_0::DATAOUT_WIDTH, 3),
            (reg::D_DATAOUT_SIZE_0::DATAOUT_HEIGHT, 2),
            (reg::D_DATAOUT_SIZE_1::DATAOUT_CHANNEL, 10),
            (reg::D_ATOMICS::ATOMICS, 6),
            (reg::D_RELEASE::RLS_SLICES, 4),
            (reg::D_CONV_STRIDE_EXT::CONV_X_STRIDE_EXT, 2),
            (reg::D_CONV_STRIDE_EXT::CONV_Y_STRIDE_EXT, 2),
            (reg::D_ZERO_PADDING::PAD_LEFT, 1),
            (reg::D_ZERO_PADDING::PAD_TOP, 1),
        ] {
            group.set_actual(field, value);
        }
        group
    }

    fn refusal(field: FieldRef, value: u32) -> String {
        let mut group = group();
        group.set_actual(field, value);
        CscLayer::decode(&group, &hardware()).expect_err("refused").to_string()
    }

    #[test]
    fn the_window_is_what_the_outputs_reach() {
        let layer = CscLayer::decode(&group(), &hardware()).unwrap();
        assert_eq!(layer.frame.extent, Axes { x: 7, y: 4 });
        assert_eq!((layer.frame.before, layer.frame.pitch()), (Axes { x: 1, y: 1 }, 140));
    }

    #[test]
    fn a_package_is_a_block_of_channels_of_a_tap() {
        let layer = CscLayer::decode(&group(), &hardware()).unwrap();
        assert_eq!((layer.packages, layer.positions(), layer.groups()), (3 * 3 * 2, 6, 2));
        assert_eq!(([0, 1].map(|group| layer.kernels_of(group)), layer.weights_end(1)), ([8, 2], 1200));
    }

    #[test]
    fn an_image_merges_columns_into_channels_and_rows_by_extension() {
        let mut group = group();
        group.set(reg::D_DATAIN_FORMAT::DATAIN_FORMAT, 1);
        group.set_actual(reg::D_DATAIN_SIZE_EXT_1::DATAIN_CHANNEL_EXT, 4);
        group.set_actual(reg::D_WEIGHT_SIZE_EXT_0::WEIGHT_HEIGHT_EXT, 5);
        group.set_actual(reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_CHANNEL_EXT, 12);
        group.set(reg::D_POST_Y_EXTENSION::Y_EXTENSION, 1);
        // Dilation of images is not in hardware.
        group.set_word(reg::D_DILATION_EXT, u32::MAX);
        let layer = CscLayer::decode(&group, &hardware()).unwrap();
        let Kernel { height, width, channels, dilation } = layer.geometry.kernel;
        assert_eq!((height, width, channels, dilation), (5, 3, 4, Axes { x: 1, y: 1 }));
        // Blocks of four channels of three pairs of rows.
        assert_eq!((layer.packages, layer.run, layer.stripe), (3 * 3, 3, StripeLength::of(16)));
        // Each package reads the two rows in turns.
        assert_eq!([11, 12].map(|positions| layer.package_cycles(positions)), [12, 12]);
    }

    #[test]
    fn dilation_of_a_single_column_means_nothing() {
        let mut group = group();
        group.set_actual(reg::D_WEIGHT_SIZE_EXT_0::WEIGHT_WIDTH_EXT, 1);
        group.set_word(reg::D_DILATION_EXT, 0x1f);
        assert_eq!(CscLayer::decode(&group, &hardware()).unwrap().geometry.kernel.dilation.x, 1);
    }

    #[test]
    fn refuses_registers_that_contradict_each_other() {
        assert_eq!(
            refusal(reg::D_WEIGHT_SIZE_EXT_1::WEIGHT_CHANNEL_EXT, 21),
            "CSC.D_WEIGHT_SIZE_EXT_1.WEIGHT_CHANNEL_EXT = 0x14: the input has 20 channels"
        );
        assert_eq!(
            refusal(reg::D_ATOMICS::ATOMICS, 7),
            "CSC.D_ATOMICS.ATOMICS = 0x6: the output has 6 positions"
        );
        assert_eq!(
            refusal(reg::D_RELEASE::RLS_SLICES, 5),
            "CSC.D_RELEASE.RLS_SLICES = 0x4: the input has 4 slices"
        );
    }

    #[test]
    fn refuses_an_output_that_no_padding_reaches() {
        assert_eq!(
            refusal(reg::D_DATAOUT_SIZE_0::DATAOUT_HEIGHT, 36),
            "CSC.D_DATAOUT_SIZE_0.DATAOUT_HEIGHT = 0x23: the kernels reach 67 beyond the input"
        );
    }
}
