//! Designs by what stands for their area, and the Pareto front of frames/s.

use super::answer::percent;
use super::cells::{Cells, strings};
use super::drawing::{self, Error, GUIDE};
use super::live::{self, Live};
use super::look::{LEGEND, Look, Mark, legend, legend_height};
use super::page::Answer;
use super::plot::{self, Axis, Labels};
use crate::area::front;
use crate::file::Study;
use crate::point::text;
use crate::results::Row;
use crate::wording::rounded;
use crate::wording::{Unit, quantity};
use plotters::prelude::*;
use serde_json::json;

/// A design that ran.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Design {
    /// Number of the design's point.
    pub(super) number: usize,
    pub(super) area: f64,
    pub(super) frames: f64,
    /// Place, in the chart's list, of the curve that the design belongs to.
    pub(super) curve: usize,
    /// Text of what makes it this design, and what bounds it.
    pub(super) hint: String,
}

/// The designs of a chart.
pub(super) struct Designs<'a> {
    /// Name of what stands for area.
    pub(super) area: &'a str,
    /// Unit in which that is counted.
    pub(super) unit: Unit,
    /// Name of what tells curves apart, and their labels.
    pub(super) title: &'a str,
    pub(super) labels: Vec<String>,
    pub(super) designs: Vec<Design>,
}

