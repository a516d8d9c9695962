//! Programs of a distribution that some tests need, and what is said where they are missing.

#![allow(dead_code, reason = "every test file uses its own part")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The first of these commands that is there.
pub(crate) fn command(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Where Debian puts daemons, which is not in everyone's path.
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let places = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Says on standard error what is skipped, past the test harness, which keeps what passing tests print.
pub(crate) fn skipped(test: &str, why: &str) {
    // In one piece: other tests say things at the same time.
    _ = std::io::stderr().write_all(format!("\nskipped: {test}: {why}\n").as_bytes());
}

/// Returns true if RTL can be built with Verilator; says so if not.
pub(crate) fn can_verilate(test: &str) -> bool {
    let missing = ["verilator", "g++"].into_iter().find(|tool| command(&[tool]).is_none());
    if let Some(tool) = missing {
        skipped(test, &format!("no Verilator: no {tool} (Debian: apt-get install verilator g++)"));
    }
    missing.is_none()
}

/// A folder that `build` fills, once for all tests of this program that name it.
pub(crate) fn built_once(name: &str, build: impl FnOnce(&Path)) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let built =
        BUILT.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone();
    // Others that want the same wait; one that wants something else does not.
    let folder = built.get_or_init(|| {
        let name = name.replace([' ', '=', '/'], "_");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        build(&folder);
        folder
    });
    folder.clone()
}
