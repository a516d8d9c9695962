//! The best that the core can do: loops so simple that the compiler vectorises them.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "enters code compiled for instructions that were detected")
)]

/// Elements of each operand: both lie in any first-level cache.
pub(crate) const LENGTH: usize = 8192;

type Dot = fn(&[i8], &[i8]) -> i32;

/// The loop.
#[inline(always)]
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

fn as_built(a: &[i8], b: &[i8]) -> i32 {
    dot(a, b)
}

/// The loop compiled for a set of instructions.
#[cfg(target_arch = "x86_64")]
macro_rules! compiled_for {
    ($name:ident, $features:literal) => {
        fn $name(a: &[i8], b: &[i8]) -> i32 {
            #[target_feature(enable = $features)]
            fn inner(a: &[i8], b: &[i8]) -> i32 {
                dot(a, b)
            }
            // SAFETY: listed by `for_this_cpu` only where the CPU has these instructions.
            unsafe { inner(a, b) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled_for!(for_avx2, "avx2");
#[cfg(target_arch = "x86_64")]
compiled_for!(for_avx512, "avx2,avx512f,avx512bw,avx512vl,avx512vnni");

/// The loop, compiled for everything this CPU has.
pub(crate) fn dot_products() -> Vec<(&'static str, Dot)> {
    let as_built: (&str, Dot) = ("as built", as_built);
    [as_built].into_iter().chain(for_this_cpu()).collect()
}

#[cfg(target_arch = "x86_64")]
fn for_this_cpu() -> impl Iterator<Item = (&'static str, Dot)> {
    let avx2 = is_x86_feature_detected!("avx2");
    let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
    let vnni = is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512vnni");
    let all: [(bool, (&'static str, Dot)); 2] =
        [(avx2, ("for AVX2", for_avx2)), (avx2 && avx512 && vnni, ("for AVX-512 VNNI", for_avx512))];
    all.into_iter().filter(|&(has, _)| has).map(|(_, dot)| dot)
}

#[cfg(not(target_arch = "x86_64"))]
fn for_this_cpu() -> impl Iterator<Item = (&'static str, Dot)> {
    std::iter::empty()
}

/// Reads all of it once, as fast as plain code can.
pub(crate) fn read(data: &[u64]) -> u64 {
    let mut sums = [0u64; 16];
    for chunk in data.as_chunks::<16>().0 {
        for (sum, word) in sums.iter_mut().zip(chunk) {
            *sum ^= word;
        }
    }
    sums.into_iter().fold(0, |all, sum| all ^ sum)
}
