//! The option about recording what enters a platform, and what came of it.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use vp_hub::Hub;
use vp_observers::{WholeFile, numbered};
use vp_recordings::{RecordError, Recording};

use super::Failure;

/// The option that has a platform's inputs recorded.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct RecordArgs {
    /// Record everything that enters the platform, for `vp replay`, such as in run.vprec; further platforms in run-2.vprec, …
    #[arg(long, value_name = "FILE", value_parser = super::standard::named())]
    record: Option<PathBuf>,

    #[arg(skip)]
    made: Arc<Made>,
}

/// The recordings of a command's platforms.
#[derive(Debug, Default)]
struct Made {
    /// Number of recordings that have begun.
    count: AtomicUsize,
    /// Recordings that are not over, or not whole.
    recordings: Mutex<Vec<Recording>>,
}

impl RecordArgs {
    /// Returns true if the option is given.
    pub(super) fn is_given(&self) -> bool {
        self.record.is_some()
    }

    /// The file that is given.
    pub(super) fn path(&self) -> Option<&Path> {
        self.record.as_deref()
    }

    /// Checks whether there can be such a file: before anything runs.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let Some(path) = &self.record else { return Ok(()) };
        let wrong = |error| Failure::new(format!("cannot record in {}: {error}", path.display()));
        WholeFile::check(path).map_err(wrong)
    }

    /// Records a hub that nobody has used, if that is wanted.
    pub(super) fn begin(&self, hub: &mut Hub) -> Result<(), RecordError> {
        let Some(path) = &self.record else { return Ok(()) };
        let path = numbered(path, self.made.count.fetch_add(1, Ordering::Relaxed));
        let recording = Recording::begin(&path, hub, &program(), build())?;
        let mut recordings = self.made.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.retain(|recording| !recording.is_whole());
        recordings.push(recording);
        Ok(())
    }

    /// Returns the reasons for which recordings are not whole, once their platforms have ended.
    pub(super) fn failures(&self) -> Vec<RecordError> {
        let mut recordings = self.made.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.drain(..).filter_map(|recording| recording.finish().err()).collect()
    }
}

/// Name and version of this program, as a recording has them.
pub(super) fn program() -> String {
    format!("vp {}", env!("CARGO_PKG_VERSION"))
}

/// Build of this program: a hash of parts of its file, which is long.
pub(super) fn build() -> Option<String> {
    static BUILD: OnceLock<Option<String>> = OnceLock::new();
    BUILD.get_or_init(|| hash_of_program().ok()).clone()
}

fn hash_of_program() -> io::Result<String> {
    /// Bytes of each part that are looked at.
    const SAMPLE: usize = 1 << 12;
    const PART: u64 = 1 << 18;
    let mut file = File::open(std::env::current_exe()?)?;
    let length = file.metadata()?.len();
    let mut hasher = DefaultHasher::new();
    length.hash(&mut hasher);
    let mut sample = vec![0; SAMPLE];
    for at in (0..length.saturating_sub(SAMPLE as u64)).step_by(PART as usize) {
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut sample)?;
        sample.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}
