//! Reading a recording, one entry at a time.

use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};
use thiserror::Error;
use vp_hub::Recorded;
use vp_models::printable::{is_unfit, one_line};

use super::accesses::{self, Accesses};
use super::block::{
    FLUSHED, Length, MAGIC, MOST, MOST_ENTRY, MOST_HEADER, MOST_STORED, VERSION, kind, put_length,
};
use super::entered;
use super::header::Header;
use super::numbers::Numbers;

/// Reason for which a recording cannot be read, or not beyond some place.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The disk's.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The writer was ended before its first byte was there.
    #[error("the file is empty: nothing was recorded")]
    Empty,
    /// Something else.
    #[error("no recording of vp: a file of `--record` begins with the bytes VPREC")]
    Foreign,
    /// Of a newer program.
    #[error(
        "a recording in version {version} of the format, and this vp reads up to {VERSION}: use a newer one"
    )]
    Newer {
        /// Version of the recording's format.
        version: u16,
    },
    /// Nothing that its writer has begun is whole.
    #[error("the recording was cut off in its header: nothing was recorded yet")]
    CutOffHeader,
    /// A header that this program does not understand.
    #[error("the recording's header: {why}")]
    Header {
        /// Fault of the header.
        why: String,
    },
    /// Bytes that its writer has not written. Those before can be read.
    #[error("the recording is damaged at byte {at}: {why}; what is before, {entries} entries, is whole")]
    Damaged {
        /// Offset of the damage in the file, in bytes.
        at: u64,
        /// Description of the damage.
        why: &'static str,
        /// Number of entries that were read.
        entries: u64,
    },
}

/// End of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordingEnd {
    /// The end of the run.
    Whole,
    /// An end before the run's.
    Early {
        /// Reason.
        why: String,
    },
    /// A cut in the middle: its program was ended, or its disk was full.
    CutOff {
        /// Bytes, a part of a block, behind the last whole one.
        bytes: u64,
    },
}

/// Part of a file that was found at some place.
enum FilePart {
    Block {
        kind: u8,
    },
    /// The file's end, behind so many bytes of a block.
    CutOff(u64),
}

/// Reads a recording. It keeps one entry in memory.
pub struct Reader<R> {
    file: R,
    header: Header,
    /// The saved platform from which the run goes on.
    saved: Option<Vec<u8>>,
    /// A block that was read, and not taken.
    ahead: Option<FilePart>,
    numbers: Numbers,
    inflate: Box<Decompress>,
    /// The block that was read last.
    stored: Vec<u8>,
    /// Entries that are unpacked, from `next` on.
    unpacked: Vec<u8>,
    next: usize,
    /// Accesses that are left of an entry.
    accesses: Option<Accesses>,
    at: u64,
    entries: u64,
    entered: u64,
    end: Option<RecordingEnd>,
}

impl<R: Read> Reader<R> {
    /// Begins to read.
    ///
    /// # Errors
    /// No recording, or one whose header cannot be read.
    pub fn new(mut file: R) -> Result<Reader<R>, ReadError> {
        const BEGIN: usize = MAGIC.len() + 2;
        let mut begin = Vec::with_capacity(BEGIN);
        let length = (&mut file).take(BEGIN as u64).read_to_end(&mut begin)?;
        let magic = &begin[..length.min(MAGIC.len())];
        if length == 0 {
            return Err(ReadError::Empty);
        }
        if magic != &MAGIC[..magic.len()] {
            return Err(ReadError::Foreign);
        }
        if length < BEGIN {
            return Err(ReadError::CutOffHeader);
        }
        let version = u16::from_le_bytes([begin[MAGIC.len()], begin[MAGIC.len() + 1]]);
        if version == 0 {
            return Err(ReadError::Foreign);
        }
        if version > VERSION {
            return Err(ReadError::Newer { version });
        }
        let header = Header::none();
        let mut reader = Reader {
            file,
            header,
            saved: None,
            ahead: None,
            numbers: Numbers::default(),
            inflate: Box::new(Decompress::new(false)),
            stored: Vec::new(),
            unpacked: Vec::new(),
            next: 0,
            accesses: None,
            at: length as u64,
            entries: 0,
            entered: 0,
            end: None,
        };
        match reader.block(MOST_HEADER)? {
            FilePart::CutOff(_) => return Err(ReadError::CutOffHeader),
            FilePart::Block { kind: kind::HEADER } => {}
            FilePart::Block { .. } => return Err(reader.damaged("no header")),
        }
        let wrong = |why: String| ReadError::Header { why };
        let text = str::from_utf8(&reader.stored).map_err(|error| wrong(error.to_string()))?;
        reader.header = toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?;
        // It is shown to people as it is.
        if reader.header.program.contains(is_unfit) {
            return Err(wrong("`program` has control characters".to_owned()));
        }
        reader.read_saved()?;
        Ok(reader)
    }

