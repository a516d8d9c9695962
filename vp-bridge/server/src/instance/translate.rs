//! Translation between the native protocol and a hub's inputs and outputs.

use bytes::{Bytes, BytesMut};
use vp_core::Time;
use vp_models::device::Identity;
use vp_models::hub;
use vp_models::platform;
use vp_protocols::native::{
    self, Access, Activity, Capabilities, DebugEvent, ErrorCode, Hit, MemoryRead, MemoryWrite, Port, PortId,
    PortKind, Posted, RegisterRead, RegisterWrite, Reply, Request, Role, Roles, SessionId, StopReport,
    StopWhy, TimeMode, Until, Why,
};

pub(super) fn party(session: SessionId) -> hub::PartyId {
    hub::PartyId(session.0)
}

pub(super) fn session(party: hub::PartyId) -> SessionId {
    SessionId(party.0)
}

pub(super) fn time(time: Time) -> native::Time {
    native::Time(time.as_ps())
}

pub(super) fn from_time(time: native::Time) -> Time {
    Time::ps(time.0)
}

pub(super) fn port_index(port: PortId) -> hub::PortIndex {
    hub::PortIndex(port.0)
}

pub(super) fn port_id(port: hub::PortIndex) -> PortId {
    PortId(port.0)
}

/// The ports in the platform's order, which is that of their numbers.
pub(super) fn ports(ports: &[platform::Port]) -> Vec<Port> {
    let port = |port: &platform::Port| {
        let kind = match port.kind {
            platform::PortKind::Registers => PortKind::Csb,
            platform::PortKind::Irq => PortKind::Irq,
            platform::PortKind::Axi | platform::PortKind::Stream => PortKind::Axi,
        };
        let roles: Vec<Role> = hub::roles(port.kind).iter().map(|&of| role(of)).collect();
        Port {
            name: port.name.to_owned(),
            kind,
            roles: Roles::of(&roles),
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

pub(super) fn role(role: hub::Role) -> Role {
    match role {
        hub::Role::Initiator => Role::Initiator,
        hub::Role::Target => Role::Target,
        hub::Role::Source => Role::Source,
        hub::Role::Sink => Role::Sink,
    }
}

pub(super) fn from_role(role: Role) -> hub::Role {
    match role {
        Role::Initiator => hub::Role::Initiator,
        Role::Target => hub::Role::Target,
        Role::Source => hub::Role::Source,
        Role::Sink => hub::Role::Sink,
    }
}

/// The hub's mode of time for a session's mode; the caller that reads the clock does the pacing.
pub(super) fn time_mode(mode: TimeMode) -> hub::TimeMode {
    match mode {
        TimeMode::Lockstep => hub::TimeMode::Lockstep,
        TimeMode::Free | TimeMode::Paced { .. } => hub::TimeMode::Free,
    }
}

pub(super) fn activity(activity: hub::Activity) -> Activity {
    match activity {
        hub::Activity::Running => Activity::Running,
        hub::Activity::Held => Activity::Held,
        hub::Activity::Idle => Activity::Idle,
        hub::Activity::Deadlocked => Activity::Deadlocked,
    }
}

fn kind(access: Access) -> hub::AccessKind {
    match access {
        Access::Timed => hub::AccessKind::Timed,
        Access::Debug => hub::AccessKind::Debug,
    }
}

/// Times for a request's begin are obeyed if that was agreed upon.
fn begin(at: Option<native::Time>, capabilities: Capabilities) -> Option<Time> {
    at.filter(|_| capabilities.contains(Capabilities::SCHEDULED)).map(from_time)
}

/// Translates a session's request into a command of the hub; `None`: nothing that concerns the hub.
pub(super) fn command(
    request: &Request,
    payload: &Bytes,
    capabilities: Capabilities,
    ports: &[platform::Port],
) -> Option<hub::PartyCommand> {
    Some(match *request {
        Request::Attach(attach) => {
            let range = attach.range.map(|range| range.base..range.base.saturating_add(range.size));
            hub::PartyCommand::Attach { port: port_index(attach.port), role: from_role(attach.role), range }
        }
        Request::Detach { port } => hub::PartyCommand::Detach { port: port_index(port) },
        Request::RegisterRead(read) => hub::PartyCommand::Access(register_read(read, capabilities)),
        Request::RegisterWrite(write) => hub::PartyCommand::Access(register_write(write, capabilities)),
        Request::MemoryRead(MemoryRead { port, address, length, access, at, .. }) => {
            hub::PartyCommand::Access(hub::Access {
                port: port_index(port),
                at: begin(at, capabilities),
                operation: hub::Operation::MemoryRead { address, length, kind: kind(access) },
            })
        }
        Request::MemoryWrite(write) => {
            hub::PartyCommand::Access(memory_write(write, payload, capabilities, ports))
        }
        Request::Advance { until } => hub::PartyCommand::Advance(match until {
            Until::Time(time) => hub::Until::Time(from_time(time)),
            Until::Interrupt { port, limit } => {
                hub::Until::Interrupt { port: port_index(port), limit: limit.map(from_time) }
            }
            Until::Idle => hub::Until::Idle,
        }),
        Request::Step { to } => hub::PartyCommand::Step { to: from_time(to) },
        Request::Clock { reaction, quantum } => {
            let reaction = match reaction {
                native::Reaction::NextEdge => hub::Reaction::NextEdge,
                native::Reaction::SameEdge => hub::Reaction::SameEdge,
            };
            hub::PartyCommand::Clock(hub::Clock { reaction, quantum })
        }
        Request::Reset => hub::PartyCommand::Reset,
        Request::Inject { .. } => {
            hub::PartyCommand::Inject { faults: String::from_utf8_lossy(payload).into_owned() }
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
        | Request::Save { .. } => return None,
    })
}

/// Translates a posted write into an access of the hub.
pub(super) fn posted(
    posted: Posted,
    payload: &Bytes,
    capabilities: Capabilities,
    ports: &[platform::Port],
) -> hub::Access {
    match posted {
        Posted::RegisterWrite(write) => register_write(write, capabilities),
        Posted::MemoryWrite(write) => memory_write(write, payload, capabilities, ports),
    }
}

pub(super) fn register_read(read: RegisterRead, capabilities: Capabilities) -> hub::Access {
    let RegisterRead { port, address, at } = read;
    let operation = hub::Operation::RegisterRead { address };
    hub::Access { port: port_index(port), at: begin(at, capabilities), operation }
}

pub(super) fn register_write(write: RegisterWrite, capabilities: Capabilities) -> hub::Access {
    let RegisterWrite { port, address, value, at } = write;
    let operation = hub::Operation::RegisterWrite { address, value };
    hub::Access { port: port_index(port), at: begin(at, capabilities), operation }
}

/// Memory is written, and a stream is sent into, by the same message. What writes a stream by strobes is no sending, and
/// is left to the hub to refuse.
fn memory_write(
    write: MemoryWrite,
    payload: &Bytes,
    capabilities: Capabilities,
    ports: &[platform::Port],
) -> hub::Access {
    let (data, strobes) = write.split(payload);
    let MemoryWrite { port, address, access, at, .. } = write;
    let is_stream =
        ports.get(usize::from(port.0)).is_some_and(|port| port.kind == platform::PortKind::Stream);
    let kind = kind(access);
    let operation = match is_stream && strobes.is_none() {
        true => hub::Operation::StreamSend { data, kind },
        false => hub::Operation::MemoryWrite { address, data, strobes, kind },
    };
    hub::Access { port: port_index(port), at: begin(at, capabilities), operation }
}

/// Translates an access of the hub into the request to the memory's owner, with its payload.
pub(super) fn request(port: hub::PortIndex, access: hub::MemoryAccess) -> (Request, Bytes) {
    let hub::MemoryAccess { address, length, write, kind, axi_id, at } = access;
    let (port, at) = (port_id(port), at.map(time));
    let access = match kind {
        hub::AccessKind::Timed => Access::Timed,
        hub::AccessKind::Debug => Access::Debug,
    };
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
pub(super) fn answer(reply: Reply, payload: Bytes) -> Result<Bytes, hub::Failure> {
    match reply {
        Reply::Failed { code, reason } => {
            let reason = if reason.is_empty() { code.to_string() } else { reason };
            Err(hub::Failure { kind: failure_kind(code), reason })
        }
        _ => Ok(payload),
    }
}

/// Translates the end of a command into a reply to its session, with the payload.
pub(super) fn reply(result: Result<hub::Completion, hub::Failure>) -> (Reply, Bytes) {
    let reply = match result {
        Ok(hub::Completion::Done) => Reply::Done,
        Ok(hub::Completion::Value(value)) => Reply::Value { value },
        Ok(hub::Completion::Data(data)) => return (Reply::Data, data),
        Ok(hub::Completion::Stepped { next }) => Reply::Stepped { next: next.map(time) },
        Ok(hub::Completion::Stopped(report)) => Reply::Stopped(Box::new(self::report(report))),
        Ok(hub::Completion::Reached(why)) => Reply::Reached {
            why: match why {
                hub::Why::Time => Why::Time,
                hub::Why::Interrupt => Why::Interrupt,
                hub::Why::Idle => Why::Idle,
                hub::Why::Deadlock { report } => Why::Deadlock { report },
            },
        },
        Err(hub::Failure { kind, reason }) => Reply::Failed { code: error_code(kind), reason },
    };
    (reply, Bytes::new())
}

pub(super) fn error_code(kind: hub::FailureKind) -> ErrorCode {
    match kind {
        hub::FailureKind::NoSuchPort => ErrorCode::NoSuchPort,
        hub::FailureKind::WrongRole => ErrorCode::WrongRole,
        hub::FailureKind::PortBusy => ErrorCode::PortBusy,
        hub::FailureKind::NotAttached => ErrorCode::NotAttached,
        hub::FailureKind::BadRange => ErrorCode::BadRange,
        hub::FailureKind::Misaligned => ErrorCode::Misaligned,
        hub::FailureKind::DecodeError => ErrorCode::DecodeError,
        hub::FailureKind::SlaveError | hub::FailureKind::NotAccepted => ErrorCode::SlaveError,
        hub::FailureKind::WrongTimeMode => ErrorCode::WrongTimeMode,
        hub::FailureKind::ContractBroken => ErrorCode::ContractBroken,
        hub::FailureKind::Livelock => ErrorCode::Livelock,
        hub::FailureKind::Cancelled => ErrorCode::Cancelled,
        hub::FailureKind::Unsupported => ErrorCode::Unsupported,
        hub::FailureKind::Internal => ErrorCode::Internal,
        hub::FailureKind::OutOfMemory => ErrorCode::OutOfMemory,
    }
}

/// A code that means nothing to the hub is the target's refusal.
fn failure_kind(code: ErrorCode) -> hub::FailureKind {
    match code {
        ErrorCode::NoSuchPort => hub::FailureKind::NoSuchPort,
        ErrorCode::WrongRole => hub::FailureKind::WrongRole,
        ErrorCode::PortBusy => hub::FailureKind::PortBusy,
        ErrorCode::NotAttached => hub::FailureKind::NotAttached,
        ErrorCode::BadRange => hub::FailureKind::BadRange,
        ErrorCode::Misaligned => hub::FailureKind::Misaligned,
        ErrorCode::DecodeError => hub::FailureKind::DecodeError,
        ErrorCode::WrongTimeMode => hub::FailureKind::WrongTimeMode,
        ErrorCode::Cancelled => hub::FailureKind::Cancelled,
        ErrorCode::Unsupported => hub::FailureKind::Unsupported,
        ErrorCode::Internal => hub::FailureKind::Internal,
        ErrorCode::OutOfMemory => hub::FailureKind::OutOfMemory,
        _ => hub::FailureKind::SlaveError,
    }
}

/// Translates what a debugger is told of time that stands.
pub(super) fn report(report: hub::StopReport) -> StopReport {
    let hub::StopReport { by, time: since, why, hits } = report;
    let why = match why {
        hub::StopWhy::Asked => StopWhy::Asked,
        hub::StopWhy::Stepped => StopWhy::Stepped,
        hub::StopWhy::Breakpoint => StopWhy::Breakpoint,
    };
    let hit = |hub::Hit { breakpoint, time: at, seen }| Hit {
        breakpoint,
        time: time(at),
        seen: match seen {
            hub::DebugEvent::Register { write, address, value } => {
                DebugEvent::Register { write, address, value }
            }
            hub::DebugEvent::Interrupt => DebugEvent::Interrupt,
            hub::DebugEvent::Layer { end, unit, number, label } => {
                DebugEvent::Layer { end, unit, number, label }
            }
            hub::DebugEvent::Burst { port, write, id, address, bytes } => {
                DebugEvent::Burst { port: port_id(port), write, id, address, bytes }
            }
            hub::DebugEvent::Time => DebugEvent::Time,
        },
    };
    StopReport { by: session(by), time: time(since), why, hits: hits.into_iter().map(hit).collect() }
}
