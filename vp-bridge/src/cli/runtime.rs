//! The async runtime of the commands that serve.

use std::io;
use std::os::unix::net::UnixStream;

use tokio::runtime::Builder;

/// Pairs of sockets that have as many descriptors as a runtime opens: epoll, its wake-up, and the pipe of signals.
const PAIRS: usize = 3;

/// Begins to make a runtime with a thread a core.
///
/// # Errors
/// There are no descriptors for one: tokio would panic for want of the pipe of its signals.
pub(super) fn builder() -> io::Result<Builder> {
    let pairs: io::Result<Vec<_>> = (0..PAIRS).map(|_| UnixStream::pair()).collect();
    let refused = |error: io::Error| io::Error::new(error.kind(), format!("cannot begin to serve: {error}"));
    drop(pairs.map_err(refused)?);
    Ok(Builder::new_multi_thread())
}
