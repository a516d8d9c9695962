//! Finds traces: a script, a test's folder, or a folder of such folders.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{TraceError, TraceErrorKind};
use super::{log, recording, txn};

/// How the names of the vendor's loadables end.
const FBUF: &str = "_fbuf";

/// The script languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// `.cfg`, all configurations of the vendor's master branch.
    Cfg,
    /// `.txn`, of the vendor's first branch, nv_full, and of layers of its C-model.
    Txn,
    /// `.trace`, what a driver did.
    Recording,
    /// `.jsonl`, a log of register accesses.
    Log,
    /// `.nvdla` or `_fbuf`, what the vendor's compiler made.
    Loadable,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::Cfg => "cfg",
            Language::Txn => "txn",
            Language::Recording => "trace",
            Language::Log => "register log",
            Language::Loadable => "loadable",
        })
    }
}

/// A trace that has been found and not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSource {
    /// The test's name: the stem of its script, or the folder of an `input.txn`.
    pub name: String,
    /// A guess at the hardware configuration it was written for: the nearest folder above whose name begins with
    /// `nv_`; a recording's name tells it, and a `.txn` in no such folder.
    pub configuration: Option<String>,
    /// The script; the files it uses lie beside it.
    pub script: PathBuf,
    /// Its language.
    pub language: Language,
}

impl TraceSource {
    /// What a script's path tells about it; none if its extension is that of no language.
    #[must_use]
    pub fn of(script: &Path) -> Option<Self> {
        let own = script.file_name()?.to_str()?;
        let language = match script.extension().and_then(|extension| extension.to_str()) {
            Some("cfg") => Language::Cfg,
            Some("txn") => Language::Txn,
            Some("trace") => Language::Recording,
            Some("nvdla") => Language::Loadable,
            // Much else ends so.
            Some("jsonl") if log::is_log(script) => Language::Log,
            _ if own.ends_with(FBUF) => Language::Loadable,
            _ => return None,
        };
        // Folders above a relative path count as well.
        let absolute = std::path::absolute(script).unwrap_or_else(|_| script.to_owned());
        let name_of = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let stem = script.file_stem()?.to_string_lossy().into_owned();
        let name = match stem.as_str() {
            "input" => absolute.parent().and_then(name_of).unwrap_or(stem),
            _ => stem.strip_suffix(FBUF).map(str::to_owned).unwrap_or(stem),
        };
        let configuration = match language {
            Language::Recording => Some(recording::configuration(&name).to_owned()),
            Language::Log => log::configuration(script),
            Language::Cfg | Language::Txn | Language::Loadable => {
                let folders = absolute.ancestors().skip(1).filter_map(name_of);
                let named = folders.into_iter().find(|name| name.starts_with("nv_"));
                let of_name = (language == Language::Txn).then(|| txn::configuration(&name).to_owned());
                named.or(of_name)
            }
        };
        Some(Self { name, configuration, script: script.to_owned(), language })
    }
}

/// The traces at a path, sorted by configuration, then name.
///
/// # Errors
/// A path that cannot be read, or where there is no trace at all.
pub fn discover(path: &Path) -> Result<Vec<TraceSource>, TraceError> {
    let mut found = Vec::new();
    if path.is_dir() {
        search(path, &mut HashSet::new(), &mut found)?;
    } else if let Err(error) = path.metadata() {
        return Err(TraceError::whole(path, TraceErrorKind::Unreadable(error.to_string())));
    } else {
        found.extend(TraceSource::of(path));
    }
    if found.is_empty() {
        return Err(TraceError::whole(path, TraceErrorKind::NoTrace));
    }
    found.sort_by(|a, b| (&a.configuration, &a.name, &a.script).cmp(&(&b.configuration, &b.name, &b.script)));
    Ok(found)
}

/// Looks into every folder once, however links lead to it.
fn search(
    folder: &Path,
    seen: &mut HashSet<PathBuf>,
    found: &mut Vec<TraceSource>,
) -> Result<(), TraceError> {
    let unreadable =
        |error: std::io::Error| TraceError::whole(folder, TraceErrorKind::Unreadable(error.to_string()));
    if !seen.insert(folder.canonicalize().map_err(unreadable)?) {
        return Ok(());
    }
    for entry in folder.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            search(&path, seen, found)?;
        } else {
            found.extend(TraceSource::of(&path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_of_configurations_gives_every_script_in_order() {
        let root = tempfile::tempdir().unwrap();
        for script in ["nv_small/b/b.cfg", "nv_small/a/a.cfg", "nv_full/z/input.txn", "nv_full/z/golden.dat"]
        {
            let path = root.path().join(script);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = discover(root.path()).unwrap();
        let names: Vec<_> =
            found.iter().map(|s| (s.configuration.as_deref().unwrap(), s.name.as_str())).collect();
        assert_eq!(names, [("nv_full", "z"), ("nv_small", "a"), ("nv_small", "b")]);
        assert_eq!(found[0].language, Language::Txn);
        assert_eq!(discover(&root.path().join("nv_small/a")).unwrap(), found[1..2]);
        assert_eq!(discover(&root.path().join("nv_small/a/a.cfg")).unwrap(), found[1..2]);
    }

    #[test]
    fn a_path_without_a_trace_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let error = discover(root.path()).unwrap_err();
        assert_eq!(error.kind, TraceErrorKind::NoTrace);
        let error = discover(&root.path().join("missing")).unwrap_err();
        assert!(matches!(error.kind, TraceErrorKind::Unreadable(_)), "{error}");
    }
}
