//! The writes that load a table of SDP or CDP.

use super::super::layout;
use crate::host::program::Program;
use crate::nvdla::registers::{FieldRef, RegisterMap, Unit, cdp, sdp};
use zerocopy::little_endian::U64;

/// Fields that SDP and CDP both have, in registers of their own.
struct Fields {
    address: FieldRef,
    table: FieldRef,
    access: FieldRef,
    data: FieldRef,
    function: FieldRef,
    underflow_priority: FieldRef,
    overflow_priority: FieldRef,
    hybrid_priority: FieldRef,
    le_offset: FieldRef,
    le_select: FieldRef,
    lo_select: FieldRef,
    /// Begin and end of LE, then of LO: the low word, and where there is one the high word.
    bounds: [(FieldRef, Option<FieldRef>); 4],
    le_scales: [FieldRef; 2],
    le_shifts: [FieldRef; 2],
    lo_scales: [FieldRef; 2],
    lo_shifts: [FieldRef; 2],
}

/// What both units call by one name.
macro_rules! fields {
    ($unit:ident, bounds: $bounds:expr) => {{
        use $unit::{
            s_lut_access_cfg::*, s_lut_access_data::*, s_lut_cfg::*, s_lut_info::*, s_lut_le_slope_scale::*,
            s_lut_le_slope_shift::*, s_lut_lo_slope_scale::*, s_lut_lo_slope_shift::*,
        };
        Fields {
            address: LUT_ADDR,
            table: LUT_TABLE_ID,
            access: LUT_ACCESS_TYPE,
            data: LUT_DATA,
            function: LUT_LE_FUNCTION,
            underflow_priority: LUT_UFLOW_PRIORITY,
            overflow_priority: LUT_OFLOW_PRIORITY,
            hybrid_priority: LUT_HYBRID_PRIORITY,
            le_offset: LUT_LE_INDEX_OFFSET,
            le_select: LUT_LE_INDEX_SELECT,
            lo_select: LUT_LO_INDEX_SELECT,
            bounds: $bounds,
            le_scales: [LUT_LE_SLOPE_UFLOW_SCALE, LUT_LE_SLOPE_OFLOW_SCALE],
            le_shifts: [LUT_LE_SLOPE_UFLOW_SHIFT, LUT_LE_SLOPE_OFLOW_SHIFT],
            lo_scales: [LUT_LO_SLOPE_UFLOW_SCALE, LUT_LO_SLOPE_OFLOW_SCALE],
            lo_shifts: [LUT_LO_SLOPE_UFLOW_SHIFT, LUT_LO_SLOPE_OFLOW_SHIFT],
        }
    }};
}

const SDP: Fields = fields!(sdp, bounds: {
    use sdp::{s_lut_le_end::*, s_lut_le_start::*, s_lut_lo_end::*, s_lut_lo_start::*};
    [(LUT_LE_START, None), (LUT_LE_END, None), (LUT_LO_START, None), (LUT_LO_END, None)]
});

const CDP: Fields = fields!(cdp, bounds: {
    use cdp::{
        s_lut_le_end_high::*, s_lut_le_end_low::*, s_lut_le_start_high::*, s_lut_le_start_low::*,
        s_lut_lo_end_high::*, s_lut_lo_end_low::*, s_lut_lo_start_high::*, s_lut_lo_start_low::*,
    };
    [
        (LUT_LE_START_LOW, Some(LUT_LE_START_HIGH)),
        (LUT_LE_END_LOW, Some(LUT_LE_END_HIGH)),
        (LUT_LO_START_LOW, Some(LUT_LO_START_HIGH)),
        (LUT_LO_END_LOW, Some(LUT_LO_END_HIGH)),
    ]
});

const EXPONENT: u8 = 0;
const FP16: u8 = 2;

/// Loads a table into SDP or CDP, for an operation of a precision.
pub(in super::super) fn load(map: RegisterMap, unit: Unit, lut: &layout::Lut, precision: u8) -> Program {
    let fields = if unit == Unit::Cdp { &CDP } else { &SDP };
    let mut program = Program::new(map);
    for (table, entries) in [(0, &lut.le[..]), (1, &lut.lo[..])] {
        program.fields(unit, &[(fields.address, 0), (fields.table, table), (fields.access, 1)]);
        for entry in entries {
            program.fields(unit, &[(fields.data, i32::from(entry.get()) as u32)]);
        }
    }
    let signed = |byte: u8| i32::from(byte.cast_signed()) as u32;
    let is_exponent = lut.method == EXPONENT;
    program.fields(
        unit,
        &[
            (fields.function, u32::from(!is_exponent)),
            (fields.underflow_priority, lut.underflow_priority.into()),
            (fields.overflow_priority, lut.overflow_priority.into()),
            (fields.hybrid_priority, lut.hybrid_priority.into()),
            (fields.le_offset, if is_exponent { signed(lut.le_index) } else { 0 }),
            (fields.le_select, if is_exponent { 0 } else { signed(lut.le_index) }),
            (fields.lo_select, signed(lut.lo_index)),
        ],
    );
    let bounds: [U64; 4] = [lut.le_start, lut.le_end, lut.lo_start, lut.lo_end];
    for ((low, high), bound) in fields.bounds.into_iter().zip(bounds) {
        program.fields(unit, &[(low, bound.get() as u32)]);
        if let Some(high) = high {
            program.fields(unit, &[(high, (bound.get() >> 32) as u32)]);
        }
    }
    for (scales, shifts, slopes) in [
        (fields.le_scales, fields.le_shifts, lut.le_slopes),
        (fields.lo_scales, fields.lo_shifts, lut.lo_slopes),
    ] {
        let scale = |at: usize| (scales[at], i32::from(slopes[at].scale.get()) as u32);
        program.fields(unit, &[scale(0), scale(1)]);
        if precision != FP16 {
            let shift = |at: usize| (shifts[at], signed(slopes[at].shift));
            program.fields(unit, &[shift(0), shift(1)]);
        }
    }
    program
}
