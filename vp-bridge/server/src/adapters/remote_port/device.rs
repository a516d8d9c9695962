//! A peer that is the device of a platform, such as a model in SystemC.
//!
//! For the hub it is a partner. Accesses to its registers come as they are driven at the pins, and simulated
//! time waits until the peer has answered. Otherwise time moves by one quantum for each sync that the peer
//! answers. The SystemC library answers a sync before it has simulated up to the sync's time. So everything
//! that it has done up to that time is known with the answer to the next one.
//!
//! Its time is loose (IEEE 1666-2011, "loosely-timed"), and so are its accesses to memory. They happen at once,
//! and the response's time stamp says how long each takes by itself: the interface's latency, and a cycle a
//! beat. They do not wait for each other.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use vp_core::Time;
use vp_hub::{
    Access as HubAccess, AccessKind, Clock, Completion, Failure, Input, Operation, Output, PartyCommand,
    PortEvent, PortId, Promise, Role,
};
use vp_models::bus::axi::Latency;
use vp_models::platform::{Description, Port, PortKind};
use vp_protocols::remote_port::{
    Access, Answer, Capabilities, Connection, Event, Request, RequestId, ResponseCode, SendError, Transaction,
};

use super::routes::{Route, Routes};
use super::{Channels, code, result, stamp};
use crate::adapters::hub_inputs::HubInputs;
use crate::adapters::{Adapter, SessionEnd, SessionStart};

/// Accesses to memory that the peer may have under way before it is read no further.
const WAITING: usize = 256;

/// The adapter.
pub(in crate::adapters) struct Device {
    connection: Connection,
    channels: Channels,
    routes: Routes,
    period: Time,
    /// By the index of their ports.
    memories: Vec<Memory>,
    quantum: Time,
    /// The simulated time at which the session began: 0 in its time stamps.
    began: Time,
    hub: HubInputs<Purpose>,
    /// Events that the platform has driven and that are not yet heard, oldest first.
    driven: VecDeque<Driven>,
    /// Number of events of the platform that are heard.
    heard: u64,
    /// Time up to which silence is promised.
    promised: Time,
    /// The edge of the last event driven.
    last: Time,
    /// The time of the sync before the last answered one: the peer has simulated up to there.
    simulated: Time,
    /// The time of the last answered sync.
    answered: Time,
    /// The sync that is under way.
    sync: Option<(RequestId, Time)>,
    /// True if another sync was wanted while one was under way.
    wants_sync: bool,
}

/// Purpose of a command of the hub.
enum Purpose {
    /// To take a port, of that name, or to be a partner.
    Role(String),
    /// An access of the peer to memory, and how long it takes in nanoseconds.
    Memory(Request, i64),
}

/// An event of the platform.
struct Driven {
    /// The edge at which it is seen.
    at: Time,
    what: DrivenWork,
}

enum DrivenWork {
    /// Nothing has to be done for it any more.
    Done,
    /// An access that the peer has not answered.
    Access(RegisterAccess),
}

/// Time that accesses to a memory port take by themselves.
#[derive(Default)]
struct Memory {
    /// To the first data of a read, and from the last data of a write to its acknowledgement, in cycles.
    latencies: [u32; 2],
    beat_bytes: u32,
}

impl Memory {
    /// Latencies that are drawn, or a memory model's, are left out.
    fn of(port: &Port, description: &Description) -> Memory {
        let memory = match port.name {
            "dbb0" => &description.dbb0,
            "sram0" => &description.sram0,
            _ => return Memory::default(),
        };
        let fixed = |latency: Option<&Latency>| match latency {
            Some(Latency::Fixed(cycles)) => *cycles,
            _ => 0,
        };
        let latencies = [fixed(memory.read_latency.as_ref()), fixed(Some(&memory.write_latency))];
        Memory { latencies, beat_bytes: port.width / 8 }
    }
}

/// An access to the peer's registers.
struct RegisterAccess {
    port: PortId,
    channel: u32,
    transaction: Transaction,
    posted: bool,
    /// `None`: the peer has its maximum of requests.
    id: Option<RequestId>,
}

impl Device {
    pub(in crate::adapters) fn new(channels: Channels, quantum: u32) -> Device {
        Device {
            connection: Connection::new(Capabilities::PLATFORM),
            channels,
            routes: Routes::default(),
            period: Time::ZERO,
            memories: Vec::new(),
            // In cycles as long as the period is not known.
            quantum: Time::ps(u64::from(quantum.max(1))),
            began: Time::ZERO,
            hub: HubInputs::new(),
            driven: VecDeque::new(),
            heard: 0,
            promised: Time::ZERO,
            last: Time::ZERO,
            simulated: Time::ZERO,
            answered: Time::ZERO,
            sync: None,
            wants_sync: false,
        }
    }
}

