//! Watching a link's files from its task.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

use tokio::io::unix::AsyncFd;

use super::Link;
use super::inside::Wants;

/// What the task watches of a link.
pub(super) struct Watched(pub(super) Arc<Link>, pub(super) What);

/// Which of its files.
pub(super) enum What {
    Socket,
    Bell,
}

impl Watched {
    /// Has the runtime watch it, until what comes back is dropped.
    #[expect(unsafe_code, reason = "the runtime knows the file by its number only")]
    pub(super) fn register(self) -> std::io::Result<AsyncFd<Self>> {
        // SAFETY: the number stays the same and the file open as long as the runtime watches it: `self`, which the
        // result owns, keeps the link alive, whose socket is never changed and whose bell is set once, before it is watched.
        Ok(unsafe { AsyncFd::register(self) }?)
    }
}

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match (&self.1, self.0.bell.get()) {
            (What::Bell, Some(bell)) => bell.as_fd(),
            _ => self.0.socket.as_fd(),
        }
    }
}

/// Until the socket can do what is wanted.
pub(super) async fn ready(socket: Option<&AsyncFd<Watched>>, wants: Wants) {
    let Some(socket) = socket else { return std::future::pending().await };
    // What is forgotten here is tried next, before anything is waited for again.
    let forget = |mut guard: tokio::io::unix::AsyncFdReadyGuard<'_, Watched>| guard.clear_ready();
    // An error ends the wait: the next read or write finds it as well.
    tokio::select! {
        input = socket.readable(), if wants.input => drop(input.map(forget)),
        room = socket.writable(), if wants.room => drop(room.map(forget)),
        else => std::future::pending().await,
    }
}

/// Until the bell is rung.
pub(super) async fn rung(bell: Option<&AsyncFd<Watched>>) {
    match bell {
        Some(bell) => drop(bell.readable().await.map(|mut guard| guard.clear_ready())),
        None => std::future::pending().await,
    }
}
