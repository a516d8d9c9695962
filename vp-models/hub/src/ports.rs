//! Holds of parties on ports: the role of each, and what the party may do there.

use std::ops::Range;
use std::rc::Rc;

use super::output::{Failure, FailureKind, Output, Severity};
use super::outside::{DirectRange, OutsideMemory};
use super::partner::PortEvent;
use super::{Hub, TimeMode};
use vp_models::bus::axi::AxiTarget;
use vp_models::bus::stream::InputStream;
use vp_models::platform::{MemoryPort, Port, PortKind};
use vp_types::{PartyId, PortId, Role};

/// A party's hold on a port.
#[derive(Clone)]
pub(super) struct Holding {
    pub(super) party: PartyId,
    pub(super) port: PortId,
    pub(super) role: Role,
    /// Addresses that are held, of a memory outside.
    pub(super) range: Range<u64>,
    /// Parts of it that are accessed directly.
    pub(super) direct: Rc<[DirectRange]>,
    /// True if its holder has a clock.
    pub(super) is_timed: bool,
}

/// The roles that parties may have at a port of that kind.
#[must_use]
pub fn roles(kind: PortKind) -> &'static [Role] {
    match kind {
        PortKind::Stream => &[Role::Initiator],
        PortKind::Registers => &[Role::Initiator, Role::Target],
        PortKind::Irq => &[Role::Sink, Role::Source],
        PortKind::Axi => &[Role::Initiator, Role::Target],
    }
}

/// Returns true if only one party at a time may have the role: two memories behind one port, or two CPUs whose answers
/// come in one order, make no sense. Listeners and loaders may be many.
fn is_exclusive(kind: PortKind, role: Role) -> bool {
    match kind {
        PortKind::Registers => true,
        PortKind::Axi => role == Role::Target,
        PortKind::Irq => role == Role::Source,
        PortKind::Stream => false,
    }
}

impl Hub {
    pub(super) fn port(&self, port: PortId) -> Result<&Port, Failure> {
        self.ports.get(usize::from(port.0)).ok_or_else(|| {
            let last = self.ports.len().saturating_sub(1);
            Failure::new(FailureKind::NoSuchPort, format!("no port {}: there are 0 to {last}", port.0))
        })
    }

    /// Returns true if a party holds a port in that role.
    #[must_use]
    pub fn holds(&self, party: PartyId, port: PortId, role: Role) -> bool {
        self.holdings.of(party, port).is_some_and(|holding| holding.role == role)
    }

    /// All roles held at ports, in the order in which they were taken.
    pub fn holdings(&self) -> impl Iterator<Item = (PartyId, PortId, Role)> {
        self.holdings.iter().map(|holding| (holding.party, holding.port, holding.role))
    }

    /// The port, if the party holds it as initiator.
    ///
    /// # Errors
    /// There is no such port, or it is of another kind, or the party does not hold it in this role.
    pub fn initiated(&self, party: PartyId, port: PortId, kinds: &[PortKind]) -> Result<&Port, Failure> {
        let described = self.port(port)?;
        let name = described.name;
        match self.holdings.of(party, port) {
            None => Err(Failure::new(
                FailureKind::NotAttached,
                format!("{name} is not attached: attach it as initiator"),
            )),
            Some(holding) if holding.role != Role::Initiator || !kinds.contains(&described.kind) => {
                Err(Failure::new(
                    FailureKind::WrongRole,
                    format!("{name} does not take this request as {}", holding.role.name()),
                ))
            }
            Some(_) => Ok(described),
        }
    }

    /// Checks that a party may move time by hand and reset: a platform with a CPU is the CPU's.
    pub(super) fn may_control_time(&self, party: PartyId) -> Result<(), Failure> {
        let is_cpu = |holding: &&Holding| {
            let port = self.ports.get(usize::from(holding.port.0));
            holding.role == Role::Initiator && port.is_some_and(|port| port.kind == PortKind::Registers)
        };
        let mut cpus = self.holdings.iter().filter(is_cpu).peekable();
        let Some(first) = cpus.peek().copied() else { return Ok(()) };
        if cpus.any(|holding| holding.party == party) {
            return Ok(());
        }
        let (name, holder) = (self.port(first.port)?.name, self.parties.name(first.party));
        let reason = format!("{holder} holds {name} as initiator: time and reset are its matter");
        Err(Failure::new(FailureKind::NotAttached, reason))
    }

