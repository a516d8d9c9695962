//! The server's end of a ring.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::layout::{ENTRIES, HAS_AT, Memory, POSTED, READ, WRITE};
use super::sync::{Bell, Ordering};
use super::wakeup::WakeupSide;
use super::{Access, Line, Reply, Request};

/// An invalid entry: the client has broken the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("access {number} in the ring is of kind {kind}, which there is none of")]
pub struct BadEntry {
    /// Number of the access, from 0.
    pub number: u32,
    /// The kind in the entry.
    pub kind: u32,
}

/// A server's end of a ring.
#[derive(Debug)]
pub struct Server {
    memory: Arc<Memory>,
    pub(super) own: Bell,
    client: Bell,
    /// Accesses taken.
    taken: u32,
    /// Answers owed, and given.
    owed: u32,
    given: u32,
    line: Line,
}

impl Server {
    /// In memory that has been looked at.
    pub(super) fn on(memory: Arc<Memory>, own: Bell, client: Bell) -> Self {
        let line = Line::default();
        let server = Self { memory, own, client, taken: 0, owed: 0, given: 0, line };
        // Until it has looked for the first time it does not look by itself.
        server.sleeper().announce();
        server
    }

    /// Returns true if an access has come that can be [taken](Self::take).
    pub fn is_asked(&self) -> bool {
        self.owed() < ENTRIES && self.has_come()
    }

    fn has_come(&self) -> bool {
        self.memory.request(self.taken).turn.load(Ordering::Acquire) == self.taken.wrapping_add(1)
    }

    /// Takes the next access, if one has come. None is taken while [`ENTRIES`] accesses are unanswered.
    ///
    /// # Errors
    /// [`BadEntry`]: the ring is not to be used any more.
    pub fn take(&mut self) -> Result<Option<Request>, BadEntry> {
        if !self.is_asked() {
            return Ok(None);
        }
        let entry = self.memory.request(self.taken);
        // Each word is read once: what the client changes meanwhile makes it another access, and no worse.
        let kind = entry.kind.load(Ordering::Relaxed);
        let (address, value) = (entry.address.load(Ordering::Relaxed), entry.value.load(Ordering::Relaxed));
        let at = (kind & HAS_AT != 0).then(|| entry.at.load(Ordering::Relaxed));
        let access = match kind & !HAS_AT {
            READ => Access::Read,
            WRITE => Access::Write(value),
            POSTED => Access::Posted(value),
            _ => return Err(BadEntry { number: self.taken, kind }),
        };
        self.taken = self.taken.wrapping_add(1);
        self.memory.taken().store(self.taken, Ordering::Release);
        // There is room now, and to a posted write no answer will come.
        self.wake_client();
        if !matches!(access, Access::Posted(_)) {
            self.owed = self.owed.wrapping_add(1);
        }
        Ok(Some(Request { access, address, at }))
    }

    /// Answers the oldest access that has no answer. The answer has the line's level as last
    /// [set](Self::set_line). Does nothing when no access waits for an answer.
    pub fn answer(&mut self, code: u32, value: u32, time: u64) {
        if self.given == self.owed {
            return;
        }
        let entry = self.memory.reply(self.given);
        entry.code.store(code, Ordering::Relaxed);
        entry.value.store(value, Ordering::Relaxed);
        entry.time.store(time, Ordering::Relaxed);
        entry.line.store(self.line.0, Ordering::Relaxed);
        self.given = self.given.wrapping_add(1);
        entry.turn.store(self.given, Ordering::Release);
        self.wake_client();
    }

    /// Returns the number of answers that are owed.
    pub fn owed(&self) -> u32 {
        self.owed.wrapping_sub(self.given)
    }

    /// Sets the level of the interrupt line, in memory and in the answers from now on.
    pub fn set_line(&mut self, level: bool) {
        self.line = self.line.changed(level);
        self.memory.line().store(self.line.0, Ordering::Release);
    }

    /// Announces that this side is about to sleep, or busy for long: the client rings after an access. `false`:
    /// an access is there, do not sleep. After the sleep, and before the next look, call [`wake`](Self::wake).
    pub fn fall_asleep(&self) -> bool {
        self.sleeper().announce();
        !self.is_asked()
    }

    /// Ends the sleep: this side looks again, so the client need not ring. Clears the bell.
    pub fn wake(&self) {
        self.sleeper().end();
    }

    /// Sleeps until an access has come, one of `files` can be read, or one of these or of `streams` ends. For a
    /// side with only this ring. With several rings, announce the sleep to all of them, and wait for all
    /// [bells](Self::bell).
    pub fn sleep(&self, files: &[BorrowedFd<'_>], streams: &[BorrowedFd<'_>]) {
        if self.fall_asleep() {
            self.own.wait(files, streams, None);
        }
        self.wake();
    }

    fn sleeper(&self) -> WakeupSide<'_> {
        WakeupSide { sleeps: self.memory.server_sleeps(), bell: &self.own }
    }

    fn wake_client(&self) {
        WakeupSide { sleeps: self.memory.client_sleeps(), bell: &self.client }.wake();
    }
}

impl Reply {
    /// Returns true if the access was done.
    pub fn is_done(&self) -> bool {
        self.code == 0
    }
}
