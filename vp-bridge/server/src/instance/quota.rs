//! Limits for sessions of the same host: mapped regions of memory, their bytes, and files that no request has
//! taken.
//!
//! A process has a limited number of mappings, addresses and descriptors. A process without room for a new
//! thread's stack, or for more heap, is ended. So each session has a quota, and all sessions of the process
//! have one together, which leaves half of it to others.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustix::process::{Resource, getrlimit};
use thiserror::Error;

/// Amount of each resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) regions: u64,
    pub(super) bytes: u64,
    pub(super) files: u64,
}

/// Of a session: the regions of four memories, and as many that have been replaced and are not unmapped yet; guests of some TiB; the files
/// of four requests.
const OF_SESSION: Usage = Usage { regions: 512, bytes: 4 << 40, files: 64 };

/// Of all sessions, unless the system gives less: half of the mappings that Linux lets a process have (`vm.max_map_count`, 65 530), and
/// a quarter of the addresses that a process of 47 bits has.
const OF_ALL: Usage = Usage { regions: 32_768, bytes: 32 << 40, files: 4096 };

/// Quota of all sessions of the process.
static ALL: LazyLock<Arc<Quota>> = LazyLock::new(|| {
    let mappings = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    let mappings = mappings.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(u64::MAX);
    let limit = |of| getrlimit(of).current.unwrap_or(u64::MAX);
    Quota::new(
        "all sessions together",
        Usage {
            regions: OF_ALL.regions.min(mappings / 2),
            bytes: OF_ALL.bytes.min(limit(Resource::As) / 2),
            files: OF_ALL.files.min(limit(Resource::Nofile) / 8),
        },
    )
});

/// More than there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{who} would have {would_have} {what}, and may have {most}")]
pub(super) struct QuotaExceeded {
    who: &'static str,
    what: &'static str,
    would_have: u64,
    most: u64,
}

/// Limit of what may be had, and how much is.
#[derive(Debug)]
struct Quota {
    who: &'static str,
    most: Usage,
    taken: Mutex<Usage>,
}

/// Part of a quota, taken until it is dropped.
#[derive(Debug)]
pub(super) struct QuotaShare {
    quota: Arc<Quota>,
    amount: Usage,
}

impl Quota {
    fn new(who: &'static str, most: Usage) -> Arc<Self> {
        Arc::new(Self { who, most, taken: Mutex::default() })
    }

    fn take(self: &Arc<Self>, amount: Usage) -> Result<QuotaShare, QuotaExceeded> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |what, taken: u64, amount, most| {
            let would_have = taken.saturating_add(amount);
            let exceeded = QuotaExceeded { who: self.who, what, would_have, most };
            if would_have <= most { Ok(would_have) } else { Err(exceeded) }
        };
        *taken = Usage {
            regions: sum("mapped regions", taken.regions, amount.regions, self.most.regions)?,
            bytes: sum("mapped bytes", taken.bytes, amount.bytes, self.most.bytes)?,
            files: sum("files beside streams", taken.files, amount.files, self.most.files)?,
        };
        Ok(QuotaShare { quota: self.clone(), amount })
    }
}

impl Drop for QuotaShare {
    fn drop(&mut self) {
        let mut taken = self.quota.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.regions -= self.amount.regions;
        taken.bytes -= self.amount.bytes;
        taken.files -= self.amount.files;
    }
}

/// A session's quota, within that of all.
#[derive(Debug, Clone)]
pub(super) struct Quotas {
    session: Arc<Quota>,
    all: Arc<Quota>,
}

impl Quotas {
    /// Of a new session.
    pub(super) fn new() -> Self {
        Self { session: Quota::new("the session", OF_SESSION), all: ALL.clone() }
    }

    /// Takes as much of the session's quota, and of that of all.
    pub(super) fn take(&self, amount: Usage) -> Result<[QuotaShare; 2], QuotaExceeded> {
        Ok([self.session.take(amount)?, self.all.take(amount)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(regions: u64) -> Usage {
        Usage { regions, ..Usage::default() }
    }

    #[test]
    fn what_is_beyond_a_quota_is_refused_whole_and_what_is_given_back_can_be_had_again() {
        let quota = Quota::new("the session", Usage { regions: 3, bytes: 100, files: 0 });
        let first = quota.take(Usage { regions: 2, bytes: 60, files: 0 }).unwrap();
        let error = quota.take(Usage { regions: 1, bytes: 41, files: 0 }).unwrap_err();
        assert_eq!(error.to_string(), "the session would have 101 mapped bytes, and may have 100");
        let _second = quota.take(Usage { regions: 1, bytes: 40, files: 0 }).unwrap();
        let error = quota.take(regions(1)).unwrap_err();
        assert_eq!(error.to_string(), "the session would have 4 mapped regions, and may have 3");
        drop(first);
        assert!(quota.take(Usage { regions: 2, bytes: 60, files: 0 }).is_ok());
        assert!(quota.take(Usage { bytes: u64::MAX, ..Usage::default() }).is_err());
    }

    #[test]
    fn sessions_within_their_quotas_do_not_have_more_together_than_all_may() {
        let all = Quota::new("all sessions together", regions(5));
        let session = || Quotas { session: Quota::new("the session", regions(3)), all: all.clone() };
        let (one, other) = (session(), session());
        let first = one.take(regions(3)).unwrap();
        let error = other.take(regions(3)).unwrap_err();
        assert_eq!(error.to_string(), "all sessions together would have 6 mapped regions, and may have 5");
        // The refused session has nothing of it.
        let _second = other.take(regions(2)).unwrap();
        drop(first);
        assert!(one.take(regions(3)).is_ok());
    }
}
