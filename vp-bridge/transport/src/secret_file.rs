//! Files that hold secrets.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Reads a text file that not every user of this host may read, of limited length.
///
/// # Errors
/// The system's error; [`ErrorKind::PermissionDenied`] if every user may read or write the file,
/// [`ErrorKind::InvalidData`] if it is longer, or is not text.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o007 != 0 {
        let what = "everybody on this host may open it: chmod o= it";
        return Err(io::Error::new(ErrorKind::PermissionDenied, what));
    }
    let mut text = String::new();
    let read = file.take(most + 1).read_to_string(&mut text)?;
    if read as u64 > most {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("it has more than {most} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn a_secret_that_everybody_may_read_is_none_and_a_long_one_is_no_secret() {
        let path = std::env::temp_dir().join(format!("vp-secret-{}", std::process::id()));
        std::fs::write(&path, "secret\n").unwrap();
        for (mode, is_right) in [(0o600, true), (0o640, true), (0o604, false), (0o666, false)] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path, 64).is_ok(), is_right, "{mode:o}");
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path, 7).unwrap(), "secret\n");
        assert_eq!(read(&path, 6).unwrap_err().kind(), ErrorKind::InvalidData);
        std::fs::remove_file(&path).unwrap();
    }
}
