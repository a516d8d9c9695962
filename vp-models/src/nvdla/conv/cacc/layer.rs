//! One layer's registers of CACC: how sums become results.

use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::conv::sums::Sums;
use crate::nvdla::encode::{self, Encoded};
use crate::nvdla::numeric::{Precision, round_shift, saturate_32};
use crate::nvdla::order::Pairs;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, RegisterMap, Unit, cacc as reg};
use crate::nvdla::vector::widest;

/// One hardware layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaccLayer {
    /// Format of activations and weights.
    pub precision: Precision,
    /// The sums come of Winograd's method.
    pub winograd: bool,
    /// Output columns, lines and channels.
    pub size: [u32; 3],
    /// Cubes of that size.
    pub cubes: u32,
    /// Address at which SDP puts the first of several cubes, and the bytes from line to line and from surface to surface.
    pub place: [u32; 3],
    /// Right shift of the sums.
    pub truncate: u32,
}

impl CaccLayer {
    /// Decodes and checks a group.
    pub fn decode(group: &Group, hardware: &Hardware) -> Result<CaccLayer, Refused> {
        let lacks = |field, why| Err(Refused::lacking(group, field, why));
        let winograd = group.flag(reg::D_MISC_CFG::CONV_MODE);
        if winograd && !hardware.winograd {
            return lacks(reg::D_MISC_CFG::CONV_MODE, "this configuration has no Winograd");
        }
        let cubes = group.actual(reg::D_BATCH_NUMBER::BATCHES);
        if cubes > hardware.batches {
            let why = "this configuration does not take so many cubes at once";
            return lacks(reg::D_BATCH_NUMBER::BATCHES, why);
        }
        Ok(CaccLayer {
            precision: hardware.precision(group, reg::D_MISC_CFG::PROC_PRECISION)?,
            winograd,
            size: [
                group.actual(reg::D_DATAOUT_SIZE_0::DATAOUT_WIDTH),
                group.actual(reg::D_DATAOUT_SIZE_0::DATAOUT_HEIGHT),
                group.actual(reg::D_DATAOUT_SIZE_1::DATAOUT_CHANNEL),
            ],
            cubes,
            place: match cubes {
                1 => [0; 3],
                _ => [
                    group.actual(reg::D_DATAOUT_ADDR::DATAOUT_ADDR),
                    group.actual(reg::D_LINE_STRIDE::LINE_STRIDE),
                    group.actual(reg::D_SURF_STRIDE::SURF_STRIDE),
                ],
            },
            truncate: group.get(reg::D_CLIP_CFG::CLIP_TRUNCATE),
        })
    }

    /// Returns the layer's registers in groups, all but the enable.
    pub fn fields(&self) -> Encoded {
        use reg::{
            D_BATCH_NUMBER::*, D_CLIP_CFG::*, D_DATAOUT_ADDR::*, D_DATAOUT_SIZE_0::*, D_DATAOUT_SIZE_1::*,
            D_LINE_STRIDE::*, D_MISC_CFG::*, D_SURF_STRIDE::*,
        };
        let [width, height, channels] = self.size;
        let mut fields = vec![
            (CONV_MODE, self.winograd.into()),
            (PROC_PRECISION, self.precision.code()),
            (DATAOUT_WIDTH, width),
            (DATAOUT_HEIGHT, height),
            (DATAOUT_CHANNEL, channels),
            (BATCHES, self.cubes),
            (CLIP_TRUNCATE, self.truncate),
        ];
        if self.place != [0; 3] {
            let [address, line, surface] = self.place;
            fields.extend([(DATAOUT_ADDR, address), (LINE_STRIDE, line), (SURF_STRIDE, surface)]);
        }
        Encoded::of(Unit::Cacc, fields)
    }

    /// Returns the order in which pixels of several cubes are handed over; `None`: of one cube, as they come.
    pub(super) fn pairs(&self, atom: u32) -> Option<Pairs> {
        let [width, height, _] = self.size;
        (self.cubes > 1).then(|| Pairs::new(self.cubes, [width, height], self.place, atom))
    }

    /// Returns the registers of [`CaccLayer::fields`], checked: the inverse of [`CaccLayer::decode`].
    ///
    /// # Errors
    /// When it cannot be said, or would be refused.
    pub fn encode(&self, map: RegisterMap, hardware: &Hardware) -> Result<Encoded, Refused> {
        let fields = self.fields();
        let group = fields.group(Unit::Cacc, map)?;
        let decoded = CaccLayer::decode(&group, hardware);
        encode::check(self, decoded, (&group, reg::D_MISC_CFG::PROC_PRECISION))?;
        Ok(fields)
    }

