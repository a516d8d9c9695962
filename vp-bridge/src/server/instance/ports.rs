//! A platform's ports as sessions see them, and who holds which.

use std::rc::Rc;

use vp_models::bus::axi::AxiTarget;
use vp_models::bus::stream::InputStream;
use vp_models::platform::{self, MemoryPort, Platform};
use vp_protocols::native::{Attach, ErrorCode, Port, PortId, PortKind, Role, Roles, SessionId};

use super::outside::{OutsideMemory, Shared};
use super::requests::Requests;
use super::{Failure, Host};

/// A session's hold on a port.
#[derive(Debug, Clone)]
pub(super) struct Holding {
    pub(super) session: SessionId,
    pub(super) port: PortId,
    pub(super) role: Role,
    /// Which addresses, for a memory outside.
    pub(super) range: std::ops::Range<u64>,
    /// What of it the session shares.
    pub(super) shared: Rc<[Shared]>,
}

/// The ports in the platform's order, which is that of their numbers.
pub(super) fn list(platform: &Platform) -> Vec<Port> {
    let port = |port: platform::Port| {
        let (kind, roles) = match port.kind {
            platform::PortKind::Csb => (PortKind::Csb, Roles::of(&[Role::Initiator])),
            platform::PortKind::Irq => (PortKind::Irq, Roles::of(&[Role::Sink])),
            platform::PortKind::Axi => (PortKind::Axi, Roles::of(&[Role::Initiator, Role::Target])),
            platform::PortKind::Stream => (PortKind::Axi, Roles::of(&[Role::Initiator])),
        };
        let width = u16::try_from(port.width).unwrap_or(u16::MAX);
        Port { name: port.name.to_owned(), kind, roles, base: port.base, size: port.size, width }
    };
    platform.ports().into_iter().map(port).collect()
}

/// Whether only one session at a time may have the role: two memories behind one port, or two CPUs whose answers come
/// in one order, make no sense. Listeners and loaders may be many.
fn is_exclusive(kind: PortKind, role: Role) -> bool {
    matches!((kind, role), (PortKind::Csb, Role::Initiator) | (PortKind::Axi, Role::Target))
}

impl Host {
    pub(super) fn port(&self, port: PortId) -> Result<&Port, Failure> {
        self.ports.get(usize::from(port.0)).ok_or_else(|| {
            let last = self.ports.len().saturating_sub(1);
            (ErrorCode::NoSuchPort, format!("no port {}: there are 0 to {last}", port.0))
        })
    }

    /// The port, if the session holds it as initiator.
    pub(super) fn initiated(
        &self,
        session: SessionId,
        port: PortId,
        kind: PortKind,
    ) -> Result<&Port, Failure> {
        let described = self.port(port)?;
        let name = &described.name;
        let holding = self.holdings.iter().find(|holding| holding.session == session && holding.port == port);
        match holding {
            None => Err((ErrorCode::NotAttached, format!("{name} is not attached: attach it as initiator"))),
            Some(holding) if holding.role != Role::Initiator || described.kind != kind => Err((
                ErrorCode::WrongRole,
                format!("{name} does not take this request as {}", called(holding.role)),
            )),
            Some(_) => Ok(described),
        }
    }

    /// Whether a session may move time by hand and reset: a platform with a CPU is the CPU's.
    pub(super) fn may_rule(&self, session: SessionId) -> Result<(), Failure> {
        let csb = |holding: &&Holding| {
            let port = self.ports.get(usize::from(holding.port.0));
            holding.role == Role::Initiator && port.is_some_and(|port| port.kind == PortKind::Csb)
        };
        let mut holders = self.holdings.iter().filter(csb).peekable();
        let Some(first) = holders.peek().copied() else { return Ok(()) };
        match holders.any(|holding| holding.session == session) {
            true => Ok(()),
            false => {
                let name = self.port(first.port)?.name.as_str();
                let reason = format!(
                    "session {} holds {name} as initiator: time and reset are its matter",
                    first.session.0
                );
                Err((ErrorCode::NotAttached, reason))
            }
        }
    }

    /// The input stream behind a port, if one is.
    pub(super) fn stream(&self, port: PortId) -> Option<&InputStream> {
        let name = &self.ports.get(usize::from(port.0))?.name;
        self.platform.input_stream().map(|stream| &**stream).filter(|stream| stream.name() == name)
    }

    pub(super) fn memory(&self, port: PortId) -> Option<&MemoryPort> {
        self.platform.memory(&self.ports.get(usize::from(port.0))?.name)
    }

    /// The session that owns the memory behind a port at these addresses, if one does. Bytes on both sides of its border
    /// are in no one memory.
    pub(super) fn owner(
        &self,
        port: PortId,
        address: u64,
        length: u32,
    ) -> Result<Option<SessionId>, Failure> {
        let owner = self.holdings.iter().find(|holding| holding.port == port && holding.role == Role::Target);
        let Some(Holding { session, range, .. }) = owner else { return Ok(None) };
        let end = address.saturating_add(u64::from(length));
        if end <= range.start || address >= range.end {
            return Ok(None);
        }
        if address >= range.start && end <= range.end {
            return Ok(Some(*session));
        }
        let (last, session, from, to) = (end - 1, session.0, range.start, range.end - 1);
        let reason = format!(
            "0x{address:x} to 0x{last:x} crosses the border of the memory of session {session}, \
             0x{from:x} to 0x{to:x}: access each side by itself"
        );
        Err((ErrorCode::BadRange, reason))
    }

