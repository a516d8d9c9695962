//! The table of SDP's element-wise stage.

use crate::network::description::{LookUp, Slope};
use vp_models::nvdla::lut::{LeIndex, Priorities, Range, Tables};
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::Table;
use vp_models::nvdla::sdp::lut::Settings;

/// Returns the settings with which table LO answers always: LE has the same entries' distance and start, so it holds no value that LO
/// does not hold.
pub(in super::super) fn settings(table: &LookUp, precision: Precision) -> Settings {
    let select = i8::try_from(table.step).unwrap_or(i8::MAX);
    let register = |bound: i64| match precision {
        // A code of binary32.
        Precision::Fp16 => (bound as u32).cast_signed(),
        _ => bound.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
    };
    let slope = |Slope { scale, shift }: Slope| {
        let shift = i8::try_from(shift).unwrap_or(i8::MAX);
        vp_models::nvdla::lut::Slope { scale, shift }
    };
    let range = |intervals: i64, [underflow, overflow]: [Slope; 2]| Range {
        start: register(table.start),
        end: register(table.end(intervals, precision)),
        underflow: slope(underflow),
        overflow: slope(overflow),
    };
    Settings {
        le_index: LeIndex::Linear { select },
        lo_select: select,
        le: range(64, [Slope::default(); 2]),
        lo: range(256, [table.below, table.above]),
        priorities: Priorities { underflow: Table::Lo, overflow: Table::Lo, hybrid: Table::Lo },
    }
}

/// The entries.
pub(in super::super) fn entries(table: &LookUp) -> Tables {
    let mut tables = Tables::default();
    tables.lo.iter_mut().zip(&table.values).for_each(|(entry, value)| *entry = *value);
    tables
}