    /// A sum in the form that SDP gets, and whether it was clipped. (The RTL counts one value more:
    /// `NV_NVDLA_CACC_CALC_int8.v`, `i_sft_need_sat`, checks negative sums before they are rounded up to the
    /// lowest value.)
    #[inline]
    pub fn clip(&self, sum: i64) -> (i32, bool) {
        let rounded = round_shift(sum, self.truncate);
        let clipped = saturate_32(rounded);
        (clipped, i64::from(clipped) != rounded)
    }

    /// Sums in the form that SDP gets, if 32 bits hold them: they are only rounded.
    pub fn clip_narrow(&self, sums: &mut [i32]) {
        widest(|| round_shift_all(sums, self.truncate));
    }

    /// Sums as SDP gets them, and how many were clipped: [`CaccLayer::clip`] of each.
    pub(in crate::nvdla::conv) fn clip_all(&self, sums: Sums) -> (Vec<i32>, u64) {
        match sums {
            // What 32 bits hold is not clipped.
            Sums::Narrow(mut sums) => {
                self.clip_narrow(&mut sums);
                (sums, 0)
            }
            // Codes are delivered as they are.
            Sums::Float(codes) => (codes.into_iter().map(u32::cast_signed).collect(), 0),
            Sums::Wide(sums) => {
                let mut clipped = 0;
                let clip = |sum| {
                    let (result, beyond) = self.clip(sum);
                    clipped += u64::from(beyond);
                    result
                };
                (sums.into_iter().map(clip).collect(), clipped)
            }
        }
    }
}

/// [`round_shift`] of each value, without leaving 32 bits.
#[inline(always)]
fn round_shift_all(values: &mut [i32], shift: u32) {
    match shift {
        0 => {}
        1..=31 => {
            for value in values {
                // As there: one less for negative values turns "half up" into "half away from zero".
                let lower = value.saturating_sub(i32::from(*value < 0));
                *value = (lower >> shift) + ((lower >> (shift - 1)) & 1);
            }
        }
        _ => values.iter_mut().for_each(|value| *value = round_shift((*value).into(), shift) as i32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::config::Config;
    use proptest::prelude::*;

    const PLAIN: CaccLayer = CaccLayer {
        precision: Precision::Int8,
        winograd: false,
        size: [1; 3],
        cubes: 1,
        place: [0; 3],
        truncate: 0,
    };

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_what_is_refused_is_refused_alike(
            name in prop::sample::select(vec!["nv_small", "nv_large", "nv_full"]),
            code in 0u32..3,
            winograd: bool,
            size in prop::array::uniform3(1u32..8200),
            (cubes, truncate) in (1u32..34, 0u32..33),
            place in prop::array::uniform3(0u32..1 << 18),
        ) {
            let config = Config::named(name).unwrap();
            let (map, hardware) = (config.register_map, Hardware::from(&config));
            let precision = Precision::of_code(code).unwrap();
            let place = place.map(|atoms| if cubes > 1 { 32 * atoms } else { 0 });
            let layer = CaccLayer { precision, winograd, size, cubes, place, truncate };
            let encoded = layer.encode(map, &hardware);
            match layer.fields().group(Unit::Cacc, map) {
                Ok(group) => {
                    let decoded = CaccLayer::decode(&group, &hardware);
                    prop_assert_eq!(encoded.as_ref().err(), decoded.as_ref().err());
                    if let Ok(decoded) = decoded {
                        prop_assert_eq!(decoded, layer);
                    }
                }
                Err(refused) => prop_assert_eq!(encoded.err(), Some(refused)),
            }
        }

        #[test]
        fn sums_of_both_widths_are_clipped_one_by_one(
            sums in prop::collection::vec(prop_oneof![any::<i32>(), Just(i32::MIN), Just(i32::MAX), -3..3], 0..40),
            truncate in 0u32..32,
        ) {
            let layer = CaccLayer { truncate, ..PLAIN };
            let wide: Vec<i64> = sums.iter().map(|&sum| sum.into()).collect();
            let expected: Vec<i32> = wide.iter().map(|&sum| layer.clip(sum).0).collect();
            let clipped = wide.iter().filter(|&&sum| layer.clip(sum).1).count() as u64;
            prop_assert_eq!(layer.clip_all(Sums::Narrow(sums)), (expected.clone(), 0));
            prop_assert_eq!(layer.clip_all(Sums::Wide(wide)), (expected, clipped));
        }
    }

    #[test]
    fn sums_are_rounded_then_clipped() {
        let layer = |truncate| CaccLayer { truncate, ..PLAIN };
        assert_eq!(layer(1).clip(-5), (-3, false));
        assert_eq!(layer(0).clip(1 << 31), (i32::MAX, true));
        assert_eq!(layer(1).clip((1 << 32) - 1), (i32::MAX, true));
        assert_eq!(layer(2).clip(-(1 << 33) - 2), (i32::MIN, true));
        assert_eq!(layer(2).clip(-(1 << 33) - 1), (i32::MIN, false));
    }
}
