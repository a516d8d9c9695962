//! Against examples of the reference, and against the processor's own arithmetic where both agree on the rules.

use super::*;
use proptest::prelude::*;

fn fp16(bits: u32) -> Fp16 {
    Fp16::from_bits(bits)
}

fn fp17(bits: u32) -> Fp17 {
    Fp17::from_bits(bits)
}

fn fp32(bits: u32) -> Fp32 {
    Fp32::from_bits(bits)
}

#[test]
fn widening_makes_denormals_normal_and_infinity_large() {
    for (narrow, wide) in
        [(0x7c00, 0x7f7f_ffff), (0x7e01, 0x7f80_0201), (0x0001, 0x3380_0000), (0x03ff, 0x387f_c000)]
    {
        assert_eq!(fp16(narrow).widened(), fp32(wide), "{narrow:#x}");
    }
    assert_eq!([Fp17::ONE.bits(), (Fp17::ONE + Fp17::ONE).bits()], [0x07c00, 0x08000]);
    assert_eq!(fp16(0xfc00).widened(), Fp17::largest(true));
}

#[test]
fn narrowing_to_memory_keeps_denormals() {
    for (wide, narrow) in [
        (0x477f_f000, 0x7bff),
        (0x3300_0001, 0x0001),
        (0x3300_0000, 0x0000),
        (0x387f_e000, 0x0400),
        (0x3f80_1000, 0x3c00),
        (0x3f80_3000, 0x3c02),
        (0x7f80_0201, 0x7e01),
        (0xff80_0000, 0xfbff),
    ] {
        assert_eq!(fp32(wide).to_fp16(), fp16(narrow), "{wide:#x}");
    }
}

#[test]
fn narrowing_inside_has_no_denormals_unless_rounding_leaves_them() {
    // 2^-31 and its neighbours: the smallest normal number has the exponent -30.
    let below = |mantissa: u32| fp32((127 - 31) << 23 | mantissa).to_fp17();
    assert_eq!(below(0), Fp17::ZERO);
    assert_eq!(below(0x7f_e000), Fp17::ZERO + fp17(1 << 10));
    assert_eq!(-fp17(1 << 10), -fp32((127 - 30) << 23).to_fp17());
    assert_eq!(fp32(1 << 31 | (127 - 31) << 23).to_fp17(), -Fp17::ZERO);
}

#[test]
fn a_difference_of_zero_has_the_first_operands_sign() {
    let one = Fp32::ONE;
    assert_eq!(one + -one, Fp32::ZERO);
    assert_eq!(-one + one, -Fp32::ZERO);
}

#[test]
fn too_large_is_the_largest_number() {
    let largest = Fp32::largest(false);
    assert_eq!(largest + largest, largest);
    assert_eq!(largest * -largest, -largest);
    assert_eq!(Fp17::largest(true) * Fp17::largest(true), Fp17::largest(false));
}

#[test]
fn a_nan_is_passed_on_the_first_of_two() {
    let (a, b) = (fp32(0x7f80_0001), fp32(0xff80_0002));
    for result in [a + b, a * b, a.max(b), a.min(b), a.relu(), a - Fp32::ONE, Fp32::ONE.max(a)] {
        assert_eq!(result, a);
    }
    assert_eq!([b.relu(), Fp32::ONE + b, Fp32::ONE - b], [b, b, -b]);
}

#[test]
fn zeros_are_ordered() {
    let zero = Fp16::ZERO;
    assert_eq!(
        [zero.max(-zero), (-zero).max(zero), zero.min(-zero), (-zero).min(zero)],
        [zero, zero, -zero, -zero]
    );
    assert_eq!((-zero).relu(), zero);
}

#[test]
fn integers_become_floats_and_floats_integers() {
    for (integer, code) in [
        (0, 0),
        (2049, 0x6800),
        (2051, 0x6802),
        (65535, 0x7bff),
        (65503, 0x7bff),
        (-65536, 0xfbff),
        (-1, 0xbc00),
    ] {
        assert_eq!(Fp16::from_integer(integer), fp16(code), "{integer}");
    }
    for (code, integer) in [
        (0x3800, 1),
        (0xb800, -1),
        (0x3e00, 2),
        (0x4100, 3),
        (0x37ff, 0),
        (0x7bff, 32767),
        (0xfbff, -32768),
        (0x7c01, -32768),
        (0x0001, 0),
        (0x7800, 32767),
        (0xf800, -32768),
    ] {
        assert_eq!(fp16(code).to_int16(), integer, "{code:#x}");
    }
}

#[test]
fn fractions_are_rounded() {
    assert_eq!(Fp17::from_fraction(((1u64 << 35) + 1) / 3, 35), fp17(0x07555));
    assert_eq!(Fp17::from_fraction(1 << 34, 35), fp17(0x07800));
    assert_eq!(Fp17::from_fraction((1 << 35) - 1, 35), Fp17::ONE);
    // 2^-31 and below is zero.
    assert_eq!([8, 16, 31, 32].map(|it| Fp17::from_fraction(it, 35).bits()), [0, 0, 0, 0x400]);
    assert_eq!(Fp17::from_fraction(0xffff, 16), Fp17::ONE);
    assert_eq!(Fp17::from_fraction(1, 16), fp17(15 << 10));
}

#[test]
fn powers_of_two_reach_below_the_normal_numbers() {
    for exponent in i8::MIN..=i8::MAX {
        let expected = 2f64.powi(exponent.into()) as f32;
        assert_eq!(Fp32::power_of_two(exponent).bits(), expected.to_bits(), "{exponent}");
    }
}

