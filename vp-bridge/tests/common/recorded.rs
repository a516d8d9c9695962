//! Recordings of all platforms of a server, which run again to the same event hash.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use vp_core::Time;
use vp_hub::Hub;
use vp_recordings::{Player, Recording, RecordingEnd, ReplayStep};
use vp_server::{ObservePlatforms, PlatformObserver};

/// Records each platform of a server in a folder.
#[derive(Debug)]
pub struct Recorded {
    folder: TempDir,
    count: AtomicUsize,
}

impl Recorded {
    pub fn new() -> Recorded {
        Recorded { folder: tempfile::tempdir().unwrap(), count: AtomicUsize::new(0) }
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("{number}.vprec"))
    }

    /// Runs all platforms again, which have ended; or, if the server was killed, as far as they had come.
    pub fn check(&self, is_killed: bool) {
        for number in 0..self.count.load(Ordering::SeqCst) {
            let end = replayed(&self.path(number));
            assert!(
                end == RecordingEnd::Whole || (is_killed && matches!(end, RecordingEnd::CutOff { .. })),
                "{end:?}"
            );
        }
    }
}

impl ObservePlatforms for Recorded {
    fn begin(&self, _: &str, hub: &mut Hub) -> Result<Box<dyn PlatformObserver>, String> {
        let path = self.path(self.count.fetch_add(1, Ordering::SeqCst));
        let recording = Recording::begin(&path, hub, "a test", None).map_err(|error| error.to_string())?;
        Ok(Box::new(ThisOne(recording)))
    }
}

struct ThisOne(#[allow(dead_code, reason = "it ends with the hub")] Recording);

impl PlatformObserver for ThisOne {
    fn finish(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

/// Runs a recording again; how it ends.
pub fn replayed(path: &Path) -> RecordingEnd {
    let mut player = Player::new(BufReader::new(File::open(path).unwrap())).unwrap();
    loop {
        match player.step(Time::MAX, &mut |_| {}) {
            Ok(ReplayStep::Ended(end)) => {
                assert!(player.is_hash_checked() || end != RecordingEnd::Whole);
                return end;
            }
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
