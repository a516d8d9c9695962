//! The ends of the IP's DMA: runs of bytes, read and written in bursts, that a reset cuts short.
//!
//! AXI knows no taking back: what was asked for comes, and is taken. So a run that nobody wants any more asks for nothing
//! more, and ends when the rest has come.

use std::rc::Rc;

use super::architecture::Architecture;
use crate::bus::axi::{Interconnect, ReadStream, ReadStreamConfig, WriteStream};
use vp_core::{Sim, Time};

/// Bursts that wait for the arbiter at most, of each writer.
const BURSTS_AHEAD: u32 = 4;

/// Reads of one kind.
pub(super) struct Reader {
    stream: Rc<ReadStream>,
    /// Bytes that are asked for at once; there is room for two.
    part: u32,
}

impl Reader {
    pub(super) fn new(memory: &Rc<Interconnect>, name: &str, id: u32, architecture: &Architecture) -> Reader {
        let capacity = architecture.read_buffer;
        let config = ReadStreamConfig { capacity, credit_return: Time::ZERO };
        Reader { stream: ReadStream::new(memory, name, id, config), part: capacity / 2 }
    }

    /// Reads bytes; `came` hears of each part that comes while it is wanted. `None`: they were not wanted any more.
    pub(super) async fn read(
        &self,
        address: u32,
        bytes: u64,
        is_wanted: impl Fn() -> bool,
        came: impl Fn(u64),
    ) -> Option<Vec<u8>> {
        let part = u64::from(self.part);
        let (mut asked, mut data) = (0, Vec::new());
        while (data.len() as u64) < bytes {
            while asked < bytes && asked < data.len() as u64 + 2 * part && is_wanted() {
                let next = part.min(bytes - asked);
                self.stream.request(u64::from(address) + asked, next as u32).await;
                asked += next;
            }
            let taken = data.len();
            if asked == taken as u64 {
                return None;
            }
            let next = part.min(asked - taken as u64);
            data.resize(taken + next as usize, 0);
            self.stream.take(&mut data[taken..]).await;
            if is_wanted() {
                came(next);
            }
        }
        is_wanted().then_some(data)
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
        let stream = WriteStream::new(memory, name, id, BURSTS_AHEAD);
        let (word, burst) = (architecture.memory_word, architecture.burst * architecture.memory_word);
        Writer { sim: sim.clone(), cycle, stream, word, burst }
    }

    /// Writes bytes, a memory word a cycle, and waits until they are in memory; `gone` hears of each part while it is wanted. `false`: they
    /// were not wanted any more, and not all are written.
    pub(super) async fn write(
        &self,
        address: u32,
        data: &[u8],
        is_wanted: impl Fn() -> bool,
        gone: impl Fn(u64),
    ) -> bool {
        let mut at = u64::from(address);
        for part in data.chunks(self.burst as usize) {
            if !is_wanted() {
                break;
            }
            let bytes = part.len() as u32;
            self.sim.wait(self.cycle * u64::from(bytes.div_ceil(self.word))).await;
            self.stream.line(at, bytes);
            self.stream.put(part).await;
            at += u64::from(bytes);
            if is_wanted() {
                gone(bytes.into());
            }
        }
        self.stream.drained().await;
        is_wanted()
    }
}
