//! Knees: places where a curve passes a level.

/// Place where a curve passes a level for good or ill: falls below it, or rises to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knee {
    /// At this place: where it falls, on the straight line through the two points around it; where it rises, at the point.
    At(f64),
    /// Before the first point, whose place this is: it has passed the level already.
    Before(f64),
    /// Nowhere up to the last point, whose place this is.
    Beyond(f64),
}

/// Returns where a curve first falls below a level.
///
/// ```
/// use vp_study::{Knee, falls_below};
/// let curve = [(50.0, 100.0), (100.0, 80.0)];
/// assert_eq!(falls_below(&curve, 90.0), Some(Knee::At(75.0)));
/// assert_eq!(falls_below(&curve, 120.0), Some(Knee::Before(50.0)));
/// ```
pub fn falls_below(curve: &[(f64, f64)], level: f64) -> Option<Knee> {
    let (first, last) = (curve.first()?, curve.last()?);
    if first.1 < level {
        return Some(Knee::Before(first.0));
    }
    let crossing = curve.windows(2).find(|pair| pair[1].1 < level);
    Some(match crossing {
        None => Knee::Beyond(last.0),
        Some(pair) => {
            let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
            Knee::At(x + (next_x - x) * (y - level) / (y - next_y))
        }
    })
}

/// The first point of a curve that has come to a level. Between two points it says nothing: there may be no such size or limit.
///
/// ```
/// use vp_study::{Knee, first_at};
/// let curve = [(8.0, 50.0), (16.0, 100.0)];
/// assert_eq!(first_at(&curve, 75.0), Some(Knee::At(16.0)));
/// assert_eq!(first_at(&curve, 120.0), Some(Knee::Beyond(16.0)));
/// ```
pub fn first_at(curve: &[(f64, f64)], level: f64) -> Option<Knee> {
    let (first, last) = (curve.first()?, curve.last()?);
    if first.1 >= level {
        return Some(Knee::Before(first.0));
    }
    let found = curve.iter().find(|point| point.1 >= level);
    Some(found.map_or(Knee::Beyond(last.0), |point| Knee::At(point.0)))
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fall_counts() {
        let curve = [(1.0, 10.0), (2.0, 8.0), (3.0, 10.0), (4.0, 1.0)];
        assert_eq!(falls_below(&curve, 9.0), Some(Knee::At(1.5)));
    }

    #[test]
    fn no_points_have_no_knee() {
        assert_eq!((falls_below(&[], 0.9), first_at(&[], 0.9)), (None, None));
        assert_eq!(falls_below(&[(3.0, 1.0)], 0.9), Some(Knee::Beyond(3.0)));
    }

    #[test]
    fn a_curve_that_begins_beyond_the_level_has_passed_it_before() {
        let falling = [(1.0, 10.0), (2.0, 8.0)];
        assert_eq!(falls_below(&falling, 11.0), Some(Knee::Before(1.0)));
        assert_eq!(first_at(&falling, 9.0), Some(Knee::Before(1.0)));
    }
}
