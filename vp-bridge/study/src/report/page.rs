//! The page and its sections.

use super::bars::{self, Bar};
use super::cells::{Cells, bound_cells, figure, layer_cells, strings, table, wide};
use super::designs::{Design, Designs};
use super::plot::Error;
use super::said::{measured_in, plain, spoken, valued};
use super::throughput::{self, Curves};
use super::{energy, latency, roofline, timeline};
use crate::file::Study;
use crate::knee::{Knee, knee};
use crate::layout::{Curve, Layout, Panel};
use crate::measured::{Histogram, Measured, Outcome};
use crate::point::{number, text};
use crate::results::{self, Row, rounded};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::path::Path;
use vp_models::host::Bound;

/// What a report is made of.
pub(super) struct Report<'a> {
    pub(super) study: &'a Study,
    pub(super) layout: &'a Layout,
    pub(super) rows: &'a [Row<'a>],
    pub(super) file: &'a Path,
}

/// How large a chart is that has another beside it, and one that has not.
const HALF: (u32, u32) = (600, 400);
const WHOLE: u32 = 1180;

impl Report<'_> {
    pub(super) fn page(&self) -> Result<Markup, Error> {
        let Study { name, about, .. } = self.study;
        let mut sections = vec![
            ("throughput", "Frames a second", self.throughput()?),
            ("bounds", "What bounds it", self.bounds()?),
            ("roofline", "Roofline", self.rooflines()?),
            ("latency", "Read latency as it was seen", self.latencies()?),
            ("time", "Over time", self.timelines()?),
            ("points", "All points, and how to run each again", self.points()),
        ];
        if let Some(energy) = self.energy() {
            sections.insert(sections.len() - 1, ("energy", "Energy, an estimate", energy));
        }
        let failed = self.failed();
        Ok(html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="generator" content={ "vp " (env!("CARGO_PKG_VERSION")) };
                    title { (name) }
                    style { (PreEscaped(include_str!("style.css"))) }
                }
                body {
                    header {
                        h1 { (name) }
                        @if let Some(about) = about { p { (about) } }
                        (self.facts(failed.len()))
                        nav {
                            @for (id, title, _) in &sections { a href={ "#" (id) } { (title) } }
                        }
                    }
                    @if !failed.is_empty() {
                        section id="failed" {
                            h2 { "Points that failed" }
                            (table(&self.failures(&failed)))
                        }
                    }
                    @for (id, title, content) in &sections {
                        section id=(id) { h2 { (title) } (content) }
                    }
                    footer {
                        p {
                            "Made by vp " (env!("CARGO_PKG_VERSION")) " from " code { (self.file.display()) } ", seed " (self.study.seed)
                            ". Everything here is in results.csv and layers.csv beside this page, and in .parquet of the same names. "
                            "Cycles, not results, were computed: time does not depend on them."
                        }
                    }
                }
            }
        })
    }

    fn facts(&self, failed: usize) -> Markup {
        let best = self
            .measured()
            .map(|(row, measured)| (row, measured.frames_per_second()))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        html! {
            ul.facts {
                li { b { (self.rows.len()) } "points" }
                @if failed > 0 { li { b { (failed) } "failed" } }
                li { b { (self.layout.panels.len()) } @if self.layout.panels.len() == 1 { "chart" } @else { "charts" } }
                @if let Some((row, frames)) = best {
                    li { b { (rounded(frames)) } "frames/s at best (point " (row.point.number) ")" }
                }
            }
        }
    }

    fn measured(&self) -> impl Iterator<Item = (&Row<'_>, &Measured)> {
        self.rows.iter().filter_map(|row| Some((row, row.outcome.measured()?)))
    }

    fn of(&self, number: usize) -> Option<&Measured> {
        results::of(self.rows, number)
    }

    /// Charts whose chosen point ran, with it.
    fn chosen(&self) -> impl Iterator<Item = (&Panel, &Measured)> {
        self.layout.panels.iter().filter_map(|panel| Some((panel, self.of(panel.chosen)?)))
    }

    fn failed(&self) -> Vec<(&Row<'_>, &str)> {
        let failed = self.rows.iter().filter_map(|row| match row.outcome {
            Outcome::Failed(why) => Some((row, why.as_str())),
            Outcome::Ran(_) => None,
        });
        failed.collect()
    }

    fn failures(&self, failed: &[(&Row<'_>, &str)]) -> Cells {
        let row = |(row, why): &(&Row<'_>, &str)| {
            vec![row.point.number.to_string(), row.point.to_string(), (*why).to_owned()]
        };
        (strings(["point", "what", "why"]), failed.iter().map(row).collect())
    }

    pub(super) fn curves(&self, panel: &Panel) -> Curves<'_> {
        let points = |curve: &Curve| (curve.label.clone(), results::curve(curve, self.rows));
        Curves {
            title: self.layout.curves.as_deref().map_or("", spoken),
            x: self.along(),
            names: self.layout.names.iter().map(String::as_str).collect(),
            curves: panel.curves.iter().map(points).filter(|(_, points)| !points.is_empty()).collect(),
            share: self.study.report.knee,
        }
    }

    /// What is along the axes: times are nanoseconds, where points have them so.
    fn along(&self) -> String {
        let x = &self.layout.x;
        let is_time =
            |row: &Row<'_>| row.point.get(x).is_some_and(|value| value.is_str() && number(value).is_some());
        match self.rows.first().is_some_and(is_time) {
            true => format!("{}, ns", spoken(x)),
            false => measured_in(x),
        }
    }

    /// What stands at a place along the axes.
    fn place(&self, x: f64) -> String {
        self.layout.name(x).map_or_else(|| plain(x), str::to_owned)
    }

    pub(super) fn designs<'a>(&'a self, panel: &'a Panel) -> Designs<'a> {
        let of_curve = |(at, curve): (usize, &Curve)| {
            let points = results::curve_points(curve, self.rows);
            points.into_iter().map(move |(area, number, frames)| Design { number, area, frames, curve: at })
        };
        Designs {
            area: &self.layout.x,
            title: self.layout.curves.as_deref().map_or("", spoken),
            labels: panel.curves.iter().map(|curve| curve.label.as_str()).collect(),
            designs: panel.curves.iter().enumerate().flat_map(of_curve).collect(),
        }
    }

    /// Frames/s by what stands for area.
    fn design_space(&self) -> Result<Markup, Error> {
        let mut charts = Vec::new();
        for panel in &self.layout.panels {
            let designs = self.designs(panel);
            if !designs.designs.is_empty() {
                charts.push((panel, designs.draw(HALF)?, designs.cells(self.study, self.rows)));
            }
        }
        Ok(html! {
            p {
                "Each mark is a design. The line is the Pareto front: designs of which no other makes as many frames/s with less " b { (self.layout.x) } ". Beside them stand the numbers of their points, "
                "and behind each chart what they are. What stands for area is no area: silicon grows with it, how fast depends on the process."
            }
            div.charts {
                @for (panel, svg, cells) in &charts { (figure(&panel.title, None, svg, cells)) }
            }
            @for (panel, _, cells) in &charts {
                h3 { "The front: " (panel.title) }
                (table(cells))
            }
        })
    }

    fn throughput(&self) -> Result<Markup, Error> {
        if self.layout.area.is_some() {
            return self.design_space();
        }
        let share = self.study.report.knee;
        let lost = format!("{:.0} %", 100.0 * (1.0 - share));
        let mut charts = Vec::new();
        for panel in &self.layout.panels {
            let curves = self.curves(panel);
            if curves.curves.is_empty() {
                continue;
            }
            charts.push((panel, throughput::draw(&curves, HALF)?, self.frames(panel)));
        }
        let words = !self.layout.names.is_empty();
        Ok(html! {
            p {
                @if let Some(curves) = &self.layout.curves { "Each " @if words { "bar of a group" } @else { "curve" } " has another value of " b { (spoken(curves)) } ". " }
                @if !words {
                    "A ring marks the knee, with its place beside it: from there on a curve has lost more than " (lost) " of what it begins with, on the straight line "
                    "between the two points around it. A curve without a ring has lost less up to its end."
                }
            }
            div.charts {
                @for (panel, svg, cells) in &charts { (figure(&panel.title, None, svg, cells)) }
            }
            h3 { @if words { "Most and least" } @else { "Knees" } }
            (table(&if words { self.ends() } else { self.knees() }))
        })
    }

    /// Frames/s, a row a place along the axis and a column a curve.
    fn frames(&self, panel: &Panel) -> Cells {
        let curves = self.curves(panel);
        let mut xs: Vec<f64> =
            curves.curves.iter().flat_map(|(_, points)| points.iter().map(|it| it.0)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let header =
            std::iter::once(curves.x.clone()).chain(curves.curves.iter().map(|(label, _)| label.clone()));
        let row = |x: &f64| {
            let cell = |(_, points): &(String, Vec<(f64, f64)>)| {
                points.iter().find(|point| point.0 == *x).map_or_else(String::new, |point| rounded(point.1))
            };
            std::iter::once(self.place(*x)).chain(curves.curves.iter().map(cell)).collect()
        };
        (header.collect(), xs.iter().map(row).collect())
    }

    fn knees(&self) -> Cells {
        let share = self.study.report.knee;
        let mut cells = Vec::new();
        for panel in &self.layout.panels {
            for curve in &panel.curves {
                let points = results::curve(curve, self.rows);
                let Some(&(_, first)) = points.first() else { continue };
                let place = match knee(&points, share) {
                    Some(Knee::At(place)) => plain(place.round()),
                    Some(Knee::Beyond(last)) => format!("beyond {}", plain(last)),
                    None => continue,
                };
                let last = points.last().map_or(first, |point| point.1);
                let left = format!("{:.0} %", 100.0 * last / first.max(f64::MIN_POSITIVE));
                cells.push(vec![panel.title.clone(), curve.label.clone(), rounded(first), place, left]);
            }
        }
        let curves = self.layout.curves.as_deref().map_or("", spoken);
        (strings(["chart", curves, "frames/s at first", "knee", "left at the end"]), cells)
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

    fn bounds(&self) -> Result<Markup, Error> {
        let (mut shares, mut layers) = (Vec::new(), Vec::new());
        let seen: Vec<_> = self.chosen().filter(|(_, measured)| measured.is_seen_inside()).collect();
        if seen.is_empty() {
            let why = "Not known: parts of the platforms are in other programs, and what goes on inside is not seen.";
            return Ok(html! { p { (why) } });
        }
        for (panel, measured) in seen {
            let curve = panel.curves.iter().find(|curve| curve.points.iter().any(|it| it.1 == panel.chosen));
            if let Some(curve) = curve.filter(|curve| curve.points.len() > 1) {
                let bar = |&(x, number): &(f64, usize)| {
                    let parts = self.of(number)?.bounds().map(|part| part as f64);
                    Some(Bar { name: self.place(x), parts })
                };
                let bars: Vec<Bar> = curve.points.iter().filter_map(bar).collect();
                let svg = bars::shares(&bars, &self.along(), !self.layout.names.is_empty(), HALF)?;
                let of = self.layout.curves.as_deref().map(|name| valued(name, &curve.label));
                shares.push((panel, of, svg, bound_cells(&self.along(), &bars)));
            }
            let (unit, scale) = timeline::unit(measured.time as f64);
            let scale = scale * f64::from(measured.frames.max(1));
            let bar = |layer: &crate::measured::MeasuredLayer| Bar {
                name: layer.name.clone(),
                parts: layer.bounds.map(|part| part as f64 / scale),
            };
            let bars: Vec<Bar> = measured.layers.iter().filter(|layer| layer.time > 0).map(bar).collect();
            let svg = bars::layers(&bars, &format!("{unit} a frame"), WHOLE)?;
            layers.push((panel, svg, layer_cells(measured)));
        }
        Ok(html! {
            p {
                "Each moment counts once: while datapaths have work, for the one that sets the pace, " b { "MAC array" } ", " b { "SDP" } ", " b { "PDP" } ", "
                b { "CDP" } " or " b { "RUBIK" } ", and of the array for " b { "idle MACs" } " by the share of its multipliers that channels and kernels leave without work; else "
                b { "read bandwidth" } " while data of reads moves, "
                b { "read latency" } " while reads are outstanding and none of their data moves, " b { "write" } " while writes are under way, and "
                b { "CSB" } " for the rest: registers written and read, interrupts taken."
            }
            @if !shares.is_empty() {
                div.charts {
                    @for (panel, of, svg, cells) in &shares { (figure(&panel.title, of.as_deref(), svg, cells)) }
                }
            }
            h3 { "Layer by layer, at the points that are looked at closely" }
            @for (panel, svg, cells) in &layers {
                (wide(&panel.title, Some(&self.said(panel.chosen)), svg, cells))
            }
        })
    }

    fn energy(&self) -> Option<Markup> {
        let technology = &self.study.energy.as_ref()?.technology;
        let layers: Vec<_> = self
            .chosen()
            .filter_map(|(panel, measured)| {
                let row = self.rows.iter().find(|row| row.point.number == panel.chosen)?;
                Some((panel, energy::of_layers(measured, row.energy.as_deref()?)))
            })
            .collect();
        Some(html! {
            p {
                "No measurement: counts of the run times what one of each costs (" (technology) "). It orders designs and layers; the numbers are as good as the coefficients, "
                "which are the study's."
            }
            (table(&energy::of_points(self.study, self.rows)))
            h3 { "Layer by layer, at the points that are looked at closely, all frames together" }
            @for (panel, cells) in &layers {
                h4 { (panel.title) " " small { (self.said(panel.chosen)) } }
                (table(cells))
            }
        })
    }

    fn rooflines(&self) -> Result<Markup, Error> {
        let mut charts = Vec::new();
        for (panel, measured) in self.chosen() {
            let (roof, places) = roofline::of(measured);
            if !places.is_empty() {
                let svg = roofline::draw(&roof, &places, HALF)?;
                let row = |place: &roofline::RooflinePoint| {
                    vec![
                        place.name.clone(),
                        rounded(place.intensity),
                        rounded(place.speed),
                        format!("{:.1} %", 100.0 * place.share),
                    ]
                };
                let header =
                    strings(["layer", "MACs for each byte read", "MACs a cycle", "share of the time"]);
                charts.push((panel, svg, (header, places.iter().map(row).collect())));
            }
        }
        Ok(html! {
            p {
                "A disc is a layer that multiplies; the larger, the more of the time it takes. No layer can be above the flat roof (all multipliers busy) or left of the slopes: "
                "what the memory can read a cycle, and, where that is less, what can be read with so many reads outstanding at the latency that was seen (Little's law). "
                "Weights and data are counted each time they are read, in the time of the layer that is at work: with several frames at once (" code { "batch" } ") the next one's input may be read in that of another."
            }
            div.charts {
                @for (panel, svg, cells) in &charts { (figure(&panel.title, Some(&self.said(panel.chosen)), svg, cells)) }
            }
        })
    }

    fn latencies(&self) -> Result<Markup, Error> {
        let mut charts = Vec::new();
        for (panel, _) in self.chosen() {
            let at = |curve: &Curve| curve.points.iter().find(|it| it.1 == panel.chosen).map(|it| it.0);
            let Some(x) = panel.curves.iter().find_map(at) else { continue };
            let runs: Vec<(String, &Histogram)> = panel
                .curves
                .iter()
                .filter_map(|curve| {
                    let number = curve.points.iter().find(|it| it.0 == x)?.1;
                    Some((curve.label.clone(), &self.of(number)?.port("dbb0")?.reads.latencies))
                })
                .collect();
            let title = self.layout.curves.as_deref().map_or("", spoken);
            let svg = latency::draw(title, &runs, HALF)?;
            let row = |(label, histogram): &(String, &Histogram)| {
                let percentile =
                    |share| histogram.percentile(share).map_or_else(String::new, |it| it.to_string());
                let shares = [0.5, 0.9, 0.99, 1.0].map(percentile);
                std::iter::once(label.clone()).chain([histogram.count().to_string()]).chain(shares).collect()
            };
            let header = strings([title, "reads", "median", "90 %", "99 %", "longest"]);
            let said = valued(&self.layout.x, &self.place(x));
            charts.push((panel, said, svg, (header, runs.iter().map(row).collect())));
        }
        Ok(html! {
            p { "On DBBIF, from a read's acceptance to its first data, waiting in the memory and on the bus included. Numbers in the tables are cycles, a latency of more than 32 at the lower end of a bucket a sixteenth of its power of two wide." }
            div.charts {
                @for (panel, said, svg, cells) in &charts { (figure(&panel.title, Some(said), svg, cells)) }
            }
        })
    }

    fn timelines(&self) -> Result<Markup, Error> {
        let mut charts = Vec::new();
        for (panel, measured) in self.chosen() {
            if let Some(timeline) = &measured.timeline {
                let (unit, scale) = timeline::unit((timeline.start + measured.time) as f64);
                let svg = timeline::draw(measured, timeline, WHOLE)?;
                let mut header = vec![unit.to_owned()];
                header.extend(timeline.levels.iter().map(|levels| levels.name.clone()));
                let spans = timeline.levels.iter().map(|levels| levels.means.len()).max().unwrap_or(0);
                let row = |at: usize| {
                    let time = rounded(at as f64 * timeline.span as f64 / scale);
                    let mean = |levels: &crate::measured::Levels| {
                        levels.means.get(at).map_or_else(|| "0".to_owned(), |mean| rounded(*mean))
                    };
                    std::iter::once(time).chain(timeline.levels.iter().map(mean)).collect()
                };
                charts.push((panel, svg, (header, (0..spans).map(row).collect())));
            }
        }
        Ok(html! {
            p { "The filled area is the mean of a span of time, the line above it the most in that span. Room in the buffer counts from when it is promised to a read." }
            @for (panel, svg, cells) in &charts { (wide(&panel.title, Some(&self.said(panel.chosen)), svg, cells)) }
        })
    }

    /// Which point it is, and what makes it differ from its chart's others.
    fn said(&self, number: usize) -> String {
        let of = |name: &str| {
            let point = self.study.points.get(number - 1)?;
            Some(valued(name, &text(point.get(name)?)))
        };
        let parts = [Some(self.layout.x.as_str()), self.layout.curves.as_deref()];
        let parts: Vec<String> = parts.into_iter().flatten().filter_map(of).collect();
        format!("point {number}: {}", parts.join(", "))
    }

    fn points(&self) -> Markup {
        let file = self.file.display().to_string();
        html! {
            p {
                "A line's command, which is also in results.csv, runs the same again; the event hash says whether it was the same. "
                "With the study at hand, this shows a point with its layers:"
            }
            pre { code { "vp study " (file) " --point N" } }
            div.scroll {
                table {
                    thead { tr {
                        th { "point" }
                        @for name in &self.study.varied { th { (name) } }
                        th { "frames/s" } th { "cycles a frame" } th.text { "bound by" } th.text { "event hash" } th.text.command { "command" }
                    } }
                    tbody {
                        @for row in self.rows {
                            tr {
                                td { (row.point.number) }
                                @for name in &self.study.varied { td { (row.point.get(name).map_or_else(String::new, text)) } }
                                @match row.outcome {
                                    Outcome::Ran(measured) => {
                                        td { (rounded(measured.frames_per_second())) }
                                        td { (rounded(measured.cycles_per_frame())) }
                                        td.text { (largest(measured.bounds())) }
                                        td.text { code { (measured.event_hash) } }
                                        td.text.command { code { (row.command.as_deref().unwrap_or("")) } }
                                    }
                                    Outcome::Failed(why) => td.bad.text colspan="5" { (why) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn largest(bounds: [u64; Bound::COUNT]) -> &'static str {
    Bound::largest(Bound::ALL.map(|bound| (bound, bounds[bound as usize]))).map_or("", Bound::name)
}
