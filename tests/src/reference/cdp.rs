//! CDP: each element normalised by its neighbours in other channels.

use super::lut::{Found, Lut, LutTable};
use super::{Converter, Cube, CubePlace, Format, Image, saturate, shift_rounding};

/// A layer of CDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdpLayer {
    /// Of input and output.
    pub format: Format,
    /// Columns.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels.
    pub channels: u32,
    /// Channels of a window: 3, 5, 7 or 9.
    pub window: u32,
    /// The window is not squared and summed: its centre is looked up.
    pub plain: bool,
    /// The answer of the table is not multiplied with the centre.
    pub unscaled: bool,
    /// Of each input: offsets of 8 or 16 bits, shifts of 5.
    pub input: Converter,
    /// Of each result: offsets of 25 or 32 bits, shifts of 6.
    pub output: Converter,
    /// Place of the input.
    pub source: CubePlace,
    /// Place of the output.
    pub destination: CubePlace,
}

impl CdpLayer {
    fn converted(&self, value: i32) -> i128 {
        let Converter { offset, scale, shift } = self.input;
        let scaled = (i128::from(value) - i128::from(offset)) * i128::from(scale);
        saturate(shift_rounding(scaled, shift as i32), 8 * self.format.element + 1)
    }

    pub(super) fn results(&self, lut: &Lut, image: &Image) -> Cube {
        let channels = self.format.whole(self.channels);
        Cube::of(self.width, self.height, channels, |channel, y, x| {
            // What lies outside the channels is nothing.
            let element = |channel: i64| match u32::try_from(channel) {
                Ok(channel) if channel < self.channels => {
                    let address = self.source.address(self.format, channel, y, x);
                    self.converted(image.element(address, self.format.element))
                }
                _ => 0,
            };
            let (centre, reach) = (i64::from(channel), i64::from(self.window / 2));
            let value = element(centre);
            let sum = if self.plain {
                value
            } else {
                (centre - reach..=centre + reach).map(|channel| element(channel).pow(2)).sum()
            };
            let factor = look_up(lut, sum as i64);
            let product = if self.unscaled { factor } else { factor * value };
            let Converter { offset, scale, shift } = self.output;
            let scaled = (product - i128::from(offset)) * i128::from(scale);
            saturate(shift_rounding(scaled, shift as i32), 8 * self.format.element) as i32
        })
    }
}

/// Looks a value up as CDP does: 16 bits of fraction, 16 bits of answer.
pub(super) fn look_up(lut: &Lut, x: i64) -> i128 {
    let ([le, lo], lo_counts) = lut.find(x, 16);
    let first = match lut.exponent {
        Some(offset) if offset >= 0 => 1i128 << offset.min(60),
        _ => 0,
    };
    if lo_counts {
        value(&lut.lo, x, lo, i128::from(lut.lo.start))
    } else {
        value(&lut.le, x, le, i128::from(lut.le.start) + first)
    }
}

fn value(table: &LutTable, x: i64, found: Found, below_from: i128) -> i128 {
    let entry = |index: usize| i128::from(table.entries[index]);
    let beyond = |entry: i128, from: i128, (scale, shift): (i16, i32)| {
        entry + saturate(shift_rounding((i128::from(x) - from) * i128::from(scale), shift), 56)
    };
    let value = match found {
        Found::Below => beyond(entry(0), below_from, table.below),
        Found::Above => beyond(entry(table.entries.len() - 1), table.end.into(), table.above),
        Found::Hit(index, fraction) => {
            entry(index) + shift_rounding((entry(index + 1) - entry(index)) * fraction, 16)
        }
    };
    saturate(value, 16)
}
