//! The side that asks.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::layout::{BYTES, ENTRIES, HAS_AT, MAGIC, Memory, POSTED, READ, VERSION, WRITE};
use super::{Access, Line, Reply, Request, RingError};
use crate::{Bell, sealed};

/// A client's end of a ring. One access after the other: who shares it among threads locks it.
#[derive(Debug)]
pub struct Client {
    memory: Arc<Memory>,
    file: OwnedFd,
    /// The server's bell, and ours.
    server: Bell,
    own: Bell,
    /// Accesses written.
    asked: u32,
    /// Answers that will come, and that have been taken.
    expected: u32,
    answered: u32,
    /// How many accesses the server had taken when we last looked.
    taken: u32,
}

/// Reads a ring's interrupt line.
#[derive(Debug, Clone)]
pub struct LineReader(Arc<Memory>);

impl LineReader {
    /// The interrupt line as it is now.
    pub fn line(&self) -> Line {
        Line(self.0.line().load(Ordering::Acquire))
    }
}

impl Client {
    /// A new ring. What [`files`](Self::files) gives is for the server.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> Result<Self, RingError> {
        let file = sealed("vp-ring", BYTES)?;
        let memory = Arc::new(Memory::map(&file)?);
        memory.magic().store(MAGIC, Ordering::Relaxed);
        memory.version().store(VERSION, Ordering::Relaxed);
        memory.entries().store(ENTRIES, Ordering::Relaxed);
        let (server, own) = (Bell::new()?, Bell::new()?);
        Ok(Self { memory, file, server, own, asked: 0, expected: 0, answered: 0, taken: 0 })
    }

    /// The ring's memory, the server's bell, the client's bell: in the order in which the server wants them.
    pub fn files(&self) -> [BorrowedFd<'_>; 3] {
        [self.file.as_fd(), self.server.as_fd(), self.own.as_fd()]
    }

    /// Whether there is a place for an access, and for its answer.
    pub fn has_room(&mut self) -> bool {
        if self.expected.wrapping_sub(self.answered) >= ENTRIES {
            return false;
        }
        if self.asked.wrapping_sub(self.taken) < ENTRIES {
            return true;
        }
        let taken = self.memory.taken().load(Ordering::Acquire);
        // A server that claims to have taken what was never asked has not: then there is no room, for ever.
        if self.asked.wrapping_sub(taken) <= ENTRIES {
            self.taken = taken;
        }
        self.asked.wrapping_sub(self.taken) < ENTRIES
    }

    /// Asks. `false`: there is no room, and nothing was asked.
    #[must_use]
    pub fn ask(&mut self, request: Request) -> bool {
        if !self.has_room() {
            return false;
        }
        let entry = self.memory.request(self.asked);
        let (kind, value) = match request.access {
            Access::Read => (READ, 0),
            Access::Write(value) => (WRITE, value),
            Access::Posted(value) => (POSTED, value),
        };
        let kind = if request.at.is_some() { kind | HAS_AT } else { kind };
        entry.kind.store(kind, Ordering::Relaxed);
        entry.address.store(request.address, Ordering::Relaxed);
        entry.at.store(request.at.unwrap_or(0), Ordering::Relaxed);
        entry.value.store(value, Ordering::Relaxed);
        self.asked = self.asked.wrapping_add(1);
        entry.turn.store(self.asked, Ordering::Release);
        if !matches!(request.access, Access::Posted(_)) {
            self.expected = self.expected.wrapping_add(1);
        }
        // The entry stands before we look whether the server sleeps; it looks for entries after it has said so. One of the
        // two sees the other.
        fence(Ordering::SeqCst);
        let sleeps = self.memory.server_sleeps();
        if sleeps.load(Ordering::Relaxed) != 0 {
            sleeps.store(0, Ordering::Relaxed);
            self.server.ring();
        }
        true
    }

    /// The next answer, if it is there.
    pub fn answer(&mut self) -> Option<Reply> {
        let entry = self.memory.reply(self.answered);
        let turn = self.answered.wrapping_add(1);
        if entry.turn.load(Ordering::Acquire) != turn || self.answered == self.expected {
            return None;
        }
        self.answered = turn;
        Some(Reply {
            code: entry.code.load(Ordering::Relaxed),
            value: entry.value.load(Ordering::Relaxed),
            time: entry.time.load(Ordering::Relaxed),
            line: Line(entry.line.load(Ordering::Relaxed)),
        })
    }

    /// The interrupt line as it is now.
    pub fn line(&self) -> Line {
        Line(self.memory.line().load(Ordering::Acquire))
    }

    /// A way to the interrupt line for other threads.
    pub fn line_reader(&self) -> LineReader {
        LineReader(self.memory.clone())
    }

    /// Says that we are about to sleep. `false`: an answer is there, do not. After the sleep, and before the next look,
    /// [`wake`](Self::wake).
    pub fn fall_asleep(&mut self) -> bool {
        self.memory.client_sleeps().store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let turn = self.memory.reply(self.answered).turn.load(Ordering::Acquire);
        let is_there = turn == self.answered.wrapping_add(1);
        if is_there {
            self.wake();
        }
        !is_there
    }

    /// What becomes readable when an answer has come while we slept.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// Ends the sleep.
    pub fn wake(&mut self) {
        self.memory.client_sleeps().store(0, Ordering::Relaxed);
        self.own.hush();
    }
}
