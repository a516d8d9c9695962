//! Debug accesses: reading and setting state without the buses, at once, without a role at a port, while time
//! moves or is stopped.
//!
//! Reading changes nothing, so it is no input and is in no recording. An access that sets something, or has to
//! ask another party, is an [`Input::Debug`](super::Input::Debug).

use bytes::Bytes;
use vp_core::Time;

use super::Hub;
use super::access::{Access, Operation};
use super::current_job::Goal;
use super::ids::{RequestId, Tag};
use super::jobs::{check_bytes, register_of};
use super::output::{Completion, Failure, FailureKind};
use vp_models::platform::{Port, PortKind};
use vp_types::{PartyId, PortId};

/// Most registers in one access: as many as a unit's slot has.
pub const MOST_REGISTERS: u32 = 1024;

impl Hub {
    /// The words of `count` registers from an address on, as reads would give them now, without the side
    /// effects of a read. With a group, those of this register group, whichever one accesses go to; registers
    /// that exist once are in each group.
    ///
    /// # Errors
    /// There are no registers there, or no such group, or the device is outside the platform.
    pub fn peek_registers(
        &self,
        port: PortId,
        address: u64,
        count: u32,
        group: Option<u8>,
    ) -> Result<Vec<u32>, Failure> {
        if !(1..=MOST_REGISTERS).contains(&count) {
            let reason = format!("{count} registers: 1 to {MOST_REGISTERS} can be looked at together");
            return Err(Failure::new(FailureKind::BadRange, reason));
        }
        let port = self.register_port(port)?;
        let first = register_of(port, address)?;
        check_bytes(port, address, u64::from(count) * 4)?;
        let target = self.platform.registers().target().ok_or_else(|| outside(port))?;
        let (group, groups) = (group.map(usize::from), target.groups());
        if let Some(group) = group.filter(|group| *group >= groups) {
            let reason = format!("group {group}: {} has {groups}, counted from 0", port.name);
            return Err(Failure::new(FailureKind::BadRange, reason));
        }
        Ok((0..count).map(|at| target.peek(first + at * 4, group)).collect())
    }

    /// Bytes of a memory. `None`: a party owns it, and has to be asked.
    ///
    /// # Errors
    /// There are no such bytes.
    pub fn peek_memory(&self, port: PortId, address: u64, length: u32) -> Result<Option<Bytes>, Failure> {
        check_bytes(self.memory_port(port)?, address, length.into())?;
        if self.owner(port, address, length)?.is_some() {
            return Ok(None);
        }
        let memory = self.memory(port);
        let memory = memory.ok_or_else(|| Failure::new(FailureKind::NoSuchPort, "no such memory"))?;
        Ok(Some(Bytes::from(memory.peeked(address, length as usize)?)))
    }

    pub(super) fn debug(&mut self, party: PartyId, tag: Tag, access: Access) {
        let (port, at) = (access.port, None);
        let done = match access.operation {
            Operation::RegisterRead { address } => {
                self.peek_registers(port, address, 1, None).map(|words| Completion::Value(words[0]))
            }
            Operation::RegisterWrite { address, value } => {
                self.poke_register(party, port, address, value).map(|()| Completion::Done)
            }
            Operation::StreamSend { .. } => Err(Failure::new(
                FailureKind::Unsupported,
                "a stream is sent into by those who are attached to it",
            )),
            operation @ (Operation::MemoryRead { .. } | Operation::MemoryWrite { .. }) => {
                match self.check_memory(port, &operation) {
                    Ok(()) => return self.access_memory(party, Some(tag), Access { port, at, operation }),
                    Err(failure) => Err(failure),
                }
            }
        };
        self.complete(party, tag, done);
    }

    fn poke_register(
        &mut self,
        party: PartyId,
        port: PortId,
        address: u64,
        value: u32,
    ) -> Result<(), Failure> {
        let port = self.register_port(port)?;
        let register = register_of(port, address)?;
        if let Some(standstill) = self.time.standstill() {
            return Err(standstill.clone());
        }
        if self.platform.registers().target().is_none() {
            return Err(outside(port));
        }
        self.note_asker_beside(party);
        self.platform.registers().poke(register, value);
        Ok(())
    }

    fn check_memory(&self, port: PortId, operation: &Operation) -> Result<(), Failure> {
        let port = self.memory_port(port)?;
        match operation {
            Operation::MemoryRead { address, length, .. } => check_bytes(port, *address, (*length).into()),
            Operation::MemoryWrite { address, data, .. } => check_bytes(port, *address, data.len() as u64),
            _ => Ok(()),
        }
    }

    fn register_port(&self, port: PortId) -> Result<&Port, Failure> {
        self.port_of(port, PortKind::Registers, "has no registers")
    }

    pub(super) fn memory_port(&self, port: PortId) -> Result<&Port, Failure> {
        self.port_of(port, PortKind::Axi, "is no memory")
    }

    fn port_of(&self, port: PortId, kind: PortKind, lacks: &str) -> Result<&Port, Failure> {
        let port = self.port(port)?;
        match port.kind == kind {
            true => Ok(port),
            false => Err(Failure::new(FailureKind::WrongRole, format!("{} {lacks}", port.name))),
        }
    }

    /// Returns what a party waits for, for people; `None`: for nothing.
    #[must_use]
    pub fn waits_for(&self, party: PartyId) -> Option<String> {
        let queued = self.waiting(party);
        let behind = match queued {
            0 => String::new(),
            _ => format!("; {queued} more behind it"),
        };
        let registers = self.platform.registers().name();
        let until = |time: Time| format!("time to come to {time}");
        let first = match self.current_of(party) {
            Some(Goal::Begin(at, _)) => until(*at),
            Some(Goal::Time(at, _) | Goal::Step(at, _)) => until(*at),
            Some(Goal::Interrupt(None, _)) => "the interrupt".to_owned(),
            Some(Goal::Interrupt(Some(limit), _)) => format!("the interrupt, or {limit}"),
            Some(Goal::Idle(_)) => "nothing to be left to do".to_owned(),
            Some(Goal::Room(_)) => format!("room for posted writes at {registers}"),
            Some(Goal::Answer { .. }) => format!("an answer of {registers}"),
            None if self.bus.has_access_of(party) => {
                format!("an answer of {registers}")
            }
            None if queued > 0 => return Some(format!("the turn of {queued} commands")),
            None => return None,
        };
        Some(first + &behind)
    }

    /// Returns true if something waits for the answer to a request to a party's memory.
    #[must_use]
    pub fn awaits(&self, request: RequestId) -> bool {
        self.requests.borrow().is_open(request)
    }

    /// The number of requests to a party's memory, of the platform or of other parties, that it has not
    /// answered.
    #[must_use]
    pub fn owes(&self, party: PartyId) -> usize {
        self.requests.borrow().unanswered_of(party)
    }
}

fn outside(port: &Port) -> Failure {
    let reason = format!(
        "the device behind {} is outside the platform: its registers are seen by reads only",
        port.name
    );
    Failure::new(FailureKind::Unsupported, reason)
}
