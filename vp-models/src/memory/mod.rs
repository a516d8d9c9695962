//! The memories behind the AXI interfaces: bytes, and when they come.
//!
//! A [`Ram`] holds the bytes, within a [`MemoryBudget`]. Their time is determined by a latency
//! ([`crate::bus::axi::AxiConfig`]), or by a [`MemoryModel`]: a cache, an SRAM or a [`dram`], shared by several
//! masters. A model never touches data.

mod awaited;
mod budget;
mod cache;
mod command_text;
mod curve;
pub mod dram;
mod formula;
mod level;
mod litedram;
mod model;
mod pages;
mod plain;
mod ram;
mod replay;
mod request_text;
mod sram;
mod system;
mod traffic;
mod usual;

#[cfg(test)]
mod tests;

pub use budget::{CountedBytes, MemoryBudget, MemoryPool, OutOfMemory};
pub use cache::{CacheConfig, Replacement};
pub use command_text::{CommandForm, CommandWriter, Level};
pub use curve::{CurvePattern, LoadCurve, LoadPoint, Mix};
pub use formula::MemoryFormula;
pub use litedram::LiteDramConfig;
pub(crate) use model::Built;
pub use model::{MemoryModel, ModelError};
pub use ram::{OutOfRange, Ram, WriteError};
pub use replay::{MemoryRequest, Played, PlayedRequests, Replay};
pub use request_text::{RequestError, RequestForm, RequestReader, RequestWriter};
pub use sram::SramConfig;
pub use traffic::{Pattern, TrafficConfig};
pub use usual::usual_limit;
