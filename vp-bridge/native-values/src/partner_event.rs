//! What is driven at a timed port, as the protocol and the hub have it.

use bytes::Bytes;
use vp_models::bus::axi::{AxiChannel, AxiEvent};
use vp_models::hub;
use vp_protocols::native::{self, PortEvent};

/// An event of the protocol, with the bytes of a beat of data, for the hub.
///
/// # Errors
/// The hub has no such event: why, for people.
pub fn from_event(event: PortEvent, data: Bytes) -> Result<hub::PortEvent, String> {
    let axi = match event {
        PortEvent::ReadAddress { id, address, beats } => AxiEvent::ReadAddress { id, address, beats },
        PortEvent::ReadData { id, last, error } => AxiEvent::ReadData { id, data, last, error },
        PortEvent::WriteAddress { id, address, beats } => AxiEvent::WriteAddress { id, address, beats },
        PortEvent::WriteData { strobes, last } => AxiEvent::WriteData { data, strobes, last },
        PortEvent::WriteResponse { id, error } => AxiEvent::WriteResponse { id, error },
        PortEvent::Ready { channel, ready } => AxiEvent::Ready { channel: from_channel(channel), ready },
        PortEvent::Register { address, write, posted } => {
            let address = u32::try_from(address)
                .map_err(|_| format!("an access to a register at 0x{address:x}: addresses have 32 bits"))?;
            return Ok(hub::PortEvent::Register { address, write, posted });
        }
        PortEvent::RegisterReady { ready } => return Ok(hub::PortEvent::RegisterReady(ready)),
        PortEvent::RegisterAnswer { value } => return Ok(hub::PortEvent::RegisterAnswer(value)),
        PortEvent::Level { level } => return Ok(hub::PortEvent::Level(level)),
        PortEvent::Reset => return Ok(hub::PortEvent::Reset),
    };
    Ok(hub::PortEvent::Axi(axi))
}

/// An event of the hub for the protocol, with the bytes of a beat of data.
#[must_use]
pub fn to_event(event: hub::PortEvent) -> (PortEvent, Bytes) {
    let event = match event {
        hub::PortEvent::Axi(AxiEvent::ReadData { id, data, last, error }) => {
            return (PortEvent::ReadData { id, last, error }, data);
        }
        hub::PortEvent::Axi(AxiEvent::WriteData { data, strobes, last }) => {
            return (PortEvent::WriteData { strobes, last }, data);
        }
        hub::PortEvent::Axi(AxiEvent::ReadAddress { id, address, beats }) => {
            PortEvent::ReadAddress { id, address, beats }
        }
        hub::PortEvent::Axi(AxiEvent::WriteAddress { id, address, beats }) => {
            PortEvent::WriteAddress { id, address, beats }
        }
        hub::PortEvent::Axi(AxiEvent::WriteResponse { id, error }) => PortEvent::WriteResponse { id, error },
        hub::PortEvent::Axi(AxiEvent::Ready { channel, ready }) => {
            PortEvent::Ready { channel: to_channel(channel), ready }
        }
        hub::PortEvent::Register { address, write, posted } => {
            PortEvent::Register { address: address.into(), write, posted }
        }
        hub::PortEvent::RegisterReady(ready) => PortEvent::RegisterReady { ready },
        hub::PortEvent::RegisterAnswer(value) => PortEvent::RegisterAnswer { value },
        hub::PortEvent::Level(level) => PortEvent::Level { level },
        hub::PortEvent::Reset => PortEvent::Reset,
    };
    (event, Bytes::new())
}

fn from_channel(channel: native::AxiChannel) -> AxiChannel {
    match channel {
        native::AxiChannel::ReadAddress => AxiChannel::ReadAddress,
        native::AxiChannel::ReadData => AxiChannel::ReadData,
        native::AxiChannel::WriteAddress => AxiChannel::WriteAddress,
        native::AxiChannel::WriteData => AxiChannel::WriteData,
        native::AxiChannel::WriteResponse => AxiChannel::WriteResponse,
    }
}

fn to_channel(channel: AxiChannel) -> native::AxiChannel {
    match channel {
        AxiChannel::ReadAddress => native::AxiChannel::ReadAddress,
        AxiChannel::ReadData => native::AxiChannel::ReadData,
        AxiChannel::WriteAddress => native::AxiChannel::WriteAddress,
        AxiChannel::WriteData => native::AxiChannel::WriteData,
        AxiChannel::WriteResponse => native::AxiChannel::WriteResponse,
    }
}
