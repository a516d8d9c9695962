//! Convolutions as register writes.

use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::{Family, Unit, cacc, cdma, cmac, csc, sdp, sdp_rdma};

use super::{Program, high, low, ram};
use crate::reference::{Batches, Compressed, ConvInput, ConvLayer, CubePlace, Format, Winograd};

/// Use of the convolution buffer by a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferUse {
    /// Banks for input, and for weights.
    pub banks: [u32; 2],
    /// Entries of a line.
    pub entries: u32,
    /// Lines that are read together, if they lie back to back.
    pub grain: Option<u32>,
    /// Input, and weights, are taken over from the layer before.
    pub reuse: [bool; 2],
    /// Input, and weights, stay for the next layer.
    pub keep: [bool; 2],
}

impl BufferUse {
    /// The least that a layer needs: all of its input, and one group of kernels.
    pub fn least(config: &Config, layer: &ConvLayer) -> BufferUse {
        let Format { atom, element } = layer.format;
        let entry = config.cbuf_entry_bytes();
        let entries = if layer.is_image() {
            let pixels = layer.before[0] + layer.size[0] + layer.after[0];
            (pixels * layer.channels * element).div_ceil(entry)
        } else if layer.mode.winograd.is_some() {
            (layer.seen_size()[0] * layer.seen_channels() * element).div_ceil(entry)
        } else {
            let (atoms, held) = (layer.channels.div_ceil(layer.format.lanes()), entry / atom);
            let rest = atoms % held;
            // Three atoms of four take as much room as four.
            let rest = if rest == 3 { layer.size[0] } else { (rest * layer.size[0]).div_ceil(held) };
            atoms / held * layer.size[0] + rest
        };
        let lines = layer.seen_size()[1] * layer.cubes();
        let data = (entries * lines).div_ceil(config.cbuf_entries_per_bank());
        let bank = entry * config.cbuf_entries_per_bank();
        let weight = (layer.order.group.min(layer.kernels) * layer.kernel_bytes()).div_ceil(bank);
        BufferUse { banks: [data, weight], entries, grain: None, reuse: [false; 2], keep: [false; 2] }
    }

    /// Returns true if the banks of weights hold each group of kernels as CDMA reads it, in blocks of eight atoms. `sizes` are the bytes of each group,
    /// if the weights are compressed.
    pub fn holds_blocks(&self, config: &Config, layer: &ConvLayer, sizes: Option<&[u64]>) -> bool {
        let (block, entry) = (u64::from(8 * layer.format.atom), u64::from(config.cbuf_entry_bytes()));
        let beyond = match config.family() {
            Family::Full => 0,
            Family::Small => 8 * layer.format.atom / config.mac_atomic_c * layer.format.atom,
        };
        let bank = entry * u64::from(config.cbuf_entries_per_bank());
        let room = u64::from(self.banks[1]) * bank + u64::from(beyond);
        let groups = layer.kernels.div_ceil(layer.order.group);
        let kernels_of = |group: u32| (layer.kernels - group * layer.order.group).min(layer.order.group);
        let plain: Vec<u64> =
            (0..groups).map(|group| u64::from(kernels_of(group) * layer.kernel_bytes())).collect();
        let (base, all) = match &layer.mode.compressed {
            Some(compressed) => (compressed.weights.0, u64::from(compressed.weights.1)),
            None => (layer.weights, u64::from(layer.weight_bytes())),
        };
        let (mut end, mut freed) = (0, 0);
        sizes.unwrap_or(&plain).iter().zip(1..).all(|(size, number)| {
            end += size;
            let is_last = number == groups || self.keep[1];
            let needed = if is_last { all } else { end.next_multiple_of(entry).min(all) };
            let read = ((base + needed).next_multiple_of(block) - base).min(all);
            // What is read beyond the banks waits in CDMA.
            let (held, written) = (read.saturating_sub(freed), needed.saturating_sub(freed));
            freed = end.next_multiple_of(entry);
            held <= room && written <= u64::from(self.banks[1]) * bank
        })
    }

