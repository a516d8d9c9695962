//! A platform: a device, buses and memories, wired from a description, with named ports.
//!
//! [`Description`] says what there is (TOML, or one of the built-in ones); [`Platform::build`] makes it;
//! whoever is outside reaches it through a hub (crate `vp-hub`).

mod activity;
mod assembly;
mod carried;
mod description;
mod description_error;
mod faults;
mod inspection;
mod memory_port;
mod observers;
mod pace;
mod registers;
mod saved;
mod settings;
mod warnings;

pub use crate::nvdla::NvdlaDescription;
pub use crate::port::{Port, PortKind};
pub use activity::{Moving, PortActivity};
pub use assembly::{EVENT_HASH_VERSION, NOTHING_RUNS, Platform};
pub use carried::DeviceDescription;
pub use description::{Arithmetic, Description, MemoryDescription};
pub use description_error::{DescriptionError, SettingError};

pub use memory_port::MemoryPort;
pub use observers::{LayerRecord, RegisterRecord};
pub use registers::{Assignment, DecodedField, DeviceRegisters, NamedKind, NamedRegister, NoSuchRegister};
pub use saved::{RestoreError, SaveError};
pub use warnings::{Warned, Warnings};
