//! The table of operators in the documents.

use std::path::Path;

#[test]
fn the_page_has_each_operator_that_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/onnx.md");
    let page = std::fs::read_to_string(path).unwrap();
    for operator in crate::supported() {
        let dot = if operator.domain.is_empty() { "" } else { "." };
        let row = format!(
            "| {}{dot}{} | {} | {} |",
            operator.domain, operator.name, operator.since, operator.limits
        );
        assert!(page.contains(&row), "no row {row}: tests/onnx/run --docs");
    }
}
