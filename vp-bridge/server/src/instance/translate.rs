//! Translation between the native protocol and a hub's inputs and outputs.

use bytes::{Bytes, BytesMut};
use vp_core::Time;
use vp_core::observe::WarningMarks;
use vp_models::device::Identity;
use vp_models::platform;
use vp_protocols::native::{
    self, Capabilities, ErrorCode, MemoryRead, MemoryWrite, Notice, Port, PortId, PortKind, Posted,
    RegisterRead, RegisterWrite, Reply, Request, Roles, TimeMode,
};

/// A warning with its marks, if it has any.
pub(super) fn warning(time: Time, text: String, marks: WarningMarks) -> Notice {
    let WarningMarks { refused, lacking } = marks;
    let set = [(refused, native::WarningMarks::REFUSED), (lacking, native::WarningMarks::LACKING)];
    let marks: native::WarningMarks =
        set.into_iter().filter_map(|(is_set, mark)| is_set.then_some(mark)).collect();
    match marks.is_empty() {
        true => Notice::Warning { time, text },
        false => Notice::MarkedWarning { time, marks, text },
    }
}

/// The ports in the platform's order, which is that of their numbers.
pub(super) fn ports(ports: &[platform::Port]) -> Vec<Port> {
    let port = |port: &platform::Port| {
        let kind = match port.kind {
            platform::PortKind::Registers => PortKind::Csb,
            platform::PortKind::Irq => PortKind::Irq,
            platform::PortKind::Axi | platform::PortKind::Stream => PortKind::Axi,
        };
        Port {
            name: port.name.to_owned(),
            kind,
            roles: Roles::of(vp_hub::roles(port.kind)),
            base: port.base,
            size: port.size,
            width: u16::try_from(port.width).unwrap_or(u16::MAX),
        }
    };
    ports.iter().map(port).collect()
}

pub(super) fn device(identity: Identity) -> native::Device {
    let Identity { kind, compatible, register_map } = identity;
    native::Device { kind: kind.to_owned(), compatible, register_map: register_map.map(str::to_owned) }
}

/// The hub's mode of time for a session's mode; the caller that reads the clock does the pacing.
pub(super) fn time_mode(mode: TimeMode) -> vp_hub::TimeMode {
    match mode {
        TimeMode::Lockstep => vp_hub::TimeMode::Lockstep,
        TimeMode::Free | TimeMode::Paced { .. } => vp_hub::TimeMode::Free,
    }
}

/// Times for a request's begin are obeyed if that was agreed upon.
fn begin(at: Option<Time>, capabilities: Capabilities) -> Option<Time> {
    at.filter(|_| capabilities.contains(Capabilities::SCHEDULED))
}

/// Translates a session's request into a command of the hub; `None`: nothing that concerns the hub.
pub(super) fn command(
    request: &Request,
    payload: &Bytes,
    capabilities: Capabilities,
    ports: &[platform::Port],
) -> Option<vp_hub::PartyCommand> {
    Some(match *request {
        Request::Attach(attach) => {
            let range = attach.range.map(|range| range.base..range.base.saturating_add(range.size));
            vp_hub::PartyCommand::Attach { port: attach.port, role: attach.role, range }
        }
        Request::Detach { port } => vp_hub::PartyCommand::Detach { port },
        Request::RegisterRead(read) => vp_hub::PartyCommand::Access(register_read(read, capabilities)),
        Request::RegisterWrite(write) => vp_hub::PartyCommand::Access(register_write(write, capabilities)),
        Request::MemoryRead(MemoryRead { port, address, length, access, at, .. }) => {
            vp_hub::PartyCommand::Access(vp_hub::Access {
                port,
                at: begin(at, capabilities),
                operation: vp_hub::Operation::MemoryRead { address, length, kind: access },
            })
        }
        Request::MemoryWrite(write) => {
            vp_hub::PartyCommand::Access(memory_write(write, payload, capabilities, ports))
        }
        Request::Advance { until } => vp_hub::PartyCommand::Advance(until),
        Request::Step { to } => vp_hub::PartyCommand::Step { to },
        Request::Clock { reaction, quantum } => {
            vp_hub::PartyCommand::Clock(vp_hub::Clock { reaction, quantum })
        }
        Request::Reset => vp_hub::PartyCommand::Reset,
        Request::Inject { .. } => {
            vp_hub::PartyCommand::Inject { faults: String::from_utf8_lossy(payload).into_owned() }
        }
        Request::Status
        | Request::Statistics { .. }
        | Request::Ping
        | Request::ShareMemory(_)
        | Request::OpenRing(_)
        | Request::Authenticate { .. }
        | Request::Inspect { .. }
        | Request::RegisterPeek(_)
        | Request::RegisterPoke(_)
        | Request::Debug { .. }
        | Request::Save { .. }
        | Request::AwaitRest { .. }
        | Request::SaveDevice { .. }
        | Request::RestoreDevice { .. } => return None,
    })
}

