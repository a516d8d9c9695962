//! Archives of arrays as NumPy's `savez` and `savez_compressed` write them: a ZIP of NPY files, each the array of its name.
//!
//! Of ZIP (PKWARE's APPNOTE 6.3.10) what NumPy needs is read: stored and deflated members, at most 1 GiB of them unpacked, found by the
//! central directory, which is in the form for less than 4 GiB. What is written is stored, and dated 1 January 1980.

use super::npy::{self, NpyError};
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::collections::BTreeSet;
use std::io::Read as _;
use vp_tensors::Tensor;

/// Most bytes of all members.
const MOST_UNPACKED: usize = 1 << 30;

/// Signature of a member, before its name and data.
const MEMBER: &[u8] = b"PK\x03\x04";
/// Signature of a member's entry in the directory.
const ENTRY: &[u8] = b"PK\x01\x02";
/// Signature of the directory's end.
const END: &[u8] = b"PK\x05\x06";

/// Bytes of a member before its name.
const MEMBER_BYTES: usize = 30;
/// Bytes of an entry before its name.
const ENTRY_BYTES: usize = 46;
/// Bytes of the end before its comment, which is shorter than 64 KiB.
const END_BYTES: usize = 22;

/// Error of an archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpzError {
    /// Bytes that are no ZIP.
    #[error("no ZIP file: {0}")]
    Zip(&'static str),
    /// A member that is not read.
    #[error("`{name}`: {what}")]
    Member {
        /// Name of the member.
        name: String,
        /// Text that says what is wrong with it.
        what: String,
    },
    /// A member that is no array.
    #[error("`{name}`: {error}")]
    Array {
        /// Name of the member.
        name: String,
        /// Error of the array.
        error: NpyError,
    },
    /// Tensors that an archive does not hold.
    #[error("{0} bytes in an NPZ file, which has less than 4 GiB")]
    TooLarge(usize),
    /// Tensors that an archive does not hold.
    #[error("{0} tensors in an NPZ file, which has less than 65536")]
    TooMany(usize),
}

/// Returns true if a file begins as an archive does.
pub fn is_npz(file: &[u8]) -> bool {
    file.starts_with(MEMBER) || file.starts_with(END)
}

/// Reads an archive: names and arrays in the order in which they are in it.
///
/// # Errors
/// When the file is no archive of arrays.
pub fn read(file: &[u8]) -> Result<Vec<(String, Tensor)>, NpzError> {
    let mut directory = Directory::of(file)?;
    let (mut arrays, mut names, mut room) = (Vec::new(), BTreeSet::new(), MOST_UNPACKED);
    while let Some(entry) = directory.next_entry()? {
        let wrong = |what: String| NpzError::Member { name: entry.name.escape_debug().to_string(), what };
        let Some(name) = entry.name.strip_suffix(".npy") else {
            return Err(wrong("no array: its name does not end with .npy".to_owned()));
        };
        if !names.insert(name.to_owned()) {
            return Err(wrong("two members have this name".to_owned()));
        }
        let beyond = || wrong(format!("more than {MOST_UNPACKED} bytes unpacked"));
        room = room.checked_sub(entry.unpacked).ok_or_else(beyond)?;
        let bytes = entry.unpack(file).map_err(|what| wrong(what.to_owned()))?;
        let array = npy::read(&bytes)
            .map_err(|error| NpzError::Array { name: entry.name.escape_debug().to_string(), error })?;
        arrays.push((name.to_owned(), array));
    }
    Ok(arrays)
}

/// Entries that are not read yet.
struct Directory<'a> {
    rest: &'a [u8],
    count: usize,
}

/// A member as the directory has it.
struct Entry {
    name: String,
    flags: usize,
    method: usize,
    sum: u32,
    packed: usize,
    unpacked: usize,
    /// Place of the member in the file.
    at: usize,
}

