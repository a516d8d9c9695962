//! Open files of this process: how many there may be, and for how many connections they are enough.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use vp_transport::Address;

/// Files that a server has without any session: standard streams, listeners, the runtime's own, those of the program around it.
const BESIDE: u64 = 64;
/// Part of the files that may come beside streams, on the same host: an eighth (`instance/quota.rs`).
const BESIDE_STREAMS: u64 = 8;

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
    let needed = (sessions as u64).saturating_mul(of_session(address)).saturating_add(BESIDE);
    let needed = needed.saturating_add(needed / (BESIDE_STREAMS - 1) + 1);
    let wanted = limit.maximum.map_or(needed, |maximum| needed.min(maximum));
    if limit.current.is_some_and(|current| current < wanted) {
        // What it refuses is said where it is missed.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}

/// Returns the number of sessions at an address, or as many as this process may have files for, with a message.
pub(crate) fn sessions_within_limit(asked: usize, address: &Address) -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let most = asked.min(sessions_within(limit, address));
    if let Some(limit) = limit.filter(|_| most < asked) {
        tracing::warn!(
            "{most} sessions at a time are taken, not {asked}: this process may open {limit} files (ulimit -n)"
        );
    }
    most
}

/// Returns the number of sessions at an address that so many files are enough for; one at least.
fn sessions_within(limit: Option<u64>, address: &Address) -> usize {
    let sessions = limit.map_or(u64::MAX, |limit| {
        (limit - limit / BESIDE_STREAMS).saturating_sub(BESIDE) / of_session(address)
    });
    usize::try_from(sessions).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_sessions_are_taken_as_there_are_files_for() {
        let tcp = "tcp:127.0.0.1:0".parse().unwrap();
        let unix = "unix:@vp".parse().unwrap();
        assert_eq!(sessions_within(Some(1024), &tcp), 277);
        assert_eq!(sessions_within(Some(1024), &unix), 104);
        assert_eq!(sessions_within(Some(10), &tcp), 1);
        assert_eq!(sessions_within(None, &tcp), usize::MAX);
    }
}
