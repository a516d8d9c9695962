//! The lookup tables of SDP's element-wise stage and of CDP, which interpolate and clamp each in its own way.

use super::{saturate, shift_rounding};

/// One of the two tables: its range and what lies outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LutTable {
    /// 65 entries (LE) or 257 (LO).
    pub entries: Vec<i16>,
    /// First input.
    pub start: i32,
    /// Last input: where the slope above begins.
    pub end: i32,
    /// An entry for every `2^select` inputs; signed 8 bits.
    pub select: i32,
    /// Below the range: scale and shift.
    pub below: (i16, i32),
    /// Above the range: scale and shift.
    pub above: (i16, i32),
}

/// Tables of a lookup, and how one of them is chosen. The default holds zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lut {
    /// The first table.
    pub le: LutTable,
    /// The second table.
    pub lo: LutTable,
    /// The first one's entries lie at powers of two, the first of which has this exponent; linear if absent.
    pub exponent: Option<i32>,
    /// The second table counts when both are below, both above, otherwise in doubt.
    pub lo_first: [bool; 3],
}

impl Default for Lut {
    fn default() -> Lut {
        let table = |entries| LutTable {
            entries: vec![0; entries],
            start: 0,
            end: 0,
            select: 0,
            below: (0, 0),
            above: (0, 0),
        };
        Lut { le: table(65), lo: table(257), exponent: None, lo_first: [false; 3] }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Found {
    Below,
    Above,
    /// Between this entry and the next; the fraction in as many bits as were asked for.
    Hit(usize, i128),
}

impl LutTable {
    fn linear(&self, x: i64, bits: u32) -> Found {
        if x <= i64::from(self.start) {
            return Found::Below;
        }
        let distance = i128::from(x) - i128::from(self.start);
        let (index, fraction) = match self.select {
            s if s > 0 => (distance >> s, ((distance % (1 << s)) << bits) >> s),
            s => ((distance << (-s).min(9)).min(511), 0),
        };
        self.hit(index, fraction)
    }

    fn exponential(&self, x: i64, offset: i32, bits: u32) -> Found {
        if x <= i64::from(self.start) {
            return Found::Below;
        }
        let distance = i128::from(x) - i128::from(self.start);
        let exponent = distance.ilog2() as i32;
        if exponent < offset {
            return Found::Below;
        }
        let below_the_leading_one = distance - (1 << exponent);
        self.hit((exponent - offset).into(), (below_the_leading_one << bits) >> exponent)
    }

    fn hit(&self, index: i128, fraction: i128) -> Found {
        let intervals = self.entries.len() - 1;
        if index >= intervals as i128 { Found::Above } else { Found::Hit(index as usize, fraction) }
    }

    fn value(&self, x: i32, found: Found, below_from: i128) -> i32 {
        let entry = |index: usize| i128::from(self.entries[index]);
        let beyond = |entry: i128, from: i128, (scale, shift): (i16, i32)| {
            let slope = saturate(shift_rounding((i128::from(x) - from) * i128::from(scale), shift), 32);
            saturate(entry + slope, 32)
        };
        let value = match found {
            Found::Below => beyond(entry(0), below_from, self.below),
            Found::Above => beyond(entry(self.entries.len() - 1), self.end.into(), self.above),
            Found::Hit(index, fraction) => {
                let whole = 1 << 35;
                let sum = entry(index) * (whole - fraction) + entry(index + 1) * fraction;
                saturate(shift_rounding(sum, 35), 32)
            }
        };
        value as i32
    }
}

impl Lut {
    /// Returns the places of a value in both tables, fractions in so many bits, and whether the second one counts.
    pub(super) fn find(&self, x: i64, bits: u32) -> ([Found; 2], bool) {
        let le = match self.exponent {
            Some(offset) => self.le.exponential(x, offset, bits),
            None => self.le.linear(x, bits),
        };
        let lo = self.lo.linear(x, bits);
        let lo_counts = match (le, lo) {
            (Found::Below, Found::Below) => self.lo_first[0],
            (Found::Above, Found::Above) => self.lo_first[1],
            (Found::Hit(..), Found::Hit(..))
            | (Found::Below, Found::Above)
            | (Found::Above, Found::Below) => self.lo_first[2],
            (_, Found::Hit(..)) => true,
            (Found::Hit(..), _) => false,
        };
        ([le, lo], lo_counts)
    }

    /// Looks a value up as SDP does.
    pub fn look_up(&self, x: i32) -> i32 {
        let ([le, lo], lo_counts) = self.find(x.into(), 35);
        if lo_counts {
            return self.lo.value(x, lo, self.lo.start.into());
        }
        let first = self.exponent.filter(|offset| *offset > 0).map_or(0, |offset| 1i128 << offset);
        self.le.value(x, le, i128::from(self.le.start) + first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_description() {
        let lut = Lut {
            le: LutTable {
                entries: (0..65).map(|i| 100 * i).collect(),
                start: -32768,
                end: 32768,
                select: 10,
                below: (3, 2),
                above: (-5, 3),
            },
            lo: LutTable {
                entries: (0..257).map(|i| (i * i - 20000) as i16).collect(),
                start: -8192,
                end: 8192,
                select: 6,
                below: (0, 0),
                above: (0, 0),
            },
            exponent: None,
            lo_first: [false, false, true],
        };
        assert_eq!([100, 9000, -40000, 40000].map(|x| lut.look_up(x)), [-3213, 4079, -5424, 1880]);
    }
}