    /// Reads the saved platform, if there is one, and the block behind it.
    fn read_saved(&mut self) -> Result<(), ReadError> {
        loop {
            match self.block(MOST_STORED)? {
                FilePart::Block { kind: kind::SAVED } => {
                    let saved = self.saved.get_or_insert_default();
                    saved.extend_from_slice(&self.stored);
                    if saved.len() as u64 > MOST_ENTRY {
                        return Err(self.damaged("a saved platform of more than 2^30 bytes"));
                    }
                }
                found => {
                    self.ahead = Some(found);
                    return Ok(());
                }
            }
        }
    }

    /// The saved platform from which the run goes on; `None`: it begins at power-on.
    pub fn saved(&self) -> Option<&[u8]> {
        self.saved.as_deref()
    }

    /// Returns the saved platform as [`saved`](Reader::saved) does, and does not keep it.
    pub(crate) fn take_saved(&mut self) -> Option<Vec<u8>> {
        self.saved.take()
    }

    /// Returns the recording's header, which describes its platform.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of entries that were read.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the number of bytes that had entered the platform with the entries that were read ([`entered`]).
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// Returns the number of bytes of the file that were read.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Returns the recording's end, once all entries were read.
    pub fn end(&self) -> Option<&RecordingEnd> {
        self.end.as_ref()
    }

    /// The next entry; `None`, at the end.
    ///
    /// # Errors
    /// The disk's, or the recording is damaged.
    pub fn next_entry(&mut self) -> Result<Option<Recorded>, ReadError> {
        loop {
            if let Some(accesses) = &mut self.accesses {
                if let Some(entry) = accesses.take() {
                    return Ok(Some(self.counted(entry)));
                }
                if !accesses.is_over() {
                    return Err(self.damaged("no entry"));
                }
                self.accesses = None;
            }
            if let Some(length) = self.whole_entry()? {
                let begin = self.next;
                self.next += length;
                let image = &self.unpacked[begin..self.next];
                if let Some(image) = image.strip_prefix(&[accesses::NUMBER]) {
                    let Ok((accesses, &[])) = postcard::take_from_bytes(image) else {
                        return Err(self.damaged("no entry"));
                    };
                    self.accesses = Some(accesses);
                    continue;
                }
                let Ok((mut entry, &[])) = postcard::take_from_bytes(image) else {
                    return Err(self.damaged("no entry"));
                };
                self.numbers.make_numbers(&mut entry);
                return Ok(Some(self.counted(entry)));
            }
            if self.end.is_some() {
                return Ok(None);
            }
            self.unpacked.drain(..self.next);
            self.next = 0;
            self.unpack_block()?;
        }
    }

    fn counted(&mut self, entry: Recorded) -> Recorded {
        self.entries += 1;
        self.entered += entered(&entry);
        entry
    }

    /// The length of the next entry, if all of it is here. Then `next` is at its first byte.
    fn whole_entry(&mut self) -> Result<Option<usize>, ReadError> {
        let mut length = Length::default();
        for (index, byte) in self.unpacked[self.next..].iter().enumerate() {
            let Some(length) = length.take(*byte) else { continue };
            let is_possible = length.is_ok_and(|length| (1..=MOST_ENTRY).contains(&length));
            let Some(length) = length.ok().filter(|_| is_possible) else {
                return Err(self.damaged("no length of an entry"));
            };
            let (begin, length) = (self.next + index + 1, length as usize);
            let is_whole = self.unpacked.len() - begin >= length;
            if is_whole {
                self.next = begin;
            }
            return Ok(is_whole.then_some(length));
        }
        Ok(None)
    }

