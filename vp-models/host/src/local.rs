//! A CPU in the same process as its platform: an adapter from the calls of [`Host`] to a [`Hub`].

use std::io::Write;

use bytes::Bytes;
use vp_core::Time;

use crate::{Activity, Host, HostError, Memory, Statistics, Warning};
use vp_hub::{
    Access, AccessKind, Clock, Completion, Failure, FailureKind, Hub, Input, LinkedHub, LinkedPort,
    MemoryGuarantees, Operation, Output, PartyCommand, PartyId, PinEvent, PortId, Role, RunState, Tag,
    TimeMode, Until, Why,
};
use vp_models::backlog::{Backlog, warnings_left_out};
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{NOTHING_RUNS, Platform, PortKind};

/// Bytes of memory that one command reads or writes, at most: pieces that stay in the caches while they are copied.
const MOST_AT_ONCE: usize = 256 << 10;

/// The one party of the hub.
const CPU: PartyId = PartyId(0);

/// Drives a platform from the same thread. Simulated time moves only while a call waits, so the same
/// program gives the same run.
pub struct LocalHost {
    hub: Hub,
    registers: PortId,
    line: PortId,
    next_tag: u64,
    limit: Time,
    warnings: Backlog<Warning>,
    linked: Vec<LinkedHub>,
    goes_on: Option<GoesOn>,
    /// Time up to which nobody is asked whether a call goes on.
    unasked: Time,
}

/// Says whether a call goes on that waits at this time, and up to when it may before this is asked again.
type GoesOn = Box<dyn FnMut(Time) -> Option<Time>>;

impl LocalHost {
    /// Takes the CPU's place at a platform.
    #[must_use]
    pub fn new(platform: Platform) -> LocalHost {
        LocalHost::at(Hub::new(platform, TimeMode::Lockstep))
    }

    /// Takes the CPU's place at a hub in lockstep that nobody else has used, such as one that is recorded.
    #[must_use]
    pub fn at(hub: Hub) -> LocalHost {
        let first = |hub: &Hub, kind| {
            let index = hub.ports().iter().position(|port| port.kind == kind).unwrap_or_default();
            PortId(index as u16)
        };
        let (registers, line) = (first(&hub, PortKind::Registers), first(&hub, PortKind::Irq));
        let mut host = LocalHost {
            hub,
            registers,
            line,
            next_tag: 0,
            limit: Time::MAX,
            warnings: Backlog::default(),
            linked: Vec::new(),
            goes_on: None,
            unasked: Time::MAX,
        };
        host.enter();
        host
    }

    fn enter(&mut self) {
        let enter =
            Input::Enter { party: CPU, name: "the CPU".to_owned(), memory: MemoryGuarantees::default() };
        self.hub.handle(enter);
        for index in 0..self.hub.ports().len() {
            if self.hub.ports()[index].kind != PortKind::Irq {
                let port = PortId(index as u16);
                let attach = PartyCommand::Attach { port, role: Role::Initiator, range: None };
                // Nobody else is there who could hold the port.
                let _ = self.command(attach);
            }
        }
    }

    /// Asks, while a call waits, whether it goes on: now, then at the time that the last answer named, and whenever something has ended the
    /// kernel's run ([`Sim::stop`](vp_core::Sim::stop)). A call that does not fails with [`HostError::Cancelled`], and leaves the platform as
    /// the time finds it. What is asked must not depend on the platform's state alone, or there is no need to ask.
    pub fn ask_whether(&mut self, goes_on: impl FnMut(Time) -> Option<Time> + 'static) {
        self.goes_on = Some(Box::new(goes_on));
        self.unasked = Time::ZERO;
    }

