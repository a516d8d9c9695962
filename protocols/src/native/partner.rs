//! Events that partners drive, and promises that they make. A partner is a session with a clock of its own, such as an RTL simulator or
//! another platform.
//!
//! Interfaces are registered: what one side drives at a clock edge the other one sees at the next. `docs/protocol.md` has the rules ("The
//! contract of time").

use serde::{Deserialize, Serialize};

use super::{AxiChannel, FrameRule, MAX_BEAT, PortId, Time};

/// Something that one side of a timed port drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driven {
    /// The port.
    pub port: PortId,
    /// The clock edge at which the other side sees it for the first time.
    pub at: Time,
    /// Event that is driven.
    pub event: PortEvent,
}

/// A promise to be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promised {
    /// The number of events driven by the other side, from the first one on, that are taken into account.
    pub heard: u64,
    /// No more events from this side are seen before this time, unless another event of the other side comes;
    /// then none is seen before the reaction to it. `None`: never.
    pub next: Option<Time>,
}

/// Event that is driven at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortEvent {
    /// AXI AR, from the manager: a burst to be read, of incrementing addresses and beats as wide as the bus.
    ReadAddress {
        /// ARID.
        id: u16,
        /// ARADDR.
        address: u64,
        /// ARLEN and one.
        beats: u16,
    },
    /// AXI R, from the subordinate: one beat; payload is RDATA, as wide as the bus, the lowest address first.
    ReadData {
        /// RID.
        id: u16,
        /// RLAST.
        last: bool,
        /// RRESP is not OKAY.
        error: bool,
    },
    /// AXI AW, from the manager: a burst to be written.
    WriteAddress {
        /// AWID.
        id: u16,
        /// AWADDR.
        address: u64,
        /// AWLEN and one.
        beats: u16,
    },
    /// AXI W, from the manager: one beat of the first burst on AW whose beats are not complete; the payload is
    /// WDATA, as for R.
    WriteData {
        /// WSTRB: byte *i* of the data is written if bit *i* is set.
        strobes: u64,
        /// WLAST.
        last: bool,
    },
    /// AXI B, from the subordinate: a burst has been written.
    WriteResponse {
        /// BID.
        id: u16,
        /// BRESP is not OKAY.
        error: bool,
    },
    /// The ready of an AXI channel on which the other side drives. High at the beginning.
    Ready {
        /// Channel of the bus.
        channel: AxiChannel,
        /// Level of the ready from then on.
        ready: bool,
    },
    /// Access from the initiator at a register port; it stays until it is taken.
    Register {
        /// Byte address.
        address: u64,
        /// The word to write, or `None` to read.
        write: Option<u32>,
        /// A write that is not answered.
        posted: bool,
    },
    /// Ready of the target at a register port, high at the beginning: it takes an access.
    RegisterReady {
        /// Level of the ready from then on.
        ready: bool,
    },
    /// Answer of the target at a register port to the oldest access that has none.
    RegisterAnswer {
        /// The word read; 0 for a write.
        value: u32,
    },
    /// Level of an interrupt line, from its source.
    Level {
        /// True if the line is high from then on.
        level: bool,
    },
    /// Reset of any port, from the server: all that was in flight there, in both directions, is void, and the port is
    /// as at the beginning. From the client, once for each of the server's: its side is reset too, and what it
    /// has driven before is void.
    Reset,
}

impl PortEvent {
    /// Returns true if the message's payload is a beat of data.
    pub(super) fn has_data(&self) -> bool {
        matches!(self, Self::ReadData { .. } | Self::WriteData { .. })
    }

    /// Checks the length of a beat, and that no byte beyond it is written.
    pub(super) fn check_data(&self, length: usize) -> Result<(), FrameRule> {
        if length == 0 || length > MAX_BEAT {
            return Err(FrameRule::BeatLength { length: length as u64 });
        }
        match self {
            Self::WriteData { strobes, .. } if length < 64 && strobes >> length != 0 => {
                Err(FrameRule::StrobesBeyondData)
            }
            _ => Ok(()),
        }
    }
}
