//! Place at which tests find the vendor's conformance data, which is not part of the repository.
//!
//! It lies in a folder `shared` in one of this crate's ancestors, or where `VP_SHARED` says (empty: there is
//! none). What is skipped without it is said past the test harness, which keeps what passing tests print.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The file or folder `nvdla/{path}` of the data; without it, says that `what` is skipped.
pub(crate) fn find(what: &str, path: &str) -> Option<PathBuf> {
    let found = match std::env::var_os("VP_SHARED") {
        Some(named) if named.is_empty() => None,
        Some(named) => Some(PathBuf::from(named).join("nvdla").join(path)),
        None => Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .map(|folder| folder.join("shared/nvdla").join(path))
            .find(|found| found.exists()),
    };
    let found = found.filter(|found| found.exists());
    if found.is_none() {
        // Nothing is left to be done if standard error is closed.
        _ = writeln!(std::io::stderr(), "skipped: {what}: no conformance data");
    }
    found
}
