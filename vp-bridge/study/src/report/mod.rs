//! A study's report: one page with everything in it, that needs no network and no manual.
//!
//! The page leads with what each chart says. Each picture has the table of what it shows behind it. Where scripts run they draw charts over
//! the pictures that a reader can ask (`live.rs`), and tables sort and filter; without them, and on paper, nothing is missing. The page is
//! light or dark, by what its reader's browser asks for.

mod answer;
mod bars;
mod cells;
mod designs;
mod drawing;
mod effect;
mod energy;
mod facts;
mod figure;
mod latency;
mod live;
mod look;
mod memories;
mod names;
mod page;
mod plot;
mod roofline;
mod sections;
mod tables;
mod throughput;
mod timeline;

pub use memories::memory_page;
pub use page::{Answer, Page};
pub use tables::Table;

use super::layout::Panel;
use super::results;

/// The page as HTML.
///
/// # Errors
/// When a picture cannot be drawn.
pub fn page(page: &Page<'_>) -> Result<String, String> {
    let layout = &page.layout.clone().looking_at(&|number| results::of(page.rows, number).is_some());
    let page = Page { layout, ..*page };
    page.markup()
        .map(maud::Markup::into_string)
        .map_err(|error| format!("the report cannot be drawn: {error}"))
}

/// One chart of frames/s alone, for a page that has no style of its own: a README.
///
/// # Errors
/// When there is no such chart, or it cannot be drawn.
pub fn picture(page: &Page<'_>, panel: &Panel) -> Result<String, String> {
    let drawn = match page.layout.area {
        Some(_) => page.designs(panel).draw((860, 440)),
        None => throughput::draw(&page.curves(panel), (860, 440)),
    };
    drawn.map_err(|error| error.to_string())
}
