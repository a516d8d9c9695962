//! `-` in place of a file: standard input, or standard output.

use super::Failure;
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::collections::HashMap;
use std::io::{self, Error, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use vp_models::bounded_file::read_at_most;

/// Returns true if a name stands for standard input or output.
pub(super) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The bytes of a file or of standard input; `option` is who reads it. Standard input can be read again, but by the same option only.
pub(super) fn read(option: &'static str, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    static INPUT: OnceLock<(&str, Vec<u8>)> = OnceLock::new();
    if !is_standard(path) {
        return read_at_most(path, most);
    }
    if INPUT.get().is_none() {
        let mut bytes = Vec::new();
        io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
        }
        let _ = INPUT.set((option, bytes));
    }
    match INPUT.get() {
        Some((reader, bytes)) if *reader == option => Ok(bytes.clone()),
        _ => Err(Error::other("standard input is read for another option: name a file")),
    }
}

/// The text of a file or of standard input, as [`read`].
pub(super) fn read_text(option: &'static str, path: &Path, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read(option, path, most)?);
    text.map_err(|_| Error::new(ErrorKind::InvalidData, "it is no text"))
}

/// Writes a whole file, or to standard output.
pub(super) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    if is_standard(path) {
        return Ok(io::stdout().lock().write_all(bytes.as_ref())?);
    }
    vp_observers::write_whole(path, bytes)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// Checks that each of these files, by who names it, has a name of its own: of two of one name only one would be there in the end.
pub(super) fn check_apart<'a>(files: impl IntoIterator<Item = (&'a str, &'a Path)>) -> Result<(), Failure> {
    let mut known = HashMap::new();
    for (option, path) in files {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if let Some(other) = known.insert(whole, option) {
            let path = path.display();
            return Err(Failure::new(format!(
                "{other} and {option} both name {path}: each needs a file of its own"
            )));
        }
    }
    Ok(())
}

/// Returns true if one of these files, which an option names, is standard output: then no text goes there.
///
/// # Errors
/// When JSON is asked for as well.
pub(super) fn takes_output<'a>(
    files: impl IntoIterator<Item = &'a Path>,
    json: bool,
) -> Result<bool, Failure> {
    match files.into_iter().any(is_standard) {
        true if json => Err(Failure::new("--json: another option has standard output: name a file there")),
        is_taken => Ok(is_taken),
    }
}

/// Reads the name of a file that cannot be `-`.
pub(super) fn named() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match is_standard(&path) {
        true => Err("standard input and output are not possible here: name a file"),
        false => Ok(path),
    })
}
