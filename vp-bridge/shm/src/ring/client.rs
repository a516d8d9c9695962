//! The client's end of a ring.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::layout::{ENTRIES, HAS_AT, Memory, POSTED, READ, WRITE};
use super::sync::{Bell, Ordering};
use super::wakeup::WakeupSide;
use super::{Access, Line, Reply, Request, Wait};
use crate::AdaptiveSpin;

/// A client's end of a ring. It makes one access after the other: threads that share it have to lock it.
#[derive(Debug)]
pub struct Client {
    memory: Arc<Memory>,
    #[cfg(not(loom))]
    pub(super) file: std::os::fd::OwnedFd,
    /// The server's bell, and ours.
    pub(super) server: Bell,
    pub(super) own: Bell,
    /// Accesses written.
    asked: u32,
    /// Answers that will come, and that have been taken.
    expected: u32,
    answered: u32,
    /// Number of accesses that the server had taken when we last looked.
    taken: u32,
    /// For the next wait.
    spin: AdaptiveSpin,
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
    /// In memory that lies in this file.
    pub(super) fn on(
        memory: Arc<Memory>,
        #[cfg(not(loom))] file: std::os::fd::OwnedFd,
        server: Bell,
        own: Bell,
    ) -> Self {
        Self {
            memory,
            #[cfg(not(loom))]
            file,
            server,
            own,
            asked: 0,
            expected: 0,
            answered: 0,
            taken: 0,
            spin: AdaptiveSpin::default(),
        }
    }

    /// Returns true if there is a place for an access, and for its answer.
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

    /// Sends an access. `false`: there is no room, and nothing was sent.
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
        WakeupSide { sleeps: self.memory.server_sleeps(), bell: &self.server }.wake();
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

    /// A handle to the interrupt line for other threads.
    pub fn line_reader(&self) -> LineReader {
        LineReader(self.memory.clone())
    }

    /// Waits, in several turns, until `take` returns something: room to [`ask`](Self::ask), an
    /// [`answer`](Self::answer), or either. `None`: nothing yet. Then the caller looks at its stream, if it
    /// listens to it here, decides whether to go on, and calls again with the same `wait`.
    ///
    /// The first turns only poll. Later ones sleep until the server rings, one of `files` can be read, one of
    /// these or of `streams` ends, or `wait` is over. The server rings for an answer and for taking an access.
    pub fn wait<T>(
        &mut self,
        wait: &mut Wait,
        files: &[BorrowedFd<'_>],
        streams: &[BorrowedFd<'_>],
        mut take: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if wait.is_new() {
            self.spin.begin();
        }
        if wait.has_looked() {
            self.sleeper().announce();
            let taken = take(self);
            if taken.is_none() {
                self.spin.give_up();
                self.own.wait(files, streams, wait.left());
            }
            self.sleeper().end();
            if taken.is_some() {
                return taken;
            }
        }
        // `take` needs the rest of this client meanwhile.
        let mut spin = std::mem::take(&mut self.spin);
        let taken = wait.look(&mut spin, || take(self));
        self.spin = spin;
        taken
    }

    fn sleeper(&self) -> WakeupSide<'_> {
        WakeupSide { sleeps: self.memory.client_sleeps(), bell: &self.own }
    }
}
