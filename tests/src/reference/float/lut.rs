//! The lookup tables in fp16: where a number lies, and what SDP and CDP make of that.

use super::Real::{self, Nan, Number};
use super::{FP17, FP32};
use crate::reference::{Lut, LutTable};

#[derive(Clone, Copy, PartialEq)]
enum Found {
    Below,
    Above,
    /// Between this entry and the next, and how far.
    Hit(usize, f64),
}

/// Units with lookup tables, for what the two do not share.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unit {
    Sdp,
    Cdp,
}

impl Unit {
    fn fraction_bits(self) -> i32 {
        if self == Unit::Sdp { 35 } else { 16 }
    }
}

fn bound(register: i32) -> Real {
    FP32.decode(register as u32)
}

fn entry(code: i16) -> Real {
    FP17.widen(code.into(), false)
}

fn find(table: &LutTable, x: Real, exponent: Option<i32>, unit: Unit) -> Found {
    let distance = match FP32.subtract(x, bound(table.start)) {
        Number(distance) if distance > 0.0 => distance,
        Number(_) | Nan(..) => return Found::Below,
    };
    let position = match exponent {
        None => distance * 2f64.powi(-table.select),
        Some(first) => {
            let above = super::exponent(distance);
            f64::from(above - first) + distance * 2f64.powi(-above) - 1.0
        }
    };
    if position < 0.0 {
        return Found::Below;
    }
    if position >= (table.entries.len() - 1) as f64 {
        return Found::Above;
    }
    let unit = 2f64.powi(unit.fraction_bits());
    Found::Hit(position as usize, (position.fract() * unit).trunc() / unit)
}

fn value(table: &LutTable, x: Real, found: Found, exponent: Option<i32>, unit: Unit) -> Real {
    let narrow = |value| FP17.narrow(value, false);
    let (from, slope, entry_at) = match found {
        Found::Hit(index, fraction) => {
            let [here, next] = [index, index + 1].map(|index| entry(table.entries[index]));
            let weight = |of: f64| Number(FP17.nearest(of));
            return match unit {
                Unit::Sdp => FP17
                    .add(FP17.multiply(weight(1.0 - fraction), here), FP17.multiply(weight(fraction), next)),
                Unit::Cdp => {
                    let rise = narrow(FP32.subtract(next, here));
                    FP17.add(FP17.multiply(rise, weight(fraction)), here)
                }
            };
        }
        Found::Below => {
            let first = exponent.map_or(0.0, |exponent| 2f64.powi(exponent));
            (FP32.add(bound(table.start), Number(first)), table.below.0, 0)
        }
        Found::Above => (bound(table.end), table.above.0, table.entries.len() - 1),
    };
    let rise = FP17.multiply(narrow(FP32.subtract(x, from)), entry(slope));
    match unit {
        Unit::Sdp => FP17.add(entry(table.entries[entry_at]), rise),
        Unit::Cdp => FP17.add(rise, entry(table.entries[entry_at])),
    }
}

/// Looks a number up.
pub(super) fn look_up(lut: &Lut, x: Real, unit: Unit) -> Real {
    let le = find(&lut.le, x, lut.exponent, unit);
    let lo = find(&lut.lo, x, None, unit);
    let lo_counts = match (le, lo) {
        (Found::Below, Found::Below) => lut.lo_first[0],
        (Found::Above, Found::Above) => lut.lo_first[1],
        (Found::Hit(..), Found::Below | Found::Above) => false,
        (Found::Below | Found::Above, Found::Hit(..)) => true,
        _ => lut.lo_first[2],
    };
    match lo_counts {
        true => value(&lut.lo, x, lo, None, unit),
        false => value(&lut.le, x, le, lut.exponent, unit),
    }
}
