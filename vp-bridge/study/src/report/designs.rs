//! Designs by what stands for their area, and the Pareto front of frames/s.

use super::cells::{Cells, rounded_whole, strings};
use super::look::{LEGEND, Look, Mark, legend, legend_height};
use super::plot::{self, Axis, Error, GUIDE, Labels};
use crate::area::front;
use crate::file::Study;
use crate::point::text;
use crate::results::{Row, rounded};
use plotters::prelude::*;

/// A design that ran.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Design {
    /// Its point.
    pub(super) number: usize,
    pub(super) area: f64,
    pub(super) frames: f64,
    /// Which of the chart's curves it belongs to.
    pub(super) curve: usize,
}

/// The designs of a chart.
pub(super) struct Designs<'a> {
    /// What stands for area.
    pub(super) area: &'a str,
    /// What tells curves apart, and their labels.
    pub(super) title: &'a str,
    pub(super) labels: Vec<&'a str>,
    pub(super) designs: Vec<Design>,
}

impl Designs<'_> {
    /// Those that no other one beats, by their area.
    pub(super) fn front(&self) -> Vec<&Design> {
        let all: Vec<(f64, f64)> = self.designs.iter().map(|design| (design.area, design.frames)).collect();
        front(&all).into_iter().map(|at| &self.designs[at]).collect()
    }

    /// Each design a mark; the front a line of steps, and the numbers of its points beside them.
    pub(super) fn draw(&self, (wide, high): (u32, u32)) -> Result<String, Error> {
        let entries: Vec<_> =
            Look::each(&self.labels).map(|(label, look)| ((*label).to_owned(), look)).collect();
        let entries = if self.labels.iter().all(|label| label.is_empty()) { Vec::new() } else { entries };
        let legends = legend_height(wide, self.title, &entries, Mark::Line);
        let areas: Vec<f64> = self.designs.iter().map(|design| design.area).collect();
        plot::svg((wide, high + legends - LEGEND), |root| {
            let (top, area) = root.split_vertically(legends);
            legend(&top, self.title, &entries, Mark::Line)?;
            let x = Axis::fitting(self.area, &areas);
            let y = Axis::linear("frames/s", self.designs.iter().map(|design| design.frames));
            let chart = plot::chart(&area, &x, &y, 68)?;
            let place = |design: &Design| chart.backend_coord(&(x.place(design.area), design.frames));
            let best = self.front();
            let mut steps: Vec<(i32, i32)> = Vec::new();
            for (right, upper) in best.iter().map(|design| place(design)) {
                if let Some(&(_, level)) = steps.last() {
                    steps.push((right, level));
                }
                steps.push((right, upper));
            }
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

    /// What the front says: from its smallest design to its largest.
    pub(super) fn sentence(&self) -> Option<String> {
        let front = self.front();
        let (first, last) = (front.first()?, front.last()?);
        let said = |design: &Design| {
            format!(
                "{} frames/s with {} {}",
                rounded(design.frames),
                rounded_whole(design.area as u64),
                self.area
            )
        };
        Some(match front.len() {
            1 => format!("No design beats point {}: {}.", first.number, said(first)),
            count => format!(
                "{count} designs that no other beats, from {} (point {}) to {} (point {}).",
                said(first),
                first.number,
                said(last),
                last.number
            ),
        })
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
                rounded_whole(design.area as u64),
                rounded(design.frames),
                more.unwrap_or_default(),
            ];
            let point = rows.iter().find(|row| row.point.number == design.number).map(|row| row.point);
            let value =
                |name: &&String| point.and_then(|point| point.get(name)).map_or_else(String::new, text);
            cells.extend(hardware.iter().map(value));
            cells
        };
        (header, designs.iter().copied().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn designs() -> Designs<'static> {
        let all = [(64.0, 10.0), (128.0, 9.0), (256.0, 20.0), (256.0, 15.0)];
        let design =
            |(number, (area, frames)): (usize, (f64, f64))| Design { number, area, frames, curve: 0 };
        let designs = (1..).zip(all).map(design).collect();
        Designs { area: "area.macs", title: "", labels: vec![""], designs }
    }

    #[test]
    fn each_design_is_a_mark_and_the_front_has_numbers() {
        let svg = designs().draw((600, 400)).unwrap();
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(designs().front().iter().map(|design| design.number).collect::<Vec<_>>(), [1, 3]);
        assert!(svg.contains("area.macs") && svg.contains("frames/s"));
    }
}
