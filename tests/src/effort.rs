//! Effort of random tests: the number of cases that they try.

/// Number of cases a property is tried on: as many as usual, or `VP_TEST_EFFORT` times as many.
///
/// # Panics
/// When `VP_TEST_EFFORT` is no number.
pub fn cases(usual: u32) -> u32 {
    let effort = std::env::var("VP_TEST_EFFORT").map_or(1, |effort| {
        effort
            .parse()
            .unwrap_or_else(|_| panic!("VP_TEST_EFFORT: {effort:?} is no number of times, such as 50"))
    });
    usual.saturating_mul(effort)
}
