//! The frame of a chart: its title and answer, the picture, what its script draws, and the numbers behind it.

use super::cells::{Cells, table};
use super::drawing::themed;
use super::live::Live;
use crate::wording::unbroken;
use maud::{Markup, PreEscaped, html};

/// A chart with all that belongs to it.
pub(super) struct Figure {
    /// Title: what the chart is of.
    pub(super) title: String,
    /// Point of the chart, in words, if it is of one.
    pub(super) said: Option<String>,
    /// Answer that the chart gives, in a sentence.
    pub(super) answer: Option<String>,
    /// The picture.
    pub(super) svg: String,
    /// Chart for readers that have scripts.
    pub(super) live: Option<Live>,
    /// Numbers of the picture.
    pub(super) cells: Cells,
}

impl Figure {
    /// Beside others.
    pub(super) fn half(&self) -> Markup {
        self.framed("")
    }

    /// As wide as the page.
    pub(super) fn wide(&self) -> Markup {
        self.framed("wide")
    }

    fn framed(&self, class: &str) -> Markup {
        let Figure { title, said, answer, svg, live, cells } = self;
        html! {
            figure class=(class) {
                figcaption { (title) @if let Some(said) = said { " " small { (unbroken(said)) } } }
                @if let Some(answer) = answer { p.answer { (unbroken(answer)) } }
                div.drawn { (PreEscaped(themed(svg))) }
                @if let Some(live) = live { (live.element()) }
                details { summary { "The numbers" } (table(cells)) }
            }
        }
    }
}

/// Charts side by side.
pub(super) fn side_by_side(figures: &[Figure]) -> Markup {
    html! { div.charts { @for figure in figures { (figure.half()) } } }
}
