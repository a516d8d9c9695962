//! Tables of SDP's element-wise stage: functions of one value, linear between 257 entries.

use super::synthetic::half;
use vp_models::nvdla::numeric::Precision;

/// A function as a table: entries at distances of a power of two, linear between them, and straight lines outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookUp {
    /// Value at the first entry, an integer of 32 bits; in fp16 the bits of a number of binary32.
    pub start: i64,
    /// Distance of the entries, as the exponent of a power of two.
    pub step: i32,
    /// The entries, [`LookUp::ENTRIES`] of them: integers, in fp16 the codes of numbers.
    pub values: Vec<i16>,
    /// The line below the first entry.
    pub below: Slope,
    /// The line above the last entry.
    pub above: Slope,
}

/// A straight line from an entry on: `entry + round((x - its value) * scale / 2^shift)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slope {
    /// Factor; in fp16 the code of a number.
    pub scale: i16,
    /// Right shift, from -16 to 15; negative shifts left. In fp16 it means nothing.
    pub shift: i32,
}

impl Slope {
    /// The nearest slope of integers.
    fn of(slope: f64) -> Slope {
        let scaled = |shift: i32| (slope * f64::from(shift).exp2()).round();
        let fits = |shift: &i32| scaled(*shift).abs() <= f64::from(i16::MAX);
        let shift = (-16..=15).rev().find(fits).unwrap_or(-16);
        match scaled(shift) as i16 {
            0 => Slope::default(),
            scale => Slope { scale, shift },
        }
    }
}

impl LookUp {
    /// Entries of a table: 256 intervals, and the end of the last one.
    pub const ENTRIES: usize = 257;

    /// Returns the table of a function over at least the numbers from `low` to `high`. A value `x` of integers means `x * input`, an
    /// answer `y` means `y * output`; in fp16 these are mostly 1. Outside of its range the table goes on as the function does on average
    /// over as much again, or stays as it is where the function is no number there.
    ///
    /// An entry lies at 0 if that is in the range. Values of int8 have a table with an entry for each: with `low = -128 * input` and
    /// `high = 127 * input` it begins at -128, in steps of 1.
    pub fn of(
        f: impl Fn(f64) -> f64,
        low: f64,
        high: f64,
        precision: Precision,
        [input, output]: [f64; 2],
    ) -> LookUp {
        let is_float = precision == Precision::Fp16;
        // What is lost by a division is no step.
        let nearly = (high - low).abs() * 1e-9;
        let [low, high] = [(low + nearly) / input, (high - nearly) / input];
        let steps = if is_float { -60..=100 } else { 0..=24 };
        let range = |step: i32| {
            let step = f64::from(step).exp2();
            let start = (low / step).floor() * step;
            (start, start + 256.0 * step)
        };
        let last = *steps.end();
        let step = steps.into_iter().find(|&step| range(step).1 >= high).unwrap_or(last);
        let (start, end) = range(step);
        let answer = |value: f64| f(value * input) / output;
        let entry = |value: f64| {
            let answer = answer(value);
            match is_float {
                true => half(answer),
                false => answer.round().clamp(i16::MIN.into(), i16::MAX.into()) as i16,
            }
        };
        let slope = |from: f64, to: f64| {
            let slope = (answer(to) - answer(from)) / (to - from);
            match slope.is_finite() {
                true if is_float => Slope { scale: half(slope), shift: 0 },
                true => Slope::of(slope),
                false => Slope::default(),
            }
        };
        LookUp {
            start: if is_float { (start as f32).to_bits().into() } else { start as i64 },
            step,
            values: (0..LookUp::ENTRIES)
                .map(|at| entry(start + at as f64 * f64::from(step).exp2()))
                .collect(),
            below: slope(start - (end - start), start),
            above: slope(end, end + (end - start)),
        }
    }

    /// Returns the table of 256 answers to int8, the first one's to -128.
    pub fn of_answers(answers: &[i8]) -> LookUp {
        let mut values: Vec<i16> = answers.iter().map(|&answer| answer.into()).collect();
        // Nothing lies behind the last one.
        values.resize(LookUp::ENTRIES, answers.last().copied().unwrap_or(0).into());
        LookUp { start: -128, step: 0, values, below: Slope::default(), above: Slope::default() }
    }

    /// The value behind its last entry.
    pub(crate) fn end(&self, entries: i64, precision: Precision) -> i64 {
        match precision {
            Precision::Fp16 => {
                let start = f32::from_bits(self.start as u32);
                (start + entries as f32 * (self.step as f32).exp2()).to_bits().into()
            }
            _ => self.start.saturating_add(match self.step {
                0.. => entries.checked_shl(self.step as u32).unwrap_or(i64::MAX),
                _ => entries.checked_shr(self.step.unsigned_abs()).unwrap_or(0),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_int8_has_an_entry_for_each_value() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let input = 0.1;
        let table = LookUp::of(sigmoid, -128.0 * input, 127.0 * input, Precision::Int8, [input, 1.0 / 256.0]);
        assert_eq!((table.start, table.step, table.values.len()), (-128, 0, 257));
        let exact = |x: i32| (sigmoid(f64::from(x) * input) * 256.0).round() as i16;
        assert!((-128..128).zip(&table.values).all(|(x, value)| exact(x) == *value));
    }

    #[test]
    fn a_wider_range_has_an_entry_at_zero_and_goes_on_outside() {
        let softplus = |x: f64| (1.0 + x.exp()).ln();
        // Sums of 16 bits, an answer of 1 / 1000.
        let table = LookUp::of(softplus, -8.0, 8.0, Precision::Int8, [8.0 / 30000.0, 0.001]);
        assert_eq!((table.step, table.start % 256, table.start / 256), (8, 0, -118));
        assert_eq!(table.values[118], 693);
        assert_eq!(table.below, Slope::default());
        // A step of the input is 8 / 30000, which is 0.267 of one of the output.
        let above = f64::from(table.above.scale) / f64::from(table.above.shift).exp2();
        assert!((above - 8.0 / 30.0).abs() < 1e-3, "{:?}", table.above);
    }

    #[test]
    fn a_table_of_numbers_begins_with_one_and_has_their_codes() {
        let table = LookUp::of(|x| x * x, -1.0, 3.0, Precision::Fp16, [1.0, 1.0]);
        assert_eq!((table.start, table.step), (i64::from((-1.0f32).to_bits()), -6));
        assert_eq!((table.values[0], table.values[64], table.values[256]), (0x3c00, 0, half(9.0)));
        assert_eq!(f32::from_bits(table.end(256, Precision::Fp16) as u32), 3.0);
        // From 3 to 7 it rises from 9 to 49.
        assert_eq!((table.above.scale, table.above.shift), (half(10.0), 0));
    }

    #[test]
    fn functions_that_are_no_numbers_outside_stay_as_they_are() {
        let table = LookUp::of(f64::ln, 1.0, 255.0, Precision::Int8, [1.0, 0.01]);
        assert_eq!((table.start, table.below), (1, Slope::default()));
        assert!(table.above.scale > 0);
    }
}
