//! Reasons for which a file about a run cannot be written.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use vp_core::Time;
use vp_models::platform::DescriptionError;

/// Reason for which a file about a run cannot be written, or has not been.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// The disk is full, the folder is not there, or may not be written to.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// An option names something that does not exist.
    #[error("{option} {given}: {why}")]
    Option {
        /// Name of the option, such as `--trace-start`.
        option: &'static str,
        /// Value that was given to the option.
        given: String,
        /// Fault of that value, and what would be right.
        why: String,
    },
    /// A run has ended before the file could begin.
    #[error("{option} {given} has not come by the end, at {end}: {} is not written", path.display())]
    NeverCame {
        /// Name of the option, such as `--trace-start`.
        option: &'static str,
        /// The trigger, as it was given.
        given: String,
        /// Time at which the run ended.
        end: Time,
        /// The file that there is not.
        path: PathBuf,
    },
    /// The platform to look at cannot be built.
    #[error(transparent)]
    Platform(#[from] DescriptionError),
}

impl ObserveError {
    /// A file's.
    #[must_use]
    pub fn write(path: &Path, source: io::Error) -> ObserveError {
        ObserveError::Write { path: path.to_owned(), source }
    }
}
