//! Description of an NVDLA, in a platform's file.

use super::config::{CapabilityRom, Config};
use super::rtl_tree::RtlTree;
use serde::{Deserialize, Serialize};

/// An NVDLA: the section `[nvdla]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct NvdlaDescription {
    /// Published RTL tree that the timing follows.
    pub rtl: RtlTree,
    /// Words of the capability ROM.
    pub capability_rom: CapabilityRom,
    /// The hardware configuration: `base`, and the parameters that differ from it.
    #[serde(flatten)]
    pub config: Config,
}

/// Takes out the section's own keys, and leaves the rest to the configuration: so a key that is neither's is
/// refused, which a flattened structure would pass over.
impl TryFrom<toml::Table> for NvdlaDescription {
    type Error = toml::de::Error;

    fn try_from(mut table: toml::Table) -> Result<NvdlaDescription, toml::de::Error> {
        let rtl = table.remove("rtl").map(RtlTree::deserialize).transpose()?;
        let rom = table.remove("capability_rom").map(CapabilityRom::deserialize).transpose()?;
        let config = Config::deserialize(toml::Value::Table(table))?;
        let rtl = rtl.unwrap_or_else(|| RtlTree::published(&config));
        Ok(NvdlaDescription { rtl, capability_rom: rom.unwrap_or_default(), config })
    }
}
