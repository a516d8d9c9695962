//! Plain loops compiled for the vector instructions of this CPU.
//!
//! What SDP and CACC do to an element is too simple for separate code for each instruction set, but too wide
//! (64 bits) for the instructions that every x86 CPU has. This module does not depend on what is computed;
//! every build of a loop gives the same results. Besides the MAC array's paths this is the only place with
//! unsafe code.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "enters code compiled for instructions that were detected")
)]

/// Calls `work` in a version of it for the widest instructions of this CPU. What it calls must be inlined into it to
/// be part of that.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    #[target_feature(enable = "avx2")]
    fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    let avx2 = is_x86_feature_detected!("avx2");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    if avx2 && avx512 {
        // SAFETY: the CPU has these instructions.
        unsafe { with_avx512(work) }
    } else if avx2 {
        // SAFETY: the CPU has these instructions.
        unsafe { with_avx2(work) }
    } else {
        work()
    }
}

/// Calls `work`.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    work()
}
