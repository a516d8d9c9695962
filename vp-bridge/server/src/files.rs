//! Open files of this process: how many there may be, for how many sessions and new connections they are
//! enough, and one that is kept in reserve.

use std::fs::File;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use vp_transport::Address;

/// Files that a server has without any session: standard streams, listeners, the runtime's own, those of the program around it.
const BESIDE: u64 = 64;

/// Newcomers at a time, where there are files for them, and where there are hardly any.
const NEWCOMERS: [u64; 2] = [256, 4];
/// Files of a newcomer: its socket, with TLS once more.
const OF_NEWCOMER: u64 = 2;

/// Files of a session, at most: its socket, once more when it ends, and what wakes its platform.
const OF_SESSION: u64 = 3;
/// Files of a session on the same host, at most: it may have a ring, its two bells, and what rings them without waiting.
const OF_LOCAL_SESSION: u64 = OF_SESSION + 5;

fn of_session(address: &Address) -> u64 {
    match address {
        Address::Tcp { .. } | Address::Tls { .. } => OF_SESSION,
        Address::Unix(_) => OF_LOCAL_SESSION,
    }
}

/// Raises this process's limit of open files to what so many sessions at an address need, as far as the system
/// allows it. Call it before serving: child processes inherit the limit.
pub fn allow_files_for(sessions: usize, address: &Address) {
    let limit = getrlimit(Resource::Nofile);
    let beside = BESIDE + NEWCOMERS[0] * OF_NEWCOMER;
    let needed = (sessions as u64).saturating_mul(of_session(address)).saturating_add(beside);
    let wanted = limit.maximum.map_or(needed, |maximum| needed.min(maximum));
    if limit.current.is_some_and(|current| current < wanted) {
        // What it refuses is said where it is missed.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}

/// Returns the number of sessions at an address, or as many as this process may have files for, with a message; and the
/// number of new connections besides them.
pub(crate) fn sessions_and_handshakes_within_limit(asked: usize, address: &Address) -> (usize, usize) {
    let limit = getrlimit(Resource::Nofile).current;
    let handshakes = handshakes_within(limit);
    let most = asked.min(sessions_within(limit, handshakes, address));
    if let Some(limit) = limit.filter(|_| most < asked) {
        tracing::warn!(
            "{most} sessions at a time are taken, not {asked}: this process may open {limit} files (ulimit -n)"
        );
    }
    (most, handshakes as usize)
}

/// Returns the number of newcomers that so many files are enough for: an eighth of the files is theirs.
fn handshakes_within(limit: Option<u64>) -> u64 {
    let [most, least] = NEWCOMERS;
    limit.map_or(most, |limit| (limit.saturating_sub(BESIDE) / 8 / OF_NEWCOMER).clamp(least, most))
}

/// Returns the number of sessions at an address that so many files are enough for, beside newcomers; one at least.
fn sessions_within(limit: Option<u64>, handshakes: u64, address: &Address) -> usize {
    let beside = BESIDE + handshakes * OF_NEWCOMER;
    let sessions = limit.map_or(u64::MAX, |limit| limit.saturating_sub(beside) / of_session(address));
    usize::try_from(sessions).unwrap_or(usize::MAX).max(1)
}

/// Returns true if an operation failed because no more files can be opened.
pub(crate) fn are_used_up(error: &io::Error) -> bool {
    let errno = rustix::io::Errno::from_io_error(error);
    matches!(errno, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

/// A file that is open for nothing, but to be closed when one is needed and there are no more.
#[derive(Debug)]
pub(crate) struct ReserveFile(Option<File>);

impl ReserveFile {
    pub(crate) fn new() -> ReserveFile {
        ReserveFile(File::open("/dev/null").ok())
    }

    /// Makes room for one file.
    pub(crate) fn release(&mut self) {
        self.0 = None;
    }

    /// Takes that room back, if it can be had.
    pub(crate) fn keep(&mut self) {
        if self.0.is_none() {
            *self = ReserveFile::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_sessions_are_taken_as_there_are_files_for() {
        let tcp = "tcp:127.0.0.1:0".parse().unwrap();
        let unix = "unix:@vp".parse().unwrap();
        let within = |limit, address| {
            let handshakes = handshakes_within(limit);
            (sessions_within(limit, handshakes, address), handshakes)
        };
        assert_eq!(within(Some(1024), &tcp), (280, 60));
        assert_eq!(within(Some(1024), &unix), (105, 60));
        assert_eq!(within(Some(10), &tcp), (1, 4));
        assert_eq!(within(Some(1 << 20), &tcp), (349_333, 256));
        assert_eq!(within(None, &tcp), (usize::MAX, 256));
    }
}
