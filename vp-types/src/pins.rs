//! Reactions of partners, which have a clock of their own, and channels of the pins that they drive.

use serde::{Deserialize, Serialize};

/// Edge at which a partner's outputs follow its inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reaction {
    /// The next edge at the earliest: all outputs are registers.
    #[default]
    NextEdge,
    /// Some outputs depend on inputs of the same edge.
    SameEdge,
}

/// A channel of an AXI interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AxiChannel {
    /// AR.
    ReadAddress,
    /// R.
    ReadData,
    /// AW.
    WriteAddress,
    /// W.
    WriteData,
    /// B.
    WriteResponse,
}

impl AxiChannel {
    /// The channel's name in the specification.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AxiChannel::ReadAddress => "AR",
            AxiChannel::ReadData => "R",
            AxiChannel::WriteAddress => "AW",
            AxiChannel::WriteData => "W",
            AxiChannel::WriteResponse => "B",
        }
    }
}
