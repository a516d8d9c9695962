//! The registers of NVDLA: one table, said once, and the state machines that obey it.
//!
//! One file a unit holds that unit's table ([`sdp`], [`cdma`], …). From it come offsets, fields, resets,
//! access rights, the documentation `vp regs` prints, and the constants models decode layers with:
//!
//! ```
//! use vp_models::nvdla::registers::{Group, RegisterMap, Unit, pdp};
//!
//! let mut group = Group::new(Unit::Pdp, RegisterMap::Small);
//! group.set(pdp::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH, 7);
//! assert_eq!(group.actual(pdp::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH), 8);
//! ```
//!
//! The three published maps ([`RegisterMap`]) differ in where units sit and in a few field layouts
//! ([`Family`]); the table carries both beside the field. Values live in a [`Group`] as a layer sees them and
//! in a [`RegisterFile`] as software sees them. Nothing here knows time or the kernel.

mod file;
mod group;
mod lut_port;
mod map;
mod other_map;
#[cfg(test)]
pub(in crate::nvdla) mod published;
#[cfg(test)]
mod tests;
mod unit;

pub mod bdma;
pub mod cacc;
pub mod cdma;
pub mod cdp;
pub mod cdp_rdma;
pub mod cfgrom;
pub mod cmac;
pub mod csc;
pub mod glb;
pub mod mcif;
pub mod pdp;
pub mod pdp_rdma;
pub mod rbk;
pub mod sdp;
pub mod sdp_rdma;

pub use crate::registers::{
    Access, Bits, Encoding, Family, Field, FieldRef, Grouping, Register, RegisterRef, Value,
};
pub use file::{Dropped, RegisterFile, Written};
pub use group::Group;
pub use lut_port::{Direction, LutPort, LutRules, Table};
pub use map::{Located, RegisterMap, UnitSlot, UnknownMap, UnknownRegister};
pub(crate) use other_map::OtherMap;
pub use other_map::maps_that_fit;
pub use unit::Unit;
