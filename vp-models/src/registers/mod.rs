//! Registers as tables: what a register and a field are, the macro that says them once, and what software may do with them.
//!
//! Shared by all devices. What a device's registers mean is the device's matter; nothing here holds a value.

#[macro_use]
mod table;
mod rights;

pub use rights::Rights;
pub use table::{Access, Bits, Encoding, Family, Field, FieldRef, Grouping, Register, RegisterRef, Value};
