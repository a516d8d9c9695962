//! Winograd's method as the description says it, tile by tile.

use super::conv::{ConvLayer, Winograd};
use super::{Cube, Image, saturate, shift_rounding};

/// Combines four lines, or four columns, as CSC does: sums and differences, in that order of operands.
pub(super) fn combine<V: Copy>(d: [V; 4], add: impl Fn(V, V) -> V, subtract: impl Fn(V, V) -> V) -> [V; 4] {
    [subtract(d[0], d[2]), add(d[1], d[2]), subtract(d[2], d[1]), subtract(d[1], d[3])]
}

/// The 16 places of the tile with that first line and column of the input.
pub(super) fn places<V: Copy>(
    element: impl Fn(i64, i64) -> V,
    add: impl Fn(V, V) -> V + Copy,
    subtract: impl Fn(V, V) -> V + Copy,
) -> Vec<V> {
    let by_column = [0, 1, 2, 3].map(|x| combine([0, 1, 2, 3].map(|y| element(y, x)), add, subtract));
    let row = |y: usize| combine(by_column.map(|column| column[y]), add, subtract);
    (0..4).flat_map(row).collect()
}

/// The output at that line and column, of the sums at each place of its tile.
pub(super) fn output([y, x]: [u32; 2], sum: impl Fn(usize) -> i128) -> i128 {
    let upper = |i: usize| sum(i) + sum(4 + i) + sum(8 + i);
    let lower = |i: usize| sum(4 + i) - sum(8 + i) - sum(12 + i);
    let column = |i: usize| if y.is_multiple_of(2) { upper(i) } else { lower(i) };
    match x % 2 {
        0 => column(0) + column(1) + column(2),
        _ => column(1) - column(2) - column(3),
    }
}

impl ConvLayer {
    /// Channel, line and column in memory of what Winograd's method sees there: the channels of each step, lines slowest.
    pub(super) fn in_memory(&self, winograd: Winograd, channel: u32, y: i64, x: i64) -> (u32, i64, i64) {
        let [right, down] = winograd.step.map(i64::from);
        let step = i64::from(channel / self.channels);
        let line = y * down + step / right - i64::from(self.before[1]);
        let column = x * right + step % right - i64::from(self.before[0]);
        (channel % self.channels, line, column)
    }

    /// The sums that SDP gets.
    pub(super) fn winograd_sums(&self, winograd: Winograd, image: &Image) -> Cube {
        let [width, height] = self.output_size();
        let channels = self.seen_channels();
        let limit = |value: i64| {
            let rounded = shift_rounding(value.into(), winograd.truncate.min(2) as i32);
            saturate(rounded, 8 * self.format.element) as i64
        };
        let mut tiles = Vec::new();
        for (ty, tx) in (0..height / 2).flat_map(|y| (0..width / 2).map(move |x| (y, x))) {
            for channel in 0..channels {
                let element = |y: i64, x: i64| {
                    let at = self.in_memory(winograd, channel, i64::from(2 * ty) + y, i64::from(2 * tx) + x);
                    i64::from(self.activation(image, at.0, at.1, at.2))
                };
                tiles.push(
                    places(element, |a, b| a + b, |a, b| a - b).into_iter().map(limit).collect::<Vec<_>>(),
                );
            }
        }
        let weights: Vec<Vec<i64>> = (0..self.kernels)
            .map(|kernel| {
                let of = |channel, place: u32| {
                    i64::from(self.weight(image, kernel, [place % 4, place / 4], channel))
                };
                (0..channels).flat_map(|channel| (0..16).map(move |place| of(channel, place))).collect()
            })
            .collect();
        Cube::of(width, height, self.format.whole(self.kernels), |kernel, y, x| {
            let Some(weights) = weights.get(kernel as usize) else { return 0 };
            let tile = ((y / 2) * (width / 2) + x / 2) * channels;
            let sum = |place: usize| -> i128 {
                let products =
                    (0..channels as usize).map(|c| tiles[tile as usize + c][place] * weights[c * 16 + place]);
                products.map(i128::from).sum()
            };
            saturate(shift_rounding(output([y, x], sum), self.truncate as i32), 32) as i32
        })
    }
}
