//! Writing a recording.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress};
use postcard::ser_flavors::Flavor;
use serde::Serialize;
use vp_hub::Recorded;

use super::accesses::{self, Accesses};
use super::block::{FLUSHED, MAGIC, MOST, MOST_ENTRY, VERSION, kind, put, put_length};
use super::header::Header;
use super::numbers::Numbers;

/// Data of so many bytes, or more, is not compressed if that would gain little.
const LONG: usize = 4096;
/// Number of bytes that are looked at to find that out.
const SAMPLES: usize = 1024;
/// If they have more values than this, it would.
const MANY_VALUES: usize = 80;

/// Writes a recording.
pub struct Writer<W> {
    file: W,
    numbers: Numbers,
    /// Direct accesses that are no entry yet.
    accesses: Accesses,
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
            accesses: Accesses::default(),
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

    /// Says that the run does not begin at power-on, but goes on from a saved platform. Before the first entry.
    ///
    /// # Errors
    /// The file's, or that it is too long.
    pub fn begin_from(&mut self, saved: &[u8]) -> io::Result<()> {
        if saved.len() as u64 > MOST_ENTRY {
            let what = format!("a saved platform of {} bytes: at most 2^30 can be recorded", saved.len());
            return Err(io::Error::other(what));
        }
        saved.chunks(MOST).for_each(|part| put(kind::SAVED, part, &mut self.blocks));
        self.write_blocks()
    }

    /// Returns the writer with its file changed.
    ///
    /// # Errors
    /// The change's.
    pub(crate) fn into_file<V>(self, change: impl FnOnce(W) -> io::Result<V>) -> io::Result<Writer<V>> {
        let Writer { file, numbers, accesses, waiting, deflate, deflated, blocks, written } = self;
        Ok(Writer { file: change(file)?, numbers, accesses, waiting, deflate, deflated, blocks, written })
    }

    /// Adds an entry. It may not be in the file before [`flush`](Writer::flush).
    ///
    /// # Errors
    /// The file's, or that the entry is too long.
    pub fn add(&mut self, mut entry: Recorded) -> io::Result<()> {
        if let Recorded::Accessed(accessed) = &entry {
            return match self.accesses.add(accessed.as_deref()) {
                true => self.add_accesses(),
                false => Ok(()),
            };
        }
        self.add_accesses()?;
        self.numbers.make_differences(&mut entry);
        self.append(&entry, None)
    }

    /// Adds an entry of the accesses that are in none.
    fn add_accesses(&mut self) -> io::Result<()> {
        if self.accesses.is_empty() {
            return Ok(());
        }
        let accesses = std::mem::take(&mut self.accesses);
        self.append(&accesses, Some(accesses::NUMBER))
    }

    /// Appends an entry, behind its number if that is not in its image.
    fn append(&mut self, entry: &impl Serialize, number: Option<u8>) -> io::Result<()> {
        let image = postcard::experimental::serialized_size(entry).map_err(io::Error::other)?;
        let length = image as u64 + u64::from(number.is_some());
        if length > MOST_ENTRY {
            return Err(io::Error::other(format!(
                "an input of {length} bytes: at most 2^30 can be recorded"
            )));
        }
        put_length(length, &mut self.waiting);
        self.waiting.extend(number);
        let mut failed = None;
        let done = postcard::serialize_with_flavor(entry, Image { writer: self, failed: &mut failed });
        if let Err(error) = done {
            return Err(failed.unwrap_or_else(|| io::Error::other(error)));
        }
        if self.waiting.len() >= MOST {
            self.block_up()?;
        }
        Ok(())
    }

    /// Hands all entries to the system.
    ///
    /// # Errors
    /// The file's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.add_accesses()?;
        self.block_up()?;
        self.write_blocks()
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

    /// Makes blocks of what waits.
    fn block_up(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let done = self.put_blocks(&waiting);
        self.waiting = waiting;
        self.waiting.clear();
        done
    }

    /// Makes blocks of these bytes; of very many, writes them.
    fn put_blocks(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(MOST) {
            match is_dense(part) {
                true => put(kind::PLAIN, part, &mut self.blocks),
                false => self.deflate(part)?,
            }
            if self.blocks.len() >= 4 * MOST {
                self.write_blocks()?;
            }
        }
        Ok(())
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

/// Takes the image of an entry. Long data goes from where it is into blocks.
struct Image<'a, W> {
    writer: &'a mut Writer<W>,
    failed: &'a mut Option<io::Error>,
}

impl<W: Write> Flavor for Image<'_, W> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.writer.waiting.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        if data.len() < MOST {
            self.writer.waiting.extend_from_slice(data);
            return Ok(());
        }
        let done = self.writer.block_up().and_then(|()| self.writer.put_blocks(data));
        done.map_err(|error| {
            *self.failed = Some(error);
            postcard::Error::SerializeBufferFull
        })
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Returns true if data is long, and has hardly anything to compress, such as weights.
fn is_dense(data: &[u8]) -> bool {
    if data.len() < LONG {
        return false;
    }
    let mut is_seen = [false; 256];
    data.iter().step_by(data.len() / SAMPLES).for_each(|byte| is_seen[usize::from(*byte)] = true);
    is_seen.iter().filter(|seen| **seen).count() > MANY_VALUES
}