    /// The input stream behind a port, if one is.
    pub(super) fn stream(&self, port: PortId) -> Option<&InputStream> {
        let name = self.ports.get(usize::from(port.0))?.name;
        self.platform.input_stream().map(|stream| &**stream).filter(|stream| stream.name() == name)
    }

    pub(super) fn memory(&self, port: PortId) -> Option<&MemoryPort> {
        self.platform.memory(self.ports.get(usize::from(port.0))?.name)
    }

    /// The party that owns the memory behind a port at these addresses, if one does. Bytes on both sides of its border are
    /// in no one memory.
    pub(super) fn owner(&self, port: PortId, address: u64, length: u32) -> Result<Option<PartyId>, Failure> {
        let Some(Holding { party, range, .. }) = self.holdings.target(port) else { return Ok(None) };
        let end = address.saturating_add(u64::from(length));
        if end <= range.start || address >= range.end {
            return Ok(None);
        }
        if address >= range.start && end <= range.end {
            return Ok(Some(*party));
        }
        let (last, owner, from, to) = (end - 1, self.parties.name(*party), range.start, range.end - 1);
        let reason = format!(
            "0x{address:x} to 0x{last:x} crosses the border of the memory of {owner}, \
             0x{from:x} to 0x{to:x}: access each side by itself"
        );
        Err(Failure::new(FailureKind::BadRange, reason))
    }

    /// The party (it may be the same one) that prevents a party from having that role at a port.
    #[must_use]
    pub fn in_the_way(&self, party: PartyId, port: PortId, role: Role) -> Option<PartyId> {
        self.holding_in_the_way(party, port, role).map(|holding| holding.party)
    }

    fn holding_in_the_way(&self, party: PartyId, port: PortId, role: Role) -> Option<&Holding> {
        let kind = self.port(port).ok()?.kind;
        self.holdings.iter().find(|holding| {
            holding.port == port
                && (holding.party == party || (holding.role == role && is_exclusive(kind, role)))
        })
    }

    pub(super) fn attach(
        &mut self,
        party: PartyId,
        port: PortId,
        role: Role,
        range: Option<Range<u64>>,
    ) -> Result<(), Failure> {
        let &Port { name, kind, base, size, .. } = self.port(port)?;
        if !roles(kind).contains(&role) {
            return Err(Failure::new(FailureKind::WrongRole, format!("{name} takes no {}", role.name())));
        }
        self.check_device(party, port, role)?;
        let window = base..base.saturating_add(size);
        let range = match (range, role) {
            (None, _) => window,
            (Some(_), _) if self.is_partner(party) => {
                return Err(Failure::new(FailureKind::BadRange, "a partner takes all of a port"));
            }
            (Some(range), Role::Target) => {
                if range.is_empty() || range.start < window.start || range.end > window.end {
                    let (from, to) = (window.start, window.end - 1);
                    let bytes = range.end.saturating_sub(range.start);
                    let reason = format!(
                        "{bytes} bytes at 0x{:x} are no part of {name}, which spans 0x{from:x} to 0x{to:x}",
                        range.start
                    );
                    return Err(Failure::new(FailureKind::BadRange, reason));
                }
                range
            }
            (Some(_), _) => {
                return Err(Failure::new(FailureKind::BadRange, "a range is for targets only"));
            }
        };
        if let Some(holder) = self.holding_in_the_way(party, port, role) {
            let role = holder.role.name();
            let reason = match holder.party == party {
                true => format!("{name} is attached already, as {role}: detach it first"),
                false => format!("{name} is held by {} as {role}", self.parties.name(holder.party)),
            };
            return Err(Failure::new(FailureKind::PortBusy, reason));
        }
        let is_timed = self.is_partner(party);
        let holding = Holding { party, port, role, range, direct: Rc::default(), is_timed };
        if is_timed {
            self.check_partner(&holding)?;
            self.connect_partner(&holding);
            if (kind, role) == (PortKind::Registers, Role::Initiator) && self.are_all_partners() {
                // Time is the CPU's: its promises let it move, and nobody commands it.
                self.time.set_mode(TimeMode::Free);
            }
        } else {
            self.connect_memory(&holding);
        }
        self.holdings.push(holding);
        if role == Role::Sink {
            let (level, time) = (self.platform.irq().level(), self.now());
            match is_timed {
                true if level => self.send_driven(party, port, time, PortEvent::Level(level)),
                true => {}
                false => self.outputs.push(Output::Level { party, port, level, time }),
            }
        }
        Ok(())
    }