/// A normal binary32 number or zero.
fn number() -> impl Strategy<Value = Fp32> {
    prop_oneof![
        20 => any::<u32>(),
        // Near each other, so that they cancel.
        10 => (0u32..1 << 24, 120u32..130, 0u32..2).prop_map(|(mantissa, exponent, sign)| {
            sign << 31 | exponent << 23 | (mantissa & 0x7f_ffff)
        }),
        1 => Just(0),
        1 => Just(1 << 31),
    ]
    .prop_map(fp32)
    .prop_filter("no number, or a denormal", |it| {
        !it.is_nan() && !it.is_infinite() && (it.is_zero() || it.exponent() > 0)
    })
}

/// Two of them, often of about the same magnitude.
fn pair() -> impl Strategy<Value = (Fp32, Fp32)> {
    let near = || {
        (number(), any::<u32>(), 0u32..30).prop_map(|(a, other, below)| {
            let exponent = a.exponent().saturating_sub(below).max(1);
            (a, Fp32::new(other & 1 != 0, exponent, other >> 9))
        })
    };
    prop_oneof![near(), near().prop_map(|(a, b)| (b, a)), (number(), number())]
}

/// A result in single precision as these rules have it.
fn settled(value: f32) -> Fp32 {
    let code = fp32(value.to_bits());
    match code.exponent() {
        0 => Fp32::new(code.is_negative(), 0, 0),
        255 => Fp32::largest(code.is_negative()),
        _ => code,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn products_are_the_processors(a in number(), b in number()) {
        let exact = f32::from_bits(a.bits()) * f32::from_bits(b.bits());
        // Rounding before or after normalising differs where the result is a denormal, or nearly one.
        prop_assume!(exact == 0.0 || exact.abs() > f32::MIN_POSITIVE * 2.0);
        prop_assert_eq!(a * b, settled(exact));
    }

    #[test]
    fn sums_are_the_processors_where_no_bit_is_dropped((a, b) in pair()) {
        let sum = f32::from_bits(a.bits()) + f32::from_bits(b.bits());
        if a.exponent().abs_diff(b.exponent()) <= 25 && sum != 0.0 {
            prop_assert_eq!(a + b, settled(sum));
        }
    }

    /// Straight from the definition, in wide integers.
    #[test]
    fn sums_drop_what_lies_further_right((a, b) in pair()) {
        let (large, small) = if a.magnitude() >= b.magnitude() { (a, b) } else { (b, a) };
        let distance = large.exponent() - small.exponent();
        // In units of the last bit that is kept.
        let value = |it: Fp32| (u128::from(it.significand()) << 25) as i128;
        let kept = if distance < 100 { value(small) >> distance } else { 0 };
        let magnitude = if large.is_negative() == small.is_negative() { value(large) + kept } else { value(large) - kept };
        let sum = a + b;
        if magnitude == 0 {
            prop_assert!(sum.is_zero() && sum.is_negative() == large.is_negative());
            return Ok(());
        }
        // Of 49 bits and more 24 remain: f64 holds them all, and rounds to f32 as here.
        let exact = magnitude as f64 * 2f64.powi(large.exponent() as i32 - 127 - 48);
        prop_assume!(exact.abs() < f64::from(f32::MAX) && exact > f64::from(f32::MIN_POSITIVE) * 2.0);
        let signed = if large.is_negative() { -exact } else { exact };
        prop_assert_eq!(sum, settled(signed as f32));
    }

    #[test]
    fn formats_hold_what_fits_them(code in any::<u16>()) {
        let value = fp16(code.into());
        prop_assume!(!value.is_infinite());
        prop_assert_eq!(value.widened::<8, 23>().to_fp16(), value);
        prop_assert_eq!(value.widened::<6, 10>().to_fp16(), value);
        prop_assert_eq!(value.widened::<6, 10>().widened::<8, 23>(), value.widened::<8, 23>());
        prop_assert_eq!(value.widened::<8, 23>().to_fp17(), value.widened::<6, 10>());
    }

    #[test]
    fn narrowing_takes_the_nearest(a in number()) {
        // Beyond the largest number the distance does not count.
        let value = f64::from(f32::from_bits(a.bits())).abs().min(65504.0);
        let of = |code: u32| {
            let (exponent, mantissa) = ((code >> 10) as i32, code & 0x3ff);
            match exponent {
                0 => f64::from(mantissa) * 2f64.powi(-24),
                _ => f64::from(mantissa | 0x400) * 2f64.powi(exponent - 25),
            }
        };
        let code = a.to_fp16().magnitude();
        let error = (of(code) - value).abs();
        for other in [code.saturating_sub(1), (code + 1).min(0x7bff)] {
            let closer = (of(other) - value).abs();
            prop_assert!(error < closer || (error == closer && (code % 2 == 0 || other == code)), "{:#x}", code);
        }
        prop_assert_eq!(a.to_fp16().is_negative(), a.is_negative());
    }

    #[test]
    fn any_codes_have_a_result(a: u32, b: u32) {
        let (x, y) = (fp32(a), fp32(b));
        let (v, w) = (fp17(a), fp17(b));
        let _ = (x + y, x - y, x * y, x.to_fp16(), x.to_fp17(), x.to_fp16().to_int16());
        let _ = (v + w, v - w, v * w, v.to_fp16(), v.widened::<8, 23>());
    }
}
