//! CDP and CDP_RDMA.

use super::{INT8, PRIMARY, high, low};
use crate::host::network::description::{Normalisation, Shape};
use crate::host::network::layout::CubePlace;
use crate::host::program::{FieldOverflow, Program};
use crate::nvdla::registers::{RegisterMap, Unit, cdp, cdp_rdma};

/// Everything but the enables and the tables of a normalisation from memory to memory.
pub(in super::super) fn normalisation(
    program: &mut Program,
    shape: Shape,
    layer: &Normalisation,
    [source, destination]: [CubePlace; 2],
) -> Result<(), FieldOverflow> {
    rdma_registers(program, shape, source)?;
    use cdp::{
        d_data_format::*, d_datin_offset::*, d_datin_scale::*, d_datin_shifter::*, d_datout_offset::*,
        d_datout_scale::*, d_datout_shifter::*, d_dst_base_addr_high::*, d_dst_base_addr_low::*,
        d_dst_dma_cfg::*, d_dst_line_stride::*, d_dst_surface_stride::*, d_func_bypass::*, d_lrn_cfg::*,
    };
    let fields = [
        (SQSUM_BYPASS, 0),
        (MUL_BYPASS, 0),
        (DST_BASE_ADDR_LOW, low(destination.base)),
        (DST_BASE_ADDR_HIGH, high(destination.base)),
        (DST_LINE_STRIDE, destination.line_stride),
        (DST_SURFACE_STRIDE, destination.surface_stride),
        (DST_RAM_TYPE, PRIMARY),
        (INPUT_DATA_TYPE, INT8),
        // 3, 5, 7, 9.
        (NORMALZ_LEN, layer.channels / 2 - 1),
        (DATIN_OFFSET, 0),
        (DATIN_SCALE, 1),
        (DATIN_SHIFTER, 0),
        (DATOUT_OFFSET, layer.converter.offset as u32),
        (DATOUT_SCALE, i32::from(layer.converter.scale) as u32),
        (DATOUT_SHIFTER, layer.converter.shift),
    ];
    program.checked_fields(Unit::Cdp, &fields)
}

fn rdma_registers(program: &mut Program, shape: Shape, source: CubePlace) -> Result<(), FieldOverflow> {
    use cdp_rdma::{
        d_data_cube_channel::*, d_data_cube_height::*, d_data_cube_width::*, d_data_format::*,
        d_src_base_addr_high::*, d_src_base_addr_low::*, d_src_dma_cfg::*, d_src_line_stride::*,
        d_src_surface_stride::*,
    };
    let fields = [
        (WIDTH, shape.width),
        (HEIGHT, shape.height),
        (CHANNEL, shape.channels),
        (SRC_BASE_ADDR_LOW, low(source.base)),
        (SRC_BASE_ADDR_HIGH, high(source.base)),
        (SRC_LINE_STRIDE, source.line_stride),
        (SRC_SURFACE_STRIDE, source.surface_stride),
        (SRC_RAM_TYPE, PRIMARY),
        (INPUT_DATA, INT8),
    ];
    program.checked_fields(Unit::CdpRdma, &fields)
}

/// The writes that load a normalisation's tables. They are not in groups: CDP must be idle.
///
/// LE holds the near answers and counts where both do; LO the far ones, and counts beyond.
pub(in super::super) fn tables(map: RegisterMap, layer: &Normalisation) -> Result<Program, FieldOverflow> {
    use cdp::{
        s_lut_access_cfg::*, s_lut_access_data::*, s_lut_cfg::*, s_lut_info::*, s_lut_le_end_high::*,
        s_lut_le_end_low::*, s_lut_le_slope_scale::*, s_lut_le_slope_shift::*, s_lut_le_start_high::*,
        s_lut_le_start_low::*, s_lut_lo_end_high::*, s_lut_lo_end_low::*, s_lut_lo_slope_scale::*,
        s_lut_lo_slope_shift::*, s_lut_lo_start_high::*, s_lut_lo_start_low::*,
    };
    let mut program = Program::new(map);
    for (table, entries) in [(LUT_TABLE_ID::LE, &layer.near), (LUT_TABLE_ID::LO, &layer.far)] {
        let access = [(LUT_ADDR, 0), (LUT_TABLE_ID, table), (LUT_ACCESS_TYPE, LUT_ACCESS_TYPE::WRITE)];
        program.checked_fields(Unit::Cdp, &access)?;
        for entry in entries {
            program.checked_fields(Unit::Cdp, &[(LUT_DATA, i32::from(*entry) as u32)])?;
        }
    }
    let fields = [
        (LUT_LE_FUNCTION, LUT_LE_FUNCTION::LINEAR),
        (LUT_UFLOW_PRIORITY, 0),
        (LUT_OFLOW_PRIORITY, 1),
        (LUT_HYBRID_PRIORITY, 0),
        (LUT_LE_INDEX_OFFSET, 0),
        (LUT_LE_INDEX_SELECT, layer.near_step),
        (LUT_LO_INDEX_SELECT, layer.far_step),
        (LUT_LE_START_LOW, 0),
        (LUT_LE_START_HIGH, 0),
        (LUT_LE_END_LOW, 64 << layer.near_step),
        (LUT_LE_END_HIGH, 0),
        (LUT_LO_START_LOW, 0),
        (LUT_LO_START_HIGH, 0),
        (LUT_LO_END_LOW, 256 << layer.far_step),
        (LUT_LO_END_HIGH, 0),
        (LUT_LE_SLOPE_UFLOW_SCALE, 0),
        (LUT_LE_SLOPE_OFLOW_SCALE, 0),
        (LUT_LO_SLOPE_UFLOW_SCALE, 0),
        (LUT_LO_SLOPE_OFLOW_SCALE, 0),
        (LUT_LE_SLOPE_UFLOW_SHIFT, 0),
        (LUT_LE_SLOPE_OFLOW_SHIFT, 0),
        (LUT_LO_SLOPE_UFLOW_SHIFT, 0),
        (LUT_LO_SLOPE_OFLOW_SHIFT, 0),
    ];
    program.checked_fields(Unit::Cdp, &fields)?;
    Ok(program)
}
