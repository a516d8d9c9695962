//! Events that are driven at a timed port, as the protocol and the hub have them.

use bytes::Bytes;
use vp_models::bus::axi::AxiEvent;
use vp_protocols::native::PortEvent;

/// An event of the protocol, with the bytes of a beat of data, for the hub.
///
/// # Errors
/// The hub has no such event: why, for people.
pub fn from_event(event: PortEvent, data: Bytes) -> Result<vp_hub::PortEvent, String> {
    let axi = match event {
        PortEvent::ReadAddress { id, address, beats } => AxiEvent::ReadAddress { id, address, beats },
        PortEvent::ReadData { id, last, error } => AxiEvent::ReadData { id, data, last, error },
        PortEvent::WriteAddress { id, address, beats } => AxiEvent::WriteAddress { id, address, beats },
        PortEvent::WriteData { strobes, last } => AxiEvent::WriteData { data, strobes, last },
        PortEvent::WriteResponse { id, error } => AxiEvent::WriteResponse { id, error },
        PortEvent::Ready { channel, ready } => AxiEvent::Ready { channel, ready },
        PortEvent::Register { address, write, posted } => {
            let address = u32::try_from(address)
                .map_err(|_| format!("an access to a register at 0x{address:x}: addresses have 32 bits"))?;
            return Ok(vp_hub::PortEvent::Register { address, write, posted });
        }
        PortEvent::RegisterReady { ready } => return Ok(vp_hub::PortEvent::RegisterReady(ready)),
        PortEvent::RegisterAnswer { value } => return Ok(vp_hub::PortEvent::RegisterAnswer(value)),
        PortEvent::Level { level } => return Ok(vp_hub::PortEvent::Level(level)),
        PortEvent::Reset => return Ok(vp_hub::PortEvent::Reset),
    };
    Ok(vp_hub::PortEvent::Axi(axi))
}

/// An event of the hub for the protocol, with the bytes of a beat of data.
#[must_use]
pub fn to_event(event: vp_hub::PortEvent) -> (PortEvent, Bytes) {
    let event = match event {
        vp_hub::PortEvent::Axi(AxiEvent::ReadData { id, data, last, error }) => {
            return (PortEvent::ReadData { id, last, error }, data);
        }
        vp_hub::PortEvent::Axi(AxiEvent::WriteData { data, strobes, last }) => {
            return (PortEvent::WriteData { strobes, last }, data);
        }
        vp_hub::PortEvent::Axi(AxiEvent::ReadAddress { id, address, beats }) => {
            PortEvent::ReadAddress { id, address, beats }
        }
        vp_hub::PortEvent::Axi(AxiEvent::WriteAddress { id, address, beats }) => {
            PortEvent::WriteAddress { id, address, beats }
        }
        vp_hub::PortEvent::Axi(AxiEvent::WriteResponse { id, error }) => {
            PortEvent::WriteResponse { id, error }
        }
        vp_hub::PortEvent::Axi(AxiEvent::Ready { channel, ready }) => PortEvent::Ready { channel, ready },
        vp_hub::PortEvent::Register { address, write, posted } => {
            PortEvent::Register { address: address.into(), write, posted }
        }
        vp_hub::PortEvent::RegisterReady(ready) => PortEvent::RegisterReady { ready },
        vp_hub::PortEvent::RegisterAnswer(value) => PortEvent::RegisterAnswer { value },
        vp_hub::PortEvent::Level(level) => PortEvent::Level { level },
        vp_hub::PortEvent::Reset => PortEvent::Reset,
    };
    (event, Bytes::new())
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use vp_hub::{PortEvent, PortSide, Role};
    use vp_models::platform::PortKind;
    use vp_protocols::native::{Driven, Message, PortId, Time, emit};

    use super::to_event;

    /// The cells of an event's row in the page's table: its name, the kind of port, and who drives it.
    fn row(number: u8) -> (String, String, String) {
        let page = include_str!("../../../docs/protocol.md");
        let table = page.split("### Driven (8) and Promised (9)").nth(1).unwrap();
        let table = table.split("\n\n").find(|part| part.starts_with("| number | event |")).unwrap();
        let rows = table.lines().map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect());
        let of = |cells: &Vec<&str>| cells[0] == number.to_string();
        let cells = rows.into_iter().find(of).unwrap_or_else(|| panic!("no event {number} on the page"));
        (cells[1].to_owned(), cells[2].to_owned(), cells[3].to_owned())
    }

    /// The kind of port by its number in the Welcome.
    fn kind(kind: PortKind) -> char {
        match kind {
            PortKind::Registers => '0',
            PortKind::Irq => '1',
            PortKind::Axi => '2',
            PortKind::Stream => panic!("a stream is not driven"),
        }
    }

    /// Implementers in other languages read the page: it has what the hub obeys.
    #[test]
    fn the_protocols_page_has_the_port_and_the_side_of_each_event() {
        for event in PortEvent::one_of_each(8) {
            let (of_protocol, data) = to_event(event.clone());
            let message = Message::Driven(Driven { port: PortId(0), at: Time::ZERO, event: of_protocol });
            let mut frame = BytesMut::new();
            emit(&message, &data[..], &mut frame).unwrap();
            // Behind the prefix the message's number, the port and the time are a byte each.
            let (name, port, driver) = row(frame[8 + 3]);
            let words = format!("{of_protocol:?}");
            let word = words.split([' ', '{']).next().unwrap();
            assert!(name.starts_with(word), "{name} is {word}");
            let is_ready = matches!(of_protocol, super::PortEvent::Ready { .. });
            match event.driver() {
                None => assert_eq!((port.as_str(), driver.as_str()), ("any", "the server; then the client")),
                Some(PortSide { kind: of, role }) => {
                    assert!(port.starts_with(kind(of)), "{name}: {port}");
                    let receiver = if is_ready { "the receiver of the channel" } else { role.name() };
                    assert_eq!(driver, receiver, "{name}");
                }
            }
            if let super::PortEvent::Ready { channel, .. } = of_protocol {
                use vp_protocols::native::AxiChannel::{ReadAddress, WriteAddress, WriteData};
                let is_from_initiator = matches!(channel, ReadAddress | WriteAddress | WriteData);
                let receiver = if is_from_initiator { Role::Target } else { Role::Initiator };
                assert_eq!(event.driver().map(|side| side.role), Some(receiver), "{channel:?}");
            }
        }
    }
}
