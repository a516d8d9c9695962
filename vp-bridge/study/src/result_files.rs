//! The files that a study leaves: tables, pictures and the page.

use super::report::{self, Page};
use super::table;
use std::path::Path;
use vp_observers::write_whole;

/// Writes tables, pictures and the page into a folder.
///
/// # Errors
/// The disk's.
pub fn write(page: &Page<'_>, folder: &Path) -> Result<(), String> {
    for (name, table) in [("results", table::points(page.rows)), ("layers", table::layers(page.rows))] {
        table.write_csv(&folder.join(name).with_extension("csv"))?;
        table.write_parquet(&folder.join(name).with_extension("parquet"))?;
    }
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        write_whole(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    for view in page.views() {
        for panel in &view.layout.panels {
            // Points of another sweep have charts of their own, over something else.
            let is_first = std::ptr::eq(view.layout, page.layout);
            let over = if is_first { String::new() } else { format!(" over {}", view.layout.x) };
            put(
                &format!("{}.svg", file_name(&(panel.title.clone() + &over))),
                report::picture(&view, panel)?,
            )?;
        }
    }
    put("report.html", report::page(page)?)
}

/// A title as the name of a file: `resnet50-nv_large`.
fn file_name(title: &str) -> String {
    let words = title.split(|it: char| !it.is_ascii_alphanumeric() && it != '_' && it != '.');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_make_names_of_files() {
        assert_eq!(file_name("resnet50 · nv_large"), "resnet50-nv_large");
        assert_eq!(file_name("../a/b · dbb0.cache.sets 64"), "..-a-b-dbb0.cache.sets-64");
    }
}
