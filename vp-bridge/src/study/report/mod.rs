//! The report.
use super::{file::Study, layout::Layout, results::Row};
use std::path::Path;

/// The page.
pub fn page(_: &Study, _: &Layout, _: &[Row<'_>], _: &Path) -> Result<String, String> {
    Ok(String::new())
}