    /// As few banks for the input as hold all of it, and the rest for weights, if a group of kernels fits those.
    pub fn most(config: &Config, layer: &ConvLayer) -> Option<BufferUse> {
        let least = BufferUse::least(config, layer);
        let [data, group] = least.banks;
        let bank = config.cbuf_entry_bytes() * config.cbuf_entries_per_bank();
        let all = (layer.kernels * layer.kernel_bytes()).div_ceil(bank);
        let weight = config.cbuf_banks.checked_sub(data)?.min(all);
        (weight >= group).then_some(BufferUse { banks: [data, weight], ..least })
    }
}

/// Consumers first (driver contract, section 6).
const UNITS: [Unit; 5] = [Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma];

impl Program {
    /// A convolution and the layer of SDP behind it in that group, up to the enables.
    pub fn convolution(&mut self, layer: &ConvLayer, buffer: &BufferUse, group: u32) {
        self.sdp(&layer.sdp, group);
        // `sdp` has written a layer that reads memory.
        for flying in [sdp::D_FEATURE_MODE_CFG, sdp_rdma::D_FEATURE_MODE_CFG] {
            let written = self.writes.iter_mut().rev().find(|write| write.register == flying);
            written.expect("written by `sdp`").value |= 1;
        }
        self.select_convolution(group);
        self.cdma(layer, buffer);
        self.csc(layer, buffer);
        let precision = layer.format.element - 1;
        for unit in [Unit::CmacA, Unit::CmacB] {
            use cmac::D_MISC_CFG::*;
            self.fields(unit, &[(CONV_MODE, 0), (PROC_PRECISION, precision)]);
        }
        self.cacc(layer);
        self.modes(layer);
    }

    /// Writes what is different from a plain convolution.
    fn modes(&mut self, layer: &ConvLayer) {
        if let Some(Batches { count, input, output }) = layer.mode.batches {
            for (unit, field) in [
                (Unit::Cdma, cdma::D_BATCH_NUMBER::BATCHES),
                (Unit::Csc, csc::D_BATCH_NUMBER::BATCHES),
                (Unit::Cacc, cacc::D_BATCH_NUMBER::BATCHES),
                (Unit::Sdp, sdp::D_FEATURE_MODE_CFG::BATCH_NUMBER),
                (Unit::SdpRdma, sdp_rdma::D_FEATURE_MODE_CFG::BATCH_NUMBER),
            ] {
                self.change(unit, field, count - 1);
            }
            self.fields(Unit::Cdma, &[(cdma::D_BATCH_STRIDE::BATCH_STRIDE, input)]);
            self.fields(Unit::Sdp, &[(sdp::D_DST_BATCH_STRIDE::DST_BATCH_STRIDE, output)]);
            // CACC hands over two pixels of each cube in turns where both are in an entry of the bus, which it looks for here.
            use cacc::{D_DATAOUT_ADDR::*, D_LINE_STRIDE::*, D_SURF_STRIDE::*};
            let place = layer.sdp.destination.expect("a layer that writes memory");
            self.fields(
                Unit::Cacc,
                &[(DATAOUT_ADDR, low(place)), (LINE_STRIDE, place.line), (SURF_STRIDE, place.surface)],
            );
        }
        if let Some(Winograd { truncate, step }) = layer.mode.winograd {
            for (unit, field) in [
                (Unit::Cdma, cdma::D_MISC_CFG::CONV_MODE),
                (Unit::Csc, csc::D_MISC_CFG::CONV_MODE),
                (Unit::CmacA, cmac::D_MISC_CFG::CONV_MODE),
                (Unit::CmacB, cmac::D_MISC_CFG::CONV_MODE),
                (Unit::Cacc, cacc::D_MISC_CFG::CONV_MODE),
                (Unit::Sdp, sdp::D_FEATURE_MODE_CFG::WINOGRAD),
                (Unit::SdpRdma, sdp_rdma::D_FEATURE_MODE_CFG::WINOGRAD),
            ] {
                self.change(unit, field, 1);
            }
            use cdma::D_CONV_STRIDE::{CONV_X_STRIDE, CONV_Y_STRIDE};
            use cdma::D_DATAIN_SIZE_EXT_0::{DATAIN_HEIGHT_EXT, DATAIN_WIDTH_EXT};
            let seen = layer.seen_size();
            self.fields(Unit::Cdma, &[(CONV_X_STRIDE, step[0]), (CONV_Y_STRIDE, step[1])]);
            self.fields(Unit::Cdma, &[(DATAIN_WIDTH_EXT, seen[0]), (DATAIN_HEIGHT_EXT, seen[1])]);
            self.fields(Unit::Csc, &[(csc::D_PRA_CFG::PRA_TRUNCATE, truncate)]);
        }
    }

