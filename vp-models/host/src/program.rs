//! Register writes, in the order in which a driver makes them.

use super::{Host, HostError};
use vp_models::nvdla::encode::Encoded;
use vp_models::nvdla::registers::{FieldRef, Group, RegisterMap, RegisterRef, Unit};

/// One register write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The unit.
    pub unit: Unit,
    /// Register of the unit.
    pub register: RegisterRef,
    /// The whole word.
    pub value: u32,
}

/// Register writes, in order.
///
/// ```
/// use vp_host::program::Program;
/// use vp_models::nvdla::registers::{RegisterMap, Unit, pdp::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH};
///
/// let mut program = Program::new(RegisterMap::Small);
/// program.fields(Unit::Pdp, &[(CUBE_IN_WIDTH, 8)]);
/// assert_eq!(program.writes[0].value, 7, "the register counts from zero");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    map: RegisterMap,
    /// The writes.
    pub writes: Vec<Write>,
}

impl Program {
    /// No writes yet.
    pub fn new(map: RegisterMap) -> Program {
        Program { map, writes: Vec::new() }
    }

    /// Program of these writes.
    pub(crate) fn of(map: RegisterMap, writes: Vec<Write>) -> Program {
        Program { map, writes }
    }

    /// Map whose registers it writes.
    pub fn map(&self) -> RegisterMap {
        self.map
    }

    /// Makes the writes at a host, posted.
    ///
    /// # Errors
    /// When the host does, or a unit is not in its map.
    pub fn run(&self, host: &mut dyn Host) -> Result<(), HostError> {
        self.writes.iter().try_for_each(|write| {
            let address = address(self.map, write.unit, write.register)?;
            host.write(address, write.value)
        })
    }

    /// Writes a whole register.
    pub fn word(&mut self, unit: Unit, register: RegisterRef, value: u32) {
        self.writes.push(Write { unit, register, value });
    }

    /// Writes every register that has one of these fields, in the order of their first fields. Values are the
    /// quantities meant: where a register counts from zero, one is taken off. Bits that do not fit are lost.
    pub fn fields(&mut self, unit: Unit, fields: &[(FieldRef, u32)]) {
        let mut group = Group::new(unit, self.map);
        fields.iter().for_each(|&(field, value)| group.set_actual(field, value));
        let mut registers: Vec<RegisterRef> = Vec::new();
        for (field, _) in fields {
            // Fields and registers stand in one table: there is always one.
            let register = unit.register(field.register).filter(|register| !registers.contains(register));
            registers.extend(register);
        }
        for register in registers {
            self.word(unit, register, group.word(register));
        }
    }

    /// Writes what an engine's encoder has made of a layer.
    pub fn encoded(&mut self, encoded: &Encoded) {
        encoded.iter().for_each(|(unit, fields)| self.fields(unit, fields));
    }
}

/// Returns the address of a unit's register in a map.
///
/// # Errors
/// When the map does not have the unit.
pub fn address(map: RegisterMap, unit: Unit, register: RegisterRef) -> Result<u32, HostError> {
    map.address(unit, register)
        .ok_or_else(|| HostError::Refused(format!("there is no {unit} in the {map} map of registers")))
}
