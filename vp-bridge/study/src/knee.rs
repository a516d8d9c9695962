//! Where a curve passes a level.

/// Where a curve passes a level for good or ill: falls below it, or rises to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knee {
    /// At this place, between two points, on the straight line through them.
    At(f64),
    /// Before the first point, whose place this is: it has passed the level already.
    Before(f64),
    /// Nowhere up to the last point, whose place this is.
    Beyond(f64),
}

/// Where a curve falls below a share of what it begins with. Its points are in the order of their first value.
///
/// ```
/// use vp_study::{Knee, knee};
/// let curve = [(50.0, 100.0), (100.0, 100.0), (200.0, 80.0), (400.0, 40.0)];
/// assert_eq!(knee(&curve, 0.9), Some(Knee::At(150.0)));
/// assert_eq!(knee(&curve[..2], 0.9), Some(Knee::Beyond(100.0)));
/// ```
pub fn knee(curve: &[(f64, f64)], share: f64) -> Option<Knee> {
    falls_below(curve, curve.first()?.1 * share)
}

/// Where a curve first falls below a level.
///
/// ```
/// use vp_study::{Knee, falls_below};
/// let curve = [(50.0, 100.0), (100.0, 80.0)];
/// assert_eq!(falls_below(&curve, 90.0), Some(Knee::At(75.0)));
/// assert_eq!(falls_below(&curve, 120.0), Some(Knee::Before(50.0)));
/// ```
pub fn falls_below(curve: &[(f64, f64)], level: f64) -> Option<Knee> {
    passes(curve, level, |value| value < level)
}

/// Where a curve first rises to a level.
///
/// ```
/// use vp_study::{Knee, rises_to};
/// let curve = [(8.0, 50.0), (16.0, 100.0)];
/// assert_eq!(rises_to(&curve, 75.0), Some(Knee::At(12.0)));
/// assert_eq!(rises_to(&curve, 120.0), Some(Knee::Beyond(16.0)));
/// ```
pub fn rises_to(curve: &[(f64, f64)], level: f64) -> Option<Knee> {
    passes(curve, level, |value| value >= level)
}

fn passes(curve: &[(f64, f64)], level: f64, has_passed: impl Fn(f64) -> bool) -> Option<Knee> {
    let (first, last) = (curve.first()?, curve.last()?);
    if has_passed(first.1) {
        return Some(Knee::Before(first.0));
    }
    let crossing = curve.windows(2).find(|pair| has_passed(pair[1].1));
    Some(match crossing {
        None => Knee::Beyond(last.0),
        Some(pair) => {
            let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
            Knee::At(x + (next_x - x) * (y - level) / (y - next_y))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fall_counts() {
        let curve = [(1.0, 10.0), (2.0, 8.0), (3.0, 10.0), (4.0, 1.0)];
        assert_eq!(knee(&curve, 0.9), Some(Knee::At(1.5)));
    }

    #[test]
    fn no_points_have_no_knee() {
        assert_eq!(knee(&[], 0.9), None);
        assert_eq!(knee(&[(3.0, 1.0)], 0.9), Some(Knee::Beyond(3.0)));
    }

    #[test]
    fn a_curve_that_begins_beyond_the_level_has_passed_it_before() {
        let falling = [(1.0, 10.0), (2.0, 8.0)];
        assert_eq!(falls_below(&falling, 11.0), Some(Knee::Before(1.0)));
        assert_eq!(rises_to(&falling, 9.0), Some(Knee::Before(1.0)));
    }
}
