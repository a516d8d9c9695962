//! The interfaces of the hardware: CSB (registers), the interrupt line, AXI (memory).
//!
//! Engines and hosts use these; none of them knows NVDLA's registers or arithmetic.

pub mod axi;
pub mod csb;
mod delay;
mod handoff;
pub mod irq;

pub use delay::DelayLine;
pub use handoff::Handoff;
