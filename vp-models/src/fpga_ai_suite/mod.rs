//! The FPGA AI Suite inference IP: a CSR block in front of an engine that runs graphs of int8 layers.
//!
//! [`device`] is the whole; an [`architecture`] says which build of the IP it is. A host queues descriptors
//! ([`queue`]) through the CSR block ([`csr`], [`registers`]). A job reads its [`configuration`], which says a [`graph`],
//! its filters and its input, computes ([`compute`], in the time that [`timing`] says), writes its output and interrupts.
//!
//! `docs/fpga-ai-suite.md` in the repository says where the source of the register map is silent and what was chosen.

mod activity;
pub mod architecture;
pub mod architecture_file;
mod attached;
pub mod compute;
pub mod configuration;
mod counts;
pub mod csr;
pub mod debug;
pub mod device;
mod dma;
pub mod graph;
mod job;
mod jobs;
mod on_chip;
pub mod queue;
pub mod registers;
pub mod timing;

pub use architecture::{Architecture, ArchitectureError, Hash};
pub use architecture_file::ArchitectureFile;
pub use device::Suite;
