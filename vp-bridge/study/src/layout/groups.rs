//! Points of several sweeps: those that do not say what is along the axis have axes of their own.

use crate::file::{Report, Study};
use crate::point::Point;

/// Returns the study with the points alone that say a value of `x`, and the study with all others; none if there are none, or none else.
pub(super) fn split(study: &Study, x: &str) -> Option<[Study; 2]> {
    let says_x = |point: &Point| point.get(x).is_some();
    let count = study.points.iter().filter(|point| says_x(point)).count();
    if count == 0 || count == study.points.len() {
        return None;
    }
    let own = part(study, says_x);
    let report = Report { x: Some(x.to_owned()), ..own.report.clone() };
    Some([Study { report, ..own }, part(study, |point| !says_x(point))])
}

/// The study with some of its points. They keep their numbers.
fn part(study: &Study, has: impl Fn(&Point) -> bool) -> Study {
    let points: Vec<Point> = study.points.iter().filter(|point| has(point)).cloned().collect();
    let varied = study.varied.iter().filter(|name| points.iter().any(|point| is_varied(point, name)));
    let varied: Vec<String> = varied.cloned().collect();
    let still = |name: &Option<String>| name.clone().filter(|name| varied.contains(name));
    let report =
        Report { x: still(&study.report.x), curves: still(&study.report.curves), ..study.report.clone() };
    // The study may be a part itself: its numbers need not begin at one.
    let swept = match study.search {
        Some(_) => points.len(),
        None => study.points[..study.swept].iter().filter(|point| has(point)).count(),
    };
    Study { points, varied, report, swept, ..study.clone() }
}

fn is_varied(point: &Point, name: &str) -> bool {
    point.varied.iter().any(|(varied, _)| varied == name)
}
