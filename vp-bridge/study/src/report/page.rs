//! The page: what leads it, its sections, and what it carries.

use super::cells::{Cells, strings, table};
use super::drawing::Error;
use super::live;
use crate::explore::Finding;
use crate::file::Study;
use crate::layout::{Layout, Panel};
use crate::measured::{Measured, Outcome};
use crate::memories::StudyMemories;
use crate::point::{is_time, text};
use crate::results::{self, Row};
use crate::wording::{Unit, amount, measured_in, plain, quantity, unbroken, valued};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::path::Path;
use vp_models::printable;

/// Parts that a page is made of.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    /// The study, with all its points.
    pub study: &'a Study,
    /// Layout of the points.
    pub layout: &'a Layout,
    /// Points that are done, with what came of them.
    pub rows: &'a [Row<'a>],
    /// Results of the study's search, if it has one.
    pub findings: &'a [Finding],
    /// The memories alone, if the report has them.
    pub memories: &'a StudyMemories,
    /// The study's file, as commands name it.
    pub file: &'a Path,
    /// Build of the program that makes the page.
    pub build: &'a str,
}

/// A section of the page.
pub(super) struct Section {
    /// Name of the section in the page.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) content: Markup,
}

/// Size of a chart that has another beside it, and width of one that has not, in pixels.
pub(super) const HALF: (u32, u32) = (600, 400);
pub(super) const WHOLE: u32 = 1180;

/// A chart's answer: what matters, and then what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `400 cycles with 64 outstanding: resnet50 on nv_large keeps 50 %`.
    pub head: String,
    /// Rest of the answer: what that is a share of, what else could be had, and where the knees are; empty if there is nothing to add.
    pub rest: String,
}

impl Answer {
    /// Returns both in one.
    pub fn sentence(&self) -> String {
        format!("{}. {}", self.head, self.rest).trim_end().to_owned()
    }
}

