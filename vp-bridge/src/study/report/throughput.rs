//! Frames a second over what is varied: a curve for each limit, its knee marked.

use super::plot::{self, Axis, Error, LEGEND, Labels, Mark, SERIES};
use crate::study::knee::{Knee, knee};
use plotters::prelude::*;

/// Curves over a common axis.
pub(super) struct Curves<'a> {
    /// What the curves differ in.
    pub(super) title: &'a str,
    /// What is along the axis.
    pub(super) x: String,
    /// A label and the points of each, in order.
    pub(super) curves: Vec<(String, Vec<(f64, f64)>)>,
    /// A knee is where a curve falls below this share of its first point.
    pub(super) share: f64,
}

pub(super) fn draw(curves: &Curves<'_>, size: (u32, u32)) -> Result<String, Error> {
    plot::svg(size, |root| {
        let (top, area) = root.split_vertically(LEGEND);
        let coloured = || curves.curves.iter().zip(SERIES.iter().copied().cycle());
        let entries: Vec<_> = coloured().map(|((label, _), colour)| (label.clone(), colour)).collect();
        plot::legend(&top, curves.title, &entries, Mark::Line)?;
        let points = || curves.curves.iter().flat_map(|(_, points)| points);
        let xs: Vec<f64> = points().map(|point| point.0).collect();
        let x = Axis::fitting(curves.x.as_str(), &xs);
        let y = Axis::linear("frames/s", points().map(|point| point.1));
        let mut chart = plot::chart(&area, &x, &y, 68)?;
        for ((_, points), colour) in coloured() {
            let places: Vec<(f64, f64)> = points.iter().map(|&(at, frames)| (x.place(at), frames)).collect();
            chart.draw_series([PathElement::new(places.clone(), colour.stroke_width(2))])?;
            chart.draw_series(places.into_iter().map(|place| Circle::new(place, 3, colour.filled())))?;
        }
        let mut labels = Labels::default();
        for ((_, points), colour) in coloured() {
            if let Some(Knee::At(at)) = knee(points, curves.share) {
                let place = (x.place(at), points[0].1 * curves.share);
                chart.draw_series([Circle::new(place, 6, colour.stroke_width(2))])?;
                let (right, down) = chart.backend_coord(&place);
                // Curves fall: above them there is room.
                labels.write(root, &format!("{at:.0}"), (right, down - 10), 9, size.0 as i32 - 8)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_a_dot_and_every_knee_a_circle_with_its_place() {
        let falling = vec![(10.0, 100.0), (100.0, 100.0), (1000.0, 10.0)];
        let flat = vec![(10.0, 100.0), (1000.0, 100.0)];
        let curves = Curves {
            title: "outstanding",
            x: "latency, cycles".to_owned(),
            curves: vec![("8".to_owned(), falling), ("64".to_owned(), flat)],
            share: 0.9,
        };
        let svg = draw(&curves, (600, 400)).unwrap();
        // Five points, two marks in the legend, one knee.
        assert_eq!(svg.matches("<circle").count(), 5 + 2 + 1);
        for text in ["outstanding", "latency, cycles", "frames/s", "200"] {
            assert!(svg.contains(text), "no `{text}`");
        }
    }
}
