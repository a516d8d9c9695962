//! Frames a second over what is varied.

use super::points::largest;
use crate::ideal::Ideal;
use crate::knee::{Knee, knee};
use crate::layout::{Curve, Panel};
use crate::report::answer::{Answer, percent};
use crate::report::cells::{Cells, strings, table};
use crate::report::figure::Figure;
use crate::report::page::{HALF, Page};
use crate::report::plot::Error;
use crate::report::said::{plain, spoken, unit};
use crate::report::throughput::{self, Curves, Line};
use crate::results::{self, rounded};
use maud::{Markup, html};

impl Page<'_> {
    pub(in crate::report) fn throughput(&self) -> Result<Markup, Error> {
        if self.layout.area.is_some() {
            return self.design_space();
        }
        let mut charts = Vec::new();
        for (at, panel) in self.layout.panels.iter().enumerate() {
            let curves = self.curves(panel);
            if curves.lines.is_empty() {
                continue;
            }
            let figure = Figure {
                title: panel.title.clone(),
                said: None,
                answer: self.answer(panel).as_ref().map(Answer::sentence),
                svg: throughput::draw(&curves, HALF)?,
                live: Some(throughput::live(&curves)),
                cells: self.frames(&curves),
            };
            charts.push((at + 1, figure));
        }
        let words = !self.layout.names.is_empty();
        Ok(html! {
            p {
                @if let Some(curves) = &self.layout.curves { "Each " @if words { "bar of a group" } @else { "curve" } " has another value of " b { (spoken(curves)) } ". " }
                @if !words { (self.ring_said()) }
            }
            div.charts {
                @for (at, figure) in &charts { div.chart id={ "chart-" (at) } { (figure.half()) } }
            }
            h3 { @if words { "Most and least" } @else { "Knees" } }
            (table(&if words { self.ends() } else { self.knees() }))
        })
    }

    fn ring_said(&self) -> String {
        format!(
            "All curves of a chart are held against one ideal: the best of its points where the curves are highest, at the end of the axis. \
             The dashed line is {} of it, and a ring marks where a curve passes that, on the straight line between the two points around it. \
             A curve without a ring is on one side of it all along. The table has the knee of each curve against its own first point beside that.",
            percent(self.study.report.knee)
        )
    }

    pub(in crate::report) fn curves(&self, panel: &Panel) -> Curves<'_> {
        let words = !self.layout.names.is_empty();
        let ideal = Ideal::of(panel, self.rows, words);
        let frames = ideal.as_ref().map(|ideal| ideal.frames);
        let lines = panel.curves.iter().map(|curve| self.line(curve, frames));
        Curves {
            title: self.layout.curves.as_deref().map_or("", spoken),
            x: self.along(),
            x_unit: if self.x_is_time() { "ns" } else { unit(&self.layout.x) },
            names: self.layout.names.iter().map(String::as_str).collect(),
            lines: lines.filter(|line| !line.points.is_empty()).collect(),
            ideal,
            share: self.study.report.knee,
        }
    }

    fn line(&self, curve: &Curve, ideal: Option<f64>) -> Line {
        let (mut points, mut hints) = (Vec::new(), Vec::new());
        for &(x, number) in &curve.points {
            let Some(measured) = self.of(number) else { continue };
            let frames = measured.frames_per_second();
            let mut hint = format!("point {number}");
            if let Some(ideal) = ideal.filter(|_| self.layout.names.is_empty()) {
                hint += &format!(", {} of the ideal", percent(frames / ideal));
            }
            let bound = largest(measured.bounds());
            if !bound.is_empty() {
                hint += &format!("<br>most of the time bound by {bound}");
            }
            points.push((x, frames));
            hints.push(hint);
        }
        Line { label: curve.label.clone(), points, hints }
    }

    /// Frames/s, a row a place along the axis and a column a curve.
    fn frames(&self, curves: &Curves<'_>) -> Cells {
        let mut xs: Vec<f64> =
            curves.lines.iter().flat_map(|line| line.points.iter().map(|it| it.0)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let name =
            |label: &str| if label.is_empty() { "frames/s".to_owned() } else { format!("{label}: frames/s") };
        let header =
            std::iter::once(curves.x.clone()).chain(curves.lines.iter().map(|line| name(&line.label)));
        let row = |x: &f64| {
            let cell = |line: &Line| {
                let point = line.points.iter().find(|point| point.0 == *x);
                point.map_or_else(String::new, |point| rounded(point.1))
            };
            std::iter::once(self.place(*x)).chain(curves.lines.iter().map(cell)).collect()
        };
        (header.collect(), xs.iter().map(row).collect())
    }

    fn knees(&self) -> Cells {
        let share = self.study.report.knee;
        let unit = if self.x_is_time() { "ns" } else { unit(&self.layout.x) };
        let said = |knee: Knee| {
            let (before, place) = match knee {
                Knee::At(place) => ("", plain(place.round())),
                Knee::Before(first) => ("before ", plain(first)),
                Knee::Beyond(last) => ("beyond ", plain(last)),
            };
            format!("{before}{place} {unit}").trim_end().to_owned()
        };
        let mut cells = Vec::new();
        for panel in &self.layout.panels {
            let Some(ideal) = Ideal::of(panel, self.rows, false) else { continue };
            for curve in &panel.curves {
                let points = results::curve(curve, self.rows);
                let (Some(&(_, first)), Some(&(_, last))) = (points.first(), points.last()) else { continue };
                let knees = [ideal.knee(&points, share), knee(&points, share)];
                let [common, own] = knees.map(|knee| knee.map_or_else(String::new, said));
                let shares =
                    [first, last].map(|frames| percent(frames / ideal.frames.max(f64::MIN_POSITIVE)));
                let [of_first, of_last] = shares;
                cells.push(vec![
                    panel.title.clone(),
                    curve.label.clone(),
                    rounded(first),
                    of_first,
                    common,
                    own,
                    of_last,
                ]);
            }
        }
        let percent = percent(share);
        let header = vec![
            "chart".to_owned(),
            self.layout.curves.as_deref().map_or("", spoken).to_owned(),
            "frames/s at first".to_owned(),
            "that of the ideal".to_owned(),
            format!("passes {percent} of the ideal"),
            format!("falls below {percent} of its own first"),
            "last of the ideal".to_owned(),
        ];
        (header, cells)
    }

    /// Over words: which has the most frames/s, and which the least.
    fn ends(&self) -> Cells {
        let mut cells = Vec::new();
        for panel in &self.layout.panels {
            for curve in &panel.curves {
                let points = results::curve(curve, self.rows);
                let Some([most, least]) = results::ends(&points) else { continue };
                let mut row = vec![panel.title.clone(), curve.label.clone()];
                row.extend(
                    [most, least].into_iter().flat_map(|(x, frames)| [self.place(x), rounded(frames)]),
                );
                cells.push(row);
            }
        }
        let curves = self.layout.curves.as_deref().map_or("", spoken);
        (strings(["chart", curves, "most with", "frames/s", "least with", "frames/s"]), cells)
    }
}
