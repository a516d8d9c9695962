//! Pictures made larger or smaller.
//!
//! Each sample is a weighted sum of samples of its line, rounded, and then of samples of its column, rounded again. Weights have 22 bits of fraction,
//! so for 8 bits `bilinear`, `bicubic` and `lanczos` are what Pillow 11 computes, to the bit: they are widened where a picture shrinks, so that every
//! sample counts. (Pillow 13 takes columns first for some sizes, and its rounding differs there.) OpenCV does not widen them: its `INTER_LINEAR` is `linear` here, and its `INTER_AREA`, where it shrinks, `area`, both within a step of 8 bits.

use super::picture::{Channels, Picture};
use serde::Deserialize;
use std::collections::VecDeque;
use std::f64::consts::PI;
use std::ops::Range;

/// Choice of the samples that make one of another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The sample that lies at the centre.
    Nearest,
    /// The two samples beside the centre, by their distance: OpenCV's `INTER_LINEAR`.
    Linear,
    /// A triangle as wide as two samples of the smaller picture: Pillow's `BILINEAR`.
    #[default]
    Bilinear,
    /// A cubic of four samples of the smaller picture (Keys, a = -1/2): Pillow's `BICUBIC`.
    Bicubic,
    /// A windowed sinc of six samples of the smaller picture: Pillow's `LANCZOS`.
    Lanczos,
    /// Mean of the area that a sample covers: OpenCV's `INTER_AREA` where it shrinks.
    Area,
}

/// Bits of a weight's fraction.
const FRACTION: u32 = 22;

/// Neighbours in a line or column that make a sample, and their weights.
#[derive(Debug, PartialEq)]
struct Taps {
    first: usize,
    weights: Vec<i64>,
}

impl Taps {
    /// Taps of the sample at a place, where so many samples become so many.
    fn new(interpolation: Interpolation, from: usize, to: usize, at: usize) -> Taps {
        let ratio = from as f64 / to as f64;
        let centre = (at as f64 + 0.5) * ratio;
        match interpolation {
            Interpolation::Nearest => {
                Taps { first: ((2 * at + 1) * from / (2 * to)).min(from - 1), weights: vec![1 << FRACTION] }
            }
            Interpolation::Linear => {
                let place = (centre - 0.5).clamp(0.0, (from - 1) as f64);
                let share = place.fract();
                let shares = [1.0 - share, share];
                Taps::of(place as usize, if share > 0.0 { &shares } else { &shares[..1] })
            }
            Interpolation::Area => {
                // In units of which a sample has `to`, and one that is made `from`.
                let covered = at * from..(at + 1) * from;
                let first = covered.start / to;
                let share = |sample: usize| {
                    let overlap = ((sample + 1) * to).min(covered.end) - (sample * to).max(covered.start);
                    overlap as f64 / from as f64
                };
                let shares: Vec<f64> = (first..covered.end.div_ceil(to)).map(share).collect();
                Taps::of(first, &shares)
            }
            Interpolation::Bilinear => {
                Taps::filtered(from, centre, ratio, 1.0, |distance| (1.0 - distance.abs()).max(0.0))
            }
            Interpolation::Bicubic => Taps::filtered(from, centre, ratio, 2.0, cubic),
            Interpolation::Lanczos => Taps::filtered(from, centre, ratio, 3.0, lanczos),
        }
    }

    /// Taps within a filter's reach on either side of the centre; the reach is in samples of the smaller of the two pictures.
    fn filtered(from: usize, centre: f64, ratio: f64, reach: f64, filter: impl Fn(f64) -> f64) -> Taps {
        let widening = ratio.max(1.0);
        let first = (centre - reach * widening + 0.5).max(0.0) as usize;
        let end = ((centre + reach * widening + 0.5) as usize).min(from);
        let weight = |sample: usize| filter((sample as f64 - centre + 0.5) / widening);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        Taps::of(first, &weights.iter().map(|weight| weight / sum).collect::<Vec<_>>())
    }

