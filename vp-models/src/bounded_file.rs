//! Files that a user names: read, but not without bound, for a file may have no end.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::path::Path;

use flate2::read::{GzDecoder, MultiGzDecoder};

/// Most bytes of a file in which people describe something: a platform, a network, a study, its parts. More is another file.
const MOST_DESCRIPTION: u64 = 16 << 20;

/// Most bytes of a file with a tensor of a network.
const MOST_TENSOR: u64 = 1 << 30;

/// The text of a file that describes something: a platform, a network, a study.
///
/// # Errors
/// When it cannot be read, is no text, or has more than 16 MiB.
pub fn read_description(path: &Path) -> Result<String> {
    read_text_at_most(path, MOST_DESCRIPTION)
}

/// The bytes of a file with a tensor of a network.
///
/// # Errors
/// When it cannot be read, or has more than 1 GiB.
pub fn read_tensor(path: &Path) -> Result<Vec<u8>> {
    read_at_most(path, MOST_TENSOR)
}

/// The bytes of a file.
///
/// # Errors
/// When it cannot be read, or has more than so many bytes.
pub fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    take_at_most(File::open(path)?, most)
}

fn take_at_most(from: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Bytes of the next line, which is put into `line` with its end; 0 behind the last one.
///
/// # Errors
/// When it cannot be read, is no text, or has more than so many bytes, of which `line` then has the first.
pub fn read_line_at_most(from: &mut impl BufRead, most: u64, line: &mut String) -> Result<usize> {
    line.clear();
    let mut bytes = Vec::new();
    let read = from.take(most).read_until(b'\n', &mut bytes)?;
    if read as u64 == most && !bytes.ends_with(b"\n") {
        line.push_str(&String::from_utf8_lossy(&bytes));
        return Err(Error::new(ErrorKind::FileTooLarge, format!("the line has {most} bytes or more")));
    }
    *line = text(bytes)?;
    Ok(read)
}

/// The text of a file.
///
/// # Errors
/// The same, and when it is no text.
pub fn read_text_at_most(path: &Path, most: u64) -> Result<String> {
    text(read_at_most(path, most)?)
}

/// The text in a file that gzip has packed.
///
/// # Errors
/// When it cannot be read or unpacked, has more than so many bytes, or is no text.
pub fn unpack_text_at_most(path: &Path, most: u64) -> Result<String> {
    text(take_at_most(GzDecoder::new(File::open(path)?), most)?)
}

/// The lines of a file to be read one by one, however long it is; one that gzip has packed is unpacked.
///
/// # Errors
/// When it cannot be opened.
pub fn open_unpacked(path: &Path) -> Result<Box<dyn BufRead>> {
    let mut file = BufReader::new(File::open(path)?);
    let is_packed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(match is_packed {
        true => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        false => Box::new(file),
    })
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is no text"))
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

    #[test]
    fn lines_are_read_whether_they_are_packed_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, b"a\nb\n").unwrap();
        for bytes in [b"a\nb\n".to_vec(), packed.finish().unwrap()] {
            std::fs::write(&path, bytes).unwrap();
            let lines: Vec<String> = open_unpacked(&path).unwrap().lines().map(Result::unwrap).collect();
            assert_eq!(lines, ["a", "b"]);
        }
    }

    #[test]
    fn a_line_that_is_longer_is_refused_and_not_read() {
        let (mut text, mut line) = ("ab\n\ncdef\ng".as_bytes(), String::new());
        for wanted in ["ab\n", "\n"] {
            assert_eq!(read_line_at_most(&mut text, 4, &mut line).unwrap(), wanted.len());
            assert_eq!(line, wanted);
        }
        let error = read_line_at_most(&mut text, 4, &mut line).unwrap_err();
        assert_eq!((error.to_string().as_str(), line.as_str()), ("the line has 4 bytes or more", "cdef"));
        assert_eq!(text, b"\ng");
        let last = "g".as_bytes();
        assert_eq!(read_line_at_most(&mut &*last, 4, &mut line).unwrap(), 1);
        assert_eq!(read_line_at_most(&mut &last[1..], 4, &mut line).unwrap(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_without_end_is_refused() {
        assert_eq!(read_at_most(Path::new("/dev/zero"), 1000).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let error = read_description(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 16777216 bytes");
    }
}
