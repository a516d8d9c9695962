//! Layers of CDP as register writes.

use vp_models::nvdla::registers::{FieldRef, Unit, cdp, cdp_rdma};

use super::{Program, high, low, ram};
use crate::reference::{CdpLayer, Lut};

impl Program {
    /// A layer of CDP in that group, up to the enables.
    pub fn cdp(&mut self, layer: &CdpLayer, group: u32) {
        self.select_cdp(group);
        self.cdp_rdma(layer);
        self.cdp_registers(layer);
    }

    /// Starts the layer of CDP in that group.
    pub fn enable_cdp(&mut self, group: u32) {
        self.select_cdp(group);
        self.word(Unit::CdpRdma, cdp_rdma::D_OP_ENABLE, 1);
        self.word(Unit::Cdp, cdp::D_OP_ENABLE, 1);
    }

    fn select_cdp(&mut self, group: u32) {
        self.word(Unit::Cdp, cdp::S_POINTER, group);
        self.word(Unit::CdpRdma, cdp_rdma::S_POINTER, group);
    }

    fn cdp_rdma(&mut self, layer: &CdpLayer) {
        use cdp_rdma::{
            d_data_cube_channel::*, d_data_cube_height::*, d_data_cube_width::*, d_data_format::*,
            d_src_base_addr_high::*, d_src_base_addr_low::*, d_src_dma_cfg::*, d_src_line_stride::*,
            d_src_surface_stride::*,
        };
        let source = layer.source;
        self.fields(
            Unit::CdpRdma,
            &[
                (WIDTH, layer.width),
                (HEIGHT, layer.height),
                (CHANNEL, layer.channels),
                (SRC_BASE_ADDR_LOW, low(source)),
                (SRC_BASE_ADDR_HIGH, high(source)),
                (SRC_LINE_STRIDE, source.line),
                (SRC_SURFACE_STRIDE, source.surface),
                (SRC_RAM_TYPE, ram(source)),
                (INPUT_DATA, layer.format.element - 1),
            ],
        );
    }

    fn cdp_registers(&mut self, layer: &CdpLayer) {
        use cdp::{
            d_data_format::*, d_datin_offset::*, d_datin_scale::*, d_datin_shifter::*, d_datout_offset::*,
            d_datout_scale::*, d_datout_shifter::*, d_dst_base_addr_high::*, d_dst_base_addr_low::*,
            d_dst_dma_cfg::*, d_dst_line_stride::*, d_dst_surface_stride::*, d_func_bypass::*, d_lrn_cfg::*,
        };
        let place = layer.destination;
        self.fields(
            Unit::Cdp,
            &[
                (SQSUM_BYPASS, layer.plain.into()),
                (MUL_BYPASS, layer.unscaled.into()),
                (DST_BASE_ADDR_LOW, low(place)),
                (DST_BASE_ADDR_HIGH, high(place)),
                (DST_LINE_STRIDE, place.line),
                (DST_SURFACE_STRIDE, place.surface),
                (DST_RAM_TYPE, ram(place)),
                (INPUT_DATA_TYPE, layer.format.element - 1),
                (NORMALZ_LEN, layer.window / 2 - 1),
                (DATIN_OFFSET, layer.input.offset as u32),
                (DATIN_SCALE, layer.input.scale as u32),
                (DATIN_SHIFTER, layer.input.shift),
                (DATOUT_OFFSET, layer.output.offset as u32),
                (DATOUT_SCALE, layer.output.scale as u32),
                (DATOUT_SHIFTER, layer.output.shift),
            ],
        );
    }

    /// Loads CDP's lookup tables and says how they are used; driver contract, section 6.
    pub fn cdp_lut(&mut self, lut: &Lut) {
        use cdp::{
            s_lut_access_cfg::*, s_lut_access_data::*, s_lut_cfg::*, s_lut_info::*, s_lut_le_end_high::*,
            s_lut_le_end_low::*, s_lut_le_slope_scale::*, s_lut_le_slope_shift::*, s_lut_le_start_high::*,
            s_lut_le_start_low::*, s_lut_lo_end_high::*, s_lut_lo_end_low::*, s_lut_lo_slope_scale::*,
            s_lut_lo_slope_shift::*, s_lut_lo_start_high::*, s_lut_lo_start_low::*,
        };
        for (table, entries) in [(LUT_TABLE_ID::LE, &lut.le.entries), (LUT_TABLE_ID::LO, &lut.lo.entries)] {
            let access = [(LUT_ADDR, 0), (LUT_TABLE_ID, table), (LUT_ACCESS_TYPE, LUT_ACCESS_TYPE::WRITE)];
            self.fields(Unit::Cdp, &access);
            for entry in entries {
                self.fields(Unit::Cdp, &[(LUT_DATA, *entry as u32)]);
            }
        }
        let [below, above, doubt] = lut.lo_first.map(u32::from);
        let function =
            if lut.exponent.is_some() { LUT_LE_FUNCTION::EXPONENT } else { LUT_LE_FUNCTION::LINEAR };
        let bound = |low: FieldRef, high: FieldRef, value: i32| {
            [(low, value as u32), (high, (i64::from(value) >> 32) as u32)]
        };
        let mut fields = vec![
            (LUT_LE_FUNCTION, function),
            (LUT_UFLOW_PRIORITY, below),
            (LUT_OFLOW_PRIORITY, above),
            (LUT_HYBRID_PRIORITY, doubt),
            (LUT_LE_INDEX_OFFSET, lut.exponent.unwrap_or(0) as u32),
            (LUT_LE_INDEX_SELECT, lut.le.select as u32),
            (LUT_LO_INDEX_SELECT, lut.lo.select as u32),
            (LUT_LE_SLOPE_UFLOW_SCALE, lut.le.below.0 as u32),
            (LUT_LE_SLOPE_OFLOW_SCALE, lut.le.above.0 as u32),
            (LUT_LE_SLOPE_UFLOW_SHIFT, lut.le.below.1 as u32),
            (LUT_LE_SLOPE_OFLOW_SHIFT, lut.le.above.1 as u32),
            (LUT_LO_SLOPE_UFLOW_SCALE, lut.lo.below.0 as u32),
            (LUT_LO_SLOPE_OFLOW_SCALE, lut.lo.above.0 as u32),
            (LUT_LO_SLOPE_UFLOW_SHIFT, lut.lo.below.1 as u32),
            (LUT_LO_SLOPE_OFLOW_SHIFT, lut.lo.above.1 as u32),
        ];
        fields.extend(bound(LUT_LE_START_LOW, LUT_LE_START_HIGH, lut.le.start));
        fields.extend(bound(LUT_LE_END_LOW, LUT_LE_END_HIGH, lut.le.end));
        fields.extend(bound(LUT_LO_START_LOW, LUT_LO_START_HIGH, lut.lo.start));
        fields.extend(bound(LUT_LO_END_LOW, LUT_LO_END_HIGH, lut.lo.end));
        self.fields(Unit::Cdp, &fields);
    }
}
