//! The parts of a ring: words that two processes share, and bells. With `--cfg loom` they are the [model
//! checker](super::model)'s.

#[cfg(not(loom))]
pub(super) use {
    crate::bell::Bell,
    crate::memory::Mapping,
    std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

#[cfg(loom)]
pub(super) use {
    super::model::{Bell, Mapping},
    loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};
