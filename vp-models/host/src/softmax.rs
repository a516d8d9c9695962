//! Soft-max, which is the CPU's in networks and in loadables.

/// Returns each value's share, the largest subtracted first, so that nothing overflows. In single precision, as the vendor's
/// runtime computes it.
pub(super) fn softmax(values: &[f32]) -> Vec<f32> {
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = values.iter().map(|value| (value - most).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_one_however_large_the_values() {
        let shares = softmax(&[1.0, 3.0, 60_000.0, 60_000.0]);
        assert_eq!(shares, [0.0, 0.0, 0.5, 0.5]);
        let shares = softmax(&[0.0, 1.0f32.ln(), 2.0f32.ln()]);
        assert!((shares[2] - 0.5).abs() < 1e-6 && (shares[0] - 0.25).abs() < 1e-6, "{shares:?}");
    }
}
