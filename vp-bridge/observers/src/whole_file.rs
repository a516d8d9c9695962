//! Result files that are either complete or not there at all, whatever kills the program that writes them.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// A result file that is being written: it has another name in the same folder, and is renamed when it is on
/// the disk. If it is dropped before, the old file stays.
#[derive(Debug)]
pub struct WholeFile(Place);

#[derive(Debug)]
enum Place {
    Beside(BufWriter<NamedTempFile>, PathBuf),
    /// What is no plain file, such as a pipe or a terminal, cannot be replaced.
    There(BufWriter<File>),
}

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
                return Ok(WholeFile(Place::There(BufWriter::new(file))));
            }
            Ok(there) => Some(there.permissions()),
            Err(_) => None,
        };
        let folder = folder(&path);
        // Told as the system says it, and not of the other name.
        folder.metadata()?;
        let mut builder = Builder::new();
        if let Some(permissions) = permissions.or_else(usual) {
            builder.permissions(permissions);
        }
        let file = builder.prefix(".vp-").suffix(".part").tempfile_in(folder)?;
        Ok(WholeFile(Place::Beside(BufWriter::new(file), path)))
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

    /// The same for a format that seeks in its file, which a pipe cannot.
    ///
    /// # Errors
    /// The disk's error, and an error for a file that is not a regular one.
    pub fn create_plain(path: &Path) -> io::Result<WholeFile> {
        let file = WholeFile::create(path)?;
        match file.0 {
            Place::There(_) => Err(io::Error::other("this format needs a plain file")),
            Place::Beside(..) => Ok(file),
        }
    }

    /// Puts the file in place; it is on the disk when this returns.
    ///
    /// # Errors
    /// The disk's.
    pub fn keep(self) -> io::Result<()> {
        match self.0 {
            Place::There(mut file) => file.flush(),
            Place::Beside(file, path) => {
                let file = file.into_inner()?;
                file.as_file().sync_all()?;
                file.persist(&path)?;
                // The name, too. Not every system lets a folder be opened.
                File::open(folder(&path)).and_then(|folder| folder.sync_all()).or(Ok(()))
            }
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Beside(file, _) => file.write(bytes),
            Place::There(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Place::Beside(file, _) => file.flush(),
            Place::There(file) => file.flush(),
        }
    }
}

impl Seek for WholeFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Place::Beside(file, _) => file.seek(to),
            Place::There(file) => file.seek(to),
        }
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        match &mut self.0 {
            Place::Beside(file, _) => file.stream_position(),
            Place::There(file) => file.stream_position(),
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

/// Those of any new file, of which the system takes what the user does not want.
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