impl Device {
    fn attach(&mut self, route: &Route, role: Role) {
        let attach = PartyCommand::Attach { port: route.port, role, range: None };
        self.hub.command(attach, Purpose::Role(route.place.port.clone()));
    }

    /// The first clock edge that is not before a time of the peer.
    fn edge(&self, stamp: i64) -> Time {
        let picoseconds = u64::try_from(stamp).unwrap_or(0).saturating_mul(1000);
        let time = picoseconds.saturating_add(self.began.as_ps());
        Time::ps(time.checked_next_multiple_of(self.period.as_ps().max(1)).unwrap_or(u64::MAX))
    }

    /// The first edge at which something may be driven.
    fn floor(&self) -> Time {
        let reactions = self.driven.iter().map(|driven| driven.at + self.period);
        reactions.chain([self.promised]).min().unwrap_or(self.promised).max(self.last)
    }

    fn drive(&mut self, port: PortId, at: Time, event: PortEvent) {
        self.last = at;
        self.hub.push(Input::Driven { party: self.hub.party, port, at, event });
    }

    fn promise(&mut self) {
        let promise = Promise { heard: self.heard, next: self.promised };
        self.hub.push(Input::Promised { party: self.hub.party, promise });
    }

    /// Returns true if the peer has not answered an access to its registers: simulated time stands.
    fn is_accessed(&self) -> bool {
        self.driven.iter().any(|driven| matches!(driven.what, DrivenWork::Access(_)))
    }

    /// Counts what nothing has to be done for any more.
    fn hear(&mut self) {
        let before = self.heard;
        while let Some(Driven { what: DrivenWork::Done, .. }) = self.driven.front() {
            self.driven.pop_front();
            self.heard += 1;
        }
        if self.heard > before {
            self.promise();
        }
    }

    // What the platform drives.

    fn take(&mut self, port: PortId, at: Time, event: &PortEvent) -> Result<(), SessionEnd> {
        let what = match *event {
            PortEvent::Register { address, write, posted } => {
                let Some(route) = self.routes.of(port) else { return Ok(()) };
                let address = route.place.base.wrapping_add(address.into());
                let time = stamp(at, self.began);
                let transaction = match write {
                    Some(value) => {
                        let data = Bytes::copy_from_slice(&value.to_le_bytes());
                        Transaction::Write(Access::write(time, address, data))
                    }
                    None => Transaction::Read(Access::read(time, address, 4)),
                };
                let channel = route.place.channel;
                // Accesses that wait for room go first.
                if posted && !self.is_accessed() {
                    self.connection.post(channel, transaction)?;
                    DrivenWork::Done
                } else {
                    DrivenWork::Access(RegisterAccess { port, channel, transaction, posted, id: None })
                }
            }
            PortEvent::Reset => {
                // The protocol has none: what the peer answers from now on to what was before is for nobody.
                for driven in &mut self.driven {
                    if matches!(&driven.what, DrivenWork::Access(access) if access.port == port) {
                        driven.what = DrivenWork::Done;
                    }
                }
                self.drive(port, self.last.max(at + self.period), PortEvent::Reset);
                DrivenWork::Done
            }
            _ => DrivenWork::Done,
        };
        self.driven.push_back(Driven { at, what });
        self.hear();
        self.send()
    }

