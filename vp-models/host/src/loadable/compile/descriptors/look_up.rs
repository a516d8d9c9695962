//! Lookup tables of SDP and CDP.

use crate::loadable::layout;
use crate::program::Program;
use vp_models::nvdla::lut::{LeIndex, Settings, Slope};
use vp_models::nvdla::registers::{Group, LutPort, RegisterMap, Table, Unit, cdp, sdp};
use vp_models::nvdla::{cdp as cdp_unit, sdp as sdp_unit};
use zerocopy::FromZeros;
use zerocopy::little_endian::I16;

/// Returns the table that a program loads.
pub(in super::super) fn of(map: RegisterMap, program: &Program) -> layout::Lut {
    let unit = program.writes.first().map_or(Unit::Sdp, |write| write.unit);
    let data = if unit == Unit::Cdp { cdp::S_LUT_ACCESS_DATA.name } else { sdp::S_LUT_ACCESS_DATA.name };
    let mut group = Group::new(unit, map);
    let mut entries = Vec::new();
    for write in &program.writes {
        match write.register.name == data {
            true => entries.push(I16::new(write.value as u16 as i16)),
            false => group.set_word(write.register, write.value),
        }
    }
    let mut lut = match unit {
        Unit::Cdp => described(&cdp_unit::lut::decode(&group), |bound| bound as u64),
        _ => described(&sdp_unit::lut::decode(&group), |bound| i64::from(bound) as u64),
    };
    // LE first, as it is loaded.
    let (le, lo) = entries.split_at(LutPort::LE_ENTRIES.min(entries.len()));
    lut.le.iter_mut().zip(le).for_each(|(entry, value)| *entry = *value);
    lut.lo.iter_mut().zip(lo).for_each(|(entry, value)| *entry = *value);
    lut
}

fn described<B: Copy>(settings: &Settings<B>, bound: impl Fn(B) -> u64) -> layout::Lut {
    const LINEAR: u8 = 1;
    let code = |table: Table| u8::from(table == Table::Lo);
    let slope = |Slope { scale, shift }: Slope| layout::Slope {
        scale: scale.into(),
        shift: shift.cast_unsigned(),
        _reserved: 0,
    };
    let (method, index) = match settings.le_index {
        LeIndex::Exponent { offset } => (0, offset),
        LeIndex::Linear { select } => (LINEAR, select),
    };
    layout::Lut {
        le_index: index.cast_unsigned(),
        lo_index: settings.lo_select.cast_unsigned(),
        le_start: bound(settings.le.start).into(),
        le_end: bound(settings.le.end).into(),
        lo_start: bound(settings.lo.start).into(),
        lo_end: bound(settings.lo.end).into(),
        le_slopes: [slope(settings.le.underflow), slope(settings.le.overflow)],
        lo_slopes: [slope(settings.lo.underflow), slope(settings.lo.overflow)],
        hybrid_priority: code(settings.priorities.hybrid),
        underflow_priority: code(settings.priorities.underflow),
        overflow_priority: code(settings.priorities.overflow),
        method,
        ..layout::Lut::new_zeroed()
    }
}
