//! Layers as register writes: the output of the encoders of all engines, and its check.
//!
//! Each engine's `decode` has an inverse. `fields` gives the registers to which a layer is written, in a
//! driver's order, and checks nothing. `encode` also decodes what it has written, so decoder and encoder refuse
//! the same layers with the same words.

use std::fmt::Debug;

use super::refused::Refused;
use super::registers::{Encoding, FieldRef, Group, RegisterMap, Unit};

/// Fields of one unit, each with its value in the layer's terms, in the order in which their registers are
/// written.
pub type Fields = Vec<(FieldRef, u32)>;

/// Writes of some units' fields, in a driver's order. A unit may come several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded(Vec<(Unit, Fields)>);

impl Encoded {
    /// One unit's.
    pub fn of(unit: Unit, fields: impl Into<Fields>) -> Encoded {
        Encoded(vec![(unit, fields.into())])
    }

    /// Others behind these.
    #[must_use]
    pub fn and(mut self, others: Encoded) -> Encoded {
        self.0.extend(others.0);
        self
    }

    /// Units and their fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Unit, &[(FieldRef, u32)])> {
        self.0.iter().map(|(unit, fields)| (*unit, &fields[..]))
    }

    /// Gives a field another value, wherever it is written; a field that is not written yet is added as the
    /// unit's last.
    pub fn set(&mut self, unit: Unit, field: FieldRef, value: u32) {
        let mut fields: Vec<&mut Fields> =
            self.0.iter_mut().filter(|(written, _)| *written == unit).map(|(_, fields)| fields).collect();
        let mut written = fields.iter_mut().flat_map(|fields| fields.iter_mut()).filter(|it| it.0 == field);
        if let Some(first) = written.next() {
            std::iter::once(first).chain(written).for_each(|written| written.1 = value);
            return;
        }
        match fields.pop() {
            Some(last) => last.push((field, value)),
            None => self.0.push((unit, vec![(field, value)])),
        }
    }

    /// Adds fields right before one of a unit.
    pub fn insert_before(
        &mut self,
        unit: Unit,
        field: FieldRef,
        more: impl IntoIterator<Item = (FieldRef, u32)>,
    ) {
        let fields = self.0.iter_mut().filter(|(written, _)| *written == unit);
        let mut places = fields.filter_map(|(_, fields)| {
            let at = fields.iter().position(|(written, _)| *written == field)?;
            Some((fields, at))
        });
        if let Some((fields, at)) = places.next() {
            fields.splice(at..at, more);
        }
    }

    /// Leaves fields out.
    pub fn retain(&mut self, mut keep: impl FnMut(FieldRef) -> bool) {
        self.0.iter_mut().for_each(|(_, fields)| fields.retain(|(field, _)| keep(field)));
    }

    /// A unit's registers with these values; registers that are not written are as after a reset.
    ///
    /// # Errors
    /// Names the first field that cannot hold its quantity.
    pub fn group(&self, unit: Unit, map: RegisterMap) -> Result<Group, Refused> {
        let mut group = Group::new(unit, map);
        let fields = self.iter().filter(|(written, _)| *written == unit);
        fields
            .flat_map(|(_, fields)| fields)
            .try_for_each(|&(field, value)| hold(&mut group, field, value))?;
        Ok(group)
    }
}

/// Stores a quantity, none of whose bits may be lost.
pub(crate) fn hold(group: &mut Group, field: FieldRef, value: u32) -> Result<(), Refused> {
    group.set_actual(field, value);
    let held = match field.encoding {
        Encoding::Signed => group.get_signed(field) as u32,
        _ => group.actual(field),
    };
    let refused = || {
        let most = u64::from(u32::MAX >> (32 - field.bits(group.family()).width()));
        let why = match field.encoding {
            Encoding::Plain => format!("the register holds 0 to {most}"),
            Encoding::MinusOne => format!("the register holds 1 to {}", most + 1),
            Encoding::Signed => format!("the register holds -{} to {}", most / 2 + 1, most / 2),
            Encoding::Bytes => "the register has no bits for it".to_owned(),
        };
        Refused { field, value, why: why.into(), lacking: false }
    };
    (held == value).then_some(()).ok_or_else(refused)
}

/// Checks that the registers written for a layer say that layer, and no other that is near it.
pub(crate) fn check<L: PartialEq + Debug>(
    layer: &L,
    decoded: Result<L, Refused>,
    (group, field): (&Group, FieldRef),
) -> Result<(), Refused> {
    let decoded = decoded?;
    if decoded == *layer {
        return Ok(());
    }
    Err(Refused::new(group, field, format!("registers cannot say {layer:?}, they would say {decoded:?}")))
}
