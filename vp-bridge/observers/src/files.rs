//! Which files are to be written about a run.

use std::path::{Path, PathBuf};

use vp_models::hub::Hub;
use vp_models::platform::{Description, Platform};

use crate::registers::RegisterLog;
use crate::{ObserveError, Observers, WholeFile};

/// The files that are to be written about the run of a platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// The log of register accesses: text for people if it ends in `.txt` or `.log`, else JSON, which can be played again.
    pub registers: Option<PathBuf>,
}

impl Files {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths().next().is_none()
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.registers.iter().map(PathBuf::as_path)
    }

    /// Those of a command's platform of that number, from 0: the first has the names as they are, the second `run-2.fst` in place
    /// of `run.fst`.
    #[must_use]
    pub fn of_platform(&self, number: usize) -> Files {
        Files { registers: self.registers.as_deref().map(|path| numbered(path, number)) }
    }

    /// Whether they can be written about such a platform: before anything runs.
    ///
    /// # Errors
    /// As of [`attach`](Files::attach).
    pub fn check(&self, description: &Description) -> Result<(), ObserveError> {
        if self.is_empty() {
            return Ok(());
        }
        self.check_names(&Platform::build(description)?)?;
        for path in self.paths() {
            WholeFile::create(path).map_err(|error| ObserveError::write(path, error))?;
        }
        Ok(())
    }

    /// Whether all that is named is there.
    fn check_names(&self, platform: &Platform) -> Result<(), ObserveError> {
        let _ = platform;
        Ok(())
    }

    /// Begins the files, and puts the observers that write them beside a hub's platform.
    ///
    /// # Errors
    /// [`ObserveError`]: a file cannot be begun, or something that is named is not there.
    pub fn attach(&self, hub: &mut Hub) -> Result<Observers, ObserveError> {
        self.check_names(hub.platform())?;
        let mut observers = Observers::new(hub.platform().sim());
        if let Some(path) = &self.registers {
            observers.attach(RegisterLog::begin(path, hub)?);
        }
        Ok(observers)
    }
}

/// The name of a further file: `run-2.fst` of `run.fst`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}", number + 1));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_platforms_have_files_with_their_number() {
        let named = |path, number| numbered(Path::new(path), number).display().to_string();
        assert_eq!(named("out/run.fst", 0), "out/run.fst");
        assert_eq!(named("out/run.fst", 1), "out/run-2.fst");
        assert_eq!(named("log", 9), "log-10");
    }
}