/// Translates a posted write into an access of the hub.
pub(super) fn posted(
    posted: Posted,
    payload: &Bytes,
    capabilities: Capabilities,
    ports: &[platform::Port],
) -> vp_hub::Access {
    match posted {
        Posted::RegisterWrite(write) => register_write(write, capabilities),
        Posted::MemoryWrite(write) => memory_write(write, payload, capabilities, ports),
    }
}

pub(super) fn register_read(read: RegisterRead, capabilities: Capabilities) -> vp_hub::Access {
    let RegisterRead { port, address, at } = read;
    let operation = vp_hub::Operation::RegisterRead { address };
    vp_hub::Access { port, at: begin(at, capabilities), operation }
}

pub(super) fn register_write(write: RegisterWrite, capabilities: Capabilities) -> vp_hub::Access {
    let RegisterWrite { port, address, value, at } = write;
    let operation = vp_hub::Operation::RegisterWrite { address, value };
    vp_hub::Access { port, at: begin(at, capabilities), operation }
}

/// Memory is written, and a stream is sent into, by the same message. What writes a stream by strobes is no sending, and
/// is left to the hub to refuse.
fn memory_write(
    write: MemoryWrite,
    payload: &Bytes,
    capabilities: Capabilities,
    ports: &[platform::Port],
) -> vp_hub::Access {
    let (data, strobes) = write.split(payload);
    let MemoryWrite { port, address, access, at, .. } = write;
    let is_stream =
        ports.get(usize::from(port.0)).is_some_and(|port| port.kind == platform::PortKind::Stream);
    let operation = match is_stream && strobes.is_none() {
        true => vp_hub::Operation::StreamSend { data, kind: access },
        false => vp_hub::Operation::MemoryWrite { address, data, strobes, kind: access },
    };
    vp_hub::Access { port, at: begin(at, capabilities), operation }
}

/// Translates an access of the hub into the request to the memory's owner, with its payload.
pub(super) fn request(port: PortId, access: vp_hub::MemoryAccess) -> (Request, Bytes) {
    let vp_hub::MemoryAccess { address, length, write, kind: access, axi_id, at } = access;
    let Some((data, strobes)) = write else {
        let read = MemoryRead { port, address, length, access, axi_id, at };
        return (Request::MemoryRead(read), Bytes::new());
    };
    let write = MemoryWrite { port, address, length, access, axi_id, strobes: strobes.is_some(), at };
    let payload = match strobes {
        None => data,
        Some(strobes) => {
            let mut both = BytesMut::with_capacity(data.len() + strobes.len());
            both.extend_from_slice(&data);
            both.extend_from_slice(&strobes);
            both.freeze()
        }
    };
    (Request::MemoryWrite(write), payload)
}

