//! Limits of the host's memory for the memories of platforms: one for each platform, and one for all that share
//! a [`MemoryPool`].
//!
//! A platform counts its own use by a rule that depends only on its writes. So whether it stays within its own
//! limit is the same in every run. What is left in the pool depends on other platforms. A platform that the
//! pool refuses is [short](MemoryBudget::shortage), and its hub ends its run. So a run is either as it would be
//! alone, or it ends.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that a platform takes out of a pool at once, the first time when it is made: it has at least that.
const GRANT: u64 = 1 << 20;

/// The host's memory is used up for bytes that were not written before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutOfMemory {
    /// The platform's own limit.
    #[error("the limit of {limit} bytes for this platform's memory is reached")]
    Platform {
        /// The limit in bytes.
        limit: u64,
    },
    /// The limit of all platforms which share a pool is reached.
    #[error("the limit of {limit} bytes for the memory of {of} together is reached")]
    Pool {
        /// The limit in bytes.
        limit: u64,
        /// Owner of the pool, such as `all platforms`.
        of: &'static str,
    },
}

/// Memory of the host that several platforms share, on any threads.
#[derive(Debug)]
pub struct MemoryPool {
    limit: u64,
    of: &'static str,
    taken: AtomicU64,
}

impl MemoryPool {
    /// A pool of so many bytes, for all platforms.
    #[must_use]
    pub fn new(limit: u64) -> Arc<MemoryPool> {
        MemoryPool::of("all platforms", limit)
    }

    /// A pool of so many bytes, for some platforms: refusals name them so.
    #[must_use]
    pub fn of(platforms: &'static str, limit: u64) -> Arc<MemoryPool> {
        Arc::new(MemoryPool { limit, of: platforms, taken: AtomicU64::new(0) })
    }

    /// Returns the number of bytes that platforms have taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    // Only the sum matters: nothing else is ordered by it.
    fn take(&self, bytes: u64) -> Result<(), OutOfMemory> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|taken| *taken <= self.limit);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(()),
            Err(_) => Err(OutOfMemory::Pool { limit: self.limit, of: self.of }),
        }
    }

    fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The limit and the use of one platform's memories. When it is dropped, its pools get their shares back.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: u64,
    /// All of them have to have what it takes.
    pools: Vec<Arc<MemoryPool>>,
    counts: Mutex<Counts>,
    /// True if a pool has refused something.
    is_short: AtomicBool,
}

#[derive(Debug, Default)]
struct Counts {
    taken: u64,
    /// Bytes that it has of each pool.
    granted: u64,
    /// Last refusal of a pool.
    shortage: Option<OutOfMemory>,
}

