//! Where a curve begins to fall.

/// Where a curve falls below a share of what it begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knee {
    /// At this place, between two points, on the straight line through them.
    At(f64),
    /// Nowhere up to the last point.
    Beyond(f64),
}

/// The knee of a curve whose points are in the order of their first value. The share is of the first point's second value.
///
/// ```
/// use vp_study::{Knee, knee};
/// let curve = [(50.0, 100.0), (100.0, 100.0), (200.0, 80.0), (400.0, 40.0)];
/// assert_eq!(knee(&curve, 0.9), Some(Knee::At(150.0)));
/// assert_eq!(knee(&curve[..2], 0.9), Some(Knee::Beyond(100.0)));
/// ```
pub fn knee(curve: &[(f64, f64)], share: f64) -> Option<Knee> {
    let threshold = curve.first()?.1 * share;
    let crossing = curve.windows(2).find(|pair| pair[1].1 < threshold);
    Some(match crossing {
        None => Knee::Beyond(curve.last()?.0),
        Some(pair) => {
            let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
            Knee::At(x + (next_x - x) * (y - threshold) / (y - next_y))
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
}
