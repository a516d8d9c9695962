//! What a session has put into an instance and not got back: the measure for its back-pressure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// One session's account.
#[derive(Default)]
pub(in crate::server) struct Account {
    commands: AtomicUsize,
    bytes: AtomicUsize,
    notices: AtomicUsize,
    paid: Notify,
    put_out: Notify,
}

impl Account {
    /// Puts a command with as many bytes of data on the account, until the charge is dropped.
    pub(in crate::server) fn charge(self: &Arc<Self>, bytes: usize) -> Charge {
        self.commands.fetch_add(1, Ordering::Relaxed);
        if bytes > 0 {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Charge { account: self.clone(), bytes }
    }

    /// Whether no more than this is outstanding.
    pub(in crate::server) fn is_within(&self, commands: usize, bytes: usize) -> bool {
        self.commands.load(Ordering::Relaxed) < commands && self.bytes.load(Ordering::Relaxed) < bytes
    }

    /// Waits until something is paid back.
    pub(in crate::server) async fn paid(&self) {
        self.paid.notified().await;
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
    pub(in crate::server) async fn is_put_out(&self) {
        self.put_out.notified().await;
    }

    /// The session has taken a notice.
    pub(in crate::server) fn notice_taken(&self) {
        self.notices.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A command on a session's account; dropped when the command is carried out and its answer is on its way.
pub(in crate::server) struct Charge {
    account: Arc<Account>,
    bytes: usize,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.commands.fetch_sub(1, Ordering::Relaxed);
        if self.bytes > 0 {
            self.account.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
        self.account.paid.notify_one();
    }
}
