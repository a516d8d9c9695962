//! A hub as the partner of another one, in the same thread.
//!
//! Two platforms that together are one, cut at ports: each sees what the other drives there. Both keep the
//! contract of time, so the whole takes the cycles of the uncut platform.

use std::collections::VecDeque;

use bytes::Bytes;
use vp_core::Time;
use vp_types::{AccessKind, PartyId, PortId, Reaction, Role};

use super::access::{Access, Operation};
use super::ids::{RequestId, Tag};
use super::input::{Input, PartyCommand};
use super::output::{Completion, Failure, MemoryAccess, Output};
use super::partner::Clock;
use super::{Hub, MemoryGuarantees, RunState};

/// A port of one hub that is a port of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedPort {
    /// The port of the other hub.
    pub there: PortId,
    /// Role of this hub at it.
    pub role: Role,
    /// Port of this hub.
    pub here: PortId,
}

/// A hub that is a party of another one.
pub struct LinkedHub {
    hub: Hub,
    /// Party number of this hub at the other one.
    party: PartyId,
    ports: Vec<LinkedPort>,
    /// Accesses round time that wait for a reset before them.
    waiting: VecDeque<(Tag, Access)>,
    /// The rule that the other hub has broken, if any.
    broken: Option<Failure>,
}

/// The other hub's party number here.
const OTHER: PartyId = PartyId(u64::MAX);

impl LinkedHub {
    /// Links ports of `hub`, on which these roles are free, to ports of `other`, as a party of that number
    /// there.
    ///
    /// # Errors
    /// One of the hubs refuses a port.
    pub fn new(
        hub: Hub,
        (other, party): (&mut Hub, PartyId),
        (name, clock): (&str, Clock),
        ports: Vec<LinkedPort>,
    ) -> Result<LinkedHub, Failure> {
        enter(other, party, name, clock)?;
        for port in &ports {
            attach(other, party, port.there, port.role)?;
        }
        LinkedHub::to_elsewhere(hub, party, clock.quantum, ports)
    }

    /// Links ports of `hub` as [`LinkedHub::new`] does, to a hub in another process, where another program takes the
    /// ports for this one, with a clock of that quantum.
    ///
    /// # Errors
    /// The hub refuses a port.
    pub fn to_elsewhere(
        mut hub: Hub,
        party: PartyId,
        quantum: u32,
        ports: Vec<LinkedPort>,
    ) -> Result<LinkedHub, Failure> {
        // The other hub is registered as this one is.
        let clock = Clock { reaction: Reaction::NextEdge, quantum };
        enter(&mut hub, OTHER, "the other side", clock)?;
        for port in &ports {
            attach(&mut hub, OTHER, port.here, port.role.opposite())?;
        }
        hub.close();
        hub.follow(OTHER);
        Ok(LinkedHub { hub, party, ports, waiting: VecDeque::new(), broken: None })
    }

    /// The hub.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The rule that the other side has broken, if any: this hub ignores it from then on.
    #[must_use]
    pub fn broken(&self) -> Option<&Failure> {
        self.broken.as_ref()
    }

    /// Number of this hub's party in the other hub.
    #[must_use]
    pub fn party(&self) -> PartyId {
        self.party
    }

    /// Takes what the other hub tells this party.
    pub fn take(&mut self, output: Output) {
        match output {
            Output::Driven { port, at, event, .. } => {
                let Some(linked) = self.ports.iter().find(|linked| linked.there == port) else { return };
                self.hub.handle(Input::Driven { party: OTHER, port: linked.here, at, event });
            }
            // A loader's or debugger's access, which goes round time.
            Output::Request { request, port, access, .. } => {
                let Some(linked) = self.ports.iter().find(|linked| linked.there == port) else { return };
                let MemoryAccess { address, length, write, .. } = access;
                let kind = AccessKind::Debug;
                let operation = match write {
                    Some((data, strobes)) => Operation::MemoryWrite { address, data, strobes, kind },
                    None => Operation::MemoryRead { address, length, kind },
                };
                self.waiting.push_back((Tag(request.0), Access { port: linked.here, at: None, operation }));
                if self.hub.has_reset_ahead() {
                    // What was reset has what is written after it, and not the other way round.
                    self.run_hub();
                }
                self.access_round_time();
            }
            Output::Promised { promise, .. } => self.hub.handle(Input::Promised { party: OTHER, promise }),
            _ => {}
        }
    }

    fn run_hub(&mut self) {
        loop {
            let ran = self.hub.run(Time::MAX);
            self.access_round_time();
            if ran == RunState::Waiting {
                return;
            }
        }
    }

    /// Carries out the accesses round time that have come, if no reset before them is to take effect.
    fn access_round_time(&mut self) {
        if !self.hub.has_reset_ahead() {
            for (tag, access) in self.waiting.drain(..) {
                self.hub.handle(Input::Command { party: OTHER, tag, command: PartyCommand::Access(access) });
            }
        }
    }

    /// Runs as far as possible, and returns the inputs for the other hub.
    pub fn run(&mut self) -> Vec<Input> {
        self.run_hub();
        let mut inputs = Vec::new();
        while let Some(output) = self.hub.poll() {
            match output {
                Output::Driven { party: OTHER, port, at, event } => {
                    let linked = self.ports.iter().find(|linked| linked.here == port);
                    let party = self.party;
                    inputs.extend(linked.map(|linked| Input::Driven {
                        party,
                        port: linked.there,
                        at,
                        event,
                    }));
                }
                Output::Completed { party: OTHER, tag, result, .. } => {
                    let result = result.map(|completion| match completion {
                        Completion::Data(data) => data,
                        _ => Bytes::new(),
                    });
                    inputs.push(Input::Answer { party: self.party, request: RequestId(tag.0), result });
                }
                Output::Expelled { party: OTHER, failure, .. } => self.broken = Some(failure),
                Output::Promised { party: OTHER, promise } => {
                    inputs.push(Input::Promised { party: self.party, promise });
                }
                _ => {}
            }
        }
        inputs
    }
}

fn enter(hub: &mut Hub, party: PartyId, name: &str, clock: Clock) -> Result<(), Failure> {
    hub.handle(Input::Enter { party, name: name.to_owned(), memory: MemoryGuarantees::default() });
    command(hub, party, PartyCommand::Clock(clock))
}

fn attach(hub: &mut Hub, party: PartyId, port: PortId, role: Role) -> Result<(), Failure> {
    command(hub, party, PartyCommand::Attach { port, role, range: None })
}

/// Carries out a command that is done at once; other outputs of the hub stay to be polled.
fn command(hub: &mut Hub, party: PartyId, command: PartyCommand) -> Result<(), Failure> {
    let tag = Tag(0);
    hub.handle(Input::Command { party, tag, command });
    let done =
        hub.outputs.poll_if(|output| matches!(output, Output::Completed { party: of, .. } if *of == party));
    done.into_iter().try_for_each(|output| match output {
        Output::Completed { result, .. } => result.map(drop),
        _ => Ok(()),
    })
}