impl<'a> Directory<'a> {
    fn of(file: &'a [u8]) -> Result<Directory<'a>, NpzError> {
        let first = file.len().saturating_sub(END_BYTES + usize::from(u16::MAX));
        let ends = file[first..].windows(END_BYTES);
        let at = ends.rev().position(|end| end.starts_with(END)).ok_or(NpzError::Zip("it has no end"))?;
        let end = &file[file.len() - END_BYTES - at..];
        let [count, bytes, start] = [word(end, 10), long(end, 12), long(end, 16)];
        if count == 0xffff || start == 0xffff_ffff {
            return Err(NpzError::Zip("its directory is in the form for 4 GiB or more, which is not read"));
        }
        let rest = start.checked_add(bytes).and_then(|behind| file.get(start..behind));
        Ok(Directory { rest: rest.ok_or(NpzError::Zip("its directory is cut off"))?, count })
    }

    fn next_entry(&mut self) -> Result<Option<Entry>, NpzError> {
        let Some(count) = self.count.checked_sub(1) else { return Ok(None) };
        self.count = count;
        let broken = NpzError::Zip("its directory is broken");
        let entry = self.rest;
        if entry.len() < ENTRY_BYTES || !entry.starts_with(ENTRY) {
            return Err(broken);
        }
        let [name, extra, comment] = [28, 30, 32].map(|at| word(entry, at));
        let (text, rest) = entry[ENTRY_BYTES..].split_at_checked(name).ok_or(broken.clone())?;
        self.rest = rest.get(extra + comment..).ok_or(broken)?;
        Ok(Some(Entry {
            name: String::from_utf8_lossy(text).into_owned(),
            flags: word(entry, 8),
            method: word(entry, 10),
            sum: long(entry, 16) as u32,
            packed: long(entry, 20),
            unpacked: long(entry, 24),
            at: long(entry, 42),
        }))
    }
}

impl Entry {
    fn unpack(&self, file: &[u8]) -> Result<Vec<u8>, &'static str> {
        if self.flags & 1 != 0 {
            return Err("it is encrypted");
        }
        let cut_off = "it is cut off";
        let member = file.get(self.at..).filter(|it| it.len() >= MEMBER_BYTES && it.starts_with(MEMBER));
        let member = member.ok_or("the directory does not say where it is")?;
        let start = MEMBER_BYTES + word(member, 26) + word(member, 28);
        let packed = member.get(start..start + self.packed).ok_or(cut_off)?;
        let bytes = match self.method {
            0 => packed.to_vec(),
            8 => {
                let mut bytes = Vec::new();
                let most = self.unpacked as u64 + 1;
                DeflateDecoder::new(packed).take(most).read_to_end(&mut bytes).map_err(|_| cut_off)?;
                bytes
            }
            _ => return Err("it is packed in another way than deflated, which is what NumPy does"),
        };
        let mut sum = Crc::new();
        sum.update(&bytes);
        match bytes.len() == self.unpacked && sum.sum() == self.sum {
            true => Ok(bytes),
            false => Err("its bytes are not those whose length and sum the directory has"),
        }
    }
}

/// The word of 16 bits there.
fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

/// The word of 32 bits there.
fn long(bytes: &[u8], at: usize) -> usize {
    word(bytes, at) | word(bytes, at + 2) << 16
}

/// The file of an archive.
///
/// # Errors
/// When it would have 4 GiB or more, or 65536 arrays.
pub fn written(arrays: &[(&str, &Tensor)]) -> Result<Vec<u8>, NpzError> {
    let files: Vec<(&str, Vec<u8>)> =
        arrays.iter().map(|(name, tensor)| (*name, npy::written(tensor))).collect();
    archive(&files)
}

/// The archive of NPY files by the names of their arrays.
pub(super) fn archive(arrays: &[(&str, Vec<u8>)]) -> Result<Vec<u8>, NpzError> {
    let long = |number: usize| {
        let is_short = |number: &u32| *number < u32::MAX;
        u32::try_from(number).ok().filter(is_short).map(u32::to_le_bytes).ok_or(NpzError::TooLarge(number))
    };
    let too_many = NpzError::TooMany(arrays.len());
    let count = u16::try_from(arrays.len()).ok().filter(|count| *count < u16::MAX).ok_or(too_many)?;
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in arrays {
        let name = format!("{name}.npy");
        let too_long =
            |_| NpzError::Member { name: name.clone(), what: "a name of 64 KiB or more".to_owned() };
        let name_bytes = u16::try_from(name.len()).map_err(too_long)?.to_le_bytes();
        let mut sum = Crc::new();
        sum.update(bytes);
        let length = long(bytes.len())?;
        // Needs version 2.0; names are UTF-8; stored; no time, 1 January 1980.
        let common = [
            &[20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0][..],
            &sum.sum().to_le_bytes(),
            &length,
            &length,
            &name_bytes,
            &[0, 0],
        ]
        .concat();
        directory.extend([ENTRY, &[20, 0], &common, &[0; 10], &long(file.len())?, name.as_bytes()].concat());
        file.extend([MEMBER, &common, name.as_bytes()].concat());
        file.extend(bytes);
    }
    let [start, bytes] = [long(file.len())?, long(directory.len())?];
    file.extend(directory);
    let count = count.to_le_bytes();
    file.extend([END, &[0; 4], &count, &count, &bytes, &start, &[0; 2]].concat());
    Ok(file)
}

#[cfg(test)]
mod tests;
