//! The ends of the IP's DMA: runs of bytes, read and written in bursts, that a reset or an error response cuts short.
//!
//! AXI knows no taking back: what was asked for comes, and is taken. So a run that nobody wants any more, or of which a burst
//! was answered with an error, asks for nothing more, and ends when the rest has come.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::rc::Rc;

use super::architecture::Architecture;
use crate::bus::axi::{Interconnect, ReadStream, ReadStreamConfig, Unmapped, WriteStream};
use vp_core::{Sim, Time};

/// Bursts that wait for the arbiter at most, of each writer.
const BURSTS_AHEAD: usize = 4;

/// Reason for which a run of bytes is not whole.
pub(super) enum Cut {
    /// Nobody wanted it any more.
    Unwanted,
    /// A burst of it was answered with an error.
    Refused(Unmapped),
}

/// Reads of one kind.
pub(super) struct Reader {
    stream: Rc<ReadStream>,
    /// Bytes that are asked for at once; there is room for two.
    part: u32,
}

impl Reader {
    pub(super) fn new(memory: &Rc<Interconnect>, name: &str, id: u32, architecture: &Architecture) -> Reader {
        let capacity = architecture.read_buffer;
        let config = ReadStreamConfig { capacity, lines: u32::MAX, credit_return: Time::ZERO };
        Reader { stream: ReadStream::new(memory, name, id, config), part: capacity / 2 }
    }

    /// Reads bytes; `came` hears of each part that comes while it is wanted and without an error.
    pub(super) async fn read(
        &self,
        address: u32,
        bytes: u64,
        is_wanted: impl Fn() -> bool,
        came: impl Fn(u64),
    ) -> Result<Vec<u8>, Cut> {
        let part = u64::from(self.part);
        let (mut asked, mut data, mut refused) = (0, Vec::new(), None);
        while (data.len() as u64) < bytes {
            while asked < bytes && asked < data.len() as u64 + 2 * part && refused.is_none() && is_wanted() {
                let next = part.min(bytes - asked);
                self.stream.request(u64::from(address) + asked, next as u32).await;
                asked += next;
            }
            let taken = data.len();
            if asked == taken as u64 {
                break;
            }
            let next = part.min(asked - taken as u64);
            data.resize(taken + next as usize, 0);
            self.stream.take(&mut data[taken..]).await;
            refused = refused.or(self.stream.take_refused());
            if refused.is_none() && is_wanted() {
                came(next);
            }
        }
        cut(is_wanted(), refused).map(|()| data)
    }
}

/// Writes of one kind.
pub(super) struct Writer {
    sim: Sim,
    cycle: Time,
    stream: Rc<WriteStream>,
    word: u32,
    burst: u32,
}

impl Writer {
    pub(super) fn new(
        sim: &Sim,
        cycle: Time,
        memory: &Rc<Interconnect>,
        name: &str,
        id: u32,
        architecture: &Architecture,
    ) -> Writer {
        let stream = WriteStream::new(memory, name, id);
        let (word, burst) = (architecture.memory_word, architecture.burst * architecture.memory_word);
        Writer { sim: sim.clone(), cycle, stream, word, burst }
    }

    /// Writes bytes, a memory word a cycle, and waits until they are in memory; `gone` hears of each part while it is wanted.
    pub(super) async fn write(
        &self,
        address: u32,
        data: &[u8],
        is_wanted: impl Fn() -> bool,
        gone: impl Fn(u64),
    ) -> Result<(), Cut> {
        let (mut at, mut refused) = (u64::from(address), None);
        for part in data.chunks(self.burst as usize) {
            if !is_wanted() || refused.is_some() {
                break;
            }
            let bytes = part.len() as u32;
            self.sim.wait(self.cycle * u64::from(bytes.div_ceil(self.word))).await;
            self.stream.line(at, bytes);
            self.stream.put(part, BURSTS_AHEAD).await;
            at += u64::from(bytes);
            if is_wanted() {
                gone(bytes.into());
            }
            refused = self.stream.take_refused();
        }
        self.stream.drained().await;
        cut(is_wanted(), refused.or(self.stream.take_refused()))
    }
}

fn cut(is_wanted: bool, refused: Option<Unmapped>) -> Result<(), Cut> {
    match refused {
        _ if !is_wanted => Err(Cut::Unwanted),
        Some(refused) => Err(Cut::Refused(refused)),
        None => Ok(()),
    }
}

impl Reader {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Reader { stream, part: _ } = self;
        stream.checkpoint(at)
    }
}

impl Writer {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Writer { sim: _, cycle: _, stream, word: _, burst: _ } = self;
        stream.checkpoint(at)
    }
}
