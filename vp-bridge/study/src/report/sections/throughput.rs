//! Frames a second over what is varied.

use super::points::largest;
use crate::ideal::{Ideal, Trend};
use crate::layout::{Curve, Panel};
use crate::point::text;
use crate::report::answer::percent;
use crate::report::cells::{Cells, table};
use crate::report::drawing::Error;
use crate::report::figure::Figure;
use crate::report::page::Answer;
use crate::report::page::{HALF, Page};
use crate::report::throughput::{self, Curves, Line};
use crate::wording::rounded;
use crate::wording::{spoken, valued};
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
            charts.push((self.chart_id(at), figure));
        }
        let (words, below) = (!self.layout.names.is_empty(), self.table());
        Ok(html! {
            p {
                @if let Some(curves) = &self.layout.curves { "Each " @if words { "bar of a group" } @else { "curve" } " has another value of " b { (spoken(curves)) } ". " }
                @if !words { (self.ring_said()) }
            }
            div.charts {
                @for (at, figure) in &charts { div.chart id=(at) { (figure.half()) } }
            }
            h3 { (below.title) }
            (table(&(below.header, below.rows)))
        })
    }

    fn ring_said(&self) -> String {
        let share = percent(self.study.report.knee);
        let trends = self.layout.panels.iter().filter_map(|panel| Ideal::of(panel, self.rows, false));
        let rises = trends.filter(|ideal| ideal.trend == Trend::Rises).count();
        let ring = match (rises, rises == self.layout.panels.len()) {
            (0, _) => {
                "a ring marks where a curve falls below that, on the straight line between the two points around it"
            }
            (_, true) => "a ring marks the first point of a curve that comes to that",
            (_, false) => {
                "a ring marks where a curve falls below that, or the first of its points that comes to it"
            }
        };
        let values: Vec<String> =
            self.study.report.ideal.iter().map(|(name, value)| valued(name, &text(value))).collect();
        let ideal = match values.is_empty() {
            true => "the best of its points where the curves are highest, at the end of the axis".to_owned(),
            false => format!("the best point with {}, which was run for that", values.join(" and ")),
        };
        format!(
            "All curves of a chart are held against one ideal: {ideal}. \
             The dashed line is {share} of it, and {ring}. \
             The table has the same of each curve, and beside it where it has {share} of what is good on the curve itself."
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
            unit: self.x_unit(),
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
        Line { label: self.curve_label(&curve.label), points, hints }
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
}
