//! Finds traces: a script, a test's folder, or a folder of such folders.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{TraceError, TraceErrorKind};
use super::{log, sc_log};
use vp_models::nvdla::config::Config;

/// End of the names of the vendor's loadables.
const FBUF: &str = "_fbuf";

/// The script languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// `.cfg`, all configurations of the vendor's master branch.
    Cfg,
    /// `.txn`, of the vendor's first branch, of layers of its C-model, and of logs of its virtual platform.
    Txn,
    /// `.trace`, what a driver did.
    Recording,
    /// A log of register accesses, whatever its name.
    Log,
    /// A log of the vendor's virtual platform, whatever its name.
    ScLog,
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
            Language::ScLog => "log of the vendor's virtual platform",
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
    /// `nv_`. Of a `.txn` and a recording in no folder of a configuration, by the script's name; of a log, by its contents.
    pub configuration: Option<String>,
    /// The script; the files it uses lie beside it.
    pub script: PathBuf,
    /// Language of the script.
    pub language: Language,
}

impl TraceSource {
    /// Returns the source that a script's path tells, or of a log its contents; none if it is of no language.
    #[must_use]
    pub fn of(script: &Path) -> Option<Self> {
        let own = script.file_name()?.to_str()?;
        let language = match script.extension().and_then(|extension| extension.to_str()) {
            Some("cfg") => Language::Cfg,
            Some("txn") => Language::Txn,
            Some("trace") => Language::Recording,
            Some("nvdla") => Language::Loadable,
            _ if own.ends_with(FBUF) => Language::Loadable,
            _ if log::is_log(script) => Language::Log,
            _ if sc_log::is_log(script) => Language::ScLog,
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
        let folder = |is_meant: fn(&str) -> bool| {
            absolute.ancestors().skip(1).filter_map(name_of).find(|name| is_meant(name))
        };
        let configuration = match language {
            Language::Log => log::configuration(script),
            Language::Cfg | Language::Loadable => folder(|name| name.starts_with("nv_")),
            Language::Txn | Language::Recording => {
                folder(is_configuration).or_else(|| Some(configuration_of_name(&name, language).to_owned()))
            }
            Language::ScLog => folder(is_configuration).or_else(|| sc_log::configuration(script)),
        };
        Some(Self { name, configuration, script: script.to_owned(), language })
    }
}

fn is_configuration(name: &str) -> bool {
    Config::NAMES.contains(&name)
}

/// The configuration that a script's own name tells; names that tell none are of nv_full, for which the vendor's first scripts were.
pub fn configuration_of_name(name: &str, language: Language) -> &'static str {
    configuration_in_name(name, language).unwrap_or("nv_full")
}

/// The configuration that is in a script's own name: the one with which it begins; or of a `.txn` `small_` or `large_` at its beginning, of
/// a recording or a loadable `_small` or `_large` at its end, where what follows a `-` names an input and does not count. A loadable's may
/// also be that with which it ends.
pub fn configuration_in_name(name: &str, language: Language) -> Option<&'static str> {
    let begins = |configuration: &&str| {
        let rest = name.strip_prefix(configuration);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '-', '.']))
    };
    // nv_small_256 begins with nv_small, too.
    if let Some(named) = Config::NAMES.into_iter().filter(begins).max_by_key(|name| name.len()) {
        return Some(named);
    }
    let ends = |configuration: &&str| {
        let rest = name.strip_suffix(configuration);
        rest.is_some_and(|rest| rest.ends_with(['_', '-', '.']))
    };
    if language == Language::Loadable
        && let Some(named) = Config::NAMES.into_iter().find(ends)
    {
        return Some(named);
    }
    let of = name.split_once('-').map_or(name, |(of, _)| of);
    let size = match language {
        Language::Recording | Language::Loadable => of.rsplit_once('_').map(|(_, size)| size),
        _ => of.split_once('_').map(|(size, _)| size),
    };
    match size {
        Some("small") => Some("nv_small"),
        Some("large") => Some("nv_large"),
        _ => None,
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

    /// The configuration of a script at this path.
    fn configuration(path: &str) -> String {
        TraceSource::of(Path::new(path)).unwrap().configuration.unwrap()
    }

    #[test]
    fn the_name_of_a_script_tells_the_configuration_where_no_folder_does() {
        for (path, expected) in [
            ("/x/CONV_D_L0_0_small.trace", "nv_small"),
            ("/x/LENET_I8_small-inv_seven.trace", "nv_small"),
            ("/x/PDP_L0_0_large.trace", "nv_large"),
            ("/x/LENET_F16-inv_small.trace", "nv_full"),
            ("/x/BDMA_L0_0.trace", "nv_full"),
            ("/x/small_relu.txn", "nv_small"),
            ("/x/large_relu.txn", "nv_large"),
            // Of a `.txn` it says how large a layer is.
            ("/x/relu_small.txn", "nv_full"),
            ("/x/nv_small_256_relu.txn", "nv_small_256"),
            ("/x/smaller.txn", "nv_full"),
            ("/x/small_relu/input.txn", "nv_small"),
        ] {
            assert_eq!(configuration(path), expected, "{path}");
        }
    }

    #[test]
    fn a_folder_of_a_configuration_goes_before_the_name() {
        for (path, expected) in [
            ("/nv_small/relu.txn", "nv_small"),
            ("/nv_medium_512/a/b/small_relu.txn", "nv_medium_512"),
            ("/nv_full/relu_small.trace", "nv_full"),
            ("/nv_small/nv_mine/relu.trace", "nv_small"),
        ] {
            assert_eq!(configuration(path), expected, "{path}");
        }
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
