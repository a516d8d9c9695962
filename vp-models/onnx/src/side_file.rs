//! Files beside a model or named by an option, in place of which a name that is built in may stand.

use std::path::Path;
use vp_models::bounded_file::read_description;
use vp_models::suggestion::hint;
use vp_models::toml_text::TextError;

/// Reads a file.
pub(crate) fn read<T>(file: &Path, parse: impl FnOnce(&str) -> Result<T, TextError>) -> Result<T, TextError> {
    let text = read_description(file).map_err(|error| TextError::unreadable(file, error))?;
    parse(&text).map_err(|error| error.in_file(file))
}

/// Reads a file that may lie beside a model. A link that leads nowhere lies there, too.
pub(crate) fn read_beside<T>(
    file: &Path,
    parse: impl FnOnce(&str) -> Result<T, TextError>,
) -> Result<Option<T>, TextError> {
    file.symlink_metadata().is_ok().then(|| read(file, parse)).transpose()
}

/// Reads a file whose name is none of those that are built in.
pub(crate) fn read_unnamed<T>(
    file: &Path,
    names: &[&str],
    parse: impl FnOnce(&str) -> Result<T, TextError>,
) -> Result<T, TextError> {
    read(file, parse).map_err(|error| match file.exists() {
        true => error,
        false => {
            let near = hint(&file.to_string_lossy(), names.iter().copied());
            TextError {
                what: format!("{}, and it is none of {}{near}", error.what, names.join(", ")),
                ..error
            }
        }
    })
}
