//! Descriptors of a plan's steps: the inverse of what the driver makes of descriptors ([`registers`](super::super::registers)).
//!
//! A file a pipeline. Each reads the registers that the plan gives its units, and says them in the descriptor's terms. Whether the
//! driver then writes what the plan has, [`check`](super::check) sees: here nothing is refused.

mod convolution;
mod look_up;
mod normalisation;
mod pooling;
mod sdp;

pub(super) use look_up::of as look_up;

use super::groups::Groups;
use crate::loadable::layout::{self, Converter};
use crate::loadable::network::OperationKind;
use vp_models::nvdla::cube::Ram;
use vp_models::nvdla::registers::{FieldRef, Group, Unit};

/// Place of a cube in the plan's memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// From this address on.
    Memory(Ram, u64),
    /// From one unit to the next.
    OnTheFly,
    /// Nowhere: the operation has no such cube.
    None,
}

/// A cube, or a row of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CubeDescriptor {
    pub(super) place: Place,
    /// Bytes that it takes.
    pub(super) bytes: u32,
    /// Width, height, channels.
    pub(super) size: [u32; 3],
    pub(super) line_stride: u32,
    pub(super) surface_stride: u32,
}

impl CubeDescriptor {
    pub(super) const NONE: CubeDescriptor =
        CubeDescriptor { place: Place::None, bytes: 0, size: [0; 3], line_stride: 0, surface_stride: 0 };

    /// A cube that passes from one unit to the next.
    fn on_the_fly(size: [u32; 3]) -> CubeDescriptor {
        CubeDescriptor { place: Place::OnTheFly, size, ..CubeDescriptor::NONE }
    }

    /// A cube of features in memory. It takes so many surfaces, of which the last ends with its last line.
    fn features(
        (ram, address): (Ram, u64),
        size: [u32; 3],
        [line_stride, surface_stride]: [u32; 2],
        lanes: u32,
    ) -> CubeDescriptor {
        let surfaces = size[2].div_ceil(lanes);
        let bytes = (surfaces - 1) * surface_stride + size[1] * line_stride;
        CubeDescriptor { place: Place::Memory(ram, address), bytes, size, line_stride, surface_stride }
    }

    /// Bytes that lie one behind the other.
    fn row((ram, address): (Ram, u64), bytes: u32) -> CubeDescriptor {
        let place = Place::Memory(ram, address);
        CubeDescriptor { place, bytes, size: [bytes, 1, 1], line_stride: bytes, surface_stride: bytes }
    }
}

/// An operation's own descriptor.
#[derive(Clone, Debug)]
pub(super) enum OperationDescriptor {
    Convolution(layout::Convolution),
    Sdp(layout::Sdp),
    Pdp(layout::Pdp),
    Cdp(layout::Cdp),
}

/// An operation of a step: its descriptor and its cubes, in the order of their surface.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) operation: OperationDescriptor,
    pub(super) cubes: Vec<CubeDescriptor>,
}

impl OperationDescriptor {
    pub(super) fn kind(&self) -> OperationKind {
        match self {
            OperationDescriptor::Convolution(_) => OperationKind::Convolution,
            OperationDescriptor::Sdp(_) => OperationKind::Sdp,
            OperationDescriptor::Pdp(_) => OperationKind::Pdp,
            OperationDescriptor::Cdp(_) => OperationKind::Cdp,
        }
    }
}

/// Returns the operations of a hardware layer, in the order of its data; `table` is its table's number.
pub(super) fn of(groups: &Groups, units: &[Unit], atom: u32, table: Option<i16>) -> Vec<Described> {
    let has = |unit: Unit| units.contains(&unit);
    let mut operations = Vec::new();
    if has(Unit::Cacc) {
        operations.push(convolution::of(groups, atom));
    }
    if has(Unit::Sdp) {
        operations.push(sdp::of(groups, atom, table));
    }
    if has(Unit::Pdp) {
        operations.push(pooling::of(groups, atom, has(Unit::PdpRdma)));
    }
    if has(Unit::Cdp) {
        operations.push(normalisation::of(groups, atom, table));
    }
    operations
}

/// Number of operations of a hardware layer of these units.
pub(super) fn count(units: &[Unit]) -> usize {
    let of_operations = [Unit::Cacc, Unit::Sdp, Unit::Pdp, Unit::Cdp];
    units.iter().filter(|unit| of_operations.contains(unit)).count()
}

/// A field's quantity as 8 bits. What is larger, [`check`](super::check) finds.
fn byte(group: &Group, field: FieldRef) -> u8 {
    group.actual(field) as u8
}

/// A field's quantity as 16 bits.
fn half(group: &Group, field: FieldRef) -> zerocopy::little_endian::U16 {
    (group.actual(field) as u16).into()
}

/// Place that a RAM type and an address say.
fn place(group: &Group, ram: FieldRef, [low, high]: [FieldRef; 2]) -> (Ram, u64) {
    (Ram::from_field(group.get(ram)), group.address(low, high))
}

/// A converter that is on.
fn converter(group: &Group, [offset, scale, shift]: [FieldRef; 3]) -> Converter {
    Converter {
        scale: (group.sign_extended(scale) as i16).into(),
        truncate: byte(group, shift),
        enable: 1,
        offset: group.sign_extended(offset).into(),
    }
}

/// Elements of an atom, by the code of their precision.
fn lanes(atom: u32, precision: u32) -> u32 {
    if precision == 0 { atom } else { atom / 2 }
}
