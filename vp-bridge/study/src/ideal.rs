//! The ideal that the curves of a chart are held against: one point for all of them.

use super::knee::{Knee, falls_below, first_at};
use super::layout::{IdealPoint, Panel};
use super::results::{Row, curve, of};

/// Direction in which the curves of a chart go along its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// Down: latency.
    Falls,
    /// Up: bandwidth, room, limits.
    Rises,
    /// No bound: the first and the last point of each differ by less than a hundredth.
    Flat,
}

/// Point that all curves of a chart are held against: the best of the points that the study says are ideal, or else the best at the end of
/// the axis where curves are highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ideal {
    /// Direction in which the curves go.
    pub trend: Trend,
    /// Place of the ideal on the axis: the smallest where curves fall, the largest where they rise.
    pub x: f64,
    /// Place, in the chart's list, of the curve that has it.
    pub curve: usize,
    /// Frames/s of the ideal.
    pub frames: f64,
}

impl Ideal {
    /// Ideal of a chart; none if nothing of it ran. Over words it is the highest point of all.
    pub fn of(panel: &Panel, rows: &[Row<'_>], words: bool) -> Option<Ideal> {
        let curves: Vec<Vec<(f64, f64)>> = panel.curves.iter().map(|it| curve(it, rows)).collect();
        let among = Ideal::among(&curves, words)?;
        let said = panel.ideals.iter().filter_map(|&IdealPoint { curve, place, point }| {
            Some(Ideal { x: place, curve, frames: of(rows, point)?.frames_per_second(), ..among })
        });
        // Of equal ones the last: with the highest limit.
        let best = said.reduce(|best, next| if next.frames >= best.frames { next } else { best });
        Some(best.unwrap_or(among))
    }

    /// Returns the ideal of curves' points.
    pub(super) fn among(curves: &[Vec<(f64, f64)>], words: bool) -> Option<Ideal> {
        let trend = if words { Trend::Flat } else { trend(curves) };
        let all = || curves.iter().flatten().map(|point| point.0);
        let x = match trend {
            Trend::Falls => all().min_by(f64::total_cmp),
            Trend::Rises => all().max_by(f64::total_cmp),
            Trend::Flat => None,
        };
        let points =
            curves.iter().enumerate().flat_map(|(at, points)| points.iter().map(move |point| (at, *point)));
        let candidates = points.filter(|(_, point)| x.is_none_or(|x| point.0 == x));
        // Of equal ones the first.
        let best = candidates.reduce(|best, next| if next.1.1 > best.1.1 { next } else { best });
        best.map(|(curve, (x, frames))| Ideal { trend, x, curve, frames })
    }

    /// Returns where a curve passes this share of the ideal: falls below it, or has come to it at the first of its points.
    pub fn knee(&self, curve: &[(f64, f64)], share: f64) -> Option<Knee> {
        self.passes(curve, self.frames * share)
    }

    /// Returns where a curve passes this share of what is good on the curve itself: its first point where curves fall, the best of its
    /// points where they rise.
    pub fn own_knee(&self, curve: &[(f64, f64)], share: f64) -> Option<Knee> {
        let own = match self.trend {
            Trend::Rises => curve.iter().map(|point| point.1).fold(0.0, f64::max),
            Trend::Falls | Trend::Flat => curve.first()?.1,
        };
        self.passes(curve, own * share)
    }

    fn passes(&self, curve: &[(f64, f64)], level: f64) -> Option<Knee> {
        match self.trend {
            Trend::Rises => first_at(curve, level),
            Trend::Falls | Trend::Flat => falls_below(curve, level),
        }
    }
}

fn trend(curves: &[Vec<(f64, f64)>]) -> Trend {
    let change = |points: &Vec<(f64, f64)>| {
        let (first, last) = (points.first()?.1, points.last()?.1);
        let whole = first.max(last);
        (whole > 0.0).then(|| (last - first) / whole).filter(|change| change.abs() >= 0.01)
    };
    let sum: f64 = curves.iter().filter_map(change).sum();
    match sum {
        0.0 => Trend::Flat,
        sum if sum < 0.0 => Trend::Falls,
        _ => Trend::Rises,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_curves_are_held_against_the_best_at_the_smallest_place() {
        let curves = [vec![(10.0, 80.0), (100.0, 20.0)], vec![(10.0, 100.0), (100.0, 90.0)]];
        let ideal = Ideal::among(&curves, false).unwrap();
        assert_eq!(ideal, Ideal { trend: Trend::Falls, x: 10.0, curve: 1, frames: 100.0 });
        assert_eq!(ideal.knee(&curves[0], 0.9), Some(Knee::Before(10.0)));
        assert_eq!(ideal.knee(&curves[1], 0.95), Some(Knee::At(55.0)));
        assert_eq!(ideal.own_knee(&curves[0], 0.5), Some(Knee::At(70.0)));
    }

    #[test]
    fn rising_curves_are_held_against_the_best_at_the_largest_place() {
        let curves = [vec![(1.0, 10.0), (9.0, 50.0)], vec![(1.0, 20.0), (9.0, 100.0)]];
        let ideal = Ideal::among(&curves, false).unwrap();
        assert_eq!((ideal.trend, ideal.x, ideal.curve), (Trend::Rises, 9.0, 1));
        // The least that was run: a size between two may not exist.
        assert_eq!(ideal.knee(&curves[1], 0.6), Some(Knee::At(9.0)));
        assert_eq!(ideal.knee(&curves[0], 0.6), Some(Knee::Beyond(9.0)));
        assert_eq!(
            [0.6, 0.1].map(|share| ideal.own_knee(&curves[0], share)),
            [Some(Knee::At(9.0)), Some(Knee::Before(1.0))]
        );
    }

    #[test]
    fn what_hardly_changes_is_flat_and_words_have_no_direction() {
        let flat = [vec![(1.0, 100.0), (2.0, 99.5)]];
        assert_eq!(Ideal::among(&flat, false).unwrap().trend, Trend::Flat);
        let words = [vec![(0.0, 10.0), (1.0, 50.0), (2.0, 50.0)]];
        let ideal = Ideal::among(&words, true).unwrap();
        assert_eq!((ideal.trend, ideal.x), (Trend::Flat, 1.0));
        assert_eq!(Ideal::among(&[], false), None);
    }
}
