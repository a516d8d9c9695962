//! A hint to the processor that data will be needed soon. It changes only speed.

#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "the standard library marks the hint unsafe, since it takes a pointer")
)]

/// Begins to load the memory at an address, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch<T: ?Sized>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing as far as the program can see, and an address that cannot be read
        // makes it do nothing (Intel SDM, PREFETCHh). Every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