    fn of(first: usize, shares: &[f64]) -> Taps {
        let weight = |share: &f64| (share * f64::from(1 << FRACTION)).round() as i64;
        Taps { first, weights: shares.iter().map(weight).collect() }
    }

    fn range(&self) -> Range<usize> {
        self.first..self.first + self.weights.len()
    }
}

fn cubic(distance: f64) -> f64 {
    let x = distance.abs();
    match x {
        ..1.0 => (1.5 * x - 2.5) * x * x + 1.0,
        ..2.0 => ((2.5 - 0.5 * x) * x - 4.0) * x + 2.0,
        _ => 0.0,
    }
}

fn lanczos(distance: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if distance.abs() < 3.0 { sinc(distance) * sinc(distance / 3.0) } else { 0.0 }
}

/// A part of a picture that has been made larger or smaller, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Length of the resized picture.
    pub(super) resized: usize,
    /// Place in the resized picture where the part begins; it may begin before.
    pub(super) start: isize,
    /// Length of the part.
    pub(super) length: usize,
}

impl Span {
    /// Returns the samples of the part that are in the picture.
    pub(super) fn inside(self) -> Range<usize> {
        let first = self.start.min(0).unsigned_abs();
        let behind = (self.resized.cast_signed() - self.start).max(0).unsigned_abs();
        first.min(self.length)..behind.min(self.length)
    }

    fn taps(self, interpolation: Interpolation, from: usize) -> Vec<Taps> {
        let place = |at: usize| self.start.saturating_add_unsigned(at).unsigned_abs();
        self.inside().map(|at| Taps::new(interpolation, from, self.resized, place(at))).collect()
    }
}

/// Gives a part of a resized picture line by line, as far as it is in the picture: `give` gets the line's place in the part and the samples of
/// the pixels [`inside`](Span::inside). Only sums of lines that are not finished are held.
pub(super) fn lines(
    picture: &Picture,
    channels: Channels,
    interpolation: Interpolation,
    [across, down]: [Span; 2],
    mut give: impl FnMut(usize, &[u16]),
) {
    let [width, height] = picture.size();
    let columns = across.taps(interpolation, width);
    let rows = down.taps(interpolation, height);
    let rounded = |sum: i64| (sum >> FRACTION).clamp(0, picture.most().into()) as u16;
    let half = 1_i64 << (FRACTION - 1);
    let count = channels.count();
    let mut sums: VecDeque<Vec<i64>> = VecDeque::new();
    // Lines before it are finished.
    let mut done = 0;
    for source in rows.first().map_or(0, |row| row.first)..rows.last().map_or(0, |row| row.range().end) {
        while rows.get(done + sums.len()).is_some_and(|row| row.first <= source) {
            sums.push_back(vec![half; columns.len() * count]);
        }
        if sums.is_empty() {
            continue;
        }
        let line = picture.line_in(source, channels);
        let sample = |taps: &Taps, channel: usize| {
            let samples = line[taps.first * count + channel..].iter().step_by(count);
            let products =
                taps.weights.iter().zip(samples).map(|(weight, sample)| weight * i64::from(*sample));
            rounded(products.sum::<i64>() + half)
        };
        let resampled: Vec<u16> = columns
            .iter()
            .flat_map(|taps| (0..count).map(move |channel| (taps, channel)))
            .map(|(taps, channel)| sample(taps, channel))
            .collect();
        for (row, sums) in rows[done..].iter().zip(&mut sums) {
            let Some(weight) = row.weights.get(source - row.first) else { continue };
            sums.iter_mut().zip(&resampled).for_each(|(sum, sample)| *sum += weight * i64::from(*sample));
        }
        while rows.get(done).is_some_and(|row| row.range().end <= source + 1) {
            let Some(sums) = sums.pop_front() else { break };
            let samples: Vec<u16> = sums.into_iter().map(rounded).collect();
            give(down.inside().start + done, &samples);
            done += 1;
        }
    }
}

#[cfg(test)]
mod tests;