    /// Starts a convolution in that group, SDP before it, or after it, as all orders are right.
    pub fn enable_convolution(&mut self, layer: &ConvLayer, group: u32, sdp_first: bool) {
        let operands =
            |stage: Option<crate::reference::Stage>| stage.is_some_and(|stage| stage.operands.is_some());
        let reads = operands(layer.sdp.bs)
            || operands(layer.sdp.bn)
            || layer.sdp.ew.is_some_and(|ew| ew.operands.is_some());
        let enable_sdp = |program: &mut Program| {
            if reads {
                return program.enable_sdp(group);
            }
            program.word(Unit::Sdp, sdp::S_POINTER, group);
            program.word(Unit::Sdp, sdp::D_OP_ENABLE, 1);
        };
        self.select_convolution(group);
        if sdp_first {
            enable_sdp(self);
        }
        for unit in UNITS {
            self.word(unit, unit.op_enable().expect("a unit with groups"), 1);
        }
        if !sdp_first {
            enable_sdp(self);
        }
    }

    fn select_convolution(&mut self, group: u32) {
        for unit in UNITS {
            self.word(unit, unit.register("S_POINTER").expect("a unit with groups"), group);
        }
    }

    fn cdma(&mut self, layer: &ConvLayer, buffer: &BufferUse) {
        use cdma::{
            D_BANK::*, D_BATCH_NUMBER::*, D_CONV_STRIDE::*, D_CVT_CFG::*, D_CVT_OFFSET::*, D_CVT_SCALE::*,
            D_DAIN_ADDR_HIGH_0::*, D_DAIN_ADDR_HIGH_1::*, D_DAIN_ADDR_LOW_0::*, D_DAIN_ADDR_LOW_1::*,
            D_DAIN_MAP::*, D_DAIN_RAM_TYPE::*, D_DATAIN_FORMAT::*, D_DATAIN_SIZE_0::*, D_DATAIN_SIZE_1::*,
            D_ENTRY_PER_SLICE::*, D_FETCH_GRAIN::*, D_LINE_STRIDE::*, D_LINE_UV_STRIDE::*, D_MEAN_FORMAT::*,
            D_MEAN_GLOBAL_0::*, D_MEAN_GLOBAL_1::*, D_MISC_CFG::*, D_SURF_STRIDE::*, D_WEIGHT_ADDR_HIGH::*,
            D_WEIGHT_ADDR_LOW::*, D_WEIGHT_BYTES::*, D_WEIGHT_FORMAT::*, D_WEIGHT_RAM_TYPE::*,
            D_WEIGHT_SIZE_0::*, D_WEIGHT_SIZE_1::*, D_ZERO_PADDING::*, D_ZERO_PADDING_VALUE::*,
        };
        let precision = layer.format.element - 1;
        let nowhere = CubePlace { base: 0, line: 0, surface: 0 };
        let (planes, input_precision) = match &layer.input {
            ConvInput::Feature(place) => ([*place, nowhere], precision),
            ConvInput::Pixels(pixels) => {
                let plane = |(base, line)| CubePlace { base, line, surface: 0 };
                (pixels.planes.map(plane), pixels.element - 1)
            }
        };
        let converter = layer.converter.map_or(crate::reference::Converter::NONE, |converters| converters[0]);
        let mean = layer.converter.map_or([0; 4], |converters| converters.map(|it| it.offset as u16 as u32));
        let at = |base| CubePlace { base, ..nowhere };
        let all = (layer.weights, layer.weight_bytes());
        let (weights, bytes) = layer.mode.compressed.map_or(all, |compressed| compressed.weights);
        let weights = at(weights);
        let packed = u32::from(buffer.grain.is_some());
        self.fields(
            Unit::Cdma,
            &[
                (CONV_MODE, 0),
                (IN_PRECISION, input_precision),
                (PROC_PRECISION, precision),
                (DATA_REUSE, buffer.reuse[0].into()),
                (WEIGHT_REUSE, buffer.reuse[1].into()),
                (SKIP_DATA_RLS, buffer.keep[0].into()),
                (SKIP_WEIGHT_RLS, buffer.keep[1].into()),
                (DATAIN_FORMAT, layer.is_image().into()),
                (DATAIN_WIDTH, layer.size[0]),
                (DATAIN_HEIGHT, layer.size[1]),
                (DATAIN_CHANNEL, layer.channels),
                (DATAIN_RAM_TYPE, ram(planes[0])),
                (DATAIN_ADDR_LOW_0, low(planes[0])),
                (DATAIN_ADDR_HIGH_0, high(planes[0])),
                (DATAIN_ADDR_LOW_1, low(planes[1])),
                (DATAIN_ADDR_HIGH_1, high(planes[1])),
                (LINE_STRIDE, planes[0].line),
                (UV_LINE_STRIDE, planes[1].line),
                (SURF_STRIDE, planes[0].surface),
                (LINE_PACKED, packed),
                (SURF_PACKED, 0),
                (BATCHES, 1),
                (ENTRIES, buffer.entries),
                (GRAINS, buffer.grain.unwrap_or(1)),
                (WEIGHT_FORMAT, 0),
                (BYTE_PER_KERNEL, layer.kernel_bytes()),
                (WEIGHT_KERNEL, layer.kernels),
                (WEIGHT_RAM_TYPE, ram(weights)),
                (WEIGHT_ADDR_LOW, low(weights)),
                (WEIGHT_ADDR_HIGH, high(weights)),
                (WEIGHT_BYTES, bytes),
                (MEAN_FORMAT, layer.is_image().into()),
                (MEAN_RY, mean[0]),
                (MEAN_GU, mean[1]),
                (MEAN_BV, mean[2]),
                (MEAN_AX, mean[3]),
                (CVT_EN, layer.converter.is_some().into()),
                (CVT_TRUNCATE, converter.shift),
                (CVT_OFFSET, converter.offset as u32),
                (CVT_SCALE, converter.scale as u16 as u32),
                (CONV_X_STRIDE, layer.stride[0]),
                (CONV_Y_STRIDE, layer.stride[1]),
                (PAD_LEFT, layer.before[0]),
                (PAD_TOP, layer.before[1]),
                (PAD_RIGHT, layer.after[0]),
                (PAD_BOTTOM, layer.after[1]),
                (PAD_VALUE, layer.padding as u16 as u32),
                (DATA_BANK, buffer.banks[0]),
                (WEIGHT_BANK, buffer.banks[1]),
            ],
        );
        self.cdma_modes(layer);
    }