    /// Lets time pass, not beyond the limit of the run, and says why it stopped.
    ///
    /// ```
    /// use vp_core::Time;
    /// use vp_host::Host;
    /// use vp_hub::{Until, Why};
    /// use vp_host::LocalHost;
    /// use vp_models::platform::{Description, Platform};
    /// let mut host = LocalHost::new(Platform::build(&Description::named("nv_small")?)?);
    /// assert_eq!(host.advance(Until::Time(Time::us(3)))?, Why::Time);
    /// assert_eq!(host.now()?, Time::us(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HostError`].
    pub fn advance(&mut self, until: Until) -> Result<Why, HostError> {
        match self.command(PartyCommand::Advance(until)) {
            Ok(Completion::Reached(why)) => Ok(why),
            Ok(other) => Err(unexpected(&other)),
            Err(limit @ HostError::Limit { .. }) => {
                self.abandon();
                Err(limit)
            }
            Err(error) => Err(error),
        }
    }

    /// Has the call that waits end, if that is wanted; all that happens up to `time` has happened.
    fn ask(&mut self, time: Time) -> Result<(), HostError> {
        let Some(goes_on) = &mut self.goes_on else { return Ok(()) };
        if let Some(until) = goes_on(time) {
            self.unasked = until.max(time + Time::ps(1));
            return Ok(());
        }
        self.abandon();
        Err(HostError::Cancelled { time: self.hub.now() })
    }

    /// Gives up what a call waits for: the next one is not to wait behind it.
    fn abandon(&mut self) {
        self.hub.handle(Input::Leave { party: CPU, why: "its call was ended".to_owned() });
        // Coming takes no time, and so nobody is asked.
        let goes_on = self.goes_on.take();
        self.unasked = Time::MAX;
        self.enter();
        if goes_on.is_some() {
            (self.goes_on, self.unasked) = (goes_on, Time::ZERO);
        }
    }

    /// Keeps from now on what the platform does and what bounds it ([`Host::activity`]).
    pub fn watch(&self) {
        self.platform().watch();
    }

