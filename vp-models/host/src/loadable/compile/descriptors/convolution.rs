//! The convolution pipeline: CACC, CMAC, CSC, CDMA.

use super::{CubeDescriptor, Described, OperationDescriptor, Place, byte, half, lanes, place};
use crate::loadable::compile::groups::Groups;
use crate::loadable::layout::{self, Converter};
use crate::loadable::registers::convolution::FEATURE;
use vp_models::nvdla::registers::{Group, Unit, cacc, cdma, csc};
use zerocopy::FromZeros;
use zerocopy::little_endian::I16;

pub(super) fn of(groups: &Groups, atom: u32) -> Described {
    let [cdma, csc, cacc] = [Unit::Cdma, Unit::Csc, Unit::Cacc].map(|unit| groups.of(unit));
    let descriptor = sequence(input(cdma), csc);
    let output =
        Converter { scale: 1.into(), truncate: byte(cacc, cacc::D_CLIP_CFG::CLIP_TRUNCATE), ..none() };
    let operation = OperationDescriptor::Convolution(layout::Convolution { output, ..descriptor });
    let [weights, masks, sizes] = parameters(cdma);
    let cubes = vec![weights, masks, sizes, source(cdma, atom), destination(cacc, atom)];
    Described { operation, cubes }
}

fn none() -> Converter {
    Converter::new_zeroed()
}

/// Input on its way to the buffer.
fn input(cdma: &Group) -> layout::Convolution {
    use cdma::{
        D_BANK::*, D_BATCH_NUMBER::*, D_BATCH_STRIDE::*, D_CONV_STRIDE::*, D_CVT_CFG::*, D_CVT_OFFSET::*,
        D_CVT_SCALE::*, D_DATAIN_FORMAT::*, D_ENTRY_PER_SLICE::*, D_FETCH_GRAIN::*, D_MEAN_FORMAT::*,
        D_MEAN_GLOBAL_0::*, D_MEAN_GLOBAL_1::*, D_MISC_CFG::*, D_WEIGHT_FORMAT::*, D_WEIGHT_SIZE_0::*,
        D_ZERO_PADDING::*,
    };
    let signed = |field| I16::new(cdma.sign_extended(field) as i16);
    let is_image = cdma.flag(DATAIN_FORMAT);
    layout::Convolution {
        mode: byte(cdma, CONV_MODE),
        data_reuse: byte(cdma, DATA_REUSE),
        weight_reuse: byte(cdma, WEIGHT_REUSE),
        skip_data_release: byte(cdma, SKIP_DATA_RLS),
        skip_weight_release: byte(cdma, SKIP_WEIGHT_RLS),
        entries_per_slice: half(cdma, ENTRIES),
        data_format: if is_image { byte(cdma, PIXEL_FORMAT) } else { FEATURE },
        pixel_mapping: byte(cdma, PIXEL_MAPPING),
        pixel_override: byte(cdma, PIXEL_SIGN_OVERRIDE),
        fetch_grain: half(cdma, GRAINS),
        batch: byte(cdma, BATCHES),
        batch_stride: cdma.actual(BATCH_STRIDE).into(),
        weight_format: byte(cdma, WEIGHT_FORMAT),
        data_banks: byte(cdma, DATA_BANK),
        weight_banks: byte(cdma, WEIGHT_BANK),
        bytes_per_kernel: cdma.actual(BYTE_PER_KERNEL).into(),
        mean_format: byte(cdma, MEAN_FORMAT),
        mean_ry: signed(MEAN_RY),
        mean_gu: signed(MEAN_GU),
        mean_bv: signed(MEAN_BV),
        mean_ax: signed(MEAN_AX),
        stride_x: byte(cdma, CONV_X_STRIDE),
        stride_y: byte(cdma, CONV_Y_STRIDE),
        pad_left: byte(cdma, PAD_LEFT),
        pad_right: byte(cdma, PAD_RIGHT),
        pad_top: byte(cdma, PAD_TOP),
        pad_bottom: byte(cdma, PAD_BOTTOM),
        in_precision: byte(cdma, IN_PRECISION),
        proc_precision: byte(cdma, PROC_PRECISION),
        input: Converter {
            scale: signed(CVT_SCALE),
            truncate: byte(cdma, CVT_TRUNCATE),
            enable: byte(cdma, CVT_EN),
            offset: cdma.sign_extended(CVT_OFFSET).into(),
        },
        ..layout::Convolution::new_zeroed()
    }
}

