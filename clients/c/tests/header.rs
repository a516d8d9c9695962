//! The header says what the library has.

use std::path::Path;

/// Set this variable to write the header anew: `VP_WRITE_HEADER=1 cargo test -p vp-c --test header`.
const WRITE: &str = "VP_WRITE_HEADER";

#[test]
fn the_header_is_that_of_the_library() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut written = Vec::new();
    cbindgen::generate(folder).unwrap().write(&mut written);
    let written = String::from_utf8(written).unwrap();
    let path = folder.join("include/vp.h");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == written,
        "{} is not what the library has: set {WRITE}=1 to write it anew",
        path.display()
    );
}
