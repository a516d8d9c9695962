//! Messages to a platform's thread from other threads: sessions that join or have to leave. Requests of
//! sessions do not pass here.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use vp_protocols::native::{ErrorCode, SessionId, TimeMode};
use vp_shm::Bell;

use super::{JoiningAdapter, JoiningSession};

/// Command of the server to a platform's thread.
pub(crate) enum PlatformCommand {
    /// To take a session in.
    Join(Box<JoiningSession>),
    /// To take a session of another protocol in.
    JoinAdapted(Box<JoiningAdapter>),
    /// Asks which mode of time a session would get that wants this one.
    TellMode { wanted: TimeMode, tell: oneshot::Sender<TimeMode> },
    /// To end a session, which may have ended already.
    Dismiss { session: SessionId, code: ErrorCode, reason: &'static str },
    /// The last session has left: the thread ends.
    End,
    /// Whatever a model may do, for tests.
    #[cfg(test)]
    Do(Box<dyn FnOnce(&vp_core::Sim) + Send>),
}

/// Commands for a platform's thread, in the order in which they came.
pub(crate) struct Inbox {
    /// `None` once the thread has ended.
    commands: Mutex<Option<Vec<PlatformCommand>>>,
    /// True if commands wait; a hint for reading without the lock.
    is_waiting: AtomicBool,
    bell: Bell,
}

/// The platform's thread has ended.
#[derive(Debug)]
pub(crate) struct Closed;

impl Inbox {
    pub(crate) fn new() -> std::io::Result<Self> {
        let commands = Mutex::new(Some(Vec::new()));
        Ok(Self { commands, is_waiting: AtomicBool::new(false), bell: Bell::new()? })
    }

    fn commands(&self) -> MutexGuard<'_, Option<Vec<PlatformCommand>>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the thread lives.
    pub(crate) fn is_open(&self) -> bool {
        self.commands().is_some()
    }

    /// Sends a command, and wakes the thread.
    ///
    /// # Errors
    /// [`Closed`]; the command is dropped.
    pub(crate) fn send(&self, command: PlatformCommand) -> Result<(), Closed> {
        match &mut *self.commands() {
            Some(commands) => {
                commands.push(command);
                self.is_waiting.store(true, Ordering::Release);
            }
            None => return Err(Closed),
        }
        self.bell.ring();
        Ok(())
    }

    /// Takes what has come.
    pub(super) fn take(&self) -> Vec<PlatformCommand> {
        if !self.is_waiting() {
            return Vec::new();
        }
        let mut commands = self.commands();
        // A command that comes from here on is seen here before anybody sleeps, even if its ring is forgotten.
        self.is_waiting.store(false, Ordering::Relaxed);
        self.bell.clear();
        commands.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns true if commands wait.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Acquire)
    }

    /// Returns the file that can be read while commands wait.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Lets nothing in any more. Sessions that have not been taken in are told by their tasks.
    pub(super) fn close(&self) {
        let commands = self.commands().take();
        // Outside the lock.
        drop(commands);
    }
}
