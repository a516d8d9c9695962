//! CMAC_A and CMAC_B, the MAC arrays: each multiplies half of the kernels of a group.
//!
//! They have registers of their own, but decide nothing: the sequence says what they compute for which
//! positions. `sums` does the computation.

use super::hardware::Hardware;
use crate::nvdla::control::Control;
use crate::nvdla::encode::{self, Encoded};
use crate::nvdla::numeric::Precision;
use crate::nvdla::order::Order;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, RegisterMap, Unit, cmac as reg};
use std::rc::Rc;

/// Layer as an array's registers say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmacLayer {
    /// Format of activations and weights.
    pub precision: Precision,
    /// The method is Winograd's.
    pub winograd: bool,
}

impl CmacLayer {
    /// Both arrays' units, in a driver's order.
    pub const UNITS: [Unit; 2] = [Unit::CmacA, Unit::CmacB];

    /// Decodes and checks a group.
    pub fn decode(group: &Group, hardware: &Hardware) -> Result<CmacLayer, Refused> {
        let winograd = group.flag(reg::D_MISC_CFG::CONV_MODE);
        if winograd && !hardware.winograd {
            let why = "this configuration has no Winograd";
            return Err(Refused::lacking(group, reg::D_MISC_CFG::CONV_MODE, why));
        }
        Ok(CmacLayer { precision: hardware.precision(group, reg::D_MISC_CFG::PROC_PRECISION)?, winograd })
    }

    /// The registers of both arrays in groups, all but the enables.
    pub fn fields(&self) -> Encoded {
        use reg::D_MISC_CFG::*;
        let fields = [(CONV_MODE, self.winograd.into()), (PROC_PRECISION, self.precision.code())];
        let [first, second] = CmacLayer::UNITS.map(|unit| Encoded::of(unit, fields));
        first.and(second)
    }

    /// Returns the registers of [`CmacLayer::fields`], checked: the inverse of [`CmacLayer::decode`].
    ///
    /// # Errors
    /// When it would be refused.
    pub fn encode(&self, map: RegisterMap, hardware: &Hardware) -> Result<Encoded, Refused> {
        let fields = self.fields();
        for unit in CmacLayer::UNITS {
            let group = fields.group(unit, map)?;
            let decoded = CmacLayer::decode(&group, hardware);
            encode::check(self, decoded, (&group, reg::D_MISC_CFG::PROC_PRECISION))?;
        }
        Ok(fields)
    }
}

/// The registers of both arrays.
pub(super) struct Arrays {
    pub(super) a: Rc<Control>,
    pub(super) b: Rc<Control>,
}

impl Arrays {
    /// Waits until both have a layer.
    pub(super) async fn turn(&self) -> [Group; 2] {
        [self.a.turn().await.0, self.b.turn().await.0]
    }

    /// Ends the layer of both arrays.
    pub(super) fn finish(&self) {
        self.a.finish();
        self.b.finish();
    }

    /// Checks that both arrays take what the sequence sends: tells whose register says otherwise, and what.
    pub(super) fn check(
        &self,
        groups: &[Group; 2],
        (precision, order): (Precision, Order),
        hardware: &Hardware,
    ) -> Result<(), (&Control, Refused)> {
        for (control, group) in [&*self.a, &*self.b].into_iter().zip(groups) {
            let refuse = |field, why| Err((control, Refused::new(group, field, why)));
            let layer = CmacLayer::decode(group, hardware).map_err(|refused| (control, refused))?;
            if layer.winograd != (order == Order::Tiles) {
                return refuse(reg::D_MISC_CFG::CONV_MODE, "CSC has another mode");
            }
            if layer.precision != precision {
                return refuse(reg::D_MISC_CFG::PROC_PRECISION, "CSC sends another format");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::config::Config;

    #[test]
    fn what_is_encoded_is_decoded_and_what_is_refused_is_refused_alike() {
        for name in Config::NAMES {
            let config = Config::named(name).unwrap();
            let (map, hardware) = (config.register_map, Hardware::from(&config));
            for (precision, winograd) in [Precision::Int8, Precision::Int16, Precision::Fp16]
                .into_iter()
                .flat_map(|precision| [false, true].map(|winograd| (precision, winograd)))
            {
                let layer = CmacLayer { precision, winograd };
                for unit in CmacLayer::UNITS {
                    let group = layer.fields().group(unit, map).unwrap();
                    let decoded = CmacLayer::decode(&group, &hardware);
                    if unit == Unit::CmacA {
                        let encoded = layer.encode(map, &hardware);
                        assert_eq!(encoded.err(), decoded.as_ref().err().cloned(), "{name}");
                    }
                    assert!(decoded.is_err() || decoded == Ok(layer), "{name}");
                }
            }
        }
    }
}
