//! PDP and PDP_RDMA, behind SDP or from memory.

use super::{CubeDescriptor, Described, OperationDescriptor, byte, lanes, place};
use crate::loadable::compile::groups::Groups;
use crate::loadable::layout;
use vp_models::nvdla::registers::{FieldRef, Unit, pdp, pdp_rdma};
use zerocopy::FromZeros;
use zerocopy::little_endian::{I32, U16};

pub(super) fn of(groups: &Groups, atom: u32, from_memory: bool) -> Described {
    use pdp::{
        D_DATA_CUBE_IN_CHANNEL::*, D_DATA_CUBE_IN_HEIGHT::*, D_DATA_CUBE_IN_WIDTH::*,
        D_DATA_CUBE_OUT_CHANNEL::*, D_DATA_CUBE_OUT_HEIGHT::*, D_DATA_CUBE_OUT_WIDTH::*, D_DATA_FORMAT::*,
        D_DST_BASE_ADDR_HIGH::*, D_DST_BASE_ADDR_LOW::*, D_DST_LINE_STRIDE::*, D_DST_RAM_CFG::*,
        D_DST_SURFACE_STRIDE::*, D_OPERATION_MODE_CFG::*, D_PARTIAL_WIDTH_IN::*, D_PARTIAL_WIDTH_OUT::*,
        D_POOLING_KERNEL_CFG::*, D_POOLING_PADDING_CFG::*, D_POOLING_PADDING_VALUE_1_CFG::*,
        D_POOLING_PADDING_VALUE_2_CFG::*, D_POOLING_PADDING_VALUE_3_CFG::*, D_POOLING_PADDING_VALUE_4_CFG::*,
        D_POOLING_PADDING_VALUE_5_CFG::*, D_POOLING_PADDING_VALUE_6_CFG::*, D_POOLING_PADDING_VALUE_7_CFG::*,
    };
    use pdp_rdma::{
        D_SRC_BASE_ADDR_HIGH::*, D_SRC_BASE_ADDR_LOW::*, D_SRC_LINE_STRIDE::*, D_SRC_RAM_CFG::*,
        D_SRC_SURFACE_STRIDE::*,
    };
    let [pdp, rdma] = [Unit::Pdp, Unit::PdpRdma].map(|unit| groups.of(unit));
    // Parts that there are none of are none in the register, too.
    let parts = |fields: [FieldRef; 3]| {
        let part = |field| if pdp.get(field) == 0 { 0 } else { pdp.actual(field) as u16 };
        fields.map(|field| U16::new(part(field)))
    };
    let values =
        [PAD_VALUE_1X, PAD_VALUE_2X, PAD_VALUE_3X, PAD_VALUE_4X, PAD_VALUE_5X, PAD_VALUE_6X, PAD_VALUE_7X];
    let operation = OperationDescriptor::Pdp(layout::Pdp {
        partial_in: parts([PARTIAL_WIDTH_IN_FIRST, PARTIAL_WIDTH_IN_MID, PARTIAL_WIDTH_IN_LAST]),
        partial_out: parts([PARTIAL_WIDTH_OUT_FIRST, PARTIAL_WIDTH_OUT_MID, PARTIAL_WIDTH_OUT_LAST]),
        splits: byte(pdp, SPLIT_NUM),
        mode: byte(pdp, POOLING_METHOD),
        pool_width: byte(pdp, KERNEL_WIDTH).wrapping_sub(1),
        pool_height: byte(pdp, KERNEL_HEIGHT).wrapping_sub(1),
        stride_x: byte(pdp, KERNEL_STRIDE_WIDTH),
        stride_y: byte(pdp, KERNEL_STRIDE_HEIGHT),
        pad_left: byte(pdp, PAD_LEFT),
        pad_right: byte(pdp, PAD_RIGHT),
        pad_top: byte(pdp, PAD_TOP),
        pad_bottom: byte(pdp, PAD_BOTTOM),
        precision: byte(pdp, INPUT_DATA),
        padding_values: values.map(|field| I32::new(pdp.sign_extended(field))),
        ..layout::Pdp::new_zeroed()
    });
    let lanes = lanes(atom, pdp.get(INPUT_DATA));
    let size = [CUBE_IN_WIDTH, CUBE_IN_HEIGHT, CUBE_IN_CHANNEL].map(|field| pdp.actual(field));
    let source = match from_memory {
        false => CubeDescriptor::on_the_fly(size),
        true => {
            let at = place(rdma, SRC_RAM_TYPE, [SRC_BASE_ADDR_LOW, SRC_BASE_ADDR_HIGH]);
            let strides = [SRC_LINE_STRIDE, SRC_SURFACE_STRIDE].map(|field| rdma.actual(field));
            CubeDescriptor::features(at, size, strides, lanes)
        }
    };
    let size = [CUBE_OUT_WIDTH, CUBE_OUT_HEIGHT, CUBE_OUT_CHANNEL].map(|field| pdp.actual(field));
    let at = place(pdp, DST_RAM_TYPE, [DST_BASE_ADDR_LOW, DST_BASE_ADDR_HIGH]);
    let strides = [DST_LINE_STRIDE, DST_SURFACE_STRIDE].map(|field| pdp.actual(field));
    let destination = CubeDescriptor::features(at, size, strides, lanes);
    Described { operation, cubes: vec![source, destination] }
}