/// Translates an owner's reply into an answer for the hub.
pub(super) fn answer(reply: Reply, payload: Bytes) -> Result<Bytes, vp_hub::Failure> {
    match reply {
        Reply::Failed { code, reason } => {
            let reason = if reason.is_empty() { code.to_string() } else { reason };
            Err(vp_hub::Failure { kind: failure_kind(code), reason })
        }
        _ => Ok(payload),
    }
}

/// Translates the end of a command into a reply to its session, with the payload.
pub(super) fn reply(result: Result<vp_hub::Completion, vp_hub::Failure>) -> (Reply, Bytes) {
    let reply = match result {
        Ok(vp_hub::Completion::Done) => Reply::Done,
        Ok(vp_hub::Completion::Value(value)) => Reply::Value { value },
        Ok(vp_hub::Completion::Data(data)) => return (Reply::Data, data),
        Ok(vp_hub::Completion::Stepped { next }) => Reply::Stepped { next },
        Ok(vp_hub::Completion::Stopped(report)) => Reply::Stopped(Box::new(report)),
        Ok(vp_hub::Completion::Reached(why)) => Reply::Reached { why },
        Err(vp_hub::Failure { kind, reason }) => Reply::Failed { code: error_code(kind), reason },
    };
    (reply, Bytes::new())
}

pub(super) fn error_code(kind: vp_hub::FailureKind) -> ErrorCode {
    match kind {
        vp_hub::FailureKind::NoSuchPort => ErrorCode::NoSuchPort,
        vp_hub::FailureKind::WrongRole => ErrorCode::WrongRole,
        vp_hub::FailureKind::PortBusy => ErrorCode::PortBusy,
        vp_hub::FailureKind::NotAttached => ErrorCode::NotAttached,
        vp_hub::FailureKind::BadRange => ErrorCode::BadRange,
        vp_hub::FailureKind::Misaligned => ErrorCode::Misaligned,
        vp_hub::FailureKind::DecodeError => ErrorCode::DecodeError,
        vp_hub::FailureKind::SlaveError | vp_hub::FailureKind::NotAccepted => ErrorCode::SlaveError,
        vp_hub::FailureKind::WrongTimeMode => ErrorCode::WrongTimeMode,
        vp_hub::FailureKind::ContractBroken => ErrorCode::ContractBroken,
        vp_hub::FailureKind::Livelock => ErrorCode::Livelock,
        vp_hub::FailureKind::Cancelled => ErrorCode::Cancelled,
        vp_hub::FailureKind::Unsupported => ErrorCode::Unsupported,
        vp_hub::FailureKind::Internal => ErrorCode::Internal,
        vp_hub::FailureKind::OutOfMemory => ErrorCode::OutOfMemory,
        vp_hub::FailureKind::WrongState => ErrorCode::WrongState,
    }
}

/// A code that means nothing to the hub is the target's refusal.
fn failure_kind(code: ErrorCode) -> vp_hub::FailureKind {
    match code {
        ErrorCode::NoSuchPort => vp_hub::FailureKind::NoSuchPort,
        ErrorCode::WrongRole => vp_hub::FailureKind::WrongRole,
        ErrorCode::PortBusy => vp_hub::FailureKind::PortBusy,
        ErrorCode::NotAttached => vp_hub::FailureKind::NotAttached,
        ErrorCode::BadRange => vp_hub::FailureKind::BadRange,
        ErrorCode::Misaligned => vp_hub::FailureKind::Misaligned,
        ErrorCode::DecodeError => vp_hub::FailureKind::DecodeError,
        ErrorCode::WrongTimeMode => vp_hub::FailureKind::WrongTimeMode,
        ErrorCode::Cancelled => vp_hub::FailureKind::Cancelled,
        ErrorCode::Unsupported => vp_hub::FailureKind::Unsupported,
        ErrorCode::Internal => vp_hub::FailureKind::Internal,
        ErrorCode::OutOfMemory => vp_hub::FailureKind::OutOfMemory,
        _ => vp_hub::FailureKind::SlaveError,
    }
}
