//! The integer formats the MAC array multiplies.

use std::fmt::Debug;

/// int8 or int16.
pub trait Element: Copy + Default + Debug + Into<i64> + Send + Sync + sealed::Sealed + 'static {
    /// Adjacent taps in packed weights: together 32 bits, which vector instructions add up at once.
    const GROUP: usize;
    /// The largest magnitude of a product.
    const MAX_PRODUCT: u64;
    /// One group of taps of 16 kernels.
    type Line: Copy + AsRef<[Self]> + AsMut<[Self]> + Debug + Send + Sync + sealed::Zero;
}

/// Kernels whose weights are packed side by side.
pub(super) const LANES: usize = 16;

/// The most taps in a group.
pub(super) const MAX_GROUP: usize = 4;

/// Weights of one group of taps: `[kernel][tap]`, a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Line<T, const N: usize>(pub(super) [T; N]);

impl<T, const N: usize> AsRef<[T]> for Line<T, N> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const N: usize> AsMut<[T]> for Line<T, N> {
    fn as_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl Element for i8 {
    const GROUP: usize = 4;
    const MAX_PRODUCT: u64 = 1 << 14;
    type Line = Line<i8, 64>;
}

impl Element for i16 {
    const GROUP: usize = 2;
    const MAX_PRODUCT: u64 = 1 << 30;
    type Line = Line<i16, 32>;
}

pub(super) mod sealed {
    use super::Line;

    pub trait Sealed {}
    impl Sealed for i8 {}
    impl Sealed for i16 {}

    pub trait Zero {
        const ZERO: Self;
    }
    impl<const N: usize> Zero for Line<i8, N> {
        const ZERO: Self = Line([0; N]);
    }
    impl<const N: usize> Zero for Line<i16, N> {
        const ZERO: Self = Line([0; N]);
    }
}
