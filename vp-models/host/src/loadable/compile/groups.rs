//! Registers of a step, unit by unit.

use crate::program::Program;
use std::collections::HashMap;
use vp_models::nvdla::registers::{Group, RegisterMap, Unit};

/// Registers of all units, as writes leave them.
#[derive(Clone, Debug)]
pub(super) struct Groups(HashMap<Unit, Group>);

impl Groups {
    /// Registers after a reset.
    pub(super) fn new(map: RegisterMap) -> Groups {
        Groups(map.units().map(|slot| (slot.unit, Group::new(slot.unit, map))).collect())
    }

    /// Registers after the writes of a program.
    pub(super) fn after(map: RegisterMap, program: &Program) -> Groups {
        let mut groups = Groups::new(map);
        groups.write(program);
        groups
    }

    /// Makes the writes of a program.
    pub(super) fn write(&mut self, program: &Program) {
        for write in &program.writes {
            if let Some(group) = self.0.get_mut(&write.unit) {
                group.set_word(write.register, write.value);
            }
        }
    }

    /// Registers of a unit, which the map has.
    pub(super) fn of(&self, unit: Unit) -> &Group {
        &self.0[&unit]
    }
}
