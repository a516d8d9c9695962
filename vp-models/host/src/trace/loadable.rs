//! Loadables as something to be played: read from a file, with what must come out beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::{TraceError, TraceErrorKind};
use super::recording::{self, Golden};
use super::{Body, Language, MAX_SURFACE_BYTES, Trace, TraceSource, is_there, read_bytes};
use crate::loadable::Loadable;

pub(super) fn load(name: &str, file: &Path) -> Result<Trace, TraceError> {
    let bytes = read_bytes(file, "loadable", MAX_SURFACE_BYTES)?;
    let loadable = Loadable::parse(&bytes)
        .map_err(|error| TraceError::whole(file, TraceErrorKind::BadLoadable(error)))?;
    let goldens = goldens(name, file)?;
    let body = Body::Loadable { loadable: Box::new(loadable), inputs: Vec::new(), goldens };
    Ok(Trace { name: name.to_owned(), script: file.to_owned(), body, surfaces: BTreeMap::new() })
}

/// Folders above a loadable in which there may be one with goldens.
const MOST_FOLDERS: usize = 6;

/// Goldens of the outputs, by their numbers: `NAME.dimg` beside the loadable; what the vendor's runtime writes (`o_000000.dimg`) beside
/// it, if no other loadable is there; or in a folder above, as the vendor's regression has them, `golden/NAME_HASH/dla/o_000000.dimg`.
fn goldens(name: &str, file: &Path) -> Result<BTreeMap<usize, Golden>, TraceError> {
    let beside = file.with_file_name(format!("{name}.dimg"));
    if is_there(&beside)? {
        return Ok([(0, recording::image(&beside)?)].into());
    }
    let Ok(absolute) = std::path::absolute(file) else { return Ok(BTreeMap::new()) };
    let Some(own) = absolute.parent() else { return Ok(BTreeMap::new()) };
    let is_loadable =
        |path: &PathBuf| TraceSource::of(path).is_some_and(|source| source.language == Language::Loadable);
    let beside = numbered(own);
    let folder = match beside.is_empty() || entries(own).iter().filter(|path| is_loadable(path)).count() > 1 {
        false => beside,
        true => match above(name, own, file)? {
            Some(folder) => numbered(&folder),
            None => BTreeMap::new(),
        },
    };
    folder.into_iter().map(|(number, image)| Ok((number, recording::image(&image)?))).collect()
}

/// Paths in a folder, in the order of names; none where it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = folder.read_dir().into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The files `o_000000.dimg`, `o_000001.dimg`, … of a folder, by their numbers.
fn numbered(folder: &Path) -> BTreeMap<usize, PathBuf> {
    let number = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("o_")?.strip_suffix(".dimg")?.parse().ok()
    };
    entries(folder).into_iter().filter_map(|path| Some((number(&path)?, path))).collect()
}

