//! Store of finished points: a line of JSON each, written whole or not at all.
//!
//! A line is on the disk before its point counts as done, so whatever kills a study, the points that were done are done. A last line that
//! was cut off is no line. Each line ends with a checksum, so what the disk has changed is not believed. The file is locked while a study runs: two programs cannot do the same points.

use super::inputs::Inputs;
use super::measured::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// A finished point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Key of what was run: everything that its numbers depend on, as a hash.
    pub key: String,
    /// Program that ran it: the hash of its file.
    pub program: String,
    /// Description of the point, as a person says it.
    pub point: String,
    /// Outcome of the point.
    pub outcome: Outcome,
    /// Time at which it ran, in milliseconds since 1970: it tells which of two failures is the newer.
    #[serde(default)]
    pub at: u64,
    /// Inputs that it was run with; not known of what could not be planned, and of what older programs have kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
}

/// Two runs of one point by one program did not come out the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("came out otherwise before")]
pub struct Differs;

impl Finished {
    /// Of this key: what a program has made of this point. When, and with what, is not said yet.
    pub fn new(key: &str, program: &str, point: &str, outcome: Outcome) -> Finished {
        let [key, program, point] = [key, program, point].map(str::to_owned);
        Finished { key, program, point, outcome, at: 0, inputs: None }
    }

    /// Returns true if this says more of its point than what is kept of it: that it ran, what happened over time, or a newer reason.
    ///
    /// # Errors
    /// When both ran, and were not the same run.
    pub fn replaces(&self, kept: &Finished) -> Result<bool, Differs> {
        match (&kept.outcome, &self.outcome) {
            (Outcome::Ran(kept), Outcome::Ran(new)) if kept.event_hash != new.event_hash => Err(Differs),
            (Outcome::Ran(kept), Outcome::Ran(new)) => Ok(kept.timeline.is_none() && new.timeline.is_some()),
            (Outcome::Failed(_), Outcome::Ran(_)) => Ok(true),
            (Outcome::Ran(_), Outcome::Failed(_)) => Ok(false),
            (Outcome::Failed(old), Outcome::Failed(new)) => Ok(old != new && self.at > kept.at),
        }
    }
}

/// A file of finished points, held by this program alone.
pub struct Store {
    path: PathBuf,
    file: File,
    finished: Vec<Finished>,
}

/// Reason for which points cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk's.
    #[error("{path}: {error}")]
    Io {
        /// Path of the file.
        path: String,
        /// Error of the disk.
        error: std::io::Error,
    },
    /// Another program holds the file.
    #[error("{path}: another vp runs this study")]
    Held {
        /// Path of the file.
        path: String,
    },
    /// A line that no program of this kind writes.
    #[error("{path}:{line}: {why}; take the line out and its point is run again, or begin anew with --fresh")]
    Line {
        /// Path of the file.
        path: String,
        /// Number of the line, from one.
        line: usize,
        /// Fault of the line.
        why: String,
    },
}

impl Store {
    /// Opens a file of finished points, or begins one; cuts off a line that was not finished.
    ///
    /// # Errors
    /// When the file cannot be had, or is no such file.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let io = |error| StoreError::Io { path: path.display().to_string(), error };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Held { path: path.display().to_string() });
            }
            // Not every network's file system has locks; shards have files of their own.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let Contents { finished, whole, all } = contents(path, &file, MOST)?;
        if whole < all {
            file.set_len(whole).map_err(io)?;
            file.seek(SeekFrom::End(0)).map_err(io)?;
        }
        Ok(Store { path: path.to_owned(), file, finished })
    }

    /// Forgets what a file has, whatever that is, and opens it.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn begin(path: &Path) -> Result<Store, StoreError> {
        match Store::open(path) {
            Ok(mut store) => {
                store.clear()?;
                Ok(store)
            }
            Err(held @ StoreError::Held { .. }) => Err(held),
            Err(_) => {
                let io = |error| StoreError::Io { path: path.display().to_string(), error };
                std::fs::write(path, "").map_err(io)?;
                Store::open(path)
            }
        }
    }

    /// Reads a file of finished points that others may be writing.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> Result<Vec<Finished>, StoreError> {
        let file =
            File::open(path).map_err(|error| StoreError::Io { path: path.display().to_string(), error })?;
        Ok(contents(path, file, MOST)?.finished)
    }

    /// Forgets everything.
    ///
    /// # Errors
    /// The disk's.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        self.finished.clear();
        self.file.set_len(0).map_err(|error| self.io(error))
    }

    /// Keeps a point; it is on the disk when this returns.
    ///
    /// # Errors
    /// The disk's.
    pub fn keep(&mut self, finished: Finished) -> Result<(), StoreError> {
        let line = line(&finished).map_err(|error| self.io(error.into()))?;
        let before = self.file.metadata().map_err(|error| self.io(error))?.len();
        if let Err(error) = self.file.write_all(&line).and_then(|()| self.file.sync_data()) {
            // Lest what comes later continues a part of a line; what cannot be cut off is no line when the file is opened.
            _ = self.file.set_len(before);
            return Err(self.io(error));
        }
        self.finished.push(finished);
        Ok(())
    }

    /// Returns what is kept of this program, by key. Of several the last counts.
    pub fn of_program(&self, program: &str) -> HashMap<&str, &Finished> {
        of_program(&self.finished, program)
    }

    /// All that is kept, in the order in which it was.
    pub fn all(&self) -> &[Finished] {
        &self.finished
    }

    fn io(&self, error: std::io::Error) -> StoreError {
        StoreError::Io { path: self.path.display().to_string(), error }
    }
}

