//! The device's registers, for Python's names: what the table has, as tuples.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use vp_models::platform::{DeviceRegisters, NamedKind, NamedRegister};
use vp_models::registers::{Access, Encoding, FieldRef};

fn access(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "ro",
        Access::ReadWrite => "rw",
        Access::WriteOnly => "wo",
        Access::WriteOneToClear => "w1c",
    }
}

fn encoding(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Plain => "plain",
        Encoding::MinusOne => "minus one",
        Encoding::Signed => "signed",
        Encoding::Bytes => "bytes",
    }
}

/// `(name, lsb, width, access, encoding, doc, [(name, value)])`
fn field<'py>(
    py: Python<'py>,
    registers: &DeviceRegisters,
    field: FieldRef,
) -> PyResult<Bound<'py, PyTuple>> {
    let bits = field.bits(registers.family());
    let values: Vec<(&str, u32)> = field.values.iter().map(|value| (value.name, value.value)).collect();
    let (access, encoding) = (access(field.access), encoding(field.encoding));
    (field.name, bits.lsb, bits.width(), access, encoding, field.doc.trim(), values).into_pyobject(py)
}

/// `(name, address, access, has groups, reset, doc, [field])`
fn register<'py>(
    py: Python<'py>,
    registers: &DeviceRegisters,
    register: &NamedRegister,
) -> PyResult<Bound<'py, PyTuple>> {
    let (rights, doc) = match register.kind {
        NamedKind::Register(table) => (access(table.access), table.doc.trim()),
        NamedKind::Word { doc, .. } => ("ro", doc),
    };
    let fields = register.fields().iter().map(|one| field(py, registers, one));
    let fields = PyList::new(py, fields.collect::<PyResult<Vec<_>>>()?)?;
    let (groups, reset) = (register.has_groups(), register.reset(registers.family()));
    (register.name, register.address, rights, groups, reset, doc, fields).into_pyobject(py)
}

/// The units that have registers, in the order of their addresses.
pub(crate) fn units(registers: &DeviceRegisters) -> Vec<&'static str> {
    let mut units = Vec::new();
    for register in registers.all() {
        if !units.contains(&register.unit) {
            units.push(register.unit);
        }
    }
    units
}

/// The registers of a unit.
pub(crate) fn of_unit<'py>(
    py: Python<'py>,
    registers: &DeviceRegisters,
    unit: &str,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let of_unit = registers.all().iter().filter(|register| register.unit == unit);
    of_unit.map(|one| register(py, registers, one)).collect()
}