/// The folder of a loadable's goldens in a `golden` above it.
fn above(name: &str, own: &Path, file: &Path) -> Result<Option<PathBuf>, TraceError> {
    let is_of = |path: &PathBuf| {
        let hash = path.file_name().and_then(|folder| folder.to_str()?.strip_prefix(name)?.strip_prefix('_'));
        hash.is_some_and(|hash| hash.len() >= 6 && hash.chars().all(|digit| digit.is_ascii_hexdigit()))
    };
    for folder in own.ancestors().take(MOST_FOLDERS) {
        let found = entries(&folder.join("golden")).into_iter().filter(is_of);
        let inner =
            found.map(|found| [found.join("dla"), found].into_iter().find(|it| !numbered(it).is_empty()));
        let mut found = inner.flatten();
        match (found.next(), found.next()) {
            (Some(first), Some(second)) => {
                return Err(TraceError::whole(file, TraceErrorKind::SeveralGoldens { first, second }));
            }
            (Some(first), None) => return Ok(Some(first)),
            (None, _) => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loadable::tests::Pooling;
    use std::fs;

    /// A file of the vendor's runtime: 2 x 2 x 32 of int8, all the same.
    fn dimg() -> Vec<u8> {
        let words = [0, 40, 2, 2, 32, 64, 128, 128u32];
        b"DIMG"
            .iter()
            .copied()
            .chain(words.iter().flat_map(|word| word.to_le_bytes()))
            .chain([7; 128])
            .collect()
    }

    /// A folder with these files, and what the loadable's goldens there are.
    fn goldens(files: &[&str], loadable: &str) -> Result<Vec<(usize, PathBuf)>, TraceErrorKind> {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let is_golden = file.ends_with(".dimg");
            fs::write(path, if is_golden { dimg() } else { Pooling::USUAL.bytes(&[0; 512]) }).unwrap();
        }
        let trace = Trace::load(&root.path().join(loadable)).map_err(|error| error.kind)?;
        let Body::Loadable { goldens, .. } = trace.body() else { panic!("a loadable") };
        let within = |file: &Path| file.strip_prefix(root.path()).unwrap().to_owned();
        Ok(goldens.iter().map(|(number, golden)| (*number, within(golden.file()))).collect())
    }

    #[test]
    fn the_folders_of_the_vendors_regression_have_a_golden_by_its_name_and_a_hash() {
        let loadable = "flatbufs/kmd/PDP/PDP_L0_0_fbuf";
        let files = [
            loadable,
            "golden/PDP_L0_0_e21636/dla/o_000000.dimg",
            "golden/PDP_L0_0_e21636/dla/o_000001.dimg",
            "golden/PDP_L0_0_small_fbdf76/dla/o_000000.dimg",
            "golden/PDP_L0_0_1/dla/o_000000.dimg",
        ];
        let own =
            |number| (number, PathBuf::from(format!("golden/PDP_L0_0_e21636/dla/o_00000{number}.dimg")));
        assert_eq!(goldens(&files, loadable).unwrap(), [own(0), own(1)]);
    }

    #[test]
    fn two_goldens_of_one_name_are_refused() {
        let files = ["a_fbuf", "golden/a_123456/dla/o_000000.dimg", "golden/a_abcdef/o_000000.dimg"];
        let error = goldens(&files, "a_fbuf").unwrap_err();
        assert!(matches!(error, TraceErrorKind::SeveralGoldens { .. }), "{error}");
        // One that has its name is meant.
        let files = [&files[..], &["a.dimg"]].concat();
        assert_eq!(goldens(&files, "a_fbuf").unwrap(), [(0, PathBuf::from("a.dimg"))]);
    }

    #[test]
    fn a_golden_that_is_no_file_is_named() {
        let root = tempfile::tempdir().unwrap();
        let (loadable, golden) = (root.path().join("a_fbuf"), root.path().join("a.dimg"));
        fs::write(&loadable, Pooling::USUAL.bytes(&[0; 512])).unwrap();
        fs::create_dir(&golden).unwrap();
        let why = Trace::load(&loadable).unwrap_err().to_string();
        assert!(why.contains("a.dimg: ") && why.ends_with("it is no regular file"), "{why}");
        #[cfg(unix)]
        {
            fs::remove_dir(&golden).unwrap();
            std::os::unix::fs::symlink("nowhere", &golden).unwrap();
            let why = Trace::load(&loadable).unwrap_err().to_string();
            assert!(why.contains("a.dimg: ") && why.contains("it is a link to what is not there"), "{why}");
            // The runtime's own name, a device without end.
            fs::remove_file(&golden).unwrap();
            std::os::unix::fs::symlink("/dev/zero", root.path().join("o_000000.dimg")).unwrap();
            let why = Trace::load(&loadable).unwrap_err().to_string();
            assert!(why.ends_with("it is no regular file"), "{why}");
        }
    }

    #[test]
    fn what_a_runtime_left_beside_several_loadables_is_of_none() {
        assert_eq!(goldens(&["a_fbuf", "o_000000.dimg"], "a_fbuf").unwrap().len(), 1);
        assert_eq!(goldens(&["a_fbuf", "b.nvdla", "o_000000.dimg"], "a_fbuf").unwrap(), []);
        assert_eq!(goldens(&["a_fbuf", "b.nvdla", "b.dimg"], "b.nvdla").unwrap().len(), 1);
    }
}
