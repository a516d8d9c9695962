//! Time for which a client looks at a ring before it sleeps.

use std::time::{Duration, Instant};

use crate::AdaptiveSpin;

/// Looks at the ring before the core is given to another thread: longer than an access takes if both sides have
/// a core.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 32 };
/// Rounds of them before the caller sees to its stream. The clock is read after the first one at the earliest.
const ROUNDS: u32 = if cfg!(loom) { 1 } else { 8 };
/// Time for which a waiter looks before it sleeps. The model checker tries all orders and needs no time for that.
const LOOK: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(50) };

/// One wait at a ring: [`Client::wait`](super::Client::wait) polls first, because waking a thread takes tens of
/// microseconds, and sleeps later.
#[derive(Debug, Default)]
pub struct Wait {
    /// Time at which the wait turned out to last.
    began: Option<Instant>,
    limit: Option<Duration>,
}

impl Wait {
    /// A wait without end.
    pub fn new() -> Self {
        Self::default()
    }

    /// A wait that is [over](Self::over) after this time.
    pub fn within(limit: Duration) -> Self {
        Self { began: None, limit: Some(limit) }
    }

    /// A wait that has looked long enough.
    #[cfg(all(test, not(loom)))]
    pub(super) fn sleeping(limit: Duration) -> Self {
        Self { began: Instant::now().checked_sub(LOOK), limit: Some(limit) }
    }

    /// Returns the wait's length, if that time has passed.
    pub fn over(&self) -> Option<Duration> {
        self.limit.filter(|&limit| self.waited() >= limit)
    }

    /// Returns the time that the wait may still last. None: without end.
    pub(super) fn left(&self) -> Option<Duration> {
        Some(self.limit?.saturating_sub(self.waited()))
    }

    /// Returns true if the wait has not turned out to last yet.
    pub(super) fn is_new(&self) -> bool {
        self.began.is_none()
    }

    /// Returns true if it is time to sleep.
    pub(super) fn has_looked(&self) -> bool {
        self.began.is_some() && self.waited() >= LOOK
    }

    fn waited(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Looks for a while. What is there within the first round costs no reading of the clock.
    pub(super) fn look<T>(
        &mut self,
        spin: &mut AdaptiveSpin,
        mut take: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        for _ in 0..ROUNDS {
            for _ in 0..LOOKS {
                if let Some(taken) = take() {
                    return Some(taken);
                }
                std::hint::spin_loop();
            }
            // On a busy host the other side may be waiting for this very core.
            spin.yield_core();
        }
        self.began.get_or_insert_with(Instant::now);
        None
    }
}