/// Returns what of these a program has run, by key. Of several the last counts.
pub fn of_program<'a>(finished: &'a [Finished], program: &str) -> HashMap<&'a str, &'a Finished> {
    let own = finished.iter().filter(|finished| finished.program == program);
    own.map(|finished| (finished.key.as_str(), finished)).collect()
}

/// Texts around the eight digits of a line's checksum, the CRC-32 of all before it: before them, and behind them.
const CHECKSUM: (&[u8], &[u8]) = (b",\"crc32\":\"", b"\"}");

/// A point as a line of JSON, whose last value is the checksum.
fn line(finished: &Finished) -> serde_json::Result<Vec<u8>> {
    let mut line = vp_models::printable::json(&serde_json::to_string(finished)?).into_owned().into_bytes();
    // The brace that ends it.
    line.pop();
    let digits = format!("{:08x}", crc32fast::hash(&line));
    let (before, behind) = CHECKSUM;
    [before, digits.as_bytes(), behind, b"\n"].into_iter().for_each(|part| line.extend_from_slice(part));
    Ok(line)
}

/// Returns true if a line has the checksum that it says; `None`: it says none.
fn fits(line: &[u8]) -> Option<bool> {
    let (before, behind) = CHECKSUM;
    let (line, digits) = line.strip_suffix(behind)?.split_last_chunk::<8>()?;
    let line = line.strip_suffix(before)?;
    Some(format!("{:08x}", crc32fast::hash(line)).as_bytes() == digits)
}

/// Bytes of a line, at most. One of GoogLeNet, 84 layers, has 43 KB with what happened over time: there is room for a network of
/// tens of thousands of layers.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Bytes of a file, at most: all that is in it is in memory while a study runs. There is room for 100 000 such lines, and for ten
/// times as many of small networks.
const MOST: u64 = 4 << 30;

/// Contents of a file of finished points.
struct Contents {
    finished: Vec<Finished>,
    /// Bytes of whole lines.
    whole: u64,
    /// Bytes of whole lines, and of a line that was cut off.
    all: u64,
}

/// Reads a file up to its end, and no more than so many bytes.
fn contents(path: &Path, from: impl Read, most: u64) -> Result<Contents, StoreError> {
    let io = |error| StoreError::Io { path: path.display().to_string(), error };
    let mut from = BufReader::new(from);
    let (mut finished, mut whole, mut number) = (Vec::new(), 0, 0);
    // Programs of before wrote none; of those that do, none goes back.
    let mut has_checksums = false;
    let mut line = Vec::new();
    loop {
        number += 1;
        let wrong = |why: String| StoreError::Line { path: path.display().to_string(), line: number, why };
        line.clear();
        from.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line).map_err(io)?;
        let length = line.len() as u64;
        if length > MAX_LINE_BYTES {
            return Err(wrong(format!("it has more than {MAX_LINE_BYTES} bytes")));
        }
        if whole + length > most {
            let what = format!("it has more than {most} bytes");
            return Err(io(std::io::Error::new(ErrorKind::FileTooLarge, what)));
        }
        let Some((b'\n', line)) = line.split_last() else {
            return Ok(Contents { finished, whole, all: whole + length });
        };
        whole += length;
        if line.is_empty() {
            continue;
        }
        match fits(line) {
            Some(true) => has_checksums = true,
            None if !has_checksums => {}
            _ => return Err(wrong("the line is damaged: its checksum does not fit".to_owned())),
        }
        finished.push(serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?);
    }
}

/// Returns which program this is: a hash of its file. What another has run may have come out otherwise.
///
/// # Errors
/// When its file cannot be read.
pub fn program() -> std::io::Result<String> {
    let file = std::fs::read(std::env::current_exe()?)?;
    Ok(format!("{:016x}", XxHash3_64::oneshot(&file)))
}

#[cfg(test)]
mod tests {
    use super::super::measured::{Measured, Timeline};
    use super::*;

    fn finished(key: &str) -> Finished {
        let outcome = Outcome::Failed("no such network".to_owned());
        Finished::new(key, "p", "network=x", outcome)
    }

