//! Returning the memory of ended platforms and sessions to the system.
//!
//! glibc's allocator keeps freed memory that is below memory in use, in as many arenas as there were threads.
//! After many sessions these are hundreds of unused megabytes (mallopt(3), M_ARENA_MAX and M_TRIM_THRESHOLD;
//! malloc_trim(3)). Of the unused memory malloc_trim(3) leaves what is at the ends of all arenas but the first: so there are few.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Times at which memory is given back after a platform or a session has ended: with others that end within that time; and what its
/// thread was still to free.
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

/// Has the allocator of this process use one arena for each processor, unless the environment says how many (`MALLOC_ARENA_MAX`).
/// glibc's makes eight for each, and keeps freed memory in all of them. Call it before there are threads.
///
/// Beside 500 sessions on two processors a server with one, two and four arenas was as fast as with sixteen (`soak crowd`).
pub fn limit_arenas() {
    #[cfg(target_env = "gnu")]
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let arenas = libc::c_int::try_from(processors).unwrap_or(libc::c_int::MAX);
        #[expect(unsafe_code, reason = "a function of the C library")]
        // SAFETY: it sets a limit that is read when a thread allocates first.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
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
