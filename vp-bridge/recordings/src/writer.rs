//! Writing a recording.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress};
use vp_models::hub::Recorded;

use super::block::{FLUSHED, MAGIC, MOST, MOST_ENTRY, VERSION, kind, put, put_length};
use super::header::Header;
use super::numbers::Numbers;

/// Data of so many bytes, or more, is not compressed if that would gain little.
const LONG: usize = 4096;
/// So many of its bytes are looked at to find out.
const SAMPLES: usize = 1024;
/// If they have more values than this, it would.
const MANY_VALUES: usize = 80;

/// Writes a recording.
pub struct Writer<W> {
    file: W,
    numbers: Numbers,
    /// Entries that are in no block yet.
    waiting: Vec<u8>,
    deflate: Compress,
    deflated: Vec<u8>,
    /// Blocks that are not in the file yet.
    blocks: Vec<u8>,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a recording in an empty file.
    ///
    /// # Errors
    /// The file's.
    pub fn new(file: W, header: &Header) -> io::Result<Writer<W>> {
        let mut writer = Writer {
            file,
            numbers: Numbers::default(),
            waiting: Vec::new(),
            deflate: Compress::new(Compression::fast(), false),
            deflated: Vec::new(),
            blocks: Vec::new(),
            written: 0,
        };
        writer.blocks.extend_from_slice(&MAGIC);
        writer.blocks.extend_from_slice(&VERSION.to_le_bytes());
        let text = toml::to_string(header).map_err(io::Error::other)?;
        put(kind::HEADER, text.as_bytes(), &mut writer.blocks);
        writer.write_blocks()?;
        Ok(writer)
    }

    /// Adds an entry. It may not be in the file before [`flush`](Writer::flush).
    ///
    /// # Errors
    /// The file's, or that the entry is too long.
    pub fn add(&mut self, mut entry: Recorded) -> io::Result<()> {
        self.numbers.to_differences(&mut entry);
        let begin = self.waiting.len();
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting = postcard::to_extend(&entry, waiting).map_err(io::Error::other)?;
        let length = (self.waiting.len() - begin) as u64;
        if length > MOST_ENTRY {
            return Err(io::Error::other(format!(
                "an input of {length} bytes: at most 2^30 can be recorded"
            )));
        }
        let mut prefix = Vec::with_capacity(5);
        put_length(length, &mut prefix);
        self.waiting.splice(begin..begin, prefix);
        if self.waiting.len() >= MOST {
            let whole = self.waiting.len() / MOST * MOST;
            self.block_up(whole)?;
        }
        Ok(())
    }

    /// Hands all entries to the system.
    ///
    /// # Errors
    /// The file's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.block_up(self.waiting.len())
    }

    /// Ends the recording: with the run, or before it for this reason.
    ///
    /// # Errors
    /// The file's.
    pub fn end(&mut self, why: Option<&str>) -> io::Result<()> {
        self.flush()?;
        put(kind::END, why.unwrap_or_default().as_bytes(), &mut self.blocks);
        self.write_blocks()
    }

    /// Bytes of the file up to the last whole block.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The file.
    pub fn file(&self) -> &W {
        &self.file
    }

    /// Makes blocks of so many bytes that wait, and writes them.
    fn block_up(&mut self, bytes: usize) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        for part in waiting[..bytes].chunks(MOST) {
            match is_dense(part) {
                true => put(kind::PLAIN, part, &mut self.blocks),
                false => self.deflate(part)?,
            }
            if self.blocks.len() >= 16 * MOST {
                self.write_blocks()?;
            }
        }
        self.waiting = waiting;
        self.waiting.drain(..bytes);
        self.write_blocks()
    }

    fn deflate(&mut self, part: &[u8]) -> io::Result<()> {
        self.deflated.clear();
        let before = self.deflate.total_in();
        loop {
            self.deflated.reserve(part.len() / 2 + 64);
            let done = (self.deflate.total_in() - before) as usize;
            self.deflate
                .compress_vec(&part[done..], &mut self.deflated, FlushCompress::Sync)
                .map_err(io::Error::other)?;
            let is_taken = self.deflate.total_in() - before == part.len() as u64;
            if is_taken && self.deflated.len() < self.deflated.capacity() {
                break;
            }
        }
        let stored = self.deflated.strip_suffix(&FLUSHED).unwrap_or(&self.deflated);
        put(kind::DEFLATED, stored, &mut self.blocks);
        Ok(())
    }

    fn write_blocks(&mut self) -> io::Result<()> {
        self.file.write_all(&self.blocks)?;
        self.written += self.blocks.len() as u64;
        self.blocks.clear();
        Ok(())
    }
}

/// Whether data is long, and has hardly anything to compress, such as weights.
fn is_dense(data: &[u8]) -> bool {
    if data.len() < LONG {
        return false;
    }
    let mut is_seen = [false; 256];
    data.iter().step_by(data.len() / SAMPLES).for_each(|byte| is_seen[usize::from(*byte)] = true);
    is_seen.iter().filter(|seen| **seen).count() > MANY_VALUES
}
