//! CDP and CDP_RDMA.

use super::{CubeDescriptor, Described, OperationDescriptor, byte, converter, lanes, place};
use crate::loadable::compile::groups::Groups;
use crate::loadable::layout;
use vp_models::nvdla::registers::{Unit, cdp, cdp_rdma};
use zerocopy::FromZeros;

pub(super) fn of(groups: &Groups, atom: u32, table: Option<i16>) -> Described {
    use cdp::{
        D_DATA_FORMAT::*, D_DATIN_OFFSET::*, D_DATIN_SCALE::*, D_DATIN_SHIFTER::*, D_DATOUT_OFFSET::*,
        D_DATOUT_SCALE::*, D_DATOUT_SHIFTER::*, D_DST_BASE_ADDR_HIGH::*, D_DST_BASE_ADDR_LOW::*,
        D_DST_DMA_CFG::*, D_DST_LINE_STRIDE::*, D_DST_SURFACE_STRIDE::*, D_FUNC_BYPASS::*, D_LRN_CFG::*,
    };
    use cdp_rdma::{
        D_DATA_CUBE_CHANNEL::*, D_DATA_CUBE_HEIGHT::*, D_DATA_CUBE_WIDTH::*, D_SRC_BASE_ADDR_HIGH::*,
        D_SRC_BASE_ADDR_LOW::*, D_SRC_DMA_CFG::*, D_SRC_LINE_STRIDE::*, D_SRC_SURFACE_STRIDE::*,
    };
    let [cdp, rdma] = [Unit::Cdp, Unit::CdpRdma].map(|unit| groups.of(unit));
    let precision = cdp.get(INPUT_DATA_TYPE);
    let operation = OperationDescriptor::Cdp(layout::Cdp {
        in_precision: precision as u8,
        _out_precision: precision as u8,
        lut: table.unwrap_or(-1).into(),
        input: converter(cdp, [DATIN_OFFSET, DATIN_SCALE, DATIN_SHIFTER]),
        output: converter(cdp, [DATOUT_OFFSET, DATOUT_SCALE, DATOUT_SHIFTER]),
        local_size: 2 * (cdp.get(NORMALZ_LEN) as u8 + 1) + 1,
        bypass_square_sum: byte(cdp, SQSUM_BYPASS),
        bypass_output_multiply: byte(cdp, MUL_BYPASS),
        ..layout::Cdp::new_zeroed()
    });
    let size = [WIDTH, HEIGHT, CHANNEL].map(|field| rdma.actual(field));
    let cube = |at, strides| CubeDescriptor::features(at, size, strides, lanes(atom, precision));
    let source = cube(
        place(rdma, SRC_RAM_TYPE, [SRC_BASE_ADDR_LOW, SRC_BASE_ADDR_HIGH]),
        [SRC_LINE_STRIDE, SRC_SURFACE_STRIDE].map(|field| rdma.actual(field)),
    );
    let destination = cube(
        place(cdp, DST_RAM_TYPE, [DST_BASE_ADDR_LOW, DST_BASE_ADDR_HIGH]),
        [DST_LINE_STRIDE, DST_SURFACE_STRIDE].map(|field| cdp.actual(field)),
    );
    Described { operation, cubes: vec![source, destination] }
}