    /// Sends as many of the accesses as the peer accepts.
    fn send(&mut self) -> Result<(), SessionEnd> {
        for driven in &mut self.driven {
            let DrivenWork::Access(RegisterAccess { channel, transaction, id: id @ None, .. }) =
                &mut driven.what
            else {
                continue;
            };
            match self.connection.request(*channel, transaction.clone()) {
                Ok(sent) => *id = Some(sent),
                Err(SendError::TooManyInFlight { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The peer has answered an access to its registers.
    fn accessed(&mut self, id: RequestId, access: &Access) -> Result<(), SessionEnd> {
        let is = |driven: &&mut Driven| matches!(&driven.what, DrivenWork::Access(of) if of.id == Some(id));
        let Some(driven) = self.driven.iter_mut().find(is) else { return Ok(()) };
        let (at, what) = (driven.at, std::mem::replace(&mut driven.what, DrivenWork::Done));
        if let DrivenWork::Access(RegisterAccess { port, posted: false, .. }) = what {
            let value = access.data.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            // The register bus has no errors.
            let value = match result(access.attributes.code()) {
                Ok(()) => value,
                Err(failure) => {
                    tracing::warn!("the device, at {:#x}: {failure}; the CPU reads 0", access.address);
                    0
                }
            };
            let after = self.edge(access.time).max(at + self.period);
            // The peer's clock may be ahead; what it does takes no longer than a quantum.
            let at = after.min(at + self.quantum.max(self.period)).max(self.last + self.period);
            self.drive(port, at, PortEvent::RegisterAnswer(value));
        }
        self.hear();
        self.send()
    }

    // Time.

    /// Lets the peer simulate one quantum more.
    fn sync(&mut self) -> Result<(), SessionEnd> {
        self.wants_sync = self.sync.is_some();
        if !self.wants_sync {
            let to = self.answered + self.quantum;
            let sync = super::sync(&mut self.connection, stamp(to, self.began))?;
            self.sync = sync.map(|id| (id, to));
        }
        Ok(())
    }

    fn synchronized(&mut self, to: Time) -> Result<(), SessionEnd> {
        self.sync = None;
        (self.simulated, self.answered) = (self.answered, to);
        let before = self.promised;
        self.promised = before.max(self.simulated);
        self.promise();
        // The first answer says nothing.
        if self.wants_sync || self.promised == before { self.sync() } else { Ok(()) }
    }

    // What the peer wants.

    fn request(&mut self, request: Request, now: Time) -> Result<(), SessionEnd> {
        let answer = match &request.transaction {
            Transaction::Read(access) | Transaction::Write(access) => {
                let is_write = matches!(request.transaction, Transaction::Write(_));
                let operation = (self.routes.on(request.channel, PortKind::Axi))
                    .ok_or(ResponseCode::AddressError)
                    .and_then(|route| {
                        let operation = memory_access(access, is_write, route.place.base)?;
                        Ok((route.port, operation, self.takes(route.port, is_write, access.length)))
                    });
                match operation {
                    Ok((port, operation, takes)) => {
                        let access = HubAccess { port, at: None, operation };
                        self.hub.command(PartyCommand::Access(access), Purpose::Memory(request, takes));
                        return Ok(());
                    }
                    Err(code) => Answer::Failed(code),
                }
            }
            Transaction::Interrupt(interrupt) => {
                let route = self.routes.on(request.channel, PortKind::Irq);
                if let Some(port) = route.filter(|it| it.place.wire == interrupt.line).map(|it| it.port) {
                    let floor = self.floor();
                    // Two quanta may be on their way.
                    let at = self.edge(interrupt.time).min(floor + self.quantum + self.quantum).max(floor);
                    self.drive(port, at, PortEvent::Level(interrupt.level));
                }
                Answer::Done
            }
            Transaction::AtsRequest(_) => Answer::Failed(ResponseCode::Error),
            Transaction::Sync { .. } | Transaction::AtsInvalidate(_) => Answer::Done,
        };
        if matches!(request.transaction, Transaction::Sync { .. }) {
            return super::answer_sync(&mut self.connection, request, stamp(now, self.began));
        }
        let time = request.transaction.time();
        Ok(self.connection.respond(request, time, answer)?)
    }

    /// Returns the time that an access to memory takes by itself, in nanoseconds.
    fn takes(&self, port: PortId, is_write: bool, length: u32) -> i64 {
        let Some(memory) = self.memories.get(usize::from(port.0)) else { return 0 };
        let beats = length.div_ceil(memory.beat_bytes.max(1));
        let cycles = memory.latencies[usize::from(is_write)].saturating_add(beats);
        stamp(self.period * u64::from(cycles), Time::ZERO)
    }

    fn memory_accessed(
        &mut self,
        request: Request,
        took: i64,
        done: &Result<Completion, Failure>,
    ) -> Result<(), SessionEnd> {
        let time = request.transaction.time().saturating_add(took);
        let answer = match done {
            Ok(Completion::Data(data)) => Answer::Data(data),
            Ok(_) => Answer::Done,
            Err(failure) => Answer::Failed(code(failure)),
        };
        Ok(self.connection.respond(request, time, answer)?)
    }
}

/// An access of the peer to memory.
fn memory_access(access: &Access, is_write: bool, base: u64) -> Result<Operation, ResponseCode> {
    let address = access.address.checked_sub(base).ok_or(ResponseCode::AddressError)?;
    if access.stream_width < access.length {
        // A burst to one address: memory has no use for it.
        return Err(ResponseCode::Error);
    }
    let kind = AccessKind::Debug;
    if !is_write {
        return Ok(Operation::MemoryRead { address, length: access.length, kind });
    }
    let strobes = (!access.byte_enables.is_empty()).then(|| {
        let strobe = |byte: usize| {
            let bits = (0..8).filter(|bit| access.is_enabled(8 * byte + bit));
            bits.fold(0, |strobe, bit| strobe | 1_u8 << bit)
        };
        (0..access.data.len().div_ceil(8)).map(strobe).collect::<Vec<u8>>().into()
    });
    Ok(Operation::MemoryWrite { address, data: access.data.clone(), strobes, kind })
}

impl Adapter for Device {
    fn begin(&mut self, beginning: &SessionStart<'_>) -> Result<(), SessionEnd> {
        let SessionStart { party, ports, description, now } = *beginning;
        let period = description.period;
        (self.hub.party, self.period, self.quantum) = (party, period, period * self.quantum.as_ps());
        self.memories = ports.iter().map(|port| Memory::of(port, description)).collect();
        self.routes = Routes::new(&self.channels, ports)?;
        [self.began, self.promised, self.last, self.simulated, self.answered] = [now; 5];
        let routes: Vec<Route> = self.routes.iter().cloned().collect();
        let of_kind = |kind| routes.iter().filter(move |route| route.kind == kind);
        // What is attached before there is a clock is not timed edge by edge.
        of_kind(PortKind::Axi).for_each(|route| self.attach(route, Role::Initiator));
        self.hub.command(PartyCommand::Clock(Clock::default()), Purpose::Role("its clock".to_owned()));
        of_kind(PortKind::Registers).for_each(|route| self.attach(route, Role::Target));
        of_kind(PortKind::Irq).for_each(|route| self.attach(route, Role::Source));
        Ok(())
    }

    fn is_greeted(&self, bytes: &[u8]) -> bool {
        super::is_greeted(bytes)
    }

    fn receive(&mut self, _: usize, bytes: &mut BytesMut, now: Time) -> Result<(), SessionEnd> {
        while self.takes_more() {
            match self.connection.receive(bytes)? {
                Some(Event::Request(request)) => self.request(request, now)?,
                Some(Event::Response { id, response }) => match (response, self.sync) {
                    (Transaction::Sync { .. }, Some((sync, to))) if sync == id => self.synchronized(to)?,
                    (Transaction::Read(access) | Transaction::Write(access), _) => {
                        self.accessed(id, &access)?;
                    }
                    _ => {}
                },
                Some(Event::Hello(_)) => {}
                None => break,
            }
        }
        Ok(())
    }

    fn tell(&mut self, output: Output, _: Time) -> Result<(), SessionEnd> {
        match output {
            Output::Completed { tag, result, .. } => match self.hub.commands.remove(&tag) {
                Some(Purpose::Role(what)) => {
                    result.map(drop).map_err(|failure| SessionEnd::Wrong(format!("{what}: {failure}")))
                }
                Some(Purpose::Memory(request, took)) => self.memory_accessed(request, took, &result),
                None => Ok(()),
            },
            Output::Driven { port, at, event, .. } => self.take(port, at, &event),
            _ => Ok(()),
        }
    }

    fn is_waited_for(&mut self) -> Result<(), SessionEnd> {
        // An access that the peer has not answered is what time waits for.
        if self.is_accessed() || self.sync.is_some() { Ok(()) } else { self.sync() }
    }

    fn next_input(&mut self) -> Option<Input> {
        self.hub.next()
    }

    fn next_output(&mut self) -> Option<(usize, &mut BytesMut)> {
        let output = self.connection.output();
        (!output.is_empty()).then_some((0, output))
    }

    fn takes_more(&self) -> bool {
        // Responses of the peer may stand behind its requests: it is the number of those that is bounded, at QEMU's and the
        // library's own bounds, and not the reading.
        self.hub.commands.len() < WAITING && !self.connection.is_backlogged()
    }

    fn owes_answers(&self) -> bool {
        self.hub.commands.values().any(|purpose| matches!(purpose, Purpose::Memory(..)))
    }

    fn is_under_way(&self) -> bool {
        self.is_accessed() || self.sync.is_some() || !self.hub.commands.is_empty()
    }
}