impl MemoryBudget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: u64) -> MemoryBudget {
        MemoryBudget { limit, pools: Vec::new(), counts: Mutex::default(), is_short: AtomicBool::new(false) }
    }

    /// A budget without a limit.
    #[must_use]
    pub fn unlimited() -> MemoryBudget {
        MemoryBudget::new(u64::MAX)
    }

    /// A budget of so many bytes, as long as the pool has them. The first mebibyte, or all if that is less, is
    /// reserved now.
    ///
    /// # Errors
    /// The pool has not even that.
    pub fn within(pool: &Arc<MemoryPool>, limit: u64) -> Result<MemoryBudget, OutOfMemory> {
        let budget = MemoryBudget::new(limit);
        budget.counts().granted = GRANT.min(limit);
        budget.and_within(pool)
    }

    /// Returns this budget, as long as another pool has the bytes, too.
    ///
    /// # Errors
    /// That pool has not even what is reserved.
    pub fn and_within(mut self, pool: &Arc<MemoryPool>) -> Result<MemoryBudget, OutOfMemory> {
        pool.take(self.counts().granted)?;
        self.pools.push(pool.clone());
        Ok(self)
    }

    /// Returns the most bytes that it allows.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The reason why a write was refused since the last call that would have been taken if this platform were
    /// alone.
    pub fn take_shortage(&self) -> Option<OutOfMemory> {
        if !self.is_short.load(Ordering::Relaxed) {
            return None;
        }
        self.is_short.store(false, Ordering::Relaxed);
        self.counts().shortage
    }

    /// Takes so many bytes, or none.
    pub(super) fn take(&self, bytes: u64) -> Result<(), OutOfMemory> {
        let (limit, mut counts) = (self.limit, self.counts());
        let taken = counts.taken.checked_add(bytes).filter(|taken| *taken <= limit);
        let taken = taken.ok_or(OutOfMemory::Platform { limit })?;
        if !self.pools.is_empty() && taken > counts.granted {
            let more = (taken - counts.granted).checked_next_multiple_of(GRANT).unwrap_or(u64::MAX);
            let more = more.min(limit - counts.granted);
            if let Err(refused) = self.take_of_all(more) {
                counts.shortage = Some(refused);
                self.is_short.store(true, Ordering::Relaxed);
                return Err(refused);
            }
            counts.granted += more;
        }
        counts.taken = taken;
        Ok(())
    }

    /// Takes so many bytes of each pool, or of none.
    fn take_of_all(&self, bytes: u64) -> Result<(), OutOfMemory> {
        for (at, pool) in self.pools.iter().enumerate() {
            if let Err(refused) = pool.take(bytes) {
                self.pools[..at].iter().for_each(|pool| pool.give_back(bytes));
                return Err(refused);
            }
        }
        Ok(())
    }

    pub(super) fn give_back(&self, bytes: u64) {
        let mut counts = self.counts();
        counts.taken = counts.taken.saturating_sub(bytes);
        if !self.pools.is_empty() {
            let kept = counts.taken.checked_next_multiple_of(GRANT).unwrap_or(u64::MAX).max(GRANT);
            let kept = kept.min(counts.granted);
            self.pools.iter().for_each(|pool| pool.give_back(counts.granted - kept));
            counts.granted = kept;
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryBudget {
    fn drop(&mut self) {
        let granted = self.counts().granted;
        self.pools.iter().for_each(|pool| pool.give_back(granted));
    }
}

/// Bytes that are counted in a budget as long as this exists.
#[derive(Debug)]
pub struct CountedBytes {
    bytes: Vec<u8>,
    budget: Arc<MemoryBudget>,
    taken: u64,
}

impl CountedBytes {
    pub(crate) fn new(budget: Arc<MemoryBudget>) -> CountedBytes {
        CountedBytes { bytes: Vec::new(), budget, taken: 0 }
    }
}

impl Write for CountedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = (self.bytes.len() + bytes.len()) as u64;
        if length > self.taken {
            let more = (length - self.taken).next_multiple_of(GRANT);
            // That these bytes find no room is not the platform's misfortune.
            let was_short = self.budget.is_short.load(Ordering::Relaxed);
            self.budget.take(more).map_err(|limit| {
                self.budget.is_short.store(was_short, Ordering::Relaxed);
                io::Error::new(io::ErrorKind::OutOfMemory, limit)
            })?;
            self.taken += more;
            self.bytes.reserve_exact((self.taken - self.bytes.len() as u64) as usize);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.budget.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_takes_no_more_than_its_limit_and_all_or_nothing() {
        let budget = MemoryBudget::new(100);
        budget.take(60).unwrap();
        let refused = budget.take(41).unwrap_err();
        assert_eq!(refused.to_string(), "the limit of 100 bytes for this platform's memory is reached");
        budget.take(40).unwrap();
        assert!(budget.take(1).is_err() && budget.take(u64::MAX).is_err());
        budget.give_back(1);
        budget.take(1).unwrap();
        assert_eq!(budget.take_shortage(), None);
    }

    #[test]
    fn budgets_share_a_pool_and_give_back_what_they_had() {
        let pool = MemoryPool::new(4 * GRANT);
        let one = MemoryBudget::within(&pool, u64::MAX).unwrap();
        let other = MemoryBudget::within(&pool, u64::MAX).unwrap();
        one.take(2 * GRANT + 1).unwrap();
        assert_eq!(pool.taken(), 4 * GRANT);
        // Its first mebibyte nobody takes from it.
        other.take(GRANT).unwrap();
        let refused = OutOfMemory::Pool { limit: 4 * GRANT, of: "all platforms" };
        assert_eq!((other.take(1), other.take_shortage()), (Err(refused), Some(refused)));
        assert_eq!(MemoryBudget::within(&pool, u64::MAX).unwrap_err(), refused);
        one.give_back(GRANT + 1);
        assert_eq!(pool.taken(), 2 * GRANT);
        other.take(1).unwrap();
        drop((one, other));
        assert_eq!(pool.taken(), 0);
    }

    #[test]
    fn all_pools_have_to_have_what_is_taken_or_none_gives_it() {
        let (all, some) = (MemoryPool::new(8 * GRANT), MemoryPool::of("some", 3 * GRANT));
        let budget = || MemoryBudget::within(&all, u64::MAX).and_then(|budget| budget.and_within(&some));
        let one = budget().unwrap();
        one.take(2 * GRANT).unwrap();
        assert_eq!((all.taken(), some.taken()), (2 * GRANT, 2 * GRANT));
        let refused = OutOfMemory::Pool { limit: 3 * GRANT, of: "some" };
        assert_eq!(one.take(2 * GRANT).unwrap_err(), refused);
        assert_eq!((one.take_shortage(), all.taken(), some.taken()), (Some(refused), 2 * GRANT, 2 * GRANT));
        let other = budget().unwrap();
        assert_eq!(budget().unwrap_err(), refused);
        assert_eq!((all.taken(), some.taken()), (3 * GRANT, 3 * GRANT));
        one.give_back(2 * GRANT);
        assert_eq!((all.taken(), some.taken()), (2 * GRANT, 2 * GRANT));
        drop((one, other));
        assert_eq!((all.taken(), some.taken()), (0, 0));
    }

    #[test]
    fn a_budget_takes_no_more_of_a_pool_than_its_own_limit() {
        let pool = MemoryPool::new(2 * GRANT);
        let small = MemoryBudget::within(&pool, GRANT + 7).unwrap();
        small.take(GRANT + 7).unwrap();
        assert_eq!(pool.taken(), GRANT + 7);
        assert_eq!(small.take(1), Err(OutOfMemory::Platform { limit: GRANT + 7 }));
        assert_eq!(small.take_shortage(), None);
    }

    #[test]
    fn kept_bytes_are_counted_and_given_back() {
        let budget = Arc::new(MemoryBudget::new(3 << 20));
        let mut kept = CountedBytes::new(budget.clone());
        kept.write_all(&[1; 1 << 20]).unwrap();
        kept.write_all(&[2]).unwrap();
        assert_eq!((kept.as_ref().len(), budget.counts().taken), ((1 << 20) + 1, 2 << 20));
        let full = kept.write_all(&vec![3; 2 << 20]).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::OutOfMemory);
        drop(kept);
        assert_eq!(budget.counts().taken, 0);
    }
}
