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

/// Registers of both arrays' layers, of those that are enabled.
pub(super) type EnabledArrays = [Option<Group>; 2];

impl Arrays {
    fn both(&self) -> [&Rc<Control>; 2] {
        [&self.a, &self.b]
    }

    /// Takes the layer of each array that is enabled and was not: nothing in hardware waits for the others.
    pub(super) async fn take_enabled(&self, taken: &mut EnabledArrays) {
        for (control, taken) in self.both().into_iter().zip(taken) {
            if taken.is_none() {
                *taken = control.turn_if_enabled().await;
            }
        }
    }

    /// Says which arrays are sent data without being enabled.
    pub(super) fn warn_of_disabled(&self, taken: &EnabledArrays) {
        for (control, _) in self.both().into_iter().zip(taken).filter(|(_, taken)| taken.is_none()) {
            control.warn(
                "CSC sends data, and D_OP_ENABLE is 0: CSC does not wait for CMAC (NV_NVDLA_CSC_sg, layer_st). Here, as on the RTL without \
                 clock gates, the array computes all the same; with them it has no clock until it is enabled (NV_NVDLA_CMAC_CORE_slcg), \
                 and what comes before is lost. CMAC_A and CMAC_B are to be enabled before CSC and CDMA",
            );
        }
    }

    /// Ends the layer of both arrays, of each when it is enabled.
    pub(super) async fn finish(&self, taken: EnabledArrays) {
        for (control, taken) in self.both().into_iter().zip(taken) {
            if taken.is_none() {
                control.turn().await;
            }
        }
        for control in self.both() {
            control.finish();
        }
    }

    /// Checks that the arrays that are enabled take what the sequence sends: tells whose register says otherwise, and what.
    pub(super) fn check(
        &self,
        groups: &EnabledArrays,
        (precision, order): (Precision, Order),
        hardware: &Hardware,
    ) -> Result<(), (&Control, Refused)> {
        for (control, group) in self.both().into_iter().zip(groups) {
            let (control, Some(group)) = (&**control, group) else { continue };
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
