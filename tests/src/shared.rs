//! Finds the conformance data: traces, goldens and measurements that are not ours to publish.
//!
//! They lie in a folder `shared` beside the repository or in any folder above, or where the environment
//! variable `VP_SHARED` says (empty: there are none). Tests that need them do so by [`folder`], which says aloud what is skipped.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// The conformance data, if there is any.
pub fn root() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("VP_SHARED") {
        if named.is_empty() {
            return None;
        }
        let named = PathBuf::from(named);
        assert!(named.join("nvdla").is_dir(), "VP_SHARED = {}: no folder `nvdla` in it", named.display());
        return Some(named);
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|above| above.join("shared")).find(|folder| folder.join("nvdla").is_dir())
}

/// The folder of that path in the conformance data. Without it, says that `what` is skipped.
pub fn folder(what: &str, path: &str) -> Option<PathBuf> {
    found_or(root(), path, || say(&format!("skipped: {what}: no conformance data")))
}

/// The folder below `root`; what is not there is counted and said.
fn found_or(root: Option<PathBuf>, path: &str, say: impl FnOnce()) -> Option<PathBuf> {
    let found = root.map(|root| root.join(path)).filter(|folder| folder.is_dir());
    if found.is_none() {
        SKIPPED.fetch_add(1, Ordering::Relaxed);
        say();
    }
    found
}

/// Number of times that [`folder`] found nothing in this process.
pub fn skipped() -> usize {
    SKIPPED.load(Ordering::Relaxed)
}

/// The file `INDEX.json` of a folder of the conformance data.
pub fn index(folder: &Path) -> Value {
    let file = folder.join("INDEX.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// One line of a test's findings, past the test harness, which keeps what passing tests print.
pub fn say(line: &str) {
    // Nothing is left to be done if standard error is closed.
    _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_said_and_counted() {
        let (before, mut said) = (skipped(), 0);
        assert_eq!(found_or(None, "nvdla", || said += 1), None);
        assert_eq!((said, skipped()), (1, before + 1));
    }
}
