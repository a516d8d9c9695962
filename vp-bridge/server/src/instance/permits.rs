//! The work that a session has given to its platform and that is not finished: the measure for its
//! back-pressure.

use std::cell::Cell;
use std::rc::Rc;

/// Numbers of commands and bytes of one session that are under way.
#[derive(Default)]
pub(super) struct Permits {
    commands: Cell<usize>,
    bytes: Cell<usize>,
    notices: Cell<usize>,
}

impl Permits {
    /// Counts a command with so many bytes of data, until the permit is dropped.
    pub(super) fn permit(self: &Rc<Self>, bytes: usize) -> Permit {
        self.commands.update(|commands| commands + 1);
        self.bytes.update(|sum| sum + bytes);
        Permit { permits: self.clone(), bytes }
    }

    /// Returns true if no more than this is outstanding.
    pub(super) fn is_within(&self, commands: usize, bytes: usize) -> bool {
        self.commands.get() < commands && self.bytes.get() < bytes
    }

    /// A notice goes to the session; says how many it has not taken, this one included.
    pub(super) fn notice_sent(&self) -> usize {
        self.notices.update(|notices| notices + 1);
        self.notices.get()
    }

    /// Returns the number of notices that the session has not taken.
    pub(super) fn notices(&self) -> usize {
        self.notices.get()
    }

    /// The session has taken a notice.
    pub(super) fn notice_taken(&self) {
        self.notices.update(|notices| notices - 1);
    }
}

/// Given for a command; dropped when the command is carried out and its answer is on its way.
pub(super) struct Permit {
    permits: Rc<Permits>,
    bytes: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.permits.commands.update(|commands| commands - 1);
        self.permits.bytes.update(|sum| sum - self.bytes);
    }
}
