//! NVDLA, the deep-learning accelerator: its registers, its engines, and the device they make.
//!
//! [`device`] is the whole device; a [`config`] says which of the published hardware configurations it is, and
//! [`timing`] how long each part takes. Every engine is built the same way (see [`sdp`]): `layer` decodes a
//! register group, `compute` is its arithmetic, `timing` its timing, and `mod` the process that joins them.

mod attached;
mod awaited;
pub mod bdma;
pub mod cdp;
pub mod config;

mod control;
pub mod conv;
pub mod cube;
mod description;
pub mod device;
mod dma;
pub mod encode;
mod engine;
pub mod float;
pub mod formats;
pub mod glb;
mod int8_build;
mod interrupts;
pub mod lut;
pub mod nocif;
pub mod numeric;
pub mod order;
pub mod pdp;
mod place;
pub mod refused;
pub mod register_variant;
pub mod registers;
mod request_queue;
pub mod rtl_tree;
pub mod rubik;
pub mod sdp;
mod sdp_to_pdp;
pub mod timing;
mod vector;
mod write_interface;

pub use description::NvdlaDescription;
pub use device::Nvdla;