    /// Refuses a party that would be the device, or a part of it, if the device is inside, or if the party has
    /// no clock.
    fn check_device(&self, party: PartyId, port: PortId, role: Role) -> Result<(), Failure> {
        let &Port { name, kind, .. } = self.port(port)?;
        let is_device = matches!((kind, role), (PortKind::Registers, Role::Target) | (_, Role::Source));
        if !is_device {
            return Ok(());
        }
        let role = role.name();
        if self.platform.outside_registers().is_none() {
            let reason = format!(
                "{name} takes no {role}: the platform's device is inside; one that is outside has a section \
                 [outside_device] in the platform's file"
            );
            return Err(Failure::new(FailureKind::WrongRole, reason));
        }
        match self.is_partner(party) {
            true => Ok(()),
            false => {
                let reason = format!("{name} takes only a partner as {role}: declare a clock first");
                Err(Failure::new(FailureKind::WrongRole, reason))
            }
        }
    }

    /// Puts a party's memory behind its port, if the holding is one.
    pub(super) fn connect_memory(&self, holding: &Holding) {
        if holding.role != Role::Target {
            return;
        }
        if let Some(memory) = self.memory(holding.port) {
            let outside = OutsideMemory::new(&self.platform.sim(), &self.requests, holding, memory);
            let outside: Rc<dyn AxiTarget> = Rc::new(outside);
            memory.attach(Some(outside));
        }
    }

    /// Makes the platform access parts of a party's memory directly from now on, instead of asking the party.
    /// Replaces the parts given before.
    ///
    /// # Errors
    /// The party does not own that memory, or a part is outside the party's range or overlaps another one.
    pub fn access_directly(
        &mut self,
        party: PartyId,
        port: PortId,
        parts: Vec<DirectRange>,
    ) -> Result<(), Failure> {
        let name = self.port(port)?.name;
        let own = self.holdings.target(port).filter(|holding| holding.party == party);
        let Some(owned) = own.map(|holding| holding.range.clone()) else {
            let reason = format!("{name} is not attached as target");
            return Err(Failure::new(FailureKind::NotAttached, reason));
        };
        for (index, DirectRange { range, .. }) in parts.iter().enumerate() {
            let refuse = |why: &str| {
                let bytes = range.end.saturating_sub(range.start);
                let reason = format!("{bytes} bytes at 0x{:x} of {name}: {why}", range.start);
                Err(Failure::new(FailureKind::BadRange, reason))
            };
            if range.is_empty() || range.start < owned.start || range.end > owned.end {
                return refuse("not all of them are the session's");
            }
            let overlaps =
                |other: &DirectRange| range.start < other.range.end && other.range.start < range.end;
            if parts[..index].iter().any(overlaps) {
                return refuse("some are in another region too");
            }
        }
        let parts = self.record_direct((party, port), parts);
        self.holdings.set_direct(port, Rc::from(parts));
        if let Some(holding) = self.holdings.target(port) {
            self.connect_memory(holding);
        }
        Ok(())
    }

    pub(super) fn detach(&mut self, party: PartyId, port: PortId) -> Result<(), Failure> {
        let name = self.port(port)?.name;
        if self.holdings.of(party, port).is_none() {
            return Err(Failure::new(FailureKind::NotAttached, format!("{name} is not attached")));
        }
        self.release(party, port, "it detached the port");
        Ok(())
    }

    /// Ends a party's hold on a port. When a memory leaves, due answers become errors, the RAM inside takes its
    /// place, and everybody is told.
    pub(super) fn release(&mut self, party: PartyId, port: PortId, why: &str) {
        let Some(holding) = self.holdings.remove(party, port) else { return };
        if let Some(partner) = self.partners.get_mut(party) {
            partner.forget_resets(port);
        }
        let what = if self.memory(port).is_some() { "owned the memory" } else { "was the device" };
        let reason = format!("{}, which {what}, is gone: {why}", self.parties.name(party));
        let owed = match holding.is_timed {
            true => self.disconnect_partner(port, holding.role, &reason),
            false => 0,
        };
        if holding.role != Role::Target {
            return;
        }
        let name = self.ports.get(usize::from(port.0)).map_or("", |port| port.name);
        match self.memory(port) {
            Some(memory) => memory.attach(None),
            None => return self.warn(Severity::Warning, format!("{name}: {reason}; accesses fail")),
        }
        let bursts = owed + self.abandon(party, port, &reason);
        let text = format!(
            "{name}: {reason}; {bursts} bursts failed, the memory inside the platform is in its place"
        );
        let severity = if bursts == 0 { Severity::Note } else { Severity::Warning };
        self.warn(severity, text);
    }
}
