//! Returning the memory of platforms that have ended to the system.
//!
//! glibc's allocator keeps freed memory that is below memory in use, in as many arenas as there were threads.
//! After many sessions these are hundreds of unused megabytes (mallopt(3), M_ARENA_MAX and M_TRIM_THRESHOLD;
//! malloc_trim(3)). Of the unused memory malloc_trim(3) leaves what is at the ends of all arenas but the first: so there are few.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Has the allocator of this process use one arena for each processor, unless the environment says how many (`MALLOC_ARENA_MAX`).
/// glibc's makes eight for each, and keeps freed memory in all of them. Call it before there are threads.
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

/// Time that others have to end as well before memory is given back, which keeps all who allocate waiting.
const WAIT: Duration = Duration::from_millis(100);

/// Platforms and sessions that have ended since memory was last given back.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Gives back what has been freed: at the end of a platform's thread and of a session. Of several that end at once one does it for all.
pub(crate) fn give_back() {
    if ENDED.fetch_add(1, Ordering::AcqRel) > 0 {
        return;
    }
    loop {
        thread::sleep(WAIT);
        let ended = ENDED.load(Ordering::Acquire);
        trim();
        if ENDED.compare_exchange(ended, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

fn trim() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "a function of the C library")]
    // SAFETY: it may be called at any time, by any thread.
    let _ = unsafe { libc::malloc_trim(0) };
}
