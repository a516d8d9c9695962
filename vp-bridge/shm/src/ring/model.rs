//! The parts of a ring in the model checker loom. It runs the two ends in every possible order, and with every
//! value that a load may give by the rules of the memory model.
//!
//! Words are loom's. A bell is a flag behind loom's lock. Nothing else wakes a sleeping side, and time does not
//! pass: a side that would sleep for ever is a deadlock, which loom reports.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p vp-shm --release --lib ring::model --target-dir target/loom
//! ```

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::sync::{Arc, Condvar, Mutex};

use super::layout::{ENTRIES, Memory, REPLIES, REQUESTS, SIZE};
use super::{Client, Server};

/// The words of a ring's memory, by offset, zero.
#[derive(Debug)]
pub(super) struct Mapping {
    words: BTreeMap<usize, AtomicU32>,
    longs: BTreeMap<usize, AtomicU64>,
}

impl Mapping {
    fn new() -> Self {
        // Each costs the model checker time: those of the header, and of the entries, that the two ends use.
        let header = [0x40, 0x80, 0xc0, 0xc4];
        let entries = (0..ENTRIES as usize).flat_map(|entry| [REQUESTS, REPLIES].map(|at| at + entry * SIZE));
        let words = entries.clone().flat_map(|at| [0, 4, 8, 12, 24].map(|offset| at + offset));
        let longs = entries.flat_map(|at| [8, 16].map(|offset| at + offset));
        Self {
            words: header.into_iter().chain(words).map(|at| (at, AtomicU32::new(0))).collect(),
            longs: longs.map(|at| (at, AtomicU64::new(0))).collect(),
        }
    }

    pub(super) fn word(&self, offset: usize) -> &AtomicU32 {
        &self.words[&offset]
    }

    pub(super) fn long(&self, offset: usize) -> &AtomicU64 {
        &self.longs[&offset]
    }
}

/// An eventfd that both sides have.
#[derive(Debug, Clone)]
pub(super) struct Bell(Arc<(Mutex<bool>, Condvar)>);

impl Bell {
    fn new() -> Self {
        Self(Arc::new((Mutex::new(false), Condvar::new())))
    }

    pub(super) fn ring(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_one();
    }

    pub(super) fn clear(&self) {
        *self.0.0.lock().unwrap() = false;
    }

    pub(super) fn wait(&self, _: &[BorrowedFd<'_>], _: &[BorrowedFd<'_>], _: Option<Duration>) -> bool {
        let mut rung = self.0.0.lock().unwrap();
        while !*rung {
            rung = self.0.1.wait(rung).unwrap();
        }
        true
    }
}

/// Returns both ends of a ring.
fn pair() -> (Client, Server) {
    let memory = std::sync::Arc::new(Memory(Mapping::new()));
    let (at_server, at_client) = (Bell::new(), Bell::new());
    let client = Client::on(memory.clone(), at_server.clone(), at_client.clone());
    (client, Server::on(memory, at_server, at_client))
}