    fn unpack_block(&mut self) -> Result<(), ReadError> {
        let found = match self.ahead.take() {
            Some(found) => found,
            None => self.block(MOST_STORED)?,
        };
        match found {
            FilePart::CutOff(bytes) => self.end = Some(RecordingEnd::CutOff { bytes }),
            FilePart::Block { kind: kind::PLAIN } => self.unpacked.extend_from_slice(&self.stored),
            FilePart::Block { kind: kind::DEFLATED } => self.inflate()?,
            FilePart::Block { kind: kind::END } if !self.unpacked.is_empty() => {
                return Err(self.damaged("an end within an entry"));
            }
            FilePart::Block { kind: kind::END } => {
                let why = one_line(&String::from_utf8_lossy(&self.stored)).into_owned();
                self.end =
                    Some(if why.is_empty() { RecordingEnd::Whole } else { RecordingEnd::Early { why } });
                if (&mut self.file).take(1).read_to_end(&mut Vec::new())? > 0 {
                    return Err(self.damaged("bytes behind its end"));
                }
            }
            FilePart::Block { .. } => return Err(self.damaged("no kind of block")),
        }
        Ok(())
    }

    fn inflate(&mut self) -> Result<(), ReadError> {
        self.stored.extend_from_slice(&FLUSHED);
        let most = self.unpacked.len() + MOST;
        let mut taken = 0;
        loop {
            let before = self.inflate.total_in();
            // One byte of room is left in the end: then all has come.
            let room = (most + 1).saturating_sub(self.unpacked.len());
            self.unpacked.reserve_exact(room);
            let mut status = Ok(Status::BufError);
            if room > 0 {
                status = self.inflate.decompress_vec(
                    &self.stored[taken..],
                    &mut self.unpacked,
                    FlushDecompress::Sync,
                );
            }
            let more = (self.inflate.total_in() - before) as usize;
            taken += more;
            let is_over = self.unpacked.len() > most || matches!(status, Ok(Status::StreamEnd) | Err(_));
            if is_over || (more == 0 && taken < self.stored.len()) {
                return Err(self.damaged("no DEFLATE block"));
            }
            if taken == self.stored.len() {
                return Ok(());
            }
        }
    }

    /// Reads the next block.
    fn block(&mut self, most: u64) -> Result<FilePart, ReadError> {
        self.stored.clear();
        let (mut head, mut length) = (Vec::with_capacity(8), Length::default());
        let length = loop {
            let mut byte = [0];
            match self.file.read(&mut byte) {
                Ok(0) => return Ok(FilePart::CutOff(head.len() as u64)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            head.push(byte[0]);
            if head.len() > 1
                && let Some(length) = length.take(byte[0])
            {
                break length.ok().filter(|length| *length <= most);
            }
        };
        let Some(length) = length else { return Err(self.damaged("no length of a block")) };
        let read = (&mut self.file).take(length + 4).read_to_end(&mut self.stored)? as u64;
        if read < length + 4 {
            return Ok(FilePart::CutOff(head.len() as u64 + read));
        }
        let checksum = self.stored.split_off(length as usize);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&head);
        hasher.update(&self.stored);
        if hasher.finalize().to_le_bytes() != checksum[..] {
            return Err(self.damaged("a checksum that is another one"));
        }
        // A length in more bytes than it needs is none of ours.
        let mut shortest = vec![head[0]];
        put_length(length, &mut shortest);
        if shortest != head {
            return Err(self.damaged("no length of a block"));
        }
        self.at += head.len() as u64 + length + 4;
        Ok(FilePart::Block { kind: head[0] })
    }

    fn damaged(&self, why: &'static str) -> ReadError {
        ReadError::Damaged { at: self.at, why, entries: self.entries }
    }
}
