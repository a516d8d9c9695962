//! The table of what is driven where: the kind of port of each event, and the role of the side that drives it.
//!
//! The hub obeys it, the table in `docs/protocol.md` ("Driven and Promised") is held to it, and checks of peers ask by
//! it. An event that a port is driven by in the other direction is not a partner's to drive there.

use std::fmt;

use bytes::Bytes;

use super::PortEvent;
use vp_models::bus::axi::{AxiChannel, AxiEvent};
use vp_models::platform::PortKind;
use vp_types::Role;

/// A kind of port, and what somebody is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortSide {
    /// The port's kind.
    pub kind: PortKind,
    /// The role of the side.
    pub role: Role,
}

impl PortSide {
    const fn new(kind: PortKind, role: Role) -> PortSide {
        PortSide { kind, role }
    }
}

impl fmt::Display for PortSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = match self.kind {
            PortKind::Registers => "a register port",
            PortKind::Irq => "an interrupt line",
            PortKind::Axi => "an AXI port",
            PortKind::Stream => "an input stream",
        };
        write!(f, "the {} of {port}", self.role.name())
    }
}

/// Managers drive AR, AW and W (AMBA AXI and ACE Protocol Specification, ARM IHI 0022, "Channel definition").
const MANAGER: PortSide = PortSide::new(PortKind::Axi, Role::Initiator);
/// Subordinates drive R and B.
const SUBORDINATE: PortSide = PortSide::new(PortKind::Axi, Role::Target);

/// The side that sends on a channel.
fn sender(channel: AxiChannel) -> PortSide {
    match channel {
        AxiChannel::ReadAddress | AxiChannel::WriteAddress | AxiChannel::WriteData => MANAGER,
        AxiChannel::ReadData | AxiChannel::WriteResponse => SUBORDINATE,
    }
}

/// The side that receives on a channel, and drives its ready.
fn receiver(channel: AxiChannel) -> PortSide {
    PortSide::new(PortKind::Axi, sender(channel).role.opposite())
}

impl PortEvent {
    /// The side that drives the event, as the only one; `None` for a reset, which is driven at ports of all kinds by whoever
    /// holds them.
    #[must_use]
    pub fn driver(&self) -> Option<PortSide> {
        Some(match self {
            PortEvent::Axi(AxiEvent::ReadAddress { .. }) => sender(AxiChannel::ReadAddress),
            PortEvent::Axi(AxiEvent::ReadData { .. }) => sender(AxiChannel::ReadData),
            PortEvent::Axi(AxiEvent::WriteAddress { .. }) => sender(AxiChannel::WriteAddress),
            PortEvent::Axi(AxiEvent::WriteData { .. }) => sender(AxiChannel::WriteData),
            PortEvent::Axi(AxiEvent::WriteResponse { .. }) => sender(AxiChannel::WriteResponse),
            PortEvent::Axi(AxiEvent::Ready { channel, .. }) => receiver(*channel),
            PortEvent::Register { .. } => PortSide::new(PortKind::Registers, Role::Initiator),
            PortEvent::RegisterReady(_) | PortEvent::RegisterAnswer(_) => {
                PortSide::new(PortKind::Registers, Role::Target)
            }
            PortEvent::Level(_) => PortSide::new(PortKind::Irq, Role::Source),
            PortEvent::Reset => return None,
        })
    }

    /// One event of each kind, in the order of their numbers in the protocol, with beats of so many bytes: for whoever tries
    /// them all.
    #[must_use]
    pub fn one_of_each(beat: usize) -> Vec<PortEvent> {
        let (id, address, beats, error, last) = (0, 0, 1, false, true);
        let data = Bytes::from(vec![0; beat]);
        let channels = [
            AxiChannel::ReadAddress,
            AxiChannel::ReadData,
            AxiChannel::WriteAddress,
            AxiChannel::WriteData,
            AxiChannel::WriteResponse,
        ];
        let axi = [
            AxiEvent::ReadAddress { id, address, beats },
            AxiEvent::ReadData { id, data: data.clone(), last, error },
            AxiEvent::WriteAddress { id, address, beats },
            AxiEvent::WriteData { data, strobes: 1, last },
            AxiEvent::WriteResponse { id, error },
        ];
        let ready = channels.map(|channel| AxiEvent::Ready { channel, ready: false });
        let others = [
            PortEvent::Register { address: 0, write: Some(1), posted: true },
            PortEvent::RegisterReady(false),
            PortEvent::RegisterAnswer(1),
            PortEvent::Level(true),
            PortEvent::Reset,
        ];
        axi.into_iter().chain(ready).map(PortEvent::Axi).chain(others).collect()
    }

    /// The event's name, for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            PortEvent::Axi(AxiEvent::ReadAddress { .. }) => "AR",
            PortEvent::Axi(AxiEvent::ReadData { .. }) => "R",
            PortEvent::Axi(AxiEvent::WriteAddress { .. }) => "AW",
            PortEvent::Axi(AxiEvent::WriteData { .. }) => "W",
            PortEvent::Axi(AxiEvent::WriteResponse { .. }) => "B",
            PortEvent::Axi(AxiEvent::Ready { channel, .. }) => match channel {
                AxiChannel::ReadAddress => "ARREADY",
                AxiChannel::ReadData => "RREADY",
                AxiChannel::WriteAddress => "AWREADY",
                AxiChannel::WriteData => "WREADY",
                AxiChannel::WriteResponse => "BREADY",
            },
            PortEvent::Register { .. } => "an access to registers",
            PortEvent::RegisterReady(_) => "the ready of registers",
            PortEvent::RegisterAnswer(_) => "an answer of registers",
            PortEvent::Level(_) => "the level of an interrupt line",
            PortEvent::Reset => "a reset",
        }
    }
}