    /// Puts the platform back to power-on, its memories too. Time goes on.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn reset(&mut self) -> Result<(), HostError> {
        self.command(PartyCommand::Reset).map(drop)
    }

    /// Saves the platform ([`Platform::save`]) where it next comes to rest: lets time pass up to there, and says when that was.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use vp_host::Host;
    /// use vp_host::LocalHost;
    /// use vp_models::memory::MemoryBudget;
    /// use vp_models::platform::{Description, Platform};
    /// let mut host = LocalHost::new(Platform::build(&Description::named("nv_small")?)?);
    /// let mut saved = Vec::new();
    /// let time = host.save(&mut saved)?;
    /// let platform = Platform::restore(&mut Cursor::new(saved), None, MemoryBudget::unlimited())?;
    /// assert_eq!(LocalHost::new(platform).now()?, time);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HostError`]; the platform waits for something that does not come, or is one that is not saved.
    pub fn save(&mut self, into: &mut dyn Write) -> Result<Time, HostError> {
        self.command(PartyCommand::Advance(Until::Idle))?;
        self.hub.save(into).map_err(|error| HostError::Refused(error.to_string()))?;
        Ok(self.hub.now())
    }

    /// The platform.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        self.hub.platform()
    }

    /// Links ports of another hub in this thread to the platform's, as a partner of that name and clock: a memory, a device
    /// or a further master that is elsewhere.
    ///
    /// # Errors
    /// A port is not there, or does not take that role.
    pub fn link(
        &mut self,
        hub: Hub,
        (name, clock): (&str, Clock),
        ports: Vec<LinkedPort>,
    ) -> Result<(), HostError> {
        let party = PartyId(CPU.0 + 1 + self.linked.len() as u64);
        let linked = LinkedHub::new(hub, (&mut self.hub, party), (name, clock), ports).map_err(refused)?;
        self.linked.push(linked);
        Ok(())
    }

    /// Tells from now on what is driven at ports that linked hubs hold ([`Hub::on_driven`]).
    pub fn on_driven(&mut self, told: impl FnMut(PinEvent) + 'static) {
        self.hub.on_driven(told);
    }

    /// The hubs that are linked, in the order in which they were.
    #[must_use]
    pub fn linked(&self) -> &[LinkedHub] {
        &self.linked
    }

    /// Lets linked hubs go on; tells whether that has brought anything.
    fn run_linked(&mut self) -> bool {
        let mut has_any = false;
        for linked in &mut self.linked {
            for input in linked.run() {
                has_any = true;
                self.hub.handle(input);
            }
        }
        has_any
    }

    /// Gives a command to the hub and lets time pass until it is completed.
    fn command(&mut self, command: PartyCommand) -> Result<Completion, HostError> {
        self.next_tag += 1;
        let sent = Tag(self.next_tag);
        self.hub.handle(Input::Command { party: CPU, tag: sent, command });
        loop {
            while let Some(output) = self.hub.poll() {
                match output {
                    Output::Completed { tag, result, .. } if tag == sent => return result.map_err(refused),
                    other => self.take(other),
                }
            }
            let time = self.hub.now();
            match self.hub.run(self.limit.min(self.unasked)) {
                RunState::Again | RunState::InInstant => self.ask(self.hub.now())?,
                // Time stands where the last thing has happened.
                RunState::Limit if self.unasked < self.limit => self.ask(self.unasked)?,
                RunState::Limit => {
                    self.take_outputs();
                    return Err(HostError::Limit { time: self.hub.now(), limit: self.limit.to_string() });
                }
                RunState::Waiting => {
                    self.take_outputs();
                    if self.run_linked() {
                        continue;
                    }
                    let broken = self.linked.iter().find_map(LinkedHub::broken);
                    let report = match broken {
                        Some(broken) => format!("this side has broken the contract of time: {broken}"),
                        None => "somebody outside has not answered".to_owned(),
                    };
                    return Err(HostError::Idle { time, report });
                }
            }
        }
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.hub.poll() {
            self.take(output);
        }
    }

    /// Completions of commands that a limit has ended are nobody's any more.
    fn take(&mut self, output: Output) {
        match output {
            Output::Warning { severity: _, time, text, marks } => {
                self.warnings.push(Warning { time, text, marks });
            }
            Output::Driven { party, .. } | Output::Promised { party, .. } | Output::Request { party, .. } => {
                if let Some(linked) = self.linked.iter_mut().find(|linked| linked.party() == party) {
                    linked.take(output);
                }
            }
            _ => {}
        }
    }

    fn register(&self, operation: Operation) -> Access {
        Access { port: self.registers, at: None, operation }
    }

    /// The hub's port to a memory that has all these bytes.
    fn memory(&self, memory: Memory, address: u64, bytes: usize) -> Result<PortId, HostError> {
        let ports = self.hub.ports();
        let size = bytes as u64;
        let refuse = |holds| HostError::MemoryRange { memory, address, size, holds };
        let index = ports.iter().position(|port| port.name == memory.port());
        let index = index.ok_or_else(|| refuse("the platform has none".to_owned()))?;
        let (start, end) = (ports[index].base, ports[index].base + ports[index].size);
        match address >= start && address.checked_add(size).is_some_and(|last| last <= end) {
            true => Ok(PortId(index as u16)),
            false => Err(refuse(format!("it spans 0x{start:x} to 0x{:x}", end - 1))),
        }
    }
}

fn refused(failure: Failure) -> HostError {
    match failure.kind {
        FailureKind::Livelock => HostError::Livelock { report: failure.reason },
        _ => HostError::Refused(failure.reason),
    }
}

fn unexpected(completion: &Completion) -> HostError {
    HostError::Refused(format!("an answer of another kind: {completion:?}"))
}