    /// The holding, of another session or the same, beside which a session cannot have a port.
    pub(super) fn in_the_way(&self, session: SessionId, attach: Attach) -> Option<&Holding> {
        let Attach { port, role, .. } = attach;
        let kind = self.port(port).ok()?.kind;
        self.holdings.iter().find(|holding| {
            holding.port == port
                && (holding.session == session || (holding.role == role && is_exclusive(kind, role)))
        })
    }

    pub(super) fn attach(&mut self, session: SessionId, attach: Attach) -> Result<(), Failure> {
        let Attach { port, role, range } = attach;
        let described = self.port(port)?;
        let name = described.name.clone();
        if !described.roles.contains(role) {
            return Err((ErrorCode::WrongRole, format!("{name} takes no {}", called(role))));
        }
        let window = described.base..described.base.saturating_add(described.size);
        let owned = match (range, role) {
            (None, _) => window.clone(),
            (Some(range), Role::Target) => {
                let end =
                    range.base.checked_add(range.size).filter(|&end| range.size > 0 && end <= window.end);
                match end {
                    Some(end) if range.base >= window.start => range.base..end,
                    _ => {
                        let (from, to) = (window.start, window.end - 1);
                        let reason = format!(
                            "{} bytes at 0x{:x} are no part of {name}, which spans 0x{from:x} to 0x{to:x}",
                            range.size, range.base
                        );
                        return Err((ErrorCode::BadRange, reason));
                    }
                }
            }
            (Some(_), _) => {
                return Err((ErrorCode::BadRange, "a range is for targets only".to_owned()));
            }
        };
        if let Some(holder) = self.in_the_way(session, attach) {
            let role = called(holder.role);
            let reason = match holder.session == session {
                true => format!("{name} is attached already, as {role}: detach it first"),
                false => format!("{name} is held by session {} as {role}", holder.session.0),
            };
            return Err((ErrorCode::PortBusy, reason));
        }
        let holding = Holding { session, port, role, range: owned, shared: Rc::default() };
        self.connect_memory(&holding);
        self.holdings.push(holding);
        if role == Role::Sink {
            let (level, time) = (self.platform.irq().level(), self.wire_now());
            self.notify_level(session, port, level, time);
        }
        Ok(())
    }

    /// Puts the session's memory in its place, if the holding is one.
    pub(super) fn connect_memory(&self, holding: &Holding) {
        if holding.role != Role::Target {
            return;
        }
        if let Some(memory) = self.memory(holding.port) {
            let Holding { session, port, ref range, .. } = *holding;
            let sim = self.platform.sim();
            let (range, shared) = (range.clone(), holding.shared.clone());
            let outside = OutsideMemory::new(&sim, &self.requests, session, port, range, shared, memory);
            let outside: Rc<dyn AxiTarget> = Rc::new(outside);
            memory.attach(Some(outside));
        }
    }

    pub(super) fn detach(&mut self, session: SessionId, port: PortId) -> Result<(), Failure> {
        let name = self.port(port)?.name.clone();
        match self.holdings.iter().any(|holding| holding.session == session && holding.port == port) {
            true => {
                self.release(session, port, "it detached the port");
                Ok(())
            }
            false => Err((ErrorCode::NotAttached, format!("{name} is not attached"))),
        }
    }

    /// Ends a session's hold on a port. A memory that goes leaves errors where answers are due, and the RAM inside in its
    /// place; everybody is told.
    pub(super) fn release(&mut self, session: SessionId, port: PortId, why: &str) {
        let Some(place) =
            self.holdings.iter().position(|holding| holding.session == session && holding.port == port)
        else {
            return;
        };
        let holding = self.holdings.remove(place);
        self.close_ring_of(session, port);
        if holding.role != Role::Target {
            return;
        }
        if let Some(memory) = self.memory(port) {
            memory.attach(None);
        }
        let name = self.ports.get(usize::from(port.0)).map_or_else(String::new, |port| port.name.clone());
        let reason = format!("session {}, which owned the memory, is gone: {why}", session.0);
        let (forwarded, bursts) = Requests::abandon(&self.requests, session, port, &reason);
        forwarded.into_iter().for_each(|forwarded| self.pass_on(forwarded));
        let text = format!(
            "{name}: {reason}; {bursts} bursts failed, the memory inside the platform is in its place"
        );
        if bursts > 0 {
            return self.announce(self.now(), &text);
        }
        tracing::info!("platform {} at {}: {text}", self.description.name, self.now());
        self.warn_all(self.wire_now(), &text);
    }
}

pub(super) fn called(role: Role) -> &'static str {
    match role {
        Role::Initiator => "initiator",
        Role::Target => "target",
        Role::Source => "source",
        Role::Sink => "sink",
    }
}
