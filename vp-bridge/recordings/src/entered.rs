//! Count of the bytes that have entered a platform.

use vp_hub::{Access, Input, Operation, PartyCommand, PortEvent, Recorded};
use vp_models::bus::axi::AxiEvent;

/// Bytes of an access to a register, at least, on the native wire and in a ring.
const REGISTER_ACCESS: u64 = 16;

/// Returns the bytes that have entered a platform with an entry: the data of writes, streams, answers and direct accesses, and 16 for an
/// access to a register. All else counts nothing.
#[must_use]
pub fn entered(entry: &Recorded) -> u64 {
    let bytes = match entry {
        Recorded::Accessed(Some(data)) => data.len(),
        Recorded::Input(input) => match input {
            Input::Command { command: PartyCommand::Access(access), .. }
            | Input::Posted { access, .. }
            | Input::Debug { access, .. } => return by_access(access),
            Input::Command { command: PartyCommand::Inject { faults }, .. } => faults.len(),
            Input::Answer { result: Ok(data), .. } => data.len(),
            Input::Driven { event, .. } => match event {
                PortEvent::Axi(AxiEvent::ReadData { data, .. } | AxiEvent::WriteData { data, .. }) => {
                    data.len()
                }
                PortEvent::Register { .. } | PortEvent::RegisterAnswer(_) => return REGISTER_ACCESS,
                _ => 0,
            },
            _ => 0,
        },
        _ => 0,
    };
    bytes as u64
}

fn by_access(access: &Access) -> u64 {
    match &access.operation {
        Operation::RegisterRead { .. } | Operation::RegisterWrite { .. } => REGISTER_ACCESS,
        Operation::MemoryWrite { data, strobes, .. } => {
            (data.len() + strobes.as_ref().map_or(0, bytes::Bytes::len)) as u64
        }
        Operation::StreamSend { data, .. } => data.len() as u64,
        Operation::MemoryRead { .. } => 0,
    }
}
