//! What a session has put into an instance and not got back: the measure for its back-pressure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How many commands and bytes of one session are under way.
#[derive(Default)]
pub(crate) struct Permits {
    commands: AtomicUsize,
    bytes: AtomicUsize,
    notices: AtomicUsize,
    released: Notify,
    put_out: Notify,
}

impl Permits {
    /// Counts a command with so many bytes of data, until the permit is dropped.
    pub(crate) fn permit(self: &Arc<Self>, bytes: usize) -> Permit {
        self.commands.fetch_add(1, Ordering::Relaxed);
        if bytes > 0 {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Permit { permits: self.clone(), bytes }
    }

    /// Whether no more than this is outstanding.
    pub(crate) fn is_within(&self, commands: usize, bytes: usize) -> bool {
        self.commands.load(Ordering::Relaxed) < commands && self.bytes.load(Ordering::Relaxed) < bytes
    }

    /// Waits until a permit is released.
    pub(crate) async fn released(&self) {
        self.released.notified().await;
    }

    /// A notice goes to the session; says how many it has not taken, this one included.
    pub(super) fn notice_sent(&self) -> usize {
        self.notices.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many notices it has not taken.
    pub(super) fn notices(&self) -> usize {
        self.notices.load(Ordering::Relaxed)
    }

    /// The session has to go, even if its peer does not read.
    pub(super) fn put_out(&self) {
        self.put_out.notify_one();
    }

    /// Waits until the session has to go. What it is to be told lies in its channel.
    pub(crate) async fn is_put_out(&self) {
        self.put_out.notified().await;
    }

    /// The session has taken a notice.
    pub(crate) fn notice_taken(&self) {
        self.notices.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Given for a command; dropped when the command is carried out and its answer is on its way.
pub(crate) struct Permit {
    permits: Arc<Permits>,
    bytes: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.permits.commands.fetch_sub(1, Ordering::Relaxed);
        if self.bytes > 0 {
            self.permits.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
        self.permits.released.notify_one();
    }
}
