//! The table below the charts of frames/s, which the terminal shows too: knees over numbers, shares over words.

use super::answer::percent;
use super::cells::{Cells, strings};
use super::page::Page;
use crate::ideal::{Ideal, Trend};
use crate::knee::Knee;
use crate::layout::Curve;
use crate::results;
use crate::wording::rounded;
use crate::wording::{Unit, plain, spoken};

/// A table and what it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// `Knees`.
    pub title: String,
    /// The names of its columns.
    pub header: Vec<String>,
    /// Rows of the table, a cell a column.
    pub rows: Vec<Vec<String>>,
}

impl Page<'_> {
    /// Returns what is to be seen in the charts, in numbers.
    pub fn table(&self) -> Table {
        let words = !self.layout.names.is_empty();
        let (title, (header, rows)) = match words {
            false => ("Knees".to_owned(), self.knees()),
            true if self.compares_curves() => {
                ("Beside each other".to_owned(), self.curves_beside_the_first())
            }
            true => ("Most and least".to_owned(), self.ends()),
        };
        Table { title, header, rows }
    }

    /// Over words: whether curves are held against each other, and not the words.
    pub(super) fn compares_curves(&self) -> bool {
        // Frames of different networks are no measure for each other.
        self.layout.curves.as_deref().is_some_and(|curves| curves != "network")
    }

    /// Returns where each curve has the share that is asked for: of the ideal of its chart, and of what is good on the curve itself.
    fn knees(&self) -> Cells {
        let (mut cells, mut trends) = (Vec::new(), Vec::new());
        for panel in &self.layout.panels {
            let Some(ideal) = Ideal::of(panel, self.rows, false) else { continue };
            trends.push(ideal.trend);
            for curve in &panel.curves {
                let points = results::curve(curve, self.rows);
                let (Some(&(_, first)), Some(&(_, last))) = (points.first(), points.last()) else { continue };
                let best = points.iter().map(|point| point.1).fold(0.0, f64::max);
                let mut row = vec![panel.title.clone(), self.curve_label(&curve.label)];
                row.extend([first, last].map(rounded));
                row.push(percent(best / ideal.frames.max(f64::MIN_POSITIVE)));
                row.extend(self.knee_cells(curve, &ideal));
                cells.push(row);
            }
        }
        let rises = |trend: &Trend| *trend == Trend::Rises;
        let own = match (trends.iter().any(rises), trends.iter().all(rises)) {
            (true, true) => "best",
            (false, _) => "first",
            (true, false) => "first or best",
        };
        let share = percent(self.study.report.knee);
        let header = vec![
            "chart".to_owned(),
            self.layout.curves.as_deref().map_or("", spoken).to_owned(),
            "frames/s at first".to_owned(),
            "at last".to_owned(),
            "best of the ideal".to_owned(),
            format!("{share} of the ideal"),
            format!("{share} of its own {own}"),
        ];
        (header, cells)
    }

    /// The two knees of a curve, as people say them.
    pub(super) fn knee_cells(&self, curve: &Curve, ideal: &Ideal) -> [String; 2] {
        let (points, share) = (results::curve(curve, self.rows), self.study.report.knee);
        [ideal.knee(&points, share), ideal.own_knee(&points, share)]
            .map(|knee| knee.map_or_else(String::new, |knee| self.knee_said(knee, ideal.trend)))
    }

    /// `up to 400 cycles`, `from 1 MiB on`, `everywhere`, `nowhere`.
    fn knee_said(&self, knee: Knee, trend: Trend) -> String {
        match (knee, trend) {
            (Knee::At(place), Trend::Rises) => format!("from {} on", self.knee_place(place)),
            (Knee::At(place), _) => format!("up to {}", self.knee_place(place)),
            (Knee::Before(_), Trend::Rises) | (Knee::Beyond(_), Trend::Falls | Trend::Flat) => {
                "everywhere".to_owned()
            }
            (Knee::Beyond(_), Trend::Rises) | (Knee::Before(_), _) => "nowhere".to_owned(),
        }
    }

    /// A place between points: whole where all points are.
    pub(super) fn knee_place(&self, place: f64) -> String {
        let mut places = self.layout.panels.iter().flat_map(|panel| &panel.curves).flat_map(|it| &it.points);
        let place = if places.all(|point| point.0.fract() == 0.0) { place.round() } else { place };
        match self.x_unit() {
            Unit::Plain => plain(place),
            unit => unit.said(place),
        }
    }

    /// A row for each word and curve, with its share of the first curve there.
    fn curves_beside_the_first(&self) -> Cells {
        let mut cells = Vec::new();
        for panel in &self.layout.panels {
            let Some(first) = panel.curves.first() else { continue };
            let firsts = results::curve(first, self.rows);
            for (at, name) in self.layout.names.iter().enumerate() {
                let of_first = firsts.iter().find(|point| point.0 == at as f64).map(|point| point.1);
                for curve in &panel.curves {
                    let points = results::curve(curve, self.rows);
                    let Some((_, frames)) = points.into_iter().find(|point| point.0 == at as f64) else {
                        continue;
                    };
                    let share = of_first.map_or_else(String::new, |first| percent(frames / first));
                    cells.push(vec![
                        panel.title.clone(),
                        name.clone(),
                        self.curve_label(&curve.label),
                        rounded(frames),
                        share,
                    ]);
                }
            }
        }
        let firsts = self.layout.panels.first().and_then(|panel| panel.curves.first());
        let first = firsts.map_or_else(String::new, |curve| self.curve_label(&curve.label));
        let curves = self.layout.curves.as_deref().map_or("", spoken);
        let mut header = strings(["chart", spoken(&self.layout.x), curves, "frames/s"]);
        header.push(format!("of {first}"));
        (header, cells)
    }

    /// Over words: which has the most frames/s, and which the least; of networks what each has.
    fn ends(&self) -> Cells {
        let mut cells = Vec::new();
        let is_network = self.layout.x == "network";
        for panel in &self.layout.panels {
            for curve in &panel.curves {
                let points = results::curve(curve, self.rows);
                let Some([most, least]) = results::ends(&points) else { continue };
                let shown = if is_network { points } else { vec![most, least] };
                let mut row = |ends: &[(f64, f64)]| {
                    let mut row = vec![panel.title.clone(), self.curve_label(&curve.label)];
                    row.extend(ends.iter().flat_map(|(x, frames)| [self.place(*x), rounded(*frames)]));
                    cells.push(row);
                };
                if is_network { shown.chunks(1).for_each(&mut row) } else { row(&shown) }
            }
        }
        let curves = self.layout.curves.as_deref().map_or("", spoken);
        let header = match is_network {
            true => strings(["chart", curves, "network", "frames/s"]),
            false => strings(["chart", curves, "most with", "frames/s", "least with", "frames/s"]),
        };
        (header, cells)
    }
}
