//! The writes that load a table of SDP or CDP.

use super::super::layout;
use crate::program::Program;
use vp_models::nvdla::lut::{LeIndex, Priorities, Range, Settings, Slope, Tables};
use vp_models::nvdla::registers::{RegisterMap, Table, Unit};
use vp_models::nvdla::{cdp, sdp};
use zerocopy::little_endian::I16;

const EXPONENT: u8 = 0;
const FP16: u8 = 2;

/// Loads a table into SDP or CDP, for an operation of a precision.
pub(in super::super) fn load(map: RegisterMap, unit: Unit, lut: &layout::Lut, precision: u8) -> Program {
    let tables = Tables { le: lut.le.map(I16::get), lo: lut.lo.map(I16::get) };
    let mut encoded = match unit {
        Unit::Cdp => cdp::lut::load(&settings(lut, |bound| bound as i64), &tables),
        _ => sdp::lut::load(&settings(lut, |bound| bound as i32), &tables),
    };
    // Slopes of halves have no shift, and the driver leaves these registers alone.
    if precision == FP16 {
        encoded.retain(|field| !field.name.ends_with("FLOW_SHIFT"));
    }
    let mut program = Program::new(map);
    program.encoded(&encoded);
    program
}

fn settings<B>(lut: &layout::Lut, bound: impl Fn(u64) -> B) -> Settings<B> {
    let table = |priority: u8| if priority & 1 == 0 { Table::Le } else { Table::Lo };
    let slope = |slope: layout::Slope| Slope { scale: slope.scale.get(), shift: slope.shift.cast_signed() };
    let range = |[start, end]: [u64; 2], [underflow, overflow]: [Slope; 2]| Range {
        start: bound(start),
        end: bound(end),
        underflow,
        overflow,
    };
    let index = lut.le_index.cast_signed();
    Settings {
        le_index: match lut.method {
            EXPONENT => LeIndex::Exponent { offset: index },
            _ => LeIndex::Linear { select: index },
        },
        lo_select: lut.lo_index.cast_signed(),
        le: range([lut.le_start.get(), lut.le_end.get()], lut.le_slopes.map(slope)),
        lo: range([lut.lo_start.get(), lut.lo_end.get()], lut.lo_slopes.map(slope)),
        priorities: Priorities {
            underflow: table(lut.underflow_priority),
            overflow: table(lut.overflow_priority),
            hybrid: table(lut.hybrid_priority),
        },
    }
}