/// Windows over the buffer's contents.
fn sequence(input: layout::Convolution, csc: &Group) -> layout::Convolution {
    use csc::{
        D_DATAIN_SIZE_EXT_0::*, D_DATAIN_SIZE_EXT_1::*, D_DATAOUT_SIZE_0::*, D_DILATION_EXT::*,
        D_POST_Y_EXTENSION::*, D_PRA_CFG::*, D_RELEASE::*, D_WEIGHT_SIZE_EXT_0::*, D_WEIGHT_SIZE_EXT_1::*,
        D_ZERO_PADDING_VALUE::*,
    };
    layout::Convolution {
        input_width: half(csc, DATAIN_WIDTH_EXT),
        input_height: half(csc, DATAIN_HEIGHT_EXT),
        input_channels: half(csc, DATAIN_CHANNEL_EXT),
        kernel_width: half(csc, WEIGHT_WIDTH_EXT),
        kernel_height: half(csc, WEIGHT_HEIGHT_EXT),
        kernel_channels: half(csc, WEIGHT_CHANNEL_EXT),
        output_width: half(csc, DATAOUT_WIDTH),
        output_height: half(csc, DATAOUT_HEIGHT),
        dilation_x: byte(csc, X_DILATION_EXT),
        dilation_y: byte(csc, Y_DILATION_EXT),
        post_extension: byte(csc, Y_EXTENSION),
        release: half(csc, RLS_SLICES),
        pra_truncate: byte(csc, PRA_TRUNCATE),
        // CDMA has the same, if it pads.
        pad_value: I16::new(csc.sign_extended(PAD_VALUE) as i16),
        ..input
    }
}

/// Weights, and of compressed ones their masks and the sizes of their groups.
fn parameters(cdma: &Group) -> [CubeDescriptor; 3] {
    use cdma::{
        D_WEIGHT_ADDR_HIGH::*, D_WEIGHT_ADDR_LOW::*, D_WEIGHT_BYTES::*, D_WEIGHT_FORMAT::*,
        D_WEIGHT_RAM_TYPE::*, D_WGS_ADDR_HIGH::*, D_WGS_ADDR_LOW::*, D_WMB_ADDR_HIGH::*, D_WMB_ADDR_LOW::*,
        D_WMB_BYTES::*,
    };
    let row = |address, bytes| CubeDescriptor::row(place(cdma, WEIGHT_RAM_TYPE, address), bytes);
    let weights = row([WEIGHT_ADDR_LOW, WEIGHT_ADDR_HIGH], cdma.actual(WEIGHT_BYTES));
    if !cdma.flag(WEIGHT_FORMAT) {
        return [weights, CubeDescriptor::NONE, CubeDescriptor::NONE];
    }
    let masks = row([WMB_ADDR_LOW, WMB_ADDR_HIGH], cdma.actual(WMB_BYTES));
    // The table of sizes has no register for its own: it is as long as there are groups, four bytes each.
    let sizes = row([WGS_ADDR_LOW, WGS_ADDR_HIGH], 0);
    [weights, masks, sizes]
}

fn source(cdma: &Group, atom: u32) -> CubeDescriptor {
    use cdma::{
        D_DAIN_ADDR_HIGH_0::*, D_DAIN_ADDR_LOW_0::*, D_DAIN_RAM_TYPE::*, D_DATAIN_FORMAT::*,
        D_DATAIN_SIZE_0::*, D_DATAIN_SIZE_1::*, D_LINE_STRIDE::*, D_MISC_CFG::*, D_SURF_STRIDE::*,
    };
    let at = place(cdma, DATAIN_RAM_TYPE, [DATAIN_ADDR_LOW_0, DATAIN_ADDR_HIGH_0]);
    let size = [DATAIN_WIDTH, DATAIN_HEIGHT, DATAIN_CHANNEL].map(|field| cdma.actual(field));
    let [line_stride, surface_stride] = [LINE_STRIDE, SURF_STRIDE].map(|field| cdma.actual(field));
    if cdma.flag(DATAIN_FORMAT) {
        let (place, bytes) = (Place::Memory(at.0, at.1), size[1] * line_stride);
        return CubeDescriptor { place, bytes, size, line_stride, surface_stride };
    }
    CubeDescriptor::features(at, size, [line_stride, surface_stride], lanes(atom, cdma.get(IN_PRECISION)))
}

/// The sums, on their way to SDP. The driver wants lines and surfaces of a cube without room between, though nothing is written there.
fn destination(cacc: &Group, atom: u32) -> CubeDescriptor {
    use cacc::{D_DATAOUT_SIZE_0::*, D_DATAOUT_SIZE_1::*};
    let size = [DATAOUT_WIDTH, DATAOUT_HEIGHT, DATAOUT_CHANNEL].map(|field| cacc.actual(field));
    let line_stride = size[0] * atom;
    let surface_stride = size[1] * line_stride;
    CubeDescriptor { line_stride, surface_stride, ..CubeDescriptor::on_the_fly(size) }
}