impl Host for LocalHost {
    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        let access = self.register(Operation::RegisterWrite { address: address.into(), value });
        self.hub.handle(Input::Posted { party: CPU, access });
        let mut done = Ok(());
        while let Some(output) = self.hub.poll() {
            match output {
                Output::PostedFailed { failure, .. } => done = Err(refused(failure)),
                other => self.take(other),
            }
        }
        done
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        let access = self.register(Operation::RegisterWrite { address: address.into(), value });
        self.command(PartyCommand::Access(access)).map(drop)
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        let access = self.register(Operation::RegisterRead { address: address.into() });
        match self.command(PartyCommand::Access(access))? {
            Completion::Value(value) => Ok(value),
            other => Err(unexpected(&other)),
        }
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        let limit = Some(self.limit).filter(|limit| *limit <= vp_hub::HORIZON);
        let report = match self.command(PartyCommand::Advance(Until::Interrupt { port: self.line, limit }))? {
            Completion::Reached(Why::Interrupt) => return Ok(self.hub.now()),
            Completion::Reached(Why::Time) => {
                return Err(HostError::Limit { time: self.hub.now(), limit: self.limit.to_string() });
            }
            Completion::Reached(Why::Deadlock { report }) => report,
            Completion::Reached(Why::Idle) => NOTHING_RUNS.to_owned(),
            other => return Err(unexpected(&other)),
        };
        Err(HostError::Idle { time: self.hub.now(), report })
    }

    fn now(&mut self) -> Result<Time, HostError> {
        Ok(self.hub.now())
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        let port = self.memory(memory, address, bytes.len())?;
        for (index, part) in bytes.chunks(MOST_AT_ONCE).enumerate() {
            let address = address + (index * MOST_AT_ONCE) as u64;
            let data = Bytes::copy_from_slice(part);
            let operation = Operation::MemoryWrite { address, data, strobes: None, kind: AccessKind::Debug };
            self.command(PartyCommand::Access(Access { port, at: None, operation }))?;
        }
        Ok(())
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        self.memory(memory, address, bytes.len())?;
        for (index, part) in bytes.chunks_mut(MOST_AT_ONCE).enumerate() {
            let address = address + (index * MOST_AT_ONCE) as u64;
            let port = self.memory(memory, address, part.len())?;
            let length = part.len() as u32;
            let operation = Operation::MemoryRead { address, length, kind: AccessKind::Debug };
            match self.command(PartyCommand::Access(Access { port, at: None, operation }))? {
                Completion::Data(data) if data.len() == part.len() => part.copy_from_slice(&data),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(())
    }

    fn stream(&mut self, bytes: &[u8]) -> Result<(), HostError> {
        let ports = self.hub.ports();
        let Some(index) = ports.iter().position(|port| port.kind == PortKind::Stream) else {
            return Err(HostError::Refused("the platform has no input stream".to_owned()));
        };
        let port = PortId(index as u16);
        let operation =
            Operation::StreamSend { data: Bytes::copy_from_slice(bytes), kind: AccessKind::Debug };
        self.command(PartyCommand::Access(Access { port, at: None, operation })).map(drop)
    }

    fn map(&self) -> RegisterMap {
        self.platform().map()
    }

    fn device(&self) -> &str {
        self.platform().identity().kind
    }

    fn inject_faults(&mut self, faults: &str) -> Result<(), HostError> {
        self.command(PartyCommand::Inject { faults: faults.to_owned() }).map(drop)
    }

    fn statistics(&mut self) -> Result<Statistics, HostError> {
        Ok(self.hub.statistics())
    }

    fn activity(&mut self) -> Option<Activity> {
        self.platform().take_activity()
    }

    fn warnings(&mut self) -> Vec<Warning> {
        self.hub.handle(Input::SumUp);
        self.take_outputs();
        let (left_out, mut warnings) = self.warnings.take();
        if left_out > 0 {
            warnings.insert(0, Warning::new(self.hub.now(), warnings_left_out(left_out)));
        }
        warnings
    }

    fn set_limit(&mut self, limit: Time) {
        self.limit = limit;
    }
}
