//! Frames a second over what is varied: over numbers a curve for each limit, its knee marked, and over words bars.

use super::look::{LEGEND, Look, Mark, legend, legend_height};
use super::names::Below;
use super::plot::{self, Area, Axis, Error, Labels};
use crate::knee::{Knee, knee};
use plotters::prelude::*;

/// Curves over a common axis.
pub(super) struct Curves<'a> {
    /// What the curves differ in.
    pub(super) title: &'a str,
    /// What is along the axis.
    pub(super) x: String,
    /// The words along it, if it has any: places are their indices.
    pub(super) names: Vec<&'a str>,
    /// A label and the points of each, in order.
    pub(super) curves: Vec<(String, Vec<(f64, f64)>)>,
    /// A knee is where a curve falls below this share of its first point.
    pub(super) share: f64,
}

pub(super) fn draw(curves: &Curves<'_>, (wide, high): (u32, u32)) -> Result<String, Error> {
    let mark = if curves.names.is_empty() { Mark::Line } else { Mark::Box };
    let entries: Vec<_> =
        Look::each(&curves.curves).map(|((label, _), look)| (label.clone(), look)).collect();
    // One set of bars without a name needs no legend.
    let entries = if entries.iter().all(|(label, _)| label.is_empty()) { Vec::new() } else { entries };
    let legends = legend_height(wide, curves.title, &entries, mark);
    let below = Below::words(&curves.names, wide);
    plot::svg((wide, high + legends - LEGEND + below.room()), |root| {
        let (top, area) = root.split_vertically(legends);
        legend(&top, curves.title, &entries, mark)?;
        match curves.names.is_empty() {
            true => lines(root, &area, curves, wide as i32 - 8),
            false => bars(root, &area, curves, &below),
        }
    })
}

fn points<'a>(curves: &'a Curves<'_>) -> impl Iterator<Item = &'a (f64, f64)> {
    curves.curves.iter().flat_map(|(_, points)| points)
}

/// Over numbers. Labels end at `edge`.
fn lines(root: &Area<'_>, area: &Area<'_>, curves: &Curves<'_>, edge: i32) -> Result<(), Error> {
    let xs: Vec<f64> = points(curves).map(|point| point.0).collect();
    let x = Axis::fitting(curves.x.as_str(), &xs);
    let y = Axis::linear("frames/s", points(curves).map(|point| point.1));
    let mut chart = plot::chart(area, &x, &y, 68)?;
    for ((_, points), look) in Look::each(&curves.curves) {
        let place = |&(at, frames): &(f64, f64)| chart.backend_coord(&(x.place(at), frames));
        let places: Vec<(i32, i32)> = points.iter().map(place).collect();
        look.line(root, &places, 2)?;
        places.into_iter().try_for_each(|place| look.mark(root, place))?;
    }
    let mut labels = Labels::default();
    for ((_, points), look) in Look::each(&curves.curves) {
        if let Some(Knee::At(at)) = knee(points, curves.share) {
            let place = (x.place(at), points[0].1 * curves.share);
            chart.draw_series([Circle::new(place, 6, look.colour.stroke_width(2))])?;
            let (right, down) = chart.backend_coord(&place);
            // Curves fall: above them there is room.
            labels.write(root, &format!("{at:.0}"), (right, down - 10), 9, edge)?;
        }
    }
    Ok(())
}

/// Over words: a group of bars for each, in it one for each curve. Words have no order, and so no knee.
fn bars(root: &Area<'_>, area: &Area<'_>, curves: &Curves<'_>, below: &Below) -> Result<(), Error> {
    let words = curves.names.len().max(1) as f64;
    let x = Axis::up_to(curves.x.as_str(), words).without_ticks().with_room(below.room());
    let y = Axis::linear("frames/s", points(curves).map(|point| point.1));
    let chart = plot::chart(area, &x, &y, 68)?;
    let share = 0.8 / curves.curves.len().max(1) as f64;
    for (at, ((_, points), look)) in Look::each(&curves.curves).enumerate() {
        for &(word, frames) in points {
            let left = word + 0.1 + share * at as f64;
            let (from, to) =
                (chart.backend_coord(&(left, frames)), chart.backend_coord(&(left + share, 0.0)));
            // Few bars are not as wide as their room.
            let wide = (to.0 - from.0).clamp(1, 60);
            let middle = (from.0 + to.0) / 2;
            let gap = i32::from(wide > 6);
            let corners = [(middle - wide / 2 + gap, from.1), (middle - wide / 2 + wide - gap, to.1)];
            look.bar(root, corners)?;
        }
    }
    below.draw(root, |at| chart.backend_coord(&(at as f64 + 0.5, 0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves<'a>(names: &[&'a str], curves: Vec<(String, Vec<(f64, f64)>)>) -> Curves<'a> {
        let x = if names.is_empty() { "latency, cycles" } else { "platform" };
        Curves { title: "outstanding", x: x.to_owned(), names: names.to_vec(), curves, share: 0.9 }
    }

    #[test]
    fn every_point_is_a_dot_and_every_knee_a_circle_with_its_place() {
        let falling = vec![(10.0, 100.0), (100.0, 100.0), (1000.0, 10.0)];
        let flat = vec![(10.0, 100.0), (1000.0, 100.0)];
        let curves = curves(&[], vec![("8".to_owned(), falling), ("64".to_owned(), flat)]);
        let svg = draw(&curves, (600, 400)).unwrap();
        // Five points, two marks in the legend, one knee.
        assert_eq!(svg.matches("<circle").count(), 5 + 2 + 1);
        for text in ["outstanding", "latency, cycles", "frames/s", "200"] {
            assert!(svg.contains(text), "no `{text}`");
        }
    }

    #[test]
    fn words_stand_along_the_axis_and_have_bars_and_no_knee() {
        let falling = vec![(0.0, 100.0), (1.0, 40.0), (2.0, 10.0)];
        let short = vec![(1.0, 50.0)];
        let names = ["nv_small", "nv_large", "nv_full"];
        let svg =
            draw(&curves(&names, vec![("8".to_owned(), falling), ("64".to_owned(), short)]), (600, 400));
        let svg = svg.unwrap();
        // Four bars and two boxes in the legend.
        assert_eq!((svg.matches("<rect").count(), svg.matches("<circle").count()), (4 + 2, 0));
        let texts: Vec<&str> = svg.split("<text").skip(1).filter_map(|it| it.split('\n').nth(1)).collect();
        for text in names.into_iter().chain(["platform", "frames/s"]) {
            assert!(texts.contains(&text), "no `{text}` in {texts:?}");
        }
        assert!(!texts.contains(&"1") && !texts.contains(&"2"), "{texts:?}");
    }

    #[test]
    fn the_ninth_curve_is_no_copy_of_the_first() {
        let one = |at: usize| (at.to_string(), vec![(10.0, 100.0), (1000.0, 100.0 - at as f64)]);
        let of = |count: usize| draw(&curves(&[], (0..count).map(one).collect()), (600, 400)).unwrap();
        // Eight are discs; those after them squares, and their lines dashed.
        let (eight, nine) = (of(8), of(9));
        assert_eq!(eight.matches("<circle").count(), nine.matches("<circle").count());
        assert_eq!(nine.matches("<rect").count(), 2 + 1);
        assert!(nine.matches("<polyline").count() > eight.matches("<polyline").count() + 20);
    }
}