impl Designs<'_> {
    /// Returns the designs that no other one beats, by their area.
    pub(super) fn front(&self) -> Vec<&Design> {
        let all: Vec<(f64, f64)> = self.designs.iter().map(|design| (design.area, design.frames)).collect();
        front(&all).into_iter().map(|at| &self.designs[at]).collect()
    }

    /// Each design a mark; the front a line of steps, and the numbers of its points beside them.
    pub(super) fn draw(&self, (wide, high): (u32, u32)) -> Result<String, Error> {
        let entries: Vec<_> = Look::each(&self.labels).map(|(label, look)| (label.clone(), look)).collect();
        let entries = if self.labels.iter().all(String::is_empty) { Vec::new() } else { entries };
        let legends = legend_height(wide, self.title, &entries, Mark::Line);
        drawing::svg((wide, high + legends - LEGEND), |root| {
            let (top, area) = root.split_vertically(legends);
            legend(&top, self.title, &entries, Mark::Line)?;
            let x = self.axis();
            let y = Axis::linear("frames/s", self.designs.iter().map(|design| design.frames));
            let chart = plot::chart(&area, &x, &y, 68)?;
            let place = |design: &Design| chart.backend_coord(&(x.place(design.area), design.frames));
            let best = self.front();
            let steps = steps(&best).into_iter().map(|at| chart.backend_coord(&(x.place(at.0), at.1)));
            let steps: Vec<(i32, i32)> = steps.collect();
            root.draw(&PathElement::new(steps, GUIDE.stroke_width(2)))?;
            for design in &self.designs {
                Look::of(design.curve).mark(root, place(design))?;
            }
            let mut labels = Labels::default();
            for design in best {
                labels.write(root, &design.number.to_string(), place(design), 9, wide as i32 - 8)?;
            }
            Ok(())
        })
    }

    fn axis(&self) -> Axis {
        let areas: Vec<f64> = self.designs.iter().map(|design| design.area).collect();
        Axis::fitting(self.area, &areas).in_unit(self.unit)
    }

    /// Returns the chart of [`draw`](Designs::draw) for the page's script.
    pub(super) fn live(&self) -> Live {
        let front = self.front();
        let (x, y): (Vec<f64>, Vec<f64>) = steps(&front).into_iter().unzip();
        let mut traces = vec![json!({
            "type": "scatter", "mode": "lines", "name": "Pareto front", "hoverinfo": "skip",
            "x": numbers(x), "y": numbers(y), "line": { "color": "var(--guide)", "width": 2 },
        })];
        for (at, (label, look)) in Look::each(&self.labels).enumerate() {
            let own: Vec<&Design> = self.designs.iter().filter(|design| design.curve == at).collect();
            let name = format!("{} {label}", self.title);
            let hint = |design: &&Design| {
                let in_front = front.iter().any(|it| it.number == design.number);
                let place = if in_front { "<br>in front: no other beats it" } else { "" };
                format!("point {}: {}<br>{}{place}", design.number, self.unit.said(design.area), design.hint)
            };
            // Numbers stand beside those in front alone.
            let text = |design: &&Design| {
                let in_front = front.iter().any(|it| it.number == design.number);
                if in_front { design.number.to_string() } else { String::new() }
            };
            traces.push(json!({
                "type": "scatter", "mode": "markers+text", "name": if label.is_empty() { "designs" } else { name.trim() },
                "x": numbers(own.iter().map(|design| design.area).collect()),
                "y": numbers(own.iter().map(|design| design.frames).collect()),
                "text": own.iter().map(text).collect::<Vec<_>>(), "textposition": "top left",
                "customdata": own.iter().map(hint).collect::<Vec<_>>(),
                "hovertemplate": "<b>%{y:,.4r} frames/s</b><br>%{customdata}<extra></extra>",
                "marker": { "color": live::series(at), "symbol": look.marker_name(), "size": 8 },
            }));
        }
        Live::new(traces, live::along(&self.axis()), live::axis("frames/s"), HIGH)
    }

    /// The least area that has the share asked for of the most frames/s, and how far the front reaches.
    pub(super) fn answer(&self, title: &str, share: f64) -> Option<Answer> {
        let front = self.front();
        let (first, last) = (front.first()?, front.last()?);
        let least = front.iter().find(|design| design.frames >= share * last.frames)?;
        let said = |design: &Design| {
            format!(
                "{} frames/s with {} (point {})",
                rounded(design.frames),
                self.unit.said(design.area),
                design.number
            )
        };
        if front.len() == 1 {
            return Some(Answer {
                head: format!("{title}: no design beats {}", said(first)),
                rest: String::new(),
            });
        }
        let head = format!(
            "{title}: {} are the least for {} of the most frames/s",
            self.unit.said(least.area),
            percent(share)
        );
        let rest = format!(
            "Point {} has {} of {} frames/s. {} designs are such that no other beats them, from {} to {}.",
            least.number,
            rounded(least.frames),
            rounded(last.frames),
            front.len(),
            said(first),
            said(last)
        );
        Some(Answer { head, rest })
    }

    /// All designs, by their area.
    pub(super) fn all(&self, study: &Study, rows: &[Row<'_>]) -> Cells {
        let mut designs: Vec<&Design> = self.designs.iter().collect();
        designs.sort_by(|a, b| a.area.total_cmp(&b.area).then(a.number.cmp(&b.number)));
        let (mut header, mut rows) = self.table(&designs, study, rows);
        header.remove(3);
        rows.iter_mut().for_each(|row| drop(row.remove(3)));
        (header, rows)
    }

    /// The front: a row a design, with what makes it one.
    pub(super) fn cells(&self, study: &Study, rows: &[Row<'_>]) -> Cells {
        self.table(&self.front(), study, rows)
    }

    fn table(&self, designs: &[&Design], study: &Study, rows: &[Row<'_>]) -> Cells {
        let mut header = strings(["point", self.area, "frames/s", "more than the one before"]);
        let hardware: Vec<&String> = study.varied.iter().filter(|name| *name != "network").collect();
        header.extend(hardware.iter().map(|name| (*name).clone()));
        let mut before: Option<f64> = None;
        let row = |design: &Design| {
            let more = before
                .replace(design.frames)
                .map(|less| format!("{:.0} %", 100.0 * (design.frames / less - 1.0)));
            let mut cells = vec![
                design.number.to_string(),
                self.unit.said(design.area),
                rounded(design.frames),
                more.unwrap_or_default(),
            ];
            let point = rows.iter().find(|row| row.point.number == design.number).map(|row| row.point);
            let value = |name: &&String| {
                point
                    .and_then(|point| point.get(name))
                    .map_or_else(String::new, |it| quantity(name, &text(it)))
            };
            cells.extend(hardware.iter().map(value));
            cells
        };
        (header, designs.iter().copied().map(row).collect())
    }
}

/// Pixels of a chart that has another beside it.
const HIGH: u32 = 380;

fn numbers(all: Vec<f64>) -> Vec<f64> {
    all.into_iter().map(live::digits).collect()
}

/// The front as a line of steps: what is to be had with so much area and no more.
fn steps(front: &[&Design]) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for design in front {
        if let Some(&(_, level)) = steps.last() {
            steps.push((design.area, level));
        }
        steps.push((design.area, design.frames));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn designs() -> Designs<'static> {
        let all = [(64.0, 10.0), (128.0, 9.0), (256.0, 20.0), (256.0, 15.0)];
        let design = |(number, (area, frames)): (usize, (f64, f64))| {
            let hint = "nvdla.cbuf_banks 16".to_owned();
            Design { number, area, frames, curve: 0, hint }
        };
        let designs = (1..).zip(all).map(design).collect();
        Designs { area: "MACs", unit: Unit::Macs, title: "", labels: vec![String::new()], designs }
    }

    #[test]
    fn each_design_is_a_mark_and_the_front_has_numbers() {
        let svg = designs().draw((600, 400)).unwrap();
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(designs().front().iter().map(|design| design.number).collect::<Vec<_>>(), [1, 3]);
        assert!(svg.contains("MACs") && svg.contains("frames/s"));
        let live = designs().live().element().into_string();
        for part in [
            "Pareto front",
            "point 3: 256 MACs<br>nvdla.cbuf_banks 16",
            "in front",
            "\"text\":[\"1\",\"\",\"3\",\"\"]",
        ] {
            assert!(live.contains(part), "no {part} in {live}");
        }
    }

    #[test]
    fn the_answer_is_the_least_area_for_most_of_the_frames() {
        let answer = |share: f64| designs().answer("n", share).unwrap().head;
        assert_eq!(answer(0.9), "n: 256 MACs are the least for 90 % of the most frames/s");
        assert_eq!(answer(0.5), "n: 64 MACs are the least for 50 % of the most frames/s");
        let front = designs();
        assert_eq!(steps(&front.front()), [(64.0, 10.0), (256.0, 10.0), (256.0, 20.0)]);
    }
}
