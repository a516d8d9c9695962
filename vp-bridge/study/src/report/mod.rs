//! A study's report: one page with everything in it, that needs no network and no manual.
//!
//! Each picture has the table of what it shows behind it. The page has a light and a dark dress, by what its reader's browser asks for, and
//! can be printed.

mod bars;
mod cells;
mod designs;
mod energy;
mod latency;
mod look;
mod names;
mod page;
mod plot;
mod roofline;
mod said;
mod throughput;
mod timeline;

use super::file::Study;
use super::layout::{Layout, Panel};
use super::results::{self, Row};
use std::path::Path;

/// The page.
///
/// # Errors
/// When a picture cannot be drawn.
pub fn page(study: &Study, layout: &Layout, rows: &[Row<'_>], file: &Path) -> Result<String, String> {
    let layout = &layout.clone().looking_at(|number| results::of(rows, number).is_some());
    let report = page::Report { study, layout, rows, file };
    report
        .page()
        .map(maud::Markup::into_string)
        .map_err(|error| format!("the report cannot be drawn: {error}"))
}

/// One chart of frames/s alone, for a page that has no style of its own: a README.
///
/// # Errors
/// When there is no such chart, or it cannot be drawn.
pub fn picture(study: &Study, layout: &Layout, rows: &[Row<'_>], panel: &Panel) -> Result<String, String> {
    let report = page::Report { study, layout, rows, file: Path::new("") };
    let drawn = match layout.area {
        Some(_) => report.designs(panel).draw((860, 440)),
        None => throughput::draw(&report.curves(panel), (860, 440)),
    };
    drawn.map_err(|error| error.to_string())
}
