//! Files that have come with a session's stream and that no request has taken.

use std::collections::VecDeque;
use std::io;

use vp_shm::descriptors::{MOST, Passed};
use vp_transport::Socket;

use super::quota::{QuotaExceeded, QuotaShare, Quotas, Usage};

/// A file, and its place in the quotas.
pub(super) struct File {
    pub(super) file: Passed,
    _taken: [QuotaShare; 2],
}

/// The files, in the order in which they came. A file beyond a quota is closed, and its request fails.
pub(super) struct Files {
    came: VecDeque<Result<File, QuotaExceeded>>,
    quotas: Quotas,
}

impl Files {
    pub(super) fn new(quotas: Quotas) -> Self {
        Self { came: VecDeque::new(), quotas }
    }

    /// Reads bytes, as [`Socket::receive`] does, and keeps the files that come beside them, or some too many.
    pub(super) fn receive(&mut self, socket: &Socket, into: &mut [u8]) -> io::Result<Option<usize>> {
        let mut came = VecDeque::new();
        let read = socket.receive(into, &mut came)?;
        // Those of a frame that was read in part, and those of the next one.
        came.truncate((2 * MOST + 1).saturating_sub(self.came.len()));
        for file in came {
            let taken = self.quotas.take(Usage { files: 1, ..Usage::default() });
            self.came.push_back(taken.map(|taken| File { file, _taken: taken }));
        }
        Ok(read)
    }

    /// Returns true if there are more files than the requests can need that have not been decoded: none, unless `is_partly_read`.
    pub(super) fn are_too_many(&self, is_partly_read: bool) -> bool {
        self.came.len() > if is_partly_read { MOST } else { 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.came.len()
    }

    /// Takes the first of them, which are a request's.
    pub(super) fn take(&mut self, wanted: usize) -> Result<Vec<File>, QuotaExceeded> {
        self.came.drain(..wanted).collect()
    }
}
