//! Versions, and what the two sides say of themselves with them.

use serde::{Deserialize, Serialize};

use super::Rule;

/// The version: its parts are major and minor.
pub(super) const VERSION: (u16, u16) = (0, 0);

/// Capabilities of a side, in JSON. Each may be left out, and then has the value that the specification takes for granted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Files that the side takes with one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_msg_fds: Option<u64>,
    /// Bytes that one access moves at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_data_xfer_size: Option<u64>,
    /// Parts of memory that there may be at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_dma_maps: Option<u64>,
    /// Sizes of pages, or'ed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgsizes: Option<u64>,
    /// True if the side knows VFIO_USER_REGION_WRITE_MULTI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_multiple: Option<bool>,
}

#[derive(Default, Serialize, Deserialize)]
struct VersionData {
    #[serde(default)]
    capabilities: Capabilities,
}

impl Capabilities {
    /// The capabilities in the data behind a version, which may be missing.
    ///
    /// # Errors
    /// [`Rule::VersionData`].
    pub fn parse(data: &[u8]) -> Result<Self, Rule> {
        let text = match data {
            [] => return Ok(Self::default()),
            [text @ .., 0] => text,
            _ => return Err(Rule::VersionData),
        };
        // Some clients send more zeros than one.
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        if text.is_empty() {
            return Ok(Self::default());
        }
        let data = serde_json::from_slice::<VersionData>(text).map_err(|_| Rule::VersionData)?;
        Ok(data.capabilities)
    }

    /// Returns the data behind a version.
    pub fn emit(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(&VersionData { capabilities: *self }).unwrap_or_default();
        text.push(0);
        text
    }

    /// The capabilities that the other side has named too: a reply has no others.
    pub fn among(&self, proposed: &Self) -> Self {
        fn both<T>(own: Option<T>, proposed: Option<T>) -> Option<T> {
            proposed.and(own)
        }
        Self {
            max_msg_fds: both(self.max_msg_fds, proposed.max_msg_fds),
            max_data_xfer_size: both(self.max_data_xfer_size, proposed.max_data_xfer_size),
            max_dma_maps: both(self.max_dma_maps, proposed.max_dma_maps),
            pgsizes: both(self.pgsizes, proposed.pgsizes),
            write_multiple: both(self.write_multiple, proposed.write_multiple),
        }
    }
}
