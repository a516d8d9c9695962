//! An AXI interface at its pins, with a partner outside the platform at one end of it.
//!
//! A driven transfer carries the clock edge at which the other side sees it for the first time. A transfer
//! stays on its channel until it is taken: at the first edge from then on at which the channel's ready is high,
//! and not before the previous one was taken. So both sides know when a handshake took place, without a message
//! for it, and a sender may drive several transfers ahead.
//!
//! AMBA AXI specification, "Channel handshake"; NVDLA's pins have no response, size, burst type or lock.

mod driven;
mod manager;
mod subordinate;

pub use driven::Driven;
pub use manager::ManagerPins;
pub(super) use manager::OpenRead;
pub(super) use subordinate::Arrived;
pub use subordinate::SubordinatePins;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vp_core::Time;
use vp_types::AxiChannel;

/// Something that one side of an AXI interface drives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AxiEvent {
    /// AR: a burst to be read, of incrementing addresses and beats as wide as the bus.
    ReadAddress {
        /// ARID.
        id: u16,
        /// ARADDR.
        address: u64,
        /// ARLEN and one.
        beats: u16,
    },
    /// R: one beat.
    ReadData {
        /// RID.
        id: u16,
        /// RDATA: as many bytes as the bus is wide, the lowest address first.
        data: Bytes,
        /// RLAST.
        last: bool,
        /// RRESP is not OKAY.
        error: bool,
    },
    /// AW: a burst to be written.
    WriteAddress {
        /// AWID.
        id: u16,
        /// AWADDR.
        address: u64,
        /// AWLEN and one.
        beats: u16,
    },
    /// W: one beat of the first burst on AW whose beats are not complete.
    WriteData {
        /// WDATA: as many bytes as the bus is wide, the lowest address first.
        data: Bytes,
        /// WSTRB: byte *i* of the data is written if bit *i* is set.
        strobes: u64,
        /// WLAST.
        last: bool,
    },
    /// B: a burst is written.
    WriteResponse {
        /// BID.
        id: u16,
        /// BRESP is not OKAY.
        error: bool,
    },
    /// The ready of a channel on which the other side drives. It is high at the beginning.
    Ready {
        /// Channel of the bus.
        channel: AxiChannel,
        /// Level of the ready from then on.
        ready: bool,
    },
}

/// Takes what a side drives, with the edge at which the other one sees it.
pub type AxiSink = Box<dyn Fn(Time, AxiEvent)>;

/// A rule of the interface that the other side has broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AxiViolation {
    /// Data of a read that was not requested, or that has all its data.
    #[error("R with id {id}: no read of that id is open")]
    NoRead {
        /// RID.
        id: u16,
    },
    /// A response to a write that was not sent, or that has its response.
    #[error("B with id {id}: no write of that id is open")]
    NoWrite {
        /// BID.
        id: u16,
    },
    /// A response to a write whose data is not complete.
    #[error("B with id {id} before all data of that write was taken")]
    EarlyResponse {
        /// BID.
        id: u16,
    },
    /// A beat of another width.
    #[error("{channel} with {bytes} bytes: the bus is {width} bytes wide")]
    Width {
        /// Name of the channel.
        channel: &'static str,
        /// Number of bytes that came.
        bytes: usize,
        /// Width of the bus in bytes.
        width: u32,
    },
    /// The last beat is not marked as last, or another one is.
    #[error("{channel}: beat {beat} of {beats} with last = {last}")]
    Last {
        /// Name of the channel.
        channel: &'static str,
        /// Number of the beat, from 1.
        beat: u32,
        /// Beats of the burst.
        beats: u32,
        /// Value of RLAST or WLAST that came.
        last: bool,
    },
    /// A burst without beats, or longer than AXI3 allows.
    #[error("{channel} with {beats} beats: a burst has 1 to {MOST_BEATS}")]
    Length {
        /// Name of the channel.
        channel: &'static str,
        /// Number of beats that came.
        beats: u16,
    },
    /// A burst that crosses a 4 KiB boundary.
    #[error("{channel}: {beats} beats from 0x{address:x} on cross a boundary of 4 KiB")]
    Boundary {
        /// Name of the channel.
        channel: &'static str,
        /// First address of the burst.
        address: u64,
        /// Number of beats of the burst.
        beats: u16,
    },
    /// A channel on which this side drives.
    #[error("{channel} is not driven from that side")]
    Direction {
        /// The channel.
        channel: &'static str,
    },
    /// More beats wait on a channel than may be driven ahead.
    #[error("{channel}: {beats} beats driven ahead")]
    Ahead {
        /// The channel.
        channel: &'static str,
        /// Number of beats driven ahead.
        beats: usize,
    },
    /// More than one address waits on a channel.
    #[error("{channel}: another address before the one in front of it was taken")]
    Unstable {
        /// The channel.
        channel: &'static str,
    },
}

/// AXI3 (AMBA AXI specification, "Burst length").
const MOST_BEATS: u16 = 16;

/// Refuses a burst that AXI has not.
fn check_burst(channel: AxiChannel, address: u64, beats: u16, width: u32) -> Result<(), AxiViolation> {
    let channel = channel.name();
    if beats == 0 || beats > MOST_BEATS {
        return Err(AxiViolation::Length { channel, beats });
    }
    let width = u64::from(width);
    let first = address / width * width;
    let last = first.saturating_add(width * u64::from(beats) - 1);
    if first >> 12 != last >> 12 {
        return Err(AxiViolation::Boundary { channel, address, beats });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_that_axi_has_not_are_refused() {
        let check = |address, beats| check_burst(AxiChannel::ReadAddress, address, beats, 64);
        assert_eq!(check(0x1fc0, 1), Ok(()));
        assert!(check(0x1fc0, 2).unwrap_err().to_string().contains("4 KiB"));
        assert!(check(0, 17).unwrap_err().to_string().contains("1 to 16"));
        assert!(check(0, 0).is_err());
    }
}
