//! Factors as hardware has them: integers of 16 bits and a right shift.

use vp_host::network::{Bias, Converter, Scales};

/// Most bits of a shift's register in use.
const MOST_SHIFT: i32 = 62;

/// The largest shift with which factors of that size still fit into 16 bits.
fn shift_for(largest: f64) -> i32 {
    if largest <= 0.0 || !largest.is_finite() {
        return 0;
    }
    let mut shift = (f64::from(i16::MAX) / largest).log2().floor() as i32;
    // What rounds up to 32768 does not fit.
    if (largest * (f64::from(shift)).exp2()).round() > f64::from(i16::MAX) {
        shift -= 1;
    }
    shift.min(MOST_SHIFT)
}

/// A factor as an integer and a right shift; none if it is larger than 16 bits can say.
pub(crate) fn factor(value: f64) -> Option<(i16, u32)> {
    let shift = shift_for(value.abs());
    let shift = u32::try_from(shift).ok()?;
    let scale = (value * f64::from(shift).exp2()).round();
    Some((scale as i16, shift))
}

/// A converter that multiplies and then adds the code of zero.
pub(crate) fn converter(value: f64, zero: i32) -> Option<Converter> {
    let (scale, shift) = factor(value)?;
    let offset = if zero == 0 || scale == 0 {
        0.0
    } else {
        // What is taken off comes before the factor.
        -f64::from(zero) * f64::from(shift).exp2() / f64::from(scale)
    };
    let offset = offset.round();
    (offset.abs() <= f64::from(i32::MAX)).then_some(Converter { offset: offset as i32, scale, shift })
}

/// Factors of kernels, in so many bits of fraction less than the products have.
pub(crate) struct KernelFactors {
    pub(crate) scales: Scales,
    /// Bits of fraction that are left.
    pub(crate) fraction: u32,
    /// The factors that these are.
    pub(crate) told: Vec<f64>,
}

/// The factors of kernels with one shift, of which as many bits are left over as `fraction` asks for at most.
pub(crate) fn kernel_factors(values: &[f64], fraction: u32) -> Option<KernelFactors> {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let all = u32::try_from(shift_for(largest)).ok()?;
    let fraction = fraction.min(all);
    let step = f64::from(all).exp2();
    let values: Vec<i16> = values.iter().map(|value| (value * step).round() as i16).collect();
    let told = values.iter().map(|value| f64::from(*value) / step).collect();
    Some(KernelFactors { scales: Scales { values, shift: all - fraction }, fraction, told })
}

/// Values of a bias in 16 bits, with the least shift at which all fit.
pub(crate) fn bias(values: &[f64]) -> Bias {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let mut shift = 0;
    while (largest / f64::from(shift).exp2()).round() > f64::from(i16::MAX) && shift < 16 {
        shift += 1;
    }
    let limits = f64::from(i16::MIN)..=f64::from(i16::MAX);
    let code =
        |value: &f64| (value / f64::from(shift).exp2()).round().clamp(*limits.start(), *limits.end()) as i32;
    Bias { values: values.iter().map(code).collect(), shift: shift as u32 }
}

/// The code of a number in fp16, rounded to nearest even.
pub(crate) fn half(value: f64) -> i16 {
    half::f16::from_f64(value).to_bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_keep_fifteen_bits() {
        for value in [1.0, 0.999_999, 0.5, 3.0e-5, 17.25, 32767.0, 1.0 / 3.0, -0.02] {
            let (scale, shift) = factor(value).unwrap();
            let found = f64::from(scale) / f64::from(shift).exp2();
            assert!((found / value - 1.0).abs() < 1.0 / 32000.0, "{value}: {scale} >> {shift}");
        }
        assert_eq!(factor(40000.0), None);
        assert_eq!(factor(0.0), Some((0, 0)));
    }

    #[test]
    fn a_converter_adds_the_code_of_zero() {
        let Converter { offset, scale, shift } = converter(0.01, -128).unwrap();
        let out =
            |x: i64| ((x - i64::from(offset)) as f64 * f64::from(scale) / f64::from(shift).exp2()).round();
        assert_eq!([out(0), out(1000), out(25600)], [-128.0, -118.0, 128.0]);
    }

    #[test]
    fn a_wide_bias_is_shifted() {
        assert_eq!(bias(&[3.0, -4.0]), Bias { values: vec![3, -4], shift: 0 });
        let Bias { values, shift } = bias(&[100_000.0, -4.0]);
        assert_eq!((values, shift), (vec![25_000, -1], 2));
    }
}
