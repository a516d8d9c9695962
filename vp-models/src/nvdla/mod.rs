//! `nvdla`.

pub mod config;
pub mod cube;
pub mod glb;
pub mod numeric;
pub mod pdp;
pub mod refused;
pub mod registers;
pub mod sdp;

#[cfg(test)]
mod vendor_traces;
