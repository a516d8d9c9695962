//! The interfaces of the hardware: register buses (CSB, AXI4-Lite), the interrupt line, AXI (memory), input streams.
//!
//! Engines and hosts use these; none of them knows a device's registers or arithmetic.

pub mod axi;
pub mod axi_lite;
pub mod csb;
mod delay;
mod handoff;
pub mod irq;
pub mod register;
pub mod stream;

pub use delay::DelayLine;
pub use handoff::Handoff;
