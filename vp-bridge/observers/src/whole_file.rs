//! Result files that are either complete or not there at all, whatever kills the program that writes them.
//!
//! Where the file system can, such a file has no name before it is whole, so that nothing of it stays if the program is killed. Elsewhere it
//! has another name until then, and the next program that writes in the folder removes what was left behind.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::{Builder, NamedTempFile};

/// A result file that is being written: it gets its name when it is on the disk. If it is dropped before, the old file stays.
#[derive(Debug)]
pub struct WholeFile(OutputFile);

#[derive(Debug)]
enum OutputFile {
    /// Without a name.
    Unnamed(BufWriter<File>, PathBuf),
    /// Under another name in the same folder.
    Beside(BufWriter<NamedTempFile>, PathBuf),
    /// In place: what is no plain file, such as a pipe or a terminal, cannot be replaced.
    There(BufWriter<File>),
}

/// The names of files that are not whole.
const PREFIX: &str = ".vp-";
const SUFFIX: &str = ".part";

impl WholeFile {
    /// Begins a file.
    ///
    /// # Errors
    /// The disk's.
    pub fn create(path: &Path) -> io::Result<WholeFile> {
        // A link stays one: what it leads to is replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let permissions = match path.metadata() {
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(&path)?;
                return Ok(WholeFile(OutputFile::There(BufWriter::new(file))));
            }
            Ok(there) => Some(there.permissions()),
            Err(_) => None,
        };
        let folder = folder(&path);
        // Told as the system says it, and not of the other name.
        folder.metadata()?;
        let permissions = permissions.or_else(usual);
        match unnamed(folder, permissions.as_ref()) {
            Some(file) => Ok(WholeFile(OutputFile::Unnamed(BufWriter::new(file), path))),
            None => WholeFile::create_beside(path, permissions),
        }
    }

    /// Begins a file where files have names from the beginning.
    fn create_beside(path: PathBuf, permissions: Option<Permissions>) -> io::Result<WholeFile> {
        let folder = folder(&path);
        remove_left_behind(folder);
        let mut builder = Builder::new();
        if let Some(permissions) = permissions {
            builder.permissions(permissions);
        }
        let file = builder.prefix(PREFIX).suffix(SUFFIX).tempfile_in(folder)?;
        // Who finds it locked leaves it. Not every file system has locks.
        _ = file.as_file().try_lock();
        Ok(WholeFile(OutputFile::Beside(BufWriter::new(file), path)))
    }

    /// Checks whether one can be begun. A pipe is not opened, because its reader would then see its end.
    ///
    /// # Errors
    /// As of [`create`](WholeFile::create).
    pub fn check(path: &Path) -> io::Result<()> {
        match path.metadata() {
            Ok(there) if !there.is_file() && !there.is_dir() => Ok(()),
            _ => WholeFile::create(path).map(drop),
        }
    }

    /// Begins a file as [`create`](WholeFile::create) does, for a format that seeks in its file, which a pipe cannot.
    ///
    /// # Errors
    /// The disk's error, and an error for a file that is not a regular one.
    pub fn create_plain(path: &Path) -> io::Result<WholeFile> {
        let file = WholeFile::create(path)?;
        match file.0 {
            OutputFile::There(_) => Err(io::Error::other("this format needs a plain file")),
            OutputFile::Unnamed(..) | OutputFile::Beside(..) => Ok(file),
        }
    }

    /// Puts the file in place; it is on the disk when this returns.
    ///
    /// # Errors
    /// The disk's.
    pub fn keep(mut self) -> io::Result<()> {
        self.flush()?;
        let (file, path) = match &self.0 {
            OutputFile::There(_) => return Ok(()),
            OutputFile::Unnamed(file, path) => (file.get_ref(), path.clone()),
            OutputFile::Beside(file, path) => (file.get_ref().as_file(), path.clone()),
        };
        file.sync_all()?;
        self.put(true)?;
        // The name, too. Not every system lets a folder be opened.
        File::open(folder(&path)).and_then(|folder| folder.sync_all()).or(Ok(()))
    }

    /// Puts in place what is written so far, and returns the file for what follows; `over`: in the place of a file that has the name.
    ///
    /// # Errors
    /// The disk's; [`ErrorKind::AlreadyExists`] if there is a file that is not to be replaced.
    pub fn put(mut self, over: bool) -> io::Result<File> {
        self.flush()?;
        match self.0 {
            OutputFile::There(file) => Ok(file.into_inner()?),
            OutputFile::Unnamed(file, path) => {
                let file = file.into_inner()?;
                match link(&file, &path) {
                    Err(error) if over && error.kind() == ErrorKind::AlreadyExists => {
                        remove_left_behind(folder(&path));
                        let mut builder = Builder::new();
                        let named = builder.prefix(PREFIX).suffix(SUFFIX);
                        let named = named.make_in(folder(&path), |name| link(&file, name))?;
                        named.into_temp_path().persist(&path)?;
                    }
                    linked => linked?,
                }
                Ok(file)
            }
            OutputFile::Beside(file, path) => {
                let file = file.into_inner()?;
                Ok(if over { file.persist(&path)? } else { file.persist_noclobber(&path)? })
            }
        }
    }

    /// The file as it is: for locks.
    pub fn file(&self) -> &File {
        match &self.0 {
            OutputFile::Unnamed(file, _) | OutputFile::There(file) => file.get_ref(),
            OutputFile::Beside(file, _) => file.get_ref().as_file(),
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            OutputFile::Beside(file, _) => file.write(bytes),
            OutputFile::Unnamed(file, _) | OutputFile::There(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            OutputFile::Beside(file, _) => file.flush(),
            OutputFile::Unnamed(file, _) | OutputFile::There(file) => file.flush(),
        }
    }
}