    #[test]
    fn what_says_more_replaces_what_is_kept() {
        let ran = |hash: &str, timeline: bool| {
            let measured = Measured {
                event_hash: hash.to_owned(),
                timeline: timeline.then(Timeline::default),
                ..Measured::default()
            };
            Finished { outcome: Outcome::Ran(Box::new(measured)), ..finished("a") }
        };
        let failed =
            |why: &str, at: u64| Finished { outcome: Outcome::Failed(why.to_owned()), at, ..finished("a") };
        // That it ran, and what happened over time.
        assert_eq!(ran("1", false).replaces(&failed("x", 5)), Ok(true));
        assert_eq!(failed("x", 5).replaces(&ran("1", false)), Ok(false));
        assert_eq!(ran("1", true).replaces(&ran("1", false)), Ok(true));
        assert_eq!(ran("1", false).replaces(&ran("1", true)), Ok(false));
        assert_eq!(ran("1", true).replaces(&ran("1", true)), Ok(false));
        assert_eq!(ran("2", true).replaces(&ran("1", false)), Err(Differs));
        // The newer of two reasons.
        assert_eq!(failed("y", 6).replaces(&failed("x", 5)), Ok(true));
        assert_eq!(failed("y", 4).replaces(&failed("x", 5)), Ok(false));
        assert_eq!(failed("x", 6).replaces(&failed("x", 5)), Ok(false));
    }

    fn keys(store: &Store) -> Vec<&str> {
        store.all().iter().map(|finished| finished.key.as_str()).collect()
    }

    #[test]
    fn what_was_kept_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/points.jsonl");
        let mut store = Store::open(&path).unwrap();
        store.keep(finished("a")).unwrap();
        store.keep(finished("b")).unwrap();
        drop(store);
        let store = Store::open(&path).unwrap();
        assert_eq!(keys(&store), ["a", "b"]);
        assert_eq!(store.of_program("p").len(), 2);
        assert!(store.of_program("another").is_empty());
    }

    #[test]
    fn a_line_that_was_cut_off_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        Store::open(&path).unwrap().keep(finished("a")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 1..whole.len() {
            std::fs::write(&path, [&whole[..], &whole[..cut]].concat()).unwrap();
            let mut store = Store::open(&path).unwrap();
            assert_eq!(keys(&store), ["a"]);
            store.keep(finished("b")).unwrap();
            drop(store);
            assert_eq!(keys(&Store::open(&path).unwrap()), ["a", "b"]);
        }
    }

    #[test]
    fn a_changed_bit_is_refused_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let mut store = Store::open(&path).unwrap();
        ["a", "b", "c"].into_iter().for_each(|key| store.keep(finished(key)).unwrap());
        let original = store.all().to_vec();
        drop(store);
        let whole = std::fs::read(&path).unwrap();
        for bit in 0..8 * whole.len() {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &changed).unwrap();
            // What is left of the last line is one that was cut off, and the mark of the first checksum is not what it marks.
            match Store::read(&path) {
                Ok(read) => assert!(original.starts_with(&read), "bit {bit}: {read:?}"),
                Err(StoreError::Line { line, .. }) => assert!(line <= 3, "bit {bit}"),
                Err(error) => panic!("bit {bit}: {error}"),
            }
        }
        let digit = whole.windows(3).position(|part| part == b"\"a\"").unwrap() + 1;
        let mut changed = whole.clone();
        changed[digit] = b'z';
        std::fs::write(&path, &changed).unwrap();
        let error = Store::open(&path).err().unwrap().to_string();
        let expected = "points.jsonl:1: the line is damaged: its checksum does not fit; take the line out";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn lines_without_checksums_of_programs_before_are_read_and_others_follow_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let old = |key: &str| serde_json::to_string(&finished(key)).unwrap() + "\n";
        std::fs::write(&path, old("a") + &old("b")).unwrap();
        Store::open(&path).unwrap().keep(finished("c")).unwrap();
        assert_eq!(keys(&Store::open(&path).unwrap()), ["a", "b", "c"]);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + &old("d")).unwrap();
        let error = Store::open(&path).err().unwrap().to_string();
        assert!(error.contains("points.jsonl:4: the line is damaged"), "{error}");
    }

    #[test]
    fn a_file_without_end_and_one_that_is_too_large_are_refused() {
        let error = Store::read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.starts_with("/dev/zero:1: it has more than 16777216 bytes"), "{error}");
        let text = line(&finished("a")).unwrap();
        let (path, length) = (Path::new("points.jsonl"), text.len() as u64);
        let read = |most| contents(path, &[&text[..], &text[..]].concat()[..], most);
        assert_eq!(read(2 * length).unwrap().finished.len(), 2);
        let error = read(2 * length - 1).err().unwrap().to_string();
        assert_eq!(error, format!("points.jsonl: it has more than {} bytes", 2 * length - 1));
    }

    #[test]
    fn a_file_has_one_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let store = Store::open(&path).unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Held { .. })));
        drop(store);
        assert!(Store::open(&path).is_ok());
    }

    #[test]
    fn a_strange_line_is_named_and_who_begins_anew_forgets_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        let error = Store::open(&path).err().unwrap().to_string();
        assert!(error.contains("points.jsonl:1: missing field"), "{error}");
        Store::begin(&path).unwrap().keep(finished("a")).unwrap();
        assert_eq!(keys(&Store::open(&path).unwrap()), ["a"]);
    }
}
