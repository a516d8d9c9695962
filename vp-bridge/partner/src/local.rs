//! A platform in the same process and thread.

use std::collections::VecDeque;

use bytes::Bytes;
use vp_core::Time;
use vp_hub::{
    Clock, Failure, FailureKind, Hub, Input, MemoryAccess, MemoryGuarantees, Output, PartyCommand, PartyId,
    PortEvent, PortId, Promise, RequestId, Role, RunState, Severity, Tag, TimeMode,
};
use vp_models::platform::Platform;

use crate::link::DebugAccess;
use crate::{FromPlatform, LinkPort, PartnerError, PlatformLink};

/// The partner.
const PARTY: PartyId = PartyId(1);

/// A platform whose time goes as far as its partner lets it: no socket, no thread.
pub struct LocalLink {
    hub: Hub,
    ports: Vec<LinkPort>,
    said: VecDeque<FromPlatform>,
    expelled: Option<Failure>,
}

impl LocalLink {
    /// The platform is at the beginning of its time.
    #[must_use]
    pub fn new(platform: Platform) -> LocalLink {
        let port = |port: &vp_models::platform::Port| LinkPort {
            name: port.name.to_owned(),
            kind: port.kind,
            base: port.base,
            size: port.size,
            width: port.width,
        };
        let mut hub = Hub::new(platform, TimeMode::Free);
        let ports = hub.ports().iter().map(port).collect();
        let name = "the simulator".to_owned();
        hub.handle(Input::Enter { party: PARTY, name, memory: MemoryGuarantees::default() });
        hub.close();
        LocalLink { hub, ports, said: VecDeque::new(), expelled: None }
    }

    /// The hub around the platform.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    fn command(&mut self, command: PartyCommand) -> Result<(), PartnerError> {
        self.hub.handle(Input::Command { party: PARTY, tag: Tag(0), command });
        self.take_outputs()
    }

    /// Takes what the hub tells; an error is that of a command.
    fn take_outputs(&mut self) -> Result<(), PartnerError> {
        let mut done = Ok(());
        while let Some(output) = self.hub.poll() {
            match output {
                Output::Completed { result: Err(failure), .. } => {
                    done = Err(PartnerError::Refused(failure.reason));
                }
                Output::Driven { port, at, event, .. } => {
                    self.said.push_back(FromPlatform::Driven { port, at, event });
                }
                Output::Promised { promise, .. } => self.said.push_back(FromPlatform::Promised(promise)),
                Output::Request { request, port, access, .. } => {
                    let MemoryAccess { address, length, write, .. } = access;
                    let access = match write {
                        Some((data, strobes)) => DebugAccess::Write(data, strobes),
                        None => DebugAccess::Read(length),
                    };
                    self.said.push_back(FromPlatform::Debug { request: request.0, port, address, access });
                }
                Output::Expelled { failure, .. } => self.expelled = Some(failure),
                Output::Warning { severity: Severity::Warning, time, text, .. } => {
                    self.said.push_back(FromPlatform::Warning(time, text));
                }
                _ => {}
            }
        }
        done
    }
}

impl PlatformLink for LocalLink {
    fn ports(&self) -> &[LinkPort] {
        &self.ports
    }

    fn counter(&mut self, name: &str) -> Result<Option<u64>, PartnerError> {
        Ok(self.hub.statistics().get(name))
    }

    fn declare(&mut self, clock: Clock) -> Result<Time, PartnerError> {
        self.command(PartyCommand::Clock(clock))?;
        Ok(self.hub.now())
    }

    fn attach(&mut self, port: PortId, role: Role) -> Result<(), PartnerError> {
        self.command(PartyCommand::Attach { port, role, range: None })
    }

    fn drive(&mut self, port: PortId, at: Time, event: PortEvent) -> Result<(), PartnerError> {
        self.hub.handle(Input::Driven { party: PARTY, port, at, event });
        Ok(())
    }

    fn promise(&mut self, promise: Promise) -> Result<(), PartnerError> {
        self.hub.handle(Input::Promised { party: PARTY, promise });
        Ok(())
    }

    fn answer(&mut self, request: u64, result: Result<Bytes, String>) -> Result<(), PartnerError> {
        let result = result.map_err(|reason| Failure::new(FailureKind::SlaveError, reason));
        self.hub.handle(Input::Answer { party: PARTY, request: RequestId(request), result });
        Ok(())
    }

    fn receive(&mut self, _: bool, into: &mut VecDeque<FromPlatform>) -> Result<(), PartnerError> {
        while self.hub.run(Time::MAX) != RunState::Waiting {}
        self.take_outputs()?;
        into.append(&mut self.said);
        match &self.expelled {
            Some(failure) => Err(PartnerError::Ended(failure.reason.clone())),
            None => Ok(()),
        }
    }
}
