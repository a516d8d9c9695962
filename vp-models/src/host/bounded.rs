//! Files that a user names: read, but not without bound, for a file may have no end.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// The bytes of a file.
///
/// # Errors
/// When it cannot be read, or has more than so many bytes.
pub fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// The text of a file.
///
/// # Errors
/// The same, and when it is no text.
pub fn read_text_at_most(path: &Path, most: u64) -> Result<String> {
    String::from_utf8(read_at_most(path, most)?)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "it is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_is_refused_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("five");
        std::fs::write(&path, "fünf").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), "fünf".as_bytes());
        assert_eq!(read_text_at_most(&path, 9).unwrap(), "fünf");
        assert_eq!(read_at_most(&path, 4).unwrap_err().to_string(), "it has more than 4 bytes");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text_at_most(&path, 4).unwrap_err().to_string(), "it is no text");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_without_end_is_refused() {
        assert_eq!(read_at_most(Path::new("/dev/zero"), 1000).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
