//! Returning the memory of ended platforms and sessions to the system.
//!
//! glibc's allocator keeps freed memory that is below memory in use, in as many arenas as there were threads.
//! After many sessions these are hundreds of unused megabytes (mallopt(3), M_ARENA_MAX and M_TRIM_THRESHOLD;
//! malloc_trim(3)).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// When memory is given back after a platform or a session has ended: with others that end within that time; and what its thread was
/// still to free.
const WHEN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Gives memory back whenever platforms or sessions have ended, as `has_ended` says; never returns.
pub(crate) async fn give_back(has_ended: Arc<Notify>) {
    loop {
        has_ended.notified().await;
        for wait in WHEN {
            sleep(wait).await;
            // One that fails has no consequences.
            let _ = spawn_blocking(trim).await;
        }
    }
}

#[cfg(target_env = "gnu")]
fn trim() {
    #[expect(unsafe_code, reason = "a function of the C library")]
    // SAFETY: it may be called at any time, by any thread.
    let _ = unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}
