//! The rule by which neither side misses a wake-up: the only code that uses a ring's flags *sleeps* and its
//! bells.
//!
//! A side that is about to sleep announces it and looks again. It sleeps only if what it waits for is still not
//! there. A side that has changed something that the other may wait for then looks at the other's flag, and
//! rings. On both sides there is a full fence between the store and the look, so one of the two sees the other.

use super::sync::{AtomicU32, Bell, Ordering, fence};

/// One side of a ring that may sleep.
pub(super) struct WakeupSide<'a> {
    /// Flag by which the side wants its bell rung. Set by itself, reset by either side.
    pub(super) sleeps: &'a AtomicU32,
    pub(super) bell: &'a Bell,
}

impl WakeupSide<'_> {
    /// Called by the side itself: it is about to sleep, and has to look once more at all that it waits for before it does.
    pub(super) fn announce(&self) {
        self.sleeps.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Called by the side itself: it looks again. Forgets the rings until now.
    pub(super) fn end(&self) {
        // Mostly the other side has reset it: then the cache line stays with both.
        if self.sleeps.load(Ordering::Relaxed) != 0 {
            self.sleeps.store(0, Ordering::Relaxed);
        }
        self.bell.clear();
    }

    /// Called by the other side, after it has stored what this one may wait for.
    pub(super) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.sleeps.load(Ordering::Relaxed) != 0 {
            // Before the ring: who wakes by it may announce the next sleep.
            self.sleeps.store(0, Ordering::Relaxed);
            self.bell.ring();
        }
    }
}