impl Page<'_> {
    pub(super) fn markup(&self) -> Result<Markup, Error> {
        let Study { name, about, .. } = self.study;
        let section = |id, title, content| Section { id, title, content };
        let views = self.views();
        let mut sections = Vec::new();
        if !self.findings.is_empty() {
            sections.push(section("search", "What was searched", self.search()));
        }
        sections.extend([section("throughput", "Frames a second", of_each(&views, Page::throughput)?)]);
        sections.extend(self.energy().map(|content| section("energy", "Energy, an estimate", content)));
        sections.extend([
            section("bounds", "What bounds it", of_each(&views, Page::bounds)?),
            section("roofline", "Roofline", of_each(&views, Page::rooflines)?),
            section("latency", "Read latency as it was seen", of_each(&views, Page::latencies)?),
        ]);
        sections.extend(self.memories()?.map(|content| section("memories", "Memories alone", content)));
        sections.push(section("time", "Over time", of_each(&views, Page::timelines)?));
        sections.push(section("points", "All points, and how to run each again", self.points()));
        let failed = self.failed();
        let shown = html! {
            header {
                h1 { (name) }
                @if let Some(about) = about { p { (about) } }
                (self.answers())
                nav {
                    @for section in &sections { a href={ "#" (section.id) } { (section.title) } }
                }
            }
            section id="facts" { h2 { "What it rests on" } (self.counts(failed.len())) (self.facts()) }
            @if !failed.is_empty() {
                section id="failed" {
                    h2 { "Points that failed" }
                    (table(&self.failures(&failed)))
                }
            }
            @for section in &sections {
                section id=(section.id) { h2 { (section.title) } (section.content) }
            }
            (self.foot())
        };
        Ok(document(name, &shown))
    }

    /// The page of each layout alone: points of another sweep have axes of their own.
    pub fn views(&self) -> Vec<Page<'_>> {
        self.layout.all().into_iter().map(|layout| Page { layout, ..*self }).collect()
    }

    /// The name in the page of a layout's chart, by its place there.
    pub(super) fn chart_id(&self, at: usize) -> String {
        let name = self.layout.panels.get(at).map_or(0, |panel| panel.chosen);
        format!("chart-{name}")
    }

    fn foot(&self) -> Markup {
        html! {
            footer {
                p {
                    "Made by vp " (self.build) " from " code { (self.file.display()) } ", seed " (self.study.seed)
                    ". Everything here is in results.csv and layers.csv beside this page, and in .parquet of the same names. "
                    "Where scripts run, a chart tells what each point is, shows a part closer (drag; a double click shows all again), and leaves out a curve that is clicked in the legend; "
                    "a table sorts by the column that is clicked."
                }
                (live::licence())
            }
        }
    }

    /// Returns what the page leads with: what was found, what a frame costs, or what each chart of frames/s says, and what has no effect;
    /// each with the place in the page that shows it.
    pub fn lead(&self) -> Vec<(String, Answer)> {
        let found = self.findings.iter().map(|finding| {
            let head = self.found(finding).trim_end_matches('.').to_owned();
            let rest = format!("{} points run; assumed: {}.", finding.ran, finding.assumption);
            ("search".to_owned(), Answer { head, rest })
        });
        let views = self.views();
        let energies = views.iter().flat_map(Page::energy_answers);
        let energies = energies.map(|answer| ("energy".to_owned(), answer)).collect::<Vec<_>>();
        // What a search has found its chart says again.
        let views = views.iter().filter(|_| self.findings.is_empty());
        let charts = views.flat_map(|view| {
            let panels = view.layout.panels.iter().enumerate();
            panels.filter_map(move |(at, panel)| Some((view.chart_id(at), view.answer(panel)?)))
        });
        let idle = self.without_effect().into_iter().map(|answer| ("points".to_owned(), answer));
        found.chain(energies).chain(charts).chain(idle).collect()
    }

    fn answers(&self) -> Markup {
        let answers = self.lead();
        html! {
            @if !answers.is_empty() {
                ul.answers {
                    @for (place, Answer { head, rest }) in &answers {
                        li { a href={ "#" (place) } { (unbroken(head)) @if !rest.is_empty() { "." } } @if !rest.is_empty() { " " span { (unbroken(rest)) } } }
                    }
                }
            }
        }
    }

    fn counts(&self, failed: usize) -> Markup {
        html! {
            ul.facts {
                li { b { (self.rows.len()) } "points" }
                @if failed > 0 { li { b { (failed) } "failed" } }
                li { b { (self.study.frames) } @if self.study.frames == 1 { "frame a point" } @else { "frames a point" } }
                li { b { "vp" } (self.build) }
            }
        }
    }

    pub(super) fn of(&self, number: usize) -> Option<&Measured> {
        results::of(self.rows, number)
    }

    /// Charts whose chosen point ran, with it.
    pub(super) fn chosen(&self) -> impl Iterator<Item = (&Panel, &Measured)> {
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

    /// Returns true if points have times along the axis, which are nanoseconds there.
    pub(super) fn x_is_time(&self) -> bool {
        let x = &self.layout.x;
        self.rows.iter().find_map(|row| row.point.get(x)).is_some_and(is_time)
    }

    /// Unit of the values along the axes.
    pub(super) fn x_unit(&self) -> Unit {
        match (self.layout.names.is_empty(), self.x_is_time()) {
            (false, _) => Unit::Plain,
            (true, true) => Unit::Nanoseconds,
            (true, false) => Unit::of(&self.layout.x),
        }
    }

    /// Returns the name of what is along the axes.
    pub(super) fn along(&self) -> String {
        measured_in(&self.layout.x, self.x_unit())
    }

    /// Returns what stands at a place along the axes: with its unit, if it is not the axis that has it.
    pub(super) fn place(&self, x: f64) -> String {
        match (self.layout.name(x), self.x_unit()) {
            (Some(name), _) => name.to_owned(),
            (None, unit @ (Unit::Bytes | Unit::Rate | Unit::Share)) => unit.said(x),
            (None, _) => plain(x),
        }
    }

    /// A place along the axes in a sentence.
    pub(super) fn x_said(&self, x: f64) -> String {
        match (self.layout.name(x), self.x_is_time()) {
            (Some(name), _) => name.to_owned(),
            (None, true) => Unit::Nanoseconds.said(x),
            (None, false) => amount(&self.layout.x, &x.to_string()),
        }
    }

    /// A curve's label with its unit.
    pub(super) fn curve_label(&self, label: &str) -> String {
        self.layout.curves.as_deref().map_or_else(|| label.to_owned(), |name| quantity(name, label))
    }

    /// Says which point it is, and what makes it differ from its chart's others.
    pub(super) fn said(&self, number: usize) -> String {
        let of = |name: &str| {
            let point = self.study.points.get(number - 1)?;
            Some(valued(name, &text(point.get(name)?)))
        };
        let parts = [Some(self.layout.x.as_str()), self.layout.curves.as_deref()];
        let parts = parts.into_iter().flatten().filter_map(of);
        let area = self.layout.area.and_then(|_| self.layout.place_of(number)).map(|area| self.x_said(area));
        let parts: Vec<String> = area.into_iter().chain(parts).collect();
        match parts.is_empty() {
            true => format!("point {number}"),
            false => format!("point {number}: {}", parts.join(", ")),
        }
    }
}

/// A section's content for each layout, one below the other.
fn of_each<'a>(
    views: &[Page<'a>],
    content: impl Fn(&Page<'a>) -> Result<Markup, Error>,
) -> Result<Markup, Error> {
    let contents = views.iter().map(content).collect::<Result<Vec<_>, _>>()?;
    Ok(html! {
        @for (view, content) in views.iter().zip(contents) {
            @if views.len() > 1 { h3 { "Over " (view.along()) } }
            (content)
        }
    })
}

/// A whole document: the head that all pages have, and what is shown. Names and values in it are a file's.
pub(super) fn document(name: &str, shown: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "vp " (env!("CARGO_PKG_VERSION")) };
                title { (printable::one_line(name)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (PreEscaped(printable::lines(&shown.0)))
                (live::scripts())
            }
        }
    }
}