    /// Compressed weights, and pixels.
    fn cdma_modes(&mut self, layer: &ConvLayer) {
        use cdma::{D_DATAIN_FORMAT::*, D_PIXEL_OFFSET::*, D_WEIGHT_FORMAT::*};
        let at = |base| CubePlace { base, line: 0, surface: 0 };
        if let Some(Compressed { mask, sizes, .. }) = layer.mode.compressed {
            use cdma::{
                D_WGS_ADDR_HIGH::*, D_WGS_ADDR_LOW::*, D_WMB_ADDR_HIGH::*, D_WMB_ADDR_LOW::*, D_WMB_BYTES::*,
            };
            self.fields(
                Unit::Cdma,
                &[
                    (WEIGHT_FORMAT, 1),
                    (WMB_ADDR_LOW, low(at(mask.0))),
                    (WMB_ADDR_HIGH, high(at(mask.0))),
                    (WMB_BYTES, mask.1),
                    (WGS_ADDR_LOW, low(at(sizes))),
                    (WGS_ADDR_HIGH, high(at(sizes))),
                ],
            );
        }
        if let ConvInput::Pixels(pixels) = &layer.input {
            self.fields(
                Unit::Cdma,
                &[
                    (DATAIN_FORMAT, 1),
                    (PIXEL_FORMAT, pixels.code),
                    (PIXEL_MAPPING, 0),
                    (PIXEL_SIGN_OVERRIDE, pixels.signed.into()),
                    (PIXEL_X_OFFSET, pixels.offset),
                ],
            );
        }
    }

