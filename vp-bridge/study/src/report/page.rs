//! The page: what leads it, its sections, and what it carries.

use super::answer::Answer;
use super::cells::{Cells, strings, table};
use super::live;
use super::plot::Error;
use super::said::{measured_in, plain, spoken, valued};
use crate::explore::Finding;
use crate::file::Study;
use crate::layout::{Layout, Panel};
use crate::measured::{Measured, Outcome};
use crate::point::{is_time, text};
use crate::results::{self, Row};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::path::Path;

/// What a page is made of.
pub struct Page<'a> {
    /// The study, with all its points.
    pub study: &'a Study,
    /// Where they stand.
    pub layout: &'a Layout,
    /// What came of them.
    pub rows: &'a [Row<'a>],
    /// What its search found, if it has one.
    pub findings: &'a [Finding],
    /// The study's file, as commands name it.
    pub file: &'a Path,
    /// Which program makes the page.
    pub build: &'a str,
}

/// A section of the page.
pub(super) struct Section {
    /// Its name in the page.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) content: Markup,
}

/// How large a chart is that has another beside it, and how wide one that has not.
pub(super) const HALF: (u32, u32) = (600, 400);
pub(super) const WHOLE: u32 = 1180;

impl Page<'_> {
    pub(super) fn markup(&self) -> Result<Markup, Error> {
        let Study { name, about, .. } = self.study;
        let section = |id, title, content| Section { id, title, content };
        let mut sections = Vec::new();
        if !self.findings.is_empty() {
            sections.push(section("search", "What was searched", self.search()));
        }
        sections.extend([
            section("throughput", "Frames a second", self.throughput()?),
            section("bounds", "What bounds it", self.bounds()?),
            section("roofline", "Roofline", self.rooflines()?),
            section("latency", "Read latency as it was seen", self.latencies()?),
            section("time", "Over time", self.timelines()?),
        ]);
        sections.extend(self.energy().map(|content| section("energy", "Energy, an estimate", content)));
        sections.push(section("points", "All points, and how to run each again", self.points()));
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
                    (live::scripts())
                }
            }
        })
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

    /// What each chart of frames/s says.
    fn answers(&self) -> Markup {
        let answers: Vec<(usize, Answer)> = self
            .layout
            .panels
            .iter()
            .enumerate()
            .filter_map(|(at, panel)| Some((at, self.answer(panel)?)))
            .collect();
        html! {
            @if !answers.is_empty() || !self.findings.is_empty() {
                ul.answers {
                    @for finding in self.findings { li { a href="#search" { (self.found(finding)) } } }
                    @for (at, Answer { head, rest }) in &answers {
                        li { a href={ "#chart-" (at + 1) } { (head) } @if !rest.is_empty() { " " span { (rest) } } }
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

    /// Whether points have times along the axis, which are nanoseconds there.
    pub(super) fn x_is_time(&self) -> bool {
        let x = &self.layout.x;
        self.rows.first().is_some_and(|row| row.point.get(x).is_some_and(is_time))
    }

    /// What is along the axes.
    pub(super) fn along(&self) -> String {
        let x = &self.layout.x;
        if self.x_is_time() { format!("{}, ns", spoken(x)) } else { measured_in(x) }
    }

    /// What stands at a place along the axes.
    pub(super) fn place(&self, x: f64) -> String {
        self.layout.name(x).map_or_else(|| plain(x), str::to_owned)
    }

    /// Which point it is, and what makes it differ from its chart's others.
    pub(super) fn said(&self, number: usize) -> String {
        let of = |name: &str| {
            let point = self.study.points.get(number - 1)?;
            Some(valued(name, &text(point.get(name)?)))
        };
        let parts = [Some(self.layout.x.as_str()), self.layout.curves.as_deref()];
        let parts: Vec<String> = parts.into_iter().flatten().filter_map(of).collect();
        format!("point {number}: {}", parts.join(", "))
    }
}
