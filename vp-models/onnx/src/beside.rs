//! External data: files in a model's own folder.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

/// Returns bytes of a file in the folder.
pub(crate) fn read(folder: &Path, location: &str, offset: u64, length: u64) -> Result<Vec<u8>, String> {
    let path = Path::new(location);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside || location.is_empty() {
        return Err("not a place within the model's folder".into());
    }
    let folder = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    // A link may lead out of the folder.
    let path = fs::canonicalize(folder.join(path)).map_err(|error| error.to_string())?;
    if !path.starts_with(&folder) {
        return Err("not a place within the model's folder".into());
    }
    let mut file = fs::File::open(&path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a file".into());
    }
    if offset.checked_add(length).is_none_or(|end| end > metadata.len()) {
        return Err(format!("its {} bytes end before {length} bytes at {offset}", metadata.len()));
    }
    file.seek(SeekFrom::Start(offset)).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}
