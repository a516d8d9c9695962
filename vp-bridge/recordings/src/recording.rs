//! A recording that is being made, in a file.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use vp_hub::{Hub, Recorded, Recorder};
use vp_models::platform::{Platform, SaveError};
use vp_observers::WholeFile;

use super::header::Header;
use super::writer::Writer;

/// Reason for which a run is not recorded, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The file cannot be written.
    #[error("cannot record in {path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// Message of the system.
        error: String,
    },
    /// The hub is not at a beginning.
    #[error("cannot record in {path}: {why}")]
    Begun {
        /// The file.
        path: String,
        /// Reason.
        why: String,
    },
    /// Another program writes to the file.
    #[error("cannot record in {path}: another vp does")]
    Held {
        /// The file.
        path: String,
    },
    /// The run has gone where no replay can follow.
    #[error("the recording in {path} ends before the run: {why}")]
    Early {
        /// The file.
        path: String,
        /// Reason.
        why: String,
    },
}

/// A recording that a hub makes. It ends with the hub.
#[must_use = "whether all was recorded is said in the end"]
pub struct Recording(Shared);

/// State that the recording and its hub share.
#[derive(Clone)]
struct Shared(Arc<Mutex<RecordingState>>);

struct RecordingState {
    path: PathBuf,
    /// `None`: it is over.
    writer: Option<Writer<File>>,
    failed: Option<RecordError>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recording").field(&self.0.state().path).finish()
    }
}

impl Recording {
    /// Records a new hub in a file. What was there before is lost. Of a platform that goes on from a saved one the recording begins with where
    /// it stands.
    ///
    /// # Errors
    /// The file cannot be written, or another recording is made there; or the platform is neither at power-on nor at rest.
    pub fn begin(
        path: &Path,
        hub: &mut Hub,
        program: &str,
        build: Option<String>,
    ) -> Result<Recording, RecordError> {
        let io = |error: io::Error| io_error(path, &error);
        let saved = saved(hub.platform()).map_err(|error| RecordError::Begun {
            path: path.display().to_string(),
            why: error.to_string(),
        })?;
        let header = Header::of(hub, program, build);
        let begin = || begin_file(path, &header, saved.as_deref());
        let begun = match begin() {
            // Another program's file has come there meanwhile.
            Err(BeginError::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => begin(),
            begun => begun,
        };
        let writer = begun.map_err(|error| match error {
            BeginError::Io(error) => io(error),
            BeginError::Held => RecordError::Held { path: path.display().to_string() },
        })?;
        let state = RecordingState { path: path.to_owned(), writer: Some(writer), failed: None };
        let shared = Shared(Arc::new(Mutex::new(state)));
        hub.record_to(shared.clone());
        Ok(Recording(shared))
    }

    /// Returns true if the recording is over, and whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let state = self.0.state();
        state.writer.is_none() && state.failed.is_none()
    }

    /// Returns what became of the recording, once its hub has gone or has [ended](Hub::end_recording) it.
    ///
    /// # Errors
    /// It is not whole. What the file has can be replayed.
    pub fn finish(self) -> Result<(), RecordError> {
        self.0.state().failed.clone().map_or(Ok(()), Err)
    }
}

/// Reason for which a file cannot be begun.
enum BeginError {
    Io(io::Error),
    /// Another program writes there.
    Held,
}

impl From<io::Error> for BeginError {
    fn from(error: io::Error) -> BeginError {
        BeginError::Io(error)
    }
}

/// Begins the file of a recording. It has its name, and what was there before is gone, when the beginning is in it: whatever ends the program, what has
/// the name can be replayed.
fn begin_file(path: &Path, header: &Header, saved: Option<&[u8]>) -> Result<Writer<File>, BeginError> {
    // Locked until it is replaced.
    let present = present(path)?;
    let file = WholeFile::create(path)?;
    lock(file.file())?;
    let mut writer = Writer::new(file, header)?;
    if let Some(saved) = saved {
        writer.begin_from(saved)?;
    }
    // A link that leads nowhere is replaced, as other results' are.
    let over = present.is_some() || path.is_symlink();
    Ok(writer.into_file(|file| file.put(over))?)
}

/// The plain file of that name that there is, locked.
fn present(path: &Path) -> Result<Option<File>, BeginError> {
    loop {
        // A pipe is not opened: its reader would then see its end.
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return Ok(None);
        }
        let file = match OpenOptions::new().write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        lock(&file)?;
        // Who held the lock may have replaced it.
        if path.metadata().is_ok_and(|there| is_same(&there, &file)) {
            return Ok(Some(file));
        }
    }
}

#[cfg(unix)]
fn is_same(there: &Metadata, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &File) -> bool {
    true
}

fn lock(file: &File) -> Result<(), BeginError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(BeginError::Held),
        // Not every file system has locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Returns the saved state of a platform that has run.
fn saved(platform: &Platform) -> Result<Option<Vec<u8>>, SaveError> {
    if platform.simulation().activations() == 0 {
        return Ok(None);
    }
    let mut saved = Vec::new();
    platform.save(&mut saved).map(|()| Some(saved))
}

fn io_error(path: &Path, error: &io::Error) -> RecordError {
    RecordError::Io { path: path.display().to_string(), error: error.to_string() }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, RecordingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordingState {
    fn attempt(&mut self, write: impl FnOnce(&mut Writer<File>) -> io::Result<()>) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = write(writer) {
            // A part of a block may be there. If it cannot be cut off, a reader does.
            _ = writer.file().set_len(writer.written());
            self.failed = Some(io_error(&self.path, &error));
            self.writer = None;
        }
    }
}

impl Recorder for Shared {
    fn record(&mut self, entry: Recorded) {
        self.state().attempt(|writer| writer.add(entry));
    }

    fn commit(&mut self) -> Result<(), String> {
        let mut state = self.state();
        state.attempt(Writer::flush);
        state.failed.as_ref().map_or(Ok(()), |failed| Err(failed.to_string()))
    }

    fn end(&mut self, why: Option<&str>) {
        let mut state = self.state();
        state.attempt(|writer| writer.end(why));
        state.writer = None;
        if let (Some(why), None) = (why, &state.failed) {
            let (path, why) = (state.path.display().to_string(), why.to_owned());
            state.failed = Some(RecordError::Early { path, why });
        }
    }
}
