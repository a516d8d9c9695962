//! What lies behind the AXI interfaces.

mod ram;

pub use ram::{OutOfRange, Ram};
