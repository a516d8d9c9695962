//! The rights of native sessions. They are checked only here, before a request becomes an input of the hub; peers of other protocols have none
//! to check, and do what their adapters do.

use vp_models::platform::{Port, PortKind};
use vp_protocols::native::{
    AccessKind, Attach, DebugCommand, ErrorCode, MemoryRead, MemoryWrite, PortId, Posted, RegisterRead,
    RegisterWrite, Request, Role, SessionId,
};

use super::{PlatformThread, SessionCommand};
use crate::access::{Right, Rights};

impl PlatformThread {
    /// The command, if its session has the right to it. Otherwise the session is told which right it lacks.
    pub(super) fn permitted(
        &mut self,
        session: SessionId,
        command: SessionCommand,
    ) -> Option<SessionCommand> {
        let Some(member) = self.members.get_mut(&session) else { return Some(command) };
        if member.is_observer && !is_observers(&command) {
            let reason = "an observer takes no part: it holds no port and lets no time move".to_owned();
            self.forbid(session, &command, ErrorCode::WrongRole, reason);
            return None;
        }
        let needed = needed(&command, self.hub.ports(), member.identity.rights, member.has_clock);
        let Some(lacking) =
            needed.into_iter().flatten().find(|right| !member.identity.rights.contains(*right))
        else {
            member.has_clock |= is_clock(&command);
            return Some(command);
        };
        let reason = format!("`{}` lacks the right {lacking}", member.identity.name());
        self.forbid(session, &command, ErrorCode::NotPermitted, reason);
        None
    }

    fn forbid(&mut self, session: SessionId, command: &SessionCommand, code: ErrorCode, reason: String) {
        match command {
            SessionCommand::Request { id, .. } | SessionCommand::Share { id, .. } => {
                self.reply(session, *id, Err((code, reason)));
            }
            SessionCommand::Posted { .. } => {
                self.posted_write_refused(session, self.hub.now(), code, &reason);
            }
            // Nothing that has no answer is forbidden but posted writes.
            _ => {}
        }
    }
}

/// Returns true if an observer may give the command: what changes nothing, and what debuggers do beside the buses.
fn is_observers(command: &SessionCommand) -> bool {
    let SessionCommand::Request { request, .. } = command else { return false };
    match request {
        Request::Status
        | Request::Statistics { .. }
        | Request::Ping
        | Request::Authenticate { .. }
        | Request::Inspect { .. }
        | Request::RegisterPeek(_)
        | Request::RegisterPoke(_)
        | Request::Debug { .. } => true,
        Request::MemoryRead(MemoryRead { access, at, .. })
        | Request::MemoryWrite(MemoryWrite { access, at, .. }) => (*access, *at) == (AccessKind::Debug, None),
        _ => false,
    }
}

fn is_clock(command: &SessionCommand) -> bool {
    matches!(command, SessionCommand::Request { request: Request::Clock { .. }, .. })
}

/// The rights to a command, all of which are needed. Commands of a port's holder at its port, once it is
/// attached, need none.
fn needed(command: &SessionCommand, ports: &[Port], rights: Rights, has_clock: bool) -> [Option<Right>; 2] {
    let kind = |port: PortId| ports.get(usize::from(port.0)).map(|port| port.kind);
    let memory = |port, right| match kind(port) {
        Some(PortKind::Stream) => Right::Stream,
        _ => right,
    };
    // Whoever says when a request takes effect lets time move up to then.
    let moves = |at: Option<_>| at.map(|_| Right::Cpu);
    let one = |right| [Some(right), None];
    let request = match command {
        SessionCommand::Request { request, .. } | SessionCommand::Share { request, .. } => request,
        SessionCommand::Posted { posted: Posted::RegisterWrite(_), .. } => return one(Right::Cpu),
        SessionCommand::Posted { posted: Posted::MemoryWrite(write), .. } => {
            return [Some(memory(write.port, Right::WriteMemory)), moves(write.at)];
        }
        SessionCommand::Answer { .. } | SessionCommand::Driven { .. } | SessionCommand::Promised { .. } => {
            return [None, None];
        }
    };
    match request {
        Request::Attach(Attach { port, role, .. }) => match (kind(*port), role) {
            (Some(PortKind::Registers), Role::Initiator) => one(Right::Cpu),
            (Some(PortKind::Axi), Role::Target) => one(Right::OwnMemory),
            // One that drives pins is a master on the bus; the rights of another one are those of its requests.
            (Some(PortKind::Axi), Role::Initiator) if has_clock => one(Right::Device),
            (Some(PortKind::Registers), Role::Target) | (Some(PortKind::Irq), Role::Source) => {
                one(Right::Device)
            }
            _ => [None, None],
        },
        Request::RegisterRead(RegisterRead { .. })
        | Request::RegisterWrite(RegisterWrite { .. })
        | Request::OpenRing(_)
        | Request::Advance { .. }
        | Request::Step { .. } => one(Right::Cpu),
        Request::MemoryRead(read) => [Some(memory(read.port, Right::ReadMemory)), moves(read.at)],
        Request::MemoryWrite(write) => [Some(memory(write.port, Right::WriteMemory)), moves(write.at)],
        Request::ShareMemory(_) => one(Right::OwnMemory),
        Request::Reset => one(Right::Reset),
        Request::Status | Request::Statistics { .. } | Request::Inspect { .. } => one(Right::Statistics),
        Request::RegisterPeek(_) => one(Right::ReadRegisters),
        Request::RegisterPoke(_) => one(Right::Cpu),
        Request::Inject { .. } => one(Right::Faults),
        Request::Debug { command: DebugCommand::State } => one(Right::Statistics),
        Request::Debug { .. } => one(Right::Debug),
        Request::Save { .. } | Request::SaveDevice { .. } => one(Right::Save),
        Request::AwaitRest { .. } => one(Right::Cpu),
        // Registers, memories inside and time are others than before.
        Request::RestoreDevice { .. } => [Some(Right::Reset), Some(Right::Cpu)],
        // Time waits for partners: for whoever may be one of them in some way.
        Request::Clock { .. } => {
            let parts = [Right::Cpu, Right::OwnMemory];
            one(parts.into_iter().find(|right| rights.contains(*right)).unwrap_or(Right::Device))
        }
        Request::Detach { .. } | Request::Ping | Request::Authenticate { .. } => [None, None],
    }
}