    fn csc(&mut self, layer: &ConvLayer, buffer: &BufferUse) {
        use csc::{
            D_ATOMICS::*, D_BANK::*, D_BATCH_NUMBER::*, D_CONV_STRIDE_EXT::*, D_DATAIN_FORMAT::*,
            D_DATAIN_SIZE_EXT_0::*, D_DATAIN_SIZE_EXT_1::*, D_DATAOUT_SIZE_0::*, D_DATAOUT_SIZE_1::*,
            D_DILATION_EXT::*, D_ENTRY_PER_SLICE::*, D_MISC_CFG::*, D_POST_Y_EXTENSION::*, D_RELEASE::*,
            D_WEIGHT_BYTES::*, D_WEIGHT_FORMAT::*, D_WEIGHT_SIZE_EXT_0::*, D_WEIGHT_SIZE_EXT_1::*,
            D_ZERO_PADDING::*, D_ZERO_PADDING_VALUE::*,
        };
        let precision = layer.format.element - 1;
        let [width, height] = layer.output_size();
        let (columns, channels) = match layer.is_image() {
            true => (1, layer.kernel[0] * layer.channels),
            false => (layer.kernel[0], layer.seen_channels()),
        };
        let seen = layer.seen_size();
        // With Winograd CDMA pads.
        let before = if layer.mode.winograd.is_some() { [0; 2] } else { layer.before };
        self.fields(
            Unit::Csc,
            &[
                (CONV_MODE, 0),
                (IN_PRECISION, precision),
                (PROC_PRECISION, precision),
                (DATA_REUSE, buffer.reuse[0].into()),
                (WEIGHT_REUSE, buffer.reuse[1].into()),
                (SKIP_DATA_RLS, buffer.keep[0].into()),
                (SKIP_WEIGHT_RLS, buffer.keep[1].into()),
                (DATAIN_FORMAT, layer.is_image().into()),
                (DATAIN_WIDTH_EXT, seen[0]),
                (DATAIN_HEIGHT_EXT, seen[1]),
                (DATAIN_CHANNEL_EXT, layer.seen_channels()),
                (BATCHES, 1),
                (Y_EXTENSION, layer.rows_at_once.ilog2()),
                (ENTRIES, buffer.entries),
                (WEIGHT_FORMAT, layer.mode.compressed.is_some().into()),
                (WEIGHT_WIDTH_EXT, columns),
                (WEIGHT_HEIGHT_EXT, layer.kernel[1]),
                (WEIGHT_CHANNEL_EXT, channels),
                (WEIGHT_KERNEL, layer.kernels),
                (WEIGHT_BYTES, layer.weight_bytes()),
                (DATAOUT_WIDTH, width),
                (DATAOUT_HEIGHT, height),
                (DATAOUT_CHANNEL, layer.kernels),
                (ATOMICS, width * height),
                (RLS_SLICES, seen[1]),
                (CONV_X_STRIDE_EXT, layer.stride[0]),
                (CONV_Y_STRIDE_EXT, layer.stride[1]),
                (X_DILATION_EXT, layer.dilation[0]),
                (Y_DILATION_EXT, layer.dilation[1]),
                (PAD_LEFT, before[0]),
                (PAD_TOP, before[1]),
                (PAD_VALUE, layer.padding as u16 as u32),
                (DATA_BANK, buffer.banks[0]),
                (WEIGHT_BANK, buffer.banks[1]),
            ],
        );
    }

    fn cacc(&mut self, layer: &ConvLayer) {
        use cacc::{
            D_BATCH_NUMBER::*, D_CLIP_CFG::*, D_DATAOUT_SIZE_0::*, D_DATAOUT_SIZE_1::*, D_MISC_CFG::*,
        };
        let [width, height] = layer.output_size();
        self.fields(
            Unit::Cacc,
            &[
                (CONV_MODE, 0),
                (PROC_PRECISION, layer.format.element - 1),
                (DATAOUT_WIDTH, width),
                (DATAOUT_HEIGHT, height),
                (DATAOUT_CHANNEL, layer.kernels),
                (BATCHES, 1),
                (CLIP_TRUNCATE, layer.truncate),
            ],
        );
    }
}
