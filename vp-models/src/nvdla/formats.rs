//! The element formats that a hardware configuration computes in, as every engine's `layer` asks for them.

use super::config::{Config, DataType};
use super::numeric::Precision;
use super::refused::Refused;
use super::registers::{FieldRef, Group};

/// Formats that there are besides int8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Formats {
    /// int16.
    pub int16: bool,
    /// fp16.
    pub fp16: bool,
}

impl Formats {
    /// int8 alone.
    pub const INT8: Formats = Formats { int16: false, fp16: false };
    /// All three.
    pub const ALL: Formats = Formats { int16: true, fp16: true };

    /// Of features.
    pub fn of_features(config: &Config) -> Formats {
        let has = |format| config.has_feature_type(format);
        Formats { int16: has(DataType::Int16), fp16: has(DataType::Fp16) }
    }

    /// Of features that are multiplied with weights.
    pub fn of_convolutions(config: &Config) -> Formats {
        let has = |format| config.has_feature_type(format) && config.has_weight_type(format);
        Formats { int16: has(DataType::Int16), fp16: has(DataType::Fp16) }
    }

    /// The format that a field names, if it is one of these.
    pub fn decode(self, group: &Group, field: FieldRef) -> Result<Precision, Refused> {
        match Precision::of_code(group.get(field)) {
            Some(Precision::Int16) if !self.int16 => {
                Err(Refused::lacking(group, field, "this configuration does not compute int16"))
            }
            Some(Precision::Fp16) if !self.fp16 => {
                Err(Refused::lacking(group, field, "this configuration does not compute fp16"))
            }
            Some(precision) => Ok(precision),
            None => Err(Refused::new(group, field, "there are formats 0 (int8), 1 (int16) and 2 (fp16)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::registers::{RegisterMap, Unit, sdp};

    #[test]
    fn a_configuration_has_its_formats_and_refuses_the_others_by_name() {
        use sdp::D_DATA_FORMAT::PROC_PRECISION;
        let of = |formats: Formats| {
            [0, 1, 2, 3].map(|code| {
                let mut group = Group::new(Unit::Sdp, RegisterMap::Full);
                group.set(PROC_PRECISION, code);
                formats.decode(&group, PROC_PRECISION).ok()
            })
        };
        let lacks = |code| {
            let mut group = Group::new(Unit::Sdp, RegisterMap::Full);
            group.set(PROC_PRECISION, code);
            Formats::INT8.decode(&group, PROC_PRECISION).unwrap_err().lacking
        };
        assert_eq!([1, 2, 3].map(lacks), [true, true, false]);
        let [int8, int16, fp16] = [Precision::Int8, Precision::Int16, Precision::Fp16].map(Some);
        assert_eq!(of(Formats::ALL), [int8, int16, fp16, None]);
        assert_eq!(of(Formats::INT8), [int8, None, None, None]);
        let full = Config::named("nv_full").unwrap();
        assert_eq!([Formats::of_features(&full), Formats::of_convolutions(&full)], [Formats::ALL; 2]);
    }
}
