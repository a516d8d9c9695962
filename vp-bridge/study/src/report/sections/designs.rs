//! Frames a second by what stands for area.

use super::points::largest;
use crate::layout::{Curve, Panel};
use crate::point::text;
use crate::report::cells::table;
use crate::report::designs::{Design, Designs};
use crate::report::drawing::Error;
use crate::report::figure::Figure;
use crate::report::page::Answer;
use crate::report::page::{HALF, Page};
use crate::results;
use crate::wording::{spoken, valued};
use maud::{Markup, html};

impl Page<'_> {
    /// The designs of a chart that ran.
    pub(in crate::report) fn designs<'a>(&'a self, panel: &'a Panel) -> Designs<'a> {
        let of_curve = |(at, curve): (usize, &Curve)| {
            let points = results::curve_points(curve, self.rows);
            points.into_iter().map(move |(area, number, frames)| Design {
                number,
                area,
                frames,
                curve: at,
                hint: self.design_said(number),
            })
        };
        Designs {
            area: spoken(&self.layout.x),
            unit: self.x_unit(),
            title: self.layout.curves.as_deref().map_or("", spoken),
            labels: panel.curves.iter().map(|curve| self.curve_label(&curve.label)).collect(),
            designs: panel.curves.iter().enumerate().flat_map(of_curve).collect(),
        }
    }

    /// Says what makes a point the design that it is, a parameter a line, and what bounds it.
    fn design_said(&self, number: usize) -> String {
        let point = self.study.points.get(number - 1);
        let hardware = self.study.varied.iter().filter(|name| *name != "network");
        let mut lines: Vec<String> =
            hardware.filter_map(|name| Some(valued(name, &text(point?.get(name)?)))).collect();
        if let Some(measured) = self.of(number) {
            lines.push(format!("most of the time bound by {}", largest(measured.bounds())));
        }
        lines.join("<br>")
    }

    pub(in crate::report) fn design_space(&self) -> Result<Markup, Error> {
        let mut charts = Vec::new();
        for (at, panel) in self.layout.panels.iter().enumerate() {
            let designs = self.designs(panel);
            if designs.designs.is_empty() {
                continue;
            }
            let figure = Figure {
                title: panel.title.clone(),
                said: None,
                answer: self.answer(panel).as_ref().map(Answer::sentence),
                svg: designs.draw(HALF)?,
                live: Some(designs.live()),
                cells: designs.all(self.study, self.rows),
            };
            charts.push((self.chart_id(at), figure, designs.cells(self.study, self.rows)));
        }
        Ok(html! {
            p {
                "Each mark is a design. The line is the Pareto front: designs of which no other makes as many frames/s with less " b { (spoken(&self.layout.x)) } " (" code { (self.layout.x) } "). Beside them stand the numbers of their points. "
                "What stands for area is no area: silicon grows with it, how fast depends on the process."
            }
            div.charts {
                @for (at, figure, _) in &charts { div.chart id=(at) { (figure.half()) } }
            }
            @for (_, figure, cells) in &charts {
                h3 { "The front: " (figure.title) }
                (table(cells))
            }
        })
    }
}