impl Seek for WholeFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            OutputFile::Beside(file, _) => file.seek(to),
            OutputFile::Unnamed(file, _) | OutputFile::There(file) => file.seek(to),
        }
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        match &mut self.0 {
            OutputFile::Beside(file, _) => file.stream_position(),
            OutputFile::Unnamed(file, _) | OutputFile::There(file) => file.stream_position(),
        }
    }
}

/// Writes a file of results.
///
/// # Errors
/// The disk's.
pub fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes.as_ref())?;
    file.keep()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file without a name in a folder, if the file system has such files, and they can be given one.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path, permissions: Option<&Permissions>) -> Option<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt};
    if !Path::new("/proc/self/fd").exists() {
        return None;
    }
    let mode = permissions.map_or(0o666, PermissionsExt::mode);
    let mut options = File::options();
    options.read(true).write(true).mode(mode).custom_flags(nix::fcntl::OFlag::O_TMPFILE.bits());
    options.open(folder).ok()
}

/// Gives a file without a name one that no other has (open(2), O_TMPFILE).
#[cfg(target_os = "linux")]
fn link(file: &File, name: &Path) -> io::Result<()> {
    use nix::fcntl::{AT_FDCWD, AtFlags};
    use std::os::fd::AsRawFd as _;
    let own = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok(nix::unistd::linkat(AT_FDCWD, &own, AT_FDCWD, name, AtFlags::AT_SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path, _: Option<&Permissions>) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// A file that is not whole, and that nobody has written to for so long, is nobody's any more.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// Removes files that killed programs have left in a folder. What cannot be removed is left there.
fn remove_left_behind(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_part = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        let is_old =
            || entry.metadata().ok()?.modified().ok()?.elapsed().ok().filter(|age| *age > LEFT_BEHIND);
        let is_free = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_part && entry.file_type().is_ok_and(|kind| kind.is_file()) && is_old().is_some() && is_free() {
            _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns the permissions of any new file, of which the system takes what the user does not want.
#[cfg(unix)]
fn usual() -> Option<Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o666))
}

#[cfg(not(unix))]
fn usual() -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn what_was_there_stays_until_the_new_file_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("layers.csv");
        write_whole(&path, "old").unwrap();
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(&[b'x'; 100_000]).unwrap();
        file.flush().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        file.keep().unwrap();
        assert_eq!(std::fs::read(&path).unwrap().len(), 100_000);
        drop(WholeFile::create(&path).unwrap());
        assert_eq!(names(folder.path()), ["layers.csv"]);
    }

    /// The name comes with the whole file: whatever ends the program before, nothing is left.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_not_whole_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("saved.vpsave");
        for _ in 0..2 {
            let mut file = WholeFile::create(&path).unwrap();
            file.write_all(b"half").unwrap();
            file.flush().unwrap();
            let names = names(folder.path());
            assert!(names.iter().all(|name| name == "saved.vpsave"), "{names:?}");
            file.keep().unwrap();
            assert_eq!(super::tests::names(folder.path()), ["saved.vpsave"]);
        }
    }

    #[test]
    fn what_a_killed_program_left_is_removed_and_what_another_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(std::time::SystemTime::now() - 2 * LEFT_BEHIND).unwrap();
            (path, file)
        };
        let (left, _) = part(".vp-left.part");
        let (held, file) = part(".vp-held.part");
        let (other, _) = part("mine.part");
        file.lock().unwrap();
        let fresh = folder.path().join(".vp-fresh.part");
        std::fs::write(&fresh, "").unwrap();
        let path = folder.path().join("result");
        let mut file = WholeFile::create_beside(path.clone(), usual()).unwrap();
        file.write_all(b"x").unwrap();
        file.keep().unwrap();
        assert!(!left.exists() && held.exists() && other.exists() && fresh.exists());
        assert_eq!(std::fs::read(path).unwrap(), b"x");
    }

    #[test]
    fn what_is_put_in_place_is_written_on_and_replaces_nothing_unless_it_is_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.vprec");
        for create in [WholeFile::create, |path: &Path| WholeFile::create_beside(path.to_owned(), usual())] {
            let mut file = create(&path).unwrap();
            file.write_all(b"head").unwrap();
            let mut file = file.put(true).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"head");
            file.write_all(b", body").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"head, body");
            let refused = create(&path).unwrap().put(false).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
            assert_eq!(std::fs::read(&path).unwrap(), b"head, body");
        }
        assert_eq!(names(folder.path()), ["run.vprec"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_the_permissions_of_any_other_and_keeps_those_it_had() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mode = |name: &str| path(name).metadata().unwrap().permissions().mode();
        std::fs::write(path("plain"), "").unwrap();
        write_whole(&path("whole"), "1").unwrap();
        assert_eq!(mode("whole"), mode("plain"));
        std::fs::set_permissions(path("whole"), Permissions::from_mode(0o640)).unwrap();
        symlink("whole", path("link")).unwrap();
        write_whole(&path("link"), "2").unwrap();
        assert_eq!(mode("whole") & 0o777, 0o640);
        assert!(path("link").is_symlink());
        assert_eq!(std::fs::read(path("whole")).unwrap(), b"2");
    }

    #[cfg(unix)]
    #[test]
    fn to_look_whether_it_can_be_begun_waits_for_no_reader_and_ends_none() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // To open it would wait for ever.
        WholeFile::check(&pipe).unwrap();
        assert!(WholeFile::check(folder.path()).is_err());
        assert!(WholeFile::check(&folder.path().join("no/file")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_plain_file_is_written_to_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt as _;
        write_whole(Path::new("/dev/null"), "nothing").unwrap();
        assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
    }
}
