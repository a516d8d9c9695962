//! The refusal of a register group that does not describe a layer which the engine can run.
//!
//! Made by the `layer` file of each engine; reported by the engine's process. It never panics: register values
//! come from outside.
//!
//! The engine warns with register, field, value and reason, moves no data, and ends the layer with its
//! interrupts, so that no driver waits for ever. A layer that one unit of a convolution refuses ends in all
//! of them, and in the units that they feed.
//!
//! Not refused is what hangs the RTL: units whose registers do not agree, weights that find no room, operands
//! that no unit takes, padding behind PDP's last window, a PDP layer behind rows that no window read. It
//! waits here too; a warning names registers and rule, and the simulation ends by itself and says which
//! process waits for what. `docs/programming.md` has each rule with its place in the RTL.

use std::borrow::Cow;

use super::registers::{FieldRef, Group};

/// A register value no layer can have, or not together with the others.
///
/// Displays as `SDP.D_DATA_FORMAT.PROC_PRECISION = 1 (INT16): this configuration does not compute int16`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}.{field} = {value:#x}{}: {why}", field.unit, self.named())]
pub struct Refused {
    /// The field: its unit, register and name.
    pub field: FieldRef,
    /// Stored value of the field, or the quantity that it cannot hold.
    pub value: u32,
    /// Reason: what the value contradicts, and what would be right.
    pub why: Cow<'static, str>,
    /// True if another configuration can have the value.
    pub lacking: bool,
}

impl Refused {
    /// Refuses what `group` holds in `field`.
    pub fn new(group: &Group, field: FieldRef, why: impl Into<Cow<'static, str>>) -> Self {
        Refused { field, value: group.get(field), why: why.into(), lacking: false }
    }

    /// Refuses what `group` holds in `field` because the configuration lacks it.
    pub fn lacking(group: &Group, field: FieldRef, why: impl Into<Cow<'static, str>>) -> Self {
        Refused { lacking: true, ..Refused::new(group, field, why) }
    }

    fn named(&self) -> String {
        self.field.value_name(self.value).map_or_else(String::new, |name| format!(" ({name})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::registers::{RegisterMap, Unit, sdp};

    #[test]
    fn names_unit_register_field_and_value() {
        let mut group = Group::new(Unit::Sdp, RegisterMap::Small);
        group.set(sdp::D_DATA_FORMAT::PROC_PRECISION, 1);
        let refused = Refused::new(&group, sdp::D_DATA_FORMAT::PROC_PRECISION, "int8 only");
        assert_eq!(refused.to_string(), "SDP.D_DATA_FORMAT.PROC_PRECISION = 0x1 (INT16): int8 only");
    }
}
